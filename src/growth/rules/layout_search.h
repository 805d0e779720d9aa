// Layouts and classes to be tried, and which rules are better [rule_search.cc].
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "growth/rules/call_rules.h"
#include "growth/read/rank_grid.h"
#include "growth/read/run_calls.h"

namespace farscale {

// Communicators of some but not all ranks that calls of the first iteration are made on.
std::set<std::uint32_t> PartialCommunicators(const RunCalls& run);

// Whether the study allows the layout of a run.
bool IsAllowed(const RunCalls& run, const RankGrid& grid);

// Layouts of a program of a run, the other one of which stays as in `base`: of those that the study allows, the ones in
// which messages go the fewest and shortest steps. What the trace has recorded comes first.
std::vector<RankGrid> BestGrids(const RunCalls& run, const RankGrid& base, std::size_t program, std::size_t dimensions,
                                std::size_t most);

// How unlike the extents of two layouts are in their proportions.
double Unlikeness(const RankGrid& a, const RankGrid& b);

// The layout of the largest run is given, those of the others are chosen one by one beside it: of those that explain
// equally much, the one that is most like it. `bases`: of every run.
std::vector<RankGrid> GridsBeside(const std::vector<RunCalls>& runs, const std::vector<RankGrid>& bases,
                                  const CallRules& largest, std::size_t program, std::size_t dimensions);

// From plain to particular.
std::vector<ClassScheme> Schemes(std::size_t dimensions, bool has_lines);

// How many messages of the largest run rules may leave unexplained to explain enough of all, whatever they explain of
// the others.
std::uint64_t MostMissed(const std::vector<RunCalls>& runs);

// Whether rules are confirmed for more messages, or for as many more plainly; whether none can be better.
bool IsBetter(const CallRules& rules, const CallRules& best);
bool IsPerfect(const CallRules& rules);

}  // namespace farscale
