#include "projection/projection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "factors/factor_table.h"
#include "projection/backtest.h"
#include "projection/phase_fits.h"

namespace farscale {

namespace anomaly {
constexpr Anomaly kModelNotUsed{
    "modelNotUsed", Severity::kWarning,
    "factors have a model of their own that is not used: they are products of other factors, or unknown here"};
}  // namespace anomaly

namespace {

constexpr int kCurvePointsPerDoubling = 4;  // chosen: curves look smooth

// Projects one phase of one series.
class PhaseProjector {
 public:
  // `only_targets`: no curves, and nothing that is read off them.
  PhaseProjector(std::vector<FactorRow> rows, bool only_targets)
      : only_targets_(only_targets), rows_(std::move(rows)) {}

  PhaseProjection Run(const FactorTable& table, const ModelLibrary& library, const ProjectionOptions& options,
                      const PhaseKey& key) {
    result_.series = key.series;
    result_.phase = key.phase;
    std::set<double> cores;
    for (const FactorRow& row : rows_) {
      if (options.train_max && static_cast<double>(row.cores) > *options.train_max) continue;
      fitted_rows_.push_back(row);
      cores.insert(static_cast<double>(row.cores));
    }
    if (const auto several = CoresOfSeveralSplits(PointersTo(fitted_rows_))) {
      result_.obstacle = fmt::format(
          "runs on {} cores are divided differently into processes and threads, so there is no curve over cores",
          *several);
      return std::move(result_);
    }
    result_.fitted_cores.assign(cores.begin(), cores.end());
    if (!cores.empty()) MakeGrid(options.targets);
    fits_.emplace(FitPhase(table, library, options, key, fitted_rows_, places_));
    result_.factors = std::move(fits_->projections);
    FindValues();
    if (cores.size() < 2) {
      result_.obstacle = cores.empty() ? "no run lies within the training range"
                                       : "a fit needs runs at two core counts at least, there is one";
    } else if (fits_->usable.empty()) {
      result_.obstacle = "no factor could be fitted";
    }
    if (result_.obstacle.empty()) {
      for (FactorProjection& projection : result_.factors) {
        if (fits_->ensembles.at(projection.factor).IsUsable()) Fill(projection, {projection.factor});
      }
      AddProducts();
      AddSpeedup(table.reference);
      std::ranges::stable_sort(result_.factors, {}, &FactorProjection::factor);
      if (!only_targets_) FindDominance();
    }
    if (only_targets_) return std::move(result_);
    for (FactorProjection& projection : result_.factors) {
      for (const FactorRow& row : rows_) {
        if (row.values[projection.factor]) projection.measured.push_back(PointOf(row, projection.factor));
      }
    }
    result_.reliable_range = FindReliableRange(result_, options.reliability_limits);
    if (options.next_runs && result_.obstacle.empty()) FindNextRuns();
    return std::move(result_);
  }

 private:
  // Values of all usable factors at all places of the grid, place by place in parallel.
  void FindValues() {
    for (const Factor factor : fits_->usable) {
      std::vector<std::vector<double>>& drawn = drawn_[factor];
      std::vector<double>& values = values_[factor];
      drawn.resize(grid_.size());
      values.resize(grid_.size());
      ParallelFor(grid_.size(), [&](std::size_t place) {
        drawn[place] = fits_->DrawsAt(factor, grid_[place]);
        values[place] = fits_->ValueAt(factor, grid_[place]);
      });
    }
  }

  void MakeGrid(const std::vector<double>& wanted) {
    std::vector<double>&targets = places_.targets, &reach = places_.reach;
    places_.largest = result_.fitted_cores.back();
    targets = wanted.empty() ? DefaultTargets(places_.largest) : wanted;
    std::sort(targets.begin(), targets.end());
    targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
    const double first = std::min(result_.fitted_cores.front(), targets.front());
    const double last = std::max(places_.largest, targets.back());
    const int steps = std::max(1, static_cast<int>(std::ceil(kCurvePointsPerDoubling * std::log2(last / first))));
    for (int i = 0; i <= steps; ++i) reach.push_back(first * std::pow(last / first, static_cast<double>(i) / steps));
    reach.back() = last;
    reach.insert(reach.end(), result_.fitted_cores.begin(), result_.fitted_cores.end());
    reach.insert(reach.end(), targets.begin(), targets.end());
    const std::vector<double> runs = CandidateRuns(result_.fitted_cores, targets.back());  // to know their cost
    reach.insert(reach.end(), runs.begin(), runs.end());
    std::sort(reach.begin(), reach.end());
    reach.erase(std::unique(reach.begin(), reach.end()), reach.end());
    grid_ = only_targets_ ? targets : reach;
  }

  // A product of fitted factors at all places of the grid. Several factors may have the same parts.
  const std::vector<ProjectedValue>& ProductOf(const std::vector<Factor>& parts) {
    const auto [found, is_new] = products_.try_emplace(parts, grid_.size());
    std::vector<ProjectedValue>& products = found->second;  // clang 14 captures no structured bindings
    if (!is_new) return products;
    ParallelFor(grid_.size(), [&](std::size_t place) {
      std::vector<double> draws(kFactorDraws, 1.0);
      double product = 1;
      for (const Factor part : parts) {
        const std::vector<double>& of_part = drawn_.at(part)[place];
        for (std::size_t i = 0; i < draws.size(); ++i) draws[i] *= of_part[i];
        product *= values_.at(part)[place];
      }
      PlaceIntervals(draws, {0.80, 0.95});
      products[place] = {grid_[place], grid_[place] / places_.largest, product, IntervalOf(draws, 0.80, product),
                         IntervalOf(draws, 0.95, product)};
    });
    return products;
  }

  // A product of fitted factors in the unit that `in_unit`(product, cores) makes of it, which must rise with the
  // product.
  template <typename InUnit>
  void Fill(FactorProjection& projection, const std::vector<Factor>& parts, InUnit in_unit) {
    for (ProjectedValue value : ProductOf(parts)) {
      value.value = in_unit(value.value, value.cores);
      for (std::optional<IntervalBounds>* bounds : {&value.interval80, &value.interval95}) {
        *bounds = IntervalBounds{in_unit((*bounds)->low, value.cores), in_unit((*bounds)->high, value.cores)};
      }
      projection.curve.push_back(value);
      if (std::binary_search(places_.targets.begin(), places_.targets.end(), value.cores))
        projection.targets.push_back(value);
    }
    // Values by curves and by grown runs, where all of the factors were grown.
    if (!std::ranges::all_of(parts, [&](Factor part) { return fits_->grown.Contains(part); })) return;
    for (const double cores : places_.targets) {
      PredictorValues values{cores, 1, 1, fits_->grown.WeightAt(cores)};
      for (const Factor part : parts) {
        values.curves *= fits_->ByCurvesAt(part, cores);
        values.grown *= fits_->grown.ValueAt(part, cores);
      }
      values.curves = in_unit(values.curves, cores);
      values.grown = in_unit(values.grown, cores);
      projection.predictors.push_back(values);
    }
  }

  void Fill(FactorProjection& projection, const std::vector<Factor>& parts) {
    Fill(projection, parts, [](double product, double) { return product; });
  }

  void AddProducts() {
    for (const FactorType& type : AllFactors()) {
      const std::vector<Factor> parts = PartsOf(type.factor, fits_->usable);
      if (parts.empty() || (parts.size() == 1 && parts.front() == type.factor)) continue;
      FactorProjection& projection = result_.factors.emplace_back();
      projection.factor = type.factor;
      projection.is_product = true;
      Fill(projection, parts);
    }
  }

  // Uses means at the reference, or at the smallest count of a phase that was not run there; not when global efficiency
  // is unknown there, or when cores are not the same number of ranks everywhere.
  void AddSpeedup(std::optional<std::int64_t> reference) {
    const FactorRow& first = rows_.front();
    const auto share = [](const FactorRow& row) {
      return static_cast<double>(row.ranks * row.threads) / static_cast<double>(row.cores);
    };
    std::int64_t anchor_cores = std::numeric_limits<std::int64_t>::max();
    for (const FactorRow& row : rows_) {
      anchor_cores = std::min(anchor_cores, row.cores);
      const bool compare = row.threads == first.threads || (row.IsHybrid() && first.IsHybrid()) ||
                           (KnowsTimesOnly(row) && KnowsTimesOnly(first));
      const double processes = static_cast<double>(std::max(row.cores, first.cores)) / static_cast<double>(row.threads);
      // Groups have the same share of the ranks, to less than a rank.
      if (!compare || !(std::fabs(share(row) - share(first)) * processes < 1 - 1e-9)) return;
    }
    for (const FactorRow& row : rows_) {
      if (row.cores == reference) anchor_cores = row.cores;
    }
    const std::vector<Factor> parts = PartsOf(Factor::kGlobalEfficiency, fits_->usable);
    const std::optional<SpeedupAnchor> anchor = AnchorAt(rows_, anchor_cores);
    if (parts.empty() || !anchor) return;
    FactorProjection& projection = result_.factors.emplace_back();
    projection.factor = Factor::kSpeedup;
    projection.is_product = true;
    Fill(projection, parts, [&](double product, double cores) { return SpeedupFrom(product, cores, *anchor); });
  }

  // Values on the grid are known already.
  Factor DominantAt(const std::vector<Factor>& losses, double cores) const {
    const auto place = std::ranges::lower_bound(grid_, cores);
    const bool is_known = place != grid_.end() && *place == cores;
    Factor worst = losses.front();
    double smallest = std::numeric_limits<double>::infinity();
    for (const Factor factor : losses) {
      const double value = is_known ? values_.at(factor)[static_cast<std::size_t>(place - grid_.begin())]
                                    : fits_->ValueAt(factor, cores);
      if (value < smallest) {
        smallest = value;
        worst = factor;
      }
    }
    return worst;
  }

  void FindDominance() {
    const std::vector<Factor> losses = LossesAmong(fits_->usable);
    for (const double cores : places_.targets) result_.dominant_at[cores] = DominantAt(losses, cores);
    double before = grid_.front();
    result_.dominance.push_back({before, DominantAt(losses, before)});
    for (const double cores : grid_) {
      const Factor dominant = DominantAt(losses, cores);
      if (dominant != result_.dominance.back().factor) {
        const Factor at_low = DominantAt(losses, before);
        double low = std::floor(before), high = std::ceil(cores);  // to the first whole count at which it is another
        while (high - low > 1) {
          const double middle = std::floor((low + high) / 2);
          (DominantAt(losses, middle) == at_low ? low : high) = middle;
        }
        result_.dominance.push_back({high, dominant});
      }
      before = cores;
    }
  }

  // Whose interval the next run is to narrow, and where: parallel efficiency, or whatever is projected, unless that is
  // reliable at all targets and global efficiency is not; at the first target where it is unreliable.
  std::optional<std::pair<Factor, double>> AimOfNextRun() const {
    std::vector<Factor> wholes;
    for (const Factor whole : {Factor::kParallelEfficiency, Factor::kGlobalEfficiency}) {
      if (result_.Find(whole) != nullptr && !result_.Find(whole)->targets.empty()) wholes.push_back(whole);
    }
    if (wholes.empty()) wholes = {fits_->usable.front()};
    for (const Factor whole : wholes) {
      const auto target =
          std::upper_bound(places_.targets.begin(), places_.targets.end(), ReliableUpTo(result_, whole));
      if (target != places_.targets.end() && *target > places_.largest) return std::pair(whole, *target);
    }
    return std::nullopt;
  }

  // Nothing is suggested beside grown runs, as nobody knows what a run would teach them.
  void FindNextRuns() {
    if (!fits_->grown.IsEmpty()) return;
    const auto aim = AimOfNextRun();
    if (!aim) return;
    const auto [factor, target] = *aim;
    const std::vector<Factor> parts = PartsOf(factor, fits_->usable);
    std::vector<const FactorDraws*> draws_of_parts;
    for (const Factor part : parts) draws_of_parts.push_back(&fits_->draws.at(part));
    NextRuns next{factor, target, 0, {}};
    for (const ProjectedValue& value : result_.Find(factor)->targets) {
      if (value.cores == target) next.width = value.interval80->high - value.interval80->low;
    }
    std::vector<double> candidates = CandidateRuns(result_.fitted_cores, target);
    std::erase_if(candidates, [&](double cores) {  // runs that are held back
      const auto has = [cores](const FactorRow& row) { return static_cast<double>(row.cores) == cores; };
      return std::ranges::any_of(rows_, has) && std::ranges::none_of(fitted_rows_, has);
    });
    next.choices = RankRuns(draws_of_parts, candidates, result_.fitted_cores, target);
    if (fits_->loads) {
      // A run is taken to narrow the prediction by loads as much as that by curves, as a share of the width.
      std::vector<double> draws(kFactorDraws, 1.0);
      double value = 1;
      for (const Factor part : parts) {
        const std::vector<double> of_part = fits_->draws.at(part).At(target);
        for (std::size_t i = 0; i < draws.size(); ++i) draws[i] *= of_part[i];
        value *= fits_->ensembles.at(part).ValueAt(target);
      }
      PlaceIntervals(draws, {0.8});
      const IntervalBounds bounds = IntervalOf(draws, 0.8, value);
      const double scale = next.width / (bounds.high - bounds.low);
      for (RunChoice& choice : next.choices) choice.width *= scale;
    }
    result_.next_runs = std::move(next);
  }

  const bool only_targets_;
  const std::vector<FactorRow> rows_;
  PhaseProjection result_;
  std::vector<FactorRow> fitted_rows_;
  FitPlaces places_;
  std::vector<double> grid_;       // where values are wanted: all over the reach, or at the targets alone
  std::optional<PhaseFits> fits_;  // set by Run()
  std::map<Factor, std::vector<std::vector<double>>> drawn_;  // every usable factor at each place of the grid
  std::map<Factor, std::vector<double>> values_;              // the same
  std::map<std::vector<Factor>, std::vector<ProjectedValue>> products_;  // keyed by parts, at each place of the grid
};

}  // namespace

std::optional<SpeedupAnchor> AnchorAt(const std::vector<FactorRow>& rows, std::int64_t cores) {
  const auto efficiency = [](const FactorRow& row) { return row.values[Factor::kGlobalEfficiency]; };
  const auto speedup = [&](const FactorRow& row) {
    return efficiency(row) ? std::optional(row.values[Factor::kSpeedup].value_or(1)) : std::nullopt;
  };
  const std::optional<double> mean = MeanAt(PointersTo(rows), cores, efficiency);
  if (!mean) return std::nullopt;
  return SpeedupAnchor{static_cast<double>(cores), *mean, MeanAt(PointersTo(rows), cores, speedup).value_or(1)};
}

const PhaseProjection* FindPhase(const std::vector<PhaseProjection>& projections, const PhaseKey& key) {
  const auto found = std::ranges::find_if(projections, [&](const PhaseProjection& projection) {
    return projection.series == key.series && projection.phase == key.phase;
  });
  return found == projections.end() ? nullptr : &*found;
}

const FactorProjection* PhaseProjection::Find(Factor factor) const {
  const auto found = std::ranges::find(factors, factor, &FactorProjection::factor);
  return found == factors.end() ? nullptr : &*found;
}

FactorTree PhaseProjection::Tree() const {
  const bool is_hybrid = std::ranges::any_of(factors, IsHybrid, &FactorProjection::factor);
  return is_hybrid ? FactorTree::kHybrid : FactorTree::kMpi;
}

std::string DescribeMissing(const PhaseProjection& projection) {
  if (!projection.obstacle.empty()) return "no projection: " + projection.obstacle;
  std::string text;
  for (const FactorProjection& one : projection.factors) {
    if (one.is_product || IsUsable(one.fit.outcome)) continue;
    // Parts of computation scalability are fitted for reading when the whole is fitted too.
    const std::optional<Factor> parent = ParentOf(one.factor, projection.Tree());
    const FactorProjection* whole = parent ? projection.Find(*parent) : nullptr;
    if (whole != nullptr && !whole->curve.empty()) continue;
    text += fmt::format("{}{} (model {}: {})", text.empty() ? "no fit of " : ", ", Describe(one.factor).id,
                        one.fit.model, ToString(one.fit.outcome));
  }
  return text.empty() ? text : text + ", so nothing that it is part of is projected";
}

std::vector<Finding> FindUnusedModels(const ModelSettings& settings, const std::vector<PhaseProjection>& projections) {
  const auto is_fitted = [&](Factor factor, const PhaseId* phase) {
    return std::any_of(projections.begin(), projections.end(), [&](const PhaseProjection& projection) {
      if (phase != nullptr && projection.phase != *phase) return false;
      if (!projection.obstacle.empty() && projection.factors.empty()) return true;  // splits of cores may use it
      const FactorProjection* found = projection.Find(factor);
      return found != nullptr && !found->is_product;
    });
  };
  std::set<Factor> unused;
  for (const auto& [factor, choice] : settings.by_factor) {
    if (!is_fitted(factor, nullptr)) unused.insert(factor);
  }
  for (const auto& [phase, choices] : settings.by_phase) {
    for (const auto& [factor, choice] : choices) {
      if (!is_fitted(factor, &phase)) unused.insert(factor);
    }
  }
  Diagnostics diagnostics;
  for (const Factor factor : unused) diagnostics.Add(anomaly::kModelNotUsed, 1, Describe(factor).id);
  return diagnostics.findings();
}

std::vector<double> DefaultTargets(double largest_fitted) {
  std::vector<double> targets;
  for (double cores = 1; cores <= kFarthestChecked * largest_fitted; cores *= 2) {
    if (cores > largest_fitted) targets.push_back(cores);
  }
  return targets;
}

namespace {

std::vector<PhaseProjection> ProjectAll(const FactorTable& table, const ModelLibrary& library,
                                        const ProjectionOptions& options, bool only_targets,
                                        const ProgressSink& progress) {
  RequireModels(options.models, library);
  const std::vector<PhaseKey> keys = table.Keys();
  std::vector<PhaseProjection> projections(keys.size());
  ProgressCount count(progress, keys.size(), "fitting models");
  ParallelFor(keys.size(), [&](std::size_t i) {
    PhaseProjection& projection = projections[i];
    projection = PhaseProjector(table.Rows(keys[i]), only_targets).Run(table, library, options, keys[i]);
    if (!only_targets) {
      projection.key_results = FindKeyResults(projection, table, options.levels);
      AddCosts(projection, table);
    }
    count.Done("fitted " + keys[i].phase.Text());
  });
  return projections;
}

constexpr double kSame = 1e-9;  // relative, of core counts; chosen: rounding

// Straight where one of both has no logarithm.
double Between(double a, double b, double share) {
  return a > 0 && b > 0 ? a * std::pow(b / a, share) : a + (b - a) * share;
}

std::optional<IntervalBounds> Between(const std::optional<IntervalBounds>& a, const std::optional<IntervalBounds>& b,
                                      double share) {
  if (!a || !b) return std::nullopt;
  return IntervalBounds{Between(a->low, b->low, share), Between(a->high, b->high, share)};
}

}  // namespace

std::vector<PhaseProjection> Project(const FactorTable& table, const ModelLibrary& library,
                                     const ProjectionOptions& options, const ProgressSink& progress) {
  return ProjectAll(table, library, options, false, progress);
}

std::vector<PhaseProjection> ProjectTargets(const FactorTable& table, const ModelLibrary& library,
                                            const ProjectionOptions& options) {
  return ProjectAll(table, library, options, true, {});
}

std::optional<ProjectedValue> ReadCurve(const FactorProjection& projection, double cores) {
  const std::vector<ProjectedValue>& curve = projection.curve;
  for (std::size_t i = 0; i < curve.size(); ++i) {
    if (std::fabs(curve[i].cores / cores - 1) < kSame) return curve[i];
    if (curve[i].cores < cores) continue;
    if (i == 0) return std::nullopt;
    const ProjectedValue &a = curve[i - 1], &b = curve[i];
    const double share = std::log(cores / a.cores) / std::log(b.cores / a.cores);
    return ProjectedValue{cores, a.ratio * cores / a.cores, Between(a.value, b.value, share),
                          Between(a.interval80, b.interval80, share), Between(a.interval95, b.interval95, share)};
  }
  return std::nullopt;
}

double LargestProjected(const PhaseProjection& projection) {
  double largest = 0;
  for (const Factor factor : {Factor::kGlobalEfficiency, Factor::kComputationScalability}) {
    const FactorProjection* projected = projection.Find(factor);
    if (projected == nullptr) continue;
    for (const ProjectedValue& target : projected->targets) {
      const Reliability level = ReliabilityOf(projection, factor, target.cores);
      if (level == Reliability::kReliable) {
        largest = std::max(largest, target.value);
      } else if (level == Reliability::kUncertain && target.interval80) {
        largest = std::max(largest, target.interval80->low);
      }
    }
  }
  return largest;
}

std::string WhySuperlinear(const std::vector<FactorRow>& rows, const PhaseProjection* projection) {
  std::string measured = WhySuperlinear(rows);
  if (!measured.empty() || projection == nullptr) return measured;
  return WhySuperlinear(rows, LargestProjected(*projection));
}

}  // namespace farscale
