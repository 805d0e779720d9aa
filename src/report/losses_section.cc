#include "report/losses_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/format.h"
#include "base/text.h"
#include "report/heat_map.h"
#include "report/shape_words.h"

namespace farscale {
namespace {

using Data = ReportData;

// Rows and columns of the table behind a heat map, at most.
constexpr std::size_t kTableRows = 8, kTableColumns = 6;

std::string ShareOf(double value, double whole) { return whole > 0 ? FormatPercent(value / whole) : "–"; }

std::string TimeOrDash(double seconds) { return seconds > 0 ? FormatSeconds(seconds) : "–"; }

double CostsOf(const PathRecord& path) { return path.total.Costs(); }

// "3 (71.0 %), 0 (12.0 %)": the two ranks with most, with what share of the whole they have.
std::string MostRanks(const std::vector<double>& by_rank, const std::vector<std::size_t>& ranks, double whole) {
  std::vector<std::size_t> order(by_rank.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return by_rank[a] > by_rank[b]; });
  std::vector<std::string> texts;
  for (const std::size_t i : order) {
    if (texts.size() == 2 || by_rank[i] <= 0) break;
    texts.push_back(fmt::format("{} ({})", ranks[i], ShareOf(by_rank[i], whole)));
  }
  return texts.empty() ? "–" : Join(texts, ", ");
}

// "most of it on rank 3 (71.0 %)"
std::string WhereMost(const PathRecord& path, const LossRecord& losses) {
  const auto largest = std::max_element(path.costs.begin(), path.costs.end());
  if (largest == path.costs.end()) return "on ranks that are not known";
  const double share = *largest / path.total.Costs();
  return fmt::format("{} on rank {} ({})", share >= 0.5 ? "most of it" : "the largest part of it",
                     losses.ranks[static_cast<std::size_t>(largest - path.costs.begin())], FormatPercent(share));
}

Data Kinds(const LossRecord& losses) {
  Data rows = Data::array();
  for (const WaitKindName& kind : WaitKindNames()) {
    const auto k = static_cast<std::size_t>(kind.kind);
    if (losses.waiting[k] <= 0) continue;
    const bool is_end = kind.kind == WaitKind::kWaitAtEnd && losses.at_end > 0;
    rows.push_back({{"name", std::string(kind.name)},
                    {"time", FormatSeconds(losses.waiting[k])},
                    {"share", ShareOf(losses.waiting[k], losses.allocation)},
                    {"shortTerm", is_end ? "not charged" : TimeOrDash(losses.short_term[k])},
                    {"longTerm", is_end ? "–" : TimeOrDash(losses.long_term[k])},
                    {"unattributed", TimeOrDash(losses.unattributed[k])}});
  }
  return rows;
}

Data Causes(const LossRecord& losses, std::size_t most) {
  Data rows = Data::array();
  for (const PathRecord* path : LargestPaths(losses, most, CostsOf)) {
    rows.push_back({{"number", std::to_string(rows.size() + 1)},
                    {"path", path->path},
                    {"costs", FormatSeconds(path->total.Costs())},
                    {"share", ShareOf(path->total.Costs(), losses.Waiting())},
                    {"shortTerm", TimeOrDash(path->total.ShortTerm())},
                    {"longTerm", TimeOrDash(path->total.LongTerm())},
                    {"most", MostRanks(path->costs, losses.ranks, path->total.Costs())}});
  }
  return rows;
}

// What is not in the list of causes.
std::string MoreCauses(const LossRecord& losses, std::size_t most) {
  double told = 0;
  for (const PathRecord* path : LargestPaths(losses, most, CostsOf)) told += path->total.Costs();
  const double rest = losses.Costs() - told;
  if (rest <= 0.0005 * losses.Waiting()) return "";  // 0.0 %
  return fmt::format("All other call paths together cause {} of the waiting.", ShareOf(rest, losses.Waiting()));
}

Data Waiters(const LossRecord& losses, std::size_t most) {
  Data rows = Data::array();
  for (const PathRecord* path : LargestPaths(losses, most, [](const PathRecord& p) { return p.total.Waiting(); })) {
    const double all = path->total.Waiting();
    rows.push_back({{"path", path->path},
                    {"waiting", FormatSeconds(all)},
                    {"share", ShareOf(all, losses.allocation)},
                    {"indirect", ShareOf(path->total.indirect, all)},
                    {"propagating", ShareOf(path->total.propagating, all)},
                    {"most", MostRanks(path->waiting, losses.ranks, all)}});
  }
  return rows;
}

Data OutOfOrder(const LossRecord& losses, std::size_t most) {
  Data rows = Data::array();
  for (const PathRecord* path : LargestPaths(losses, most, [](const PathRecord& p) { return p.total.wrong_order; })) {
    rows.push_back({{"path", path->path},
                    {"time", FormatSeconds(path->total.wrong_order)},
                    {"share", ShareOf(path->total.wrong_order, losses.Waiting())},
                    {"sameSource", ShareOf(path->total.wrong_order_same, path->total.wrong_order)}});
  }
  return rows;
}

Data Critical(const LossRecord& losses, std::size_t most) {
  Data rows = Data::array();
  for (const PathRecord* path : LargestPaths(losses, most, [](const PathRecord& p) { return p.total.critical; })) {
    rows.push_back({{"path", path->path},
                    {"time", FormatSeconds(path->total.critical)},
                    {"share", ShareOf(path->total.critical, losses.length)},
                    {"imbalance", TimeOrDash(path->imbalance)},
                    {"nearly", ShareOf(path->total.nearly_critical, losses.allocation)},
                    {"within", TimeOrDash(path->total.intra)},
                    {"between", TimeOrDash(path->total.inter)}});
  }
  return rows;
}

// "12.3 %" of the phase; of what makes up for others "−1.2 %".
std::string SignedShare(double value, double whole) {
  if (whole <= 0) return "–";
  return value < 0 ? "−" + FormatPercent(-value / whole) : FormatPercent(value / whole);
}

Data ByFactor(const LossRecord& losses, std::size_t most) {
  Data rows = Data::array();
  if (!losses.by_factor) return rows;
  std::vector<const PathFactorLoss*> paths;
  const auto value = [](const PathFactorLoss& path) { return path.load_balance + path.serialization; };
  for (const PathFactorLoss& path : losses.by_factor->paths) {
    if (value(path) > 0) paths.push_back(&path);
  }
  std::stable_sort(paths.begin(), paths.end(),
                   [&](const PathFactorLoss* a, const PathFactorLoss* b) { return value(*a) > value(*b); });
  if (paths.size() > most) paths.resize(most);
  for (const PathFactorLoss* path : paths) {
    rows.push_back({{"path", path->path},
                    {"loadBalance", SignedShare(path->load_balance, losses.length)},
                    {"serialization", SignedShare(path->serialization, losses.length)}});
  }
  return rows;
}

// Of `count` things in `parts` parts, where thing i lies in part i · parts / count: the first thing of a part.
std::size_t FirstOf(std::size_t part, std::size_t parts, std::size_t count) {
  return (part * count + parts - 1) / parts;
}

// "8 – 15": which of `count` things lie in a block of rows or columns of a raster. `origin`: number of the first thing.
std::string NameOfBlock(std::size_t block, std::size_t blocks, std::size_t cells, std::size_t count,
                        std::size_t origin) {
  const std::size_t first = FirstOf(FirstOf(block, blocks, cells), cells, count) + origin;
  const std::size_t next = FirstOf(FirstOf(block + 1, blocks, cells), cells, count) + origin;
  return first + 1 == next ? std::to_string(first) : fmt::format("{} – {}", first, next - 1);
}

// Sums of blocks of the map, few enough to be read.
Data TableBehind(const LossRecord& losses, const LossRaster& raster) {
  const LossRaster blocks = Joined(raster, kTableRows, kTableColumns), sums = Joined(blocks, blocks.rows, 1);
  const std::size_t columns = blocks.columns > 1 ? blocks.columns : 0;  // one is the same as all
  Data header = Data::array(), rows = Data::array();
  for (std::size_t column = 0; column < columns; ++column) {
    header.push_back({{"text", NameOfBlock(column, columns, raster.columns, losses.iterations, 1)}});
  }
  header.push_back({{"text", "all"}});
  for (std::size_t row = 0; row < blocks.rows; ++row) {
    Data cells = Data::array();
    for (std::size_t column = 0; column < columns; ++column) {
      cells.push_back({{"text", TimeOrDash(blocks.cells[row * columns + column])}});
    }
    cells.push_back({{"text", TimeOrDash(sums.cells[row])}});
    rows.push_back(
        {{"heading", NameOfBlock(row, blocks.rows, raster.rows, losses.run_ranks, 0)}, {"cells", std::move(cells)}});
  }
  return {{"header", std::move(header)}, {"rows", std::move(rows)}};
}

std::string InnermostOf(const std::string& path) {
  const std::size_t at = path.rfind(" / ");
  return at == std::string::npos ? path : path.substr(at + 3);
}

// Costs on the process grid: a plane as it is, planes of three dimensions side by side.
LossRaster OnGrid(const ProcessGrid& grid, const std::vector<double>& costs) {
  std::vector<std::size_t> extents = grid.extents;
  while (extents.size() < 3) extents.insert(extents.begin(), 1);
  const std::size_t planes = extents[0], rows = extents[1], columns = extents[2], gap = planes > 1 ? 1 : 0;
  LossRaster raster{rows, planes * (columns + gap) - gap, {}};
  for (std::size_t i = 0; i < std::min(costs.size(), planes * rows * columns); ++i) {
    const std::size_t plane = i / (rows * columns), place = i % (rows * columns);
    raster.Add(place / columns, plane * (columns + gap) + place % columns, costs[i]);
  }
  return raster;
}

Data GridMapOf(const LossRecord& losses, const PathRecord& path, const std::string& what) {
  if (!losses.grid || losses.grid->extents.empty() || losses.grid->extents.size() > 3) return {{"hasGrid", false}};
  const std::string grid = DescribeGrid(*losses.grid);
  return {{"hasGrid", true},
          {"grid",
           {{"svg", RenderGridMap(OnGrid(*losses.grid, path.costs), what + " on the process grid",
                                  fmt::format("{}; {}.", grid, WhereMost(path, losses)))},
            {"caption", fmt::format("The same on {}, rank 0 at the top left{}.", grid,
                                    losses.grid->extents.size() > 2 ? "; planes stand side by side" : "")}}}};
}

Data MapOf(const LossRecord& losses, const PathRecord& path, std::size_t number, const std::string& heading) {
  const LossRaster& raster = path.raster;
  const double largest = *std::max_element(raster.cells.begin(), raster.cells.end());
  const std::string what = fmt::format("Costs of {} by rank and iteration", InnermostOf(path.path));
  std::string size = fmt::format("{} ranks from top to bottom", losses.run_ranks);
  if (losses.iterations > 1) size += fmt::format(", {} iterations from left to right", losses.iterations);
  const bool is_joined = raster.rows < losses.run_ranks || raster.columns < losses.iterations;
  const std::string caption =
      fmt::format("{}. {}; the strongest colour is {}{}. Bars: all iterations together.", path.path, size,
                  FormatSeconds(largest), is_joined ? ", of neighbours that share a place" : "");
  const std::string title = fmt::format("{}, cause {} of {}", what, number, heading);
  const std::string description = fmt::format("{}; {}.", size, WhereMost(path, losses));
  Data map = {{"svg", RenderHeatMap(raster, title, description)},
              {"title", what},
              {"number", std::to_string(number)},
              {"caption", caption},
              {"table", TableBehind(losses, raster)}};
  map.update(
      GridMapOf(losses, path, fmt::format("Costs of {}, cause {} of {}", InnermostOf(path.path), number, heading)));
  return map;
}

Data Maps(const LossRecord& losses, std::size_t most, const std::string& heading) {
  Data maps = Data::array();
  std::size_t number = 0;
  for (const PathRecord* path : LargestPaths(losses, most, CostsOf)) {
    ++number;
    if (!path->raster.cells.empty()) maps.push_back(MapOf(losses, *path, number, heading));
  }
  return maps;
}

// How computation is spread, all of it and that of the first causes, and what helps.
Data Shapes(const LossRecord& losses, std::size_t most) {
  Data rows = Data::array();
  const auto add = [&](const std::string& name, const std::optional<LoadShape>& shape) {
    if (!shape || shape->over_ranks == ShapeOverRanks::kUnknown) return;
    const std::string remedy = RemedyFor(*shape);
    rows.push_back({{"name", name},
                    {"imbalance", FormatPercent(shape->imbalance)},
                    {"inIteration", FormatPercent(shape->imbalance_in_iteration)},
                    {"shape", DescribeShape(*shape)},
                    {"remedy", remedy.empty() ? "–" : remedy}});
  };
  add("All computation", losses.shape);
  for (const PathRecord* path : LargestPaths(losses, most, CostsOf)) add(path->path, path->shape);
  return rows;
}

Data Growth(const std::vector<LossGrowth>& growth, std::size_t most) {
  Data list = Data::array();
  for (const LossGrowth& one : growth) {
    Data header = Data::array(), rows = Data::array();
    for (std::size_t row = 0; row < one.table.size() && row <= most; ++row) {
      Data cells = Data::array();
      for (std::size_t i = 1; i < one.table[row].size(); ++i) cells.push_back({{"text", one.table[row][i]}});
      if (row == 0) {
        header = std::move(cells);
      } else {
        rows.push_back({{"heading", one.table[row][0]}, {"cells", std::move(cells)}});
      }
    }
    Data sentences = Data::array();
    for (const std::string& sentence : one.sentences) sentences.push_back(sentence);
    list.push_back({{"title", one.title},
                    {"sentences", std::move(sentences)},
                    {"hasTable", !rows.empty()},
                    {"header", std::move(header)},
                    {"rows", std::move(rows)}});
  }
  return list;
}

}  // namespace

std::vector<std::string> SummarizeLosses(const LossRecord& losses) {
  const double waiting = losses.Waiting();
  if (waiting <= 0) return {"No rank waits for another."};
  std::vector<std::string> sentences = {fmt::format("{} of the time of all ranks is waiting: {} of {} on {} ranks.",
                                                    ShareOf(waiting, losses.allocation), FormatSeconds(waiting),
                                                    FormatSeconds(losses.allocation), losses.ranks.size())};
  const std::vector<const PathRecord*> causes = LargestPaths(losses, 1, CostsOf);
  if (!causes.empty()) {
    const PathRecord& first = *causes.front();
    sentences.push_back(fmt::format("{} of the waiting is caused by {}, {}.", ShareOf(first.total.Costs(), waiting),
                                    first.path, WhereMost(first, losses)));
    sentences.push_back(
        fmt::format("{} of the waiting is indirect, brought about by waits of the rank that came late; {} makes others "
                    "wait in turn.",
                    ShareOf(losses.indirect, waiting), ShareOf(losses.propagating, waiting)));
  }
  if (losses.at_end > 0) {
    sentences.push_back(
        fmt::format("{} of the waiting ({}) is for the last rank at the end of the phase, and charged to nobody.",
                    ShareOf(losses.at_end, waiting), FormatSeconds(losses.at_end)));
  }
  double unattributed = 0;
  for (const double value : losses.unattributed) unattributed += value;
  if (unattributed > 0) {
    sentences.push_back(
        fmt::format("{} of the waiting ({}) could not be attributed: the rank that came late did nothing longer than "
                    "the one that waited.",
                    ShareOf(unattributed, waiting), FormatSeconds(unattributed)));
  }
  if (losses.wrong_order > 0) {
    sentences.push_back(
        fmt::format("{} of the waiting is for messages received in another order than they were sent in.",
                    ShareOf(losses.wrong_order, waiting)));
  }
  return sentences;
}

ReportData LossesOfPhase(const LossRecord& losses, const std::vector<LossGrowth>& growth, const std::string& heading,
                         const LossDetail& detail) {
  Data data = {{"run", fmt::format("{} cores", FormatCores(static_cast<double>(losses.cores)))},
               {"trace", losses.trace}};
  data["sentences"] = Data::array();
  for (const std::string& sentence : SummarizeLosses(losses)) data["sentences"].push_back(sentence);
  data["isFull"] = !detail.is_brief;
  const auto add = [&](const char* key, const char* has, Data rows) {
    data[has] = !rows.empty();
    data[key] = std::move(rows);
  };
  add("causes", "hasCauses", Causes(losses, detail.rows));
  data["moreCauses"] = MoreCauses(losses, detail.rows);
  data["hasMoreCauses"] = data["moreCauses"] != "";
  add("maps", "hasMaps", Maps(losses, detail.maps, heading));
  const std::size_t rows = detail.is_brief ? 0 : detail.rows;
  add("shapes", "hasShapes", detail.is_brief ? Data::array() : Shapes(losses, rows));
  add("kinds", "hasKinds", detail.is_brief ? Data::array() : Kinds(losses));
  add("waiters", "hasWaiters", Waiters(losses, rows));
  add("wrongOrder", "hasWrongOrder", OutOfOrder(losses, rows));
  add("critical", "hasCritical", Critical(losses, rows));
  add("byFactor", "hasByFactor", ByFactor(losses, rows));
  add("growth", "hasGrowth", detail.is_brief && growth.size() > 1 ? Growth({growth.front()}, 0) : Growth(growth, rows));
  return data;
}

}  // namespace farscale
