#include "report/balance_projections.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/format.h"
#include "report/evidence.h"
#include "report/figures.h"
#include "report/pop_colors.h"
#include "pages/text_table.h"

namespace farscale {
namespace {

using Data = ReportData;
using List = std::vector<BalancedProjection>;

constexpr Factor kTold[] = {Factor::kParallelEfficiency, Factor::kLoadBalance};

struct PhaseOfSeries {
  std::string series;
  PhaseId phase;
};

std::vector<PhaseOfSeries> PhasesOf(const List& list) {
  std::vector<PhaseOfSeries> phases;
  if (list.size() < 2) return phases;
  for (const std::string& series : list.front().table.Series()) {
    for (const PhaseId& phase : list.front().table.Phases(series)) phases.push_back({series, phase});
  }
  return phases;
}

const PhaseProjection* Find(const BalancedProjection& side, const PhaseOfSeries& name) {
  for (const PhaseProjection& projection : side.projected) {
    if (projection.series == name.series && projection.phase == name.phase) return &projection;
  }
  return nullptr;
}

const ProjectedValue* TargetOf(const BalancedProjection& side, const PhaseOfSeries& name, Factor factor, double cores) {
  const PhaseProjection* projection = Find(side, name);
  const FactorProjection* found = projection != nullptr ? projection->Find(factor) : nullptr;
  if (found == nullptr) return nullptr;
  for (const ProjectedValue& value : found->targets) {
    if (value.cores == cores) return &value;
  }
  return nullptr;
}

std::set<double> TargetsOf(const List& list, const PhaseOfSeries& name, Factor factor) {
  std::set<double> cores;
  for (const BalancedProjection& side : list) {
    const PhaseProjection* projection = Find(side, name);
    const FactorProjection* found = projection != nullptr ? projection->Find(factor) : nullptr;
    if (found == nullptr) continue;
    for (const ProjectedValue& value : found->targets) cores.insert(value.cores);
  }
  return cores;
}

std::string Bounds(Factor factor, const std::optional<IntervalBounds>& interval) {
  if (!interval) return "unknown";
  return FormatValue(factor, interval->low) + " to " + FormatValue(factor, interval->high);
}

// Of the first run on so many processors, else projected.
std::optional<BalancedValue> ValueAt(const BalancedProjection& side, const PhaseOfSeries& name, Factor factor,
                                     double cores) {
  for (const FactorRow& row : side.table.Rows(name.series, name.phase)) {
    const std::optional<double>& value = row.values[factor];
    if (static_cast<double>(row.cores) == cores && value) return BalancedValue{*value, std::nullopt, true, true};
  }
  const ProjectedValue* value = TargetOf(side, name, factor, cores);
  if (value == nullptr) return std::nullopt;
  return BalancedValue{value->value, value->interval80, false, IsEvidence(*Find(side, name), factor, cores)};
}

Data CellOf(const BalancedProjection& side, const PhaseOfSeries& name, Factor factor, double cores) {
  const std::optional<BalancedValue> value = ValueAt(side, name, factor, cores);
  if (!value) return {{"text", "–"}, {"interval", ""}, {"hasInterval", false}, {"color", kNoColor}, {"tone", kNoTone}};
  if (value->is_replayed) {
    return {{"text", FormatValue(factor, value->value)},
            {"interval", ""},
            {"hasInterval", false},
            {"color", PopColor(value->value)},
            {"tone", PopTone(value->value)}};
  }
  const ProjectedValue& projected = *TargetOf(side, name, factor, cores);
  Data cell = ProjectedCell(*Find(side, name), factor, projected, true);
  if (cell["hasInterval"].get<bool>()) {
    cell["interval"] = Bounds(factor, projected.interval80);
  } else {
    cell["text"] = fmt::format("{} ({})", kNotEvidence, Bounds(factor, projected.interval80));
  }
  return cell;
}

// Processors that were replayed, and those of projections.
std::set<double> RowsOf(const List& list, const PhaseOfSeries& name, Factor factor) {
  std::set<double> cores = TargetsOf(list, name, factor);
  for (const BalancedProjection& side : list) {
    for (const FactorRow& row : side.table.Rows(name.series, name.phase)) {
      if (row.values[factor]) cores.insert(static_cast<double>(row.cores));
    }
  }
  return cores;
}

// Sides need not be replayed on as many processors: one can be projected where another was replayed.
const char* KindOf(bool has_replayed, bool has_projected) {
  if (!has_replayed) return "projected";
  return has_projected ? "replayed, or projected with an interval" : "replayed";
}

Data RowAt(const List& list, const PhaseOfSeries& name, Factor factor, double cores) {
  Data cells = Data::array();
  bool has_replayed = false, has_projected = false;
  for (const BalancedProjection& side : list) {
    const std::optional<BalancedValue> value = ValueAt(side, name, factor, cores);
    has_replayed = has_replayed || (value && value->is_replayed);
    has_projected = has_projected || (value && !value->is_replayed);
    cells.push_back(CellOf(side, name, factor, cores));
  }
  return {{"cores", FormatCores(cores)},
          {"isProjected", !has_replayed},
          {"kind", KindOf(has_replayed, has_projected)},
          {"cells", std::move(cells)}};
}

Data TableOf(const List& list, const PhaseOfSeries& name, Factor factor, const std::string& caption) {
  Data columns = Data::array(), rows = Data::array();
  for (const BalancedProjection& side : list) columns.push_back({{"name", side.label}});
  for (const double cores : RowsOf(list, name, factor)) rows.push_back(RowAt(list, name, factor, cores));
  return {{"caption", caption}, {"columns", std::move(columns)}, {"rows", std::move(rows)}};
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
std::string Say(const BalancedProjection& side, const BalancedProjection& first, const PhaseOfSeries& name,
                const std::set<double>& rows) {
  std::optional<double> cores;
  const auto value_at = [&](const BalancedProjection& of, double at) {
    return ValueAt(of, name, Factor::kParallelEfficiency, at);
  };
  for (const double row : rows) {
    const auto with = value_at(side, row), without = value_at(first, row);
    if (with && without && with->is_evidence && without->is_evidence) cores = row;
  }
  if (!cores) {
    return fmt::format(
        "{}: there is no number of processors for which parallel efficiency is evidence both so and {}. Runs at more "
        "counts would narrow it.",
        side.label, first.label);
  }
  const BalancedValue with = *value_at(side, *cores), without = *value_at(first, *cores);
  return fmt::format("{}: parallel efficiency {} on {} processors; {}: {}{}.", side.label, InWords(with),
                     FormatCores(*cores), first.label, InWords(without),
                     AreApart(with, without) ? "" : ". The 80 % intervals overlap");
}

}  // namespace

ReportData TablesOfProjections(const List& list) {
  Data tables = Data::array();
  const std::vector<PhaseOfSeries> phases = PhasesOf(list);
  for (const PhaseOfSeries& name : phases) {
    for (const Factor factor : kTold) {
      std::string caption = Name(factor);
      if (phases.size() > 1)
        caption += fmt::format(" of {}{}{}", name.series, name.series.empty() ? "" : ", ", name.phase.Text());
      Data table = TableOf(list, name, factor, caption);
      if (!table["rows"].empty()) tables.push_back(std::move(table));
    }
  }
  return tables;
}

std::vector<BalancedTarget> ValuesOf(const List& list, const BalancedProjection& side) {
  std::vector<BalancedTarget> values;
  for (const PhaseOfSeries& name : PhasesOf(list)) {
    std::set<double> rows = RowsOf(list, name, Factor::kParallelEfficiency);
    rows.merge(RowsOf(list, name, Factor::kLoadBalance));
    for (const double cores : rows) {
      values.push_back({name.series, name.phase.Text(), cores, ValueAt(side, name, Factor::kParallelEfficiency, cores),
                        ValueAt(side, name, Factor::kLoadBalance, cores)});
    }
  }
  return values;
}

std::vector<std::string> SayProjections(const List& list) {
  std::vector<std::string> sentences;
  for (const PhaseOfSeries& name : PhasesOf(list)) {
    if (TargetsOf(list, name, Factor::kParallelEfficiency).empty()) continue;
    const std::set<double> rows = RowsOf(list, name, Factor::kParallelEfficiency);
    for (std::size_t i = 1; i < list.size(); ++i) sentences.push_back(Say(list[i], list.front(), name, rows));
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
