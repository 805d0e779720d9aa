#include <fcntl.h>
#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "collect/text.h"
#include "collect/page_file.h"
#include "collect/page.h"

namespace farscale::collect {
namespace {

namespace fs = std::filesystem;

class Pages : public testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/farscale-pages-XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    folder_ = folder;
    setenv("FARSCALE_PAGES", folder, 1);
  }
  void TearDown() override {
    unsetenv("FARSCALE_PAGES");
    fs::remove_all(folder_);
  }

  static void Make(const std::string& job, int rank, int pid) {
    Page* page = CreatePage(PagePath(job, rank));
    ASSERT_NE(page, nullptr);
    std::memcpy(page->magic, kPageMagic, sizeof page->magic);
    page->version = kPageVersion;
    page->ranks = 20;
    page->rank = rank;
    page->pid = pid;
    std::strcpy(page->job, job.c_str());
    munmap(page, sizeof *page);
  }

  fs::path folder_;
};

TEST_F(Pages, AreFoundByJob) {
  Make("one", 0, getpid());
  Make("two", 1, 0x7ffffff0);  // no such process
  const auto found = FindPages();
  ASSERT_EQ(found.size(), 2U);
  for (const Page& page : found) EXPECT_EQ(ProcessExists(page), page.rank == 0);
  const auto mapped = MapPages("two");
  ASSERT_EQ(mapped.size(), 1U);
  EXPECT_EQ(mapped[0]->rank, 1);
  // The page of another job under a name of this one's.
  Make("other", 3, getpid());
  fs::rename(PagePath("other", 3), PagePath("two", 3));
  EXPECT_EQ(MapPages("two").size(), 1U);
}

TEST_F(Pages, AreReadableByTheirOwnerAloneAndNeverTakenOver) {
  Make("one", 0, getpid());
  EXPECT_EQ(fs::status(PagePath("one", 0)).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(CreatePage(PagePath("one", 0)), nullptr);
}

TEST_F(Pages, IgnoreWhatIsNoPage) {
  std::ofstream(folder_ / "farscale.0.x.0") << "something";
  fs::create_symlink("/etc/passwd", folder_ / "farscale.0.y.0");
  EXPECT_TRUE(FindPages().empty());
}

// A pipe without a writer makes whoever opens it wait.
TEST_F(Pages, NeverWaitForWhatOthersPutThere) {
  for (const char* name : {"x", "job.0"}) {
    const std::string path = folder_ / ("farscale." + std::to_string(geteuid()) + "." + name);
    ASSERT_EQ(mkfifo(path.c_str(), 0666), 0);
  }
  ASSERT_EQ(mkfifo((folder_ / "farscale.65534.x").c_str(), 0666), 0);
  fs::create_directory(PagePath("folder", 0));
  std::ofstream(PagePath("huge", 0)) << "x";
  fs::resize_file(PagePath("huge", 0), std::uintmax_t{1} << 40);
  EXPECT_TRUE(FindPages().empty());
  EXPECT_TRUE(MapPages("job").empty());
  RemoveStalePages();
}

TEST_F(Pages, KnowTheLowestRankOfTheNode) {
  Make("one", 3, getpid());
  Make("one", 12, getpid());
  Make("other", 0, getpid());
  EXPECT_TRUE(IsLowestHere("one", 3));
  EXPECT_FALSE(IsLowestHere("one", 12));
}

// The number of a process that has ended may be given to another one.
TEST_F(Pages, TellProcessesOfOneNumberApart) {
  Page page{};
  page.pid = getpid();
  page.process_started = ProcessStarted(getpid());
  EXPECT_GT(page.process_started, 0U);
  EXPECT_TRUE(ProcessExists(page));
  ++page.process_started;
  EXPECT_FALSE(ProcessExists(page));
}

TEST_F(Pages, StayMappedWhenTheirFileGoes) {
  Make("one", 1, getpid());
  const auto mapped = MapPages("one");
  ASSERT_EQ(mapped.size(), 1U);
  fs::remove(PagePath("one", 1));
  EXPECT_EQ(mapped[0]->rank, 1);
}

// In a call since tick 70: 30 ticks of MPI so far, and 20 of the call.
TEST(Sums, OfARunningProcessCountUntilNow) {
  Page page{};
  page.begin_tick = 10;
  page.mpi = 30;
  page.entered = 70;
  EXPECT_EQ(SumsOfPage(page, 90).elapsed, 80U);
  EXPECT_EQ(SumsOfPage(page, 90).mpi, 50U);
  page.regions = 2;
  page.region[1].open = 1;
  page.region[1].at_start.elapsed = 20;
  page.region[1].at_start.mpi = 30;
  page.region[1].total.elapsed = 5;
  const Sums total = RegionUntil(page, page.region[1], SumsOfPage(page, 90)).total;
  EXPECT_EQ(total.elapsed, 65U);
  EXPECT_EQ(total.mpi, 20U);
}

// Killed at tick 90 in the region above: its 65 ticks and the 80 of the run are what is left.
TEST(Sums, OfAKilledProcessEndWithIt) {
  Page page{};
  page.begin_tick = 10;
  page.mpi = 50;
  page.regions = 2;
  page.region[0].open = page.region[0].starts = 1;
  page.region[0].at_start.cpu = 7;
  page.region[1].open = 1;
  page.region[1].at_start.elapsed = 20;
  page.region[1].at_start.mpi = 30;
  page.region[1].total.elapsed = 5;
  EndAsOf(page, 90, 1000);
  EXPECT_EQ(SumsOfPage(page, 200).elapsed, 80U);
  EXPECT_EQ(SumsOfPage(page, 200).mpi, 50U);
  const Sums total = RegionUntil(page, page.region[1], SumsOfPage(page, 200)).total;
  EXPECT_EQ(total.elapsed, 65U);
  EXPECT_EQ(total.mpi, 20U);
}

Page PageOfRank(int rank, std::uint32_t regions) {
  Page page{};
  std::memcpy(page.magic, kPageMagic, sizeof page.magic);
  page.version = kPageVersion;
  page.ranks = 2;
  page.rank = rank;
  page.pid = 1;
  page.bytes = sizeof(Page);
  page.regions = regions;
  page.region[regions - 1].starts = 7;
  return page;
}

TEST_F(Pages, OfADumpAreReadBack) {
  const std::string path = (folder_ / "dump").string();
  const int file = open(path.c_str(), O_WRONLY | O_CREAT, 0600);
  Page first = PageOfRank(0, 3);
  first.flags = kHasDevices;
  first.devices.lost = 5;
  ASSERT_TRUE(WriteDumpHead(file, 2, "wrote a trace", {1, 2, 3}));
  ASSERT_TRUE(WriteDumpPage(file, first) && WriteDumpPage(file, PageOfRank(1, 1)));
  close(file);
  const auto dump = ReadDump(path);
  ASSERT_TRUE(dump.has_value());
  EXPECT_EQ(dump->trace, "wrote a trace");
  EXPECT_EQ(dump->estimate.events, 3U);
  ASSERT_EQ(dump->pages.size(), 2U);
  EXPECT_EQ(dump->pages[0].region[2].starts, 7U);
  EXPECT_EQ(dump->pages[0].devices.lost, 5U);
  EXPECT_EQ(dump->pages[1].region[0].starts, 7U);
  const auto size = fs::file_size(path);
  for (const auto wrong : {size - 1, size + 1}) {
    fs::resize_file(path, wrong);
    EXPECT_FALSE(ReadDump(path).has_value()) << wrong;
  }
  EXPECT_FALSE(ReadDump((folder_ / "none").string()).has_value());
}

TEST_F(Pages, OfOneRunEachOfOneRankMakeADump) {
  Page twice = PageOfRank(0, 1), job = PageOfRank(1, 1), older = PageOfRank(1, 1), empty = PageOfRank(1, 1);
  std::strcpy(job.job, "another");
  older.bytes -= 8;
  empty.regions = 0;
  for (const Page& wrong : {twice, job, older, empty}) {
    const std::string path = (folder_ / "dump").string();
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ASSERT_TRUE(WriteDumpHead(file, 2, "", {}) && WriteDumpPage(file, PageOfRank(0, 1)) && WriteDumpPage(file, wrong));
    close(file);
    EXPECT_FALSE(ReadDump(path).has_value());
  }
}

// While it runs: what threads do now counts until now, but for waits, of which it is not known what they are.
TEST(ThreadRecords, CountUntilNow) {
  Page page{};
  page.teams.records = 4;
  page.teams.imbalance = 5;
  const auto set = [&](int i, Activity activity, std::uint64_t since, auto change) {
    page.thread[i].activity = activity;
    page.thread[i].since = since;
    change(page.thread[i]);
  };
  set(0, Activity::kScheduling, 90, [](ThreadRecord& main) { main.scheduling = 7, main.imbalance = 2; });
  set(1, Activity::kUseful, 60, [](ThreadRecord& worker) { worker.useful = 100; });
  set(2, Activity::kWaiting, 50, [](ThreadRecord& worker) { worker.useful = 30, worker.mpi_wait = 3; });
  set(3, Activity::kMpi, 99, [](ThreadRecord& worker) { worker.mpi = 1; });
  const Sums sums = SumsUntil(page, 100);
  EXPECT_EQ(sums.worker_useful, 100u + 40 + 30);
  EXPECT_EQ(sums.scheduling, 17u);
  EXPECT_EQ(sums.imbalance, 7u);
  EXPECT_EQ(sums.main_in_runtime, 19u);
  EXPECT_EQ(sums.mpi_wait, 3u);
  EXPECT_EQ(sums.worker_mpi, 2u);
}

}  // namespace
}  // namespace farscale::collect
