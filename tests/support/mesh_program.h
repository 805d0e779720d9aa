// Programs on unstructured meshes: who exchanges messages with whom follows from where parts of a domain happen to lie.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "support/spmd_program.h"

namespace farscale::test {

// Parts of a channel, periodic in two dimensions, around places drawn at random, one a rank, in the order of their
// first coordinate. Parts that are nearer to each other than a distance that shrinks with their number are neighbours.
struct MeshParts {
  MeshParts(std::uint64_t seed, std::int32_t ranks);

  struct Neighbour {
    std::int32_t rank = 0;
    double contact = 0;  // 1 for the nearest, 0 for those that hardly touch
  };
  std::vector<std::vector<Neighbour>> neighbours;  // of every rank
};

// Exchanges with all neighbours, more bytes with nearer ones, and a sum. `work`: ticks of computation of a rank, which
// differ by some percent; so many iterations.
std::function<void(SpmdRank&)> MeshProgram(std::uint64_t seed, const std::function<Tick(std::int32_t ranks)>& work,
                                           int iterations);

}  // namespace farscale::test
