#include "balance/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "balance/strategy.h"
#include "base/format.h"

namespace farscale {
namespace {

constexpr std::array<const char*, 3> kPlacements = {"measured", "block", "round-robin"};

}  // namespace

std::string ToString(Placement placement) { return kPlacements[static_cast<std::size_t>(placement)]; }

std::optional<Placement> ParsePlacement(const std::string& name) {
  const auto found = std::ranges::find(kPlacements, name);
  if (found == kPlacements.end()) return std::nullopt;
  return static_cast<Placement>(found - kPlacements.begin());
}

std::string NameOfBalancing(const BalanceConfiguration& configuration) {
  if (configuration.interval == 0) return "no balancing";
  const std::string& name = StrategyById(configuration.strategy).name;
  if (configuration.interval == 1) return name + " after every iteration";
  return fmt::format("{} every {} iterations", name, FormatCount(configuration.interval));
}

}  // namespace farscale
