#include "support/loaded_program.h"

#include <algorithm>
#include <optional>

#include "base/random.h"
#include "trace/trace_builder.h"

namespace farscale::test {
namespace {

constexpr Tick kCall = 2;  // microseconds of a call that does not wait
constexpr std::uint64_t kBytes = 8000;

struct LoadedRegions {
  std::optional<std::uint32_t> step, work;
  std::uint32_t barrier, allreduce, send, receive, init, finalize, world;
};

class LoadedProgram {
 public:
  LoadedProgram(const Loads& loads, Synchronization synchronization, bool marked)
      : loads_(loads), synchronization_(synchronization) {
    builder_.trace().path = "loaded";
    builder_.trace().ticks_per_second = 1e6;
    if (marked) regions_.step = builder_.AddRegion("step");
    if (marked) regions_.work = builder_.AddRegion("work");
    regions_.barrier = builder_.AddRegion("MPI_Barrier");
    regions_.allreduce = builder_.AddRegion("MPI_Allreduce");
    regions_.send = builder_.AddRegion("MPI_Send");
    regions_.receive = builder_.AddRegion("MPI_Recv");
    regions_.init = builder_.AddRegion("MPI_Init");
    regions_.finalize = builder_.AddRegion("MPI_Finalize");
    regions_.world = builder_.AddWorld(static_cast<std::int32_t>(loads.size()));
    for (std::size_t rank = 0; rank < loads.size(); ++rank) {
      ranks_.emplace_back(builder_.definitions(), static_cast<std::int32_t>(rank));
    }
    now_.assign(loads.size(), 0);
  }

  Trace Run(Tick tail) {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      ranks_[rank].Enter(now_[rank], regions_.init);
      ranks_[rank].Leave(now_[rank] += kCall, regions_.init);
    }
    for (std::size_t i = 0; i < loads_.front().size(); ++i) AddIteration(i);
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (tail > 0) {
        ranks_[rank].Enter(now_[rank] += tail, regions_.finalize);
        ranks_[rank].Leave(now_[rank] += kCall, regions_.finalize);
      }
      builder_.SetTimeline(ranks_[rank]);
    }
    return std::move(builder_).Finish();
  }

 private:
  void AddIteration(std::size_t iteration) {
    std::vector<Tick> ready(ranks_.size());  // when the message to the next rank is on its way
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (regions_.step) ranks_[rank].Enter(now_[rank], *regions_.step);
      if (synchronization_ == Synchronization::kChain && rank > 0) Receive(rank, rank - 1, ready[rank - 1]);
      Compute(rank, loads_[rank][iteration]);
      ready[rank] = now_[rank];
      if (synchronization_ == Synchronization::kChain && rank + 1 < ranks_.size()) Send(rank, rank + 1);
    }
    if (synchronization_ == Synchronization::kHalo) {
      Exchange(ready);
    } else if (synchronization_ != Synchronization::kChain) {
      Synchronize(*std::max_element(ready.begin(), ready.end()));
    }
    if (!regions_.step) return;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) ranks_[rank].Leave(now_[rank], *regions_.step);
  }

  void Compute(std::size_t rank, Tick load) {
    if (regions_.work) ranks_[rank].Enter(now_[rank], *regions_.work);
    now_[rank] += load;
    if (regions_.work) ranks_[rank].Leave(now_[rank], *regions_.work);
  }

  void Send(std::size_t rank, std::size_t to) {
    ranks_[rank].Enter(now_[rank], regions_.send);
    ranks_[rank].Send(static_cast<std::uint32_t>(to), regions_.world, 0, kBytes);
    ranks_[rank].Leave(now_[rank] += kCall, regions_.send);
  }

  void Receive(std::size_t rank, std::size_t from, Tick sent) {
    ranks_[rank].Enter(now_[rank], regions_.receive);
    ranks_[rank].Receive(static_cast<std::uint32_t>(from), regions_.world, 0, kBytes);
    ranks_[rank].Leave(now_[rank] = std::max(now_[rank], sent) + kCall, regions_.receive);
  }

  void Exchange(const std::vector<Tick>& ready) {
    const std::size_t count = ranks_.size();
    for (std::size_t rank = 0; rank < count; ++rank) {
      for (const std::size_t other : {(rank + 1) % count, (rank + count - 1) % count}) Send(rank, other);
    }
    for (std::size_t rank = 0; rank < count; ++rank) {
      for (const std::size_t other : {(rank + 1) % count, (rank + count - 1) % count}) {
        Receive(rank, other, ready[other] + kCall);
      }
    }
  }

  void Synchronize(Tick latest) {
    const bool is_barrier = synchronization_ == Synchronization::kBarrier;
    const std::uint32_t region = is_barrier ? regions_.barrier : regions_.allreduce;
    const CollectiveKind kind = is_barrier ? CollectiveKind::kBarrier : CollectiveKind::kAllreduce;
    const std::uint64_t bytes = is_barrier ? 0 : 8;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      ranks_[rank].Enter(now_[rank], region);
      ranks_[rank].Collective(kind, regions_.world, std::nullopt, bytes, bytes);
      ranks_[rank].Leave(now_[rank] = latest + kCall, region);
    }
  }

  const Loads& loads_;
  Synchronization synchronization_;
  TraceBuilder builder_;
  LoadedRegions regions_;
  std::vector<RankBuilder> ranks_;
  std::vector<Tick> now_;
};

}  // namespace

Trace MakeLoaded(const Loads& loads, Synchronization synchronization, bool marked, Tick tail) {
  return LoadedProgram(loads, synchronization, marked).Run(tail);
}

Loads MakeLoads(Movement movement, std::size_t ranks, std::size_t iterations, std::uint64_t seed) {
  Random random(seed);
  Loads loads(ranks, std::vector<Tick>(iterations));
  std::vector<double> level(ranks, 1);
  for (std::size_t i = 0; i < iterations; ++i) {
    std::size_t first = 0;
    if (movement == Movement::kDrifting) first = i / 2;
    if (movement == Movement::kAlternating) first = random.Index(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const bool is_heavy = (rank + ranks - first % ranks) % ranks < ranks / 4;
      if (movement == Movement::kRandomWalk) {
        level[rank] = std::clamp(level[rank] + 0.4 * (random.Uniform() - 0.5), 0.2, 2.0);
      } else {
        level[rank] = is_heavy ? 2 : 1;
      }
      loads[rank][i] = static_cast<Tick>(1000 * level[rank] * (0.99 + 0.02 * random.Uniform()));
    }
  }
  return loads;
}

}  // namespace farscale::test
