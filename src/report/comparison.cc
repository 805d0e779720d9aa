#include "report/comparison.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"

namespace farscale {
namespace {

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

template <typename Cell>
void AddRows(const std::vector<Side>& sides, const std::string& name, std::string_view factor, Cell cell,
             std::vector<ComparisonRow>& rows) {
  for (std::size_t i = 0; i < sides.size(); ++i) {
    ComparisonRow row{i == 0 ? name : "", std::string(factor), sides[i].name, i == 0, {}};
    for (const FactorRow& run : sides[i].rows) row.cells.push_back(cell(run));
    rows.push_back(std::move(row));
  }
}

std::vector<ComparisonRow> RowsOf(const std::vector<Side>& sides) {
  std::vector<ComparisonRow> rows;
  for (const Factor factor : kCompared) {
    if (!sides.front().rows.empty() && !sides.front().rows.front().values[factor]) continue;
    const auto cell = [&](const FactorRow& row) {
      const auto& value = row.values[factor];
      return ColoredCell(value ? FormatValue(factor, *value) : "–", value);
    };
    AddRows(sides, Name(factor), Describe(factor).id, cell, rows);
  }
  const auto cell = [](const FactorRow& row) {
    return ColoredCell(row.runtime ? FormatSeconds(*row.runtime) : "–", {});
  };
  AddRows(sides, "Run time of the phase", "", cell, rows);
  return rows;
}

// Targets below each other, variants side by side: the headline efficiency with its interval.
std::vector<ComparisonTarget> TargetsOf(const std::vector<Side>& sides, const FactorProjection& first) {
  std::vector<ComparisonTarget> targets;
  for (std::size_t i = 0; i < first.targets.size(); ++i) {
    const ProjectedValue& at = first.targets[i];
    ComparisonTarget target{
        FormatCores(at.cores), FormatRatio(at.ratio), LabelOf(ReliabilityOf(*sides.front().projection, at.cores)), {}};
    for (const Side& side : sides) {
      const FactorProjection* found = side.projection != nullptr ? side.projection->Find(first.factor) : nullptr;
      const bool has_value = found != nullptr && i < found->targets.size();
      target.cells.push_back(has_value ? CellOf(*side.projection, first.factor, found->targets[i], true)
                                       : ProjectedCell{"–", "", "", kNoColor, kNoTone});
    }
    targets.push_back(std::move(target));
  }
  return targets;
}

// Where the reliable range of a curve ends, when that is before the line of the chart.
std::optional<double> EndsEarlier(const Side& side, Factor factor, const Chart& chart) {
  const double end = ReliableUpTo(*side.projection, factor);
  return chart.reliable_to_x && end < *chart.reliable_to_x ? std::optional(end) : std::nullopt;
}

Chart ChartOf(const std::vector<Side>& sides, const FactorProjection* first, const std::string& heading) {
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
    ChartSeries series = SeriesOf(*found, is_first);
    series.outer_band.clear();
    series.name = is_first ? "on the machine of the runs" : side.name;
    series.side = static_cast<int>(&side - sides.data());
    series.color = static_cast<int>(chart.series.size());
    series.reliable_x = EndsEarlier(side, first->factor, chart);
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

struct ChangeText {
  FARSCALE_TEXTS(name, before, after, ratio)
};

// The tags of comparison.txt.mustache: the largest run of a phase as measured and as a variant.
struct ComparisonText {
  std::string cores, variant, before, after;  // parallel efficiency
  bool is_noise = false, is_slower = false, is_none = false;
  std::string share;  // of the loss that noise explains
  std::optional<ChangeText> factor, runtime;
  FARSCALE_TAGS(cores, variant, before, after, is_noise, is_slower, is_none, share, factor, runtime)
};

ComparisonText TextOf(const Side& measured, const Side& other, bool is_noise) {
  const FactorRow &from = measured.rows.back(), &to = other.rows.back();
  const double before = *from.values[Factor::kParallelEfficiency], after = *to.values[Factor::kParallelEfficiency];
  ComparisonText text{.cores = FormatCores(static_cast<double>(from.cores)), .variant = other.name};
  text.before = FormatFactor(before);
  text.after = FormatFactor(after);
  text.is_noise = is_noise;
  if (!is_noise && from.runtime && to.runtime) {
    text.runtime = ChangeText{"", FormatSeconds(*from.runtime), FormatSeconds(*to.runtime),
                              fmt::format("{:.2f}", *from.runtime / *to.runtime)};
  }
  if (!is_noise || !other.is_noise) return text;
  text.is_slower = after < before - kVisible;
  text.is_none = !text.is_slower && after <= before + kVisible;
  if (text.is_slower || text.is_none) return text;
  text.share = FormatPercent(std::log(after / before) / -std::log(before));
  const Factor factor = LargestGain(from, to);
  const std::string now = FormatFactor(*to.values[factor]), then = FormatFactor(*from.values[factor]);
  if (now != then) text.factor = ChangeText{NameInSentence(factor), now, then, ""};
  return text;
}

}  // namespace

std::vector<std::string> SummarizeComparison(const Results& results, const std::string& series, const PhaseId& phase,
                                             const Partials& texts) {
  std::vector<std::string> sentences;
  if (results.variants.empty()) return sentences;
  const std::vector<Side> sides = SidesOf(results, series, phase);
  for (std::size_t i = 1; i < sides.size(); ++i) {
    const auto known = [](const Side& side) {
      return !side.rows.empty() && side.rows.back().values[Factor::kParallelEfficiency];
    };
    if (!known(sides.front()) || !known(sides[i])) continue;
    const ComparisonText text = TextOf(sides.front(), sides[i], results.comparison == Comparison::kNoise);
    for (std::string& one : RenderSentences(texts, "comparison.txt", ToData(text))) sentences.push_back(std::move(one));
  }
  return sentences;
}

std::optional<ComparisonSection> ComparePhase(const Results& results, const std::string& series, const PhaseId& phase,
                                              const PhaseNames& names, const Partials& texts, ReportModel& model) {
  if (results.variants.empty()) return std::nullopt;
  const std::vector<Side> sides = SidesOf(results, series, phase);
  ComparisonSection section{.title = results.comparison == Comparison::kNoise ? "Without noise" : "What if"};
  section.sentences = SummarizeComparison(results, series, phase, texts);
  for (const Variant& variant : results.variants) section.variants.push_back({variant.name, variant.description});
  section.columns = ColumnsOf(sides.front().rows);
  section.rows = RowsOf(sides);
  const FactorProjection* first = sides.front().projection != nullptr ? HeadlineOf(*sides.front().projection) : nullptr;
  if (first == nullptr) return section;
  const Chart chart = ChartOf(sides, first, names.heading);
  section.projected =
      ComparedProjections{AddChart(chart, names.anchor + "-comparison.svg", model), {}, TargetsOf(sides, *first)};
  for (const Side& side : sides)
    section.projected->names.push_back({&side == &sides.front() ? kProjected : side.name, ""});
  return section;
}

}  // namespace farscale
