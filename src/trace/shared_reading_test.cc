// Traces that two processes read together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "support/same_trace.h"
#include "support/thread_job.h"
#include "support/traces.h"
#include "trace/shared_reading.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

TEST(SharedReading, GivesTheTraceOfOneProcess) {
  const std::vector<std::string> paths = test::SampleTraces();
  ReadOptions options;
  options.keep_threads = true;
  std::vector<Trace> alone;
  for (const std::string& path : paths) alone.push_back(ReadTrace(path, options));
  const test::ThreadJob job({ReadingService()});
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const Trace shared = ReadTrace(paths[i], options);
    EXPECT_EQ(test::Difference(shared, alone[i]), "") << paths[i];
    EXPECT_EQ(shared.MemoryBytes(), alone[i].MemoryBytes()) << paths[i];
    EXPECT_EQ(shared.diagnostics.findings(), alone[i].diagnostics.findings());
  }
  EXPECT_GE(job.questions(), paths.size());
}

}  // namespace
}  // namespace farscale
