#include "growth/rule_shares.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>

#include "base/text.h"

namespace farscale {
namespace {

// Calls see(call, ranks, grid, of_class) for every call of an iteration of every kind, with how many ranks of the
// largest run make it, and the grid of that run as their program sees it.
void ForEachCall(const GrowthModel& model,
                 const std::function<void(const PlannedCall&, double, const RankGrid&, const ClassRules&)>& see) {
  const std::size_t largest = model.runs.size() - 1;
  for (const auto& [key, of_class] : model.rules.classes) {
    const auto ranks = static_cast<double>(
        std::ranges::count(of_class.donors, largest, [](const auto& donor) { return donor.first; }));
    if (ranks == 0) continue;
    const RankGrid grid = model.rules.grids[largest].SeenBy(ProgramOf(key));
    for (std::size_t kind = 0; kind < of_class.kinds.size(); ++kind) {
      const double iterations = static_cast<double>(std::ranges::count(model.runs[largest].kinds, kind));
      for (const PlannedCall& call : PlanCalls(of_class.kinds[kind], kind, grid, grid))
        see(call, ranks * iterations, grid, of_class);
    }
  }
}

// What a part of a call sends to, or meets with; empty for what receives or completes.
std::string TargetOf(const PartRule& part, const RankGrid& grid) {
  if (part.kind == RecordKind::kCollective) {
    if (part.groups.empty()) return "collectives of all";
    const RankDivision& ranks = part.groups.front().ranks;
    if (ranks == RankDivision::Program()) return "collectives of a program";
    if (ranks.kind != RankDivision::Kind::kGrid) return "collectives of " + ranks.Text() + " ranks";
    bool of_all = true;
    for (std::size_t d = 0; d < kMostDimensions; ++d)
      of_all = of_all && (grid.extents[d] == 1 || (ranks.varying >> d & 1) != 0);
    return of_all ? "collectives of all" : "collectives along " + ranks.Text();
  }
  const bool sends = part.kind == RecordKind::kSend || part.kind == RecordKind::kSendPost;
  return sends && !part.peers.empty() ? part.peers.front().Text() : "";
}

// Whether one run alone does not tell that the rule gives the same partners on more ranks: those that are further away
// than neighbours of neighbours are as well some part of all ranks.
bool IsFar(const PeerRule& rule) {
  using Kind = PeerRule::Kind;
  constexpr std::int32_t kNear = 2;
  switch (rule.kind) {
    case Kind::kOffset:
      return std::ranges::any_of(rule.steps, [](std::int32_t step) { return std::abs(step) > kNear; });
    case Kind::kRing:
    case Kind::kXor:
    case Kind::kAbsolute:
    case Kind::kFromLast: return std::abs(rule.n) > kNear;
    case Kind::kRingPart:
    case Kind::kXorPart: return true;
    default: return false;
  }
}

// Of a rule of a program, by the layouts of all runs.
std::string WhyAmbiguous(const PeerRule& rule, const CallRules& rules, std::size_t program) {
  constexpr std::int64_t kAllTwos = std::int64_t{1} << kMostDimensions;
  std::vector<RankGrid> grids;
  for (const RankGrid& grid : rules.grids) grids.push_back(grid.HasTwo() ? grid.GridOf(program) : grid);
  const RankGrid& largest = grids.back();
  const bool has_powers = rule.kind == PeerRule::Kind::kXorUp || rule.kind == PeerRule::Kind::kXorDown;
  if (has_powers && rule.within.IsAll() && largest.size() <= kAllTwos) {
    return fmt::format(
        "on up to {} ranks, stages with rank {} exchange the same messages as neighbours in a grid of two ranks in "
        "every dimension; add a run on {} ranks or more",
        largest.size(), rule.Text(), 2 * kAllTwos);
  }
  if (rule.kind != PeerRule::Kind::kOffset) return "";
  const auto widest = [](const RankGrid& grid) { return *std::ranges::max_element(grid.extents); };
  if (std::ranges::all_of(grids, [&](const RankGrid& grid) { return widest(grid) <= 2; })) {
    return fmt::format(
        "no run has more than two ranks in a dimension, where {} is the same as other steps; add a run on more "
        "than {} ranks",
        rule.Text(), largest.size());
  }
  for (std::size_t d = 0; d < kMostDimensions; ++d) {
    const std::int32_t step = std::abs(rule.steps[d]);
    if (step < 2 || rules.scheme.ReachOf(program)[d] > 0) continue;
    if (std::ranges::any_of(grids, [&](const RankGrid& grid) { return grid.extents[d] > 2 * step; })) continue;
    return fmt::format(
        "in layouts as small as {}, {} is half way around, and other rules lead there, too; add a run with more "
        "than {} ranks in {}",
        largest.Text(), rule.Text(), 2 * step, "xyzt"[d]);
  }
  return "";
}

std::vector<RuleShare> Sorted(const std::map<std::string, double>& sums) {
  double all = 0;
  for (const auto& [rule, sum] : sums) all += sum;
  std::vector<RuleShare> shares;
  for (const auto& [rule, sum] : sums) shares.push_back({rule, sum / all});
  std::ranges::stable_sort(shares, std::greater<>(), &RuleShare::share);
  return shares;
}

}  // namespace

std::vector<RuleShare> SharesOfPartners(const GrowthModel& model) {
  std::map<std::string, double> sums;
  ForEachCall(model, [&](const PlannedCall& call, double ranks, const RankGrid& grid, const ClassRules&) {
    for (const PartRule& part : call.rule->parts) {
      const std::string target = TargetOf(part, grid);
      if (!target.empty()) sums[target] += ranks;
    }
  });
  return Sorted(sums);
}

std::vector<RuleShare> SharesOfSizes(const GrowthModel& model) {
  std::map<std::string, double> sums;
  ForEachCall(model, [&](const PlannedCall& call, double ranks, const RankGrid& grid, const ClassRules&) {
    const bool moves =
        std::ranges::any_of(call.rule->parts, [&](const PartRule& part) { return !TargetOf(part, grid).empty(); });
    const SizeLaws* laws = model.laws.Find(call.key);
    if (moves) sums[laws != nullptr ? laws->bytes.Text() : "constant"] += ranks;
  });
  return Sorted(sums);
}

std::string WhyAmbiguous(const GrowthModel& model) {
  constexpr const char* kAdd = "add a run whose grid has three or more ranks in every dimension";
  std::string reason;
  if (model.rules.scheme.is_lifted) return reason;
  double ambiguous = 0, all = 0;
  ForEachCall(model, [&](const PlannedCall& call, double ranks, const RankGrid& grid, const ClassRules& of_class) {
    for (const PartRule& part : call.rule->parts) {
      if (TargetOf(part, grid).empty()) continue;
      all += ranks;
      std::string one = part.peers.empty() ? "" : WhyAmbiguous(part.peers.front(), model.rules, grid.seen_by);
      if (one.empty() && of_class.Confirmed() < 1 && !part.peers.empty() && IsFar(part.peers.front())) {
        one = fmt::format("{} is seen on {} ranks alone, and may lead elsewhere on more; {}", part.peers.front().Text(),
                          model.runs.back().ranks, kAdd);
      }
      if (one.empty()) continue;
      ambiguous += ranks;
      if (reason.empty()) reason = one;
    }
  });
  return ambiguous > (1 - kLeastExplained) * all ? reason : "";
}

std::string PlaceOf(const ClassScheme& scheme, const RankClass& of_class) {
  static constexpr const char* kPlaces[] = {"first", "second", "third", "fourth"};
  std::vector<std::string> places;
  for (std::size_t d = 0; d < kMostDimensions; ++d) {
    const int reach = scheme.ReachOf(ProgramOf(of_class))[d], low = of_class[2 * d], high = of_class[2 * d + 1];
    if (reach == 0) continue;
    std::string place = "inside";
    if (low < reach) {
      place = high == 0 ? low == 0 ? "alone" : "last" : kPlaces[std::min(low, 3)];
    } else if (high < reach) {
      place = high == 0 ? "last" : fmt::format("{} from the end", kPlaces[std::min(high, 3)]);
    }
    places.push_back(fmt::format("{} in {}", place, "xyzt"[d]));
  }
  if (ProgramOf(of_class) > 0) places.insert(places.begin(), "of the second program");
  return places.empty() ? "any" : Join(places, ", ");
}

}  // namespace farscale
