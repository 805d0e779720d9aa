#include "planning/compare_sides.h"

#include <algorithm>

#include "base/diagnostics.h"
#include "factors/table_terms.h"
#include "factors/complete_table.h"
#include "factors/scaling.h"
#include "planning/allocation.h"

namespace farscale {
namespace {

ComparedSide SideOf(const SideOfResults& of) {
  ComparedSide side;
  side.name = of.name;
  side.rows = of.results.table.Rows(of.key);
  side.scaling = ScalingOf(of.results.table, side.rows);
  side.is_scaling_shown =
      side.scaling && (!of.results.table.scaling || of.results.table.scaling_source == kShownByTimes);
  const std::set<std::int64_t> counts = side.Counts();
  const std::optional<std::int64_t> reference = of.results.table.reference;
  side.reference = reference && counts.count(*reference) > 0 ? *reference : *counts.begin();
  side.projection = ProjectionOf(of.results, of.key.series, of.key.phase);
  for (const FactorType& type : AllFactors()) side.scale[type.factor] = 1;
  return side;
}

// Puts a side in terms of another run; false where the rows do not know enough.
bool Refer(const SideOfResults& of, std::int64_t cores, ComparedSide& side) {
  FactorTable table = of.results.table;
  std::erase_if(table.rows, [&](const FactorRow& row) { return row.Key() != of.key; });
  try {
    ChangeTerms(table, std::nullopt, cores);
  } catch (const Error&) {
    return false;
  }
  const std::vector<FactorRow> rows = table.Rows(of.key);
  for (const FactorType& type : AllFactors()) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::optional<double>&is = rows[i].values[type.factor], &was = side.rows[i].values[type.factor];
      if (is && was && *was > 0) side.scale[type.factor] = *is / *was;
    }
  }
  side.rows = rows;
  side.reference = cores;
  return true;
}

void AgreeOnReference(const SideOfResults& before, const SideOfResults& after, ComparedSides& sides) {
  const std::int64_t was_before = sides.before.reference, was_after = sides.after.reference;
  sides.compares = was_before == was_after;
  if (sides.compares) {
    sides.terms.reference = static_cast<double>(was_before);
    return;
  }
  sides.terms.first_reference = static_cast<double>(was_before);
  sides.terms.second_reference = static_cast<double>(was_after);
  const std::set<std::int64_t> others = sides.after.Counts();
  for (const std::int64_t cores : sides.before.Counts()) {
    if (!others.contains(cores)) continue;
    if (!Refer(before, cores, sides.before) || !Refer(after, cores, sides.after)) break;
    sides.compares = true;
    sides.terms.reference = static_cast<double>(cores);
    return;
  }
}

void AgreeOnScaling(ComparedSides& sides) {
  const auto know_both = [&](const RowReading& value) { return sides.before.Knows(value) && sides.after.Knows(value); };
  const ComparedSide &before = sides.before, &after = sides.after;
  sides.terms.first_scaling = before.scaling;
  sides.terms.second_scaling = after.scaling;
  sides.terms.is_first_shown = before.is_scaling_shown;
  sides.terms.is_second_shown = after.is_scaling_shown;
  sides.terms.have_times = know_both(&FactorRow::TimePerIteration);
  sides.terms.have_global = know_both([](const FactorRow& row) { return row.values[Factor::kGlobalEfficiency]; });
  if (before.scaling != after.scaling) sides.compares = false;
}

// Factors that the other side does not know at any core count.
std::vector<Factor> OnlyOf(const ComparedSide& side, const ComparedSide& other) {
  std::vector<Factor> only;
  for (const FactorType& type : AllFactors()) {
    const RowReading value = [&](const FactorRow& row) { return row.values[type.factor]; };
    if (side.Knows(value) && !other.Knows(value)) only.push_back(type.factor);
  }
  return only;
}

}  // namespace

std::set<std::int64_t> ComparedSide::Counts() const {
  std::set<std::int64_t> counts;
  for (const FactorRow& row : rows) counts.insert(row.cores);
  return counts;
}

bool ComparedSide::Knows(const RowReading& value) const {
  return std::any_of(rows.begin(), rows.end(), [&](const FactorRow& row) { return value(row).has_value(); });
}

RunValues ComparedSide::ValuesAt(std::int64_t cores, const RowReading& value, const RowReading& error) const {
  RunValues found;
  for (const FactorRow& row : rows) {
    if (row.cores != cores) continue;
    const std::optional<double> one = value(row);
    if (!one) return {};
    found.values.push_back(*one);
    found.errors.push_back(error(row));
  }
  return found;
}

std::optional<double> ComparedSide::AtReference(const RowReading& value) const {
  const RowReading none = [](const FactorRow&) { return std::optional<double>(); };
  const auto measured = Measure(ValuesAt(reference, value, none).values, {});
  return measured ? std::optional(measured->value) : std::nullopt;
}

ComparedSides AgreeOnTerms(const SideOfResults& before, const SideOfResults& after) {
  ComparedSides sides{SideOf(before), SideOf(after), false, {}};
  AgreeOnReference(before, after, sides);
  AgreeOnScaling(sides);
  sides.terms.first_only = OnlyOf(sides.before, sides.after);
  sides.terms.second_only = OnlyOf(sides.after, sides.before);
  sides.terms.is_first_timed =
      sides.before.Knows(&FactorRow::TimePerIteration) && !sides.after.Knows(&FactorRow::TimePerIteration);
  sides.terms.is_second_timed =
      sides.after.Knows(&FactorRow::TimePerIteration) && !sides.before.Knows(&FactorRow::TimePerIteration);
  return sides;
}

}  // namespace farscale
