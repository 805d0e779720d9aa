// Runs of a study: each is read, cut into phases, measured, and measured again on other machines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "imbalance/loss_record.h"
#include "parallel/job.h"
#include "phases/phase_cut.h"
#include "results/run_record.h"
#include "study/group_phases.h"

namespace farscale {

struct CleanChoice;
struct FactorOptions;
struct Matching;
struct RunSpec;
struct Scenario;
struct Study;
struct Trace;

struct AnalysedRun {
  RunRecord record;
  std::vector<PhaseRows> rows;                                // one a phase, in the order of the study
  std::vector<std::vector<PhaseRows>> scenario_rows;          // the same of every scenario, with the same groups
  std::vector<std::optional<PhaseNotFound>> missing;          // why a phase does not occur
  std::vector<std::shared_ptr<const IterationShape>> shapes;  // for phases that need them, when asked for
  std::vector<std::optional<LossRecord>> losses;              // one a phase, when asked for
  std::vector<std::string> scenario_descriptions;
  std::vector<std::string> scenario_errors;  // empty where there is none
  std::set<std::string> regions;
  std::optional<Error> error;
  bool is_measured = false;  // without a trace
};

// The results wanted of a run: its factors; with them the places where time is lost; with both the pictures and
// iterations that reports draw.
enum class Detail { kFactors, kLosses, kReport };

// Chosen: more iterations are recorded in groups, which keeps results.json small and is more than a figure can show.
inline constexpr std::size_t kMostIterationRecords = 400;

// Where the phase lies in the run. `cut`: with all iterations; `choice`: which are kept, and how disturbed each is.
// Where some are left out, the marks contain the factors with them.
PhaseMarks MarkPhase(const Trace& trace, const Matching& matching, const PhaseCut& cut, const CleanChoice& choice,
                     const FactorOptions& options);

// A run that fails is a result with its error. `wants_shapes`: say what the iterations look like where phases depend on
// it.
AnalysedRun MeasureRun(const Study& study, const RunSpec& spec, const std::vector<Scenario>& scenarios,
                       bool wants_shapes, Detail detail);

// The same for runs of a study, several at a time, also by other processes of the job.

// The service of a process for others that measure the runs of a study.
Service MeasuringService();

// Measures those runs of the study as MeasureRun does, as many at a time as fit into memory, and calls done(i, result)
// for each, from one thread at a time. Runs are spread over the processes of the job that may be asked, by what they
// take; where there are more processes than runs, several read one run.
void MeasureEach(const Study& study, const std::vector<std::size_t>& which, const std::vector<Scenario>& scenarios,
                 Detail detail, const std::function<void(std::size_t, AnalysedRun)>& done);

// Bytes of memory that a run is expected to take; 0 for one without a trace.
std::uint64_t ExpectedMemory(const RunSpec& run, Detail detail);

// Calls body(i) for all those runs of the study, on several threads: as many at a time as fit into the memory budget,
// and one where even that does not fit.
void ForEachRun(const std::vector<RunSpec>& runs, const std::vector<std::size_t>& which, Detail detail,
                const std::function<void(std::size_t)>& body);

}  // namespace farscale
