#include "study/scenario.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/format.h"
#include "replay/calibration.h"
#include "replay/replayed_trace.h"

namespace farscale {
namespace {

// The phase that covers most of the run and repeats: its iterations are what computation can be compared over.
const PhaseCut* LongestLoop(const std::vector<PhaseCut>& cuts) {
  const PhaseCut* longest = nullptr;
  for (const PhaseCut& cut : cuts) {
    if (cut.iterations < 2) continue;
    if (longest == nullptr || cut.end() - cut.begin() > longest->end() - longest->begin()) longest = &cut;
  }
  return longest;
}

struct Replayed {
  Network network;
  BurstLengths bursts;
  std::string description;
  Diagnostics diagnostics;
};

void ChooseNetwork(const Trace& trace, const Matching& matching, const Scenario& scenario, const ReplayRules& rules,
                   Replayed& result) {
  if (scenario.network) {
    result.network = *scenario.network;
    result.description = result.network.name;
  } else {
    result.network = Calibrate(trace, matching, rules).network;
    result.description =
        fmt::format("network calibrated to each trace ({} and {} between nodes at {} cores)",
                    FormatSeconds(result.network.remote.latency),
                    FormatBytes(static_cast<std::uint64_t>(result.network.remote.bandwidth)) + "/s", trace.size());
  }
  if (scenario.scale == NetworkScale()) return;
  result.network = Scaled(result.network, scenario.scale);
  if (scenario.scale.latency != 1) result.description += fmt::format(", latency ×{:g}", scenario.scale.latency);
  if (scenario.scale.bandwidth != 1) result.description += fmt::format(", bandwidth ×{:g}", scenario.scale.bandwidth);
  if (scenario.scale.overhead != 1)
    result.description += fmt::format(", overhead of calls ×{:g}", scenario.scale.overhead);
}

void ChooseComputation(const Trace& trace, const std::vector<PhaseCut>& cuts, const Scenario& scenario,
                       const FactorOptions& options, Replayed& result) {
  if (scenario.clean_computation) {
    const Computation clean = CleanComputation(trace, {scenario.source, options.counters, LongestLoop(cuts)});
    result.bursts = clean.lengths;
    result.description += "; computation from " + clean.description;
    result.diagnostics.Merge(clean.diagnostics);
  } else {
    result.bursts = MeasuredComputation(trace).lengths;
    result.description += "; computation as measured";
  }
  if (scenario.speed == 1) return;
  result.bursts = SpeedUp(trace, result.bursts, scenario.speed, scenario.region);
  result.description +=
      fmt::format(", ×{:g} as fast{}", scenario.speed, scenario.region.empty() ? "" : " in region " + scenario.region);
}

}  // namespace

ScenarioRun ReplayScenario(const Trace& trace, const Matching& matching, const std::vector<PhaseCut>& cuts,
                           const Scenario& scenario, const FactorOptions& options) {
  Replayed replayed;
  ChooseNetwork(trace, matching, scenario, options.rules, replayed);
  ChooseComputation(trace, cuts, scenario, options, replayed);
  const ReplayOptions replay_options = {options.rules, true, &replayed.network, &replayed.bursts};
  const ReplayResult result = Replay(trace, matching, CutPhase(trace, PhaseSpec::WholeRun()), replay_options);
  ScenarioRun run;
  run.trace = ReplayedTrace(trace, result, &replayed.bursts);
  for (const PhaseCut& cut : cuts) run.cuts.push_back(MoveCut(trace, run.trace, cut));
  run.description = replayed.description;
  run.diagnostics = replayed.diagnostics;
  run.diagnostics.Merge(result.diagnostics);
  return run;
}

std::vector<Scenario> NoiseRemoval(const std::optional<Network>& network, std::optional<ComputationSource> source,
                                   bool clean_computation) {
  Scenario quiet;
  quiet.id = "quiet-network";
  quiet.name = "without network noise";
  quiet.network = network;
  if (!clean_computation) return {quiet};
  Scenario clean = quiet;
  clean.id = "no-noise";
  clean.name = source == ComputationSource::kInstructions ? "on a uniform machine" : "without any noise";
  clean.clean_computation = true;
  clean.source = source;
  return {quiet, clean};
}

}  // namespace farscale
