#include "projection/phase_fits.h"

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "base/random.h"
#include "factors/scaling.h"
#include "projection/model_settings.h"

namespace farscale {
namespace {

std::optional<double> LimitOf(Factor factor) {
  return Describe(factor).AtMostOne() ? std::optional(1.0) : std::nullopt;
}

}  // namespace

DataPoint PointOf(const FactorRow& row, Factor factor) {
  return {static_cast<double>(row.cores), *row.values[factor], row.standard_errors[factor]};
}

PhaseFits::PhaseFits(const FactorTable& table, const ModelLibrary& library, const ProjectionOptions& options,
                     const std::string& series, const PhaseId& phase, const std::vector<FactorRow>& rows,
                     const std::vector<FactorRow>& fitted, const Places& places)
    : table_(table),
      library_(library),
      options_(options),
      series_(series),
      phase_(phase),
      rows_(rows),
      fitted_(fitted),
      places_(places),
      grown_(places.largest, library.intervals()) {
  const std::vector<Factor> factors = FittedFactors(fitted_);
  std::vector<Ensemble> ensembles(factors.size());
  ParallelFor(factors.size(), [&](std::size_t i) {
    ensembles[i] = FitEnsemble(CandidatesFor(factors[i]), Points(factors[i]), LimitOf(factors[i]), places_.reach,
                               SeedOf(factors[i]), options_.models.weighs_alike);
  });
  for (std::size_t i = 0; i < factors.size(); ++i) AddFitted(factors[i], std::move(ensembles[i]));
  WeighGrown();
}

std::vector<DataPoint> PhaseFits::Points(Factor factor) const {
  std::vector<DataPoint> points;
  for (const FactorRow& row : fitted_) {
    if (row.values[factor]) points.push_back(PointOf(row, factor));
  }
  return points;
}

// Global efficiency is fitted as a whole where times are all that is known.
std::vector<Candidate> PhaseFits::CandidatesFor(Factor factor) const {
  const bool is_of_times = factor == Factor::kGlobalEfficiency && ScalingOf(table_, rows_) == Scaling::kStrong;
  return Candidates(options_.models.For(phase_, factor), library_, ModelRole::kCores, factor, is_of_times);
}

// It depends on the factor alone: the same values give the same numbers, whatever they are called.
std::uint64_t PhaseFits::SeedOf(Factor factor) const { return SeedFor(options_.seed, Describe(factor).id); }

void PhaseFits::AddFitted(Factor factor, Ensemble fitted) {
  const Ensemble& ensemble = ensembles_.emplace(factor, std::move(fitted)).first->second;
  FactorProjection projection;
  projection.factor = factor;
  if (!ensemble.members.empty()) projection.fit = ensemble.members.front().fit;
  projection.candidates = CandidatesIn(ensemble);
  if (ensemble.IsUsable()) {
    projection.formula = ensemble.members.front().model->formula.text();
    usable_.push_back(factor);
    const std::uint64_t seed = SeedOf(factor);
    draws_.try_emplace(factor, ensemble, library_.intervals(), SeedFor(seed, "draws"));
    AddGrown(factor, CandidatesFor(factor), seed, projection);
    if (factor == Factor::kLoadBalance) AddLoads(seed, projection);
  }
  projections_.push_back(std::move(projection));
}

const GrownPhase& PhaseFits::Grown() const {
  static const GrownPhase kNone;
  for (const GrownPhase& grown : options_.grown) {
    if (grown.series == series_ && PhaseId(grown.phase) == phase_) return grown;
  }
  return kNone;
}

// The error of the product of the grown factors is known only where that is parallel efficiency.
void PhaseFits::WeighGrown() {
  const std::vector<Factor> parts = PartsOf(Factor::kParallelEfficiency, usable_);
  const bool is_known = !parts.empty() && std::ranges::all_of(usable_, [&](Factor factor) {
    return grown_.Contains(factor) == (std::ranges::find(parts, factor) != parts.end());
  });
  std::optional<GrowthError> of_product;
  if (is_known) of_product = ErrorOfGrowth(Factor::kParallelEfficiency, Grown(), rows_, places_.largest);
  grown_.Weigh(draws_, places_.reach, of_product);
}

// Grown runs, where there are any, as the second predictor of a factor.
void PhaseFits::AddGrown(Factor factor, const std::vector<Candidate>& candidates, std::uint64_t seed,
                         FactorProjection& projection) {
  projection.grown = GrownPoints(factor, Grown().runs, places_.largest);
  if (projection.grown.empty()) return;
  std::vector<DataPoint> points = Points(factor);
  std::erase_if(points, [](const DataPoint& point) { return point.value <= 0; });  // have no logarithm
  points.insert(points.end(), projection.grown.begin(), projection.grown.end());
  Ensemble ensemble = FitEnsemble(candidates, points, LimitOf(factor), places_.reach, SeedFor(seed, "grown"),
                                  options_.models.weighs_alike);
  if (!ensemble.IsUsable()) return;
  grown_.Add(factor, std::move(ensemble), ErrorOfGrowth(factor, Grown(), rows_, places_.largest), seed);
}

// Loads as one more candidate for load balance, behind the heaviest curve, unless somebody chose the models.
void PhaseFits::AddLoads(std::uint64_t seed, FactorProjection& projection) {
  if (!options_.models.For(phase_, Factor::kLoadBalance).where.empty()) return;
  loads_ = LoadBalanceByLoads::From(fitted_, SeedFor(seed, kLoadsModel));
  if (!loads_) return;
  for (CandidateModel& candidate : projection.candidates) candidate.weight *= 1 - kWeightOfLoads;
  CandidateModel candidate{kLoadsModel, 1, FitOutcome::kConverged, kWeightOfLoads, {}, {}, {}};
  for (const double cores : places_.targets) candidate.values.push_back(loads_->ValueAt(cores));
  projection.candidates.insert(projection.candidates.begin() + 1, std::move(candidate));
}

std::vector<CandidateModel> PhaseFits::CandidatesIn(const Ensemble& ensemble) const {
  std::vector<CandidateModel> candidates;
  for (const Member& member : ensemble.members) {
    CandidateModel candidate{member.model->id,
                             member.fit.dimension,
                             member.fit.outcome,
                             member.weight,
                             member.fit.names,
                             member.fit.parameters,
                             {}};
    for (std::size_t i = 0; i < places_.targets.size() && IsUsable(member.fit.outcome); ++i) {
      candidate.values.push_back(member.Evaluate(places_.targets[i], member.fit.parameters));
    }
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

namespace {

constexpr double kLeastCurveLoss = 1e-6;  // whose logarithm counts in the average; chosen: below what can be measured

}  // namespace

// Logarithms of losses are averaged, as those of curves are.
double PhaseFits::ByCurvesAt(Factor factor, double cores) const {
  const double by_curves = ensembles_.at(factor).ValueAt(cores);
  const LoadBalanceByLoads* loads = Loads(factor);
  if (loads == nullptr) return by_curves;
  const auto logarithm_of_loss = [](double value) { return std::log(std::max(-std::log(value), kLeastCurveLoss)); };
  return std::exp(-std::exp(kWeightOfLoads * logarithm_of_loss(loads->ValueAt(cores)) +
                            (1 - kWeightOfLoads) * logarithm_of_loss(by_curves)));
}

double PhaseFits::ValueAt(Factor factor, double cores) const {
  const double weight = GrownWeightAt(factor, cores), by_curves = ByCurvesAt(factor, cores);
  if (weight == 0) return by_curves;
  return std::pow(grown_.ValueAt(factor, cores), weight) * std::pow(by_curves, 1 - weight);
}

std::vector<double> PhaseFits::DrawsAt(Factor factor, double cores) const {
  std::vector<double> draws = draws_.at(factor).At(cores);
  // Draws have no order, so the last are as good as any. Grown runs replace the first.
  if (const LoadBalanceByLoads* loads = Loads(factor)) {
    const std::vector<double> of_loads = loads->DrawsAt(cores);
    std::copy_n(of_loads.rbegin(), std::llround(kWeightOfLoads * static_cast<double>(draws.size())), draws.rbegin());
  }
  const double weight = GrownWeightAt(factor, cores);
  if (weight == 0) return draws;
  // Draws have no order, so the first are as good as any. The same ones of every factor: where a program was
  // understood wrong, all factors of its grown runs are.
  const std::vector<double> of_grown = grown_.DrawsAt(factor, cores);
  const auto count = static_cast<std::ptrdiff_t>(std::llround(weight * static_cast<double>(draws.size())));
  std::copy(of_grown.begin(), of_grown.begin() + count, draws.begin());
  return draws;
}

}  // namespace farscale
