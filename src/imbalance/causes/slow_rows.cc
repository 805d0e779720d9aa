// Ranks that take longer than others: all the time, by degrees, or from a time on.
#include <algorithm>
#include <cmath>

#include "imbalance/causes/load_deviation.h"

namespace farscale {
namespace {

// Chosen.
constexpr double kRowSigmas = 5;
constexpr double kLeastRow = 0.03;         // of the usual time
constexpr double kLeastDegrees = 0.03;     // the slowest above the average
constexpr double kLeastDegreesOnce = 0.1;  // the same where nothing shows the noise
constexpr double kLeastStep = 0.06;
constexpr double kStepSigmas = 6;

// How many lines or planes of a grid may be slow: half of a grid are too many to blame, and so is one of two.
std::size_t MostPlanes(std::size_t lines) { return lines < 3 ? 0 : std::max<std::size_t>(1, lines / 4); }

}  // namespace

// The column from which on a rank is slow, where it was not before: where the means before and behind differ most for
// the noise. Nothing where they do not differ clearly.
std::optional<std::size_t> DeviationSearch::StepOf(std::size_t row) const {
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
void DeviationSearch::FindSteps() {
  if (columns_ < 8) return;
  std::vector<std::pair<std::size_t, std::size_t>> steps;  // row and column
  for (const std::size_t row : rows_) {
    if (const std::optional<std::size_t> step = StepOf(row)) steps.emplace_back(row, *step);
  }
  if (steps.size() > std::max<std::size_t>(1, rows_.size() / 8)) return;
  for (const auto& [row, step] : steps) {
    middle_[row] = Median(BeforeStep(row, step));
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

std::vector<double> DeviationSearch::BeforeStep(std::size_t row, std::size_t step) const {
  std::vector<double> values = Row(row);
  values.resize(step);
  return values;
}

// Groups of ranks that are slow as a whole, while most others are not; returns the other slow ranks. `name` says of
// what was found which group it is.
std::vector<std::size_t> DeviationSearch::TakeWhole(const std::vector<std::size_t>& slow, const auto& group_of,
                                                    const auto& most, const auto& name) {
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

// Whether lines or planes of the grid in a dimension are slow as a whole and explain all slow ranks.
bool DeviationSearch::ArePlanes(const std::vector<std::size_t>& slow, std::size_t dimension) const {
  std::map<std::size_t, std::size_t> ranks_of, slow_of;
  for (const std::size_t row : rows_) ++ranks_of[places_.coordinates[dimension][row]];
  for (const std::size_t row : slow) ++slow_of[places_.coordinates[dimension][row]];
  return slow_of.size() <= MostPlanes(ranks_of.size()) && std::ranges::all_of(slow_of, [&](const auto& plane) {
           return plane.second > 1 && plane.second == ranks_of[plane.first];
         });
}

std::vector<std::size_t> DeviationSearch::TakePlanes(const std::vector<std::size_t>& slow, std::size_t dimension) {
  return TakeWhole(
      slow, [&](std::size_t row) { return places_.coordinates[dimension][row]; }, MostPlanes,
      [&](std::size_t coordinate, LoadDeviation& found) {
        found.place = CausePlace::kPlane;
        found.line = GridLine{dimension, coordinate, places_.coordinates.size()};
        NameHardware(found);
      });
}

// The node, or socket, that has exactly these ranks.
void DeviationSearch::NameHardware(LoadDeviation& found) const {
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
}

// Ranks that are slow all the time; else how far they differ by degrees. Where ranks lie in the grid explains them
// before the hardware does: a part of the domain with more work often fills a node.
void DeviationSearch::FindRows() {
  std::vector<double> middles;
  for (const std::size_t row : rows_) middles.push_back(middle_[row]);
  const double of_mean = noise_ / std::sqrt(static_cast<double>(columns_));
  const double threshold = std::max({kRowSigmas * kDeviationOverMedianDistance * UsualOf(DistancesFrom(base_, middles)),
                                     kRowSigmas * 1.25 * of_mean, kLeastRow * base_, nothing_});
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
  std::vector<std::size_t> others = slow;
  for (std::size_t dimension = 0; dimension < places_.coordinates.size() && !others.empty(); ++dimension) {
    if (ArePlanes(others, dimension)) others = TakePlanes(others, dimension);
  }
  others = TakeWhole(
      others, [&](std::size_t row) { return static_cast<std::size_t>(places_.nodes[row]); },
      [](std::size_t nodes) { return nodes / 2; },
      [](std::size_t node, LoadDeviation& found) { found.node = static_cast<std::int32_t>(node); });
  if (!places_.sockets.empty()) {
    // Nodes have fewer sockets than that.
    constexpr std::size_t kSockets = 4096;
    others = TakeWhole(
        others,
        [&](std::size_t row) {
          return static_cast<std::size_t>(places_.nodes[row]) * kSockets +
                 static_cast<std::size_t>(places_.sockets[row]);
        },
        [](std::size_t sockets) { return sockets / 2; },
        [](std::size_t socket, LoadDeviation& found) {
          found.place = CausePlace::kSocket;
          found.node = static_cast<std::int32_t>(socket / kSockets);
          found.socket = static_cast<std::int32_t>(socket % kSockets);
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

// A rank whose time exceeds the usual nearly always, or whose noise hides when it does.
bool DeviationSearch::IsSteady(std::size_t row, double threshold) const {
  if (columns_ < 4) return true;
  const double excess = middle_[row] - base_;
  if (noise_ > excess / 3) return true;
  std::size_t slow = 0;
  for (std::size_t column = 0; column < columns_; ++column) {
    slow += At(row, column) - base_ * factor_[column] > std::min(threshold, excess) / 2;
  }
  return static_cast<double>(slow) >= 0.9 * static_cast<double>(columns_);
}

// Ranks at the mean of those that are not slow.
void DeviationSearch::AddSlow(const std::vector<std::size_t>& slow, CausePlace place) {
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

// The mean of a row's group: ranks that do different work do not differ by degrees.
std::vector<double> DeviationSearch::MeansOfGroups(const std::vector<std::size_t>& rows) const {
  const auto group_of = [&](std::size_t row) { return places_.groups.empty() ? 0 : places_.groups[row]; };
  std::map<std::size_t, std::pair<double, double>> sums;
  for (const std::size_t row : rows) {
    sums[group_of(row)].first += middle_[row];
    ++sums[group_of(row)].second;
  }
  std::vector<double> means;
  for (const std::size_t row : rows) {
    const auto& [sum, count] = sums[group_of(row)];
    means.push_back(sum / count);
  }
  return means;
}

// Of the ranks that are not slow beyond all others: at the mean of their group.
void DeviationSearch::AddDegrees(double noise_of_mean) {
  std::vector<std::size_t> rows;
  for (const std::size_t row : rows_) {
    if (!IsFixed(row)) rows.push_back(row);
  }
  if (rows.size() < 2) return;
  std::ranges::stable_sort(rows, {}, [&](std::size_t row) { return -middle_[row]; });
  const std::vector<double> means = MeansOfGroups(rows);
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
  const double least = columns_ >= 4 ? kLeastDegrees : kLeastDegreesOnce;
  if (largest <= std::max(least * means[slowest], nothing_) || std::sqrt(variance) <= 3 * 1.25 * noise_of_mean) return;
  LoadDeviation found;
  found.place = CausePlace::kByDegrees;
  std::set<std::size_t> columns;
  for (const bool is_slowest : {true, false}) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if ((i == slowest) != is_slowest) continue;
      const double middle = middle_[rows[i]];
      found.rows.push_back(rows[i]);
      found.kept.emplace_back(columns_, static_cast<float>(middle > 0 ? means[i] / middle : 1));
      found.excess += std::max(0.0, middle - means[i]) * static_cast<double>(columns_);
    }
  }
  for (std::size_t column = 0; column < columns_; ++column) columns.insert(column);
  found.level = level;
  Finish(columns, found);
  found_.push_back(std::move(found));
}

}  // namespace farscale
