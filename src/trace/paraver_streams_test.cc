#include "trace/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/paraver_text.h"
#include "trace/anomalies.h"
#include "trace/device_records.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

using testing::ElementsAre;

// One task in 100 ns with a thread and two streams of a device. The host calls CUDA from 30 to 60; kernels run from 32
// to 50 and from 45 to 55, a copy until 58.
constexpr const char* kRun =
    "#Paraver (20/11/2026 at 10:30):100_ns:1(4):1:1(3:1),0\n"
    "2:1:1:1:1:0:40000001:1\n"
    "1:1:1:1:1:0:100:1\n"
    "1:2:1:1:2:0:32:0\n"
    "1:2:1:1:2:32:50:1\n"
    "1:2:1:1:2:50:58:17\n"
    "1:2:1:1:2:58:100:0\n"
    "1:3:1:1:3:0:45:0\n"
    "1:3:1:1:3:45:55:1\n"
    "1:3:1:1:3:55:100:0\n"
    "2:1:1:1:1:10:50000002:8\n"
    "2:1:1:1:1:20:50000002:0\n"
    "2:1:1:1:1:30:63000001:4\n"
    "2:1:1:1:1:60:63000001:0\n"
    "2:1:1:1:1:100:40000001:0\n";

class ParaverStreamsTest : public test::ParaverTextTest {
 protected:
  Trace Read(const std::string& row, bool keep_threads) {
    folder_.Write("t.row", row);
    ReadOptions options;
    options.keep_threads = keep_threads;
    return ReadTrace(folder_.Write("t.prv", kRun), options);
  }
};

TEST_F(ParaverStreamsTest, StreamsAreNoThreads) {
  const std::string row = "LEVEL THREAD SIZE 3\nTHREAD 1.1.1\nCUDA-D1.S1-n1\nCUDA-D1.S2-n1\n";
  const Trace trace = Read(row, true);
  EXPECT_EQ(trace.threads(), 1);
  EXPECT_TRUE(trace.team_threads.empty());
  ASSERT_EQ(trace.devices.size(), 1u);
  EXPECT_EQ(trace.devices[0].name, "CUDA-D1-n1");
  const DeviceWork& work = trace.devices[0].of_ranks.front();
  EXPECT_THAT(work.kernels, ElementsAre(DeviceSpan{32, 55}));
  EXPECT_THAT(work.active, ElementsAre(DeviceSpan{32, 58}));
  EXPECT_TRUE(RecordsDeviceCalls(trace));
  EXPECT_EQ(trace.diagnostics.count(anomaly::kThreadsAtProcessLevel), 0u);
  const Trace without = Read(row, false);
  EXPECT_EQ(without.threads(), 1);
  EXPECT_TRUE(without.devices.empty());
}

TEST_F(ParaverStreamsTest, ThreadsByAnyOtherNameAreThreads) {
  const Trace trace = Read("LEVEL THREAD SIZE 3\nTHREAD 1.1.1\nTHREAD 1.1.2\nTHREAD 1.1.3\n", true);
  EXPECT_EQ(trace.threads(), 3);
  EXPECT_TRUE(trace.devices.empty());
  EXPECT_FALSE(trace.team_threads.empty());
}

}  // namespace
}  // namespace farscale
