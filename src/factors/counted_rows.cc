#include "factors/counted_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "factors/table_terms.h"
#include "stats/sample_quantiles.h"

namespace farscale {
namespace {

using Reading = std::function<std::optional<double>(const FactorRow&)>;

struct Run {
  const FactorRow* row;
  double value;
};
using Runs = std::map<std::pair<std::int64_t, std::int64_t>, std::vector<Run>>;  // by cores and threads

// Chosen: repeats of 1 to 3 % are never out; of normal scatter of 5 % one table in 30 has one that is.
constexpr double kUsualScatter = 0.02;
constexpr double kFarthest = 6;             // standard deviations
constexpr std::size_t kFewestToJudge = 3;   // of two nothing tells which is bad
constexpr std::size_t kFewNoisyCounts = 2;  // more with outlying repeats, and more than half of all: that is the noise
constexpr std::size_t kMostNamed = 3;

// Each row is looked at once, since rows are large. Nothing where one lacks the value.
std::optional<Runs> RunsBy(const RowPointers& rows, const Reading& value) {
  Runs runs;
  for (const FactorRow* row : rows) {
    const double one = value(*row).value_or(0);
    if (!(one > 0)) return std::nullopt;
    runs[{row->cores, row->threads}].push_back({row, one});
  }
  return runs;
}

const Reading kTime = [](const FactorRow& row) { return row.TimePerIteration(); };

// What repeats are compared by: time, else the first factor that all rows know.
struct Compared {
  Runs runs;
  std::string id;  // of the factor; empty for time
};

std::optional<Compared> ComparedBy(const RowPointers& rows) {
  if (auto runs = RunsBy(rows, kTime)) return Compared{std::move(*runs), ""};
  for (const FactorType& type : AllFactors()) {
    auto runs = RunsBy(rows, [factor = type.factor](const FactorRow& row) { return row.values[factor]; });
    if (runs) return Compared{std::move(*runs), std::string(type.id)};
  }
  return std::nullopt;
}

double MedianOfRuns(const std::vector<Run>& runs) {
  std::vector<double> values;
  for (const Run& run : runs) values.push_back(run.value);
  return Median(values);
}

std::vector<double> Distances(const std::vector<Run>& runs) {
  const double median = MedianOfRuns(runs);
  std::vector<double> distances;
  for (const Run& run : runs) distances.push_back(std::fabs(std::log(run.value / median)));
  return distances;
}

// Standard deviation of logarithms, from distances to the median; the factors correct the bias of few normal values.
double ScatterOfRuns(const std::vector<double>& distances) {
  const std::size_t count = distances.size();
  if (count == 2) return std::max(kUsualScatter, std::sqrt(2.0) * distances[0]);
  const double of_few = count == 3 ? 1.6 : count < 6 ? 1.2 : 1.05;
  return std::max(kUsualScatter, of_few * kDeviationOverMedianDistance * Median(distances));
}

// Own scatter of few repeats is uncertain, so that of the other core counts, and the usual one, counts as much.
RowPointers FindOutlying(const RowPointers& rows) {
  if (rows.size() < kFewestToJudge) return {};
  const std::optional<Compared> by = ComparedBy(rows);
  if (!by) return {};
  std::vector<double> scatters = {kUsualScatter};
  for (const auto& [split, repeats] : by->runs) {
    if (repeats.size() > 1) scatters.push_back(ScatterOfRuns(Distances(repeats)));
  }
  const double usual = Median(scatters);
  RowPointers outlying;
  std::size_t judged = 0, noisy = 0;
  for (const auto& [split, repeats] : by->runs) {
    if (repeats.size() < kFewestToJudge) continue;
    const std::vector<double> distances = Distances(repeats);
    const double limit = kFarthest * std::sqrt(usual * ScatterOfRuns(distances));
    RowPointers far;
    for (std::size_t i = 0; i < repeats.size(); ++i) {
      if (distances[i] > limit) far.push_back(repeats[i].row);
    }
    ++judged;
    if (far.empty() || 2 * far.size() >= repeats.size()) continue;
    ++noisy;
    outlying.insert(outlying.end(), far.begin(), far.end());
  }
  return noisy > kFewNoisyCounts && 2 * noisy > judged ? RowPointers() : outlying;
}

// Run times are those of the program, however its cores are divided: the best of them is what the cores can do.
RowPointers FindSlower(const RowPointers& rows) {
  if (!std::ranges::all_of(rows, [](const FactorRow* row) { return KnowsTimesOnly(*row); })) return {};
  const std::optional<Runs> runs = RunsBy(rows, kTime);
  if (!runs) return {};
  std::map<std::int64_t, std::pair<double, std::int64_t>> fastest;  // time and threads by cores
  for (const auto& [split, repeats] : *runs) {
    const std::pair of_split(MedianOfRuns(repeats), split.second);
    const auto [best, is_first] = fastest.try_emplace(split.first, of_split);
    if (!is_first) best->second = std::min(best->second, of_split);
  }
  RowPointers slower;
  for (const auto& [split, repeats] : *runs) {
    if (split.second == fastest.at(split.first).second) continue;
    for (const Run& run : repeats) slower.push_back(run.row);
  }
  return slower;
}

RowPointers Without(RowPointers rows, const RowPointers& others) {
  if (others.empty()) return rows;
  const std::set<const FactorRow*> left_out(others.begin(), others.end());
  std::erase_if(rows, [&](const FactorRow* row) { return left_out.contains(row); });
  return rows;
}

std::string Joined(std::vector<std::string> names, const char* separator) {
  const std::size_t all = names.size();
  if (all <= kMostNamed) return Join(names, separator);
  names.resize(kMostNamed);
  return Join(names, separator) + fmt::format("{}{} more", separator, all - kMostNamed);
}

}  // namespace

CountedRows CountRows(const RowPointers& rows) {
  CountedRows result;
  result.slower = FindSlower(rows);
  result.counted = Without(rows, result.slower);
  result.outlying = FindOutlying(result.counted);
  result.counted = Without(std::move(result.counted), result.outlying);
  return result;
}

std::string DescribeOutlying(const CountedRows& rows) {
  RowPointers all = rows.counted;
  all.insert(all.end(), rows.outlying.begin(), rows.outlying.end());
  const std::optional<Compared> by = ComparedBy(all);
  std::vector<std::string> names;
  for (const FactorRow* row : rows.outlying) {
    const std::vector<Run>& repeats = by->runs.at({row->cores, row->threads});
    const double value = std::ranges::find(repeats, row, &Run::row)->value, median = MedianOfRuns(repeats);
    names.push_back(
        fmt::format("repeat {} on {} core{} {}, the median {}", row->repeat, row->cores, row->cores == 1 ? "" : "s",
                    by->id.empty() ? fmt::format("takes {:.4g} s", value) : fmt::format("has {} {:.4g}", by->id, value),
                    by->id.empty() ? fmt::format("{:.4g} s", median) : fmt::format("{:.4g}", median)));
  }
  return Joined(names, "; ");
}

std::string DescribeSplits(const CountedRows& rows) {
  std::map<std::int64_t, std::string> splits;
  for (const FactorRow* row : rows.counted) {
    splits[row->cores] = fmt::format("{} = {} × {}", row->cores, row->ranks, row->threads);
  }
  std::vector<std::string> names;
  for (const auto& [cores, split] : splits) names.push_back(split);
  return Joined(names, ", ");
}

}  // namespace farscale
