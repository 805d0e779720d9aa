#include "collect/trace/trace_room.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "collect/trace/trace_definitions.h"
#include "collect/page_file.h"

namespace farscale::collect {
namespace {

namespace fs = std::filesystem;

class RecoveryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "traces");
    setenv("FARSCALE_PAGES", folder_.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("FARSCALE_PAGES");
    fs::remove_all(folder_);
  }

  std::string Bytes(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  fs::path folder_;
};

// The begin of a chunk whose first event has this number.
std::string Header(std::uint64_t first, std::uint64_t last = 0) {
  std::string bytes = "\x03\x42";
  bytes.append(reinterpret_cast<const char*>(&first), 8);
  bytes.append(reinterpret_cast<const char*>(&last), 8);
  return bytes;
}

std::string Time(std::uint64_t time) { return "\x05" + std::string(reinterpret_cast<const char*>(&time), 8); }

// An enter of region 7: type, one byte of length, a number of one byte with its size.
const std::string kEnter = std::string("\x0C\x02\x01\x07");

TEST_F(RecoveryTest, AFileEndsBehindItsLastWholeEvent) {
  const std::string path = folder_ / "0.evt";
  // Two events at 100, one at 200, and the begin of one at 300 that the process did not finish.
  const std::string whole = Header(1) + Time(100) + kEnter + kEnter + Time(200) + kEnter;
  std::ofstream(path, std::ios::binary) << whole << Time(300) << std::string("\x0C\x00\x01", 3);
  const auto end = EndEventFile(path, 3);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->events, 3u);
  EXPECT_EQ(end->last_time, 200u);
  const std::string expected = Header(1, 3) + whole.substr(18) + "\x02";
  EXPECT_EQ(Bytes(path), expected);
  EXPECT_EQ(EndEventFile(path, 3)->events, 3u);  // again: as it is
  EXPECT_EQ(Bytes(path), expected);
  EXPECT_EQ(EndEventFile(path, 2)->events, 2u);
  EXPECT_FALSE(EndEventFile(folder_ / "none.evt", 3));
  std::ofstream(path, std::ios::binary) << "something else that is long enough";
  EXPECT_FALSE(EndEventFile(path, 3));
}

TEST_F(RecoveryTest, AChunkThatWasJustBegunIsLeftOut) {
  const std::string path = folder_ / "0.evt";
  std::string first = Header(1, 2) + Time(100) + kEnter + kEnter;
  const std::size_t used = first.size();
  first.resize(kEventChunk, '\0');
  std::ofstream(path, std::ios::binary) << first << Header(3) << Time(150);
  const auto end = EndEventFile(path, 2);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->events, 2u);
  EXPECT_EQ(fs::file_size(path), used + 1);
}

TEST_F(RecoveryTest, DefinitionsOfALogAreOneAfterAnother) {
  Room room = CreateRoom(RoomPath("job", 0), 1);
  ASSERT_NE(room.head, nullptr);
  EXPECT_EQ(room.head->shared_chunks, 1u);
  RankDefinitions added;
  added.calls = {{4, "MPI_Send"}};
  LogDefinitions(*room.head, added);
  added = {};
  added.communicators = {{6, {0, 2}, {}}};
  LogDefinitions(*room.head, added);
  added = {};
  added.teams = {{9, {0, 3}, {}}};
  LogDefinitions(*room.head, added);
  const Room mapped = MapRoom(RoomPath("job", 0));
  ASSERT_NE(mapped.head, nullptr);
  const auto all = DefinitionsInLog({mapped.head->log, mapped.head->log_bytes});
  ASSERT_TRUE(all);
  ASSERT_EQ(all->calls.size(), 1u);
  EXPECT_EQ(all->calls[0].second, "MPI_Send");
  ASSERT_EQ(all->communicators.size(), 1u);
  EXPECT_EQ(all->communicators[0].members, (std::vector<std::int32_t>{0, 2}));
  ASSERT_EQ(all->teams.size(), 1u);
  EXPECT_EQ(all->teams[0].members, (std::vector<std::int32_t>{0, 3}));
  EXPECT_FALSE(DefinitionsInLog({mapped.head->log, mapped.head->log_bytes - 1}));
  // More than there is room for is noticed.
  added.communicators = {{7, std::vector<std::int32_t>(kLogBytes / 4), {}}};
  LogDefinitions(*room.head, added);
  EXPECT_EQ(room.head->is_log_full, 1u);
  EXPECT_EQ(MapRoom(folder_ / "nothing").head, nullptr);
}

TEST_F(RecoveryTest, RanksOfAnotherVersionAreRefused) {
  const Room room = CreateRoom(RoomPath("job", 0), 1);
  ASSERT_NE(room.head, nullptr);
  Page page{};
  page.version = kPageVersion;
  page.ranks = page.regions = 1;
  ASSERT_TRUE(SaveRank(folder_, page, room, 0));
  EXPECT_TRUE(HasAllRanks(folder_));
  EXPECT_EQ(RecoverTrace(folder_, "", "").sentence, "nothing was saved of the events of any rank");
  std::fstream(folder_ / "traces" / "0.room", std::ios::binary | std::ios::in | std::ios::out).put('\1');
  const RecoveredTrace trace = RecoverTrace(folder_, "", "");
  EXPECT_EQ(trace.sentence, "what was saved is of another version of farscale, which alone can make a trace of it");
  EXPECT_FALSE(trace.is_nothing_saved);  // so that it stays
}

TEST_F(RecoveryTest, BytesThatAreNoValueAreRefused) {
  RankNumbers numbers;
  numbers.regions = {1, 2, 3};
  const std::string packed = Pack(numbers);
  RankNumbers read;
  EXPECT_TRUE(Unpack(packed, read));
  EXPECT_EQ(read.regions, numbers.regions);
  for (std::size_t size = 0; size < packed.size(); ++size) EXPECT_FALSE(Unpack(packed.substr(0, size), read)) << size;
  std::string huge = packed;
  huge[7] = '\x7F';  // a count that no memory holds
  EXPECT_FALSE(Unpack(huge, read));
}

TEST(DefinitionNumbers, HaveNoGaps) {
  std::vector<RankDefinitions> all(3);
  all[0].calls = {{5, "MPI_Barrier"}};
  all[1].calls = {{2, "MPI_Send"}, {5, "MPI_Barrier"}};
  all[0].regions = {"whole run", "a"};
  all[1].regions = {"whole run", "b", "a"};
  all[2].regions = {"whole run"};
  all[0].communicators = {{30, {0, 1}, {2}}, {9, {0, 1, 2}, {}}};
  all[2].communicators = {{17, {2}, {}}};
  all[1].windows = {{40, 9}, {43, kWorldId}};
  all[1].groups = {{1000, {0}, {}}};
  RunFacts facts;
  const std::vector<RankNumbers> numbers = NumberDefinitions(all, 8, facts);
  EXPECT_EQ(facts.calls, (std::vector<std::string>{"MPI_Send", "MPI_Barrier"}));
  EXPECT_EQ(facts.regions, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(numbers[1].regions[2], 0u);
  EXPECT_EQ(numbers[1].regions[5], 1u);
  EXPECT_EQ(numbers[1].regions[8 + 1], 3u);  // b
  EXPECT_EQ(numbers[1].regions[8 + 2], 2u);  // a
  // Those of one group first: 9 becomes 2, 17 becomes 3, and 30 between two groups 4.
  EXPECT_EQ(all[0].communicators[1].id, 2u);
  EXPECT_EQ(all[2].communicators[0].id, 3u);
  EXPECT_EQ(all[0].communicators[0].id, 4u);
  ASSERT_EQ(numbers[2].communicators.size(), 3u);
  EXPECT_EQ(numbers[2].communicators[1].first, 17u);
  EXPECT_EQ(numbers[0].communicators.size(), 2u);
  EXPECT_EQ(all[1].windows[0].first, 0u);
  EXPECT_EQ(all[1].windows[0].second, 2u);
  EXPECT_EQ(all[1].windows[1].second, kWorldId);
  // Groups before it: locations, world, self, two communicators, and two of the one between.
  EXPECT_EQ(all[1].groups[0].id, 7u);
}

TEST(DefinitionNumbers, OfTeamsComeBehindThoseOfCommunicators) {
  constexpr std::uint32_t kFirst = 3U << 30U;
  std::vector<RankDefinitions> all(2);
  all[1].communicators = {{30, {0, 1}, {}}};
  all[0].teams = {{kFirst + 2, {0, 1}, {}}, {kFirst + 4, {0}, {}}};
  all[1].teams = {{kFirst + 4, {0, 1, 2, 3}, {}}};
  RunFacts facts;
  const std::vector<RankNumbers> numbers = NumberDefinitions(all, 8, facts);
  EXPECT_EQ(all[1].communicators[0].id, 2u);
  EXPECT_EQ(all[0].teams[0].id, 3u);
  EXPECT_EQ(all[0].teams[1].id, 4u);
  EXPECT_EQ(all[1].teams[0].id, 5u);
  // Numbers of teams are the rank's own.
  ASSERT_EQ(numbers[0].communicators.size(), 3u);
  EXPECT_EQ(numbers[0].communicators[2].first, kFirst + 4);
  EXPECT_EQ(numbers[0].communicators[2].second, 4u);
  ASSERT_EQ(numbers[1].communicators.size(), 2u);
  EXPECT_EQ(numbers[1].communicators[1].first, kFirst + 4);
  EXPECT_EQ(numbers[1].communicators[1].second, 5u);
}

}  // namespace
}  // namespace farscale::collect
