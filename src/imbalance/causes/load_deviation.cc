#include "imbalance/causes/load_deviation.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

namespace farscale {
namespace {

// Chosen.
constexpr std::size_t kFewRows = 8;

}  // namespace

std::vector<LoadDeviation> DeviationSearch::Run() {
  if (rows_.empty() || load_.ranks.size() < 2) return {};
  constexpr std::size_t kFew = 8, kHalf = 2;  // one of so many ranks; chosen
  if (IsAlone(kFew)) {
    AddAlone();
  } else {
    Measure();
    if (!is_sparse_) FindSteps();
    if (!is_sparse_) FindRows();
    if (columns_ > 1) FindCells();
    // Where all ranks do the same otherwise, the problem has no more parts.
    if (found_.empty() && places_.groups.empty() && IsAlone(kHalf)) AddAlone();
  }
  std::ranges::stable_sort(found_, std::greater(), &LoadDeviation::excess);
  return std::move(found_);
}

// Where few ranks are ever in it, it is their work alone, unless they take turns.
bool DeviationSearch::IsAlone(std::size_t divisor) const {
  if (rows_.size() > std::max<std::size_t>(1, load_.ranks.size() / divisor)) return false;
  if (rows_.size() == 1) return true;
  std::size_t busy = 0;
  for (const std::size_t row : rows_) {
    const std::vector<double> values = Row(row);
    busy += static_cast<std::size_t>(std::ranges::count_if(values, [](double value) { return value > 0; }));
  }
  return 2 * busy > rows_.size() * columns_;
}

void DeviationSearch::AddAlone() {
  LoadDeviation alone;
  alone.place = CausePlace::kAlone;
  std::set<std::size_t> columns;
  alone.rows = rows_;
  std::ranges::stable_sort(alone.rows, {}, [&](std::size_t row) { return -MeanOfRow(row); });
  for (const std::size_t row : alone.rows) {
    std::vector<float> kept(columns_, 1);
    for (std::size_t column = 0; column < columns_; ++column) {
      if (At(row, column) <= 0) continue;
      kept[column] = 0;
      columns.insert(column);
      alone.excess += At(row, column);
    }
    alone.kept.push_back(std::move(kept));
  }
  Finish(columns, alone);
  found_.push_back(std::move(alone));
}

// Middles of rows, factors of columns, noise of cells.
void DeviationSearch::Measure() {
  middle_.assign(load_.ranks.size(), 0);
  std::size_t empty = 0;
  for (const std::size_t row : rows_) {
    middle_[row] = columns_ > 2 ? Median(Row(row)) : MeanOfRow(row);
    empty += middle_[row] <= 0;
  }
  is_sparse_ = 2 * empty > rows_.size();
  in_column_.assign(columns_, 0);
  std::vector<double> values;
  for (std::size_t column = 0; empty > 0 && column < columns_; ++column) {
    values.clear();
    for (const std::size_t row : rows_) values.push_back(At(row, column));
    in_column_[column] = UsualOf(values);
  }
  factor_.assign(columns_, is_sparse_ ? 0 : 1);
  std::vector<double> ratios;
  for (std::size_t column = 0; !is_sparse_ && columns_ > 1 && column < columns_; ++column) {
    ratios.clear();
    for (const std::size_t row : rows_) {
      if (middle_[row] > 0) ratios.push_back(At(row, column) / middle_[row]);
    }
    factor_[column] = UsualOf(ratios);
  }
  std::vector<double> middles;
  for (const std::size_t row : rows_) middles.push_back(middle_[row]);
  base_ = UsualOf(middles);
  std::vector<double> rest;
  rest.reserve(rows_.size() * columns_);
  for (const std::size_t row : rows_) {
    for (std::size_t column = 0; column < columns_; ++column) rest.push_back(At(row, column) - Usual(row, column));
  }
  noise_ = columns_ > 1 ? DeviationOfCells(rest) : 0;
  if (columns_ > 1 && rows_.size() < kFewRows) noise_ = std::max(noise_, NoiseOfRows());
}

// The factor of a column is itself one of few ratios, which leaves no noise on that rank: then that of each rank by
// itself counts.
double DeviationSearch::NoiseOfRows() const {
  std::vector<double> rest;
  for (const std::size_t row : rows_) {
    for (std::size_t column = 0; column < columns_; ++column) rest.push_back(At(row, column) - middle_[row]);
  }
  return DeviationOfCells(rest);
}

// Of a rank that is rarely in it: what the middle rank spends in that column, as all may be in it at the same time.
double DeviationSearch::Usual(std::size_t row, std::size_t column) const {
  return middle_[row] > 0 ? middle_[row] * factor_[column] : in_column_[column];
}

void DeviationSearch::Finish(const std::set<std::size_t>& columns, LoadDeviation& found) {
  if (columns.empty()) return;
  found.first_column = *columns.begin();
  found.last_column = *columns.rbegin();
  found.affected = columns.size();
}

std::vector<LoadDeviation> FindDeviations(const LoadMatrix& load, const RowPlaces& places, double typical) {
  return DeviationSearch(load, places, typical).Run();
}

// Single cells of a load far above what is usual for their rank and column, and the patterns they make.

namespace {

// Chosen. Noise of any usual distribution hardly ever lies so far out, and where it does, more of it lies a little less
// far: then there is no gap below what deviates.
constexpr double kCellSigmas = 8;
constexpr double kLeastCell = 0.08;
constexpr std::size_t kFewCells = 4;
constexpr std::size_t kRarely = 2;  // cells of a rank that are no pattern
constexpr double kOftener = 4;      // times what is usual of ranks that have any

}  // namespace

// Cells far above what is usual for their rank and column.
void DeviationSearch::FindCells() {
  const double threshold = std::max({kCellSigmas * noise_, kLeastCell * base_, nothing_});
  std::map<std::size_t, std::vector<Cell>> of_rows;
  std::size_t count = 0, in_gap = 0;
  double smallest = std::numeric_limits<double>::max(), largest_rest = 0;
  for (const std::size_t row : rows_) {
    if (IsFixed(row)) continue;
    for (std::size_t column = 0; column < columns_; ++column) {
      const double excess = At(row, column) - Usual(row, column);
      if (excess > threshold) {
        of_rows[row].push_back({row, column, excess});
        smallest = std::min(smallest, excess);
        ++count;
      } else {
        in_gap += excess > kGap * threshold;
        largest_rest = std::max(largest_rest, excess);
      }
    }
  }
  // The tail of noise has a few far out, but not twice as far as all others.
  if (count <= kFewCells && smallest < 2 * largest_rest) return;
  if (count == 0 || static_cast<double>(in_gap) > std::max(1.0, kInGap * static_cast<double>(count))) return;
  TakeFirstColumns(of_rows);
  const std::size_t few = std::max<std::size_t>(1, rows_.size() / 8);
  if (of_rows.size() <= few && !IsOneThatMoves(of_rows)) {
    // What happens on a rank again and again is its own; the rest is looked at together.
    std::erase_if(of_rows, [&](const auto& of_row) {
      if (of_row.second.size() <= kRarely) return false;
      AddCells(of_row.second, PlaceInRow(of_row.second));
      return true;
    });
  }
  TakeFrequentRows(of_rows);
  if (!of_rows.empty()) AddScattered(of_rows);
}

// A rank that has it far more often than the others is none of those that take turns.
void DeviationSearch::TakeFrequentRows(std::map<std::size_t, std::vector<Cell>>& of_rows) {
  std::vector<double> counts;
  for (const auto& [row, cells] : of_rows) counts.push_back(static_cast<double>(cells.size()));
  if (counts.size() < 3) return;
  const double most = std::max(static_cast<double>(kRarely), kOftener * UsualOf(counts));
  std::erase_if(of_rows, [&](const auto& of_row) {
    if (static_cast<double>(of_row.second.size()) <= most) return false;
    AddCells(of_row.second, PlaceInRow(of_row.second));
    return true;
  });
}

// Whether most columns have it, on a rank that changes.
bool DeviationSearch::IsOneThatMoves(const std::map<std::size_t, std::vector<Cell>>& of_rows) const {
  std::set<std::size_t> columns;
  std::size_t cells = 0;
  for (const auto& [row, of_row] : of_rows) {
    for (const Cell& cell : of_row) columns.insert(cell.column);
    cells += of_row.size();
  }
  return of_rows.size() > 1 && 2 * columns.size() >= columns_ && 2 * cells <= 3 * columns.size();
}

// Ranks that take longer in the first columns alone: the start, unless the same goes on on others.
void DeviationSearch::TakeFirstColumns(std::map<std::size_t, std::vector<Cell>>& of_rows) {
  const std::size_t first = std::max<std::size_t>(1, columns_ / 20);
  if (columns_ < 4) return;
  const auto is_start = [&](const auto& of_row) {
    return std::ranges::all_of(of_row.second, [&](const Cell& cell) { return cell.column < first; });
  };
  const auto rows = static_cast<std::size_t>(std::ranges::count_if(of_rows, is_start));
  const std::size_t others = of_rows.size() - rows;
  if (rows == 0 || (others > 1 && 4 * others > rows)) return;
  std::vector<Cell> start;
  for (const auto& of_row : of_rows) {
    if (is_start(of_row)) start.insert(start.end(), of_row.second.begin(), of_row.second.end());
  }
  std::erase_if(of_rows, is_start);
  AddCells(start, CausePlace::kStartUp);
}

// The distance between columns where all are (nearly) the same, and more than one.
std::size_t DeviationSearch::PeriodOf(const std::vector<std::size_t>& columns) {
  if (columns.size() < 4) return 0;
  std::map<std::size_t, std::size_t> distances;
  for (std::size_t i = 1; i < columns.size(); ++i) ++distances[columns[i] - columns[i - 1]];
  const auto most = std::ranges::max_element(distances, {}, [](const auto& one) { return one.second; });
  const bool is_regular = static_cast<double>(most->second) >= 0.8 * static_cast<double>(columns.size() - 1);
  return is_regular && most->first > 1 ? most->first : 0;
}

CausePlace DeviationSearch::PlaceInRow(const std::vector<Cell>& cells) {
  std::vector<std::size_t> columns;
  for (const Cell& cell : cells) columns.push_back(cell.column);
  if (PeriodOf(columns) > 0) return CausePlace::kPeriodic;
  const std::size_t first = columns.front(), last = columns.back();
  const bool is_stretch = static_cast<double>(columns.size()) >= 0.8 * static_cast<double>(last - first + 1);
  if (!is_stretch) return CausePlace::kNoisyRank;
  return last + 1 + std::max<std::size_t>(1, columns_ / 50) >= columns_ ? CausePlace::kFromTime
                                                                        : CausePlace::kForAWhile;
}

// Of many ranks: every n-th iteration, or a hot spot that moves. Else interruptions anywhere.
void DeviationSearch::AddScattered(const std::map<std::size_t, std::vector<Cell>>& of_rows) {
  std::vector<Cell> all;
  std::set<std::size_t> columns;
  for (const auto& [row, cells] : of_rows) {
    for (const Cell& cell : cells) {
      all.push_back(cell);
      columns.insert(cell.column);
    }
  }
  const std::vector<std::size_t> rising(columns.begin(), columns.end());
  CausePlace place = CausePlace::kNoisyRank;
  if (PeriodOf(rising) > 0) {
    place = CausePlace::kPeriodic;
  } else if (2 * columns.size() >= columns_) {
    place = CausePlace::kMovingHotSpot;
  } else if (columns.size() <= 2) {
    place = CausePlace::kOnce;
  }
  AddCells(all, place);
}

void DeviationSearch::AddCells(const std::vector<Cell>& cells, CausePlace place) {
  std::map<std::size_t, double> excess_of;
  std::set<std::size_t> columns;
  LoadDeviation found;
  found.place = place;
  double time = 0;
  for (const Cell& cell : cells) {
    excess_of[cell.row] += cell.excess;
    columns.insert(cell.column);
    found.excess += cell.excess;
    time += At(cell.row, cell.column);
  }
  for (const auto& [row, excess] : excess_of) found.rows.push_back(row);
  std::ranges::stable_sort(found.rows, {}, [&](std::size_t row) { return -excess_of[row]; });
  std::map<std::size_t, std::size_t> index_of;
  for (const std::size_t row : found.rows) {
    index_of[row] = found.kept.size();
    found.kept.emplace_back(columns_, 1.0F);
  }
  for (const Cell& cell : cells) {
    found.kept[index_of[cell.row]][cell.column] = static_cast<float>(1 - cell.excess / At(cell.row, cell.column));
  }
  if (time - found.excess > 0.01 * time) found.level = time / (time - found.excess);
  if (place == CausePlace::kPeriodic) found.every = PeriodOf({columns.begin(), columns.end()});
  Finish(columns, found);
  found_.push_back(std::move(found));
}

}  // namespace farscale
