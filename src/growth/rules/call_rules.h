// Which calls a rank makes in a phase, and with whom, as rules that hold at every number of ranks [docs/growth.md].
//
// Ranks at equal places of their grids (first, second, in the middle, ... of a dimension) form a class. All ranks of a
// class, in all runs, make the same calls in the same order; for every partner, communicator and tag there is a rule
// that gives the observed one for each of them.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "growth/read/rank_grid.h"
#include "growth/read/run_calls.h"
#include "growth/rules/peer_rule.h"
#include "trace/trace.h"

namespace farscale {

// Below this share of messages that rules explain, a phase is not grown; chosen, and not put to the test: of the
// programs in docs/growth.md, rules explain 95 % and more of some and 60 % or less of the others.
inline constexpr double kLeastExplained = 0.95;
// The same of the share that is confirmed; chosen: most of them.
inline constexpr double kLeastConfirmed = 0.5;

// Ranks are told apart by the distance from either end of every dimension, counted up to `reach` of their program, and
// by the extents of the grid, counted up to `small_extents`.
struct ClassScheme {
  std::array<GridVector, 2> reach{};  // 0: all alike
  std::int32_t small_extents = 1;
  std::array<bool, 2> has_stages{};  // calls of a program may be repeated as often as the grid says
  bool has_lines = false;            // communicators may be divisions that do not follow the grid
  bool is_lifted = false;            // every rank of the largest run has a class of its own [LearnStatistically]

  friend bool operator==(const ClassScheme&, const ClassScheme&) = default;
};
using RankClass = std::array<std::int16_t, 3 * kMostDimensions + 1>;  // the program comes last
inline std::size_t ProgramOf(const RankClass& of_class) { return static_cast<std::size_t>(of_class.back()); }
RankClass ClassOf(const ClassScheme& scheme, const RankGrid& grid, std::int64_t rank);

// The tag of a message, or how many operations of its class are posted between an operation and its completion.
struct NumberRule {
  enum class Kind : std::uint8_t { kConstant, kRank, kPeer, kStage, kStageFromLast };  // to which `plus` is added
  Kind kind = Kind::kConstant;
  std::int64_t plus = 0;

  std::int64_t At(const Stage& stage, std::int64_t rank = 0, std::int64_t peer = 0) const;
  friend auto operator<=>(const NumberRule&, const NumberRule&) = default;
};

// Each member has all rules that give what ranks of the class do, the plainest first.
struct PartRule {
  RecordKind kind = RecordKind::kSend;
  CollectiveKind collective = CollectiveKind::kBarrier;
  std::vector<NumberRule> backs = {};  // for completions
  std::vector<PeerRule> peers = {};
  std::vector<NumberRule> tags = {};
  std::vector<RankDivision> groups = {};

  friend auto operator<=>(const PartRule&, const PartRule&) = default;
};

struct CallRule {
  std::uint32_t function = 0;
  bool completes_all = false;  // all that is pending
  std::vector<PartRule> parts = {};
  std::int32_t occurrence = 0;  // call sites alone: among equal ones of a rank

  friend auto operator<=>(const CallRule&, const CallRule&) = default;
};

// The number of times that calls are repeated.
struct CountRule {
  // kRatio: ranks of the other program for each of this one; the others but kConstant: of the extent of `dimension`.
  enum class Kind : std::uint8_t { kConstant, kExtent, kTwice, kLogarithm, kRatio };
  static constexpr std::int8_t kAllRanks = -1, kProgram = -2, kOther = -3;  // in place of a dimension

  Kind kind = Kind::kConstant;
  std::int8_t dimension = kAllRanks;
  std::int32_t plus = 1;  // times: of kConstant alone, to be added: of kExtent, and of kTwice before it is doubled

  std::int32_t Count(const RankGrid& grid) const;  // as the program sees it that repeats
  std::string Text() const;
  friend auto operator<=>(const CountRule&, const CountRule&) = default;
};

// Calls that are made once, or once a stage.
struct CallBlock {
  std::vector<CallRule> calls = {};
  std::vector<CountRule> counts = {};  // that hold on all ranks of the class, the plainest first; none: once

  // On a grid as the program of the ranks sees it.
  std::int32_t Count(const RankGrid& grid) const { return counts.empty() ? 1 : counts.front().Count(grid); }
};

inline bool IsPost(RecordKind kind) { return PartOf(kind).posts; }
inline bool IsSend(RecordKind kind) { return kind == RecordKind::kSend || kind == RecordKind::kSendPost; }
inline bool IsMessage(RecordKind kind) { return IsPost(kind) && !PartOf(kind).IsCollective(); }

struct ClassRules {
  std::vector<std::vector<CallBlock>> kinds;                 // one a kind of iterations
  std::vector<std::pair<std::size_t, std::int64_t>> donors;  // run and rank whose calls are these
  std::uint64_t messages = 0;                                // as in CallRules
  std::uint64_t explained = 0;
  std::vector<std::int64_t> others = {};  // numbers of ranks of the runs some of whose ranks do otherwise
  bool is_composed = false;               // not seen in any run [class_composition.cc]

  std::vector<std::int64_t> DonorsIn(std::size_t run) const;
  // The largest run that has some, and those in it, which grown ranks copy.
  std::pair<std::size_t, std::vector<std::int64_t>> Donors() const;

  // Extent of the test of the rules: on another run, or on the other ranks of one run. In [0, 1].
  double Confirmed() const;
  // True if the rules are those of one run alone, and ranks that lie alike in the grid of another run do otherwise.
  bool IsContradicted() const;
};

// Calls visit(call, part) for every part of every call of a class.
template <typename Rules, typename Visit>
void ForEachPart(Rules& rules, const Visit& visit) {
  for (auto& blocks : rules.kinds) {
    for (auto& block : blocks) {
      for (auto& call : block.calls) {
        for (auto& part : call.parts) visit(call, part);
      }
    }
  }
}

struct CallRules {
  ClassScheme scheme = {};
  std::vector<RankGrid> grids = {};  // one a run
  std::map<RankClass, ClassRules> classes = {};
  std::uint64_t messages = 0;  // in all runs, each one-sided end counted, and posts of collectives
  std::uint64_t explained = 0;
  // Those that no rule explains, by the function and the innermost region that ranks are in.
  std::map<std::pair<std::uint32_t, std::string>, std::uint64_t> missed = {};

  // Share of the messages that rules explain which hold for more than the rank that they were read from.
  double Confirmed() const;
  // Runs whose ranks are in no class with ranks of other runs: nothing says that their rules are those of the others.
  std::vector<std::size_t> RunsAlone() const;
  // True if larger runs may be believed to follow the rules. Ranks that each have rules of their own explain everything
  // and foresee nothing.
  bool Suffice() const { return Share() >= kLeastExplained && Confirmed() >= kLeastConfirmed; }
  double Share() const { return messages > 0 ? static_cast<double>(explained) / static_cast<double>(messages) : 1; }
};

// Rules under a layout of every run. `iterations`: how many of each kind and run, at most, are read.
CallRules FitCallRules(const std::vector<RunCalls>& runs, const std::vector<RankGrid>& grids, const ClassScheme& scheme,
                       std::size_t iterations);

// The rules of a run alone; of its first ranks where more messages than `most_missed` are not explained. `program`: of
// its ranks alone; nothing: all.
CallRules FitRun(const RunCalls& run, const RankGrid& grid, const ClassScheme& scheme, std::uint64_t most_missed,
                 std::optional<std::size_t> program = std::nullopt);

// The rules of some runs, narrowed to those that hold for one more, which is put before them. `run`: fewer ranks.
CallRules AddRunBefore(CallRules rules, const RunCalls& run, const RankGrid& grid,
                       std::optional<std::size_t> program = std::nullopt);

// With another limit of small extents, which changes nothing within a run.
CallRules WithSmallExtents(const CallRules& of_one_run, std::int32_t small_extents);

// The layouts and classes that explain most: of all ranks or, where these explain too little, of those of two programs
// [layout_search.cc].
CallRules FindCallRules(const std::vector<RunCalls>& runs);

// Rules under other layouts than those of `best` which explain the runs as fully and are as regular a series, where
// `best` explains all.
std::vector<CallRules> FindRivalRules(const std::vector<RunCalls>& runs, const CallRules& best);

// A class with one rank in every run leaves rules open: the last of 4 × 2 and 4 × 4 ranks is 4 before the fourth one,
// too, and tag 7 of rank 7 is constant or the number of the rank. Where several are left, that one goes first which
// clearly more classes with ranks of several runs have for such calls.
void PreferCommonRules(CallRules& rules);

}  // namespace farscale
