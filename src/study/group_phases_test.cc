// Groups of ranks through whole studies: programs written to disk, measured at several numbers of ranks, projected.
#include "study/group_phases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "results/factor_table_files.h"
#include "results/results_json.h"
#include "study/run_study.h"
#include "study/scenario.h"
#include "study/study.h"
#include "support/models.h"
#include "support/programs_with_groups.h"
#include "support/temporary_folder.h"
#include "support/traces.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class GroupPhasesTest : public testing::Test {
 protected:
  GroupPhasesTest() {
    study_.scaling = Scaling::kStrong;
    study_.phases = {PhaseSpec::WholeRun()};
    study_.projection.targets = {128, 1024};
  }

  void Add(const Trace& trace) {
    const std::filesystem::path folder = folder_ / std::to_string(study_.runs.size());
    std::filesystem::create_directory(folder);
    WriteOtf2(trace, folder / "traces.otf2");
    study_.runs.push_back({(folder / "traces.otf2").string(), std::nullopt, std::nullopt, "test"});
  }
  void AddDynamics(int ranks, bool regions) {
    test::DynamicsOptions options;
    options.ranks = ranks;
    options.regions = regions;
    options.seed = static_cast<std::uint64_t>(ranks);
    Add(test::MakeDynamics(options));
  }

  void NameGroup(const std::string& name, const std::string& region) {
    GroupSpec spec;
    spec.name = name;
    spec.region = region;
    spec.where = "study.toml:9";
    study_.groups.push_back(spec);
  }

  // Phases, cores and ranks of the rows.
  static std::vector<std::string> Rows(const FactorTable& table) {
    std::vector<std::string> rows;
    for (const FactorRow& row : table.rows) {
      rows.push_back(row.phase.Text() + ": " + std::to_string(row.ranks) + " of " + std::to_string(row.cores));
    }
    return rows;
  }

  test::TemporaryFolder folder_;
  Study study_;
  ModelLibrary library_ = test::AllModels();
};

TEST_F(GroupPhasesTest, ParticleAndMeshRanksAreProjectedByThemselves) {
  for (const bool regions : {true, false}) {
    study_.runs.clear();
    for (const int ranks : {16, 32, 64}) {
      std::filesystem::remove_all(folder_ / std::to_string(study_.runs.size()));
      AddDynamics(ranks, regions);
    }
    study_.phases = {regions ? PhaseSpec::Region("step") : PhaseSpec::FoundLoop()};
    const std::string whole = study_.phases[0].name;
    const std::string particles = whole + (regions ? " / do_md" : " / MPI_Sendrecv");
    const std::string mesh = whole + (regions ? " / pmeonly" : " / MPI_Alltoall");
    const StudyResults outcome = RunStudy(study_, library_, nullptr);
    const Results& results = outcome;
    EXPECT_THAT(Rows(results.table),
                ElementsAre(whole + ": 16 of 16", whole + ": 32 of 32", whole + ": 64 of 64", particles + ": 10 of 16",
                            particles + ": 20 of 32", particles + ": 40 of 64", mesh + ": 6 of 16", mesh + ": 12 of 32",
                            mesh + ": 24 of 64"));
    ASSERT_EQ(results.phases.size(), 3u);
    EXPECT_THAT(results.phases[2].description,
                HasSubstr(", ranks 10-15 (6 of 16), 20-31 (12 of 32), 40-63 (24 of 64)"));
    // The mesh ranks are balanced and wait, which the whole hides in its load balance.
    const FactorRow& row = results.table.rows[8];
    EXPECT_GT(*row.values[Factor::kLoadBalance], 0.98);
    EXPECT_LT(*row.values[Factor::kSerialization], 0.85);
    EXPECT_LT(*results.table.rows[2].values[Factor::kLoadBalance], 0.9);
    // The work is that of one problem, for both.
    for (const FactorRow& one : results.table.rows) {
      EXPECT_NEAR(*one.values[Factor::kComputationScalability], 1, 0.03) << one.phase.Text();
      EXPECT_TRUE(one.standard_errors[Factor::kLoadBalance]) << one.phase.Text();
    }
    ASSERT_EQ(results.projections.size(), 3u);
    for (const PhaseProjection& projection : results.projections) {
      EXPECT_TRUE(projection.obstacle.empty()) << projection.phase.Text();
      ASSERT_NE(projection.Find(Factor::kParallelEfficiency), nullptr);
      EXPECT_EQ(projection.Find(Factor::kSpeedup)->targets.size(), 2u);
    }
    EXPECT_FALSE(outcome.shortage);
    EXPECT_FALSE(outcome.failure);
  }
}

TEST_F(GroupPhasesTest, TablesComeBackFromFiles) {
  for (const int ranks : {16, 32, 64}) AddDynamics(ranks, true);
  const FactorTable table = MeasureRuns(study_, nullptr).table;
  EXPECT_EQ(Rows(ReadFactorCsv(WriteFactorCsv(table), "factors.csv")), Rows(table));
  EXPECT_EQ(Rows(ReadTableFromJson(WriteFactorJson(table), "factors.json")), Rows(table));
  EXPECT_EQ(ReadTableFromJson(WriteFactorJson(table), "factors.json").rows, table.rows);
}

TEST_F(GroupPhasesTest, NamedByTheStudy) {
  AddDynamics(16, true);
  AddDynamics(32, true);
  NameGroup("pme", "pmeonly");
  EXPECT_THAT(Rows(MeasureRuns(study_, nullptr).table),
              ElementsAre("whole: 16 of 16", "whole: 32 of 32", "whole / pme: 6 of 16", "whole / pme: 12 of 32",
                          "whole / others: 10 of 16", "whole / others: 20 of 32"));
  NameGroup("pp", "do_md");
  EXPECT_THAT(Rows(MeasureRuns(study_, nullptr).table),
              ElementsAre("whole: 16 of 16", "whole: 32 of 32", "whole / pme: 6 of 16", "whole / pme: 12 of 32",
                          "whole / pp: 10 of 16", "whole / pp: 20 of 32"));
}

// Only the mesh ranks are in the region: the group of the others has no factors there.
TEST_F(GroupPhasesTest, GroupsThatAreNotInAPhase) {
  AddDynamics(16, true);
  NameGroup("pme", "pmeonly");
  study_.phases = {PhaseSpec::Region("pmeonly")};
  const StudyResults measured = MeasureRuns(study_, nullptr);
  EXPECT_THAT(Rows(measured.table), ElementsAre("pmeonly: 16 of 16", "pmeonly / pme: 6 of 16"));
  EXPECT_NEAR(*measured.table.rows[0].values[Factor::kLoadBalance], 6.0 / 16, 0.01);
  EXPECT_NEAR(*measured.table.rows[1].values[Factor::kLoadBalance], 1, 0.02);
}

TEST_F(GroupPhasesTest, NoneWhenTheStudyWantsNone) {
  AddDynamics(16, true);
  study_.finds_groups = false;
  EXPECT_THAT(Rows(MeasureRuns(study_, nullptr).table), ElementsAre("whole: 16 of 16"));
}

// Two ranks are never two groups.
TEST_F(GroupPhasesTest, FoundInSomeRunsOnly) {
  Add(test::MakeMasterWorker(2, 6, true));
  Add(test::MakeMasterWorker(8, 6, true));
  Add(test::MakeMasterWorker(16, 6, true));
  const StudyResults outcome = RunStudy(study_, library_, nullptr);
  EXPECT_THAT(Rows(outcome.table),
              ElementsAre("whole: 2 of 2", "whole: 8 of 8", "whole: 16 of 16", "whole / work: 7 of 8",
                          "whole / work: 15 of 16", "whole / choose: 1 of 8", "whole / choose: 1 of 16"));
  const auto& findings = outcome.table.findings;
  const auto missing = std::find_if(findings.begin(), findings.end(),
                                    [](const Finding& finding) { return finding.id == "groupNotInEveryRun"; });
  ASSERT_NE(missing, findings.end());
  EXPECT_EQ(missing->count, 2u);
  EXPECT_EQ(missing->example, "whole / work not at 2 cores");
  EXPECT_FALSE(outcome.shortage);  // groups may be in too few runs to project
  // One master, however many ranks there are: its cores do not grow with those of the run.
  const FactorProjection* speedup = outcome.projections[2].Find(Factor::kSpeedup);
  EXPECT_TRUE(speedup == nullptr || speedup->targets.empty());
}

// No group reads like what the study calls a phase.
TEST_F(GroupPhasesTest, NamesOfPhasesAreTaken) {
  AddDynamics(16, true);
  study_.phases.push_back(PhaseSpec::Region("step"));
  study_.phases[1].name = "whole / pmeonly";
  EXPECT_THAT(Rows(MeasureRuns(study_, nullptr).table),
              ElementsAre("whole: 16 of 16", "whole / do_md: 10 of 16", "whole / pmeonly 2: 6 of 16",
                          "\"whole / pmeonly\": 16 of 16", "\"whole / pmeonly\" / do_md: 10 of 16",
                          "\"whole / pmeonly\" / pmeonly: 6 of 16"));
}

TEST_F(GroupPhasesTest, OnOtherMachines) {
  for (const int ranks : {16, 32, 64}) AddDynamics(ranks, true);
  Scenario scenario;
  scenario.id = "slow";
  scenario.name = "slow";
  scenario.network.emplace();
  scenario.network->remote = scenario.network->local = {1e-6, 1e9, 1e-7, 32768};
  const StudyResults outcome = RunStudy(study_, library_, nullptr, {scenario});
  ASSERT_EQ(outcome.variants.size(), 1u);
  const Variant& variant = outcome.variants[0];
  EXPECT_EQ(Rows(variant.table), Rows(outcome.table));
  EXPECT_EQ(variant.projections.size(), 3u);
}

// All messages leave a node of one core, and none leaves one of 64. The run itself stays where it is.
TEST_F(GroupPhasesTest, OnNodesOfAnotherSize) {
  AddDynamics(32, true);
  Scenario small;
  small.id = small.name = "small";
  small.network.emplace();
  small.network->remote = {1e-3, 1e9, 1e-7, 32768};
  small.terms.cores_per_node = 1;
  Scenario large = small;
  large.id = large.name = "large";
  large.terms.cores_per_node = 64;
  const StudyResults runs = MeasureRuns(study_, nullptr, {small, large});
  const StudyResults alone = MeasureRuns(study_, nullptr);
  ASSERT_EQ(runs.variants.size(), 2u);
  EXPECT_EQ(runs.variants[0].table.rows[0].nodes, 32);
  EXPECT_EQ(runs.variants[1].table.rows[0].nodes, 1);
  EXPECT_GT(*runs.variants[0].table.rows[0].runtime, 2 * *runs.variants[1].table.rows[0].runtime);
  EXPECT_EQ(runs.table.rows, alone.table.rows);
  EXPECT_EQ(runs.variants[1].terms.cores_per_node, 64);
}

// The models chosen for a phase hold for its groups.
TEST_F(GroupPhasesTest, ModelsOfThePhase) {
  for (const int ranks : {16, 32, 64}) AddDynamics(ranks, true);
  study_.projection.models.by_phase["whole"][Factor::kLoadBalance] = {{{"constant", {}}}, "test"};
  for (const PhaseProjection& projection : RunStudy(study_, library_, nullptr).projections) {
    EXPECT_EQ(projection.Find(Factor::kLoadBalance)->fit.model, "constant") << projection.phase.Text();
  }
}

}  // namespace
}  // namespace farscale
