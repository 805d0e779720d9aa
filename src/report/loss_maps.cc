#include "report/loss_maps.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "plot/heat_map.h"
#include "results/reported_losses.h"
#include "report/loss_ranks.h"
#include "report/losses_section.h"
#include "report/shape_words.h"

namespace farscale {
namespace {

using Data = ReportData;

// Rows and columns of the table behind a heat map, at most.
constexpr std::size_t kTableRows = 8, kTableColumns = 6;

// Of `count` things in `parts` parts, where thing i lies in part i · parts / count: the first thing of a part.
std::size_t FirstOf(std::size_t part, std::size_t parts, std::size_t count) {
  return (part * count + parts - 1) / parts;
}

// "8 – 15": which of `count` things lie in a block of rows or columns of a raster, by the name of each.
template <typename NameOf>
std::string NameOfBlock(std::size_t block, std::size_t blocks, std::size_t cells, std::size_t count, NameOf name_of) {
  const std::size_t first = FirstOf(FirstOf(block, blocks, cells), cells, count);
  const std::size_t next = FirstOf(FirstOf(block + 1, blocks, cells), cells, count);
  return first + 1 == next ? name_of(first) : fmt::format("{} – {}", name_of(first), name_of(next - 1));
}

// Sums of blocks of the map, few enough to be read.
Data TableBehind(const LossRecord& losses, const LossRaster& raster) {
  const LossRaster blocks = Joined(raster, kTableRows, kTableColumns), sums = Joined(blocks, blocks.rows, 1);
  const std::size_t columns = blocks.columns > 1 ? blocks.columns : 0;  // one is the same as all
  const auto name_of_iteration = [](std::size_t iteration) { return std::to_string(iteration + 1); };
  const auto name_of_rank = [&](std::size_t rank) { return LossRanks(losses).NumberOf(rank); };
  Data header = Data::array(), rows = Data::array();
  for (std::size_t column = 0; column < columns; ++column) {
    header.push_back({{"text", NameOfBlock(column, columns, raster.columns, losses.iterations, name_of_iteration)}});
  }
  header.push_back({{"text", "all"}});
  for (std::size_t row = 0; row < blocks.rows; ++row) {
    Data cells = Data::array();
    for (std::size_t column = 0; column < columns; ++column) {
      cells.push_back({{"text", TimeOrDash(blocks.cells[row * columns + column])}});
    }
    cells.push_back({{"text", TimeOrDash(sums.cells[row])}});
    rows.push_back({{"heading", NameOfBlock(row, blocks.rows, raster.rows, losses.run_ranks, name_of_rank)},
                    {"cells", std::move(cells)}});
  }
  return {{"header", std::move(header)}, {"rows", std::move(rows)}};
}

// Files written before it was told have the whole path.
const std::string& InnermostOf(const PathRecord& record) {
  return record.innermost.empty() ? record.path : record.innermost;
}

// "104 ms, summed over ranks"
std::string SumInWords(double seconds, const LossRanks& names) {
  return FormatSeconds(seconds) + ", " + names.Summed();
}

double LargestOf(const std::vector<double>& values) {
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

// Costs on the process grid: a plane as it is, planes of three dimensions side by side.
LossRaster OnGrid(const ProcessGrid& grid, const std::vector<double>& costs) {
  std::vector<std::size_t> extents = grid.extents;
  while (extents.size() < 3) extents.insert(extents.begin(), 1);
  const std::size_t planes = extents[0], rows = extents[1], columns = extents[2], gap = planes > 1 ? 1 : 0;
  LossRaster raster{rows, planes * (columns + gap) - gap, {}};
  for (std::size_t i = 0; i < std::min(costs.size(), planes * rows * columns); ++i) {
    const std::size_t plane = grid.PlaceOf(i) / (rows * columns), place = grid.PlaceOf(i) % (rows * columns);
    raster.Add(place / columns, plane * (columns + gap) + place % columns, costs[i]);
  }
  return raster;
}

Data GridMapOf(const LossRecord& losses, const PathRecord& path, const std::string& what) {
  if (!losses.grid || losses.grid->extents.empty() || losses.grid->extents.size() > 3) return {{"hasGrid", false}};
  const std::string grid = DescribeGrid(*losses.grid);
  const std::size_t planes = losses.grid->extents.size() > 2 ? losses.grid->extents[0] : 1;
  return {{"hasGrid", true},
          {"grid",
           {{"svg", RenderGridMap(OnGrid(*losses.grid, path.costs), planes,
                                  SumInWords(LargestOf(path.costs), LossRanks(losses)), what + " on the process grid",
                                  fmt::format("{}; {}.", grid, WhereMost(path, losses)))},
            {"caption",
             fmt::format("The same on {}{}{}.", grid, losses.grid->places.empty() ? ", rank 0 at the top left" : "",
                         planes > 1 ? "; planes stand side by side" : "")}}}};
}

Data MapOf(const LossRecord& losses, const PathRecord& path, std::size_t number, const std::string& heading) {
  const LossRaster& raster = path.raster;
  const LossRanks names(losses);
  const double largest = LargestOf(raster.cells);
  const HeatLabels labels{names.NameOf(0), names.NumberOf(losses.run_ranks - 1), "iteration 1",
                          std::to_string(losses.iterations), SumInWords(largest, names)};
  const std::string what = fmt::format("Costs of {} by {} and iteration", InnermostOf(path), names.one());
  std::string size =
      fmt::format("{} {} from top to bottom{}", losses.run_ranks, losses.run_ranks == 1 ? names.one() : names.many(),
                  names.are_threads() ? ", those of a rank together" : "");
  if (losses.iterations > 1) size += fmt::format(", {} iterations from left to right", losses.iterations);
  const bool is_joined = raster.rows < losses.run_ranks || raster.columns < losses.iterations;
  const std::string caption = fmt::format(
      "{}. {}, where the delays are{}. The strongest colour is {}: what all {} together wait because of "
      "one place, {} on the average {}. Bars: all iterations together.",
      path.path, size, is_joined ? "; neighbours share a place" : "", SumInWords(largest, names), names.many(),
      FormatSeconds(names.PerRank(largest)), names.one());
  const std::string title = fmt::format("{}, cause {} of {}", what, number, heading);
  const std::string description = fmt::format("{}; {}.", size, WhereMost(path, losses));
  Data map = {{"svg", RenderHeatMap(raster, labels, title, description)},
              {"title", what},
              {"number", std::to_string(number)},
              {"caption", caption},
              {"table", TableBehind(losses, raster)}};
  map.update(GridMapOf(losses, path, fmt::format("Costs of {}, cause {} of {}", InnermostOf(path), number, heading)));
  return map;
}

}  // namespace

std::string WhereMost(const PathRecord& path, const LossRecord& losses) {
  const auto largest = std::max_element(path.costs.begin(), path.costs.end());
  if (largest == path.costs.end()) return fmt::format("on {} that are not known", LossRanks(losses).many());
  const double share = *largest / path.total.Costs();
  return fmt::format("{} on {} ({})", share >= 0.5 ? "most of it" : "the largest part of it",
                     LossRanks(losses).NameOf(losses.ranks[static_cast<std::size_t>(largest - path.costs.begin())]),
                     FormatPercent(share));
}

ReportData MapsOfLosses(const LossRecord& losses, std::size_t most, const std::string& heading) {
  Data maps = Data::array();
  std::size_t number = 0;
  for (const PathRecord* path : LargestPaths(losses, most, CostsOf)) {
    ++number;
    if (!path->raster.cells.empty()) maps.push_back(MapOf(losses, *path, number, heading));
  }
  return maps;
}

}  // namespace farscale
