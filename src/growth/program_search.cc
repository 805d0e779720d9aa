#include "growth/program_search.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "growth/layout_search.h"
#include "growth/part_rules.h"
#include "growth/program_split.h"

namespace farscale {
namespace {

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

}  // namespace

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

bool SufficeForTwo(const CallRules& rules) { return rules.Suffice() && rules.Confirmed() >= kLeastExplained; }

bool ExplainAll(const CallRules& rules) { return rules.explained == rules.messages && rules.Confirmed() == 1; }

}  // namespace farscale
