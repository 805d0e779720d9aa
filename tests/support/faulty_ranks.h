// The ranks of a program with known faults: what they compute, how long that takes with their faults, and what their
// counters say. How they communicate is the program's [tests/support/faulty_program.h].
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "support/faulty_program.h"
#include "trace/trace_builder.h"

namespace farscale::test {

// In nanoseconds.
inline constexpr double kAssemble = 300'000, kSolve = 600'000, kUpdate = 100'000;
inline constexpr double kIteration = kAssemble + kSolve + kUpdate;
inline constexpr Tick kPost = 200, kFaultyLatency = 2'000, kCollective = 5'000;

class FaultyRanks {
 public:
  explicit FaultyRanks(const FaultyRun& run);

  // Computes in a region, so long without faults.
  void Compute(std::size_t rank, std::size_t iteration, std::uint32_t region, double usual);
  // What a rank does alone with a fault of that kind; false: there is none in this iteration.
  bool ComputeAlone(std::size_t rank, std::size_t iteration);
  void Enter(std::size_t rank, std::uint32_t region);
  void Leave(std::size_t rank, std::uint32_t region);
  // In calls the process runs, but computes nothing to speak of.
  void LeaveAt(std::size_t rank, std::uint32_t region, Tick tick);
  // The rank leaves an allreduce later, by a fault.
  Tick ExitSkew(std::size_t rank) const;
  Trace Finish();

  const FaultyRun& run() const { return run_; }
  std::size_t size() const { return ranks_.size(); }
  Tick now(std::size_t rank) const { return now_[rank]; }
  Tick latest() const;
  RankBuilder& builder(std::size_t rank) { return ranks_[rank]; }
  std::uint32_t world() const { return world_; }

  std::uint32_t main, step, assemble, solve, update, write, isend, irecv, waitall, send, receive, sendrecv, allreduce,
      broadcast, alltoall, gather;

 private:
  struct Burst;
  struct Counts {
    double instructions = 0, cycles = 0, cpu = 0;
  };

  double Noise();
  void Apply(const Fault& fault, std::size_t rank, std::size_t iteration, std::uint32_t region, Burst& burst,
             std::size_t& calls);
  void Spend(std::size_t rank, const Burst& burst);
  void Sample(std::size_t rank);

  const FaultyRun& run_;
  Random random_;
  TraceBuilder builder_;
  std::vector<RankBuilder> ranks_;
  std::vector<Tick> now_;
  std::vector<Counts> counts_;
  std::uint32_t world_ = 0;
  std::uint32_t instructions_ = 0, cycles_ = 0, cpu_time_ = 0;
};

// Patterns without steps that all ranks take at the same time; called by MakeFaulty.
void RunPattern(FaultyRanks& ranks);

}  // namespace farscale::test
