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

struct LargestLossText {
  std::string cores, path, part, interval, whole, dominant;
  bool is_known = false, is_waiting = false, is_all = false, is_uncertain_beyond = false, is_end = false;
  FARSCALE_TAGS(cores, path, part, interval, whole, dominant, is_known, is_waiting, is_all, is_uncertain_beyond, is_end)
};

// The tags of loss_growth.txt.mustache.
struct GrowthText {
  std::string obstacle;
  bool is_nothing = false, is_uncertain = false, is_spread = false;
  std::optional<LargestLossText> largest;
  FARSCALE_TAGS(obstacle, is_nothing, is_uncertain, is_spread, largest)
};

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
  for (const double cores : losses.fitted_cores) growth.header.push_back({FormatCores(cores)});
  for (const std::size_t target : targets) {
    growth.header.push_back({"→ " + FormatCores(losses.paths.front().targets[target].cores)});
    growth.header.push_back({"80 %"});
  }
  for (const PathLossProjection& path : losses.paths) {
    TextRow row{path.path, {}};
    for (const double cores : losses.fitted_cores) row.cells.push_back({FormatPercent(MeasuredAt(path, cores))});
    for (const std::size_t target : targets) {
      row.cells.push_back({FormatPercent(path.targets[target].loss)});
      row.cells.push_back({FormatPart(*path.targets[target].loss80)});
    }
    growth.rows.push_back(std::move(row));
  }
  growth.has_table = !growth.rows.empty();
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
LargestLossText TextOf(const LossProjection& losses, const PathLossProjection& path, const PhaseProjection* factors,
                       const std::vector<std::size_t>& targets) {
  constexpr double kAll = 0.9995;
  const auto known = std::find_if(targets.rbegin(), targets.rend(), [&](std::size_t target) {
    const IntervalBounds& part = *path.targets[target].part80;
    return part.high - part.low <= kWidestPart;
  });
  const bool is_known = known != targets.rend();
  const ProjectedLoss& at = path.targets[is_known ? *known : targets.front()];
  LargestLossText text{.cores = FormatCores(at.cores),
                       .path = path.path,
                       .part = FormatPercent(at.part),
                       .interval = FormatPart(*at.part80),
                       .whole = NamesOf(losses.measure).whole,
                       .is_known = is_known,
                       .is_waiting = losses.measure == LossMeasure::kDelayCosts,
                       .is_all = at.part80->low > kAll};
  const bool is_of_factor =
      losses.measure == LossMeasure::kLoadBalance || losses.measure == LossMeasure::kSerialization;
  const Factor factor = FactorOf(losses.measure);
  if (is_of_factor && factors != nullptr && Dominates(*factors, factor, at.cores)) text.dominant = Name(factor);
  text.is_uncertain_beyond = is_known && *known < targets.back();
  text.is_end = is_known && !text.is_uncertain_beyond && at.cores < path.targets.back().cores;
  return text;
}

GrowthText TextOf(const LossProjection& losses, const PhaseProjection* factors,
                  const std::vector<std::size_t>& targets) {
  GrowthText text{.is_nothing = losses.paths.empty()};
  if (text.is_nothing) return text;
  text.obstacle = losses.obstacle;
  if (!losses.obstacle.empty()) return text;
  text.is_uncertain = targets.empty();
  if (text.is_uncertain) return text;
  const PathLossProjection* largest = LargestNamed(losses, targets.back());
  text.is_spread = largest == nullptr;
  if (largest != nullptr) text.largest = TextOf(losses, *largest, factors, targets);
  return text;
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
    described.sentences = RenderSentences(texts, "loss_growth.txt", ToData(TextOf(one, factors, targets)));
    if (!one.paths.empty()) AddTable(one, targets, described);
    growth.push_back(std::move(described));
  }
  return growth;
}

std::string FormatGrowth(const std::vector<LossGrowth>& growth, const Partials& texts, std::size_t width) {
  return RenderText(texts, "losses_growth.txt", {{"growth", ToData(growth)}}, width);
}

}  // namespace farscale
