#include "base/parallel.h"

#include <tbb/global_control.h>

#include <algorithm>
#include <condition_variable>
#include <thread>

#include "base/search.h"

namespace farscale {

void RunSideBySide(const std::vector<Piece>& pieces, std::size_t most, std::uint64_t memory) {
  if (most < 2) {
    for (const auto& [needs, run] : pieces) run();
    return;
  }
  using tbb::global_control;
  const std::size_t all_threads = ThreadsAtOnce();
  std::mutex mutex;
  std::condition_variable has_ended;
  std::size_t count = 0;   // pieces that are running
  std::uint64_t used = 0;  // their memory
  std::unique_ptr<global_control> limit;
  // The threads of the pieces take part in their loops, which TBB counts as one of those that it may use.
  const auto share_threads = [&] {
    limit.reset();
    if (count < 2) return;
    const std::size_t left = all_threads > count ? all_threads - count : 0;
    limit = std::make_unique<global_control>(global_control::max_allowed_parallelism, left + 1);
  };
  std::vector<std::jthread> threads;
  for (const auto& [needs, run] : pieces) {
    std::unique_lock lock(mutex);
    has_ended.wait(lock, [&] { return count == 0 || (count < most && used + needs <= memory); });
    ++count;
    used += needs;
    share_threads();
    lock.unlock();
    threads.emplace_back([&] {
      run();
      const std::lock_guard at_end(mutex);
      --count;
      used -= needs;
      share_threads();
      has_ended.notify_all();
    });
  }
}

std::vector<std::vector<std::size_t>> RoundsThatFit(const std::vector<std::uint64_t>& sizes, std::uint64_t memory) {
  std::vector<std::vector<std::size_t>> rounds;
  std::vector<std::uint64_t> left;
  for (const std::size_t i : LargestFirst(sizes)) {
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
