// A grown run, as the program of the replay and as a trace, which are made by one walk through the calls of its plan;
// and its times, from replays of some of its iterations.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "factors/phase_factors.h"
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

// The same for any number of draws of the computation of the ranks. Throws an error of kind kNotEnoughData, with the
// call sites on both ranks, where more messages of a rank have no other end than in the largest run, in which they may
// come from before the phase or be received behind it.
GrownMessages MatchComplete(const GrowthModel& model, const GridPlan& plan);

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

// So many of the iterations, with each kind as frequent as in all, but at least once: the first of each. Rising.
std::vector<std::size_t> ChooseIterations(const std::vector<std::size_t>& kinds, std::size_t count);

// The number of those of each kind.
std::vector<std::size_t> CountKinds(const std::vector<std::size_t>& kinds, const std::vector<std::size_t>& chosen);

// When all iterations would be over, in ticks, if the chosen ones are at `ends`. The first one fills pipelines; every
// other takes, for its computation, as long as those of its kind behind the first. `work`: computation of every
// iteration, of all ranks together.
double TimeOfAll(const std::vector<std::size_t>& kinds, const std::vector<std::size_t>& chosen,
                 const std::vector<Tick>& ends, const std::vector<Tick>& work);

// T and T_ideal by replays of the iterations of `plan.chosen` on the network and on the ideal one, from which the times
// of all follow; all of the totals that need no counters. `network`: nothing for the ideal one. Throws an error of kind
// kNotEnoughData when the calls cannot complete.
PhaseTotals MeasureGrown(const GrowthModel& model, const GridPlan& plan, const GrownMessages& messages,
                         const GrownLoads& loads, const ReplayRules& rules, const Network* network);

// The number of iterations of a grown run to replay: all if growing and replaying them takes so many bytes at most,
// beside the model, else as many as fit. Throws an error of kind kNotEnoughData, which says how many ranks fit, where
// these are so few that the times of the largest run do not follow from them. `network`: nothing for the ideal one.
// `sufficient`: whether so many are enough, as found out before.
std::size_t CountFitting(const GrowthModel& model, const RankGrid& grid, double bytes, const ReplayRules& rules,
                         const Network* network, std::map<std::size_t, bool>& sufficient);

}  // namespace farscale
