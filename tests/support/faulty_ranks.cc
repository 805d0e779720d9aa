#include "support/faulty_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace farscale::test {
namespace {

constexpr double kIpc = 2, kClock = 3;  // instructions a cycle, cycles a nanosecond

}  // namespace

struct FaultyRanks::Burst {
  double instructions = 0, ipc = kIpc, clock = kClock, stolen = 0;
};

FaultyRanks::FaultyRanks(const FaultyRun& run) : run_(run), random_(run.seed), now_(run.ranks, 0), counts_(run.ranks) {
  Trace& trace = builder_.trace();
  trace.path = "faulty";
  trace.ticks_per_second = 1e9;
  const auto add = [&](const char* name) { return builder_.AddRegion(name); };
  main = add("main");
  step = add("step");
  assemble = add("assemble");
  solve = add("solve");
  update = add("update");
  write = add("write");
  isend = add("MPI_Isend");
  irecv = add("MPI_Irecv");
  waitall = add("MPI_Waitall");
  send = add("MPI_Send");
  receive = add("MPI_Recv");
  sendrecv = add("MPI_Sendrecv");
  allreduce = add("MPI_Allreduce");
  broadcast = add("MPI_Bcast");
  alltoall = add("MPI_Alltoall");
  gather = add("MPI_Gather");
  world_ = builder_.AddWorld(static_cast<std::int32_t>(run.ranks));
  trace.nodes.clear();
  for (std::size_t rank = 0; rank < run.ranks; ++rank) {
    const std::size_t node = rank / run.ranks_on_node;
    trace.ranks[rank].node = static_cast<std::int32_t>(node);
    if (node == trace.nodes.size()) trace.nodes.push_back(fmt::format("node{}", node));
  }
  if (run.has_counters) {
    instructions_ = builder_.AddCounter({"PAPI_TOT_INS", "", "#"});
    cycles_ = builder_.AddCounter({"PAPI_TOT_CYC", "", "#"});
    cpu_time_ = builder_.AddCounter({"CPU_TIME", "", "ns"});
  }
  for (std::size_t rank = 0; rank < run.ranks; ++rank) {
    ranks_.emplace_back(builder_.definitions(), static_cast<std::int32_t>(rank));
    Enter(rank, main);
  }
}

Trace FaultyRanks::Finish() {
  for (std::size_t rank = 0; rank < size(); ++rank) {
    Leave(rank, main);
    builder_.SetTimeline(ranks_[rank]);
  }
  return std::move(builder_).Finish();
}

Tick FaultyRanks::latest() const { return std::ranges::max(now_); }

double FaultyRanks::Noise() {
  if (run_.noise <= 0) return 1;
  switch (run_.noise_kind) {
    case NoiseKind::kNormal: return std::max(0.1, 1 + run_.noise * random_.Normal());
    case NoiseKind::kLogNormal: return std::exp(run_.noise * random_.Normal());
    case NoiseKind::kExponential: return 1 + run_.noise * random_.Exponential();
  }
  return 1;
}

void FaultyRanks::Compute(std::size_t rank, std::size_t iteration, std::uint32_t region, double usual) {
  Burst burst;
  burst.instructions = usual * kClock * kIpc;
  burst.ipc /= Noise();
  std::size_t calls = 1;
  for (const Fault& fault : run_.faults) Apply(fault, rank, iteration, region, burst, calls);
  for (std::size_t call = 0; call < calls; ++call) {
    if (run_.has_regions) Enter(rank, region);
    Spend(rank, burst);
    if (run_.has_regions) Leave(rank, region);
    burst.stolen = 0;
  }
}

void FaultyRanks::Apply(const Fault& fault, std::size_t rank, std::size_t iteration, std::uint32_t region, Burst& burst,
                        std::size_t& calls) {
  const bool is_here = rank == fault.at, is_solve = region == solve;
  const double more = 1 + fault.size;
  switch (fault.kind) {
    case FaultKind::kSlowRank:
      if (is_here && is_solve) burst.instructions *= more;
      break;
    case FaultKind::kSlowNode:
      if (rank / run_.ranks_on_node == fault.at) burst.clock /= more;
      break;
    case FaultKind::kMovingHotSpot:
      if (is_solve && rank == (fault.at + iteration) % run_.ranks) burst.instructions *= more;
      break;
    case FaultKind::kLateSender:
      if (is_here && region == assemble) burst.instructions *= more;
      break;
    case FaultKind::kMoreCalls:
      if (is_here && is_solve) calls += static_cast<std::size_t>(fault.size);
      break;
    case FaultKind::kUnevenWork:
      if (is_solve) {
        const double place = static_cast<double>(rank) / static_cast<double>(run_.ranks - 1);
        burst.instructions *= 1 + fault.size * (2 * place - 1);
      }
      break;
    case FaultKind::kCacheMisses:
      if (is_here && is_solve) burst.ipc /= more;
      break;
    case FaultKind::kInterruption:
      if (is_here && is_solve && iteration == run_.iterations / 2)
        burst.stolen += fault.size * kIteration * static_cast<double>(run_.iterations);
      break;
    case FaultKind::kFromTime:
      if (is_here && is_solve && iteration >= run_.iterations / 2) burst.instructions *= more;
      break;
    case FaultKind::kPeriodic:
      if (is_here && is_solve && iteration % 5 == 2) burst.stolen += fault.size * kIteration;
      break;
    case FaultKind::kStartUp:
      if (rank % 4 == fault.at % 4 && is_solve && iteration == 0) burst.instructions *= 1 + fault.size * 10;
      break;
    case FaultKind::kNoisyRank:
      if (is_here && is_solve && random_.Uniform() < 0.3) burst.stolen += fault.size * kIteration;
      break;
    default: break;
  }
}

bool FaultyRanks::ComputeAlone(std::size_t rank, std::size_t iteration) {
  for (const Fault& fault : run_.faults) {
    const bool takes_turns = fault.kind == FaultKind::kAlternatingRoot;
    if (!takes_turns && fault.kind != FaultKind::kSerialRoot) continue;
    if (rank != (takes_turns ? (fault.at + iteration) % size() : fault.at)) continue;
    Enter(rank, write);
    Spend(rank, {fault.size * kIteration * kClock * kIpc});
    Leave(rank, write);
    return true;
  }
  return false;
}

Tick FaultyRanks::ExitSkew(std::size_t rank) const {
  Tick late = 0;
  for (const Fault& fault : run_.faults) {
    if (fault.kind == FaultKind::kExitSkew && fault.at == rank) late += std::llround(fault.size * kIteration);
  }
  return late;
}

void FaultyRanks::Spend(std::size_t rank, const Burst& burst) {
  const double running = burst.instructions / burst.ipc / burst.clock;
  now_[rank] += std::llround(running + burst.stolen);
  counts_[rank].instructions += burst.instructions;
  counts_[rank].cycles += burst.instructions / burst.ipc;
  counts_[rank].cpu += running;
}

void FaultyRanks::Sample(std::size_t rank) {
  if (!run_.has_counters) return;
  ranks_[rank].SetCounter(now_[rank], instructions_, std::llround(counts_[rank].instructions));
  ranks_[rank].SetCounter(now_[rank], cycles_, std::llround(counts_[rank].cycles));
  ranks_[rank].SetCounter(now_[rank], cpu_time_, std::llround(counts_[rank].cpu));
}

void FaultyRanks::Enter(std::size_t rank, std::uint32_t region) {
  Sample(rank);
  ranks_[rank].Enter(now_[rank], region);
}

void FaultyRanks::Leave(std::size_t rank, std::uint32_t region) {
  Sample(rank);
  ranks_[rank].Leave(now_[rank], region);
}

void FaultyRanks::LeaveAt(std::size_t rank, std::uint32_t region, Tick tick) {
  counts_[rank].cpu += static_cast<double>(tick - now_[rank]);
  counts_[rank].cycles += static_cast<double>(tick - now_[rank]) * kClock;
  counts_[rank].instructions += static_cast<double>(tick - now_[rank]);
  now_[rank] = tick;
  Leave(rank, region);
}

}  // namespace farscale::test
