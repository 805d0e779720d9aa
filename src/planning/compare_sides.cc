#include "planning/compare_sides.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/format.h"
#include "base/text.h"
#include "factors/change.h"
#include "factors/scaling.h"
#include "planning/allocation.h"

namespace farscale {
namespace {

ComparedSide SideOf(const SideOfResults& of) {
  ComparedSide side;
  side.name = of.name;
  side.rows = of.results.table.Rows(of.key.first, of.key.second);
  side.scaling = ScalingOf(of.results.table, side.rows);
  side.is_scaling_shown =
      side.scaling && (!of.results.table.scaling || of.results.table.scaling_source == kShownByTimes);
  const std::set<std::int64_t> counts = side.Counts();
  const std::optional<std::int64_t> reference = of.results.table.reference;
  side.reference = reference && counts.count(*reference) > 0 ? *reference : *counts.begin();
  side.projection = ProjectionOf(of.results, of.key.first, of.key.second);
  for (const FactorType& type : AllFactors()) side.scale[type.factor] = 1;
  return side;
}

// Puts a side in terms of another run; false where the rows do not know enough.
bool Refer(const SideOfResults& of, std::int64_t cores, ComparedSide& side) {
  FactorTable table = of.results.table;
  std::erase_if(table.rows,
                [&](const FactorRow& row) { return row.series != of.key.first || row.phase != of.key.second; });
  try {
    ChangeTerms(table, std::nullopt, cores);
  } catch (const Error&) {
    return false;
  }
  const std::vector<FactorRow> rows = table.Rows(of.key.first, of.key.second);
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

std::string Cores(std::int64_t cores) { return FormatCores(static_cast<double>(cores)); }

void AgreeOnReference(const SideOfResults& before, const SideOfResults& after, ComparedSides& sides) {
  const std::int64_t was_before = sides.before.reference, was_after = sides.after.reference;
  sides.compares = was_before == was_after;
  if (sides.compares) {
    sides.reference = static_cast<double>(was_before);
    return;
  }
  const std::string differ = fmt::format("The reference runs differ: {} cores in {}, {} in {}", Cores(was_before),
                                         before.name, Cores(was_after), after.name);
  const std::set<std::int64_t> others = sides.after.Counts();
  for (const std::int64_t cores : sides.before.Counts()) {
    if (others.count(cores) == 0) continue;
    if (!Refer(before, cores, sides.before) || !Refer(after, cores, sides.after)) break;
    sides.compares = true;
    sides.reference = static_cast<double>(cores);
    sides.notes.push_back(
        fmt::format("{}. Both are put in terms of the run on {} cores, the smallest that both have, so "
                    "what compares with the reference is not as in their own reports.",
                    differ, Cores(cores)));
    return;
  }
  sides.notes.push_back(differ + "; what compares with them is shown but not compared.");
}

// A note where a table does not say how its runs scale but shows it.
void SayWhatIsShown(ComparedSides& sides) {
  for (const ComparedSide* side : {&sides.before, &sides.after}) {
    if (!side->is_scaling_shown) continue;
    sides.notes.push_back(fmt::format("{} does not say how its runs scale; its times and efficiencies show {} scaling.",
                                      side->name, ToString(*side->scaling)));
  }
}

bool KnowBoth(const ComparedSides& sides, const RowReading& value) {
  return sides.before.Knows(value) && sides.after.Knows(value);
}

void AgreeOnScaling(ComparedSides& sides) {
  SayWhatIsShown(sides);
  const ComparedSide &before = sides.before, &after = sides.after;
  const bool have_times = KnowBoth(sides, SecondsOfRow);
  const std::string unexplained = have_times ? " Times of an iteration stand side by side, unexplained." : "";
  if (before.scaling && after.scaling) {
    if (before.scaling == after.scaling) return;
    sides.notes.push_back(
        fmt::format("One side scales {}, the other {}: parallel efficiency and its parts compare, what compares with "
                    "the reference does not.{}",
                    ToString(*before.scaling), ToString(*after.scaling), unexplained));
    sides.compares = false;
    return;
  }
  const bool have_global = KnowBoth(sides, [](const FactorRow& row) { return row.values[Factor::kGlobalEfficiency]; });
  if (!before.scaling && !after.scaling) {
    if (!have_global && !have_times) return;
    sides.notes.push_back(
        fmt::format("How the runs scale is not known on either side{}; --scaling says it of tables.{}",
                    have_global ? ", but taken to be the same" : "", unexplained));
    return;
  }
  sides.notes.push_back(
      fmt::format("How the runs of {} scale is not known, so what compares with the reference is not compared; "
                  "--scaling says it of tables.{}",
                  (before.scaling ? after : before).name, unexplained));
  sides.compares = false;
}

// What the other side does not know at any core count.
void SayWhatOneSideHas(ComparedSides& sides) {
  for (const auto& [side, other] : {std::pair(&sides.before, &sides.after), std::pair(&sides.after, &sides.before)}) {
    std::vector<std::string> names;
    for (const FactorType& type : AllFactors()) {
      const RowReading value = [&](const FactorRow& row) { return row.values[type.factor]; };
      if (side->Knows(value) && !other->Knows(value)) names.push_back(NameInSentence(type.factor));
    }
    if (side->Knows(SecondsOfRow) && !other->Knows(SecondsOfRow)) names.push_back("time of an iteration");
    if (!names.empty()) sides.notes.push_back(fmt::format("Only {} knows {}.", side->name, Join(names, ", ")));
  }
}

}  // namespace

std::optional<double> SecondsOfRow(const FactorRow& row) {
  return row.runtime ? std::optional(*row.runtime / row.iterations) : std::nullopt;
}

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

bool ComparesWithReference(Factor factor) {
  for (const Factor one : {Factor::kGlobalEfficiency, Factor::kComputationScalability, Factor::kInstructionScaling,
                           Factor::kIpcScaling, Factor::kFrequencyScaling, Factor::kSpeedup}) {
    if (factor == one) return true;
  }
  return false;
}

bool ComparedSides::Compares(Factor factor) const { return compares || !ComparesWithReference(factor); }

ComparedSides AgreeOnTerms(const SideOfResults& before, const SideOfResults& after) {
  ComparedSides sides{SideOf(before), SideOf(after), false, std::nullopt, {}};
  AgreeOnReference(before, after, sides);
  AgreeOnScaling(sides);
  SayWhatOneSideHas(sides);
  return sides;
}

}  // namespace farscale
