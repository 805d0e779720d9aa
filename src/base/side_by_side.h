// Large pieces of work beside each other, within one budget of threads and memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace farscale {

struct Piece {
  std::uint64_t memory = 0;   // bytes that it is expected to take
  std::function<void()> run;  // throws nothing
};

// How many threads loops may use together.
std::size_t ThreadsOfLoops();
// Bytes of memory that programs may still take; 0 where the system does not say.
std::uint64_t AvailableMemory();

// Runs all pieces, each on a thread of its own, begun in their order. So many run at a time at most, and as many as
// take no more than so many bytes together; one always runs. What loops within the pieces use besides are the threads
// of loops that are left, so that no more run than without this.
void RunSideBySide(const std::vector<Piece>& pieces, std::size_t most, std::uint64_t memory);

}  // namespace farscale
