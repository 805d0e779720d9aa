#include "support/faulty_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/random.h"
#include "trace/trace_builder.h"

namespace farscale::test {
namespace {

// In nanoseconds.
constexpr double kAssemble = 300'000, kSolve = 600'000, kUpdate = 100'000;
constexpr double kIteration = kAssemble + kSolve + kUpdate;
constexpr Tick kPost = 200, kFaultyLatency = 2'000, kCollective = 5'000;
constexpr double kIpc = 2, kClock = 3;  // instructions a cycle, cycles a nanosecond

struct Burst {
  double instructions = 0, ipc = kIpc, clock = kClock, stolen = 0;
};

class FaultyProgram {
 public:
  explicit FaultyProgram(const FaultyRun& run) : run_(run), random_(run.seed), now_(run.ranks, 0), counts_(run.ranks) {
    Trace& trace = builder_.trace();
    trace.path = "faulty";
    trace.ticks_per_second = 1e9;
    const auto add = [&](const char* name) { return builder_.AddRegion(name); };
    main_ = add("main");
    step_ = add("step");
    assemble_ = add("assemble");
    solve_ = add("solve");
    update_ = add("update");
    write_ = add("write");
    isend_ = add("MPI_Isend");
    irecv_ = add("MPI_Irecv");
    waitall_ = add("MPI_Waitall");
    allreduce_ = add("MPI_Allreduce");
    bcast_ = add("MPI_Bcast");
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
    }
  }

  Trace Run() {
    for (std::size_t rank = 0; rank < run_.ranks; ++rank) Enter(rank, main_);
    for (std::size_t i = 0; i < run_.iterations; ++i) Iterate(i);
    for (std::size_t rank = 0; rank < run_.ranks; ++rank) {
      Leave(rank, main_);
      builder_.SetTimeline(ranks_[rank]);
    }
    return std::move(builder_).Finish();
  }

 private:
  void Iterate(std::size_t iteration) {
    for (std::size_t rank = 0; rank < run_.ranks; ++rank) {
      if (run_.has_regions) Enter(rank, step_);
      Compute(rank, iteration, assemble_, kAssemble);
    }
    if (run_.has_halo) Exchange();
    for (std::size_t rank = 0; rank < run_.ranks; ++rank) Compute(rank, iteration, solve_, kSolve);
    Write(iteration);
    Allreduce();
    for (std::size_t rank = 0; rank < run_.ranks; ++rank) {
      Compute(rank, iteration, update_, kUpdate);
      if (run_.has_regions) Leave(rank, step_);
    }
  }

  double Noise() {
    if (run_.noise <= 0) return 1;
    switch (run_.noise_kind) {
      case NoiseKind::kNormal: return std::max(0.1, 1 + run_.noise * random_.Normal());
      case NoiseKind::kLogNormal: return std::exp(run_.noise * random_.Normal());
      case NoiseKind::kExponential: return 1 + run_.noise * random_.Exponential();
    }
    return 1;
  }

  void Compute(std::size_t rank, std::size_t iteration, std::uint32_t region, double usual) {
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

  void Apply(const Fault& fault, std::size_t rank, std::size_t iteration, std::uint32_t region, Burst& burst,
             std::size_t& calls) {
    const bool is_here = rank == fault.at, is_solve = region == solve_;
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
        if (is_here && region == assemble_) burst.instructions *= more;
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

  void Write(std::size_t iteration) {
    for (const Fault& fault : run_.faults) {
      const bool takes_turns = fault.kind == FaultKind::kAlternatingRoot;
      if (!takes_turns && fault.kind != FaultKind::kSerialRoot) continue;
      const std::size_t root = takes_turns ? (fault.at + iteration) % run_.ranks : fault.at;
      Enter(root, write_);
      Spend(root, {fault.size * kIteration * kClock * kIpc});
      Leave(root, write_);
      Broadcast(root);
    }
  }

  void Spend(std::size_t rank, const Burst& burst) {
    const double running = burst.instructions / burst.ipc / burst.clock;
    now_[rank] += std::llround(running + burst.stolen);
    counts_[rank].instructions += burst.instructions;
    counts_[rank].cycles += burst.instructions / burst.ipc;
    counts_[rank].cpu += running;
  }

  void Sample(std::size_t rank) {
    if (!run_.has_counters) return;
    ranks_[rank].SetCounter(now_[rank], instructions_, std::llround(counts_[rank].instructions));
    ranks_[rank].SetCounter(now_[rank], cycles_, std::llround(counts_[rank].cycles));
    ranks_[rank].SetCounter(now_[rank], cpu_time_, std::llround(counts_[rank].cpu));
  }

  void Enter(std::size_t rank, std::uint32_t region) {
    Sample(rank);
    ranks_[rank].Enter(now_[rank], region);
  }

  // In calls the process runs, but computes nothing to speak of.
  void Leave(std::size_t rank, std::uint32_t region) {
    Sample(rank);
    ranks_[rank].Leave(now_[rank], region);
  }

  void LeaveAt(std::size_t rank, std::uint32_t region, Tick tick) {
    counts_[rank].cpu += static_cast<double>(tick - now_[rank]);
    counts_[rank].cycles += static_cast<double>(tick - now_[rank]) * kClock;
    counts_[rank].instructions += static_cast<double>(tick - now_[rank]);
    now_[rank] = tick;
    Leave(rank, region);
  }

  void Exchange() {
    const std::size_t count = run_.ranks;
    constexpr std::uint64_t kBytes = 8'000;
    std::vector<Tick> sent(count);
    for (std::size_t rank = 0; rank < count; ++rank) {
      for (std::uint64_t request = 0; request < 2; ++request) {
        Enter(rank, irecv_);
        ranks_[rank].ReceivePost(request);
        LeaveAt(rank, irecv_, now_[rank] + kPost);
      }
      for (std::uint32_t side = 0; side < 2; ++side) {
        const std::size_t to = side == 0 ? (rank + 1) % count : (rank + count - 1) % count;
        Enter(rank, isend_);
        sent[rank] = now_[rank];
        ranks_[rank].SendPost(static_cast<std::uint32_t>(to), world_, side, kBytes, 2 + side);
        LeaveAt(rank, isend_, now_[rank] + kPost);
      }
    }
    for (std::size_t rank = 0; rank < count; ++rank) {
      const std::size_t left = (rank + count - 1) % count, right = (rank + 1) % count;
      Enter(rank, waitall_);
      ranks_[rank].ReceiveComplete(static_cast<std::uint32_t>(left), world_, 0, kBytes, 0);
      ranks_[rank].ReceiveComplete(static_cast<std::uint32_t>(right), world_, 1, kBytes, 1);
      ranks_[rank].SendComplete(2);
      ranks_[rank].SendComplete(3);
      LeaveAt(rank, waitall_, std::max(now_[rank], std::max(sent[left], sent[right]) + kFaultyLatency) + kPost);
    }
  }

  void Allreduce() {
    const Tick latest = std::ranges::max(now_);
    for (std::size_t rank = 0; rank < run_.ranks; ++rank) {
      Tick late = 0;
      for (const Fault& fault : run_.faults) {
        if (fault.kind == FaultKind::kExitSkew && fault.at == rank) late += std::llround(fault.size * kIteration);
      }
      Enter(rank, allreduce_);
      ranks_[rank].Collective(CollectiveKind::kAllreduce, world_, std::nullopt, 8, 8);
      LeaveAt(rank, allreduce_, latest + kCollective + late);
    }
  }

  void Broadcast(std::size_t root) {
    const Tick sent = now_[root];
    for (std::size_t rank = 0; rank < run_.ranks; ++rank) {
      Enter(rank, bcast_);
      ranks_[rank].Collective(CollectiveKind::kBroadcast, world_, static_cast<std::uint32_t>(root), 8, 8);
      LeaveAt(rank, bcast_, std::max(now_[rank], sent) + kCollective);
    }
  }

  struct Counts {
    double instructions = 0, cycles = 0, cpu = 0;
  };

  const FaultyRun& run_;
  Random random_;
  TraceBuilder builder_;
  std::vector<RankBuilder> ranks_;
  std::vector<Tick> now_;
  std::vector<Counts> counts_;
  std::uint32_t main_, step_, assemble_, solve_, update_, write_, isend_, irecv_, waitall_, allreduce_, bcast_, world_;
  std::uint32_t instructions_ = 0, cycles_ = 0, cpu_time_ = 0;
};

}  // namespace

Trace MakeFaulty(const FaultyRun& run) { return FaultyProgram(run).Run(); }

double LengthOf(const FaultyRun& run) {
  const Trace trace = MakeFaulty(run);
  return trace.Seconds(trace.end() - trace.begin());
}

}  // namespace farscale::test
