#include <fmt/format.h>

#include <map>
#include <string>

#include "base/error.h"
#include "factors/anomalies.h"
#include "factors/complete_table.h"
#include "factors/table_terms.h"

namespace farscale {
namespace {

[[noreturn]] void RefuseTerms(const FactorRow& row, const std::string& why) {
  throw Error(ErrorKind::kUsage, fmt::format("row of {} cores", row.cores), why,
              "make the table anew from the traces, or predict from factors.json, which knows the totals");
}

void RefuseOtherScaling(const FactorRow& row, Scaling scaling) {
  for (const FactorType& type : FactorsThatAreOneAtReference()) {
    if (!row.values[type.factor]) continue;
    RefuseTerms(row, fmt::format("{} was made for {} scaling and cannot be made anew", type.id,
                                 ToString(scaling == Scaling::kWeak ? Scaling::kStrong : Scaling::kWeak)));
  }
}

// Divides what rows without totals say of scalability by what they say at the new reference: the median of the repeats
// there, of inverses since times stand in the denominator.
void MoveReference(const std::vector<FactorRow*>& rows, std::int64_t reference, bool is_scaling_known) {
  const std::vector<const FactorRow*> at = ReferenceRows(rows, reference);
  std::map<Factor, double> divisors;
  for (const FactorType& type : FactorsThatAreOneAtReference()) {
    const auto inverse = MedianOf(at, [&](const FactorRow& row) {
      return row.values[type.factor] ? std::optional(1 / *row.values[type.factor]) : std::nullopt;
    });
    if (inverse) divisors[type.factor] = 1 / *inverse;
  }
  for (FactorRow* row : rows) {
    if (row->totals) continue;
    FactorValues& values = row->values;
    const bool product = values[Factor::kParallelEfficiency] && values[Factor::kComputationScalability];
    if (values[Factor::kGlobalEfficiency] && KnowsTimesOnly(*row)) {
      // Made anew of the times; the speedup shows the scaling of a series that differs from others.
      const std::optional<double> speedup = is_scaling_known ? std::nullopt : values[Factor::kSpeedup];
      row->values = {};
      if (speedup && divisors.contains(Factor::kSpeedup))
        values[Factor::kSpeedup] = *speedup / divisors.at(Factor::kSpeedup);
      row->standard_errors = {};
      continue;
    }
    if (KnowsSpeedupOnly(*row)) values[Factor::kGlobalEfficiency].reset();  // made anew of the speedup
    if (values[Factor::kGlobalEfficiency] && !product) {
      RefuseTerms(*row, "globalEfficiency cannot be compared with another run without its two parts");
    }
    for (const FactorType& type : FactorsThatAreOneAtReference()) {
      const Factor factor = type.factor;
      if (!values[factor]) continue;
      if (!divisors.contains(factor)) {
        RefuseTerms(*row, fmt::format("{} is not known at the reference of {} cores", type.id, reference));
      }
      *values[factor] /= divisors[factor];
      if (row->standard_errors[factor]) *row->standard_errors[factor] /= divisors[factor];
    }
    std::optional<double>& error = row->standard_errors[Factor::kGlobalEfficiency];
    if (values[Factor::kGlobalEfficiency] && error) *error /= divisors[Factor::kComputationScalability];
    values[Factor::kGlobalEfficiency].reset();
  }
}

}  // namespace

void ChangeTerms(FactorTable& table, std::optional<Scaling> scaling, std::optional<std::int64_t> reference) {
  const bool other_scaling = scaling && table.scaling && *scaling != *table.scaling;
  const bool other_reference = reference && reference != table.reference;
  if (scaling) {
    table.scaling = scaling;
    table.scaling_source = "command line";
    const std::string_view guessed = anomaly::kScalingGuessed.id;
    std::erase_if(table.findings, [&](const Finding& finding) { return finding.id == guessed; });
  }
  if (reference) table.reference = reference;
  ChooseReference(table);
  for (const std::vector<FactorRow*>& rows : RowsToComplete(table)) {
    if (other_reference) MoveReference(rows, *table.reference, table.scaling.has_value());
    for (FactorRow* row : rows) {
      if (other_scaling && KnowsTimesOnly(*row)) row->values = {};  // made anew of the times
      if (other_scaling && !row->totals) RefuseOtherScaling(*row, *scaling);
      if ((other_scaling || other_reference) && row->totals) ForgetComparison(*row);
    }
  }
  CompleteTable(table);
}

}  // namespace farscale
