// Programs of many patterns: what three runs teach is the program on four and eight times as many ranks, call by call,
// or refused.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "growth/class_composition.h"
#include "growth/class_plan.h"
#include "growth/grid_series.h"
#include "growth/grown_messages.h"
#include "growth/grown_trace.h"
#include "growth/growth_model.h"
#include "growth/iteration_budget.h"
#include "growth/rule_shares.h"
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
    RequireMatched(model, plan, MatchGrown(plan));
    const Trace expected = test::RunSpmd(static_cast<std::int32_t>(grid.size()), program);
    return {"", test::CallDifference(GrowTrace(model, grid, 1), expected)};
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kNotEnoughData) throw;
    return {error.what(), ""};
  }
}

TEST(ExchangePatterns, AreGrownOrRefused) {
  for (const test::ExchangePattern& pattern : test::ExchangePatterns()) {
    const auto program = test::Iterations(pattern.step);
    GrowthModel model = test::LearnSpmd(program, pattern.runs);
    std::string refusal = model.rules.Suffice() ? WhyAmbiguous(model)
                                                : fmt::format("{:.1f} % explained, {:.1f} % confirmed",
                                                              100 * model.rules.Share(), 100 * model.rules.Confirmed());
    for (const std::int32_t target : pattern.targets) {
      if (!refusal.empty()) break;
      const Outcome outcome = GrowTo(model, program, target);
      EXPECT_EQ(outcome.mistake, "") << pattern.name << " on " << target;
      refusal = outcome.refusal;
    }
    if (pattern.is_grown) EXPECT_EQ(refusal, "") << pattern.name << " " << model.rules.grids.back().Text();
    else EXPECT_NE(refusal, "") << pattern.name;
  }
}

}  // namespace
}  // namespace farscale
