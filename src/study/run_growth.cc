#include "study/run_growth.h"

#include <fmt/format.h>

#include "base/diagnostics.h"
#include "replay/clock_repair.h"
#include "study/input_files.h"
#include "study/study.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

// Throws where the study names a layout that has not as many ranks as the run.
void RequireLayout(const Trace& trace, const RunSpec& run) {
  if (!run.grid || run.grid->size() == static_cast<std::int64_t>(trace.size())) return;
  throw Error(
      ErrorKind::kUsage, run.where,
      fmt::format("the layout {} has {} ranks and the run has {}", run.grid->Text(), run.grid->size(), trace.size()),
      "correct 'grid'");
}

// A run as measured, or as it would be under a scenario.
Trace ReadToGrow(const Study& study, const RunSpec& run, const std::optional<Scenario>& scenario) {
  Trace trace = ReadTrace(run.trace, WhatToRead(study, run, scenario.has_value()));
  const Matching matching = MatchSynchronised(trace);
  RequireClocks(trace, matching);
  if (!scenario) return trace;
  std::vector<PhaseCut> cuts;
  for (const PhaseSpec& phase : study.phases) {
    try {
      cuts.push_back(CutPhase(trace, phase));
    } catch (const PhaseNotFound&) {  // said when the phase is grown
    }
  }
  return ReplayScenario(trace, matching, cuts, *scenario, study.factors).trace;
}

// The network that is named, that of the scenario, or the one calibrated to the runs.
Network NetworkFor(const Study& study, const GrowthOptions& options) {
  if (options.network) return LoadNetwork(*options.network, "--network");
  if (options.scenario && options.scenario->network) return *options.scenario->network;
  return CalibrateToRuns(study.runs, study.factors.rules);
}

}  // namespace

GrowthResults RunGrowth(const Study& study, const GrowthOptions& options, const ProgressSink& progress) {
  GrowthResults results;
  results.network = IdealNetwork();
  try {
    results.network = NetworkFor(study, options);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kNotEnoughData) throw;
    results.unknown_network = error.what();
  }
  std::optional<Scenario> scenario = options.scenario;
  if (scenario) {
    if (!scenario->network) scenario->network = results.network;
    results.network = Scaled(*scenario->network, scenario->scale);
    results.scenario = scenario->name;
  }
  const Network& network = results.network;
  if (network.IsIdeal() && results.unknown_network.empty()) results.unknown_network = "the network is ideal";
  for (const PhaseSpec& phase : study.phases) results.phases.push_back(BeginGrowth(phase));
  for (std::size_t i = 0; i < study.runs.size(); ++i) {
    const RunSpec& run = study.runs[i];
    const Trace trace = ReadToGrow(study, run, scenario);
    RequireLayout(trace, run);
    for (std::size_t phase = 0; phase < study.phases.size(); ++phase)
      AddMeasuredRun(trace, run.grid, study.phases[phase], study.factors, results.phases[phase]);
    if (progress) progress(i + 1, study.runs.size(), run.trace);
  }
  for (std::size_t i = 0; i < study.phases.size(); ++i) {
    const GrowthTask task{study.phases[i], study.factors, network, options.seed, options.most_bytes, options.grids};
    GrowPhase(task, options.ranks, results.phases[i]);
  }
  return results;
}

}  // namespace farscale
