#include "projection/load_balance_by_loads.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/random.h"
#include "factors/factor_table.h"
#include "models/ensemble.h"
#include "stats/distributions.h"
#include "stats/sample_quantiles.h"

namespace farscale {
namespace {

// Growth of the largest load with the number of ranks, as share of that of normal loads. Believed like the growth
// seen on so many ranks; chosen, with the other constants here, on the traces without the program that was predicted
// [docs/accuracy.md], which they hardly matter to.
constexpr double kRanksOfPrior = 8;
constexpr double kLargestGrowth = 2;  // beyond it a single rank sticks out, which says nothing of how more ranks would
constexpr double kFewestRanks = 4;    // to see growth from half of them to all

// The trend of the spread by doubling: usually none.
constexpr double kUsualTrend = 0.1;       // standard deviation over programs
constexpr double kStructure = 0.3;        // deviation of the logarithm of a spread from its trend, for whatever reason
constexpr double kUnseenSpread = 0.01;    // below it spreads are as good as equal
constexpr std::size_t kFewestCounts = 3;  // to predict, and to see a trend

// Errors of draws, so that nominal 80 % intervals cover 80 % of held-out points of the traces.
constexpr double kLevelError = 0.25;    // on the logarithm of the excess, from the first doubling on
constexpr double kNewLossShare = 0.15;  // as for curves
constexpr double kNewLoss = 0.025;

template <typename Value>
std::optional<double> MeanOf(const std::vector<const FactorRow*>& runs, Value value) {
  double sum = 0, known = 0;
  for (const FactorRow* run : runs) {
    const std::optional<double> one = value(*run);
    if (!one) continue;
    sum += *one;
    ++known;
  }
  return known > 0 ? std::optional(sum / known) : std::nullopt;
}

// Excess of the largest load over the mean on more ranks, or fewer, over its present excess.
double GrowthBetween(double from_ranks, double to_ranks, double growth) {
  const double from = ExpectedLargestNormal(from_ranks), to = ExpectedLargestNormal(to_ranks);
  return from > 0 ? std::max(0.0, 1 + growth * (to / from - 1)) : 1;
}

// For numbers whose squares do not overflow; takes less time than std::hypot.
double Hypotenuse(double a, double b) { return std::sqrt(a * a + b * b); }

}  // namespace

double ExpectedLargestNormal(double count) { return count > 1 ? -NormalQuantile(0.625 / (count + 0.25)) : 0; }

std::optional<LoadBalanceByLoads> LoadBalanceByLoads::From(const std::vector<FactorRow>& rows, std::uint64_t seed) {
  std::map<std::int64_t, std::vector<const FactorRow*>> by_cores;
  for (const FactorRow& row : rows) {
    if (row.values[Factor::kLoadBalance].value_or(0) > 0) by_cores[row.cores].push_back(&row);
  }
  std::vector<Level> levels;
  for (const auto& [cores, runs] : by_cores) {
    Level& level = levels.emplace_back();
    level.cores = static_cast<double>(cores);
    level.ranks = *MeanOf(runs, [](const FactorRow& run) { return std::optional(static_cast<double>(run.ranks)); });
    level.excess = *MeanOf(runs, [](const FactorRow& run) {
      return std::optional(std::max(0.0, 1 / *run.values[Factor::kLoadBalance] - 1));
    });
    level.excess_of_half = MeanOf(runs, [](const FactorRow& run) -> std::optional<double> {
      if (!run.loads || !run.loads->largest_of_half) return std::nullopt;
      return *run.loads->largest_of_half - 1;
    });
    // The part of the variance over ranks that is the same in all iterations; all of it where that is not known.
    level.persistent_share = *MeanOf(runs, [](const FactorRow& run) -> std::optional<double> {
      if (!run.loads || !run.loads->persistent || !run.loads->noise) return 1;
      const double persistent = std::pow(*run.loads->persistent, 2);
      const double noise = std::pow(*run.loads->noise, 2) / run.iterations;
      return persistent + noise > 0 ? persistent / (persistent + noise) : 1;
    });
  }
  if (levels.size() < kFewestCounts || !levels.back().excess_of_half) return std::nullopt;
  // The number of ranks must be predictable: it grows with the cores, to less than a rank.
  const double per_core = levels.back().ranks / levels.back().cores;
  const bool grow_alike = std::ranges::all_of(
      levels, [&](const Level& level) { return std::fabs(level.ranks - per_core * level.cores) < 1 - 1e-9; });
  if (!grow_alike) return std::nullopt;
  return LoadBalanceByLoads(std::move(levels), seed);
}

LoadBalanceByLoads::LoadBalanceByLoads(std::vector<Level> levels, std::uint64_t seed)
    : levels_(std::move(levels)), growth_(GrowthOfLargest()) {
  persistent_ = TrendOf([](const Level& level) { return level.persistent_share; });
  noise_ = TrendOf([](const Level& level) { return 1 - level.persistent_share; });
  Random random(seed);
  for (std::size_t i = 0; i < kFactorDraws; ++i) {
    Errors errors{random.Normal(), random.Normal(), random.Normal(), random.Normal(), 0};
    if (random.Uniform() < kNewLossShare) errors.new_loss = kNewLoss * random.Exponential();
    draws_.push_back(errors);
  }
}

// From half of the ranks to all, within the largest run: 1 for normal loads, 0 where many ranks are the largest. Where
// a single rank sticks out, the growth from run to run says more.
double LoadBalanceByLoads::GrowthOfLargest() const {
  const Level& last = levels_.back();
  if (last.ranks < kFewestRanks || last.excess == 0) return 1;
  const double normal = 1 - ExpectedLargestNormal(std::floor(last.ranks / 2)) / ExpectedLargestNormal(last.ranks);
  const double within = std::max(0.0, (1 - *last.excess_of_half / last.excess) / normal);
  std::vector<double> from_run_to_run;
  for (std::size_t i = 1; i < levels_.size() && within > kLargestGrowth; ++i) {
    const Level &from = levels_[i - 1], &to = levels_[i];
    if (from.ranks < kFewestRanks || from.excess == 0 || to.ranks <= from.ranks) continue;
    const double of_normal = ExpectedLargestNormal(to.ranks) / ExpectedLargestNormal(from.ranks) - 1;
    from_run_to_run.push_back((to.excess / from.excess - 1) / of_normal);
  }
  if (!from_run_to_run.empty()) return std::clamp(Median(from_run_to_run), 0.0, 1.0);
  return (kRanksOfPrior + last.ranks * std::min(within, kLargestGrowth)) / (kRanksOfPrior + last.ranks);
}

// The line through the logarithms of the spreads, as far as they show it: each errs as the deviation of so many normal
// values does, and by what no law describes. A normal prior around no trend.
template <typename Share>
LoadBalanceByLoads::Trend LoadBalanceByLoads::TrendOf(Share share) const {
  std::vector<double> x, y, weights;
  for (const Level& level : levels_) {
    if (level.ranks < 3) continue;
    const double excess =
        level.excess * std::sqrt(share(level)) * GrowthBetween(level.ranks, levels_.back().ranks, growth_);
    x.push_back(std::log2(level.ranks));
    y.push_back(std::log(excess + kUnseenSpread));
    weights.push_back(1 / (kStructure * kStructure + 1 / (2 * (level.ranks - 1))));
  }
  if (x.size() < kFewestCounts) return {0, kUsualTrend};
  double sum = 0, mean_x = 0, mean_y = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    sum += weights[i];
    mean_x += weights[i] * x[i];
    mean_y += weights[i] * y[i];
  }
  mean_x /= sum;
  mean_y /= sum;
  double xx = 0, xy = 0, rest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += weights[i] * (x[i] - mean_x) * (x[i] - mean_x);
    xy += weights[i] * (x[i] - mean_x) * (y[i] - mean_y);
  }
  if (!(xx > 0)) return {0, kUsualTrend};
  for (std::size_t i = 0; i < x.size(); ++i) {
    rest += weights[i] * std::pow(y[i] - mean_y - xy / xx * (x[i] - mean_x), 2);
  }
  // Where the values lie further from the line than they should, it is known less.
  const double variance = std::max(1.0, rest / (static_cast<double>(x.size()) - 2)) / xx;
  const double prior = kUsualTrend * kUsualTrend, believed = prior / (prior + variance);
  return {believed * xy / xx, std::sqrt(believed * variance)};
}

double LoadBalanceByLoads::ExcessBeyond(double cores, double persistent_slope, double noise_slope,
                                        double growth) const {
  const Level& last = levels_.back();
  const double ranks = last.ranks * cores / last.cores, doublings = std::log2(cores / last.cores);
  const double variance = last.persistent_share * std::exp(2 * doublings * persistent_slope) +
                          (1 - last.persistent_share) * std::exp(2 * doublings * noise_slope);
  return last.excess * GrowthBetween(last.ranks, ranks, growth) * std::sqrt(variance);
}

double LoadBalanceByLoads::ValueAt(double cores) const {
  if (cores >= levels_.back().cores) {
    return 1 / (1 + ExcessBeyond(cores, persistent_.slope, noise_.slope, growth_));
  }
  const auto above = std::ranges::upper_bound(levels_, cores, {}, &Level::cores);
  if (above == levels_.begin()) {
    const double ranks = above->ranks * cores / above->cores;
    return 1 / (1 + above->excess * GrowthBetween(above->ranks, ranks, growth_));
  }
  const Level &from = *(above - 1), &to = *above;
  const double share = std::log(cores / from.cores) / std::log(to.cores / from.cores);
  return 1 / (1 + from.excess + share * (to.excess - from.excess));
}

std::vector<double> LoadBalanceByLoads::DrawsAt(double cores) const {
  const double doublings = Doublings(cores, levels_.back().cores);
  const double value = ValueAt(cores), normal = ExpectedLargestNormal(levels_.back().ranks);
  // The largest of so many random values varies by about 1 / k of their deviation, in the largest run and in the new.
  const double chance = growth_ / (1 + normal * normal);
  const double level_error = std::hypot(kLevelError * std::min(1.0, doublings), chance);
  std::vector<double> values;
  values.reserve(draws_.size());
  for (const Errors& errors : draws_) {
    double excess = 1 / value - 1;
    if (doublings > 0) {
      excess =
          ExcessBeyond(cores, persistent_.slope + persistent_.deviation * errors.persistent,
                       noise_.slope + noise_.deviation * errors.noise, std::max(0.0, growth_ + chance * errors.growth));
    }
    excess = excess * std::exp(level_error * errors.level) + errors.new_loss * doublings;
    values.push_back(1 / (1 + excess));
  }
  return values;
}

double Doublings(double cores, double from) { return std::max(0.0, std::log2(cores / from)); }

FactorDraws::FactorDraws(const Ensemble& ensemble, const IntervalConstants& intervals, std::uint64_t seed)
    : ensemble_(ensemble), intervals_(intervals) {
  Random random(seed);
  std::vector<double> own;
  for (const DataPoint& point : ensemble.members.front().fit.points) {
    anchor_ = std::max(anchor_, point.cores);
    if (point.standard_error && point.value > 0) own.push_back(*point.standard_error / point.value);
  }
  if (!own.empty()) own_error_ = Median(own);
  double passed = 0;
  std::size_t taken = 0, curve_count = 0;
  for (const Member& member : ensemble.members) {
    Curves& curves = curves_.emplace_back(Curves{&member, {}, 0});
    curves.columns.resize(member.fit.parameters.size());
    for (std::size_t i = 0; i < member.posterior.draws.size() && member.weight > 0; ++i) {
      passed += member.weight * member.posterior.weights[i];
      const CurveDraw& curve = member.posterior.draws[i];
      const std::size_t before = taken;
      // Evenly spaced through all the weights: as often as the weight says, give or take one.
      for (; taken < kFactorDraws && (static_cast<double>(taken) + 0.5) / kFactorDraws < passed; ++taken) {
        draws_.push_back({curve_count, curve.scatter, intervals_.DriftAt(curve.scatter), 0, 0, 0});
      }
      if (taken == before) continue;
      for (std::size_t k = 0; k < curves.columns.size(); ++k) curves.columns[k].push_back(curve.parameters[k]);
      ++curves.count;
      ++curve_count;
    }
  }
  while (!draws_.empty() && draws_.size() < kFactorDraws) draws_.push_back(draws_.back());  // rounding of the sum
  random.Shuffle(draws_);
  for (Draw& draw : draws_) {
    draw.drift = random.Normal();
    draw.noise = random.Normal();
    if (random.Uniform() < intervals_.new_loss_share) {
      draw.new_loss = intervals_.NewLossAt(draw.scatter) * random.Exponential();
    }
  }
}

double FactorDraws::Disturb(const Draw& draw, const Draw& of_curve, double loss, double doublings) const {
  const bool has_limit = ensemble_.limit.has_value();
  const double shape = ShapeOfLoss(loss);
  if (doublings > 0) loss *= std::exp(of_curve.deviation * doublings * draw.drift);
  // Factors that may exceed 1 may also gain.
  loss += draw.new_loss * doublings * (has_limit || draw.drift > 0 ? 1 : -1);
  loss += Hypotenuse(own_error_, of_curve.scatter * shape) * draw.noise;
  return has_limit ? std::max(0.0, loss) : loss;
}

std::vector<double> FactorDraws::CurvesAt(double cores) const { return OfDraws(ValuesOfCurves(cores)); }

std::vector<double> FactorDraws::LossesAt(double cores) const {
  std::vector<double> losses = ValuesOfCurves(cores);
  for (double& loss : losses) loss = -std::log(loss);
  return OfDraws(losses);
}

std::vector<double> FactorDraws::ValuesOfCurves(double cores) const {
  std::vector<double> of_curves;
  for (const Curves& curves : curves_) {
    const std::size_t first = of_curves.size();
    of_curves.resize(first + curves.count);
    if (curves.count > 0) {
      curves.member->At(cores).Evaluate(ColumnsOf(curves.columns), curves.count, of_curves.data() + first);
    }
    for (std::size_t i = first; i < of_curves.size(); ++i) of_curves[i] = curves.member->CutOff(of_curves[i]);
  }
  return of_curves;
}

std::vector<double> FactorDraws::OfDraws(const std::vector<double>& of_curves) const {
  std::vector<double> values;
  values.reserve(draws_.size());
  for (const Draw& draw : draws_) values.push_back(of_curves[draw.curve]);
  return values;
}

std::vector<double> FactorDraws::At(double cores) const {
  std::vector<double> values = LossesAt(cores);
  const double doublings = Doublings(cores, anchor_);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = std::exp(-Disturb(draws_[i], draws_[i], values[i], doublings));
  }
  return values;
}

double FactorDraws::LogDeviation(std::size_t draw, double value, double cores) const {
  const double loss = -std::log(value), scatter = Hypotenuse(own_error_, draws_[draw].scatter * ShapeOfLoss(loss));
  return Hypotenuse(scatter, draws_[draw].deviation * Doublings(cores, anchor_) * loss);
}

FactorDraws::Learning FactorDraws::LearningAt(std::size_t draw, double value, double run) const {
  const double loss = -std::log(value);
  const double drift = draws_[draw].deviation * Doublings(run, anchor_) * loss;
  const double scatter = Hypotenuse(own_error_, draws_[draw].scatter * ShapeOfLoss(loss));
  return {loss, drift * drift / (drift * drift + scatter * scatter)};
}

std::vector<double> FactorDraws::AfterRun(const std::vector<double>& losses, const std::vector<std::size_t>& chosen,
                                          double cores, double run) const {
  const double doublings = Doublings(cores, std::max(anchor_, run));
  std::vector<double> after;
  after.reserve(draws_.size());
  for (std::size_t i = 0; i < draws_.size(); ++i) {
    after.push_back(Disturb(draws_[i], draws_[chosen[i]], losses[i], doublings));
  }
  return after;
}

double LossAfter(double at_cores, const FactorDraws::Learning& learning, double seen_loss) {
  const auto [loss, of_drift] = learning;
  if (!(loss * seen_loss > 0)) return at_cores;  // no multiple of the loss explains the outcome
  return at_cores * std::pow(seen_loss / loss, of_drift);
}

}  // namespace farscale
