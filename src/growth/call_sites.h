// Quantities of call sites over the runs, and the laws they follow.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "growth/call_rules.h"
#include "growth/run_calls.h"
#include "growth/scaling_law.h"

namespace farscale {

// What calls of different classes are the same in.
struct SiteKey {
  std::size_t kind = 0;  // of iterations
  std::uint32_t function = 0, before = 0;
  PeerRule::Kind rule = PeerRule::Kind::kNobody;
  std::int32_t n = 0;
  GridVector steps{};
  std::int64_t tag = 0;
  std::int32_t stage = 0;

  friend auto operator<=>(const SiteKey&, const SiteKey&) = default;
};
SiteKey KeyOf(std::size_t kind, std::uint32_t before, const CallRule& rule, std::int32_t stage);

// One call of a rank: its rule, and where it is among the calls of a rank that is its model.
struct PlannedCall {
  const CallRule* rule = nullptr;
  Stage stage;
  SiteKey key;
  std::uint32_t model = 0;  // index among the calls of the iteration of the model
};

// The calls of a rank of a grid in an iteration of a kind, after a model of the same class on another grid.
std::vector<PlannedCall> PlanCalls(const std::vector<CallBlock>& blocks, std::size_t kind, const RankGrid& grid,
                                   const RankGrid& model_grid);

// Laws of the bytes of every call site.
struct SiteLaws {
  std::map<SiteKey, ScalingLaw> bytes;

  // Of a site that one run alone has, the law of those that are like it.
  ScalingLaw BytesAt(const SiteKey& key) const;
};

SiteLaws FitSiteLaws(const std::vector<RunCalls>& runs, const CallRules& rules);

}  // namespace farscale
