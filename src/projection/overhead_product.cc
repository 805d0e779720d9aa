#include "projection/overhead_product.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/random.h"

namespace farscale {
namespace {

constexpr int kMostOverheadTurns = 1000;    // of both effects; chosen: chains of runs need some hundred
constexpr double kOverheadSettled = 1e-12;  // of the largest overhead; chosen: rounding
// Chosen: of 1 %, noise of half a percent is half.
constexpr double kLeastOverhead = 0.01;
// Times a run's own overhead, up to which it says what that would be at the most of the other number; beyond, noise is
// all that it would say. Chosen: an overhead a third as large is known a third as well.
constexpr double kMostRescaled = 3;

using OverheadEffects = std::map<double, double>;  // by count

double OverheadOf(double share) { return 1 / std::min(1.0, share) - 1; }

// Effects of one axis given those of the other, by least squares of ln y = -ln(1 + overhead), linearized.
OverheadEffects EffectsGiven(const OverheadEffects& other, SplitAxis axis, const std::vector<FactorRow>& rows,
                             Factor factor) {
  const SplitAxis other_axis = axis == SplitAxis::kProcesses ? SplitAxis::kThreads : SplitAxis::kProcesses;
  std::map<double, std::pair<double, double>> sums;
  for (const FactorRow& row : rows) {
    const double share = std::min(1.0, *row.values[factor]);
    const double effect = other.at(CountOf(row, other_axis));
    auto& [products, squares] = sums[CountOf(row, axis)];
    products += share * share * OverheadOf(share) * effect;
    squares += share * share * effect * effect;
  }
  OverheadEffects effects;
  for (const auto& [count, sum] : sums) effects[count] = sum.second > 0 ? sum.first / sum.second : 0;
  return effects;
}

struct BothEffects {
  OverheadEffects processes, threads;  // 1 at the most threads
};

BothEffects OverheadEffectsOf(const std::vector<FactorRow>& rows, Factor factor) {
  BothEffects effects;
  for (const FactorRow& row : rows) effects.threads[CountOf(row, SplitAxis::kThreads)] = 1;
  double change = 1;
  for (int turn = 0; turn < kMostOverheadTurns && change > kOverheadSettled; ++turn) {
    effects.processes = EffectsGiven(effects.threads, SplitAxis::kProcesses, rows, factor);
    OverheadEffects threads = EffectsGiven(effects.processes, SplitAxis::kThreads, rows, factor);
    const double scale = threads.rbegin()->second;
    if (!(scale > 0)) return effects;
    change = 0;
    for (auto& [count, effect] : threads) {
      effect /= scale;
      change = std::max(change, std::fabs(effect - effects.threads.at(count)));
    }
    for (auto& [count, effect] : effects.processes) effect *= scale;
    effects.threads = std::move(threads);
  }
  return effects;
}

// Runs as if each had the most of the other number, with errors that are rescaled, too. `sigma`: of ln y of a run.
std::vector<DataPoint> PointsAtTheMost(const std::vector<FactorRow>& rows, Factor factor, SplitAxis axis,
                                       const OverheadEffects& other, double sigma) {
  const SplitAxis other_axis = axis == SplitAxis::kProcesses ? SplitAxis::kThreads : SplitAxis::kProcesses;
  std::vector<DataPoint> points;
  for (const FactorRow& row : rows) {
    const double effect = other.at(CountOf(row, other_axis)), most = other.rbegin()->second;
    if (most > kMostRescaled * effect) continue;
    const double overhead = OverheadOf(*row.values[factor]), share = 1 / (1 + overhead * most / effect);
    points.push_back({CountOf(row, axis), share, share * share * sigma * (1 + overhead) * most / effect});
  }
  return points;
}

}  // namespace

OverheadProduct::OverheadProduct(const std::vector<FactorRow>& rows, Factor factor,
                                 const std::vector<Candidate>& candidates, const ModelLibrary& library,
                                 const std::map<SplitAxis, std::vector<double>>& reach, std::uint64_t seed) {
  const BothEffects effects = OverheadEffectsOf(rows, factor);
  common_ = effects.processes.rbegin()->second;
  for (const FactorRow& row : rows) {
    const double overhead = effects.processes.at(CountOf(row, SplitAxis::kProcesses)) *
                            effects.threads.at(CountOf(row, SplitAxis::kThreads));
    sum_of_squares_ += std::pow(std::log(std::min(1.0, *row.values[factor])) + std::log1p(overhead), 2);
  }
  if (common_ < kLeastOverhead) return;
  const auto spare =
      static_cast<double>(rows.size()) - static_cast<double>(effects.processes.size() + effects.threads.size() - 1);
  const double sigma = spare > 0 ? std::max(kSmallestSigma, std::sqrt(sum_of_squares_ / spare)) : kAssumedSigma;
  for (const SplitAxis axis : {SplitAxis::kProcesses, SplitAxis::kThreads}) {
    const OverheadEffects& other = axis == SplitAxis::kProcesses ? effects.threads : effects.processes;
    const std::vector<DataPoint> points = PointsAtTheMost(rows, factor, axis, other, sigma);
    const std::uint64_t own_seed =
        SeedFor(seed, axis == SplitAxis::kProcesses ? "overhead of processes" : "overhead of threads");
    const auto& curve = curves_[axis] =
        std::make_unique<Ensemble>(FitEnsemble(candidates, points, 1.0, reach.at(axis), own_seed));
    if (!curve->IsUsable()) return;
    draws_.try_emplace(axis, *curve, library.intervals(), SeedFor(own_seed, "draws"));
  }
}

double OverheadProduct::ValueOf(double over_processes, double over_threads) const {
  return 1 / (1 + OverheadOf(over_processes) * OverheadOf(over_threads) / common_);
}

double OverheadProduct::ValueAt(double processes, double threads) const {
  return ValueOf(curves_.at(SplitAxis::kProcesses)->ValueAt(processes),
                 curves_.at(SplitAxis::kThreads)->ValueAt(threads));
}

std::vector<double> OverheadProduct::DrawsAt(double processes, double threads) const {
  std::vector<double> values = draws_.at(SplitAxis::kProcesses).At(processes);
  const std::vector<double> over_threads = draws_.at(SplitAxis::kThreads).At(threads);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = ValueOf(values[i], over_threads[i]);
  return values;
}

}  // namespace farscale
