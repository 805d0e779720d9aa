// Another machine for the runs of a study: a network, and how long computation takes there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "phases/phase_cut.h"
#include "replay/network.h"
#include "results/run_record.h"
#include "trace/trace.h"

namespace farscale {

enum class ComputationSource;
struct FactorOptions;
struct Matching;
struct RunSpec;

struct Scenario {
  std::string id;                     // in names of files: letters, digits and dashes
  std::string name;                   // in reports: "without network noise"
  std::optional<Network> network;     // nothing: still to be calibrated to the runs
  double latency = 1, bandwidth = 1;  // factors of those of that network
  bool is_noise = true;               // its gain over the measurement is noise
  bool clean_computation = false;
  std::optional<ComputationSource> source;  // clean computation is taken from it; nothing: the best that the trace has
  double speed = 1;                         // computation runs this many times as fast,
  std::string region;                       // all of it or within regions of this name
  OfferTerms terms;                         // an offered machine's; ranks are placed by its cores a node
};

// A run under a scenario, as a trace and the phases in it.
struct ScenarioRun {
  Trace trace;
  std::vector<PhaseCut> cuts;
  std::string description;  // the replayed network and computation in words
  Diagnostics diagnostics;
};

// Replays the whole run on the scenario's network. `cuts`: the phases as measured; the iterations of the longest one
// serve where computation is estimated from iterations. `trace` is as before afterwards; meanwhile its ranks lie on the
// scenario's nodes, in their order.
ScenarioRun ReplayScenario(Trace& trace, const Matching& matching, const std::vector<PhaseCut>& cuts,
                           const Scenario& scenario, const FactorOptions& options);

// The network of the run that calibrates best, by `farscale calibrate`: one for all runs, since they were
// taken on one machine. Throws an error of kind kNotEnoughData when no run suffices.
Network CalibrateToRuns(const std::vector<RunSpec>& runs, const ReplayRules& rules);

// The two scenarios of noise removal [Rosas14, section 2.4]: without network noise, without any noise.
std::vector<Scenario> NoiseRemoval(const std::optional<Network>& network, std::optional<ComputationSource> source,
                                   bool clean_computation);

}  // namespace farscale
