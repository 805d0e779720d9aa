#include "imbalance/causes/find_causes.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <utility>

#include "stats/sample_quantiles.h"

namespace farscale {
namespace {

// Chosen. Noise of any usual distribution hardly ever lies so far out, and where it does, more of it lies a little less
// far: then there is no gap below what deviates.
constexpr double kGap = 0.75;       // share of the threshold: where the gap begins
constexpr double kInGap = 0.35;     // as many cells there as beyond it, at most
constexpr double kNothing = 0.004;  // share of all computation in a column

// The lower of two in the middle counts: if half of the ranks are slow, the others are usual.
double LowerMedian(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

std::vector<double> Distances(double middle, std::vector<double> values) {
  for (double& value : values) value = std::fabs(value - middle);
  return values;
}

// Ranks that are slow all the time, by degrees, or from a time on. All are chosen.
constexpr double kRowSigmas = 5;
constexpr double kLeastRow = 0.03;         // share of the usual time
constexpr double kLeastDegrees = 0.03;     // the slowest above the average
constexpr double kLeastDegreesOnce = 0.1;  // the same where nothing shows the noise
constexpr double kLeastStep = 0.06;
constexpr double kStepSigmas = 6;

// The most lines or planes of a grid that may be slow: half of a grid are too many to blame, and so is one of two.
std::size_t MostPlanes(std::size_t lines) { return lines < 3 ? 0 : std::max<std::size_t>(1, lines / 4); }

// Single cells, and the patterns they make. All are chosen.
constexpr std::size_t kFewRows = 8;
constexpr double kCellSigmas = 8;
constexpr double kLeastCell = 0.08;
constexpr std::size_t kFewCells = 4;
constexpr std::size_t kRarely = 2;  // cells of a rank that are no pattern
constexpr double kOftener = 4;      // times the usual number of ranks that have any

struct Cell {
  std::size_t row = 0, column = 0;
  double excess = 0;
};

using CellsByRow = std::map<std::size_t, std::vector<Cell>>;

// Rising.
std::vector<std::size_t> Columns(const std::vector<Cell>& cells) {
  std::set<std::size_t> columns;
  for (const Cell& cell : cells) columns.insert(cell.column);
  return {columns.begin(), columns.end()};
}

std::vector<Cell> AllCells(const CellsByRow& of_rows) {
  std::vector<Cell> all;
  for (const auto& [row, cells] : of_rows) all.insert(all.end(), cells.begin(), cells.end());
  return all;
}

// The distance between columns where all are (nearly) the same, and more than one.
std::size_t Period(const std::vector<std::size_t>& columns) {
  if (columns.size() < 4) return 0;
  std::map<std::size_t, std::size_t> distances;
  for (std::size_t i = 1; i < columns.size(); ++i) ++distances[columns[i] - columns[i - 1]];
  const auto most = std::ranges::max_element(distances, {}, [](const auto& one) { return one.second; });
  const bool is_regular = static_cast<double>(most->second) >= 0.8 * static_cast<double>(columns.size() - 1);
  return is_regular && most->first > 1 ? most->first : 0;
}

class DeviationSearch {
 public:
  DeviationSearch(const LoadMatrix& load, const RowPlaces& places, double typical)
      : load_(load), places_(places), nothing_(kNothing * typical) {}

  std::vector<LoadDeviation> Find() {
    for (std::size_t row = 0; row < load_.ranks.size(); ++row) {
      if (Mean(row) > 0) rows_.push_back(row);
    }
    if (rows_.empty() || load_.ranks.size() < 2) return {};
    constexpr std::size_t kFew = 8, kHalf = 2;  // one of so many ranks; chosen
    if (IsAlone(kFew)) {
      AddAlone();
    } else {
      // Slow ranks first, then single cells.
      Measure();
      if (!is_sparse_) FindSteps();
      if (!is_sparse_) FindRows();
      if (load_.iterations > 1) FindCells();
      // Where all ranks do the same otherwise, the problem has no more parts.
      if (found_.empty() && places_.groups.empty() && IsAlone(kHalf)) AddAlone();
    }
    std::ranges::stable_sort(found_, std::greater(), &LoadDeviation::excess);
    return std::move(found_);
  }

 private:
  // In the first columns.
  std::vector<double> Times(std::size_t row, std::size_t columns) const {
    const std::span<const double> times = load_.Row(row).first(columns);
    return {times.begin(), times.end()};
  }
  double Mean(std::size_t row) const {
    const std::span<const double> times = load_.Row(row);
    return std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
  }

  // Where few ranks are ever in it, it is their work alone, unless they take turns.
  bool IsAlone(std::size_t divisor) const {
    if (rows_.size() > std::max<std::size_t>(1, load_.ranks.size() / divisor)) return false;
    if (rows_.size() == 1) return true;
    std::size_t busy = 0;
    for (const std::size_t row : rows_) {
      busy += static_cast<std::size_t>(std::ranges::count_if(load_.Row(row), [](double time) { return time > 0; }));
    }
    return 2 * busy > rows_.size() * load_.iterations;
  }

  void AddAlone() {
    std::vector<Cell> cells;
    for (const std::size_t row : rows_) {
      for (std::size_t column = 0; column < load_.iterations; ++column) {
        const double time = load_.At(row, column);
        if (time > 0) cells.push_back({row, column, time});
      }
    }
    AddCells(cells, CausePlace::kAlone);
  }

  std::vector<double> Middles() const {
    std::vector<double> middles;
    for (const std::size_t row : rows_) middles.push_back(middle_[row]);
    return middles;
  }

  // For a rank that is rarely in it: the time of the middle rank in that column, as all may be in it at the same time.
  double Usual(std::size_t row, std::size_t column) const {
    return middle_[row] > 0 ? middle_[row] * factor_[column] : in_column_[column];
  }

  // Middles of rows, factors of columns, noise of cells.
  void Measure() {
    middle_.assign(load_.ranks.size(), 0);
    std::size_t empty = 0;
    for (const std::size_t row : rows_) {
      middle_[row] = load_.iterations > 2 ? Median(Times(row, load_.iterations)) : Mean(row);
      empty += middle_[row] <= 0;
    }
    is_sparse_ = 2 * empty > rows_.size();
    in_column_.assign(load_.iterations, 0);
    std::vector<double> values;
    for (std::size_t column = 0; empty > 0 && column < load_.iterations; ++column) {
      values.clear();
      for (const std::size_t row : rows_) values.push_back(load_.At(row, column));
      in_column_[column] = LowerMedian(values);
    }
    factor_.assign(load_.iterations, is_sparse_ ? 0 : 1);
    std::vector<double> ratios;
    for (std::size_t column = 0; !is_sparse_ && load_.iterations > 1 && column < load_.iterations; ++column) {
      ratios.clear();
      for (const std::size_t row : rows_) {
        if (middle_[row] > 0) ratios.push_back(load_.At(row, column) / middle_[row]);
      }
      factor_[column] = LowerMedian(ratios);
    }
    base_ = LowerMedian(Middles());
    const auto noise = [&](const auto& usual) {
      std::vector<double> rest;
      rest.reserve(rows_.size() * load_.iterations);
      for (const std::size_t row : rows_) {
        for (std::size_t column = 0; column < load_.iterations; ++column)
          rest.push_back(load_.At(row, column) - usual(row, column));
      }
      return kDeviationOverMedianDistance * Median(Distances(Median(rest), rest));
    };
    if (load_.iterations < 2) return;
    noise_ = noise([&](std::size_t row, std::size_t column) { return Usual(row, column); });
    // The factor of a column is itself one of few ratios, which leaves no noise on that rank: then that of each rank by
    // itself counts.
    if (rows_.size() < kFewRows)
      noise_ = std::max(noise_, noise([&](std::size_t row, std::size_t) { return middle_[row]; }));
  }

  // The column from which on a rank is slow, where it was not before: where the means before and behind differ most for
  // the noise. Nothing where they do not differ clearly.
  std::optional<std::size_t> FindStep(std::size_t row) const {
    std::vector<double> excess;
    double behind = 0, before = 0;
    for (std::size_t column = 0; column < load_.iterations; ++column) {
      excess.push_back(factor_[column] > 0 ? load_.At(row, column) / factor_[column] - base_ : 0);
      behind += excess.back();
    }
    std::optional<std::size_t> step;
    double clearest = 0;
    const std::size_t fewest = std::max<std::size_t>(3, load_.iterations / 10);
    for (std::size_t column = 0; column + fewest < load_.iterations; ++column) {
      before += excess[column];
      behind -= excess[column];
      const auto first = static_cast<double>(column + 1), rest = static_cast<double>(load_.iterations - column - 1);
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
    for (std::size_t column = *step; column < load_.iterations; ++column)
      mean += excess[column] / static_cast<double>(load_.iterations - *step);
    for (std::size_t column = *step; column < load_.iterations; ++column) slow += excess[column] > mean / 2;
    const bool hides = noise_ > mean / 3;
    const double share = static_cast<double>(slow) / static_cast<double>(load_.iterations - *step);
    return hides || share >= 0.9 ? step : std::nullopt;
  }

  void AddCells(const std::vector<Cell>& cells, CausePlace place) {
    std::map<std::size_t, double> excess_of;
    const std::vector<std::size_t> columns = Columns(cells);
    LoadDeviation found;
    found.place = place;
    double time = 0;
    for (const Cell& cell : cells) {
      excess_of[cell.row] += cell.excess;
      found.excess += cell.excess;
      time += load_.At(cell.row, cell.column);
    }
    for (const auto& [row, excess] : excess_of) found.rows.push_back(row);
    std::ranges::stable_sort(found.rows, {}, [&](std::size_t row) { return -excess_of[row]; });
    std::map<std::size_t, std::size_t> index_of;
    for (const std::size_t row : found.rows) {
      index_of[row] = found.kept.size();
      found.kept.emplace_back(load_.iterations, 1.0F);
    }
    for (const Cell& cell : cells) {
      found.kept[index_of[cell.row]][cell.column] =
          static_cast<float>(1 - cell.excess / load_.At(cell.row, cell.column));
    }
    if (time - found.excess > 0.01 * time) found.level = time / (time - found.excess);
    if (place == CausePlace::kPeriodic) found.every = Period(columns);
    found.affected = columns.size();
    found_.push_back(std::move(found));
  }

  // Few ranks that become slow.
  void FindSteps() {
    if (load_.iterations < 8) return;
    std::vector<std::pair<std::size_t, std::size_t>> steps;  // row and column
    for (const std::size_t row : rows_) {
      if (const std::optional<std::size_t> step = FindStep(row)) steps.emplace_back(row, *step);
    }
    if (steps.size() > std::max<std::size_t>(1, rows_.size() / 8)) return;
    for (const auto& [row, step] : steps) {
      middle_[row] = Median(Times(row, step));
      std::vector<Cell> cells;
      double before = 0, behind = 0;
      for (std::size_t column = 0; column < load_.iterations; ++column) {
        const double own = load_.At(row, column) / std::max(factor_[column], 1e-9);
        (column < step ? before : behind) += own / static_cast<double>(column < step ? step : load_.iterations - step);
      }
      // As much faster as it was before, with its noise.
      for (std::size_t column = step; column < load_.iterations && behind > 0; ++column)
        cells.push_back({row, column, load_.At(row, column) * (1 - before / behind)});
      AddCells(cells, CausePlace::kFromTime);
      fixed_.insert(row);
    }
  }

  // A rank whose time exceeds the usual nearly always, or whose noise hides when it does.
  bool IsSteady(std::size_t row, double threshold) const {
    if (load_.iterations < 4) return true;
    const double excess = middle_[row] - base_;
    if (noise_ > excess / 3) return true;
    std::size_t slow = 0;
    for (std::size_t column = 0; column < load_.iterations; ++column) {
      slow += load_.At(row, column) - base_ * factor_[column] > std::min(threshold, excess) / 2;
    }
    return static_cast<double>(slow) >= 0.9 * static_cast<double>(load_.iterations);
  }

  // Ranks at the mean of those that are not slow.
  void AddSlow(const std::vector<std::size_t>& slow, CausePlace place) {
    double usual = 0, count = 0, own = 0;
    for (const std::size_t row : rows_) {
      if (std::ranges::find(slow, row) != slow.end() || middle_[row] - base_ > kLeastRow * base_ + nothing_) continue;
      usual += Mean(row);
      ++count;
    }
    usual = count > 0 ? usual / count : base_;
    LoadDeviation found;
    found.place = place;
    for (const std::size_t row : slow) {
      const double mean = Mean(row);
      own += mean / static_cast<double>(slow.size());
      found.rows.push_back(row);
      found.kept.emplace_back(load_.iterations, static_cast<float>(std::min(1.0, usual / mean)));
      found.excess += (mean - usual) * static_cast<double>(load_.iterations);
      fixed_.insert(row);
    }
    found.affected = load_.iterations;
    found.level = own / usual;
    found_.push_back(std::move(found));
  }

  // Groups of ranks that are slow as a whole, while most others are not; returns the other slow ranks. `name` says of
  // what was found which group it is.
  std::vector<std::size_t> TakeWhole(const std::vector<std::size_t>& slow, const auto& group_of, const auto& most,
                                     const auto& name) {
    std::map<std::size_t, std::size_t> ranks_of;
    std::map<std::size_t, std::vector<std::size_t>> slow_of;
    for (const std::size_t row : rows_) ++ranks_of[group_of(row)];
    for (const std::size_t row : slow) slow_of[group_of(row)].push_back(row);
    std::vector<std::size_t> others;
    std::size_t whole = 0;
    for (const auto& [group, rows] : slow_of) whole += rows.size() == ranks_of[group] && rows.size() > 1;
    const bool are_groups = whole > 0 && whole <= most(ranks_of.size());
    for (const auto& [group, rows] : slow_of) {
      if (!are_groups || rows.size() != ranks_of[group] || rows.size() < 2) {
        others.insert(others.end(), rows.begin(), rows.end());
        continue;
      }
      AddSlow(rows, CausePlace::kNode);
      name(group, found_.back());
    }
    std::ranges::stable_sort(others, {}, [&](std::size_t row) { return -middle_[row]; });
    return others;
  }

  // Lines or planes of the grid in a dimension are slow as a whole and explain all slow ranks.
  bool ArePlanes(const std::vector<std::size_t>& slow, std::size_t dimension) const {
    std::map<std::size_t, std::size_t> ranks_of, slow_of;
    for (const std::size_t row : rows_) ++ranks_of[places_.coordinates[dimension][row]];
    for (const std::size_t row : slow) ++slow_of[places_.coordinates[dimension][row]];
    return slow_of.size() <= MostPlanes(ranks_of.size()) && std::ranges::all_of(slow_of, [&](const auto& plane) {
             return plane.second > 1 && plane.second == ranks_of[plane.first];
           });
  }

  std::vector<std::size_t> TakePlanes(const std::vector<std::size_t>& slow, std::size_t dimension) {
    return TakeWhole(
        slow, [&](std::size_t row) { return places_.coordinates[dimension][row]; }, MostPlanes,
        [&](std::size_t coordinate, LoadDeviation& found) {
          found.place = CausePlace::kPlane;
          found.line = GridLine{dimension, coordinate, places_.coordinates.size()};
          // The node, or socket, that has exactly these ranks.
          const std::size_t first = found.rows.front();
          const auto are_same = [&](const std::vector<std::int32_t>& of) {
            return std::ranges::all_of(found.rows, [&](std::size_t row) { return of[row] == of[first]; });
          };
          if (!are_same(places_.nodes)) return;
          const auto on_node = [&](std::size_t row) { return places_.nodes[row] == places_.nodes[first]; };
          if (static_cast<std::size_t>(std::ranges::count_if(rows_, on_node)) == found.rows.size()) {
            found.node = places_.nodes[first];
            return;
          }
          if (places_.sockets.empty() || !are_same(places_.sockets)) return;
          const auto on_socket = [&](std::size_t row) {
            return on_node(row) && places_.sockets[row] == places_.sockets[first];
          };
          if (static_cast<std::size_t>(std::ranges::count_if(rows_, on_socket)) != found.rows.size()) return;
          found.node = places_.nodes[first];
          found.socket = places_.sockets[first];
        });
  }

  // Ranks that are not slow beyond all others, at the mean of their group.
  void AddDegrees(double noise_of_mean) {
    std::vector<std::size_t> rows;
    for (const std::size_t row : rows_) {
      if (!fixed_.contains(row)) rows.push_back(row);
    }
    if (rows.size() < 2) return;
    std::ranges::stable_sort(rows, {}, [&](std::size_t row) { return -middle_[row]; });
    // Means of the groups of rows: ranks that do different work do not differ by degrees.
    const auto group_of = [&](std::size_t row) { return places_.groups.empty() ? 0 : places_.groups[row]; };
    std::map<std::size_t, std::pair<double, double>> sums;
    for (const std::size_t row : rows) {
      sums[group_of(row)].first += middle_[row];
      ++sums[group_of(row)].second;
    }
    std::vector<double> means;
    for (const std::size_t row : rows) means.push_back(sums[group_of(row)].first / sums[group_of(row)].second);
    double variance = 0, level = 0, largest = 0;
    std::size_t slowest = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double excess = middle_[rows[i]] - means[i];
      variance += excess * excess / static_cast<double>(rows.size() - 1);
      if (excess <= largest) continue;
      largest = excess;
      level = middle_[rows[i]] / means[i];
      slowest = i;
    }
    const double least = load_.iterations >= 4 ? kLeastDegrees : kLeastDegreesOnce;
    if (largest <= std::max(least * means[slowest], nothing_) || std::sqrt(variance) <= 3 * 1.25 * noise_of_mean)
      return;
    LoadDeviation found;
    found.place = CausePlace::kByDegrees;
    for (const bool is_slowest : {true, false}) {
      for (std::size_t i = 0; i < rows.size(); ++i) {
        if ((i == slowest) != is_slowest) continue;
        const double middle = middle_[rows[i]];
        found.rows.push_back(rows[i]);
        found.kept.emplace_back(load_.iterations, static_cast<float>(middle > 0 ? means[i] / middle : 1));
        found.excess += std::max(0.0, middle - means[i]) * static_cast<double>(load_.iterations);
      }
    }
    found.affected = load_.iterations;
    found.level = level;
    found_.push_back(std::move(found));
  }

  // Ranks that are slow all the time; else how far they differ by degrees. Where ranks lie in the grid explains them
  // before the hardware does: a part of the domain with more work often fills a node.
  void FindRows() {
    const std::vector<double> middles = Middles();
    const double of_mean = noise_ / std::sqrt(static_cast<double>(load_.iterations));
    const double threshold =
        std::max({kRowSigmas * kDeviationOverMedianDistance * LowerMedian(Distances(base_, middles)),
                  kRowSigmas * 1.25 * of_mean, kLeastRow * base_, nothing_});
    std::vector<std::size_t> slow;
    std::size_t in_gap = 0;
    for (const std::size_t row : rows_) {
      if (fixed_.contains(row)) continue;
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
    std::vector<std::size_t> others = slow;
    for (std::size_t dimension = 0; dimension < places_.coordinates.size() && !others.empty(); ++dimension) {
      if (ArePlanes(others, dimension)) others = TakePlanes(others, dimension);
    }
    constexpr std::size_t kSockets = 4096;  // nodes have fewer than that
    for (const bool of_sockets : {false, true}) {
      if (of_sockets && places_.sockets.empty()) break;
      others = TakeWhole(
          others,
          [&](std::size_t row) {
            const auto node = static_cast<std::size_t>(places_.nodes[row]);
            return node * kSockets + (of_sockets ? static_cast<std::size_t>(places_.sockets[row]) : 0);
          },
          [](std::size_t groups) { return groups / 2; },
          [&](std::size_t group, LoadDeviation& found) {
            found.node = static_cast<std::int32_t>(group / kSockets);
            if (!of_sockets) return;
            found.place = CausePlace::kSocket;
            found.socket = static_cast<std::int32_t>(group % kSockets);
          });
    }
    for (std::size_t dimension = 0; dimension < places_.coordinates.size(); ++dimension) {
      others = TakePlanes(others, dimension);
    }
    const std::size_t few = std::max<std::size_t>(1, rows_.size() / 4);
    const bool is_apart = static_cast<double>(in_gap) <= kInGap * static_cast<double>(others.size());
    if (!others.empty() && others.size() <= few && is_apart) {
      AddSlow(others, others.size() == 1 ? CausePlace::kRank : CausePlace::kRanks);
      others.clear();
    }
    AddDegrees(of_mean);
  }

  // Ranks with more than `most` cells: each is a cause of its own.
  void TakeFrequentRows(double most, CellsByRow& of_rows) {
    std::erase_if(of_rows, [&](const auto& of_row) {
      const std::vector<Cell>& cells = of_row.second;
      if (static_cast<double>(cells.size()) <= most) return false;
      const std::vector<std::size_t> columns = Columns(cells);
      const std::size_t first = columns.front(), last = columns.back();
      CausePlace place = CausePlace::kForAWhile;
      if (Period(columns) > 0) {
        place = CausePlace::kPeriodic;
      } else if (static_cast<double>(columns.size()) < 0.8 * static_cast<double>(last - first + 1)) {
        place = CausePlace::kNoisyRank;
      } else if (last + 1 + std::max<std::size_t>(1, load_.iterations / 50) >= load_.iterations) {
        place = CausePlace::kFromTime;
      }
      AddCells(cells, place);
      return true;
    });
  }

  // Ranks that take longer in the first columns alone: the start, unless the same goes on on others.
  void TakeFirstColumns(CellsByRow& of_rows) {
    const std::size_t first = std::max<std::size_t>(1, load_.iterations / 20);
    if (load_.iterations < 4) return;
    const auto is_start = [&](const auto& of_row) {
      return std::ranges::all_of(of_row.second, [&](const Cell& cell) { return cell.column < first; });
    };
    const auto rows = static_cast<std::size_t>(std::ranges::count_if(of_rows, is_start));
    const std::size_t others = of_rows.size() - rows;
    if (rows == 0 || (others > 1 && 4 * others > rows)) return;
    CellsByRow start;
    std::ranges::copy_if(of_rows, std::inserter(start, start.end()), is_start);
    std::erase_if(of_rows, is_start);
    AddCells(AllCells(start), CausePlace::kStartUp);
  }

  // Cells far above what is usual for their rank and column.
  void FindCells() {
    const double threshold = std::max({kCellSigmas * noise_, kLeastCell * base_, nothing_});
    CellsByRow of_rows;
    std::size_t count = 0, in_gap = 0;
    double smallest = std::numeric_limits<double>::max(), largest_rest = 0;
    for (const std::size_t row : rows_) {
      if (fixed_.contains(row)) continue;
      for (std::size_t column = 0; column < load_.iterations; ++column) {
        const double excess = load_.At(row, column) - Usual(row, column);
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
    if (of_rows.size() <= std::max<std::size_t>(1, rows_.size() / 8)) {
      const std::vector<Cell> cells = AllCells(of_rows);
      const std::size_t columns = Columns(cells).size();
      // Most columns have it, on a rank that changes.
      const bool moves = of_rows.size() > 1 && 2 * columns >= load_.iterations && 2 * cells.size() <= 3 * columns;
      // Cells that recur on a rank are its own; the rest is examined together.
      if (!moves) TakeFrequentRows(kRarely, of_rows);
    }
    // A rank that has it far more often than the others is none of those that take turns.
    std::vector<double> counts;
    for (const auto& [row, cells] : of_rows) counts.push_back(static_cast<double>(cells.size()));
    if (counts.size() >= 3) TakeFrequentRows(std::max<double>(kRarely, kOftener * LowerMedian(counts)), of_rows);
    if (of_rows.empty()) return;
    // On many ranks: every n-th iteration, or a hot spot that moves. Else interruptions anywhere.
    const std::vector<Cell> scattered = AllCells(of_rows);
    const std::vector<std::size_t> columns = Columns(scattered);
    CausePlace place = CausePlace::kNoisyRank;
    if (Period(columns) > 0) {
      place = CausePlace::kPeriodic;
    } else if (2 * columns.size() >= load_.iterations) {
      place = CausePlace::kMovingHotSpot;
    } else if (columns.size() <= 2) {
      place = CausePlace::kOnce;
    }
    AddCells(scattered, place);
  }

  const LoadMatrix& load_;
  const RowPlaces& places_;
  // The usual times in the load, and how much times vary.
  const double nothing_;           // times up to this do not count
  std::vector<std::size_t> rows_;  // with any time
  std::vector<double> middle_;     // one a row
  std::vector<double> factor_;     // one a column
  std::vector<double> in_column_;  // the middle rank's time in each column, where some ranks are rarely in it
  bool is_sparse_ = false;         // most ranks are in it in few columns only
  double base_ = 0, noise_ = 0;
  std::set<std::size_t> fixed_;  // rows that are slow all the time
  std::vector<LoadDeviation> found_;
};

}  // namespace

std::vector<LoadDeviation> FindDeviations(const LoadMatrix& load, const RowPlaces& places, double typical) {
  return DeviationSearch(load, places, typical).Find();
}

}  // namespace farscale
