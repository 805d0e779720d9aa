#include "report/balance_projections.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/format.h"
#include "report/evidence.h"
#include "report/figures.h"
#include "report/pop_colors.h"
#include "report/text_table.h"

namespace farscale {
namespace {

using Data = ReportData;
using List = std::vector<BalancedProjection>;

constexpr Factor kTold[] = {Factor::kParallelEfficiency, Factor::kLoadBalance};

struct PhaseName {
  std::string series, phase;
};

std::vector<PhaseName> PhasesOf(const List& list) {
  std::vector<PhaseName> phases;
  if (list.size() < 2) return phases;
  for (const std::string& series : list.front().table.Series()) {
    for (const std::string& phase : list.front().table.Phases(series)) phases.push_back({series, phase});
  }
  return phases;
}

const PhaseProjection* Find(const BalancedProjection& side, const PhaseName& name) {
  for (const PhaseProjection& projection : side.projected) {
    if (projection.series == name.series && projection.phase == name.phase) return &projection;
  }
  return nullptr;
}

const ProjectedValue* TargetOf(const BalancedProjection& side, const PhaseName& name, Factor factor, double cores) {
  const PhaseProjection* projection = Find(side, name);
  const FactorProjection* found = projection != nullptr ? projection->Find(factor) : nullptr;
  if (found == nullptr) return nullptr;
  for (const ProjectedValue& value : found->targets) {
    if (value.cores == cores) return &value;
  }
  return nullptr;
}

std::set<double> TargetsOf(const List& list, const PhaseName& name, Factor factor) {
  std::set<double> cores;
  for (const BalancedProjection& side : list) {
    const PhaseProjection* projection = Find(side, name);
    const FactorProjection* found = projection != nullptr ? projection->Find(factor) : nullptr;
    if (found == nullptr) continue;
    for (const ProjectedValue& value : found->targets) cores.insert(value.cores);
  }
  return cores;
}

std::string Bounds(Factor factor, const ProjectedValue& value) {
  if (!value.interval80) return "unknown";
  return FormatValue(factor, value.interval80->low) + " to " + FormatValue(factor, value.interval80->high);
}

Data EmptyCell() {
  return {{"text", "–"}, {"interval", ""}, {"hasInterval", false}, {"color", kNoColor}, {"tone", kNoTone}};
}

Data CellOf(const BalancedProjection& side, const PhaseName& name, Factor factor, double cores) {
  const ProjectedValue* value = TargetOf(side, name, factor, cores);
  if (value == nullptr) return EmptyCell();
  Data cell = ProjectedCell(*Find(side, name), factor, *value, true);
  if (cell["hasInterval"].get<bool>()) {
    cell["interval"] = Bounds(factor, *value);
  } else {
    cell["text"] = fmt::format("{} ({})", kNotEvidence, Bounds(factor, *value));
  }
  return cell;
}

// Of the first run on so many processors.
Data MeasuredCell(const BalancedProjection& side, const PhaseName& name, Factor factor, std::int64_t cores) {
  for (const FactorRow& row : side.table.Rows(name.series, name.phase)) {
    const std::optional<double>& value = row.values[factor];
    if (row.cores != cores || !value) continue;
    return {{"text", FormatValue(factor, *value)},
            {"interval", ""},
            {"hasInterval", false},
            {"color", PopColor(*value)},
            {"tone", PopTone(*value)}};
  }
  return EmptyCell();
}

Data RowOf(double cores, bool is_projected, Data cells) {
  return {{"cores", FormatCores(cores)},
          {"isProjected", is_projected},
          {"kind", is_projected ? "projected" : "replayed"},
          {"cells", std::move(cells)}};
}

Data TableOf(const List& list, const PhaseName& name, Factor factor, const std::string& caption) {
  Data columns = Data::array(), rows = Data::array();
  std::set<std::int64_t> measured;
  for (const BalancedProjection& side : list) {
    columns.push_back({{"name", side.label}});
    for (const FactorRow& row : side.table.Rows(name.series, name.phase)) {
      if (row.values[factor]) measured.insert(row.cores);
    }
  }
  for (const std::int64_t cores : measured) {
    Data cells = Data::array();
    for (const BalancedProjection& side : list) cells.push_back(MeasuredCell(side, name, factor, cores));
    rows.push_back(RowOf(static_cast<double>(cores), false, std::move(cells)));
  }
  for (const double cores : TargetsOf(list, name, factor)) {
    if (measured.count(static_cast<std::int64_t>(cores)) > 0) continue;
    Data cells = Data::array();
    for (const BalancedProjection& side : list) cells.push_back(CellOf(side, name, factor, cores));
    rows.push_back(RowOf(cores, true, std::move(cells)));
  }
  return {{"caption", caption}, {"columns", std::move(columns)}, {"rows", std::move(rows)}};
}

bool IsEvidenceAt(const BalancedProjection& side, const PhaseName& name, double cores) {
  const PhaseProjection* projection = Find(side, name);
  return projection != nullptr && TargetOf(side, name, Factor::kParallelEfficiency, cores) != nullptr &&
         IsEvidence(*projection, Factor::kParallelEfficiency, cores);
}

bool AreApart(const ProjectedValue& a, const ProjectedValue& b) {
  return a.interval80 && b.interval80 &&
         (a.interval80->high < b.interval80->low || b.interval80->high < a.interval80->low);
}

std::string Say(const BalancedProjection& side, const BalancedProjection& first, const PhaseName& name,
                const std::set<double>& targets) {
  constexpr Factor kFactor = Factor::kParallelEfficiency;
  std::optional<double> cores;
  for (const double target : targets) {
    if (IsEvidenceAt(side, name, target) && IsEvidenceAt(first, name, target)) cores = target;
  }
  if (!cores) {
    return fmt::format("With {}, parallel efficiency is at no target evidence both with balancing and {}.", side.label,
                       first.label);
  }
  const ProjectedValue &with = *TargetOf(side, name, kFactor, *cores),
                       &without = *TargetOf(first, name, kFactor, *cores);
  return fmt::format("With {}, parallel efficiency on {} processors is {} ({}); {} it is {} ({}){}.", side.label,
                     FormatCores(*cores), FormatFactor(with.value), Bounds(kFactor, with), first.label,
                     FormatFactor(without.value), Bounds(kFactor, without),
                     AreApart(with, without) ? "" : ": the 80 % intervals overlap");
}

}  // namespace

ReportData TablesOfProjections(const List& list) {
  Data tables = Data::array();
  const std::vector<PhaseName> phases = PhasesOf(list);
  for (const PhaseName& name : phases) {
    for (const Factor factor : kTold) {
      std::string caption = Name(factor);
      if (phases.size() > 1)
        caption += fmt::format(" of {}{}{}", name.series, name.series.empty() ? "" : ", ", name.phase);
      Data table = TableOf(list, name, factor, caption);
      if (!table["rows"].empty()) tables.push_back(std::move(table));
    }
  }
  return tables;
}

std::vector<std::string> SayProjections(const List& list) {
  std::vector<std::string> sentences;
  for (const PhaseName& name : PhasesOf(list)) {
    const std::set<double> targets = TargetsOf(list, name, Factor::kParallelEfficiency);
    if (targets.empty()) continue;
    for (std::size_t i = 1; i < list.size(); ++i) sentences.push_back(Say(list[i], list.front(), name, targets));
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
