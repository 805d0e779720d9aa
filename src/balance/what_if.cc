#include "balance/what_if.h"

#include <array>
#include <utility>

namespace farscale {
namespace {

constexpr std::array<std::pair<Placement, const char*>, 3> kNames = {
    {{Placement::kAsMeasured, "measured"}, {Placement::kBlock, "block"}, {Placement::kRoundRobin, "round-robin"}}};

}  // namespace

std::string ToString(Placement placement) { return kNames[static_cast<std::size_t>(placement)].second; }

std::optional<Placement> ParsePlacement(const std::string& name) {
  for (const auto& [placement, text] : kNames) {
    if (name == text) return placement;
  }
  return std::nullopt;
}

}  // namespace farscale
