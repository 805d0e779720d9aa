// Quantiles and probabilities of distributions, by Boost.Math. Values outside of what a parameter may be, such as
// probabilities outside 0 to 1, throw std::domain_error; what is too large for a double is infinite.
#pragma once

#include <cstddef>

namespace farscale {

// x with P(X ≤ x) = probability, for the standard normal distribution; infinite for 0 and 1.
double NormalQuantile(double probability);

// x with P(|X| ≤ x) = probability for the same; infinite for 1.
double NormalReach(double probability);

// t with P(|T| ≤ t) = probability, for Student's distribution with so many degrees of freedom: above 0, not necessarily
// whole, infinite for the normal distribution. Infinite for probability 1.
double StudentQuantile(double probability, double freedom);

// P(|T| ≤ distance) for the same; `distance` may be infinite.
double StudentProbability(double distance, double freedom);

// Student's distribution in several dimensions, for the unit matrix as scale [Kotz04, 1.1].
class StudentDensity {
 public:
  StudentDensity(std::size_t dimension, double freedom);
  // Logarithm of the density at a distance from the middle.
  double Log(double squared_distance) const;

 private:
  double freedom_;
  double exponent_;
  double log_at_middle_;
};

}  // namespace farscale
