#include "results/growth_record.h"

#include <fmt/format.h>

#include <algorithm>

#include "growth/rule_shares.h"
#include "study/run_growth.h"

namespace farscale {
namespace {

std::vector<std::int64_t> ExtentsOf(const GridVector& grid) {
  std::vector<std::int64_t> extents(grid.begin(), grid.end());
  while (extents.size() > 1 && extents.back() == 1) extents.pop_back();
  return extents;
}

GrowthRecordRow RowOf(const GrowthRow& row, GrowthSource source) {
  GrowthRecordRow record{.ranks = row.ranks,
                         .layout = {},
                         .second_layout = {},
                         .source = source,
                         .learned_up_to = row.learned_up_to,
                         .iteration = row.iteration,
                         .factors = row.values,
                         .iterations = row.iterations,
                         .replayed = row.replayed};
  if (row.grid.size() != row.ranks) return record;
  record.layout = ExtentsOf(row.grid.extents);
  if (row.grid.HasTwo()) record.second_layout = ExtentsOf(row.grid.second);
  return record;
}

// Mean over the ranks of a class in the largest run.
RankClassRecord ClassOf(const GrowthModel& model, const RankClass& key, const ClassRules& of_class) {
  RankClassRecord record{PlaceOf(model.rules.scheme, key), 0, 0};
  const RunCalls& run = model.runs.back();
  for (const auto& [donor, rank] : of_class.donors) {
    if (donor + 1 != model.runs.size()) continue;
    const RankCalls& calls = run.of_ranks[static_cast<std::size_t>(rank)];
    double ticks = 0;
    for (const PhaseCall& call : calls.calls) ticks += static_cast<double>(call.compute);
    for (const Tick tick : calls.compute_after) ticks += static_cast<double>(tick);
    record.computation += ticks / run.ticks_per_second / static_cast<double>(calls.iteration_end.size());
    ++record.ranks;
  }
  if (record.ranks > 0) record.computation /= static_cast<double>(record.ranks);
  return record;
}

std::vector<RuleRecord> RulesOf(const std::vector<RuleShare>& shares) {
  std::vector<RuleRecord> records;
  for (const RuleShare& share : shares) records.push_back({share.rule, share.share});
  return records;
}

// "P^-1", of two programs "P^-1, of the second program constant", "P^-1 (instructions P^-1, instructions per cycle
// constant)".
std::string ComputationOf(const GrowthModel& model) {
  const LoadModel& load = model.load;
  std::string text = load.common_law.Text();
  if (model.rules.grids.back().HasTwo()) text += ", of the second program " + load.second_law.Text();
  if (const auto& counters = load.counters)
    text += fmt::format(" (instructions {}, instructions per cycle {})", counters->instructions.Text(),
                        counters->per_cycle.Text());
  return text;
}

// Ranks that are copied have no classes, and their partners no rules.
LearnedRecord StatisticalOf(const PhaseGrowth& growth) {
  const GrowthModel& model = growth.model;
  const StatisticalGrowth& of = *growth.statistical;
  LearnedRecord learned;
  learned.explained = of.explained;
  learned.confirmed = of.confirmed;
  learned.sizes = RulesOf(SharesOfSizes(model));
  learned.computation = ComputationOf(model);
  learned.spread = model.load.spread;
  learned.noise = model.load.noise;
  learned.copied = CopiedRanksRecord{of.reason,          of.partners.ranks, of.partners.fewest,
                                     of.partners.median, of.partners.most,  of.partners.messages};
  return learned;
}

LearnedRecord LearnedOf(const GrowthModel& model) {
  LearnedRecord learned{.explained = model.rules.Share(),
                        .confirmed = model.rules.Confirmed(),
                        .partners = RulesOf(SharesOfPartners(model)),
                        .sizes = RulesOf(SharesOfSizes(model)),
                        .classes = {},
                        .computation = ComputationOf(model),
                        .spread = model.load.spread,
                        .noise = model.load.noise,
                        .runs_alone = {}};
  for (const auto& [key, of_class] : model.rules.classes) {
    const RankClassRecord record = ClassOf(model, key, of_class);
    if (record.ranks > 0) learned.classes.push_back(record);
  }
  for (const std::size_t run : model.rules.RunsAlone()) learned.runs_alone.push_back(model.runs[run].ranks);
  return learned;
}

GrowthRecord RecordOf(const PhaseGrowth& growth) {
  GrowthRecord record{growth.phase, growth.refusal, std::nullopt, {}, growth.left_out};
  if (growth.statistical) {
    record.learned = StatisticalOf(growth);
  } else if (!growth.model.rules.classes.empty()) {
    record.learned = LearnedOf(growth.model);
  }
  // Copies of a run say nothing of how its ranks are laid out.
  const auto with_layout = [&](GrowthRow row) {
    if (growth.statistical) row.grid = {};
    return row;
  };
  for (const GrowthRow& row : growth.measured) record.rows.push_back(RowOf(with_layout(row), GrowthSource::kMeasured));
  for (const GrowthRow& row : growth.repeated) record.rows.push_back(RowOf(with_layout(row), GrowthSource::kReplayed));
  for (const std::vector<GrowthRow>* rows : {&growth.backtest, &growth.grown}) {
    for (const GrowthRow& row : *rows) record.rows.push_back(RowOf(with_layout(row), GrowthSource::kGrown));
  }
  std::ranges::stable_sort(record.rows, {}, &GrowthRecordRow::ranks);
  return record;
}

}  // namespace

GrowthFile RecordOf(const GrowthResults& results) {
  GrowthFile file{results.network.name, results.unknown_network, results.scenario, {}};
  for (const PhaseGrowth& growth : results.phases) file.phases.push_back(RecordOf(growth));
  return file;
}

}  // namespace farscale
