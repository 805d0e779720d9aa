// Strong or weak scaling: detected from times, or given, and checked against the growth of the work.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "factors/factor_table.h"

namespace farscale {

// From the fewest to the most cores of a phase, among runs with as many threads a process: those whose processes grow
// most, where there are several such. Repeats count with their mean.
struct WorkGrowth {
  std::int64_t first = 0, last = 0;  // cores
  double processes = 1;              // so many times as many
  // Growth of the work of an iteration, summed over all processes: instructions, else useful time. Nothing where
  // neither is known.
  std::optional<double> work;
  bool is_instructions = false;
  std::optional<double> first_seconds, last_seconds;  // length of an iteration

  std::optional<double> TimeRatio() const;
};

// Nothing with one core count only.
std::optional<WorkGrowth> GrowthOfWork(const RowPointers& rows);

// The rows of the phase of a series that takes longest at its fewest cores; the work of shorter phases may not grow.
// This phase decides the scaling where it is not given, and is checked against it where it is.
std::vector<FactorRow> LongestPhase(const FactorTable& table, const std::string& series);
// The same of every series, in the order of FactorTable::Series().
std::vector<RowsOfPhase> LongestPhases(const FactorTable& table);

enum class ScalingFit { kFits, kUnlikely, kExcluded };

// Work grows by processes^e with e = 0 for strong and e = 1 for weak scaling [docs/formulas.md, weak or strong]. Real
// codes leave these by what every process repeats (e up to 0.4) and by work that grows faster than the problem; more
// than half way to the other is unlikely. Weak scaling is excluded where, over four times the processes or more, an
// iteration takes less than half the time and work is nearer to constant; or, where work is unknown, less than two
// thirds.
ScalingFit FitOf(const WorkGrowth& growth, Scaling scaling);

// Checks the scaling of a completed table by the longest phase of every series. Adds a finding where the scaling
// is unlikely, or excluded for a phase at least half as long; throws a usage error at `where` when it is excluded.
void CheckScaling(FactorTable& table, const std::string& where);

// Why the longest phase of a series excludes the scaling of a completed table; empty where none does.
std::string WhyExcluded(const FactorTable& table);

// Why the runs of the longest phase of a series mix both kinds of scaling: between some neighbouring core counts the
// work of an iteration stays, between others it grows with the processes. Empty where they do not.
std::string WhyMixed(const FactorTable& table);

// Checks the scaling of a table for one phase alone. Returns why it is unlikely, as in a finding; empty where it fits.
// Throws a usage error naming the phase when it is excluded.
std::string CheckScalingOf(const FactorTable& table, const std::string& series, const PhaseId& phase);

// Where a table says its scaling, for errors: "--scaling weak", "scaling = "weak"" of a study; of a stored
// table, "scaling weak as the table says".
std::string SourceOfScaling(const FactorTable& table);
std::string SourceOfStoredScaling(const FactorTable& table);

// True if the scaling was detected from work or times and not given.
bool IsScalingDecided(const FactorTable& table);

// True if a finding puts every number that compares with the reference run in doubt: outputs show it first, in bold.
bool PutsAllInDoubt(const Finding& finding);
// Those findings, each as a sentence with its details.
std::vector<std::string> DoubtsOf(const std::vector<Finding>& findings);

// Scaling of the runs of a phase: that of the table, else detected from times and speedups.
std::optional<Scaling> ScalingOf(const FactorTable& table, const std::vector<FactorRow>& rows);

// Strong when the time of an iteration times speedup is the same at every core count, weak when it grows with the
// cores, to two digits. Where no speedup is known, global efficiency times cores does. Nothing where neither holds, or
// where times or both of these are unknown.
std::optional<Scaling> ScalingShownBy(const RowPointers& rows);

// Source of the scaling of a table that does not say it.
inline constexpr const char* kShownByTimes = "run times";

// Completes a table for the requested scaling and reference. A table without scaling gets the one detected from its
// times, if any; then requesting the other one is a usage error. So is any scaling that the runs contradict
// [CheckScaling]. Throws as ChangeTerms.
void PutInTerms(FactorTable& table, std::optional<Scaling> scaling, std::optional<std::int64_t> reference);

// The same without the check of the scaling.
void PutInTermsUnchecked(FactorTable& table, std::optional<Scaling> scaling, std::optional<std::int64_t> reference);

}  // namespace farscale
