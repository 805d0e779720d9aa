#include "base/side_by_side.h"

#include <tbb/global_control.h>

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <numeric>
#include <thread>

namespace farscale {
namespace {

using tbb::global_control;

// The pieces that are running.
class Running {
 public:
  Running(std::size_t most, std::uint64_t memory) : most_(most), memory_(memory), threads_(ThreadsOfLoops()) {}

  // Waits until there is room.
  void Begin(std::uint64_t memory) {
    std::unique_lock lock(mutex_);
    has_ended_.wait(lock, [&] { return count_ == 0 || (count_ < most_ && used_ + memory <= memory_); });
    ++count_;
    used_ += memory;
    ShareThreads();
  }

  void End(std::uint64_t memory) {
    const std::lock_guard lock(mutex_);
    --count_;
    used_ -= memory;
    ShareThreads();
    has_ended_.notify_all();
  }

 private:
  // The threads of the pieces take part in their loops, which TBB counts as one of those that it may use.
  void ShareThreads() {
    limit_.reset();
    if (count_ < 2) return;
    const std::size_t left = threads_ > count_ ? threads_ - count_ : 0;
    limit_ = std::make_unique<global_control>(global_control::max_allowed_parallelism, left + 1);
  }

  const std::size_t most_;
  const std::uint64_t memory_;
  const std::size_t threads_;
  std::mutex mutex_;
  std::condition_variable has_ended_;
  std::size_t count_ = 0;
  std::uint64_t used_ = 0;
  std::unique_ptr<global_control> limit_;
};

}  // namespace

std::size_t ThreadsOfLoops() { return global_control::active_value(global_control::max_allowed_parallelism); }

void RunSideBySide(const std::vector<Piece>& pieces, std::size_t most, std::uint64_t memory) {
  if (most < 2) {
    for (const Piece& piece : pieces) piece.run();
    return;
  }
  Running running(most, memory);
  std::vector<std::jthread> threads;
  for (const Piece& piece : pieces) {
    running.Begin(piece.memory);
    threads.emplace_back([&running, &piece] {
      piece.run();
      running.End(piece.memory);
    });
  }
}

std::vector<std::vector<std::size_t>> RoundsThatFit(const std::vector<std::uint64_t>& sizes, std::uint64_t memory) {
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return sizes[i]; });
  std::vector<std::vector<std::size_t>> rounds;
  std::vector<std::uint64_t> left;
  for (const std::size_t i : order) {
    std::size_t round = 0;
    while (round < rounds.size() && left[round] < sizes[i]) ++round;
    if (round == rounds.size()) {
      rounds.emplace_back();
      left.push_back(memory);
    }
    rounds[round].push_back(i);
    left[round] -= std::min(left[round], sizes[i]);
  }
  for (std::vector<std::size_t>& round : rounds) std::ranges::sort(round);
  return rounds;
}

ProgressCount::ProgressCount(const ProgressSink& sink, std::size_t total, const std::string& what)
    : sink_(sink), total_(total) {
  if (sink_ && total_ > 0) sink_(0, total_, what);
}

void ProgressCount::Done(const std::string& what) {
  const std::lock_guard lock(mutex_);
  ++done_;
  if (sink_) sink_(done_, total_, what);
}

}  // namespace farscale
