#include "growth/program_split.h"

#include <algorithm>
#include <numeric>

namespace farscale {

std::optional<std::int64_t> ProgramSplit::FirstOf(std::int64_t ranks) const {
  switch (kind) {
    case Kind::kFirst: return 2 * n <= ranks ? std::optional(n) : std::nullopt;
    case Kind::kLast: return 2 * n <= ranks ? std::optional(ranks - n) : std::nullopt;
    case Kind::kShare: break;
  }
  return ranks % of == 0 ? std::optional(ranks / of * n) : std::nullopt;
}

std::vector<ProgramSplit> SplitsWith(const std::vector<std::int64_t>& ranks,
                                     const std::vector<std::vector<std::int64_t>>& first) {
  std::vector<ProgramSplit> splits;
  const auto add = [&](const ProgramSplit& split) {
    for (std::size_t run = 0; run < ranks.size(); ++run) {
      const std::optional<std::int64_t> here = split.FirstOf(ranks[run]);
      if (!here || std::ranges::find(first[run], *here) == first[run].end()) return;
    }
    splits.push_back(split);
  };
  for (const std::int64_t one : first.back()) {
    const std::int64_t common = std::gcd(one, ranks.back());
    add({ProgramSplit::Kind::kFirst, one, 1});
    add({ProgramSplit::Kind::kLast, ranks.back() - one, 1});
    add({ProgramSplit::Kind::kShare, one / common, ranks.back() / common});
  }
  return splits;
}

std::optional<ProgramSplit> SplitOf(const std::vector<RankGrid>& series) {
  std::vector<std::int64_t> ranks;
  std::vector<std::vector<std::int64_t>> first;
  for (const RankGrid& grid : series) {
    ranks.push_back(grid.size());
    first.push_back({grid.SizeOf(0)});
  }
  const std::vector<ProgramSplit> splits = SplitsWith(ranks, first);
  return splits.empty() ? std::nullopt : std::optional(splits.front());
}

}  // namespace farscale
