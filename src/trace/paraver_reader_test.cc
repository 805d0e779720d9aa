// Calls, messages and collectives of Paraver traces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "support/paraver_text.h"
#include "trace/anomalies.h"

namespace farscale {
namespace {

using testing::HasSubstr;

class ParaverReaderTest : public test::ParaverTextTest {
 protected:
  // A run of 100 ns of so many tasks; lines between semicolons.
  static std::string Run(int tasks, std::string lines, const std::string& head = "") {
    std::replace(lines.begin(), lines.end(), ';', '\n');
    std::string prv = test::ParaverHead(tasks, head.empty() ? ",0" : head.substr(0, head.find('\n')));
    if (const std::size_t end = head.find('\n'); end != std::string::npos) prv += head.substr(end + 1) + "\n";
    for (int i = 1; i <= tasks; ++i) prv += Event(i, 0, "40000001:1");
    prv += lines + "\n";
    for (int i = 1; i <= tasks; ++i) prv += Event(i, 100, "40000001:0");
    return prv;
  }
  static std::string Event(int task, int time, const std::string& facts) {
    const std::string t = std::to_string(task);
    return "2:" + t + ":1:" + t + ":1:" + std::to_string(time) + ":" + facts + "\n";
  }
  // A call from one time to another.
  static std::string Call(int task, int enter, int leave, int value, const std::string& more = "",
                          int type = 50000001) {
    const std::string t = std::to_string(type);
    return Event(task, enter, t + ":" + std::to_string(value) + more) + Event(task, leave, t + ":0");
  }
  static std::string Collective(int task, int enter, int leave, int value, const std::string& more) {
    return Call(task, enter, leave, value, more, 50000002);
  }
  // Of 8 bytes, with the times lsend, psend, lrecv, precv.
  static std::string Message(int from, int to, const std::string& sent, const std::string& received, int tag = 5,
                             int bytes = 8) {
    const std::string f = std::to_string(from), t = std::to_string(to);
    return "3:" + f + ":1:" + f + ":1:" + sent + ":" + t + ":1:" + t + ":1:" + received + ":" + std::to_string(bytes) +
           ":" + std::to_string(tag) + "\n";
  }
  // Without the application around it.
  std::string Inner(const Trace& trace, std::size_t rank) {
    const std::string text = test::TimelineText(trace, rank);
    const std::string begin = "0 +Application, ", end = ", 100 -Application";
    EXPECT_TRUE(text.starts_with(begin)) << text;
    EXPECT_TRUE(text.ends_with(end)) << text;
    return text.substr(begin.size(), text.size() - begin.size() - end.size());
  }
};

TEST_F(ParaverReaderTest, Blocking) {
  const Trace trace = Read(Run(2, Call(1, 10, 20, 1) + Call(2, 5, 30, 2) + Message(1, 2, "10:12", "5:30")));
  EXPECT_EQ(trace.format, "Paraver");
  EXPECT_EQ(trace.events, 9u);
  EXPECT_EQ(Inner(trace, 0), "10 +MPI_Send, send to 1 of 8, 20 -MPI_Send");
  EXPECT_EQ(Inner(trace, 1), "5 +MPI_Recv, receive 8 from 0, 30 -MPI_Recv");
  EXPECT_TRUE(OnlyLacksStates(trace));
}

TEST_F(ParaverReaderTest, NonBlocking) {
  const Trace trace = Read(Run(2, Call(1, 10, 12, 3) + Call(1, 40, 50, 6) + Call(2, 5, 7, 4) + Call(2, 30, 60, 6) +
                                      Message(1, 2, "10:12", "5:60")));
  EXPECT_EQ(Inner(trace, 0), "10 +MPI_Isend, post send to 1 of 8, 12 -MPI_Isend, 40 +MPI_Waitall, 50 -MPI_Waitall");
  EXPECT_EQ(Inner(trace, 1),
            "5 +MPI_Irecv, post receive, 7 -MPI_Irecv, 30 +MPI_Waitall, received 8 from 0, 60 -MPI_Waitall");
  EXPECT_EQ(trace.diagnostics.count(anomaly::kCompletionUnknown), 1u);
}

// Extrae notes the end of a receive where the call that completed it began, too.
TEST_F(ParaverReaderTest, CompletionAtTheBeginOfItsCall) {
  const Trace trace = Read(Run(2, Call(1, 10, 12, 1) + Call(2, 5, 7, 4) + Call(2, 7, 20, 39) + Call(2, 30, 60, 5) +
                                      Message(1, 2, "10:12", "5:30")));
  EXPECT_EQ(Inner(trace, 1),
            "5 +MPI_Irecv, post receive, 7 -MPI_Irecv, 7 +MPI_Test, 20 -MPI_Test, 30 +MPI_Wait, "
            "received 8 from 0, 60 -MPI_Wait");
}

TEST_F(ParaverReaderTest, Sendrecv) {
  const Trace trace = Read(Run(2, Call(1, 10, 40, 41) + Call(2, 20, 40, 41) + Message(1, 2, "10:10", "20:40") +
                                      Message(2, 1, "20:20", "10:40", 6, 16)));
  EXPECT_EQ(Inner(trace, 0), "10 +MPI_Sendrecv, receive 16 from 1, send to 1 of 8, 40 -MPI_Sendrecv");
  EXPECT_EQ(Inner(trace, 1), "20 +MPI_Sendrecv, receive 8 from 0, send to 0 of 16, 40 -MPI_Sendrecv");
}

TEST_F(ParaverReaderTest, PersistentRequests) {
  const Trace trace = Read(Run(2, Call(1, 10, 12, 123) + Call(1, 20, 22, 5) + Call(2, 8, 9, 124) + Call(2, 20, 25, 6) +
                                      Message(1, 2, "10:11", "8:25")));
  EXPECT_THAT(Inner(trace, 0), HasSubstr("10 +MPI_Start, post send to 1 of 8, 12 -MPI_Start"));
  EXPECT_THAT(Inner(trace, 1), HasSubstr("8 +MPI_Startall, post receive, 9 -MPI_Startall"));
  EXPECT_THAT(Inner(trace, 1), HasSubstr("20 +MPI_Waitall, received 8 from 0, 25 -MPI_Waitall"));
}

// Two receives on different communicators: the message sent first is the one received last.
TEST_F(ParaverReaderTest, MessagesThatOvertakeEachOther) {
  const Trace trace =
      Read(Run(2, Call(1, 10, 12, 1) + Call(1, 20, 22, 1) + Call(2, 30, 35, 2) + Call(2, 40, 45, 2) +
                      Message(1, 2, "10:12", "40:45", 5, 100) + Message(1, 2, "20:22", "30:35", 5, 200)));
  EXPECT_EQ(Inner(trace, 1),
            "30 +MPI_Recv, receive 200 from 0, 35 -MPI_Recv, 40 +MPI_Recv, receive 100 from 0, 45 -MPI_Recv");
  const RankTimeline &sender = trace.timelines[0], &receiver = trace.timelines[1];
  const auto tag = [](const RankTimeline& timeline, std::size_t record) {
    return timeline.endpoints()[timeline.record(record).target].tag;
  };
  EXPECT_NE(tag(sender, 0), tag(sender, 1));
  EXPECT_EQ(tag(sender, 0), tag(receiver, 1));
  EXPECT_EQ(tag(sender, 1), tag(receiver, 0));
}

TEST_F(ParaverReaderTest, MessagesInOrderKeepTheirTag) {
  const Trace trace =
      Read(Run(2, Call(1, 10, 12, 1) + Call(1, 20, 22, 1) + Call(2, 30, 35, 2) + Call(2, 40, 45, 2) +
                      Message(1, 2, "20:22", "40:45", 5, 200) + Message(1, 2, "10:12", "30:35", 5, 100)));
  ASSERT_EQ(trace.timelines[0].endpoints().size(), 1u);
  EXPECT_EQ(trace.timelines[0].endpoints()[0], (Endpoint{1, 0, 5}));
  EXPECT_THAT(Inner(trace, 1), HasSubstr("30 +MPI_Recv, receive 100 from 0"));
}

TEST_F(ParaverReaderTest, MessagesOutsideCalls) {
  const Trace trace = Read(Run(2, Call(1, 50, 52, 1) + Message(1, 2, "10:12", "5:30")));
  EXPECT_EQ(trace.diagnostics.count(anomaly::kRecordOutsideMpi), 2u);
}

// The send belongs to the call that may send, whichever of two at one tick that is.
TEST_F(ParaverReaderTest, SeveralCallsAtOneTick) {
  const std::string receiver = Call(2, 5, 60, 2);
  const Trace second =
      Read(Run(2, Call(1, 10, 20, 6) + Call(1, 20, 30, 1) + receiver + Message(1, 2, "20:20", "5:60")));
  EXPECT_EQ(Inner(second, 0), "10 +MPI_Waitall, 20 -MPI_Waitall, 20 +MPI_Send, send to 1 of 8, 30 -MPI_Send");
  const Trace first = Read(Run(2, Call(1, 10, 20, 1) + Call(1, 20, 30, 6) + receiver + Message(1, 2, "20:20", "5:60")));
  EXPECT_EQ(Inner(first, 0), "10 +MPI_Send, send to 1 of 8, 20 -MPI_Send, 20 +MPI_Waitall, 30 -MPI_Waitall");
  const Trace nothing = Read(Run(2, Call(1, 20, 20, 61) + Call(1, 20, 20, 1) + receiver));
  EXPECT_EQ(Inner(nothing, 0), "20 +MPI_Probe, 20 -MPI_Probe, 20 +MPI_Send, 20 -MPI_Send");
}

TEST_F(ParaverReaderTest, CallsWithoutLength) {
  const Trace trace = Read(Run(2, Call(1, 10, 10, 3) + Call(1, 15, 15, 19, "", 50000003) + Call(2, 5, 5, 4) +
                                      Call(2, 60, 60, 5) + Message(1, 2, "10:10", "5:60")));
  EXPECT_EQ(Inner(trace, 0), "10 +MPI_Isend, post send to 1 of 8, 10 -MPI_Isend, 15 +MPI_Comm_rank, 15 -MPI_Comm_rank");
  EXPECT_EQ(Inner(trace, 1), "5 +MPI_Irecv, post receive, 5 -MPI_Irecv, 60 +MPI_Wait, received 8 from 0, 60 -MPI_Wait");
}

// Cut traces begin and end in the middle of calls.
TEST_F(ParaverReaderTest, CallsLeftOpen) {
  const Trace trace = Read(Run(1, Event(1, 5, "50000001:0") + Event(1, 10, "50000001:1") + Event(1, 20, "50000001:2") +
                                      Event(1, 30, "50000001:0") + Event(1, 90, "50000001:2")));
  EXPECT_EQ(Inner(trace, 0),
            "0 +MPI call begun before the trace, 5 -MPI call begun before the trace, 10 +MPI_Send, 20 -MPI_Send, 20 "
            "+MPI_Recv, 30 -MPI_Recv, 90 +MPI_Recv, 100 -MPI_Recv");
  EXPECT_EQ(trace.diagnostics.count(anomaly::kCallEdgeMissing), 1u);  // the send is never left
  EXPECT_EQ(trace.diagnostics.count(anomaly::kRegionLeftOpen), 1u);
}

TEST_F(ParaverReaderTest, LeaveWithoutCallIsCounted) {
  const Trace trace = Read(Run(1, Call(1, 10, 20, 1) + Event(1, 50, "50000001:0") + Event(1, 60, "50000002:0")));
  EXPECT_EQ(Inner(trace, 0), "10 +MPI_Send, 20 -MPI_Send");
  EXPECT_EQ(trace.diagnostics.count(anomaly::kCallEdgeMissing), 2u);
}

// The messages of a barrier's algorithm are those of the barrier.
TEST_F(ParaverReaderTest, CallsInsideCalls) {
  const auto states = [](int task, int begin) {
    const std::string t = std::to_string(task), b = std::to_string(begin);
    return "1:" + t + ":1:" + t + ":1:0:" + b + ":1\n1:" + t + ":1:" + t + ":1:" + b + ":50:13\n1:" + t + ":1:" + t +
           ":1:50:100:1\n";
  };
  const auto rank = [&](int task, int begin) {
    return states(task, begin) + Event(task, begin, "50000002:8") + Call(task, begin + 2, begin + 3, 1) +
           Call(task, begin + 5, 48, 2) + Event(task, 50, "50000002:0");
  };
  const Trace trace =
      Read(Run(2, rank(1, 10) + rank(2, 20) + Message(1, 2, "12:12", "25:48") + Message(2, 1, "22:22", "15:48")));
  EXPECT_EQ(Inner(trace, 0), "10 +MPI_Barrier, receive 8 from 1, post send to 1 of 8, 50 -MPI_Barrier");
  EXPECT_EQ(Inner(trace, 1), "20 +MPI_Barrier, receive 8 from 0, post send to 0 of 8, 50 -MPI_Barrier");
  EXPECT_EQ(trace.diagnostics.count(anomaly::kCallEdgeMissing), 0u);
}

// Calls to any depth, of any number and type; a call that ran on without its leave is none.
TEST_F(ParaverReaderTest, OutermostCallsCount) {
  std::mt19937 random(3);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int i = 0; i < 20; ++i) {
    int now = 0;
    std::string text, expected;
    const auto edge = [&](int type, int value) {
      text += Event(1, now, std::to_string(type) + ":" + std::to_string(value));
    };
    const auto state = [&](int begin, int number) {
      text += "1:1:1:1:1:" + std::to_string(begin) + ":" + std::to_string(now) + ":" + std::to_string(number) + "\n";
    };
    const int lost = below(2) == 0 ? -1 : below(10);
    for (int call = 0; call < 10; ++call) {
      int begin = now;
      now += 10 + below(100);
      state(begin, 1);
      if (call == lost + 1 && lost >= 0) expected += " -" + std::to_string(now);
      expected += " +" + std::to_string(begin = now);
      edge(50000002, 8);
      for (int inner = below(5); inner > 0; --inner) {
        const int depth = 1 + below(3);
        std::vector<int> types;
        for (int k = 0; k < depth; ++k) {
          now += 1 + below(5);
          types.push_back(50000001 + below(3));
          edge(types.back(), 1);
        }
        for (; !types.empty(); types.pop_back()) {
          now += 1 + below(5);
          edge(types.back(), 0);
        }
      }
      now += 1 + below(50);
      state(begin, 13);
      if (call == lost) continue;
      edge(50000002, 0);
      expected += " -" + std::to_string(now);
    }
    if (lost == 9) expected += " -" + std::to_string(now);
    const Trace trace = Read("#Paraver (x):" + std::to_string(now) + "_ns:1(1):1:1(1:1),0\n" + text);
    std::string calls;
    const RankTimeline& timeline = trace.timelines[0];
    for (std::size_t call = 0; call < timeline.calls(); ++call) {
      calls += " +" + std::to_string(timeline.enter(call)) + " -" + std::to_string(timeline.leave(call));
    }
    EXPECT_EQ(calls, expected) << i;
    EXPECT_EQ(trace.diagnostics.count(anomaly::kCallEdgeMissing), lost >= 0 && lost < 9 ? 1u : 0u);
  }
}

// As sorted by time and text, the barrier is entered before the send is left, and left before it is entered.
TEST_F(ParaverReaderTest, EdgesOfOneTickInAnyOrder) {
  const Trace next = Read(Run(1, Event(1, 10, "50000001:1") + Event(1, 20, "50000002:8") + Event(1, 20, "50000001:0") +
                                     Event(1, 30, "50000002:0")));
  EXPECT_EQ(Inner(next, 0), "10 +MPI_Send, 20 -MPI_Send, 20 +MPI_Barrier, 30 -MPI_Barrier");
  const Trace short_call = Read(Run(1, Call(1, 10, 20, 1) + Event(1, 30, "50000001:0") + Event(1, 30, "50000001:61")));
  EXPECT_EQ(Inner(short_call, 0), "10 +MPI_Send, 20 -MPI_Send, 30 +MPI_Probe, 30 -MPI_Probe");
  EXPECT_TRUE(OnlyLacksStates(short_call));
}

// Microseconds: two calls without length at one tick. The first sends 8 bytes, the second 900.
TEST_F(ParaverReaderTest, CallsOfOneTickEachTakeTheirOwn) {
  const Trace trace = Read(Run(2, Call(1, 10, 10, 1) + Call(1, 10, 10, 3) + Call(2, 10, 11, 2) + Call(2, 90, 90, 2) +
                                      Message(1, 2, "10:10", "10:11", 1) + Message(1, 2, "10:10", "90:90", 2, 900)));
  EXPECT_EQ(Inner(trace, 0),
            "10 +MPI_Send, send to 1 of 8, 10 -MPI_Send, 10 +MPI_Isend, post send to 1 of 900, 10 -MPI_Isend");
}

// Three exchanges without length at one tick: each call has its own send and its own receive.
TEST_F(ParaverReaderTest, ExchangesOfOneTick) {
  std::string lines;
  for (const int call : {41, 42, 41}) {
    for (int task = 1; task <= 2; ++task) {
      lines += Call(task, 10, 10, call) + Message(task, 3 - task, "10:10", "10:10", 9, 700);
    }
  }
  const Trace trace = Read(Run(2, lines));
  for (std::size_t rank = 0; rank < 2; ++rank) {
    const RankTimeline& timeline = trace.timelines[rank];
    ASSERT_EQ(timeline.calls(), 3u);
    for (std::size_t call = 0; call < 3; ++call) {
      ASSERT_EQ(timeline.first_record(call + 1) - timeline.first_record(call), 2u);
      EXPECT_EQ(timeline.record_kind(timeline.first_record(call)), RecordKind::kReceive);
      EXPECT_EQ(timeline.record_kind(timeline.first_record(call) + 1), RecordKind::kSend);
    }
  }
}

// Both are sent by one call; the file tells the one first that is received last.
TEST_F(ParaverReaderTest, SendsOfOneTickAreInTheOrderOfTheirReceives) {
  const Trace trace = Read(Run(2, Call(1, 10, 15, 124) + Call(2, 20, 30, 2) + Call(2, 50, 60, 2) +
                                      Message(1, 2, "10:10", "50:60", 5, 900) + Message(1, 2, "10:10", "20:30", 5, 8)));
  EXPECT_EQ(Inner(trace, 0), "10 +MPI_Startall, post send to 1 of 8, post send to 1 of 900, 15 -MPI_Startall");
}

// Twenty messages of one tag, taken in reverse order: each has a channel of its own.
TEST_F(ParaverReaderTest, OvertakingToAnyDepth) {
  std::string lines;
  for (int i = 0; i < 20; ++i) {
    lines += Call(1, 10 + i, 10 + i, 3) + Call(2, 50 + i, 50 + i, 2);
    const std::string sent = std::to_string(10 + i), taken = std::to_string(69 - i);
    lines += Message(1, 2, sent + ":" + sent, taken + ":" + taken, 5, 100 + i);
  }
  const Trace trace = Read(Run(2, lines));
  EXPECT_EQ(trace.timelines[0].endpoints().size(), 20u);
  std::set<std::uint32_t> sent, received;
  for (const Endpoint& endpoint : trace.timelines[0].endpoints()) sent.insert(endpoint.tag);
  for (const Endpoint& endpoint : trace.timelines[1].endpoints()) received.insert(endpoint.tag);
  EXPECT_EQ(sent, received);
}

TEST_F(ParaverReaderTest, RanksThatAreMissing) {
  const Trace trace = Read(test::ParaverHead(2, ",0") + Event(1, 0, "40000001:1") + Event(1, 100, "40000001:0"));
  EXPECT_EQ(trace.diagnostics.count(anomaly::kRankWithoutRecords), 1u);
  const Trace stopped = Read(test::ParaverHead(1, ",0") + Event(1, 0, "40000001:1") + Call(1, 10, 100, 1));
  EXPECT_EQ(stopped.diagnostics.count(anomaly::kTraceEndsEarly), 1u);
  EXPECT_THAT(Failure(test::ParaverHead(1, ",0") + "1:1:1:1:1:0:50:1\n1:1:1:1:1:50:100:13\n"),
              HasSubstr("states show MPI, but the trace has no events of MPI calls"));
}

// Input and output from 40 to 50, at whose begin nothing was read: the counts are those of the program.
TEST_F(ParaverReaderTest, CountersAroundAPauseWithoutSamples) {
  const std::string states = "1:1:1:1:1:0:40:1\n1:1:1:1:1:40:50:12\n1:1:1:1:1:50:60:8\n1:1:1:1:1:60:100:1\n";
  const Trace trace =
      Read(Run(1, states + Event(1, 50, "50000002:8:42000050:700") + Event(1, 60, "50000002:0:42000050:10")));
  const RankTimeline& timeline = trace.timelines[0];
  ASSERT_EQ(timeline.pauses().size(), 1u);
  const Pause pause = timeline.pauses()[0];
  EXPECT_EQ(timeline.counter_at_event(0, pause.begin_event), timeline.counter_at_event(0, pause.end_event));
  EXPECT_EQ(timeline.counter_at_enter(0, 0), 700);
  const Trace sampled = Read(Run(1, states + Event(1, 40, "42000050:600") + Event(1, 50, "50000002:8:42000050:100") +
                                        Event(1, 60, "50000002:0:42000050:10")));
  const Pause counted = sampled.timelines[0].pauses()[0];
  EXPECT_EQ(sampled.timelines[0].counter_at_event(0, counted.end_event), 700);
  EXPECT_EQ(sampled.timelines[0].counter_at_event(0, counted.begin_event), 600);
}

TEST_F(ParaverReaderTest, AnyOrderOfRecords) {
  const Trace trace = Read(test::ParaverHead(2) + Event(2, 100, "40000001:0") + Event(1, 20, "50000001:0") +
                           Event(1, 100, "40000001:0") + Message(1, 2, "10:12", "5:30") + Event(1, 10, "50000001:1") +
                           Event(1, 0, "40000001:1") + Call(2, 5, 30, 2) + Event(2, 0, "40000001:1"));
  EXPECT_EQ(Inner(trace, 0), "10 +MPI_Send, send to 1 of 8, 20 -MPI_Send");
  EXPECT_EQ(Inner(trace, 1), "5 +MPI_Recv, receive 8 from 0, 30 -MPI_Recv");
  EXPECT_TRUE(OnlyLacksStates(trace));
}

TEST_F(ParaverReaderTest, GlobalOperationsOfOldTracesAreSkipped) {
  const Trace trace = Read(Run(1, "4:1:1:1:1:10:12:20:20:1:1:1:8:8;" + Call(1, 10, 20, 8)));
  EXPECT_EQ(Inner(trace, 0), "10 +MPI_Barrier, 20 -MPI_Barrier");
  EXPECT_EQ(trace.diagnostics.count(anomaly::kDamagedLine), 0u);
}

TEST_F(ParaverReaderTest, NamesOfFunctions) {
  const std::string prv = Run(1, Call(1, 10, 20, 1) + Call(1, 30, 40, 5000));
  EXPECT_THAT(Timeline(prv), HasSubstr("10 +MPI_Send, 20 -MPI_Send, 30 +MPI call 5000 of 50000001"));
  EXPECT_EQ(Read(prv).timelines[0].calls(), 2u);
  const Trace named = Read(prv, "EVENT_TYPE\n9  50000001  MPI\nVALUES\n5000  MPI_Psend_init\n1  MPI_Rsend\n0  End\n");
  EXPECT_EQ(Inner(named, 0), "10 +MPI_Send, 20 -MPI_Send, 30 +MPI_Psend_init, 40 -MPI_Psend_init");
}

constexpr const char* kWithPair = ",2\nc:1:1:3:1:2:3\nc:1:2:2:1:3";

TEST_F(ParaverReaderTest, Collectives) {
  const Trace trace = Read(Run(3,
                               Collective(1, 10, 20, 10, ":50100001:8:50100002:16:50100004:1") +
                                   Collective(2, 10, 20, 10, ":50100001:8:50100002:16:50100004:1") +
                                   Collective(3, 10, 20, 10, ":50100001:8:50100002:16:50100004:1") +
                                   Collective(1, 30, 40, 9, ":50100001:24:50100002:0:50100004:2") +
                                   Collective(3, 30, 40, 9, ":50100001:24:50100002:24:50100003:1:50100004:2") +
                                   Collective(1, 50, 60, 7, ":50100001:4:50100002:0:50100003:1:50100004:2") +
                                   Collective(3, 50, 60, 7, ":50100001:0:50100002:4:50100004:2"),
                               kWithPair));
  const std::string all = "10 +MPI_Allreduce, allreduce on MPI_COMM_WORLD, 8 and 16 bytes, 20 -MPI_Allreduce";
  EXPECT_EQ(Inner(trace, 0), all +
                                 ", 30 +MPI_Reduce, reduce on communicator 2, root 1, 24 and 0 bytes, 40 -MPI_Reduce, "
                                 "50 +MPI_Bcast, broadcast on communicator 2, root 0, 4 and 0 bytes, 60 -MPI_Bcast");
  EXPECT_EQ(Inner(trace, 1), all);
  EXPECT_THAT(Inner(trace, 2), HasSubstr("reduce on communicator 2, root 1, 24 and 24 bytes"));
  EXPECT_THAT(Inner(trace, 2), HasSubstr("broadcast on communicator 2, root 0, 0 and 4 bytes"));
  EXPECT_TRUE(OnlyLacksStates(trace));
}

TEST_F(ParaverReaderTest, AttributesInARecordOfTheirOwn) {
  const std::string expected =
      "10 +MPI_Bcast, broadcast on MPI_COMM_WORLD, root 0, 8 and 0 bytes, 20 -MPI_Bcast, "
      "20 +MPI_Barrier, barrier on MPI_COMM_WORLD, 0 and 0 bytes, 30 -MPI_Barrier";
  const std::string attributes = "50100001:8:50100002:0:50100003:1:50100004:1";
  for (const std::string& bcast :
       {Event(1, 10, "50000002:7") + Event(1, 10, attributes), Event(1, 10, attributes) + Event(1, 10, "50000002:7"),
        Event(1, 10, attributes + ":50000002:7")}) {
    const Trace trace = Read(Run(1,
                                 bcast + Event(1, 20, "50000002:0") + Event(1, 20, "50000002:8") +
                                     Event(1, 20, "50100004:1") + Event(1, 30, "50000002:0"),
                                 ",0"));
    EXPECT_EQ(Inner(trace, 0), expected);
  }
}

TEST_F(ParaverReaderTest, RootThatNobodyTells) {
  const Trace trace = Read(Run(2, Collective(1, 10, 20, 7, ":50100001:8:50100002:0:50100004:1") +
                                      Collective(2, 10, 20, 7, ":50100001:0:50100002:8:50100004:1")));
  EXPECT_EQ(Inner(trace, 0), "10 +MPI_Bcast, broadcast on MPI_COMM_WORLD, 8 and 0 bytes, 20 -MPI_Bcast");
  EXPECT_EQ(trace.diagnostics.count(anomaly::kRootUnknown), 2u);
}

TEST_F(ParaverReaderTest, CollectivesOnSelf) {
  const Trace trace = Read(
      Run(2, Collective(2, 10, 20, 7, ":50100001:8:50100002:0:50100004:7"), ",3\nc:1:1:2:1:2\nc:1:6:1:1\nc:1:7:1:2"));
  EXPECT_EQ(Inner(trace, 1), "10 +MPI_Bcast, broadcast on MPI_COMM_SELF, root 0, 8 and 0 bytes, 20 -MPI_Bcast");
  EXPECT_TRUE(OnlyLacksStates(trace));
}

TEST_F(ParaverReaderTest, CollectivesOfIntercommunicators) {
  const std::string calls = Collective(1, 10, 20, 8, ":50100004:3") + Collective(2, 10, 20, 8, ":50100004:3") +
                            Collective(3, 10, 20, 8, ":50100004:3");
  const Trace trace = Read(Run(3, calls, ",3\nc:1:1:2:1:2\nc:1:2:1:3\ni:1:3:1:2"));
  for (std::size_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(Inner(trace, rank), "10 +MPI_Barrier, barrier on communicator 3, 0 and 0 bytes, 20 -MPI_Barrier");
  }
}

TEST_F(ParaverReaderTest, NonBlockingCollectivesDoNotTellWhereTheyComplete) {
  const Trace trace = Read(Run(1, Collective(1, 10, 12, 156, ":50100004:1") + Call(1, 20, 30, 5)));
  EXPECT_EQ(Inner(trace, 0), "10 +MPI_Ibarrier, post collective, 12 -MPI_Ibarrier, 20 +MPI_Wait, 30 -MPI_Wait");
  EXPECT_EQ(trace.diagnostics.count(anomaly::kCompletionUnknown), 1u);
}

TEST_F(ParaverReaderTest, CollectiveWithoutCommunicator) {
  const Trace trace = Read(Run(2, Collective(1, 10, 20, 8, "")));
  EXPECT_EQ(Inner(trace, 0), "10 +MPI_Barrier, 20 -MPI_Barrier");
  EXPECT_EQ(trace.diagnostics.count(anomaly::kCollectiveWithoutRecord), 1u);
}

TEST_F(ParaverReaderTest, OtherThreadsAreCounted) {
  const std::string prv =
      "#Paraver (x):100_ns:1(4):1:1(2:1),0\n1:1:1:1:1:0:100:1\n1:1:1:1:2:0:100:1\n2:1:1:1:1:10:50000001:61\n"
      "2:1:1:1:1:20:50000001:0\n2:2:1:1:2:30:50000001:1\n2:2:1:1:2:40:50000001:0\n";
  const Trace trace = Read(prv);
  EXPECT_EQ(trace.ranks[0].threads, 2);
  EXPECT_EQ(Inner(trace, 0), "10 +MPI_Probe, 20 -MPI_Probe");
  EXPECT_EQ(trace.diagnostics.count(anomaly::kMpiOnWorkerThread), 1u);
  EXPECT_EQ(trace.diagnostics.findings()[0].population, 2u);
  EXPECT_EQ(trace.diagnostics.count(anomaly::kThreadsAtProcessLevel), 1u);
}

// They would seem to belong to whatever the main thread does at the time.
TEST_F(ParaverReaderTest, MessagesOfOtherThreadsAreLeftOut) {
  const std::string prv = "#Paraver (x):100_ns:1(4):1:2(2:1,1:1),0\n1:1:1:1:1:0:100:1\n1:2:1:2:1:0:100:1\n" +
                          Collective(1, 10, 50, 8, ":50100004:1") + Collective(2, 10, 50, 8, ":50100004:1") +
                          "2:1:1:1:2:30:50000001:1\n2:1:1:1:2:40:50000001:0\n" + Call(2, 60, 70, 2) +
                          "3:1:1:1:2:30:35:2:1:2:1:60:70:8:5\n";
  const Trace trace = Read(prv);
  EXPECT_EQ(Inner(trace, 0), "10 +MPI_Barrier, barrier on MPI_COMM_WORLD, 0 and 0 bytes, 50 -MPI_Barrier");
  EXPECT_THAT(Inner(trace, 1), HasSubstr("60 +MPI_Recv, 70 -MPI_Recv"));
}

}  // namespace
}  // namespace farscale
