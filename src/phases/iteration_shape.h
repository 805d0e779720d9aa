// The shape of a loop's iterations, in terms that mean the same at every number of ranks: which MPI functions
// they call, and which long computations they consist of. By its shape a loop found in one run is recognised in others,
// and by its long computations an iteration is split into parts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace farscale {

struct RankCut;
struct Trace;

// Ratio of lengths up to which two long computations may be turns of an inner loop; chosen as in iteration_shape.cc.
inline constexpr double kSameShare = 1.5;

// A long computation, and what distinguishes it from others.
struct Landmark {
  std::string before, after;  // MPI functions on either side; empty at the edge of the run
  std::string region;         // innermost region of the program that most of it lies in; empty outside all
  double share = 0;           // share of an iteration's computation
  std::uint32_t collectives_before = 0, collectives_behind = 0;  // calls of the iteration on either side
  bool is_repeated = false;  // the first of an inner loop, whose turns a run may have more or fewer of

  friend bool operator==(const Landmark&, const Landmark&) = default;
};

// From a landmark to the next part.
struct IterationPart {
  std::string name;  // the region it is made of, else its kind, with a number where that is not unique
  // A long computation and the calls behind it: "computation"; many rounds of messages or of collectives with little
  // computation between: "exchange", "collectives".
  std::string kind;
  std::size_t landmark = 0;
  bool is_behind = false;  // begins with the calls behind the landmark

  friend bool operator==(const IterationPart&, const IterationPart&) = default;
};

// Number of calls by function, calls of one function in a row counting once: a neighbour more or less does not
// change it. By name, since traces number functions differently.
using CallCounts = std::map<std::string, double>;

struct IterationShape {
  CallCounts calls;                  // in one iteration
  std::vector<Landmark> landmarks;   // in the order of the iteration
  std::vector<IterationPart> parts;  // two or more, or none: an iteration that is alike throughout

  const IterationPart* FindPart(const std::string& name) const;
  std::vector<std::string> PartNames() const;

  friend bool operator==(const IterationShape&, const IterationShape&) = default;
};

// The shape of the most common iteration. `loop`: at least one iteration on some rank.
IterationShape ShapeOf(const Trace& trace, const std::vector<RankCut>& loop);

// Iterations that recur at a fixed distance and are heavier on most ranks: work of the program, such as output or a
// rebuilt list, not a disturbance.

struct HeavyIterations {
  std::size_t every = 0;  // iterations; 0: there are none
  std::size_t first = 0;  // counted from 0
  double level = 1;       // their mean load over that of the others
  double share = 0;       // beyond the others, of all load

  bool Has(std::size_t iteration) const { return every > 0 && iteration >= first && (iteration - first) % every == 0; }
  friend bool operator==(const HeavyIterations&, const HeavyIterations&) = default;
};

// The load of a rank by iteration; empty for ranks without any, else as long on all ranks.
using LoadOfRank = std::function<std::span<const double>(std::size_t rank)>;

// Three must recur, at one distance of two or more and without a gap, and take 10 % longer than the rank's median on
// most of the ranks with any load.
HeavyIterations FindHeavyIterations(std::size_t ranks, const LoadOfRank& load_of);

}  // namespace farscale
