// Load balance at larger core counts from the loads of the ranks instead of from a curve through load balance: the
// expected largest of P loads, with as much growth as the largest of the measured ones shows, and a law for the spread
// [docs/formulas.md, load balance from loads].
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "factors/factor_table.h"

namespace farscale {

// Name among the candidate models, and weight there; the curves share the rest. Chosen on the traces without the
// program that was predicted [docs/accuracy.md].
inline constexpr const char* kLoadsModel = "loads";
inline constexpr double kWeightOfLoads = 0.9;

// What the mean of the largest of so many standard normal values is, about [Blom58]; 0 for one, which need not be
// whole.
double ExpectedLargestNormal(double count);

class LoadBalanceByLoads {
 public:
  // Of the fitted rows of one phase, by cores. Nothing where the runs on most cores do not know their loads, where load
  // balance is known at fewer than three core counts, since then curves do as well, or where the number of ranks is not
  // the same share of the cores everywhere.
  static std::optional<LoadBalanceByLoads> From(const std::vector<FactorRow>& rows, std::uint64_t seed);

  // In (0, 1]. Among the measured counts it goes through their means.
  double ValueAt(double cores) const;
  // What a run there could measure, kFactorDraws values.
  std::vector<double> DrawsAt(double cores) const;

 private:
  // Means over the runs of one core count.
  struct Level {
    double cores = 0;
    double ranks = 0;
    double excess = 0;                     // of the largest load, 1 / load balance - 1
    std::optional<double> excess_of_half;  // of half of the ranks, chosen at random
    double persistent_share = 1;           // of the variance over the ranks
  };

  // Growth of a part of the spread by doubling of the ranks, of its logarithm, and how uncertain it is.
  struct Trend {
    double slope = 0;
    double deviation = 0;
  };

  // What a draw errs by.
  struct Errors {
    double level = 0, growth = 0, persistent = 0, noise = 0;  // standard normal
    double new_loss = 0;                                      // by doubling
  };

  LoadBalanceByLoads(std::vector<Level> levels, std::uint64_t seed);

  static std::vector<Level> LevelsOf(const std::vector<FactorRow>& rows);
  double GrowthOfLargest() const;
  template <typename Share>
  Trend TrendOf(Share share) const;
  double ExcessBeyond(double cores, double persistent_slope, double noise_slope, double growth) const;

  std::vector<Level> levels_;  // by cores
  double growth_ = 1;          // of the largest load, as share of that of normal ones
  Trend persistent_, noise_;
  std::vector<Errors> draws_;
};

}  // namespace farscale
