#include "imbalance/load_deviation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "stats/sample_quantiles.h"

namespace farscale {
namespace {

// Chosen. Noise of any usual distribution hardly ever lies so far out, and where it does, more of it lies a little less
// far: then there is no gap below what deviates.
constexpr double kRowSigmas = 5;
constexpr double kCellSigmas = 8;
constexpr double kGap = 0.75;       // of the threshold: where the gap begins
constexpr double kInGap = 0.35;     // as many cells there as beyond it, at most
constexpr double kLeastRow = 0.03;  // of the usual time
constexpr double kLeastCell = 0.08;
constexpr double kLeastDegrees = 0.03;     // the slowest above the average
constexpr double kLeastDegreesOnce = 0.1;  // the same where nothing shows the noise
constexpr std::size_t kFewRows = 8;
constexpr std::size_t kFewCells = 4;
constexpr std::size_t kRarely = 2;  // cells of a rank that are no pattern
constexpr double kLeastStep = 0.06;
constexpr double kStepSigmas = 6;
constexpr double kNothing = 0.004;  // of all computation in a column

// The lower one of two.
double MedianOfCells(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

double MeanOfCells(const std::vector<double>& values) {
  return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double DeviationOfCells(const std::vector<double>& values, double middle) {
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double value : values) distances.push_back(std::fabs(value - middle));
  return kDeviationOverMedianDistance * MedianOfCells(std::move(distances));
}

struct Cell {
  std::size_t row = 0, column = 0;
  double excess = 0;
};

class DeviationSearch {
 public:
  DeviationSearch(const LoadMatrix& load, const std::vector<std::int32_t>& nodes, double typical)
      : load_(load), nodes_(nodes), columns_(load.iterations), nothing_(kNothing * typical) {
    for (std::size_t row = 0; row < load.ranks.size(); ++row) {
      if (MeanOfRow(row) > 0) rows_.push_back(row);
    }
  }

  std::vector<LoadDeviation> Run() {
    if (rows_.empty() || load_.ranks.size() < 2) return {};
    if (IsAlone()) {
      AddAlone();
    } else {
      Measure();
      if (!is_sparse_) FindSteps();
      if (!is_sparse_) FindRows();
      if (columns_ > 1) FindCells();
    }
    std::ranges::stable_sort(found_, std::greater(), &LoadDeviation::excess);
    return std::move(found_);
  }

 private:
  double At(std::size_t row, std::size_t column) const { return load_.At(row, column); }
  std::vector<double> Row(std::size_t row) const {
    const auto first = load_.seconds.begin() + static_cast<std::ptrdiff_t>(row * columns_);
    return {first, first + static_cast<std::ptrdiff_t>(columns_)};
  }
  double MeanOfRow(std::size_t row) const {
    const double* first = load_.seconds.data() + row * columns_;
    return std::accumulate(first, first + columns_, 0.0) / static_cast<double>(columns_);
  }

  // Where few ranks are ever in it, it is their work alone, unless they take turns.
  bool IsAlone() const {
    if (rows_.size() > std::max<std::size_t>(1, load_.ranks.size() / 8)) return false;
    if (rows_.size() == 1) return true;
    std::size_t busy = 0;
    for (const std::size_t row : rows_) {
      const std::vector<double> values = Row(row);
      busy += static_cast<std::size_t>(std::ranges::count_if(values, [](double value) { return value > 0; }));
    }
    return 2 * busy > rows_.size() * columns_;
  }

  void AddAlone() {
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
  void Measure() {
    middle_.assign(load_.ranks.size(), 0);
    std::size_t empty = 0;
    for (const std::size_t row : rows_) {
      middle_[row] = columns_ > 2 ? MedianOfCells(Row(row)) : MeanOfRow(row);
      empty += middle_[row] <= 0;
    }
    is_sparse_ = 2 * empty > rows_.size();
    in_column_.assign(columns_, 0);
    std::vector<double> values;
    for (std::size_t column = 0; empty > 0 && column < columns_; ++column) {
      values.clear();
      for (const std::size_t row : rows_) values.push_back(At(row, column));
      in_column_[column] = MedianOfCells(values);
    }
    factor_.assign(columns_, is_sparse_ ? 0 : 1);
    std::vector<double> ratios;
    for (std::size_t column = 0; !is_sparse_ && columns_ > 1 && column < columns_; ++column) {
      ratios.clear();
      for (const std::size_t row : rows_) {
        if (middle_[row] > 0) ratios.push_back(At(row, column) / middle_[row]);
      }
      factor_[column] = MedianOfCells(ratios);
    }
    std::vector<double> middles;
    for (const std::size_t row : rows_) middles.push_back(middle_[row]);
    base_ = MedianOfCells(middles);
    std::vector<double> rest;
    rest.reserve(rows_.size() * columns_);
    for (const std::size_t row : rows_) {
      for (std::size_t column = 0; column < columns_; ++column) rest.push_back(At(row, column) - Usual(row, column));
    }
    noise_ = columns_ > 1 ? DeviationOfCells(rest, MedianOfCells(rest)) : 0;
    if (columns_ > 1 && rows_.size() < kFewRows) noise_ = std::max(noise_, NoiseOfRows());
  }

  // The factor of a column is itself one of few ratios, which leaves no noise on that rank: then that of each rank by
  // itself counts.
  double NoiseOfRows() const {
    std::vector<double> rest;
    for (const std::size_t row : rows_) {
      for (std::size_t column = 0; column < columns_; ++column) rest.push_back(At(row, column) - middle_[row]);
    }
    return DeviationOfCells(rest, MedianOfCells(rest));
  }

  // Of a rank that is rarely in it: what the middle rank spends in that column, as all may be in it at the same time.
  double Usual(std::size_t row, std::size_t column) const {
    return middle_[row] > 0 ? middle_[row] * factor_[column] : in_column_[column];
  }

  // The column from which on a rank is slow, where it was not before: where the means before and behind differ most for
  // the noise. Nothing where they do not differ clearly.
  std::optional<std::size_t> StepOf(std::size_t row) const {
    std::vector<double> excess;
    double behind = 0, before = 0;
    for (std::size_t column = 0; column < columns_; ++column) {
      excess.push_back(factor_[column] > 0 ? At(row, column) / factor_[column] - base_ : 0);
      behind += excess.back();
    }
    std::optional<std::size_t> step;
    double clearest = 0;
    const std::size_t fewest = std::max<std::size_t>(3, columns_ / 10);
    for (std::size_t column = 0; column + fewest < columns_; ++column) {
      before += excess[column];
      behind -= excess[column];
      const auto first = static_cast<double>(column + 1), rest = static_cast<double>(columns_ - column - 1);
      const double difference = behind / rest - before / first;
      const double clearness = difference / std::sqrt(1 / first + 1 / rest);
      if (column + 1 < fewest || clearness <= clearest) continue;
      clearest = clearness;
      const bool is_clear = difference > std::max(kLeastStep * base_, nothing_) && clearness > kStepSigmas * noise_;
      const bool is_from_nothing = before / first < 0.25 * difference;
      step = is_clear && is_from_nothing ? std::optional(column + 1) : std::nullopt;
    }
    if (!step) return std::nullopt;
    std::size_t slow = 0;  // a few long columns make a mean, too
    double mean = 0;
    for (std::size_t column = *step; column < columns_; ++column)
      mean += excess[column] / static_cast<double>(columns_ - *step);
    for (std::size_t column = *step; column < columns_; ++column) slow += excess[column] > mean / 2;
    const bool hides = noise_ > mean / 3;
    const double share = static_cast<double>(slow) / static_cast<double>(columns_ - *step);
    return hides || share >= 0.9 ? step : std::nullopt;
  }

  // Few ranks that become slow.
  void FindSteps() {
    if (columns_ < 8) return;
    std::vector<std::pair<std::size_t, std::size_t>> steps;  // row and column
    for (const std::size_t row : rows_) {
      if (const std::optional<std::size_t> step = StepOf(row)) steps.emplace_back(row, *step);
    }
    if (steps.size() > std::max<std::size_t>(1, rows_.size() / 8)) return;
    for (const auto& [row, step] : steps) {
      middle_[row] = MedianOfCells(BeforeStep(row, step));
      std::vector<Cell> cells;
      double before = 0, behind = 0;
      for (std::size_t column = 0; column < columns_; ++column) {
        const double own = At(row, column) / std::max(factor_[column], 1e-9);
        (column < step ? before : behind) += own / static_cast<double>(column < step ? step : columns_ - step);
      }
      // As much faster as it was before, with its noise.
      for (std::size_t column = step; column < columns_ && behind > 0; ++column)
        cells.push_back({row, column, At(row, column) * (1 - before / behind)});
      AddCells(cells, CausePlace::kFromTime);
      fixed_.insert(row);
    }
  }

  std::vector<double> BeforeStep(std::size_t row, std::size_t step) const {
    std::vector<double> values = Row(row);
    values.resize(step);
    return values;
  }

  // Ranks that are slow all the time; else how far they differ by degrees.
  void FindRows() {
    std::vector<double> middles;
    for (const std::size_t row : rows_) middles.push_back(middle_[row]);
    const double of_mean = noise_ / std::sqrt(static_cast<double>(columns_));
    const double threshold = std::max(
        {kRowSigmas * DeviationOfCells(middles, base_), kRowSigmas * 1.25 * of_mean, kLeastRow * base_, nothing_});
    std::vector<std::size_t> slow;
    std::size_t in_gap = 0;
    for (const std::size_t row : rows_) {
      if (IsFixed(row)) continue;
      const double excess = middle_[row] - base_;
      if (excess > threshold && IsSteady(row, threshold)) {
        slow.push_back(row);
      } else if (excess > threshold) {
        middle_[row] = base_;  // slow for most of the time: a matter of cells
      } else {
        in_gap += excess > kGap * threshold;
      }
    }
    std::ranges::stable_sort(slow, {}, [&](std::size_t row) { return -middle_[row]; });
    std::vector<std::size_t> others = TakeNodes(slow);
    const std::size_t few = std::max<std::size_t>(1, rows_.size() / 4);
    const bool is_apart = static_cast<double>(in_gap) <= kInGap * static_cast<double>(others.size());
    if (!others.empty() && others.size() <= few && is_apart) {
      AddSlow(others, others.size() == 1 ? CausePlace::kRank : CausePlace::kRanks);
      others.clear();
    }
    AddDegrees(of_mean);
  }

  // A rank whose time exceeds the usual nearly always, or whose noise hides when it does.
  bool IsSteady(std::size_t row, double threshold) const {
    if (columns_ < 4) return true;
    const double excess = middle_[row] - base_;
    if (noise_ > excess / 3) return true;
    std::size_t slow = 0;
    for (std::size_t column = 0; column < columns_; ++column) {
      slow += At(row, column) - base_ * factor_[column] > std::min(threshold, excess) / 2;
    }
    return static_cast<double>(slow) >= 0.9 * static_cast<double>(columns_);
  }

  // Nodes all of whose ranks are slow, while those of others are not; returns the other slow ranks.
  std::vector<std::size_t> TakeNodes(const std::vector<std::size_t>& slow) {
    std::map<std::int32_t, std::size_t> ranks_of;
    std::map<std::int32_t, std::vector<std::size_t>> slow_of;
    for (const std::size_t row : rows_) ++ranks_of[nodes_[row]];
    for (const std::size_t row : slow) slow_of[nodes_[row]].push_back(row);
    std::vector<std::size_t> others;
    std::size_t whole = 0;
    for (const auto& [node, rows] : slow_of) whole += rows.size() == ranks_of[node] && rows.size() > 1;
    const bool are_nodes = whole > 0 && 2 * whole <= ranks_of.size();
    for (const auto& [node, rows] : slow_of) {
      if (!are_nodes || rows.size() != ranks_of[node] || rows.size() < 2) {
        others.insert(others.end(), rows.begin(), rows.end());
        continue;
      }
      AddSlow(rows, CausePlace::kNode);
      found_.back().node = node;
    }
    std::ranges::stable_sort(others, {}, [&](std::size_t row) { return -middle_[row]; });
    return others;
  }

  // Ranks at the mean of those that are not slow.
  void AddSlow(const std::vector<std::size_t>& slow, CausePlace place) {
    double usual = 0, count = 0, own = 0;
    for (const std::size_t row : rows_) {
      if (std::ranges::find(slow, row) != slow.end() || middle_[row] - base_ > kLeastRow * base_ + nothing_) continue;
      usual += MeanOfRow(row);
      ++count;
    }
    usual = count > 0 ? usual / count : base_;
    LoadDeviation found;
    found.place = place;
    std::set<std::size_t> columns;
    for (const std::size_t row : slow) {
      const double mean = MeanOfRow(row);
      own += mean / static_cast<double>(slow.size());
      found.rows.push_back(row);
      found.kept.emplace_back(columns_, static_cast<float>(std::min(1.0, usual / mean)));
      found.excess += (mean - usual) * static_cast<double>(columns_);
      fixed_.insert(row);
    }
    for (std::size_t column = 0; column < columns_; ++column) columns.insert(column);
    found.level = own / usual;
    Finish(columns, found);
    found_.push_back(std::move(found));
  }

  bool IsFixed(std::size_t row) const { return fixed_.count(row) > 0; }

  // Of the ranks that are not slow beyond all others: at their mean.
  void AddDegrees(double noise_of_mean) {
    std::vector<double> means;
    std::vector<std::size_t> rows;
    for (const std::size_t row : rows_) {
      if (IsFixed(row)) continue;
      rows.push_back(row);
      means.push_back(middle_[row]);
    }
    if (rows.size() < 2) return;
    const double mean = MeanOfCells(means);
    double variance = 0;
    for (const double one : means) variance += (one - mean) * (one - mean) / static_cast<double>(means.size() - 1);
    const double largest = std::ranges::max(means);
    const double least = columns_ >= 4 ? kLeastDegrees : kLeastDegreesOnce;
    if (largest - mean <= std::max(least * mean, nothing_) || std::sqrt(variance) <= 3 * 1.25 * noise_of_mean) return;
    LoadDeviation found;
    found.place = CausePlace::kByDegrees;
    std::ranges::stable_sort(rows, {}, [&](std::size_t row) { return -middle_[row]; });
    std::set<std::size_t> columns;
    for (const std::size_t row : rows) {
      found.rows.push_back(row);
      found.kept.emplace_back(columns_, static_cast<float>(middle_[row] > 0 ? mean / middle_[row] : 1));
      found.excess += std::max(0.0, middle_[row] - mean) * static_cast<double>(columns_);
    }
    for (std::size_t column = 0; column < columns_; ++column) columns.insert(column);
    found.level = largest / mean;
    Finish(columns, found);
    found_.push_back(std::move(found));
  }

  // Cells far above what is usual for their rank and column.
  void FindCells() {
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
    if (!of_rows.empty()) AddScattered(of_rows);
  }

  // Whether most columns have it, on a rank that changes.
  bool IsOneThatMoves(const std::map<std::size_t, std::vector<Cell>>& of_rows) const {
    std::set<std::size_t> columns;
    std::size_t cells = 0;
    for (const auto& [row, of_row] : of_rows) {
      for (const Cell& cell : of_row) columns.insert(cell.column);
      cells += of_row.size();
    }
    return of_rows.size() > 1 && 2 * columns.size() >= columns_ && 2 * cells <= 3 * columns.size();
  }

  // Ranks that take longer in the first columns alone: the start, unless the same goes on on others.
  void TakeFirstColumns(std::map<std::size_t, std::vector<Cell>>& of_rows) {
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
  static std::size_t PeriodOf(const std::vector<std::size_t>& columns) {
    if (columns.size() < 4) return 0;
    std::map<std::size_t, std::size_t> distances;
    for (std::size_t i = 1; i < columns.size(); ++i) ++distances[columns[i] - columns[i - 1]];
    const auto most = std::ranges::max_element(distances, {}, [](const auto& one) { return one.second; });
    const bool is_regular = static_cast<double>(most->second) >= 0.8 * static_cast<double>(columns.size() - 1);
    return is_regular && most->first > 1 ? most->first : 0;
  }

  CausePlace PlaceInRow(const std::vector<Cell>& cells) {
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
  void AddScattered(const std::map<std::size_t, std::vector<Cell>>& of_rows) {
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

  void AddCells(const std::vector<Cell>& cells, CausePlace place) {
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

  static void Finish(const std::set<std::size_t>& columns, LoadDeviation& found) {
    if (columns.empty()) return;
    found.first_column = *columns.begin();
    found.last_column = *columns.rbegin();
    found.affected = columns.size();
  }

  const LoadMatrix& load_;
  const std::vector<std::int32_t>& nodes_;
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

}  // namespace

std::vector<LoadDeviation> FindDeviations(const LoadMatrix& load, const std::vector<std::int32_t>& nodes,
                                          double typical) {
  return DeviationSearch(load, nodes, typical).Run();
}

}  // namespace farscale
