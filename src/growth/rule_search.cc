// The layouts and classes under which rules explain most of the runs.
#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <vector>

#include "base/parallel.h"
#include "growth/call_rules.h"
#include "growth/grid_series.h"
#include "growth/layout_search.h"
#include "growth/program_search.h"

namespace farscale {
namespace {

constexpr std::size_t kAllIterations = std::numeric_limits<std::size_t>::max();

// In which all ranks stand in a row.
RankGrid RowOf(const RunCalls& run) { return {{static_cast<std::int32_t>(run.ranks), 1, 1, 1}}; }

// Those of the layout that the largest run has recorded come first. All runs have layouts in each.
std::vector<std::size_t> DimensionsToTry(const std::vector<RunCalls>& runs) {
  std::vector<std::size_t> dimensions(kMostDimensions);
  std::iota(dimensions.begin(), dimensions.end(), 1);
  for (const RankGrid& grid : runs.back().recorded)
    std::stable_partition(dimensions.begin(), dimensions.end(), [&](std::size_t d) { return d == grid.dimensions(); });
  std::erase_if(dimensions, [&](std::size_t d) {
    return std::ranges::any_of(runs, [&](const RunCalls& run) {
      const std::vector<RankGrid> grids = GridsOf(run.ranks, d);
      return std::ranges::none_of(grids, [&](const RankGrid& grid) { return IsAllowed(run, grid); });
    });
  });
  return dimensions;
}

// A layout and classes of the largest run, and how much of it they explain by themselves.
struct Start {
  CallRules rules;

  double Rounded() const { return std::round(1e4 * rules.Share()); }
};

// All of so many dimensions, the best first and the plainer before the more particular; those that explain clearly less
// are left out.
std::vector<Start> Starts(const RunCalls& largest, std::size_t dimensions, bool has_lines, std::uint64_t most_missed) {
  constexpr double kClearlyLess = 0.01;  // chosen: rules of the other runs do not make up for it
  constexpr std::size_t kMost = 8;       // chosen: as many as a search over all runs has time for
  const std::vector<RankGrid> grids = BestGrids(largest, RowOf(largest), 0, dimensions, 6);
  std::vector<Start> starts;
  std::size_t perfect = 0;
  for (const ClassScheme& scheme : Schemes(dimensions, has_lines)) {
    std::vector<CallRules> fitted(grids.size());
    ParallelFor(grids.size(), [&](std::size_t i) { fitted[i] = FitRun(largest, grids[i], scheme, most_missed); });
    for (const std::int32_t small_extents : {1, 2, 3}) {
      for (const CallRules& rules : fitted) {
        const bool is_hopeless = rules.messages - rules.explained > most_missed;
        if (is_hopeless && small_extents > 1) continue;  // it is kept to say how much it explains
        starts.push_back({WithSmallExtents(rules, small_extents)});
        perfect += starts.back().Rounded() == 1e4;
      }
    }
    if (perfect >= kMost) break;  // the others would be left out
  }
  const double best =
      std::ranges::max(starts, {}, [](const Start& start) { return start.rules.Share(); }).rules.Share();
  std::erase_if(starts, [&](const Start& start) { return start.rules.Share() < best - kClearlyLess; });
  std::ranges::stable_sort(starts, std::greater<>(), &Start::Rounded);
  if (starts.size() > kMost) starts.resize(kMost);
  return starts;
}

// With layouts of the other runs that are most like it, to say how much is not explained.
CallRules BesideHopeless(const std::vector<RunCalls>& runs, const CallRules& of_largest) {
  CallRules rules = of_largest;
  for (std::size_t run = runs.size() - 1; run-- > 0;) {
    const std::vector<RankGrid> grids =
        BestGrids(runs[run], RowOf(runs[run]), 0, runs[run].named ? kMostDimensions : 3, 8);
    rules.grids.insert(rules.grids.begin(), *std::ranges::min_element(grids, {}, [&](const RankGrid& grid) {
                         return Unlikeness(grid, of_largest.grids.front());
                       }));
  }
  return rules;
}

// The best that was found, and of those that explain too little the one that explains most.
struct Found {
  std::optional<CallRules> best;
  std::optional<Start> hopeless;
};

// With layouts of the other runs beside that of the largest one.
CallRules OfAllRuns(const std::vector<RunCalls>& runs, const std::vector<RankGrid>& rows, const Start& start,
                    std::size_t dimensions) {
  const std::vector<RankGrid> grids = GridsBeside(runs, rows, start.rules, 0, dimensions);
  CallRules rules = start.rules;
  for (std::size_t run = runs.size() - 1; run-- > 0;) rules = AddRunBefore(std::move(rules), runs[run], grids[run]);
  return rules;
}

std::vector<RankGrid> RowsOf(const std::vector<RunCalls>& runs) {
  std::vector<RankGrid> rows;
  for (const RunCalls& run : runs) rows.push_back(RowOf(run));
  return rows;
}

// Takes what explains more than the best, or as much more plainly.
void Search(const std::vector<RunCalls>& runs, bool has_lines, Found& found) {
  const std::uint64_t most_missed = MostMissed(runs);
  const std::vector<RankGrid> rows = RowsOf(runs);
  std::optional<CallRules>& best = found.best;
  for (const std::size_t dimensions : DimensionsToTry(runs)) {
    if (best && IsPerfect(*best)) break;
    for (const Start& start : Starts(runs.back(), dimensions, has_lines, most_missed)) {
      if (start.rules.messages - start.rules.explained > most_missed) {
        if (!found.hopeless || start.rules.Share() > found.hopeless->rules.Share()) found.hopeless = start;
        continue;
      }
      CallRules rules = OfAllRuns(runs, rows, start, dimensions);
      if (!best || IsBetter(rules, *best)) best = std::move(rules);
      if (IsPerfect(*best)) break;
    }
  }
}

// Of every layout those larger than one, which make it what it is.
using Extents = std::vector<std::vector<std::int32_t>>;
Extents ExtentsOf(const std::vector<RankGrid>& grids) {
  Extents all;
  for (const RankGrid& grid : grids) {
    std::vector<std::int32_t>& extents = all.emplace_back();
    std::ranges::copy_if(grid.extents, std::back_inserter(extents), [](std::int32_t extent) { return extent > 1; });
  }
  return all;
}

}  // namespace

std::vector<CallRules> FindRivalRules(const std::vector<RunCalls>& runs, const CallRules& best) {
  const bool is_recorded =
      std::ranges::all_of(runs, [](const RunCalls& run) { return run.named || !run.recorded.empty(); });
  constexpr double kWellConfirmed = 0.9;  // chosen: corners of small layouts are seen once
  if (!IsPerfect(best) || best.grids.back().HasTwo() || is_recorded) return {};
  const std::vector<RankGrid> rows = RowsOf(runs);
  std::vector<RankGrid> tried = {best.grids.back()};
  std::set<Extents> known = {ExtentsOf(best.grids)};
  std::vector<CallRules> rivals;
  for (const std::size_t dimensions : DimensionsToTry(runs)) {
    for (const Start& start : Starts(runs.back(), dimensions, best.scheme.has_lines, MostMissed(runs))) {
      const RankGrid& grid = start.rules.grids.front();
      if (start.Rounded() < 1e4 || std::ranges::find(tried, grid) != tried.end()) continue;
      tried.push_back(grid);
      CallRules rules = OfAllRuns(runs, rows, start, dimensions);
      const bool is_as_good = rules.Share() == 1 && rules.Confirmed() >= kWellConfirmed && IsRegular(rules.grids);
      if (is_as_good && known.insert(ExtentsOf(rules.grids)).second) rivals.push_back(std::move(rules));
    }
  }
  return rivals;
}

// On two grids, a row can also be a block of as many ranks; so blocks come after all grids.
CallRules FindCallRules(const std::vector<RunCalls>& runs) {
  Found found;
  Search(runs, false, found);
  if (!PartialCommunicators(runs.back()).empty()) Search(runs, true, found);
  const CallRules best = found.best ? *found.best : BesideHopeless(runs, found.hopeless->rules);
  CallRules of_all = FitCallRules(runs, best.grids, best.scheme, kAllIterations);
  const bool is_complete = of_all.Suffice() && of_all.explained == of_all.messages;
  const std::optional<CallRules> of_two = FindProgramRules(runs, is_complete);
  if (!of_two) return of_all;
  CallRules of_programs = FitCallRules(runs, of_two->grids, of_two->scheme, kAllIterations);
  const bool is_better = of_all.Suffice() ? ExplainAll(of_programs) : SufficeForTwo(of_programs);
  return is_better ? of_programs : of_all;
}

}  // namespace farscale
