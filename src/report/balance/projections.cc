#include "report/balance/projections.h"

#include <fmt/format.h>

#include "base/format.h"
#include "pages/text_table.h"
#include "report/reliability.h"
#include "report/figures.h"
#include "report/cells.h"

namespace farscale {
namespace {

using Data = ReportData;
using List = std::vector<BalancedProjection>;

std::string Bounds(Factor factor, const std::optional<IntervalBounds>& interval) {
  if (!interval) return "unknown";
  return FormatValue(factor, interval->low) + " to " + FormatValue(factor, interval->high);
}

Data CellOf(Factor factor, const std::optional<BalancedValue>& value) {
  if (!value) return {{"text", "–"}, {"interval", ""}, {"hasInterval", false}, {"color", kNoColor}, {"tone", kNoTone}};
  const std::string number = FormatValue(factor, value->value), bounds = Bounds(factor, value->interval80);
  const bool has_interval = value->is_reliable && !value->is_replayed;
  return {{"text", value->is_reliable ? number : fmt::format("{} ({})", kTooUncertain, bounds)},
          {"interval", has_interval ? bounds : ""},
          {"hasInterval", has_interval},
          {"color", value->is_reliable ? PopColor(value->value) : kUncertainColor},
          {"tone", value->is_reliable ? PopTone(value->value) : kUncertainTone}};
}

// Ways need not be replayed on as many processors: one can be projected where another was replayed.
const char* KindOf(bool has_replayed, bool has_projected) {
  if (!has_replayed) return "projected";
  return has_projected ? "replayed, or projected with an interval" : "replayed";
}

Data RowOf(Factor factor, const BalancedFactor::Row& row) {
  Data cells = Data::array();
  bool has_replayed = false, has_projected = false;
  for (const std::optional<BalancedValue>& value : row.ways) {
    has_replayed = has_replayed || (value && value->is_replayed);
    has_projected = has_projected || (value && !value->is_replayed);
    cells.push_back(CellOf(factor, value));
  }
  return {{"cores", FormatCores(row.cores)},
          {"isProjected", !has_replayed},
          {"kind", KindOf(has_replayed, has_projected)},
          {"cells", std::move(cells)}};
}

bool AreApart(const BalancedValue& a, const BalancedValue& b) {
  const auto bounds = [](const BalancedValue& value) {
    return value.is_replayed ? IntervalBounds{value.value, value.value}
                             : value.interval80.value_or(IntervalBounds{-1e300, 1e300});
  };
  return bounds(a).high < bounds(b).low || bounds(b).high < bounds(a).low;
}

std::string InWords(const BalancedValue& value) {
  constexpr Factor kFactor = Factor::kParallelEfficiency;
  return fmt::format("{} ({})", FormatValue(kFactor, value.value),
                     value.is_replayed ? "replayed" : Bounds(kFactor, value.interval80));
}

// Labels are no part of a sentence: what they are called is not decided here.
std::string Say(const List& list, const BalancedFactor& table, std::size_t way) {
  const BalancedFactor::Row* last = nullptr;
  for (const BalancedFactor::Row& row : table.rows) {
    const std::optional<BalancedValue>&with = row.ways[way], &without = row.ways.front();
    if (with && without && with->is_reliable && without->is_reliable) last = &row;
  }
  const std::string &label = list[way].label, &first = list.front().label;
  if (last == nullptr) {
    return fmt::format(
        "{}: there is no number of processors for which parallel efficiency is evidence both so and {}. Runs at more "
        "counts would narrow it.",
        label, first);
  }
  const BalancedValue &with = *last->ways[way], &without = *last->ways.front();
  return fmt::format("{}: parallel efficiency {} on {} processors; {}: {}{}.", label, InWords(with),
                     FormatCores(last->cores), first, InWords(without),
                     AreApart(with, without) ? "" : ". The 80 % intervals overlap");
}

}  // namespace

ReportData TablesOfProjections(const List& list) {
  Data tables = Data::array();
  const std::vector<BalancedFactor> all = TabulateBalanced(list);
  for (const BalancedFactor& one : all) {
    if (one.rows.empty()) continue;
    std::string caption = Name(one.factor);
    if (all.size() > 2) caption += fmt::format(" of {}{}{}", one.series, one.series.empty() ? "" : ", ", one.phase.Text());
    Data columns = Data::array(), rows = Data::array();
    for (const BalancedProjection& way : list) columns.push_back({{"name", way.label}});
    for (const BalancedFactor::Row& row : one.rows) rows.push_back(RowOf(one.factor, row));
    tables.push_back({{"caption", caption}, {"columns", std::move(columns)}, {"rows", std::move(rows)}});
  }
  return tables;
}

std::vector<std::string> SayProjections(const List& list) {
  std::vector<std::string> sentences;
  for (const BalancedFactor& table : TabulateBalanced(list)) {
    if (table.factor != Factor::kParallelEfficiency || !table.has_targets) continue;
    for (std::size_t way = 1; way < list.size(); ++way) sentences.push_back(Say(list, table, way));
  }
  return sentences;
}

std::string FormatBalancedProjections(const List& list) {
  std::string text;
  for (const std::string& sentence : SayProjections(list)) text += sentence + "\n";
  for (const Data& table : TablesOfProjections(list)) {
    std::vector<std::vector<std::string>> rows = {{table["caption"].get<std::string>()}};
    for (const Data& column : table["columns"]) rows[0].push_back(column["name"].get<std::string>());
    for (const Data& row : table["rows"]) {
      rows.push_back(
          {fmt::format("{} processors, {}", row["cores"].get<std::string>(), row["kind"].get<std::string>())});
      for (const Data& cell : row["cells"]) {
        std::string value = cell["text"].get<std::string>();
        if (cell["hasInterval"].get<bool>()) value += fmt::format(" ({})", cell["interval"].get<std::string>());
        rows.back().push_back(value == "–" ? "-" : value);
      }
    }
    text += (text.empty() ? "" : "\n") + FormatTable(rows);
  }
  return text;
}

}  // namespace farscale
