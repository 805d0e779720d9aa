#include "stats/distributions.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <numbers>
#include <stdexcept>

namespace farscale {
namespace {

namespace policies = boost::math::policies;

// Quantiles of a distribution with heavy tails may be larger than any double.
using InfiniteOverflow = policies::policy<policies::overflow_error<policies::ignore_error>>;
// Exact to less than is asked for without long double, which takes several times as long.
using InDouble = policies::policy<policies::promote_double<false>>;
using Normal = boost::math::normal_distribution<double, InfiniteOverflow>;
using Student = boost::math::students_t_distribution<double, InfiniteOverflow>;

// A reach extends to both sides; a negative one would be no error to the tail beyond it.
double TailBeyond(double probability) {
  if (!(probability >= 0 && probability <= 1)) throw std::domain_error("a probability must lie between 0 and 1");
  return (1 - probability) / 2;
}

}  // namespace

double NormalQuantile(double probability) { return boost::math::quantile(Normal(), probability); }

double NormalReach(double probability) {
  return std::max(0.0, boost::math::quantile(boost::math::complement(Normal(), TailBeyond(probability))));
}

double StudentQuantile(double probability, double freedom) {
  return std::max(0.0, boost::math::quantile(boost::math::complement(Student(freedom), TailBeyond(probability))));
}

double StudentProbability(double distance, double freedom) {
  return std::max(0.0, 1 - 2 * boost::math::cdf(boost::math::complement(Student(freedom), distance)));
}

StudentDensity::StudentDensity(std::size_t dimension, double freedom)
    : freedom_(freedom),
      exponent_((freedom + static_cast<double>(dimension)) / 2),
      log_at_middle_(boost::math::lgamma(exponent_, InDouble()) - boost::math::lgamma(freedom / 2, InDouble()) -
                     static_cast<double>(dimension) / 2 * std::log(freedom * std::numbers::pi)) {}

double StudentDensity::Log(double squared_distance) const {
  return log_at_middle_ - exponent_ * std::log1p(squared_distance / freedom_);
}

}  // namespace farscale
