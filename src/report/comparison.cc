#include "report/comparison.h"

#include <fmt/format.h>

#include <cmath>

#include "base/format.h"
#include "base/text.h"
#include "report/evidence.h"
#include "report/figures.h"
#include "report/pop_colors.h"

namespace farscale {
namespace {

using Data = ReportData;

constexpr Factor kCompared[] = {Factor::kGlobalEfficiency, Factor::kParallelEfficiency,
                                Factor::kLoadBalance,      Factor::kSerialization,
                                Factor::kTransfer,         Factor::kComputationScalability};

constexpr double kVisible = 0.0005;  // of an efficiency as printed

// One variant of one phase; the first is what was measured.
struct Side {
  std::string name;
  std::vector<FactorRow> rows;
  const PhaseProjection* projection = nullptr;
  bool is_noise = true;
};

const PhaseProjection* Find(const std::vector<PhaseProjection>& projections, const std::string& series,
                            const PhaseId& phase) {
  for (const PhaseProjection& projection : projections) {
    if (projection.series == series && projection.phase == phase) return &projection;
  }
  return nullptr;
}

std::vector<Side> SidesOf(const Results& results, const std::string& series, const PhaseId& phase) {
  std::vector<Side> sides = {
      {"as measured", results.table.Rows(series, phase), Find(results.projections, series, phase), true}};
  for (const Variant& variant : results.variants) {
    sides.push_back(
        {variant.name, variant.table.Rows(series, phase), Find(variant.projections, series, phase), variant.is_noise});
  }
  return sides;
}

Data Columns(const std::vector<FactorRow>& rows) {
  Data columns = Data::array();
  for (const FactorRow& row : rows) {
    columns.push_back({{"cores", FormatCores(static_cast<double>(row.cores))},
                       {"repeat", row.repeat > 0 ? fmt::format("repeat {}", row.repeat) : ""}});
  }
  return columns;
}

template <typename Cell>
void AddRows(const std::vector<Side>& sides, const std::string& name, std::string_view factor, Cell cell, Data& rows) {
  for (std::size_t i = 0; i < sides.size(); ++i) {
    Data cells = Data::array();
    for (const FactorRow& row : sides[i].rows) cells.push_back(cell(row));
    rows.push_back({{"name", i == 0 ? name : ""},
                    {"factor", std::string(factor)},
                    {"variant", sides[i].name},
                    {"isFirst", i == 0},
                    {"cells", cells}});
  }
}

Data Rows(const std::vector<Side>& sides) {
  Data rows = Data::array();
  for (const Factor factor : kCompared) {
    if (!sides.front().rows.empty() && !sides.front().rows.front().values[factor]) continue;
    AddRows(
        sides, Name(factor), Describe(factor).id,
        [&](const FactorRow& row) -> Data {
          const auto& value = row.values[factor];
          return {{"text", value ? FormatValue(factor, *value) : "–"},
                  {"color", value ? PopColor(*value) : kNoColor},
                  {"tone", value ? PopTone(*value) : kNoTone}};
        },
        rows);
  }
  AddRows(
      sides, "Run time of the phase", "",
      [](const FactorRow& row) -> Data {
        return {{"text", row.runtime ? FormatSeconds(*row.runtime) : "–"}, {"color", kNoColor}, {"tone", kNoTone}};
      },
      rows);
  return rows;
}

// Targets below each other, variants side by side: the headline efficiency with its interval.
Data Targets(const std::vector<Side>& sides) {
  Data targets = Data::array();
  const FactorProjection* first = sides.front().projection != nullptr ? HeadlineOf(*sides.front().projection) : nullptr;
  if (first == nullptr) return targets;
  for (std::size_t i = 0; i < first->targets.size(); ++i) {
    Data cells = Data::array();
    for (const Side& side : sides) {
      const FactorProjection* found = side.projection != nullptr ? side.projection->Find(first->factor) : nullptr;
      if (found == nullptr || i >= found->targets.size()) {
        cells.push_back({{"text", "–"},
                         {"interval", ""},
                         {"hasInterval", false},
                         {"measured", ""},
                         {"hasMeasured", false},
                         {"color", kNoColor},
                         {"tone", kNoTone}});
        continue;
      }
      cells.push_back(ProjectedCell(*side.projection, first->factor, found->targets[i], true));
    }
    targets.push_back({{"cores", FormatCores(first->targets[i].cores)},
                       {"ratio", FormatRatio(first->targets[i].ratio)},
                       {"isEvidence", IsEvidence(*sides.front().projection, first->targets[i].cores)},
                       {"cells", cells}});
  }
  return targets;
}

// Where the evidence of a curve ends, when that is before the line of the chart.
std::optional<double> EndsEarlier(const Side& side, Factor factor, const Chart& chart) {
  const double end = EvidenceUpTo(*side.projection, factor);
  return chart.horizon_x && end < *chart.horizon_x ? std::optional(end) : std::nullopt;
}

std::optional<Chart> FigureOf(const std::vector<Side>& sides, const std::string& heading) {
  const FactorProjection* first = sides.front().projection != nullptr ? HeadlineOf(*sides.front().projection) : nullptr;
  if (first == nullptr) return std::nullopt;
  Chart chart = EfficiencyChart(*sides.front().projection, Name(first->factor) + ": " + heading);
  chart.description = Name(first->factor) + " of " + heading +
                      " on the machine of the runs and on others, measured and projected, "
                      "against cores.";
  MarkHorizon(*sides.front().projection, first->factor, chart);
  chart.width = 860;
  int color = 0;
  for (const Side& side : sides) {
    const FactorProjection* found = side.projection != nullptr ? side.projection->Find(first->factor) : nullptr;
    if (found == nullptr) continue;
    ChartSeries series;
    series.name = &side == &sides.front() ? "on the machine of the runs" : side.name;
    series.id = Describe(first->factor).id;
    series.side = static_cast<int>(&side - sides.data());
    series.color = color++;
    series.line = LineOf(*found);
    series.evidence_x = EndsEarlier(side, first->factor, chart);
    series.points = PointsOf(*found);
    if (&side == &sides.front()) series.inner_band = BandOf(*found, true);
    chart.series.push_back(series);
  }
  return chart;
}

// Which of the factors gains most in the logarithm, as a product counts it.
Factor LargestGain(const FactorRow& from, const FactorRow& to) {
  Factor best = Factor::kLoadBalance;
  double gain = -1e300;
  for (const Factor factor : {Factor::kLoadBalance, Factor::kSerialization, Factor::kTransfer}) {
    if (!from.values[factor] || !to.values[factor]) continue;
    const double now = std::log(*to.values[factor] / *from.values[factor]);
    if (now > gain) {
      gain = now;
      best = factor;
    }
  }
  return best;
}

std::string NoiseSentence(const Side& measured, const Side& clean) {
  const FactorRow& from = measured.rows.back();
  const FactorRow& to = clean.rows.back();
  const double before = *from.values[Factor::kParallelEfficiency], after = *to.values[Factor::kParallelEfficiency];
  const std::string sentence =
      fmt::format("At {} cores parallel efficiency is {} as measured and {} {}",
                  FormatCores(static_cast<double>(from.cores)), FormatFactor(before), FormatFactor(after), clean.name);
  if (!clean.is_noise) return sentence + ".";
  if (after < before - kVisible) {
    return sentence + ": the network it was replayed on is slower than that of the run, so this says nothing of noise.";
  }
  if (after <= before + kVisible) return sentence + ": noise explains none of the loss.";
  const Factor factor = LargestGain(from, to);
  const std::string share = FormatPercent(std::log(after / before) / -std::log(before));
  const std::string now = FormatFactor(*to.values[factor]), then = FormatFactor(*from.values[factor]);
  if (now == then) return sentence + fmt::format(": that is {} of the loss.", share);
  return sentence + fmt::format(": that is {} of the loss, most of it in {} ({} instead of {}).", share,
                                NameInSentence(factor), now, then);
}

std::string WhatIfSentence(const Side& measured, const Side& other) {
  const FactorRow& from = measured.rows.back();
  const FactorRow& to = other.rows.back();
  std::string sentence = fmt::format(
      "At {} cores, {}: parallel efficiency {} instead of {}", FormatCores(static_cast<double>(from.cores)), other.name,
      FormatFactor(*to.values[Factor::kParallelEfficiency]), FormatFactor(*from.values[Factor::kParallelEfficiency]));
  if (from.runtime && to.runtime) {
    sentence += fmt::format(", run time {} instead of {} ({:.2f}× as fast)", FormatSeconds(*to.runtime),
                            FormatSeconds(*from.runtime), *from.runtime / *to.runtime);
  }
  return sentence + ".";
}

}  // namespace

std::vector<std::string> SummarizeComparison(const Results& results, const std::string& series, const PhaseId& phase) {
  std::vector<std::string> sentences;
  if (results.variants.empty()) return sentences;
  const std::vector<Side> sides = SidesOf(results, series, phase);
  for (std::size_t i = 1; i < sides.size(); ++i) {
    const auto known = [](const Side& side) {
      return !side.rows.empty() && side.rows.back().values[Factor::kParallelEfficiency];
    };
    if (!known(sides.front()) || !known(sides[i])) continue;
    const bool noise = results.comparison == Comparison::kNoise;
    sentences.push_back(noise ? NoiseSentence(sides.front(), sides[i]) : WhatIfSentence(sides.front(), sides[i]));
  }
  return sentences;
}

PhaseComparison ComparePhase(const Results& results, const std::string& series, const PhaseId& phase,
                             const std::string& heading) {
  PhaseComparison comparison;
  const bool has = !results.variants.empty();
  const std::vector<Side> sides = SidesOf(results, series, phase);
  if (has) comparison.figure = FigureOf(sides, heading);
  Data variants = Data::array(), sentences = Data::array(), names = Data::array();
  for (const Variant& variant : results.variants) {
    variants.push_back({{"name", variant.name}, {"description", variant.description}});
  }
  for (const std::string& sentence : SummarizeComparison(results, series, phase)) sentences.push_back(sentence);
  for (const Side& side : sides) names.push_back({{"name", &side == &sides.front() ? kProjected : side.name}});
  comparison.data = {{"hasComparison", has},
                     {"comparisonTitle", results.comparison == Comparison::kNoise ? "Without noise" : "What if"},
                     {"comparisonFindings", sentences},
                     {"variants", variants},
                     {"comparisonColumns", Columns(sides.front().rows)},
                     {"comparisonRows", has ? Rows(sides) : Data::array()},
                     {"comparisonNames", names},
                     {"comparisonTargets", has ? Targets(sides) : Data::array()},
                     {"hasComparisonFigure", comparison.figure.has_value()},
                     {"comparisonFigure", {{"svg", ""}, {"file", ""}, {"alt", ""}}}};
  return comparison;
}

}  // namespace farscale
