#include "imbalance/load_deviation.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "imbalance/deviation_search.h"

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

}  // namespace farscale
