// Damaged and missing input: one clear sentence, never a crash [the fuzzer in tests/fuzz goes further].
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include "base/files.h"
#include "support/errors.h"
#include "support/otf2_archive.h"
#include "support/repeats.h"
#include "support/temporary_folder.h"
#include "trace/anomalies.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class DamageTest : public testing::Test {
 protected:
  DamageTest() {
    test::Otf2Archive archive(folder_.path() / "a", "traces");
    archive.AddWorld(2);
    archive.Region("unused");  // so that the numbers of the next two names differ by a bit
    for (const std::uint64_t rank : {0u, 1u}) {
      auto events = archive.Location(rank);
      events.Enter(0, "main");
      for (std::uint64_t i = 0; i < 100; ++i) {
        const std::uint64_t t = 10 * i + 1;
        events.Enter(t, "MPI_Barrier")
            .Collective(t, OTF2_COLLECTIVE_OP_BARRIER, 0, OTF2_UNDEFINED_UINT32, 0, 0)
            .Leave(t + 2, "MPI_Barrier");
      }
      events.Leave(2000, "main");
    }
    anchor_ = archive.Close();
  }

  // The sentence of the input error that reading must end in.
  std::string Read(const std::string& path) {
    return test::ErrorOf(ErrorKind::kInput, [&] { ReadTrace(path); });
  }

  void Truncate(const fs::path& file, std::uintmax_t size) { fs::resize_file(file, size); }

  test::TemporaryFolder folder_;
  std::string anchor_;
};

TEST_F(DamageTest, IntactIsRead) { EXPECT_EQ(ReadTrace(anchor_).size(), 2u); }

// One bit makes the name of a function that of an MPI function, or puts a process on the machine in place of its node.
TEST_F(DamageTest, ReferencesToOtherDefinitions) {
  const fs::path file = folder_.path() / "a" / "traces.def";
  const std::string content = ReadFile(file);
  std::map<std::string, int> found;
  for (std::size_t i = 0; i < content.size(); i += test::DailyStep(3)) {
    std::string bytes = content;
    bytes[i] = static_cast<char>(bytes[i] ^ 1);
    std::ofstream(file, std::ios::binary) << bytes;
    try {
      for (const Finding& finding : ReadTrace(anchor_).diagnostics.findings()) ++found[finding.id];
    } catch (const Error&) {
    }
  }
  EXPECT_GT(found["mpiNameTwice"], 0);
  EXPECT_GT(found["nodesUnclear"], 0);
}

TEST_F(DamageTest, MissingFile) {
  EXPECT_EQ(Read((folder_ / "none.otf2").string()), (folder_ / "none.otf2").string() + ": no such trace");
}

TEST_F(DamageTest, FolderInsteadOfAnchorNamesTheAnchor) {
  EXPECT_THAT(Read((folder_ / "a").string()), HasSubstr("is a folder, not a trace; name the trace: "));
  EXPECT_THAT(Read((folder_ / "a").string()), HasSubstr("traces.otf2"));
  EXPECT_THAT(Read(folder_.path().string()), HasSubstr("which ends in .otf2"));
}

TEST_F(DamageTest, OtherFiles) {
  EXPECT_THAT(Read(folder_.Write("empty.otf2", "")), HasSubstr("is empty"));
  EXPECT_THAT(Read(folder_.Write("text.otf2", "hello, world, this is text")),
              HasSubstr("is neither the anchor file of an OTF2 archive nor a Paraver trace"));
  EXPECT_THAT(Read(folder_.Write("x.prv", "#Paraver (01/01/2020 at 10:00):")),
              HasSubstr("the header gives no sound duration"));
}

TEST_F(DamageTest, MissingEventFilesAreListed) {
  fs::remove(folder_ / "a" / "traces" / "1.evt");
  const std::string sentence = Read(anchor_);
  EXPECT_THAT(sentence, HasSubstr("1 of 4 files are missing"));
  EXPECT_THAT(sentence, HasSubstr("1.evt (rank 1)"));
}

TEST_F(DamageTest, MissingDefinitions) {
  fs::remove(folder_ / "a" / "traces.def");
  EXPECT_THAT(Read(anchor_), HasSubstr("definitions"));
}

TEST_F(DamageTest, TruncatedAnywhere) {
  const fs::path event_file = folder_ / "a" / "traces" / "0.evt";
  const std::string content = ReadFile(event_file);
  for (const std::size_t size : {0u, 1u, 20u, 100u, 500u}) {
    WriteFile(event_file, content.substr(0, size));
    EXPECT_THAT(Read(anchor_), HasSubstr("rank 0")) << size;
  }
  WriteFile(event_file, content.substr(0, content.size() - 20));
  EXPECT_THAT(Read(anchor_), HasSubstr("rank 0"));
}

// The library would read the last chunk again and again: it ends in the mark of a chunk that has a successor.
TEST_F(DamageTest, FileWithoutAnEnd) {
  constexpr char kEndOfFile = 2, kEndOfChunk = 0;
  for (const char* name : {"traces.def", "traces/0.def", "traces/0.evt"}) {
    const fs::path file = folder_ / "a" / name;
    const std::string content = ReadFile(file);
    const std::size_t end = content.rfind(kEndOfFile);
    ASSERT_GE(end, content.size() - 2) << name;
    std::string damaged = content;
    damaged[end] = kEndOfChunk;
    WriteFile(file, damaged);
    EXPECT_THAT(Read(anchor_), HasSubstr(std::string(name) + " stop at byte " + std::to_string(end))) << name;
    WriteFile(file, content.substr(0, end));
    EXPECT_THAT(Read(anchor_), HasSubstr(std::string(name) + " ends in the middle of its records")) << name;
    WriteFile(file, content);
  }
  EXPECT_EQ(ReadTrace(anchor_).size(), 2u);
}

TEST_F(DamageTest, TruncatedDefinitionsAndAnchor) {
  for (const fs::path& file : {folder_ / "a" / "traces.def", folder_ / "a" / "traces.otf2"}) {
    const std::string content = ReadFile(file);
    // The end of the last chunk, a byte after that of the definitions, may be missing.
    for (std::size_t size = 0; size + 1 < content.size(); size += 13) {
      WriteFile(file, content.substr(0, size));
      EXPECT_NE(Read(anchor_), "no error") << file << " " << size;
    }
    WriteFile(file, content);
  }
}

// Bytes may be wrong anywhere. What still reads is read; the rest ends in a sentence.
TEST_F(DamageTest, FlippedBytes) {
  for (const char* name : {"traces.otf2", "traces.def", "traces/0.def", "traces/0.evt"}) {
    const fs::path file = folder_ / "a" / name;
    const std::string content = ReadFile(file);
    for (std::size_t i = 0; i < content.size(); i += 11 * test::DailyStep(5)) {
      for (const int value : {0xFF, content[i] ^ 0x10}) {
        std::string damaged = content;
        damaged[i] = static_cast<char>(value);
        WriteFile(file, damaged);
        EXPECT_FALSE(Read(anchor_).empty());
      }
    }
    WriteFile(file, content);
  }
}

// A damaged type makes a record that the library passes over.
TEST_F(DamageTest, RecordsOfUnknownType) {
  constexpr char kTimeStamp = 5, kLeave = 13, kNothing = 127, kEndOfFile = 2;
  constexpr std::size_t kHeaderBytes = 18, kTimeStampBytes = 9;
  const fs::path file = folder_ / "a" / "traces" / "0.evt";
  const std::string content = ReadFile(file);
  int tried = 0;
  for (std::size_t at = kHeaderBytes; content[at] != kEndOfFile;) {
    if (content[at] == kLeave) {
      std::string damaged = content;
      damaged[at] = kNothing;
      WriteFile(file, damaged);
      EXPECT_EQ(ReadTrace(anchor_).diagnostics.count(anomaly::kRecordNotRead), 1u) << at;
      ++tried;
    }
    at += content[at] == kTimeStamp ? kTimeStampBytes : 2u + static_cast<unsigned char>(content[at + 1]);
  }
  EXPECT_EQ(tried, 101);
}

TEST(Damage, NoRanks) {
  const test::TemporaryFolder folder;
  test::Otf2Archive archive(folder.path() / "a", "traces");
  archive.Region("main");
  const std::string anchor = archive.Close();
  EXPECT_THAT(test::ErrorOf(ErrorKind::kInput, [&] { ReadTrace(anchor); }), HasSubstr("the trace has no ranks"));
}

// Task runtimes announce another number of events than they write. Only a file without an end is cut short.
TEST(Damage, WrongNumberOfEventsIsInformation) {
  const test::TemporaryFolder folder;
  for (const std::uint64_t announced : {1u, 3u, 14u, 199u, 203u, 204u, 205u, 400u, 5000u, 1000000u}) {
    const fs::path own = folder / std::to_string(announced);
    test::Otf2Archive archive(own, "traces");
    archive.AddWorld(2);
    for (const std::uint64_t rank : {0u, 1u}) {
      auto events = archive.Location(rank);
      events.Enter(0, "main");
      for (std::uint64_t t = 1; t < 102; ++t) events.Enter(10 * t, "solve").Leave(10 * t + 5, "solve");
      events.Leave(2000, "main");
      if (rank == 1) archive.AnnounceEvents(1, announced);
    }
    const std::string anchor = archive.Close();
    const Trace trace = ReadTrace(anchor);
    EXPECT_EQ(trace.events, 408u);
    EXPECT_EQ(trace.timelines[1].region_events(), 204u);
    EXPECT_EQ(trace.diagnostics.count(anomaly::kHeaderContradicted), announced == 204 ? 0u : 1u) << announced;
    const fs::path events = own / "traces/1.evt";
    fs::resize_file(events, fs::file_size(events) - 20);
    EXPECT_THAT(test::ErrorOf(ErrorKind::kInput, [&] { ReadTrace(anchor); }), HasSubstr("rank 1")) << announced;
  }
}

// One bit of a time stamp anywhere in a run of many events: it is refused or said, or the run and the time in MPI keep
// their length within a percent.
TEST(Damage, OneBitOfATimeStamp) {
  constexpr std::uint64_t kBegin = 1000000000, kStep = 1000, kSteps = 1000, kLength = kStep * (kSteps + 1);
  const test::TemporaryFolder folder;
  test::Otf2Archive archive(folder.path() / "a", "traces");
  archive.AddWorld(2);
  archive.SetClock(1000000000, kBegin, kLength);
  std::vector<std::uint64_t> times;  // of rank 1
  for (const std::uint64_t rank : {0u, 1u}) {
    auto events = archive.Location(rank);
    events.Enter(kBegin, "main");
    times = {kBegin};
    for (std::uint64_t t = kBegin + kStep; t <= kBegin + kSteps * kStep; t += kStep) {
      events.Enter(t, "MPI_Barrier").Leave(t + kStep / 4, "MPI_Barrier");
      times.insert(times.end(), {t, t + kStep / 4});
    }
    events.Leave(kBegin + kLength, "main");
    times.push_back(kBegin + kLength);
  }
  const std::string anchor = archive.Close();
  const fs::path file = folder / "a/traces/1.evt";
  const std::string intact = ReadFile(file);
  constexpr double kInMpi = static_cast<double>(kSteps * kStep / 4);
  std::mt19937 random(47);
  int refused = 0, warned = 0;
  const auto damage = [&](std::uint64_t time, int bit) {
    std::string bytes(sizeof time, '\0');
    std::memcpy(bytes.data(), &time, sizeof time);
    const std::size_t at = intact.find('\x05' + bytes);
    ASSERT_NE(at, std::string::npos);
    std::string damaged = intact;
    damaged[at + 1 + static_cast<std::size_t>(bit / 8)] ^= static_cast<char>(1 << bit % 8);
    WriteFile(file, damaged);
    try {
      const Trace trace = ReadTrace(anchor);
      trace.diagnostics.FailPastThreshold("");
      if (!trace.diagnostics.empty()) {
        ++warned;
        return;
      }
      double in_mpi = 0;
      for (std::size_t call = 0; call < trace.timelines[1].calls(); ++call) {
        in_mpi += static_cast<double>(trace.timelines[1].duration(call));
      }
      EXPECT_NEAR(static_cast<double>(trace.end() - trace.begin()) / kLength, 1, 0.01) << time << " " << bit;
      EXPECT_NEAR(in_mpi / kInMpi, 1, 0.01) << time << " " << bit;
    } catch (const Error&) {
      ++refused;
    }
  };
  for (int bit = 0; bit < 64; ++bit) {
    for (const std::uint64_t time : {times.front(), times.back(), times[times.size() - 2]}) damage(time, bit);
    for (int i = 0; i < 3; ++i) damage(times[random() % times.size()], bit);
  }
  EXPECT_GT(refused, 100);
  EXPECT_GT(warned, 50);
}

}  // namespace
}  // namespace farscale
