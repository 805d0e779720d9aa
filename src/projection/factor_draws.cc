#include "projection/factor_draws.h"

#include <algorithm>
#include <cmath>

#include "stats/sample_quantiles.h"

namespace farscale {
namespace {

// Of numbers whose squares are, which takes less time than std::hypot.
double Hypotenuse(double a, double b) { return std::sqrt(a * a + b * b); }

}  // namespace

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
  // What may exceed 1 may also gain.
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
  if (!(learning.loss * seen_loss > 0)) return at_cores;  // no multiple of the loss explains the outcome
  return at_cores * std::pow(seen_loss / learning.loss, learning.of_drift);
}

}  // namespace farscale
