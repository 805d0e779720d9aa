// Damaged Paraver traces: one clear sentence with line and field, never a crash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <random>

#include "base/files.h"
#include "support/paraver_text.h"
#include "support/repeats.h"
#include "trace/anomalies.h"

namespace farscale {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* kAdvice = "; the trace is damaged; copy it again; --accept damagedLine uses it all the same";

// `count` calls of each of two tasks, with their states and messages.
std::string Whole(int calls) {
  std::string prv = "#Paraver (20/11/2026 at 10:30):" + std::to_string(100 * calls) + "_ns:1(4):1:2(1:1,1:1),1\n";
  prv += "c:1:1:2:1:2\n";
  for (int i = 0; i < calls; ++i) {
    const auto at = [&](int offset) { return std::to_string(100 * i + offset); };
    prv += "1:1:1:1:1:" + at(0) + ":" + at(100) + ":1\n1:2:1:2:1:" + at(0) + ":" + at(100) + ":1\n";
    prv += "2:1:1:1:1:" + at(10) + ":50000001:1\n2:2:1:2:1:" + at(20) + ":50000001:2\n";
    prv += "3:1:1:1:1:" + at(10) + ":" + at(12) + ":2:1:2:1:" + at(20) + ":" + at(50) + ":64:3\n";
    prv += "2:1:1:1:1:" + at(30) + ":50000001:0\n2:2:1:2:1:" + at(50) + ":50000001:0\n";
  }
  return prv;
}

class ParaverDamageTest : public test::ParaverTextTest {
 protected:
  // The sentence about one damaged line, which is more than a hundredth of the trace.
  std::string About(const std::string& line) {
    return Failure(test::ParaverHead(2, ",1") + "c:1:3:2:1:2\n1:1:1:1:1:0:100:1\n" + line + "\n1:2:1:2:1:0:100:1\n");
  }
  static std::string Sentence(const std::string& what) {
    return ": line 4" + what + "; 1 of 3 lines are damaged, more than 1 %" + kAdvice;
  }

  std::string WriteCompressed(const std::string& text) {
    const std::string path = (folder_ / "t.prv.gz").string();
    const gzFile file = gzopen(path.c_str(), "wb");
    gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    gzclose(file);
    return path;
  }
};

TEST_F(ParaverDamageTest, IntactIsRead) {
  const Trace trace = Read(Whole(10));
  EXPECT_TRUE(trace.diagnostics.empty());
  EXPECT_EQ(trace.timelines[0].calls(), 10u);
}

TEST_F(ParaverDamageTest, TooFewFields) {
  EXPECT_EQ(About("1:1:1:1:1:0:100"), Sentence(", field 8 (state): the record has too few fields"));
  EXPECT_EQ(About("1:1:1"), Sentence(", field 4 (task): the record has too few fields"));
  EXPECT_EQ(About("2:1:1:1:1:50"), Sentence(", field 7 (event type): the record has too few fields"));
  EXPECT_EQ(About("3:1:1:1:1:0:1:2:1:2:1:0:5:8"), Sentence(", field 15 (tag): the record has too few fields"));
  EXPECT_EQ(About("2:"), Sentence(", field 2 (processor): the record has too few fields"));
  EXPECT_EQ(About("2"), Sentence(": '2' is no record"));
}

TEST_F(ParaverDamageTest, TypeWithoutValue) {
  EXPECT_EQ(About("2:1:1:1:1:50:50000001"), Sentence(", field 8 (value): the record has too few fields"));
  EXPECT_EQ(About("2:1:1:1:1:50:50000001:1:42000050"), Sentence(", field 10 (value): the record has too few fields"));
}

TEST_F(ParaverDamageTest, TooManyFields) {
  EXPECT_EQ(About("1:1:1:1:1:0:100:1:9"), Sentence(", field 8 (state): the record goes on behind its last field"));
  EXPECT_EQ(About("3:1:1:1:1:0:1:2:1:2:1:0:5:8:3:9"),
            Sentence(", field 15 (tag): the record goes on behind its last field"));
}

TEST_F(ParaverDamageTest, NumbersOutOfRange) {
  EXPECT_EQ(About("2:1:2:1:1:50:50000001:1"),
            Sentence(", field 3 (application): there is no application 2: the header lists 1"));
  EXPECT_EQ(About("2:1:0:1:1:50:50000001:1"),
            Sentence(", field 3 (application): there is no application 0: the header lists 1"));
  EXPECT_EQ(About("2:1:1:3:1:50:50000001:1"), Sentence(", field 4 (task): there is no task 3: the header lists 2"));
  EXPECT_EQ(About("2:1:1:0:1:50:50000001:1"), Sentence(", field 4 (task): there is no task 0: the header lists 2"));
  EXPECT_EQ(About("2:1:1:2:2:50:50000001:1"),
            Sentence(", field 5 (thread): there is no thread 2: the header lists 1 of task 2"));
  EXPECT_EQ(About("3:1:1:1:1:0:1:2:1:7:1:0:5:8:3"),
            Sentence(", field 10 (task): there is no task 7: the header lists 2"));
  EXPECT_EQ(About("2:1:1:1:1:50:50000002:8:50100004:77"),
            Sentence(", field 10 (value): there is no communicator 77: the header defines 1"));
}

TEST_F(ParaverDamageTest, UnknownCommunicatorWithoutDefinitionsIsCounted) {
  const Trace trace = Read(test::ParaverHead(1) +
                           "1:1:1:1:1:0:100:1\n2:1:1:1:1:50:50000002:8:50100004:77\n"
                           "2:1:1:1:1:60:50000002:0\n");
  EXPECT_EQ(trace.diagnostics.count(anomaly::kCommunicatorUnknown), 1u);
  EXPECT_EQ(trace.diagnostics.count(anomaly::kDamagedLine), 0u);
}

TEST_F(ParaverDamageTest, Times) {
  EXPECT_EQ(About("2:1:1:1:1:-50:50000001:1"), Sentence(", field 6 (time): the time -50 is negative"));
  EXPECT_EQ(About("3:1:1:1:1:5:6:2:1:2:1:-1:9:8:3"), Sentence(", field 12 (logical receive): the time -1 is negative"));
  EXPECT_EQ(About("1:1:1:1:1:70:60:1"), Sentence(", field 7 (end): the state ends at 60, before it begins at 70"));
  EXPECT_EQ(About("2:1:1:1:1:99999999999999999999999999:1:1"),
            Sentence(", field 6 (time): 999999999999999999999999 is too large"));
  EXPECT_EQ(About("2:1:1:1:1:9223372036854775807:1:1"), Sentence(", field 6 (time): 9223372036854775807 is too large"));
}

TEST_F(ParaverDamageTest, NumbersTooLarge) {
  EXPECT_EQ(About("2:99999999999:1:1:1:5:1:1"), Sentence(", field 2 (processor): 99999999999 is too large"));
  EXPECT_EQ(About("2:1:1:1:1:5:4294967296:1"), Sentence(", field 7 (event type): 4294967296 is too large"));
  EXPECT_EQ(About("2:1:1:1:1:5:1:99999999999999999999"),
            Sentence(", field 8 (value): 99999999999999999999 is too large"));
  EXPECT_EQ(About("3:1:1:1:1:0:1:2:1:2:1:0:5:9999999999999999999:3"),
            Sentence(", field 14 (size): 9999999999999999999 is too large"));
}

// Values are numbers of 64 bits, with sign or without.
TEST_F(ParaverDamageTest, LargestNumbers) {
  const Trace trace = Read(test::ParaverHead(1) +
                           "1:1:1:1:1:0:100:1\n"
                           "2:1:1:1:1:5:1:18446744073709551615:2:-9223372036854775808:42000050:9223372036854775807\n"
                           "2:1:1:1:1:9:42000050:9223372036854775807:42000059:-1\n");
  EXPECT_EQ(trace.diagnostics.count(anomaly::kDamagedLine), 0u);
}

TEST_F(ParaverDamageTest, NoNumbersAtAll) {
  EXPECT_EQ(About("hello, world"), Sentence(": 'hello, world' is no record"));
  EXPECT_EQ(About("7:1:1:1:1:5:1:1"), Sentence(": '7' is no record type"));
  EXPECT_EQ(About("2:1:1:1:1:5x:1:1"), Sentence(", field 6 (time): '5x' is not a number"));
  EXPECT_EQ(About("2:1:1:1:1::1:1"), Sentence(", field 6 (time): '' is not a number"));
  EXPECT_EQ(About("2:1:1:1:1:5:1:-"), Sentence(", field 8 (value): the record has too few fields"));
  EXPECT_EQ(About("2:1:1:1:1: 5:1:1"), Sentence(", field 6 (time): ' 5' is not a number"));
}

TEST_F(ParaverDamageTest, BinaryJunk) {
  std::mt19937 random(1);
  std::string junk;
  for (int i = 0; i < 100000; ++i) junk += static_cast<char>(random());
  EXPECT_THAT(Failure(test::ParaverHead(1) + junk), AnyOf(HasSubstr("line 2"), HasSubstr("line 3")));
  EXPECT_THAT(Failure(test::ParaverHead(1) + std::string(5000000, '\0')), HasSubstr("line"));
  EXPECT_THAT(Failure(test::ParaverHead(1) + std::string(6000000, '1') + "\n"),
              HasSubstr("has a line of more than 4194304 bytes behind line 1, which no record is"));
  EXPECT_THAT(Failure(junk), HasSubstr("is neither"));
}

TEST_F(ParaverDamageTest, FewDamagedLinesAreLeftOutAndCounted) {
  const Trace trace = Read(Whole(100) + "2:1:1:9:1:50:50000001:1\n3:1:1:1\nx\n");
  EXPECT_EQ(trace.diagnostics.count(anomaly::kDamagedLine), 3u);
  ASSERT_EQ(trace.diagnostics.findings().size(), 1u);
  EXPECT_EQ(trace.diagnostics.findings()[0].population, 703u);
  EXPECT_EQ(trace.diagnostics.findings()[0].example,
            "line 703, field 4 (task): there is no task 9: the header lists 2");
  EXPECT_EQ(trace.timelines[0].calls(), 100u);
}

TEST_F(ParaverDamageTest, ManyDamagedLinesAreNot) {
  std::string prv = Whole(100);
  for (int i = 0; i < 8; ++i) prv += "3:1:1:1\n";
  EXPECT_EQ(Failure(prv), std::string(": line 703, field 5 (thread): the record has too few fields; "
                                      "8 of 708 lines are damaged, more than 1 %") +
                              kAdvice);
}

TEST_F(ParaverDamageTest, EveryLineDamaged) {
  EXPECT_EQ(Failure(test::ParaverHead(1) + "x\ny\n"), ": line 2: 'x' is no record; the trace is damaged, or empty");
}

TEST_F(ParaverDamageTest, CutInTheMiddleOfALine) {
  const std::string whole = Whole(100);
  const Trace nearly = Read(whole.substr(0, whole.size() - 3));
  EXPECT_EQ(nearly.diagnostics.count(anomaly::kDamagedLine), 1u);
  EXPECT_EQ(nearly.diagnostics.findings()[0].example, "line 702: the file ends in the middle of this line");
  EXPECT_EQ(Failure(whole.substr(0, whole.size() / 2 + 1)).find(": line "), 0u);
  EXPECT_THAT(Failure(whole.substr(0, whole.size() / 2 + 1)),
              HasSubstr("of the 1e-05 s that the header gives; the file is cut short; copy the trace again"));
  EXPECT_THAT(Failure(whole.substr(0, whole.size() / 2 + 1)),
              HasSubstr("the file ends in the middle of this line, at "));
}

// A thread that never came to be, for one, has a state from the begin of the run to its end.
TEST_F(ParaverDamageTest, CutBehindAStateThatEndsWithTheRun) {
  std::string whole = Whole(100);
  whole.insert(whole.find("1:1:1:1:1:"), "1:2:1:2:1:0:10000:2\n");
  EXPECT_THAT(Failure(whole.substr(0, whole.size() / 2 + 1)), HasSubstr("the file is cut short; copy the trace again"));
  const std::size_t value = whole.find("2:1:1:1:1:5010:50000001:1") + 22;  // 5000000, which reads as well
  EXPECT_THAT(Failure(whole.substr(0, value)), HasSubstr("the file ends in the middle of this line"));
}

// Between two lines nothing but the header's duration shows that the rest is missing.
TEST_F(ParaverDamageTest, CutBetweenLines) {
  const std::string whole = Whole(100);
  const std::string half = whole.substr(0, whole.find("2:2:1:2:1:4950:"));
  EXPECT_EQ(
      Failure(half),
      ": the trace ends with its line 351, at 4.93e-06 s of the 1e-05 s that the header gives: 51 % of the run are "
      "missing; copy the trace again; --accept traceEndsEarly uses it all the same");
  ReadOptions options;
  options.accepted = {"traceEndsEarly"};
  const Trace read = Read(half, "", options);
  EXPECT_EQ(read.diagnostics.count(anomaly::kTraceEndsEarly), 1u);
  EXPECT_EQ(read.timelines[0].calls(), 50u);
  EXPECT_EQ(Read(half + "1:1:1:1", "", options).diagnostics.count(anomaly::kDamagedLine), 1u);
  const Trace nearly = Read(whole.substr(0, whole.find("2:1:1:1:1:9930:")));
  EXPECT_EQ(nearly.diagnostics.count(anomaly::kTraceEndsEarly), 0u);
}

// One of 200 states, and a hundred in a row of one task.
TEST_F(ParaverDamageTest, MissingStates) {
  std::string whole = Whole(100);
  const std::string state = "1:1:1:1:1:5000:5100:1\n";
  whole.erase(whole.find(state), state.size());
  const Trace trace = Read(whole);
  EXPECT_EQ(trace.diagnostics.count(anomaly::kStateMissing), 1u);
  ASSERT_EQ(trace.diagnostics.findings().size(), 1u);
  EXPECT_EQ(trace.diagnostics.findings()[0].population, 200u);
  EXPECT_EQ(trace.diagnostics.findings()[0].example, "before line 359: rank 0 has no state from 5e-06 s on");
  for (int i = 51; i < 60; ++i) {
    const std::string next = "1:1:1:1:1:" + std::to_string(100 * i) + ":" + std::to_string(100 * i + 100) + ":1\n";
    whole.erase(whole.find(next), next.size());
  }
  EXPECT_THAT(Failure(whole),
              HasSubstr("rank 0 has no state from 5e-06 s on; 5 % of the time of all ranks has no state"));
  EXPECT_THAT(Failure(whole), HasSubstr("--accept stateMissing uses it all the same"));
  ReadOptions options;
  options.accepted = {"stateMissing"};
  const Trace accepted = Read(whole, "", options);
  EXPECT_NO_THROW(accepted.diagnostics.FailPastThreshold("t.prv"));
  EXPECT_THAT(accepted.diagnostics.findings()[0].sentence, HasSubstr("accepted with --accept"));
}

// Filters of short states leave out many of them and hardly any time: no reason to refuse. Any length and place.
TEST_F(ParaverDamageTest, ManyShortStatesMissing) {
  std::mt19937 random(5);
  for (int i = 0; i < 10; ++i) {
    std::string states;
    const int length = 1 + static_cast<int>(random() % 30), count = 50 + static_cast<int>(random() % 100);
    int missing = 0;
    for (int k = 0; k < count; ++k) {
      const int begin = 10000 * k, end = begin + 10000 - (k + 1 < count ? length : 0);
      states += "1:1:1:1:1:" + std::to_string(begin) + ":" + std::to_string(end) + ":1\n";
      if (random() % 3 == 0 && k + 1 < count) {
        states += "1:1:1:1:1:" + std::to_string(end) + ":" + std::to_string(begin + 10000) + ":1\n";
      } else if (k + 1 < count) {
        ++missing;
      }
    }
    const Trace trace = Read("#Paraver (x):" + std::to_string(10000 * count) + "_ns:1(1):1:1(1:1),0\n" + states);
    EXPECT_EQ(trace.diagnostics.count(anomaly::kStateMissing), static_cast<std::uint64_t>(missing));
    EXPECT_NO_THROW(trace.diagnostics.FailPastThreshold("t.prv")) << i;
  }
}

TEST_F(ParaverDamageTest, RecordsThatAreNotReadAreCounted) {
  const Trace trace = Read(Whole(100) + "4:1:1:1:1:50:60:1:8:8\n");
  EXPECT_EQ(trace.diagnostics.count(anomaly::kRecordNotRead), 1u);
  EXPECT_EQ(trace.diagnostics.count(anomaly::kDamagedLine), 0u);
  const Trace damaged = Read(Whole(100) + "4:1:1:x\nc:1:1:0:100:1\n#:1:1:1:1:0:100\n");
  EXPECT_EQ(damaged.diagnostics.count(anomaly::kDamagedLine), 3u);
}

TEST_F(ParaverDamageTest, NamesThatContradictNumbers) {
  folder_.Write("t.pcf", "EVENT_TYPE\n9 50000001 MPI Point-to-point\nVALUES\n1 MPI_Send\n2 MPI_Barrier\n");
  const Trace trace = Read(Whole(10));
  ASSERT_EQ(trace.diagnostics.count(anomaly::kMpiNameContradicted), 1u);
  EXPECT_THAT(trace.diagnostics.findings()[0].example,
              HasSubstr("t.pcf, line 5: 2 of 50000001 is 'MPI_Barrier', but that is the number of MPI_Recv"));
  EXPECT_EQ(trace.diagnostics.findings()[0].population, 2u);
}

TEST_F(ParaverDamageTest, RowOfAnotherNumberOfThreads) {
  folder_.Write("t.row", "LEVEL CPU SIZE 4\n1\n2\n3\n4\n\nLEVEL THREAD SIZE 8\nTHREAD 1.1.1\n");
  EXPECT_THAT(Failure(Whole(10)), HasSubstr("t.row, line 7: the file names 8 threads, the header of the trace 2"));
}

TEST_F(ParaverDamageTest, WholeLastLineWithoutNewline) {
  const std::string prv = test::ParaverHead(1) + "2:1:1:1:1:0:40000001:1\n2:1:1:1:1:100:40000001:0";
  EXPECT_TRUE(OnlyLacksStates(Read(prv)));
}

TEST_F(ParaverDamageTest, CutAnywhere) {
  const std::string whole = Whole(3);
  for (std::size_t size = 0; size < whole.size(); size += test::DailyStep(5)) {
    const std::string sentence = Failure(whole.substr(0, size));
    EXPECT_FALSE(sentence.empty()) << size;
    if (size > whole.find("2:1:1:1:1:10") && whole[size - 1] != '\n' && whole[size] != '\n') {
      EXPECT_THAT(sentence, HasSubstr("line ")) << size;
    }
  }
}

TEST_F(ParaverDamageTest, CompressedFileCutShort) {
  const std::string path = WriteCompressed(Whole(2000));
  EXPECT_EQ(ReadTrace(path).timelines[0].calls(), 2000u);
  const std::string content = ReadFile(path);
  for (const std::size_t size : {content.size() / 2, content.size() - 4, content.size() - 9}) {
    WriteFile(path, content.substr(0, size));
    EXPECT_THAT(FailureOf(path), StartsWith(": the compressed file is cut short: it ends after ")) << size;
    EXPECT_THAT(FailureOf(path), HasSubstr("; copy or compress the trace again")) << size;
  }
  for (const std::size_t size : {0u, 1u, 2u, 5u, 10u, 18u}) {
    WriteFile(path, content.substr(0, size));
    EXPECT_FALSE(FailureOf(path).empty()) << size;
  }
}

// As `cat a.gz b.gz` makes it; what is no member any more is no text.
TEST_F(ParaverDamageTest, CompressedInSeveralMembers) {
  const std::string whole = Whole(2000);
  const std::string first = ReadFile(WriteCompressed(whole.substr(0, 1000)));
  const std::string path = WriteCompressed(whole.substr(1000));
  const std::string second = ReadFile(path);
  for (const std::string behind : {"", "\x1F", "\x1Fx", "rest"}) {
    WriteFile(path, first + second + behind);
    const Trace trace = ReadTrace(path);
    EXPECT_EQ(trace.timelines[0].calls(), 2000u);
    EXPECT_TRUE(trace.diagnostics.empty());
  }
  WriteFile(path, first + second.substr(0, second.size() - 9));
  EXPECT_THAT(FailureOf(path), StartsWith(": the compressed file is cut short: it ends after "));
}

TEST_F(ParaverDamageTest, CompressedFileWithAWrongCheckSum) {
  const std::string path = WriteCompressed(Whole(10));
  std::string content = ReadFile(path);
  content[content.size() - 8] ^= 1;
  WriteFile(path, content);
  EXPECT_THAT(FailureOf(path),
              HasSubstr("the check sum of the compressed data is wrong; the compressed file is damaged"));
}

TEST_F(ParaverDamageTest, CompressedFileDamagedInTheMiddle) {
  const std::string path = WriteCompressed(Whole(2000));
  const std::string content = ReadFile(path);
  for (std::size_t at = 20; at < content.size(); at += content.size() / 23) {
    std::string damaged = content;
    for (std::size_t i = at; i < std::min(at + 8, damaged.size()); ++i)
      damaged[i] = static_cast<char>(damaged[i] ^ 0x5A);
    WriteFile(path, damaged);
    const std::string sentence = FailureOf(path);
    EXPECT_NE(sentence, "read without error") << at;
    EXPECT_THAT(sentence, AnyOf(HasSubstr("compressed file"), HasSubstr("line "))) << at;
    EXPECT_THAT(sentence, Not(HasSubstr(path))) << at;
  }
}

TEST_F(ParaverDamageTest, FewerTasksThanRecordsName) {
  std::string prv = Whole(10);
  prv.replace(prv.find("2(1:1,1:1),1"), 12, "1(1:1),0");
  prv.erase(prv.find("c:1:1:2:1:2\n"), 12);
  EXPECT_THAT(Failure(prv), StartsWith(": line 3, field 4 (task): there is no task 2: the header lists 1; 40 of 70"));
}

// Bytes may be wrong anywhere. What still reads is read; the rest ends in a sentence.
TEST_F(ParaverDamageTest, FlippedBytes) {
  const std::string whole = Whole(2);
  for (std::size_t i = 0; i < whole.size(); i += test::DailyStep(7)) {
    for (const char value : {'\xFF', '9', ':', '\n', '-'}) {
      std::string damaged = whole;
      damaged[i] = value;
      EXPECT_FALSE(Failure(damaged).empty());
    }
  }
}

}  // namespace
}  // namespace farscale
