#include "imbalance/communicator_grid.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

namespace farscale {
namespace {

constexpr std::size_t kMostDimensions = 3;
constexpr std::size_t kNotThere = std::numeric_limits<std::size_t>::max();

// Ranks at equal distances, as they lie in one dimension of a grid.
struct Line {
  std::size_t first = 0, stride = 0, size = 0;
};

// Places among the ranks of the phase; nothing for a communicator that is no line of them.
std::optional<Line> LineOf(const Communicator& communicator, const std::vector<std::size_t>& place) {
  if (communicator.is_self || !communicator.remote.empty() || communicator.members.size() < 2) return std::nullopt;
  std::vector<std::size_t> members;
  for (const std::int32_t rank : communicator.members) {
    const auto world = static_cast<std::size_t>(rank);
    if (rank < 0 || world >= place.size() || place[world] == kNotThere) return std::nullopt;
    members.push_back(place[world]);
  }
  std::sort(members.begin(), members.end());
  const Line line{members[0], members[1] - members[0], members.size()};
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (line.stride == 0 || members[i] != line.first + i * line.stride) return std::nullopt;
  }
  if (line.first / line.stride % line.size != 0) return std::nullopt;  // over the edge of a grid
  return line;
}

}  // namespace

std::vector<std::size_t> ExtentsOfCommunicators(const Trace& trace, const PhaseCut& cut) {
  std::vector<std::size_t> place(trace.size(), kNotThere);
  std::size_t ranks = 0;
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    if (cut.ranks[rank].present) place[rank] = ranks++;
  }
  std::map<std::pair<std::size_t, std::size_t>, std::vector<char>> covered;  // by stride, then size
  for (const Communicator& communicator : trace.communicators) {
    const std::optional<Line> line = LineOf(communicator, place);
    if (!line || line->size == ranks) continue;
    std::vector<char>& of_all = covered[{line->stride, line->size}];
    of_all.resize(ranks);
    for (std::size_t i = 0; i < line->size; ++i) of_all[line->first + i * line->stride] = 1;
  }
  // From the fastest dimension on; of several at one stride the shortest lines, longer ones are planes.
  std::vector<std::size_t> extents;
  std::size_t stride = 1;
  for (const auto& [line, of_all] : covered) {
    if (line.first != stride || std::count(of_all.begin(), of_all.end(), 1) < static_cast<std::ptrdiff_t>(ranks))
      continue;
    extents.push_back(line.second);
    stride *= line.second;
  }
  if (ranks == 0 || stride != ranks || extents.size() < 2 || extents.size() > kMostDimensions) return {};
  std::reverse(extents.begin(), extents.end());
  return extents;
}

}  // namespace farscale
