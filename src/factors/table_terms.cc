#include "factors/factor_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <set>

#include "base/text.h"
#include "factors/anomalies.h"
#include "factors/scaling.h"
#include "stats/distributions.h"
#include "stats/sample_quantiles.h"

namespace farscale {
namespace {

// Nearer to 1, a scalability of a table from elsewhere is that of the reference. Chosen: above the rounding of doubles,
// below that of any file.
constexpr double kOne = 1e-9;

// Growth by traces. Where no runs have as many threads, cores stand for processes.
std::optional<Scaling> DecideByWork(RowPointers rows, std::string& source, std::string& detail) {
  std::erase_if(rows, [](const FactorRow* row) { return !row->totals; });
  std::optional<WorkGrowth> growth = GrowthOfWork(rows);
  if (!growth) {
    std::vector<FactorRow> by_cores;
    for (const FactorRow* row : rows) by_cores.emplace_back(*row).threads = 1;
    growth = GrowthOfWork(PointersTo(by_cores));
  }
  if (!growth || !growth->work) return std::nullopt;
  const Scaling scaling = *growth->work > std::sqrt(growth->processes) ? Scaling::kWeak : Scaling::kStrong;
  source = growth->is_instructions ? "instructions" : "useful time";
  detail = fmt::format("{} {} {:.3g} times from {} to {} cores: {} scaling", source,
                       growth->is_instructions ? "grow" : "grows", *growth->work, growth->first, growth->last,
                       ToString(scaling));
  return scaling;
}

std::string OfSeries(const std::string& series) { return series.empty() ? "" : "series " + series + ": "; }

// Runs that get no faster may be weak, or strong ones that gain nothing.
void RefuseUndecided(const std::vector<RowsOfPhase>& phases, const std::map<std::string, Scaling>& decided) {
  std::vector<std::string> undecided;
  for (const RowsOfPhase& phase : phases) {
    const std::map<std::int64_t, double> seconds = MedianTimes(phase.rows);
    if (decided.contains(phase.key.series) || seconds.size() < 2) continue;
    const auto [first, first_seconds] = *seconds.begin();
    const auto [last, last_seconds] = *seconds.rbegin();
    const double weak = first_seconds / last_seconds;
    const double strong = weak * static_cast<double>(first) / static_cast<double>(last);
    undecided.push_back(OfSeries(phase.key.series) +
                        fmt::format("{:.4g} s on {} core{}, {:.4g} s on {}: efficiency {} if strong, {} if weak",
                                    first_seconds, first, first == 1 ? "" : "s", last_seconds, last,
                                    FormatFactor(strong), FormatFactor(weak)));
  }
  if (undecided.empty()) return;
  const std::string more = undecided.size() == 1 ? "" : fmt::format(" (and {} more series)", undecided.size() - 1);
  throw Error(ErrorKind::kUsage, "", "run times alone do not tell strong from weak scaling: " + undecided[0] + more,
              "give --scaling strong or weak, or a column 'scaling'");
}

// No factor but what is derived from times or speedups.
bool IsWithoutParts(const FactorRow& row) {
  return !row.totals && std::ranges::none_of(AllFactors(), [&](const FactorType& type) {
    return row.values[type.factor] && type.factor != Factor::kGlobalEfficiency && type.factor != Factor::kSpeedup;
  });
}

}  // namespace

std::map<std::string, Scaling> DecideScaling(FactorTable& table, Diagnostics& diagnostics) {
  std::map<std::string, Scaling> decided;
  if (table.scaling) {
    for (const std::string& series : table.Series()) decided[series] = *table.scaling;
    return decided;
  }
  const bool are_times = KnowsTimesOnly(table);
  const std::vector<RowsOfPhase> phases = LongestPhases(table);
  std::vector<std::string> sources;
  std::map<Scaling, std::string> details;  // in the first series that scales so
  for (const RowsOfPhase& phase : phases) {
    const std::string& series = phase.key.series;
    std::string source, detail;  // empty where the table shows it
    std::optional<Scaling> scaling = ScalingShownBy(phase.rows);
    if (!scaling) scaling = DecideByWork(phase.rows, source, detail);
    const std::optional<WorkGrowth> growth = !scaling && are_times ? GrowthToFastest(phase.rows) : std::nullopt;
    if (growth && !(*growth->TimeRatio() > kFasterTime)) {
      scaling = Scaling::kStrong;
      source = kShownByTimes;
      detail = fmt::format("run times become {:.3g} times as long from {} to {} cores: strong scaling",
                           *growth->TimeRatio(), growth->first, growth->last);
    }
    if (!scaling) continue;
    decided[series] = *scaling;
    if (source.empty()) continue;
    sources.push_back(source);
    details.try_emplace(*scaling, OfSeries(phases.size() > 1 ? series : "") + detail);
  }
  if (are_times) RefuseUndecided(phases, decided);
  if (decided.empty()) return decided;
  const bool agree =
      std::ranges::all_of(decided, [&](const auto& one) { return one.second == decided.begin()->second; });
  if (agree) {
    table.scaling = decided.begin()->second;  // also of series that do not show it
    table.scaling_source = sources.empty() ? kShownByTimes : sources.front();
    for (const RowsOfPhase& phase : phases) decided[phase.key.series] = *table.scaling;
  }
  std::vector<std::string> examples;
  for (const auto& [scaling, detail] : details) examples.push_back(detail);
  if (!sources.empty()) diagnostics.Add(anomaly::kScalingGuessed, sources.size(), Join(examples, "; "));
  return decided;
}

void ChooseReference(FactorTable& table) {
  std::set<std::int64_t> cores;
  for (const FactorRow& row : table.rows) cores.insert(row.cores);
  if (cores.empty()) return;
  if (!table.reference) {
    // The number of cores at which the scalabilities and speedups that a table from elsewhere gives are 1.
    std::map<std::int64_t, bool> is_one;
    for (const FactorRow& row : table.rows) {
      for (const FactorType& type : AllFactors()) {
        if (row.totals || !type.IsOneAtReference() || !row.values[type.factor]) continue;
        const bool one = std::fabs(*row.values[type.factor] - 1) < kOne;
        is_one[row.cores] = is_one.try_emplace(row.cores, true).first->second && one;
      }
    }
    const auto implied = std::ranges::find_if(is_one, [](const auto& count) { return count.second; });
    table.reference = implied == is_one.end() ? *cores.begin() : implied->first;
    return;
  }
  if (cores.contains(*table.reference)) return;
  std::vector<std::string> known;
  for (const std::int64_t count : cores) known.push_back(std::to_string(count));
  throw Error(ErrorKind::kUsage, "", fmt::format("there is no run at the reference of {} cores", *table.reference),
              "runs are at " + Join(known, ", ") + " cores");
}

bool KnowsTimesOnly(const FactorRow& row) { return row.runtime && IsWithoutParts(row); }

bool KnowsSpeedupOnly(const FactorRow& row) {
  return !row.runtime && row.values[Factor::kSpeedup] && IsWithoutParts(row);
}

std::map<std::int64_t, double> MedianTimes(const RowPointers& rows) {
  std::map<std::int64_t, std::vector<const FactorRow*>> by_cores;
  for (const FactorRow* row : rows) by_cores[row->cores].push_back(row);
  std::map<std::int64_t, double> seconds;
  for (const auto& [cores, repeats] : by_cores) {
    const auto median = MedianOf(repeats, std::mem_fn(&FactorRow::TimePerIteration));
    if (!median) return {};
    seconds[cores] = *median;
  }
  return seconds;
}

std::optional<WorkGrowth> GrowthToFastest(const RowPointers& rows) {
  const std::map<std::int64_t, double> seconds = MedianTimes(rows);
  if (seconds.size() < 2) return std::nullopt;
  const auto fastest = std::min_element(std::next(seconds.begin()), seconds.end(),
                                        [](const auto& a, const auto& b) { return a.second < b.second; });
  WorkGrowth growth;
  growth.first = seconds.begin()->first;
  growth.last = fastest->first;
  growth.processes = static_cast<double>(growth.last) / static_cast<double>(growth.first);
  growth.first_seconds = seconds.begin()->second;
  growth.last_seconds = fastest->second;
  return growth;
}

bool KnowsTimesOnly(const FactorTable& table) {
  return std::ranges::all_of(table.rows, [](const FactorRow& row) { return KnowsTimesOnly(row); });
}

std::vector<const FactorRow*> ReferenceRows(const std::vector<FactorRow*>& rows, std::int64_t reference) {
  std::int64_t cores = std::numeric_limits<std::int64_t>::max();
  for (const FactorRow* row : rows) cores = row->cores == reference ? reference : cores;
  if (cores != reference) {
    for (const FactorRow* row : rows) cores = std::min(cores, row->cores);
  }
  std::vector<const FactorRow*> chosen;
  for (const FactorRow* row : rows) {
    if (row->cores == cores) chosen.push_back(row);
  }
  const RowPointers slower = CountRows(chosen).slower;
  std::erase_if(chosen, [&](const FactorRow* row) { return std::ranges::find(slower, row) != slower.end(); });
  return chosen;
}

std::optional<double> MedianOf(const RowPointers& rows,
                               const std::function<std::optional<double>(const FactorRow&)>& value) {
  std::vector<double> values;
  for (const FactorRow* row : rows) {
    const std::optional<double> one = value(*row);
    if (!one) return std::nullopt;
    values.push_back(*one);
  }
  if (values.size() == 2) return (values[0] + values[1]) / 2;
  return values.empty() ? std::nullopt : std::optional(Median(values));
}

namespace {

double MeanOfLogarithms(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return sum / static_cast<double>(values.size());
}

double SquaresAroundMean(const std::vector<double>& values) {
  const double mean = MeanOfLogarithms(values);
  double sum = 0;
  for (const double value : values) sum += (std::log(value) - mean) * (std::log(value) - mean);
  return sum;
}

double Reach(const Change& change, double confidence) {
  return change.error * StudentQuantile(confidence, change.freedom);
}

}  // namespace

std::optional<Measurement> Measure(const std::vector<double>& values, const std::vector<std::optional<double>>& errors,
                                   const Noise& noise) {
  if (values.empty() || !std::all_of(values.begin(), values.end(), [](double value) { return value > 0; })) {
    return std::nullopt;
  }
  const auto n = static_cast<double>(values.size());
  Measurement measurement{std::exp(MeanOfLogarithms(values)), 0, noise.freedom + n - 1, values.size()};
  const double scatter =
      std::isfinite(noise.freedom)
          ? (noise.freedom * noise.deviation * noise.deviation + SquaresAroundMean(values)) / measurement.freedom
          : noise.deviation * noise.deviation;
  double within = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double error = i < errors.size() ? errors[i].value_or(0) / values[i] : 0;
    within += error * error / n;
  }
  measurement.error = std::sqrt(std::max(scatter, within) / n);
  return measurement;
}

std::optional<Noise> NoiseOfRepeats(const std::vector<std::vector<double>>& repeats) {
  double squares = 0, freedom = 0;
  for (const std::vector<double>& values : repeats) {
    if (values.size() < 2 || *std::min_element(values.begin(), values.end()) <= 0) continue;
    squares += SquaresAroundMean(values);
    freedom += static_cast<double>(values.size() - 1);
  }
  if (freedom == 0) return std::nullopt;
  return Noise{std::sqrt(squares / freedom), freedom};
}

Noise Pool(const Noise& a, const Noise& b) {
  const double freedom = a.freedom + b.freedom;
  return {std::sqrt((a.freedom * a.deviation * a.deviation + b.freedom * b.deviation * b.deviation) / freedom),
          freedom};
}

double Change::Low(double confidence) const { return ratio * std::exp(-Reach(*this, confidence)); }
double Change::High(double confidence) const { return ratio * std::exp(Reach(*this, confidence)); }

bool Change::IsBeyondNoise(double confidence) const {
  const double distance = std::fabs(std::log(ratio));
  if (error == 0) return distance > 0;
  return StudentProbability(distance / error, freedom) > confidence;
}

Change ChangeBetween(const Measurement& before, const Measurement& after) {
  const double a = before.error * before.error, b = after.error * after.error;
  Change change{after.value / before.value, std::sqrt(a + b), std::numeric_limits<double>::infinity()};
  const double denominator = a * a / before.freedom + b * b / after.freedom;
  if (denominator > 0) change.freedom = (a + b) * (a + b) / denominator;
  return change;
}

namespace {

[[noreturn]] void RefuseTerms(const FactorRow& row, const std::string& why) {
  throw Error(ErrorKind::kUsage, fmt::format("row of {} cores", row.cores), why,
              "make the table anew from the traces, or predict from factors.json, which knows the totals");
}

// Divides what rows without totals say of scalability by what they say at the new reference: the median of the repeats
// there, of inverses since times stand in the denominator.
void MoveReference(const std::vector<FactorRow*>& rows, std::int64_t reference, bool is_scaling_known) {
  const std::vector<const FactorRow*> at = ReferenceRows(rows, reference);
  std::map<Factor, double> divisors;
  for (const FactorType& type : AllFactors()) {
    if (!type.IsOneAtReference()) continue;
    const auto inverse = MedianOf(at, [&](const FactorRow& row) {
      return row.values[type.factor] ? std::optional(1 / *row.values[type.factor]) : std::nullopt;
    });
    if (inverse) divisors[type.factor] = 1 / *inverse;
  }
  for (FactorRow* row : rows) {
    if (row->totals) continue;
    FactorValues& values = row->values;
    const bool product = values[Factor::kParallelEfficiency] && values[Factor::kComputationScalability];
    if (values[Factor::kGlobalEfficiency] && KnowsTimesOnly(*row)) {
      // Made anew of the times; the speedup shows the scaling of a series that differs from others.
      const std::optional<double> speedup = is_scaling_known ? std::nullopt : values[Factor::kSpeedup];
      row->values = {};
      if (speedup && divisors.contains(Factor::kSpeedup))
        values[Factor::kSpeedup] = *speedup / divisors.at(Factor::kSpeedup);
      row->standard_errors = {};
      continue;
    }
    if (KnowsSpeedupOnly(*row)) values[Factor::kGlobalEfficiency].reset();  // made anew of the speedup
    if (values[Factor::kGlobalEfficiency] && !product) {
      RefuseTerms(*row, "globalEfficiency cannot be compared with another run without its two parts");
    }
    for (const FactorType& type : AllFactors()) {
      const Factor factor = type.factor;
      if (!type.IsOneAtReference() || !values[factor]) continue;
      if (!divisors.contains(factor)) {
        RefuseTerms(*row, fmt::format("{} is not known at the reference of {} cores", type.id, reference));
      }
      *values[factor] /= divisors[factor];
      if (row->standard_errors[factor]) *row->standard_errors[factor] /= divisors[factor];
    }
    std::optional<double>& error = row->standard_errors[Factor::kGlobalEfficiency];
    if (values[Factor::kGlobalEfficiency] && error) *error /= divisors[Factor::kComputationScalability];
    values[Factor::kGlobalEfficiency].reset();
  }
}

}  // namespace

void ChangeTerms(FactorTable& table, std::optional<Scaling> scaling, std::optional<std::int64_t> reference) {
  const bool other_scaling = scaling && table.scaling && *scaling != *table.scaling;
  const bool other_reference = reference && reference != table.reference;
  if (scaling) {
    table.scaling = scaling;
    table.scaling_source = "command line";
    const std::string_view guessed = anomaly::kScalingGuessed.id;
    std::erase_if(table.findings, [&](const Finding& finding) { return finding.id == guessed; });
  }
  if (reference) table.reference = reference;
  ChooseReference(table);
  for (const std::vector<FactorRow*>& rows : RowsToComplete(table)) {
    if (other_reference) MoveReference(rows, *table.reference, table.scaling.has_value());
    for (FactorRow* row : rows) {
      if (other_scaling && KnowsTimesOnly(*row)) row->values = {};  // made anew of the times
      if (other_scaling && !row->totals) {
        for (const FactorType& type : AllFactors()) {
          if (!type.IsOneAtReference() || !row->values[type.factor]) continue;
          RefuseTerms(*row, fmt::format("{} was made for {} scaling and cannot be made anew", type.id,
                                        ToString(*scaling == Scaling::kWeak ? Scaling::kStrong : Scaling::kWeak)));
        }
      }
      if ((other_scaling || other_reference) && row->totals) ForgetComparison(*row);
    }
  }
  CompleteTable(table);
}

}  // namespace farscale
