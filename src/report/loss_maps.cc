#include "report/loss_maps.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "plot/heat_map.h"
#include "report/loss_ranks.h"
#include "results/reported_losses.h"

namespace farscale {
namespace {

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
TextTable TableBehind(const LossRecord& losses, const LossRaster& raster) {
  const LossRaster blocks = Joined(raster, kTableRows, kTableColumns), sums = Joined(blocks, blocks.rows, 1);
  const std::size_t columns = blocks.columns > 1 ? blocks.columns : 0;  // one is the same as all
  const auto name_of_iteration = [](std::size_t iteration) { return std::to_string(iteration + 1); };
  const auto name_of_rank = [&](std::size_t rank) { return LossRanks(losses).NumberOf(rank); };
  TextTable table;
  for (std::size_t column = 0; column < columns; ++column) {
    table.header.push_back({NameOfBlock(column, columns, raster.columns, losses.iterations, name_of_iteration)});
  }
  table.header.push_back({"all"});
  for (std::size_t row = 0; row < blocks.rows; ++row) {
    TextRow line{NameOfBlock(row, blocks.rows, raster.rows, losses.run_ranks, name_of_rank), {}};
    for (std::size_t i = 0; i < columns; ++i) line.cells.push_back({TimeOrDash(blocks.cells[row * columns + i])});
    line.cells.push_back({TimeOrDash(sums.cells[row])});
    table.rows.push_back(std::move(line));
  }
  return table;
}

// Files written before it was told have the whole path.
const std::string& InnermostOf(const PathRecord& record) {
  return record.innermost.empty() ? record.path : record.innermost;
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

struct GridText {
  std::string extents, source;
  bool is_of_program = false, is_in_order = false, has_planes = false;
  FARSCALE_TAGS(extents, source, is_of_program, is_in_order, has_planes)
};

// The tags of loss_map.txt.mustache, with those of LossRanks.
struct MapText {
  std::string path, region, number, heading, count, iterations, strongest, per_rank;
  std::optional<LargestShare> largest;
  std::optional<GridText> grid;
  bool is_one = false, is_joined = false;
  FARSCALE_TAGS(path, region, number, heading, count, iterations, strongest, per_rank, largest, grid, is_one, is_joined)
};

bool CanBeDrawn(const ProcessGrid& grid) { return !grid.extents.empty() && grid.extents.size() <= 3; }

std::size_t PlanesOf(const ProcessGrid& grid) { return grid.extents.size() > 2 ? grid.extents[0] : 1; }

GridText TextOf(const ProcessGrid& grid) {
  std::vector<std::string> extents;
  for (const std::size_t extent : grid.extents) extents.push_back(std::to_string(extent));
  const bool is_of_program = grid.source == GridSource::kTopology;
  return {Join(extents, " × "), is_of_program ? "" : std::string(ToString(grid.source)), is_of_program,
          grid.places.empty(), PlanesOf(grid) > 1};
}

std::map<std::string, std::string> TextsOf(const LossRecord& losses, const PathRecord& path, const std::string& number,
                                           const std::string& heading, const Partials& texts) {
  const LossRanks ranks(losses);
  const double largest = LargestOf(path.raster.cells);
  MapText text{.path = path.path,
               .region = InnermostOf(path),
               .number = number,
               .heading = heading,
               .count = std::to_string(losses.run_ranks),
               .iterations = losses.iterations > 1 ? std::to_string(losses.iterations) : "",
               .strongest = FormatSeconds(largest),
               .per_rank = FormatSeconds(ranks.PerRank(largest)),
               .largest = LargestShareOf(path, ranks),
               .is_one = losses.run_ranks == 1,
               .is_joined = path.raster.rows < losses.run_ranks || path.raster.columns < losses.iterations};
  if (losses.grid && CanBeDrawn(*losses.grid)) text.grid = TextOf(*losses.grid);
  ReportData data = ToData(ranks);
  data.update(ToData(text));
  const LabelledTexts labelled = RenderLabelledTexts(texts, "loss_map.txt", data);
  return {labelled.begin(), labelled.end()};
}

LossMap MapOf(const LossRecord& losses, const PathRecord& path, std::size_t number, const std::string& heading,
              const Partials& templates) {
  const LossRanks ranks(losses);
  const auto strongest = [&](const std::vector<double>& costs) {
    return FormatSeconds(LargestOf(costs)) + ", " + ranks.summed;
  };
  const HeatLabels labels{ranks.NameOf(0), ranks.NumberOf(losses.run_ranks - 1), "iteration 1",
                          std::to_string(losses.iterations), strongest(path.raster.cells)};
  std::map<std::string, std::string> texts = TextsOf(losses, path, std::to_string(number), heading, templates);
  LossMap map{RenderHeatMap(path.raster, labels, texts["figure"], texts["description"]),
              texts["title"],
              std::to_string(number),
              texts["caption"],
              TableBehind(losses, path.raster),
              {}};
  if (losses.grid && CanBeDrawn(*losses.grid)) {
    map.grid = {RenderGridMap(OnGrid(*losses.grid, path.costs), PlanesOf(*losses.grid), strongest(path.costs),
                              texts["grid figure"], texts["grid description"]),
                texts["grid caption"]};
  }
  return map;
}

}  // namespace

namespace {

// The tags of cause_map.txt.mustache, with those of LossRanks.
struct CauseMapText {
  std::string number, heading, count, columns, strongest;
  bool are_iterations = false, is_joined = false, has_columns = false;
  FARSCALE_TAGS(number, heading, count, columns, strongest, are_iterations, is_joined, has_columns)
};

}  // namespace

std::optional<CauseMap> MapOfCause(const LossRecord& losses, const Cause& cause, std::size_t number,
                                   const std::string& heading, const Partials& texts) {
  if (cause.beyond.cells.empty() || losses.ranks.empty()) return std::nullopt;
  const LossRanks ranks(losses);
  const bool are_iterations = losses.iterations > 1 && cause.columns == losses.iterations;
  const CauseMapText text{.number = std::to_string(number),
                          .heading = heading,
                          .count = std::to_string(losses.ranks.size()),
                          .columns = std::to_string(cause.columns),
                          .strongest = FormatSeconds(LargestOf(cause.beyond.cells)),
                          .are_iterations = are_iterations,
                          .is_joined = cause.beyond.rows < losses.ranks.size() ||
                                       cause.beyond.columns<cause.columns, .has_columns = cause.columns> 1};
  ReportData data = ToData(ranks);
  data.update(ToData(text));
  const LabelledTexts labelled = RenderLabelledTexts(texts, "cause_map.txt", data);
  std::map<std::string, std::string> of_map(labelled.begin(), labelled.end());
  const HeatLabels labels{ranks.NameOf(losses.ranks.front()), ranks.NumberOf(losses.ranks.back()),
                          are_iterations ? "iteration 1" : "first", std::to_string(cause.columns),
                          text.strongest + " of one " + ranks.one};
  return CauseMap{RenderHeatMap(cause.beyond, labels, of_map["figure"], of_map["description"]), of_map["caption"]};
}

std::vector<LossMap> MapsOfLosses(const LossRecord& losses, std::size_t most, const std::string& heading,
                                  const Partials& texts) {
  std::vector<LossMap> maps;
  std::size_t number = 0;
  for (const PathRecord* path : LargestPaths(losses, most, CostsOf)) {
    ++number;
    if (!path->raster.cells.empty()) maps.push_back(MapOf(losses, *path, number, heading, texts));
  }
  return maps;
}

}  // namespace farscale
