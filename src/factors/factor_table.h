// Factors of several runs side by side: what models are fitted to, and a file worth keeping. Comes from traces, or
// from anywhere else as a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "factors/factor.h"
#include "factors/phase_totals.h"
#include "phases/phase_spec.h"
#include "replay/unknown_waits.h"

namespace farscale {

enum class Scaling { kStrong, kWeak };

std::string ToString(Scaling scaling);
// "strong" or "weak"; nothing for anything else.
std::optional<Scaling> ScalingByName(std::string_view name);

// A phase of a series, or a group of its ranks.
struct PhaseKey {
  std::string series;  // program or experiment; empty when there is only one
  PhaseId phase;

  friend bool operator==(const PhaseKey&, const PhaseKey&) = default;
  friend auto operator<=>(const PhaseKey&, const PhaseKey&) = default;
};

// One phase of one run.
struct FactorRow {
  std::string series;      // program or experiment; empty when there is only one
  PhaseId phase;           // whole, or a group of its ranks
  std::int64_t cores = 0;  // ranks × threads of the run
  std::int64_t ranks = 0;  // that the row is about
  std::int64_t threads = 1;
  std::optional<std::int64_t> nodes;
  std::int64_t repeat = 0;
  std::optional<double> runtime;  // seconds of the phase
  double iterations = 1;          // that the runtime contains
  FactorValues values;

  // Uncertainty of this run alone, in the unit of the value. For factors that compare with the reference
  // it does not contain the reference's own, which the rows there have: so rows err independently of each other.
  FactorValues standard_errors;
  std::optional<double> runtime_error;

  // Distribution of useful time over the ranks; nothing where no value of it is known.
  std::optional<LoadDistribution> loads;

  // Only for rows from traces.
  std::optional<PhaseTotals> totals;
  std::optional<Span> span;
  std::optional<BlockSamples> samples;        // until the table is complete, then part of the errors
  std::optional<UnknownWaits> unknown_waits;  // why there are no serialization and transfer; without `operations`

  PhaseKey Key() const { return {series, phase}; }
  // True if its factors are those of all threads and of devices, too.
  bool IsHybrid() const { return values.Tree() == FactorTree::kHybrid; }
  // Processes of the run, also where the row is about some of its ranks.
  double Processes() const { return static_cast<double>(cores) / static_cast<double>(threads); }
  // Seconds that an iteration takes.
  std::optional<double> TimePerIteration() const;
  // Useful time of all ranks in an iteration, Σ t; without totals it follows from Σ t = P · T · PE.
  std::optional<double> UsefulTime() const;

  friend bool operator==(const FactorRow&, const FactorRow&) = default;
};

struct FactorTable {
  std::vector<FactorRow> rows;
  std::optional<Scaling> scaling;
  std::string scaling_source;             // "study", "instructions", "useful time", "file", "command line"
  std::optional<std::int64_t> reference;  // cores of the run that scalability is measured against
  std::string rules;                      // rule set of the replay; empty when the table comes from elsewhere
  std::vector<Finding> findings;          // about the table as a whole

  // Series and phases in the order in which they appear first; groups of ranks are among the phases.
  std::vector<std::string> Series() const;
  std::vector<PhaseId> Phases(const std::string& series) const;
  // All phases, series by series.
  std::vector<PhaseKey> Keys() const;
  // Rows of one phase that count [CountRows], by cores and repeat.
  std::vector<FactorRow> Rows(const PhaseKey& key) const;
  std::vector<FactorRow> Rows(const std::string& series, const PhaseId& phase) const { return Rows({series, phase}); }
};

// The tree of a phase: that of hybrid runs where any row is of one.
FactorTree TreeOf(const std::vector<FactorRow>& rows);

// True if a report has a row for the factor: a run knows it, and device offload is not that of runs without devices.
bool IsShown(Factor factor, const std::vector<FactorRow>& rows);

// Files before version 2, and CSV files without the column `group`, have a group of ranks in the text of its phase,
// "iteration / pme". A text of that form is that of a group where any row of it has fewer ranks than its run, but for
// rows of all ranks at core counts that have both; all other phases keep their names.
void FindGroupsInOldTexts(FactorTable& table);

// Adds the findings of the rows to those of the table, replacing earlier ones. For tables without the records of their
// runs.
void AddFindingsOfRows(FactorTable& table);

// Removes the factors that compare with the reference: computation scalability, its parts, speedup, global efficiency.
void ForgetComparison(FactorRow& row);

// A run whose speedup is known.
struct SpeedupAnchor {
  double cores = 0;
  double global_efficiency = 0;
  double speedup = 1;
};

// Global efficiency to speedup: S = S_0 · GE / GE_0 · P / P_0, for strong and weak scaling alike (the weak speedup
// counts the larger problem) [docs/formulas.md, speedup].
double SpeedupFrom(double global_efficiency, double cores, const SpeedupAnchor& anchor);

// The rows of a factor table by phase, where they lie: rows are large, and a table may have a million of them.

using RowPointers = std::vector<const FactorRow*>;

RowPointers PointersTo(const std::vector<FactorRow>& rows);

// All rows of every phase, in the order of the table; phases as in FactorTable::Keys().
std::vector<std::vector<FactorRow*>> RowsToComplete(FactorTable& table);

struct RowsOfPhase {
  PhaseKey key;
  RowPointers rows;  // that count [CountRows], by cores and repeat
};

// All phases, as in FactorTable::Keys(). The time grows with the rows, however many phases there are.
std::vector<RowsOfPhase> RowsByPhase(const FactorTable& table);

// The mean of the known values above 0 at a core count; nothing without any.
template <typename Value>
std::optional<double> MeanAt(const RowPointers& rows, std::int64_t cores, Value value) {
  double sum = 0, known = 0;
  for (const FactorRow* row : rows) {
    const std::optional<double> one = row->cores == cores ? value(*row) : std::nullopt;
    if (!one || !(*one > 0)) continue;
    sum += *one;
    ++known;
  }
  return known > 0 ? std::optional(sum / known) : std::nullopt;
}

// The fewest cores on which runs, all with factors of all their threads, are divided differently into processes and
// threads. Such runs are no repeats of each other, and there is no curve over cores. Nothing without any.
std::optional<std::int64_t> CoresOfSeveralSplits(const RowPointers& rows);

// The values of a table that follow from others: of the reference run, and of parts.

// Decides the scaling when the table does not say it, chooses the reference (where the scalabilities given are 1, else
// the smallest number of cores, unless given), fills the factors that compare with the reference, and derives missing
// parents from children. Throws a usage error when the reference given is not a run of the table.
void CompleteTable(FactorTable& table);

// Converts a completed table to another kind of scaling or another reference run. What compares with the
// reference is made anew from the totals; rows without totals are divided by their values at the new reference.
// Throws a usage error when the reference is not a run of the table, and when the rows do not know enough.
void ChangeTerms(FactorTable& table, std::optional<Scaling> scaling, std::optional<std::int64_t> reference);

// Which rows of a phase count in references, fits and comparisons: neither outlying repeats, nor run times of slower
// divisions of the same cores [docs/formulas.md, repeats].

struct CountedRows {
  RowPointers counted;   // in the order given; never empty where there are rows
  RowPointers outlying;  // repeats too far from the median of theirs
  RowPointers slower;    // run times on as many cores, divided into other numbers of processes and threads
};

// `rows`: of one phase.
CountedRows CountRows(const RowPointers& rows);

// "repeat 2 on 1 core takes 180 s, the median 101 s; ...", at most three of them.
std::string DescribeOutlying(const CountedRows& rows);

// "16 = 8 × 2, 32 = 16 × 2": cores, processes and threads of what counts; at most three.
std::string DescribeSplits(const CountedRows& rows);

// Checks that a table agrees with itself: tables come from anywhere, and files are damaged.

// Checks the rows of one phase, before anything is derived of them: parents are the product of their parts, factors
// what totals, run times and loads give, and counts fit each other, as far as rounding lets them. Throws an input error
// for shares that cannot be.
Diagnostics CheckPhase(const std::vector<FactorRow*>& rows);

// The same of all phases of a table that is complete; replaces what was found of it before.
void CheckTable(FactorTable& table);

// Puts findings in the place of earlier ones of their kind.
void ReplaceFindings(const Diagnostics& diagnostics, std::vector<Finding>& findings);

// Explanation of efficiencies above 1, printed beside the number.

// Chosen: from here on, rounding, noise and a few redundant operations do not explain it.
inline constexpr double kSuperlinear = 1.1;

// One sentence on the runs of a phase that have a factor above kSuperlinear: which factor it comes from, and what that
// means. Empty where none has.
std::string WhySuperlinear(const std::vector<FactorRow>& rows);

// The same for efficiencies of which `largest` is the largest, measured or projected: relative to the run on `baseline`
// cores where that is given, else to the reference. Empty where it is not above kSuperlinear.
std::string WhySuperlinear(const std::vector<FactorRow>& rows, double largest,
                           std::optional<std::int64_t> baseline = std::nullopt);

// The terms that a table is completed in: strong or weak scaling, and the reference run.

struct WorkGrowth;

// Strong scaling keeps the total work, weak scaling lets it grow with the processes; the nearer one (in the logarithm)
// is it. Of a table that knows run times alone, runs that get faster scale strongly; others may be weak, or strong runs
// that gain nothing, and are a usage error. A table that says its scaling keeps it. Returns the scaling by series;
// where series differ the table has none, and times and speedups of their rows show it [ScalingShownBy].
std::map<std::string, Scaling> DecideScaling(FactorTable& table, Diagnostics& diagnostics);

// The reference that the table says, else where the scalabilities given are 1, else the smallest number of cores.
// Throws a usage error when there is no run at the one it says.
void ChooseReference(FactorTable& table);

// True if run times are all that is known, with what was derived from them.
bool KnowsTimesOnly(const FactorRow& row);
bool KnowsTimesOnly(const FactorTable& table);
// True if the speedup is all that is known.
bool KnowsSpeedupOnly(const FactorRow& row);

// Time of an iteration by cores, the median of repeats. Empty where a time is unknown.
std::map<std::int64_t, double> MedianTimes(const RowPointers& rows);
// To the core count with the shortest of them, without work. Nothing without times at two core counts.
std::optional<WorkGrowth> GrowthToFastest(const RowPointers& rows);

// In less of the first run's time than this, more cores do the same work: above what noise makes of a time; chosen.
// Real weak runs take 0.9 of it or more, real strong ones come below 0.5 [tests/run_times_test.py].
inline constexpr double kFasterTime = 0.8;

// Rows of a phase at the reference count, of run times those of the fastest split with all repeats; the smallest count
// of the phase when it was not run there.
std::vector<const FactorRow*> ReferenceRows(const std::vector<FactorRow*>& rows, std::int64_t reference);

// The median of a value over rows, so that one bad repeat at the reference changes little; nothing if a row lacks it.
std::optional<double> MedianOf(const RowPointers& rows,
                               const std::function<std::optional<double>(const FactorRow&)>& value);

// Changes of a measured quantity from one result to another, compared with noise.

// The relative scatter from run to run that is expected before any repeat was measured; chosen.
inline constexpr double kUsualNoise = 0.01;

// A quantity above 0 at one core count, over the runs of one result there. All of logarithms, since factors multiply
// and times scale.
struct Measurement {
  double value = 0;    // geometric mean of the runs
  double error = 0;    // standard error of its logarithm
  double freedom = 0;  // degrees of freedom of that error; infinite when the noise is known
  std::size_t runs = 0;

  friend bool operator==(const Measurement&, const Measurement&) = default;
};

// Run-to-run noise: a standard deviation of logarithms, and its degrees of freedom.
struct Noise {
  double deviation = kUsualNoise;
  double freedom = 4;
};

// The mean of the values, with the scatter s² = (ν₀ u² + Σ (ln y − mean)²) / (ν₀ + n − 1) of the runs around it, where
// u is the noise expected with ν₀ degrees of freedom: two repeats that agree by luck do not make the noise 0
// [Gelman13, 2.6]. `errors` are standard errors within the runs, in the unit of the values, where known; the error of
// the mean is never below that of their mean. Nothing without values, or where one is not above 0.
std::optional<Measurement> Measure(const std::vector<double>& values, const std::vector<std::optional<double>>& errors,
                                   const Noise& noise = {});

// Noise of repeats: lists of values measured under equal conditions, all pooled; nothing without any repeat.
std::optional<Noise> NoiseOfRepeats(const std::vector<std::vector<double>>& repeats);

// Both together, each with its degrees of freedom.
Noise Pool(const Noise& a, const Noise& b);

struct Change {
  double ratio = 1;  // after over before
  double error = 0;  // standard error of its logarithm
  double freedom = 0;

  // Bounds of the ratio that hold with this probability [Welch47].
  double Low(double confidence = 0.95) const;
  double High(double confidence = 0.95) const;
  // True if 1 lies outside of these bounds.
  bool IsBeyondNoise(double confidence = 0.95) const;
};

Change ChangeBetween(const Measurement& before, const Measurement& after);

}  // namespace farscale
