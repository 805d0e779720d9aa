#include "report/imbalance/losses.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/text.h"
#include "imbalance/causes/load_shape.h"
#include "imbalance/loss_remedy.h"
#include "plot/heat_map.h"
#include "results/cause_text.h"

namespace farscale {
namespace {

using Data = ReportData;

// Rows and columns of the table behind a heat map, at most.
constexpr std::size_t kTableRows = 8, kTableColumns = 6;

// The first thing of a part, of `count` things in `parts` parts, where thing i lies in part i · parts / count.
std::size_t FirstIn(std::size_t part, std::size_t parts, std::size_t count) {
  return (part * count + parts - 1) / parts;
}

// "8 – 15": which of `count` things lie in a block of rows or columns of a raster, by the name of each.
template <typename Name>
std::string BlockName(std::size_t block, std::size_t blocks, std::size_t cells, std::size_t count, Name name_of) {
  const std::size_t first = FirstIn(FirstIn(block, blocks, cells), cells, count);
  const std::size_t next = FirstIn(FirstIn(block + 1, blocks, cells), cells, count);
  return first + 1 == next ? name_of(first) : fmt::format("{} – {}", name_of(first), name_of(next - 1));
}

// Sums of blocks of the map, few enough to be read.
Data TableBehind(const LossRecord& losses, const LossRaster& raster, const std::string& title) {
  const LossRaster blocks = Joined(raster, kTableRows, kTableColumns), sums = Joined(blocks, blocks.rows, 1);
  const std::size_t columns = blocks.columns > 1 ? blocks.columns : 0;  // one is the same as all
  const auto name_of_iteration = [](std::size_t iteration) { return std::to_string(iteration + 1); };
  const auto name_of_rank = [&](std::size_t rank) { return LossRanks(losses).Number(rank); };
  std::vector<std::string> header;
  for (std::size_t column = 0; column < columns; ++column) {
    header.push_back(BlockName(column, columns, raster.columns, losses.iterations, name_of_iteration));
  }
  header.emplace_back("all");
  std::vector<std::vector<std::string>> rows;
  for (std::size_t row = 0; row < blocks.rows; ++row) {
    std::vector<std::string>& cells = rows.emplace_back();
    cells.push_back(BlockName(row, blocks.rows, raster.rows, losses.run_ranks, name_of_rank));
    for (std::size_t i = 0; i < columns; ++i) cells.push_back(TimeOrDash(blocks.cells[row * columns + i]));
    cells.push_back(TimeOrDash(sums.cells[row]));
  }
  Data table = TextTable("Ranks", header, rows);
  table["title"] = title;
  return table;
}

double Largest(const std::vector<double>& values) {
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

bool CanBeDrawn(const ProcessGrid& grid) { return !grid.extents.empty() && grid.extents.size() <= 3; }

std::size_t PlaneCount(const ProcessGrid& grid) { return grid.extents.size() > 2 ? grid.extents[0] : 1; }

std::map<std::string, std::string> MapTexts(const LossRecord& losses, const PathRecord& path, std::size_t number,
                                            const std::string& heading, const Partials& texts) {
  const LossRanks ranks(losses);
  const double largest = Largest(path.raster.cells);
  Data grid = false;
  if (losses.grid && CanBeDrawn(*losses.grid)) {
    std::vector<std::string> extents;
    for (const std::size_t extent : losses.grid->extents) extents.push_back(std::to_string(extent));
    const bool is_of_program = losses.grid->source == GridSource::kTopology;
    grid = {{"extents", Join(extents, " × ")},
            {"source", is_of_program ? "" : std::string(ToString(losses.grid->source))},
            {"isOfProgram", is_of_program},
            {"isInOrder", losses.grid->places.empty()},
            {"hasPlanes", PlaneCount(*losses.grid) > 1}};
  }
  const Data data = {{"one", ranks.one},
                     {"who", ranks.who},
                     {"areThreads", ranks.are_threads},
                     {"path", path.path},
                     {"region", path.innermost.empty() ? path.path : path.innermost},
                     {"number", std::to_string(number)},
                     {"heading", heading},
                     {"count", std::to_string(losses.run_ranks)},
                     {"iterations", losses.iterations > 1 ? std::to_string(losses.iterations) : ""},
                     {"strongest", FormatSeconds(largest)},
                     {"perRank", FormatSeconds(ranks.PerRank(largest))},
                     {"largest", LargestShare(path, ranks)},
                     {"isOne", losses.run_ranks == 1},
                     {"isJoined", path.raster.rows < losses.run_ranks || path.raster.columns < losses.iterations},
                     {"grid", std::move(grid)}};
  const LabelledTexts labelled = RenderLabelledTexts(texts, "loss_map.txt", data);
  return {labelled.begin(), labelled.end()};
}

Data LossMap(const LossRecord& losses, const PathRecord& path, std::size_t number, const std::string& heading,
             const Partials& templates) {
  const LossRanks ranks(losses);
  const auto strongest = [&](const std::vector<double>& costs) {
    return FormatSeconds(Largest(costs)) + ", " + ranks.summed;
  };
  const HeatLabels labels{ranks.Name(0), ranks.Number(losses.run_ranks - 1), "iteration 1",
                          std::to_string(losses.iterations), strongest(path.raster.cells)};
  std::map<std::string, std::string> texts = MapTexts(losses, path, number, heading, templates);
  Data map = {{"svg", RenderHeatMap(path.raster, labels, texts["figure"], texts["description"])},
              {"title", texts["title"]},
              {"number", std::to_string(number)},
              {"caption", texts["caption"]},
              {"table", TableBehind(losses, path.raster, texts["table"])},
              {"grid", false}};
  if (losses.grid && CanBeDrawn(*losses.grid)) {
    map["grid"] = {{"svg", RenderGridMap(OnGrid(*losses.grid, path.costs), PlaneCount(*losses.grid),
                                         strongest(path.costs), texts["grid figure"], texts["grid description"])},
                   {"caption", texts["grid caption"]}};
  }
  return map;
}

// The picture of a cause: by how much ranks exceed the usual, when. Nothing where there is none.
Data MapOfCause(const LossRecord& losses, const Cause& cause, std::size_t number, const std::string& heading,
                const Partials& texts) {
  if (cause.beyond.cells.empty() || losses.ranks.empty()) return false;
  const LossRanks ranks(losses);
  const bool are_iterations = losses.iterations > 1 && cause.columns == losses.iterations;
  const std::string strongest = FormatSeconds(Largest(cause.beyond.cells));
  const bool is_joined = cause.beyond.rows < losses.ranks.size() || cause.beyond.columns < cause.columns;
  const Data data = {{"one", ranks.one},
                     {"who", ranks.who},
                     {"areThreads", ranks.are_threads},
                     {"number", std::to_string(number)},
                     {"heading", heading},
                     {"count", std::to_string(losses.ranks.size())},
                     {"columns", std::to_string(cause.columns)},
                     {"strongest", strongest},
                     {"areIterations", are_iterations},
                     {"isJoined", is_joined},
                     {"hasColumns", cause.columns > 1}};
  const LabelledTexts labelled = RenderLabelledTexts(texts, "cause_map.txt", data);
  std::map<std::string, std::string> of_map(labelled.begin(), labelled.end());
  const HeatLabels labels{ranks.Name(losses.ranks.front()), ranks.Number(losses.ranks.back()),
                          are_iterations ? "iteration 1" : "first", std::to_string(cause.columns),
                          strongest + " of one " + ranks.one};
  return {{"svg", RenderHeatMap(cause.beyond, labels, of_map["figure"], of_map["description"])},
          {"caption", of_map["caption"]}};
}

// Ranks that are named, at most.
constexpr std::size_t kNamed = 4;

// "2 overloaded ranks (3, 17) with 1.8× the load of the others, the same ranks all the time":
// templates/loss_shape.txt.mustache.
std::string DescribeShape(const LoadShape& shape, const LossRanks& ranks, const Partials& texts) {
  const bool is_overloaded = shape.over_ranks == ShapeOverRanks::kOverloadedFew;
  const bool is_underloaded = shape.over_ranks == ShapeOverRanks::kUnderloadedFew;
  std::vector<std::string> numbers;  // none where they differ between iterations
  for (std::size_t i = 0; i < std::min(kNamed, shape.ranks.size()); ++i)
    numbers.push_back(ranks.Number(shape.ranks[i]));
  if (shape.ranks.size() > kNamed) numbers.emplace_back("…");
  const bool is_near = shape.level > 0.8 && shape.level < 1.25;  // the distance from 1 must be seen
  const std::string level = is_near ? fmt::format("{:.2f}×", shape.level) : FormatRatio(shape.level);
  Data data = {{"one", ranks.one},
               {"who", ranks.who},
               {"areThreads", ranks.are_threads},
               {"over", IdOf(shape.over_ranks)},
               {"time", IdOf(shape.over_time)},
               {"few", is_overloaded    ? "overloaded"
                       : is_underloaded ? "underloaded"
                                        : ""},
               {"count", std::to_string(shape.count)},
               {"ranks", ranks.List(numbers)},
               {"level", is_overloaded && shape.level <= 0 ? "" : level}};
  return Join(RenderSentences(texts, "loss_shape.txt", data), " ");
}

// "3 (71.0 %), 0 (12.0 %)": the two ranks with most, with what share of the whole they have.
std::string MostRanks(const std::vector<double>& by_rank, const LossRanks& ranks, double whole) {
  std::vector<std::size_t> order(by_rank.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return by_rank[a] > by_rank[b]; });
  std::vector<std::string> texts;
  for (const std::size_t i : order) {
    if (texts.size() == 2 || by_rank[i] <= kNoShare * whole) break;
    texts.push_back(fmt::format("{} ({})", ranks.Number(ranks.losses.ranks[i]), ShareOrDash(by_rank[i], whole)));
  }
  return texts.empty() ? "–" : ranks.List(texts);
}

Data Kinds(const LossRecord& losses) {
  Data rows = Data::array();
  for (const WaitKindName& kind : WaitKindNames()) {
    const auto k = static_cast<std::size_t>(kind.kind);
    if (losses.waiting[k] <= 0) continue;
    const bool is_end = kind.kind == WaitKind::kWaitAtEnd && losses.at_end > 0;
    rows.push_back({{"name", kind.name},
                    {"time", FormatSeconds(losses.waiting[k])},
                    {"share", ShareOrDash(losses.waiting[k], losses.allocation)},
                    {"shortTerm", is_end ? "not charged" : TimeOrDash(losses.short_term[k])},
                    {"longTerm", is_end ? "–" : TimeOrDash(losses.long_term[k])},
                    {"exitSkew", TimeOrDash(losses.exit_skew[k])},
                    {"unattributed", TimeOrDash(losses.unattributed[k] + losses.lost[k])}});
  }
  return rows;
}

// The largest ones, without those that are nearly nothing beside the first. What is left is `moreCauses`.
void AddCauses(const LossRecord& losses, std::size_t most, Data& section) {
  const LossRanks ranks(losses);
  std::vector<const PathRecord*> causes = LargestPaths(losses, most, CausedCosts);
  constexpr double kWorthARow = 0.005;  // share of the waiting; chosen: nobody acts on less
  while (causes.size() > 1 && CausedCosts(*causes.back()) < kWorthARow * losses.Waiting()) causes.pop_back();
  double rest = losses.Costs();
  Data rows = Data::array();
  for (const PathRecord* path : causes) {
    const double costs = CausedCosts(*path);
    rest -= costs;
    rows.push_back({{"number", std::to_string(rows.size() + 1)},
                    {"path", path->path},
                    {"costs", FormatSeconds(costs)},
                    {"perRank", FormatSeconds(ranks.PerRank(costs))},
                    {"share", ShareOrDash(costs, losses.Waiting())},
                    {"shortTerm", TimeOrDash(path->total.ShortTerm())},
                    {"longTerm", TimeOrDash(path->total.LongTerm())},
                    {"exitSkew", TimeOrDash(path->total.ExitSkew())},
                    {"most", MostRanks(path->costs, ranks, costs)}});
  }
  section["causes"] = std::move(rows);
  section["moreCauses"] = rest > kNoShare * losses.Waiting() ? ShareOrDash(rest, losses.Waiting()) : "";
}

// A cause that gains more once all others are gone hides behind one of them.
Data Fixes(const LossRecord& losses, std::size_t most, std::size_t maps, const std::string& heading,
           const Partials& texts) {
  constexpr double kHidden = 1.2;  // chosen
  Data rows = Data::array();
  for (const Cause& cause : losses.causes) {
    if (rows.size() == most) break;
    const bool is_hidden = cause.together.empty() && cause.gain_last > kHidden * cause.gain;
    const std::size_t number = rows.size() + 1;
    rows.push_back({{"place", Capital(DescribePlace(cause, losses))},
                    {"reasons", DescribeReasons(cause)},
                    {"gain", DescribeGainOf(cause, losses)},
                    {"last", is_hidden ? DescribeGain(cause.gain_last, losses) : ""},
                    {"next", DescribeNext(cause, losses)},
                    {"remedy", RemedyOf(cause, losses)},
                    {"worst", Capital(DescribeWorst(cause, losses))},
                    {"map", number <= maps ? MapOfCause(losses, cause, number, heading, texts) : Data(false)}});
  }
  return rows;
}

Data Waiters(const LossRecord& losses, std::size_t most) {
  const auto waiting = [](const PathRecord& path) { return path.total.Waiting(); };
  Data rows = Data::array();
  for (const PathRecord* path : LargestPaths(losses, most, waiting)) {
    const double all = waiting(*path);
    rows.push_back({{"path", path->path},
                    {"waiting", FormatSeconds(all)},
                    {"share", ShareOrDash(all, losses.allocation)},
                    {"indirect", ShareOrDash(path->total.indirect, all)},
                    {"propagating", ShareOrDash(path->total.propagating, all)},
                    {"most", MostRanks(path->waiting, LossRanks(losses), all)}});
  }
  return rows;
}

Data OutOfOrder(const LossRecord& losses, std::size_t most) {
  Data rows = Data::array();
  for (const PathRecord* path : LargestPaths(losses, most, [](const auto& one) { return one.total.wrong_order; })) {
    const double time = path->total.wrong_order;
    rows.push_back({{"path", path->path},
                    {"time", FormatSeconds(time)},
                    {"share", ShareOrDash(time, losses.Waiting())},
                    {"sameSource", ShareOrDash(path->total.wrong_order_same, time)}});
  }
  return rows;
}

Data Critical(const LossRecord& losses, std::size_t most) {
  const double of_all = losses.window * static_cast<double>(losses.ranks.size());
  Data rows = Data::array();
  for (const PathRecord* path : LargestPaths(losses, most, [](const auto& one) { return one.total.critical; })) {
    rows.push_back({{"path", path->path},
                    {"time", FormatSeconds(path->total.critical)},
                    {"share", ShareOrDash(path->total.critical, losses.window)},
                    {"imbalance", TimeOrDash(path->imbalance)},
                    {"nearly", ShareOrDash(path->total.nearly_critical, of_all)},
                    {"within", TimeOrDash(path->total.intra)},
                    {"between", TimeOrDash(path->total.inter)}});
  }
  return rows;
}

Data ByFactor(const LossRecord& losses, std::size_t most) {
  Data rows = Data::array();
  if (!losses.by_factor) return rows;
  const auto size = [](const PathFactorLoss& path) {
    return std::max(std::abs(path.load_balance), std::abs(path.serialization));
  };
  FactorLosses paths = *losses.by_factor;
  std::erase_if(paths, [&](const PathFactorLoss& path) { return size(path) < kNoShare * losses.length; });
  std::ranges::stable_sort(paths, std::greater(), size);
  if (paths.size() > most) paths.resize(most);
  for (const PathFactorLoss& path : paths) {
    rows.push_back({{"path", path.path},
                    {"loadBalance", ShareOrDash(path.load_balance, losses.length)},
                    {"serialization", ShareOrDash(path.serialization, losses.length)}});
  }
  return rows;
}

// The spread of computation, all of it and that of the first causes, and what helps.
Data Shapes(const LossRecord& losses, std::size_t most, const Partials& texts) {
  constexpr double kWorthShape = 0.05;  // share of the waiting
  Data rows = Data::array();
  const auto add = [&](const std::string& name, const std::optional<LoadShape>& shape, const Remedy& remedy) {
    // Few ranks are enough where their loads move.
    const bool is_known =
        shape && (shape->over_ranks != ShapeOverRanks::kUnknown || shape->over_time == ShapeOverTime::kDrifting ||
                  shape->over_time == ShapeOverTime::kAlternating);
    if (!is_known) return;
    rows.push_back({{"name", name},
                    {"imbalance", FormatPercent(shape->imbalance)},
                    {"inIteration", FormatPercent(shape->imbalance_in_iteration)},
                    {"shape", DescribeShape(*shape, LossRanks(losses), texts)},
                    {"remedy", remedy.kind == Remedy::Kind::kNone ? "–" : TextOf(remedy)}});
  };
  add("All computation", losses.shape, RemedyForAll(losses));
  for (const PathRecord* path : LargestPaths(losses, most, CausedCosts)) {
    if (path->is_mpi || CausedCosts(*path) < kWorthShape * losses.Waiting()) continue;
    add(path->path, path->shape, RemedyForPath(losses, *path));
  }
  return rows;
}

// Names in parentheses, of those that occur: templates/loss_parentheses.txt.mustache.
std::string ExplainParentheses(const LossRecord& losses, const Partials& texts) {
  std::vector<std::string> sentences;
  for (const auto& [name, meaning] : RenderLabelledTexts(texts, "loss_parentheses.txt", Data::object())) {
    const bool occurs = name == kUnequalOccurrences
                            ? losses.by_factor && FindLoss(*losses.by_factor, kUnequalOccurrences) != nullptr
                            : std::ranges::any_of(losses.paths, [&start = name](const auto& path) {
                                return path.path.starts_with(start);
                              });
    if (name == "any" || occurs) sentences.push_back(name == "any" ? meaning : name + ": " + meaning);
  }
  return sentences.size() > 1 ? Join(sentences, " ") : "";
}

// Pages open with three sentences: the first and the first of the fixes, with what then is the next bottleneck. The
// other sentences follow the fixes. A single fix, right below the sentences, is not said twice, and leaves them
// together.
void Open(const std::vector<std::string>& sentences, Data& section) {
  std::size_t left = sentences.size();
  section["leading"] = false;
  if (const Data& fixes = section["fixes"]; fixes.size() > 1) {
    left = fixes[0]["next"] == "" ? 2 : 1;
    section["leading"] = {{"place", fixes[0]["place"]}, {"gain", fixes[0]["gain"]}, {"next", fixes[0]["next"]}};
  }
  left = std::min(left, sentences.size());
  const auto middle = sentences.begin() + static_cast<std::ptrdiff_t>(left);
  section["opening"] = std::vector(sentences.begin(), middle);
  section["others"] = std::vector(middle, sentences.end());
}

}  // namespace

ReportData DescribePhaseLosses(const LossRecord& losses, Data growth, const std::string& heading, const Partials& texts,
                               const LossDetail& detail, const LossRecord* grown) {
  const LossRanks ranks(losses);
  const std::size_t rows = detail.is_brief ? 0 : detail.rows;
  Data maps = Data::array();
  std::size_t number = 0;
  for (const PathRecord* path : LargestPaths(losses, detail.maps, CausedCosts)) {
    ++number;
    if (!path->raster.cells.empty()) maps.push_back(LossMap(losses, *path, number, heading, texts));
  }
  Data section = {{"one", ranks.one},
                  {"who", ranks.who},
                  {"areThreads", ranks.are_threads},
                  {"summed", ranks.summed},
                  {"run", RunCores(losses)},
                  {"trace", losses.trace},
                  {"length", FormatSeconds(losses.length)},
                  {"count", ranks.Count()},
                  {"isOneOfMany", !growth.empty()},
                  {"isFull", !detail.is_brief},
                  {"groups", Join(losses.GroupNames(), ", ")},
                  {"parentheses", ExplainParentheses(losses, texts)},
                  {"maps", std::move(maps)}};
  AddCauses(losses, detail.rows, section);
  section["fixes"] =
      Fixes(losses, detail.is_brief ? 1 : std::min<std::size_t>(detail.rows, 5), detail.maps, heading, texts);
  Open(SummarizeLosses(losses, texts), section);
  section["grown"] = false;
  if (grown != nullptr) section["grown"] = {{"title", RunCores(*grown)}, {"sentences", SummarizeLosses(*grown, texts)}};
  section["shapes"] = rows > 0 ? Shapes(losses, rows, texts) : Data::array();
  section["kinds"] = rows > 0 ? Kinds(losses) : Data::array();
  section["waiters"] = Waiters(losses, rows);
  section["wrongOrder"] = OutOfOrder(losses, rows);
  section["critical"] = Critical(losses, rows);
  section["byFactor"] = ByFactor(losses, rows);
  while (detail.is_brief && growth.size() > 1) growth.erase(growth.size() - 1);
  for (Data& one : growth) {
    while (one["rows"].size() > rows) one["rows"].erase(one["rows"].size() - 1);
  }
  section["growth"] = std::move(growth);
  AddWhetherFilled(section, {"fixes", "maps"});
  return section;
}

std::string FormatLosses(const LossRecord& losses, std::size_t top, const Partials& texts, std::size_t width) {
  Data section = DescribePhaseLosses(losses, Data::array(), "", texts, {.rows = top, .maps = 0});
  for (const char* page_only : {"wrongOrder", "byFactor"}) section[page_only] = Data::array();
  return RenderText(texts, "imbalance.txt", {{"phase", losses.phase}, {"losses", section}}, width);
}

ReportData LossesInReport(const Results& results, const std::string& series, const PhaseId& phase,
                          const std::string& heading, const Partials& texts) {
  const auto found =
      std::ranges::find_if(results.losses, [&](const LossRecord& losses) { return losses.phase == phase; });
  if (found == results.losses.end()) return false;
  std::vector<LossProjection> projections;
  for (const LossProjection& projection : results.loss_projections) {
    if (projection.phase == phase) projections.push_back(projection);
  }
  std::vector<PhaseProjection> factors;
  for (const PhaseProjection& projection : results.projections) {
    if (projection.phase == phase && projection.series == series) factors.push_back(projection);
  }
  const auto grown =
      std::ranges::find_if(results.grown_losses, [&](const LossRecord& losses) { return losses.phase == phase; });
  return DescribePhaseLosses(*found, DescribeGrowth(projections, factors, texts, 2), heading, texts,
                             DetailFor(results.losses.size()), grown == results.grown_losses.end() ? nullptr : &*grown);
}

}  // namespace farscale
