// Growth of the losses of call paths with the number of cores: each path by its own curve, with intervals
// [docs/formulas.md, losses of call paths].
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "models/weights.h"
#include "projection/model_settings.h"
#include "projection/projection.h"
#include "projection/reliable_range.h"

namespace farscale {

class ModelLibrary;
struct LossRecord;

// Measures that are extrapolated for call paths. All are shares, so that runs of any length compare.
enum class LossMeasure {
  kDelayCosts,         // waiting that it causes, of all ranks' time
  kLoadBalance,        // share of the run's time lost by load balance [imbalance/loss_record.h]
  kSerialization,      // the same by serialization
  kCriticalImbalance,  // its imbalance on the critical path, of the run's time
};
inline constexpr std::array<LossMeasure, 4> kLossMeasures = {
    LossMeasure::kDelayCosts, LossMeasure::kLoadBalance, LossMeasure::kSerialization, LossMeasure::kCriticalImbalance};
std::string ToString(LossMeasure measure);  // "delayCosts"

struct ProjectedLoss {
  double cores = 0;
  double loss = 0;  // share of the allocation
  std::optional<IntervalBounds> loss80, loss95;
  double part = 0;  // share of the losses of all paths
  std::optional<IntervalBounds> part80, part95;
  // Up to here, of what is left without the loss as of an efficiency; never better than that of the factor.
  Reliability reliability = Reliability::kUnknown;
};

struct PathLossProjection {
  std::string path;
  std::vector<DataPoint> measured;  // loss of every run
  std::string model, formula;       // that is believed most; empty: no fit
  std::vector<ProjectedLoss> targets;
};

struct LossProjection {
  std::string phase;
  LossMeasure measure = LossMeasure::kDelayCosts;
  std::vector<double> fitted_cores;
  std::vector<PathLossProjection> paths;  // the largest at the last target that is reliable first; small ones as one
  std::string obstacle;                   // why there is no projection; empty when there is one
};

// Names of all paths together whose losses are small in every run, and of waits that no path is charged for.
inline constexpr const char* kOtherPaths = "(all others)";
inline constexpr const char* kChargedToNobody = "(charged to nobody)";

// The factor whose loss the paths share: they are reliable as far as it is. Delay costs and the critical path go with
// parallel efficiency.
Factor FactorOf(LossMeasure measure);

// Every phase and measure of the runs of a study. `records`: in any order; `factors`: the projection of their factors,
// beyond whose reliable range nothing is. Targets, seed and models are those of the options.
std::vector<LossProjection> ProjectLosses(const std::vector<LossRecord>& records,
                                          const std::vector<PhaseProjection>& factors, const ModelLibrary& library,
                                          const ProjectionOptions& options);

}  // namespace farscale
