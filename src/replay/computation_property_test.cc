// Clean computation on random traces, and on real ones whose counters say what must come out.
#include "replay/anomalies.h"
#include "replay/computation.h"

#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "support/computation_recipe.h"
#include "support/traces.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

using test::Burst;
using test::From;
using test::Make;
using test::OverLoop;
using test::Recipe;

Tick Sum(const std::vector<Tick>& lengths) { return std::accumulate(lengths.begin(), lengths.end(), Tick{0}); }

// Random ranks of up to 40 bursts, some preempted.
std::vector<std::vector<Burst>> RandomRanks(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::vector<Burst>> ranks(1 + random() % 5);
  for (std::vector<Burst>& rank : ranks) {
    rank.resize(1 + random() % 40);
    for (Burst& burst : rank) {
      const auto work = static_cast<Tick>(random() % 5000);
      burst = {work + (random() % 3 == 0 ? static_cast<Tick>(random() % 9000) : 0), work};
    }
  }
  return ranks;
}

constexpr std::uint64_t kSeeds = 200;
const std::vector<ComputationSource> kAllSources = {ComputationSource::kMeasured, ComputationSource::kCycles,
                                                    ComputationSource::kCpuTime, ComputationSource::kIterations,
                                                    ComputationSource::kInstructions};

struct RandomCase {
  Trace trace;
  PhaseCut cut;
  ComputationOptions options;

  explicit RandomCase(std::uint64_t seed) {
    Recipe recipe;
    recipe.counters = {"PAPI_TOT_CYC", "CPU_TIME", "PAPI_TOT_INS"};
    recipe.iterations = 3 + seed % 5;
    recipe.in_iteration = 1 + seed % 3;
    recipe.gap = static_cast<Tick>(seed % 4);
    std::vector<std::vector<Burst>> ranks = RandomRanks(seed);
    ranks[0].resize(60, {777, 777});  // one rank at least has all iterations
    trace = Make(recipe, ranks);
    cut = CutPhase(trace, PhaseSpec::Region("loop"));
    options.iterations = &cut;
  }
};

// One length for every burst, none negative; sums are the counts by the rate to the tick.
TEST(ComputationProperty, LengthsAndSums) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    RandomCase random(seed);
    const Computation measured = MeasuredComputation(random.trace);
    for (const ComputationSource source : kAllSources) {
      random.options.source = source;
      const Computation computation = CleanComputation(random.trace, random.options);
      ASSERT_EQ(computation.lengths.size(), random.trace.size());
      double total = 0;
      for (std::size_t rank = 0; rank < random.trace.size(); ++rank) {
        ASSERT_EQ(computation.lengths[rank].size(), measured.lengths[rank].size());
        for (const Tick length : computation.lengths[rank]) ASSERT_GE(length, 0) << "seed " << seed;
        total += random.trace.Seconds(Sum(computation.lengths[rank]));
      }
      EXPECT_NEAR(computation.clean_seconds, total, 1e-12) << "seed " << seed;
      EXPECT_EQ(computation.measured_seconds, measured.measured_seconds) << "seed " << seed;
    }
  }
}

Tick CountsOutsideMpi(const RankTimeline& timeline, std::size_t counter) {
  double counts =
      timeline.counter_at_event(counter, timeline.region_events() - 1) - timeline.counter_at_event(counter, 0);
  for (std::size_t call = 0; call < timeline.calls(); ++call) counts -= timeline.counter_in_call(counter, call);
  return static_cast<Tick>(counts);
}

TEST(ComputationProperty, SumsAreThoseOfTheCounter) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const RandomCase random(seed);
    const Computation cpu = CleanComputation(random.trace, From(ComputationSource::kCpuTime));
    const Computation instructions = CleanComputation(random.trace, From(ComputationSource::kInstructions));
    double counts = 0;
    for (const RankTimeline& timeline : random.trace.timelines) {
      counts += static_cast<double>(CountsOutsideMpi(timeline, 0));
    }
    const double rate = instructions.measured_seconds * 1e9 / counts;
    for (std::size_t rank = 0; rank < random.trace.size(); ++rank) {
      const Tick own = CountsOutsideMpi(random.trace.timelines[rank], 0);
      EXPECT_EQ(Sum(cpu.lengths[rank]), own) << "seed " << seed;
      EXPECT_NEAR(static_cast<double>(Sum(instructions.lengths[rank])), rate * static_cast<double>(own), 0.5 + 1e-6);
    }
  }
}

TEST(ComputationProperty, DoesNotDependOnThreads) {
  for (std::uint64_t seed = 0; seed < kSeeds; seed += 10) {
    RandomCase random(seed);
    for (const ComputationSource source : kAllSources) {
      random.options.source = source;
      const Computation many = CleanComputation(random.trace, random.options);
      const tbb::global_control one_thread(tbb::global_control::max_allowed_parallelism, 1);
      const Computation one = CleanComputation(random.trace, random.options);
      EXPECT_EQ(one.lengths, many.lengths) << "seed " << seed;
      EXPECT_EQ(one.description, many.description) << "seed " << seed;
      EXPECT_EQ(one.clean_seconds, many.clean_seconds) << "seed " << seed;
    }
  }
}

// Replacing iterations by their median a second time changes nothing: all that are alike are equal.
TEST(ComputationProperty, LikeIterationsBecomeEqual) {
  std::vector<Burst> bursts = RandomRanks(7)[0];
  bursts.resize(31, {100, 0});
  Recipe recipe;
  recipe.iterations = 10;
  recipe.in_iteration = 3;
  const Trace trace = Make(recipe, {bursts});
  const std::vector<Tick> lengths = OverLoop(trace).lengths[0];
  for (std::size_t burst = 3; burst < 30; ++burst) EXPECT_EQ(lengths[burst], lengths[burst - 3]);
}

// Real traces of the shared data; nothing when they are not there.
class RealComputation : public testing::Test {
 protected:
  void SetUp() override {
    if (test::SharedTraces().empty()) GTEST_SKIP() << "no traces under " << test::SharedDataFolder();
  }
  static Trace Read(const std::string& name) {
    return ReadTrace(test::SharedDataFolder() + "/traces/" + name + "/traces.otf2");
  }
};

double LoadBalanceOf(const std::vector<std::vector<Tick>>& lengths) {
  double sum = 0, largest = 0;
  for (const std::vector<Tick>& rank : lengths) {
    sum += static_cast<double>(Sum(rank));
    largest = std::max(largest, static_cast<double>(Sum(rank)));
  }
  return sum / static_cast<double>(lengths.size()) / largest;
}

double HertzOf(const Trace& trace, const Computation& computation, std::size_t counter) {
  double counts = 0;
  for (const RankTimeline& timeline : trace.timelines)
    counts += static_cast<double>(CountsOutsideMpi(timeline, counter));
  return counts / computation.clean_seconds;
}

TEST_F(RealComputation, CpuTimeToTheTick) {
  for (const char* name :
       {"comd-weak-noise/8", "comd-weak-noise/32", "lammps-lj-strong-real/8", "lulesh-weak-cpu/27"}) {
    const Trace trace = Read(name);
    const Computation computation = CleanComputation(trace, {});
    EXPECT_EQ(computation.source, ComputationSource::kCpuTime) << name;
    EXPECT_TRUE(computation.diagnostics.empty()) << name;
    for (std::size_t rank = 0; rank < trace.size(); ++rank) {
      EXPECT_EQ(Sum(computation.lengths[rank]), CountsOutsideMpi(trace.timelines[rank], 0))
          << name << ", rank " << rank;
    }
  }
}

// The counter is in nanoseconds, so that a cycle is one. Recording is switched off while the program sets up, in one
// burst of every rank, which stays as measured.
TEST_F(RealComputation, OneGigahertz) {
  for (const char* name : {"2", "4", "8", "16"}) {
    const Trace trace = Read(std::string("lammps-lj-weak-cpu-papinames/") + name);
    const Computation computation = CleanComputation(trace, {});
    EXPECT_EQ(computation.description, "cycles (PAPI_TOT_CYC) at 1.00 GHz, estimated from this trace") << name;
    // Recording was off on all ranks once, by some microseconds longer on some of them, where nothing is known.
    EXPECT_LE(computation.diagnostics.count(anomaly::kBurstInterrupted), trace.size()) << name;
    for (std::size_t rank = 0; rank < trace.size(); ++rank) {
      std::size_t others = 0;
      for (std::size_t call = 0; call < computation.lengths[rank].size(); ++call) {
        const double cycles = trace.timelines[rank].counter_before_call(0, call);
        others += std::abs(static_cast<double>(computation.lengths[rank][call]) - cycles) > 1 + 1e-4 * cycles;
      }
      EXPECT_LE(others, 1u) << name << ", rank " << rank;
    }
  }
}

// CPU time taken for cycles: the clock must come out as one, though the processes lose the core half of the time and
// more. Reading the counter takes a quarter of a microsecond that it does not see.
TEST_F(RealComputation, ClockOfPreemptedProcesses) {
  ComputationOptions options = From(ComputationSource::kCycles);
  options.counters.cycles = "CPU_TIME";
  for (const char* name :
       {"lammps-lj-strong-real/1", "lammps-lj-strong-real/2", "lammps-lj-strong-real/4", "lammps-lj-strong-real/8",
        "comd-weak-noise/8", "comd-weak-noise/16", "comd-weak-noise/32"}) {
    const Trace trace = Read(name);
    EXPECT_NEAR(HertzOf(trace, CleanComputation(trace, options), 0), 1e9, 0.005e9) << name;
  }
}

TEST_F(RealComputation, LoadBalanceIsThatOfCpuTime) {
  const Trace trace = Read("lammps-lj-strong-real/8");
  std::vector<std::vector<Tick>> cpu;
  for (const RankTimeline& timeline : trace.timelines) cpu.push_back({CountsOutsideMpi(timeline, 0)});
  EXPECT_DOUBLE_EQ(LoadBalanceOf(CleanComputation(trace, {}).lengths), LoadBalanceOf(cpu));
  EXPECT_GT(std::abs(LoadBalanceOf(MeasuredComputation(trace).lengths) - LoadBalanceOf(cpu)), 0.05);
}

// The instruction counts are those of the runs without noise, in which a basic block takes a constant time.
TEST_F(RealComputation, InstructionsBringBackTheRunWithoutNoise) {
  ComputationOptions options = From(ComputationSource::kInstructions);
  options.counters.instructions = "BB_COUNT";
  for (const char* ranks : {"8", "16", "32"}) {
    const Trace noisy = Read(std::string("comd-weak-noise/") + ranks);
    const Trace quiet = Read(std::string("comd-weak/") + ranks);
    const Computation computation = CleanComputation(noisy, options);
    double counts = 0;
    for (const RankTimeline& timeline : noisy.timelines) counts += static_cast<double>(CountsOutsideMpi(timeline, 1));
    const double rate = computation.measured_seconds * 1e9 / counts;
    for (std::size_t rank = 0; rank < noisy.size(); ++rank) {
      const double own = rate * static_cast<double>(CountsOutsideMpi(noisy.timelines[rank], 1));
      EXPECT_NEAR(static_cast<double>(Sum(computation.lengths[rank])), own, 0.51) << ranks << ", rank " << rank;
    }
    EXPECT_NEAR(LoadBalanceOf(computation.lengths), LoadBalanceOf(MeasuredComputation(quiet).lengths), 1e-4) << ranks;
  }
}

}  // namespace
}  // namespace farscale
