#include "factors/scaling_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace farscale {
namespace {

// Between strong and weak scaling, in the logarithm of work by that of processes.
constexpr double kHalfWay = 0.5;
// Below, no growth tells the two apart: neighbouring counts of one node and the like.
constexpr double kLeastFactor = 1.4;
constexpr double kCertainGrowth = 4;        // of processes
constexpr double kCertainTime = 0.5;        // of the first iteration's
constexpr double kCertainTimeAlone = 0.25;  // where nothing is known of the work

double Processes(const FactorRow& row) { return static_cast<double>(row.cores) / static_cast<double>(row.threads); }

std::optional<double> SecondsOf(const FactorRow& row) {
  return row.runtime ? std::optional(*row.runtime / row.iterations) : std::nullopt;
}

std::optional<double> InstructionsOf(const FactorRow& row) {
  if (!row.totals || !row.totals->instructions) return std::nullopt;
  return *row.totals->instructions / row.iterations;
}

// Σ t = P · T · PE where totals are not known.
std::optional<double> UsefulOf(const FactorRow& row) {
  if (row.totals) return row.totals->total_useful / row.iterations;
  const std::optional<double> seconds = SecondsOf(row);
  const std::optional<double>& efficiency = row.values[Factor::kParallelEfficiency];
  if (!seconds || !efficiency) return std::nullopt;
  return *seconds * *efficiency * Processes(row);
}

template <typename Value>
std::optional<double> MeanAt(const std::vector<FactorRow>& rows, std::int64_t cores, Value value) {
  double sum = 0, known = 0;
  for (const FactorRow& row : rows) {
    const std::optional<double> one = row.cores == cores ? value(row) : std::nullopt;
    if (!one || !(*one > 0)) continue;
    sum += *one;
    ++known;
  }
  return known > 0 ? std::optional(sum / known) : std::nullopt;
}

template <typename Value>
std::optional<double> RatioOf(const std::vector<FactorRow>& rows, const WorkGrowth& growth, Value value) {
  const std::optional<double> first = MeanAt(rows, growth.first, value), last = MeanAt(rows, growth.last, value);
  return first && last ? std::optional(*last / *first) : std::nullopt;
}

// What a table from elsewhere says of its computation, where it gives neither totals nor times: 1 / growth for strong
// scaling, processes / growth for weak.
std::optional<double> GrowthBehindScalability(const std::vector<FactorRow>& rows, const WorkGrowth& growth,
                                              Scaling scaling) {
  const auto scalability =
      RatioOf(rows, growth, [](const FactorRow& row) { return row.values[Factor::kComputationScalability]; });
  if (!scalability) return std::nullopt;
  return (scaling == Scaling::kWeak ? growth.processes : 1) / *scalability;
}

// "from 8 to 64 cores an iteration falls from 4 to 0.6 s, and its instructions are 1.04 times as many, not 8 times"
std::string InWords(const WorkGrowth& growth, Scaling scaling) {
  std::string text = fmt::format("from {} to {} cores", growth.first, growth.last);
  if (const auto ratio = growth.TimeRatio()) {
    text += fmt::format(" an iteration {} from {:.3g} to {:.3g} s", *ratio < 1 ? "falls" : "goes",
                        *growth.first_seconds, *growth.last_seconds);
  }
  if (!growth.work) return text;
  const std::string expected = scaling == Scaling::kWeak ? fmt::format("{:.3g} times", growth.processes) : "the same";
  const char* what = growth.is_instructions ? "instructions are" : "computation on all cores together is";
  return text + fmt::format("{} {} {:.3g} times as {}, not {}", growth.TimeRatio() ? ", and its" : " an iteration's",
                            what, *growth.work, growth.is_instructions ? "many" : "much", expected);
}

Scaling Other(Scaling scaling) { return scaling == Scaling::kStrong ? Scaling::kWeak : Scaling::kStrong; }

std::string WithSeries(const std::string& series, const std::string& text) {
  return series.empty() ? text : "series " + series + ": " + text;
}

}  // namespace

std::optional<double> WorkGrowth::TimeRatio() const {
  return first_seconds && last_seconds ? std::optional(*last_seconds / *first_seconds) : std::nullopt;
}

std::vector<FactorRow> LongestPhase(const FactorTable& table, const std::string& series) {
  std::vector<FactorRow> longest;
  double most = -1;
  for (const PhaseId& phase : table.Phases(series)) {
    std::vector<FactorRow> rows = table.Rows(series, phase);
    const double seconds = rows.front().runtime.value_or(0);
    if (seconds <= most) continue;
    most = seconds;
    longest = std::move(rows);
  }
  return longest;
}

std::optional<WorkGrowth> GrowthOfWork(const std::vector<FactorRow>& rows) {
  const auto by_cores = [](const FactorRow& a, const FactorRow& b) { return a.cores < b.cores; };
  const auto least = std::min_element(rows.begin(), rows.end(), by_cores);
  if (least == rows.end()) return std::nullopt;
  const FactorRow* most = &*least;
  for (const FactorRow& row : rows) {
    if (row.threads == least->threads && row.cores > most->cores) most = &row;
  }
  if (most->cores == least->cores) return std::nullopt;
  WorkGrowth growth;
  growth.first = least->cores;
  growth.last = most->cores;
  growth.processes = Processes(*most) / Processes(*least);
  growth.work = RatioOf(rows, growth, InstructionsOf);
  growth.is_instructions = growth.work.has_value();
  if (!growth.work) growth.work = RatioOf(rows, growth, UsefulOf);
  growth.first_seconds = MeanAt(rows, growth.first, SecondsOf);
  growth.last_seconds = MeanAt(rows, growth.last, SecondsOf);
  return growth;
}

ScalingFit FitOf(const WorkGrowth& growth, Scaling scaling) {
  const std::optional<double> time = growth.TimeRatio();
  const double least = std::pow(growth.processes, kHalfWay);
  const bool is_certain = scaling == Scaling::kWeak && growth.processes >= kCertainGrowth && time;
  if (!growth.work) {
    // Work that grows with the processes in less time needs a first run that hardly computed.
    if (is_certain && *time < kCertainTimeAlone) return ScalingFit::kExcluded;
    const bool is_short = scaling == Scaling::kWeak && time && *time < std::min(1 / least, 1 / kLeastFactor);
    return is_short ? ScalingFit::kUnlikely : ScalingFit::kFits;
  }
  if (is_certain && *time < kCertainTime && *growth.work < least) return ScalingFit::kExcluded;
  const double expected = scaling == Scaling::kWeak ? growth.processes : 1;
  const double off = std::fabs(std::log(*growth.work / expected));
  return off > std::log(std::max(least, kLeastFactor)) ? ScalingFit::kUnlikely : ScalingFit::kFits;
}

void CheckScaling(FactorTable& table, const std::string& where) {
  const AnomalyType& type = Describe(Anomaly::kScalingUnlikely);
  std::erase_if(table.findings, [&](const Finding& finding) { return finding.id == type.id; });
  if (!table.scaling) return;
  const Scaling scaling = *table.scaling;
  Diagnostics diagnostics;
  const std::vector<std::string> all_series = table.Series();
  for (const std::string& series : all_series) {
    const std::vector<FactorRow> rows = LongestPhase(table, series);
    std::optional<WorkGrowth> growth = GrowthOfWork(rows);
    if (!growth) continue;
    if (!growth->work) growth->work = GrowthBehindScalability(rows, *growth, scaling);
    const ScalingFit fit = FitOf(*growth, scaling);
    if (fit == ScalingFit::kFits) continue;
    const std::string words = InWords(*growth, scaling);
    if (fit == ScalingFit::kExcluded) {
      throw Error(ErrorKind::kUsage, where, WithSeries(series, "the problem does not grow with the cores: " + words),
                  "say that the scaling is strong, or correct run times and iterations");
    }
    const bool other_fits = growth->work && FitOf(*growth, Other(scaling)) == ScalingFit::kFits;
    const std::string verdict =
        growth->work && !other_fits ? "neither strong nor weak scaling" : ToString(Other(scaling)) + " scaling fits";
    diagnostics.Add(Anomaly::kScalingUnlikely, 1,
                    WithSeries(series, fmt::format("said to be {}, but {}: {}", ToString(scaling), words, verdict)));
  }
  if (diagnostics.empty()) return;
  if (all_series.size() > 1) diagnostics.AddPopulation(Anomaly::kScalingUnlikely, all_series.size());
  // What puts all numbers in doubt is said first.
  const std::vector<Finding> found = diagnostics.findings();
  table.findings.insert(table.findings.begin(), found.begin(), found.end());
}

std::string SourceOfScaling(const FactorTable& table) {
  const std::string scaling = table.scaling ? ToString(*table.scaling) : "unknown";
  if (table.scaling_source == "command line") return "--scaling " + scaling;
  if (table.scaling_source == "study") return fmt::format("scaling = \"{}\"", scaling);
  return scaling + " scaling, by " + (table.scaling_source.empty() ? "the table" : table.scaling_source);
}

}  // namespace farscale
