#include "phases/phase_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "phases/phase_cut.h"
#include "support/loaded_program.h"
#include "trace/trace_builder.h"

namespace farscale {
namespace {

using test::Loads;
using test::Movement;
using test::Synchronization;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> NamesOf(const std::vector<PhaseSpec>& specs) {
  std::vector<std::string> names;
  for (const PhaseSpec& spec : specs) names.push_back(spec.name);
  return names;
}

// "step" encloses all of an iteration; between two of "work" lies a barrier, 2 of 1002 microseconds of it, which is no
// gap. The calls show the same loop.
TEST(LoopChoice, RegionsThatMarkIterationsComeFirst) {
  const Trace trace = test::MakeLoaded(Loads(4, std::vector<Tick>(8, 1000)), Synchronization::kBarrier);
  EXPECT_THAT(NamesOf(LoopsOf(trace)), ElementsAre("step", "work", "iteration"));
  EXPECT_EQ(WithLoopOf(trace, PhaseSpec::Region("auto")).region, "step");
  EXPECT_EQ(WithLoopOf(trace, PhaseSpec::Region("auto")).name, "step");
  const PhaseSpec part = WithLoopOf(trace, PhaseSpec::Region("auto:exchange"));
  EXPECT_EQ(part.region, "step");
  EXPECT_EQ(part.name, "exchange");
  EXPECT_EQ(PhaseSpec::Region("found").kind, PhaseSpec::Kind::kFoundLoop);
  EXPECT_EQ(PhaseSpec::Region("found:exchange").part, "exchange");
  EXPECT_TRUE(IsAutomatic("auto") && IsAutomatic("auto:exchange"));
  EXPECT_FALSE(IsAutomatic("automatic") || IsAutomatic("found"));
}

// A quarter of the ranks works 2000 in "work", the others 1000 and then wait in "step": what lies between two of "work"
// is 6 of 10 of its time, so it marks no iteration.
TEST(LoopChoice, RegionsWithLargeGapsComeLast) {
  const Trace trace = test::MakeLoaded(test::MakeLoads(Movement::kStatic, 8, 8, 1), Synchronization::kBarrier);
  EXPECT_THAT(NamesOf(LoopsOf(trace)), ElementsAre("step", "iteration", "work"));
}

// Half of the ranks has a tenth more to do: 5 % of "work" lie between two of it.
TEST(LoopChoice, RegionsWithSmallGapsComeBeforeTheCalls) {
  Loads loads(8, std::vector<Tick>(8, 1000));
  for (std::size_t rank = 0; rank < 4; ++rank) loads[rank].assign(8, 1100);
  const Trace trace = test::MakeLoaded(loads, Synchronization::kBarrier);
  EXPECT_THAT(NamesOf(LoopsOf(trace)), ElementsAre("step", "work", "iteration"));
}

TEST(LoopChoice, WithoutRegionsTheCallsShowIt) {
  const Trace trace = test::MakeLoaded(Loads(4, std::vector<Tick>(8, 1000)), Synchronization::kBarrier, false);
  EXPECT_THAT(NamesOf(LoopsOf(trace)), ElementsAre("iteration"));
  const Trace once = test::MakeLoaded(Loads(4, std::vector<Tick>(1, 1000)), Synchronization::kBarrier);
  EXPECT_THAT(LoopsOf(once), IsEmpty());
  EXPECT_EQ(WithLoopOf(once, PhaseSpec::Region("auto")).kind, PhaseSpec::Kind::kFoundLoop);
}

// The shape of a Fourier transform: a long set-up, then few iterations with a transposition and a checksum each, too
// few for a loop in the calls. They are marked, but are only 4 % of the run.
TEST(LoopChoice, SmallRegionsStandInWhereTheCallsShowNothing) {
  TraceBuilder builder;
  builder.trace().ticks_per_second = 1e6;
  const auto iterate = builder.AddRegion("iterate"), alltoall = builder.AddRegion("MPI_Alltoall");
  const auto reduce = builder.AddRegion("MPI_Reduce"), world = builder.AddWorld(4);
  for (std::int32_t rank = 0; rank < 4; ++rank) {
    RankBuilder events(builder.definitions(), rank);
    Tick now = 0;
    const auto call = [&](std::uint32_t region, CollectiveKind kind, std::optional<std::uint32_t> root, Tick compute) {
      events.Enter(now += compute, region);
      events.Collective(kind, world, root, 1000, 1000);
      events.Leave(now += 10, region);
    };
    call(alltoall, CollectiveKind::kAlltoall, std::nullopt, 50000);
    for (int i = 0; i < 2; ++i) {
      events.Enter(now, iterate);
      call(alltoall, CollectiveKind::kAlltoall, std::nullopt, 500);
      call(reduce, CollectiveKind::kReduce, 0, 500);
      events.Leave(now, iterate);
    }
    builder.SetTimeline(events);
  }
  const Trace trace = std::move(builder).Finish();
  EXPECT_THAT(NamesOf(LoopsOf(trace)), ElementsAre("iterate"));
}

// Twenty regions follow each other in each of four iterations, each a twentieth of it: none covers a tenth of the run,
// and of the first sixteen no more are tried.
TEST(LoopChoice, OfManyRegionsTheFirstAreTried) {
  TraceBuilder builder;
  builder.trace().ticks_per_second = 1e6;
  std::vector<std::uint32_t> regions;
  for (int i = 0; i < 20; ++i) regions.push_back(builder.AddRegion("f" + std::to_string(100 + i)));
  builder.AddWorld(2);
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    RankBuilder events(builder.definitions(), rank);
    Tick now = 0;
    for (int i = 0; i < 4; ++i) {
      for (const std::uint32_t region : regions) {
        events.Enter(now, region);
        events.Leave(now += 100, region);
      }
    }
    builder.SetTimeline(events);
  }
  const Trace trace = std::move(builder).Finish();
  EXPECT_EQ(LoopsOf(trace).size(), 16u);
}

// Whoever has how much to do in which iteration, and whatever all compute behind the loop: no border divides what a
// rank computes at a stretch, and all bursts are on the same side of theirs. Before, with a tail of 500 of a burst of
// 1000 or 2000, half the burst or a quarter of it went to the iteration before.
TEST(FoundBorders, DivideNoComputationThatDiffersBetweenRanks) {
  std::size_t found = 0;
  for (const Movement movement :
       {Movement::kStatic, Movement::kDrifting, Movement::kAlternating, Movement::kRandomWalk}) {
    for (const auto synchronization :
         {Synchronization::kBarrier, Synchronization::kAllreduce, Synchronization::kHalo}) {
      for (const Tick tail : {0, 300, 500, 900}) {
        SCOPED_TRACE(testing::Message() << static_cast<int>(movement) << " " << static_cast<int>(synchronization) << " "
                                        << tail);
        const Trace trace = test::MakeLoaded(test::MakeLoads(movement, 8, 24, 3), synchronization, false, tail);
        const PhaseCut cut = CutPhase(trace, PhaseSpec::FoundLoop());
        if (cut.diagnostics.count(anomaly::kNoLoopFound) > 0) continue;
        ++found;
        ASSERT_GE(cut.iterations, 20u);
        std::set<bool> begins;
        for (std::size_t rank = 0; rank < trace.size(); ++rank) {
          const RankTimeline& timeline = trace.timelines[rank];
          for (std::size_t i = 1; i < cut.iterations; ++i) {
            const Edge& edge = cut.ranks[rank].iterations[i].begin;
            const Tick burst = timeline.enter(edge.call) - timeline.leave(edge.call - 1);
            const Tick head = timeline.enter(edge.call) - edge.tick;
            EXPECT_TRUE(head == 0 || head == burst) << head << " of " << burst;
            begins.insert(head > 0);
          }
        }
        EXPECT_EQ(begins.size(), 1u);
      }
    }
  }
  EXPECT_GE(found, 40u);  // of 48: where loads alternate, iterations may be too uneven to be seen
}

// Where all compute 1000 between iterations and 500 behind the last one, the border lies in the middle of every burst.
TEST(FoundBorders, DivideComputationThatIsTheSameOnAllRanks) {
  const Trace trace = test::MakeLoaded(Loads(4, std::vector<Tick>(10, 1000)), Synchronization::kBarrier, false, 500);
  const PhaseCut cut = CutPhase(trace, PhaseSpec::FoundLoop());
  const Edge& edge = cut.ranks[2].iterations[4].begin;
  EXPECT_EQ(trace.timelines[2].enter(edge.call) - edge.tick, 500);
}

}  // namespace
}  // namespace farscale
