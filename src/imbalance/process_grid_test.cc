#include "imbalance/causes/process_grid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/random.h"
#include "support/program.h"
#include "support/traces.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

using Sizes = std::vector<std::size_t>;

std::size_t RanksOf(const Sizes& extents) {
  std::size_t ranks = 1;
  for (const std::size_t extent : extents) ranks *= extent;
  return ranks;
}

// All pairs of neighbours, over the edges too where it is periodic; with diagonals those that differ in several
// dimensions.
std::vector<Partners> Neighbours(const Sizes& extents, bool is_periodic, bool has_diagonals) {
  ProcessGrid grid;
  grid.extents = extents;
  std::vector<Partners> partners;
  for (std::size_t a = 0; a < RanksOf(extents); ++a) {
    for (std::size_t b = a + 1; b < RanksOf(extents); ++b) {
      std::size_t moved = 0, far = 0;
      for (std::size_t d = 0; d < extents.size(); ++d) {
        const std::size_t i = grid.CoordinatesOf(a)[d], k = grid.CoordinatesOf(b)[d],
                          step = std::max(i, k) - std::min(i, k);
        moved += step > 0;
        far += step > 1 && !(is_periodic && step == extents[d] - 1);
      }
      if (far == 0 && (moved == 1 || has_diagonals)) partners.push_back({a, b, 10});
    }
  }
  return partners;
}

TEST(ProcessGrid, OfNeighbours) {
  for (const Sizes& extents : {Sizes{5}, Sizes{16}, Sizes{4, 4}, Sizes{3, 5}, Sizes{8, 2}, Sizes{16, 32},
                               Sizes{4, 4, 4}, Sizes{2, 3, 5}, Sizes{5, 3, 2}, Sizes{8, 8, 8}, Sizes{4, 4, 2}}) {
    for (const bool is_periodic : {false, true}) {
      const std::optional<ProcessGrid> grid = GridOfPartners(RanksOf(extents), Neighbours(extents, is_periodic, false));
      ASSERT_TRUE(grid);
      EXPECT_EQ(grid->extents, extents);
      EXPECT_EQ(grid->explained, 1);
      EXPECT_FALSE(grid->has_diagonals);
      EXPECT_EQ(grid->size(), RanksOf(extents));
      for (std::size_t d = 0; d < extents.size(); ++d) EXPECT_EQ(grid->periodic[d], is_periodic && extents[d] > 2);
    }
  }
}

TEST(ProcessGrid, WithDiagonals) {
  for (const Sizes& extents : {Sizes{4, 4}, Sizes{6, 5}, Sizes{3, 3, 3}, Sizes{4, 4, 4}, Sizes{5, 4, 6}}) {
    const std::optional<ProcessGrid> grid = GridOfPartners(RanksOf(extents), Neighbours(extents, false, true));
    ASSERT_TRUE(grid);
    EXPECT_EQ(grid->extents, extents);
    EXPECT_TRUE(grid->has_diagonals);
  }
}

// Three by four: the last dimension changes fastest, so rank 7 is in row 1, column 3.
TEST(ProcessGrid, Coordinates) {
  ProcessGrid grid;
  grid.extents = {3, 4};
  EXPECT_EQ(grid.CoordinatesOf(7), (Sizes{1, 3}));
  EXPECT_EQ(grid.CoordinatesOf(8), (Sizes{2, 0}));
}

// Everyone sends a result to rank 0 once, which is rare beside ten messages to every neighbour in each of ten steps; if
// it is not rare, half of the 24 pairs beside the 24 of neighbours are explained.
TEST(ProcessGrid, RareMessagesDoNotCount) {
  const auto with_results = [](std::uint64_t messages) {
    std::vector<Partners> partners = Neighbours({4, 4}, false, false);
    for (Partners& pair : partners) pair.messages = 100;
    for (std::size_t rank = 2; rank < 16; ++rank) {
      if (rank != 4) partners.push_back({0, rank, messages});
    }
    return GridOfPartners(16, partners);
  };
  ASSERT_TRUE(with_results(1));
  EXPECT_EQ(with_results(1)->extents, (Sizes{4, 4}));
  EXPECT_FALSE(with_results(50));
}

TEST(ProcessGrid, OfOtherPatterns) {
  std::vector<Partners> all, master, butterfly, few;
  for (std::size_t a = 0; a < 32; ++a) {
    for (std::size_t b = a + 1; b < 32; ++b) {
      all.push_back({a, b, 1});
      if (a == 0) master.push_back({a, b, 1});
      const std::size_t differing = a ^ b;
      if ((differing & (differing - 1)) == 0) butterfly.push_back({a, b, 1});
    }
  }
  few = {{0, 1, 5}, {4, 9, 5}};
  for (const auto& partners : {all, master, butterfly, few, {}}) EXPECT_FALSE(GridOfPartners(32, partners));
  EXPECT_FALSE(GridOfPartners(2, {{0, 1, 9}}));
}

// Ranks in any order, and partners at random.
TEST(ProcessGrid, OfRandomPartners) {
  Random random(3);
  std::size_t found = 0;
  for (int sample = 0; sample < 200; ++sample) {
    std::vector<std::size_t> order(16);
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    random.Shuffle(order);
    std::vector<Partners> partners = Neighbours({4, 4}, false, false);
    for (Partners& pair : partners) {
      const std::size_t a = order[pair.a], b = order[pair.b];
      pair = {std::min(a, b), std::max(a, b), 1};
    }
    found += GridOfPartners(16, partners).has_value();
  }
  EXPECT_EQ(found, 0u);
}

Trace WithCommunicators(std::size_t ranks, const std::vector<std::vector<std::int32_t>>& communicators) {
  std::string text;
  for (std::size_t rank = 0; rank < ranks; ++rank) text += "r" + std::to_string(rank) + ": comp 0-1\n";
  Trace trace = test::ParseTrace(text);
  for (const std::vector<std::int32_t>& members : communicators)
    trace.communicators.push_back({"", members, {}, false});
  return trace;
}

// Two by three: rows 0-2 and 3-5, columns 0 3, 1 4 and 2 5.
TEST(ProcessGrid, OfCommunicators) {
  const std::vector<std::vector<std::int32_t>> rows = {{0, 1, 2}, {3, 4, 5}}, columns = {{0, 3}, {1, 4}, {2, 5}};
  std::vector<std::vector<std::int32_t>> both = rows;
  both.insert(both.end(), columns.begin(), columns.end());
  const Trace trace = WithCommunicators(6, both);
  const PhaseCut cut = CutPhase(trace, PhaseSpec::WholeRun());
  EXPECT_EQ(ExtentsOfCommunicators(trace, cut), (Sizes{2, 3}));
  const std::optional<ProcessGrid> grid = FindProcessGrid(trace, cut);
  ASSERT_TRUE(grid);
  EXPECT_EQ(grid->source, GridSource::kCommunicators);
  EXPECT_EQ(grid->explained, 0);
  for (const auto& some : {rows, columns, {{0, 1, 2}, {0, 3}, {1, 4}, {2, 5}}, {{0, 2, 4}, {1, 3, 5}}, {{0, 1, 5}}}) {
    const Trace other = WithCommunicators(6, some);
    EXPECT_TRUE(ExtentsOfCommunicators(other, CutPhase(other, PhaseSpec::WholeRun())).empty());
  }
}

// Columns first, as the program says: rank 1 is the fourth place. One that has no place for rank 5 is left.
TEST(ProcessGrid, OfTopologies) {
  Trace trace = WithCommunicators(6, {{0, 1, 2, 3, 4, 5}, {0, 1, 2, 3}});
  const auto world = static_cast<std::uint32_t>(trace.communicators.size() - 2);
  trace.topologies.push_back({"", world + 1, {2, 2}, {false, false}, {0, 1, 2, 3}});
  const PhaseCut cut = CutPhase(trace, PhaseSpec::WholeRun());
  EXPECT_FALSE(FindProcessGrid(trace, cut));
  trace.topologies.push_back({"", world, {2, 1, 3}, {true, true, true}, {0, 3, 1, 4, 2, 5}});
  const std::optional<ProcessGrid> grid = FindProcessGrid(trace, cut);
  ASSERT_TRUE(grid);
  EXPECT_EQ(grid->source, GridSource::kTopology);
  EXPECT_EQ(grid->extents, (Sizes{2, 3}));
  EXPECT_EQ(grid->periodic, (std::vector<bool>{false, true}));
  EXPECT_EQ(grid->CoordinatesOf(1), (Sizes{1, 0}));
  EXPECT_EQ(grid->CoordinatesOf(4), (Sizes{0, 2}));
}

// What the programs print of their layout, or is known of it: LULESH is a cube with all neighbours, LU and Sweep3D are
// planes, CoMD and LAMMPS periodic boxes; a dimension of two ranks has no other neighbours over its edges. CG exchanges
// messages between ranks whose numbers differ in one bit, and transposes.
// One message from rank 0 to 1 and from 3 to 0, two from 2 to 3. Without rank 1 the others are 0, 1 and 2 of the phase.
TEST(ProcessGrid, PartnersAreRanksOfThePhase) {
  const Trace trace = test::ParseTrace(
      "r0: Send>1#x 0-1 | Recv<3#c 1-5\n"
      "r1: Recv<0#x 0-1 | comp 1-5\n"
      "r2: Send>3#a 0-1 | Send>3#b 1-2 | comp 2-5\n"
      "r3: Recv<2#a 0-1 | Recv<2#b 1-2 | Send>0#c 2-3 | comp 3-5");
  PhaseCut cut = CutPhase(trace, PhaseSpec::WholeRun());
  const auto partners_of = [&] {
    std::vector<std::vector<std::size_t>> found;
    for (const Partners& pair : PartnersOf(trace, cut)) found.push_back({pair.a, pair.b, pair.messages});
    return found;
  };
  EXPECT_EQ(partners_of(), (std::vector<std::vector<std::size_t>>{{0, 1, 1}, {0, 3, 1}, {2, 3, 2}}));
  cut.ranks[1].present = false;
  EXPECT_EQ(partners_of(), (std::vector<std::vector<std::size_t>>{{0, 2, 1}, {1, 2, 2}}));
}

TEST(ProcessGrid, OfRealTraces) {
  const std::map<std::string, Sizes> grids = {
      {"lulesh-weak/8", {2, 2, 2}},   {"lulesh-weak/27", {3, 3, 3}},    {"lulesh-weak/64", {4, 4, 4}},
      {"lulesh-weak/125", {5, 5, 5}}, {"npb-lu-strong/8", {2, 4}},      {"npb-lu-strong/16", {4, 4}},
      {"npb-lu-strong/32", {4, 8}},   {"sweep3d-weak/8", {2, 4}},       {"sweep3d-weak/16", {4, 4}},
      {"sweep3d-weak/32", {4, 8}},    {"comd-weak/8", {2, 2, 2}},       {"comd-weak/16", {2, 2, 4}},
      {"comd-weak/32", {2, 4, 4}},    {"lammps-lj-weak/16", {4, 2, 2}}, {"npb-cg-strong/16", {}},
      {"npb-cg-strong/32", {}}};
  for (const std::string& path : test::SharedTraces()) {
    for (const auto& [name, extents] : grids) {
      if (path.find("/" + name + "/") == std::string::npos) continue;
      const Trace trace = ReadTrace(path);
      const std::optional<ProcessGrid> grid = FindProcessGrid(trace, CutPhase(trace, PhaseSpec::WholeRun()));
      ASSERT_EQ(grid.has_value(), !extents.empty()) << path;
      if (!grid) continue;
      EXPECT_EQ(grid->extents, extents) << path;
      EXPECT_EQ(grid->has_diagonals, name.rfind("lulesh", 0) == 0) << path;
      const bool is_box = name.rfind("comd", 0) == 0 || name.rfind("lammps", 0) == 0;
      for (std::size_t d = 0; d < extents.size(); ++d) EXPECT_EQ(grid->periodic[d], is_box && extents[d] > 2) << path;
    }
  }
}

}  // namespace
}  // namespace farscale
