// Gates over simulated commits: unchanged code must not fail, a true drop must be caught. Every commit has runs at four
// core counts, three repeats each, of three phases; every measured value has noise of 1 %. The baseline is what
// earlier commits left in the history.
#include <gmock/gmock.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "base/random.h"
#include "factors/factor_table.h"
#include "support/gate_judging.h"
#include "support/repeats.h"

namespace farscale {
namespace {

using test::AddCommit;
using test::FailsBecauseOf;
using test::JudgeCommit;

constexpr std::int64_t kCores[] = {16, 32, 64, 128};
constexpr double kNoise = 0.01;
constexpr std::size_t kHistory = 10;

struct Simulation {
  int repeats = 3;
  double drop = 0;               // of transfer efficiency
  std::int64_t from_cores = 16;  // at so many and more
  double bad_runs = 0;           // share of runs that something disturbs by a fifth
  double noise = kNoise;
};

FactorRow RowOf(const std::string& phase, double share, std::int64_t cores, int repeat, const Simulation& simulation,
                double drop, Random& random) {
  const auto noisy = [&](double value) { return value * std::exp(simulation.noise * random.Normal()); };
  const double size = std::log2(static_cast<double>(cores) / 16);
  const double kept = cores >= simulation.from_cores ? 1 - drop : 1;
  const double disturbed = random.Uniform() < simulation.bad_runs ? 1.2 : 1;
  FactorRow row;
  row.phase = phase;
  row.cores = row.ranks = cores;
  row.repeat = repeat;
  row.iterations = 10;
  row.values[Factor::kLoadBalance] = 0.95 - 0.01 * size;
  row.values[Factor::kSerialization] = 0.97 - 0.01 * size;
  // One noise for the efficiency, another for the time, and one that both share when a run is disturbed.
  row.values[Factor::kTransfer] = noisy((0.92 - 0.03 * size) * kept / disturbed);
  row.runtime = noisy(share * 160 / static_cast<double>(cores) / (1 - 0.05 * size) / kept * disturbed);
  return row;
}

FactorTable CommitOf(const Simulation& simulation, double drop, Random& random) {
  FactorTable table;
  table.scaling = Scaling::kStrong;
  for (const auto& [phase, share] : {std::pair{"solve", 0.6}, {"exchange", 0.1}, {"assembly", 0.3}}) {
    for (const std::int64_t cores : kCores) {
      for (int i = 0; i < simulation.repeats; ++i) {
        const double here = std::string(phase) == "solve" ? drop : 0;
        table.rows.push_back(RowOf(phase, share, cores, i, simulation, here, random));
      }
    }
  }
  CompleteTable(table);
  return table;
}

void Append(History& history, FactorTable table) {
  AddCommit(history, std::move(table));
  if (history.size() > kHistory) history.erase(history.begin());
}

History HistoryOf(const Simulation& simulation, Random& random) {
  History history;
  for (std::size_t i = 0; i < kHistory; ++i) Append(history, CommitOf(simulation, 0, random));
  return history;
}

// How many of so many commits of the same code fail; each joins the history, failed or not.
int FalseAlarms(const Simulation& simulation, int commits, std::uint64_t seed) {
  Random random(seed);
  History history = HistoryOf(simulation, random);
  int failed = 0;
  for (int i = 0; i < commits; ++i) {
    FactorTable table = CommitOf(simulation, 0, random);
    const GateReport report = JudgeCommit(table, history);
    failed += report.Overall() == Verdict::kFail ? 1 : 0;
    if (std::getenv("GATE_SHOW") != nullptr) {
      for (const Judgement& judgement : report.judgements) {
        if (judgement.verdict == Verdict::kFail) std::printf("%s\n", judgement.sentence.c_str());
      }
    }
    Append(history, std::move(table));
  }
  return failed;
}

// Caught is a gate that fails and names the phase and the factor; each commit has a history of its own.
int Caught(const Simulation& simulation, int commits, std::uint64_t seed) {
  Random random(seed);
  int caught = 0;
  for (int i = 0; i < commits; ++i) {
    const History history = HistoryOf(simulation, random);
    const GateReport report = JudgeCommit(CommitOf(simulation, simulation.drop, random), history);
    caught += FailsBecauseOf(report, "solve", Factor::kTransfer) ? 1 : 0;
  }
  return caught;
}

const int kCommitsDrawn = test::Repeats(200);

TEST(GateSimulation, NoiseOfUnchangedCodeNeverFails) { EXPECT_EQ(FalseAlarms({}, kCommitsDrawn, 1), 0); }

TEST(GateSimulation, ADropOfFivePercentIsCaught) {
  Simulation simulation;
  simulation.drop = 0.05;
  EXPECT_GE(Caught(simulation, kCommitsDrawn, 1), kCommitsDrawn * 95 / 100);
}

// A drop that begins at the largest runs is a quarter of it on average, so only these by themselves show it.
TEST(GateSimulation, ADropAtTheLargestCountAloneIsCaught) {
  Simulation simulation;
  simulation.drop = 0.05;
  simulation.from_cores = 128;
  EXPECT_GE(Caught(simulation, kCommitsDrawn, 2), kCommitsDrawn * 95 / 100);
}

// Not run by default: bin/gate_test --gtest_also_run_disabled_tests --gtest_filter='*OtherSeeds*'
TEST(GateSimulation, DISABLED_RatesOverOtherSeeds) {
  struct Case {
    const char* name;
    Simulation simulation;
  };
  const Case cases[] = {{"3 repeats", {3, 0.05, 16, 0, kNoise}},
                        {"3 repeats, drop at 128 only", {3, 0.05, 128, 0, kNoise}},
                        {"1 run", {1, 0.05, 16, 0, kNoise}},
                        {"1 run, drop at 128 only", {1, 0.05, 128, 0, kNoise}},
                        {"3 repeats, 2 % bad runs", {3, 0.05, 16, 0.02, kNoise}},
                        {"3 repeats, noise 3 %", {3, 0.05, 16, 0, 0.03}},
                        {"3 repeats, noise 3 %, drop 15 %", {3, 0.15, 16, 0, 0.03}},
                        {"3 repeats, noise 0.3 %", {3, 0.05, 16, 0, 0.003}}};
  for (const Case& one : cases) {
    int failed = 0, caught = 0, clean = 0, seeds = 10;
    for (int seed = 0; seed < seeds; ++seed) {
      const int alarms = FalseAlarms(one.simulation, 200, 1000 + seed);
      failed += alarms;
      clean += alarms == 0 ? 1 : 0;
      caught += Caught(one.simulation, 50, 2000 + seed);
    }
    std::printf("%-34s false alarms %d of %d (%d of %d seeds without), caught %d of %d\n", one.name, failed,
                200 * seeds, clean, seeds, caught, 50 * seeds);
  }
}

}  // namespace
}  // namespace farscale
