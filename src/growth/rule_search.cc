// The layouts and classes under which rules explain most of the runs.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <set>

#include "base/parallel.h"
#include "growth/call_rules.h"
#include "growth/part_rules.h"

namespace farscale {
namespace {

constexpr std::size_t kAllIterations = std::numeric_limits<std::size_t>::max();

// Communicators of some but not all ranks that calls of the first iteration are made on.
std::set<std::uint32_t> PartialCommunicators(const RunCalls& run) {
  std::set<std::uint32_t> used;
  for (const RankCalls& calls : run.of_ranks) {
    for (std::uint32_t i = 0; i < calls.FirstPart(calls.iteration_end.front()); ++i) {
      const std::uint32_t number = calls.parts[i].communicator;
      const std::size_t members = run.communicators[number].members.size();
      if (IsPost(calls.parts[i].kind) && members > 0 && static_cast<std::int64_t>(members) < run.ranks)
        used.insert(number);
    }
  }
  return used;
}

// How many different steps the messages of a run make on a grid; each counts by its length, so that near neighbours are
// preferred; so does every communicator that is no group of the grid.
double Disorder(const RunCalls& run, const std::set<std::uint32_t>& communicators, const RankGrid& grid) {
  std::set<GridVector> steps;
  for (std::int64_t rank = 0; rank < run.ranks; ++rank) {
    const RankCalls& calls = run.of_ranks[static_cast<std::size_t>(rank)];
    std::set<std::int32_t> peers;
    for (std::uint32_t i = 0; i < calls.FirstPart(calls.iteration_end.front()); ++i) {
      const CallPart& part = calls.parts[i];
      if (IsPost(part.kind) && !PartOf(part.kind).IsCollective() && part.peer >= 0) peers.insert(part.peer);
    }
    const GridVector from = grid.CoordinatesOf(rank);
    for (const std::int32_t peer : peers) {
      GridVector step = grid.CoordinatesOf(peer);
      for (std::size_t d = 0; d < kMostDimensions; ++d) {
        step[d] -= from[d];
        const std::int32_t extent = grid.extents[d];  // the shorter way around
        if (2 * std::abs(step[d]) >= extent) step[d] -= step[d] > 0 ? extent : -extent;
        if (2 * std::abs(step[d]) == extent) step[d] = extent / 2;
      }
      steps.insert(step);
    }
  }
  double sum = 0;
  for (const GridVector& step : steps) {
    for (const std::int32_t one : step) sum += std::abs(one);
  }
  for (const std::uint32_t number : communicators)
    sum += GridDivisionsWith(grid, run.communicators[number].members).empty() ? 1 : 0;
  // Of equals, the one that MPI_Dims_create would rather choose.
  return sum + 0.001 * *std::ranges::max_element(grid.extents);
}

bool IsAllowed(const RunCalls& run, const RankGrid& grid) {
  return !run.named || grid == *run.named || grid == run.named->Reversed();
}
bool IsRecorded(const RunCalls& run, const RankGrid& grid) {
  return std::ranges::find(run.recorded, grid) != run.recorded.end();
}

// Of those that the study allows. What the trace has recorded comes first.
std::vector<RankGrid> BestGrids(const RunCalls& run, std::size_t dimensions, std::size_t most) {
  std::vector<std::pair<double, RankGrid>> ranked;
  const std::set<std::uint32_t> communicators = PartialCommunicators(run);
  for (const RankGrid& grid : GridsOf(run.ranks, dimensions)) {
    if (!IsAllowed(run, grid)) continue;
    ranked.emplace_back(IsRecorded(run, grid) ? -1 : Disorder(run, communicators, grid), grid);
  }
  std::ranges::stable_sort(ranked, {}, &std::pair<double, RankGrid>::first);
  std::vector<RankGrid> best;
  for (std::size_t i = 0; i < std::min(most, ranked.size()); ++i) best.push_back(ranked[i].second);
  return best;
}

// Those of the layout that the largest run has recorded come first. All runs have layouts in each.
std::vector<std::size_t> DimensionsToTry(const std::vector<RunCalls>& runs) {
  std::vector<std::size_t> dimensions(kMostDimensions);
  std::iota(dimensions.begin(), dimensions.end(), 1);
  for (const RankGrid& grid : runs.back().recorded)
    std::ranges::stable_partition(dimensions, [&](std::size_t d) { return d == grid.dimensions(); });
  std::erase_if(dimensions, [&](std::size_t d) {
    return std::ranges::any_of(runs, [&](const RunCalls& run) {
      const std::vector<RankGrid> grids = GridsOf(run.ranks, d);
      return std::ranges::none_of(grids, [&](const RankGrid& grid) { return IsAllowed(run, grid); });
    });
  });
  return dimensions;
}

// How unlike the extents of two layouts are in their proportions.
double Unlikeness(const RankGrid& a, const RankGrid& b) {
  const double ratio = static_cast<double>(a.size()) / static_cast<double>(b.size());
  const double even = std::pow(ratio, 1.0 / static_cast<double>(std::max<std::size_t>(1, b.dimensions())));
  double sum = 0;
  for (std::size_t d = 0; d < kMostDimensions; ++d) {
    const double expected = b.extents[d] == 1 ? 1 : even * b.extents[d];
    sum += std::abs(std::log(a.extents[d] / expected));
  }
  return sum;
}

// The layout of the largest run is given, those of the others are chosen one by one beside it: of those that explain
// equally much, the one that is most like it.
std::vector<RankGrid> GridsBeside(const std::vector<RunCalls>& runs, const CallRules& largest, std::size_t dimensions) {
  std::vector<RankGrid> grids(runs.size());
  grids.back() = largest.grids.front();
  for (std::size_t run = 0; run + 1 < runs.size(); ++run) {
    double share = -1;
    std::vector<RankGrid> tried = BestGrids(runs[run], dimensions, 8);
    std::ranges::stable_sort(tried, {}, [&](const RankGrid& grid) {
      return IsRecorded(runs[run], grid) ? -1 : Unlikeness(grid, grids.back());
    });
    for (const RankGrid& grid : tried) {
      const double one = AddRunBefore(largest, runs[run], grid).Confirmed();
      if (one > share + 1e-9) {
        grids[run] = grid;
        share = one;
      }
      if (share == 1) break;
    }
  }
  return grids;
}

// In two dimensions, ranks may differ by their place in one of them alone, as the first ranks of nodes do, which have
// communicators of their own.
std::vector<GridVector> Reaches(std::size_t dimensions, bool has_lines) {
  std::vector<GridVector> reaches = {GridVector{}};
  for (const std::int32_t reach : {1, 2}) {
    if (dimensions == 2 && has_lines) reaches.insert(reaches.end(), {{reach, 0}, {0, reach}});
    GridVector all{};
    for (std::size_t d = 0; d < dimensions; ++d) all[d] = reach;
    reaches.push_back(all);
  }
  return reaches;
}

// From plain to particular.
std::vector<ClassScheme> Schemes(std::size_t dimensions, bool has_lines) {
  std::vector<ClassScheme> schemes;
  for (const GridVector& reach : Reaches(dimensions, has_lines)) {
    for (const bool has_stages : {false, true}) {
      schemes.push_back({reach, 1, has_stages, has_lines});
    }
  }
  return schemes;
}

// Messages of an iteration of every kind.
std::uint64_t CountMessages(const RunCalls& run) {
  std::uint64_t messages = 0;
  const std::size_t kinds = 1 + *std::ranges::max_element(run.kinds);
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    const auto first = static_cast<std::size_t>(std::ranges::find(run.kinds, kind) - run.kinds.begin());
    for (const RankCalls& calls : run.of_ranks) {
      if (first == run.kinds.size()) break;
      for (std::uint32_t call = calls.FirstCall(first); call < calls.iteration_end[first]; ++call) {
        messages += static_cast<std::uint64_t>(
            std::ranges::count_if(calls.PartsOf(call), [](const CallPart& part) { return IsPost(part.kind); }));
      }
    }
  }
  return messages;
}

// How many messages of the largest run rules may leave unexplained to explain enough of all, whatever they explain of
// the others.
std::uint64_t MostMissed(const std::vector<RunCalls>& runs) {
  std::uint64_t messages = 0;
  for (const RunCalls& run : runs) messages += CountMessages(run);
  return static_cast<std::uint64_t>((1 - kLeastExplained) * static_cast<double>(messages));
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
  const std::vector<RankGrid> grids = BestGrids(largest, dimensions, 6);
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
    const std::vector<RankGrid> grids = BestGrids(runs[run], runs[run].named ? kMostDimensions : 3, 8);
    rules.grids.insert(rules.grids.begin(), *std::ranges::min_element(grids, {}, [&](const RankGrid& grid) {
                         return Unlikeness(grid, of_largest.grids.front());
                       }));
  }
  return rules;
}

// Share of the partners that follow from steps in the grid, stages, or rules that no other grid turns into steps. With
// two ranks in a dimension, `rank xor P / 2` is a step in a grid of one dimension more.
double PlainShare(const CallRules& rules) {
  double plain = 0, all = 0;
  for (const auto& [key, of_class] : rules.classes) {
    for (const auto& kind : of_class.kinds) {
      for (const CallBlock& block : kind) {
        for (const CallRule& call : block.calls) {
          for (const PartRule& part : call.parts) {
            if (!IsPost(part.kind) || PartOf(part.kind).IsCollective() || part.peers.empty()) continue;
            const PeerRule::Kind of = part.peers.front().kind;
            all += 1;
            plain +=
                of == PeerRule::Kind::kXor || of == PeerRule::Kind::kXorPart || of == PeerRule::Kind::kRingPart ? 0 : 1;
          }
        }
      }
    }
  }
  return all > 0 ? plain / all : 1;
}

bool IsBetter(const CallRules& rules, const CallRules& best) {
  if (std::abs(rules.Confirmed() - best.Confirmed()) > 1e-6) return rules.Confirmed() > best.Confirmed();
  return PlainShare(rules) > PlainShare(best) + 1e-6;
}

bool IsPerfect(const CallRules& rules) { return rules.Confirmed() == 1 && PlainShare(rules) == 1; }

// The best that was found, and of those that explain too little the one that explains most.
struct Found {
  std::optional<CallRules> best;
  std::optional<Start> hopeless;
};

// Takes what explains more than the best, or as much more plainly.
void Search(const std::vector<RunCalls>& runs, bool has_lines, Found& found) {
  const std::uint64_t most_missed = MostMissed(runs);
  std::optional<CallRules>& best = found.best;
  for (const std::size_t dimensions : DimensionsToTry(runs)) {
    if (best && IsPerfect(*best)) break;
    for (const Start& start : Starts(runs.back(), dimensions, has_lines, most_missed)) {
      if (start.rules.messages - start.rules.explained > most_missed) {
        if (!found.hopeless || start.rules.Share() > found.hopeless->rules.Share()) found.hopeless = start;
        continue;
      }
      const std::vector<RankGrid> grids = GridsBeside(runs, start.rules, dimensions);
      CallRules rules = start.rules;
      for (std::size_t run = runs.size() - 1; run-- > 0;) rules = AddRunBefore(rules, runs[run], grids[run]);
      if (!best || IsBetter(rules, *best)) best = std::move(rules);
      if (IsPerfect(*best)) break;
    }
  }
}

}  // namespace

// On two grids, a row can also be a block of as many ranks; so blocks come after all grids.
CallRules FindCallRules(const std::vector<RunCalls>& runs) {
  Found found;
  Search(runs, false, found);
  if (!PartialCommunicators(runs.back()).empty()) Search(runs, true, found);
  const CallRules best = found.best ? *found.best : BesideHopeless(runs, found.hopeless->rules);
  return FitCallRules(runs, best.grids, best.scheme, kAllIterations);
}

}  // namespace farscale
