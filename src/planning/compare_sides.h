// Both sides of a phase that is compared, in the same terms [docs/formulas.md, comparison].
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "planning/compare.h"
#include "results/results.h"

namespace farscale {

// Reads one quantity off a row.
using RowReading = std::function<std::optional<double>(const FactorRow&)>;

// A quantity of the runs at one core count, with its errors where known.
struct RunValues {
  std::vector<double> values;
  std::vector<std::optional<double>> errors;
};

// One side of a phase: its rows in the terms that are compared, and what the projection must be multiplied by to be in
// them too.
struct ComparedSide {
  std::string name;
  std::vector<FactorRow> rows;
  std::optional<Scaling> scaling;  // as the results say, else as times and speedups show
  bool is_scaling_shown = false;   // the latter
  std::int64_t reference = 0;      // cores; the smallest count of a phase that was not run at the reference
  const PhaseProjection* projection = nullptr;
  FactorValues scale;

  std::set<std::int64_t> Counts() const;
  bool Knows(const RowReading& value) const;
  // Empty where one of the runs does not know it.
  RunValues ValuesAt(std::int64_t cores, const RowReading& value, const RowReading& error) const;
  // Geometric mean of the reference runs.
  std::optional<double> AtReference(const RowReading& value) const;
};

struct ComparedSides {
  ComparedSide before, after;
  bool compares = false;  // both compare with the same reference, in the same way
  ComparedTerms terms;

  // False for factors that compare with the reference run where both sides have different ones.
  bool Compares(Factor factor) const { return compares || !Describe(factor).ComparesWithReference(); }
};

struct SideOfResults {
  const Results& results;
  const PhaseKey& key;
  const std::string& name;
};

// Where the references differ, both sides are put in terms of the smallest common core count, if they know enough.
ComparedSides AgreeOnTerms(const SideOfResults& before, const SideOfResults& after);

}  // namespace farscale
