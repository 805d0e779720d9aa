// Pictures worked out on paper; one tick is a second in programs written as text.
#include "factors/run_picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "replay/matching.h"
#include "support/program.h"
#include "trace/trace_builder.h"

namespace farscale {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

RunPicture Picture(const Trace& trace, std::int64_t rows = 64, std::int64_t columns = 360) {
  return PictureOf(trace, MatchTrace(trace), {}, rows, columns);
}

// Rows as letters: computation, waiting, transfer, mpi, not running, outside, calls to devices; mixed cells with
// eighths in brackets.
std::vector<std::string> Rows(const RunPicture& picture) {
  std::vector<std::string> rows;
  for (const std::vector<PictureCell>& cells : picture.rows) {
    std::string& row = rows.emplace_back();
    for (const PictureCell& cell : cells) {
      std::string mixed;
      for (std::size_t state = 0; state < kRunStates; ++state) {
        if (cell[state] > 0) mixed += "cwtmnod"[state] + std::to_string(cell[state]);
      }
      row += mixed.size() == 2 ? mixed.substr(0, 1) : "[" + mixed + "]";
    }
  }
  return rows;
}

// T1 of tests/programs/imbalance.txt. On the ideal network rank 0 sends at 6; rank 1 has it then, after waiting from 2
// on, and sends at once; rank 2 has waited from 1 on. What the calls take beyond that is transfer.
constexpr const char* kLateSender =
    "r0: comp 0-6 | Send>1#a 6-7\n"
    "r1: comp 0-2 | Recv<0#a 2-8 | Send>2#b 8-9\n"
    "r2: comp 0-1 | Recv<1#b 1-10";

TEST(RunPicture, WaitingComesBeforeTransferInACall) {
  const RunPicture picture = Picture(test::ParseTrace(kLateSender));
  EXPECT_THAT(Rows(picture), ElementsAre("cccccctooo",    //
                                         "ccwwwwttto",    //
                                         "cwwwwwtttt"));  // a column a tick, since there are but ten
  EXPECT_EQ(picture.seconds, 10);
  EXPECT_EQ(picture.ranks, 3);
  EXPECT_EQ(picture.ranks_per_row, 1);
  EXPECT_THAT(picture.problem, IsEmpty());
  const StateShare& computation = picture.Share(RunState::kComputation);
  EXPECT_DOUBLE_EQ(computation.mean, 9.0 / 30);
  EXPECT_EQ(computation.least_rank, 2);
  EXPECT_DOUBLE_EQ(computation.least, 0.1);
  EXPECT_EQ(computation.most_rank, 0);
  EXPECT_DOUBLE_EQ(computation.most, 0.6);
  EXPECT_DOUBLE_EQ(picture.Share(RunState::kWaiting).mean, 9.0 / 30);
  EXPECT_DOUBLE_EQ(picture.Share(RunState::kTransfer).mean, 8.0 / 30);
  EXPECT_DOUBLE_EQ(picture.Share(RunState::kOutside).mean, 4.0 / 30);
}

// Two ranks a row and two ticks a column: the third column holds rank 0 computing and rank 1 waiting, the fourth one
// tick of rank 0's transfer, one after its end and two of rank 1's transfer. The last row has one rank.
TEST(RunPicture, RanksAndTimesShareCells) {
  const RunPicture picture = Picture(test::ParseTrace(kLateSender), 2, 5);
  EXPECT_EQ(picture.ranks_per_row, 2);
  EXPECT_THAT(Rows(picture), ElementsAre("c[c4w4][c4w4][t6o2][t2o6]",  //
                                         "[c4w4]wwtt"));
}

// As many rows as ranks, and one less; ranks that fill their rows leave none empty.
TEST(RunPicture, RowsAreAsFullAsTheyCanBe) {
  const Trace trace = test::ParseTrace("r0: comp 0-4\nr1: comp 0-4\nr2: comp 0-4\nr3: comp 0-4");
  const auto rows_of = [&](std::int64_t most) {
    const RunPicture picture = Picture(trace, most, 1);
    return std::pair(picture.ranks_per_row, picture.rows.size());
  };
  EXPECT_EQ(rows_of(5), std::pair(std::int64_t{1}, std::size_t{4}));
  EXPECT_EQ(rows_of(4), std::pair(std::int64_t{1}, std::size_t{4}));
  EXPECT_EQ(rows_of(3), std::pair(std::int64_t{2}, std::size_t{2}));
  EXPECT_EQ(rows_of(2), std::pair(std::int64_t{2}, std::size_t{2}));
  EXPECT_EQ(rows_of(1), std::pair(std::int64_t{4}, std::size_t{1}));
}

// Ten ticks in four columns, which begin at 0, 2, 5 and 7.
TEST(RunPicture, ColumnsAreEquallyLongToOneTick) {
  EXPECT_THAT(Rows(Picture(test::ParseTrace("r0: comp 0-5 | Barrier@1 5-10"), 1, 4)), ElementsAre("cctt"));
}

// Both wait for the other before they send.
TEST(RunPicture, WithoutReplayTimeInMpiIsOneState) {
  const RunPicture picture =
      Picture(test::ParseTrace("r0: comp 0-1 | Recv<1#a 1-3 | Send>1#b 3-4\n"
                               "r1: comp 0-1 | Recv<0#b 1-3 | Send>0#a 3-4"));
  EXPECT_THAT(Rows(picture), ElementsAre("cmmm", "cmmm"));
  EXPECT_THAT(picture.problem, HasSubstr("cannot complete in program order"));
  EXPECT_DOUBLE_EQ(picture.Share(RunState::kMpi).mean, 0.75);
}

TEST(RunPicture, PausesAndRanksWithoutRecords) {
  TraceBuilder builder;
  const auto work = builder.AddRegion("work");
  Region region;
  region.name = std::string(kPauseRegion);
  region.is_pause = true;
  const auto pause = builder.AddRegion(region);
  builder.AddWorld(2);
  RankBuilder rank0(builder.definitions(), 0);
  rank0.Enter(0, work);
  rank0.Enter(2, pause);
  rank0.Leave(5, pause);
  rank0.Leave(8, work);
  builder.SetTimeline(rank0);
  RankBuilder rank1(builder.definitions(), 1);
  builder.SetTimeline(rank1);
  EXPECT_THAT(Rows(Picture(std::move(builder).Finish())), ElementsAre("ccnnnccc", "oooooooo"));
}

TEST(RunPicture, NodesBeginWhereRanksAreNextToEachOther) {
  Trace trace = test::ParseTrace("r0: comp 0-4\nr1: comp 0-4\nr2: comp 0-4\nr3: comp 0-4");
  trace.nodes = {"a", "b"};
  trace.ranks[2].node = trace.ranks[3].node = 1;
  EXPECT_THAT(Picture(trace).node_begins, ElementsAre(0, 2));
  trace.ranks[1].node = 1;
  trace.ranks[2].node = 0;
  EXPECT_THAT(Picture(trace).node_begins, IsEmpty());
}

TEST(RunPicture, ATraceWithoutTimeHasNoRows) {
  TraceBuilder builder;
  builder.AddWorld(1);
  EXPECT_THAT(Picture(std::move(builder).Finish()).rows, IsEmpty());
}

// Thirds are 2.67 eighths each; the two that are missing go to the first of the three. A share of 1 % is lost.
TEST(RunPicture, RoundsToEighths) {
  EXPECT_EQ(RoundToLevels({1, 1, 1, 0, 0, 0}), (PictureCell{3, 3, 2, 0, 0, 0}));
  EXPECT_EQ(RoundToLevels({99, 0, 0, 0, 0, 1}), (PictureCell{8, 0, 0, 0, 0, 0}));
  EXPECT_EQ(RoundToLevels({0, 0, 5e17, 0, 0, 5e17}), (PictureCell{0, 0, 4, 0, 0, 4}));
}

// Kernels [1, 3) and [6, 8), busy [1, 4) and [6, 8) of ten ticks; one cell a tick, or two.
TEST(RunPicture, DevicesHaveRowsOfTheirOwn) {
  Trace trace = test::ParseTrace(kLateSender);
  EXPECT_THAT(Picture(trace).devices, IsEmpty());
  trace.devices = {{"fake 0", {{1, {{1, 3}, {6, 8}}, {{1, 4}, {6, 8}}}}}};
  const DeviceCell kernel{8, 0}, copy{0, 8}, idle{};
  const std::vector<DeviceRow> devices = Picture(trace).devices;
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(devices[0].row, 1);
  EXPECT_EQ(devices[0].name, "fake 0");
  EXPECT_THAT(devices[0].cells, ElementsAre(idle, kernel, kernel, copy, idle, idle, kernel, kernel, idle, idle));
  EXPECT_DOUBLE_EQ(devices[0].kernels, 0.4);
  EXPECT_DOUBLE_EQ(devices[0].copies, 0.1);
  const std::vector<DeviceRow> halved = Picture(trace, 64, 5).devices;
  EXPECT_THAT(halved[0].cells, ElementsAre(DeviceCell{4, 0}, DeviceCell{4, 4}, idle, kernel, idle));
}

// Two ticks of a call to a device within a function are not computation.
TEST(RunPicture, CallsToDevices) {
  TraceBuilder builder;
  builder.AddWorld(1);
  const auto work = builder.AddRegion("work");
  Region region;
  region.name = "cudaDeviceSynchronize";
  region.is_device_runtime = true;
  const auto call = builder.AddRegion(region);
  RankBuilder rank(builder.definitions(), 0);
  rank.Enter(0, work);
  rank.Enter(4, call);
  rank.Leave(6, call);
  rank.Leave(10, work);
  builder.SetTimeline(rank);
  const RunPicture picture = Picture(std::move(builder).Finish(), 64, 5);
  const PictureCell computes{8}, calls{0, 0, 0, 0, 0, 0, 8};
  EXPECT_THAT(picture.rows, ElementsAre(ElementsAre(computes, computes, calls, computes, computes)));
  EXPECT_DOUBLE_EQ(picture.Share(RunState::kDeviceCalls).mean, 0.2);
  EXPECT_DOUBLE_EQ(picture.Share(RunState::kComputation).mean, 0.8);
}

// Rank 1 has two devices, rank 2 one of them: three strips, or one for all three in a row of three ranks. What lies
// before the run or behind it, by another clock, is left out.
TEST(RunPicture, DevicesOfRanksThatShareARowAreOne) {
  Trace trace = test::ParseTrace(kLateSender);
  trace.devices = {{"a", {{1, {{-5, 5}}, {{-5, 5}}}, {2, {{5, 20}}, {{5, 20}}}}}, {"b", {{1, {}, {{0, 5}}}}}};
  const RunPicture apart = Picture(trace, 64, 2);
  ASSERT_EQ(apart.devices.size(), 3u);
  const DeviceCell kernel{8, 0}, idle{};
  EXPECT_EQ(apart.devices[0].row, 1);
  EXPECT_EQ(apart.devices[1].name, "b");
  EXPECT_EQ(apart.devices[2].row, 2);
  EXPECT_THAT(apart.devices[0].cells, ElementsAre(kernel, idle));
  EXPECT_THAT(apart.devices[1].cells, ElementsAre(DeviceCell{0, 8}, idle));
  EXPECT_THAT(apart.devices[2].cells, ElementsAre(idle, kernel));
  const RunPicture joined = Picture(trace, 1, 2);
  ASSERT_EQ(joined.devices.size(), 1u);
  EXPECT_EQ(joined.devices[0].name, "");
  EXPECT_THAT(joined.devices[0].cells, ElementsAre(DeviceCell{3, 2}, DeviceCell{3, 0}));  // thirds of eighths
}

}  // namespace
}  // namespace farscale
