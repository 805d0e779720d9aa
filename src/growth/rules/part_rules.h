// Rules of one part of a call: all that give what one rank was seen to do, and those of them that hold for another.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "growth/rules/call_rules.h"
#include "growth/rules/peer_rule.h"
#include "growth/read/rank_grid.h"
#include "growth/read/run_calls.h"

namespace farscale {

// A run in a layout, with what its communicators are in it.
struct RunView {
  // `has_lines`: communicators may be divisions that do not follow the grid.
  RunView(const RunCalls& run, const RankGrid& grid, bool has_lines);

  const RankGrid& SeenBy(std::int64_t rank) const { return seen_by[grid.ProgramOf(rank)]; }

  const RunCalls& run;
  const RankGrid& grid;
  std::array<RankGrid, 2> seen_by;             // the grid, as each program sees it
  std::vector<std::vector<GroupRule>> groups;  // nothing for those that follow no division
};

// The same part of a call in all its stages.
using StagedPart = std::vector<const CallPart*>;
StagedPart StagesOf(const RankCalls& calls, std::uint32_t call, std::size_t part, std::uint32_t period,
                    std::int32_t count);

inline bool IsPost(RecordKind kind) { return PartOf(kind).posts; }

// Of one rank, by communicator and the partners in all stages: what it does again and again is looked for once.
using KnownPeers = std::map<std::pair<std::uint32_t, std::vector<std::int64_t>>, std::vector<PeerRule>>;

// The rules of a part of which nothing is known but these stages on one rank.
PartRule RuleOf(const RunView& view, std::int64_t rank, const StagedPart& parts, KnownPeers& known);

// Whether there is a rule for everything that the part of a call needs.
bool IsComplete(const PartRule& rule);

// Keeps the rules that hold for one more rank. False when none is left; then they stay as they were.
bool Narrow(const RunView& view, std::int64_t rank, const StagedPart& parts, PartRule& rule);

// The rules of one rank alone, from which those of its class start: calls of an iteration; with stages, those that
// repeat as often as the grid says are blocks of their own [first_reading.cc].
std::vector<CallBlock> ReadRank(const RunView& view, std::int64_t rank, std::size_t iteration, bool has_stages);

}  // namespace farscale
