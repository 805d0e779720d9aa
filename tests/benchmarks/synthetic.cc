#include "benchmarks/synthetic.h"

#include <algorithm>

#include "support/otf2_archive.h"
#include "trace/trace_builder.h"

namespace farscale::bench {

int Distance(int iteration, int ranks) { return std::max(1, std::min(ranks - 1, 1 << (iteration % 8))); }

std::string WriteStencil(const std::filesystem::path& folder, int ranks, int iterations) {
  test::Otf2Archive archive(folder, "traces");
  archive.AddWorld(ranks);
  const auto counters =
      archive.AddMetricClass({"PAPI_TOT_INS", "PAPI_TOT_CYC"}, OTF2_METRIC_ACCUMULATED_START, OTF2_TYPE_UINT64);
  const auto main = archive.Region("main"), step = archive.Region("step"), irecv = archive.Region("MPI_Irecv"),
             isend = archive.Region("MPI_Isend"), waitall = archive.Region("MPI_Waitall"),
             allreduce = archive.Region("MPI_Allreduce");
  for (int rank = 0; rank < ranks; ++rank) {
    auto events = archive.Location(static_cast<std::uint64_t>(rank));
    Lengths lengths(static_cast<std::uint64_t>(rank));
    std::uint64_t t = 1000000, instructions = 0, cycles = 0;
    const auto edge = [&] { events.MetricUnsigned(t, counters, {instructions, cycles}); };
    const auto compute = [&] {
      const std::uint64_t length = lengths.Next();
      t += length;
      instructions += 3 * length;
      cycles += 2 * length;
    };
    edge();
    events.Enter(t, main);
    for (int i = 0; i < iterations; ++i) {
      const int distance = Distance(i, ranks);
      const auto up = static_cast<std::uint32_t>((rank + distance) % ranks);
      const auto down = static_cast<std::uint32_t>((rank + ranks - distance) % ranks);
      const std::uint64_t request = 2 * static_cast<std::uint64_t>(i);
      edge();
      events.Enter(t, step);
      compute();
      edge();
      events.Enter(t, irecv).IrecvRequest(t, request);
      t += 200;
      edge();
      events.Leave(t, irecv);
      t += 100;
      edge();
      events.Enter(t, isend).Isend(t, up, 0, 7, 8192, request + 1);
      t += 300;
      edge();
      events.Leave(t, isend);
      compute();
      edge();
      events.Enter(t, waitall);
      t += 900;
      events.Irecv(t, down, 0, 7, 8192, request).IsendComplete(t, request + 1);
      edge();
      events.Leave(t, waitall);
      if (i % 8 == 7) {
        edge();
        events.Enter(t, allreduce);
        t += 2500;
        events.Collective(t, OTF2_COLLECTIVE_OP_ALLREDUCE, 0, OTF2_UNDEFINED_UINT32, 8, 8);
        edge();
        events.Leave(t, allreduce);
      }
      edge();
      events.Leave(t, step);
    }
    edge();
    events.Leave(t, main);
  }
  return archive.Close();
}

Trace MakeStencil(int ranks, std::size_t calls) {
  TraceBuilder builder;
  const auto irecv = builder.AddRegion("MPI_Irecv"), send = builder.AddRegion("MPI_Send"),
             wait = builder.AddRegion("MPI_Wait"), allreduce = builder.AddRegion("MPI_Allreduce");
  const auto world = builder.AddWorld(ranks);
  const int iterations = static_cast<int>(std::max<std::size_t>(1, calls / (3 * static_cast<std::size_t>(ranks))));
  for (int rank = 0; rank < ranks; ++rank) {
    RankBuilder timeline(builder.definitions(), rank);
    Lengths lengths(static_cast<std::uint64_t>(rank));
    Tick t = 0;
    const auto compute = [&] { t += static_cast<Tick>(lengths.Next()); };
    for (int i = 0; i < iterations; ++i) {
      const int distance = Distance(i, ranks);
      const auto request = static_cast<std::uint64_t>(i);
      compute();
      timeline.Enter(t, irecv);
      timeline.ReceivePost(request);
      timeline.Leave(t += 200, irecv);
      timeline.Enter(t += 100, send);
      timeline.Send(static_cast<std::uint32_t>((rank + distance) % ranks), world, 7, 8192);
      timeline.Leave(t += 300, send);
      compute();
      timeline.Enter(t, wait);
      timeline.ReceiveComplete(static_cast<std::uint32_t>((rank + ranks - distance) % ranks), world, 7, 8192, request);
      timeline.Leave(t += 900, wait);
      if (i % 32 == 31) {
        timeline.Enter(t, allreduce);
        timeline.Collective(CollectiveKind::kAllreduce, world, {}, 8, 8);
        timeline.Leave(t += 2500, allreduce);
      }
    }
    builder.SetTimeline(timeline);
  }
  return std::move(builder).Finish();
}

}  // namespace farscale::bench
