#include "imbalance/loss_record.h"

#include <algorithm>
#include <utility>

#include "imbalance/causes/load_matrix.h"
#include "imbalance/diagnosis.h"
#include "replay/replay.h"

namespace farscale {
namespace {

PathRecord RecordOfPath(const Diagnosis& diagnosis, PathId path, const std::vector<std::size_t>& ranks) {
  const bool is_outside = diagnosis.IsOutside(path);
  PathRecord record;
  record.path = diagnosis.paths.Name(path);
  record.innermost = diagnosis.paths.InnermostName(path);
  record.is_mpi = diagnosis.paths.is_mpi(path);
  record.is_device_call = diagnosis.paths.is_device_call(path);
  const PathLosses& total = diagnosis.totals[path];
  if (is_outside) {
    // Time outside of the phase makes ranks wait in it, and is on the critical path through it; no more is kept.
    record.total.short_term = total.short_term;
    record.total.long_term = total.long_term;
    record.total.exit_skew = total.exit_skew;
    record.total.critical = total.critical;
  } else {
    record.total = total;
  }
  record.imbalance = diagnosis.imbalance[path];
  record.slack = diagnosis.slack[path];
  if (path < diagnosis.rasters.size()) record.raster = diagnosis.rasters[path];
  for (const auto& [shaped, shape] : diagnosis.shapes) {
    if (shaped == path) record.shape = shape;
  }
  const PathLosses none;
  for (const std::size_t rank : ranks) {
    const PathLosses* found = diagnosis.ranks[rank].Find(path);
    const PathLosses& losses = found != nullptr ? *found : none;
    record.execution.push_back(is_outside ? 0 : losses.Execution());
    record.waiting.push_back(is_outside ? 0 : losses.Waiting());
    record.costs.push_back(losses.Costs());
    record.critical.push_back(losses.critical);
  }
  return record;
}

}  // namespace

void WithholdWaits(LossRecord& record, const UnknownWaits& waits) {
  record.unknown_waits = waits;
  for (ByWaitKind* values : {&record.waiting, &record.short_term, &record.long_term, &record.exit_skew,
                             &record.unattributed, &record.lost}) {
    values->fill(0);
  }
  record.at_end = record.wrong_order = record.late_complete = record.indirect = record.propagating = 0;
  record.paths.clear();
  record.causes.clear();
  record.latency.reset();
  record.by_factor.reset();
  if (record.device_calls) record.device_calls->costs = 0;
}

LossRecord RecordOf(const Diagnosis& diagnosis, const std::string& phase, const std::vector<Location>& locations) {
  LossRecord record;
  record.phase = phase;
  record.locations = locations;
  record.recurs = diagnosis.recurs;
  record.allocation = diagnosis.Allocation();
  record.length = diagnosis.length;
  record.window = diagnosis.window;
  record.at_end = diagnosis.at_end;
  record.rules = diagnosis.rules;
  record.unattributed = diagnosis.unattributed;
  record.lost = diagnosis.lost;
  record.iterations = diagnosis.iterations;
  record.causes = diagnosis.causes;
  record.latency = diagnosis.latency;
  record.device_calls = diagnosis.device_calls;
  record.shape = diagnosis.useful_shape;
  record.run_ranks = diagnosis.ranks.size();
  for (std::size_t rank = 0; rank < diagnosis.ranks.size(); ++rank) {
    if (diagnosis.ranks[rank].present) record.ranks.push_back(rank);
  }
  for (PathId path = 0; path < diagnosis.totals.size(); ++path) {
    const PathLosses& total = diagnosis.totals[path];
    const bool is_outside = diagnosis.IsOutside(path);
    if (total.visits == 0 || (is_outside && total.Costs() <= 0 && total.critical <= 0)) continue;
    record.paths.push_back(RecordOfPath(diagnosis, path, record.ranks));
    Add(total.short_term, record.short_term);
    Add(total.long_term, record.long_term);
    Add(total.exit_skew, record.exit_skew);
    if (is_outside) continue;
    Add(total.waiting, record.waiting);
    record.wrong_order += total.wrong_order;
    record.late_complete += total.late_complete;
    record.individual_io += total.individual_io;
    record.collective_io += total.collective_io;
    record.indirect += total.indirect;
    record.propagating += total.propagating;
  }
  std::ranges::sort(record.paths, {}, [](const PathRecord& path) { return std::pair(-path.total.Costs(), path.path); });
  record.findings = diagnosis.diagnostics.findings();
  return record;
}

const PathFactorLoss* FindLoss(const FactorLosses& losses, const std::string& path) {
  const auto found = std::ranges::find(losses, path, &PathFactorLoss::path);
  return found == losses.end() ? nullptr : &*found;
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
  DiagnosisOptions options;
  options.charge_end = true;
  options.slack = false;
  const Network network = OneTickNetwork(trace);
  ReplayResult replayed = Replay(trace, matching, cut, {rules, true, &network, nullptr});
  const Diagnosis diagnosis =
      Diagnose(trace, matching, cut, CollectActivities(trace, cut, std::move(replayed)), options);
  FactorLosses losses;
  // The rank that computes most, the lowest of equals.
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
  if (most == nullptr) return losses;
  const auto processes = static_cast<double>(diagnosis.processes);
  double unattributed = 0, inside = 0;
  for (const double of_kind : diagnosis.unattributed) unattributed += of_kind / processes;
  const auto add = [&](const std::string& path, double load_balance, double serialization) {
    if (load_balance != 0 || serialization != 0) losses.push_back({path, load_balance, serialization});
  };
  for (PathId path = 0; path < diagnosis.totals.size(); ++path) {
    const double costs = diagnosis.totals[path].Costs() / processes;
    const double average = diagnosis.totals[path].Execution() / processes;
    if (IsOutsideMpi(diagnosis.paths, path)) {
      const PathLosses* own = most->Find(path);
      const double excess = (own == nullptr ? 0 : own->Execution()) - average;
      add(diagnosis.paths.Name(path), excess, costs - excess);
    } else {
      add(diagnosis.paths.Name(path), 0, diagnosis.IsOutside(path) ? costs : costs + average);
    }
    if (!diagnosis.IsOutside(path)) inside += diagnosis.totals[path].time / processes;
  }
  add("(not attributed)", 0, unattributed);
  if (diagnosis.recurs) add(kUnequalOccurrences, 0, diagnosis.length - inside);
  std::ranges::sort(losses, {}, &PathFactorLoss::path);
  return losses;
}

}  // namespace farscale
