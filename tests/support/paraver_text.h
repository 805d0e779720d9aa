// Paraver traces written out in a test, and how they are read.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/diagnostics.h"
#include "support/temporary_folder.h"
#include "support/timeline_text.h"
#include "trace/trace_reader.h"

namespace farscale::test {

// "#Paraver (...):100_ns:1(4):1:2(1:1,1:1)": a hundred nanoseconds on one node.
inline std::string ParaverHead(int tasks, const std::string& behind = "") {
  std::string list;
  for (int i = 0; i < tasks; ++i) list += i == 0 ? "1:1" : ",1:1";
  return "#Paraver (20/11/2026 at 10:30):100_ns:1(4):1:" + std::to_string(tasks) + "(" + list + ")" + behind + "\n";
}

class ParaverTextTest : public testing::Test {
 protected:
  Trace Read(const std::string& prv, const std::string& pcf = "", const ReadOptions& options = {}) {
    if (!pcf.empty()) folder_.Write("t.pcf", pcf);
    return ReadTrace(folder_.Write("t.prv", prv), options);
  }

  // What a rank did between the begin and the end of the application, which every trace has around it.
  std::string Timeline(const std::string& prv, const std::string& pcf = "", std::size_t rank = 0) {
    return TimelineText(Read(prv, pcf), rank);
  }

  // The sentence behind the path of the error that reading must end in.
  std::string Failure(const std::string& prv, ErrorKind kind = ErrorKind::kInput, const ReadOptions& options = {}) {
    return FailureOf(folder_.Write("t.prv", prv), kind, options);
  }
  std::string FailureOf(const std::string& path, ErrorKind kind = ErrorKind::kInput, const ReadOptions& options = {}) {
    try {
      ReadTrace(path, options);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind);
      const std::string sentence = error.what();
      EXPECT_TRUE(sentence.starts_with(path)) << sentence;
      return sentence.substr(std::min(path.size(), sentence.size()));
    }
    return "read without error";
  }

  // Whether nothing is odd but that texts without states say nothing of when ranks run.
  static bool OnlyLacksStates(const Trace& trace) {
    const std::vector<Finding> findings = trace.diagnostics.findings();
    return findings.size() == 1 && findings[0].id == "rankWithoutStates";
  }

  TemporaryFolder folder_;
};

}  // namespace farscale::test
