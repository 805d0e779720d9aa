// Paraver texts that two processes read together: the trace, or the refusal, of one process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "base/files.h"
#include "support/paraver_writer.h"
#include "support/random_program.h"
#include "support/repeats.h"
#include "support/same_trace.h"
#include "support/temporary_folder.h"
#include "support/thread_job.h"
#include "trace/shared_reading.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

struct ReadingOutcome {
  Trace trace;
  std::string refusal;
};

ReadingOutcome OutcomeOfReading(const std::string& path, const ReadOptions& options) {
  ReadingOutcome outcome;
  try {
    outcome.trace = ReadTrace(path, options);
  } catch (const Error& error) {
    outcome.refusal = error.what();
  }
  return outcome;
}

// Short texts may be read by one process alone.
std::size_t questions = 0;

void ExpectSharedIsTheSame(const std::string& path, const ReadOptions& options = {}) {
  const ReadingOutcome alone = OutcomeOfReading(path, options);
  const test::ThreadJob job({TextReadingService(), RankBuildingService()});
  const ReadingOutcome shared = OutcomeOfReading(path, options);
  questions += job.questions();
  ASSERT_EQ(shared.refusal, alone.refusal);
  if (!alone.refusal.empty()) return;
  ASSERT_EQ(test::Difference(shared.trace, alone.trace), "");
  ASSERT_EQ(shared.trace.MemoryBytes(), alone.trace.MemoryBytes());
  ASSERT_EQ(shared.trace.diagnostics.findings(), alone.trace.diagnostics.findings());
  ASSERT_EQ(shared.trace.events, alone.trace.events);
}

std::string WriteParaverProgram(std::uint64_t seed, const test::TemporaryFolder& folder) {
  test::RandomProgramOptions program = test::VariedOptions(seed);
  program.counters = true;
  program.steps = 200;
  const Trace trace = test::MakeRandomProgram(seed, program);
  test::ParaverOptions options;
  options.split_counters = seed % 2 == 0;
  options.crlf = seed % 7 == 3;
  if (seed % 3 == 1) options.shuffle_by = static_cast<int>(seed);
  return test::WriteParaver(trace, MatchTrace(trace), folder.path(), "t", options);
}

TEST(SharedParaver, IsTheTraceOfOneProcess) {
  questions = 0;
  for (std::uint64_t seed = 0; seed < test::Repeats(60u); ++seed) {
    SCOPED_TRACE(seed);
    const test::TemporaryFolder folder;
    const std::string path = WriteParaverProgram(seed, folder);
    ReadOptions options;
    options.keep_threads = seed % 2 == 0;
    options.all_counters = seed % 4 < 2;
    ExpectSharedIsTheSame(path, options);
    if (HasFatalFailure()) return;
  }
  EXPECT_GE(questions, test::Repeats(60u));
}

// Bytes changed, the end cut off, records behind the end: findings and refusals name the same lines.
TEST(SharedParaver, DamageIsThatOfOneProcess) {
  for (std::uint64_t seed = 0; seed < test::Repeats(150u); ++seed) {
    SCOPED_TRACE(seed);
    const test::TemporaryFolder folder;
    const std::string path = WriteParaverProgram(seed % 20, folder);
    std::string text = ReadFile(path);
    std::mt19937_64 random(seed);
    const std::size_t head = text.find('\n') + 1;
    const std::size_t first = seed % 2 == 0 ? head : text.size() / 2;
    const int changes = seed % 3 == 0 ? 1 : 40;
    for (int i = 0; i < changes; ++i) {
      text[first + random() % (text.size() - first)] = "x:0\n9"[random() % 5];
    }
    if (seed % 4 == 1) text.resize(head + random() % (text.size() - head));
    if (seed % 4 == 2) text += "1:1:1:1:1:0:999999999999:1\n4:1:1:1:1:10:12:20:20:1:1:1:8:8\n";
    WriteFile(path, text);
    ExpectSharedIsTheSame(path);
    if (HasFatalFailure()) return;
  }
}

TEST(SharedParaver, LinesWithoutEnd) {
  const test::TemporaryFolder folder;
  const std::string path = WriteParaverProgram(2, folder);
  const std::string text = ReadFile(path);
  for (const std::size_t at : {text.find('\n') + 1, text.find('\n', text.size() / 2) + 1, text.size()}) {
    WriteFile(path, text.substr(0, at) + std::string(9'000'000, '1') + text.substr(at));
    ExpectSharedIsTheSame(path);
    EXPECT_THAT(OutcomeOfReading(path, {}).refusal,
                testing::HasSubstr("has a line of more than 4194304 bytes behind line "));
  }
}

}  // namespace
}  // namespace farscale
