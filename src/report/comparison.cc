#include "report/sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace farscale {
namespace {

using Data = ReportData;

constexpr Factor kCompared[] = {Factor::kGlobalEfficiency, Factor::kParallelEfficiency,
                                Factor::kLoadBalance,      Factor::kSerialization,
                                Factor::kTransfer,         Factor::kComputationScalability};

constexpr double kVisible = 0.0005;  // half a printed digit of an efficiency

// One variant of one phase; the first is what was measured.
struct Side {
  std::string name;
  std::vector<FactorRow> rows;
  const PhaseProjection* projection = nullptr;
  bool is_noise = true;
};

std::vector<Side> VariantSides(const Results& results, const std::string& series, const PhaseId& phase) {
  std::vector<Side> sides = {
      {"as measured", results.table.Rows(series, phase), FindPhase(results.projections, {series, phase}), true}};
  for (const Variant& variant : results.variants) {
    sides.push_back({variant.name, variant.table.Rows(series, phase), FindPhase(variant.projections, {series, phase}),
                     variant.is_noise});
  }
  return sides;
}

Data ComparedRows(const std::vector<Side>& sides) {
  Data rows = Data::array();
  const auto add = [&](const std::string& name, std::string_view factor, const auto& cell) {
    for (std::size_t i = 0; i < sides.size(); ++i) {
      Data cells = Data::array();
      for (const FactorRow& run : sides[i].rows) cells.push_back(cell(run));
      rows.push_back({{"name", i == 0 ? name : ""},
                      {"factor", factor},
                      {"variant", sides[i].name},
                      {"isFirst", i == 0},
                      {"cells", std::move(cells)}});
    }
  };
  for (const Factor factor : kCompared) {
    if (!sides.front().rows.empty() && !sides.front().rows.front().values[factor]) continue;
    add(Name(factor), Describe(factor).id, [&](const FactorRow& row) {
      const auto& value = row.values[factor];
      return ColoredCell(value ? FormatValue(factor, *value) : "–", value);
    });
  }
  add("Run time of the phase", "",
      [](const FactorRow& row) { return ColoredCell(row.runtime ? FormatSeconds(*row.runtime) : "–", {}); });
  return rows;
}

Chart ComparedChart(const std::vector<Side>& sides, const FactorProjection* first, const std::string& heading) {
  Chart chart = EfficiencyChart(*sides.front().projection, Name(first->factor) + ": " + heading);
  chart.description = Name(first->factor) + " of " + heading +
                      " on the machine of the runs and on others, measured and projected, "
                      "against cores.";
  MarkReliableRange(*sides.front().projection, first->factor, chart);
  chart.width = 860;
  for (const Side& side : sides) {
    const FactorProjection* found = side.projection != nullptr ? side.projection->Find(first->factor) : nullptr;
    if (found == nullptr) continue;
    const bool is_first = &side == &sides.front();
    ChartSeries series = FactorSeries(*found, is_first);
    series.outer_band.clear();
    series.name = is_first ? "on the machine of the runs" : side.name;
    series.side = static_cast<int>(&side - sides.data());
    series.color = static_cast<int>(chart.series.size());
    const double end = ReliableUpTo(*side.projection, first->factor);
    if (chart.reliable_to_x && end < *chart.reliable_to_x) series.reliable_x = end;
    chart.series.push_back(series);
  }
  return chart;
}

// The tags of comparison.txt.mustache: parallel efficiency of the largest run of a phase, as measured and as a variant.
Data ComparisonText(const Side& measured, const Side& other, bool is_noise) {
  const FactorRow &from = measured.rows.back(), &to = other.rows.back();
  const double before = *from.values[Factor::kParallelEfficiency], after = *to.values[Factor::kParallelEfficiency];
  const bool is_explained = is_noise && other.is_noise;
  const bool is_slower = is_explained && after < before - kVisible;
  const bool is_none = is_explained && !is_slower && after <= before + kVisible;
  Data text = {{"cores", FormatCores(static_cast<double>(from.cores))},
               {"variant", other.name},
               {"before", FormatFactor(before)},
               {"after", FormatFactor(after)},
               {"isNoise", is_noise},
               {"isSlower", is_slower},
               {"isNone", is_none},
               {"share", ""},  // share of the loss that noise explains
               {"factor", false},
               {"runtime", false}};
  if (!is_noise && from.runtime && to.runtime) {
    text["runtime"] = {{"before", FormatSeconds(*from.runtime)},
                       {"after", FormatSeconds(*to.runtime)},
                       {"ratio", fmt::format("{:.2f}", *from.runtime / *to.runtime)}};
  }
  if (!is_explained || is_slower || is_none) return text;
  text["share"] = FormatPercent(std::log(after / before) / -std::log(before));
  Factor factor = Factor::kLoadBalance;  // that gains most in the logarithm, as a product counts it
  double gain = -1e300;
  for (const Factor part : {Factor::kLoadBalance, Factor::kSerialization, Factor::kTransfer}) {
    if (!from.values[part] || !to.values[part]) continue;
    const double now = std::log(*to.values[part] / *from.values[part]);
    if (now > gain) factor = part;
    gain = std::max(gain, now);
  }
  const std::string now = FormatFactor(*to.values[factor]), then = FormatFactor(*from.values[factor]);
  if (now != then) text["factor"] = {{"name", NameInSentence(factor)}, {"before", now}, {"after", then}};
  return text;
}

}  // namespace

std::vector<std::string> SummarizeComparison(const Results& results, const std::string& series, const PhaseId& phase,
                                             const Partials& texts) {
  std::vector<std::string> sentences;
  if (results.variants.empty()) return sentences;
  const std::vector<Side> sides = VariantSides(results, series, phase);
  for (std::size_t i = 1; i < sides.size(); ++i) {
    const auto known = [](const Side& side) {
      return !side.rows.empty() && side.rows.back().values[Factor::kParallelEfficiency];
    };
    if (!known(sides.front()) || !known(sides[i])) continue;
    const Data text = ComparisonText(sides.front(), sides[i], !results.is_what_if);
    std::ranges::move(RenderSentences(texts, "comparison.txt", text), std::back_inserter(sentences));
  }
  return sentences;
}

Data ComparePhase(const Results& results, const std::string& series, const PhaseId& phase, const PhaseNames& names,
                  const Partials& texts, ReportModel& model) {
  if (results.variants.empty()) return false;
  const std::vector<Side> sides = VariantSides(results, series, phase);
  Data variants = Data::array(), projected = false;
  for (const Variant& variant : results.variants)
    variants.push_back(Data{{"name", variant.name}, {"description", variant.description}});
  const FactorProjection* first = sides.front().projection != nullptr ? Headline(*sides.front().projection) : nullptr;
  if (first != nullptr) {
    Data targets = Data::array();  // below each other, variants side by side: the headline efficiency with its interval
    for (std::size_t i = 0; i < first->targets.size(); ++i) {
      const ProjectedValue& at = first->targets[i];
      Data cells = Data::array();
      for (const Side& side : sides) {
        const FactorProjection* found = side.projection != nullptr ? side.projection->Find(first->factor) : nullptr;
        const bool has_value = found != nullptr && i < found->targets.size();
        cells.push_back(
            has_value
                ? FormatCell(*side.projection, first->factor, found->targets[i], true)
                : Data{{"text", "–"}, {"interval", ""}, {"measured", ""}, {"color", kNoColor}, {"tone", kNoTone}});
      }
      targets.push_back({{"cores", FormatCores(at.cores)},
                         {"ratio", FormatRatio(at.ratio)},
                         {"reliability", ReliabilityLabel(ReliabilityOf(*sides.front().projection, at.cores))},
                         {"cells", std::move(cells)}});
    }
    projected = {
        {"figure", AddChart(ComparedChart(sides, first, names.heading), names.anchor + "-comparison.svg", model)},
        {"names", Data::array()},
        {"targets", std::move(targets)}};
    for (const Side& side : sides)
      projected["names"].push_back(
          Data{{"name", &side == &sides.front() ? kProjected : side.name}, {"description", ""}});
  }
  return {{"title", results.is_what_if ? "What if" : "Without noise"},
          {"sentences", SummarizeComparison(results, series, phase, texts)},
          {"variants", std::move(variants)},
          {"columns", RunColumns(sides.front().rows)},
          {"rows", ComparedRows(sides)},
          {"projected", std::move(projected)}};
}

}  // namespace farscale
