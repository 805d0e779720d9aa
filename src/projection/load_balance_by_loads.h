// Load balance at larger core counts from the loads of the ranks instead of from a curve through load balance: the
// expected largest of P loads, with as much growth as the largest of the measured ones shows, and a law for the spread
// [docs/formulas.md, load balance from loads].
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "models/weights.h"

namespace farscale {

struct Ensemble;
struct FactorRow;
struct Member;

// Name among the candidate models, and weight there; the curves share the rest. Chosen on the traces without the
// program that was predicted [docs/accuracy.md].
inline constexpr const char* kLoadsModel = "loads";
inline constexpr double kWeightOfLoads = 0.9;

// The approximate mean of the largest of so many standard normal values [Blom58]; 0 for one, which need not be
// whole.
double ExpectedLargestNormal(double count);

class LoadBalanceByLoads {
 public:
  // `rows`: fitted ones of one phase, by cores. Nothing where the runs on most cores do not know their loads, where
  // load balance is known at fewer than three core counts, since then curves do as well, or where the number of ranks
  // is not the same share of the cores everywhere.
  static std::optional<LoadBalanceByLoads> From(const std::vector<FactorRow>& rows, std::uint64_t seed);

  // In (0, 1]. Among the measured counts it goes through their means.
  double ValueAt(double cores) const;
  // Possible values of a run there, kFactorDraws of them.
  std::vector<double> DrawsAt(double cores) const;

 private:
  // Means over the runs of one core count.
  struct Level {
    double cores = 0;
    double ranks = 0;
    double excess = 0;                     // the largest load over the mean, less 1
    std::optional<double> excess_of_half;  // the same for half of the ranks, chosen at random
    double persistent_share = 1;           // share of the variance over the ranks
  };

  // Growth of a part of the spread by doubling of the ranks, of its logarithm, and how uncertain it is.
  struct Trend {
    double slope = 0;
    double deviation = 0;
  };

  // Errors of a draw.
  struct Errors {
    double level = 0, growth = 0, persistent = 0, noise = 0;  // standard normal
    double new_loss = 0;                                      // for every doubling
  };

  LoadBalanceByLoads(std::vector<Level> levels, std::uint64_t seed);

  double GrowthOfLargest() const;
  template <typename Share>
  Trend TrendOf(Share share) const;
  double ExcessBeyond(double cores, double persistent_slope, double noise_slope, double growth) const;

  std::vector<Level> levels_;  // in the order of the cores
  double growth_ = 1;          // growth of the largest load, as share of that of normal ones
  Trend persistent_, noise_;
  std::vector<Errors> draws_;
};

// Predictive distribution of what a new run would measure for a factor, as draws [docs/formulas.md, intervals].

// Chosen: with 1000 draws the tails of an 80 % interval have a standard error of 0.01 in probability.
inline constexpr std::size_t kFactorDraws = 1000;

// Doublings from `from` cores to `cores`; 0 for fewer.
double Doublings(double cores, double from);

// Draws of one factor. Each is a curve of one model, with three errors that no model contains: the drift of the loss
// away from the curve with each doubling beyond the largest run, a loss that no run has shown yet, and the scatter of
// the new run itself. Draws of different factors are independent, so that products of factors are products draw by
// draw.
class FactorDraws {
 public:
  // The ensemble has at least one member of use and must outlive the draws.
  FactorDraws(const Ensemble& ensemble, const IntervalConstants& intervals, std::uint64_t seed);

  // Possible values of a run at that many cores, one a draw.
  std::vector<double> At(double cores) const;
  // The curves of the draws alone, and their losses -ln y.
  std::vector<double> CurvesAt(double cores) const;
  std::vector<double> LossesAt(double cores) const;
  // Standard deviation of ln y of a new run around a curve that has `value` there, drift included.
  double LogDeviation(std::size_t draw, double value, double cores) const;

  // Evidence of a run at `run` cores about the curve of a draw, which has `value` there: -ln value, and the part of a
  // difference to the run that is drift and stays, the rest being scatter of that run. See LossAfter.
  using Learning = std::pair<double, double>;
  Learning LearningAt(std::size_t draw, double value, double run) const;
  // The losses -ln y of At once a run at `run` cores is known: draw i has the curve of draw chosen[i], with the loss
  // losses[i], and drifts from that run on.
  std::vector<double> AfterRun(const std::vector<double>& losses, const std::vector<std::size_t>& chosen, double cores,
                               double run) const;

 private:
  // The curves of a member, each once.
  struct Curves {
    const Member* member;
    std::vector<std::vector<double>> columns;  // their parameters, a column a parameter
    std::size_t count;
  };
  struct Draw {
    std::size_t curve;  // index among the curves of all members
    double scatter;
    double deviation;  // deviation of the drift of ln(-ln y) for every doubling
    double drift;      // standard normal
    double new_loss;   // for every doubling
    double noise;      // standard normal
  };

  // The loss that a run would show around a curve with that loss. `of_curve`: the draw whose scatter and deviation
  // hold.
  double Disturb(const Draw& draw, const Draw& of_curve, double loss, double doublings) const;

  std::vector<double> ValuesOfCurves(double cores) const;  // one a curve of all members
  std::vector<double> OfDraws(const std::vector<double>& of_curves) const;

  const Ensemble& ensemble_;
  IntervalConstants intervals_;
  double anchor_ = 0;     // cores of the largest run
  double own_error_ = 0;  // standard error of ln y of a run
  std::vector<Curves> curves_;
  std::vector<Draw> draws_;
};

// The loss of the curve of a draw, `at_cores` until then, once it has learnt from a run with `seen_loss`, which is -ln
// of what the run has measured.
double LossAfter(double at_cores, const FactorDraws::Learning& learning, double seen_loss);

}  // namespace farscale
