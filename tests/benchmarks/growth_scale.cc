// Grows and replays one iteration of a halo exchange in three dimensions with an allreduce, learned from runs on 27, 48
// and 64 ranks. Prints seconds and memory, for scripts/measure_growth_scale:
//
//     growth_scale RANKS
#include <fmt/format.h>
#include <sys/resource.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <string>

#include "base/random.h"
#include "growth/growth_model.h"
#include "growth/make/grown_program.h"
#include "phases/phase_cut.h"
#include "support/spmd_program.h"

namespace farscale::bench {
namespace {

// An even grid of three dimensions, the first extent the largest.
std::array<std::int32_t, 3> Dims(std::int32_t ranks) {
  std::array<std::int32_t, 3> best{ranks, 1, 1};
  for (std::int32_t z = 1; z * z * z <= ranks; ++z) {
    for (std::int32_t y = z; ranks % z == 0 && y * y * z <= ranks; ++y) {
      if (ranks / z % y == 0) best = {ranks / z / y, y, z};
    }
  }
  return best;
}

void Exchange(test::SpmdRank& rank, bool sends) {
  const std::array<std::int32_t, 3> extents = Dims(rank.ranks());
  std::int32_t stride = 1;
  for (std::size_t d = 0; d < 3; ++d) {
    const std::int32_t at = rank.rank() / stride % extents[d];
    for (const std::int32_t step : {-1, 1}) {
      if (at + step < 0 || at + step >= extents[d]) continue;
      const std::int32_t peer = rank.rank() + step * stride;
      const auto tag = static_cast<std::uint32_t>(2 * d) + ((step > 0) == sends ? 1 : 0);
      sends ? rank.PostSend(peer, 20000, tag) : rank.PostReceive(peer, 20000, tag);
    }
    stride *= extents[d];
  }
}

void Iterate(test::SpmdRank& rank) {
  Random random(SeedFor(static_cast<std::uint64_t>(rank.ranks()), std::to_string(rank.rank())));
  rank.BeginIteration();
  rank.Compute(std::llround(4e6 * std::exp(0.02 * random.Normal())));
  Exchange(rank, false);
  Exchange(rank, true);
  rank.WaitAll();
  rank.AllReduce(8);
  rank.EndIteration();
}

GrowthModel LearnExchange() {
  GrowthModel model;
  model.region = "step";
  for (const std::int32_t ranks : {27, 48, 64}) {
    const Trace trace = test::RunSpmd(ranks, Iterate);
    model.runs.push_back(ReadRunCalls(trace, CutPhase(trace, PhaseSpec::Region("step")), model.functions));
  }
  LearnGrowth(model);
  return model;
}

double SecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double PeakMebibytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// One line: ranks, seconds with a replay on the ideal network and one on a timed network, and MiB; the seconds without
// the learning.
void Measure(std::int64_t ranks) {
  const GrowthModel model = LearnExchange();
  Network network;
  network.remote = {3e-6, 2e9, 0.5e-6, 32768};
  network.local = network.remote;
  const auto begin = std::chrono::steady_clock::now();
  const RankGrid grid = ContinueSeries(model.rules.grids, ranks);
  const GridPlan plan = PlanGrid(model, grid, {0});
  MeasureGrown(model, plan, MatchComplete(model, plan), DrawLoads(model, plan, 1), {}, &network);
  fmt::print("{} {:.2f} {:.0f}\n", grid.size(), SecondsSince(begin), PeakMebibytes());
}

}  // namespace
}  // namespace farscale::bench

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  farscale::bench::Measure(std::atoll(argv[1]));
  return 0;
}
