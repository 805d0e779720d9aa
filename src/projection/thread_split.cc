#include "projection/thread_split.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/random.h"
#include "projection/factor_draws.h"
#include "projection/model_settings.h"
#include "stats/sample_quantiles.h"

namespace farscale {
namespace {

constexpr int kTurns = 20;          // of both effects in turn; chosen: what is left is rounding
constexpr double kMostThreads = 2;  // times the most that were run; chosen: beyond, caches and NUMA nodes decide
constexpr double kOften = 0.1;      // of the draws; chosen: the ends of an 80 % interval

enum class Axis { kProcesses, kThreads };

double CountOf(const FactorRow& row, Axis axis) {
  return static_cast<double>(axis == Axis::kProcesses ? row.ranks : row.threads);
}

// The logarithms of f and g at the counts that were run, by least squares; g is 1 at the fewest threads.
std::map<Axis, std::map<double, double>> EffectsOf(const std::vector<FactorRow>& rows, Factor factor) {
  std::map<Axis, std::map<double, double>> effects;
  const auto fit = [&](Axis axis, Axis other) {
    std::map<double, std::pair<double, double>> sums;
    for (const FactorRow& row : rows) {
      auto& [sum, count] = sums[CountOf(row, axis)];
      sum += std::log(*row.values[factor]) - effects[other][CountOf(row, other)];
      ++count;
    }
    for (const auto& [count, of] : sums) effects[axis][count] = of.first / of.second;
  };
  for (int turn = 0; turn < kTurns; ++turn) {
    fit(Axis::kProcesses, Axis::kThreads);
    fit(Axis::kThreads, Axis::kProcesses);
  }
  const double shift = effects[Axis::kThreads].begin()->second;
  for (auto& [count, effect] : effects[Axis::kProcesses]) effect += shift;
  for (auto& [count, effect] : effects[Axis::kThreads]) effect -= shift;
  return effects;
}

// A factor over processes and threads: a curve for each that varies.
class SeparableFactor {
 public:
  // `reach`: of what varies, where curves must be possible.
  SeparableFactor(const std::vector<FactorRow>& rows, Factor factor, const std::vector<Candidate>& candidates,
                  const ModelLibrary& library, const std::map<Axis, std::vector<double>>& reach, std::uint64_t seed) {
    const auto effects = EffectsOf(rows, factor);
    for (const Axis axis : {Axis::kProcesses, Axis::kThreads}) {
      const Axis other = axis == Axis::kProcesses ? Axis::kThreads : Axis::kProcesses;
      const auto found = reach.find(axis);
      if (found == reach.end()) {
        constant_ *= std::exp(effects.at(axis).begin()->second);
        continue;
      }
      std::vector<DataPoint> points;
      for (const FactorRow& row : rows) {
        const double rest = std::exp(effects.at(other).at(CountOf(row, other)));
        points.push_back({CountOf(row, axis), std::min(1.0, *row.values[factor] / rest), row.standard_errors[factor]});
      }
      const std::uint64_t own_seed = SeedFor(seed, axis == Axis::kProcesses ? "processes" : "threads");
      const auto& curve = curves_[axis] =
          std::make_unique<Ensemble>(FitEnsemble(candidates, points, 1.0, found->second, own_seed));
      if (!curve->IsUsable()) {
        is_usable_ = false;
        return;
      }
      draws_.try_emplace(axis, *curve, library.intervals(), SeedFor(own_seed, "draws"));
    }
  }

  bool is_usable() const { return is_usable_; }

  double ValueAt(double processes, double threads) const {
    return constant_ * ValueAlong(Axis::kProcesses, processes) * ValueAlong(Axis::kThreads, threads);
  }

  void MultiplyDraws(double processes, double threads, std::vector<double>& values) const {
    for (const auto& [axis, draws] : draws_) {
      const std::vector<double> own = draws.At(axis == Axis::kProcesses ? processes : threads);
      for (std::size_t i = 0; i < values.size(); ++i) values[i] *= own[i];
    }
    for (double& value : values) value *= constant_;
  }

 private:
  double ValueAlong(Axis axis, double count) const {
    const auto found = curves_.find(axis);
    return found == curves_.end() ? 1 : found->second->ValueAt(count);
  }

  std::map<Axis, std::unique_ptr<Ensemble>> curves_;  // draws point to them
  std::map<Axis, FactorDraws> draws_;
  double constant_ = 1;
  bool is_usable_ = true;
};

constexpr std::array kParts = {Factor::kMpiParallelEfficiency, Factor::kOmpParallelEfficiency, Factor::kDeviceOffload};

// Rows that know all three parts.
std::vector<FactorRow> HybridRows(const FactorTable& table, const PhaseKey& key) {
  std::vector<FactorRow> rows = table.Rows(key);
  std::erase_if(rows, [](const FactorRow& row) {
    return !std::ranges::all_of(kParts, [&](Factor part) { return row.values[part] && *row.values[part] > 0; });
  });
  return rows;
}

class Splitter {
 public:
  Splitter(std::vector<FactorRow> rows, const PhaseKey& key, const ModelLibrary& library,
           const ProjectionOptions& options, std::int64_t cores)
      : rows_(std::move(rows)), key_(key), library_(library), options_(options), cores_(cores) {
    for (const FactorRow& row : rows_) {
      processes_.insert(row.ranks);
      threads_.insert(row.threads);
    }
  }

  ThreadSplits Run() {
    ThreadSplits result;
    result.series = key_.series;
    result.phase = key_.phase;
    result.obstacle = AddSplits(result.splits);
    if (!result.obstacle.empty()) {
      result.splits.clear();
      return result;
    }
    ChooseBest(result);
    return result;
  }

 private:
  std::string AddSplits(std::vector<ThreadSplit>& splits) {
    const auto most = static_cast<std::int64_t>(kMostThreads * static_cast<double>(*threads_.rbegin()));
    for (std::int64_t threads = 1; threads <= std::min(most, cores_); ++threads) {
      if (cores_ % threads != 0) continue;
      const std::int64_t processes = cores_ / threads;
      const bool is_on_curves = (threads_.size() > 1 || threads_.contains(threads)) &&
                                (processes_.size() > 1 || processes_.contains(processes));
      if (!is_on_curves) continue;
      splits.push_back({processes, threads, 1, {}, 1, threads_.contains(threads) && processes_.contains(processes)});
    }
    if (splits.empty()) {
      return fmt::format(
          "{} cores are no product of numbers of processes and threads that there are curves over: runs "
          "have {} of processes and {} of threads",
          cores_, Numbers(processes_), Numbers(threads_));
    }
    draws_.assign(splits.size(), std::vector<double>(kFactorDraws, 1.0));
    for (const Factor part : kParts) {
      const SeparableFactor curve = FitPart(part, splits);
      if (!curve.is_usable()) return fmt::format("no model fits {}", Describe(part).id);
      for (std::size_t i = 0; i < splits.size(); ++i) {
        const auto n = static_cast<double>(splits[i].processes), m = static_cast<double>(splits[i].threads);
        splits[i].efficiency *= curve.ValueAt(n, m);
        curve.MultiplyDraws(n, m, draws_[i]);
      }
    }
    return "";
  }

  static std::string Numbers(const std::set<std::int64_t>& counts) {
    return counts.size() == 1 ? fmt::format("one number ({})", *counts.begin())
                              : fmt::format("{} numbers ({} to {})", counts.size(), *counts.begin(), *counts.rbegin());
  }

  SeparableFactor FitPart(Factor part, const std::vector<ThreadSplit>& splits) const {
    std::set<double> processes, threads;
    for (const FactorRow& row : rows_) {
      processes.insert(static_cast<double>(row.ranks));
      threads.insert(static_cast<double>(row.threads));
    }
    std::map<Axis, std::vector<double>> reach;
    const bool do_processes_vary = processes.size() > 1, do_threads_vary = threads.size() > 1;
    for (const ThreadSplit& split : splits) {
      processes.insert(static_cast<double>(split.processes));
      threads.insert(static_cast<double>(split.threads));
    }
    if (do_processes_vary) reach[Axis::kProcesses].assign(processes.begin(), processes.end());
    if (do_threads_vary) reach[Axis::kThreads].assign(threads.begin(), threads.end());
    const std::vector<Candidate> candidates = CandidatesOf(options_.models.For(key_.phase, part), library_);
    return {rows_, part, candidates, library_, reach, SeedFor(options_.seed, Describe(part).id)};
  }

  void ChooseBest(ThreadSplits& result) {
    std::vector<ThreadSplit>& splits = result.splits;
    const auto best = std::ranges::max_element(splits, {}, &ThreadSplit::efficiency);
    result.best = static_cast<std::size_t>(best - splits.begin());
    std::vector<std::size_t> wins(splits.size());
    for (std::size_t draw = 0; draw < kFactorDraws; ++draw) {
      std::size_t winner = 0;
      for (std::size_t i = 1; i < splits.size(); ++i) {
        if (draws_[i][draw] > draws_[winner][draw]) winner = i;
      }
      ++wins[winner];
    }
    result.fewest = result.most = best->threads;
    for (std::size_t i = 0; i < splits.size(); ++i) {
      splits[i].time = best->efficiency / splits[i].efficiency;
      std::ranges::sort(draws_[i]);
      splits[i].interval80 = IntervalOf(draws_[i], 0.8, splits[i].efficiency);
      if (static_cast<double>(wins[i]) < kOften * kFactorDraws) continue;
      result.fewest = std::min(result.fewest, splits[i].threads);
      result.most = std::max(result.most, splits[i].threads);
    }
  }

  const std::vector<FactorRow> rows_;
  const PhaseKey key_;
  const ModelLibrary& library_;
  const ProjectionOptions& options_;
  const std::int64_t cores_;
  std::set<std::int64_t> processes_, threads_;
  std::vector<std::vector<double>> draws_;  // of efficiency, one list a split
};

}  // namespace

std::vector<ThreadSplits> SplitCores(const FactorTable& table, const ModelLibrary& library,
                                     const ProjectionOptions& options, std::int64_t cores) {
  std::vector<ThreadSplits> result;
  for (const PhaseKey& key : table.Keys()) {
    std::vector<FactorRow> rows = HybridRows(table, key);
    if (key.phase.IsGroup() || rows.empty()) continue;
    result.push_back(Splitter(std::move(rows), key, library, options, cores).Run());
  }
  if (!result.empty()) return result;
  throw Error(ErrorKind::kUsage, "--split", "no run of the table says what its threads do",
              "measure runs with several numbers of threads a process");
}

}  // namespace farscale
