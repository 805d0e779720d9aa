#include "imbalance/causes/find_causes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <iterator>
#include <string>

#include "base/random.h"
#include "support/faulty_program.h"
#include "support/program.h"
#include "support/repeats.h"

namespace farscale {
namespace {

using test::Fault;
using test::FaultKind;
using test::FaultyRun;

std::vector<Cause> CausesOf(const FaultyRun& run, const PhaseSpec& phase = PhaseSpec::Region("step")) {
  const Trace trace = test::MakeFaulty(run);
  const Matching matching = MatchTrace(trace);
  DiagnosisOptions options;
  options.finds_causes = true;
  return Diagnose(trace, matching, CutPhase(trace, phase), options).causes;
}

struct Expected {
  const char* name;
  Fault fault;
  CausePlace place;
  CauseClass reason;
  const char* path;  // end of it; empty: in everything
};

// What a run would gain: work that others have none of is spread over all ranks.
double GainOf(const FaultyRun& run, FaultKind fault) {
  FaultyRun without = run;
  without.faults.clear();
  const double gain = test::LengthOf(run) - test::LengthOf(without);
  const bool is_spread = fault == FaultKind::kSerialRoot || fault == FaultKind::kAlternatingRoot;
  return is_spread ? gain * (1 - 1 / static_cast<double>(run.ranks)) : gain;
}

std::size_t NodeSize(std::size_t ranks) { return ranks == 4 ? 2 : ranks == 64 ? 8 : 32; }

class InjectedFault : public testing::TestWithParam<std::tuple<std::size_t, Expected>> {};

// The first cause is the injected one, and removing it gains what the same run without it takes less.
TEST_P(InjectedFault, IsNamedFirst) {
  const auto& [ranks, expected] = GetParam();
  FaultyRun run;
  run.ranks = ranks;
  run.ranks_on_node = NodeSize(ranks);
  run.faults = {expected.fault};
  const std::vector<Cause> causes = CausesOf(run);
  ASSERT_FALSE(causes.empty());
  const Cause& first = causes.front();
  EXPECT_EQ(IdOf(first.place), IdOf(expected.place));
  EXPECT_EQ(IdOf(first.reason()), IdOf(expected.reason));
  EXPECT_EQ(first.in_everything, std::string(expected.path).empty());
  EXPECT_TRUE(first.path.ends_with(expected.path)) << first.path;
  EXPECT_EQ(causes.size(), 1u);
  const double gain = GainOf(run, expected.fault.kind);
  EXPECT_NEAR(first.gain, gain, 0.05 * gain);
}

constexpr Expected kFaults[] = {
    {"SlowRank", {FaultKind::kSlowRank, 3, 0.25}, CausePlace::kRank, CauseClass::kMoreWork, "solve"},
    {"SlowNode", {FaultKind::kSlowNode, 1, 0.25}, CausePlace::kNode, CauseClass::kLowerFrequency, ""},
    {"MovingHotSpot", {FaultKind::kMovingHotSpot, 1, 0.5}, CausePlace::kMovingHotSpot, CauseClass::kMoreWork, "solve"},
    {"LateSender", {FaultKind::kLateSender, 2, 0.5}, CausePlace::kRank, CauseClass::kMoreWork, "assemble"},
    {"MoreCalls", {FaultKind::kMoreCalls, 1, 1}, CausePlace::kRank, CauseClass::kMoreCalls, "solve"},
    {"CacheMisses", {FaultKind::kCacheMisses, 0, 0.3}, CausePlace::kRank, CauseClass::kLowerIpc, "solve"},
    {"Interruption", {FaultKind::kInterruption, 2, 0.1}, CausePlace::kOnce, CauseClass::kInterruptions, "solve"},
    {"SerialRoot", {FaultKind::kSerialRoot, 0, 0.2}, CausePlace::kAlone, CauseClass::kMoreWork, "write"},
    {"AlternatingRoot",
     {FaultKind::kAlternatingRoot, 0, 0.2},
     CausePlace::kMovingHotSpot,
     CauseClass::kMoreWork,
     "write"},
    {"ExitSkew", {FaultKind::kExitSkew, 1, 0.2}, CausePlace::kRank, CauseClass::kUnknown, "MPI_Allreduce"},
    {"UnevenWork", {FaultKind::kUnevenWork, 0, 0.3}, CausePlace::kByDegrees, CauseClass::kMoreWork, "solve"},
    {"FromTime", {FaultKind::kFromTime, 3, 0.25}, CausePlace::kFromTime, CauseClass::kMoreWork, "solve"},
    {"Periodic", {FaultKind::kPeriodic, 3, 0.5}, CausePlace::kPeriodic, CauseClass::kInterruptions, "solve"},
    {"StartUp", {FaultKind::kStartUp, 3, 0.25}, CausePlace::kStartUp, CauseClass::kMoreWork, "solve"},
    {"NoisyRank", {FaultKind::kNoisyRank, 2, 0.4}, CausePlace::kNoisyRank, CauseClass::kInterruptions, "solve"},
};

constexpr std::size_t kRanks[] = {4, 64, 1024};

INSTANTIATE_TEST_SUITE_P(Runs, InjectedFault,
                         testing::Combine(testing::ValuesIn(kRanks, kRanks + (test::IsBrief() ? 2 : 3)),
                                          testing::ValuesIn(kFaults)),
                         [](const auto& test) {
                           return std::string(std::get<1>(test.param).name) + std::to_string(std::get<0>(test.param));
                         });

// One that a generator draws: other sizes, lengths, faults, noise than above.
struct Drawn {
  FaultyRun run;
  Expected expected;
};

Drawn Draw(std::uint64_t seed) {
  Random random(seed);
  constexpr std::size_t kCounts[] = {3, 6, 12, 24, 48, 96, 160};
  constexpr double kNoise[] = {0, 0.005, 0.01, 0.02};
  Drawn drawn{{}, kFaults[random.Index(std::size(kFaults))]};
  FaultyRun& run = drawn.run;
  run.ranks = kCounts[random.Index(std::size(kCounts))];
  run.iterations = 12 + random.Index(60);
  run.ranks_on_node = run.ranks == 3 ? 1 : run.ranks / 3;
  run.noise = kNoise[random.Index(std::size(kNoise))];
  run.noise_kind = static_cast<test::NoiseKind>(random.Index(3));
  run.has_halo = random.Uniform() < 0.6;
  run.has_counters = random.Uniform() < 0.7;
  run.seed = seed;
  Fault& fault = drawn.expected.fault;
  const bool of_node = fault.kind == FaultKind::kSlowNode;
  fault.at = random.Index(of_node ? 3 : run.ranks);
  if (fault.kind != FaultKind::kMoreCalls) fault.size *= 0.6 + random.Uniform();
  if (of_node && run.ranks == 3) drawn.expected.place = CausePlace::kRank;
  const bool is_by_counters = drawn.expected.place != CausePlace::kAlone && fault.kind != FaultKind::kMoreCalls &&
                              fault.kind != FaultKind::kAlternatingRoot;
  if (!run.has_counters && is_by_counters) drawn.expected.reason = CauseClass::kUnknown;
  run.faults = {fault};
  return drawn;
}

std::string Describe(const Cause& cause) {
  return std::string(IdOf(cause.place)) + ' ' + std::string(IdOf(cause.reason())) + ' ' + cause.path;
}

// A few are too short, or hide in their noise: three of five slow iterations are no period, and so on.
TEST(FindCauses, OfOtherRuns) {
  const std::uint64_t kRuns = test::Repeats(200);
  std::size_t places = 0, reasons = 0, gains = 0, extra = 0;
  std::string missed;
  for (std::uint64_t seed = 1; seed <= kRuns; ++seed) {
    const auto [run, expected] = Draw(seed);
    const std::vector<Cause> causes = CausesOf(run);
    const double length = test::LengthOf(run), gain = GainOf(run, expected.fault.kind);
    const bool has_place =
        !causes.empty() && causes[0].place == expected.place && causes[0].path.ends_with(expected.path);
    const bool has_reason = has_place && causes[0].reason() == expected.reason;
    const bool has_gain = has_place && std::abs(causes[0].gain - gain) < std::max(0.05 * gain, 0.005 * length);
    places += has_place;
    reasons += has_reason;
    gains += has_gain;
    extra += causes.size() > 1;
    if (has_place && has_reason && has_gain) continue;
    missed += "seed " + std::to_string(seed) + ": " + expected.name + ", " + std::to_string(run.ranks) + " ranks, " +
              std::to_string(run.iterations) + " iterations, noise " + std::to_string(run.noise) + ' ' +
              std::to_string(static_cast<int>(run.noise_kind)) + ", size " + std::to_string(expected.fault.size) +
              ": " + (causes.empty() ? "nothing" : Describe(causes[0])) + '\n';
  }
  RecordProperty("places", static_cast<int>(places));
  RecordProperty("classes", static_cast<int>(reasons));
  RecordProperty("gains", static_cast<int>(gains));
  EXPECT_GE(places, kRuns * 95 / 100) << missed;
  EXPECT_GE(reasons, kRuns * 95 / 100);
  EXPECT_GE(gains, kRuns * 95 / 100);
  EXPECT_LE(extra, kRuns * 5 / 100);
}

// Both are named, by what they gain; once the first is gone, the second is the next bottleneck.
TEST(FindCauses, OfTwoFaultsAtOnce) {
  FaultyRun run;
  run.ranks = 32;
  run.ranks_on_node = 8;
  run.noise = 0.005;
  run.faults = {{FaultKind::kSlowRank, 5, 0.4}, {FaultKind::kLateSender, 20, 0.5}};
  std::vector<Cause> causes = CausesOf(run);
  ASSERT_EQ(causes.size(), 2u);
  EXPECT_EQ(causes[0].ranks, (std::vector<std::size_t>{5}));
  EXPECT_EQ(causes[1].ranks, (std::vector<std::size_t>{20}));
  EXPECT_GT(causes[0].gain, causes[1].gain);
  EXPECT_EQ(causes[0].next, 1u);
  run.faults = {{FaultKind::kSlowNode, 2, 0.2}, {FaultKind::kInterruption, 3, 0.1}};
  causes = CausesOf(run);
  ASSERT_EQ(causes.size(), 2u);
  EXPECT_EQ(IdOf(causes[0].place), "node");
  EXPECT_EQ(causes[0].node, "node2");
  EXPECT_EQ(IdOf(causes[1].place), "once");
  // Two ranks that are slow alike hide each other: without one of them alone nothing is gained.
  run.faults = {{FaultKind::kSlowRank, 5, 0.4}, {FaultKind::kCacheMisses, 9, 0.4}};
  causes = CausesOf(run);
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(IdOf(causes[0].place), "ranks");
  EXPECT_THAT(causes[0].ranks, testing::UnorderedElementsAre(5, 9));
}

// [Boehme13, Fig. 3.4a]: A is longer on one rank and B on another, so that both arrive with the third. Without either
// delay alone the slower ranks become faster and the others slower; without both nothing is gained. None is a repair.
TEST(FindCauses, NamesNoDelaysThatCancel) {
  const test::TextProgram program = test::ParseProgram(
      "r0: A 0-4000 | B 4000-6000 | Barrier@1 6000-7000\n"
      "r1: A 0-3000 | B 3000-6000 | Barrier@1 6000-7000\n"
      "r2: A 0-2000 | B 2000-6000 | Barrier@1 6000-7000\n");
  DiagnosisOptions options;
  options.finds_causes = true;
  const Diagnosis diagnosis =
      Diagnose(program.trace, MatchTrace(program.trace), CutPhase(program.trace, PhaseSpec::WholeRun()), options);
  EXPECT_TRUE(diagnosis.causes.empty());
}

// [Boehme13, Fig. 5.2]: another rank computes 4000 in each of three iterations while the others wait. Spread over three
// ranks that takes 4000/3 in each: 8000 less in all.
TEST(FindCauses, GainsOfWorkThatIsSpread) {
  const test::TextProgram program = test::ParseProgram(
      "r0: A 0-1000 | B 1000-5000 | Barrier@1 5000-6000 | A 6000-7000 | Barrier@2 7000-12000 | A 12000-13000 | "
      "Barrier@3 13000-18000\n"
      "r1: A 0-1000 | Barrier@1 1000-6000 | A 6000-7000 | B 7000-11000 | Barrier@2 11000-12000 | A 12000-13000 | "
      "Barrier@3 13000-18000\n"
      "r2: A 0-1000 | Barrier@1 1000-6000 | A 6000-7000 | Barrier@2 7000-12000 | A 12000-13000 | B 13000-17000 | "
      "Barrier@3 17000-18000\n");
  DiagnosisOptions options;
  options.finds_causes = true;
  const std::vector<Cause> causes =
      Diagnose(program.trace, MatchTrace(program.trace), CutPhase(program.trace, PhaseSpec::WholeRun()), options)
          .causes;
  ASSERT_FALSE(causes.empty());
  EXPECT_EQ(IdOf(causes[0].place), "movingHotSpot");
  EXPECT_NEAR(causes[0].gain, 8000, 3);
}

// A hot spot that moves over the ranks, and one rank that is interrupted again and again in the same call path.
TEST(FindCauses, OfAHotSpotBesideANoisyRank) {
  FaultyRun run;
  run.ranks = 64;
  run.ranks_on_node = 8;
  run.iterations = 50;
  run.faults = {{FaultKind::kMovingHotSpot, 5, 0.5}, {FaultKind::kNoisyRank, 60, 0.4}};
  const std::vector<Cause> causes = CausesOf(run);
  ASSERT_EQ(causes.size(), 2u);
  for (const Cause& cause : causes) {
    const bool is_noisy = cause.place == CausePlace::kNoisyRank;
    EXPECT_EQ(IdOf(cause.reason()), is_noisy ? "interruptions" : "moreWork");
    EXPECT_EQ(IdOf(cause.place), is_noisy ? "noisyRank" : "movingHotSpot");
  }
  EXPECT_NE(causes[0].place, causes[1].place);
}

// Without regions of the program and without iterations: steps between the collectives of all ranks show it.
TEST(FindCauses, InAWholeRunWithoutRegions) {
  FaultyRun run;
  run.ranks = 16;
  run.ranks_on_node = 4;
  run.noise = 0.005;
  run.has_regions = false;
  run.faults = {{FaultKind::kSlowNode, 1, 0.3}};
  std::vector<Cause> causes = CausesOf(run, PhaseSpec::WholeRun());
  ASSERT_FALSE(causes.empty());
  EXPECT_EQ(IdOf(causes[0].place), "node");
  EXPECT_EQ(IdOf(causes[0].reason()), "lowerFrequency");
  run.faults = {{FaultKind::kInterruption, 7, 0.1}};
  causes = CausesOf(run, PhaseSpec::WholeRun());
  ASSERT_FALSE(causes.empty());
  EXPECT_EQ(IdOf(causes[0].place), "once");
  EXPECT_EQ(causes[0].ranks, (std::vector<std::size_t>{7}));
  ASSERT_TRUE(causes[0].worst.has_value());
  EXPECT_EQ(causes[0].worst->rank, 7u);
  EXPECT_EQ(causes[0].worst->waiting_count, 15u);
}

// What all ranks do at once in few steps is nobody's fault.
TEST(FindCauses, NotOfWhatAllDoAtTheSameTime) {
  FaultyRun run;
  run.ranks = 16;
  run.noise = 0.01;
  for (const bool has_halo : {false, true}) {
    run.has_halo = has_halo;
    EXPECT_TRUE(CausesOf(run, PhaseSpec::WholeRun()).empty());
  }
  LoadMatrix load;
  for (std::size_t rank = 0; rank < 16; ++rank) load.ranks.push_back(rank);
  load.iterations = 10;
  load.seconds.assign(160, 0);
  for (std::size_t rank = 0; rank < 16; ++rank) load.seconds[rank * 10 + 3] = 100;
  const RowPlaces places{std::vector<std::int32_t>(16, 0), {}, {}};
  EXPECT_TRUE(FindDeviations(load, places, 100).empty());
  load.seconds[7 * 10 + 3] = 200;
  const std::vector<LoadDeviation> found = FindDeviations(load, places, 100);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].place, CausePlace::kOnce);
  EXPECT_EQ(found[0].rows, (std::vector<std::size_t>{7}));
  EXPECT_FLOAT_EQ(found[0].kept[0][3], 0.5F);
}

// Twelve ranks take 100 to 101.1 and four of another group 30: between groups that is no matter of degrees, and within
// them nothing. Without groups the slowest is 22 % above the mean of all.
TEST(FindCauses, GroupsDoNotDifferByDegrees) {
  LoadMatrix load;
  RowPlaces places{std::vector<std::int32_t>(16, 0), {}, {}, {}};
  for (std::size_t rank = 0; rank < 16; ++rank) {
    load.ranks.push_back(rank);
    load.seconds.insert(load.seconds.end(), 10, rank < 12 ? 100 + 0.1 * static_cast<double>(rank) : 30);
    places.groups.push_back(rank < 12 ? 1 : 2);
  }
  load.iterations = 10;
  EXPECT_TRUE(FindDeviations(load, places, 100).empty());
  places.groups.clear();
  ASSERT_EQ(FindDeviations(load, places, 100).size(), 1u);
  for (std::size_t column = 0; column < 10; ++column) load.seconds[3 * 10 + column] = 104;
  places.groups.assign(16, 2);
  std::fill(places.groups.begin(), places.groups.begin() + 12, 1);
  const std::vector<LoadDeviation> found = FindDeviations(load, places, 100);
  for (const LoadDeviation& one : found) EXPECT_EQ(one.rows.front(), 3u);
}

// Half of the ranks have no part in it: the problem has 8. Groups of ranks that do different work have their own paths.
TEST(FindCauses, HalfOfTheRanksDoItAlone) {
  LoadMatrix load;
  RowPlaces places{std::vector<std::int32_t>(16, 0), {}, {}, {}};
  for (std::size_t rank = 0; rank < 16; ++rank) {
    load.ranks.push_back(rank);
    load.seconds.insert(load.seconds.end(), 10, rank < 8 ? 100 : 0);
  }
  load.iterations = 10;
  const std::vector<LoadDeviation> found = FindDeviations(load, places, 400);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].place, CausePlace::kAlone);
  EXPECT_EQ(found[0].rows.size(), 8u);
  places.groups.assign(16, 2);
  std::fill(places.groups.begin(), places.groups.begin() + 8, 1);
  EXPECT_TRUE(FindDeviations(load, places, 400).empty());
  places.groups.clear();
  load.seconds.assign(160, 0);
  std::fill(load.seconds.begin(), load.seconds.begin() + 90, 100);  // of more than half it is no matter of few
  EXPECT_TRUE(FindDeviations(load, places, 400).empty());
}

// A grid of 4 rows and 4 columns of ranks that take 100, but for those in column 2, which take 120 (ranks 2, 6, 10,
// 14).
TEST(FindCauses, RowsAndColumnsOfTheGridArePlaces) {
  LoadMatrix load;
  RowPlaces places{std::vector<std::int32_t>(16, 0), {}, std::vector<std::vector<std::size_t>>(2)};
  for (std::size_t rank = 0; rank < 16; ++rank) {
    load.ranks.push_back(rank);
    places.coordinates[0].push_back(rank / 4);
    places.coordinates[1].push_back(rank % 4);
  }
  load.iterations = 10;
  for (std::size_t rank = 0; rank < 16; ++rank) load.seconds.insert(load.seconds.end(), 10, rank % 4 == 2 ? 120 : 100);
  std::vector<LoadDeviation> found = FindDeviations(load, places, 100);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].place, CausePlace::kPlane);
  EXPECT_EQ(found[0].line, (GridLine{1, 2, 2}));
  EXPECT_EQ(found[0].rows, (std::vector<std::size_t>{2, 6, 10, 14}));
  EXPECT_DOUBLE_EQ(*found[0].level, 1.2);
  places.nodes = {0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0};  // a node explains it as well, and comes behind
  found = FindDeviations(load, places, 100);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].place, CausePlace::kPlane);
  EXPECT_EQ(found[0].node, 1);
  places.nodes = std::vector<std::int32_t>(16, 0);
  places.sockets = {0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0};  // and so does a socket
  found = FindDeviations(load, places, 100);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].place, CausePlace::kPlane);
  EXPECT_EQ(found[0].node, 0);
  EXPECT_EQ(found[0].socket, 1);
  places = {std::vector<std::int32_t>(16, 0), {}, {}};
  found = FindDeviations(load, places, 100);  // a quarter of the ranks
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].place, CausePlace::kRanks);
}

TEST(FindCauses, NothingIsAccusedWithoutAFault) {
  for (const std::size_t ranks : {2, 4, 7, 64, 200}) {
    FaultyRun run;
    run.seed = ranks;
    run.ranks = ranks;
    run.ranks_on_node = NodeSize(ranks);
    for (const auto noise_kind :
         {test::NoiseKind::kNormal, test::NoiseKind::kLogNormal, test::NoiseKind::kExponential}) {
      for (const double noise : {0.0, 0.005, 0.02, 0.1, 0.3}) {
        run.noise = noise;
        ++run.seed;
        run.iterations = 10 + run.seed % 50;
        run.noise_kind = noise_kind;
        const std::vector<Cause> causes = CausesOf(run);
        EXPECT_TRUE(causes.empty()) << ranks << ' ' << noise << ' ' << static_cast<int>(noise_kind) << ' '
                                    << (causes.empty() ? "" : IdOf(causes[0].place));
      }
    }
  }
}

}  // namespace
}  // namespace farscale
