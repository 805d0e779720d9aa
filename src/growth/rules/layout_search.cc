// The layouts and classes under which rules explain most of the runs.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <limits>
#include <numeric>
#include <set>

#include "base/parallel.h"
#include "growth/growth_model.h"

namespace farscale {
namespace {

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

// The sum of the different steps that messages within a program make on its grid; each counts by its length, so that
// near neighbours are preferred; so does every communicator that is no group of the grid.
double Disorder(const RunCalls& run, const std::set<std::uint32_t>& communicators, const RankGrid& grid,
                std::size_t program) {
  const GridVector& extents = grid.ExtentsOf(program);
  std::set<GridVector> steps;
  for (std::int64_t rank = grid.FirstOf(program); rank < grid.FirstOf(program) + grid.SizeOf(program); ++rank) {
    const RankCalls& calls = run.of_ranks[static_cast<std::size_t>(rank)];
    std::set<std::int32_t> peers;
    for (std::uint32_t i = 0; i < calls.FirstPart(calls.iteration_end.front()); ++i) {
      const CallPart& part = calls.parts[i];
      if (IsMessage(part.kind) && part.peer >= 0) peers.insert(part.peer);
    }
    const GridVector from = grid.Coordinates(rank);
    for (const std::int32_t peer : peers) {
      if (grid.ProgramOf(peer) != program) continue;
      GridVector step = grid.Coordinates(peer);
      for (std::size_t d = 0; d < kMostDimensions; ++d) {
        step[d] -= from[d];
        const std::int32_t extent = extents[d];  // the shorter way around
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
  for (const std::uint32_t number : communicators) {
    const std::vector<std::int32_t>& members = run.communicators[number].members;
    if (grid.ProgramOf(members.front()) == program) sum += GridDivisionsWith(grid, members).empty() ? 1 : 0;
  }
  // Among equals, the one that MPI_Dims_create would rather choose.
  return sum + 0.001 * *std::ranges::max_element(extents);
}

// True if the study allows the layout of a run.
bool IsAllowed(const RunCalls& run, const RankGrid& grid) {
  return !run.named || grid == *run.named || grid == run.named->Reversed();
}

bool IsRecorded(const RunCalls& run, const RankGrid& grid) {
  return std::ranges::find(run.recorded, grid) != run.recorded.end();
}

// Layouts of a program of a run, the other one of which stays as in `base`: of those that the study allows, the ones in
// which messages go the fewest and shortest steps. Those that the trace has recorded come first.
std::vector<RankGrid> BestGrids(const RunCalls& run, const RankGrid& base, std::size_t program, std::size_t dimensions,
                                std::size_t most) {
  std::vector<std::pair<double, RankGrid>> ranked;
  const std::set<std::uint32_t> communicators = PartialCommunicators(run);
  for (const RankGrid& of_program : GridsOf(base.SizeOf(program), dimensions)) {
    const RankGrid grid = base.With(program, of_program);
    if (!IsAllowed(run, grid)) continue;
    ranked.emplace_back(IsRecorded(run, grid) ? -1 : Disorder(run, communicators, grid, program), grid);
  }
  std::ranges::stable_sort(ranked, {}, &std::pair<double, RankGrid>::first);
  std::vector<RankGrid> best;
  for (std::size_t i = 0; i < std::min(most, ranked.size()); ++i) best.push_back(ranked[i].second);
  return best;
}

// The difference of two layouts in the proportions of their extents.
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

// Classes to be tried, from plain to particular. In two dimensions, ranks may differ by their place in one of them
// alone, as the first ranks of nodes do, which have communicators of their own. Chains of few ranks have room for
// neighbours further away than grids do.
std::vector<ClassScheme> Schemes(std::size_t dimensions, bool has_lines, std::size_t program = 0) {
  std::vector<GridVector> reaches = {GridVector{}};
  for (std::int32_t reach = 1; reach <= (dimensions == 1 ? 4 : 2); ++reach) {
    if (dimensions == 2 && has_lines) reaches.insert(reaches.end(), {{reach, 0}, {0, reach}});
    GridVector all{};
    for (std::size_t d = 0; d < dimensions; ++d) all[d] = reach;
    reaches.push_back(all);
  }
  std::vector<ClassScheme> schemes;
  for (const GridVector& reach : reaches) {
    for (const bool has_stages : {false, true}) {
      ClassScheme& scheme = schemes.emplace_back();
      scheme.reach[program] = reach;
      scheme.has_stages[program] = has_stages;
      scheme.has_lines = has_lines;
    }
  }
  return schemes;
}

// The number of messages that rules may leave unexplained in the largest run to explain enough of all, whatever they
// explain of the others. An iteration of every kind counts.
std::uint64_t MostMissed(const std::vector<RunCalls>& runs) {
  std::uint64_t messages = 0;
  for (const RunCalls& run : runs) {
    for (std::size_t kind = 0; kind < run.CountKinds(); ++kind) {
      const std::size_t first = run.FirstOfKind(kind);
      for (const RankCalls& calls : run.of_ranks) {
        if (first == run.kinds.size()) break;
        for (std::uint32_t call = calls.FirstCall(first); call < calls.iteration_end[first]; ++call) {
          messages += static_cast<std::uint64_t>(
              std::ranges::count_if(calls.Parts(call), [](const CallPart& part) { return IsPost(part.kind); }));
        }
      }
    }
  }
  return static_cast<std::uint64_t>((1 - kLeastExplained) * static_cast<double>(messages));
}

bool IsHopeless(const CallRules& rules, std::uint64_t most_missed) {
  return rules.messages - rules.explained > most_missed;
}

// Share of the partners that follow from steps in the grid, stages, or rules that no other grid turns into steps. With
// two ranks in a dimension, `rank xor P / 2` is a step in a grid of one dimension more.
double PlainShare(const CallRules& rules) {
  using Kind = PeerRule::Kind;
  double plain = 0, all = 0;
  for (const auto& [key, of_class] : rules.classes) {
    ForEachPart(of_class, [&](const CallRule&, const PartRule& part) {
      if (!IsMessage(part.kind) || part.peers.empty()) return;
      const Kind of = part.peers.front().kind;
      all += 1;
      plain += of == Kind::kXor || of == Kind::kXorPart || of == Kind::kRingPart ? 0 : 1;
    });
  }
  return all > 0 ? plain / all : 1;
}

// True if rules are confirmed for more messages, or for as many more plainly.
bool IsBetter(const CallRules& rules, const CallRules& best) {
  if (std::abs(rules.Confirmed() - best.Confirmed()) > 1e-6) return rules.Confirmed() > best.Confirmed();
  return PlainShare(rules) > PlainShare(best) + 1e-6;
}

// True if none can be better.
bool IsPerfect(const CallRules& rules) { return rules.Confirmed() == 1 && PlainShare(rules) == 1; }

// Rules of two programs that run together, the first ranks and the last ones of all, each in a layout of its own.

constexpr std::size_t kMostDimensionsOfTwo = 3;  // chosen: as many combinations as a search has time for

// Numbers of ranks that the first program may have: the first of them, or the others, are all that do something that
// ranks of another program may not, as they call functions in regions and use tags and communicators.
std::vector<std::int64_t> FirstPrograms(const RunCalls& run) {
  std::map<std::array<std::uint32_t, 3>, std::vector<std::int64_t>> users;
  for (std::int64_t rank = 0; rank < run.ranks; ++rank) {
    const RankCalls& calls = run.of_ranks[static_cast<std::size_t>(rank)];
    const auto add = [&](const std::array<std::uint32_t, 3>& word) {
      std::vector<std::int64_t>& ranks = users[word];
      if (ranks.empty() || ranks.back() != rank) ranks.push_back(rank);
    };
    for (std::uint32_t call = 0; call < calls.iteration_end.front(); ++call) {
      const std::uint32_t function = calls.calls[call].function;
      add({0, function, calls.RegionOf(calls.PathAt(call))});
      for (const CallPart& part : calls.Parts(call)) {
        if (IsMessage(part.kind)) add({1, function, part.tag});
        if (IsPost(part.kind)) add({2, part.communicator, 0});
      }
    }
  }
  std::set<std::int64_t> sizes;
  for (const auto& [word, ranks] : users) {
    const std::int64_t first = ranks.front(), end = ranks.back() + 1;
    if (std::ssize(ranks) == run.ranks || end - first != std::ssize(ranks)) continue;
    if (first == 0) sizes.insert(end);
    if (end == run.ranks) sizes.insert(first);
  }
  return {sizes.begin(), sizes.end()};
}

// Adds the other runs to the rules of the largest one. Their layouts are chosen one by one beside its own: of those
// that explain equally much, the one that is most like it. `rows`: layouts of all in rows, of both programs if there
// are two.
CallRules AddOtherRuns(const std::vector<RunCalls>& runs, const std::vector<RankGrid>& rows, CallRules rules,
                       std::size_t program, std::size_t dimensions) {
  const std::optional<std::size_t> only = rows.back().HasTwo() ? std::optional(program) : std::nullopt;
  const RankGrid of_largest = rules.grids.front().GridOf(program);
  std::vector<RankGrid> grids(runs.size() - 1);
  for (std::size_t run = 0; run < grids.size(); ++run) {
    double share = -1;
    std::vector<RankGrid> tried = BestGrids(runs[run], rows[run], program, dimensions, 8);
    std::ranges::stable_sort(tried, {}, [&](const RankGrid& grid) {
      return IsRecorded(runs[run], grid) ? -1 : Unlikeness(grid.GridOf(program), of_largest);
    });
    for (const RankGrid& grid : tried) {
      const double one = AddRunBefore(rules, runs[run], grid, only).Confirmed();
      if (one > share + 1e-9) {
        grids[run] = grid;
        share = one;
      }
      if (share == 1) break;
    }
  }
  for (std::size_t run = grids.size(); run-- > 0;) rules = AddRunBefore(std::move(rules), runs[run], grids[run], only);
  return rules;
}

// The best layouts of a program, with its rules; nothing where they explain too little of the largest run.
std::optional<CallRules> FindLayouts(const std::vector<RunCalls>& runs, const std::vector<RankGrid>& rows,
                                     const ClassScheme& scheme, std::size_t program) {
  constexpr std::size_t kMostGrids = 3;  // chosen, as above
  const std::uint64_t most_missed = MostMissed(runs);
  std::optional<CallRules> best;
  for (std::size_t dimensions = 1; dimensions <= kMostDimensionsOfTwo; ++dimensions) {
    for (const RankGrid& grid : BestGrids(runs.back(), rows.back(), program, dimensions, kMostGrids)) {
      CallRules rules = FitRun(runs.back(), grid, scheme, most_missed, program);
      if (IsHopeless(rules, most_missed)) continue;
      rules = AddOtherRuns(runs, rows, std::move(rules), program, dimensions);
      if (!best || IsBetter(rules, *best)) best = std::move(rules);
      if (IsPerfect(*best)) return best;
    }
  }
  return best;
}

// The same in the layouts and classes that are best, from plain to particular.
std::optional<CallRules> BestOfProgram(const std::vector<RunCalls>& runs, const std::vector<RankGrid>& rows,
                                       std::int32_t small_extents, std::size_t program) {
  std::optional<CallRules> best;
  for (ClassScheme scheme : Schemes(kMostDimensionsOfTwo, false, program)) {
    scheme.small_extents = small_extents;
    std::optional<CallRules> rules = FindLayouts(runs, rows, scheme, program);
    if (rules && (!best || IsBetter(*rules, *best))) best = std::move(rules);
    if (best && IsPerfect(*best)) break;
  }
  return best;
}

// Rules of both programs.
CallRules Joined(const std::vector<RunCalls>& runs, const CallRules& first, const CallRules& second) {
  constexpr std::size_t kOneOfEach = 1;  // iterations that are read of every kind
  ClassScheme scheme = first.scheme;
  scheme.reach[1] = second.scheme.reach[1];
  scheme.has_stages[1] = second.scheme.has_stages[1];
  std::vector<RankGrid> grids;
  for (std::size_t run = 0; run < runs.size(); ++run)
    grids.push_back(first.grids[run].With(1, second.grids[run].GridOf(1)));
  return FitCallRules(runs, grids, scheme, kOneOfEach);
}

// The power of the computation of a rank, from the smallest run to the largest one; 0 where there is none.
double ComputePower(const std::vector<RunCalls>& runs, const std::vector<RankGrid>& rows, std::size_t program) {
  const auto mean = [&](std::size_t number) {
    const RankGrid& grid = rows[number];
    double sum = 0;
    for (std::int64_t i = 0; i < grid.SizeOf(program); ++i) {
      const RankCalls& calls = runs[number].of_ranks[static_cast<std::size_t>(grid.FirstOf(program) + i)];
      for (const PhaseCall& call : calls.calls) sum += static_cast<double>(call.compute);
      for (const Tick tick : calls.compute_after) sum += static_cast<double>(tick);
    }
    return sum / static_cast<double>(grid.SizeOf(program)) / static_cast<double>(runs[number].iterations());
  };
  const double first = mean(0) / runs.front().ticks_per_second,
               last = mean(runs.size() - 1) / runs.back().ticks_per_second;
  if (first <= 0 || last <= 0) return 0;
  return std::log(last / first) /
         std::log(static_cast<double>(rows.back().Scale()) / static_cast<double>(rows.front().Scale()));
}

// The ranks at which one program may end and another begin are those up to which all ranks, and none behind, or the
// other way around, call a function in a region, use a tag, or make calls on a communicator; that must follow a law of
// the number of ranks [rank_grid.h]. Of these splits and the layouts of both programs, those that explain most.
// Nothing where no split is found, or where a study names the layout of a run. `must_diverge`: of programs whose ranks
// clearly compute by different powers of their number.
std::optional<CallRules> FindProgramRules(const std::vector<RunCalls>& runs, bool must_diverge) {
  constexpr double kClearly = 0.1;  // chosen: as far as a class may be from the law of all [load_model.cc]
  std::vector<std::int64_t> ranks;
  std::vector<std::vector<std::int64_t>> first;
  for (const RunCalls& run : runs) {
    if (run.named) return std::nullopt;
    ranks.push_back(run.ranks);
    first.push_back(FirstPrograms(run));
  }
  std::optional<CallRules> best;
  for (const ProgramSplit& split : SplitsWith(ranks, first)) {
    std::vector<RankGrid> rows;  // both programs in rows, for every run
    for (const RunCalls& run : runs) {
      const auto of_first = static_cast<std::int32_t>(*split.FirstOf(run.ranks));
      const auto of_second = static_cast<std::int32_t>(run.ranks) - of_first;
      rows.push_back(RankGrid::OfTwo({{of_first, 1, 1, 1}}, {{of_second, 1, 1, 1}}));
    }
    const double difference = must_diverge ? std::abs(ComputePower(runs, rows, 0) - ComputePower(runs, rows, 1)) : 0;
    if (must_diverge && !(difference > kClearly)) continue;
    for (const std::int32_t small_extents : {1, 3}) {  // these only where nothing else helps
      const std::optional<CallRules> first_program = BestOfProgram(runs, rows, small_extents, 0);
      if (!first_program) continue;
      const std::optional<CallRules> second_program = BestOfProgram(runs, rows, small_extents, 1);
      if (!second_program) continue;
      CallRules rules = Joined(runs, *first_program, *second_program);
      if (!best || IsBetter(rules, *best)) best = std::move(rules);
      if (IsPerfect(*best)) return best;
    }
  }
  return best;
}

constexpr std::size_t kAllIterations = std::numeric_limits<std::size_t>::max();

// The layout in which all ranks stand in a row.
RankGrid Row(const RunCalls& run) { return {{static_cast<std::int32_t>(run.ranks), 1, 1, 1}}; }

std::vector<RankGrid> Rows(const std::vector<RunCalls>& runs) {
  std::vector<RankGrid> rows;
  for (const RunCalls& run : runs) rows.push_back(Row(run));
  return rows;
}

// Dimensions of layouts: those of the layout that the largest run has recorded come first. All runs have layouts in
// each.
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

double RoundedShare(const CallRules& rules) { return std::round(1e4 * rules.Share()); }

// Rules of the largest run alone, in layouts of so many dimensions, the best first and the plainer before the more
// particular; those that explain clearly less are left out.
std::vector<CallRules> Starts(const RunCalls& largest, std::size_t dimensions, bool has_lines,
                              std::uint64_t most_missed) {
  constexpr double kClearlyLess = 0.01;  // chosen: rules of the other runs do not make up for it
  constexpr std::size_t kMost = 8;       // chosen: as many as a search over all runs has time for
  const std::vector<RankGrid> grids = BestGrids(largest, Row(largest), 0, dimensions, 6);
  std::vector<CallRules> starts;
  std::size_t perfect = 0;
  for (const ClassScheme& scheme : Schemes(dimensions, has_lines)) {
    std::vector<CallRules> fitted(grids.size());
    ParallelFor(grids.size(), [&](std::size_t i) { fitted[i] = FitRun(largest, grids[i], scheme, most_missed); });
    for (const std::int32_t small_extents : {1, 2, 3}) {
      for (const CallRules& rules : fitted) {
        if (IsHopeless(rules, most_missed) && small_extents > 1) continue;  // it is kept to say how much it explains
        starts.push_back(WithSmallExtents(rules, small_extents));
        perfect += RoundedShare(starts.back()) == 1e4;
      }
    }
    if (perfect >= kMost) break;  // the others would be left out
  }
  const double best = std::ranges::max_element(starts, {}, &CallRules::Share)->Share();
  std::erase_if(starts, [&](const CallRules& start) { return start.Share() < best - kClearlyLess; });
  std::ranges::stable_sort(starts, std::greater<>(), RoundedShare);
  if (starts.size() > kMost) starts.resize(kMost);
  return starts;
}

// Takes rules that explain more than the best, or as much more plainly; and of those that explain too little, the ones
// that explain most.
void Search(const std::vector<RunCalls>& runs, bool has_lines, std::optional<CallRules>& best,
            std::optional<CallRules>& hopeless) {
  const std::uint64_t most_missed = MostMissed(runs);
  const std::vector<RankGrid> rows = Rows(runs);
  for (const std::size_t dimensions : DimensionsToTry(runs)) {
    if (best && IsPerfect(*best)) break;
    for (const CallRules& start : Starts(runs.back(), dimensions, has_lines, most_missed)) {
      if (IsHopeless(start, most_missed)) {
        if (!hopeless || start.Share() > hopeless->Share()) hopeless = start;
        continue;
      }
      CallRules rules = AddOtherRuns(runs, rows, start, 0, dimensions);
      if (!best || IsBetter(rules, *best)) best = std::move(rules);
      if (IsPerfect(*best)) break;
    }
  }
}

// The extents larger than one of every layout, by which layouts differ.
std::vector<std::vector<std::int32_t>> LargeExtents(const std::vector<RankGrid>& grids) {
  std::vector<std::vector<std::int32_t>> all;
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
  const std::vector<RankGrid> rows = Rows(runs);
  std::vector<RankGrid> tried = {best.grids.back()};
  std::set<std::vector<std::vector<std::int32_t>>> known = {LargeExtents(best.grids)};
  std::vector<CallRules> rivals;
  for (const std::size_t dimensions : DimensionsToTry(runs)) {
    for (const CallRules& start : Starts(runs.back(), dimensions, best.scheme.has_lines, MostMissed(runs))) {
      const RankGrid& grid = start.grids.front();
      if (RoundedShare(start) < 1e4 || std::ranges::find(tried, grid) != tried.end()) continue;
      tried.push_back(grid);
      CallRules rules = AddOtherRuns(runs, rows, start, 0, dimensions);
      const bool is_as_good = rules.Share() == 1 && rules.Confirmed() >= kWellConfirmed && IsRegular(rules.grids);
      if (is_as_good && known.insert(LargeExtents(rules.grids)).second) rivals.push_back(std::move(rules));
    }
  }
  return rivals;
}

// On two grids, a row can also be a block of as many ranks; so blocks come after all grids.
CallRules FindCallRules(const std::vector<RunCalls>& runs) {
  std::optional<CallRules> found, hopeless;
  Search(runs, false, found, hopeless);
  if (!PartialCommunicators(runs.back()).empty()) Search(runs, true, found, hopeless);
  if (!found) {  // with layouts of the other runs that are most like it, to say how much is not explained
    found = hopeless;
    const RankGrid of_largest = found->grids.front();
    for (std::size_t run = runs.size() - 1; run-- > 0;) {
      const std::vector<RankGrid> grids =
          BestGrids(runs[run], Row(runs[run]), 0, runs[run].named ? kMostDimensions : 3, 8);
      const auto unlikeness = [&](const RankGrid& grid) { return Unlikeness(grid, of_largest); };
      found->grids.insert(found->grids.begin(), *std::ranges::min_element(grids, {}, unlikeness));
    }
  }
  CallRules of_all = FitCallRules(runs, found->grids, found->scheme, kAllIterations);
  const bool is_complete = of_all.Suffice() && of_all.explained == of_all.messages;
  const std::optional<CallRules> of_two = FindProgramRules(runs, is_complete);
  if (!of_two) return of_all;
  CallRules of_programs = FitCallRules(runs, of_two->grids, of_two->scheme, kAllIterations);
  const bool explains_all = of_programs.explained == of_programs.messages && of_programs.Confirmed() == 1;
  // There are more rules of two programs to choose from than of one, so nearly all must be confirmed.
  const bool suffices = of_programs.Suffice() && of_programs.Confirmed() >= kLeastExplained;
  return (of_all.Suffice() ? explains_all : suffices) ? of_programs : of_all;
}

}  // namespace farscale
