#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "factors/factor_table.h"
#include "plot/chart.h"
#include "projection/model_settings.h"
#include "report/sections.h"
#include "projection/projection.h"
#include "report/factor_text.h"

namespace farscale {
namespace {

using Data = ReportData;

constexpr double kSmallGain = 0.005;          // not worth a fix
constexpr std::size_t kMostNarrowCharts = 8;  // with more phases the page would be too large: charts are scrolled

MarkerShape LookShape(char marker) {
  switch (marker) {
    case 'd': return MarkerShape::kDiamond;
    case '^': return MarkerShape::kTriangle;
    case 'v': return MarkerShape::kTurnedTriangle;
    default: return MarkerShape::kDisc;
  }
}

Chart OverviewChart(const Results& results, const PhaseProjection& phase, const std::string& heading) {
  Chart chart = EfficiencyChart(phase, "Efficiency against cores: " + heading);
  chart.description = "Measured and projected efficiency factors of " + heading + " against the number of cores.";
  chart.width = 700;
  chart.height = 400;
  chart.legend = LegendPlace::kBeside;
  const std::vector<const FactorProjection*> factors = ChartedFactors(phase);
  const FactorProjection* headline = Headline(phase);
  for (const FactorProjection* projection : factors) {
    ChartSeries series = FactorSeries(*projection, projection == headline);
    const FactorType& look = Describe(projection->factor);
    series.name = Name(projection->factor);
    series.is_chosen = true;
    series.color = look.color;
    series.shape = LookShape(look.marker);
    series.has_filled_points = look.is_filled;
    series.width = projection == headline ? 3.2 : 1.6;
    series.reliable_x = EndsEarly(phase, projection->factor);
    chart.series.push_back(std::move(series));
  }
  DrawPredictors(phase, factors, chart);
  chart.y_min = LowestShown(chart);
  for (const Variant& variant : results.variants) chart.sides.push_back(variant.name);
  return chart;
}

// Factors that multiply to an efficiency, at one core count.
struct Split {
  Factor whole = Factor::kParallelEfficiency;
  double value = 0;
  std::vector<std::pair<Factor, double>> parts;
};

// Shares of the time of all cores that the parts take: the loss of the whole, shared in proportion to the logarithms of
// the parts, since these multiply. Parts above 1 take nothing.
std::vector<double> LossShares(const Split& split) {
  const auto weight = [](double value) { return value > 0 && value < 1 ? -std::log(value) : 0; };
  double sum = 0;
  for (const auto& [factor, value] : split.parts) sum += weight(value);
  const double lost = std::clamp(1 - split.value, 0.0, 1.0);
  std::vector<double> shares;
  for (const auto& [factor, value] : split.parts) shares.push_back(sum > 0 ? lost * weight(value) / sum : 0);
  return shares;
}

// As projected, for the same factors as were measured; nothing where one is not.
std::optional<Split> SplitAt(const PhaseProjection& projection, const Split& measured, double cores) {
  const auto value_of = [&](Factor factor) -> std::optional<double> {
    const FactorProjection* found = projection.Find(factor);
    if (found == nullptr) return std::nullopt;
    const std::optional<ProjectedValue> value = ReadCurve(*found, cores);
    return value ? std::optional(value->value) : std::nullopt;
  };
  const std::optional<double> whole = value_of(measured.whole);
  if (!whole) return std::nullopt;
  Split split{measured.whole, *whole, {}};
  for (const auto& part : measured.parts) {
    const std::optional<double> value = value_of(part.first);
    if (!value) return std::nullopt;
    split.parts.emplace_back(part.first, *value);
  }
  return split;
}

// The part that takes most, and its share; nothing where none takes anything, or parts are not known.
std::optional<std::pair<Factor, double>> LargestShare(const Split& split) {
  const std::vector<double> shares = LossShares(split);
  const auto most = std::ranges::max_element(shares);
  if (most == shares.end() || *most <= 0) return std::nullopt;
  const Factor factor = split.parts[static_cast<std::size_t>(most - shares.begin())].first;
  return factor == split.whole ? std::nullopt : std::optional(std::pair(factor, *most));
}

// The largest run and how far its losses are reliable, where that is beyond.
struct Ends {
  std::optional<Split> measured, projected;
  double largest = 0, last = 0;

  const Split* Last() const { return projected ? &*projected : measured ? &*measured : nullptr; }
  double CoresOfLast() const { return projected ? last : largest; }
};

// `common`: where several phases are compared, if the losses of this one are reliable there.
Ends FindEnds(const std::vector<FactorRow>& rows, const PhaseProjection* projection,
              std::optional<double> common = {}) {
  Ends ends;
  if (rows.empty()) return ends;
  const FactorRow& row = rows.back();
  ends.largest = static_cast<double>(row.cores);
  std::vector<Factor> known;
  for (const FactorType& type : AllFactors()) {
    if (row.values[type.factor]) known.push_back(type.factor);
  }
  const std::optional<Factor> whole = WholeAmong(known);
  if (!whole || !row.values[*whole]) return ends;
  ends.measured = {*whole, *row.values[*whole], {}};
  for (const Factor factor : LossesAmong(known)) {
    if (!IsWithoutDevices(factor, *row.values[factor])) ends.measured->parts.emplace_back(factor, *row.values[factor]);
  }
  if (projection == nullptr || !projection->reliable_range) return ends;
  double reliable = ReliableUpTo(*projection, *whole);  // the last count at which the whole and all parts are
  for (const auto& part : ends.measured->parts) reliable = std::min(reliable, ReliableUpTo(*projection, part.first));
  reliable = WholeCores(reliable);
  ends.last = common.value_or(reliable);
  if (ends.last > ends.largest && ends.last <= reliable)
    ends.projected = SplitAt(*projection, *ends.measured, ends.last);
  return ends;
}

Data LostTime(const Ends& ends, const std::string& heading) {
  if (!ends.measured || ends.measured->parts.size() < 2) return false;
  const auto band = [](double cores, const Split& split) {
    Band drawn{FormatCores(cores), {}};
    const std::vector<double> shares = LossShares(split);
    for (std::size_t i = 0; i < shares.size(); ++i) {
      drawn.second.emplace_back(shares[i], Describe(split.parts[i].first).color);
    }
    return drawn;
  };
  const auto lost = [](const Split& split) { return FormatPercent(std::clamp(1 - split.value, 0.0, 1.0)); };
  std::vector<Band> bands = {band(ends.largest, *ends.measured)};
  if (ends.projected) bands.push_back(band(ends.last, *ends.projected));
  const std::vector<double> before = LossShares(*ends.measured);
  const std::vector<double> after = ends.projected ? LossShares(*ends.projected) : std::vector<double>(before.size());
  const auto worst = LargestShare(*ends.Last());
  std::vector<Factor> parts;
  for (const auto& part : ends.measured->parts) parts.push_back(part.first);
  Data rows = Data::array();
  for (std::size_t i = 0; i < before.size(); ++i) {
    std::vector<std::string> affected;  // ids of the efficiencies that the part belongs to
    for (const Factor whole : {Factor::kParallelEfficiency, Factor::kGlobalEfficiency}) {
      if (std::ranges::count(PartsOf(whole, parts), parts[i]) > 0) affected.emplace_back(Describe(whole).id);
    }
    const FactorType& type = Describe(parts[i]);
    rows.push_back({{"name", type.name},
                    {"factor", type.id},
                    {"affects", Join(affected, " ")},
                    {"color", std::to_string(type.color)},
                    {"measured", FormatPercent(before[i])},
                    {"projected", ends.projected ? FormatPercent(after[i]) : ""},
                    {"isWorst", worst && type.factor == worst->first}});
  }
  return {{"svg", RenderBands("Lost time by factor: " + heading,
                              "Shares of the time of all cores, as in the table below.", bands)},
          {"largest", FormatCores(ends.largest)},
          {"last", ends.projected ? FormatCores(ends.last) : ""},
          {"measured", lost(*ends.measured)},
          {"projected", ends.projected ? lost(*ends.projected) : ""},
          {"rows", std::move(rows)}};
}

// The tags of verdict.txt.mustache; false without an efficiency.
Data Verdict(const Results& results, const std::vector<FactorRow>& rows, const PhaseProjection* projection,
             const Ends& ends) {
  const std::optional<KeptEfficiency> kept = FindKeptEfficiency(rows, projection);
  if (!kept) return false;
  const bool is_projected = projection != nullptr && projection->reliable_range.has_value();
  const double reliable = is_projected ? ReliableUpTo(*projection, kept->factor) : 0;
  const bool has_reference = KnowsTimesOnly(rows.back()) && results.table.reference;
  const auto worst = ends.Last() != nullptr ? LargestShare(*ends.Last()) : std::nullopt;
  // The reference is the run that the efficiency compares with; `reliable` is empty where nothing is beyond the runs.
  Data text = {{"level", fmt::format("{:g}", 100 * kept->level)},
               {"name", kept->factor == Factor::kGlobalEfficiency ? "efficiency" : NameInSentence(kept->factor)},
               {"reference", has_reference ? FormatCoreCount(static_cast<double>(*results.table.reference)) : ""},
               {"smallest", FormatCoreCount(kept->smallest)},
               {"largest", FormatCores(kept->largest)},
               {"value", FormatFactor(kept->at_largest)},
               {"worst", worst ? NameInSentence(worst->first) : ""},
               {"reliable", ""},
               {"ratio", ""},
               {"isProjected", is_projected}};
  if (is_projected && reliable > kept->largest) {
    const double fitted = projection->fitted_cores.back();  // runs that are held back may be larger
    text["reliable"] = FormatCoreCount(WholeCores(reliable));
    text["ratio"] =
        FormatRatio(reliable / fitted) + (fitted < kept->largest ? " the largest fitted run" : " the largest run");
  }
  // The count up to which the level is kept, in one of the ways that verdict.txt.mustache knows.
  const double last = WholeCores(reliable);
  const CountEstimate& count = kept->count;
  const bool is_open = count.value.kind == CountBound::Kind::kMoreThan;
  const bool has_interval = count.low && count.high && !(count.low == count.value && count.high == count.value);
  const bool is_below = count.value.kind == CountBound::Kind::kBelow, is_beyond = count.value.cores > kept->largest;
  const bool is_known = !is_below && (!is_beyond || kept->reliability == Reliability::kReliable);
  const bool is_guess = !is_below && !is_known;
  const bool is_uncertain = is_guess && !is_open && has_interval && kept->reliability == Reliability::kUncertain;
  const bool is_cut = is_guess && !is_uncertain, is_cut_at_runs = is_cut && last <= kept->largest;
  text.update({{"cores", is_uncertain ? FormatBound(*count.low) + " cores"
                         : is_cut     ? FormatCoreCount(std::max(last, kept->largest))
                                      : FormatCoreCount(count.value.cores)},
               {"interval", is_uncertain                           ? FormatBound(*count.high)
                            : is_known && !is_open && has_interval ? FormatCountBounds(count, "–")
                                                                   : ""},
               {"isBelow", is_below},
               {"isKept", is_known || is_cut_at_runs},
               {"isAtLeast", is_known && is_open && is_beyond},
               {"isMeasured", is_cut_at_runs || (is_known && is_open && !is_beyond)},
               {"isUncertain", is_uncertain},
               {"isAsFarAsReliable", is_cut && !is_cut_at_runs}});
  return text;
}

// Where the efficiency is kept, how far predictions are reliable, and what the largest loss would bring.
Data Numbers(const Data& verdict, const Ends& ends) {
  Data numbers = Data::array();
  const auto add = [&](const std::string& label, const std::string& value, const std::string& detail) {
    numbers.push_back({{"label", label}, {"value", value}, {"detail", detail}});
  };
  const auto text = [&](const char* tag) { return verdict[tag].get<std::string>(); };
  const auto is = [&](const char* tag) { return verdict[tag] == true; };
  add(text("level") + " % efficiency kept to", is("isBelow") ? "nowhere" : text("cores"),
      is("isBelow")             ? text("value") + " on " + text("largest")
      : is("isUncertain")       ? "perhaps " + text("interval")
      : is("isAtLeast")         ? "at least"
      : is("isAsFarAsReliable") ? "as far as is reliable"
      : is("isMeasured")        ? "as far as was run"
      : text("interval") == ""  ? "measured"
                                : text("interval") + " (80 %)");
  if (text("reliable").empty()) {
    add("Measured to", text("largest") + " cores", is("isProjected") ? "not reliable beyond" : "");
  } else {
    add("Reliable to", text("reliable"), text("ratio"));
  }
  const Split* last = ends.Last();
  const auto worst = last != nullptr ? LargestShare(*last) : std::nullopt;
  if (!worst) return numbers;
  const auto part = std::ranges::find(last->parts, worst->first, &std::pair<Factor, double>::first);
  const double gain = 1 / part->second - 1;
  if (gain < kSmallGain) return numbers;
  const std::string faster = gain < 1     ? FormatPercent(gain) + " faster"
                             : gain <= 10 ? fmt::format("{:.1f} times as fast", 1 + gain)
                                          : "more than 10 times as fast";
  add("Largest potential gain", Name(worst->first),
      fmt::format("{} if it were perfect, on {}", faster, FormatCoreCount(ends.CoresOfLast())));
  return numbers;
}

}  // namespace

bool IsPartOfTheWhole(const PhaseProjection& phase, Factor factor) {
  const FactorProjection* own = phase.Find(factor);
  if (own != nullptr && !IsShown(*own)) return false;
  std::vector<Factor> fitted;
  for (const FactorProjection& projection : phase.factors) {
    if (!projection.curve.empty() && !projection.is_product) fitted.push_back(projection.factor);
  }
  const std::vector<Factor> losses = LossesAmong(fitted);
  return std::ranges::find(losses, factor) != losses.end();
}

std::vector<const FactorProjection*> ChartedFactors(const PhaseProjection& phase) {
  std::vector<const FactorProjection*> chosen;
  for (const FactorProjection& projection : phase.factors) {
    const bool is_whole =
        projection.factor == Factor::kGlobalEfficiency || projection.factor == Factor::kParallelEfficiency;
    if (!projection.curve.empty() && (is_whole || IsPartOfTheWhole(phase, projection.factor))) {
      chosen.push_back(&projection);
    }
  }
  return chosen;
}

Chart SmallMultiple(const PhaseProjection& projection, const std::string& heading) {
  Chart chart = EfficiencyChart(projection, "Efficiency against cores: " + heading);
  chart.description = "Measured and projected efficiency of " + heading + " against the number of cores.";
  chart.width = 340;
  chart.height = 170;
  chart.legend = LegendPlace::kBeside;
  chart.x_label = chart.y_label = chart.split_label = chart.reliable_label = chart.unknown_label = "";
  const FactorProjection* global = projection.Find(Factor::kGlobalEfficiency);
  const bool has_global = global != nullptr && !global->curve.empty();
  if (const FactorProjection* graded = has_global ? global : Headline(projection)) {  // as verdicts do
    chart.series = {FactorSeries(*graded, true)};
    chart.series.front().outer_band.clear();
    MarkReliableRange(projection, graded->factor, chart);
    chart.reliable_label = chart.unknown_label = "";
  }
  chart.y_min = LowestShown(chart);
  return chart;
}

std::optional<double> CommonTarget(const std::vector<const Results*>& studies) {
  std::map<double, std::size_t> reliable;  // in how many phases
  std::size_t phases = 0;
  for (const Results* results : studies) {
    for (const PhaseProjection& projection : results->projections) {
      const FactorProjection* headline = projection.obstacle.empty() ? Headline(projection) : nullptr;
      if (headline == nullptr) continue;
      const Ends ends = FindEnds(results->table.Rows({projection.series, projection.phase}), &projection);
      ++phases;
      for (const ProjectedValue& target : headline->targets) {
        if (target.cores > ends.largest && target.cores <= ends.last) ++reliable[target.cores];
      }
    }
  }
  std::optional<double> common;
  for (const auto& [cores, count] : reliable) {
    if (2 * count > phases) common = cores;
  }
  return phases > 1 ? common : std::nullopt;
}

std::optional<std::pair<Factor, double>> FindCostliest(const std::vector<FactorRow>& rows,
                                                       const PhaseProjection* projection,
                                                       std::optional<double> common) {
  const Ends ends = FindEnds(rows, projection, common);
  return ends.Last() != nullptr ? LargestShare(*ends.Last()) : std::nullopt;
}

Data OverviewWithoutFigures(const Results& results, const std::vector<FactorRow>& rows,
                            const PhaseProjection* projection, const PhaseNames& names, const Partials& texts,
                            std::optional<double> common) {
  const Ends ends = FindEnds(rows, projection, common);
  Data tags = {{"verdict", ""},
               {"sure", ""},
               {"numbers", Data::array()},
               {"figure", false},
               {"narrow", ""},
               {"small", ""},
               {"lost", LostTime(ends, names.heading)},
               {"nextRun", ""},
               {"notes", Data::array()}};
  if (const Data verdict = Verdict(results, rows, projection, ends); verdict != false) {
    tags["verdict"] = Join(RenderSentences(texts, "verdict.txt", verdict), " ");
    tags["numbers"] = Numbers(verdict, ends);
    const bool has_splits = !rows.empty() && KnowsSplits(results.splits, rows.front().Key());
    if (has_splits && verdict["reliable"] == "") tags["numbers"][1]["detail"] = "";  // they go further
  }
  if (projection != nullptr && projection->obstacle.empty()) {
    tags["notes"] = DescribeCertainty(*projection, texts);
    std::vector<std::string> steps = NextStepsForTargets({*projection}, texts);
    if (std::string run = SuggestNextRun(*projection, texts); !run.empty()) steps.insert(steps.begin(), std::move(run));
    tags["nextRun"] = Join(steps, " ");
    if (!rows.empty()) tags["sure"] = BacktestInShort(results, rows.back().series, rows.back().phase, texts);
  }
  return tags;
}

Data OverviewWithFigures(const Results& results, const std::vector<FactorRow>& rows, const PhaseProjection* projection,
                         const PhaseNames& names, const ReportParts& parts) {
  Data tags = OverviewWithoutFigures(results, rows, projection, names, parts.texts, parts.common);
  if (projection == nullptr || !projection->obstacle.empty()) return tags;
  Chart chart = OverviewChart(results, *projection, names.heading);
  tags["figure"] = AddChart(chart, names.anchor + "-projection.svg", parts.model);
  if (results.table.Keys().size() <= kMostNarrowCharts) {  // in its own pixels on a phone, so that its text can be read
    chart.width = 380;
    chart.height = 360;
    chart.legend = LegendPlace::kAbove;
    chart.title = "Efficiency against cores";  // there is no room for the phase
    tags["narrow"] = RenderSvg(chart, false);
  }
  tags["small"] = RenderSvg(SmallMultiple(*projection, names.heading), false);
  return tags;
}

}  // namespace farscale
