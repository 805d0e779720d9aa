// Programs of several kinds, generated and replayed: what grows out of their small runs must have the factors of the
// same program at the target.
#include "study/grown_study.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <set>

#include "base/diagnostics.h"
#include "base/random.h"
#include "replay/computation.h"
#include "replay/replay.h"
#include "replay/replayed_trace.h"
#include "study/study.h"
#include "support/exchange_patterns.h"
#include "support/mesh_program.h"
#include "support/program_families.h"
#include "support/spmd_program.h"
#include "support/temporary_folder.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

using Step = std::function<void(test::SpmdRank&)>;
using testing::HasSubstr;

constexpr double kSpread = 0.02;  // of the loads of ranks; of the noise of iterations, half

// Every rank has a load of its own, and every iteration some noise.
Step Program(const std::function<Tick(std::int32_t ranks)>& work,
             const std::function<void(test::SpmdRank&, Tick)>& step) {
  return [=](test::SpmdRank& rank) {
    Random random(SeedFor(static_cast<std::uint64_t>(rank.ranks()), "rank " + std::to_string(rank.rank())));
    const double load = static_cast<double>(work(rank.ranks())) * std::exp(kSpread * random.Normal());
    for (int i = 0; i < 6; ++i) {
      rank.BeginIteration();
      step(rank, std::llround(load * std::exp(kSpread / 2 * random.Normal())));
      rank.EndIteration();
    }
  };
}

Tick Weak(std::int32_t) { return 400000; }
Tick Strong(std::int32_t ranks) { return 25600000 / ranks; }

Trace RunOn(const Network& network, std::int32_t ranks, const Step& program) {
  const Trace trace = test::RunSpmd(ranks, program);
  ReplayOptions options;
  options.keep_calls = true;
  options.network = &network;
  return ReplayedTrace(trace, Replay(trace, MatchTrace(trace), CutPhase(trace, PhaseSpec::WholeRun()), options));
}

class RunGrowthTest : public testing::Test {
 protected:
  // On the network of the runs, or on one that is calibrated to them.
  PhaseGrowth Grow(const Step& program, const std::vector<std::int32_t>& counts, std::int32_t target,
                   bool is_network_known = false) {
    const Study study = Run(program, counts);
    GrowthOptions options{{target}, std::nullopt, 1};
    if (is_network_known) options.network = folder_.Write("n.toml", test::kSlowNetwork);
    return RunGrowth(study, options, nullptr).phases.front();
  }

  // The traces of a program.
  Study Run(const Step& program, const std::vector<std::int32_t>& counts) {
    Study study;
    study.phases = {PhaseSpec::Region("step")};
    for (const std::int32_t ranks : counts) {
      const std::filesystem::path anchor = folder_ / std::to_string(ranks) / "traces.otf2";
      std::filesystem::create_directories(anchor.parent_path());
      std::filesystem::remove_all(anchor.parent_path());
      WriteOtf2(RunOn(network_, ranks, program), anchor);
      study.runs.push_back({anchor.string(), std::nullopt, std::nullopt, "test"});
    }
    return study;
  }

  // The largest of 128 loads varies by 0.008, and by 0.01 more as the spread is known from 16 ranks; so do load balance
  // and parallel efficiency. What messages lose hardly depends on it.
  void ExpectFactors(const Step& program, const std::vector<std::int32_t>& counts, std::int32_t target,
                     bool is_network_known = false, double of_messages = 0.012) {
    constexpr double kOfLoads = 0.027;
    const PhaseGrowth growth = Grow(program, counts, target, is_network_known);
    ASSERT_EQ(growth.refusal, "");
    ASSERT_EQ(growth.grown.size(), 1u);
    ASSERT_EQ(growth.grown.front().ranks, target);
    const Trace truth = RunOn(network_, target, program);
    const FactorValues measured =
        MeasurePhase(truth, MatchTrace(truth), CutPhase(truth, PhaseSpec::Region("step")), {}).values;
    for (const Factor factor :
         {Factor::kLoadBalance, Factor::kSerialization, Factor::kTransfer, Factor::kParallelEfficiency}) {
      ASSERT_TRUE(measured[factor] && growth.grown.front().values[factor]);
      const bool is_of_messages = factor == Factor::kSerialization || factor == Factor::kTransfer;
      EXPECT_NEAR(*growth.grown.front().values[factor], *measured[factor], is_of_messages ? of_messages : kOfLoads)
          << Describe(factor).id;
    }
  }

  const Network network_ = ParseNetwork(test::kSlowNetwork, "n.toml", "n");
  test::TemporaryFolder folder_;
};

// A grid as MPI_Dims_create makes it, the first extent the largest.
std::array<std::int32_t, 3> Dims(std::int32_t ranks, int dimensions) {
  std::array<std::int32_t, 3> best{ranks, 1, 1};
  if (dimensions == 1) return best;
  for (std::int32_t z = 1; z <= ranks; ++z) {
    if (ranks % z != 0 || (dimensions < 3 && z > 1)) continue;
    for (std::int32_t y = z; y * y * z <= ranks; ++y) {
      if (ranks / z % y == 0 && ranks / z / y < best[0]) best = {ranks / z / y, y, z};
    }
  }
  return best;
}

// Faces are exchanged with all neighbours, around the ends or not, and a sum is made.
Step HaloExchange(int dimensions, bool is_periodic, const std::function<Tick(std::int32_t)>& work) {
  return Program(work, [=](test::SpmdRank& rank, Tick load) {
    const std::array<std::int32_t, 3> extents = Dims(rank.ranks(), dimensions);
    const std::array<std::int32_t, 3> strides = {1, extents[0], extents[0] * extents[1]};
    rank.Compute(load);
    for (const bool sends : {false, true}) {
      for (std::size_t d = 0; d < 3; ++d) {
        const std::int32_t at = rank.rank() / strides[d] % extents[d];
        for (const std::int32_t step : {-1, 1}) {
          const std::int32_t to = (at + step + extents[d]) % extents[d];
          if (extents[d] == 1 || (!is_periodic && to != at + step)) continue;
          const std::int32_t peer = rank.rank() + (to - at) * strides[d];
          const auto tag = static_cast<std::uint32_t>(2 * d) + ((step > 0) == sends ? 1 : 0);
          sends ? rank.PostSend(peer, 20000, tag) : rank.PostReceive(peer, 20000, tag);
        }
      }
    }
    rank.WaitAll();
    rank.AllReduce(8);
  });
}

TEST_F(RunGrowthTest, HaloExchanges) {
  ExpectFactors(HaloExchange(1, false, Weak), {4, 8, 16}, 128, true);
  ExpectFactors(HaloExchange(2, false, Weak), {4, 8, 16}, 128, true);
  ExpectFactors(HaloExchange(2, false, Weak), {9, 16, 36}, 144, true);
  ExpectFactors(HaloExchange(2, true, Strong), {16, 36, 64}, 256, true);
  ExpectFactors(HaloExchange(3, false, Strong), {27, 48, 64}, 216, true);
}

// Receivers wait for all neighbours at once, so nothing tells how long one message took.
TEST_F(RunGrowthTest, WithoutNoise) {
  const Study study = Run(HaloExchange(1, true, Weak), {8, 16, 32});
  GrowthOptions options{{64}, folder_.Write("n.toml", test::kSlowNetwork), 1};
  const GrowthResults noisy = RunGrowth(study, options, nullptr);
  options.scenario = NoiseRemoval(network_, ComputationSource::kIterations, true).back();
  options.network.reset();
  const GrowthResults clean = RunGrowth(study, options, nullptr);
  EXPECT_EQ(clean.scenario, "without any noise");
  const PhaseGrowth &with = noisy.phases.front(), &without = clean.phases.front();
  ASSERT_EQ(without.refusal, "");
  EXPECT_NEAR(with.model.load.noise, kSpread / 2, kSpread / 10);
  EXPECT_EQ(without.model.load.noise, 0);
  EXPECT_NEAR(without.model.load.spread, kSpread, kSpread / 2);  // of ranks, which is no noise
  // Every iteration waits for the rank with most work in it: noise moves that from rank to rank.
  EXPECT_GT(*without.grown.front().values[Factor::kSerialization], *with.grown.front().values[Factor::kSerialization]);
  EXPECT_NEAR(*without.grown.front().values[Factor::kSerialization], 1, 0.005);
}

TEST_F(RunGrowthTest, TransferNeedsANetwork) {
  const PhaseGrowth growth = Grow(HaloExchange(2, true, Weak), {9, 16, 36}, 64);
  ASSERT_EQ(growth.grown.size(), 1u);
  const FactorValues& values = growth.grown.front().values;
  EXPECT_TRUE(values[Factor::kLoadBalance] && values[Factor::kSerialization]);
  EXPECT_FALSE(values[Factor::kTransfer] || values[Factor::kParallelEfficiency]);
}

TEST_F(RunGrowthTest, Wavefront) {
  const Step program = Program(Weak, [](test::SpmdRank& rank, Tick load) {
    const std::array<std::int32_t, 3> extents = Dims(rank.ranks(), 2);
    const std::int32_t x = rank.rank() % extents[0], y = rank.rank() / extents[0];
    for (int block = 0; block < 4; ++block) {
      if (x > 0) rank.Receive(rank.rank() - 1, 3000, 1);
      if (y > 0) rank.Receive(rank.rank() - extents[0], 3000, 2);
      rank.Compute(load / 4);
      if (x + 1 < extents[0]) rank.Send(rank.rank() + 1, 3000, 1);
      if (y + 1 < extents[1]) rank.Send(rank.rank() + extents[0], 3000, 2);
    }
  });
  ExpectFactors(program, {9, 16, 36}, 144);
}

TEST_F(RunGrowthTest, Butterfly) {
  const Step program = Program(Weak, [](test::SpmdRank& rank, Tick load) {
    rank.Compute(load);
    for (std::int32_t step = 1; step < rank.ranks(); step *= 2) {
      rank.SendReceive(rank.rank() ^ step, rank.rank() ^ step, 5000, 3);
    }
  });
  ExpectFactors(program, {8, 16, 32}, 128);
  EXPECT_THAT(Grow(program, {4, 8, 16}, 128).refusal, HasSubstr("add a run on 32 ranks or more"));
}

TEST_F(RunGrowthTest, RingOfAllRanks) {
  const Step program = Program(Weak, [](test::SpmdRank& rank, Tick load) {
    const std::int32_t p = rank.ranks(), r = rank.rank();
    rank.Compute(load);
    for (std::int32_t stage = 1; stage < p; ++stage) rank.SendReceive((r + 1) % p, (r + p - 1) % p, 1000, 4);
  });
  ExpectFactors(program, {4, 8, 16}, 64);
}

// Rank 0 gives out work and gathers what comes of it.
TEST_F(RunGrowthTest, MasterAndWorkers) {
  const Step program = Program(Strong, [](test::SpmdRank& rank, Tick load) {
    if (rank.rank() == 0) {
      for (std::int32_t peer = 1; peer < rank.ranks(); ++peer) rank.Send(peer, 500, 5);
      for (std::int32_t peer = 1; peer < rank.ranks(); ++peer) rank.Receive(peer, 8000, 6);
    } else {
      rank.Receive(0, 500, 5);
      rank.Compute(load);
      rank.Send(0, 8000, 6);
    }
  });
  // Messages are all that rank 0 does, so an error of the calibrated latency counts in full.
  ExpectFactors(program, {4, 8, 16}, 64, false, 0.02);
}

// Partners follow from data, so nothing foresees them.
TEST_F(RunGrowthTest, RandomPartnersAreRefused) {
  const Step program = Program(Weak, [](test::SpmdRank& rank, Tick load) {
    const std::int32_t half = rank.ranks() / 2;
    std::vector<std::int32_t> order;
    for (std::int32_t i = 0; i < half; ++i) order.push_back(half + i);
    Random random(static_cast<std::uint64_t>(rank.ranks()));
    random.Shuffle(order);
    rank.Compute(load);
    for (std::int32_t i = 0; i < half; ++i) {
      const auto tag = static_cast<std::uint32_t>(i * 7919 % 1009);
      if (i == rank.rank()) rank.Send(order[static_cast<std::size_t>(i)], 8000, tag);
      if (order[static_cast<std::size_t>(i)] == rank.rank()) rank.Receive(i, 8000, tag);
    }
  });
  EXPECT_THAT(Grow(program, {16, 26, 38}, 128).refusal,
              HasSubstr("follow no rule that holds at 16, 26, 38 ranks; most of them are MPI_"));
}

// The study counts dimensions the other way around than layouts do.
// Parts of a mesh have no rules for their partners, but as many of them whatever their number.
TEST_F(RunGrowthTest, UnstructuredMeshes) {
  ExpectFactors(test::MeshProgram(1, Strong, 4), {16, 32, 64}, 256, true, 0.03);
}

// Their proof is that they foresee measured runs; there is none where no run has several times the ranks of another.
TEST_F(RunGrowthTest, StatisticalGrowthNeedsABacktest) {
  const PhaseGrowth growth = Grow(test::MeshProgram(1, Weak, 3), {20, 22, 24}, 256, true);
  EXPECT_THAT(growth.refusal, HasSubstr("no run has a multiple of the ranks"));
  EXPECT_THAT(growth.refusal, HasSubstr("follow no rule that holds at 20, 22, 24 ranks"));
  EXPECT_TRUE(growth.backtest.empty());
  EXPECT_TRUE(growth.grown.empty());
}

// Whoever sends to ever more ranks will send to more of them than any measured rank does.
TEST_F(RunGrowthTest, GrowingNumbersOfPartnersAreRefused) {
  const Step program = Program(Weak, [](test::SpmdRank& rank, Tick load) {
    rank.Compute(load);
    std::set<std::int32_t> partners;
    for (std::int32_t other = 0; other < rank.ranks(); ++other) {
      Random random(SeedFor(
          3, std::to_string(std::min(rank.rank(), other)) + "-" + std::to_string(std::max(rank.rank(), other))));
      if (other != rank.rank() && random.Uniform() < 0.3) partners.insert(other);
    }
    for (const std::int32_t from : partners) rank.PostReceive(from, 100);
    for (const std::int32_t to : partners) rank.PostSend(to, 100);
    rank.WaitAll();
  });
  const PhaseGrowth growth = Grow(program, {8, 16, 32}, 128, true);
  EXPECT_THAT(growth.refusal, HasSubstr("messages an iteration on 16 ranks and"));
}

TEST_F(RunGrowthTest, NamedLayouts) {
  Study study = Run(HaloExchange(2, false, Weak), {16, 32, 64});
  study.runs[1].grid = RankGrid{{4, 8, 1, 1}};
  GrowthOptions options{{128}, folder_.Write("n.toml", test::kSlowNetwork), 1};
  options.grids = {RankGrid{{4, 32, 1, 1}}};
  const PhaseGrowth growth = RunGrowth(study, options, nullptr).phases.front();
  ASSERT_EQ(growth.grown.size(), 1u);
  EXPECT_EQ(growth.grown.front().grid.Text(), "32 × 4");
  study.runs[1].grid = RankGrid{{4, 4, 1, 1}};
  EXPECT_THROW(RunGrowth(study, options, nullptr), Error);
}

// Couplers behind workers, in a layout of their own, which take part in no noise.
TEST_F(RunGrowthTest, TwoPrograms) {
  const std::vector<test::ExchangePattern> patterns = test::CoupledPrograms();
  const auto pattern = std::ranges::find(patterns, "a quarter of couplers", &test::ExchangePattern::name);
  const Step program = test::Iterations(pattern->step, 6);
  const PhaseGrowth growth = Grow(program, pattern->runs, 256, true);
  ASSERT_EQ(growth.refusal, "");
  EXPECT_EQ(growth.grown.front().grid.Text(), "16 × 12 + 64");
  ExpectFactors(program, pattern->runs, 256, true, 0.002);
}

// As in PPPM: with whom bricks and pencils overlap, and how often one of the ranks is this one, follows no rule.
TEST_F(RunGrowthTest, RemapsAreRefused) {
  for (const test::ExchangePattern& pattern : test::ExchangePatterns()) {
    if (!pattern.name.starts_with("remap,")) continue;  // of as many points, and of as many a rank
    EXPECT_THAT(Grow(test::Iterations(pattern.step), pattern.runs, pattern.targets.front(), true).refusal,
                testing::ContainsRegex("[0-9]+ % of the messages follow no rule that holds at .* ranks; most of them "
                                       "are MPI_(Irecv|Send) in sweep"))
        << pattern.name;
  }
}

// The file names and bytes of an archive, without its anchor, in which OTF2 writes an id that it draws anew.
std::map<std::string, std::string> FilesIn(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file() || entry.path().extension() == ".otf2") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    files[std::filesystem::relative(entry.path(), folder).string()] = {std::istreambuf_iterator<char>(file), {}};
  }
  return files;
}

TEST_F(RunGrowthTest, ArchivesHaveTheSameBytesOnAnyNumberOfThreads) {
  const Study study = Run(HaloExchange(2, false, Weak), {16, 32, 64});
  const std::string network = folder_.Write("n.toml", test::kSlowNetwork);
  std::vector<std::map<std::string, std::string>> archives;
  for (const std::size_t threads : {1u, 2u}) {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
    const GrowthResults results = RunGrowth(study, {{128}, network, 1}, nullptr);
    const PhaseGrowth& growth = results.phases.front();
    ASSERT_EQ(growth.grown.size(), 1u);
    const std::filesystem::path folder = folder_ / ("grown on " + std::to_string(threads));
    std::filesystem::create_directories(folder);
    WriteOtf2(GrowTimedTrace(growth.model, growth.grown.front().grid, results.network, study.factors.rules, 1),
              folder / "grown.otf2");
    archives.push_back(FilesIn(folder));
  }
  EXPECT_GT(archives[0].size(), 1u);
  EXPECT_TRUE(archives[0] == archives[1]);
}

TEST_F(RunGrowthTest, TwoRunsAreTooFew) {
  EXPECT_THAT(Grow(HaloExchange(1, false, Weak), {4, 8}, 16).refusal, HasSubstr("2 runs; three or more"));
}

}  // namespace
}  // namespace farscale
