// Where in a load by rank and time something takes longer than it usually does [docs/formulas.md, causes and gains]:
// slow ranks, nodes, rows and columns of the process grid, ranks that become slow, hot spots that move. Noise is
// nothing of the kind: what deviates must lie apart from what merely varies.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <vector>

#include "imbalance/causes/cause.h"
#include "imbalance/causes/load_matrix.h"
#include "stats/sample_quantiles.h"

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

// The search of FindDeviations [imbalance/causes/load_deviation.h] in its parts: what is usual (load_deviation.cc),
// ranks that are slow all the time or from a time on (slow_rows.cc), and single cells (slow_cells.cc).

// Chosen. Noise of any usual distribution hardly ever lies so far out, and where it does, more of it lies a little less
// far: then there is no gap below what deviates.
inline constexpr double kGap = 0.75;       // of the threshold: where the gap begins
inline constexpr double kInGap = 0.35;     // as many cells there as beyond it, at most
inline constexpr double kNothing = 0.004;  // of all computation in a column

// Of ranks: where half of them are slow, the others are what is usual, so the lower of two in the middle counts.
inline double UsualOf(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

inline double MeanOfCells(const std::vector<double>& values) {
  return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

inline std::vector<double> DistancesFrom(double middle, std::vector<double> values) {
  for (double& value : values) value = std::fabs(value - middle);
  return values;
}

// Of the noise of cells. Not for none.
inline double DeviationOfCells(const std::vector<double>& values) {
  return kDeviationOverMedianDistance * Median(DistancesFrom(Median(values), values));
}

class DeviationSearch {
 public:
  DeviationSearch(const LoadMatrix& load, const RowPlaces& places, double typical)
      : load_(load), places_(places), columns_(load.iterations), nothing_(kNothing * typical) {
    for (std::size_t row = 0; row < load.ranks.size(); ++row) {
      if (MeanOfRow(row) > 0) rows_.push_back(row);
    }
  }

  std::vector<LoadDeviation> Run();

 private:
  struct Cell {
    std::size_t row = 0, column = 0;
    double excess = 0;
  };

  double At(std::size_t row, std::size_t column) const { return load_.At(row, column); }
  std::vector<double> Row(std::size_t row) const {
    const auto first = load_.seconds.begin() + static_cast<std::ptrdiff_t>(row * columns_);
    return {first, first + static_cast<std::ptrdiff_t>(columns_)};
  }
  double MeanOfRow(std::size_t row) const {
    const double* first = load_.seconds.data() + row * columns_;
    return std::accumulate(first, first + columns_, 0.0) / static_cast<double>(columns_);
  }
  bool IsFixed(std::size_t row) const { return fixed_.count(row) > 0; }

  bool IsAlone(std::size_t divisor) const;
  void AddAlone();
  void Measure();
  double NoiseOfRows() const;
  double Usual(std::size_t row, std::size_t column) const;
  static void Finish(const std::set<std::size_t>& columns, LoadDeviation& found);

  std::optional<std::size_t> StepOf(std::size_t row) const;
  void FindSteps();
  std::vector<double> BeforeStep(std::size_t row, std::size_t step) const;
  void FindRows();
  bool IsSteady(std::size_t row, double threshold) const;
  std::vector<std::size_t> TakeWhole(const std::vector<std::size_t>& slow, const auto& group_of, const auto& most,
                                     const auto& name);
  bool ArePlanes(const std::vector<std::size_t>& slow, std::size_t dimension) const;
  std::vector<std::size_t> TakePlanes(const std::vector<std::size_t>& slow, std::size_t dimension);
  void NameHardware(LoadDeviation& found) const;
  void AddSlow(const std::vector<std::size_t>& slow, CausePlace place);
  std::vector<double> MeansOfGroups(const std::vector<std::size_t>& rows) const;
  void AddDegrees(double noise_of_mean);

  void FindCells();
  bool IsOneThatMoves(const std::map<std::size_t, std::vector<Cell>>& of_rows) const;
  void TakeFirstColumns(std::map<std::size_t, std::vector<Cell>>& of_rows);
  void TakeFrequentRows(std::map<std::size_t, std::vector<Cell>>& of_rows);
  static std::size_t PeriodOf(const std::vector<std::size_t>& columns);
  CausePlace PlaceInRow(const std::vector<Cell>& cells);
  void AddScattered(const std::map<std::size_t, std::vector<Cell>>& of_rows);
  void AddCells(const std::vector<Cell>& cells, CausePlace place);

  const LoadMatrix& load_;
  const RowPlaces& places_;
  const std::size_t columns_;
  const double nothing_;
  std::vector<std::size_t> rows_;  // with any time
  std::vector<double> middle_;     // of rows
  std::vector<double> factor_;     // of columns
  std::vector<double> in_column_;  // the middle rank's time in each column, where some ranks are rarely in it
  bool is_sparse_ = false;         // most ranks are in it in few columns only
  double base_ = 0, noise_ = 0;
  std::set<std::size_t> fixed_;  // rows that are slow all the time
  std::vector<LoadDeviation> found_;
};

}  // namespace farscale
