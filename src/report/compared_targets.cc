#include "report/compared_targets.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "report/curve.h"

namespace farscale {
namespace {

constexpr double kBeyondEvidence = 4;  // how far beyond the evidence of both targets are compared

class TargetComparer {
 public:
  TargetComparer(const ComparedSides& sides, const std::vector<double>& targets) : sides_(sides), targets_(targets) {}

  std::vector<ComparedTarget> Compare() const {
    std::vector<ComparedTarget> compared;
    for (const double cores : CommonTargets()) {
      ComparedTarget target;
      target.cores = cores;
      FactorValues before, after;
      for (const FactorType& type : AllFactors()) {
        const ProjectedPair pair = PairOf(type.factor, cores);
        const bool means_the_same = sides_.Compares(type.factor);
        if (!pair.before || !pair.after || !means_the_same) continue;
        if (pair.before->value > 0 && pair.after->value > 0) {
          before[type.factor] = pair.before->value;
          after[type.factor] = pair.after->value;
        }
        target.factors.emplace_back(type.factor, pair);
      }
      target.explained = ExplainWhole(before, after, target.whole);
      target.efficiency = PairOf(target.whole, cores);
      if (!target.efficiency.before || !target.efficiency.after) continue;
      if (sides_.compares && target.whole == Factor::kGlobalEfficiency) {
        target.seconds = {Seconds(sides_.before, target.efficiency.before),
                          Seconds(sides_.after, target.efficiency.after), target.efficiency.is_evidence, false};
        Judge(target.seconds);
      }
      compared.push_back(std::move(target));
    }
    return compared;
  }

 private:
  std::optional<ProjectedValue> Projected(const ComparedSide& side, Factor factor, double cores) const {
    const FactorProjection* projection = side.projection->Find(factor);
    if (projection == nullptr) return std::nullopt;
    std::optional<ProjectedValue> value = ReadCurve(*projection, cores);
    if (!value) return std::nullopt;
    const double scale = *side.scale[factor];
    value->value *= scale;
    for (std::optional<IntervalBounds>* bounds : {&value->interval80, &value->interval95}) {
      if (*bounds) *bounds = IntervalBounds{(*bounds)->low * scale, (*bounds)->high * scale};
    }
    return value;
  }

  static void Judge(ProjectedPair& pair) {
    if (!pair.before || !pair.after || !pair.before->interval80 || !pair.after->interval80) return;
    pair.is_apart = pair.before->interval80->high < pair.after->interval80->low ||
                    pair.after->interval80->high < pair.before->interval80->low;
  }

  ProjectedPair PairOf(Factor factor, double cores) const {
    ProjectedPair pair{Projected(sides_.before, factor, cores), Projected(sides_.after, factor, cores), false, false};
    if (!sides_.Compares(factor)) return pair;
    pair.is_evidence =
        IsEvidence(*sides_.before.projection, factor, cores) && IsEvidence(*sides_.after.projection, factor, cores);
    Judge(pair);
    return pair;
  }

  // Seconds an iteration from global efficiency: T = T_ref GE_ref / GE, with strong scaling times P_ref / P.
  std::optional<ProjectedValue> Seconds(const ComparedSide& side,
                                        const std::optional<ProjectedValue>& efficiency) const {
    const auto time = side.AtReference(SecondsOfRow);
    const auto at_reference =
        side.AtReference([](const FactorRow& row) { return row.values[Factor::kGlobalEfficiency]; });
    if (!time || !at_reference || !side.scaling || !efficiency || !(efficiency->value > 0)) return std::nullopt;
    double reach = *time * *at_reference;
    if (*side.scaling == Scaling::kStrong) reach *= static_cast<double>(side.reference) / efficiency->cores;
    ProjectedValue seconds = *efficiency;
    seconds.value = reach / efficiency->value;
    for (std::optional<IntervalBounds>* bounds : {&seconds.interval80, &seconds.interval95}) {
      if (!*bounds) continue;
      const bool is_open = !((*bounds)->low > 0) || !std::isfinite(reach / (*bounds)->low);
      *bounds = is_open ? std::nullopt : std::optional(IntervalBounds{reach / (*bounds)->high, reach / (*bounds)->low});
    }
    return seconds;
  }

  std::vector<double> CommonTargets() const {
    std::set<double> targets(targets_.begin(), targets_.end());
    double shown = std::numeric_limits<double>::infinity();
    if (targets.empty()) {
      double evidence = 0;
      for (const ComparedSide* side : {&sides_.before, &sides_.after}) {
        for (const FactorProjection& projection : side->projection->factors) {
          for (const ProjectedValue& value : projection.targets) targets.insert(value.cores);
        }
        evidence = std::max({evidence, side->projection->fitted_cores.back(),
                             side->projection->horizon ? side->projection->horizon->cores : 0.0});
      }
      shown = kBeyondEvidence * evidence;
    }
    std::vector<double> common;
    for (const double cores : targets) {
      if (cores <= shown) common.push_back(cores);
    }
    return common;
  }

  const ComparedSides& sides_;
  const std::vector<double>& targets_;
};

}  // namespace

std::vector<ComparedTarget> CompareTargets(const ComparedSides& sides, const std::vector<double>& targets) {
  if (sides.before.projection == nullptr || sides.after.projection == nullptr) return {};
  return TargetComparer(sides, targets).Compare();
}

}  // namespace farscale
