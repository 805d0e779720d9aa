// Groups of ranks: none in programs whose ranks all do the same work, on every real trace at hand.
#include <gtest/gtest.h>

#include <filesystem>

#include "factors/phase_factors.h"
#include "phases/iteration_shape.h"
#include "phases/phase_cut.h"
#include "phases/rank_groups.h"
#include "replay/matching.h"
#include "support/programs_with_groups.h"
#include "support/random_program.h"
#include "support/traces.h"
#include "support/repeats.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

std::string Describe(const std::vector<RankGroup>& found) {
  std::string text;
  for (const RankGroup& group : found) text += group.name + ": " + FormatRanks(group.ranks) + "; ";
  return text;
}

// The whole run, the loop found with its parts, and every region as it is counted by both spans.
std::vector<PhaseSpec> PhasesOf(const Trace& trace) {
  std::vector<PhaseSpec> phases = {PhaseSpec::WholeRun(), PhaseSpec::FoundLoop()};
  if (const auto shape = ShapeOfPhase(trace, phases.back())) {
    for (const std::string& part : shape->PartNames()) phases.push_back(PhaseSpec::Region("auto:" + part));
  }
  for (const RegionSummary& region : SummarizeRegions(trace)) {
    for (const Span span : {Span::kWhole, Span::kEach}) {
      phases.push_back(PhaseSpec::Region(region.name));
      phases.back().span = span;
    }
  }
  return phases;
}

std::vector<std::string> Traces() {
  std::vector<std::string> paths = test::TracesToTry();
  for (const char* n : {"1", "2", "4"}) {
    const std::string name = std::string(n) + "/epoch_" + n + "proc.prv.gz";
    const std::string path = test::SharedDataFolder() + "/traces/others/epoch/" + name;
    if (std::filesystem::exists(path)) paths.push_back(path);
  }
  return paths;
}

// The ranks of the groups that a program has, the larger first; none for programs whose ranks all do the same work.
std::vector<std::vector<std::size_t>> TrueGroups(const std::string& path, std::size_t ranks) {
  const auto is_in = [&](const char* folder) { return path.find(folder) != std::string::npos; };
  const bool serves = is_in("-mw/"), has_mesh = is_in("/diagnosis/ddc"), is_dynamics = is_in("/diagnosis/gmx");
  if (!serves && !has_mesh && !is_dynamics) return {};
  const std::size_t others = serves ? 1 : has_mesh ? 4 : 12;  // masters before the workers, mesh ranks behind
  std::vector<std::vector<std::size_t>> groups(2);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    groups[serves ? (rank < others ? 1 : 0) : (rank < ranks - others ? 0 : 1)].push_back(rank);
  }
  return groups;
}

std::vector<std::vector<std::size_t>> RanksOf(const std::vector<RankGroup>& found) {
  std::vector<std::vector<std::size_t>> groups;
  for (const RankGroup& group : found) groups.push_back(group.ranks);
  return groups;
}

// What only some of the ranks do, or all of them alike, shows no groups; the whole run and its loop do.
TEST(RankGroups, OfOneProgramAreOne) {
  std::size_t phases = 0, grouped = 0;
  for (const std::string& path : Traces()) {
    const Trace trace = ReadTrace(path);
    const auto truth = TrueGroups(path, trace.size());
    for (const PhaseSpec& spec : PhasesOf(trace)) {
      const PhaseCut cut = CutPhase(trace, spec);
      Diagnostics diagnostics;
      const auto found = FindGroups(trace, cut, diagnostics);
      const bool shows_all =
          spec.kind == PhaseSpec::Kind::kWholeRun || (spec.kind == PhaseSpec::Kind::kFoundLoop && spec.part.empty());
      if (shows_all || !found.empty()) {
        EXPECT_EQ(RanksOf(found), truth) << path << ", " << spec.name << ", " << ToString(cut.span) << ": "
                                         << Describe(found);
      }
      EXPECT_TRUE(diagnostics.empty());
      grouped += found.empty() ? 0 : 1;
      ++phases;
    }
  }
  EXPECT_GT(phases, 100u);
  const bool has_groups = std::filesystem::exists(test::SharedDataFolder() + "/traces/diagnosis/gmx");
  if (has_groups && !test::IsBrief()) {
    EXPECT_GT(grouped, 50u);
  }
}

// The master computes 20 ticks a task and the workers 3000, so from 40 ranks on it computes more than a quarter of what
// a worker does, and from 150 on more than any.
TEST(RankGroups, OfMastersThatServeManyWorkers) {
  for (const int ranks : {4, 12, 24, 41, 48, 64, 100, 128, 160, 200, 256}) {
    const Trace trace = test::MakeMasterWorker(ranks, 8, ranks % 3 == 0);
    Diagnostics diagnostics;
    const auto found = FindGroups(trace, CutPhase(trace, PhaseSpec::WholeRun()), diagnostics);
    EXPECT_EQ(RanksOf(found), TrueGroups("-mw/", trace.size())) << ranks << " ranks, " << Describe(found);
  }
}

TEST(RankGroups, OfProgramsThatAreOddInOneWay) {
  for (std::uint64_t seed = 1; seed <= test::Repeats(20u); ++seed) {
    for (const int ranks : {3, 4, 5, 8, 12, 27, 32}) {
      for (const test::NamedProgram& program : test::MakeAlikePrograms(ranks, seed)) {
        for (const PhaseSpec& spec : PhasesOf(program.trace)) {
          Diagnostics diagnostics;
          const auto found = FindGroups(program.trace, CutPhase(program.trace, spec), diagnostics);
          EXPECT_TRUE(found.empty()) << program.name << ", " << ranks << " ranks, " << spec.name << ", "
                                     << ToString(spec.span) << ": " << Describe(found);
        }
      }
    }
  }
}

// Parents are products, max t <= T_ideal <= T, and the groups' useful and MPI time add up to that of all, whatever the
// groups.
TEST(RankGroups, KeepTheInvariants) {
  std::size_t groups_measured = 0;
  for (std::uint64_t seed = 0; seed < test::Repeats(300u); ++seed) {
    const Trace trace = test::MakeRandomProgram(seed, test::VariedOptions(seed));
    std::vector<RankGroup> groups(1 + seed % 3);
    for (std::size_t rank = 0; rank < trace.size(); ++rank) {
      RankGroup& group = groups[(rank * (seed / 3 + 1) + seed) % groups.size()];
      group.name = std::to_string(rank);
      group.ranks.push_back(rank);
    }
    std::erase_if(groups, [](const RankGroup& group) { return group.ranks.empty(); });
    for (const RuleSet set : {RuleSet::kBsc, RuleSet::kCausal}) {
      FactorOptions options;
      options.rules.set = set;
      const PhaseCut cut = CutPhase(trace, PhaseSpec::WholeRun());
      const GroupedFactors factors = MeasurePhase(trace, MatchTrace(trace), cut, groups, options);
      double useful = 0, mpi = 0;
      for (const std::optional<PhaseFactors>& group : factors.groups) {
        if (!group) continue;
        const PhaseTotals& t = group->totals;
        useful += t.total_useful;
        mpi += t.total_mpi;
        for (const Factor parent :
             {Factor::kParallelEfficiency, Factor::kLoadBalance, Factor::kCommunicationEfficiency}) {
          double product = 1;
          for (const Factor child : ChildrenOf(parent)) product *= *group->values[child];
          EXPECT_NEAR(*group->values[parent], product, 1e-12) << "seed " << seed;
        }
        EXPECT_LE(t.average_useful, t.largest_useful * (1 + 1e-12)) << "seed " << seed;
        EXPECT_LE(t.largest_useful, t.ideal_elapsed) << "seed " << seed;
        EXPECT_LE(t.ideal_elapsed, t.elapsed) << "seed " << seed;
        EXPECT_LE(t.elapsed, factors.whole.totals.elapsed) << "seed " << seed;
        ++groups_measured;
      }
      EXPECT_NEAR(useful, factors.whole.totals.total_useful, 1e-12) << "seed " << seed;
      EXPECT_NEAR(mpi, factors.whole.totals.total_mpi, 1e-12) << "seed " << seed;
      if (groups.size() > 1) continue;
      EXPECT_EQ(factors.groups[0]->values, factors.whole.values) << "seed " << seed;
      EXPECT_EQ(factors.groups[0]->totals, factors.whole.totals) << "seed " << seed;
    }
  }
  EXPECT_GT(groups_measured, test::Repeats(600u));
}

}  // namespace
}  // namespace farscale
