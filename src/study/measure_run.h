// One run of a study: read, cut into phases, measured, and measured again on other machines.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "imbalance/loss_record.h"
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

}  // namespace farscale
