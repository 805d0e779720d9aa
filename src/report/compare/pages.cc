#include "report/compare/pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "report/figures.h"
#include "results/json_fields.h"

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

bool IsKnown(const ComparedNumber& number) { return number.before || number.after; }
bool IsKnown(const ProjectedPair& pair) { return pair.before || pair.after; }

std::vector<Factor> KnownFactors(const ComparedCount& count) {
  std::vector<Factor> known;
  for (const auto& [factor, number] : count.factors) known.push_back(factor);
  return known;
}

// The row has more than device offload of runs without devices.
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

// Both sides and their change, for the terminal.
template <typename Format>
Data ComparedValues(const ComparedNumber& number, Format format) {
  const auto text = [&](const std::optional<double>& value) { return value ? format(*value) : kNoValue; };
  const bool is_change = number.change.has_value();
  return {{"from", text(number.before)},
          {"to", text(number.after)},
          {"change", is_change ? FormatRise(number.change->ratio) : kNoValue},
          {"interval", is_change ? FormatRiseInterval(*number.change) : kNoValue},
          {"beyondNoise", !is_change               ? kNoValue
                          : number.is_beyond_noise ? "yes"
                                                   : "no"}};
}

// The efficiency whose change is split into parts, on the largest count that has one.
Factor WidestEfficiency(const ComparedPhase& phase, Factor whole) {
  for (const ComparedCount& count : phase.counts) {
    if (count.efficiency) whole = count.whole;
  }
  return whole;
}

// The factors on the largest common count, for the terminal.
Data LargestTable(const ComparedCount& count) {
  const bool has_efficiency = count.efficiency.has_value();
  Data rows = Data::array();
  const auto add = [&](const std::string& name, const std::string& indent, const std::string& part, Data row) {
    row.update({{"name", name}, {"indent", indent}, {"part", part}});
    rows.push_back(std::move(row));
  };
  for (const auto& [own, number] : count.factors) {
    if (!HasShownValue(own, number)) continue;
    std::string text;
    if (has_efficiency) {
      const auto& parts = count.efficiency->parts;
      const auto part = std::ranges::find(parts, Describe(own).id, &Decomposition::Part::first);
      if (part != parts.end()) text = FormatRise(std::exp(part->second));
    }
    add(Name(own), Indent(DepthOf(own, TreeOf(KnownFactors(count)))), text,
        ComparedValues(number, [factor = own](double value) { return FormatValue(factor, value); }));
  }
  if (IsKnown(count.seconds)) add("Time of an iteration", "", "", ComparedValues(count.seconds, FormatSeconds));
  return {{"cores", FormatCoreCount(count.cores)},
          {"whole", has_efficiency ? NameInSentence(count.whole) : "it"},
          {"rows", std::move(rows)}};
}

Data FactorRows(const ComparedPhase& phase) {
  Data rows = Data::array();
  const auto add = [&](const std::string& name, int depth, Data cells) {
    rows.push_back(
        {{"name", name}, {"depth", std::to_string(depth)}, {"indent", Indent(depth)}, {"cells", std::move(cells)}});
  };
  std::vector<Factor> known;
  for (const ComparedCount& count : phase.counts) {
    for (const Factor factor : KnownFactors(count)) known.push_back(factor);
  }
  const FactorTree tree = TreeOf(known);
  for (const FactorType& type : AllFactors()) {
    Data cells = Data::array();
    bool any = false;
    for (const ComparedCount& count : phase.counts) {
      const ComparedNumber* number = count.Find(type.factor);
      any = any || (number != nullptr && HasShownValue(type.factor, *number));
      cells.push_back(ChangeCell(number != nullptr ? *number : ComparedNumber{}, true,
                                 [&](double value) { return FormatValue(type.factor, value); }));
    }
    if (any) add(Name(type.factor), DepthOf(type.factor, tree), std::move(cells));
  }
  Data cells = Data::array();
  bool any = false;
  for (const ComparedCount& count : phase.counts) {
    any = any || count.seconds.before || count.seconds.after;
    cells.push_back(ChangeCell(count.seconds, false, FormatSeconds));
  }
  if (any) add("Time of an iteration", 0, std::move(cells));
  return rows;
}

// Parts of the difference, a column a core count: logarithms in percent, so that columns add up.
void AddParts(const ComparedPhase& phase, bool is_time, Data& section) {
  const auto difference = [&](const ComparedCount& count) -> const std::optional<Decomposition>& {
    return is_time ? count.time : count.efficiency;
  };
  Data columns = Data::array(), rows = Data::array(), totals = Data::array();
  std::vector<std::string> ids;  // each part once
  for (const ComparedCount& count : phase.counts) {
    if (!difference(count)) continue;
    columns.push_back({{"cores", FormatCores(count.cores)}});
    totals.push_back({{"text", HundredTimes(difference(count)->logarithm)}});
    for (const Decomposition::Part& part : difference(count)->parts) {
      if (std::ranges::count(ids, part.first) == 0) ids.push_back(part.first);
    }
  }
  for (const std::string& id : ids) {
    Data cells = Data::array();
    for (const ComparedCount& count : phase.counts) {
      if (!difference(count)) continue;
      const auto& parts = difference(count)->parts;
      const auto part = std::ranges::find(parts, id, &Decomposition::Part::first);
      cells.push_back({{"text", part != parts.end() ? HundredTimes(part->second) : kNoValue},
                       {"isLargest", part != parts.end() && difference(count)->Largest() == &*part}});
    }
    rows.push_back({{"name", PartName(id)}, {"cells", cells}});
  }
  const std::string caption =
      is_time ? "time of an iteration" : NameInSentence(WidestEfficiency(phase, Factor::kGlobalEfficiency));
  section[is_time ? "timeParts" : "efficiencyParts"] = {
      {"caption", caption}, {"columns", columns}, {"rows", rows}, {"totals", totals}};
  section[is_time ? "hasTimeParts" : "hasEfficiencyParts"] = !rows.empty();
}

// Where either side is uncertain the interval alone.
Data SideCell(Factor factor, const ProjectedPair& pair, const std::optional<ProjectedValue>& value) {
  if (!value || pair.reliability == Reliability::kUnknown) return {{"text", kNoValue}, {"interval", ""}};
  const std::string interval = FormatBounds(factor, value->interval80);
  if (pair.reliability == Reliability::kUncertain) return {{"text", interval}, {"interval", ""}};
  return {{"text", FormatValue(factor, value->value)}, {"interval", interval}};
}

std::string SideTime(const ProjectedPair& pair, const std::optional<ProjectedValue>& value) {
  if (!value || pair.reliability == Reliability::kUnknown) return kNoValue;
  const std::string interval =
      value->interval80 ? FormatSeconds(value->interval80->low) + " – " + FormatSeconds(value->interval80->high)
                        : "unknown";
  return pair.reliability == Reliability::kReliable ? FormatSeconds(value->value) + " (" + interval + ")" : interval;
}

Data ComparedTargets(const ComparedPhase& phase) {
  Data rows = Data::array();
  for (const ComparedTarget& target : phase.targets) {
    const ProjectedPair& pair = target.efficiency;
    const Decomposition::Part* largest = target.explained ? target.explained->Largest() : nullptr;
    const bool is_reliable = pair.reliability == Reliability::kReliable;
    const bool is_explained = is_reliable && pair.is_apart && largest != nullptr;
    std::string verdict = ToString(pair.reliability);
    if (is_reliable) verdict = pair.is_apart ? "differ" : "intervals overlap";
    rows.push_back({{"cores", FormatCores(target.cores)},
                    {"before", SideCell(target.whole, pair, pair.before)},
                    {"after", SideCell(target.whole, pair, pair.after)},
                    {"timeBefore", SideTime(target.seconds, target.seconds.before)},
                    {"timeAfter", SideTime(target.seconds, target.seconds.after)},
                    {"verdict", verdict},
                    {"isReliable", is_reliable},
                    {"explained", is_explained ? DescribeParts(*target.explained, 2) : "–"}});
  }
  return rows;
}

// The efficiency that both sides measured or project.
std::optional<Factor> HeadlineOfBoth(const ComparedPhase& phase) {
  if (phase.before.projection == nullptr || phase.after.projection == nullptr) return std::nullopt;
  for (const Factor factor : {Factor::kParallelEfficiency, Factor::kGlobalEfficiency}) {
    const FactorProjection* before = phase.before.projection->Find(factor);
    const FactorProjection* after = phase.after.projection->Find(factor);
    if (before != nullptr && after != nullptr && !before->curve.empty() && !after->curve.empty()) return factor;
  }
  return std::nullopt;
}

Data ComparedFigure(const ComparedResults& compared, const ComparedPhase& phase, Factor factor, const std::string& slug,
                    ReportModel& model) {
  Chart chart;
  chart.title = Name(factor) + ": " + compared.before + " and " + compared.after;
  chart.description = Name(factor) +
                      " against the number of cores: points are measured, lines projected, bands their 80 % "
                      "intervals. The tables have every value.";
  chart.x_label = "cores (logarithmic)";
  chart.y_label = "efficiency";
  chart.y_max = 1;
  chart.width = 860;
  chart.height = 400;
  const double most = phase.targets.empty() ? 0 : phase.targets.back().cores;
  double reliable = 0;
  int color = 0;
  for (const auto& [name, projection] :
       {std::pair(&compared.before, phase.before.projection), std::pair(&compared.after, phase.after.projection)}) {
    const FactorProjection& one = *projection->Find(factor);
    const double shown = std::max(most, projection->fitted_cores.back());
    ChartSeries series = FactorSeries(one, true);
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
  return AddChart(chart, slug + ".svg", model);
}

Data ComparedPhaseSection(const ComparedResults& compared, const ComparedPhase& phase, const std::string& slug,
                          const Partials& templates, ReportModel& model) {
  const ComparedCount* largest = phase.LargestCommon();
  const Factor whole = WidestEfficiency(phase, Factor::kParallelEfficiency);
  const std::optional<Factor> headline = HeadlineOfBoth(phase);
  const auto has_time = [](const ComparedCount& count) { return IsKnown(count.seconds); };
  Data columns = Data::array();
  Data counts = Data::array();  // the widest efficiency and the time on every count, for the terminal
  for (const ComparedCount& count : phase.counts) {
    columns.push_back({{"cores", FormatCores(count.cores)}});
    const ComparedNumber* number = count.Find(whole);
    const Decomposition::Part* most = count.efficiency ? count.efficiency->Largest() : nullptr;
    const Data time = ComparedValues(count.seconds, FormatSeconds);
    Data row = ComparedValues(number != nullptr ? *number : ComparedNumber{},
                              [&](double value) { return FormatValue(whole, value); });
    row.update({{"cores", FormatCores(count.cores)},
                {"most", most != nullptr ? "most by " + PartName(most->first) : ""},
                {"timeFrom", time["from"]},
                {"timeTo", time["to"]},
                {"timeChange", time["change"]}});
    counts.push_back(std::move(row));
  }
  Data section = {{"heading", phase.name.empty() ? "All runs" : phase.name},
                  {"isNamed", !phase.name.empty()},
                  {"anchor", slug},
                  {"findings", SummarizeComparedPhase(compared, phase, templates)},
                  {"largest", largest != nullptr ? LargestTable(*largest) : Data(false)},
                  {"counts", std::move(counts)},
                  {"wholeName", NameInSentence(whole)},
                  {"hasTimes", std::ranges::any_of(phase.counts, has_time)},
                  {"columns", std::move(columns)},
                  {"rows", FactorRows(phase)},
                  {"targets", ComparedTargets(phase)},
                  {"hasTargets", !phase.targets.empty()},
                  {"projectedName", phase.targets.empty() ? "" : Name(phase.targets.front().whole)},
                  {"isDrawn", headline.has_value()},
                  {"figure", headline ? ComparedFigure(compared, phase, *headline, slug, model)
                                      : Data{{"svg", ""}, {"file", ""}, {"alt", ""}}}};
  AddParts(phase, false, section);
  AddParts(phase, true, section);
  return section;
}

// A list of pairs of a factor and something else, as a dictionary.
template <typename Value>
Form<std::vector<std::pair<Factor, Value>>> ByFactor() {
  using List = std::vector<std::pair<Factor, Value>>;
  return Via<List, Dictionary<Value>>([](const List& list) {
    Dictionary<Value> by_id;
    for (const auto& [factor, value] : list) by_id.emplace_back(Describe(factor).id, value);
    return by_id;
  });
}

struct CompareFile {
  std::vector<ComparedResults> comparisons;
};

// A projected value without its core count.
Form<std::optional<ProjectedValue>> ValueAlone() {
  using T = ProjectedValue;
  const auto bound = [](double IntervalBounds::*side) {
    return [side](const T& value) { return value.interval80 ? std::optional(*value.interval80.*side) : std::nullopt; };
  };
  return OptionalOf<T>(FormOfFields(Fields<T>{"compare/value",
                                              "",
                                              {
                                                  Property<&T::value>(),
                                                  Computed<T>("low80", bound(&IntervalBounds::low)),
                                                  Computed<T>("high80", bound(&IntervalBounds::high)),
                                              }}));
}

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
    one["doubts"] = ComparedDoubts(compared);
    one["notes"] = SummarizeCompared(compared, templates);
    one["hasNotes"] = !one["notes"].empty();
    one["phases"] = Data::array();
    for (std::size_t k = 0; k < compared.phases.size(); ++k, ++phases) {
      const std::string slug = fmt::format("compare-{}-{}", i + 1, k + 1);
      one["phases"].push_back(ComparedPhaseSection(compared, compared.phases[k], slug, templates, model));
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
  AddFigureFiles(model, files);
  return WriteFiles(folder, files);
}

Fields<Decomposition> FieldsOf(Described<Decomposition>) {
  using T = Decomposition;
  return {"compare/difference",
          "",
          {
              Property<&T::logarithm>("ln(after / before)"),
              Property<&T::parts>(
                  "What factors add to it, by their ids; base parts of times; rest: no factor explains it. Their sum "
                  "is the logarithm"),
              Computed<T>(
                  "largest",
                  [](const T& difference) {
                    const Decomposition::Part* largest = difference.Largest();
                    return largest == nullptr ? std::nullopt : std::optional(largest->first);
                  },
                  "The part that goes furthest in the direction of the whole; absent: nothing changed"),
          }};
}

Fields<ComparedNumber> FieldsOf(Described<ComparedNumber>) {
  using T = ComparedNumber;
  const auto of_change = [](auto value) {
    return [value](const T& number) { return number.change ? std::optional(value(number)) : std::nullopt; };
  };
  return {"compare/number",
          "Geometric means over the runs of both sides",
          {
              Properties<&T::before, &T::after>(),
              Computed<T>("ratio", of_change([](const T& number) { return number.change->ratio; }),
                          "After over before; absent: the two do not compare")
                  .Above(0),
              Computed<T>("low95", of_change([](const T& number) { return number.change->Low(); }),
                          "95 % interval of this ratio by itself; it does not decide beyondNoise"),
              Computed<T>("high95", of_change([](const T& number) { return number.change->High(); })),
              Computed<T>("beyondNoise", of_change([](const T& number) { return number.is_beyond_noise; }),
                          "More than noise, with an error of 5 % shared by all changes of the phase: stricter than "
                          "low95 and high95"),
          }};
}

Fields<ComparedCount> FieldsOf(Described<ComparedCount>) {
  using T = ComparedCount;
  return {"compare/count",
          "A core count that was run on either side",
          {
              Property<&T::cores>().AtLeast(1),
              Property<&T::is_common>("Run on both sides"),
              Property<&T::factors>(ByFactor<ComparedNumber>(), "By their ids"),
              Field("secondsPerIteration", &T::seconds).When([](const T& count) { return IsKnown(count.seconds); }),
              Field("efficiencyIs", &T::whole, "Id of the factor that efficiency is about").When([](const T& count) {
                return count.efficiency.has_value();
              }),
              Properties<&T::efficiency, &T::time>(),
          }};
}

Fields<ProjectedPair> FieldsOf(Described<ProjectedPair>) {
  using T = ProjectedPair;
  return {"compare/pair",
          "",
          {
              Property<&T::reliability>("Of the side with the worse one"),
              Field("apart", &T::is_apart, "The 80 % intervals do not overlap"),
              Property<&T::before>(ValueAlone()),
              Property<&T::after>(ValueAlone()),
          }};
}

Fields<ComparedTarget> FieldsOf(Described<ComparedTarget>) {
  using T = ComparedTarget;
  return {"compare/target",
          "Projections at a common core count",
          {
              Property<&T::cores>().AtLeast(1),
              Field("efficiencyIs", &T::whole),
              Property<&T::factors>(ByFactor<ProjectedPair>()),
              Field("secondsPerIteration", &T::seconds).When([](const T& target) { return IsKnown(target.seconds); }),
              Field("efficiency", &T::explained),
          }};
}

Fields<ComparedPhase> FieldsOf(Described<ComparedPhase>) {
  using T = ComparedPhase;
  const auto of_phase = [](ComparedSide T::*side, const Fields<PhaseId>& fields) {
    return Embed(side, Fields<ComparedSide>{Embed(&ComparedSide::phase, fields)});
  };
  return {
      "compare/phase",
      "",
      {
          Property<&T::name>(),
          of_phase(&T::before, {Field("before", &PhaseId::name, "The phase on this side")}),
          of_phase(&T::after, {Field("after", &PhaseId::name)}),
          of_phase(&T::before, {Field("groupBefore", &PhaseId::group,
                                      "Of the ranks of the phase, where these alone are compared; absent: all ranks")
                                    .NotEmpty()
                                    .UnlessDefault()}),
          of_phase(&T::after, {Field("groupAfter", &PhaseId::group).NotEmpty().UnlessDefault()}),
          Property<&T::reference>("Cores that both sides compare with; absent: they differ"),
          Computed<T>(
              "noise", [](const T& phase) { return phase.noise ? phase.noise->deviation : kUsualNoise; },
              "Standard deviation of logarithms of times from run to run")
              .AtLeast(0),
          Computed<T>(
              "noiseIsMeasured", [](const T& phase) { return phase.noise.has_value(); },
              "By repeats; else it is assumed"),
          Property<&T::notes>("What does not compare and why"),
          Properties<&T::counts, &T::targets>(),
      }};
}

Fields<ComparedResults> FieldsOf(Described<ComparedResults>) {
  using T = ComparedResults;
  return {"compare/comparison",
          "",
          {
              Property<&T::before>("Name of the baseline side"),
              Property<&T::after>(),
              Property<&T::only_before>("Phases that the other side lacks"),
              Property<&T::only_after>(),
              Field("diagnosticsBefore", &T::findings_before, "Anomalies of the table of this side").OrMissing(),
              Field("diagnosticsAfter", &T::findings_after).OrMissing(),
              Property<&T::phases>(),
          }};
}

Fields<CompareFile> FieldsOf(Described<CompareFile>) {
  return Fields<CompareFile>{
      "compare", "", {Property<&CompareFile::comparisons>("Each result against the first").LeastItems(1)}}
      .File("farscale-compare", kCompareVersion, kCompareVersion, "comparison");
}

std::string WriteCompareJson(std::vector<ComparedResults> comparisons, const Partials& templates) {
  for (ComparedResults& compared : comparisons) {
    for (ComparedPhase& phase : compared.phases) phase.notes = PhaseNotes(compared, phase, templates);
  }
  return JsonOf(CompareFile{std::move(comparisons)}).dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

OrderedJson CompareSchema() { return SchemaOf<CompareFile>("Results compared by farscale compare"); }

}  // namespace farscale
