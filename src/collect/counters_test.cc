// Hardware counters are not at hand everywhere; those that the kernel keeps in software go through the same code.
#include "collect/threads/counters.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <thread>

namespace farscale::collect {
namespace {

// Page faults as instructions, nanoseconds of CPU time as cycles.
constexpr CounterEvents kSoftware = {
    {{PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS}, {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK}}};

class CountersTest : public testing::Test {
 protected:
  void SetUp() override {
    const CounterAccess access = OpenCounters(kSoftware);
    if (access == CounterAccess::kForbidden) GTEST_SKIP() << "the kernel forbids counting";
    ASSERT_EQ(access, CounterAccess::kSystemCalls);
  }
  void TearDown() override { CloseCounters(); }

  // Every page faults once; time is CPU time of this thread.
  static void TouchPages(std::size_t pages) {
    const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    auto* memory = static_cast<volatile char*>(
        mmap(nullptr, pages * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    madvise(const_cast<char*>(memory), pages * size, MADV_NOHUGEPAGE);
    for (std::size_t page = 0; page < pages; ++page) memory[page * size] = 1;
    munmap(const_cast<char*>(memory), pages * size);
  }
};

TEST_F(CountersTest, BothAreReadByOneSystemCall) {
  const Counts before = ReadCounts();
  TouchPages(300);
  const Counts after = ReadCounts();
  EXPECT_GE(after.instructions - before.instructions, 300U);
  EXPECT_LE(after.instructions - before.instructions, 330U);
  // Kernels do not agree on what of a tick is user mode, and some find none for a while and make up for it later.
  const std::uint64_t cpu = Nanoseconds(CLOCK_THREAD_CPUTIME_ID);
  const Counts begin = ReadCounts();
  double taken = 0, spent = 0;
  volatile double sum = 0;
  while (spent < 20e6 || (spent < 3e9 && taken <= 2e6)) {
    for (int i = 0; i < 100'000; ++i) sum = sum + i;
    spent = static_cast<double>(Nanoseconds(CLOCK_THREAD_CPUTIME_ID) - cpu);
    taken = static_cast<double>(ReadCounts().cycles - begin.cycles);
  }
  EXPECT_GT(taken, 2e6);
  EXPECT_LT(taken, 1.1 * spent + 20e6);
}

TEST_F(CountersTest, TheTimeOfReadingIsKnown) {
  EXPECT_EQ(TimeOfReading(), 0);
  const std::uint64_t begin = Nanoseconds(CLOCK_MONOTONIC);
  for (int i = 0; i < 10000; ++i) ReadCounts();
  const auto taken = static_cast<double>(Nanoseconds(CLOCK_MONOTONIC) - begin);
  EXPECT_GT(TimeOfReading(), taken / 20);
  EXPECT_LT(TimeOfReading(), taken * 20);  // neighbours may disturb either
}

TEST_F(CountersTest, ClosedCountersAreNothing) {
  TouchPages(10);
  CloseCounters();
  EXPECT_EQ(ReadCounts().instructions, 0U);
  CloseCounters();
}

TEST(Counters, EventsAreTypesAndConfigurations) {
  const std::optional<CounterEvents> events = ParseCounterEvents("4:0xc0,0:1");
  ASSERT_TRUE(events);
  EXPECT_EQ(*events, (CounterEvents{{{4, 0xc0}, {0, 1}}}));
  for (const char* text : {"", "papi", "4:0xc0", "4:0xc0,", "4:0xc0,0", "4:0xc0,0:1,2:3", "4:,0:1", ":1,0:1"})
    EXPECT_FALSE(ParseCounterEvents(text)) << text;
}

// Of another thread as of the main one, each its own.
TEST_F(CountersTest, ThreadsHaveCountersOfTheirOwn) {
  std::uint64_t faults = 0;
  std::thread other([&] {
    CounterPair own;
    ASSERT_TRUE(OpenCountersAsMain(own));
    const Counts before = own.Read();
    TouchPages(200);
    faults = own.Read().instructions - before.instructions;
  });
  const Counts before = ReadCounts();
  other.join();
  EXPECT_GE(faults, 200U);
  EXPECT_LT(ReadCounts().instructions - before.instructions, 100U);
}

// One counter alone is of no use.
TEST(Counters, BothOrNone) {
  CounterEvents events = kSoftware;
  events[1].second = 1'000'000;
  EXPECT_FALSE(IsOpen(OpenCounters(events)));
  EXPECT_EQ(ReadCounts().instructions, 0U);
}

// Whatever libpapi is here or not: it counts, or it says that it does not.
TEST(Counters, PapiCountsOrIsRefused) {
  const CounterAccess access = OpenCountersOfPapi();
  if (access == CounterAccess::kPapi) {
    EXPECT_GT(ReadCounts().cycles, 0U);
  } else {
    EXPECT_EQ(access, CounterAccess::kNoPapi);
    EXPECT_EQ(ReadCounts().cycles, 0U);
  }
  CloseCounters();
}

}  // namespace
}  // namespace farscale::collect
