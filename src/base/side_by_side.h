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

}  // namespace farscale
