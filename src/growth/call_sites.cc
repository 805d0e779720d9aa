#include "growth/call_sites.h"

#include <algorithm>
#include <array>
#include <optional>

namespace farscale {
namespace {

struct SiteSum {
  double bytes = 0, count = 0;
};

std::uint64_t BytesOf(std::span<const CallPart> parts) {
  std::uint64_t bytes = 0;
  for (const CallPart& part : parts) bytes += part.bytes;
  return bytes;
}

}  // namespace

SiteKey KeyOf(std::size_t kind, std::uint32_t before, const CallRule& rule, std::int32_t stage) {
  SiteKey key{.kind = kind, .function = rule.function, .before = before, .stage = stage};
  if (rule.parts.empty()) return key;
  const PartRule& part = rule.parts.front();
  if (!part.peers.empty()) {
    key.rule = part.peers.front().kind;
    key.n = part.peers.front().n;
    key.steps = part.peers.front().steps;
  }
  if (!part.tags.empty()) key.tag = part.tags.front().plus;
  return key;
}

std::vector<PlannedCall> PlanCalls(const std::vector<CallBlock>& blocks, std::size_t kind, const RankGrid& grid,
                                   const RankGrid& model_grid) {
  std::vector<PlannedCall> plan;
  std::uint32_t model = 0, before = 0;
  for (const CallBlock& block : blocks) {
    const std::int32_t count = block.Count(grid), model_count = block.Count(model_grid);
    const auto size = static_cast<std::uint32_t>(block.calls.size());
    for (std::int32_t stage = 0; stage < count; ++stage) {
      const auto of_model = static_cast<std::uint32_t>(std::max(0, std::min(stage, model_count - 1)));
      for (std::uint32_t i = 0; i < size; ++i) {
        const CallRule& rule = block.calls[i];
        plan.push_back({&rule,
                        {stage, count},
                        KeyOf(kind, before, rule, block.counts.empty() ? 0 : stage),
                        model + of_model * size + i});
        before = rule.function;
      }
    }
    model += static_cast<std::uint32_t>(std::max(0, model_count)) * size;
  }
  return plan;
}

namespace {

// Dimensions in which the partner is another.
std::array<bool, kMostDimensions> Directions(const SiteKey& key) {
  std::array<bool, kMostDimensions> directions{};
  for (std::size_t d = 0; d < kMostDimensions; ++d) directions[d] = key.steps[d] != 0;
  return directions;
}

// How two call sites may be alike, from the most to the least.
constexpr bool (*kAlike[])(const SiteKey&, const SiteKey&) = {
    [](const SiteKey& a, const SiteKey& b) { return a.n == b.n && a.steps == b.steps && a.tag == b.tag; },
    [](const SiteKey& a, const SiteKey& b) { return a.n == b.n && a.steps == b.steps; },
    [](const SiteKey& a, const SiteKey& b) { return a.n == b.n && Directions(a) == Directions(b); },
};

}  // namespace

ScalingLaw SiteLaws::BytesAt(const SiteKey& key) const {
  const auto found = bytes.find(key);
  if (found != bytes.end() && found->second.runs > 1) return found->second;
  for (const auto& are_alike : kAlike) {
    std::optional<ScalingLaw> law;
    bool agree = true;
    for (const auto& [other, of_other] : bytes) {
      if (of_other.runs < 2 || other.kind != key.kind || other.function != key.function || other.rule != key.rule ||
          !are_alike(other, key))
        continue;
      agree = agree && (!law || law->IsLike(of_other));
      if (!law) law = of_other;
    }
    if (law && agree) return *law;
  }
  return found != bytes.end() ? found->second : ScalingLaw{};
}

namespace {

// Sums of a call site by run and class of ranks.
using SiteSums = std::map<std::pair<std::size_t, std::size_t>, SiteSum>;

}  // namespace

SiteLaws FitSiteLaws(const std::vector<RunCalls>& runs, const CallRules& rules) {
  std::map<SiteKey, SiteSums> sums;
  std::size_t number = 0;
  for (const auto& [key, of_class] : rules.classes) {
    for (const auto& [run, rank] : of_class.donors) {
      const RankCalls& calls = runs[run].of_ranks[static_cast<std::size_t>(rank)];
      for (std::size_t i = 0; i < calls.iteration_end.size(); ++i) {
        const std::size_t kind = runs[run].kinds[i];
        const std::uint32_t first = calls.FirstCall(i);
        for (const PlannedCall& call : PlanCalls(of_class.kinds[kind], kind, rules.grids[run], rules.grids[run])) {
          SiteSum& sum = sums[call.key][{run, number}];
          sum.bytes += static_cast<double>(BytesOf(calls.PartsOf(first + call.model)));
          sum.count += 1;
        }
      }
    }
    ++number;
  }
  SiteLaws laws;
  for (const auto& [key, of] : sums) {
    std::vector<LawPoint> points;
    for (const auto& [where, sum] : of) {
      points.push_back({rules.grids[where.first], where.second, sum.bytes / sum.count, sum.count});
    }
    laws.bytes[key] = FitScalingLaw(points);
  }
  return laws;
}

}  // namespace farscale
