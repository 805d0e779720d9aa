// What the first lines of a Paraver trace say, and the files beside it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/paraver_text.h"
#include "trace/anomalies.h"

namespace farscale {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kState = "1:1:1:1:1:0:100:1\n";

class ParaverHeaderTest : public test::ParaverTextTest {
 protected:
  Trace ReadWith(const std::string& header) { return Read(header + "\n" + kState); }
};

TEST_F(ParaverHeaderTest, DateOfTwoOrFourDigits) {
  for (const char* date : {"09/10/19 at 16:08", "09/10/2019 at 16:08", "", "9.10. 16h"}) {
    const Trace trace = ReadWith(std::string("#Paraver (") + date + "):100_ns:1(4):1:1(1:1),0");
    EXPECT_EQ(trace.end(), 100) << date;
    EXPECT_TRUE(trace.diagnostics.empty()) << date;
  }
}

TEST_F(ParaverHeaderTest, UnitOfTime) {
  const auto ticks = [&](const char* duration) {
    return ReadWith(std::string("#Paraver (09/10/19 at 16:08):") + duration + ":1(4):1:1(1:1),0").ticks_per_second;
  };
  EXPECT_EQ(ticks("100_ns"), 1e9);
  EXPECT_EQ(ticks("100_us"), 1e6);
  EXPECT_EQ(ticks("100"), 1e6);
  EXPECT_EQ(ticks("100_ms"), 1e3);
  EXPECT_THAT(Failure("#Paraver (09/10/19 at 16:08):100_h:1(4):1:1(1:1),0\n"),
              HasSubstr(", line 1: the header has times in 'h', which is not ns, us or ms, at ':1(4):1:1(1:1),0'"));
}

TEST_F(ParaverHeaderTest, Nodes) {
  EXPECT_THAT(ReadWith("#Paraver (x):100:0:1:1(1:1),0").nodes, ElementsAre("node 1"));
  EXPECT_THAT(ReadWith("#Paraver (x):100:0:1:1(1:0),0").nodes, ElementsAre("node 1"));
  EXPECT_THAT(ReadWith("#Paraver (x):100:2:1:2(1:1,1:2),0").nodes, ElementsAre("node 1", "node 2"));
  const Trace trace = ReadWith("#Paraver (x):100:3(4,4,4):1:3(1:3,1:2,2:3),0");
  EXPECT_THAT(trace.nodes, ElementsAre("node 2", "node 3"));
  EXPECT_EQ(trace.ranks[0].node, 1);
  EXPECT_EQ(trace.ranks[1].node, 0);
  EXPECT_EQ(trace.ranks[2].threads, 2);
}

TEST_F(ParaverHeaderTest, NewFormatAndCarriageReturns) {
  EXPECT_EQ(ReadWith("new format\n#Paraver (x):100:1(1):1:1(1:1),0").end(), 100);
  EXPECT_EQ(Read("#Paraver (x):100:1(1):1:1(1:1),1\r\nc:1:1:1:1\r\n1:1:1:1:1:0:100:1\r\n").end(), 100);
  EXPECT_EQ(Read("new format\r\n#Paraver (x):100:1(1):1:1(1:1),0\r\n1:1:1:1:1:0:100:1\r\n").end(), 100);
}

TEST_F(ParaverHeaderTest, WithoutCommunicators) {
  for (const char* header : {"#Paraver (x):100:1(1):1:1(1:1)", "#Paraver (x):100:1(1):1:1(1:1),0"}) {
    const Trace trace = ReadWith(header);
    ASSERT_EQ(trace.communicators.size(), 2u);
    EXPECT_EQ(trace.communicators[0].name, "MPI_COMM_WORLD");
    EXPECT_TRUE(trace.communicators[1].is_self);
    EXPECT_TRUE(trace.diagnostics.empty());
  }
}

TEST_F(ParaverHeaderTest, CommentsNameTheToolsThatCutTheTrace) {
  const std::string records = "1:1:1:1:1:0:40:1\n";
  ReadOptions options;
  options.accepted = {"traceEndsEarly"};
  const Trace whole = Read("#Paraver (x):100:1(1):1:1(1:1),0\n" + records, "", options);
  EXPECT_EQ(whole.diagnostics.count(anomaly::kTraceEndsEarly), 1u);
  const Trace cut = Read("#Paraver (x):100:1(1):1:1(1:1),1\nc:1:1:1:1\n#09/10/2019:CUTTER:10:20\n" + records);
  EXPECT_EQ(cut.end(), 40);
  EXPECT_TRUE(cut.diagnostics.empty());
}

TEST_F(ParaverHeaderTest, KindsOfCommunicators) {
  const Trace trace =
      Read(test::ParaverHead(3, ",7") +
           "c:1:1:3:1:2:3\nc:1:2:1:1\nc:1:3:1:2\nc:1:4:2:1:3\nc:1:5:1:2\nc:1:9:2:2:-1\ni:1:12:4:5\n" + kState);
  ASSERT_EQ(trace.communicators.size(), 4u);  // world, self, 4, and 12; 9 has but one member that is known
  EXPECT_THAT(trace.communicators[0].members, ElementsAre(0, 1, 2));
  EXPECT_EQ(trace.communicators[2].name, "communicator 4");
  EXPECT_THAT(trace.communicators[2].members, ElementsAre(0, 2));
  EXPECT_THAT(trace.communicators[2].remote, IsEmpty());
  EXPECT_EQ(trace.communicators.back().name, "communicator 12");
  EXPECT_THAT(trace.communicators.back().members, ElementsAre(0, 2));
  EXPECT_THAT(trace.communicators.back().remote, ElementsAre(1));
}

TEST_F(ParaverHeaderTest, IntercommunicatorWithItsMembers) {
  const Trace trace = Read(test::ParaverHead(3, ",1") + "i:1:5:2:1:2\n" + kState);
  ASSERT_EQ(trace.communicators.size(), 3u);
  EXPECT_THAT(trace.communicators[2].members, ElementsAre(0, 1));
  EXPECT_THAT(trace.communicators[2].remote, IsEmpty());
}

// Of two communicators, with their leaders as Extrae writes it or without; not a list of one member or of three.
TEST_F(ParaverHeaderTest, IntercommunicatorOfGroups) {
  for (const char* line : {"i:1:3:1:2", "i:1:3:1:1:2:3"}) {
    for (const char* count : {",2", ",3"}) {
      const Trace trace = Read(test::ParaverHead(3, count) + "c:1:1:2:1:2\nc:1:2:1:3\n" + line + "\n" + kState);
      EXPECT_THAT(trace.communicators.back().members, ElementsAre(0, 1)) << line;
      EXPECT_THAT(trace.communicators.back().remote, ElementsAre(2)) << line;
      EXPECT_EQ(trace.diagnostics.count(anomaly::kHeaderContradicted), 0u) << line;
    }
  }
  const Trace list = Read(test::ParaverHead(4, ",1") + "i:1:3:3:1:2:4\n" + kState);
  EXPECT_THAT(list.communicators.back().members, ElementsAre(0, 1, 3));
  const Trace unknown = Read(test::ParaverHead(3, ",2") + "c:1:1:2:1:2\ni:1:3:1:-1\n" + kState);
  EXPECT_THAT(unknown.communicators.back().members, IsEmpty());
}

// Extrae lists the communicators of all applications as those of each, and their number with the last.
TEST_F(ParaverHeaderTest, CommunicatorsOfOtherApplications) {
  ReadOptions options;
  options.application = 1;
  const Trace trace = Read(
      "#Paraver (x):100:1(4):2:1(1:1),2(1:1,1:1),2\nc:1:1:1:1\nc:1:2:2:1:2\nc:2:1:1:1\nc:2:2:2:1:2\n"
      "1:1:1:1:1:0:100:1\n",
      "", options);
  EXPECT_EQ(trace.size(), 1u);
  EXPECT_TRUE(trace.diagnostics.empty());
}

TEST_F(ParaverHeaderTest, ContradictionsAreCounted) {
  const Trace fewer = Read(test::ParaverHead(1, ",3") + "c:1:1:1:1\n" + kState);
  EXPECT_EQ(fewer.diagnostics.count(anomaly::kHeaderContradicted), 1u);
  EXPECT_THAT(fewer.diagnostics.findings()[0].example,
              HasSubstr("the header announces 3 communicators of application 1, 1 follow"));
  const Trace later = Read(test::ParaverHead(1) + "1:1:1:1:1:0:100:1\n1:1:1:1:1:100:130:1\n");
  EXPECT_EQ(later.diagnostics.count(anomaly::kHeaderContradicted), 1u);
  EXPECT_THAT(later.diagnostics.findings()[0].example,
              HasSubstr("line 3: time 130 lies behind the end at 100 that the header gives"));
  EXPECT_EQ(later.end(), 130);  // the records count
}

TEST_F(ParaverHeaderTest, CutAnywhere) {
  const std::string whole = "#Paraver (20/11/2026 at 10:30):100_ns:1(4):1:2(1:1,1:1),1\nc:1:1:2:1:2\n";
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(Failure(whole.substr(0, size)), "read without error") << size;
  }
  EXPECT_EQ(Failure("#Paraver (20/11/2026 at 10:30):100_ns:1(4):1:2(1:1,"),
            ", line 1: the header gives no sound number of threads at its end; the trace is damaged or no Paraver "
            "trace");
  EXPECT_EQ(Failure(test::ParaverHead(2, ",1") + "c:1:1:2:1"),
            ", line 2: the header has no ':' before member 2 of 2 of the communicator at its end; the trace is damaged "
            "or no Paraver trace");
}

TEST_F(ParaverHeaderTest, EveryFault) {
  const auto after = [&](const std::string& line) {
    return Failure(test::ParaverHead(2, ",1") + line + "\n" + kState);
  };
  EXPECT_THAT(Failure("#Paraver (x):100:1(4):0\n"), HasSubstr("line 1: the header lists no application"));
  EXPECT_THAT(Failure("#Paraver (x):-5:1(4):1:1(1:1)\n"), HasSubstr("no sound duration at '-5:1(4):1:1(1:1)'"));
  EXPECT_THAT(Failure("#Paraver (x):100:1(4):1:99999999999999999999(1:1)\n"), HasSubstr("no sound number of tasks"));
  EXPECT_THAT(Failure("#Paraver (x):100:1(4):1:1(1:1),0 and more\n"), HasSubstr("goes on where it should end at"));
  EXPECT_THAT(Failure("#Paraver (x):100:1(4):1:2(1:1)\n"), HasSubstr("has no ',' before task 2 of 2 at ')'"));
  EXPECT_THAT(after("c:2:1:1:1"), HasSubstr("line 2: the header defines a communicator of application 2, but there"));
  EXPECT_THAT(after("c:1:1:1:3"), HasSubstr("names task 3 as member of a communicator, but there are 2 tasks"));
  EXPECT_THAT(after("c:1:1:1:1:2"), HasSubstr("lists more members of a communicator than it says"));
  EXPECT_THAT(after("c:1:1:1:x"), HasSubstr("gives no sound member at 'x'"));
  EXPECT_THAT(after("i:1:5:2:3"), HasSubstr("of communicator 2, which is not defined"));
}

TEST_F(ParaverHeaderTest, SeveralApplications) {
  const std::string prv =
      "#Paraver (x):100_ns:1(4):2:2(1:1,1:1),1:1(1:1),1\nc:1:1:2:1:2\nc:2:1:1:1\n"
      "1:1:1:1:1:0:100:1\n1:2:1:2:1:0:90:1\n1:3:2:1:1:0:80:1\n"
      "2:1:1:1:1:10:50000001:1\n2:1:1:1:1:20:50000001:0\n2:3:2:1:1:30:50000001:2\n2:3:2:1:1:40:50000001:0\n"
      "3:1:1:1:1:10:10:3:2:1:1:30:40:8:1\n";
  EXPECT_EQ(Failure(prv, ErrorKind::kUsage),
            ": the trace has several applications: 1 with 2 tasks, 2 with 1 tasks; choose one with --application, or "
            "with application in the study");
  ReadOptions options;
  options.application = 3;
  EXPECT_EQ(Failure(prv, ErrorKind::kUsage, options),
            ": there is no application 3 in this trace; it has application 1 with 2 tasks, 2 with 1 tasks");
  options.application = 1;
  const Trace first = Read(prv, "", options);
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first.end(), 100);
  EXPECT_EQ(test::TimelineText(first, 0), "0 +Application, 10 +MPI_Send, 20 -MPI_Send, 100 -Application");
  options.application = 2;
  const Trace second = Read(prv, "", options);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(test::TimelineText(second, 0), "0 +Application, 30 +MPI_Recv, 40 -MPI_Recv, 80 -Application");
}

TEST_F(ParaverHeaderTest, NamesBesideTheTrace) {
  const std::string prv = test::ParaverHead(1) + "2:1:1:1:1:10:50000003:77\n2:1:1:1:1:20:50000003:0\n" + kState;
  EXPECT_THAT(Timeline(prv), HasSubstr("10 +MPI call 77 of 50000003"));  // still an MPI call
  const Trace unnamed = Read(prv);
  EXPECT_EQ(unnamed.timelines[0].calls(), 1u);
  EXPECT_THAT(unnamed.nodes, ElementsAre("node 1"));
  folder_.Write("t.row",
                "LEVEL CPU SIZE 1\n1.host\n\nLEVEL NODE SIZE 1\nhost a\n\nLEVEL THREAD SIZE 1\nTHREAD 1.1.1\n");
  const Trace named = Read(
      prv, "DEFAULT_OPTIONS\n\nEVENT_TYPE\n9    50000003    MPI Other\nVALUES\n77      MPI_Type_commit\n0   End\n");
  EXPECT_THAT(named.nodes, ElementsAre("host a"));
  EXPECT_THAT(test::TimelineText(named, 0), HasSubstr("10 +MPI_Type_commit, 20 -MPI_Type_commit"));
  EXPECT_EQ(FilesOfTrace((folder_ / "t.prv").string()).size(), 3u);
}

// Calls of one-sided communication wait for whom the trace does not say, all the more when it does not name them.
TEST_F(ParaverHeaderTest, OneSidedCallsWithoutNames) {
  const std::string prv = test::ParaverHead(1) + "2:1:1:1:1:10:50000004:77\n2:1:1:1:1:20:50000004:0\n" + kState;
  EXPECT_EQ(Read(prv).diagnostics.count(anomaly::kOneSidedNotReplayed), 1u);
  const auto named = [](const std::string& name) {
    return "DEFAULT_OPTIONS\n\nEVENT_TYPE\n9    50000004    MPI One-sided\nVALUES\n77      " + name + "\n0   End\n";
  };
  EXPECT_EQ(Read(prv, named("MPI_Win_fence")).diagnostics.count(anomaly::kOneSidedNotReplayed), 1u);
  EXPECT_EQ(Read(prv, named("MPI_Put")).diagnostics.count(anomaly::kOneSidedNotReplayed), 0u);
}

TEST_F(ParaverHeaderTest, EmptyAndHeaderOnly) {
  EXPECT_THAT(Failure(""), HasSubstr("is empty"));
  EXPECT_THAT(Failure("new format\n"), HasSubstr("is neither"));
  EXPECT_EQ(Failure(test::ParaverHead(1)), ": there are no records behind the header; the trace is damaged, or empty");
}

}  // namespace
}  // namespace farscale
