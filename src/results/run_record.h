// Runs, phases, problem and machine of a study, as results describe them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "factors/factor.h"
#include "factors/run_picture.h"
#include "phases/phase_spec.h"

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

}  // namespace farscale
