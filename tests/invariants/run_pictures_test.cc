// Pictures of runs against the times they are made from, on random programs and real traces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <numeric>
#include <optional>

#include "factors/phase_factors.h"
#include "factors/run_picture.h"
#include "factors/thread_times.h"
#include "factors/useful_time.h"
#include "support/random_program.h"
#include "support/traces.h"
#include "support/repeats.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

// What a state must have over the whole run, rank by rank, from functions that know no pictures.
struct Expected {
  std::vector<Tick> computation, in_devices, in_mpi, outside;
};

Expected Measure(const Trace& trace) {
  Expected expected;
  const PhaseCut cut = CutPhase(trace, PhaseSpec::WholeRun());
  std::optional<ThreadStates> states;
  if (ThreadStates::AreIn(trace)) states.emplace(trace);
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    const RankTimeline& timeline = trace.timelines[rank];
    Tick in_mpi = 0;
    for (std::size_t call = 0; call < timeline.calls(); ++call) in_mpi += timeline.duration(call);
    const Interval& window = cut.ranks[rank].window;
    const Tick in_devices = states ? states->In(rank, window).Of(ThreadState::kDeviceRuntime) : 0;
    expected.computation.push_back(UsefulTicks(timeline, window) - in_devices);
    expected.in_devices.push_back(in_devices);
    expected.in_mpi.push_back(in_mpi);
    expected.outside.push_back(trace.end() - trace.begin() - (timeline.end() - timeline.begin()));
  }
  return expected;
}

double Mean(const std::vector<Tick>& ticks, Tick length) {
  return static_cast<double>(std::accumulate(ticks.begin(), ticks.end(), Tick{0})) /
         static_cast<double>(length * static_cast<Tick>(ticks.size()));
}

void ExpectShares(const Trace& trace, const RunPicture& picture, const std::string& place) {
  const Expected expected = Measure(trace);
  const Tick length = trace.end() - trace.begin();
  const auto share = [&](RunState state) { return picture.Share(state); };
  EXPECT_NEAR(share(RunState::kComputation).mean, Mean(expected.computation, length), 1e-12) << place;
  EXPECT_NEAR(share(RunState::kDeviceCalls).mean, Mean(expected.in_devices, length), 1e-12) << place;
  EXPECT_NEAR(share(RunState::kWaiting).mean + share(RunState::kTransfer).mean + share(RunState::kMpi).mean,
              Mean(expected.in_mpi, length), 1e-12)
      << place;
  EXPECT_NEAR(share(RunState::kOutside).mean, Mean(expected.outside, length), 1e-12) << place;
  double all = 0;
  for (const StateShare& one : picture.shares) {
    all += one.mean;
    EXPECT_LE(one.least, one.mean + 1e-12) << place;
    EXPECT_GE(one.most, one.mean - 1e-12) << place;
  }
  EXPECT_NEAR(all, 1, 1e-12) << place;
  const auto most = std::max_element(expected.computation.begin(), expected.computation.end());
  EXPECT_EQ(share(RunState::kComputation).most_rank, most - expected.computation.begin()) << place;
  for (const std::vector<PictureCell>& row : picture.rows) {
    EXPECT_EQ(row.size(), picture.rows.front().size()) << place;
    for (const PictureCell& cell : row) EXPECT_EQ(std::accumulate(cell.begin(), cell.end(), 0), kCellLevels) << place;
  }
}

TEST(RunPictureProperty, StatesAddUpToTheRun) {
  for (std::uint64_t seed = 0; seed < test::Repeats(200u); ++seed) {
    const Trace trace = test::MakeRandomProgram(seed, test::VariedOptions(seed));
    const Matching matching = MatchTrace(trace);
    for (const RuleSet set : {RuleSet::kBsc, RuleSet::kCausal}) {
      const std::int64_t rows = 1 + static_cast<std::int64_t>(seed % 7);
      const RunPicture picture =
          PictureOf(trace, matching, {set, 32768}, rows, 1 + static_cast<std::int64_t>(seed % 50));
      EXPECT_EQ(picture.problem, "") << seed;
      EXPECT_LE(static_cast<std::int64_t>(picture.rows.size()), rows);
      ExpectShares(trace, picture, "seed " + std::to_string(seed));
    }
  }
}

// The rows of a picture with as many columns as ticks hold the times of their rank to the tick.
TEST(RunPictureProperty, FinestColumnsAreExact) {
  int programs = 0;
  for (std::uint64_t seed = 0; seed < test::Repeats(20u); ++seed) {
    test::RandomProgramOptions options;
    options.steps = 6;
    const Trace trace = test::MakeRandomProgram(seed, options);
    const Tick length = trace.end() - trace.begin();
    if (length > 1'000'000) continue;
    ++programs;
    const RunPicture picture = PictureOf(trace, MatchTrace(trace), {}, 64, length);
    const Expected expected = Measure(trace);
    for (std::size_t rank = 0; rank < trace.size(); ++rank) {
      Tick computation = 0, outside = 0;
      for (const PictureCell& cell : picture.rows[rank]) {
        computation += cell[static_cast<std::size_t>(RunState::kComputation)] / kCellLevels;
        outside += cell[static_cast<std::size_t>(RunState::kOutside)] / kCellLevels;
      }
      EXPECT_EQ(computation, expected.computation[rank]) << "seed " << seed << ", rank " << rank;
      EXPECT_EQ(outside, expected.outside[rank]) << "seed " << seed << ", rank " << rank;
    }
  }
  EXPECT_GT(programs, test::Repeats(5));
}

TEST(RunPictureProperty, DoesNotDependOnThreads) {
  for (std::uint64_t seed = 0; seed < test::Repeats(30u); ++seed) {
    const Trace trace = test::MakeRandomProgram(seed, test::VariedOptions(seed));
    const Matching matching = MatchTrace(trace);
    std::vector<RunPicture> pictures;
    for (const std::size_t threads : {1u, 2u, 5u}) {
      const tbb::global_control control(tbb::global_control::max_allowed_parallelism, threads);
      pictures.push_back(PictureOf(trace, matching, {}));
    }
    EXPECT_EQ(pictures[0], pictures[1]);
    EXPECT_EQ(pictures[0], pictures[2]);
  }
}

TEST(RunPictureProperty, RealTracesAddUp) {
  for (const std::string& path : test::TracesToTry()) {
    const Trace trace = ReadTrace(path);
    const RunPicture picture = PictureOf(trace, MatchTrace(trace), {});
    EXPECT_EQ(picture.problem, "") << path;
    ExpectShares(trace, picture, path);
  }
}

}  // namespace
}  // namespace farscale
