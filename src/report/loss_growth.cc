#include "report/loss_growth.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/format.h"
#include "pages/text_table.h"

namespace farscale {
namespace {

std::string TitleOf(LossMeasure measure) {
  switch (measure) {
    case LossMeasure::kDelayCosts: return "What causes waiting, as a share of all ranks' time";
    case LossMeasure::kLoadBalance: return "What load balance loses, as a share of the run time";
    case LossMeasure::kSerialization: return "What serialization loses, as a share of the run time";
    case LossMeasure::kCriticalImbalance: return "Imbalance on the critical path, as a share of its length";
  }
  return "";
}

// "of the waiting is caused by", for sentences.
std::string RoleOf(LossMeasure measure) {
  switch (measure) {
    case LossMeasure::kDelayCosts: return "of the waiting is caused by";
    case LossMeasure::kLoadBalance: return "of what load balance loses comes from";
    case LossMeasure::kSerialization: return "of what serialization loses comes from";
    case LossMeasure::kCriticalImbalance: return "of the imbalance on the critical path comes from";
  }
  return "";
}

// Targets at which every path is reliable; of many the first, the last and some between.
std::vector<std::size_t> ReliableTargets(const LossProjection& losses, std::size_t most) {
  std::size_t count = 0;
  const auto is_reliable = [&](const PathLossProjection& path) {
    return count < path.targets.size() && path.targets[count].is_reliable;
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

std::vector<std::vector<std::string>> TableOf(const LossProjection& losses, const std::vector<std::size_t>& targets) {
  std::vector<std::vector<std::string>> rows(1);
  rows[0].push_back("Call path");
  for (const double cores : losses.fitted_cores) rows[0].push_back(FormatCores(cores));
  for (const std::size_t target : targets) {
    rows[0].push_back("→ " + FormatCores(losses.paths.front().targets[target].cores));
    rows[0].push_back("80 %");
  }
  for (const PathLossProjection& path : losses.paths) {
    std::vector<std::string>& row = rows.emplace_back();
    row.push_back(path.path);
    for (const double cores : losses.fitted_cores) row.push_back(FormatPercent(MeasuredAt(path, cores)));
    for (const std::size_t target : targets) {
      const ProjectedLoss& value = path.targets[target];
      row.push_back(FormatPercent(value.loss));
      row.push_back(fmt::format("{} – {}", FormatPercent(value.loss80->low), FormatPercent(value.loss80->high)));
    }
  }
  return rows;
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

std::vector<std::string> SentencesOf(const LossProjection& losses, const PhaseProjection* factors,
                                     const std::vector<std::size_t>& targets) {
  if (losses.paths.empty()) return {"No call path loses anything worth telling."};
  if (!losses.obstacle.empty()) return {"Not extrapolated: " + losses.obstacle + "."};
  if (targets.empty()) {
    return {
        "Beyond the runs there is not enough data: the intervals of the losses, or of their factor, are too wide "
        "at once."};
  }
  const PathLossProjection* first = LargestNamed(losses, targets.back());
  if (first == nullptr) return {"No single call path stands out."};
  const auto known = std::find_if(targets.rbegin(), targets.rend(), [&](std::size_t target) {
    const IntervalBounds& part = *first->targets[target].part80;
    return part.high - part.low <= kWidestPart;
  });
  if (known == targets.rend()) {
    const ProjectedLoss& next = first->targets[targets.front()];
    return {
        fmt::format("How much {} {} is not known well enough beyond the runs: at {} cores {} to {} (80 % interval).",
                    RoleOf(losses.measure), first->path, FormatCores(next.cores), FormatPercent(next.part80->low),
                    FormatPercent(next.part80->high))};
  }
  const ProjectedLoss& last = first->targets[*known];
  constexpr double kAll = 0.9995;
  const std::string part = last.part80->low > kAll
                               ? "practically all"
                               : fmt::format("{} (80 % interval {} to {})", FormatPercent(last.part),
                                             FormatPercent(last.part80->low), FormatPercent(last.part80->high));
  std::vector<std::string> sentences = {
      fmt::format("At {} cores {} {} {}.", FormatCores(last.cores), part, RoleOf(losses.measure), first->path)};
  const bool is_of_factor =
      losses.measure == LossMeasure::kLoadBalance || losses.measure == LossMeasure::kSerialization;
  const Factor factor = FactorOf(losses.measure);
  if (is_of_factor && factors != nullptr && Dominates(*factors, factor, last.cores)) {
    sentences.push_back(fmt::format("{} is what loses most there.", Describe(factor).name));
  }
  if (*known < targets.back()) {
    sentences.push_back("Further out its share is not known well enough.");
  } else if (last.cores < first->targets.back().cores) {
    sentences.push_back("Further out there is not enough data.");
  }
  return sentences;
}

}  // namespace

std::vector<LossGrowth> DescribeGrowth(const std::vector<LossProjection>& losses,
                                       const std::vector<PhaseProjection>& projections, std::size_t most) {
  std::vector<LossGrowth> growth;
  for (const LossProjection& one : losses) {
    const auto factors = std::find_if(projections.begin(), projections.end(),
                                      [&](const PhaseProjection& other) { return other.phase == one.phase; });
    const std::vector<std::size_t> targets =
        one.obstacle.empty() ? ReliableTargets(one, most) : std::vector<std::size_t>();
    LossGrowth described{one.phase, one.measure, TitleOf(one.measure), {}, {}};
    described.sentences = SentencesOf(one, factors == projections.end() ? nullptr : &*factors, targets);
    if (!one.paths.empty()) described.table = TableOf(one, targets);
    growth.push_back(std::move(described));
  }
  return growth;
}

std::string FormatGrowth(const std::vector<LossGrowth>& growth) {
  std::string text;
  for (const LossGrowth& one : growth) {
    text += fmt::format("{}Phase {}: {}\n", text.empty() ? "" : "\n", one.phase, one.title);
    if (!one.table.empty()) text += FormatTable(one.table);
    for (const std::string& sentence : one.sentences) text += sentence + "\n";
  }
  return text;
}

}  // namespace farscale
