// The one way in which work is spread over threads: loops, and large pieces of work beside each other within one budget
// of threads and memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace farscale {

namespace parallel_internal {
// Calls call(body, i) for every i below count, on the threads of TBB.
void ForEachIndex(std::size_t count, void (*call)(const void* body, std::size_t i), const void* body);
}  // namespace parallel_internal

// The number of threads that loops may use together: the most bodies of one loop that run at the same time.
std::size_t ThreadsAtOnce();

// Calls body(i) for every i below count, several at a time and in any order; returns when all are done. An exception
// of the body is thrown here. Each index is a task of its own, taken up roughly from the first on.
template <typename Body>
void ParallelFor(std::size_t count, const Body& body) {
  parallel_internal::ForEachIndex(
      count, [](const void* erased, std::size_t i) { (*static_cast<const Body*>(erased))(i); }, std::addressof(body));
}

// Calls body(first, end) for blocks that together are the numbers below count. For bodies so short that a task for each
// would take longer than they do.
template <typename Body>
void ParallelForBlocks(std::size_t count, const Body& body) {
  constexpr std::size_t kBlock = 1024;  // chosen: a task costs about as much as one short body
  ParallelFor((count + kBlock - 1) / kBlock, [&](std::size_t block) {
    body(block * kBlock, block * kBlock + kBlock < count ? block * kBlock + kBlock : count);
  });
}

// A piece of work: bytes of memory that it is expected to take, and what runs it, which throws nothing.
using Piece = std::pair<std::uint64_t, std::function<void()>>;

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
