#include "projection/separable_factor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <set>
#include <utility>

#include "base/random.h"
#include "factors/factor_table.h"

namespace farscale {
namespace {

// Turns over both effects, until none changes by more. Chosen: rounding; chains of runs need some hundred turns.
constexpr int kMostTurns = 10000;
constexpr double kSettled = 1e-13;
// Odds of f(n) g(m) against the product of overheads before the runs are seen. Chosen: with 8 no kind of
// program of known laws errs by a tenth more than without that product, with 4 one does [docs/accuracy.md].
constexpr double kOddsAgainstOverhead = 8;

const char* NameOf(SplitAxis axis) {
  if (axis == SplitAxis::kCores) return "cores";
  return axis == SplitAxis::kProcesses ? "processes" : "threads";
}

SplitAxis Other(SplitAxis axis) { return axis == SplitAxis::kProcesses ? SplitAxis::kThreads : SplitAxis::kProcesses; }

using AxisEffects = std::map<double, double>;  // keyed by count
using Effects = std::map<SplitAxis, AxisEffects>;

// Mean of the logarithms at each count of an axis, less what `of_others` says of a row.
template <typename OfOthers>
std::map<double, double> MeansOver(SplitAxis axis, const std::vector<FactorRow>& rows, Factor factor,
                                   OfOthers of_others) {
  std::map<double, std::pair<double, double>> sums;
  for (const FactorRow& row : rows) {
    auto& [sum, count] = sums[CountOf(row, axis)];
    sum += std::log(*row.values[factor]) - of_others(row);
    ++count;
  }
  std::map<double, double> means;
  for (const auto& [count, of] : sums) means[count] = of.first / of.second;
  return means;
}

// The logarithms of f and g at the counts that were run, by least squares; g is 1 at the fewest threads.
Effects LogEffects(const std::vector<FactorRow>& rows, Factor factor) {
  Effects effects;
  double change = 1;
  for (int turn = 0; turn < kMostTurns && change > kSettled; ++turn) {
    change = 0;
    for (const SplitAxis axis : {SplitAxis::kProcesses, SplitAxis::kThreads}) {
      const SplitAxis other = Other(axis);
      const AxisEffects& rest = effects[other];
      std::map<double, double> means = MeansOver(axis, rows, factor, [&](const FactorRow& row) {
        const auto found = rest.find(CountOf(row, other));
        return found == rest.end() ? 0 : found->second;
      });
      if (effects[axis].empty()) change = std::max(change, 1.0);
      for (const auto& [count, effect] : effects[axis]) change = std::max(change, std::fabs(means.at(count) - effect));
      effects[axis] = std::move(means);
    }
  }
  const double shift = effects[SplitAxis::kThreads].begin()->second;
  for (auto& [count, effect] : effects[SplitAxis::kProcesses]) effect += shift;
  for (auto& [count, effect] : effects[SplitAxis::kThreads]) effect -= shift;
  return effects;
}

// True if the number of cores explains a factor at least as well as those of processes and of threads do by their
// effects: its variance within equal cores is not above what they leave.
bool DependsOnCores(const std::vector<FactorRow>& rows, Factor factor, const Effects& effects) {
  const AxisEffects& by_processes = effects.at(SplitAxis::kProcesses);
  const AxisEffects& by_threads = effects.at(SplitAxis::kThreads);
  const auto by_cores = MeansOver(SplitAxis::kCores, rows, factor, [](const FactorRow&) { return 0.0; });
  const std::size_t own = by_cores.size();
  const std::size_t both = by_processes.size() + by_threads.size() - 1;
  if (rows.size() <= own || rows.size() <= both) return true;
  double of_cores = 0, of_both = 0;
  for (const FactorRow& row : rows) {
    const double value = std::log(*row.values[factor]);
    const double sum =
        by_processes.at(CountOf(row, SplitAxis::kProcesses)) + by_threads.at(CountOf(row, SplitAxis::kThreads));
    of_cores += std::pow(value - by_cores.at(CountOf(row, SplitAxis::kCores)), 2);
    of_both += std::pow(value - sum, 2);
  }
  return of_cores / static_cast<double>(rows.size() - own) <= of_both / static_cast<double>(rows.size() - both);
}

// The weight of the product of overheads beside f(n) g(m), both with as many effects: by the likelihoods of normal
// errors whose deviation is unknown. Without runs to spare nothing speaks for it.
double WeightOfOverhead(const std::vector<FactorRow>& rows, Factor factor, const Effects& effects,
                        double left_by_overhead) {
  const std::size_t both = effects.at(SplitAxis::kProcesses).size() + effects.at(SplitAxis::kThreads).size() - 1;
  if (rows.size() <= both) return 0;
  double left_by_effects = 0;  // sums of squares of what is left of the logarithms
  for (const FactorRow& row : rows) {
    double left = std::log(*row.values[factor]);
    for (const auto& [axis, of_axis] : effects) left -= of_axis.at(CountOf(row, axis));
    left_by_effects += left * left;
  }
  const double rounding = static_cast<double>(rows.size()) * kSmallestSigma * kSmallestSigma;
  const double ratio = (left_by_overhead + rounding) / (left_by_effects + rounding);
  return 1 / (1 + kOddsAgainstOverhead * std::pow(ratio, static_cast<double>(rows.size() - both) / 2));
}

constexpr int kMostOverheadTurns = 1000;    // turns over both effects; chosen: chains of runs need some hundred
constexpr double kOverheadSettled = 1e-12;  // share of the largest overhead; chosen: rounding
// Chosen: of 1 %, noise of half a percent is half.
constexpr double kLeastOverhead = 0.01;
// Times a run's own overhead, up to which it says what that would be at the most of the other number; beyond, noise is
// all that it would say. Chosen: an overhead a third as large is known a third as well.
constexpr double kMostRescaled = 3;

double OverheadOf(double share) { return 1 / std::min(1.0, share) - 1; }

// Effects of one axis given those of the other, by least squares of ln y = -ln(1 + overhead), linearized.
AxisEffects EffectsGiven(const AxisEffects& other, SplitAxis axis, const std::vector<FactorRow>& rows, Factor factor) {
  std::map<double, std::pair<double, double>> sums;
  for (const FactorRow& row : rows) {
    const double share = std::min(1.0, *row.values[factor]);
    const double effect = other.at(CountOf(row, Other(axis)));
    auto& [products, squares] = sums[CountOf(row, axis)];
    products += share * share * OverheadOf(share) * effect;
    squares += share * share * effect * effect;
  }
  AxisEffects effects;
  for (const auto& [count, sum] : sums) effects[count] = sum.second > 0 ? sum.first / sum.second : 0;
  return effects;
}

// Those of threads are 1 at the most threads.
Effects OverheadEffects(const std::vector<FactorRow>& rows, Factor factor) {
  Effects effects;
  AxisEffects &of_processes = effects[SplitAxis::kProcesses], &of_threads = effects[SplitAxis::kThreads];
  for (const FactorRow& row : rows) of_threads[CountOf(row, SplitAxis::kThreads)] = 1;
  double change = 1;
  for (int turn = 0; turn < kMostOverheadTurns && change > kOverheadSettled; ++turn) {
    of_processes = EffectsGiven(of_threads, SplitAxis::kProcesses, rows, factor);
    AxisEffects threads = EffectsGiven(of_processes, SplitAxis::kThreads, rows, factor);
    const double scale = threads.rbegin()->second;
    if (!(scale > 0)) return effects;
    change = 0;
    for (auto& [count, effect] : threads) {
      effect /= scale;
      change = std::max(change, std::fabs(effect - of_threads.at(count)));
    }
    for (auto& [count, effect] : of_processes) effect *= scale;
    of_threads = std::move(threads);
  }
  return effects;
}

double CountAt(double processes, double threads, SplitAxis axis) {
  if (axis == SplitAxis::kCores) return processes * threads;
  return axis == SplitAxis::kProcesses ? processes : threads;
}

}  // namespace

double CountOf(const FactorRow& row, SplitAxis axis) {
  if (axis == SplitAxis::kCores) return static_cast<double>(row.cores);
  return static_cast<double>(axis == SplitAxis::kProcesses ? row.ranks : row.threads);
}

std::string DescribeConfounded(const std::vector<FactorRow>& rows) {
  std::set<std::int64_t> processes = {rows.front().ranks}, threads = {rows.front().threads};
  for (std::size_t turn = 0; turn < rows.size(); ++turn) {
    for (const FactorRow& row : rows) {
      if (!processes.contains(row.ranks) && !threads.contains(row.threads)) continue;
      processes.insert(row.ranks);
      threads.insert(row.threads);
    }
  }
  for (const FactorRow& row : rows) {
    if (processes.contains(row.ranks)) continue;
    return fmt::format(
        "runs of {} × {} and {} × {} (processes × threads) share neither number, so the effect of processes cannot be "
        "separated from that of threads; add a run of {} × {}",
        rows.front().ranks, rows.front().threads, row.ranks, row.threads, rows.front().ranks, row.threads);
  }
  return "";
}

SeparableFactor::SeparableFactor(const std::vector<FactorRow>& rows, Factor factor,
                                 const std::vector<Candidate>& candidates, const ModelLibrary& library,
                                 const std::map<SplitAxis, std::vector<double>>& reach, std::uint64_t seed) {
  const Effects effects = LogEffects(rows, factor);
  const bool is_over_cores = !Describe(factor).AtMostOne() && DependsOnCores(rows, factor, effects);
  const std::optional<double> limit = Describe(factor).AtMostOne() ? std::optional(1.0) : std::nullopt;
  const std::vector<SplitAxis> axes =
      is_over_cores ? std::vector{SplitAxis::kCores} : std::vector{SplitAxis::kProcesses, SplitAxis::kThreads};
  for (const SplitAxis axis : axes) {
    const SplitAxis other = Other(axis);
    const auto found = reach.find(axis);
    if (found == reach.end() && is_over_cores) {
      constant_ *= std::exp(MeansOver(axis, rows, factor, [](const FactorRow&) { return 0.0; }).begin()->second);
      continue;
    }
    if (found == reach.end()) {
      constant_ *= std::exp(effects.at(axis).begin()->second);
      continue;
    }
    std::vector<DataPoint> points;
    for (const FactorRow& row : rows) {
      const double rest = is_over_cores ? 1 : std::exp(effects.at(other).at(CountOf(row, other)));
      const double value = *row.values[factor] / rest;
      points.push_back({CountOf(row, axis), limit ? std::min(*limit, value) : value, row.standard_errors[factor]});
    }
    const std::uint64_t own_seed = SeedFor(seed, NameOf(axis));
    const Ensemble& curve = curves_[axis] = FitEnsemble(candidates, points, limit, found->second, own_seed);
    is_usable_ = curve.IsUsable();
    if (!is_usable_) return;
    draws_.try_emplace(axis, curve, library.intervals(), SeedFor(own_seed, "draws"));
  }
  if (draws_.size() < 2 || !limit) return;
  const std::optional<double> left = FitOverhead(rows, factor, candidates, library, reach, seed);
  if (!left) return;
  overhead_weight_ = WeightOfOverhead(rows, factor, effects, *left);
  first_draw_ = static_cast<double>(SeedFor(seed, "overhead")) / static_cast<double>(UINT64_MAX);
}

double SeparableFactor::ValueAt(double processes, double threads) const {
  double value = constant_;
  for (const auto& [axis, curve] : curves_) value *= curve.ValueAt(CountAt(processes, threads, axis));
  if (overhead_draws_.size() < 2) return value;
  const double by_overhead = ByOverhead(overhead_curves_.at(SplitAxis::kProcesses).ValueAt(processes),
                                        overhead_curves_.at(SplitAxis::kThreads).ValueAt(threads));
  return std::pow(value, 1 - overhead_weight_) * std::pow(by_overhead, overhead_weight_);
}

void SeparableFactor::MultiplyDraws(double processes, double threads, std::vector<double>& values) const {
  std::vector<double> own(values.size(), constant_);
  for (const auto& [axis, draws] : draws_) {
    const std::vector<double> of_axis = draws.At(CountAt(processes, threads, axis));
    for (std::size_t i = 0; i < own.size(); ++i) own[i] *= of_axis[i];
  }
  if (overhead_draws_.size() == 2) {
    const std::vector<double> over_processes = overhead_draws_.at(SplitAxis::kProcesses).At(processes);
    const std::vector<double> over_threads = overhead_draws_.at(SplitAxis::kThreads).At(threads);
    for (std::size_t i = 0; i < own.size(); ++i) {
      const double place = first_draw_ + static_cast<double>(i) * std::numbers::phi;  // spreads them evenly
      if (place - std::floor(place) < overhead_weight_) own[i] = ByOverhead(over_processes[i], over_threads[i]);
    }
  }
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= own[i];
}

std::optional<double> SeparableFactor::FitOverhead(const std::vector<FactorRow>& rows, Factor factor,
                                                   const std::vector<Candidate>& candidates,
                                                   const ModelLibrary& library,
                                                   const std::map<SplitAxis, std::vector<double>>& reach,
                                                   std::uint64_t seed) {
  const Effects effects = OverheadEffects(rows, factor);
  const AxisEffects &of_processes = effects.at(SplitAxis::kProcesses), &of_threads = effects.at(SplitAxis::kThreads);
  most_overhead_ = of_processes.rbegin()->second;
  double sum_of_squares = 0;
  for (const FactorRow& row : rows) {
    const double overhead =
        of_processes.at(CountOf(row, SplitAxis::kProcesses)) * of_threads.at(CountOf(row, SplitAxis::kThreads));
    sum_of_squares += std::pow(std::log(std::min(1.0, *row.values[factor])) + std::log1p(overhead), 2);
  }
  if (most_overhead_ < kLeastOverhead) return std::nullopt;
  const auto spare =
      static_cast<double>(rows.size()) - static_cast<double>(of_processes.size() + of_threads.size() - 1);
  const double sigma = spare > 0 ? std::max(kSmallestSigma, std::sqrt(sum_of_squares / spare)) : kAssumedSigma;
  for (const SplitAxis axis : {SplitAxis::kProcesses, SplitAxis::kThreads}) {
    // Runs as if each had the most of the other number, with errors that are rescaled, too.
    const AxisEffects& of_other = effects.at(Other(axis));
    std::vector<DataPoint> points;
    for (const FactorRow& row : rows) {
      const double effect = of_other.at(CountOf(row, Other(axis))), most = of_other.rbegin()->second;
      if (most > kMostRescaled * effect) continue;
      const double overhead = OverheadOf(*row.values[factor]), share = 1 / (1 + overhead * most / effect);
      points.push_back({CountOf(row, axis), share, share * share * sigma * (1 + overhead) * most / effect});
    }
    const std::uint64_t own_seed =
        SeedFor(seed, axis == SplitAxis::kProcesses ? "overhead of processes" : "overhead of threads");
    const Ensemble& curve = overhead_curves_[axis] = FitEnsemble(candidates, points, 1.0, reach.at(axis), own_seed);
    if (!curve.IsUsable()) return std::nullopt;
    overhead_draws_.try_emplace(axis, curve, library.intervals(), SeedFor(own_seed, "draws"));
  }
  return sum_of_squares;
}

double SeparableFactor::ByOverhead(double over_processes, double over_threads) const {
  return 1 / (1 + OverheadOf(over_processes) * OverheadOf(over_threads) / most_overhead_);
}

}  // namespace farscale
