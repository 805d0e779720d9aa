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
  EXPECT_EQ(FindPages("").size(), 2U);
  const auto found = FindPages("two");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].page.rank, 1);
  EXPECT_FALSE(found[0].is_running);
  EXPECT_TRUE(FindPages("one")[0].is_running);
}

TEST_F(Pages, AreReadableByTheirOwnerAloneAndNeverTakenOver) {
  Make("one", 0, getpid());
  EXPECT_EQ(fs::status(PagePath("one", 0)).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(CreatePage(PagePath("one", 0)), nullptr);
}

TEST_F(Pages, IgnoreWhatIsNoPage) {
  std::ofstream(folder_ / "farscale.0.x.0") << "something";
  fs::create_symlink("/etc/passwd", folder_ / "farscale.0.y.0");
  EXPECT_TRUE(FindPages("").empty());
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
  EXPECT_TRUE(FindPages("").empty());
  EXPECT_TRUE(MapPages("job").empty());
  EXPECT_EQ(MapPage(PagePath("job", 0)), nullptr);
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
  const Sums total = TotalOf(page, page.region[1], SumsOfPage(page, 90));
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
  const Sums total = TotalOf(page, page.region[1], SumsOfPage(page, 200));
  EXPECT_EQ(total.elapsed, 65U);
  EXPECT_EQ(total.mpi, 20U);
}

}  // namespace
}  // namespace farscale::collect
