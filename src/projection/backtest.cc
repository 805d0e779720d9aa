#include "projection/backtest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
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

// All runs of one phase of one series, ordered by cores and repeat.
using PhaseRuns = std::vector<FactorRow>;
using TrainingSplit = std::pair<const PhaseRuns*, double>;  // the runs, and the most cores that are not hidden

// Distinct, ascending.
std::vector<double> CoresOf(const PhaseRuns& runs) {
  std::vector<double> cores;
  for (const FactorRow& row : runs) cores.push_back(static_cast<double>(row.cores));
  cores.erase(std::unique(cores.begin(), cores.end()), cores.end());
  return cores;
}

// The result of one split, and a projection that says which factors were fitted, and nothing else.
using SplitOutcome = std::pair<BacktestResult, PhaseProjection>;

void Skip(const PhaseRuns& runs, const std::string& of_split, std::size_t& count, BacktestResult& result) {
  ++count;
  if (!result.skipped.empty()) return;
  std::string name = runs.front().series;
  const PhaseId& phase = runs.front().phase;
  if (!phase.IsUnnamed()) name += (name.empty() ? "phase " : ", phase ") + phase.Text();
  result.skipped = (name.empty() ? kWhole : name) + of_split;
}

// `train_max`, `most_splits`: as those of Backtest.
void AddSplits(const PhaseRuns& runs, const std::vector<double>& train_max, std::size_t most_splits,
               std::vector<TrainingSplit>& splits, BacktestResult& result) {
  const std::vector<double> cores = CoresOf(runs);
  const std::size_t counts = cores.size();
  std::size_t before = 0;  // core counts that the last split trains on
  for (const double most : std::set<double>(train_max.begin(), train_max.end())) {
    const auto trained = static_cast<std::size_t>(std::ranges::upper_bound(cores, most) - cores.begin());
    const std::string of_split = fmt::format(" up to {} cores", most);
    ++result.tried;
    if (trained < kFewestToTrain) {
      Skip(runs, of_split, result.too_few, result);
    } else if (trained == counts) {
      Skip(runs, of_split, result.nothing_larger, result);
    } else if (trained == before) {
      Skip(runs, of_split, result.same_runs, result);
    } else {
      splits.push_back({&runs, most});
      before = trained;
    }
  }
  if (!train_max.empty()) return;
  if (counts <= kFewestByDefault) {
    ++result.tried;
    Skip(runs, "", result.too_few, result);
    return;
  }
  std::size_t first = kFewestByDefault;
  if (most_splits > 0) first = std::max(first, counts - std::min(most_splits, counts));
  const std::size_t all = counts - first, taken = std::min(all, kMostByDefault);
  for (std::size_t i = 0; i < taken; ++i) {  // evenly spread, the largest among them
    ++result.tried;
    splits.push_back({&runs, cores[counts - 2 - (taken - 1 - i) * all / taken]});
  }
}

void Compare(const FactorProjection& projection, const PhaseRuns& runs, double train_max, BacktestResult& outcome) {
  const bool is_measured = std::any_of(runs.begin(), runs.end(),
                                       [&](const FactorRow& run) { return run.values[projection.factor].has_value(); });
  for (const FactorRow& run : runs) {
    const auto cores = static_cast<double>(run.cores);
    if (cores <= train_max) continue;
    const std::optional<double>& measured = run.values[projection.factor];
    const auto predicted = std::find_if(projection.targets.begin(), projection.targets.end(),
                                        [&](const ProjectedValue& target) { return target.cores == cores; });
    if (predicted == projection.targets.end()) {
      if (measured) ++outcome.not_predicted;
    } else if (!measured) {
      if (is_measured) ++outcome.not_measured;
    } else {
      outcome.rows.push_back({run.series, run.phase, projection.factor, train_max, run.repeat, *measured, *predicted,
                              projection.is_product ? kProduct : projection.fit.model});
    }
  }
}

SplitOutcome Predict(const TrainingSplit& split, const FactorTable& table, const ModelLibrary& library,
                     const ProjectionOptions& asked) {
  const auto& [runs, train_max] = split;
  FactorTable training;
  training.scaling = ScalingOf(table, *runs);
  training.reference = table.reference;
  for (const FactorRow& run : *runs) {
    if (static_cast<double>(run.cores) <= train_max) training.rows.push_back(run);
  }
  ProjectionOptions options = asked;
  options.train_max.reset();
  const std::vector<double> cores = CoresOf(*runs);
  options.targets.assign(std::upper_bound(cores.begin(), cores.end(), train_max), cores.end());
  SplitOutcome outcome;
  for (const PhaseProjection& projection : ProjectTargets(training, library, options)) {
    for (const FactorProjection& factor : projection.factors) Compare(factor, *runs, train_max, outcome.first);
    PhaseProjection& fitted = outcome.second;
    fitted.series = projection.series;
    fitted.phase = projection.phase;
    fitted.obstacle = projection.obstacle;
    for (const FactorProjection& factor : projection.factors) {
      fitted.factors.emplace_back().factor = factor.factor;
      fitted.factors.back().is_product = factor.is_product;
    }
  }
  return outcome;
}

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

}  // namespace

BacktestResult Backtest(const FactorTable& table, const ModelLibrary& library, const ProjectionOptions& options,
                        const std::vector<double>& train_max, std::size_t most_splits, const ProgressSink& progress) {
  std::vector<PhaseRuns> phases;
  for (const PhaseKey& key : table.Keys()) phases.push_back(table.Rows(key));
  BacktestResult result;
  std::vector<TrainingSplit> splits;
  for (const PhaseRuns& runs : phases) AddSplits(runs, train_max, most_splits, splits, result);
  std::vector<SplitOutcome> outcomes(splits.size());
  ProgressCount count(progress, splits.size(), "predicting larger runs from smaller ones");
  ParallelFor(splits.size(), [&](std::size_t i) {
    outcomes[i] = Predict(splits[i], table, library, options);
    count.Done("predicted larger runs of " + splits[i].first->front().phase.Text());
  });
  for (std::size_t first = 0, end = 0; first < splits.size(); first = end) {
    const auto begin = static_cast<std::ptrdiff_t>(result.rows.size());
    for (; end < splits.size() && splits[end].first == splits[first].first; ++end) {
      BacktestResult& of_split = outcomes[end].first;
      result.not_predicted += of_split.not_predicted;
      result.not_measured += of_split.not_measured;
      std::ranges::move(of_split.rows, std::back_inserter(result.rows));
    }
    std::ranges::stable_sort(result.rows.begin() + begin, result.rows.end(), {}, &BacktestRow::factor);
  }
  std::vector<PhaseProjection> fitted;
  fitted.reserve(outcomes.size());
  for (SplitOutcome& outcome : outcomes) fitted.push_back(std::move(outcome.second));
  if (!fitted.empty()) result.findings = FindUnusedModels(options.models, fitted);
  return result;
}

std::vector<BacktestRow> BacktestForReport(const FactorTable& table, const ModelLibrary& library,
                                           const ProjectionOptions& options, const ProgressSink& progress) {
  return Backtest(table, library, options, {}, kSplitsOfReports, progress).rows;
}

std::vector<std::string> DescribeGaps(const BacktestResult& result) {
  std::vector<std::string> sentences;
  std::vector<std::string> reasons;
  const auto add = [&](std::size_t count, const std::string& reason) {
    if (count > 0) reasons.push_back(fmt::format("{} {}", count, reason));
  };
  add(result.too_few, "with too few core counts to train on");
  add(result.nothing_larger, "with no larger run to predict");
  add(result.same_runs, "with the same runs as a smaller one");
  if (!reasons.empty()) {
    sentences.push_back(fmt::format(
        "{} of {} splits into runs to train on and runs to predict give nothing: {} (first: {})",
        result.too_few + result.nothing_larger + result.same_runs, result.tried, Join(reasons, ", "), result.skipped));
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

std::vector<std::pair<PhaseKey, PredictionErrors>> ErrorsByPhase(const std::vector<BacktestRow>& rows, Factor factor) {
  std::vector<std::vector<const BacktestRow*>> phases;
  for (const BacktestRow& row : rows) {
    if (row.factor != factor) continue;
    const BacktestRow* before = phases.empty() ? nullptr : phases.back().front();
    const bool is_same = before != nullptr && before->series == row.series && before->phase == row.phase;
    if (!is_same) phases.emplace_back();
    phases.back().push_back(&row);
  }
  std::vector<std::pair<PhaseKey, PredictionErrors>> result;
  for (const auto& of_phase : phases) {
    result.emplace_back(PhaseKey{of_phase.front()->series, of_phase.front()->phase}, ErrorsOf(of_phase));
  }
  return result;
}

BacktestComparison CompareBacktests(const std::vector<BacktestRow>& rows, const std::vector<BacktestRow>& others,
                                    const std::string& against) {
  std::map<decltype(KeyOf(others.front())), const BacktestRow*> by_key;
  for (const BacktestRow& other : others) by_key.insert_or_assign(KeyOf(other), &other);
  std::vector<BacktestRow> ours, theirs;
  for (const BacktestRow& row : rows) {
    const auto other = by_key.find(KeyOf(row));
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
