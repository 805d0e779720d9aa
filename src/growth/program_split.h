// Where two programs run together: how many of the ranks are of the first, on any number of ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "growth/rank_grid.h"

namespace farscale {

struct ProgramSplit {
  enum class Kind : std::uint8_t {
    kFirst,  // the first n ranks, on any number of ranks
    kLast,   // all but the last n
    kShare,  // n of every `of` ranks
  };
  Kind kind = Kind::kFirst;
  std::int64_t n = 1, of = 1;

  // Ranks of the first program; nothing where the split gives no such number, or the program that has as many ranks on
  // any number of them is not the smaller one.
  std::optional<std::int64_t> FirstOf(std::int64_t ranks) const;
};

// Those by which the first program has so many ranks in the runs, the plainest first. `first`: numbers to choose from,
// for every run.
std::vector<ProgramSplit> SplitsWith(const std::vector<std::int64_t>& ranks,
                                     const std::vector<std::vector<std::int64_t>>& first);

// The split of a series of layouts of two programs; nothing where they follow none.
std::optional<ProgramSplit> SplitOf(const std::vector<RankGrid>& series);

}  // namespace farscale
