#include "projection/backtest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "base/parallel.h"
#include "base/text.h"
#include "factors/scaling.h"
#include "models/scaling_model.h"
#include "stats/sample_quantiles.h"

namespace farscale {
namespace {

constexpr std::size_t kFewestToTrain = 2;    // with fewer there is no projection
constexpr std::size_t kFewestByDefault = 3;  // with fewer no model can be chosen
constexpr std::size_t kMostByDefault = 16;   // splits of a phase; chosen: bounds the time of long series
constexpr std::size_t kSplitsOfReports = 3;  // enough to see ratios of 2, 4 and 8 where counts double
constexpr const char* kWhole = "a series";   // without a name and a phase

// All runs of one phase of one series.
struct PhaseRuns {
  std::string series;
  PhaseId phase;
  std::vector<FactorRow> rows;  // ordered by cores and repeat
  std::vector<double> cores;    // distinct, ascending

  // The number of core counts that are not hidden.
  std::size_t CountsUpTo(double train_max) const {
    return static_cast<std::size_t>(std::upper_bound(cores.begin(), cores.end(), train_max) - cores.begin());
  }
};

struct TrainingSplit {
  const PhaseRuns* runs = nullptr;
  double train_max = 0;
};

// The result of one split.
struct SplitOutcome {
  std::vector<BacktestRow> rows;
  std::size_t not_predicted = 0;
  std::size_t not_measured = 0;
  PhaseProjection fitted;  // which factors were, and nothing else
};

std::vector<PhaseRuns> RunsOf(const FactorTable& table) {
  std::vector<PhaseRuns> all;
  for (const PhaseKey& key : table.Keys()) {
    PhaseRuns runs{key.series, key.phase, table.Rows(key), {}};
    for (const FactorRow& row : runs.rows) runs.cores.push_back(static_cast<double>(row.cores));
    runs.cores.erase(std::unique(runs.cores.begin(), runs.cores.end()), runs.cores.end());
    all.push_back(std::move(runs));
  }
  return all;
}

void Skip(const PhaseRuns& runs, const std::string& of_split, std::size_t& count, SkippedSplits& skipped) {
  ++count;
  if (!skipped.example.empty()) return;
  std::string name = runs.series;
  if (!runs.phase.IsUnnamed()) name += (name.empty() ? "phase " : ", phase ") + runs.phase.Text();
  skipped.example = (name.empty() ? kWhole : name) + of_split;
}

void AddDefaultSplits(const PhaseRuns& runs, std::size_t most, std::vector<TrainingSplit>& splits,
                      SkippedSplits& skipped) {
  const std::size_t counts = runs.cores.size();
  if (counts <= kFewestByDefault) {
    ++skipped.tried;
    Skip(runs, "", skipped.too_few, skipped);
    return;
  }
  std::size_t first = kFewestByDefault;
  if (most > 0) first = std::max(first, counts - std::min(most, counts));
  const std::size_t all = counts - first, taken = std::min(all, kMostByDefault);
  for (std::size_t i = 0; i < taken; ++i) {  // evenly spread, the largest among them
    ++skipped.tried;
    splits.push_back({&runs, runs.cores[counts - 2 - (taken - 1 - i) * all / taken]});
  }
}

void AddSplits(const PhaseRuns& runs, const std::set<double>& train_max, std::vector<TrainingSplit>& splits,
               SkippedSplits& skipped) {
  std::size_t before = 0;  // core counts that the last split trains on
  for (const double most : train_max) {
    const std::size_t trained = runs.CountsUpTo(most);
    const std::string of_split = fmt::format(" up to {} cores", most);
    ++skipped.tried;
    if (trained < kFewestToTrain) {
      Skip(runs, of_split, skipped.too_few, skipped);
    } else if (trained == runs.cores.size()) {
      Skip(runs, of_split, skipped.nothing_larger, skipped);
    } else if (trained == before) {
      Skip(runs, of_split, skipped.same_runs, skipped);
    } else {
      splits.push_back({&runs, most});
      before = trained;
    }
  }
}

// Which factors have a model, for what was asked in vain.
PhaseProjection FittedOf(const PhaseProjection& projection) {
  PhaseProjection fitted;
  fitted.series = projection.series;
  fitted.phase = projection.phase;
  fitted.obstacle = projection.obstacle;
  for (const FactorProjection& factor : projection.factors) {
    fitted.factors.emplace_back().factor = factor.factor;
    fitted.factors.back().is_product = factor.is_product;
  }
  return fitted;
}

void Compare(const FactorProjection& projection, const TrainingSplit& split, SplitOutcome& outcome) {
  const std::vector<FactorRow>& runs = split.runs->rows;
  const bool is_measured = std::any_of(runs.begin(), runs.end(),
                                       [&](const FactorRow& run) { return run.values[projection.factor].has_value(); });
  for (const FactorRow& run : runs) {
    const auto cores = static_cast<double>(run.cores);
    if (cores <= split.train_max) continue;
    const std::optional<double>& measured = run.values[projection.factor];
    const auto predicted = std::find_if(projection.targets.begin(), projection.targets.end(),
                                        [&](const ProjectedValue& target) { return target.cores == cores; });
    if (predicted == projection.targets.end()) {
      if (measured) ++outcome.not_predicted;
    } else if (!measured) {
      if (is_measured) ++outcome.not_measured;
    } else {
      outcome.rows.push_back({split.runs->series, split.runs->phase, projection.factor, split.train_max, run.repeat,
                              *measured, *predicted, projection.is_product ? kProduct : projection.fit.model});
    }
  }
}

SplitOutcome Predict(const TrainingSplit& split, const FactorTable& table, const ModelLibrary& library,
                     const ProjectionOptions& asked) {
  FactorTable training;
  training.scaling = ScalingOf(table, split.runs->rows);
  training.reference = table.reference;
  for (const FactorRow& run : split.runs->rows) {
    if (static_cast<double>(run.cores) <= split.train_max) training.rows.push_back(run);
  }
  ProjectionOptions options = asked;
  options.train_max.reset();
  const std::vector<double>& cores = split.runs->cores;
  options.targets.assign(std::upper_bound(cores.begin(), cores.end(), split.train_max), cores.end());
  SplitOutcome outcome;
  for (const PhaseProjection& projection : ProjectTargets(training, library, options)) {
    for (const FactorProjection& factor : projection.factors) Compare(factor, split, outcome);
    outcome.fitted = FittedOf(projection);
  }
  return outcome;
}

// Appends the outcomes of the splits of one phase.
void Append(std::vector<SplitOutcome>& outcomes, std::size_t first, std::size_t end, BacktestResult& result) {
  const auto begin = static_cast<std::ptrdiff_t>(result.rows.size());
  for (std::size_t i = first; i < end; ++i) {
    result.not_predicted += outcomes[i].not_predicted;
    result.not_measured += outcomes[i].not_measured;
    for (BacktestRow& row : outcomes[i].rows) result.rows.push_back(std::move(row));
  }
  std::stable_sort(result.rows.begin() + begin, result.rows.end(),
                   [](const BacktestRow& a, const BacktestRow& b) { return a.factor < b.factor; });
}

}  // namespace

BacktestResult Backtest(const FactorTable& table, const ModelLibrary& library, const BacktestOptions& options,
                        const ProgressSink& progress) {
  const std::vector<PhaseRuns> phases = RunsOf(table);
  const std::set<double> train_max(options.train_max.begin(), options.train_max.end());
  BacktestResult result;
  std::vector<TrainingSplit> splits;
  for (const PhaseRuns& runs : phases) {
    if (train_max.empty()) {
      AddDefaultSplits(runs, options.most_splits, splits, result.skipped);
    } else {
      AddSplits(runs, train_max, splits, result.skipped);
    }
  }
  std::vector<SplitOutcome> outcomes(splits.size());
  ProgressCount count(progress, splits.size(), "predicting larger runs from smaller ones");
  ParallelFor(splits.size(), [&](std::size_t i) {
    outcomes[i] = Predict(splits[i], table, library, options.projection);
    count.Done("predicted larger runs of " + splits[i].runs->phase.Text());
  });
  for (std::size_t first = 0, end = 0; first < splits.size(); first = end) {
    while (end < splits.size() && splits[end].runs == splits[first].runs) ++end;
    Append(outcomes, first, end, result);
  }
  std::vector<PhaseProjection> fitted;
  fitted.reserve(outcomes.size());
  for (SplitOutcome& outcome : outcomes) fitted.push_back(std::move(outcome.fitted));
  if (!fitted.empty()) result.findings = FindUnusedModels(options.projection.models, fitted);
  return result;
}

std::vector<BacktestRow> BacktestForReport(const FactorTable& table, const ModelLibrary& library,
                                           const ProjectionOptions& options, const ProgressSink& progress) {
  return Backtest(table, library, {options, {}, kSplitsOfReports}, progress).rows;
}

std::vector<std::string> DescribeGaps(const BacktestResult& result) {
  std::vector<std::string> sentences;
  const SkippedSplits& skipped = result.skipped;
  std::vector<std::string> reasons;
  const auto add = [&](std::size_t count, const std::string& reason) {
    if (count > 0) reasons.push_back(fmt::format("{} {}", count, reason));
  };
  add(skipped.too_few, "with too few core counts to train on");
  add(skipped.nothing_larger, "with no larger run to predict");
  add(skipped.same_runs, "with the same runs as a smaller one");
  if (!reasons.empty()) {
    sentences.push_back(
        fmt::format("{} of {} splits into runs to train on and runs to predict give nothing: {} (first: {})",
                    skipped.too_few + skipped.nothing_larger + skipped.same_runs, skipped.tried, Join(reasons, ", "),
                    skipped.example));
  }
  if (result.not_predicted > 0) {
    sentences.push_back(fmt::format(
        "{} hidden values are not predicted, since no model could be fitted to their factor", result.not_predicted));
  }
  if (result.not_measured > 0) {
    sentences.push_back(
        fmt::format("{} predictions are of factors that the hidden run does not have", result.not_measured));
  }
  return sentences;
}

std::optional<double> RelativeErrorOf(const BacktestRow& row) {
  if (row.measured == 0) return std::nullopt;
  return (row.predicted.value - row.measured) / row.measured;
}

namespace {

std::optional<IntervalRecord> RecordOf(const std::vector<const BacktestRow*>& rows, double coverage,
                                       std::optional<IntervalBounds> ProjectedValue::*interval) {
  IntervalRecord record;
  for (const BacktestRow* row : rows) {
    const std::optional<IntervalBounds>& bounds = row->predicted.*interval;
    if (!bounds) continue;
    ++record.points;
    if (Contains(*bounds, row->measured)) ++record.inside;
    record.score += IntervalScore(*bounds, coverage, row->measured);
  }
  if (record.points == 0) return std::nullopt;
  record.score /= static_cast<double>(record.points);
  return record;
}

// Which hidden value of which split a row is about.
auto KeyOf(const BacktestRow& row) {
  return std::tie(row.series, row.phase, row.factor, row.train_max, row.predicted.cores, row.repeat);
}

struct ByKey {
  bool operator()(const BacktestRow* a, const BacktestRow* b) const { return KeyOf(*a) < KeyOf(*b); }
};

}  // namespace

bool Contains(const IntervalBounds& interval, double value) { return interval.low <= value && value <= interval.high; }

double IntervalScore(const IntervalBounds& interval, double coverage, double value) {
  const double outside = std::max({interval.low - value, value - interval.high, 0.0});
  return interval.high - interval.low + 2 / (1 - coverage) * outside;
}

double IntervalRecord::Coverage() const { return static_cast<double>(inside) / static_cast<double>(points); }

double NearestPowerOfTwo(double ratio) { return std::exp2(std::round(std::log2(ratio))); }

PredictionErrors ErrorsOf(const std::vector<const BacktestRow*>& rows) {
  PredictionErrors result;
  result.points = rows.size();
  std::vector<double> errors;
  for (const BacktestRow* row : rows) {
    const std::optional<double> error = RelativeErrorOf(*row);
    if (error) errors.push_back(std::fabs(*error));
  }
  result.without_error = rows.size() - errors.size();
  if (!errors.empty()) {
    result.median = Median(errors);
    result.percentile90 = Quantile(errors, 0.9);
  }
  result.interval80 = RecordOf(rows, kInnerCoverage, &ProjectedValue::interval80);
  result.interval95 = RecordOf(rows, kOuterCoverage, &ProjectedValue::interval95);
  return result;
}

std::vector<ErrorsAtRatio> ErrorsByRatio(const std::vector<BacktestRow>& rows) {
  std::map<std::pair<Factor, double>, std::vector<const BacktestRow*>> classes;
  for (const BacktestRow& row : rows) classes[{row.factor, NearestPowerOfTwo(row.predicted.ratio)}].push_back(&row);
  std::vector<ErrorsAtRatio> result;
  result.reserve(classes.size());
  for (const auto& [key, members] : classes) result.push_back({key.first, key.second, ErrorsOf(members)});
  return result;
}

std::vector<ErrorsOfPhase> ErrorsByPhase(const std::vector<BacktestRow>& rows, Factor factor) {
  std::vector<std::vector<const BacktestRow*>> phases;
  for (const BacktestRow& row : rows) {
    if (row.factor != factor) continue;
    const BacktestRow* before = phases.empty() ? nullptr : phases.back().front();
    const bool is_same = before != nullptr && before->series == row.series && before->phase == row.phase;
    if (!is_same) phases.emplace_back();
    phases.back().push_back(&row);
  }
  std::vector<ErrorsOfPhase> result;
  for (const auto& of_phase : phases) {
    result.push_back({of_phase.front()->series, of_phase.front()->phase, ErrorsOf(of_phase)});
  }
  return result;
}

BacktestComparison CompareBacktests(const std::vector<BacktestRow>& rows, const std::vector<BacktestRow>& others,
                                    const std::string& against) {
  std::map<const BacktestRow*, const BacktestRow*, ByKey> by_key;
  for (const BacktestRow& other : others) by_key[&other] = &other;
  std::vector<BacktestRow> ours, theirs;
  for (const BacktestRow& row : rows) {
    const auto other = by_key.find(&row);
    if (other == by_key.end()) continue;
    ours.push_back(row);
    theirs.push_back(*other->second);
    ProjectedValue &a = ours.back().predicted, &b = theirs.back().predicted;
    if (!a.interval80 || !b.interval80) a.interval80 = b.interval80 = std::nullopt;
    if (!a.interval95 || !b.interval95) a.interval95 = b.interval95 = std::nullopt;
  }
  return {against, ErrorsByRatio(ours), ErrorsByRatio(theirs)};
}

}  // namespace farscale
