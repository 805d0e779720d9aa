// Two results side by side: two codes, machines or compilers, or before and after. What of a phase changed, by how much
// more than noise, and which factor explains it [docs/formulas.md, comparison].
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "factors/factor_table.h"
#include "factors/factor.h"
#include "projection/projection.h"

namespace farscale {

struct Results;

// The parts of a difference: logarithms of factors, which add up [docs/formulas.md, comparison].

// ln(after / before) of a product as the sum of its parts, exactly. Parts by their ids: factors, "rest", which no
// factor explains (the whole is not exactly the product of its parts), and of times "base": the computation of the
// reference run. With counters that is "baseInstructions" and "baseInstructionRate", the latter as "baseIpc" and
// "baseFrequency" where cycles are known.
struct Decomposition {
  using Part = std::pair<std::string, double>;  // id, and what it adds to the logarithm of the whole

  double logarithm = 0;
  std::vector<Part> parts;

  // The part that goes furthest in the direction of the whole; null where the whole did not change.
  const Part* Largest() const;
};

// Splits ln(after / before) of a factor into its parts; nothing where they are not known on both sides. Values above 0.
std::optional<Decomposition> Explain(Factor whole, const FactorValues& before, const FactorValues& after);

// The same of the time of an iteration: T = base / efficiency, so that factors count with the opposite sign.
// `efficiency` is what Explain says of global efficiency.
Decomposition ExplainTime(double before, double after, const Decomposition& efficiency);

// A measured quantity on both sides; the change where both know it and mean the same by it.
struct ComparedNumber {
  std::optional<double> before, after;  // geometric means of the runs
  std::optional<Change> change;
  bool is_beyond_noise = false;  // at the confidence of all changes of the phase together
};

// One core count that was run on either side.
struct ComparedCount {
  double cores = 0;
  bool is_common = false;
  std::vector<std::pair<Factor, ComparedNumber>> factors;  // in the order of reports, those that either side knows
  ComparedNumber seconds;                                  // an iteration
  Factor whole = Factor::kGlobalEfficiency;  // that `efficiency` is about; parallel efficiency where that is all
  std::optional<Decomposition> efficiency;   // explains the whole
  std::optional<Decomposition> time;         // explains `seconds`

  const ComparedNumber* Find(Factor factor) const;
};

// A projected quantity on both sides.
struct ProjectedPair {
  std::optional<ProjectedValue> before, after;
  Reliability reliability = Reliability::kUnknown;  // the worse one of both sides
  bool is_apart = false;                            // the 80 % intervals do not overlap
};

struct ComparedTarget {
  double cores = 0;
  Factor whole = Factor::kGlobalEfficiency;
  ProjectedPair efficiency;                               // values of the whole
  ProjectedPair seconds;                                  // an iteration
  std::vector<std::pair<Factor, ProjectedPair>> factors;  // its parts
  std::optional<Decomposition> explained;                 // explains the whole
};

// Reads one quantity off a row.
using RowReading = std::function<std::optional<double>(const FactorRow&)>;

// One side of a phase: its rows in the terms that are compared.
struct ComparedSide {
  std::string series;
  PhaseId phase;  // phases may have different names where each side has only one
  std::vector<FactorRow> rows;
  std::optional<Scaling> scaling;  // as the results say, else as times and efficiencies show
  bool is_scaling_shown = false;   // the latter
  std::int64_t reference = 0;      // cores; the smallest count of a phase that was not run at the reference
  std::int64_t own_reference = 0;  // before both sides were put in terms of the same
  const PhaseProjection* projection = nullptr;  // in the results that were compared; null: none
  FactorValues scale;                           // times the projection: that in these terms

  std::set<std::int64_t> Counts() const;
  // At any core count.
  bool Knows(const RowReading& value) const;
};

// A phase on both sides.
struct ComparedPhase {
  std::string name;  // as reports call it
  ComparedSide before, after;
  std::optional<double> reference;  // cores that both compare with
  bool compares = false;            // both compare with the same reference, in the same way
  std::vector<ComparedCount> counts;
  std::vector<ComparedTarget> targets;
  std::optional<Noise> noise;      // between repeats: times, else efficiency; nothing: it is assumed
  std::vector<std::string> notes;  // sentences on parts that do not compare

  // False for factors that compare with the reference run where both sides have different ones.
  bool Compares(Factor factor) const { return compares || !Describe(factor).ComparesWithReference(); }
  // The number of changes, of factors and of times, at all common core counts.
  std::size_t CountChanges() const;
  // The largest core count that was run on both sides; null where there is none.
  const ComparedCount* LargestCommon() const;
};

struct ComparedResults {
  std::string before, after;  // names of both sides
  std::vector<ComparedPhase> phases;
  std::vector<std::string> only_before, only_after;      // phases
  std::vector<Finding> findings_before, findings_after;  // oddities of the tables
};

// Phases are compared by their names, and series by theirs unless each side has only one; where no name is common, the
// most important phase of each. `targets` are core counts to compare projections at; empty: those of the results. The
// results must outlive what is returned.
ComparedResults CompareResults(const Results& before, const Results& after, const std::string& name_before,
                               const std::string& name_after, const std::vector<double>& targets = {});

}  // namespace farscale
