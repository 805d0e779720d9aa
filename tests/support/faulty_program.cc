#include "support/faulty_program.h"

#include <algorithm>
#include <optional>

#include "support/faulty_ranks.h"

namespace farscale::test {
namespace {

class HaloAndReduce {
 public:
  explicit HaloAndReduce(FaultyRanks& ranks) : ranks_(ranks), run_(ranks.run()) {}

  void Run() {
    for (std::size_t i = 0; i < run_.iterations; ++i) Iterate(i);
  }

 private:
  void Iterate(std::size_t iteration) {
    for (std::size_t rank = 0; rank < run_.ranks; ++rank) {
      if (run_.has_regions) ranks_.Enter(rank, ranks_.step);
      ranks_.Compute(rank, iteration, ranks_.assemble, kAssemble);
    }
    if (run_.has_halo) Exchange();
    for (std::size_t rank = 0; rank < run_.ranks; ++rank) ranks_.Compute(rank, iteration, ranks_.solve, kSolve);
    for (std::size_t rank = 0; rank < run_.ranks; ++rank) {
      if (ranks_.ComputeAlone(rank, iteration)) Broadcast(rank);
    }
    Allreduce();
    for (std::size_t rank = 0; rank < run_.ranks; ++rank) {
      ranks_.Compute(rank, iteration, ranks_.update, kUpdate);
      if (run_.has_regions) ranks_.Leave(rank, ranks_.step);
    }
  }

  void Exchange() {
    const std::size_t count = run_.ranks;
    constexpr std::uint64_t kBytes = 8'000;
    std::vector<Tick> sent(count);
    for (std::size_t rank = 0; rank < count; ++rank) {
      for (std::uint64_t request = 0; request < 2; ++request) {
        ranks_.Enter(rank, ranks_.irecv);
        ranks_.builder(rank).ReceivePost(request);
        ranks_.LeaveAt(rank, ranks_.irecv, ranks_.now(rank) + kPost);
      }
      for (std::uint32_t side = 0; side < 2; ++side) {
        const std::size_t to = side == 0 ? (rank + 1) % count : (rank + count - 1) % count;
        ranks_.Enter(rank, ranks_.isend);
        sent[rank] = ranks_.now(rank);
        ranks_.builder(rank).SendPost(static_cast<std::uint32_t>(to), ranks_.world(), side, kBytes, 2 + side);
        ranks_.LeaveAt(rank, ranks_.isend, ranks_.now(rank) + kPost);
      }
    }
    for (std::size_t rank = 0; rank < count; ++rank) {
      const std::size_t left = (rank + count - 1) % count, right = (rank + 1) % count;
      RankBuilder& builder = ranks_.builder(rank);
      ranks_.Enter(rank, ranks_.waitall);
      builder.ReceiveComplete(static_cast<std::uint32_t>(left), ranks_.world(), 0, kBytes, 0);
      builder.ReceiveComplete(static_cast<std::uint32_t>(right), ranks_.world(), 1, kBytes, 1);
      builder.SendComplete(2);
      builder.SendComplete(3);
      const Tick arrived = std::max(sent[left], sent[right]) + kFaultyLatency;
      ranks_.LeaveAt(rank, ranks_.waitall, std::max(ranks_.now(rank), arrived) + kPost);
    }
  }

  void Allreduce() {
    const Tick latest = ranks_.latest();
    for (std::size_t rank = 0; rank < run_.ranks; ++rank) {
      ranks_.Enter(rank, ranks_.allreduce);
      ranks_.builder(rank).Collective(CollectiveKind::kAllreduce, ranks_.world(), std::nullopt, 8, 8);
      ranks_.LeaveAt(rank, ranks_.allreduce, latest + kCollective + ranks_.ExitSkew(rank));
    }
  }

  void Broadcast(std::size_t root) {
    const Tick sent = ranks_.now(root);
    for (std::size_t rank = 0; rank < run_.ranks; ++rank) {
      ranks_.Enter(rank, ranks_.broadcast);
      ranks_.builder(rank).Collective(CollectiveKind::kBroadcast, ranks_.world(), static_cast<std::uint32_t>(root), 8,
                                      8);
      ranks_.LeaveAt(rank, ranks_.broadcast, std::max(ranks_.now(rank), sent) + kCollective);
    }
  }

  FaultyRanks& ranks_;
  const FaultyRun& run_;
};

}  // namespace

Trace MakeFaulty(const FaultyRun& run) {
  FaultyRanks ranks(run);
  if (run.pattern == FaultyPattern::kHaloAndReduce) {
    HaloAndReduce(ranks).Run();
  } else {
    RunPattern(ranks);
  }
  return ranks.Finish();
}

double LengthOf(const FaultyRun& run) {
  const Trace trace = MakeFaulty(run);
  return trace.Seconds(trace.end() - trace.begin());
}

}  // namespace farscale::test
