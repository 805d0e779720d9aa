#include "projection/thread_split.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "base/diagnostics.h"
#include "base/parallel.h"
#include "base/random.h"
#include "factors/scaling.h"
#include "projection/separable_factor.h"

namespace farscale {
namespace {

constexpr double kMostThreads = 2;  // times the most that were run; chosen: beyond, caches and NUMA nodes decide
constexpr double kNoTime = 1e-9;    // an efficiency below has no time; chosen: far below any that is measured

constexpr std::array kParts = {Factor::kMpiParallelEfficiency, Factor::kOmpParallelEfficiency, Factor::kDeviceOffload};

// Rows that know all three parts and are to be fitted.
std::vector<FactorRow> HybridRows(const FactorTable& table, const PhaseKey& key, std::optional<double> train_max) {
  std::vector<FactorRow> rows = table.Rows(key);
  std::erase_if(rows, [&](const FactorRow& row) {
    if (train_max && static_cast<double>(row.cores) > *train_max) return true;
    return !std::ranges::all_of(kParts, [&](Factor part) { return row.values[part] && *row.values[part] > 0; });
  });
  return rows;
}

// Efficiencies at one split, with draws.
struct Estimate {
  double efficiency = 1, global = 1;  // parallel; with computation scalability, where that is known
  std::vector<double> efficiencies, globals;
  Factor limit = Factor::kMpiParallelEfficiency;
};

// With the interval of `draws`.
SplitValue WithInterval(double value, std::vector<double> draws) {
  PlaceIntervals(draws, {0.8});
  return {value, IntervalOf(draws, 0.8, value)};
}

// `scale` times how many times larger `over` is than `under`.
SplitValue RatioOf(double scale, double over, const std::vector<double>& overs, double under,
                   const std::vector<double>& unders) {
  std::vector<double> draws(kFactorDraws);
  for (std::size_t i = 0; i < draws.size(); ++i) draws[i] = scale * overs[i] / std::max(unders[i], kNoTime);
  return WithInterval(scale * over / std::max(under, kNoTime), std::move(draws));
}

class Splitter {
 public:
  Splitter(std::vector<FactorRow> rows, const PhaseKey& key, std::int64_t cpus_of_node)
      : rows_(std::move(rows)),
        key_(key),
        cpus_of_node_(cpus_of_node),
        is_scalable_(std::ranges::all_of(
            rows_, [](const FactorRow& row) { return row.values[Factor::kComputationScalability].value_or(0) > 0; })) {
    for (const FactorRow& row : rows_) {
      processes_.insert(row.ranks);
      threads_.insert(row.threads);
    }
  }

  ThreadSplits Split(const FactorTable& table, const ModelLibrary& library, const ProjectionOptions& options,
                     std::int64_t cores) {
    ThreadSplits result;
    result.series = key_.series;
    result.phase = key_.phase;
    result.obstacle = DescribeConfounded(rows_);
    if (result.obstacle.empty()) result.obstacle = ListSplits(cores, result.splits);
    if (result.obstacle.empty()) result.obstacle = Fit(library, options, result.splits);
    if (!result.obstacle.empty()) {
      result.splits.clear();
      return result;
    }
    AddValues(table, options.reliability_limits, cores, result);
    result.gain = WantedGain();
    if (!result.gain) return result;
    const Estimate from = EstimateAt(result.gain->processes, result.gain->from);
    const Estimate to = EstimateAt(result.gain->processes, result.gain->to);
    const double more = static_cast<double>(result.gain->to) / static_cast<double>(result.gain->from);
    result.gain->speedup = RatioOf(more, to.global, to.globals, from.global, from.globals);
    return result;
  }

 private:
  bool FitsNode(std::int64_t threads) const { return cpus_of_node_ == 0 || threads <= cpus_of_node_; }

  std::string ListSplits(std::int64_t cores, std::vector<ThreadSplit>& splits) const {
    const auto most = static_cast<std::int64_t>(kMostThreads * static_cast<double>(*threads_.rbegin()));
    for (std::int64_t threads = 1; threads <= std::min(most, cores); ++threads) {
      if (cores % threads != 0 || !FitsNode(threads)) continue;
      const std::int64_t processes = cores / threads;
      if (threads_.size() == 1 && !threads_.contains(threads)) continue;  // there is no curve over it
      if (processes_.size() == 1 && !processes_.contains(processes)) continue;
      ThreadSplit& split = splits.emplace_back();
      split.processes = processes;
      split.threads = threads;
      split.processes_ratio = static_cast<double>(processes) / static_cast<double>(*processes_.rbegin());
      split.threads_ratio = static_cast<double>(threads) / static_cast<double>(*threads_.rbegin());
      split.is_run = threads_.contains(threads) && processes_.contains(processes);
    }
    if (!splits.empty()) return "";
    return fmt::format(
        "{} cores are no product of numbers of processes and threads that there are curves over: runs "
        "have {} of processes and {} of threads",
        cores, Numbers(processes_), Numbers(threads_));
  }

  static std::string Numbers(const std::set<std::int64_t>& counts) {
    return counts.size() == 1 ? fmt::format("one number ({})", *counts.begin())
                              : fmt::format("{} numbers ({} to {})", counts.size(), *counts.begin(), *counts.rbegin());
  }

  // Twice the most threads, where curves over threads and the node allow it.
  std::optional<ThreadGain> WantedGain() const {
    ThreadGain gain{*processes_.rbegin(), *threads_.rbegin(), 2 * *threads_.rbegin(), {}};
    return threads_.size() > 1 && FitsNode(gain.to) ? std::optional(gain) : std::nullopt;
  }

  // Every part; says which cannot be fitted.
  std::string Fit(const ModelLibrary& library, const ProjectionOptions& options,
                  const std::vector<ThreadSplit>& splits) {
    std::map<SplitAxis, std::set<double>> counts;
    for (const FactorRow& row : rows_) {
      for (const SplitAxis axis : {SplitAxis::kProcesses, SplitAxis::kThreads, SplitAxis::kCores})
        counts[axis].insert(CountOf(row, axis));
    }
    std::erase_if(counts, [](const auto& of_axis) { return of_axis.second.size() < 2; });
    const auto add = [&](std::int64_t processes, std::int64_t threads) {
      const auto n = static_cast<double>(processes), m = static_cast<double>(threads);
      for (const auto& [axis, count] : {std::pair(SplitAxis::kProcesses, n), std::pair(SplitAxis::kThreads, m),
                                        std::pair(SplitAxis::kCores, n * m)}) {
        if (counts.contains(axis)) counts[axis].insert(count);
      }
    };
    for (const ThreadSplit& split : splits) add(split.processes, split.threads);
    if (const auto gain = WantedGain()) add(gain->processes, gain->to);
    std::map<SplitAxis, std::vector<double>> reach;
    for (const auto& [axis, of_axis] : counts) reach[axis].assign(of_axis.begin(), of_axis.end());
    std::vector<Factor> parts(kParts.begin(), kParts.end());
    if (is_scalable_) parts.push_back(Factor::kComputationScalability);
    for (const Factor part : parts) {
      const std::vector<Candidate> candidates =
          Candidates(options.models.For(key_.phase, part), library, ModelRole::kSplits, part);
      const auto& curve =
          curves_.emplace_back(part, std::make_unique<SeparableFactor>(rows_, part, candidates, library, reach,
                                                                       SeedFor(options.seed, Describe(part).id)));
      if (!curve.second->is_usable()) return fmt::format("no model fits {}", Describe(part).id);
    }
    return "";
  }

  Estimate EstimateAt(std::int64_t processes, std::int64_t threads) const {
    const auto n = static_cast<double>(processes), m = static_cast<double>(threads);
    Estimate estimate;
    estimate.efficiencies.assign(kFactorDraws, 1.0);
    double smallest = 2;
    for (const auto& [part, curve] : curves_) {
      const double value = curve->ValueAt(n, m);
      if (value < smallest) {
        smallest = value;
        estimate.limit = part;
      }
      estimate.global *= value;
      if (part == Factor::kComputationScalability) continue;
      estimate.efficiency *= value;
      curve->MultiplyDraws(n, m, estimate.efficiencies);
    }
    estimate.globals = estimate.efficiencies;
    if (is_scalable_) curves_.back().second->MultiplyDraws(n, m, estimate.globals);
    return estimate;
  }

  void AddValues(const FactorTable& table, const ReliabilityLimits& limits, std::int64_t cores,
                 ThreadSplits& result) const {
    std::vector<Estimate> estimates;
    for (const ThreadSplit& split : result.splits) estimates.push_back(EstimateAt(split.processes, split.threads));
    const auto best = std::ranges::max_element(estimates, {}, &Estimate::global);
    result.best = static_cast<std::size_t>(best - estimates.begin());
    for (std::size_t i = 0; i < estimates.size(); ++i) {
      ThreadSplit& split = result.splits[i];
      const Estimate& own = estimates[i];
      split.limit = own.limit;
      split.efficiency = WithInterval(own.efficiency, own.efficiencies);
      split.reliability =
          LevelOf(Factor::kParallelEfficiency, split.efficiency.value, split.efficiency.interval80, limits);
      if (split.processes_ratio > kFarthestChecked)
        split.reliability = std::max(split.reliability, Reliability::kUncertain);
      split.time = RatioOf(1, best->global, best->globals, own.global, own.globals);
      split.may_be_best = split.time.interval80.low <= 1;
      if (is_scalable_) AddTimes(table, own, static_cast<double>(cores), split);
    }
  }

  // Speedup and seconds, by the means of the runs at the reference.
  void AddTimes(const FactorTable& table, const Estimate& own, double cores, ThreadSplit& split) const {
    const auto anchor = table.reference ? AnchorAt(rows_, *table.reference) : std::nullopt;
    if (!anchor) return;
    std::vector<double> draws = own.globals;
    for (double& draw : draws) draw = SpeedupFrom(draw, cores, *anchor);
    split.speedup = WithInterval(SpeedupFrom(own.global, cores, *anchor), std::move(draws));
    const auto seconds =
        MeanAt(PointersTo(rows_), *table.reference, [](const FactorRow& row) { return row.TimePerIteration(); });
    if (!seconds) return;
    const double larger = ScalingOf(table, rows_) == Scaling::kWeak ? 1 : cores / anchor->cores;
    const std::vector<double> reference(kFactorDraws, anchor->global_efficiency);
    split.seconds = RatioOf(*seconds / larger, anchor->global_efficiency, reference, own.global, own.globals);
  }

  const std::vector<FactorRow> rows_;
  const PhaseKey key_;
  const std::int64_t cpus_of_node_;  // 0: any number
  const bool is_scalable_;           // computation scalability is known of all runs
  std::set<std::int64_t> processes_, threads_;
  std::vector<std::pair<Factor, std::unique_ptr<SeparableFactor>>> curves_;  // computation scalability comes last
};

}  // namespace

std::vector<ThreadSplits> SplitCores(const FactorTable& table, const ModelLibrary& library,
                                     const ProjectionOptions& options, std::int64_t cores, std::int64_t cpus_of_node) {
  std::vector<ThreadSplits> result;
  for (const PhaseKey& key : table.Keys()) {
    std::vector<FactorRow> rows = HybridRows(table, key, options.train_max);
    if (key.phase.IsGroup() || rows.empty()) continue;
    result.push_back(Splitter(std::move(rows), key, cpus_of_node).Split(table, library, options, cores));
  }
  if (!result.empty()) return result;
  throw Error(ErrorKind::kUsage, "--split", "no run of the table says what its threads do",
              "measure runs with several numbers of threads a process");
}

const ThreadSplits* FindSplits(const SplitsOfCores& splits, const PhaseKey& key) {
  const auto found = std::ranges::find_if(
      splits.phases, [&](const ThreadSplits& phase) { return phase.series == key.series && phase.phase == key.phase; });
  return found == splits.phases.end() ? nullptr : &*found;
}

bool KnowsSplits(const std::vector<SplitsOfCores>& splits, const PhaseKey& key) {
  return std::ranges::any_of(splits, [&](const SplitsOfCores& of_cores) {
    const ThreadSplits* phase = FindSplits(of_cores, key);
    return phase != nullptr && phase->obstacle.empty();
  });
}

std::vector<SplitsOfCores> SplitTargets(const FactorTable& table, const ModelLibrary& library,
                                        const ProjectionOptions& options) {
  FactorTable hybrid = table;
  hybrid.rows.clear();
  double largest = 0;
  for (const PhaseKey& key : table.Keys()) {
    const std::vector<FactorRow> rows = HybridRows(table, key, options.train_max);
    const auto varies = [&](auto member) {
      return std::ranges::any_of(rows, [&](const FactorRow& row) { return row.*member != rows.front().*member; });
    };
    if (key.phase.IsGroup() || !varies(&FactorRow::ranks) || !varies(&FactorRow::threads)) continue;
    hybrid.rows.insert(hybrid.rows.end(), rows.begin(), rows.end());
    for (const FactorRow& row : rows) largest = std::max(largest, static_cast<double>(row.cores));
  }
  if (hybrid.rows.empty()) return {};
  const std::vector<double> targets = options.targets.empty() ? DefaultTargets(largest) : options.targets;
  std::vector<SplitsOfCores> result(targets.size());
  ParallelFor(targets.size(), [&](std::size_t i) {
    result[i].cores = static_cast<std::int64_t>(targets[i]);
    result[i].phases = SplitCores(hybrid, library, options, result[i].cores);
  });
  return result;
}

}  // namespace farscale
