#include "imbalance/factor_losses.h"

#include <algorithm>
#include <utility>

#include "imbalance/diagnosis.h"
#include "imbalance/load_matrix.h"
#include "replay/replay.h"

namespace farscale {
namespace {

// Of the present ranks the one that computes most, the lowest of equals.
const RankLosses* MostLoaded(const Diagnosis& diagnosis) {
  const RankLosses* most = nullptr;
  double largest = -1;
  for (const RankLosses& rank : diagnosis.ranks) {
    if (!rank.present) continue;
    double useful = 0;
    for (std::size_t i = 0; i < rank.paths.size(); ++i) {
      if (IsOutsideMpi(diagnosis.paths, rank.paths[i])) useful += rank.losses[i].Execution();
    }
    if (useful <= largest) continue;
    largest = useful;
    most = &rank;
  }
  return most;
}

Diagnosis DiagnoseReplayed(const Trace& trace, const Matching& matching, const PhaseCut& cut,
                           const ReplayRules& rules) {
  DiagnosisOptions options;
  options.delays.charge_end = true;
  options.slack = false;
  const Network network = OneTickNetwork(trace);
  ReplayResult replayed = Replay(trace, matching, cut, {rules, true, &network, nullptr});
  return Diagnose(trace, matching, cut, CollectActivities(trace, cut, std::move(replayed)), options);
}

}  // namespace

const PathFactorLoss* FactorLosses::Find(const std::string& path) const {
  const auto found = std::ranges::find(paths, path, &PathFactorLoss::path);
  return found == paths.end() ? nullptr : &*found;
}

Network OneTickNetwork(const Trace& trace) {
  Network network = IdealNetwork();
  const double tick = 1 / trace.ticks_per_second;
  network.local.latency = network.remote.latency = tick;
  for (CollectiveCost& cost : network.collectives) cost.fan_in.growth = CollectiveGrowth::kConstant;
  return network;
}

FactorLosses SplitByFactor(const Trace& trace, const Matching& matching, const PhaseCut& cut,
                           const ReplayRules& rules) {
  const Diagnosis diagnosis = DiagnoseReplayed(trace, matching, cut, rules);
  FactorLosses losses;
  const RankLosses* most = MostLoaded(diagnosis);
  if (most == nullptr) return losses;
  const auto processes = static_cast<double>(diagnosis.processes);
  double unattributed = 0, inside = 0;
  for (const double of_kind : diagnosis.unattributed) unattributed += of_kind / processes;
  const auto add = [&](const std::string& path, double load_balance, double serialization) {
    if (load_balance == 0 && serialization == 0) return;
    losses.paths.push_back({path, load_balance, serialization});
    losses.load_balance += load_balance;
    losses.serialization += serialization;
  };
  for (PathId path = 0; path < diagnosis.totals.size(); ++path) {
    const double costs = diagnosis.totals[path].Costs() / processes;
    const double average = diagnosis.totals[path].Execution() / processes;
    if (IsOutsideMpi(diagnosis.paths, path)) {
      const PathLosses* own = most->Find(path);
      const double excess = (own == nullptr ? 0 : own->Execution()) - average;
      losses.average_useful += average;
      add(diagnosis.paths.Name(path), excess, costs - excess);
    } else {
      add(diagnosis.paths.Name(path), 0, diagnosis.IsOutside(path) ? costs : costs + average);
    }
    if (!diagnosis.IsOutside(path)) inside += diagnosis.totals[path].time / processes;
  }
  add("(not attributed)", 0, unattributed);
  if (diagnosis.recurs) add(kUnequalOccurrences, 0, diagnosis.length - inside);
  std::ranges::sort(losses.paths, {}, &PathFactorLoss::path);
  return losses;
}

}  // namespace farscale
