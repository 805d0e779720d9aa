// The answers that computing centres ask of an application for computing time: how one phase of a program scales,
// measured and projected, against a stated run, what it costs, and on how many cores it should run [docs/formulas.md,
// allocation].
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "factors/factor_table.h"
#include "phases/phase_spec.h"
#include "projection/key_results.h"
#include "projection/model_settings.h"
#include "projection/reliable_range.h"

namespace farscale {

enum class Scaling;
struct PhaseProjection;
struct Results;

struct AllocationOptions {
  std::optional<std::string> series;     // nothing: the first
  std::optional<std::string> phase;      // nothing: the one that takes most time; PhaseByText
  std::optional<std::string> group;      // group of its ranks; nothing: all of them, unless `phase` says otherwise
  double efficiency = 0.75;              // required
  std::optional<double> iterations;      // planned; nothing: as the study says
  std::optional<std::int64_t> baseline;  // cores; nothing: the reference of the results, else the smallest run
  std::optional<double> up_to;           // largest core count shown; nothing: well beyond the reliable range
};

// A number with what is known of its uncertainty. Uncertain ones are an interval and no number, unknown ones neither.
struct Estimate {
  std::optional<double> value;
  std::optional<OpenBounds> interval80;

  friend bool operator==(const Estimate&, const Estimate&) = default;
};

// One core count: all its runs, or the projection.
struct AllocationRow {
  double cores = 0;
  double processes = 0;
  std::optional<double> nodes;  // targets: as full as the fullest of a run
  bool is_measured = true;
  bool is_baseline = false;
  Reliability reliability = Reliability::kReliable;
  std::size_t runs = 0;
  double ideal = 1;  // speedup
  Estimate speedup, efficiency;
  Estimate iteration;             // seconds
  Estimate work;                  // seconds for all iterations of the pack
  Estimate core_hours;            // the same
  std::optional<double> size;     // problem size in total
  std::optional<double> portion;  // problem size a process

  friend bool operator==(const AllocationRow&, const AllocationRow&) = default;
};

// The largest job that is efficient enough, never larger than is known. What was measured comes first: it is no less
// than the largest measured count that is efficient enough, and less than the next measured one, which is not. A
// projected count is one that machines have: 2^k or 3 · 2^k full nodes, or without nodes 2^k or 3 · 2^k times the odd
// number that divides all measured counts.
struct Recommendation {
  AllocationRow row;                    // nodes are as measured, else full ones, with all cores of the job
  bool reliable_range_ends = false;     // at its cores, so that more may do; else up to them and not beyond
  std::optional<double> limit;          // projected cores before they were rounded down to a usual count
  std::optional<CountBound> low, high;  // 80 % interval of where the projected efficiency falls below
  std::optional<double> sure;           // cores, up to those of the row, that are enough with a probability of 90 %
  bool is_surer = false;                // `sure` has a higher probability
  std::optional<CountBound> projected;  // the projection alone, where it was overruled
  // Measured counts, in their order, with another efficiency as projected: one is enough, the other is not.
  std::vector<std::pair<AllocationRow, Estimate>> disagreements;
};

struct AllocationPack {
  std::string series;
  PhaseId phase;
  std::string phase_description;
  std::optional<Factor> basis;  // the factor that efficiency is read off; nothing: times
  std::optional<Scaling> scaling;
  bool is_scaling_shown = false;  // nobody says it, but times and speedups show it
  double required = 0.75;
  double baseline = 0;              // cores
  double iterations = 1;            // that `work` and core hours are for
  bool are_planned = false;         // else: as many as the baseline ran
  bool is_of_runs = false;          // a table of run times, in which nobody counts iterations
  std::vector<AllocationRow> rows;  // measured, then projected, each by cores
  // Projected speedup by cores, from the smallest run to the last row that is known; may be empty.
  std::vector<std::pair<double, Estimate>> curve;
  Recommendation recommendation;
  double reliable = 0;                   // cores up to which the projection is reliable; 0: there is none
  double largest_target = 0;             // in the results; more than the last row where that is not shown
  std::optional<double> cores_per_node;  // on the fullest nodes of a run
  std::size_t runs = 0;
  std::size_t counts = 0;  // measured
  std::size_t repeated_counts = 0;
  std::optional<Noise> noise;  // between repeats: times, else efficiencies
  std::string superlinear;     // a sentence: why efficiencies above 110 % are there; else empty

  // Results that cannot be true together.
  std::vector<std::string> doubts;         // sentences: findings of the factor table
  std::string unlike_work;                 // why the work of the phase does not grow as stated; else empty
  std::string contradicting_efficiencies;  // times and global efficiency where they differ beyond noise
  // Cores and sizes that are not as the scaling has them, behind those of the baseline.
  std::vector<std::pair<double, double>> contradicting_sizes;
};

// The distance beyond the reliable range up to which targets are shown, unless asked for. Chosen: two doublings show
// the trend.
inline constexpr double kShownBeyondReliable = 4;

// Throws a usage error for a series, phase or baseline that the results do not have, and where times and factors agree
// with the other kind of scaling alone; an error of kind kNotEnoughData when the phase has no efficiency at all.
AllocationPack MakeAllocationPack(const Results& results, const AllocationOptions& options);

// The phase of a series that takes most time in the largest run; groups of ranks are none. The first where times are
// unknown.
PhaseId MostImportantPhase(const FactorTable& table, const std::string& series);

// The projection of a phase; null without one.
const PhaseProjection* ProjectionOf(const Results& results, const std::string& series, const PhaseId& phase);

// E = p_b T_b / (p_N T_N) with strong scaling; T_b / T_N with weak scaling, where the work grows with the cores.
double EfficiencyOfTimes(Scaling scaling, double baseline_cores, double baseline_seconds, double cores, double seconds);

}  // namespace farscale
