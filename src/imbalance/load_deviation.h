// Where in a load by rank and time something takes longer than it usually does [docs/formulas.md, causes and gains]:
// slow ranks, nodes, rows and columns of the process grid, ranks that become slow, hot spots that move. Noise is
// nothing of the kind: what deviates must lie apart from what merely varies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "imbalance/cause.h"
#include "imbalance/load_matrix.h"

namespace farscale {

struct LoadDeviation {
  CausePlace place = CausePlace::kRank;
  std::vector<std::size_t> rows;  // of the load, those with most first
  // Of every row what share of each column's time would be left without the deviation; 1: all of it. Above 1 where
  // ranks differ by degrees.
  std::vector<std::vector<float>> kept;
  std::optional<double> level;         // time in it over the usual time; nothing where that is none
  std::optional<std::int32_t> node;    // that has these ranks, all of them and no others
  std::optional<std::int32_t> socket;  // of the node
  std::optional<GridLine> line;
  std::size_t every = 0;  // columns, of a periodic one
  std::size_t first_column = 0, last_column = 0;
  std::size_t affected = 0;  // columns
  double excess = 0;         // time beyond the usual, summed over ranks

  bool IsAffected(std::size_t index, std::size_t column) const { return kept[index][column] < 1; }
};

// Where the rows of a load lie.
struct RowPlaces {
  std::vector<std::int32_t> nodes;                    // of every row
  std::vector<std::int32_t> sockets;                  // of the nodes; empty: not known
  std::vector<std::vector<std::size_t>> coordinates;  // of every dimension of a process grid, of every row
  std::vector<std::size_t> groups{};                  // of ranks that do different work; empty: all do the same
};

// `typical`: what a rank computes in a column in all; what is next to nothing beside it does not
// count. Those with the largest excess first.
std::vector<LoadDeviation> FindDeviations(const LoadMatrix& load, const RowPlaces& places, double typical);

}  // namespace farscale
