// Regions, counters, states and the like of Paraver traces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/paraver_text.h"
#include "trace/anomalies.h"

namespace farscale {
namespace {

using testing::HasSubstr;
using testing::Not;

// Of one task. Every fact is "time:type:value..."; states are "begin:end:state".
std::string OneTask(const std::vector<std::string>& events, const std::vector<std::string>& states = {}) {
  std::string prv = test::ParaverHead(1, ",0") + "2:1:1:1:1:0:40000001:1\n";
  for (const std::string& state : states) prv += "1:1:1:1:1:" + state + "\n";
  for (const std::string& event : events) prv += "2:1:1:1:1:" + event + "\n";
  return prv + "2:1:1:1:1:100:40000001:0\n";
}

class ParaverRegionsTest : public test::ParaverTextTest {
 protected:
  std::string Inner(const Trace& trace, int last = 100) {
    const std::string text = test::TimelineText(trace, 0);
    const std::string begin = "0 +Application, ", end = ", " + std::to_string(last) + " -Application";
    EXPECT_TRUE(text.starts_with(begin)) << text;
    EXPECT_TRUE(text.ends_with(end)) << text;
    if (text.size() < begin.size() + end.size()) return "";
    return text.substr(begin.size(), text.size() - begin.size() - end.size());
  }
};

TEST_F(ParaverRegionsTest, FunctionsNest) {
  const std::string pcf =
      "EVENT_TYPE\n0  60000019  User function\nVALUES\n0  End\n1  main\n2  sol..ver [solver_of_all]\n3  f[abi:cxx11]\n";
  const Trace trace = Read(OneTask({"10:60000019:1", "20:60000019:2", "30:50000001:1", "40:50000001:0", "50:60000019:3",
                                    "60:60000019:0", "60:60000019:0", "80:60000019:0", "90:60000019:0"}),
                           pcf);
  EXPECT_EQ(Inner(trace),
            "10 +main, 20 +solver_of_all, 30 +MPI_Send, 40 -MPI_Send, 50 +f[abi:cxx11], 60 -f[abi:cxx11], "
            "60 -solver_of_all, 80 -main");
  EXPECT_EQ(trace.diagnostics.count(anomaly::kLeaveWithoutEnter), 1u);
}

// The .pcf of a filtered trace still names them.
TEST_F(ParaverRegionsTest, FunctionsThatAreAllGone) {
  const std::string names = "EVENT_TYPE\n0  60000019  User function\nVALUES\n0  End\n";
  const auto lost = [&](const std::vector<std::string>& events, const std::string& pcf) {
    return Read(OneTask(events), pcf).diagnostics.count(anomaly::kFunctionsLost);
  };
  EXPECT_EQ(lost({"30:50000001:1", "40:50000001:0"}, names + "1  main\n2  solver\n"), 2u);
  EXPECT_EQ(lost({"30:50000001:1", "40:50000001:0"}, names), 0u);
  EXPECT_EQ(lost({"10:60000019:1", "30:60000019:0"}, names + "1  main\n2  solver\n"), 0u);
}

TEST_F(ParaverRegionsTest, FunctionsWithoutNames) {
  EXPECT_EQ(Inner(Read(OneTask({"10:60000019:7", "20:60000019:0"}))), "10 +function 7, 20 -function 7");
}

// A value with a name is a region; values without are occurrences of one.
TEST_F(ParaverRegionsTest, EventsOfTheProgram) {
  const std::vector<std::string> events = {"10:1000:1", "30:1000:2", "50:1000:0", "60:1000:1", "70:1000:0"};
  EXPECT_EQ(Inner(Read(OneTask(events))),
            "10 +event 1000, 30 -event 1000, 30 +event 1000, 50 -event 1000, 60 +event 1000, 70 -event 1000");
  EXPECT_EQ(Inner(Read(OneTask(events), "EVENT_TYPE\n0  1000  Time step\n")),
            "10 +Time step, 30 -Time step, 30 +Time step, 50 -Time step, 60 +Time step, 70 -Time step");
  EXPECT_EQ(Inner(Read(OneTask(events), "EVENT_TYPE\n0  1000  Phase\nVALUES\n0  End\n1  setup\n2  solve\n")),
            "10 +setup, 30 -setup, 30 +solve, 50 -solve, 60 +setup, 70 -setup");
}

const char* const kCallers =
    "EVENT_TYPE\n0  70000001  Caller at level 1\n0  70000002  Caller at level 2\n0  70000003  Caller at level 3\n"
    "VALUES\n0  End\n1  Unresolved\n2  _NOT_Found\n3  main\n4  exch..nge [exchange]\n5  reduce\n";

TEST_F(ParaverRegionsTest, CallersOfTheSameCallsAreOneRegion) {
  const Trace trace = Read(OneTask({"10:50000001:1:70000001:4:70000002:3:70000003:1", "20:50000001:0",
                                    "30:50000001:2:70000001:4:70000002:3:70000003:2", "40:50000001:0", "50:50000002:10",
                                    "50:70000001:5:70000002:3", "60:50000002:0", "70:50000001:61", "80:50000001:0"}),
                           kCallers);
  EXPECT_EQ(Inner(trace),
            "10 +main, 10 +exchange, 10 +MPI_Send, 20 -MPI_Send, 30 +MPI_Recv, 40 -MPI_Recv, 40 -exchange, "
            "50 +reduce, 50 +MPI_Allreduce, 60 -MPI_Allreduce, 60 -reduce, 60 -main, 70 +MPI_Probe, 80 -MPI_Probe");
}

// Extrae puts all that happens at one time into one record.
TEST_F(ParaverRegionsTest, CallersOfCallsThatFollowInOneRecord) {
  const Trace trace = Read(
      OneTask({"10:50000001:1:70000001:4:70000002:3", "20:50000001:0:50000001:2:70000001:4:70000002:3", "30:50000001:0",
               "40:50000001:61:70000001:4:70000002:3", "50:50000001:2:70000001:4:70000002:3", "60:50000001:0"}),
      kCallers);
  EXPECT_EQ(Inner(trace),
            "10 +main, 10 +exchange, 10 +MPI_Send, 20 -MPI_Send, 20 +MPI_Recv, 30 -MPI_Recv, 40 +MPI_Probe, "
            "50 -MPI_Probe, 50 +MPI_Recv, 60 -MPI_Recv, 60 -exchange, 60 -main");
}

TEST_F(ParaverRegionsTest, CallersWithoutNamesAreNone) {
  EXPECT_EQ(Inner(Read(OneTask({"10:50000001:1:70000001:4", "20:50000001:0"}))), "10 +MPI_Send, 20 -MPI_Send");
}

TEST_F(ParaverRegionsTest, FunctionsTakePrecedenceOverCallers) {
  EXPECT_EQ(
      Inner(Read(OneTask({"5:60000019:9", "10:50000001:1:70000001:4", "20:50000001:0", "30:60000019:0"}), kCallers)),
      "5 +function 9, 10 +MPI_Send, 20 -MPI_Send, 30 -function 9");
}

constexpr const char* kNames = "EVENT_TYPE\n7  42000050  PAPI_TOT_INS [Instr completed]\n7  42000059  PAPI_TOT_CYC\n";

TEST_F(ParaverRegionsTest, CountersAreSummedUp) {
  const std::vector<std::string> together = {
      "10:50000001:1:42000050:100:42000059:50", "20:50000001:0:42000050:7:42000059:9",
      "30:50000001:2:42000050:200:42000059:60", "40:50000001:0:42000050:1:42000059:2"};
  const std::vector<std::string> apart = {
      "10:50000001:1", "10:42000050:100:42000059:50", "20:50000001:0", "20:42000050:7:42000059:9",
      "30:50000001:2", "30:42000050:200:42000059:60", "40:50000001:0", "40:42000050:1:42000059:2"};
  for (const auto& events : {together, apart}) {
    const Trace trace = Read(OneTask(events), kNames);
    ASSERT_EQ(trace.counters.size(), 2u);
    EXPECT_EQ(trace.counters[0].name, "PAPI_TOT_INS");
    EXPECT_EQ(trace.counters[0].description, "Instr completed");
    EXPECT_EQ(test::CounterText(trace, 0, "PAPI_TOT_INS"), "100 107, 307 308");
    EXPECT_EQ(test::CounterText(trace, 0, "PAPI_TOT_CYC"), "50 59, 119 121");
    EXPECT_EQ(trace.timelines[0].counter_before_call(0, 0), 100);  // the first sample tells of the first burst
    EXPECT_TRUE(trace.timelines[0].counter_is_reliable(0));
  }
}

// A message between the call and its counters, and the leave of one call at the enter of the next.
TEST_F(ParaverRegionsTest, CountersBehindACommunicationRecord) {
  const std::string prv = OneTask({"10:50000001:1", "10:42000050:100", "20:50000001:0", "20:42000050:7",
                                   "20:50000001:2", "20:42000050:0", "30:50000001:0", "30:42000050:5"});
  const Trace trace = Read(prv);
  EXPECT_EQ(test::CounterText(trace, 0, "PAPI_TOT_INS"), "100 107, 107 112");
}

TEST_F(ParaverRegionsTest, CountersThatSwitch) {
  const Trace trace =
      Read(OneTask({"10:50000001:1:41999999:1:42000050:10:42000059:5", "20:50000001:0:42000050:1:42000059:1",
                    "30:50000001:2:41999999:2:42000050:20:42000000:6", "40:50000001:0:42000050:1:42000000:1"}));
  EXPECT_EQ(test::CounterText(trace, 0, "PAPI_TOT_INS"), "10 11, 31 32");
  EXPECT_TRUE(trace.timelines[0].counter_is_reliable(*trace.FindCounter("PAPI_TOT_INS")));
  EXPECT_FALSE(trace.timelines[0].counter_is_reliable(*trace.FindCounter("PAPI_TOT_CYC")));
  EXPECT_FALSE(trace.timelines[0].counter_is_reliable(*trace.FindCounter("counter 42000000")));
  EXPECT_EQ(trace.diagnostics.count(anomaly::kCounterNotAlwaysOn), 2u);
}

TEST_F(ParaverRegionsTest, ChosenCounters) {
  ReadOptions options;
  options.all_counters = false;
  options.counters = {"PAPI_TOT_CYC"};
  const Trace trace =
      Read(OneTask({"10:50000001:1:42000050:10:42000059:5", "20:50000001:0:42000050:1:42000059:1"}), "", options);
  ASSERT_EQ(trace.counters.size(), 1u);
  EXPECT_EQ(test::CounterText(trace, 0, "PAPI_TOT_CYC"), "5 6");
}

// Recording began and ended within the run: that is the window.
TEST_F(ParaverRegionsTest, TracingForPartOfTheRun) {
  const Trace trace = Read(OneTask({"20:40000012:1:42000050:1000", "30:50000001:1:42000050:5",
                                    "40:50000001:0:42000050:6", "60:40000012:0:42000050:7"},
                                   {"0:30:1", "30:40:4", "40:60:1", "60:100:14"}));
  EXPECT_EQ(test::TimelineText(trace, 0),
            "20 +Application, 20 +Tracing, 30 +MPI_Send, 40 -MPI_Send, 60 -Tracing, 60 -Application");
  EXPECT_TRUE(trace.timelines[0].pauses().empty());
  EXPECT_EQ(trace.timelines[0].counter_before_call(0, 0), 5);
}

TEST_F(ParaverRegionsTest, TracingOffInTheMiddle) {
  const Trace trace = Read(
      OneTask({"10:50000001:1", "20:50000001:0", "30:40000012:0", "70:40000012:1", "80:50000001:1", "90:50000001:0"}));
  // Off on all ranks, so that the run goes on at 30 with what happens at 70.
  EXPECT_EQ(Inner(trace, 60), "10 +MPI_Send, 20 -MPI_Send, 30 +Tracing, 40 +MPI_Send, 50 -MPI_Send, 60 -Tracing");
  EXPECT_TRUE(trace.timelines[0].interruptions().empty());
}

TEST_F(ParaverRegionsTest, WhatIsNotRunning) {
  const Trace trace = Read(
      OneTask({"10:50000001:1", "20:50000001:0", "30:40000003:1", "40:40000003:0", "70:50000001:1", "80:50000001:0"},
              {"0:10:1", "10:20:4", "20:30:1", "30:40:12", "40:60:1", "60:65:12", "65:70:0", "70:80:4", "80:100:1"}));
  EXPECT_EQ(Inner(trace),
            "10 +MPI_Send, 20 -MPI_Send, 30-40 flush, 30 +farscale: not running, 40 -farscale: not running, "
            "60 +farscale: not running, 70 -farscale: not running, 70 +MPI_Send, 80 -MPI_Send");
  ASSERT_EQ(trace.timelines[0].pauses().size(), 2u);
}

// Then all time outside MPI is running.
TEST_F(ParaverRegionsTest, WithoutStatesThatTell) {
  EXPECT_EQ(Inner(Read(OneTask({"10:50000001:1", "20:50000001:0"}))), "10 +MPI_Send, 20 -MPI_Send");
  EXPECT_EQ(Inner(Read(OneTask({"10:50000001:1", "20:50000001:0"}, {"10:20:4", "0:10:2"}))),
            "10 +MPI_Send, 20 -MPI_Send");
}

TEST_F(ParaverRegionsTest, StatesAlone) {
  const Trace trace = Read(test::ParaverHead(1) + "1:1:1:1:1:0:20:2\n1:1:1:1:1:20:60:1\n1:1:1:1:1:60:100:12\n");
  EXPECT_EQ(test::TimelineText(trace, 0),
            "20 +Application, 60 +farscale: not running, 100 -farscale: not running, 100 -Application");
}

TEST_F(ParaverRegionsTest, StatesInAnyOrder) {
  const Trace trace = Read(OneTask({"50:50000001:1", "60:50000001:0"}, {"60:100:1", "20:50:12", "50:60:4", "0:20:1"}));
  EXPECT_EQ(Inner(trace), "20 +farscale: not running, 50 -farscale: not running, 50 +MPI_Send, 60 -MPI_Send");
}

TEST_F(ParaverRegionsTest, TaskWithoutRecords) {
  const Trace trace = Read(test::ParaverHead(2) + "1:1:1:1:1:0:100:1\n");
  EXPECT_TRUE(trace.timelines[1].empty());
  EXPECT_FALSE(trace.timelines[0].empty());
}

TEST_F(ParaverRegionsTest, OnlyLongBursts) {
  EXPECT_EQ(Read(OneTask({"10:40000018:1"})).diagnostics.count(anomaly::kOnlyLongBursts), 0u);
  EXPECT_EQ(Read(OneTask({"10:40000018:2"})).diagnostics.count(anomaly::kOnlyLongBursts), 1u);
}

TEST_F(ParaverRegionsTest, EventsOfTheToolsAreNoRegions) {
  EXPECT_THAT(test::TimelineText(
                  Read(OneTask({"10:40000002:1:40000036:7", "20:80000001:5", "25:30000000:9", "30:9000001:3"})), 0),
              Not(HasSubstr("event")));
}

// Steps counted by one type, kinds told by another: a kind that goes on beyond its step goes on in the next one.
TEST_F(ParaverRegionsTest, EventTypesThatCross) {
  const Trace trace = Read(OneTask({"10:2000:1", "15:1000:7", "20:2000:2", "25:1000:0", "30:2000:0"}));
  EXPECT_EQ(Inner(trace),
            "10 +event 2000, 15 +event 1000, 20 -event 1000, 20 -event 2000, 20 +event 2000, 20 +event 1000, "
            "25 -event 1000, 30 -event 2000");
  EXPECT_TRUE(OnlyLacksStates(trace));
}

TEST_F(ParaverRegionsTest, WhatChangesInACallIsToldAtItsEnd) {
  const Trace trace =
      Read(OneTask({"10:2000:1", "20:50000001:1", "22:60000019:3", "24:60000019:0", "26:2000:2", "30:50000001:0"}));
  EXPECT_EQ(Inner(trace),
            "10 +event 2000, 20 +MPI_Send, 30 -MPI_Send, 30 -event 2000, 30 +event 2000, 100 -event 2000");
}

}  // namespace
}  // namespace farscale
