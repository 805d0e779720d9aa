#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "study/measure_run.h"
#include "study/study.h"
#include "support/thread_job.h"
#include "support/traces.h"
#include "study/scenario.h"

namespace farscale {
namespace {

Study SomeRuns(std::size_t count) {
  Study study;
  for (const std::string& trace : test::SampleTraces()) {
    if (trace.find("lammps") == std::string::npos || study.runs.size() == count) continue;
    study.runs.emplace_back().trace = trace;
  }
  study.phases = {PhaseSpec::WholeRun()};
  return study;
}

std::map<std::size_t, AnalysedRun> Measure(const Study& study, const std::vector<std::size_t>& which) {
  std::map<std::size_t, AnalysedRun> runs;
  MeasureEach(study, which, NoiseRemoval(IdealNetwork(), std::nullopt, false), Detail::kReport,
              [&](std::size_t i, AnalysedRun run) { runs[i] = std::move(run); });
  return runs;
}

TEST(SharedRuns, AreThoseOfOneProcess) {
  Study study = SomeRuns(3);
  study.runs.emplace_back().trace = "/nowhere/at/all.otf2";
  const std::vector<std::size_t> which = {0, 1, 2, 3};
  const std::map<std::size_t, AnalysedRun> alone = Measure(study, which);
  const test::ThreadJob job({MeasuringService()});
  const std::map<std::size_t, AnalysedRun> shared = Measure(study, which);
  EXPECT_EQ(job.questions(), 1u);
  ASSERT_EQ(shared.size(), 4u);
  for (const auto& [i, run] : alone) {
    const AnalysedRun& other = shared.at(i);
    ASSERT_EQ(run.error.has_value(), other.error.has_value()) << i;
    if (run.error) {
      EXPECT_STREQ(run.error->what(), other.error->what());
      continue;
    }
    EXPECT_EQ(run.record, other.record);
    EXPECT_EQ(run.rows[0].whole, other.rows[0].whole);
    ASSERT_EQ(other.scenario_rows.size(), 1u);
    EXPECT_EQ(run.scenario_rows[0][0].whole, other.scenario_rows[0][0].whole);
    EXPECT_EQ(run.scenario_descriptions, other.scenario_descriptions);
    EXPECT_EQ(run.regions, other.regions);
    ASSERT_EQ(run.losses[0]->paths.size(), other.losses[0]->paths.size());
    for (std::size_t k = 0; k < run.losses[0]->paths.size(); ++k) {
      EXPECT_EQ(run.losses[0]->paths[k].path, other.losses[0]->paths[k].path);
      EXPECT_EQ(run.losses[0]->paths[k].costs, other.losses[0]->paths[k].costs);
    }
  }
}

TEST(SharedRuns, OneRunStaysHere) {
  const Study study = SomeRuns(1);
  const test::ThreadJob job({MeasuringService()});
  EXPECT_EQ(Measure(study, {0}).size(), 1u);
  EXPECT_EQ(job.questions(), 0u);
}

}  // namespace
}  // namespace farscale
