#include "phases/rank_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <cmath>
#include <string>

#include "phases/phase_cut.h"
#include "support/clocked_program.h"
#include "support/program.h"
#include "support/programs_with_groups.h"

namespace farscale {
namespace {

using testing::ElementsAre;

// "do_md 0-19, pmeonly 20-31"
std::string Text(const std::vector<RankGroup>& groups) {
  std::string text;
  for (const RankGroup& group : groups) {
    text += (text.empty() ? "" : "; ") + group.name + " " + FormatRanks(group.ranks);
  }
  return text;
}

std::string GroupsIn(const Trace& trace, const PhaseSpec& spec = PhaseSpec::WholeRun()) {
  Diagnostics diagnostics;
  return Text(FindGroups(trace, CutPhase(trace, spec), diagnostics));
}

TEST(FindGroups, OneProgramHasNone) {
  EXPECT_EQ(GroupsIn(test::ParseTrace("r0: A 0-2 | Barrier@1 2-6\n"
                                      "r1: A 0-3 | Barrier@1 3-6\n"
                                      "r2: A 0-5 | Barrier@1 5-6\n")),
            "");
}

// T7 of tests/programs/imbalance.txt.
TEST(FindGroups, TwoProgramsOfTwoRanks) {
  EXPECT_EQ(GroupsIn(test::ParseTrace("r0: A 0-2 | Barrier@1 2-6\n"
                                      "r1: A 0-2 | Barrier@1 2-6\n"
                                      "r2: B 0-5 | Barrier@1 5-6\n"
                                      "r3: B 0-3 | Barrier@1 3-6\n")),
            "A 0-1; B 2-3");
}

// Two ranks alone are never two groups: a single rank of either kind is no cluster.
TEST(FindGroups, NeedsRanksThatAreAlike) {
  EXPECT_EQ(GroupsIn(test::ParseTrace("r0: A 0-2 | Barrier@1 2-6\nr1: B 0-2 | Barrier@1 2-6\n")), "");
  EXPECT_EQ(GroupsIn(test::ParseTrace("r0: A 0-2 | Barrier@1 2-6\n"
                                      "r1: B 0-2 | Barrier@1 2-6\n"
                                      "r2: C 0-2 | Barrier@1 2-6\n")),
            "");
}

// Rank 2 does what the others do, and as much again for all of them.
TEST(FindGroups, MoreBesidesTheSameIsNoGroup) {
  EXPECT_EQ(GroupsIn(test::ParseTrace("r0: A 0-3 | Barrier@1 3-8\n"
                                      "r1: A 0-3 | Barrier@1 3-8\n"
                                      "r2: A 0-3 | write 3-7 | Barrier@1 7-8\n"
                                      "r3: A 0-3 | Barrier@1 3-8\n")),
            "");
}

// Rank 4 does half of both: none of the two, and no third. It counts with the first.
TEST(FindGroups, RanksBetweenGroupsAreNamed) {
  const Trace trace = test::ParseTrace(
      "r0: A 0-4 | Barrier@1 4-6\n"
      "r1: A 0-4 | Barrier@1 4-6\n"
      "r2: B 0-4 | Barrier@1 4-6\n"
      "r3: B 0-4 | Barrier@1 4-6\n"
      "r4: A 0-2 | B 2-4 | Barrier@1 4-6\n");
  Diagnostics diagnostics;
  const auto found = FindGroups(trace, CutPhase(trace, PhaseSpec::WholeRun()), diagnostics);
  EXPECT_EQ(Text(found), "A 0-1, 4; B 2-3");
  ASSERT_EQ(diagnostics.count(anomaly::kRankInNoGroup), 1u);
  EXPECT_EQ(diagnostics.findings()[0].example, "in phase whole: 4");
}

// Ranks that compute nothing do nothing else than any other.
TEST(FindGroups, IdleRanksJoinTheLargest) {
  EXPECT_EQ(GroupsIn(test::ParseTrace("r0: A 0-4 | Barrier@1 4-6\n"
                                      "r1: B 0-4 | Barrier@1 4-6\n"
                                      "r2: B 0-4 | Barrier@1 4-6\n"
                                      "r3: A 0-4 | Barrier@1 4-6\n"
                                      "r4: A 0-4 | Barrier@1 4-6\n"
                                      "r5: Barrier@1 0-6\n")),
            "A 0, 3-5; B 1-2");
}

// Of the ranks in the phase alone.
TEST(FindGroups, InARegion) {
  const Trace trace = test::MakeDynamics({});
  EXPECT_EQ(GroupsIn(trace, PhaseSpec::Region("step")), "do_md 0-19; pmeonly 20-31");
  EXPECT_EQ(GroupsIn(trace, PhaseSpec::Region("do_md")), "");
  EXPECT_EQ(GroupsIn(trace, PhaseSpec::Region("pmeonly")), "");
}

class MolecularDynamics : public testing::TestWithParam<std::tuple<int, bool, bool, bool>> {};

TEST_P(MolecularDynamics, HasParticleAndMeshRanks) {
  const auto [ranks, regions, interleaved, sums_energies] = GetParam();
  for (const double imbalance : {0.0, 0.3, 2.0}) {
    test::DynamicsOptions options;
    options.ranks = ranks;
    options.regions = regions;
    options.interleaved = interleaved;
    options.sums_energies = sums_energies;
    options.mesh_halo = sums_energies;
    options.imbalance = imbalance;
    const Trace trace = test::MakeDynamics(options);
    for (const PhaseSpec& spec : {PhaseSpec::WholeRun(), PhaseSpec::FoundLoop()}) {
      Diagnostics diagnostics;
      const auto found = FindGroups(trace, CutPhase(trace, spec), diagnostics);
      ASSERT_EQ(found.size(), 2u) << spec.name << ", imbalance " << imbalance;
      EXPECT_EQ(found[1].ranks, test::MeshRanks(options));
      EXPECT_EQ(found[0].name, regions ? "do_md" : sums_energies ? "MPI_Allreduce" : "MPI_Sendrecv");
      EXPECT_EQ(found[1].name, regions ? "pmeonly" : "MPI_Alltoall");
      EXPECT_TRUE(diagnostics.empty());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, MolecularDynamics,
                         testing::Combine(testing::Values(8, 16, 32, 64), testing::Bool(), testing::Bool(),
                                          testing::Bool()));

TEST(FindGroups, MasterAndWorkers) {
  for (const int ranks : {4, 5, 8, 32}) {
    const std::string workers = "1-" + std::to_string(ranks - 1);
    EXPECT_EQ(GroupsIn(test::MakeMasterWorker(ranks, 6, false)), "workers " + workers + "; master 0");
    EXPECT_EQ(GroupsIn(test::MakeMasterWorker(ranks, 6, true)), "work " + workers + "; choose 0");
  }
}

TEST(FindGroups, OutputServers) {
  for (const bool mpi_output : {false, true}) {
    EXPECT_EQ(GroupsIn(test::MakeOutputServers(16, 1, mpi_output)), "MPI_Irecv 0-14; MPI_Recv 15");
    EXPECT_EQ(GroupsIn(test::MakeOutputServers(32, 2, mpi_output)), "MPI_Irecv 0-29; MPI_Recv 30-31");
  }
}

TEST(FindGroups, CoupledPrograms) {
  EXPECT_EQ(GroupsIn(test::MakeCoupled(16, true)), "ocean 0-7; atmosphere 8-15");
  EXPECT_EQ(GroupsIn(test::MakeCoupled(16, false)), "MPI_Allreduce 0-7; MPI_Bcast 8-15");
}

TEST(FindGroups, DoNotDependOnThreads) {
  const Trace trace = test::MakeDynamics({});
  for (const std::size_t threads : {1u, 2u, 5u}) {
    const tbb::global_control control(tbb::global_control::max_allowed_parallelism, threads);
    EXPECT_EQ(GroupsIn(trace), "do_md 0-19; pmeonly 20-31");
  }
}

// A name is part of that of a phase, whose two parts must be told from each other.
TEST(GroupNames, HaveNoSeparator) {
  test::ClockedProgram p(4);
  for (int rank = 0; rank < 4; ++rank) p.Compute(rank, 100, rank < 2 ? "a / b" : "a/b");
  p.Collective("MPI_Barrier", CollectiveKind::kBarrier);
  EXPECT_EQ(GroupsIn(p.Finish()), "a/b 0-1; a/b 2 2-3");
}

RankGroup Group(const std::string& name, std::map<std::string, double> regions, bool has_own_name = true) {
  return {name, {0, 1}, has_own_name, {std::move(regions), {}, {}}};
}

std::vector<std::string> Names(const std::vector<RankGroup>& groups) {
  std::vector<std::string> names;
  for (const RankGroup& group : groups) names.push_back(group.name);
  return names;
}

// In the second run "fft" is the larger part of what the first calls "spread".
TEST(MatchNames, ByNameThenByWork) {
  std::vector<RankGroup> first = {Group("pp", {{"force", 1}}), Group("spread", {{"spread", 0.5}, {"fft", 0.4}})};
  std::vector<RankGroup> second = {Group("fft", {{"spread", 0.4}, {"fft", 0.5}}), Group("pp", {{"force", 0.9}})};
  MatchNames({&first, &second});
  EXPECT_THAT(Names(second), ElementsAre("spread", "pp"));
}

// Numbers say nothing, and order may change.
TEST(MatchNames, NumbersAreNoNames) {
  std::vector<RankGroup> first = {Group("group 1", {{"a", 1}}, false), Group("group 2", {{"b", 1}}, false)};
  std::vector<RankGroup> second = {Group("group 1", {{"b", 1}}, false), Group("group 2", {{"a", 1}}, false)};
  MatchNames({&first, &second});
  EXPECT_THAT(Names(second), ElementsAre("group 2", "group 1"));
}

TEST(MatchNames, NewGroupsKeepTheirs) {
  std::vector<RankGroup> first;
  std::vector<RankGroup> second = {Group("a", {{"a", 1}}), Group("b", {{"b", 1}})};
  std::vector<RankGroup> third = {Group("a", {{"a", 1}}), Group("c", {{"c", 1}})};
  MatchNames({&first, &second, &third}, {"b"});
  EXPECT_THAT(Names(second), ElementsAre("a", "b 2"));
  EXPECT_THAT(Names(third), ElementsAre("a", "c"));
}

TEST(FormatRanks, AsRanges) {
  EXPECT_EQ(FormatRanks({}), "");
  EXPECT_EQ(FormatRanks({7}), "7");
  EXPECT_EQ(FormatRanks({0, 1, 2, 3}), "0-3");
  EXPECT_EQ(FormatRanks({0, 1, 4, 8, 9}), "0-1, 4, 8-9");
  EXPECT_EQ(FormatRanks({3, 7, 11, 15}), "3 to 15 by 4");
  EXPECT_EQ(FormatRanks({1, 4}), "1, 4");
  EXPECT_EQ(FormatRanks({0, 2, 3, 5, 7, 8, 10}), "0, 2-3, 5, 7-8, …");
}

// Points on a line; the clusters as letters, noise as a dot.
std::string Clusters(const std::vector<double>& places, double reach, std::size_t fewest,
                     std::vector<std::size_t> weights = {}) {
  weights.resize(places.size(), 1);
  const auto distance = [&](std::size_t i, std::size_t j) { return std::fabs(places[i] - places[j]); };
  std::string text;
  for (const auto& cluster : FindClusters(weights, distance, reach, fewest)) {
    text += cluster ? static_cast<char>('a' + static_cast<int>(*cluster)) : '.';
  }
  return text;
}

TEST(DensityClusters, ChainsAndNoise) { EXPECT_EQ(Clusters({0, 1, 2, 3, 10, 11, 20}, 1, 2), "aaaabb."); }

// With three as the fewest, 1 and 2 have enough neighbours; 0 and 3 are in their reach. 10 and 11 are too few.
TEST(DensityClusters, FewestCountsThePointItself) { EXPECT_EQ(Clusters({0, 1, 2, 3, 10, 11}, 1, 3), "aaaa.."); }

// 0 has too few neighbours itself and is taken for noise, until 1 reaches it.
TEST(DensityClusters, BorderPointsMayBeNoiseFirst) { EXPECT_EQ(Clusters({0, 1, 2, 1.5}, 1, 4), "aaaa"); }

// 3.5 is in the reach of both clusters and dense in none: the first takes it, and it does not join them.
TEST(DensityClusters, BorderPointsDoNotJoinClusters) {
  EXPECT_EQ(Clusters({0, 1, 2, 3.5, 5, 6, 7}, 1.5, 4, {2, 2, 1, 1, 1, 2, 2}), "aaaabbb");
}

TEST(DensityClusters, WeightsAreSeveralPoints) { EXPECT_EQ(Clusters({0, 10, 20}, 1, 2, {1, 2, 1}), ".a."); }

TEST(DensityClusters, Nothing) { EXPECT_EQ(Clusters({}, 1, 2), ""); }

}  // namespace
}  // namespace farscale
