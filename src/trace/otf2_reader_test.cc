#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/diagnostics.h"
#include "support/otf2_archive.h"
#include "support/repeats.h"
#include "support/temporary_folder.h"
#include "trace/anomalies.h"
#include "trace/otf2_library.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

using test::Otf2Archive;
using testing::ElementsAre;

constexpr std::uint32_t kWorld = 0, kSelf = 1;

std::vector<RecordKind> KindsOf(const RankTimeline& timeline) {
  std::vector<RecordKind> kinds;
  for (std::size_t i = 0; i < timeline.records(); ++i) kinds.push_back(timeline.record_kind(i));
  return kinds;
}

// A file of local definitions in little-endian order: clock offsets, each with its time (both below 128), and the end.
std::string ClockOffsets(const std::vector<std::pair<char, char>>& offsets) {
  std::string bytes("\x03\x42", 2);
  bytes.append(16, '\0');
  for (const auto& [time, offset] : offsets) {
    bytes += {'\x06', static_cast<char>(offset == 0 ? 0x11 : 0x12), time};
    bytes.append(7, '\0');
    bytes += offset == 0 ? std::string(1, '\0') : std::string({'\x01', offset});  // how many bytes, and those
    bytes.append(8, '\0');                                                        // a deviation of 0
  }
  return bytes + std::string("\x02\x01", 2);
}

class Otf2ReaderTest : public testing::Test {
 protected:
  Otf2ReaderTest() : archive_(folder_.path() / "a", "traces") {}

  Trace Read() { return ReadTrace(archive_.Close()); }

  test::TemporaryFolder folder_;
  Otf2Archive archive_;
};

TEST_F(Otf2ReaderTest, BlockingPointToPoint) {
  archive_.AddWorld(2);
  archive_.SetClock(1000, 500);
  archive_.Location(0)
      .Enter(510, "main")
      .Enter(520, "MPI_Send")
      .Send(521, 1, kWorld, 7, 4096)
      .Leave(530, "MPI_Send")
      .Leave(600, "main");
  archive_.Location(1)
      .Enter(515, "main")
      .Enter(518, "MPI_Recv")
      .Receive(529, 0, kWorld, 7, 4096)
      .Leave(531, "MPI_Recv")
      .Leave(590, "main");
  const Trace trace = Read();
  ASSERT_EQ(trace.size(), 2u);
  EXPECT_EQ(trace.ticks_per_second, 1000);
  EXPECT_EQ(trace.begin(), 10);  // since the clock's offset
  EXPECT_EQ(trace.end(), 100);
  EXPECT_THAT(KindsOf(trace.timelines[0]), ElementsAre(RecordKind::kSend));
  EXPECT_EQ(trace.timelines[0].endpoints()[0], (Endpoint{1, 0, 7}));
  EXPECT_EQ(trace.timelines[0].record_bytes(0), 4096u);
  EXPECT_THAT(KindsOf(trace.timelines[1]), ElementsAre(RecordKind::kReceive));
  EXPECT_EQ(trace.timelines[1].endpoints()[0], (Endpoint{0, 0, 7}));
  EXPECT_TRUE(trace.diagnostics.empty());
  EXPECT_EQ(trace.events, 10u);
}

TEST_F(Otf2ReaderTest, NonBlockingTestedAndCancelledRequests) {
  archive_.AddWorld(1);
  archive_.Location(0)
      .Enter(0, "MPI_Irecv")
      .IrecvRequest(0, 1)
      .Leave(1, "MPI_Irecv")
      .Enter(1, "MPI_Irecv")
      .IrecvRequest(1, 2)
      .Leave(2, "MPI_Irecv")
      .Enter(2, "MPI_Isend")
      .Isend(2, 0, kWorld, 3, 8, 3)
      .Leave(3, "MPI_Isend")
      .Enter(3, "MPI_Test")
      .RequestTest(3, 1)
      .Leave(4, "MPI_Test")
      .Enter(4, "MPI_Cancel")
      .Leave(5, "MPI_Cancel")
      .Enter(5, "MPI_Wait")
      .RequestCancelled(5, 2)
      .Leave(6, "MPI_Wait")
      .Enter(6, "MPI_Waitall")
      .IsendComplete(6, 3)
      .Irecv(6, 0, kWorld, 3, 8, 1)
      .Leave(7, "MPI_Waitall");
  const Trace trace = Read();
  EXPECT_THAT(KindsOf(trace.timelines[0]),
              ElementsAre(RecordKind::kReceivePost, RecordKind::kReceivePost, RecordKind::kSendPost,
                          RecordKind::kSendComplete, RecordKind::kReceiveComplete));
  EXPECT_EQ(trace.timelines[0].record_back(4), 1u);  // the first of two posted receives
  EXPECT_EQ(trace.diagnostics.count(anomaly::kRequestCancelled), 1u);
}

TEST_F(Otf2ReaderTest, PersistentRequestsAndSendrecv) {
  archive_.AddWorld(1);
  auto rank = archive_.Location(0);
  rank.Enter(0, "MPI_Send_init").Leave(1, "MPI_Send_init");
  for (std::uint64_t i = 0; i < 3; ++i) {
    const std::uint64_t t = 10 + 10 * i;
    rank.Enter(t, "MPI_Startall")
        .IrecvRequest(t, 5)
        .Isend(t, 0, kWorld, 1, 64, 4)
        .Leave(t + 1, "MPI_Startall")
        .Enter(t + 2, "MPI_Waitall")
        .IsendComplete(t + 2, 4)
        .Irecv(t + 2, 0, kWorld, 1, 64, 5)
        .Leave(t + 3, "MPI_Waitall");
  }
  rank.Enter(50, "MPI_Sendrecv").Send(50, 0, kSelf, 2, 16).Receive(51, 0, kSelf, 2, 16).Leave(51, "MPI_Sendrecv");
  const Trace trace = Read();
  EXPECT_EQ(trace.timelines[0].sends(), 4u);
  EXPECT_EQ(trace.timelines[0].receives(), 4u);
  EXPECT_EQ(trace.regions[trace.timelines[0].region(7)].call, MpiCall::kSendReceive);
  EXPECT_TRUE(trace.diagnostics.empty());
}

TEST_F(Otf2ReaderTest, CollectivesOnSubCommunicatorsAndSelf) {
  archive_.AddWorld(3);
  const std::uint32_t sub = archive_.AddCommunicator("sub", {2, 0});
  for (const std::uint64_t rank : {0u, 2u}) {
    archive_.Location(rank)
        .Enter(0, "MPI_Bcast")
        .Collective(1, OTF2_COLLECTIVE_OP_BCAST, sub, 0, 8, 8)
        .Leave(2, "MPI_Bcast")
        .Enter(3, "MPI_Barrier")
        .Collective(3, OTF2_COLLECTIVE_OP_BARRIER, kSelf, OTF2_UNDEFINED_UINT32, 0, 0)
        .Leave(4, "MPI_Barrier")
        .Enter(5, "MPI_Iallreduce")
        .CollectiveRequest(5, 9)
        .Leave(6, "MPI_Iallreduce")
        .Enter(7, "MPI_Wait")
        .CollectiveComplete(7, OTF2_COLLECTIVE_OP_ALLREDUCE, sub, OTF2_UNDEFINED_UINT32, 9)
        .Leave(8, "MPI_Wait");
  }
  archive_.Location(1).Enter(0, "main").Leave(9, "main");
  const Trace trace = Read();
  const RankTimeline& timeline = trace.timelines[0];
  EXPECT_THAT(KindsOf(timeline), ElementsAre(RecordKind::kCollective, RecordKind::kCollective,
                                             RecordKind::kCollectivePost, RecordKind::kCollectiveComplete));
  const CollectiveType& broadcast = timeline.collective_types()[timeline.record_target(0)];
  EXPECT_EQ(broadcast.kind, CollectiveKind::kBroadcast);
  EXPECT_EQ(broadcast.root, 2);  // local rank 0 of the sub-communicator
  EXPECT_TRUE(trace.communicators[timeline.collective_types()[timeline.record_target(1)].communicator].is_self);
  EXPECT_EQ(trace.communicators[broadcast.communicator].members, (std::vector<std::int32_t>{2, 0}));
}

// A window is a communicator of its own, so that its fences are in no order with collectives. Groups hold ranks of the
// world: rank 2 is local rank 0 of the window. The start waits for nobody, so it has no record.
TEST_F(Otf2ReaderTest, WindowsOfOneSidedCommunication) {
  archive_.AddWorld(3);
  const std::uint32_t sub = archive_.AddCommunicator("sub", {2, 0});
  const std::uint32_t window = archive_.AddWindow(sub);
  const std::uint32_t origin = archive_.AddGroup({0}), target = archive_.AddGroup({2}), nobody = archive_.AddGroup({});
  for (const std::uint64_t rank : {0u, 2u}) {
    archive_.Location(rank)
        .Enter(0, "MPI_Win_create")
        .WindowCollective(1, OTF2_COLLECTIVE_OP_CREATE_HANDLE, window)
        .Leave(2, "MPI_Win_create")
        .Enter(3, "MPI_Win_fence")
        .WindowCollective(4, OTF2_COLLECTIVE_OP_BARRIER, window)
        .Leave(5, "MPI_Win_fence");
  }
  archive_.Location(0)
      .Enter(6, "MPI_Win_start")
      .WindowGroup(7, window, target)
      .Leave(7, "MPI_Win_start")
      .Enter(8, "MPI_Win_complete")
      .WindowGroup(9, window, target)
      .Leave(9, "MPI_Win_complete");
  archive_.Location(2)
      .Enter(6, "MPI_Win_post")
      .WindowGroup(6, window, origin)
      .Leave(7, "MPI_Win_post")
      .Enter(8, "MPI_Win_wait")
      .WindowGroup(9, window, origin)
      .Leave(9, "MPI_Win_wait")
      .Enter(10, "MPI_Win_post")
      .WindowGroup(10, window, nobody)
      .Leave(11, "MPI_Win_post");
  for (const std::uint64_t rank : {0u, 2u}) {
    archive_.Location(rank)
        .Enter(12, "MPI_Win_free")
        .WindowCollective(13, OTF2_COLLECTIVE_OP_DESTROY_HANDLE, window)
        .Leave(14, "MPI_Win_free");
  }
  archive_.Location(1).Enter(0, "main").Leave(9, "main");
  const Trace trace = Read();
  const RankTimeline &first = trace.timelines[0], &second = trace.timelines[2];
  EXPECT_THAT(KindsOf(first), ElementsAre(RecordKind::kCollective, RecordKind::kCollective, RecordKind::kReceive,
                                          RecordKind::kSend, RecordKind::kCollective));
  EXPECT_THAT(KindsOf(second), ElementsAre(RecordKind::kCollective, RecordKind::kCollective, RecordKind::kSend,
                                           RecordKind::kReceive, RecordKind::kCollective, RecordKind::kCollective));
  const auto type = [&](const RankTimeline& timeline, std::size_t record) {
    return timeline.collective_types()[timeline.record_target(record)];
  };
  EXPECT_EQ(type(first, 0).kind, CollectiveKind::kCreateHandle);
  EXPECT_EQ(type(first, 1).kind, CollectiveKind::kBarrier);
  EXPECT_EQ(type(first, 4).kind, CollectiveKind::kBarrier);  // which the end of a window is
  EXPECT_NE(type(first, 1).communicator, sub);
  EXPECT_EQ(trace.communicators[type(first, 1).communicator].members, (std::vector<std::int32_t>{2, 0}));
  EXPECT_TRUE(trace.communicators[type(second, 4).communicator].is_self);  // a post to nobody
  EXPECT_EQ(first.endpoints()[first.record_target(2)], (Endpoint{2, type(first, 1).communicator, 0}));
  EXPECT_EQ(first.endpoints()[first.record_target(3)], (Endpoint{2, type(first, 1).communicator, 1}));
  EXPECT_EQ(second.endpoints()[second.record_target(2)], (Endpoint{0, type(first, 1).communicator, 0}));
  EXPECT_TRUE(trace.diagnostics.empty());
}

// Local rank 0 of the window is rank 2. The last lock is not given back; locks are not replayed, recorded or not.
TEST_F(Otf2ReaderTest, LocksOfWindows) {
  archive_.AddWorld(3);
  const std::uint32_t window = archive_.AddWindow(archive_.AddCommunicator("sub", {2, 0}));
  archive_.Location(0)
      .Enter(0, "MPI_Win_lock")
      .WindowLock(0, window, 0, OTF2_LOCK_SHARED)
      .Leave(1, "MPI_Win_lock")
      .Enter(2, "MPI_Win_lock")
      .WindowLock(2, window, 1, OTF2_LOCK_EXCLUSIVE)
      .Leave(3, "MPI_Win_lock");
  for (const std::uint32_t target : {1u, 0u}) {
    archive_.Location(0)
        .Enter(6 - target, "MPI_Win_unlock")
        .WindowUnlock(6 - target, window, target)
        .Leave(6 - target, "MPI_Win_unlock");
  }
  archive_.Location(0).Enter(7, "MPI_Win_lock").WindowLock(7, window, 0, OTF2_LOCK_SHARED).Leave(8, "MPI_Win_lock");
  for (const std::uint64_t rank : {1u, 2u}) archive_.Location(rank).Enter(0, "main").Leave(9, "main");
  const Trace trace = Read();
  const std::uint32_t number = trace.timelines[0].lock_epochs().at(0).window;
  EXPECT_EQ(trace.communicators[number].members, (std::vector<std::int32_t>{2, 0}));
  EXPECT_THAT(trace.timelines[0].lock_epochs(),
              ElementsAre(LockEpoch{number, 0, true, 1, 2}, LockEpoch{number, 2, false, 0, 3}));
  EXPECT_EQ(trace.diagnostics.count(anomaly::kOneSidedNotReplayed), 5u);
}

// As Score-P writes locks of all ranks: without a target.
TEST_F(Otf2ReaderTest, LocksOfAllRanks) {
  archive_.AddWorld(2);
  const std::uint32_t window = archive_.AddWindow(archive_.AddCommunicator("sub", {0, 1}));
  archive_.Location(0)
      .Enter(0, "MPI_Win_lock_all")
      .WindowLock(0, window, OTF2_UNDEFINED_UINT32, OTF2_LOCK_SHARED)
      .Leave(1, "MPI_Win_lock_all")
      .Enter(2, "MPI_Win_unlock_all")
      .WindowUnlock(2, window, OTF2_UNDEFINED_UINT32)
      .Leave(3, "MPI_Win_unlock_all");
  archive_.Location(1).Enter(0, "main").Leave(9, "main");
  const Trace trace = Read();
  ASSERT_EQ(trace.timelines[0].lock_epochs().size(), 1u);
  const LockEpoch& epoch = trace.timelines[0].lock_epochs()[0];
  EXPECT_EQ(epoch, (LockEpoch{epoch.window, LockEpoch::kAllTargets, false, 0, 1}));
}

// What tools record of puts, gets, atomic operations and files is counted: two puts of 1,024 bytes, an atomic
// operation that sends 8 and receives 8, and two operations on a file, of which one does not know its bytes.
TEST_F(Otf2ReaderTest, BytesOfOneSidedOperationsAndFiles) {
  archive_.AddWorld(1);
  const std::uint32_t window = archive_.AddWindow(archive_.AddCommunicator("sub", {0}));
  archive_.Location(0)
      .Enter(0, "MPI_Put")
      .BeginCopy(0, window, 1)
      .Leave(1, "MPI_Put")
      .Enter(1, "MPI_Rput")
      .BeginCopy(1, window, 2)
      .Leave(2, "MPI_Rput")
      .Enter(3, "MPI_Fetch_and_op")
      .Atomic(3, window, 8)
      .Leave(4, "MPI_Fetch_and_op")
      .Enter(5, "MPI_File_write")
      .FileOperation(6, 500)
      .FileOperation(7, OTF2_UNDEFINED_UINT64)
      .Leave(8, "MPI_File_write");
  const Trace trace = Read();
  EXPECT_EQ(trace.timelines[0].one_sided(), (MovedBytes{3, 2064}));
  EXPECT_EQ(trace.timelines[0].on_files(), (MovedBytes{2, 500}));
}

// Without records nobody knows whom fences and locks wait for; a put waits for nobody.
TEST_F(Otf2ReaderTest, WindowsWithoutRecords) {
  archive_.AddWorld(1);
  std::uint64_t time = 0;
  for (const char* call : {"MPI_Win_fence", "MPI_Put", "MPI_Win_lock", "MPI_Win_unlock", "MPI_Win_sync"}) {
    archive_.Location(0).Enter(time, call).Leave(time + 1, call);
    time += 2;
  }
  EXPECT_EQ(Read().diagnostics.count(anomaly::kOneSidedNotReplayed), 3u);
}

// Kept are those that give every rank of a communicator a place of its own: here columns first, so that rank 1 is at
// (1, 0), the third place.
TEST_F(Otf2ReaderTest, CartesianTopologies) {
  archive_.AddWorld(4);
  archive_.AddTopology(0, {2, 2}, true, {{0, 0}, {1, 0}, {0, 1}, {1, 1}});
  archive_.AddTopology(0, {2, 2}, true, {{0, 0}, {1, 0}, {0, 1}});                       // a rank without place
  archive_.AddTopology(0, {2, 2}, true, {{0, 0}, {1, 0}, {0, 1}, {0, 1}});               // two ranks at one
  archive_.AddTopology(0, {2, 2}, true, {{0, 0}, {1, 0}, {0, 1}, {2, 1}});               // outside
  archive_.AddTopology(0, {2, 2}, true, {{0}, {1, 0}, {0, 1}, {1, 1}});                  // of fewer dimensions
  archive_.AddTopology(0, {4, 4}, true, {{0, 0}, {1, 0}, {0, 1}, {1, 1}});               // larger than the communicator
  archive_.AddTopology(0, {0xFFFFFFFF, 0xFFFFFFFF, 2}, true, {{0, 0}, {1, 0}, {0, 1}});  // too large to count
  archive_.AddTopology(0, {}, true, {});
  archive_.AddTopology(7, {2, 2}, true, {{0, 0}, {1, 0}, {0, 1}, {1, 1}});  // of a communicator that there is not
  for (std::uint64_t rank = 0; rank < 4; ++rank) archive_.Location(rank).Enter(0, "main").Leave(1, "main");
  const Trace trace = Read();
  ASSERT_EQ(trace.topologies.size(), 1u);
  EXPECT_EQ(trace.topologies[0], (CartesianTopology{"", 0, {2, 2}, {true, true}, {0, 2, 1, 3}}));
}

TEST_F(Otf2ReaderTest, MetricsOfEveryTypeAndMode) {
  archive_.AddWorld(1);
  const auto total = archive_.AddMetricClass({"total"}, OTF2_METRIC_ACCUMULATED_START, OTF2_TYPE_UINT64);
  const auto last = archive_.AddMetricClass({"last"}, OTF2_METRIC_RELATIVE_LAST, OTF2_TYPE_INT64);
  const auto next = archive_.AddMetricClass({"next"}, OTF2_METRIC_RELATIVE_NEXT, OTF2_TYPE_UINT64);
  const auto real = archive_.AddMetricClass({"real"}, OTF2_METRIC_ACCUMULATED_START, OTF2_TYPE_DOUBLE);
  const auto level = archive_.AddMetricClass({"level"}, OTF2_METRIC_ABSOLUTE_POINT, OTF2_TYPE_DOUBLE);
  auto rank = archive_.Location(0);
  const auto sample = [&](std::uint64_t t, std::uint64_t a, std::int64_t b, std::uint64_t c, double d) {
    rank.MetricUnsigned(t, total, {a})
        .MetricSigned(t, last, {b})
        .MetricUnsigned(t, next, {c})
        .MetricDouble(t, real, {d})
        .MetricDouble(t, level, {50});
  };
  sample(0, 100, 0, 10, 0.5);
  rank.Enter(0, "main");
  sample(5, 160, 7, 20, 1.5);
  rank.Enter(5, "MPI_Barrier").Collective(5, OTF2_COLLECTIVE_OP_BARRIER, kWorld, OTF2_UNDEFINED_UINT32, 0, 0);
  sample(8, 161, 1, 30, 1.75);
  rank.Leave(8, "MPI_Barrier");
  sample(20, 200, 9, 0, 4.0);
  rank.Leave(20, "main");
  const Trace trace = Read();
  const RankTimeline& timeline = trace.timelines[0];
  const auto at = [&](const char* name, auto get) { return get(*trace.FindCounter(name)); };
  const auto begin = [&](std::size_t c) { return timeline.counter_at_event(c, 0); };
  const auto enter = [&](std::size_t c) { return timeline.counter_at_enter(c, 0); };
  const auto leave = [&](std::size_t c) { return timeline.counter_at_leave(c, 0); };
  const auto end = [&](std::size_t c) { return timeline.counter_at_event(c, 1); };
  EXPECT_EQ(at("total", begin), 100);
  EXPECT_EQ(at("total", enter), 160);
  EXPECT_EQ(at("total", leave), 161);
  EXPECT_EQ(at("total", end), 200);
  // Increases since the last sample: 0, 7, 1, 9 add up to 0, 7, 8, 17.
  EXPECT_EQ(at("last", enter), 7);
  EXPECT_EQ(at("last", leave), 8);
  EXPECT_EQ(at("last", end), 17);
  // Increases until the next sample: 10, 20, 30 make 0, 10, 30, 60.
  EXPECT_EQ(at("next", begin), 0);
  EXPECT_EQ(at("next", enter), 10);
  EXPECT_EQ(at("next", leave), 30);
  EXPECT_EQ(at("next", end), 60);
  EXPECT_EQ(at("real", leave), 1.75);
  EXPECT_FALSE(trace.counters[*trace.FindCounter("level")].accumulates);
  EXPECT_FALSE(timeline.has_counter(*trace.FindCounter("level")));
}

// Of a class that promises no sample at every edge, CPU time passes between samples and everything else stands still.
TEST_F(Otf2ReaderTest, CpuTimeSampledNowAndThen) {
  archive_.AddWorld(1);
  const auto metrics = archive_.AddMetricClass({"CPU_TIME", "visits"}, OTF2_METRIC_ACCUMULATED_START, OTF2_TYPE_INT64,
                                               OTF2_METRIC_SYNCHRONOUS);
  archive_.Location(0)
      .MetricSigned(0, metrics, {100, 1})
      .Enter(0, "main")
      .Enter(5, "MPI_Barrier")
      .Collective(5, OTF2_COLLECTIVE_OP_BARRIER, kWorld, OTF2_UNDEFINED_UINT32, 0, 0)
      .Leave(8, "MPI_Barrier")
      .MetricSigned(20, metrics, {120, 9})
      .Leave(20, "main");
  const Trace trace = Read();
  const RankTimeline& timeline = trace.timelines[0];
  EXPECT_EQ(timeline.counter_at_enter(*trace.FindCounter("CPU_TIME"), 0), 105);
  EXPECT_EQ(timeline.counter_at_leave(*trace.FindCounter("CPU_TIME"), 0), 108);
  EXPECT_EQ(timeline.counter_at_enter(*trace.FindCounter("visits"), 0), 1);
  EXPECT_EQ(timeline.counter_at_leave(*trace.FindCounter("visits"), 0), 1);
}

TEST_F(Otf2ReaderTest, OnlyTheCountersAskedFor) {
  archive_.AddWorld(1);
  const auto metrics = archive_.AddMetricClass({"a", "b"}, OTF2_METRIC_ACCUMULATED_START, OTF2_TYPE_UINT64);
  archive_.Location(0)
      .MetricUnsigned(0, metrics, {1, 2})
      .Enter(0, "main")
      .MetricUnsigned(9, metrics, {3, 4})
      .Leave(9, "main");
  const Trace trace = ReadTrace(archive_.Close(), {false, {"b"}});
  ASSERT_EQ(trace.counters.size(), 1u);
  EXPECT_EQ(trace.counters[0].name, "b");
  EXPECT_EQ(trace.timelines[0].counter_at_event(0, 1), 4);
}

TEST_F(Otf2ReaderTest, NodesAndThreads) {
  const auto a = archive_.Node("a"), b = archive_.Node("b");
  archive_.AddProcess(a, 2);
  archive_.AddProcess(b, 2);
  archive_.AddProcess(a, 2);
  archive_.AddMpi();
  for (const std::uint64_t rank : {0u, 1u, 2u}) {
    archive_.Location(rank).Enter(0, "main").Leave(9, "main");
    archive_.Location(1000 + 100 * rank + 1).Enter(2, "omp parallel").Leave(8, "omp parallel");
  }
  archive_.Location(1101).Enter(8, "MPI_Send").Leave(9, "MPI_Send");
  const Trace trace = Read();
  EXPECT_THAT(trace.nodes, ElementsAre("a", "b"));
  EXPECT_EQ(trace.ranks[0].node, 0);
  EXPECT_EQ(trace.ranks[1].node, 1);
  EXPECT_EQ(trace.ranks[2].node, 0);
  EXPECT_EQ(trace.threads(), 2);
  EXPECT_EQ(trace.diagnostics.count(anomaly::kThreadsAtProcessLevel), 3u);
  EXPECT_EQ(trace.diagnostics.count(anomaly::kMpiOnWorkerThread), 1u);
  EXPECT_NO_THROW(trace.diagnostics.FailPastThreshold(""));
}

// farscale trace records one thread a process, and says in the archive how many calls of others it left out: 3 of 5.
TEST_F(Otf2ReaderTest, CallsThatWereNotRecorded) {
  archive_.AddWorld(1);
  archive_.AddMpi();
  archive_.Location(0).Enter(0, "MPI_Init").Leave(1, "MPI_Init").Enter(8, "MPI_Finalize").Leave(9, "MPI_Finalize");
  archive_.Property("FARSCALE::CALLS_OF_OTHER_THREADS", "3");
  const Trace trace = Read();
  const std::vector<Finding> findings = trace.diagnostics.findings();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].id, "mpiOnWorkerThread");
  EXPECT_EQ(DetailOf(findings[0]), "3 of 5, first calls that were not recorded");
  EXPECT_NO_THROW(trace.diagnostics.FailPastThreshold(""));
}

// Filters leave out ranks, as do tools that are told to record some ranks alone.
TEST_F(Otf2ReaderTest, RanksWithoutEventsAreNamed) {
  archive_.AddWorld(4);
  for (const std::uint64_t rank : {0u, 1u}) archive_.Location(rank).Enter(0, "main").Leave(9, "main");
  for (const std::uint64_t rank : {2u, 3u}) archive_.Location(rank);
  const std::vector<Finding> findings = Read().diagnostics.findings();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].id, "rankWithoutRecords");
  EXPECT_EQ(DetailOf(findings[0]), "2 of 4, first rank 2");
}

// Writers put 0, 1 or the largest number where they do not know the length of the run. Lengths that most events do not
// fit in are wrong themselves; those that they fit in almost are rounded.
TEST(Otf2Reader, LengthOfTheRunByItsClock) {
  constexpr std::uint64_t kLength = 100000, kUnknown = ~std::uint64_t{0};
  const test::TemporaryFolder folder;
  int number = 0;
  const auto outside = [&](std::uint64_t origin, std::uint64_t first, std::uint64_t length) {
    Otf2Archive archive(folder / ("a" + std::to_string(number++)), "traces");
    archive.AddWorld(1);
    archive.SetClock(1000000, origin, length);
    auto events = archive.Location(0);
    events.Enter(first, "main");
    for (std::uint64_t t = 10; t < kLength; t += 10) events.Enter(first + t, "work").Leave(first + t + 5, "work");
    events.Leave(first + kLength, "main");
    const Trace trace = ReadTrace(archive.Close());
    EXPECT_EQ(trace.end() - trace.begin(), static_cast<Tick>(kLength));
    return trace.diagnostics.count(anomaly::kTimeOutsideRun);
  };
  for (const std::uint64_t origin : {0u, 7u, 1000000u}) {
    for (const std::uint64_t length :
         {std::uint64_t{0}, std::uint64_t{1}, kUnknown, kLength - 90, kLength, 2 * kLength}) {
      EXPECT_EQ(outside(origin, origin, length), 0u) << origin << " " << length;
    }
    EXPECT_EQ(outside(origin, origin + 500, kLength + 600), 0u) << origin;  // Score-P begins before the first event
    EXPECT_NEAR(static_cast<double>(outside(origin, origin, kLength / 2)), 9990, 2) << origin;  // half of 20,000 events
  }
  EXPECT_NEAR(static_cast<double>(outside(1000000, 950000, kLength)), 9980, 2);  // but 100 ticks
}

// Steps of a pencil FFT: a region, two exchanges in rows and columns and a collective of all, 30 edges a rank and more
// with two counters each. So few leave little to pack: what a rank takes by itself must be small.
TEST(Otf2Reader, FewEventsOfManyRanksTakeNoMoreThanTheirFiles) {
  const test::TemporaryFolder folder;
  for (int i = 0; i < 10; i += test::IsBrief() ? 4 : 1) {
    const int ranks = 64 + 16 * i, steps = 4 + i % 3;
    Otf2Archive archive(folder / ("a" + std::to_string(i)), "traces");
    archive.AddWorld(ranks);
    const auto metrics =
        archive.AddMetricClass({"CPU_TIME", "PAPI_TOT_INS"}, OTF2_METRIC_ACCUMULATED_START, OTF2_TYPE_UINT64);
    for (std::uint64_t rank = 0; rank < static_cast<std::uint64_t>(ranks); ++rank) {
      auto events = archive.Location(rank);
      std::uint64_t now = 1000000 + 7919 * rank % 1000;
      const auto edge = [&](const std::string& region, bool is_enter) {
        now += 1000 + 37 * (now % 101);
        events.MetricUnsigned(now, metrics, {now, 2 * now});
        is_enter ? events.Enter(now, region) : events.Leave(now, region);
      };
      edge("main", true);
      for (int step = 0; step < steps; ++step) {
        edge("step", true);
        for (const char* call : {"MPI_Alltoall", "MPI_Alltoall", "MPI_Allreduce"}) {
          edge(call, true);
          events.Collective(now, OTF2_COLLECTIVE_OP_ALLREDUCE, kWorld, OTF2_UNDEFINED_UINT32, 2048, 2048);
          edge(call, false);
        }
        edge("step", false);
      }
      edge("main", false);
    }
    const Trace trace = ReadTrace(archive.Close());
    EXPECT_LE(trace.MemoryBytes(), trace.disk_bytes) << ranks << " " << steps;
  }
}

// Score-P numbers regions for each location by itself and leaves tables to translate.
TEST_F(Otf2ReaderTest, MappingTables) {
  archive_.AddWorld(1);
  const auto first = archive_.Region("main"), second = archive_.Region("solve");
  archive_.MapRegions(0, {second, first});
  archive_.Location(0).Enter(0, first).Leave(5, first);
  const Trace trace = Read();
  EXPECT_EQ(trace.regions[trace.timelines[0].region_event(0).region].name, "solve");
}

// From 0 at time 10 to 8 at time 90, the clock must be put forward by a tenth of the time since 10.
TEST_F(Otf2ReaderTest, ClockOffsetsShiftTimes) {
  archive_.AddWorld(1);
  archive_.Location(0).Enter(10, "main").Leave(50, "main");
  const std::string anchor = archive_.Close();
  const auto length_with = [&](const std::vector<std::pair<char, char>>& offsets) {
    folder_.Write("a/traces/0.def", ClockOffsets(offsets));
    const Trace trace = ReadTrace(anchor);
    return trace.end() - trace.begin();
  };
  EXPECT_EQ(length_with({{10, 0}, {90, 8}}), 44);
  EXPECT_EQ(length_with({{10, 0}, {90, 0}}), 40);
  EXPECT_EQ(length_with({}), 40);
}

TEST(Otf2Reader, LocalDefinitionsThatChangeNothingNeedNotBeRead) {
  const test::TemporaryFolder folder;
  const auto matter = [&](const std::string& bytes) {
    return RequireEndOfLocalDefinitions(folder.Write("0.def", bytes), 1 << 22, "here");
  };
  EXPECT_FALSE(matter(ClockOffsets({})));
  EXPECT_FALSE(matter(ClockOffsets({{10, 0}, {90, 0}})));
  EXPECT_TRUE(matter(ClockOffsets({{10, 0}, {90, 8}})));
  EXPECT_TRUE(matter(ClockOffsets({{10, 8}, {90, 8}})));
  EXPECT_TRUE(matter(ClockOffsets({{10, 0}, {10, 0}})));  // no interval to interpolate in
  std::string uncertain = ClockOffsets({{10, 0}, {90, 0}});
  uncertain[18 + 18] = '\x40';  // of a deviation
  EXPECT_FALSE(matter(uncertain));
  std::string table = ClockOffsets({});
  table.insert(18, std::string("\x05\x03\x01\x00\x00", 5));
  EXPECT_TRUE(matter(table));
  std::string foreign = ClockOffsets({});
  foreign[1] = '#';
  EXPECT_TRUE(matter(foreign));
  const std::string whole = ClockOffsets({{10, 0}, {90, 0}});
  EXPECT_THROW(matter(whole.substr(0, 40)), Error);
  EXPECT_TRUE(matter(whole.substr(0, 10)));  // the library says what is wrong
}

TEST_F(Otf2ReaderTest, ProgramNameAndInterruptions) {
  archive_.AddWorld(2);
  archive_.Location(1).Enter(0, "main").Leave(20, "main");
  archive_.Location(0)
      .ProgramBegin(0, "./app")
      .Enter(0, "main")
      .Measurement(5, false)
      .Measurement(9, true)
      .Flush(10, 12)
      .Leave(20, "main");
  const Trace trace = Read();
  EXPECT_EQ(trace.program, "./app");
  EXPECT_EQ(trace.timelines[0].interruptions().size(), 2u);
}

TEST_F(Otf2ReaderTest, ProcessesWithoutMpiAreRanks) {
  archive_.AddProcess(archive_.Node("n"));
  archive_.Location(0).Enter(0, "main").Leave(9, "main");
  const Trace trace = Read();
  EXPECT_EQ(trace.size(), 1u);
  EXPECT_TRUE(trace.communicators.empty());
}

// Ranks are those of MPI, whatever comes first in the file.
TEST(Otf2Reader, OrderOfProcessesInTheFileDoesNotMatter) {
  const auto read = [](bool last_first) {
    const test::TemporaryFolder folder;
    test::Otf2Archive archive(folder / "a", "traces");
    archive.AddWorld(3);
    if (last_first) archive.DefineLastProcessFirst();
    for (std::uint64_t rank = 0; rank < 3; ++rank) {
      archive.Location(rank).Enter(10 * rank, "main").Enter(10 * rank + 1, "MPI_Barrier");
      archive.Location(rank).Collective(40, OTF2_COLLECTIVE_OP_BARRIER, 0, OTF2_COLLECTIVE_ROOT_NONE, 0, 0);
      archive.Location(rank).Leave(41, "MPI_Barrier").Leave(50 + rank, "main");
    }
    return ReadTrace(archive.Close());
  };
  const Trace first = read(false), last = read(true);
  ASSERT_EQ(first.size(), last.size());
  for (std::size_t rank = 0; rank < first.size(); ++rank) {
    EXPECT_EQ(first.timelines[rank].enter(0), last.timelines[rank].enter(0));
    EXPECT_EQ(first.timelines[rank].end(), last.timelines[rank].end());
  }
}

}  // namespace
}  // namespace farscale
