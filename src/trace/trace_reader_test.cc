// What holds of every trace that is read, whatever its format.
#include "trace/trace_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <algorithm>

#include "support/otf2_archive.h"
#include "support/repeats.h"
#include "support/temporary_folder.h"
#include "support/traces.h"

namespace farscale {
namespace {

TEST(TraceReader, AnchorOfAnyName) {
  const test::TemporaryFolder folder;
  test::Otf2Archive archive(folder.path() / "a", "run-17");
  archive.AddWorld(1);
  archive.Location(0).Enter(0, "main").Leave(9, "main");
  const std::string anchor = archive.Close();
  EXPECT_THAT(anchor, testing::HasSubstr("run-17.otf2"));
  EXPECT_EQ(ReadTrace(anchor).size(), 1u);
  EXPECT_EQ(FilesOfTrace(anchor).size(), 4u);  // anchor, definitions, 0.def, 0.evt
  EXPECT_EQ(FingerprintOfTrace(anchor).size(), 64u);
}

// What is read does not depend on the number of threads.
TEST(TraceReader, SameAtAnyThreadCount) {
  const std::vector<std::string> paths = test::TracesToTry();
  for (std::size_t i = 0; i < paths.size(); i += test::DailyStep(2)) {
    const std::string& path = paths[i];
    std::vector<std::uint64_t> sizes;
    for (const std::size_t threads : {1u, 3u}) {
      const tbb::global_control control(tbb::global_control::max_allowed_parallelism, threads);
      const Trace trace = ReadTrace(path);
      sizes.push_back(trace.MemoryBytes());
      std::uint64_t sum = 0;
      for (const RankTimeline& timeline : trace.timelines) {
        for (std::size_t call = 0; call < timeline.calls(); ++call) {
          sum = 31 * sum + static_cast<std::uint64_t>(timeline.leave(call));
        }
        for (std::size_t record = 0; record < timeline.records(); ++record) {
          sum = 31 * sum + timeline.record_target(record);
        }
      }
      sizes.push_back(sum);
      sizes.push_back(trace.diagnostics.findings().size());
    }
    EXPECT_TRUE(std::equal(sizes.begin(), sizes.begin() + 3, sizes.begin() + 3)) << path;
  }
}

}  // namespace
}  // namespace farscale
