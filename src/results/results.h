// All results of a study: the input of reports, and a file from which reports can be made again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "base/fields.h"
#include "factors/factor_table.h"
#include "factors/run_picture.h"
#include "imbalance/loss_record.h"
#include "projection/backtest.h"
#include "projection/loss_projection.h"
#include "projection/projection.h"
#include "projection/thread_split.h"

namespace farscale {

// One iteration of a phase in one run, or several consecutive ones where there are too many to list; times,
// efficiencies and disturbance are then means over them.
struct IterationRecord {
  double begin = 0;    // mean over the ranks that run it, in seconds since the begin of the run
  double end = 0;      // the same
  double elapsed = 0;  // mean length over all ranks, in seconds; a rank that does not run it counts with nothing
  double useful = 0;   // the mean useful time in it
  double parallel_efficiency = 0;
  double load_balance = 0;
  std::optional<double> disturbance;  // share of the time that disturbances took; nothing: not known
  std::int64_t iterations = 1;        // that this stands for
  std::int64_t left_out = 0;          // iterations not used for the factors
  std::string reason;                 // why the first of those was left out; empty: it is apart from those kept

  // True if most are used.
  bool IsKept() const { return 2 * left_out <= iterations; }

  friend bool operator==(const IterationRecord&, const IterationRecord&) = default;
};

// Where a phase lies in one run.
struct PhaseMarks {
  std::string phase;
  std::vector<IterationRecord> iterations;  // in the order of time; a window or the whole run is one iteration
  std::optional<FactorValues> with_all;     // factors of all iterations, where some are left out

  std::int64_t Count() const;  // iterations, not records
  std::int64_t LeftOut() const;

  friend bool operator==(const PhaseMarks&, const PhaseMarks&) = default;
};

// Joins neighbours until there are at most so many records.
void JoinIterations(std::vector<IterationRecord>& iterations, std::size_t most);

// One run of the study, as measured or, in Results::grown_runs, as grown. A run that could not be used has an error and
// nothing else but its path.
struct RunRecord {
  std::string path;
  std::string error;
  std::string program;
  std::string format;
  std::string creator;
  std::string fingerprint;  // SHA-256 over the files [trace/trace_reader.h]
  std::uint64_t bytes = 0;
  std::uint64_t events = 0;
  double seconds = 0;  // from the first to the last event
  std::int64_t cores = 0;
  std::int64_t ranks = 0;
  std::int64_t threads = 1;
  std::int64_t nodes = 0;
  std::int64_t repeat = 0;
  std::optional<double> size;  // total problem size, if the study gives it for this run
  // For a run that nobody has made, cores of the largest run that it is grown from. Nothing: measured.
  std::optional<std::int64_t> grown_from;
  double coverage = 0;  // share of the run's time that lies in at least one phase
  std::vector<Finding> findings;
  std::optional<RunPicture> picture;  // nothing: not taken
  std::vector<PhaseMarks> phases;

  friend bool operator==(const RunRecord&, const RunRecord&) = default;
};

struct PhaseRecord {
  PhaseId id;
  std::string description;  // which part of a run it is, in words

  friend bool operator==(const PhaseRecord&, const PhaseRecord&) = default;
};

// The terms of an offered machine besides network and speed.
struct OfferTerms {
  std::optional<std::int64_t> cores_per_node;
  std::optional<double> price_per_node_hour;
  std::string currency;  // as in the offer, may be empty

  // Nodes that so many cores take with so many threads a process, which stay on one node; nothing: unknown.
  std::optional<double> NodesFor(double cores, std::int64_t threads) const;
  // The cost of so many seconds on them; nothing where nodes or price are unknown. Nodes are paid whole.
  std::optional<double> CostOf(double seconds, double cores, std::int64_t threads) const;

  friend bool operator==(const OfferTerms&, const OfferTerms&) = default;
};

// The runs of the study on another machine.
struct Variant {
  std::string id;           // in names of files
  std::string name;         // "without network noise"
  std::string description;  // the replay
  bool is_noise = true;     // its gain is noise; else the machine differs in other respects too
  FactorTable table;
  std::vector<PhaseProjection> projections;
  OfferTerms terms = {};  // nothing known where it is no offer
};

// The problem, as the study states it: of one size, or of one size for every process, in units such as
// "atoms".
struct ProblemCase {
  std::optional<double> size;              // in total, of every run
  std::optional<double> size_per_process;  // the same in every run
  std::string unit;
  std::optional<double> iterations;  // planned for production

  bool IsKnown() const { return size || size_per_process || !unit.empty() || iterations; }

  friend bool operator==(const ProblemCase&, const ProblemCase&) = default;
};

// The purpose of the variants of a study.
enum class Comparison { kNoise, kWhatIf };

struct Results {
  std::string title;
  std::string description;  // program and case; may be empty
  std::string models;       // the choice of models, in words
  ProblemCase problem;
  std::vector<RunRecord> runs;
  std::vector<PhaseRecord> phases;
  FactorTable table;
  std::vector<PhaseProjection> projections;
  std::vector<SplitsOfCores> splits;  // at the targets; empty where no runs vary both processes and threads
  std::vector<BacktestRow> backtest;
  std::vector<LossRecord> losses;                // largest run of every phase [reported_losses.h]
  std::vector<LossProjection> loss_projections;  // from all runs
  // From runs that nobody has made, the largest of every phase that was grown: each holds that phase alone.
  std::vector<RunRecord> grown_runs;
  std::vector<LossRecord> grown_losses;
  Comparison comparison = Comparison::kNoise;
  std::vector<Variant> variants;
};

// Results of a bare factor table: no runs are known, phases are those of the table.
Results ResultsOfTable(const FactorTable& table, const std::vector<PhaseProjection>& projections,
                       const std::string& title);

// Descriptions of the results' structs in files [base/fields.h], for the other files of this room and of those that
// embed them.

inline constexpr double kLargestCoreCount = 1e12;  // chosen: far above any machine, and charts up to there still end

// The first `count` values of an enumeration with their names.
template <typename T, typename NameOf>
std::vector<std::pair<T, std::string>> FirstNames(std::size_t count, NameOf name_of) {
  std::vector<std::pair<T, std::string>> names;
  for (std::size_t i = 0; i < count; ++i) names.emplace_back(static_cast<T>(i), name_of(static_cast<T>(i)));
  return names;
}

// Adds a finding where a file is not as it was written.
void CheckChecksum(const OrderedJson& json, const std::string& file, std::vector<Finding>& findings);

// Parts of several formats.
template <>
std::vector<std::pair<Factor, std::string>> NamesOf<Factor>();  // their ids
template <>
Form<FactorValues> FormOf<FactorValues>();  // keys are ids
Form<FactorValues> ValuesOfFactors(const std::vector<std::string>& ids);
template <>
Form<IntervalBounds> FormOf<IntervalBounds>();  // [low, high]
template <>
Form<OpenBounds> FormOf<OpenBounds>();  // [low, high or null]
template <>
std::vector<std::pair<Severity, std::string>> NamesOf<Severity>();
template <>
Fields<Finding> FieldsOf<Finding>();
template <>
Fields<PhaseId> FieldsOf<PhaseId>();  // `phase` and, for a group of its ranks, `group`
template <>
Fields<UnknownWaits> FieldsOf<UnknownWaits>();
template <>
Fields<ThreadTimes> FieldsOf<ThreadTimes>();
template <>
Fields<DeviceTimes> FieldsOf<DeviceTimes>();

// Files and their larger parts.
template <>
Fields<FactorTable> FieldsOf<FactorTable>();
template <>
std::vector<std::pair<Reliability, std::string>> NamesOf<Reliability>();
template <>
Fields<ProjectedValue> FieldsOf<ProjectedValue>();
template <>
Fields<KeyResults> FieldsOf<KeyResults>();
template <>
Fields<PhaseProjection> FieldsOf<PhaseProjection>();
template <>
Fields<SplitsOfCores> FieldsOf<SplitsOfCores>();
template <>
Fields<BacktestRow> FieldsOf<BacktestRow>();
template <>
Fields<LossRecord> FieldsOf<LossRecord>();
template <>
Fields<LossProjection> FieldsOf<LossProjection>();
template <>
Form<RunPicture> FormOf<RunPicture>();
template <>
Fields<IterationRecord> FieldsOf<IterationRecord>();
template <>
Fields<PhaseMarks> FieldsOf<PhaseMarks>();
template <>
Fields<Results> FieldsOf<Results>();

}  // namespace farscale
