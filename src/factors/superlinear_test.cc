#include "factors/factor_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace farscale {
namespace {

using testing::HasSubstr;

FactorRow RowWith(std::int64_t cores, const std::map<Factor, double>& values) {
  FactorRow row;
  row.cores = row.ranks = cores;
  for (const auto& [factor, value] : values) row.values[factor] = value;
  return row;
}

TEST(Superlinear, NothingUpTo110Percent) {
  EXPECT_EQ(WhySuperlinear({}), "");
  EXPECT_EQ(WhySuperlinear({RowWith(8, {{Factor::kComputationScalability, 1.1}})}), "");
  EXPECT_EQ(WhySuperlinear({RowWith(8, {{Factor::kSpeedup, 7}})}), "");
  EXPECT_EQ(WhySuperlinear({}, 1.1), "");
}

TEST(Superlinear, ScalabilityWithoutParts) {
  const std::vector<FactorRow> rows = {
      RowWith(8, {{Factor::kComputationScalability, 1}}),
      RowWith(64, {{Factor::kComputationScalability, 1.5}, {Factor::kGlobalEfficiency, 1.35}})};
  EXPECT_EQ(
      WhySuperlinear(rows),
      "Efficiencies above 110 % come from computation scalability (1.500 on 64 cores): computation takes 1.50 times "
      "less than its scaling makes of the reference run's, which is real where more of the problem fits the caches "
      "of more cores, and wrong where the scaling, the problem or the iterations are not those of the runs, or "
      "where the run compared with was disturbed.");
}

// 1.01 · 1.45 · 0.99: what matters is named.
TEST(Superlinear, PartsNameTheCause) {
  std::map<Factor, double> values = {{Factor::kComputationScalability, 1.45},
                                     {Factor::kInstructionScaling, 1.01},
                                     {Factor::kIpcScaling, 1.45},
                                     {Factor::kFrequencyScaling, 0.99}};
  EXPECT_EQ(
      WhySuperlinear({RowWith(64, values)}),
      "Efficiencies above 110 % come from computation scalability (1.450 on 64 cores): a cycle executes 1.45 times "
      "as many instructions as in the reference run, as it does where more of the problem fits the caches of more "
      "cores.");
  values = {{Factor::kComputationScalability, 3.999},
            {Factor::kInstructionScaling, 3.96},
            {Factor::kIpcScaling, 1.01},
            {Factor::kFrequencyScaling, 1}};
  EXPECT_THAT(
      WhySuperlinear({RowWith(8, values)}),
      HasSubstr("executes 3.96 times fewer instructions than its scaling makes of the reference run's, so check"));
}

TEST(Superlinear, PartsAlone) {
  const std::map<Factor, double> values = {
      {Factor::kComputationScalability, 0.9}, {Factor::kInstructionScaling, 0.7}, {Factor::kIpcScaling, 1.3}};
  EXPECT_THAT(WhySuperlinear({RowWith(8, values)}),
              HasSubstr("IPC scaling is 1.300 on 8 cores: a cycle executes 1.30 times"));
}

// Against a run that had only half the parallel efficiency.
TEST(Superlinear, ABaselineThatWaits) {
  const std::vector<FactorRow> rows = {
      RowWith(8, {{Factor::kParallelEfficiency, 0.4}, {Factor::kComputationScalability, 1}}),
      RowWith(16, {{Factor::kParallelEfficiency, 0.8}, {Factor::kComputationScalability, 1.05}})};
  EXPECT_EQ(
      WhySuperlinear(rows, 2.1, 8),
      "Efficiencies above 110 % come from parallel efficiency, which is 0.800 on 16 cores and only 0.400 in the run "
      "compared with.");
}

TEST(Superlinear, UnknownFactors) {
  EXPECT_EQ(
      WhySuperlinear({RowWith(8, {}), RowWith(16, {})}, 1.2, 8),
      "Efficiencies above 110 % are real where more of the problem fits the caches of more cores; they are wrong "
      "where the scaling, the problem or the iterations are not those of the runs, or where the run compared with "
      "was disturbed.");
}

// 16 processes on 16 cores, then with two threads each on 32: caches are not to blame.
TEST(Superlinear, OtherThreadsAreTheCause) {
  std::vector<FactorRow> rows = {RowWith(16, {{Factor::kComputationScalability, 1}}),
                                 RowWith(32, {{Factor::kComputationScalability, 1.9}})};
  rows[1].ranks = 16;
  rows[1].threads = 2;
  EXPECT_EQ(WhySuperlinear(rows),
            "Efficiencies above 110 % come from computation scalability (1.900 on 32 cores): this run has 2 threads a "
            "process and the run compared with 1 thread a process, and computation is that of processes, so it is less "
            "where more threads share it; compare runs with as many threads.");
  EXPECT_EQ(WhySuperlinear(rows, 1.9, 16), WhySuperlinear(rows));
}

}  // namespace
}  // namespace farscale
