#include "study/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "base/diagnostics.h"
#include "base/text.h"
#include "replay/calibration.h"
#include "replay/clock_repair.h"
#include "replay/computation.h"
#include "replay/replay.h"
#include "replay/replayed_trace.h"
#include "replay/unknown_waits.h"
#include "study/measure_run.h"
#include "study/study.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

BurstLengths ChooseComputation(const Trace& trace, const std::vector<PhaseCut>& cuts, const Scenario& scenario,
                               const FactorOptions& options, ScenarioRun& run) {
  BurstLengths bursts;
  if (scenario.clean_computation) {
    // The phase that covers most of the run and repeats: its iterations are what computation can be compared over.
    const PhaseCut* longest = nullptr;
    for (const PhaseCut& cut : cuts) {
      if (cut.iterations < 2) continue;
      if (longest == nullptr || cut.end() - cut.begin() > longest->end() - longest->begin()) longest = &cut;
    }
    const Computation clean = CleanComputation(trace, {scenario.source, options.counters, longest});
    bursts = clean.lengths;
    run.description += "; computation from " + clean.description;
    run.diagnostics.Merge(clean.diagnostics);
  } else {
    bursts = MeasuredComputation(trace).lengths;
    run.description += "; computation as measured";
  }
  const std::string& region = scenario.region;
  const std::vector<std::string> names = trace.UserRegionNames();
  if (!region.empty() && std::ranges::find(names, region) == names.end()) {
    const std::string advice = DidYouMean(region, names);
    throw Error(ErrorKind::kUsage, trace.path, "no region '" + region + "' in this trace",
                advice.empty() ? "farscale inspect lists the regions of a trace" : advice);
  }
  if (scenario.speed == 1) return bursts;
  run.description += fmt::format(", ×{:g} as fast{}", scenario.speed, region.empty() ? "" : " in region " + region);
  return SpeedUp(trace, bursts, scenario.speed, region);
}

// The ranks of a trace on nodes of another size, until it goes out of scope.
class PlacedRanks {
 public:
  PlacedRanks(Trace& trace, const OfferTerms& terms) : trace_(trace) {
    if (!terms.cores_per_node) return;
    nodes_ = trace.nodes;
    ranks_ = trace.ranks;
    trace.nodes.clear();
    const std::int64_t threads = trace.threads();
    for (std::size_t rank = 0; rank < trace.size(); ++rank) {
      const double cores_so_far = static_cast<double>((rank + 1) * static_cast<std::size_t>(threads));
      const auto nodes = static_cast<std::size_t>(*terms.NodesFor(cores_so_far, threads));
      if (nodes > trace.nodes.size()) trace.nodes.push_back(fmt::format("node{}", trace.nodes.size()));
      trace.ranks[rank].node = static_cast<std::int32_t>(nodes - 1);
      trace.ranks[rank].socket = -1;
    }
  }
  PlacedRanks(const PlacedRanks&) = delete;
  PlacedRanks& operator=(const PlacedRanks&) = delete;
  ~PlacedRanks() {
    if (ranks_.empty()) return;
    trace_.nodes.swap(nodes_);
    trace_.ranks.swap(ranks_);
  }

 private:
  Trace& trace_;
  std::vector<std::string> nodes_;
  std::vector<Rank> ranks_;
};

// The better, the less a calibration leaves open: bandwidth and latency between nodes, then times that lie on the line.
double Doubt(const Calibration& calibration) {
  const std::optional<LinkCalibration>& link = calibration.remote ? calibration.remote : calibration.local;
  double doubt = link->relative_spread + std::fabs(calibration.Deviation());
  if (!link->has_bandwidth) doubt += 10;
  if (link->link.latency_at_most) doubt += 10;
  return calibration.remote ? doubt : doubt + 100;
}

std::string InWords(const Calibration& calibration, const std::string& path) {
  const bool is_remote = calibration.remote.has_value();
  const Link& link = is_remote ? calibration.network.remote : calibration.network.local;
  std::string numbers;  // unknown ones are reported where the network is used
  if (!link.latency_at_most) numbers = FormatSeconds(link.latency);
  if (!link.bandwidth_at_least) {
    numbers += fmt::format("{}{:.0f} MB/s", numbers.empty() ? "" : ", ", link.bandwidth / 1e6);
  }
  if (!numbers.empty()) numbers += is_remote ? " between nodes; " : " within nodes; ";
  return fmt::format("network calibrated to {} ({}replayed there the run takes {:+.1f} %)", path, numbers,
                     100 * calibration.Deviation());
}

}  // namespace

ScenarioRun ReplayScenario(Trace& trace, const Matching& matching, const std::vector<PhaseCut>& cuts,
                           const Scenario& scenario, const FactorOptions& options) {
  const PlacedRanks placed(trace, scenario.terms);
  const PhaseCut whole = CutPhase(trace, PhaseSpec::WholeRun());
  RequireClocks(trace, matching);
  RequireKnownWaits(trace, whole);
  ScenarioRun run;
  const Network network = Scaled(*scenario.network, scenario.latency, scenario.bandwidth);
  run.description = network.name;
  if (scenario.latency != 1) run.description += fmt::format(", latency ×{:g}", scenario.latency);
  if (scenario.bandwidth != 1) run.description += fmt::format(", bandwidth ×{:g}", scenario.bandwidth);
  // "; not known between nodes: latency at most 1.84 µs (460 ns assumed)", of links that ranks of the run can use.
  std::set<std::int32_t> nodes;
  for (const Rank& rank : trace.ranks) nodes.insert(rank.node);
  const auto add_unknown = [&](bool is_used, const Link& link, const char* where) {
    if (is_used && !link.IsKnown()) run.description += fmt::format("; not known {}: {}", where, DescribeUnknown(link));
  };
  add_unknown(nodes.size() > 1, network.remote, "between nodes");
  add_unknown(nodes.size() < trace.size(), network.local, "within nodes");
  const BurstLengths bursts = ChooseComputation(trace, cuts, scenario, options, run);
  const ReplayResult result = Replay(trace, matching, whole, {options.rules, true, &network, &bursts});
  run.trace = ReplayedTrace(trace, result, &bursts);
  for (const PhaseCut& cut : cuts) run.cuts.push_back(MoveCut(trace, run.trace, cut));
  const OfferTerms& terms = scenario.terms;
  if (terms.cores_per_node) run.description += fmt::format("; {} cores a node", *terms.cores_per_node);
  if (terms.price_per_node_hour) {
    run.description += fmt::format("; {:g}{}{} a node hour", *terms.price_per_node_hour,
                                   terms.currency.empty() ? "" : " ", terms.currency);
  }
  run.diagnostics.Merge(result.diagnostics);
  return run;
}

Network CalibrateToRuns(const std::vector<RunSpec>& runs, const ReplayRules& rules) {
  std::vector<std::optional<Calibration>> found(runs.size());
  std::vector<std::size_t> all(runs.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  ForEachRun(runs, all, Detail::kFactors, [&](std::size_t i) {
    try {
      Trace trace = ReadTrace(runs[i].trace, {false, {}, runs[i].application, runs[i].accepted});
      const Matching matching = MatchSynchronised(trace);
      found[i] = Calibrate(trace, matching, rules);
    } catch (const Error&) {  // reported when it is measured; others may do
    }
  });
  std::size_t best = runs.size();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (found[i] && (best == runs.size() || Doubt(*found[i]) < Doubt(*found[best]))) best = i;
  }
  if (best == runs.size()) {
    throw Error(ErrorKind::kNotEnoughData, "", "no run has enough messages to calibrate a network to",
                "name a network: one of configs/networks, or a file");
  }
  Network network = found[best]->network;
  network.name = InWords(*found[best], runs[best].trace);
  return network;
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
  clean.is_noise = source != ComputationSource::kInstructions;  // which even out the speed of ranks, too
  clean.name = clean.is_noise ? "without any noise" : "on a uniform machine";
  clean.clean_computation = true;
  clean.source = source;
  return {quiet, clean};
}

}  // namespace farscale
