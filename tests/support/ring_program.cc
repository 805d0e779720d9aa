#include "support/ring_program.h"

#include "base/random.h"
#include "trace/trace_builder.h"

namespace farscale::test {
namespace {

struct RingRegions {
  std::uint32_t step, irecv, isend, waitall, world;
};

// One iteration of a rank: from `now` on; returns its end.
Tick AddStep(RankBuilder& rank, const RingRegions& regions, Tick now, Tick work, std::size_t ranks,
             std::uint64_t request) {
  const auto self = static_cast<std::size_t>(rank.rank());
  const auto left = static_cast<std::uint32_t>((self + ranks - 1) % ranks);
  const auto right = static_cast<std::uint32_t>((self + 1) % ranks);
  constexpr std::uint64_t kRingBytes = 8000;
  const auto call = [&](std::uint32_t region, Tick length, const auto& record) {
    rank.Enter(now, region);
    record();
    rank.Leave(now += length, region);
  };
  rank.Enter(now, regions.step);
  now += work;
  call(regions.irecv, 10, [&] { rank.ReceivePost(request); });
  call(regions.irecv, 10, [&] { rank.ReceivePost(request + 1); });
  call(regions.isend, 10, [&] { rank.SendPost(left, regions.world, 1, kRingBytes, request + 2); });
  call(regions.isend, 10, [&] { rank.SendPost(right, regions.world, 2, kRingBytes, request + 3); });
  call(regions.waitall, 60, [&] {
    rank.ReceiveComplete(left, regions.world, 2, kRingBytes, request);
    rank.ReceiveComplete(right, regions.world, 1, kRingBytes, request + 1);
    rank.SendComplete(request + 2);
    rank.SendComplete(request + 3);
  });
  rank.Leave(now, regions.step);
  return now;
}

}  // namespace

Trace MakeRing(std::size_t ranks, std::size_t iterations, std::uint64_t seed) {
  TraceBuilder builder;
  builder.trace().path = "ring";
  builder.trace().ticks_per_second = 1e6;
  RingRegions regions{};
  regions.step = builder.AddRegion("step");
  regions.irecv = builder.AddRegion("MPI_Irecv");
  regions.isend = builder.AddRegion("MPI_Isend");
  regions.waitall = builder.AddRegion("MPI_Waitall");
  regions.world = builder.AddWorld(static_cast<std::int32_t>(ranks));
  Random random(seed);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    RankBuilder events(builder.definitions(), static_cast<std::int32_t>(rank));
    Tick now = 0;
    for (std::size_t i = 0; i < iterations; ++i) {
      const bool is_heavy = (rank + i / 10) % ranks < ranks / 4;
      const double work = (is_heavy ? 3000 : 1000) * (0.95 + 0.1 * random.Uniform());
      now = AddStep(events, regions, now, static_cast<Tick>(work), ranks, 4 * i);
    }
    builder.SetTimeline(events);
  }
  return std::move(builder).Finish();
}

}  // namespace farscale::test
