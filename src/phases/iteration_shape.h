// What the iterations of a loop look like, in terms that mean the same at every number of ranks: which MPI functions
// they call, and which long computations they consist of. By its shape a loop found in one run is recognised in others,
// and by its long computations an iteration is split into parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "phases/call_pattern.h"
#include "trace/trace.h"

namespace farscale {

struct RankCut;

// Ratio of lengths up to which two long computations may be turns of an inner loop; chosen as in iteration_shape.cc.
inline constexpr double kSameShare = 1.5;

// A long computation, and what distinguishes it from others.
struct Landmark {
  std::string before, after;  // MPI functions on either side; empty at the edge of the run
  std::string region;         // innermost region of the program that most of it lies in; empty outside all
  double share = 0;           // of an iteration's computation
  std::uint32_t collectives_before = 0, collectives_behind = 0;  // calls of the iteration on either side
  bool is_repeated = false;  // the first of an inner loop, whose turns a run may have more or fewer of

  friend bool operator==(const Landmark&, const Landmark&) = default;
};

enum class PartKind {
  kComputation,  // a long computation and the calls behind it
  kExchange,     // many rounds of messages with little computation between
  kCollectives,  // the same of collectives
};

std::string ToString(PartKind kind);

// From a landmark to the next part.
struct IterationPart {
  std::string name;  // the region it is made of, else its kind, with a number where that is not unique
  PartKind kind = PartKind::kComputation;
  std::size_t landmark = 0;
  bool is_behind = false;  // begins with the calls behind the landmark

  friend bool operator==(const IterationPart&, const IterationPart&) = default;
};

struct IterationShape {
  CallCounts calls;                  // of an iteration
  std::vector<Landmark> landmarks;   // in the order of the iteration
  std::vector<IterationPart> parts;  // two or more, or none: an iteration that is alike throughout

  const IterationPart* FindPart(const std::string& name) const;
  std::vector<std::string> PartNames() const;

  friend bool operator==(const IterationShape&, const IterationShape&) = default;
};

// The shape of the most common iteration. `loop`: at least one iteration on some rank.
IterationShape ShapeOf(const Trace& trace, const std::vector<RankCut>& loop);

}  // namespace farscale
