#include "trace/anomalies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "support/errors.h"
#include "support/random_program.h"
#include "support/repeats.h"
#include "support/same_trace.h"
#include "support/temporary_folder.h"
#include "trace/trace_builder.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;

class Otf2WriterTest : public testing::Test {
 protected:
  // The trace as it comes back.
  Trace RoundTrip(const Trace& trace) {
    const std::filesystem::path anchor = folder_.path() / std::to_string(++written_) / "traces.otf2";
    WriteOtf2(trace, anchor);
    return ReadTrace(anchor.string());
  }

  std::string FailureOf(const Trace& trace, const std::filesystem::path& anchor) {
    return test::ErrorOf(ErrorKind::kOutput, [&] { WriteOtf2(trace, anchor); });
  }

  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

  test::TemporaryFolder folder_;
  int written_ = 0;
};

// Definitions with everything a trace can hold; events are up to the test.
class Definitions : public Otf2WriterTest {
 protected:
  Definitions() {
    builder_.trace().program = "program";
    builder_.trace().creator = "tracer 2.0";
    builder_.trace().ticks_per_second = 1e6;
    for (const char* node : {"node0", "node1"}) builder_.AddNode(node);
    for (std::int32_t rank = 0; rank < 4; ++rank) {
      const std::int32_t socket = rank < 2 ? rank : -1;  // those of node1 are not known
      builder_.AddRank({rank / 2, rank == 1 ? 3 : 1, "MPI Rank " + std::to_string(rank), socket});
    }
    main_ = builder_.AddRegion("main");
    world_ = builder_.AddCommunicator({"MPI_COMM_WORLD", {0, 1, 2, 3}, {}, false});
    self_ = builder_.AddCommunicator({"MPI_COMM_SELF", {}, {}, true});
    sub_ = builder_.AddCommunicator({"sub", {2, 0}, {}, false});
    inter_ = builder_.AddCommunicator({"inter", {0, 1}, {3, 2}, false});
  }

  std::uint32_t Region(const char* name) {
    const auto [entry, is_new] = regions_.try_emplace(name, 0);
    if (is_new) entry->second = builder_.AddRegion(name);
    return entry->second;
  }

  TraceBuilder builder_;
  std::uint32_t main_, world_, self_, sub_, inter_;
  std::map<std::string, std::uint32_t> regions_;
};

// Else a part of a run would have waited for devices in useful time.
TEST_F(Definitions, CallsToDevicesStayWhatTheyAre) {
  for (const char* name : {"cudaDeviceSynchronize", "__hipPopCallConfiguration", "acc_wait", "clFinish", "zeInit"}) {
    farscale::Region region{.name = name};
    region.is_device_runtime = true;
    builder_.AddRegion(region);
  }
  for (std::int32_t rank = 0; rank < 4; ++rank) {
    RankBuilder timeline(builder_.definitions(), rank);
    timeline.Enter(1, main_);
    timeline.Leave(2, main_);
    builder_.SetTimeline(timeline);
  }
  const Trace trace = RoundTrip(std::move(builder_).Finish());
  EXPECT_EQ(std::ranges::count_if(trace.regions, &farscale::Region::is_device_runtime), 5);
}

TEST_F(Definitions, EveryKindOfRecord) {
  const std::uint32_t send = Region("MPI_Send"), isend = Region("MPI_Isend"), irecv = Region("MPI_Irecv"),
                      recv = Region("MPI_Recv"), waitall = Region("MPI_Waitall"), bcast = Region("MPI_Bcast"),
                      ireduce = Region("MPI_Ireduce"), barrier = Region("MPI_Barrier");
  RankBuilder rank0(builder_.definitions(), 0);
  rank0.MeasurementOff(-50);
  rank0.MeasurementOn(-45);
  rank0.Enter(-40, main_);
  rank0.Enter(1, send);
  rank0.Send(1, sub_, 9, 100);  // to itself on `sub`
  rank0.Leave(2, send);
  rank0.Enter(3, irecv);
  rank0.ReceivePost(77);
  rank0.ReceivePost(78);
  rank0.ReceivePost(79);  // never completed
  rank0.Leave(4, irecv);
  rank0.Enter(5, isend);
  rank0.SendPost(0, inter_, 4, 1u << 30, 5);  // to rank 3
  rank0.SendPost(2, world_, 0x7FFFFFFF, 0, 6);
  rank0.Leave(5, isend);
  rank0.BufferFlush(5, 8);
  rank0.Enter(10, waitall);
  rank0.ReceiveComplete(1, inter_, 3, 12, 78);  // from rank 2
  rank0.RequestCancelled(6);
  rank0.SendComplete(5);
  rank0.ReceiveComplete(0, self_, 3, 12, 77);
  rank0.Leave(20, waitall);
  rank0.Enter(20, bcast);
  rank0.Collective(CollectiveKind::kBroadcast, sub_, 0, 8, 16);
  rank0.Leave(21, bcast);
  rank0.Enter(22, ireduce);
  rank0.CollectivePost(5);
  rank0.Leave(23, ireduce);
  rank0.Enter(24, barrier);
  rank0.CollectiveComplete(CollectiveKind::kReduce, world_, 3, 4, 0, 5);
  rank0.Collective(CollectiveKind::kBarrier, world_, std::nullopt, 0, 0);
  rank0.Collective(CollectiveKind::kGather, self_, 0, 1, 1);
  rank0.Collective(CollectiveKind::kBroadcast, inter_, 1, 1, 1);
  rank0.Leave(30, barrier);
  rank0.Leave(31, main_);
  builder_.SetTimeline(rank0);
  RankBuilder rank2(builder_.definitions(), 2);
  rank2.Enter(0, recv);
  rank2.Receive(1, world_, 3, 5);
  rank2.Receive(1, inter_, 4, 5);  // from rank 1
  rank2.Leave(0, recv);
  builder_.SetTimeline(rank2);  // ranks 1 and 3 do nothing
  builder_.AddTopology({"box", world_, {2, 2, 1}, {true, false, false}, {0, 2, 1, 3}});
  const Trace trace = std::move(builder_).Finish();
  const Trace back = RoundTrip(trace);
  EXPECT_EQ(test::Difference(trace, back), "");
  EXPECT_EQ(back.topologies.size(), 1u);
  EXPECT_EQ(back.begin(), -40);
  EXPECT_EQ(back.threads(), 3);
  EXPECT_THAT(back.creator, testing::MatchesRegex("farscale .*, recorded by tracer 2.0"));
  const Trace again = RoundTrip(back);
  EXPECT_EQ(test::Difference(trace, again), "");
  EXPECT_EQ(again.creator, back.creator);
}

// 3 of 400 calls of the run were made by other threads. The archive has none of all these, and their share is the same.
TEST_F(Otf2WriterTest, CallsThatWereNotRecorded) {
  TraceBuilder builder;
  builder.AddWorld(1);
  builder.trace().diagnostics.Add(anomaly::kMpiOnWorkerThread, 3);
  builder.trace().diagnostics.AddPopulation(anomaly::kMpiOnWorkerThread, 400);
  const std::vector<Finding> found = RoundTrip(std::move(builder).Finish()).diagnostics.findings();
  const auto finding =
      std::find_if(found.begin(), found.end(), [](const Finding& one) { return one.id == "mpiOnWorkerThread"; });
  ASSERT_NE(finding, found.end());
  EXPECT_EQ(finding->count, 3u);
  EXPECT_EQ(finding->population, 400u);
}

TEST_F(Definitions, EveryCollectiveOperation) {
  const std::uint32_t call = Region("MPI_Allreduce");
  RankBuilder rank(builder_.definitions(), 1);
  for (int kind = 0; kind <= static_cast<int>(CollectiveKind::kDestroyHandle); ++kind) {
    rank.Enter(kind, call);
    rank.Collective(static_cast<CollectiveKind>(kind), world_, std::nullopt, 1, 2);
    rank.Leave(kind, call);
  }
  builder_.SetTimeline(rank);
  const Trace trace = std::move(builder_).Finish();
  EXPECT_EQ(test::Difference(trace, RoundTrip(trace)), "");
}

// Rank 0 has all counters, rank 1 only one of them; integers beyond 2^53 stay exact.
TEST_F(Definitions, Counters) {
  const std::uint32_t barrier = Region("MPI_Barrier");
  const std::uint32_t ins = builder_.AddCounter({"PAPI_TOT_INS", "instructions", "#", 1, false, true});
  const std::uint32_t time = builder_.AddCounter({"cpu", "CPU time", "s", 1e-9, true, true});
  const std::uint32_t level = builder_.AddCounter({"power", "", "W", 1024, true, false});
  constexpr std::int64_t kLarge = (std::int64_t{1} << 60) + 1;
  RankBuilder rank0(builder_.definitions(), 0);
  const auto sample = [&](Tick tick, std::int64_t count, double seconds) {
    rank0.SetCounter(tick, ins, kLarge + count);
    rank0.SetCounter(tick, time, std::bit_cast<std::int64_t>(seconds));
  };
  sample(0, 0, 0.25);
  rank0.Enter(0, main_);
  sample(10, 1, 0.5);
  rank0.Enter(10, barrier);
  sample(15, 3, 0.75);
  rank0.Leave(15, barrier);
  sample(20, 9, 1e300);
  rank0.Leave(20, main_);
  builder_.SetTimeline(rank0);
  RankBuilder rank1(builder_.definitions(), 1);
  rank1.SetCounter(0, ins, -5);
  rank1.Enter(0, main_);
  rank1.SetCounter(2, ins, 7);
  rank1.Leave(2, main_);
  builder_.SetTimeline(rank1);
  const Trace trace = std::move(builder_).Finish();
  const Trace back = RoundTrip(trace);
  EXPECT_EQ(test::Difference(trace, back), "");
  EXPECT_EQ(back.timelines[0].raw_counter_at_leave(ins, 0), kLarge + 3);
  EXPECT_EQ(back.timelines[0].counter_at_event(time, 1), 1e300);
  EXPECT_FALSE(back.timelines[1].has_counter(time));
  EXPECT_FALSE(back.counters[level].accumulates);
  EXPECT_EQ(back.diagnostics.count(anomaly::kCounterNotAtEdges), 0u);
}

// More than fit into one class.
TEST_F(Definitions, ManyCounters) {
  for (int i = 0; i < 600; ++i) builder_.AddCounter({"c" + std::to_string(i), "", "#", 1, i % 2 == 0, true});
  RankBuilder rank(builder_.definitions(), 0);
  for (const Tick tick : {0, 5}) {
    for (std::uint32_t i = 0; i < 600; ++i) rank.SetCounter(tick, i, tick + i);
    tick == 0 ? rank.Enter(tick, main_) : rank.Leave(tick, main_);
  }
  builder_.SetTimeline(rank);
  const Trace trace = std::move(builder_).Finish();
  EXPECT_EQ(test::Difference(trace, RoundTrip(trace)), "");
}

// A counter that fell between two edges shows no fall at the edges; it must come back as unreliable all the same.
TEST_F(Definitions, UnreliableCountersStayUnreliable) {
  const std::uint32_t ins = builder_.AddCounter({"INS", "", "#", 1, false, true});
  const std::uint32_t good = builder_.AddCounter({"GOOD", "", "#", 1, false, true});
  RankBuilder rank(builder_.definitions(), 0);
  rank.SetCounter(0, ins, 1);
  rank.SetCounter(0, good, 1);
  rank.Enter(0, main_);
  rank.SetCounter(3, ins, 9);
  rank.SetCounter(5, ins, 4);
  rank.SetCounter(5, good, 2);
  rank.Leave(5, main_);
  builder_.SetTimeline(rank);
  const Trace trace = std::move(builder_).Finish();
  ASSERT_FALSE(trace.timelines[0].counter_is_reliable(ins));
  const Trace back = RoundTrip(trace);
  EXPECT_FALSE(back.timelines[0].counter_is_reliable(ins));
  EXPECT_EQ(test::Difference(trace, back), "");
}

TEST_F(Definitions, RecordsOutsideTheCut) {
  const std::uint32_t wait = Region("MPI_Wait");
  const std::uint32_t outside =
      builder_.AddRegion({std::string(kOutsideRegion), false, MpiCall::kNone, /*is_outside=*/true});
  const std::uint32_t ins = builder_.AddCounter({"INS", "", "#", 1, false, true});
  RankBuilder rank(builder_.definitions(), 0);
  rank.Enter(10, outside);
  rank.ReceivePost(1);
  rank.Leave(10, outside);
  rank.SetCounter(10, ins, 5);
  rank.Enter(10, main_);
  rank.SetCounter(12, ins, 6);
  rank.Enter(12, wait);
  rank.ReceiveComplete(1, world_, 0, 8, 1);
  rank.CollectivePost(2);
  rank.SetCounter(14, ins, 6);
  rank.Leave(14, wait);
  rank.SetCounter(20, ins, 9);
  rank.Leave(20, main_);
  rank.Enter(20, outside);
  rank.CollectiveComplete(CollectiveKind::kBarrier, world_, std::nullopt, 0, 0, 2);
  rank.Leave(20, outside);
  builder_.SetTimeline(rank);
  RankBuilder absent(builder_.definitions(), 3);
  absent.Enter(10, outside);
  absent.Send(0, world_, 0, 8);
  absent.Leave(10, outside);
  builder_.SetTimeline(absent);
  const Trace trace = std::move(builder_).Finish();
  EXPECT_TRUE(trace.diagnostics.empty());
  EXPECT_EQ(trace.timelines[0].first_record(0), 1u);
  EXPECT_EQ(trace.timelines[0].first_record(1), 3u);
  EXPECT_EQ(trace.timelines[0].records(), 4u);
  EXPECT_EQ(trace.timelines[0].record_back(3), 0u);
  EXPECT_TRUE(trace.timelines[0].counter_is_reliable(ins));
  EXPECT_TRUE(trace.timelines[3].empty());
  EXPECT_EQ(trace.timelines[3].sends(), 1u);
  EXPECT_THAT(trace.UserRegionNames(), testing::ElementsAre("main"));
  EXPECT_EQ(test::Difference(trace, RoundTrip(trace)), "");
}

TEST_F(Otf2WriterTest, RandomPrograms) {
  for (std::uint64_t seed = 0; seed < 40; seed += test::DailyStep(5)) {
    const Trace trace = test::MakeRandomProgram(seed, {.ranks = 2 + static_cast<int>(seed % 7)});
    ASSERT_EQ(test::Difference(trace, RoundTrip(trace)), "") << "seed " << seed;
  }
}

TEST_F(Otf2WriterTest, NothingIsOverwrittenOrLeftBehind) {
  const Trace trace = test::MakeRandomProgram(1);
  WriteOtf2(trace, folder_ / "a.b.otf2");
  EXPECT_THAT(Files(), UnorderedElementsAre("a.b", "a.b.def", "a.b.otf2"));
  EXPECT_THAT(FailureOf(trace, folder_ / "a.b.otf2"), HasSubstr("already exists"));
  std::filesystem::remove(folder_ / "a.b.otf2");
  std::filesystem::remove(folder_ / "a.b.def");
  EXPECT_THAT(FailureOf(trace, folder_ / "a.b.otf2"), HasSubstr("a.b: already exists"));
  EXPECT_THAT(FailureOf(trace, folder_ / "c.txt"), HasSubstr("must end in .otf2"));
  Trace odd = test::MakeRandomProgram(1);
  odd.counters.push_back({"minutes", "", "min", 60, false, true});
  EXPECT_THAT(FailureOf(odd, folder_ / "c.otf2"), HasSubstr("scale 60, which OTF2 cannot express"));
  EXPECT_THAT(FailureOf(trace, "/proc/none/c.otf2"), HasSubstr("cannot"));
  EXPECT_THAT(Files(), UnorderedElementsAre("a.b"));
}

}  // namespace
}  // namespace farscale
