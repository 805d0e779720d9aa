// Factors at core counts without a run: every factor by its own fitted models, parents as products, with intervals, the
// factor that causes the largest loss, and where that changes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "base/parallel.h"
#include "factors/factor.h"
#include "models/weights.h"
#include "phases/phase_spec.h"
#include "projection/model_settings.h"
#include "projection/key_results.h"
#include "projection/reliable_range.h"

namespace farscale {

class ModelLibrary;
struct FactorRow;
struct FactorTable;
struct PhaseKey;
struct SpeedupAnchor;

// A factor at one core count. `ratio` is the core count over the largest one that was fitted.
struct ProjectedValue {
  double cores = 0;
  double ratio = 0;
  double value = 0;
  std::optional<IntervalBounds> interval80;
  std::optional<IntervalBounds> interval95;

  friend bool operator==(const ProjectedValue&, const ProjectedValue&) = default;
};

// A model that was tried, with what it predicts by itself.
struct CandidateModel {
  std::string model;
  int dimension = 1;
  FitOutcome outcome = FitOutcome::kConverged;
  double weight = 0;               // probability of the model; the weights of a factor have the sum 1
  std::vector<std::string> names;  // parameters
  std::vector<double> parameters;  // empty where there is no fit
  std::vector<double> values;      // at the targets; empty where it is of no use

  friend bool operator==(const CandidateModel&, const CandidateModel&) = default;
};

// Values of both predictors of a factor at one core count, where runs were grown.
struct PredictorValues {
  double cores = 0;
  double curves = 0;
  double grown = 0;
  // The share by which grown runs move the logarithm of the projected value from the curves to their own, in [0, 1];
  // the mean weight over its factors for products in which these go in opposite directions.
  double weight = 0;

  friend bool operator==(const PredictorValues&, const PredictorValues&) = default;
};

struct FactorProjection {
  Factor factor = Factor::kParallelEfficiency;
  bool is_product = false;                       // product of its children; then `fit` is empty
  FittedModel fit;                               // the most probable curve
  std::string formula;                           // formula of that model, for people
  std::vector<CandidateModel> candidates;        // all models tried, by weight, that curve first, then loads
  std::vector<ProjectedValue> targets;           // empty when nothing could be fitted
  std::vector<ProjectedValue> curve;             // the same on a fine grid, for plots
  std::vector<DataPoint> measured;               // every measured value, fitted or not
  std::vector<DataPoint> grown;                  // values of grown runs; empty without any
  std::vector<PredictorValues> predictors = {};  // at the targets; empty where a part of it was not grown

  friend bool operator==(const FactorProjection&, const FactorProjection&) = default;
};

// From `cores` on (up to the next change) this factor causes the largest loss.
struct Dominance {
  double cores = 0;
  Factor factor = Factor::kLoadBalance;

  friend bool operator==(const Dominance&, const Dominance&) = default;
};

struct PhaseProjection {
  std::string series;
  PhaseId phase;
  std::vector<double> fitted_cores;       // distinct, ascending
  std::vector<FactorProjection> factors;  // in the order of the factor table
  std::vector<Dominance> dominance;       // the first entry begins at the smallest measured count
  std::map<double, Factor> dominant_at;   // at every target
  std::string obstacle;                   // why there is no projection; empty when there is one
  std::optional<ReliableRange> reliable_range;
  std::optional<KeyResults> key_results;
  std::optional<NextRuns> next_runs;  // suggested; nothing where all targets are reliable, or runs were grown

  const FactorProjection* Find(Factor factor) const;
  // That of the factors that are projected.
  FactorTree Tree() const;

  friend bool operator==(const PhaseProjection&, const PhaseProjection&) = default;
};

// Means of the runs on so many cores; nothing where global efficiency is unknown there.
std::optional<SpeedupAnchor> AnchorAt(const std::vector<FactorRow>& rows, std::int64_t cores);

// Null where the phase has none.
const PhaseProjection* FindPhase(const std::vector<PhaseProjection>& projections, const PhaseKey& key);

// Factors that a run is said to have by growth from the runs of up to `learned_up_to` cores.
struct GrownRun {
  double learned_up_to = 0;
  double cores = 0;
  FactorValues values;
};

// All grown runs of a phase; those at core counts that were measured are its backtest.
struct GrownPhase {
  std::string series;
  std::string phase;
  std::vector<GrownRun> runs;
  bool is_statistical = false;  // grown by copies of ranks, as no rules explain them
};

struct ProjectionOptions {
  ModelSettings models;
  std::vector<double> targets;      // core counts; empty: DefaultTargets
  std::optional<double> train_max;  // fit only runs up to this many cores
  std::uint64_t seed = 1;           // seed of the draws that make the intervals
  ReliabilityLimits reliability_limits = {};
  std::vector<double> levels = kUsualLevels;  // efficiencies of the key results
  bool next_runs = true;                      // look for the next run to take
  std::vector<GrownPhase> grown = {};
};

// Powers of two above the largest fitted count, up to kFarthestChecked times as many, beyond which nothing is reliable.
std::vector<double> DefaultTargets(double largest_fitted);

// Projects every series and phase of a completed table. Throws a usage error for models that do not exist; that too
// little is known is a result (`obstacle`, FitOutcome), not an error.
// A step of the progress is a phase.
std::vector<PhaseProjection> Project(const FactorTable& table, const ModelLibrary& library,
                                     const ProjectionOptions& options, const ProgressSink& progress = {});

// A sentence on what is not projected and why: the whole phase, or efficiencies with a part that no model could be
// fitted to; empty when nothing is missing.
std::string DescribeMissing(const PhaseProjection& projection);

// Models that are chosen for factors which are products of others, or unknown everywhere.
std::vector<Finding> FindUnusedModels(const ModelSettings& settings, const std::vector<PhaseProjection>& projections);

// The same values at the targets as Project gives, with the same errors, in a fraction of its time: without curves
// between the targets, measured points, ranges, key results and suggested runs.
std::vector<PhaseProjection> ProjectTargets(const FactorTable& table, const ModelLibrary& library,
                                            const ProjectionOptions& options);

// Projected curves between their points.

// A projected factor at any core count within its curve, over the logarithms of cores and values; nothing outside.
std::optional<ProjectedValue> ReadCurve(const FactorProjection& projection, double cores);

// The largest efficiency shown at a target: the value as far as it is reliable, the low end of its interval while it is
// uncertain; 0 without any.
double LargestProjected(const PhaseProjection& projection);

// Why factors of a phase are above 110 %, measured or projected; empty where none is. `projection` may be null.
std::string WhySuperlinear(const std::vector<FactorRow>& rows, const PhaseProjection* projection);

}  // namespace farscale
