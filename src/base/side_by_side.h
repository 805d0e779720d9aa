// Large pieces of work beside each other, within one budget of threads and memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace farscale {

struct Piece {
  std::uint64_t memory = 0;   // bytes that it is expected to take
  std::function<void()> run;  // throws nothing
};

// The number of threads that loops may use together.
std::size_t ThreadsOfLoops();

// Runs all pieces, each on a thread of its own, begun in their order. So many run at a time at most, and as many as
// take no more than so many bytes together; one always runs. What loops within the pieces use besides are the threads
// of loops that are left, so that no more run than without this.
void RunSideBySide(const std::vector<Piece>& pieces, std::size_t most, std::uint64_t memory);

// Pieces of so many bytes, in rounds that fit into the memory, one after the other: the largest pieces first, smaller
// ones beside them. What is larger than the memory has a round of its own. One round where all fit; within a round
// pieces keep their order.
std::vector<std::vector<std::size_t>> RoundsThatFit(const std::vector<std::uint64_t>& sizes, std::uint64_t memory);

// The progress of work in several steps, for people who wait for it.

// Called from any thread but never twice at once: how many of how many steps are done, and what is being done or which
// step was done last. 0 of them when work begins.
using ProgressSink = std::function<void(std::size_t done, std::size_t total, const std::string& what)>;

// Counts the steps of one piece of work. A null sink is fine.
class ProgressCount {
 public:
  // Reports that the work begins.
  ProgressCount(const ProgressSink& sink, std::size_t total, const std::string& what);
  void Done(const std::string& what);

 private:
  const ProgressSink& sink_;
  std::size_t done_ = 0, total_;
  std::mutex mutex_;
};

// Work of a single step, in a scope.
class ProgressStep {
 public:
  ProgressStep(ProgressSink sink, const std::string& what) : sink_(std::move(sink)), count_(sink_, 1, what) {}
  ~ProgressStep() { count_.Done(""); }
  ProgressStep(const ProgressStep&) = delete;
  ProgressStep& operator=(const ProgressStep&) = delete;

 private:
  ProgressSink sink_;
  ProgressCount count_;
};

}  // namespace farscale
