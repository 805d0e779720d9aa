#include "report/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"

namespace farscale {
namespace {

// Half a unit of the last of three digits.
double HalfDigit(double value) { return 0.5 * std::pow(10, std::floor(std::log10(value)) - 2); }

std::string Mix(const std::array<double, 3>& a, const std::array<double, 3>& b, double share) {
  std::string color = "#";
  for (std::size_t i = 0; i < 3; ++i) {
    color += fmt::format("{:02x}", static_cast<int>(std::lround(a[i] + (b[i] - a[i]) * share)));
  }
  return color;
}

constexpr double kLargestGain = 10;  // chosen: more than that is no loss that somebody removes

// Targets are the same for all factors.
std::vector<double> AllTargets(const PhaseProjection& projection) {
  std::vector<double> targets;
  for (const FactorProjection& factor : projection.factors) {
    if (!factor.targets.empty() && targets.empty()) {
      for (const ProjectedValue& target : factor.targets) targets.push_back(target.cores);
    }
  }
  return targets;
}

using Reach = ReliableRange::Reach;

// "uncertain beyond 32", or "unknown beyond 32" where nothing is known there.
std::string LabelBeyond(double reliable, double uncertain) {
  return (uncertain > reliable ? "uncertain beyond " : "unknown beyond ") + FormatCores(reliable);
}

// `uncertain`: up to where; nothing is marked where the curve ends before.
void MarkUnknown(const FactorProjection* factor, double uncertain, Chart& chart) {
  if (factor != nullptr && !factor->curve.empty() && uncertain < factor->curve.back().cores) {
    chart.uncertain_to_x = uncertain;
    chart.unknown_label = "unknown beyond " + FormatCores(uncertain);
  }
}

}  // namespace

std::string Name(Factor factor) { return std::string(Describe(factor).name); }

std::string Capital(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

std::string ListInWords(std::vector<std::string> texts) {
  if (texts.size() < 2) return Join(texts, "");
  const std::string last = texts.back();
  texts.pop_back();
  return Join(texts, ", ") + " and " + last;
}

std::string PhaseHeading(const std::string& series, const PhaseId& phase) {
  if (phase.IsUnnamed()) return series;
  return (series.empty() ? "Phase " : series + ", phase ") + phase.Text();
}

std::string NameOfPhase(const PhaseKey& key, bool several_series) {
  const std::string phase = key.phase.IsUnnamed() ? "" : key.phase.Text();
  if (!several_series || key.series.empty()) return phase;
  return key.series + (phase.empty() ? "" : ", " + phase);
}

std::string FormatValue(Factor factor, double value) {
  return factor == Factor::kSpeedup ? FormatSpeedup(value) : FormatFactor(value);
}

std::string FormatError(Factor factor, double value, const std::optional<double>& error) {
  if (!error) return "";
  const bool is_small = value < 0.01;  // printed with two digits instead of three decimals
  if (is_small) return *error < 10 * HalfDigit(value) ? "" : FormatSignificant(*error, 1);
  if (factor != Factor::kSpeedup) return *error < 0.0005 ? "" : fmt::format("{:.3f}", *error);
  return *error < std::max(0.005, HalfDigit(value)) ? "" : FormatSpeedup(*error);
}

std::string FormatSecondsError(double seconds, const std::optional<double>& error) {
  return !error || *error < HalfDigit(seconds) ? "" : FormatSeconds(*error);
}

std::string FormatBounds(Factor factor, const std::optional<IntervalBounds>& interval, const char* between) {
  if (!interval) return "unknown";
  return FormatValue(factor, interval->low) + between + FormatValue(factor, interval->high);
}

std::string FormatTimeBounds(const OpenBounds& bounds) {
  if (!bounds.high) return "more than " + FormatSeconds(bounds.low);
  return FormatRange(FormatSeconds(bounds.low), FormatSeconds(*bounds.high));
}

std::string FormatTime(double seconds, const std::optional<OpenBounds>& bounds) {
  const std::string value = FormatSeconds(seconds);
  if (!bounds) return value;
  std::string interval = FormatTimeBounds(*bounds);
  const std::string unit = value.substr(value.rfind(' '));
  const bool is_shared = bounds->high && interval.ends_with(unit) && std::ranges::count(interval, ' ') == 1;
  if (is_shared) interval.resize(interval.size() - unit.size());
  return fmt::format("{} ({})", value, interval);
}

std::string MeasuredAt(const FactorProjection& projection, double cores) {
  std::vector<std::string> values;
  for (const DataPoint& point : projection.measured) {
    if (point.cores == cores) values.push_back(FormatValue(projection.factor, point.value));
  }
  return Join(values, ", ");
}

ChartSeries FactorSeries(const FactorProjection& projection, bool has_bands) {
  ChartSeries series;
  series.id = Describe(projection.factor).id;
  for (const ProjectedValue& value : projection.curve) {
    series.line.push_back({value.cores, value.value, ""});
    const auto &inner = value.interval80, &outer = value.interval95;
    if (has_bands && inner) series.inner_band.push_back({value.cores, inner->low, inner->high});
    if (has_bands && outer) series.outer_band.push_back({value.cores, outer->low, outer->high});
  }
  for (const DataPoint& point : projection.measured) {
    series.points.push_back({point.cores, point.value,
                             fmt::format("{} at {} cores: {} (measured)", Name(projection.factor),
                                         FormatCores(point.cores), FormatValue(projection.factor, point.value))});
  }
  return series;
}

Chart EfficiencyChart(const PhaseProjection& projection, const std::string& title) {
  Chart chart;
  chart.title = title;
  chart.x_label = "cores (logarithmic)";
  chart.y_label = "efficiency";
  chart.y_max = 1;
  if (!projection.fitted_cores.empty()) chart.split_x = projection.fitted_cores.back();
  chart.split_label = "extrapolated";
  MarkReliableRange(projection, chart);
  chart.x_end = ShownUpTo(projection);
  return chart;
}

double LowestShown(const Chart& chart) {
  double lowest = 1;
  const auto is_shown = [&](double x) { return x <= chart.x_end.value_or(x) && x <= chart.uncertain_to_x.value_or(x); };
  for (const ChartSeries& series : chart.series) {
    for (const auto* points : {&series.line, &series.points}) {
      for (const ChartPoint& point : *points) {
        if (is_shown(point.x)) lowest = std::min(lowest, point.y);
      }
    }
    for (const ChartBand& band : series.inner_band) {
      if (is_shown(band.x)) lowest = std::min(lowest, band.low);
    }
  }
  return std::max(0.0, lowest);
}

void AddFigureFiles(const ReportModel& model, NamedTexts& files) {
  for (const auto& [name, svg] : model.figures) files.emplace_back(std::filesystem::path("figures") / name, svg + "\n");
}

ReportData AddChart(const Chart& chart, const std::string& name, ReportModel& model) {
  return AddFigure(model, name, RenderSvg(chart, false), RenderSvg(chart, true), chart.description);
}

bool IsShown(const FactorProjection& projection) {
  const auto is_without = [&](const DataPoint& at) { return IsWithoutDevices(projection.factor, at.value); };
  return projection.measured.empty() || !std::ranges::all_of(projection.measured, is_without);
}

const FactorProjection* Headline(const PhaseProjection& projection) {
  for (const Factor factor : {Factor::kParallelEfficiency, Factor::kGlobalEfficiency}) {
    const FactorProjection* found = projection.Find(factor);
    if (found != nullptr && !found->curve.empty()) return found;
  }
  return nullptr;
}

std::string PopColor(double value) {
  constexpr std::array<double, 3> kWhite = {255, 255, 255}, kBlue = {90, 163, 214}, kOrange = {242, 163, 84};
  constexpr double kGood = 0.8, kBad = 0.5;
  if (value >= kGood) return Mix(kWhite, kBlue, std::min(1.0, 0.25 + 0.75 * (value - kGood) / (1 - kGood)));
  return Mix(kWhite, kOrange, std::min(1.0, 0.25 + 0.75 * (kGood - value) / (kGood - kBad)));
}

std::string PopTone(double value) {
  constexpr double kStep = 0.05, kGood = 0.8;
  constexpr std::string_view kTones = "0123456789a";
  const double steps = std::floor((value - kGood) / kStep + 1e-9);
  return std::string(1, kTones[static_cast<std::size_t>(std::clamp(7 + steps, 0.0, 10.0))]);
}

ReportData TextTable(const std::string& corner, const std::vector<std::string>& header,
                     const std::vector<std::vector<std::string>>& rows) {
  ReportData table = {{"corner", corner}, {"header", header}, {"rows", ReportData::array()}};
  for (const std::vector<std::string>& row : rows) table["rows"].push_back({{"cells", row}});
  return table;
}

ReportData FindingText(const Finding& finding) {
  const bool is_warning = finding.severity == Severity::kWarning;
  return {{"id", finding.id},
          {"severity", is_warning ? "warning" : "note"},
          {"isWarning", is_warning},
          {"sentence", finding.sentence},
          {"detail", DetailOf(finding)}};
}

std::string ShareOrDash(double part, double whole) { return whole > 0 ? FormatPercent(part / whole) : "–"; }

ReportData ColoredCell(const std::string& text, const std::optional<double>& efficiency, const std::string& error) {
  return {{"text", text},
          {"color", efficiency ? PopColor(*efficiency) : kNoColor},
          {"tone", efficiency ? PopTone(*efficiency) : kNoTone},
          {"error", error}};
}

ReportData RunColumns(const std::vector<FactorRow>& rows) {
  ReportData columns = ReportData::array();
  const bool has_several_splits = CoresOfSeveralSplits(PointersTo(rows)).has_value();
  for (const FactorRow& row : rows) {
    std::string repeat = row.repeat > 0 ? fmt::format("repeat {}", row.repeat) : "";
    if (has_several_splits) repeat = fmt::format("{} × {}", row.Processes(), row.threads);
    columns.push_back(ReportData{{"cores", FormatCores(static_cast<double>(row.cores))}, {"repeat", repeat}});
  }
  return columns;
}

PhaseProjection ShownProjection(const PhaseProjection& projection) {
  PhaseProjection shown = projection;
  const std::vector<double> targets = AllTargets(projection);
  if (targets.empty()) return shown;
  std::size_t count = targets.size();
  const bool is_asked_for =
      projection.fitted_cores.empty() || targets != DefaultTargets(projection.fitted_cores.back());
  if (!is_asked_for && projection.reliable_range) {
    const auto beyond = std::ranges::upper_bound(targets, projection.reliable_range->cores);
    count = std::min(count, static_cast<std::size_t>(beyond - targets.begin()) + 1);
  }
  const double last = targets[count - 1];
  for (FactorProjection& factor : shown.factors) {
    factor.targets.resize(std::min(factor.targets.size(), count));
    for (CandidateModel& candidate : factor.candidates) {
      candidate.values.resize(std::min(candidate.values.size(), count));
    }
    std::erase_if(factor.predictors, [&](const PredictorValues& at) { return at.cores > last; });
  }
  std::erase_if(shown.dominant_at, [&](const auto& at) { return at.first > last; });
  if (!shown.key_results) return shown;
  std::vector<PerfectAtTarget>& perfect = shown.key_results->perfect;
  std::erase_if(perfect, [&](const PerfectAtTarget& at) { return at.cores > last; });
  for (PerfectAtTarget& at : perfect) {
    std::erase_if(at.factors, [](const PerfectFactor& one) {
      const bool may_be_any = one.gain80 && (!one.gain80->high || *one.gain80->high > kLargestGain);
      return !(one.gain <= kLargestGain) || may_be_any;
    });
  }
  std::erase_if(perfect, [](const PerfectAtTarget& at) { return at.factors.empty(); });
  if (!shown.key_results->time) return shown;
  std::erase_if(shown.key_results->time->targets, [&](const ProjectedTime& target) { return target.cores > last; });
  shown.key_results->time->iterations = 1;
  return shown;
}

Results ShownResults(Results results) {
  for (PhaseProjection& projection : results.projections) projection = ShownProjection(projection);
  for (Variant& variant : results.variants) {
    for (PhaseProjection& projection : variant.projections) projection = ShownProjection(projection);
  }
  return results;
}

double ShownUpTo(const PhaseProjection& shown) {
  double end = 0;
  for (const FactorProjection& factor : shown.factors) {
    for (const DataPoint& point : factor.measured) end = std::max(end, point.cores);
    for (const DataPoint& point : factor.grown) end = std::max(end, point.cores);
  }
  if (const std::vector<double> targets = AllTargets(shown); !targets.empty()) end = std::max(end, targets.back());
  return shown.reliable_range ? std::max(end, 2 * shown.reliable_range->cores) : end;
}

ReportData ReliableRangeText(const PhaseProjection& projection) {
  if (!projection.reliable_range || projection.Find(projection.reliable_range->factor) == nullptr) return false;
  const ReliableRange& range = *projection.reliable_range;
  const FactorProjection& factor = *projection.Find(range.factor);
  const bool has_interval = std::ranges::any_of(factor.curve, [&](const ProjectedValue& value) {
    return value.cores == range.cores && value.interval80.has_value();
  });
  const double uncertain = UncertainUpTo(projection);
  const bool is_misfit = range.reach == Reach::kMisfit;
  const bool is_unknown_beyond = !is_misfit && uncertain < factor.curve.back().cores;
  const auto misfit = FindMisfit(factor, range.cores);
  const double global = ReliableUpTo(projection, Factor::kGlobalEfficiency);
  const bool ends_earlier = projection.Find(Factor::kGlobalEfficiency) != nullptr && global < range.cores;
  return {{"name", NameInSentence(range.factor)},  // the efficiency that the range is about
          {"cores", FormatCores(range.cores)},
          {"ratio", FormatRatio(range.cores / projection.fitted_cores.back())},
          {"isEverywhere", range.reach == Reach::kAtLeast},
          {"isUpTo", range.reach == Reach::kUpTo},
          {"isOnlyMeasured", range.reach == Reach::kOnlyMeasured},
          {"isMisfit", is_misfit},
          // Limits that the interval exceeds at the largest run already; empty: it is unknown.
          {"share", has_interval ? fmt::format("{:g} %", 100 * range.limits.share) : ""},
          {"absolute", has_interval ? fmt::format("{:g}", range.limits.absolute) : ""},
          {"measured", misfit ? FormatValue(range.factor, misfit->first) : ""},
          {"fitted", misfit ? FormatBounds(range.factor, misfit->second, "–") : ""},
          {"globalCores", ends_earlier ? FormatCores(global) : ""},
          {"uncertainCores", is_unknown_beyond && uncertain > range.cores ? FormatCores(uncertain) : ""},
          {"isUnknownBeyond", is_unknown_beyond}};
}

std::vector<std::string> DescribeReliableRange(const PhaseProjection& projection, const Partials& texts) {
  return RenderSentences(texts, "reliable_range.txt", {{"range", ReliableRangeText(projection)}});
}

void MarkReliableRange(const PhaseProjection& projection, Chart& chart) {
  if (!projection.reliable_range) return;
  const ReliableRange& reliable_range = *projection.reliable_range;
  const std::string cores = FormatCores(reliable_range.cores);
  chart.reliable_to_x = reliable_range.cores;
  chart.has_end = reliable_range.reach != Reach::kAtLeast;
  switch (reliable_range.reach) {
    case Reach::kAtLeast: chart.reliable_label = "reliable to " + cores + " at least"; break;
    case Reach::kUpTo: chart.reliable_label = "reliable to " + cores; break;
    case Reach::kOnlyMeasured:
    case Reach::kMisfit: chart.reliable_label = LabelBeyond(reliable_range.cores, UncertainUpTo(projection)); break;
  }
  MarkUnknown(projection.Find(reliable_range.factor), UncertainUpTo(projection), chart);
}

void MarkReliableRange(const PhaseProjection& projection, Factor factor, Chart& chart) {
  MarkReliableRange(projection, chart);
  const double uncertain = UncertainUpTo(projection, factor);
  MarkUnknown(projection.Find(factor), uncertain, chart);
  const std::optional<double> end = EndsEarly(projection, factor);
  if (!end) return;
  const bool is_measured = *end <= projection.fitted_cores.back();
  chart.reliable_to_x = end;
  chart.has_end = true;
  chart.reliable_label = is_measured ? LabelBeyond(*end, uncertain) : "reliable to " + FormatCores(*end);
}

std::optional<double> EndsEarly(const PhaseProjection& projection, Factor factor) {
  if (!projection.reliable_range) return std::nullopt;
  const double end = ReliableUpTo(projection, factor);
  return end < projection.reliable_range->cores ? std::optional(end) : std::nullopt;
}

std::string ListEarlyEnds(const PhaseProjection& projection, const std::vector<const FactorProjection*>& factors) {
  std::vector<std::string> ends;
  for (const FactorProjection* factor : factors) {
    const std::optional<double> end = EndsEarly(projection, factor->factor);
    if (end) ends.push_back(fmt::format("{} at {} cores", NameInSentence(factor->factor), FormatCores(*end)));
  }
  return Join(ends, ", ");
}

std::pair<std::vector<Dominance>, std::optional<double>> DominanceWithinReliableRange(
    const PhaseProjection& projection) {
  std::vector<Dominance> ranges;
  for (const Dominance& next : projection.dominance) {
    const bool is_change = !ranges.empty();
    const bool is_known = IsReliable(projection, next.factor, next.cores) &&
                          (!is_change || IsReliable(projection, ranges.back().factor, next.cores));
    if (is_change && !is_known) break;
    ranges.push_back(next);
  }
  if (ranges.empty() || !projection.reliable_range) return {ranges, std::nullopt};
  const double end = ReliableUpTo(projection, ranges.back().factor);
  const bool is_open = projection.reliable_range->reach == Reach::kAtLeast && end >= projection.reliable_range->cores;
  const bool is_all = is_open && ranges.size() == projection.dominance.size();
  return {ranges, is_all ? std::nullopt : std::optional(end)};
}

std::string ReliabilityLabel(Reliability level) { return level == Reliability::kReliable ? "" : ToString(level); }

std::string UnknownText(const PhaseProjection& projection, double cores) {
  const Reliability phase = ReliabilityOf(projection, cores);
  return phase == Reliability::kUnknown ? "–" : ToString(Reliability::kUnknown);
}

ReportData FormatCell(const PhaseProjection& projection, Factor factor, const ProjectedValue& value, bool is_colored) {
  const Reliability level = ReliabilityOf(projection, factor, value.cores);
  const bool is_reliable = level == Reliability::kReliable;
  const std::string interval =
      level == Reliability::kUnknown ? UnknownText(projection, value.cores) : FormatBounds(factor, value.interval80);
  const FactorProjection* found = projection.Find(factor);
  return {{"text", is_reliable ? FormatValue(factor, value.value) : interval},
          {"interval", is_reliable ? interval : ""},
          {"measured", found != nullptr ? MeasuredAt(*found, value.cores) : ""},
          {"color", !is_reliable ? kUncertainColor
                    : is_colored ? PopColor(value.value)
                                 : kNoColor},
          {"tone", !is_reliable ? kUncertainTone
                   : is_colored ? PopTone(value.value)
                                : kNoTone}};
}

}  // namespace farscale
