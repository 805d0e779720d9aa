#include "growth/program_search.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <tuple>

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
      for (std::size_t run = runs.size() - 1; run-- > 0;) rules = AddRunBefore(rules, runs[run], grids[run], program);
      if (!best || IsBetter(rules, *best)) best = std::move(rules);
      if (IsPerfect(*best)) return best;
    }
  }
  return best;
}

// From plain to particular; classes by the number of ranks in a dimension only where nothing else helps.
std::vector<ClassScheme> SchemesOfTwo() {
  std::vector<ClassScheme> schemes;
  for (const std::int32_t small_extents : {1, 3}) {
    for (ClassScheme scheme : Schemes(kMostDimensionsOfTwo, false)) {
      scheme.small_extents = small_extents;
      schemes.push_back(scheme);
    }
  }
  return schemes;
}

}  // namespace

std::optional<CallRules> FindProgramRules(const std::vector<RunCalls>& runs) {
  constexpr std::size_t kOneOfEach = 1;  // iterations that are read of every kind
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
    for (const ClassScheme& scheme : SchemesOfTwo()) {
      const std::optional<CallRules> a = RulesOfProgram(runs, rows, scheme, 0);
      const std::optional<CallRules> b = a ? RulesOfProgram(runs, rows, scheme, 1) : std::nullopt;
      if (!b) continue;
      std::vector<RankGrid> grids;
      for (std::size_t run = 0; run < runs.size(); ++run)
        grids.push_back(a->grids[run].With(1, b->grids[run].GridOf(1)));
      CallRules rules = FitCallRules(runs, grids, scheme, kOneOfEach);
      if (!best || IsBetter(rules, *best)) best = std::move(rules);
      if (IsPerfect(*best)) return best;
    }
  }
  return best;
}

bool SufficeForTwo(const CallRules& rules) { return rules.Suffice() && rules.Confirmed() >= kLeastExplained; }

}  // namespace farscale
