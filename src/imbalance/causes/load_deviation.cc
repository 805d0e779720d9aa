#include "imbalance/causes/load_deviation.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <set>
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

inline std::vector<double> Distances(double middle, std::vector<double> values) {
  for (double& value : values) value = std::fabs(value - middle);
  return values;
}

// Robust deviation of cells; there must be some.
double NoiseOfCells(const std::vector<double>& values) {
  return kDeviationOverMedianDistance * Median(Distances(Median(values), values));
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

// The usual times in a load, and how much times vary.
struct Levels {
  double nothing = 0;             // times up to this do not count
  std::vector<std::size_t> rows;  // with any time
  std::vector<double> middle;     // one a row
  std::vector<double> factor;     // one a column
  std::vector<double> in_column;  // the middle rank's time in each column, where some ranks are rarely in it
  bool is_sparse = false;         // most ranks are in it in few columns only
  double base = 0, noise = 0;
  std::set<std::size_t> fixed;  // rows that are slow all the time
};

struct Cell {
  std::size_t row = 0, column = 0;
  double excess = 0;
};

std::vector<double> RowTimes(const LoadMatrix& load, std::size_t row) {
  const auto first = load.seconds.begin() + static_cast<std::ptrdiff_t>(row * load.iterations);
  return {first, first + static_cast<std::ptrdiff_t>(load.iterations)};
}

// Where few ranks are ever in it, it is their work alone, unless they take turns.
bool IsAlone(const LoadMatrix& load, const Levels& levels, std::size_t divisor) {
  if (levels.rows.size() > std::max<std::size_t>(1, load.ranks.size() / divisor)) return false;
  if (levels.rows.size() == 1) return true;
  std::size_t busy = 0;
  for (const std::size_t row : levels.rows) {
    const std::vector<double> values = RowTimes(load, row);
    busy += static_cast<std::size_t>(std::ranges::count_if(values, [](double value) { return value > 0; }));
  }
  return 2 * busy > levels.rows.size() * load.iterations;
}

double MeanOfRow(const LoadMatrix& load, std::size_t row) {
  const double* first = load.seconds.data() + row * load.iterations;
  return std::accumulate(first, first + load.iterations, 0.0) / static_cast<double>(load.iterations);
}

void AddAlone(const LoadMatrix& load, const Levels& levels, std::vector<LoadDeviation>& deviations) {
  LoadDeviation alone;
  alone.place = CausePlace::kAlone;
  std::set<std::size_t> columns;
  alone.rows = levels.rows;
  std::ranges::stable_sort(alone.rows, {}, [&](std::size_t row) { return -MeanOfRow(load, row); });
  for (const std::size_t row : alone.rows) {
    std::vector<float> kept(load.iterations, 1);
    for (std::size_t column = 0; column < load.iterations; ++column) {
      if (load.At(row, column) <= 0) continue;
      kept[column] = 0;
      columns.insert(column);
      alone.excess += load.At(row, column);
    }
    alone.kept.push_back(std::move(kept));
  }
  alone.affected = columns.size();
  deviations.push_back(std::move(alone));
}

std::vector<double> Middles(const Levels& levels) {
  std::vector<double> middles;
  for (const std::size_t row : levels.rows) middles.push_back(levels.middle[row]);
  return middles;
}

// The factor of a column is itself one of few ratios, which leaves no noise on that rank: then that of each rank by
// itself counts.
double NoiseOfRows(const LoadMatrix& load, const Levels& levels) {
  std::vector<double> rest;
  for (const std::size_t row : levels.rows) {
    for (std::size_t column = 0; column < load.iterations; ++column)
      rest.push_back(load.At(row, column) - levels.middle[row]);
  }
  return NoiseOfCells(rest);
}

// For a rank that is rarely in it: the time of the middle rank in that column, as all may be in it at the same time.
double Usual(const Levels& levels, std::size_t row, std::size_t column) {
  return levels.middle[row] > 0 ? levels.middle[row] * levels.factor[column] : levels.in_column[column];
}

// Middles of rows, factors of columns, noise of cells.
void Measure(const LoadMatrix& load, Levels& levels) {
  levels.middle.assign(load.ranks.size(), 0);
  std::size_t empty = 0;
  for (const std::size_t row : levels.rows) {
    levels.middle[row] = load.iterations > 2 ? Median(RowTimes(load, row)) : MeanOfRow(load, row);
    empty += levels.middle[row] <= 0;
  }
  levels.is_sparse = 2 * empty > levels.rows.size();
  levels.in_column.assign(load.iterations, 0);
  std::vector<double> values;
  for (std::size_t column = 0; empty > 0 && column < load.iterations; ++column) {
    values.clear();
    for (const std::size_t row : levels.rows) values.push_back(load.At(row, column));
    levels.in_column[column] = LowerMedian(values);
  }
  levels.factor.assign(load.iterations, levels.is_sparse ? 0 : 1);
  std::vector<double> ratios;
  for (std::size_t column = 0; !levels.is_sparse && load.iterations > 1 && column < load.iterations; ++column) {
    ratios.clear();
    for (const std::size_t row : levels.rows) {
      if (levels.middle[row] > 0) ratios.push_back(load.At(row, column) / levels.middle[row]);
    }
    levels.factor[column] = LowerMedian(ratios);
  }
  levels.base = LowerMedian(Middles(levels));
  std::vector<double> rest;
  rest.reserve(levels.rows.size() * load.iterations);
  for (const std::size_t row : levels.rows) {
    for (std::size_t column = 0; column < load.iterations; ++column)
      rest.push_back(load.At(row, column) - Usual(levels, row, column));
  }
  levels.noise = load.iterations > 1 ? NoiseOfCells(rest) : 0;
  if (load.iterations > 1 && levels.rows.size() < kFewRows)
    levels.noise = std::max(levels.noise, NoiseOfRows(load, levels));
}

// The column from which on a rank is slow, where it was not before: where the means before and behind differ most for
// the noise. Nothing where they do not differ clearly.
std::optional<std::size_t> FindStep(const LoadMatrix& load, const Levels& levels, std::size_t row) {
  std::vector<double> excess;
  double behind = 0, before = 0;
  for (std::size_t column = 0; column < load.iterations; ++column) {
    excess.push_back(levels.factor[column] > 0 ? load.At(row, column) / levels.factor[column] - levels.base : 0);
    behind += excess.back();
  }
  std::optional<std::size_t> step;
  double clearest = 0;
  const std::size_t fewest = std::max<std::size_t>(3, load.iterations / 10);
  for (std::size_t column = 0; column + fewest < load.iterations; ++column) {
    before += excess[column];
    behind -= excess[column];
    const auto first = static_cast<double>(column + 1), rest = static_cast<double>(load.iterations - column - 1);
    const double difference = behind / rest - before / first;
    const double clearness = difference / std::sqrt(1 / first + 1 / rest);
    if (column + 1 < fewest || clearness <= clearest) continue;
    clearest = clearness;
    const bool is_clear =
        difference > std::max(kLeastStep * levels.base, levels.nothing) && clearness > kStepSigmas * levels.noise;
    const bool is_from_nothing = before / first < 0.25 * difference;
    step = is_clear && is_from_nothing ? std::optional(column + 1) : std::nullopt;
  }
  if (!step) return std::nullopt;
  std::size_t slow = 0;  // a few long columns make a mean, too
  double mean = 0;
  for (std::size_t column = *step; column < load.iterations; ++column)
    mean += excess[column] / static_cast<double>(load.iterations - *step);
  for (std::size_t column = *step; column < load.iterations; ++column) slow += excess[column] > mean / 2;
  const bool hides = levels.noise > mean / 3;
  const double share = static_cast<double>(slow) / static_cast<double>(load.iterations - *step);
  return hides || share >= 0.9 ? step : std::nullopt;
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

void AddCells(const LoadMatrix& load, std::vector<LoadDeviation>& deviations, const std::vector<Cell>& cells,
              CausePlace place) {
  std::map<std::size_t, double> excess_of;
  std::set<std::size_t> columns;
  LoadDeviation found;
  found.place = place;
  double time = 0;
  for (const Cell& cell : cells) {
    excess_of[cell.row] += cell.excess;
    columns.insert(cell.column);
    found.excess += cell.excess;
    time += load.At(cell.row, cell.column);
  }
  for (const auto& [row, excess] : excess_of) found.rows.push_back(row);
  std::ranges::stable_sort(found.rows, {}, [&](std::size_t row) { return -excess_of[row]; });
  std::map<std::size_t, std::size_t> index_of;
  for (const std::size_t row : found.rows) {
    index_of[row] = found.kept.size();
    found.kept.emplace_back(load.iterations, 1.0F);
  }
  for (const Cell& cell : cells) {
    found.kept[index_of[cell.row]][cell.column] = static_cast<float>(1 - cell.excess / load.At(cell.row, cell.column));
  }
  if (time - found.excess > 0.01 * time) found.level = time / (time - found.excess);
  if (place == CausePlace::kPeriodic) found.every = Period({columns.begin(), columns.end()});
  found.affected = columns.size();
  deviations.push_back(std::move(found));
}

// Few ranks that become slow.
void FindSteps(const LoadMatrix& load, Levels& levels, std::vector<LoadDeviation>& deviations) {
  if (load.iterations < 8) return;
  std::vector<std::pair<std::size_t, std::size_t>> steps;  // row and column
  for (const std::size_t row : levels.rows) {
    if (const std::optional<std::size_t> step = FindStep(load, levels, row)) steps.emplace_back(row, *step);
  }
  if (steps.size() > std::max<std::size_t>(1, levels.rows.size() / 8)) return;
  for (const auto& [row, step] : steps) {
    std::vector<double> values_before = RowTimes(load, row);
    values_before.resize(step);
    levels.middle[row] = Median(values_before);
    std::vector<Cell> cells;
    double before = 0, behind = 0;
    for (std::size_t column = 0; column < load.iterations; ++column) {
      const double own = load.At(row, column) / std::max(levels.factor[column], 1e-9);
      (column < step ? before : behind) += own / static_cast<double>(column < step ? step : load.iterations - step);
    }
    // As much faster as it was before, with its noise.
    for (std::size_t column = step; column < load.iterations && behind > 0; ++column)
      cells.push_back({row, column, load.At(row, column) * (1 - before / behind)});
    AddCells(load, deviations, cells, CausePlace::kFromTime);
    levels.fixed.insert(row);
  }
}

// A rank whose time exceeds the usual nearly always, or whose noise hides when it does.
bool IsSteady(const LoadMatrix& load, const Levels& levels, std::size_t row, double threshold) {
  if (load.iterations < 4) return true;
  const double excess = levels.middle[row] - levels.base;
  if (levels.noise > excess / 3) return true;
  std::size_t slow = 0;
  for (std::size_t column = 0; column < load.iterations; ++column) {
    slow += load.At(row, column) - levels.base * levels.factor[column] > std::min(threshold, excess) / 2;
  }
  return static_cast<double>(slow) >= 0.9 * static_cast<double>(load.iterations);
}

// Ranks at the mean of those that are not slow.
void AddSlow(const LoadMatrix& load, Levels& levels, std::vector<LoadDeviation>& deviations,
             const std::vector<std::size_t>& slow, CausePlace place) {
  double usual = 0, count = 0, own = 0;
  for (const std::size_t row : levels.rows) {
    if (std::ranges::find(slow, row) != slow.end() ||
        levels.middle[row] - levels.base > kLeastRow * levels.base + levels.nothing)
      continue;
    usual += MeanOfRow(load, row);
    ++count;
  }
  usual = count > 0 ? usual / count : levels.base;
  LoadDeviation found;
  found.place = place;
  for (const std::size_t row : slow) {
    const double mean = MeanOfRow(load, row);
    own += mean / static_cast<double>(slow.size());
    found.rows.push_back(row);
    found.kept.emplace_back(load.iterations, static_cast<float>(std::min(1.0, usual / mean)));
    found.excess += (mean - usual) * static_cast<double>(load.iterations);
    levels.fixed.insert(row);
  }
  found.affected = load.iterations;
  found.level = own / usual;
  deviations.push_back(std::move(found));
}

// Groups of ranks that are slow as a whole, while most others are not; returns the other slow ranks. `name` says of
// what was found which group it is.
std::vector<std::size_t> TakeWhole(const LoadMatrix& load, Levels& levels, std::vector<LoadDeviation>& deviations,
                                   const std::vector<std::size_t>& slow, const auto& group_of, const auto& most,
                                   const auto& name) {
  std::map<std::size_t, std::size_t> ranks_of;
  std::map<std::size_t, std::vector<std::size_t>> slow_of;
  for (const std::size_t row : levels.rows) ++ranks_of[group_of(row)];
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
    AddSlow(load, levels, deviations, rows, CausePlace::kNode);
    name(group, deviations.back());
  }
  std::ranges::stable_sort(others, {}, [&](std::size_t row) { return -levels.middle[row]; });
  return others;
}

// Lines or planes of the grid in a dimension are slow as a whole and explain all slow ranks.
bool ArePlanes(const RowPlaces& places, const Levels& levels, const std::vector<std::size_t>& slow,
               std::size_t dimension) {
  std::map<std::size_t, std::size_t> ranks_of, slow_of;
  for (const std::size_t row : levels.rows) ++ranks_of[places.coordinates[dimension][row]];
  for (const std::size_t row : slow) ++slow_of[places.coordinates[dimension][row]];
  return slow_of.size() <= MostPlanes(ranks_of.size()) && std::ranges::all_of(slow_of, [&](const auto& plane) {
           return plane.second > 1 && plane.second == ranks_of[plane.first];
         });
}

// The node, or socket, that has exactly these ranks.
void NameHardware(const RowPlaces& places, const Levels& levels, LoadDeviation& found) {
  const std::size_t first = found.rows.front();
  const auto are_same = [&](const std::vector<std::int32_t>& of) {
    return std::ranges::all_of(found.rows, [&](std::size_t row) { return of[row] == of[first]; });
  };
  if (!are_same(places.nodes)) return;
  const auto on_node = [&](std::size_t row) { return places.nodes[row] == places.nodes[first]; };
  if (static_cast<std::size_t>(std::ranges::count_if(levels.rows, on_node)) == found.rows.size()) {
    found.node = places.nodes[first];
    return;
  }
  if (places.sockets.empty() || !are_same(places.sockets)) return;
  const auto on_socket = [&](std::size_t row) { return on_node(row) && places.sockets[row] == places.sockets[first]; };
  if (static_cast<std::size_t>(std::ranges::count_if(levels.rows, on_socket)) != found.rows.size()) return;
  found.node = places.nodes[first];
  found.socket = places.sockets[first];
}

std::vector<std::size_t> TakePlanes(const LoadMatrix& load, const RowPlaces& places, Levels& levels,
                                    std::vector<LoadDeviation>& deviations, const std::vector<std::size_t>& slow,
                                    std::size_t dimension) {
  return TakeWhole(
      load, levels, deviations, slow, [&](std::size_t row) { return places.coordinates[dimension][row]; }, MostPlanes,
      [&](std::size_t coordinate, LoadDeviation& found) {
        found.place = CausePlace::kPlane;
        found.line = GridLine{dimension, coordinate, places.coordinates.size()};
        NameHardware(places, levels, found);
      });
}

// The mean of a row's group: ranks that do different work do not differ by degrees.
std::vector<double> MeansOfGroups(const RowPlaces& places, const Levels& levels, const std::vector<std::size_t>& rows) {
  const auto group_of = [&](std::size_t row) { return places.groups.empty() ? 0 : places.groups[row]; };
  std::map<std::size_t, std::pair<double, double>> sums;
  for (const std::size_t row : rows) {
    sums[group_of(row)].first += levels.middle[row];
    ++sums[group_of(row)].second;
  }
  std::vector<double> means;
  for (const std::size_t row : rows) {
    const auto& [sum, count] = sums[group_of(row)];
    means.push_back(sum / count);
  }
  return means;
}

// Ranks that are not slow beyond all others, at the mean of their group.
void AddDegrees(const LoadMatrix& load, const RowPlaces& places, const Levels& levels,
                std::vector<LoadDeviation>& deviations, double noise_of_mean) {
  std::vector<std::size_t> rows;
  for (const std::size_t row : levels.rows) {
    if (!levels.fixed.contains(row)) rows.push_back(row);
  }
  if (rows.size() < 2) return;
  std::ranges::stable_sort(rows, {}, [&](std::size_t row) { return -levels.middle[row]; });
  const std::vector<double> means = MeansOfGroups(places, levels, rows);
  double variance = 0, level = 0, largest = 0;
  std::size_t slowest = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double excess = levels.middle[rows[i]] - means[i];
    variance += excess * excess / static_cast<double>(rows.size() - 1);
    if (excess <= largest) continue;
    largest = excess;
    level = levels.middle[rows[i]] / means[i];
    slowest = i;
  }
  const double least = load.iterations >= 4 ? kLeastDegrees : kLeastDegreesOnce;
  if (largest <= std::max(least * means[slowest], levels.nothing) || std::sqrt(variance) <= 3 * 1.25 * noise_of_mean)
    return;
  LoadDeviation found;
  found.place = CausePlace::kByDegrees;
  for (const bool is_slowest : {true, false}) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if ((i == slowest) != is_slowest) continue;
      const double middle = levels.middle[rows[i]];
      found.rows.push_back(rows[i]);
      found.kept.emplace_back(load.iterations, static_cast<float>(middle > 0 ? means[i] / middle : 1));
      found.excess += std::max(0.0, middle - means[i]) * static_cast<double>(load.iterations);
    }
  }
  found.affected = load.iterations;
  found.level = level;
  deviations.push_back(std::move(found));
}

// Ranks that are slow all the time; else how far they differ by degrees. Where ranks lie in the grid explains them
// before the hardware does: a part of the domain with more work often fills a node.
void FindRows(const LoadMatrix& load, const RowPlaces& places, Levels& levels, std::vector<LoadDeviation>& deviations) {
  const std::vector<double> middles = Middles(levels);
  const double of_mean = levels.noise / std::sqrt(static_cast<double>(load.iterations));
  const double threshold =
      std::max({kRowSigmas * kDeviationOverMedianDistance * LowerMedian(Distances(levels.base, middles)),
                kRowSigmas * 1.25 * of_mean, kLeastRow * levels.base, levels.nothing});
  std::vector<std::size_t> slow;
  std::size_t in_gap = 0;
  for (const std::size_t row : levels.rows) {
    if (levels.fixed.contains(row)) continue;
    const double excess = levels.middle[row] - levels.base;
    if (excess > threshold && IsSteady(load, levels, row, threshold)) {
      slow.push_back(row);
    } else if (excess > threshold) {
      levels.middle[row] = levels.base;  // slow for most of the time: a matter of cells
    } else {
      in_gap += excess > kGap * threshold;
    }
  }
  std::ranges::stable_sort(slow, {}, [&](std::size_t row) { return -levels.middle[row]; });
  std::vector<std::size_t> others = slow;
  for (std::size_t dimension = 0; dimension < places.coordinates.size() && !others.empty(); ++dimension) {
    if (ArePlanes(places, levels, others, dimension))
      others = TakePlanes(load, places, levels, deviations, others, dimension);
  }
  others = TakeWhole(
      load, levels, deviations, others, [&](std::size_t row) { return static_cast<std::size_t>(places.nodes[row]); },
      [](std::size_t nodes) { return nodes / 2; },
      [](std::size_t node, LoadDeviation& found) { found.node = static_cast<std::int32_t>(node); });
  if (!places.sockets.empty()) {
    // Nodes have fewer sockets than that.
    constexpr std::size_t kSockets = 4096;
    others = TakeWhole(
        load, levels, deviations, others,
        [&](std::size_t row) {
          return static_cast<std::size_t>(places.nodes[row]) * kSockets + static_cast<std::size_t>(places.sockets[row]);
        },
        [](std::size_t sockets) { return sockets / 2; },
        [](std::size_t socket, LoadDeviation& found) {
          found.place = CausePlace::kSocket;
          found.node = static_cast<std::int32_t>(socket / kSockets);
          found.socket = static_cast<std::int32_t>(socket % kSockets);
        });
  }
  for (std::size_t dimension = 0; dimension < places.coordinates.size(); ++dimension) {
    others = TakePlanes(load, places, levels, deviations, others, dimension);
  }
  const std::size_t few = std::max<std::size_t>(1, levels.rows.size() / 4);
  const bool is_apart = static_cast<double>(in_gap) <= kInGap * static_cast<double>(others.size());
  if (!others.empty() && others.size() <= few && is_apart) {
    AddSlow(load, levels, deviations, others, others.size() == 1 ? CausePlace::kRank : CausePlace::kRanks);
    others.clear();
  }
  AddDegrees(load, places, levels, deviations, of_mean);
}

CausePlace PlaceInRow(const LoadMatrix& load, const std::vector<Cell>& cells) {
  std::vector<std::size_t> columns;
  for (const Cell& cell : cells) columns.push_back(cell.column);
  if (Period(columns) > 0) return CausePlace::kPeriodic;
  const std::size_t first = columns.front(), last = columns.back();
  const bool is_stretch = static_cast<double>(columns.size()) >= 0.8 * static_cast<double>(last - first + 1);
  if (!is_stretch) return CausePlace::kNoisyRank;
  return last + 1 + std::max<std::size_t>(1, load.iterations / 50) >= load.iterations ? CausePlace::kFromTime
                                                                                      : CausePlace::kForAWhile;
}

// A rank that has it far more often than the others is none of those that take turns.
void TakeFrequentRows(const LoadMatrix& load, std::vector<LoadDeviation>& deviations,
                      std::map<std::size_t, std::vector<Cell>>& of_rows) {
  std::vector<double> counts;
  for (const auto& [row, cells] : of_rows) counts.push_back(static_cast<double>(cells.size()));
  if (counts.size() < 3) return;
  const double most = std::max(static_cast<double>(kRarely), kOftener * LowerMedian(counts));
  std::erase_if(of_rows, [&](const auto& of_row) {
    if (static_cast<double>(of_row.second.size()) <= most) return false;
    AddCells(load, deviations, of_row.second, PlaceInRow(load, of_row.second));
    return true;
  });
}

// Most columns have it, on a rank that changes.
bool IsOneThatMoves(const LoadMatrix& load, const std::map<std::size_t, std::vector<Cell>>& of_rows) {
  std::set<std::size_t> columns;
  std::size_t cells = 0;
  for (const auto& [row, of_row] : of_rows) {
    for (const Cell& cell : of_row) columns.insert(cell.column);
    cells += of_row.size();
  }
  return of_rows.size() > 1 && 2 * columns.size() >= load.iterations && 2 * cells <= 3 * columns.size();
}

// Ranks that take longer in the first columns alone: the start, unless the same goes on on others.
void TakeFirstColumns(const LoadMatrix& load, std::vector<LoadDeviation>& deviations,
                      std::map<std::size_t, std::vector<Cell>>& of_rows) {
  const std::size_t first = std::max<std::size_t>(1, load.iterations / 20);
  if (load.iterations < 4) return;
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
  AddCells(load, deviations, start, CausePlace::kStartUp);
}

// On many ranks: every n-th iteration, or a hot spot that moves. Else interruptions anywhere.
void AddScattered(const LoadMatrix& load, std::vector<LoadDeviation>& deviations,
                  const std::map<std::size_t, std::vector<Cell>>& of_rows) {
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
  if (Period(rising) > 0) {
    place = CausePlace::kPeriodic;
  } else if (2 * columns.size() >= load.iterations) {
    place = CausePlace::kMovingHotSpot;
  } else if (columns.size() <= 2) {
    place = CausePlace::kOnce;
  }
  AddCells(load, deviations, all, place);
}

// Cells far above what is usual for their rank and column.
void FindCells(const LoadMatrix& load, const Levels& levels, std::vector<LoadDeviation>& deviations) {
  const double threshold = std::max({kCellSigmas * levels.noise, kLeastCell * levels.base, levels.nothing});
  std::map<std::size_t, std::vector<Cell>> of_rows;
  std::size_t count = 0, in_gap = 0;
  double smallest = std::numeric_limits<double>::max(), largest_rest = 0;
  for (const std::size_t row : levels.rows) {
    if (levels.fixed.contains(row)) continue;
    for (std::size_t column = 0; column < load.iterations; ++column) {
      const double excess = load.At(row, column) - Usual(levels, row, column);
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
  TakeFirstColumns(load, deviations, of_rows);
  const std::size_t few = std::max<std::size_t>(1, levels.rows.size() / 8);
  if (of_rows.size() <= few && !IsOneThatMoves(load, of_rows)) {
    // Cells that recur on a rank are its own; the rest is examined together.
    std::erase_if(of_rows, [&](const auto& of_row) {
      if (of_row.second.size() <= kRarely) return false;
      AddCells(load, deviations, of_row.second, PlaceInRow(load, of_row.second));
      return true;
    });
  }
  TakeFrequentRows(load, deviations, of_rows);
  if (!of_rows.empty()) AddScattered(load, deviations, of_rows);
}

}  // namespace

std::vector<LoadDeviation> FindDeviations(const LoadMatrix& load, const RowPlaces& places, double typical) {
  Levels levels;
  levels.nothing = kNothing * typical;
  for (std::size_t row = 0; row < load.ranks.size(); ++row) {
    if (MeanOfRow(load, row) > 0) levels.rows.push_back(row);
  }
  if (levels.rows.empty() || load.ranks.size() < 2) return {};
  std::vector<LoadDeviation> deviations;
  constexpr std::size_t kFew = 8, kHalf = 2;  // one of so many ranks; chosen
  if (IsAlone(load, levels, kFew)) {
    AddAlone(load, levels, deviations);
  } else {
    // Slow ranks first, then single cells.
    Measure(load, levels);
    if (!levels.is_sparse) FindSteps(load, levels, deviations);
    if (!levels.is_sparse) FindRows(load, places, levels, deviations);
    if (load.iterations > 1) FindCells(load, levels, deviations);
    // Where all ranks do the same otherwise, the problem has no more parts.
    if (deviations.empty() && places.groups.empty() && IsAlone(load, levels, kHalf)) AddAlone(load, levels, deviations);
  }
  std::ranges::stable_sort(deviations, std::greater(), &LoadDeviation::excess);
  return deviations;
}

}  // namespace farscale
