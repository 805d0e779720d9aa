#include "planning/balance_projections.h"

#include <algorithm>
#include <set>

namespace farscale {
namespace {

const PhaseProjection* PhaseOf(const BalancedProjection& way, const BalancedFactor& of) {
  const auto found = std::ranges::find_if(way.projected, [&](const PhaseProjection& projection) {
    return projection.series == of.series && projection.phase == of.phase;
  });
  return found == way.projected.end() ? nullptr : &*found;
}

// The value of the first run on so many processors, else projected.
std::optional<BalancedValue> ValueAt(const BalancedProjection& way, const BalancedFactor& of, double cores) {
  for (const FactorRow& row : way.table.Rows(of.series, of.phase)) {
    const std::optional<double>& value = row.values[of.factor];
    if (static_cast<double>(row.cores) == cores && value)
      return BalancedValue{*value, std::nullopt, true, Reliability::kReliable};
  }
  const PhaseProjection* phase = PhaseOf(way, of);
  const FactorProjection* projection = phase != nullptr ? phase->Find(of.factor) : nullptr;
  if (projection == nullptr) return std::nullopt;
  const auto target = std::ranges::find(projection->targets, cores, &ProjectedValue::cores);
  if (target == projection->targets.end()) return std::nullopt;
  return BalancedValue{target->value, target->interval80, false, ReliabilityOf(*phase, of.factor, cores)};
}

void FillRows(const std::vector<BalancedProjection>& list, BalancedFactor& table) {
  std::set<double> counts;
  for (const BalancedProjection& way : list) {
    for (const FactorRow& row : way.table.Rows(table.series, table.phase)) {
      if (row.values[table.factor]) counts.insert(static_cast<double>(row.cores));
    }
    const PhaseProjection* phase = PhaseOf(way, table);
    const FactorProjection* projection = phase != nullptr ? phase->Find(table.factor) : nullptr;
    if (projection == nullptr) continue;
    for (const ProjectedValue& value : projection->targets) counts.insert(value.cores);
    table.has_targets = table.has_targets || !projection->targets.empty();
  }
  for (const double cores : counts) {
    BalancedFactor::Row row{cores, {}};
    for (const BalancedProjection& way : list) row.ways.push_back(ValueAt(way, table, cores));
    table.rows.push_back(std::move(row));
  }
}

}  // namespace

std::vector<BalancedFactor> TabulateBalanced(const std::vector<BalancedProjection>& list) {
  std::vector<BalancedFactor> tables;
  if (list.size() < 2) return tables;
  for (const std::string& series : list.front().table.Series()) {
    for (const PhaseId& phase : list.front().table.Phases(series)) {
      for (const Factor factor : {Factor::kParallelEfficiency, Factor::kLoadBalance}) {
        BalancedFactor table{series, phase, factor, false, {}};
        FillRows(list, table);
        tables.push_back(std::move(table));
      }
    }
  }
  return tables;
}

}  // namespace farscale
