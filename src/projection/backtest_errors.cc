#include "projection/backtest_errors.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "stats/sample_quantiles.h"

namespace farscale {
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
  std::vector<ErrorsOfPhase> result;
  std::vector<const BacktestRow*> members;
  const auto finish = [&] {
    if (members.empty()) return;
    result.push_back({members.front()->series, members.front()->phase, ErrorsOf(members)});
    members.clear();
  };
  for (const BacktestRow& row : rows) {
    if (row.factor != factor) continue;
    const bool is_same =
        !members.empty() && members.front()->series == row.series && members.front()->phase == row.phase;
    if (!is_same) finish();
    members.push_back(&row);
  }
  finish();
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
