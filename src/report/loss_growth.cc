#include "report/loss_growth.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "report/figures.h"

namespace farscale {
namespace {

struct MeasureNames {
  const char* title;
  const char* whole;  // what a call path has a share in
};

MeasureNames NamesOf(LossMeasure measure) {
  switch (measure) {
    case LossMeasure::kDelayCosts: return {"What causes waiting, as a share of all ranks' time", "waiting"};
    case LossMeasure::kLoadBalance: return {"What load balance loses, as a share of the run time", "load balance loss"};
    case LossMeasure::kSerialization:
      return {"What serialization loses, as a share of the run time", "serialization loss"};
    case LossMeasure::kCriticalImbalance:
      return {"Imbalance on the critical path, as a share of its length", "imbalance on the critical path"};
  }
  return {"", ""};
}

using Data = ReportData;

// Targets at which every path is reliable; of many the first, the last and some between.
std::vector<std::size_t> ReliableTargets(const LossProjection& losses, std::size_t most) {
  std::size_t count = 0;
  const auto is_reliable = [&](const PathLossProjection& path) {
    return count < path.targets.size() && path.targets[count].reliability == Reliability::kReliable;
  };
  while (!losses.paths.empty() && std::all_of(losses.paths.begin(), losses.paths.end(), is_reliable)) ++count;
  std::vector<std::size_t> places;
  const std::size_t shown = std::min(most, count);
  for (std::size_t i = 0; i < shown; ++i) places.push_back(shown == 1 ? count - 1 : i * (count - 1) / (shown - 1));
  return places;
}

// Mean over the runs at one core count.
double MeasuredAt(const PathLossProjection& path, double cores) {
  double sum = 0, count = 0;
  for (const DataPoint& point : path.measured) {
    if (point.cores != cores) continue;
    sum += point.value;
    ++count;
  }
  return count > 0 ? sum / count : 0;
}

std::string FormatPart(const IntervalBounds& part) {
  return FormatRange(FormatPercent(part.low), FormatPercent(part.high));
}

void AddTable(const LossProjection& losses, const std::vector<std::size_t>& targets, LossGrowth& growth) {
  for (const double cores : losses.fitted_cores) growth.header.push_back(FormatCores(cores));
  for (const std::size_t target : targets) {
    growth.header.push_back("→ " + FormatCores(losses.paths.front().targets[target].cores));
    growth.header.emplace_back("80 %");
  }
  for (const PathLossProjection& path : losses.paths) {
    std::vector<std::string> cells = {path.path};
    for (const double cores : losses.fitted_cores) cells.push_back(FormatPercent(MeasuredAt(path, cores)));
    for (const std::size_t target : targets) {
      cells.push_back(FormatPercent(path.targets[target].loss));
      cells.push_back(FormatPart(*path.targets[target].loss80));
    }
    growth.rows.push_back({{"cells", std::move(cells)}});
  }
}

bool Dominates(const PhaseProjection& projection, Factor factor, double cores) {
  const auto found = projection.dominant_at.find(cores);
  return found != projection.dominant_at.end() && found->second == factor;
}

// The widest 80 % interval of a share that is told.
constexpr double kWidestPart = 0.5;

// The call path with the largest loss at a target, of those that have a name.
const PathLossProjection* LargestNamed(const LossProjection& losses, std::size_t target) {
  const PathLossProjection* largest = nullptr;
  for (const PathLossProjection& path : losses.paths) {
    if (path.path == kOtherPaths || path.path == kChargedToNobody || path.path == kUnequalOccurrences ||
        target >= path.targets.size())
      continue;
    if (largest == nullptr || path.targets[target].loss > largest->targets[target].loss) largest = &path;
  }
  return largest;
}

// At the last of the targets at which the share of the call path is known, else at the first of them.
Data LargestText(const LossProjection& losses, const PathLossProjection& path, const PhaseProjection* factors,
                 const std::vector<std::size_t>& targets) {
  constexpr double kAll = 0.9995;
  const auto known = std::find_if(targets.rbegin(), targets.rend(), [&](std::size_t target) {
    const IntervalBounds& part = *path.targets[target].part80;
    return part.high - part.low <= kWidestPart;
  });
  const bool is_known = known != targets.rend();
  const ProjectedLoss& at = path.targets[is_known ? *known : targets.front()];
  const bool is_of_factor =
      losses.measure == LossMeasure::kLoadBalance || losses.measure == LossMeasure::kSerialization;
  const Factor factor = FactorOf(losses.measure);
  const bool is_dominant = is_of_factor && factors != nullptr && Dominates(*factors, factor, at.cores);
  const bool is_uncertain_beyond = is_known && *known < targets.back();
  return {{"cores", FormatCores(at.cores)},
          {"path", path.path},
          {"part", FormatPercent(at.part)},
          {"interval", FormatPart(*at.part80)},
          {"whole", NamesOf(losses.measure).whole},
          {"dominant", is_dominant ? Name(factor) : ""},
          {"isKnown", is_known},
          {"isWaiting", losses.measure == LossMeasure::kDelayCosts},
          {"isAll", at.part80->low > kAll},
          {"isUncertainBeyond", is_uncertain_beyond},
          {"isEnd", is_known && !is_uncertain_beyond && at.cores < path.targets.back().cores}};
}

// Templates/loss_growth.txt.mustache.
Data GrowthText(const LossProjection& losses, const PhaseProjection* factors, const std::vector<std::size_t>& targets) {
  const bool is_known = !losses.paths.empty() && losses.obstacle.empty();
  const PathLossProjection* largest = is_known && !targets.empty() ? LargestNamed(losses, targets.back()) : nullptr;
  return {{"isNothing", losses.paths.empty()},
          {"obstacle", losses.paths.empty() ? "" : losses.obstacle},
          {"isUncertain", is_known && targets.empty()},
          {"isSpread", is_known && !targets.empty() && largest == nullptr},
          {"largest", largest == nullptr ? Data(false) : LargestText(losses, *largest, factors, targets)}};
}

}  // namespace

std::vector<LossGrowth> DescribeGrowth(const std::vector<LossProjection>& losses,
                                       const std::vector<PhaseProjection>& projections, const Partials& texts,
                                       std::size_t most) {
  std::vector<LossGrowth> growth;
  for (const LossProjection& one : losses) {
    const auto found = std::ranges::find_if(projections, [&](const auto& other) { return other.phase == one.phase; });
    const PhaseProjection* factors = found == projections.end() ? nullptr : &*found;
    const std::vector<std::size_t> targets =
        one.obstacle.empty() ? ReliableTargets(one, most) : std::vector<std::size_t>();
    LossGrowth described{.phase = one.phase, .title = NamesOf(one.measure).title};
    described.sentences = RenderSentences(texts, "loss_growth.txt", GrowthText(one, factors, targets));
    if (!one.paths.empty()) AddTable(one, targets, described);
    growth.push_back(std::move(described));
  }
  return growth;
}

std::string FormatGrowth(const std::vector<LossGrowth>& growth, const Partials& texts, std::size_t width) {
  return RenderText(texts, "losses_growth.txt", {{"growth", ToData(growth)}}, width);
}

}  // namespace farscale
