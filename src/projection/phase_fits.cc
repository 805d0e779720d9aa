#include "projection/phase_fits.h"

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "base/random.h"
#include "factors/scaling.h"
#include "projection/model_settings.h"

namespace farscale {

DataPoint PointOf(const FactorRow& row, Factor factor) {
  return {static_cast<double>(row.cores), *row.values[factor], row.standard_errors[factor]};
}

namespace {

std::vector<DataPoint> PointsOf(const std::vector<FactorRow>& rows, Factor factor) {
  std::vector<DataPoint> points;
  for (const FactorRow& row : rows) {
    if (row.values[factor]) points.push_back(PointOf(row, factor));
  }
  return points;
}

std::vector<CandidateModel> CandidatesIn(const Ensemble& ensemble, const std::vector<double>& targets) {
  std::vector<CandidateModel> candidates;
  for (const Member& member : ensemble.members) {
    CandidateModel candidate{member.model->id,
                             member.fit.dimension,
                             member.fit.outcome,
                             member.weight,
                             member.fit.names,
                             member.fit.parameters,
                             {}};
    for (std::size_t i = 0; i < targets.size() && IsUsable(member.fit.outcome); ++i) {
      candidate.values.push_back(member.Evaluate(targets[i], member.fit.parameters));
    }
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

}  // namespace

PhaseFits FitPhase(const FactorTable& table, const ModelLibrary& library, const ProjectionOptions& options,
                   const PhaseKey& key, const std::vector<FactorRow>& fitted, const FitPlaces& places) {
  const std::vector<FactorRow> rows = table.Rows(key);
  static const GrownPhase kNone;
  const auto found = std::ranges::find_if(options.grown, [&](const GrownPhase& one) {
    return one.series == key.series && PhaseId(one.phase) == key.phase;
  });
  const GrownPhase& grown = found == options.grown.end() ? kNone : *found;
  PhaseFits fits{{}, {}, {}, {}, {}, GrownFactors(places.largest, library.intervals())};
  // It depends on the factor alone: the same values give the same numbers, whatever they are called.
  const auto seed_of = [&](Factor factor) { return SeedFor(options.seed, Describe(factor).id); };
  // Global efficiency is fitted as a whole where times are all that is known.
  const auto candidates_for = [&](Factor factor) {
    const bool is_of_times = factor == Factor::kGlobalEfficiency && ScalingOf(table, rows) == Scaling::kStrong;
    return Candidates(options.models.For(key.phase, factor), library, ModelRole::kCores, factor, is_of_times);
  };
  const auto fit = [&](Factor factor, const std::vector<DataPoint>& points, std::uint64_t seed) {
    const std::optional<double> limit = Describe(factor).AtMostOne() ? std::optional(1.0) : std::nullopt;
    return FitEnsemble(candidates_for(factor), points, limit, places.reach, seed, options.models.weighs_alike);
  };
  // Grown runs, where there are any, as the second predictor of a factor.
  const auto add_grown = [&](FactorProjection& projection) {
    const Factor factor = projection.factor;
    projection.grown = GrownPoints(factor, grown.runs, places.largest);
    if (projection.grown.empty()) return;
    std::vector<DataPoint> points = PointsOf(fitted, factor);
    std::erase_if(points, [](const DataPoint& point) { return point.value <= 0; });  // have no logarithm
    points.insert(points.end(), projection.grown.begin(), projection.grown.end());
    Ensemble ensemble = fit(factor, points, SeedFor(seed_of(factor), "grown"));
    if (!ensemble.IsUsable()) return;
    fits.grown.Add(factor, std::move(ensemble), ErrorOfGrowth(factor, grown, rows, places.largest), seed_of(factor));
  };
  // Loads as one more candidate for load balance, behind the heaviest curve, unless somebody chose the models.
  const auto add_loads = [&](FactorProjection& projection) {
    if (!options.models.For(key.phase, Factor::kLoadBalance).where.empty()) return;
    fits.loads = LoadBalanceByLoads::From(fitted, SeedFor(seed_of(Factor::kLoadBalance), kLoadsModel));
    if (!fits.loads) return;
    for (CandidateModel& candidate : projection.candidates) candidate.weight *= 1 - kWeightOfLoads;
    CandidateModel candidate{kLoadsModel, 1, FitOutcome::kConverged, kWeightOfLoads, {}, {}, {}};
    for (const double cores : places.targets) candidate.values.push_back(fits.loads->ValueAt(cores));
    projection.candidates.insert(projection.candidates.begin() + 1, std::move(candidate));
  };

  const std::vector<Factor> factors = FittedFactors(fitted);
  std::vector<Ensemble> ensembles(factors.size());
  ParallelFor(factors.size(), [&](std::size_t i) {
    ensembles[i] = fit(factors[i], PointsOf(fitted, factors[i]), seed_of(factors[i]));
  });
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const Ensemble& ensemble = fits.ensembles.emplace(factors[i], std::move(ensembles[i])).first->second;
    FactorProjection& projection = fits.projections.emplace_back();
    projection.factor = factors[i];
    if (!ensemble.members.empty()) projection.fit = ensemble.members.front().fit;
    projection.candidates = CandidatesIn(ensemble, places.targets);
    if (!ensemble.IsUsable()) continue;
    projection.formula = ensemble.members.front().model->formula.text();
    fits.usable.push_back(factors[i]);
    fits.draws.try_emplace(factors[i], ensemble, library.intervals(), SeedFor(seed_of(factors[i]), "draws"));
    add_grown(projection);
    if (factors[i] == Factor::kLoadBalance) add_loads(projection);
  }
  // The error of the product of the grown factors is known only where that is parallel efficiency.
  const std::vector<Factor> parts = PartsOf(Factor::kParallelEfficiency, fits.usable);
  const bool is_known = !parts.empty() && std::ranges::all_of(fits.usable, [&](Factor factor) {
    return fits.grown.Contains(factor) == (std::ranges::find(parts, factor) != parts.end());
  });
  std::optional<GrowthError> of_product;
  if (is_known) of_product = ErrorOfGrowth(Factor::kParallelEfficiency, grown, rows, places.largest);
  fits.grown.Weigh(fits.draws, places.reach, of_product);
  return fits;
}

// Logarithms of losses are averaged, as those of curves are.
double PhaseFits::ByCurvesAt(Factor factor, double cores) const {
  constexpr double kLeastLoss = 1e-6;  // whose logarithm counts in the average; chosen: below what can be measured
  const double by_curves = ensembles.at(factor).ValueAt(cores);
  const LoadBalanceByLoads* by_loads = Loads(factor);
  if (by_loads == nullptr) return by_curves;
  const auto logarithm_of_loss = [&](double value) { return std::log(std::max(-std::log(value), kLeastLoss)); };
  return std::exp(-std::exp(kWeightOfLoads * logarithm_of_loss(by_loads->ValueAt(cores)) +
                            (1 - kWeightOfLoads) * logarithm_of_loss(by_curves)));
}

double PhaseFits::ValueAt(Factor factor, double cores) const {
  const double weight = GrownWeightAt(factor, cores), by_curves = ByCurvesAt(factor, cores);
  if (weight == 0) return by_curves;
  return std::pow(grown.ValueAt(factor, cores), weight) * std::pow(by_curves, 1 - weight);
}

std::vector<double> PhaseFits::DrawsAt(Factor factor, double cores) const {
  std::vector<double> values = draws.at(factor).At(cores);
  // Draws have no order, so the last are as good as any. Grown runs replace the first.
  if (const LoadBalanceByLoads* by_loads = Loads(factor)) {
    const std::vector<double> of_loads = by_loads->DrawsAt(cores);
    std::copy_n(of_loads.rbegin(), std::llround(kWeightOfLoads * static_cast<double>(values.size())), values.rbegin());
  }
  const double weight = GrownWeightAt(factor, cores);
  if (weight == 0) return values;
  // Draws have no order, so the first are as good as any. The same ones of every factor: where a program was
  // understood wrong, all factors of its grown runs are.
  const std::vector<double> of_grown = grown.DrawsAt(factor, cores);
  const auto count = static_cast<std::ptrdiff_t>(std::llround(weight * static_cast<double>(values.size())));
  std::copy(of_grown.begin(), of_grown.begin() + count, values.begin());
  return values;
}

}  // namespace farscale
