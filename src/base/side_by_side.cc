#include "base/side_by_side.h"

#include <tbb/global_control.h>

#include <algorithm>
#include <condition_variable>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
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

std::uint64_t AvailableMemory() {
  std::ifstream file("/proc/meminfo");
  std::string name, unit;
  for (std::uint64_t kibibytes = 0; file >> name >> kibibytes; std::getline(file, unit)) {
    if (name == "MemAvailable:") return kibibytes * 1024;
  }
  return 0;
}

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

}  // namespace farscale
