// A grown run, as the program of the replay and as a trace. Both are made by one walk through the calls of its plan.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "growth/growth_model.h"
#include "growth/make/class_plan.h"
#include "replay/network.h"
#include "replay/program.h"
#include "trace/trace.h"

namespace farscale {

// Messages are numbered by their sender and the order in which it posts them. A receive takes the first message from
// its partner, with its tag and communicator, that none before it takes.
struct GrownMessages {
  static constexpr std::uint32_t kNoPartner = std::numeric_limits<std::uint32_t>::max();  // no operation on this rank
  static constexpr std::uint32_t kNotCompleted = kNoPartner - 1;  // a receive that nobody awaits

  std::vector<std::uint32_t> first_send, first_receive;  // one a rank, and the end
  std::vector<std::uint32_t> to;                         // receiver of every message
  std::vector<std::uint32_t> message_of;                 // one a receive; `unsent` without a send
  std::uint32_t unsent = 0;                              // behind all messages
};

GrownMessages MatchGrown(const GridPlan& plan);

// Throws an error of kind kNotEnoughData, with the call sites on both ranks, where more messages of a rank have no
// other end than in the largest run, in which they may come from before the phase or be received behind it.
void RequireMatched(const GrowthModel& model, const GridPlan& plan, const GrownMessages& messages);

// The program, made without a trace, which would need many times its memory. It does what Compile makes of GrowTrace,
// and records when the iterations end that are made. `network`: nothing for the ideal one.
Program CompileGrown(const GrowthModel& model, const GridPlan& plan, const GrownMessages& messages,
                     const GrownLoads& loads, const ReplayRules& rules, const Network* network);

// Bytes that growing and replaying so many iterations of each kind takes at most, without those of the model.
double BytesToGrow(const GrowthModel& model, const RankGrid& grid, const std::vector<std::size_t>& of_kinds);

// A trace of the iterations of the largest run, on the ranks of a grid. Calls take no time: when they are left is up to
// a replay. Throws an error of kind kNotEnoughData where the grid has ranks that are like none of the runs.
Trace GrowTrace(const GrowthModel& model, const RankGrid& grid, std::uint64_t seed);

// The number of calls of all ranks of such a trace, in all iterations.
double CountCalls(const GrowthModel& model, const RankGrid& grid);

// One of the runs by its own rules, with its own computation: the distance of its replay from the measurement is how
// far those of grown runs can be. Nothing where ranks of it follow no rules.
std::optional<Trace> RepeatRun(const GrowthModel& model, std::size_t run);

}  // namespace farscale
