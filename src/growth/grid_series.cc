#include "growth/grid_series.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "growth/program_split.h"

namespace farscale {
namespace {

constexpr std::size_t kFewestOfCourse = 3;  // grids; in two of them, half of the extents are the same by chance

// Dimensions that are the larger ones in the series are so here.
int OrderMistakes(const RankGrid& grid, const std::vector<RankGrid>& series, std::size_t dimensions) {
  int mistakes = 0;
  for (const RankGrid& other : series) {
    for (std::size_t a = 0; a < dimensions; ++a) {
      for (std::size_t b = a + 1; b < dimensions; ++b) {
        const auto here = grid.extents[a] <=> grid.extents[b], there = other.extents[a] <=> other.extents[b];
        mistakes += here != 0 && there != 0 && here != there;
      }
    }
  }
  return mistakes;
}

// How a series goes on: dimensions whose extent is the same in all of its grids keep it, or all are as even as can be.
struct Course {
  std::size_t dimensions = 1;
  GridVector kept{};  // extents; 0 where they change
  double most_uneven = 0;
};

bool Keeps(const RankGrid& grid, const Course& course) {
  for (std::size_t d = 0; d < kMostDimensions; ++d) {
    if (course.kept[d] > 0 && grid.extents[d] != course.kept[d]) return false;
  }
  return true;
}

// How far the ratios of the extents that change are from even, as the logarithm of the largest to the smallest.
double Unevenness(const RankGrid& grid, const Course& course) {
  std::int32_t low = 0, high = 1;
  for (std::size_t d = 0; d < course.dimensions; ++d) {
    if (course.kept[d] > 0) continue;
    low = low == 0 ? grid.extents[d] : std::min(low, grid.extents[d]);
    high = std::max(high, grid.extents[d]);
  }
  return low > 0 ? std::log(static_cast<double>(high) / low) : 0;
}

Course CourseOf(const std::vector<RankGrid>& series, bool keeps) {
  Course course;
  for (std::size_t d = 1; d < kMostDimensions; ++d) {
    if (std::ranges::any_of(series, [&](const RankGrid& grid) { return grid.extents[d] > 1; }))
      course.dimensions = d + 1;
  }
  for (std::size_t d = 0; keeps && d < course.dimensions; ++d) {
    const std::int32_t extent = series.front().extents[d];
    if (std::ranges::all_of(series, [&](const RankGrid& grid) { return grid.extents[d] == extent; }))
      course.kept[d] = extent;
  }
  for (const RankGrid& grid : series) course.most_uneven = std::max(course.most_uneven, Unevenness(grid, course));
  return course;
}

// The lower, the better does the grid go on with the series.
double ScoreOf(const RankGrid& grid, const std::vector<RankGrid>& series, const Course& course) {
  return Unevenness(grid, course) + 1e-3 * OrderMistakes(grid, series, course.dimensions);
}

std::optional<RankGrid> GridFor(const std::vector<RankGrid>& series, const Course& course, std::int64_t ranks) {
  std::optional<RankGrid> best;
  double best_score = INFINITY;
  for (const RankGrid& grid : GridsOf(ranks, course.dimensions)) {
    if (!Keeps(grid, course) || Unevenness(grid, course) > course.most_uneven + 1e-9) continue;
    const double score = ScoreOf(grid, series, course);
    if (score < best_score) best = grid;
    best_score = std::min(best_score, score);
  }
  return best;
}

// Whether the others would have foreseen every grid of the series, or one that is as good.
bool Foresees(const std::vector<RankGrid>& series, bool keeps) {
  for (const RankGrid& grid : series) {
    std::vector<RankGrid> others = series;
    std::erase(others, grid);
    const Course course = CourseOf(series, keeps);
    const std::optional<RankGrid> foreseen = GridFor(others, course, grid.size());
    if (!foreseen || ScoreOf(grid, others, course) > ScoreOf(*foreseen, others, course) + 1e-9) return false;
  }
  return true;
}

// Extents that stay the same may yet be waiting for smaller ones to become as large; in more than two dimensions, they
// are kept only when others go beyond them.
bool IsOvertaken(const std::vector<RankGrid>& series) {
  const Course course = CourseOf(series, true);
  if (course.dimensions <= 2) return true;
  std::int32_t kept = 0, largest = 0;
  for (std::size_t d = 0; d < course.dimensions; ++d) {
    kept = std::max(kept, course.kept[d]);
    if (course.kept[d] == 0) largest = std::max(largest, series.back().extents[d]);
  }
  return largest > kept;
}

Course CourseFrom(const std::vector<RankGrid>& series) {
  const bool keeps =
      series.size() >= kFewestOfCourse && !Foresees(series, false) && Foresees(series, true) && IsOvertaken(series);
  return CourseOf(series, keeps);
}

// How one of two programs goes on, which may have the same ranks in all layouts.
class ProgramSeries {
 public:
  ProgramSeries(const std::vector<RankGrid>& series, std::size_t program) {
    for (const RankGrid& grid : series) series_.push_back(grid.GridOf(program));
    is_constant_ = std::ranges::all_of(series_, [&](const RankGrid& grid) { return grid == series_.front(); });
    if (!is_constant_) course_ = CourseFrom(series_);
  }
  std::optional<RankGrid> For(std::int64_t ranks) const {
    if (!is_constant_) return GridFor(series_, course_, ranks);
    return series_.front().size() == ranks ? std::optional(series_.front()) : std::nullopt;
  }

 private:
  std::vector<RankGrid> series_;
  bool is_constant_ = false;
  Course course_;
};

// The nearest number of ranks first for which `grid_for` has a layout; that of the largest run where there is none.
template <typename GridForRanks>
RankGrid Nearest(const std::vector<RankGrid>& series, std::int64_t ranks, const GridForRanks& grid_for) {
  for (std::int64_t away = 0; away < ranks; ++away) {
    for (const std::int64_t tried : {ranks - away, ranks + away}) {
      if (const std::optional<RankGrid> grid = grid_for(tried)) return *grid;
    }
  }
  return series.back();
}

RankGrid ContinueTwo(const std::vector<RankGrid>& series, std::int64_t ranks) {
  const ProgramSeries first(series, 0), second(series, 1);
  const std::optional<ProgramSplit> split = SplitOf(series);
  return Nearest(series, ranks, [&](std::int64_t tried) -> std::optional<RankGrid> {
    const std::optional<std::int64_t> of_first = split ? split->FirstOf(tried) : std::nullopt;
    if (!of_first) return std::nullopt;
    const std::optional<RankGrid> a = first.For(*of_first), b = second.For(tried - *of_first);
    return a && b ? std::optional(RankGrid::OfTwo(*a, *b)) : std::nullopt;
  });
}

}  // namespace

RankGrid ContinueSeries(const std::vector<RankGrid>& series, std::int64_t ranks) {
  if (series.back().HasTwo()) return ContinueTwo(series, ranks);
  const Course course = CourseFrom(series);
  return Nearest(series, ranks, [&](std::int64_t tried) { return GridFor(series, course, tried); });
}

bool IsRegular(const std::vector<RankGrid>& series) { return Foresees(series, false) || Foresees(series, true); }

RankGrid LayoutFor(const CallRules& rules, std::int64_t ranks) {
  if (!rules.scheme.is_lifted) return ContinueSeries(rules.grids, ranks);
  const std::int64_t of_run = rules.grids.back().size();
  const std::int64_t copies = std::max<std::int64_t>(1, (ranks + of_run / 2) / of_run);
  return {{static_cast<std::int32_t>(of_run), static_cast<std::int32_t>(copies), 1, 1}};
}

}  // namespace farscale
