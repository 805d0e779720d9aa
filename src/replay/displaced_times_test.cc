#include "replay/clock_repair.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "replay/anomalies.h"
#include "support/clocked_program.h"
#include "support/repeats.h"
#include "support/traces.h"
#include "trace/trace_builder.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

constexpr int kIterations = 12;
constexpr double kComputation = 1e6;

// Two calls an iteration that take long; computation differs by up to 3 %.
Trace Repeating(int ranks, std::uint64_t seed) {
  test::ClockedProgram program(ranks, seed, 0.03);
  for (int i = 0; i < kIterations; ++i) {
    for (const char* call : {"MPI_Alltoall", "MPI_Allgather"}) {
      for (int rank = 0; rank < ranks; ++rank) {
        program.Compute(rank, kComputation);
        program.Call(rank, call, 0.7 * kComputation);
      }
    }
  }
  return program.Finish();
}

// The edge of a call, moved between its neighbours.
void Move(Trace& trace, std::size_t rank, std::size_t call, bool is_leave, Tick by) {
  const RankTimeline& timeline = trace.timelines[rank];
  NewTimes times;
  for (std::size_t i = 0; i < timeline.calls(); ++i) {
    times.enter.push_back(timeline.enter(i) + (i == call && !is_leave ? by : 0));
    times.leave.push_back(timeline.leave(i) + (i == call && is_leave ? by : 0));
  }
  for (std::size_t i = 0; i < timeline.region_events(); ++i) times.events.push_back(timeline.event_tick(i));
  trace.timelines[rank] = Retime(timeline, times);
}

TEST(DisplacedTimes, OneEdgeOfARegularProgram) {
  for (int seed = 0; seed < test::Repeats(60); ++seed) {
    Random random(static_cast<std::uint64_t>(seed + 1));
    Trace trace = Repeating(1 + seed % 9, static_cast<std::uint64_t>(seed));
    EXPECT_TRUE(FindDisplacedTimes(trace).empty()) << seed;
    const std::size_t rank = random.Index(trace.size());
    const std::size_t call = 1 + random.Index(trace.timelines[rank].calls() - 2);
    // All useful time is 24 computations.
    const Tick by = static_cast<Tick>((random.Index(2) == 0 ? 1 : -1) * (0.35 + 0.3 * random.Uniform()) * kComputation);
    const bool is_leave = random.Index(2) == 1;
    Move(trace, rank, call, is_leave, by);
    const Diagnostics found = FindDisplacedTimes(trace);
    const bool is_long_computation = !is_leave && by > 0;  // as noise makes them
    if (is_long_computation) continue;
    EXPECT_EQ(found.count(anomaly::kTimeDisplaced), 1u) << seed;
  }
}

// The system interrupts computations; waits become shorter.
TEST(DisplacedTimes, NothingInRealAndSimulatedRuns) {
  for (const std::string& path : test::TracesToTry()) {
    EXPECT_TRUE(FindDisplacedTimes(ReadTrace(path)).empty()) << path;
  }
}

}  // namespace
}  // namespace farscale
