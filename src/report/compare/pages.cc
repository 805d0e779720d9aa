#include "report/compare/pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/files.h"
#include "base/text.h"
#include "base/version.h"
#include "pages/render.h"
#include "report/compare/json.h"
#include "report/compare/text.h"
#include "report/reliability.h"
#include "report/figures.h"

namespace farscale {
namespace {

using Data = ReportData;

std::string HundredTimes(double logarithm) {
  return std::fabs(logarithm) < 0.00005 ? "0.00" : fmt::format("{:+.2f}", 100 * logarithm);
}

// "0.787 → 0.700", with what that is below. Times are better where they fall.
template <typename Format>
Data ChangeCell(const ComparedNumber& number, bool rises_for_better, Format format) {
  const std::string before = number.before ? format(*number.before) : "–",
                    after = number.after ? format(*number.after) : "–";
  const bool is_change = number.change.has_value();
  const bool beyond = number.is_beyond_noise;
  const bool is_better = is_change && (number.change->ratio > 1) == rises_for_better;
  return {{"text", before + " → " + after},
          {"change", is_change ? FormatRise(number.change->ratio) : ""},
          {"interval", is_change ? FormatRiseInterval(*number.change) : ""},
          {"hasChange", is_change},
          {"isBeyondNoise", beyond},
          {"class", !is_change  ? ""
                    : !beyond   ? "noise"
                    : is_better ? "gain"
                                : "loss"}};
}

std::vector<Factor> KnownFactors(const ComparedCount& count) {
  std::vector<Factor> known;
  for (const ComparedFactor& one : count.factors) known.push_back(one.factor);
  return known;
}

// Whether the row has more than device offload of runs without devices.
bool HasShownValue(Factor factor, const ComparedNumber& number) {
  const auto is_shown = [&](const std::optional<double>& value) { return value && !IsWithoutDevices(factor, *value); };
  return is_shown(number.before) || is_shown(number.after);
}

std::string Indent(int depth) {
  std::string indent;
  for (int i = 0; i < depth; ++i) indent += "\u00a0\u00a0";
  return indent;
}

constexpr const char* kNoValue = "–";

// A core count in the table of the terminal.
struct CountRow {
  std::string cores, from = kNoValue, to = kNoValue, change = kNoValue, beyond_noise = kNoValue, most;
  std::string time_from, time_to, time_change;
  FARSCALE_TAGS(cores, from, to, change, beyond_noise, most, time_from, time_to, time_change)
};

struct FactorOfCount {
  std::string name, indent, from = kNoValue, to = kNoValue, change = kNoValue, interval = kNoValue;
  std::string beyond_noise = kNoValue, part;
  FARSCALE_TAGS(name, indent, from, to, change, interval, beyond_noise, part)
};

struct FactorTableOfCount {
  std::string cores, whole;
  std::vector<FactorOfCount> rows;
  FARSCALE_TAGS(cores, whole, rows)
};

class ComparedPhaseSection {
 public:
  ComparedPhaseSection(const ComparedResults& compared, const ComparedPhase& phase, const std::string& slug,
                       const Partials& templates, ReportModel& model)
      : compared_(compared), phase_(phase), slug_(slug), templates_(templates), model_(model) {}

  Data Build() {
    Data section = {{"heading", phase_.name.empty() ? "All runs" : phase_.name},
                    {"isNamed", !phase_.name.empty()},
                    {"anchor", slug_},
                    {"findings", SummarizeComparedPhase(compared_, phase_, templates_)}};
    AddTables(section);
    section["columns"] = Data::array();
    for (const ComparedCount& count : phase_.counts)
      section["columns"].push_back({{"cores", FormatCores(count.cores)}});
    section["rows"] = FactorRows();
    AddParts(section, "efficiencyParts", false);
    AddParts(section, "timeParts", true);
    section["targets"] = Targets();
    section["hasTargets"] = !phase_.targets.empty();
    section["projectedName"] = phase_.targets.empty() ? "" : Name(phase_.targets.front().whole);
    section["targetName"] = phase_.targets.empty() ? "" : NameInSentence(phase_.targets.front().whole);
    const bool is_drawn = HeadlineOfBoth().has_value();
    section["isDrawn"] = is_drawn;
    section["figure"] = is_drawn ? Figure() : Data{{"svg", ""}, {"file", ""}, {"alt", ""}};
    return section;
  }

 private:
  // For the terminal: factors on the largest common count, and the widest efficiency on every count.
  void AddTables(Data& section) const {
    const ComparedCount* largest = phase_.LargestCommon();
    section["largest"] = largest != nullptr ? farscale::ToData(LargestTable(*largest)) : Data(false);
    Factor whole = Factor::kParallelEfficiency;
    for (const ComparedCount& count : phase_.counts) {
      if (count.efficiency) whole = count.whole;
    }
    std::vector<CountRow> rows;
    for (const ComparedCount& count : phase_.counts) {
      const ComparedNumber* number = count.Find(whole);
      const Contribution* most = count.efficiency ? count.efficiency->Largest() : nullptr;
      CountRow row{.cores = FormatCores(count.cores), .most = most != nullptr ? "most by " + NameOf(*most) : ""};
      const auto format = [&](double value) { return FormatValue(whole, value); };
      Fill(number != nullptr ? *number : ComparedNumber{}, format, row);
      CountRow time;
      Fill(count.seconds, FormatSeconds, time);
      row.time_from = time.from;
      row.time_to = time.to;
      row.time_change = time.change;
      rows.push_back(std::move(row));
    }
    section["counts"] = farscale::ToData(rows);
    section["wholeName"] = NameInSentence(whole);
    section["hasTimes"] = std::ranges::any_of(
        phase_.counts, [](const ComparedCount& count) { return count.seconds.before || count.seconds.after; });
  }

  static void Fill(const ComparedNumber& number, auto format, auto& row) {
    if (number.before) row.from = format(*number.before);
    if (number.after) row.to = format(*number.after);
    if (!number.change) return;
    row.change = FormatRise(number.change->ratio);
    row.beyond_noise = number.is_beyond_noise ? "yes" : "no";
    if constexpr (requires { row.interval; }) row.interval = FormatRiseInterval(*number.change);
  }

  static FactorTableOfCount LargestTable(const ComparedCount& count) {
    FactorTableOfCount table{.cores = FormatCoreCount(count.cores),
                             .whole = count.efficiency ? NameInSentence(count.whole) : "it"};
    for (const ComparedFactor& one : count.factors) {
      if (!HasShownValue(one.factor, one.number)) continue;
      FactorOfCount row{.name = Name(one.factor), .indent = Indent(DepthOf(one.factor, TreeOf(KnownFactors(count))))};
      Fill(
          one.number, [&](double value) { return FormatValue(one.factor, value); }, row);
      if (count.efficiency) {
        for (const Contribution& part : count.efficiency->parts) {
          const bool is_it = part.kind == Contribution::Kind::kFactor && part.factor == one.factor;
          if (is_it) row.part = FormatRise(std::exp(part.logarithm));
        }
      }
      table.rows.push_back(std::move(row));
    }
    if (count.seconds.before || count.seconds.after) {
      Fill(count.seconds, FormatSeconds, table.rows.emplace_back(FactorOfCount{.name = "Time of an iteration"}));
    }
    return table;
  }

  Data FactorRows() const {
    Data rows = Data::array();
    const auto add = [&](const std::string& name, int depth, Data cells) {
      rows.push_back(
          {{"name", name}, {"depth", std::to_string(depth)}, {"indent", Indent(depth)}, {"cells", std::move(cells)}});
    };
    std::vector<Factor> known;
    for (const ComparedCount& count : phase_.counts) {
      for (const Factor factor : KnownFactors(count)) known.push_back(factor);
    }
    const FactorTree tree = TreeOf(known);
    for (const FactorType& type : AllFactors()) {
      Data cells = Data::array();
      bool any = false;
      for (const ComparedCount& count : phase_.counts) {
        const ComparedNumber* number = count.Find(type.factor);
        any = any || (number != nullptr && HasShownValue(type.factor, *number));
        cells.push_back(ChangeCell(number != nullptr ? *number : ComparedNumber{}, true,
                                   [&](double value) { return FormatValue(type.factor, value); }));
      }
      if (any) add(Name(type.factor), DepthOf(type.factor, tree), std::move(cells));
    }
    Data cells = Data::array();
    bool any = false;
    for (const ComparedCount& count : phase_.counts) {
      any = any || count.seconds.before || count.seconds.after;
      cells.push_back(ChangeCell(count.seconds, false, FormatSeconds));
    }
    if (any) add("Time of an iteration", 0, std::move(cells));
    return rows;
  }

  static const std::optional<Decomposition>& Of(const ComparedCount& count, bool is_time) {
    return is_time ? count.time : count.efficiency;
  }

  // What the difference is made of, a column a core count: logarithms in percent, so that columns add up.
  void AddParts(Data& section, const std::string& key, bool is_time) const {
    Data columns = Data::array();
    std::vector<Contribution> kinds;
    const auto same = [](const Contribution& a, const Contribution& b) {
      return a.kind == b.kind && a.factor == b.factor;
    };
    for (const ComparedCount& count : phase_.counts) {
      if (!Of(count, is_time)) continue;
      columns.push_back({{"cores", FormatCores(count.cores)}});
      for (const Contribution& part : Of(count, is_time)->parts) {
        const bool known =
            std::any_of(kinds.begin(), kinds.end(), [&](const Contribution& k) { return same(k, part); });
        if (!known) kinds.push_back(part);
      }
    }
    Data rows = Data::array(), totals = Data::array();
    for (const Contribution& kind : kinds) {
      Data cells = Data::array();
      for (const ComparedCount& count : phase_.counts) {
        if (!Of(count, is_time)) continue;
        std::string text = "–";
        bool is_largest = false;
        for (const Contribution& part : Of(count, is_time)->parts) {
          if (!same(part, kind)) continue;
          text = HundredTimes(part.logarithm);
          is_largest = Of(count, is_time)->Largest() == &part;
        }
        cells.push_back({{"text", text}, {"isLargest", is_largest}});
      }
      rows.push_back({{"name", NameOf(kind)}, {"cells", cells}});
    }
    for (const ComparedCount& count : phase_.counts) {
      if (Of(count, is_time)) totals.push_back({{"text", HundredTimes(Of(count, is_time)->logarithm)}});
    }
    Factor whole = Factor::kGlobalEfficiency;
    for (const ComparedCount& count : phase_.counts) {
      if (count.efficiency) whole = count.whole;
    }
    const std::string caption = is_time ? "time of an iteration" : NameInSentence(whole);
    section[key] = {{"caption", caption}, {"columns", columns}, {"rows", rows}, {"totals", totals}};
    section[key == "timeParts" ? "hasTimeParts" : "hasEfficiencyParts"] = !rows.empty();
  }

  // Where either side is uncertain the interval alone.
  static Data SideCell(Factor factor, const ProjectedPair& pair, const std::optional<ProjectedValue>& value) {
    if (!value || pair.reliability == Reliability::kUnknown) return {{"text", kNoValue}, {"interval", ""}};
    const std::string interval = FormatBounds(factor, value->interval80);
    if (pair.reliability == Reliability::kUncertain) return {{"text", interval}, {"interval", ""}};
    return {{"text", FormatValue(factor, value->value)}, {"interval", interval}};
  }

  static std::string Time(const ProjectedPair& pair, const std::optional<ProjectedValue>& value) {
    if (!value || pair.reliability == Reliability::kUnknown) return kNoValue;
    const std::string interval =
        value->interval80 ? FormatSeconds(value->interval80->low) + " – " + FormatSeconds(value->interval80->high)
                          : "unknown";
    return pair.reliability == Reliability::kReliable ? FormatSeconds(value->value) + " (" + interval + ")" : interval;
  }

  Data Targets() const {
    Data rows = Data::array();
    for (const ComparedTarget& target : phase_.targets) {
      const ProjectedPair& pair = target.efficiency;
      const Contribution* largest = target.explained ? target.explained->Largest() : nullptr;
      const bool is_reliable = pair.reliability == Reliability::kReliable;
      const bool is_explained = is_reliable && pair.is_apart && largest != nullptr;
      std::string verdict = ToString(pair.reliability);
      if (is_reliable) verdict = pair.is_apart ? "differ" : "intervals overlap";
      rows.push_back({{"cores", FormatCores(target.cores)},
                      {"before", SideCell(target.whole, pair, pair.before)},
                      {"after", SideCell(target.whole, pair, pair.after)},
                      {"timeBefore", Time(target.seconds, target.seconds.before)},
                      {"timeAfter", Time(target.seconds, target.seconds.after)},
                      {"verdict", verdict},
                      {"isReliable", is_reliable},
                      {"most", is_explained ? "most by " + NameOf(*largest) : ""},
                      {"explained", is_explained ? DescribeParts(*target.explained, 2) : "–"}});
    }
    return rows;
  }

  // The efficiency that both sides measured or project.
  std::optional<Factor> HeadlineOfBoth() const {
    if (phase_.projection_before == nullptr || phase_.projection_after == nullptr) return std::nullopt;
    for (const Factor factor : {Factor::kParallelEfficiency, Factor::kGlobalEfficiency}) {
      const FactorProjection* before = phase_.projection_before->Find(factor);
      const FactorProjection* after = phase_.projection_after->Find(factor);
      if (before != nullptr && after != nullptr && !before->curve.empty() && !after->curve.empty()) return factor;
    }
    return std::nullopt;
  }

  Data Figure() {
    const Factor factor = *HeadlineOfBoth();
    Chart chart;
    chart.title = Name(factor) + ": " + compared_.before + " and " + compared_.after;
    chart.description = Name(factor) +
                        " against the number of cores: points are measured, lines projected, bands their 80 % "
                        "intervals. The tables have every value.";
    chart.x_label = "cores (logarithmic)";
    chart.y_label = "efficiency";
    chart.y_max = 1;
    chart.width = 860;
    chart.height = 400;
    const double most = phase_.targets.empty() ? 0 : phase_.targets.back().cores;
    double reliable = 0;
    int color = 0;
    for (const auto& [name, projection] : {std::pair(&compared_.before, phase_.projection_before),
                                           std::pair(&compared_.after, phase_.projection_after)}) {
      const FactorProjection& one = *projection->Find(factor);
      const double shown = std::max(most, projection->fitted_cores.back());
      ChartSeries series = SeriesOf(one, true);
      series.outer_band.clear();
      series.id = "";
      series.name = *name;
      series.color = color++;
      series.width = 2.4;
      std::erase_if(series.line, [&](const ChartPoint& point) { return point.x > shown; });
      std::erase_if(series.inner_band, [&](const ChartBand& band) { return band.x > shown; });
      chart.series.push_back(std::move(series));
      chart.split_x = std::min(chart.split_x.value_or(shown), projection->fitted_cores.back());
      const double reach = ReliableUpTo(*projection, factor);
      reliable = color == 1 ? reach : std::min(reliable, reach);
    }
    chart.split_label = "extrapolated";
    if (std::isfinite(reliable)) {
      chart.reliable_to_x = reliable;
      chart.reliable_label = "both reliable to " + FormatCores(reliable);
    }
    return AddChart(chart, slug_ + ".svg", model_);
  }

  const ComparedResults& compared_;
  const ComparedPhase& phase_;
  const std::string slug_;
  const Partials& templates_;
  ReportModel& model_;
};

}  // namespace

ReportModel BuildCompareModel(const std::vector<ComparedResults>& comparisons, const Partials& templates) {
  ReportModel model;
  std::string title = comparisons.front().before;
  for (const ComparedResults& compared : comparisons) title += " and " + compared.after;
  model.data = {{"title", title}, {"generator", Generator()}};
  model.data["comparisons"] = Data::array();
  std::size_t phases = 0;
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    const ComparedResults& compared = comparisons[i];
    Data one = {{"before", compared.before}, {"after", compared.after}};
    one["doubts"] = DoubtsOfCompared(compared);
    one["notes"] = SummarizeCompared(compared, templates);
    one["hasNotes"] = !one["notes"].empty();
    one["phases"] = Data::array();
    for (std::size_t k = 0; k < compared.phases.size(); ++k, ++phases) {
      const std::string slug = fmt::format("compare-{}-{}", i + 1, k + 1);
      one["phases"].push_back(ComparedPhaseSection(compared, compared.phases[k], slug, templates, model).Build());
    }
    model.data["comparisons"].push_back(std::move(one));
  }
  model.data["severalPhases"] = phases > 1;
  return model;
}

std::vector<std::string> WriteCompareTexts(const ReportModel& model, const Partials& templates, std::size_t width) {
  std::vector<std::string> texts;
  for (const Data& comparison : model.data["comparisons"]) {
    texts.push_back(RenderText(templates, "compare.txt", comparison, width));
  }
  return texts;
}

std::vector<std::filesystem::path> WriteCompared(const std::vector<ComparedResults>& comparisons,
                                                 const ReportTemplates& templates,
                                                 const std::filesystem::path& folder) {
  ReportModel model = BuildCompareModel(comparisons, templates.partials);
  NamedTexts files = {{"compare.html", RenderHtml(model, templates)},
                      {"compare.md", RenderMarkdown(model, templates)},
                      {"compare.json", WriteCompareJson(comparisons, templates.partials)}};
  for (const auto& [name, svg] : model.figures) {
    files.emplace_back(std::filesystem::path("figures") / name, svg + "\n");
  }
  return WriteFiles(folder, files);
}

}  // namespace farscale
