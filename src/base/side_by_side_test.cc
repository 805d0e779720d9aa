#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "base/parallel.h"

namespace farscale {
namespace {

// Counts what runs at the same time, and the memory of it.
class Load {
 public:
  Piece Of(std::uint64_t memory) {
    return {memory, [this, memory] {
              Add(1, memory);
              std::this_thread::sleep_for(std::chrono::milliseconds(20));
              Add(-1, -static_cast<std::int64_t>(memory));
              ++done;
            }};
  }

  std::int64_t most = 0, most_memory = 0;
  std::atomic<int> done = 0;

 private:
  void Add(std::int64_t count, std::int64_t memory) {
    const std::lock_guard lock(mutex_);
    count_ += count;
    memory_ += memory;
    most = std::max(most, count_);
    most_memory = std::max(most_memory, memory_);
  }

  std::mutex mutex_;
  std::int64_t count_ = 0, memory_ = 0;
};

TEST(SideBySide, RunsAsManyAsAllowed) {
  Load load;
  RunSideBySide(std::vector<Piece>(8, load.Of(1)), 3, 100);
  EXPECT_EQ(load.done, 8);
  EXPECT_EQ(load.most, 3);
}

TEST(SideBySide, StaysWithinTheMemory) {
  Load load;
  RunSideBySide({load.Of(6), load.Of(5), load.Of(4), load.Of(3)}, 4, 10);
  EXPECT_EQ(load.done, 4);
  EXPECT_LE(load.most_memory, 10);
}

TEST(SideBySide, RunsWhatIsLargerThanTheMemoryAlone) {
  Load load;
  RunSideBySide({load.Of(1), load.Of(20), load.Of(1)}, 3, 10);
  EXPECT_EQ(load.done, 3);
  EXPECT_EQ(load.most_memory, 20);
}

TEST(SideBySide, RunsOneAfterTheOtherInThisThread) {
  std::vector<std::thread::id> threads;
  const Piece piece{0, [&] { threads.push_back(std::this_thread::get_id()); }};
  RunSideBySide({piece, piece}, 1, 0);
  EXPECT_THAT(threads, testing::Each(std::this_thread::get_id()));
}

// Of six threads, two of which run the pieces.
TEST(SideBySide, LoopsShareTheThreads) {
  const tbb::global_control six(tbb::global_control::max_allowed_parallelism, 6);
  std::atomic<int> now = 0, most = 0;
  const Piece piece{0, [&] {
                      ParallelFor(40, [&](std::size_t) {
                        int seen = most;
                        const int count = ++now;
                        while (seen < count && !most.compare_exchange_weak(seen, count)) {
                        }
                        std::this_thread::sleep_for(std::chrono::milliseconds(2));
                        --now;
                      });
                    }};
  RunSideBySide({piece, piece}, 2, 0);
  EXPECT_LE(most, 6);
  EXPECT_GE(most, 2);
  EXPECT_EQ(ThreadsAtOnce(), 6u);
}

using Rounds = std::vector<std::vector<std::size_t>>;

TEST(SideBySide, FillsRoundsWithTheLargestFirst) {
  // 7 with 3, then 6 with 2 and 1: the second piece is the largest.
  EXPECT_EQ(RoundsThatFit({3, 7, 2, 6, 1}, 10), (Rounds{{0, 1}, {2, 3, 4}}));
  EXPECT_EQ(RoundsThatFit({1, 2, 3}, 6), (Rounds{{0, 1, 2}}));
  EXPECT_EQ(RoundsThatFit({}, 6), Rounds());
}

TEST(SideBySide, WhatIsLargerThanTheMemoryHasItsOwnRound) {
  EXPECT_EQ(RoundsThatFit({20, 1, 30}, 10), (Rounds{{2}, {0}, {1}}));
  EXPECT_EQ(RoundsThatFit({5, 5}, 0), (Rounds{{0}, {1}}));
}

}  // namespace
}  // namespace farscale
