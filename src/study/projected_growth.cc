#include "study/projected_growth.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "study/anomalies.h"
#include "study/scenario.h"

namespace farscale {
std::optional<std::int64_t> ThreadsOf(const FactorTable& table) {
  for (const FactorRow& row : table.rows) {
    if (row.threads != table.rows.front().threads) return std::nullopt;
  }
  return table.rows.empty() ? std::nullopt : std::optional(table.rows.front().threads);
}

namespace {

// As GrowthOptions::most_bytes, of runs that are grown for a projection; chosen: replayed in seconds.
constexpr double kMostBytesOfProjections = 1 << 28;

// Numbers of ranks from the largest run to the targets, each twice the one before, and the targets.
std::vector<std::int64_t> RanksToGrow(const FactorTable& table, const ProjectionOptions& projection,
                                      std::int64_t threads) {
  std::int64_t largest = 0;
  for (const FactorRow& row : table.rows) {
    if (!projection.train_max || static_cast<double>(row.cores) <= *projection.train_max)
      largest = std::max(largest, row.cores / threads);
  }
  if (largest == 0) return {};
  const std::vector<double> all =
      projection.targets.empty() ? DefaultTargets(static_cast<double>(largest * threads)) : projection.targets;
  const auto last = static_cast<std::int64_t>(std::ranges::max(all)) / threads;
  std::set<std::int64_t> ranks;
  for (std::int64_t next = 2 * largest; next < last; next *= 2) ranks.insert(next);
  for (const double target : all) {
    if (target > static_cast<double>(largest * threads)) ranks.insert(static_cast<std::int64_t>(target) / threads);
  }
  return {ranks.begin(), ranks.end()};
}

// The runs that could be used, up to those that are fitted.
Study WithUsedRuns(const Study& study, const std::vector<RunRecord>& records) {
  Study used = study;
  std::erase_if(used.runs, [&](const RunSpec& run) {
    return std::ranges::none_of(records, [&](const RunRecord& record) {
      return record.path == run.trace && record.error.empty() &&
             (!study.projection.train_max || static_cast<double>(record.cores) <= *study.projection.train_max);
    });
  });
  return used;
}

// Whether growth has cut the phase as it was measured: iterations can be found or chosen otherwise.
bool IsAsMeasured(const PhaseGrowth& growth, const FactorTable& table, std::int64_t threads) {
  constexpr double kSame = 1e-9;  // chosen: rounding
  return std::ranges::all_of(growth.measured, [&](const GrowthRow& row) {
    return std::ranges::any_of(table.rows, [&](const FactorRow& measured) {
      const std::optional<double>&a = row.values[Factor::kLoadBalance], &b = measured.values[Factor::kLoadBalance];
      return measured.phase == PhaseId(growth.phase) && measured.cores == row.ranks * threads && a && b &&
             std::abs(*a - *b) < kSame;
    });
  });
}

}  // namespace

std::string WhyNotGrown(const PhaseGrowth& growth, const FactorTable& table, std::int64_t threads) {
  if (!growth.refusal.empty()) return growth.refusal;
  if (!IsAsMeasured(growth, table, threads)) return "its iterations are found or chosen otherwise than all of a region";
  const std::int64_t largest = growth.measured.back().ranks;
  if (std::ranges::any_of(growth.grown, [&](const GrowthRow& row) { return row.ranks > largest; })) return "";
  return "no target has a layout of more ranks than the largest run";
}

namespace {

GrowthOfStudy Grow(const Study& study, const std::optional<Scenario>& scenario, const ProgressSink& progress,
                   const FactorTable& table) {
  const std::optional<std::int64_t> threads = ThreadsOf(table);
  if (!threads) throw Error(ErrorKind::kNotEnoughData, "", "runs differ in the threads of their processes");
  const GrowthOptions options{.ranks = RanksToGrow(table, study.projection, *threads),
                              .network = scenario || study.growth->network == "calibrated"
                                             ? std::nullopt
                                             : std::optional(study.growth->network),
                              .seed = study.projection.seed,
                              .most_bytes = kMostBytesOfProjections,
                              .grids = study.growth->grids,
                              .scenario = scenario};
  GrowthResults results = RunGrowth(study, options, progress);
  GrowthOfStudy grown;
  if (!results.unknown_network.empty()) grown.obstacles.push_back("transfer: " + results.unknown_network);
  for (const PhaseGrowth& growth : results.phases) {
    const std::string obstacle = WhyNotGrown(growth, table, *threads);
    if (!obstacle.empty()) {
      grown.obstacles.push_back(growth.phase + ": " + obstacle);
      continue;
    }
    GrownPhase& phase =
        grown.phases.emplace_back(GrownPhase{study.series, growth.phase, {}, growth.statistical.has_value()});
    for (const std::vector<GrowthRow>* rows : {&growth.backtest, &growth.grown}) {
      for (const GrowthRow& row : *rows) {
        phase.runs.push_back({static_cast<double>(*row.learned_up_to * *threads),
                              static_cast<double>(row.ranks * *threads), row.values});
      }
    }
  }
  grown.results = std::move(results);
  return grown;
}

}  // namespace

GrowthOfStudy GrowForProjection(const Study& study, const std::vector<RunRecord>& records,
                                const std::optional<Scenario>& scenario, const ProgressSink& progress,
                                const FactorTable& table) {
  try {
    return Grow(WithUsedRuns(study, records), scenario, progress, table);
  } catch (const Error& error) {  // curves stand without
    if (error.kind() == ErrorKind::kUsage) throw;
    return {.obstacles = {error.what()}};
  } catch (const std::bad_alloc&) {
    return {.obstacles = {"the memory does not suffice"}};
  }
}

void AddObstacles(const std::vector<std::string>& obstacles, FactorTable& table) {
  Diagnostics diagnostics;
  if (!obstacles.empty()) diagnostics.Add(anomaly::kNotGrown, obstacles.size(), Join(obstacles, "; "));
  for (const Finding& finding : diagnostics.findings()) table.findings.push_back(finding);
}

}  // namespace farscale
