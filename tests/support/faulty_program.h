// Runs of a program with known faults: who is slow, when, and why, and the same runs without.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/trace.h"

namespace farscale::test {

enum class FaultKind {
  kSlowRank,         // more instructions in "solve"
  kSlowNode,         // its clock runs slower in everything
  kMovingHotSpot,    // more instructions in "solve" on another rank in every iteration
  kLateSender,       // more instructions in "assemble", three calls before others wait for it
  kMoreCalls,        // calls "solve" more often
  kUnevenWork,       // from few instructions on the first rank to many on the last
  kCacheMisses,      // fewer instructions a cycle in "solve"
  kInterruption,     // does not run for a while, once
  kSerialRoot,       // computes "write" alone, while others wait for its broadcast
  kAlternatingRoot,  // so does another rank in every iteration
  kExitSkew,         // leaves the allreduce late
  kFromTime,         // more instructions in "solve" from the middle of the run on
  kPeriodic,         // does not run for a while in every fifth iteration
  kStartUp,          // more instructions in "solve" of the first iteration, on a quarter of the ranks
  kNoisyRank,        // does not run for a while, in iterations chosen at random
};

struct Fault {
  FaultKind kind = FaultKind::kSlowRank;
  std::size_t at = 0;  // rank, or node
  double size = 0.25;  // of the time of what is slow, or of an iteration
};

// How ranks communicate in an iteration.
enum class FaultyPattern {
  kHaloAndReduce,  // messages to both neighbours of a ring, then an allreduce
  kRing,           // shifts around a ring, twice, and nothing that all ranks take part in
  kAllToAll,       // all-to-all, twice
  kMasterWorker,   // rank 0 sends a task to everyone and receives the results; it solves nothing itself
  kHalo2d,         // messages in a grid without wrap-around, an allreduce in every tenth iteration
  kWavefront,      // blocks that go through a grid from corner to corner, in turn
  kTree,           // messages up a binomial tree and down again
  kPipeline,       // from each rank to the next
  kButterfly,      // exchange with ranks at distances 1, 2, 4 ...; ranks are a power of two
  kOddEven,        // exchange with one neighbour, then the other one
  kGather,         // to rank 0, which broadcasts
};

enum class NoiseKind { kNormal, kLogNormal, kExponential };

struct FaultyRun {
  std::size_t ranks = 4;
  std::size_t iterations = 30;
  std::size_t ranks_on_node = 2;
  std::vector<Fault> faults;
  double noise = 0;  // standard deviation of computation, as a share
  NoiseKind noise_kind = NoiseKind::kNormal;
  bool has_counters = true;  // instructions, cycles, CPU time
  FaultyPattern pattern = FaultyPattern::kHaloAndReduce;
  bool has_halo = true;     // of that pattern; else only allreduces
  bool has_regions = true;  // "step" around an iteration, "assemble", "solve" and "update" in it
  std::uint64_t seed = 1;
};

Trace MakeFaulty(const FaultyRun& run);

// The length of the whole run, in seconds.
double LengthOf(const FaultyRun& run);

}  // namespace farscale::test
