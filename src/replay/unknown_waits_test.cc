// Calls that wait although the trace does not say for whom.
#include "replay/unknown_waits.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <sstream>

#include "base/diagnostics.h"
#include "base/files.h"
#include "replay/anomalies.h"
#include "replay/replay.h"
#include "support/paraver_writer.h"
#include "support/program.h"
#include "support/random_program.h"
#include "support/temporary_folder.h"
#include "trace/anomalies.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

UnknownWaits WaitsOf(const Trace& trace) { return FindUnknownWaits(trace, CutPhase(trace, PhaseSpec::WholeRun())); }

UnknownWaits WaitsOf(const std::string& first, const std::string& second) {
  return WaitsOf(test::ParseTrace("r0: " + first + "\nr1: " + second));
}

// Rank 0 waits from 0 to 5 in any call that can wait for a message; none has a record.
TEST(UnknownWaits, MessagesWithoutRecord) {
  for (const std::string calls : {"Recv 0-5", "Ssend 0-5", "Send 0-5", "Sendrecv 0-5", "Irecv 0-1 | Wait 1-5",
                                  "Irecv 0-1 | Isend 1-2 | Waitall 2-5", "Probe 0-5 | Recv 5-5"}) {
    const UnknownWaits waits = WaitsOf(calls + " | comp 5-9", "comp 0-9");
    EXPECT_EQ(waits.calls, calls.starts_with("Probe") ? 2u : 1u) << calls;
    EXPECT_THAT(waits.example, testing::HasSubstr("rank 0 in MPI_")) << calls;
  }
}

// Times in microseconds. A wait counts from ten times as long as a post on; any does where no receive has a message. A
// wait for all of the sends leaves the receives.
TEST(UnknownWaits, WhatTakesLongIsMeasuredByPosts) {
  const auto waits = [](const std::string& first, const std::string& second) {
    Trace trace = test::ParseTrace("r0: " + first + " | comp 60-200\nr1: " + second + " | comp 4-200");
    trace.ticks_per_second = 1e6;
    return WaitsOf(trace).any();
  };
  EXPECT_FALSE(waits("Irecv<1#a 0-2 | Wait~a 2-9 | Irecv 9-11 | Wait 11-30", "Isend>0#a 0-2"));
  EXPECT_TRUE(waits("Irecv<1#a 0-2 | Wait~a 2-9 | Irecv 9-11 | Wait 11-31", "Isend>0#a 0-2"));
  EXPECT_FALSE(waits("Irecv<1#a 0-5 | Wait~a 5-9 | Irecv 9-14 | Wait 14-60", "Isend>0#a 0-3"));
  EXPECT_TRUE(waits("Recv<1#a 0-9 | Recv 9-29", "Send>0#a 0-2"));
  EXPECT_TRUE(waits("Irecv 0-2 | Wait 2-9", "Isend 0-2"));
  EXPECT_TRUE(waits("Irecv 0-1 | Isend 1-2 | Waitall 2-2 | Wait 2-6", "comp 0-4"));
}

// Those that have a record, test, or wait for no request of the trace.
TEST(UnknownWaits, OtherCallsAreNone) {
  EXPECT_FALSE(WaitsOf("Recv<1#a 0-5", "comp 0-4 | Send>0#a 4-5").any());
  EXPECT_FALSE(WaitsOf("Probe 0-4 | Recv<1#a 4-5", "comp 0-4 | Send>0#a 4-5").any());
  EXPECT_FALSE(WaitsOf("Irecv<1#a 0-1 | Wait~a 1-5", "comp 0-4 | Send>0#a 4-5").any());
  EXPECT_FALSE(WaitsOf("Wait 0-5", "comp 0-5").any());  // for a file, or an inactive request
  EXPECT_FALSE(WaitsOf("Irecv 0-0 | Test 0-5", "comp 0-5").any());
  EXPECT_FALSE(WaitsOf("Iprobe 0-5 | Recv<1#a 5-6", "comp 0-4 | Send>0#a 4-5").any());
  EXPECT_FALSE(WaitsOf("Recv 0-0 | Sendrecv 0-0 | Irecv 0-0 | Wait 0-0 | comp 0-5", "comp 0-5").any());  // PROC_NULL
}

// Of ten rounds the receiver waits 7 s in each, and some have no record: 1 % of MPI time decides.
TEST(UnknownWaits, ShareOfMpiTimeDecides) {
  for (const int lost_from : {0, 5, 9, 10}) {
    std::string receiver = "r0: ", sender = "r1: ";
    for (int i = 0; i < 10; ++i) {
      const bool has_record = i < lost_from;
      receiver += fmt::format("{}Recv{} {}-{}", i > 0 ? " | " : "", has_record ? "<1#m" + std::to_string(i) : "",
                              10 * i, 10 * i + 8);
      sender +=
          fmt::format("{}comp {}-{} | Send{} {}-{} | comp {}-{}", i > 0 ? " | " : "", 10 * i, 10 * i + 7,
                      has_record ? ">0#m" + std::to_string(i) : "", 10 * i + 7, 10 * i + 8, 10 * i + 8, 10 * i + 10);
    }
    const UnknownWaits waits = WaitsOf(test::ParseTrace(receiver + "\n" + sender));
    EXPECT_EQ(waits.calls, 2u * static_cast<unsigned>(10 - lost_from)) << lost_from;  // and their sends
    EXPECT_EQ(waits.messages, waits.calls);
  }
}

// 140 seconds wait for messages with a record, one for a message without: named, no more.
TEST(UnknownWaits, FewAreNamed) {
  const Trace trace = test::ParseTrace(
      "r0: Recv<1#a 0-140 | Recv 140-141 | comp 141-300\n"
      "r1: comp 0-139 | Send>0#a 139-140 | comp 140-300");
  EXPECT_FALSE(WaitsOf(trace).any());
  EXPECT_EQ(WaitsOf(trace).messages, 1u);
  const ReplayResult result = Replay(trace, MatchTrace(trace), CutPhase(trace, PhaseSpec::WholeRun()), {});
  EXPECT_EQ(result.diagnostics.count(anomaly::kMessageWithoutRecord), 1u);
}

// Sends whose completion is not recorded may take time when they are waited for.
TEST(UnknownWaits, WaitsForLargeSendsAreNone) {
  const std::string text =
      "#Paraver (x):800000_ns:1(2):1:2(1:1,1:1),0\n"
      "2:1:1:1:1:0:50000001:4\n2:1:1:1:1:100:50000001:0\n"  // an Irecv from MPI_PROC_NULL
      "2:1:1:1:1:200:50000001:3\n"
      "3:1:1:1:1:200:200:2:1:2:1:700000:800000:BYTES:1\n"
      "2:1:1:1:1:300:50000001:0\n"
      "2:1:1:1:1:400:50000001:5\n2:1:1:1:1:500:50000001:0\n"
      "2:1:1:1:1:600:50000001:5\n2:1:1:1:1:800000:50000001:0\n"
      "2:2:1:2:1:700000:50000001:2\n2:2:1:2:1:800000:50000001:0\n";
  test::TemporaryFolder folder;
  const auto read = [&](const std::string& bytes) {
    std::string prv = text;
    return ReadTrace(folder.Write("t.prv", prv.replace(prv.find("BYTES"), 5, bytes)));
  };
  EXPECT_FALSE(WaitsOf(read("1000000")).any());
  EXPECT_FALSE(WaitsOf(read("8")).any());  // its first wait, which is short, is for the Irecv
}

// A Paraver text without some of its lines.
std::string Without(const std::string& text, const std::function<bool(const std::string&)>& is_lost) {
  std::istringstream lines(text);
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    if (!is_lost(line)) kept += line + "\n";
  }
  return kept;
}

bool IsEventOf(const std::string& line, const std::string& type) {
  return line.starts_with("2:") && line.find(":" + type + ":") != std::string::npos;
}

// A ring in which each rank computes, sends to the next one, receives and meets the others in a barrier.
std::string RingText(std::mt19937& random) {
  const int ranks = 2 + static_cast<int>(random() % 7), steps = 3 + static_cast<int>(random() % 10);
  std::vector<std::int64_t> now(static_cast<std::size_t>(ranks), 0);
  std::string text, tasks, members;
  for (int i = 0; i < ranks; ++i) tasks += i == 0 ? "1:1" : ",1:1";
  for (int i = 0; i < ranks; ++i) members += ":" + std::to_string(i + 1);
  const auto place = [](int rank) { return fmt::format("{0}:1:{0}:1", rank + 1); };
  const auto state = [&](int rank, std::int64_t to, int number) {
    std::int64_t& begin = now[static_cast<std::size_t>(rank)];
    text += fmt::format("1:{}:{}:{}:{}\n", place(rank), begin, to, number);
    begin = to;
  };
  const auto call = [&](int rank, std::int64_t to, int state_number, const std::string& event) {
    const std::string type = event.substr(0, 8);
    text += fmt::format("2:{}:{}:{}\n", place(rank), now[static_cast<std::size_t>(rank)], event);
    text += fmt::format("2:{}:{}:{}:0\n", place(rank), to, type);
    state(rank, to, state_number);
  };
  for (int step = 0; step < steps; ++step) {
    std::vector<std::int64_t> sent;
    for (int rank = 0; rank < ranks; ++rank) {
      state(rank, now[static_cast<std::size_t>(rank)] + 100000 + static_cast<int>(random() % 10000000), 1);
      sent.push_back(now[static_cast<std::size_t>(rank)]);
      call(rank, sent.back() + 2000, 4, "50000001:1");
    }
    for (int rank = 0; rank < ranks; ++rank) {
      const int from = (rank + ranks - 1) % ranks;
      const std::int64_t begin = now[static_cast<std::size_t>(rank)], at = sent[static_cast<std::size_t>(from)];
      const std::int64_t end = std::max(begin, at) + 3000;
      text += fmt::format("3:{}:{}:{}:{}:{}:{}:8:1\n", place(from), at, at, place(rank), begin, end);
      call(rank, end, 3, "50000001:2");
    }
    const std::int64_t last = *std::ranges::max_element(now) + 5000;
    for (int rank = 0; rank < ranks; ++rank) call(rank, last, 5, "50000002:8:50100004:1");
    for (int rank = 0; rank < ranks; ++rank) state(rank, last + static_cast<int>(random() % 5000000), 1);
    const std::int64_t end = *std::ranges::max_element(now) + 5000;
    for (int rank = 0; rank < ranks; ++rank) call(rank, end, 13, "50000002:10:50100001:8:50100002:8:50100004:1");
  }
  return fmt::format("#Paraver (x):{}_ns:1({}):1:{}({}),1\nc:1:1:{}{}\n", now[0], ranks, ranks, tasks, ranks, members) +
         text;
}

struct LostKind {
  std::string name;
  std::function<bool(const std::string&)> is_lost;
};

std::vector<LostKind> LostKinds(std::mt19937& random) {
  return {
      {"collective events", [](const std::string& line) { return IsEventOf(line, "50000002"); }},
      {"events of messages", [](const std::string& line) { return IsEventOf(line, "50000001"); }},
      {"messages", [](const std::string& line) { return line.starts_with("3:"); }},
      {"half of the messages", [&](const std::string& line) { return line.starts_with("3:") && random() % 2 == 0; }},
      {"states", [](const std::string& line) { return line.starts_with("1:"); }}};
}

// Intact, nothing is withheld; without any kind of records, serialization and transfer are, or the trace is refused.
TEST(UnknownWaits, LostKindsOfParaverRecords) {
  std::mt19937 random(11);
  test::TemporaryFolder folder;
  for (int i = 0; i < 10; ++i) {
    const std::string text = RingText(random);
    const Trace intact = ReadTrace(folder.Write("intact.prv", text));
    EXPECT_TRUE(intact.diagnostics.empty()) << intact.diagnostics.findings()[0].sentence;
    EXPECT_FALSE(WaitsOf(intact).any()) << WaitsOf(intact).example;
    EXPECT_EQ(WaitsOf(intact).messages, 0u);
    for (const LostKind& kind : LostKinds(random)) {
      const Trace trace = ReadTrace(folder.Write("t.prv", Without(text, kind.is_lost)));
      if (kind.name == "states") {  // times stay as they are
        EXPECT_EQ(trace.diagnostics.count(anomaly::kRankWithoutStates), trace.size());
        EXPECT_FALSE(WaitsOf(trace).any());
      } else {
        EXPECT_TRUE(WaitsOf(trace).any()) << kind.name;
      }
    }
    EXPECT_THROW(
        ReadTrace(folder.Write("t.prv", Without(text, [](const std::string& line) { return line.starts_with("2:"); }))),
        Error);
  }
}

// The same of random programs as Extrae records them: the ideal time is right, or there is none, or the trace warns.
TEST(UnknownWaits, LostKindsOfRandomPrograms) {
  std::mt19937 random(13);
  test::TemporaryFolder folder;
  test::ParaverOptions in_microseconds;  // so that waits take time
  in_microseconds.unit = "_us";
  const auto ideal = [](const Trace& trace) {
    const ReplayResult result = Replay(trace, MatchTrace(trace), CutPhase(trace, PhaseSpec::WholeRun()), {});
    return static_cast<double>(result.Duration());
  };
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Trace program = test::MakeRandomProgram(seed, test::VariedOptions(seed));
    const std::string path = test::WriteParaver(program, MatchTrace(program), folder.path(), "t", in_microseconds);
    const std::string text = ReadFile(path);
    const Trace intact = ReadTrace(path);
    for (const LostKind& kind : LostKinds(random)) {
      folder.Write("t.prv", Without(text, kind.is_lost));
      std::optional<Trace> trace;
      try {
        trace = ReadTrace(path);
        Diagnostics diagnostics = trace->diagnostics;
        diagnostics.Merge(MatchTrace(*trace).diagnostics);
        diagnostics.FailPastThreshold(path);
      } catch (const Error&) {
        continue;
      }
      const UnknownWaits waits = WaitsOf(*trace);
      if (waits.any() || waits.messages > 0) continue;
      EXPECT_NEAR(ideal(*trace), ideal(intact), 0.01 * ideal(intact)) << seed << " " << kind.name;
    }
  }
}

}  // namespace
}  // namespace farscale
