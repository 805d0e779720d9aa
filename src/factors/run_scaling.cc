#include "factors/run_scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/error.h"
#include "factors/scaling_check.h"

namespace farscale {
namespace {

// What all phases say of their scaling, unless they contradict each other.
std::optional<Scaling> ImpliedScaling(const FactorTable& table) {
  std::optional<Scaling> implied;
  for (const std::string& series : table.Series()) {
    for (const PhaseId& phase : table.Phases(series)) {
      const std::optional<Scaling> scaling = ScalingShownBy(table.Rows(series, phase));
      if (implied && scaling && *implied != *scaling) return std::nullopt;
      if (scaling) implied = scaling;
    }
  }
  return implied;
}

}  // namespace

std::optional<Scaling> ScalingOf(const FactorTable& table, const std::vector<FactorRow>& rows) {
  return table.scaling ? table.scaling : ScalingShownBy(rows);
}

std::optional<Scaling> ScalingShownBy(const std::vector<FactorRow>& rows) {
  constexpr double kSame = 0.02;
  const bool has_speedups = std::any_of(
      rows.begin(), rows.end(), [](const FactorRow& row) { return row.runtime && row.values[Factor::kSpeedup]; });
  // Up to a constant, speedup is global efficiency times cores.
  const auto speedup_of = [&](const FactorRow& row) -> std::optional<double> {
    if (has_speedups) return row.values[Factor::kSpeedup];
    const std::optional<double>& efficiency = row.values[Factor::kGlobalEfficiency];
    return efficiency ? std::optional(*efficiency * static_cast<double>(row.cores)) : std::nullopt;
  };
  const FactorRow* first = nullptr;
  bool is_strong = true, is_weak = true, differs = false;
  for (const FactorRow& row : rows) {
    if (!row.runtime || !speedup_of(row)) continue;
    if (first == nullptr) first = &row;
    const auto reach = [&](const FactorRow& one) { return *one.runtime / one.iterations * *speedup_of(one); };
    const double growth = static_cast<double>(row.cores) / static_cast<double>(first->cores);
    const double ratio = reach(row) / reach(*first);
    is_strong = is_strong && std::fabs(ratio - 1) < kSame;
    is_weak = is_weak && std::fabs(ratio / growth - 1) < kSame;
    differs = differs || row.cores != first->cores;
  }
  if (!differs || is_strong == is_weak) return std::nullopt;
  return is_strong ? Scaling::kStrong : Scaling::kWeak;
}

void PutInTermsUnchecked(FactorTable& table, std::optional<Scaling> scaling, std::optional<std::int64_t> reference) {
  if (!table.scaling) {
    table.scaling = ImpliedScaling(table);
    if (table.scaling) table.scaling_source = kShownByTimes;
    if (table.scaling && scaling && *scaling != *table.scaling) {
      throw Error(ErrorKind::kUsage, "--scaling " + ToString(*scaling),
                  "times and efficiencies of the table show " + ToString(*table.scaling) + " scaling",
                  "correct the table, or leave --scaling out");
    }
  }
  if (!table.scaling) table.scaling = scaling;
  CompleteTable(table);
  if (scaling || reference) ChangeTerms(table, scaling, reference);
}

void PutInTerms(FactorTable& table, std::optional<Scaling> scaling, std::optional<std::int64_t> reference) {
  PutInTermsUnchecked(table, scaling, reference);
  CheckScaling(table, scaling ? SourceOfScaling(table) : SourceOfStoredScaling(table));
}

}  // namespace farscale
