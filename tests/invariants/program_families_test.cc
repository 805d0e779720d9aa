// Programs of many kinds with random parameters: what three small runs teach is either the program at a larger number
// of ranks, call by call, or refused. It is never another program.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <string>

#include "base/diagnostics.h"
#include "base/random.h"
#include "growth/make/class_plan.h"
#include "growth/make/grown_program.h"
#include "growth/growth_model.h"
#include "support/learned_growth.h"
#include "support/program_families.h"
#include "support/repeats.h"

namespace farscale {
namespace {

using StepOfRank = std::function<void(test::SpmdRank&)>;

struct Outcome {
  bool is_grown = false;
  std::string refusal, mistake;
};

Outcome GrowAndCompare(const StepOfRank& program, const test::ProgramFamily& family) {
  GrowthModel model = test::LearnSpmd(program, family.runs);
  if (!model.rules.Suffice()) return {false, fmt::format("{:.1f} % explained", 100 * model.rules.Share()), ""};
  if (const std::string why = WhyAmbiguous(model); !why.empty()) return {false, why, ""};
  const RankGrid grid = ContinueSeries(model.rules.grids, family.target);
  AddComposedClasses(model, grid);
  try {
    const Trace grown = GrowTrace(model, grid, 1);
    const Trace expected = test::RunSpmd(static_cast<std::int32_t>(grid.size()), program);
    std::string difference = test::CallDifference(grown, expected);
    for (const RankGrid& one : model.rules.grids) {
      if (!difference.empty()) difference += ", " + one.Text();
    }
    return {true, "", difference.empty() ? "" : difference + ", grown to " + grid.Text()};
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kNotEnoughData) throw;
    return {false, error.what(), ""};
  }
}

const std::uint64_t kFamilySeeds = test::Repeats(20);

// Of 20 programs, at least so many must be grown.
void ExpectFamily(test::ProgramFamily (*draw)(Random&), int least_grown) {
  int grown = 0;
  for (std::uint64_t seed = 1; seed <= kFamilySeeds; ++seed) {
    Random random(SeedFor(seed, "families"));
    const test::ProgramFamily family = draw(random);
    const Outcome outcome = GrowAndCompare(test::Iterations(family.step), family);
    grown += outcome.is_grown;
    const std::string what =
        fmt::format("{} {}: {}, runs on {}, {}, {} ranks, grown to {}", family.name, seed, family.parameters,
                    family.runs[0], family.runs[1], family.runs[2], family.target);
    EXPECT_EQ(outcome.mistake, "") << what;
  }
  if (test::IsBrief()) return;
  EXPECT_GE(grown, least_grown);
}

TEST(Families, Halo) { ExpectFamily(test::HaloProgram, 12); }
TEST(Families, Wavefront) { ExpectFamily(test::WavefrontProgram, 20); }
TEST(Families, Ring) { ExpectFamily(test::RingProgram, 20); }
TEST(Families, Hypercube) { ExpectFamily(test::HypercubeProgram, 20); }
TEST(Families, Master) { ExpectFamily(test::MasterProgram, 20); }
// On 16 ranks stages could as well be neighbours in 2 × 2 × 2 × 2, and the other way around.
TEST(Families, ButterflyOrGridOfTwos) {
  for (std::uint64_t seed = 1; seed <= kFamilySeeds; ++seed) {
    Random random(SeedFor(seed, "twos"));
    test::ProgramFamily butterfly = test::HypercubeProgram(random), halo = test::HaloProgram(random);
    while (halo.dimensions < 3) halo = test::HaloProgram(random);
    butterfly.runs = {4, 8, 16};
    halo.runs = {2, 4, 8};
    for (const test::ProgramFamily* family : {&butterfly, &halo}) {
      const Outcome outcome = GrowAndCompare(test::Iterations(family->step), *family);
      EXPECT_EQ(outcome.mistake, "") << seed << ": " << family->name << ", " << family->parameters;
      EXPECT_TRUE(!outcome.is_grown || family == &halo) << seed << ": " << family->parameters;
    }
  }
}
// Levels of which ranks drop out are refused.
TEST(Families, Multigrid) { ExpectFamily(test::MultigridProgram, 0); }
TEST(Families, SeveralLoops) { ExpectFamily(test::SeveralLoopsProgram, 13); }

TEST(Families, IterationsOfSeveralKinds) {
  for (std::uint64_t seed = 1; seed <= kFamilySeeds; ++seed) {
    Random random(SeedFor(seed, "kinds"));
    const test::ProgramFamily often = test::RingProgram(random), seldom = test::MasterProgram(random);
    const int period = 2 + static_cast<int>(random.Index(3));
    const Outcome outcome = GrowAndCompare(test::IterationsInTurns(often.step, seldom.step, period, 6), often);
    EXPECT_EQ(outcome.mistake, "") << seed << ": " << often.parameters << ", " << seldom.parameters;
  }
}

// The same program and computation whatever the number of threads.
TEST(Families, ThreadsChangeNothing) {
  std::vector<Trace> grown;
  for (const std::size_t threads : {1u, 4u}) {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
    Random random(SeedFor(1, "threads"));
    const test::ProgramFamily family = test::WavefrontProgram(random);
    GrowthModel model = test::LearnSpmd(test::Iterations(family.step), family.runs);
    const RankGrid grid = ContinueSeries(model.rules.grids, family.target);
    AddComposedClasses(model, grid);
    grown.push_back(GrowTrace(model, grid, 7));
  }
  EXPECT_EQ(test::CallDifference(grown[0], grown[1]), "");
  for (std::size_t rank = 0; rank < grown[0].size(); ++rank)
    EXPECT_EQ(grown[0].timelines[rank].end(), grown[1].timelines[rank].end());
}

}  // namespace
}  // namespace farscale
