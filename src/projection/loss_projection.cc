#include "projection/loss_projection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "base/parallel.h"
#include "base/random.h"
#include "imbalance/loss_record.h"
#include "models/ensemble.h"
#include "projection/load_balance_by_loads.h"

namespace farscale {
namespace {

// All numbers are chosen.
constexpr double kSmallLoss = 0.001;     // paths below in every run are joined
constexpr std::size_t kMostPaths = 12;   // with a curve of their own: more than a figure can show
constexpr double kNoLoss = 1e-9;         // rounding
constexpr double kSmallestValue = 1e-3;  // smallest efficiency that is fitted
constexpr double kLeastKept = 1e-12;     // smallest efficiency of a draw: losses over what is kept stay finite
// Some paths may make up for this share of the losses of others; beyond, losses of single paths say nothing of the
// whole.
constexpr double kMostOffset = 0.15;

// Loss of every path in one run.
using PathLossesOfRun = std::map<std::string, double>;

PathLossesOfRun LossesOf(const LossRecord& record, LossMeasure measure) {
  PathLossesOfRun losses;
  switch (measure) {
    case LossMeasure::kDelayCosts:
      for (const PathRecord& path : record.paths) losses[path.path] = path.total.Costs() / record.allocation;
      losses[kChargedToNobody] = (record.Waiting() - record.Costs()) / record.allocation;
      break;
    case LossMeasure::kCriticalImbalance:
      for (const PathRecord& path : record.paths) losses[path.path] = path.imbalance / record.window;
      break;
    case LossMeasure::kLoadBalance:
    case LossMeasure::kSerialization:
      if (!record.by_factor) break;
      for (const PathFactorLoss& path : *record.by_factor) {
        const double loss = measure == LossMeasure::kLoadBalance ? path.load_balance : path.serialization;
        losses[path.path] = loss / record.length;
      }
      break;
  }
  return losses;
}

using RunLosses = std::pair<double, PathLossesOfRun>;  // with the cores of the run

// Paths with large losses anywhere, by name, and the others as one.
void ChoosePaths(const std::vector<RunLosses>& runs, LossProjection& result) {
  std::map<std::string, double> largest;
  for (const auto& [cores, losses] : runs) {
    for (const auto& [path, loss] : losses) largest[path] = std::max(largest[path], std::abs(loss));
  }
  std::vector<std::pair<double, std::string>> order;
  for (const auto& [path, loss] : largest) {
    if (loss >= kSmallLoss) order.emplace_back(-loss, path);
  }
  std::sort(order.begin(), order.end());
  if (order.size() > kMostPaths) order.resize(kMostPaths);
  std::set<std::string> chosen;
  for (const auto& [loss, path] : order) chosen.insert(path);
  for (const std::string& path : chosen) result.paths.push_back({path, {}, "", "", {}});
  result.paths.push_back({kOtherPaths, {}, "", "", {}});
  for (const auto& [cores, losses] : runs) {
    double others = 0;
    for (const auto& [path, loss] : losses) others += chosen.count(path) > 0 ? 0 : loss;
    for (PathLossProjection& path : result.paths) {
      const auto found = losses.find(path.path);
      const double loss = path.path == kOtherPaths ? others : found == losses.end() ? 0 : found->second;
      path.measured.push_back({cores, loss});
    }
  }
  // Others that never lose anything are none.
  std::erase_if(result.paths, [](const PathLossProjection& path) {
    return std::all_of(path.measured.begin(), path.measured.end(),
                       [](const DataPoint& p) { return std::abs(p.value) < kNoLoss; });
  });
}

// A path in which the busiest rank is quick makes up for others in which it is slow. Each by itself would then be
// extrapolated to losses that the whole never has. In the largest run, from which it is extrapolated. Returns the
// losses of paths over these less what others make up for.
double FindOffsets(LossProjection& result) {
  if (!result.obstacle.empty()) return 1;
  const double largest = result.fitted_cores.back();
  double lost = 0, made_up = 0, most = 0;
  std::string where;
  for (const PathLossProjection& path : result.paths) {
    for (const DataPoint& point : path.measured) {
      if (point.cores != largest) continue;
      (point.value > 0 ? lost : made_up) += std::abs(point.value);
      if (point.value < most)
        where = fmt::format("{} by {:.1f} % at {:g} cores", path.path, -100 * point.value, point.cores);
      most = std::min(most, point.value);
    }
  }
  if (made_up <= kMostOffset * lost) return lost > 0 ? lost / (lost - made_up) : 1;
  result.obstacle =
      "some call paths make up for what others lose (" + where + "), so that single ones say nothing of the whole";
  return 1;
}

// The share of every run that no path takes away. Losses that others make up for are not in it, because paths that
// make up for others are projected as if they lost nothing.
std::vector<DataPoint> Kept(const std::vector<PathLossProjection>& paths) {
  std::vector<DataPoint> kept;
  for (const PathLossProjection& path : paths) {
    for (std::size_t run = kept.size(); run < path.measured.size(); ++run)
      kept.push_back({path.measured[run].cores, 1});
    for (std::size_t run = 0; run < kept.size(); ++run) kept[run].value -= std::max(0.0, path.measured[run].value);
  }
  return kept;
}

const ProjectedValue* TargetOf(const PhaseProjection* factors, Factor factor, double cores) {
  const FactorProjection* found = factors == nullptr ? nullptr : factors->Find(factor);
  if (found == nullptr) return nullptr;
  const auto at = std::find_if(found->targets.begin(), found->targets.end(),
                               [&](const ProjectedValue& value) { return value.cores == cores; });
  return at == found->targets.end() ? nullptr : &*at;
}

// The most that all paths together can lose, as the factors are projected, and the upper bounds of its intervals of
// 80 and 95 %; 1 where they are not.
std::array<double, 3> MostLost(LossMeasure measure, const PhaseProjection* factors, double over_net, double cores) {
  // On the critical path work that differs between ranks counts as imbalance even where nobody waits.
  if (measure == LossMeasure::kCriticalImbalance) return {1, 1, 1};
  const ProjectedValue *factor = TargetOf(factors, FactorOf(measure), cores), *rest = nullptr;
  if (factor == nullptr) return {1, 1, 1};
  // Load balance loses a share of what communication leaves of the run time, serialization of what transfer leaves.
  if (measure == LossMeasure::kLoadBalance) rest = TargetOf(factors, Factor::kCommunicationEfficiency, cores);
  if (measure == LossMeasure::kSerialization) rest = TargetOf(factors, Factor::kTransfer, cores);
  const auto lost = [&](double left, double efficiency) {
    return std::clamp(over_net * left * (1 - efficiency), 0.0, 1.0);
  };
  const auto highest = [&](const std::optional<IntervalBounds>& own, const std::optional<IntervalBounds>& left) {
    return own ? lost(left ? left->high : 1, own->low) : 1;
  };
  const std::optional<IntervalBounds> none;
  return {lost(rest != nullptr ? rest->value : 1, factor->value),
          highest(factor->interval80, rest != nullptr ? rest->interval80 : none),
          highest(factor->interval95, rest != nullptr ? rest->interval95 : none)};
}

double LostOverKept(double efficiency) { return 1 / std::max(efficiency, kLeastKept) - 1; }

// Lost over kept, r, makes shares: r / (1 + Σ r) of all, so that all losses and what is kept are the whole
// [Aitchison86, 6.2]; and r / Σ r of the losses. Draw by draw for the intervals.
void AddShares(const std::vector<PathLossProjection*>& paths, const std::vector<double>& ratios,
               const std::vector<std::vector<double>>& draws, const std::array<double, 3>& most_lost, double cores) {
  const auto [most, most80, most95] = most_lost;
  std::vector<double> sums(kFactorDraws, 0);
  const double sum = std::accumulate(ratios.begin(), ratios.end(), 0.0);
  for (const std::vector<double>& of_path : draws) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += of_path[i];
  }
  for (std::size_t p = 0; p < paths.size(); ++p) {
    ProjectedLoss share{cores, 0, {}, {}, sum > 0 ? ratios[p] / sum : 0, {}, {}};
    share.loss = share.part * std::min(sum / (1 + sum), most);
    std::vector<double> parts(sums.size(), 0), losses80(sums.size(), 0), losses95(sums.size(), 0);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      if (sums[i] > 0) parts[i] = draws[p][i] / sums[i];
      losses80[i] = parts[i] * std::min(sums[i] / (1 + sums[i]), most80);
      losses95[i] = parts[i] * std::min(sums[i] / (1 + sums[i]), most95);
    }
    PlaceIntervals(parts, {0.80, 0.95});
    PlaceIntervals(losses80, {0.80});
    PlaceIntervals(losses95, {0.95});
    share.part80 = IntervalOf(parts, 0.80, share.part);
    share.part95 = IntervalOf(parts, 0.95, share.part);
    share.loss80 = IntervalOf(losses80, 0.80, share.loss);
    share.loss95 = IntervalOf(losses95, 0.95, share.loss);
    share.loss95->low = std::min(share.loss95->low, share.loss80->low);  // where all draws reach a bound
    paths[p]->targets.push_back(share);
  }
}

// `factors`: may be null. `over_net`: as of FindOffsets.
void FitPaths(const ModelLibrary& library, const ProjectionOptions& options, const PhaseProjection* factors,
              double over_net, LossProjection& result) {
  const double largest = result.fitted_cores.back();
  std::vector<double> targets = options.targets.empty() ? DefaultTargets(largest) : options.targets;
  std::sort(targets.begin(), targets.end());
  std::vector<double> places = result.fitted_cores;
  places.insert(places.end(), targets.begin(), targets.end());
  const std::vector<Candidate> candidates =
      Candidates(options.models.standard, library, ModelRole::kLosses, std::nullopt);
  const std::vector<DataPoint> kept = Kept(result.paths);
  // Losses over what is kept: values, and draws, of every target and path with a curve.
  std::vector<std::vector<double>> ratios(targets.size());
  std::vector<std::vector<std::vector<double>>> draws_of_ratios(targets.size());
  std::vector<PathLossProjection*> with_curve;
  for (PathLossProjection& path : result.paths) {
    // The efficiency if the path were the only one that loses anything: what is kept, over that and what the path
    // takes.
    std::vector<DataPoint> efficiencies;
    for (std::size_t run = 0; run < kept.size(); ++run) {
      const double left = std::max(kSmallestValue, kept[run].value), lost = std::max(0.0, path.measured[run].value);
      efficiencies.push_back({kept[run].cores, std::max(kSmallestValue, left / (left + lost))});
    }
    const std::uint64_t seed = SeedFor(options.seed, path.path);
    const Ensemble ensemble = FitEnsemble(candidates, efficiencies, 1.0, places, seed, options.models.weighs_alike);
    if (!ensemble.IsUsable()) continue;
    path.model = ensemble.members.front().model->id;
    path.formula = ensemble.members.front().model->formula.text();
    const FactorDraws draws(ensemble, library.intervals(), SeedFor(seed, "draws"));
    for (std::size_t target = 0; target < targets.size(); ++target) {
      ratios[target].push_back(LostOverKept(ensemble.ValueAt(targets[target])));
      std::vector<double>& drawn = draws_of_ratios[target].emplace_back(draws.At(targets[target]));
      std::transform(drawn.begin(), drawn.end(), drawn.begin(), LostOverKept);
    }
    with_curve.push_back(&path);
  }
  for (std::size_t target = 0; target < targets.size(); ++target) {
    AddShares(with_curve, ratios[target], draws_of_ratios[target],
              MostLost(result.measure, factors, over_net, targets[target]), targets[target]);
  }
  // A loss of 1 % may be known to half of itself and decides the same. So the level is that of the efficiency without
  // it, 1 - loss. It never gets better from one target to the next.
  const Factor factor = FactorOf(result.measure);
  for (PathLossProjection* path : with_curve) {
    Reliability level = Reliability::kReliable;
    for (ProjectedLoss& target : path->targets) {
      const IntervalBounds left80{1 - target.loss80->high, 1 - target.loss80->low};
      level = std::max(level, LevelOf(factor, 1 - target.loss, left80, options.reliability_limits));
      if (factors != nullptr) level = std::max(level, ReliabilityOf(*factors, factor, target.cores));
      target.reliability = level;
    }
  }
  if (with_curve.empty() && !result.paths.empty()) result.obstacle = "no model could be fitted to any call path";
}

// One phase and measure over all runs. `factors`: null where they are not projected.
void ProjectMeasure(const std::vector<RunLosses>& runs, const PhaseProjection* factors, const ModelLibrary& library,
                    const ProjectionOptions& options, LossProjection& result) {
  std::set<double> cores;
  for (const auto& [of_run, losses] : runs) cores.insert(of_run);
  result.fitted_cores.assign(cores.begin(), cores.end());
  if (cores.size() < 2) {
    result.obstacle =
        fmt::format("a fit needs runs at two core counts at least, there is {}", cores.empty() ? "none" : "one");
  }
  ChoosePaths(runs, result);
  const double over_net = FindOffsets(result);
  if (result.obstacle.empty()) FitPaths(library, options, factors, over_net, result);
  // The largest first, at the last target where all are reliable, else in the largest run.
  const bool any = !result.paths.empty() && std::ranges::none_of(result.paths, [](const PathLossProjection& path) {
    return path.targets.empty();
  });
  const auto is_reliable = [&](std::size_t target) {
    return std::ranges::all_of(result.paths, [&](const PathLossProjection& path) {
      return path.targets[target].reliability == Reliability::kReliable;
    });
  };
  std::size_t at = 0;
  while (any && at < result.paths.front().targets.size() && is_reliable(at)) ++at;
  const auto value = [&](const PathLossProjection& path) {
    return at > 0 ? path.targets[at - 1].loss : path.measured.back().value;
  };
  std::ranges::stable_sort(result.paths, std::greater(), value);
}

}  // namespace

std::string ToString(LossMeasure measure) {
  switch (measure) {
    case LossMeasure::kDelayCosts: return "delayCosts";
    case LossMeasure::kLoadBalance: return "loadBalance";
    case LossMeasure::kSerialization: return "serialization";
    case LossMeasure::kCriticalImbalance: return "criticalPathImbalance";
  }
  return "";
}

Factor FactorOf(LossMeasure measure) {
  if (measure == LossMeasure::kLoadBalance) return Factor::kLoadBalance;
  if (measure == LossMeasure::kSerialization) return Factor::kSerialization;
  return Factor::kParallelEfficiency;
}

std::vector<LossProjection> ProjectLosses(const std::vector<LossRecord>& records,
                                          const std::vector<PhaseProjection>& factors, const ModelLibrary& library,
                                          const ProjectionOptions& options) {
  std::vector<std::string> phases;
  for (const LossRecord& record : records) {
    if (record.unknown_waits) continue;
    if (std::find(phases.begin(), phases.end(), record.phase) == phases.end()) phases.push_back(record.phase);
  }
  std::vector<LossProjection> projections;
  for (const std::string& phase : phases) {
    for (const LossMeasure measure : kLossMeasures) projections.push_back({phase, measure, {}, {}, ""});
  }
  ParallelFor(projections.size(), [&](std::size_t i) {
    LossProjection& projection = projections[i];
    std::vector<RunLosses> runs;
    for (const LossRecord& record : records) {
      const auto cores = static_cast<double>(record.cores);
      if (record.phase != projection.phase || record.allocation <= 0 || record.unknown_waits) continue;
      if (options.train_max && cores > *options.train_max) continue;
      runs.push_back({cores, LossesOf(record, projection.measure)});
    }
    std::ranges::stable_sort(runs, {}, &RunLosses::first);
    const auto own = std::find_if(factors.begin(), factors.end(),
                                  [&](const PhaseProjection& other) { return other.phase == projection.phase; });
    ProjectMeasure(runs, own == factors.end() ? nullptr : &*own, library, options, projection);
  });
  return projections;
}

}  // namespace farscale
