// One model fitted to the measured values of a factor, the uncertainty that they leave about it, and all models that
// could be behind them, each as much as it is believed [docs/formulas.md, posterior; weights of models].
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/scaling_model.h"
#include "models/weights.h"

namespace farscale {

class Random;

// Distinct core counts.
std::size_t CountCores(const std::vector<DataPoint>& points);

// Standard deviation assumed for a measured factor when there are as many parameters as points. Never is one believed
// to be below kSmallestSigma. Chosen: what repeats usually differ by, and what rounding to three digits does.
inline constexpr double kAssumedSigma = 0.01;
inline constexpr double kSmallestSigma = 0.001;

// Bounded non-linear least squares in Ceres from several starts, with the weights of models/weights.h when there are
// points to spare, unless these shall count alike. `limit`: the largest value the factor can have; nothing when it has
// none.
FittedModel FitModel(const ScalingModel& model, int dimension, const std::vector<DataPoint>& points,
                     std::optional<double> limit, bool weighs_alike = false);

// A curve that could be behind the values, and the scatter of runs around it (models/weights.h).
struct CurveDraw {
  std::vector<double> parameters;
  double scatter = 0;
};

struct Posterior {
  // Logarithm of the probability of the values under the model [Kass95]; minus infinity where the model cannot be.
  double log_evidence = 0;
  std::vector<CurveDraw> draws;
  std::vector<double> weights;  // one a draw, with the sum 1
};

// Importance sampling [Geweke89] around a usable fit. The prior is flat in the reciprocals 1/y of the curve at as many
// measured core counts as the model has parameters, within the bounds of the parameters; so it does not matter how a
// formula is written, and models of equal size are equal before the values are seen. `reach`: the smallest and the
// largest core count the curve is asked for; draws that are not positive there, or above the limit at a point, do not
// count.
Posterior SamplePosterior(const ScalingModel& model, const FittedModel& fit, std::optional<double> limit,
                          const std::vector<double>& reach, Random& random);

// All models that could be behind the values.

// A model with the dimensions to try.
struct Candidate {
  const ScalingModel* model = nullptr;
  std::vector<int> dimensions;
  bool is_of_times = false;  // efficiency by run times alone, which has priors of its own
};

struct Member {
  const ScalingModel* model = nullptr;
  FittedModel fit;
  double weight = 0;  // 0 where the fit is of no use; all have the sum 1
  Posterior posterior;
  std::optional<double> limit = std::nullopt;
  std::vector<std::size_t> curves = {};  // draws of the posterior that stand for the member in averages

  // The curve, cut off at the limit of the factor: a series that rises towards it gets there and stays.
  double Evaluate(double cores, const std::vector<double>& parameters) const {
    return CutOff(model->Evaluate(cores, fit.dimension, parameters));
  }
  // The same in two steps, for many values of the parameters at one number of cores.
  PlacedModel At(double cores) const { return {*model, cores, fit.dimension}; }
  double CutOff(double value) const { return limit && value > *limit ? *limit : value; }
};

struct Ensemble {
  std::vector<Member> members;  // the heaviest first; ties and members of no use as they were named
  std::optional<double> limit;  // largest value of the factor; nothing: it has none

  // True if at least one member is usable.
  bool IsUsable() const;
  // The curves that the values leave possible, averaged by weight: the logarithms of the losses 0.01 - ln y of what has
  // a limit of 1, else the logarithms of the values. So a few curves that see no loss cannot make a large one half as
  // large, and a small change of the values, which may change what fits best, changes little. A single member is its
  // own best curve.
  double ValueAt(double cores) const;
};

// Fits every candidate in every dimension and weighs it by its prior (fits/) and by the probability of the measured
// values under it. That is the product of what it says of each run from the smaller ones [Dawid84], so models weigh
// as much as they predict; parameters that are not needed make it smaller by themselves [Kass95].
//
// A curve that is not positive at any of the core counts in `reach`, or above the limit at one of the points, is of no
// use; so what is asked for beyond the points does not decide between models that differ in nothing else. With one core
// count there is nothing to choose from: no member is of use.
Ensemble FitEnsemble(const std::vector<Candidate>& candidates, const std::vector<DataPoint>& points,
                     std::optional<double> limit, const std::vector<double>& reach, std::uint64_t seed,
                     bool weighs_alike = false);

}  // namespace farscale
