#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "collect/page_file.h"
#include "collect/sums.h"

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
    page->ranks = 2;
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

TEST_F(Pages, LetOneTell) {
  EXPECT_TRUE(TellOnce("one"));
  EXPECT_FALSE(TellOnce("one"));
  EXPECT_TRUE(TellOnce("two"));
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

TEST(Sums, NamesAreCut) {
  char name[kNameBytes];
  CopyName(std::string(100, 'x').c_str(), name);
  EXPECT_EQ(std::strlen(name), kNameBytes - 1);
  Page page{};
  page.regions = 2;
  CopyName(std::string(100, 'x').c_str(), page.region[1].name);
  EXPECT_EQ(FindRegion(page, std::string(100, 'x').c_str()), 1);
  // Others that begin alike are others, 63 bytes are kept as they are, and no letter is halved: 53 bytes and an ä.
  EXPECT_EQ(FindRegion(page, std::string(101, 'x').c_str()), -1);
  EXPECT_EQ(FindRegion(page, "y"), -1);
  CopyName(std::string(63, 'y').c_str(), name);
  EXPECT_EQ(std::string(name), std::string(63, 'y'));
  CopyName((std::string(53, 'z') + "\u00e4" + std::string(20, 'z')).c_str(), name);
  EXPECT_EQ(std::string(name).substr(0, 54), std::string(53, 'z') + "~");
  CopyName("two\nlines", name);
  EXPECT_STREQ(name, "two lines");
}

}  // namespace
}  // namespace farscale::collect
