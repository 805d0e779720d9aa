// Where in a load by rank and time something takes longer than it usually does [docs/formulas.md, causes and gains]:
// slow ranks, nodes, rows and columns of the process grid, ranks that become slow, hot spots that move. Noise is
// nothing of the kind: what deviates must lie apart from what merely varies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "imbalance/causes/cause.h"
#include "imbalance/causes/load_matrix.h"

namespace farscale {

struct LoadDeviation {
  CausePlace place = CausePlace::kRank;
  std::vector<std::size_t> rows;  // in the load, those with most first
  // Indexed by row and column: the share of the time that would be left without the deviation; 1: all of it. Above 1
  // where ranks differ by degrees.
  std::vector<std::vector<float>> kept;
  std::optional<double> level;         // time in it over the usual time; nothing where that is none
  std::optional<std::int32_t> node;    // that has these ranks, all of them and no others
  std::optional<std::int32_t> socket;  // on the node
  std::optional<GridLine> line;
  std::size_t every = 0;     // columns, of a periodic one
  std::size_t affected = 0;  // columns
  double excess = 0;         // time beyond the usual, summed over ranks

  // `index`: among `rows`.
  bool IsAffected(std::size_t index, std::size_t column) const { return kept[index][column] < 1; }
  double Excess(const LoadMatrix& load, std::size_t index, std::size_t column) const {
    return load.At(rows[index], column) * (1 - static_cast<double>(kept[index][column]));
  }
};

// Where the rows of a load lie.
struct RowPlaces {
  std::vector<std::int32_t> nodes;                    // one a row
  std::vector<std::int32_t> sockets;                  // on the nodes; empty: not known
  std::vector<std::vector<std::size_t>> coordinates;  // indexed by dimension of a process grid, then row
  std::vector<std::size_t> groups{};                  // ranks that do different work; empty: all do the same
};

// The largest excess comes first. `typical`: the computation of a rank in a column in all; anything that is next to
// nothing beside it does not count.
std::vector<LoadDeviation> FindDeviations(const LoadMatrix& load, const RowPlaces& places, double typical);

}  // namespace farscale
