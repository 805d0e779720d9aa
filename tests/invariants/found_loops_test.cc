// Loops found in the MPI calls alone, against the regions that mark them, on every real trace at hand.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>

#include "base/random.h"
#include "factors/useful_time.h"
#include "factors/phase_factors.h"
#include "phases/found_loop.h"
#include "support/clocked_program.h"
#include "support/loaded_program.h"
#include "support/repeats.h"
#include "support/traces.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

// Loops of the programs, where a run has three iterations or more.
constexpr const char* kLoops[] = {"cycle", "ssor_iter", "outer_iter", "inner_iter", "timestep", "step"};

struct Marked {
  PhaseCut cut;
  bool found = false;
};

Marked MarkedLoop(const Trace& trace) {
  for (const RegionSummary& region : SummarizeRegions(trace)) {
    for (const char* loop : kLoops) {
      if (region.name != loop || region.fewest < 3 || region.ranks < trace.size()) continue;
      PhaseSpec spec = PhaseSpec::Region(loop);
      spec.span = Span::kWhole;
      return {CutPhase(trace, spec), true};
    }
  }
  return {};
}

// Share of the borders that are within a call of those marked.
double ShareOfTrueBorders(const FoundLoop& loop, const PhaseCut& marked) {
  std::size_t near = 0, all = 0;
  for (std::size_t rank = 0; rank < loop.borders.size(); ++rank) {
    for (std::size_t k = 0; k < loop.iterations(); ++k, ++all) {
      const auto found = static_cast<std::int64_t>(loop.borders[rank][k]);
      const auto truth = static_cast<std::int64_t>(marked.ranks[rank].iterations[k].begin.call);
      near += std::abs(found - truth) <= 1 ? 1 : 0;
    }
  }
  return static_cast<double>(near) / static_cast<double>(all);
}

TEST(FoundLoops, AreThoseThatTheProgramsMark) {
  std::size_t compared = 0;
  for (const std::string& path : test::TracesToTry()) {
    const Trace trace = ReadTrace(path);
    const Marked marked = MarkedLoop(trace);
    if (!marked.found) continue;
    const auto loop = FindLoopOfRun(trace);
    ASSERT_TRUE(loop) << path;
    ASSERT_EQ(loop->iterations(), marked.cut.iterations) << path;
    EXPECT_GE(ShareOfTrueBorders(*loop, marked.cut), 0.95) << path;

    const Matching matching = MatchTrace(trace);
    const PhaseFactors from_marks = MeasurePhase(trace, matching, marked.cut, {});
    const PhaseFactors from_calls = MeasurePhase(trace, matching, CutPhase(trace, PhaseSpec::FoundLoop()), {});
    for (const Factor factor : {Factor::kLoadBalance, Factor::kSerialization, Factor::kTransfer}) {
      EXPECT_NEAR(*from_calls.values[factor], *from_marks.values[factor], 0.01) << path << " " << Describe(factor).id;
    }
    // With the shape of its own iterations the run shows the same ones.
    PhaseSpec own = PhaseSpec::FoundLoop();
    own.shape = std::make_shared<const IterationShape>(*ShapeOfPhase(trace, own));
    EXPECT_EQ(CutPhase(trace, own).iterations, marked.cut.iterations) << path;
    ++compared;
  }
  EXPECT_GE(compared, 3u);
}

// Neighbours exchange messages and nothing else, and a few ranks at one end have more to do: those far from them run
// ahead by more than an iteration.
Trace MakeSlab(std::uint64_t seed) {
  Random random(seed);
  const std::size_t ranks = 6 + random.Index(40), slow = 1 + random.Index(ranks / 3), iterations = 5 + random.Index(30);
  const double more = 1.2 + random.Uniform();
  test::Loads loads(ranks, std::vector<Tick>(iterations));
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (Tick& load : loads[rank]) load = std::llround((rank < slow ? more : 1) * (1000 + 20 * random.Uniform()));
  }
  return test::MakeLoaded(loads, test::Synchronization::kHalo, true, seed % 2 == 0 ? 0 : 500);
}

// Particle ranks send to mesh ranks, which answer; the mesh is done before the particles are, or long after.
Trace MakeParticlesAndMesh(std::uint64_t seed) {
  Random random(seed);
  const int meshes = 2 + static_cast<int>(random.Index(5)),
            particles = meshes * (3 + static_cast<int>(random.Index(6)));
  const int iterations = 4 + static_cast<int>(random.Index(12));
  const double mesh_work = 200 + 8000 * random.Uniform(), particle_work = 3000;
  test::ClockedProgram p(particles + meshes, seed, 0.03);
  std::vector<int> particle_ranks, mesh_ranks;
  for (int rank = 0; rank < p.ranks(); ++rank) (rank < particles ? particle_ranks : mesh_ranks).push_back(rank);
  const auto mesh_of = [&](int rank) { return particles + rank % meshes; };
  for (int k = 0; k < iterations; ++k) {
    for (int rank = 0; rank < p.ranks(); ++rank) p.Enter(rank, "timestep");
    p.Collective("MPI_Allreduce", CollectiveKind::kAllreduce, particle_ranks);
    for (const int rank : particle_ranks) p.Send(rank, mesh_of(rank), 4000);
    for (const int rank : particle_ranks) p.Receive(rank, mesh_of(rank), 4000);
    for (const int rank : mesh_ranks) p.Compute(rank, mesh_work / 2, "mesh");
    p.Collective("MPI_Alltoall", CollectiveKind::kAlltoall, mesh_ranks);
    for (const int rank : mesh_ranks) p.Compute(rank, mesh_work / 2, "mesh");
    for (const int rank : particle_ranks) p.Send(mesh_of(rank), rank, 4000);
    for (const int rank : particle_ranks) p.Compute(rank, particle_work, "particle");
    for (const int rank : particle_ranks) p.Receive(mesh_of(rank), rank, 4000);
    for (const int rank : particle_ranks) p.Compute(rank, 50, "integrate");
    for (int rank = 0; rank < p.ranks(); ++rank) p.Leave(rank, "timestep");
  }
  return p.Finish();
}

TEST(FoundLoops, OfRanksThatDoNotWaitForAllOthers) {
  for (std::uint64_t seed = 0; seed < test::Repeats(20u); ++seed) {
    for (const bool has_mesh : {false, true}) {
      const Trace trace = has_mesh ? MakeParticlesAndMesh(seed) : MakeSlab(seed);
      const std::string where = fmt::format("{} {}", has_mesh ? "mesh" : "slab", seed);
      const Marked marked = MarkedLoop(trace);
      ASSERT_TRUE(marked.found) << where;
      const auto loop = FindLoopOfRun(trace);
      ASSERT_TRUE(loop) << where;
      ASSERT_EQ(loop->iterations(), marked.cut.iterations) << where;
      EXPECT_GE(ShareOfTrueBorders(*loop, marked.cut), 0.95) << where;
    }
  }
}

// Nothing is computed behind the last call of an iteration, so that all that comes before the first is its own, however
// much it differs from one iteration to the next.
TEST(FoundLoops, IterationsThatEndWithACallDoNotOverlap) {
  for (std::uint64_t seed = 0; seed < test::Repeats(20u); ++seed) {
    Random random(seed);
    const int ranks = 4 + static_cast<int>(random.Index(60)), iterations = 4 + static_cast<int>(random.Index(12));
    const double short_range = 1e5 * (1 + 4 * random.Uniform()), transform = 0.1 * random.Uniform() * short_range;
    test::ClockedProgram p(ranks, seed, 0.002 + 0.06 * random.Uniform());
    for (int rank = 0; rank < ranks; ++rank) p.Enter(rank, "main");
    for (int k = 0; k < iterations; ++k) {
      for (int rank = 0; rank < ranks; ++rank) p.Compute(rank, short_range);
      p.Collective("MPI_Alltoall", CollectiveKind::kAlltoall);
      for (int rank = 0; rank < ranks; ++rank) p.Compute(rank, transform);
      p.Collective("MPI_Alltoall", CollectiveKind::kAlltoall);
      for (int rank = 0; rank < ranks; ++rank) p.Compute(rank, transform);
      p.Collective("MPI_Allreduce", CollectiveKind::kAllreduce);
    }
    for (int rank = 0; rank < ranks; ++rank) p.Leave(rank, "main");
    const Trace trace = p.Finish();
    const PhaseCut cut = CutPhase(trace, PhaseSpec::FoundLoop());
    ASSERT_EQ(cut.iterations, static_cast<std::size_t>(iterations)) << seed;
    for (const IterationProfile& profile : MeasurePhase(trace, MatchTrace(trace), cut, {}).profiles) {
      EXPECT_LE(profile.ParallelEfficiency(), 1 + 1e-12) << seed;
    }
  }
}

// The sum of the iterations' largest useful times is the ideal time that phase profiles estimate.
TEST(FoundLoops, ProfilesOfIterationsAddUp) {
  for (const std::string& path : test::TracesToTry()) {
    const Trace trace = ReadTrace(path);
    const PhaseCut cut = CutPhase(trace, PhaseSpec::FoundLoop());
    double largest = 0;
    for (const IterationProfile& profile : MeasurePhase(trace, MatchTrace(trace), cut, {}).profiles) {
      EXPECT_LE(profile.average_useful, profile.largest_useful * (1 + 1e-12)) << path;
      EXPECT_LE(profile.ParallelEfficiency(), 1 + 1e-12) << path;
      largest += profile.largest_useful;
    }
    EXPECT_NEAR(largest, trace.Seconds(EstimateIdealFromIterations(trace, cut)), 1e-9 * largest) << path;
  }
}

}  // namespace
}  // namespace farscale
