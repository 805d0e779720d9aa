// Programs of many patterns: what three runs teach is the program on four and eight times as many ranks, call by call,
// or refused.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "base/diagnostics.h"
#include "growth/make/class_plan.h"
#include "growth/make/grown_program.h"
#include "growth/growth_model.h"
#include "support/exchange_patterns.h"
#include "support/learned_growth.h"
#include "support/program_families.h"

namespace farscale {
namespace {

struct Outcome {
  std::string refusal, mistake;
};

Outcome GrowTo(GrowthModel& model, const std::function<void(test::SpmdRank&)>& program, std::int32_t target) {
  const RankGrid grid = ContinueSeries(model.rules.grids, target);
  AddComposedClasses(model, grid);
  try {
    const GridPlan plan = PlanGrid(model, grid, ChooseIterations(model.runs.back().kinds, 1000));
    MatchComplete(model, plan);
    const Trace expected = test::RunSpmd(static_cast<std::int32_t>(grid.size()), program);
    return {"", test::CallDifference(GrowTrace(model, grid, 1), expected)};
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kNotEnoughData) throw;
    return {error.what(), ""};
  }
}

std::string LayoutsOf(const GrowthModel& model) {
  std::string text;
  for (const RankGrid& grid : model.rules.grids) text += (text.empty() ? "" : ", ") + grid.Text();
  return text;
}

void ExpectGrownOrRefused(const test::ExchangePattern& pattern) {
  const auto program = test::Iterations(pattern.step);
  GrowthModel model = test::LearnSpmd(program, pattern.runs);
  std::string refusal = model.rules.Suffice() ? WhyAmbiguous(model)
                                              : fmt::format("{:.1f} % explained, {:.1f} % confirmed",
                                                            100 * model.rules.Share(), 100 * model.rules.Confirmed());
  if (refusal.empty()) refusal = WhyContested(model);
  for (const std::int32_t target : pattern.targets) {
    if (!refusal.empty()) break;
    const Outcome outcome = GrowTo(model, program, target);
    EXPECT_EQ(outcome.mistake, "") << pattern.name << " on " << target << " after " << LayoutsOf(model);
    refusal = outcome.refusal;
  }
  EXPECT_EQ(refusal.empty(), pattern.is_grown) << pattern.name << " after " << LayoutsOf(model) << ": " << refusal;
}

TEST(ExchangePatterns, AreGrownOrRefused) {
  for (const test::ExchangePattern& pattern : test::ExchangePatterns()) ExpectGrownOrRefused(pattern);
}

TEST(ExchangePatterns, CoupledProgramsAreGrownOrRefused) {
  for (const test::ExchangePattern& pattern : test::CoupledPrograms()) ExpectGrownOrRefused(pattern);
}

// As long as the program itself, whose ranks all end when they have computed.
void ExpectSameComputation(const test::ExchangePattern& pattern) {
  const auto program = test::Iterations(pattern.step);
  GrowthModel model = test::LearnSpmd(program, pattern.runs);
  const RankGrid grid = ContinueSeries(model.rules.grids, pattern.targets.front());
  AddComposedClasses(model, grid);
  const Trace grown = GrowTrace(model, grid, 1);
  const Trace expected = test::RunSpmd(pattern.targets.front(), program);
  for (std::size_t rank = 0; rank < grown.size(); ++rank) {
    const auto end = static_cast<double>(expected.timelines[rank].end());
    ASSERT_NEAR(static_cast<double>(grown.timelines[rank].end()), end, 0.001 * end) << pattern.name << " " << rank;
  }
}

// Computation follows the ranks of the larger program, not of all. Where programs alternate, it is that of all ranks.
TEST(ExchangePatterns, ProgramsComputeByLawsOfTheirOwn) {
  for (const test::ExchangePattern& pattern : test::CoupledPrograms()) {
    if (pattern.is_grown && pattern.name != "every fourth") ExpectSameComputation(pattern);
  }
}

// More stages are more computation; that counts once.
TEST(ExchangePatterns, StagesComputeAsOftenAsTheyAre) {
  for (const test::ExchangePattern& pattern : test::ExchangePatterns()) {
    if (pattern.name == "computation around a ring") ExpectSameComputation(pattern);
  }
}

}  // namespace
}  // namespace farscale
