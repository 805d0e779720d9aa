#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "imbalance/activities.h"

namespace farscale {
namespace {

const std::string kSpecialNames[kSpecialPaths] = {"(outside regions)", "(before the phase)", "(between occurrences)",
                                                  "(after the phase)"};
constexpr std::string_view kSeparator = " / ";

}  // namespace

bool LiesOutsidePhase(const std::string& name) {
  return std::any_of(std::begin(kSpecialNames) + kBeforePhase, std::end(kSpecialNames),
                     [&](const std::string& special) { return name.starts_with(special); });
}

CallPaths::CallPaths(const Trace& trace) : trace_(&trace), nodes_(kSpecialPaths) {
  std::unordered_map<std::string_view, std::uint32_t> first;
  std::vector<std::uint32_t> named;
  named.reserve(trace.regions.size());
  for (std::uint32_t region = 0; region < trace.regions.size(); ++region) {
    named.push_back(first.emplace(trace.regions[region].name, region).first->second);
  }
  first_of_name_ = std::make_shared<const std::vector<std::uint32_t>>(std::move(named));
}

PathId CallPaths::Child(PathId parent, std::uint32_t region) {
  const std::uint32_t named = (*first_of_name_)[region];
  std::vector<std::pair<std::uint32_t, PathId>>& children = nodes_[parent].children;
  for (std::size_t i = 0; i < children.size(); ++i) {
    if (children[i].first != named) continue;
    const PathId child = children[i].second;
    if (i > 0) std::swap(children[i], children[i - 1]);
    return child;
  }
  const std::uint32_t depth = nodes_[parent].depth + 1;
  const Region& innermost = trace_->regions[named];
  if (depth > kDeepestPath && !innermost.is_mpi) return parent;
  const auto child = static_cast<PathId>(nodes_.size());
  children.emplace_back(named, child);
  nodes_.push_back({parent, named, depth, innermost.is_mpi, innermost.is_device_runtime, is_before_phase(parent), {}});
  return child;
}

const std::string& CallPaths::region_name(PathId path) const {
  return path < kSpecialPaths ? kSpecialNames[path] : trace_->regions[nodes_[path].region].name;
}

std::string CallPaths::Name(PathId path) const {
  if (path < kSpecialPaths) return kSpecialNames[path];
  std::vector<PathId> stack;
  for (; path >= kSpecialPaths; path = nodes_[path].parent) stack.push_back(path);
  std::string name = path == kOutsideRegions ? "" : kSpecialNames[path];
  for (auto at = stack.rbegin(); at != stack.rend(); ++at) {
    if (!name.empty()) name += kSeparator;
    name += region_name(*at);
  }
  return name;
}

std::string CallPaths::InnermostName(PathId path) const {
  const bool is_inside = is_mpi(path) && parent(path) != kOutsideRegions;
  if (!is_inside) return region_name(path);
  return fmt::format("{}{}{}", region_name(parent(path)), kSeparator, region_name(path));
}

std::vector<PathId> CallPaths::MergeInto(CallPaths& all) const {
  std::vector<PathId> merged(nodes_.size());
  for (PathId path = 0; path < nodes_.size(); ++path) {
    // Parents come before their children.
    merged[path] = path < kSpecialPaths ? path : all.Child(merged[nodes_[path].parent], nodes_[path].region);
  }
  return merged;
}

}  // namespace farscale
