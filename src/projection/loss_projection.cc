#include "projection/loss_projection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "base/parallel.h"
#include "base/random.h"
#include "projection/draw_intervals.h"
#include "projection/factor_draws.h"

namespace farscale {
namespace {

constexpr double kSmallLoss = 0.001;     // of a path in every run: goes to all others together
constexpr std::size_t kMostPaths = 12;   // with a curve of their own
constexpr double kNoLoss = 1e-9;         // rounding
constexpr double kSmallestValue = 1e-3;  // of 1 - loss: what several runs lost together may exceed all by rounding
// Of what paths lose, others may make up for so much before the losses of single paths say nothing of the whole.
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
      for (const PathFactorLoss& path : record.by_factor->paths) {
        const double loss = measure == LossMeasure::kLoadBalance ? path.load_balance : path.serialization;
        losses[path.path] = loss / record.length;
      }
      break;
  }
  return losses;
}

struct RunLosses {
  double cores = 0;
  PathLossesOfRun losses;
};

// One phase and measure over all runs.
class LossProjector {
 public:
  LossProjector(std::vector<RunLosses> runs, const ModelLibrary& library, const ProjectionOptions& options,
                const PhaseProjection* factors, LossProjection& result)
      : runs_(std::move(runs)), library_(library), options_(options), factors_(factors), result_(result) {}

  void Run() {
    std::set<double> cores;
    for (const RunLosses& run : runs_) cores.insert(run.cores);
    result_.fitted_cores.assign(cores.begin(), cores.end());
    if (cores.size() < 2) {
      result_.obstacle =
          fmt::format("a fit needs runs at two core counts at least, there is {}", cores.empty() ? "none" : "one");
    }
    ChoosePaths();
    FindOffsets();
    if (result_.obstacle.empty()) FitPaths();
    Rank();
  }

 private:
  // Paths with large losses anywhere, by name, and the others as one.
  void ChoosePaths() {
    std::map<std::string, double> largest;
    for (const RunLosses& run : runs_) {
      for (const auto& [path, loss] : run.losses) largest[path] = std::max(largest[path], std::abs(loss));
    }
    std::vector<std::pair<double, std::string>> order;
    for (const auto& [path, loss] : largest) {
      if (loss >= kSmallLoss) order.emplace_back(-loss, path);
    }
    std::sort(order.begin(), order.end());
    if (order.size() > kMostPaths) order.resize(kMostPaths);
    std::set<std::string> chosen;
    for (const auto& [loss, path] : order) chosen.insert(path);
    for (const std::string& path : chosen) result_.paths.push_back({path, {}, "", "", {}});
    result_.paths.push_back({kOtherPaths, {}, "", "", {}});
    for (const RunLosses& run : runs_) {
      double others = 0;
      for (const auto& [path, loss] : run.losses) others += chosen.count(path) > 0 ? 0 : loss;
      for (PathLossProjection& path : result_.paths) {
        const auto found = run.losses.find(path.path);
        const double loss = path.path == kOtherPaths ? others : found == run.losses.end() ? 0 : found->second;
        path.measured.push_back({run.cores, loss});
      }
    }
    // Others that never lose anything are none.
    std::erase_if(result_.paths, [](const PathLossProjection& path) {
      return std::all_of(path.measured.begin(), path.measured.end(),
                         [](const DataPoint& p) { return std::abs(p.value) < kNoLoss; });
    });
  }

  // A path in which the busiest rank is quick makes up for others in which it is slow. Each by itself would then be
  // extrapolated to losses that the whole never has. In the largest run, from which it is extrapolated.
  void FindOffsets() {
    if (!result_.obstacle.empty()) return;
    const double largest = result_.fitted_cores.back();
    double lost = 0, made_up = 0, most = 0;
    std::string where;
    for (const PathLossProjection& path : result_.paths) {
      for (const DataPoint& point : path.measured) {
        if (point.cores != largest) continue;
        (point.value > 0 ? lost : made_up) += std::abs(point.value);
        if (point.value < most)
          where = fmt::format("{} by {:.1f} % at {:g} cores", path.path, -100 * point.value, point.cores);
        most = std::min(most, point.value);
      }
    }
    if (made_up <= kMostOffset * lost) return;
    result_.obstacle =
        "some call paths make up for what others lose (" + where + "), so that single ones say nothing of the whole";
  }

  void FitPaths() {
    const double largest = result_.fitted_cores.back();
    std::vector<double> targets = options_.targets.empty() ? DefaultTargets(largest) : options_.targets;
    std::sort(targets.begin(), targets.end());
    std::vector<double> places = result_.fitted_cores;
    places.insert(places.end(), targets.begin(), targets.end());
    const std::vector<Candidate> candidates = CandidatesOf(options_.models.standard, library_);
    std::vector<std::vector<std::vector<double>>> drawn;  // of every path with a curve, by target
    std::vector<PathLossProjection*> with_curve;
    for (PathLossProjection& path : result_.paths) {
      std::vector<DataPoint> efficiencies;
      for (const DataPoint& point : path.measured) {
        efficiencies.push_back({point.cores, std::clamp(1 - point.value, kSmallestValue, 1.0)});
      }
      const std::uint64_t seed = SeedFor(options_.seed, path.path);
      const Ensemble ensemble = FitEnsemble(candidates, efficiencies, 1.0, places, seed, options_.models.weights);
      if (!ensemble.IsUsable()) continue;
      path.model = ensemble.members.front().model->id;
      path.formula = ensemble.members.front().model->formula.text();
      const FactorDraws draws(ensemble, SeedFor(seed, "draws"));
      std::vector<std::vector<double>>& of_path = drawn.emplace_back();
      for (const double cores : targets) {
        of_path.push_back(draws.At(cores));
        path.targets.push_back({cores, 1 - ensemble.ValueAt(cores), {}, {}, 0, {}, {}, false});
        AddLoss(of_path.back(), path.targets.back());
      }
      MarkEvidence(path);
      with_curve.push_back(&path);
    }
    for (std::size_t target = 0; target < targets.size(); ++target) AddParts(with_curve, drawn, target);
    if (with_curve.empty() && !result_.paths.empty()) result_.obstacle = "no model could be fitted to any call path";
  }

  static IntervalBounds LossInterval(const std::vector<double>& sorted, double coverage, double loss) {
    const IntervalBounds bounds = IntervalOf(sorted, coverage, 1 - loss);
    return {std::max(0.0, 1 - bounds.high), 1 - bounds.low};
  }

  static void AddLoss(std::vector<double> draws, ProjectedLoss& target) {
    std::sort(draws.begin(), draws.end());
    target.loss80 = LossInterval(draws, 0.80, target.loss);
    target.loss95 = LossInterval(draws, 0.95, target.loss);
  }

  // Up to the first target at which the interval is too wide.
  void MarkEvidence(PathLossProjection& path) const {
    bool is_evidence = true;
    for (ProjectedLoss& target : path.targets) {
      is_evidence = is_evidence && target.loss80->high - target.loss80->low <= options_.horizon_width &&
                    (factors_ == nullptr || IsEvidence(*factors_, FactorOf(result_.measure), target.cores));
      target.is_evidence = is_evidence;
    }
  }

  // What share every path has of all losses at a target, draw by draw.
  static void AddParts(const std::vector<PathLossProjection*>& paths,
                       const std::vector<std::vector<std::vector<double>>>& drawn, std::size_t target) {
    std::vector<double> sums(kFactorDraws, 0);
    double sum = 0;
    for (std::size_t p = 0; p < paths.size(); ++p) {
      sum += paths[p]->targets[target].loss;
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += std::max(0.0, 1 - drawn[p][target][i]);
    }
    for (std::size_t p = 0; p < paths.size(); ++p) {
      ProjectedLoss& value = paths[p]->targets[target];
      value.part = sum > 0 ? value.loss / sum : 0;
      std::vector<double> parts(sums.size(), 0);
      for (std::size_t i = 0; i < sums.size(); ++i) {
        if (sums[i] > 0) parts[i] = std::max(0.0, 1 - drawn[p][target][i]) / sums[i];
      }
      std::sort(parts.begin(), parts.end());
      value.part80 = IntervalOf(parts, 0.80, value.part);
      value.part95 = IntervalOf(parts, 0.95, value.part);
    }
  }

  // The largest first, at the last target where all are evidence, else in the largest run.
  void Rank() {
    std::size_t at = 0;
    bool any = !result_.paths.empty();
    for (const PathLossProjection& path : result_.paths) any = any && !path.targets.empty();
    const std::size_t targets = any ? result_.paths.front().targets.size() : 0;
    const auto is_evidence = [&](std::size_t target) {
      return std::all_of(result_.paths.begin(), result_.paths.end(),
                         [&](const PathLossProjection& path) { return path.targets[target].is_evidence; });
    };
    while (at < targets && is_evidence(at)) ++at;
    const auto value = [&](const PathLossProjection& path) {
      return at > 0 ? path.targets[at - 1].loss : path.measured.back().value;
    };
    std::stable_sort(result_.paths.begin(), result_.paths.end(),
                     [&](const PathLossProjection& a, const PathLossProjection& b) { return value(a) > value(b); });
  }

  const std::vector<RunLosses> runs_;
  const ModelLibrary library_;  // formulas are not for several threads, so every measure has its own
  const ProjectionOptions& options_;
  const PhaseProjection* const factors_;  // of the phase; nothing: not projected
  LossProjection& result_;
};

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
      if (record.phase != projection.phase || record.allocation <= 0) continue;
      if (options.train_max && cores > *options.train_max) continue;
      runs.push_back({cores, LossesOf(record, projection.measure)});
    }
    std::stable_sort(runs.begin(), runs.end(),
                     [](const RunLosses& a, const RunLosses& b) { return a.cores < b.cores; });
    const auto own = std::find_if(factors.begin(), factors.end(),
                                  [&](const PhaseProjection& other) { return other.phase == projection.phase; });
    LossProjector(std::move(runs), library, options, own == factors.end() ? nullptr : &*own, projection).Run();
  });
  return projections;
}

}  // namespace farscale
