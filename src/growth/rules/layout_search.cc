#include "growth/rules/layout_search.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "growth/rules/call_rules.h"
#include "growth/rules/peer_rule.h"
#include "growth/rules/rival_layouts.h"
#include "growth/rules/part_rules.h"
#include "growth/read/rank_grid.h"
#include "growth/read/run_calls.h"

namespace farscale {

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

namespace {

// How many different steps the messages within a program make on its grid; each counts by its length, so that near
// neighbours are preferred; so does every communicator that is no group of the grid.
double Disorder(const RunCalls& run, const std::set<std::uint32_t>& communicators, const RankGrid& grid,
                std::size_t program) {
  const GridVector& extents = grid.ExtentsOf(program);
  std::set<GridVector> steps;
  for (std::int64_t rank = grid.FirstOf(program); rank < grid.FirstOf(program) + grid.SizeOf(program); ++rank) {
    const RankCalls& calls = run.of_ranks[static_cast<std::size_t>(rank)];
    std::set<std::int32_t> peers;
    for (std::uint32_t i = 0; i < calls.FirstPart(calls.iteration_end.front()); ++i) {
      const CallPart& part = calls.parts[i];
      if (IsPost(part.kind) && !PartOf(part.kind).IsCollective() && part.peer >= 0) peers.insert(part.peer);
    }
    const GridVector from = grid.CoordinatesOf(rank);
    for (const std::int32_t peer : peers) {
      if (grid.ProgramOf(peer) != program) continue;
      GridVector step = grid.CoordinatesOf(peer);
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
  // Of equals, the one that MPI_Dims_create would rather choose.
  return sum + 0.001 * *std::ranges::max_element(extents);
}

}  // namespace

bool IsAllowed(const RunCalls& run, const RankGrid& grid) {
  return !run.named || grid == *run.named || grid == run.named->Reversed();
}

namespace {

bool IsRecorded(const RunCalls& run, const RankGrid& grid) {
  return std::ranges::find(run.recorded, grid) != run.recorded.end();
}

}  // namespace

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

std::vector<RankGrid> GridsBeside(const std::vector<RunCalls>& runs, const std::vector<RankGrid>& bases,
                                  const CallRules& largest, std::size_t program, std::size_t dimensions) {
  const std::optional<std::size_t> only = bases.back().HasTwo() ? std::optional(program) : std::nullopt;
  std::vector<RankGrid> grids(runs.size());
  grids.back() = largest.grids.front();
  for (std::size_t run = 0; run + 1 < runs.size(); ++run) {
    double share = -1;
    std::vector<RankGrid> tried = BestGrids(runs[run], bases[run], program, dimensions, 8);
    std::ranges::stable_sort(tried, {}, [&](const RankGrid& grid) {
      return IsRecorded(runs[run], grid) ? -1 : Unlikeness(grid.GridOf(program), grids.back().GridOf(program));
    });
    for (const RankGrid& grid : tried) {
      const double one = AddRunBefore(largest, runs[run], grid, only).Confirmed();
      if (one > share + 1e-9) {
        grids[run] = grid;
        share = one;
      }
      if (share == 1) break;
    }
  }
  return grids;
}

namespace {

// In two dimensions, ranks may differ by their place in one of them alone, as the first ranks of nodes do, which have
// communicators of their own. Chains of few ranks have room for neighbours further away than grids do.
std::vector<GridVector> Reaches(std::size_t dimensions, bool has_lines) {
  std::vector<GridVector> reaches = {GridVector{}};
  for (std::int32_t reach = 1; reach <= (dimensions == 1 ? 4 : 2); ++reach) {
    if (dimensions == 2 && has_lines) reaches.insert(reaches.end(), {{reach, 0}, {0, reach}});
    GridVector all{};
    for (std::size_t d = 0; d < dimensions; ++d) all[d] = reach;
    reaches.push_back(all);
  }
  return reaches;
}

}  // namespace

std::vector<ClassScheme> Schemes(std::size_t dimensions, bool has_lines) {
  std::vector<ClassScheme> schemes;
  for (const GridVector& reach : Reaches(dimensions, has_lines)) {
    for (const bool has_stages : {false, true}) {
      schemes.push_back({reach, 1, has_stages, has_lines});
    }
  }
  return schemes;
}

namespace {

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

}  // namespace

std::uint64_t MostMissed(const std::vector<RunCalls>& runs) {
  std::uint64_t messages = 0;
  for (const RunCalls& run : runs) messages += CountMessages(run);
  return static_cast<std::uint64_t>((1 - kLeastExplained) * static_cast<double>(messages));
}

namespace {

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

}  // namespace

bool IsBetter(const CallRules& rules, const CallRules& best) {
  if (std::abs(rules.Confirmed() - best.Confirmed()) > 1e-6) return rules.Confirmed() > best.Confirmed();
  return PlainShare(rules) > PlainShare(best) + 1e-6;
}

bool IsPerfect(const CallRules& rules) { return rules.Confirmed() == 1 && PlainShare(rules) == 1; }

// The layouts and classes under which rules explain most of the runs.

namespace {

// Rules of two programs that run together, the first ranks and the last ones of all, each in a layout of its own.

constexpr std::size_t kMostDimensionsOfTwo = 3;  // chosen: as many combinations as a search has time for

// What ranks do that those of another program may not.
enum class WordKind : std::uint8_t { kFunction, kTag, kCommunicator };
using Word = std::tuple<WordKind, std::uint32_t, std::uint32_t>;

std::set<Word> WordsOf(const RankCalls& calls) {
  std::set<Word> words;
  for (std::uint32_t call = 0; call < calls.iteration_end.front(); ++call) {
    const std::uint32_t function = calls.calls[call].function;
    words.insert({WordKind::kFunction, function, calls.paths[calls.PathAt(call)].region});
    for (const CallPart& part : calls.PartsOf(call)) {
      if (!IsPost(part.kind)) continue;
      if (!PartOf(part.kind).IsCollective()) words.insert({WordKind::kTag, function, part.tag});
      words.insert({WordKind::kCommunicator, part.communicator, 0});
    }
  }
  return words;
}

// Numbers of ranks that the first program may have: the first of them, or the others, are all that have a word.
std::vector<std::int64_t> FirstProgramsOf(const RunCalls& run) {
  struct Users {
    std::int64_t count = 0, first = 0, last = 0;
  };
  std::map<Word, Users> users;
  for (std::int64_t rank = 0; rank < run.ranks; ++rank) {
    for (const Word& word : WordsOf(run.of_ranks[static_cast<std::size_t>(rank)])) {
      Users& of_word = users[word];
      if (of_word.count++ == 0) of_word.first = rank;
      of_word.last = rank;
    }
  }
  std::set<std::int64_t> sizes;
  for (const auto& [word, of_word] : users) {
    if (of_word.count == run.ranks || of_word.last - of_word.first + 1 != of_word.count) continue;
    if (of_word.first == 0) sizes.insert(of_word.last + 1);
    if (of_word.last + 1 == run.ranks) sizes.insert(of_word.first);
  }
  return {sizes.begin(), sizes.end()};
}

// Both programs in rows, for every run.
std::vector<RankGrid> RowsOf(const std::vector<RunCalls>& runs, const ProgramSplit& split) {
  std::vector<RankGrid> rows;
  for (const RunCalls& run : runs) {
    const auto first = static_cast<std::int32_t>(*split.FirstOf(run.ranks));
    const auto second = static_cast<std::int32_t>(run.ranks) - first;
    rows.push_back(RankGrid::OfTwo({{first, 1, 1, 1}}, {{second, 1, 1, 1}}));
  }
  return rows;
}

// The best layouts of a program, with its rules; nothing where they explain too little of the largest run.
std::optional<CallRules> RulesOfProgram(const std::vector<RunCalls>& runs, const std::vector<RankGrid>& rows,
                                        const ClassScheme& scheme, std::size_t program) {
  constexpr std::size_t kMostGrids = 3;  // chosen, as above
  const std::uint64_t most_missed = MostMissed(runs);
  std::optional<CallRules> best;
  for (std::size_t dimensions = 1; dimensions <= kMostDimensionsOfTwo; ++dimensions) {
    for (const RankGrid& grid : BestGrids(runs.back(), rows.back(), program, dimensions, kMostGrids)) {
      CallRules rules = FitRun(runs.back(), grid, scheme, most_missed, program);
      if (rules.messages - rules.explained > most_missed) continue;
      const std::vector<RankGrid> grids = GridsBeside(runs, rows, rules, program, dimensions);
      for (std::size_t run = runs.size() - 1; run-- > 0;)
        rules = AddRunBefore(std::move(rules), runs[run], grids[run], program);
      if (!best || IsBetter(rules, *best)) best = std::move(rules);
      if (IsPerfect(*best)) return best;
    }
  }
  return best;
}

ClassScheme SchemeOf(std::size_t program, const ClassScheme& of_program) {
  ClassScheme scheme = of_program;
  if (program == 0) return scheme;
  scheme.second_reach = std::exchange(scheme.reach, {});
  scheme.second_has_stages = std::exchange(scheme.has_stages, false);
  return scheme;
}

// The same in the layouts and classes that are best, from plain to particular.
std::optional<CallRules> BestOfProgram(const std::vector<RunCalls>& runs, const std::vector<RankGrid>& rows,
                                       std::int32_t small_extents, std::size_t program) {
  std::optional<CallRules> best;
  for (ClassScheme scheme : Schemes(kMostDimensionsOfTwo, false)) {
    scheme.small_extents = small_extents;
    std::optional<CallRules> rules = RulesOfProgram(runs, rows, SchemeOf(program, scheme), program);
    if (rules && (!best || IsBetter(*rules, *best))) best = std::move(rules);
    if (best && IsPerfect(*best)) break;
  }
  return best;
}

// Rules of both programs.
CallRules Joined(const std::vector<RunCalls>& runs, const CallRules& first, const CallRules& second) {
  constexpr std::size_t kOneOfEach = 1;  // iterations that are read of every kind
  ClassScheme scheme = first.scheme;
  scheme.second_reach = second.scheme.second_reach;
  scheme.second_has_stages = second.scheme.second_has_stages;
  std::vector<RankGrid> grids;
  for (std::size_t run = 0; run < runs.size(); ++run)
    grids.push_back(first.grids[run].With(1, second.grids[run].GridOf(1)));
  return FitCallRules(runs, grids, scheme, kOneOfEach);
}

// Of the computation of a rank, from the smallest run to the largest one; 0 where there is none.
double PowerOf(const std::vector<RunCalls>& runs, const std::vector<RankGrid>& rows, std::size_t program) {
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

// Whether the programs clearly compute by different laws, so that one for all ranks would be wrong; chosen: as far as a
// class may be from the law of all [load_model.cc].
bool Diverge(const std::vector<RunCalls>& runs, const std::vector<RankGrid>& rows) {
  constexpr double kClearly = 0.1;
  return std::abs(PowerOf(runs, rows, 0) - PowerOf(runs, rows, 1)) > kClearly;
}

// The ranks at which one program may end and another begin are those up to which all ranks, and none behind, or the
// other way around, call a function in a region, use a tag, or make calls on a communicator; that must follow a law of
// the number of ranks [program_split.h]. Of these splits and the layouts of both programs, those that explain most.
// Nothing where no split is found, or where a study names the layout of a run. `must_diverge`: of programs whose ranks
// clearly compute by different powers of their number.
std::optional<CallRules> FindProgramRules(const std::vector<RunCalls>& runs, bool must_diverge) {
  std::vector<std::int64_t> ranks;
  std::vector<std::vector<std::int64_t>> first;
  for (const RunCalls& run : runs) {
    if (run.named) return std::nullopt;
    ranks.push_back(run.ranks);
    first.push_back(FirstProgramsOf(run));
  }
  std::optional<CallRules> best;
  for (const ProgramSplit& split : SplitsWith(ranks, first)) {
    const std::vector<RankGrid> rows = RowsOf(runs, split);
    if (must_diverge && !Diverge(runs, rows)) continue;
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

// Whether rules of two programs may be believed. As there are more of them to choose from than of one, nearly all must
// be confirmed.
bool SufficeForTwo(const CallRules& rules) { return rules.Suffice() && rules.Confirmed() >= kLeastExplained; }

// Whether nothing is left that other rules could explain.
bool ExplainAll(const CallRules& rules) { return rules.explained == rules.messages && rules.Confirmed() == 1; }

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
