// The one way in which work is spread over threads.
#pragma once

#include <cstddef>
#include <memory>

namespace farscale {

namespace parallel_internal {
// Calls call(body, i) for every i below count, on the threads of TBB.
void ForEachIndex(std::size_t count, void (*call)(const void* body, std::size_t i), const void* body);
}  // namespace parallel_internal

// The most bodies of one loop that run at the same time.
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

}  // namespace farscale
