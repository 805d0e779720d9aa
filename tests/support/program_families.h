// Programs of many kinds with random parameters, whose calls at any number of ranks are known.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/random.h"
#include "support/spmd_program.h"

namespace farscale::test {

// One iteration of a rank, and numbers of ranks that it makes sense for.
struct ProgramFamily {
  std::string name;
  std::string parameters;  // as drawn, to be read by people
  std::function<void(SpmdRank&)> step;
  std::vector<std::int32_t> runs;  // three, rising
  std::int32_t target = 0;
  int dimensions = 1;
};

// Faces (and edges and corners) of one to three dimensions, 1 to 3 neighbours deep, around the ends or not.
ProgramFamily HaloProgram(Random& random);
// Dependencies from the corners of a grid of two or three dimensions, one corner after the other.
ProgramFamily WavefrontProgram(Random& random);
// Shifts by a few ranks and by parts of all, and rings that pass everything on.
ProgramFamily RingProgram(Random& random);
// Exchanges with rank xor 2^k, within all ranks or within rows and columns.
ProgramFamily HypercubeProgram(Random& random);
// One rank gives out work and gathers results.
ProgramFamily MasterProgram(Random& random);
// Levels whose partners are 2^k apart, on every 2^k-th rank.
ProgramFamily MultigridProgram(Random& random);
// Two of the above after each other.
ProgramFamily SeveralLoopsProgram(Random& random);

// Two iterations of a step, which is called for each.
std::function<void(SpmdRank&)> Iterations(const std::function<void(SpmdRank&)>& step, int count = 2);
// Iterations of two kinds that take turns.
std::function<void(SpmdRank&)> IterationsInTurns(const std::function<void(SpmdRank&)>& often,
                                                 const std::function<void(SpmdRank&)>& seldom, int period, int count);

}  // namespace farscale::test
