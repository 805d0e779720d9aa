#include "factors/scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "factors/anomalies.h"
#include "factors/factor_table.h"

namespace farscale {
namespace {

// Between strong and weak scaling, in the logarithm of work by that of processes.
constexpr double kHalfWay = 0.5;  // chosen: the middle
// Chosen: well to either side of the middle; what every process repeats gives strong scaling up to 0.4 [FitOf].
constexpr double kCertainlyStrong = 0.25, kCertainlyWeak = 0.75;
// Chosen: below √2 times as many processes, such as neighbouring counts of one node, growth does not distinguish the
// two.
constexpr double kLeastFactor = 1.4;
// Chosen: an error instead of a warning needs so many times as many processes, and a share of the first iteration's
// time that no cache effect explains; where nothing is known of the work, the second share alone.
constexpr double kCertainGrowth = 4;
constexpr double kCertainTime = 0.5;
constexpr double kCertainTimeAlone = 1 / 1.5;  // chosen: no real weak runs exceed an efficiency of 1.1

template <typename Value>
std::optional<double> RatioOf(const RowPointers& rows, const WorkGrowth& growth, Value value) {
  const std::optional<double> first = MeanAt(rows, growth.first, value), last = MeanAt(rows, growth.last, value);
  return first && last ? std::optional(*last / *first) : std::nullopt;
}

// "from 8 to 64 cores an iteration falls from 4 to 0.6 s, and its instructions are 1.04 times as many, not 8 times"
std::string InWords(const WorkGrowth& growth, Scaling scaling) {
  std::string text = fmt::format("from {} to {} cores", growth.first, growth.last);
  if (const auto ratio = growth.TimeRatio()) {
    text += fmt::format(" an iteration {} from {:.3g} to {:.3g} s", *ratio < 1 ? "falls" : "goes",
                        *growth.first_seconds, *growth.last_seconds);
  }
  if (!growth.work && scaling == Scaling::kWeak && growth.TimeRatio()) {
    return text + fmt::format(", an efficiency of {:.3f} for weak scaling", 1 / *growth.TimeRatio());
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

constexpr double kAboutAsLong = 0.5;  // share of the longest phase; chosen: at least half as long
constexpr const char* kAdvice = "say that the scaling is strong, or correct run times and iterations";

// The fit of a phase to the scaling of its table.
struct PhaseFit {
  ScalingFit fit = ScalingFit::kFits;
  std::string growth;   // in words
  std::string verdict;  // which scaling fits

  std::string Excluded() const { return "the problem does not grow with the cores: " + growth; }
};

PhaseFit FitOfPhase(const RowPointers& rows, Scaling scaling) {
  const bool are_times = std::ranges::all_of(rows, [](const FactorRow* row) { return KnowsTimesOnly(*row); });
  std::optional<WorkGrowth> growth = are_times ? GrowthToFastest(rows) : GrowthOfWork(rows);
  if (!growth) return {};
  if (!growth->work && !are_times) {
    // In a table from elsewhere that gives neither totals nor times, scalability is 1 / growth of computation for
    // strong scaling, processes / growth for weak.
    const auto scalability =
        RatioOf(rows, *growth, [](const FactorRow& row) { return row.values[Factor::kComputationScalability]; });
    if (scalability) growth->work = (scaling == Scaling::kWeak ? growth->processes : 1) / *scalability;
  }
  const ScalingFit fit = FitOf(*growth, scaling);
  const bool other_fits = growth->work && FitOf(*growth, Other(scaling)) == ScalingFit::kFits;
  return {fit, InWords(*growth, scaling),
          growth->work && !other_fits ? "neither strong nor weak scaling" : ToString(Other(scaling)) + " scaling fits"};
}

std::string DoubtIn(const FactorTable& table, Scaling scaling, const PhaseFit& fit) {
  return fmt::format("{} to be {}, but {}: {}", IsScalingDecided(table) ? "taken" : "said", ToString(scaling),
                     fit.growth, fit.verdict);
}

double SecondsOf(const RowsOfPhase& phase) { return phase.rows.front()->runtime.value_or(0); }

// The scaling of the phase's series, where series differ.
std::optional<Scaling> ScalingOfPhase(const FactorTable& table, const RowPointers& rows) {
  return table.scaling ? table.scaling : ScalingShownBy(rows);
}

}  // namespace

std::optional<double> WorkGrowth::TimeRatio() const {
  return first_seconds && last_seconds ? std::optional(*last_seconds / *first_seconds) : std::nullopt;
}

std::vector<RowsOfPhase> LongestPhases(const FactorTable& table) {
  std::vector<RowsOfPhase> longest;
  for (RowsOfPhase& phase : RowsByPhase(table)) {  // those of a series follow each other
    if (longest.empty() || longest.back().key.series != phase.key.series) {
      longest.push_back(std::move(phase));
    } else if (SecondsOf(phase) > SecondsOf(longest.back())) {
      longest.back() = std::move(phase);
    }
  }
  return longest;
}

std::vector<FactorRow> LongestPhase(const FactorTable& table, const std::string& series) {
  std::vector<FactorRow> rows;
  for (const RowsOfPhase& phase : LongestPhases(table)) {
    if (phase.key.series != series) continue;
    for (const FactorRow* row : phase.rows) rows.push_back(*row);
  }
  return rows;
}

std::optional<WorkGrowth> GrowthOfWork(const RowPointers& rows) {
  std::map<std::int64_t, std::pair<const FactorRow*, const FactorRow*>> by_threads;  // with the fewest and most cores
  for (const FactorRow* row : rows) {
    auto& [least, most] = by_threads.try_emplace(row->threads, row, row).first->second;
    if (row->cores < least->cores) least = row;
    if (row->cores > most->cores) most = row;
  }
  // Where several grow as much, that with the fewest threads.
  const auto widest = std::ranges::max_element(
      by_threads, {}, [](const auto& one) { return one.second.second->Processes() / one.second.first->Processes(); });
  if (widest == by_threads.end()) return std::nullopt;
  const auto [least, most] = widest->second;
  if (least->cores == most->cores) return std::nullopt;
  RowPointers alike;
  for (const FactorRow* row : rows) {
    if (row->threads == least->threads) alike.push_back(row);
  }
  WorkGrowth growth;
  growth.first = least->cores;
  growth.last = most->cores;
  growth.processes = most->Processes() / least->Processes();
  growth.work = RatioOf(alike, growth, [](const FactorRow& row) {
    const bool is_known = row.totals && row.totals->instructions;
    return is_known ? std::optional(*row.totals->instructions / row.iterations) : std::nullopt;
  });
  growth.is_instructions = growth.work.has_value();
  if (!growth.work) growth.work = RatioOf(alike, growth, std::mem_fn(&FactorRow::UsefulTime));
  growth.first_seconds = MeanAt(alike, growth.first, std::mem_fn(&FactorRow::TimePerIteration));
  growth.last_seconds = MeanAt(alike, growth.last, std::mem_fn(&FactorRow::TimePerIteration));
  return growth;
}

ScalingFit FitOf(const WorkGrowth& growth, Scaling scaling) {
  const std::optional<double> time = growth.TimeRatio();
  const double least = std::pow(growth.processes, kHalfWay);
  const bool is_certain = scaling == Scaling::kWeak && growth.processes >= kCertainGrowth && time;
  if (!growth.work) {
    // Work that grows with the processes in less time needs a first run that hardly computed.
    if (scaling != Scaling::kWeak || !time || *time > kFasterTime) return ScalingFit::kFits;
    return *time < kCertainTimeAlone ? ScalingFit::kExcluded : ScalingFit::kUnlikely;
  }
  if (is_certain && *time < kCertainTime && *growth.work < least) return ScalingFit::kExcluded;
  const double expected = scaling == Scaling::kWeak ? growth.processes : 1;
  const double off = std::fabs(std::log(*growth.work / expected));
  return off > std::log(std::max(least, kLeastFactor)) ? ScalingFit::kUnlikely : ScalingFit::kFits;
}

void CheckScaling(FactorTable& table, const std::string& where) {
  std::erase_if(table.findings, [&](const Finding& finding) { return finding.id == anomaly::kScalingUnlikely.id; });
  Diagnostics diagnostics, of_phases;
  const std::vector<RowsOfPhase> phases = RowsByPhase(table), longest_phases = LongestPhases(table);
  for (const RowsOfPhase& longest : longest_phases) {
    const std::optional<Scaling> scaling = ScalingOfPhase(table, longest.rows);
    if (!scaling) continue;
    const PhaseFit fit = FitOfPhase(longest.rows, *scaling);
    if (fit.fit == ScalingFit::kExcluded) {
      throw Error(ErrorKind::kUsage, where, WithSeries(longest.key.series, fit.Excluded()), kAdvice);
    } else if (fit.fit == ScalingFit::kFits) {
      // Work of a smaller phase need not grow as that of the program, but of one that is about as long it should.
      for (const RowsOfPhase& phase : phases) {
        const bool is_long = SecondsOf(phase) >= kAboutAsLong * SecondsOf(longest);
        if (phase.key.series != longest.key.series || phase.key == longest.key || !is_long) continue;
        const PhaseFit of_phase = FitOfPhase(phase.rows, *scaling);
        if (of_phase.fit != ScalingFit::kExcluded) continue;
        of_phases.Add(anomaly::kScalingUnlikely, 1,
                      WithSeries(longest.key.series,
                                 "phase " + phase.key.phase.Text() + ": " + DoubtIn(table, *scaling, of_phase)));
      }
    } else {
      diagnostics.Add(anomaly::kScalingUnlikely, 1, WithSeries(longest.key.series, DoubtIn(table, *scaling, fit)));
    }
  }
  if (!diagnostics.empty() && longest_phases.size() > 1) {
    diagnostics.AddPopulation(anomaly::kScalingUnlikely, longest_phases.size());
  }
  // Doubts about all numbers come first.
  std::vector<Finding> found = diagnostics.findings();
  for (const Finding& finding : of_phases.findings()) found.push_back(finding);
  table.findings.insert(table.findings.begin(), found.begin(), found.end());
}

std::string WhyExcluded(const FactorTable& table) {
  for (const RowsOfPhase& longest : LongestPhases(table)) {
    const std::optional<Scaling> scaling = ScalingOfPhase(table, longest.rows);
    if (!scaling) continue;
    const PhaseFit fit = FitOfPhase(longest.rows, *scaling);
    if (fit.fit == ScalingFit::kExcluded) return WithSeries(longest.key.series, fit.Excluded());
  }
  return "";
}

std::string WhyMixed(const FactorTable& table) {
  for (const RowsOfPhase& longest : LongestPhases(table)) {
    std::optional<WorkGrowth> strong, weak;
    std::map<std::int64_t, RowPointers> by_cores;
    for (const FactorRow* row : longest.rows) by_cores[row->cores].push_back(row);
    for (auto next = by_cores.begin(); next != by_cores.end();) {
      const auto here = next++;
      if (next == by_cores.end()) break;
      RowPointers pair = here->second;
      pair.insert(pair.end(), next->second.begin(), next->second.end());
      const std::optional<WorkGrowth> growth = GrowthOfWork(pair);
      if (!growth || !growth->work || growth->processes < kLeastFactor) continue;
      const double exponent = std::log(*growth->work) / std::log(growth->processes);
      if (exponent < kCertainlyStrong) strong = growth;
      if (exponent > kCertainlyWeak) weak = growth;
    }
    if (!strong || !weak) continue;
    return WithSeries(longest.key.series,
                      fmt::format("the runs mix strong and weak scaling: from {} to {} cores an iteration's "
                                  "work is {:.3g} times as much, from {} to {} cores {:.3g} times",
                                  strong->first, strong->last, *strong->work, weak->first, weak->last, *weak->work));
  }
  return "";
}

std::string CheckScalingOf(const FactorTable& table, const std::string& series, const PhaseId& phase) {
  const std::vector<FactorRow> rows = table.Rows(series, phase);
  const std::optional<Scaling> scaling = ScalingOf(table, rows);
  if (!scaling) return "";
  const PhaseFit fit = FitOfPhase(PointersTo(rows), *scaling);
  if (fit.fit == ScalingFit::kExcluded) {
    throw Error(ErrorKind::kUsage, phase.IsUnnamed() ? "" : "phase " + phase.Text(), WithSeries(series, fit.Excluded()),
                std::string(kAdvice) + ", or choose a phase whose work grows");
  }
  return fit.fit == ScalingFit::kFits ? "" : DoubtIn(table, *scaling, fit);
}

std::string SourceOfScaling(const FactorTable& table) {
  const std::string scaling = table.scaling ? ToString(*table.scaling) : "unknown";
  if (table.scaling_source == "command line") return "--scaling " + scaling;
  if (table.scaling_source == "study") return fmt::format("scaling = \"{}\"", scaling);
  return scaling + " scaling, by " + (table.scaling_source.empty() ? "the table" : table.scaling_source);
}

std::string SourceOfStoredScaling(const FactorTable& table) {
  const std::string scaling = table.scaling ? ToString(*table.scaling) + " scaling" : "scaling of each series";
  return scaling + (IsScalingDecided(table) ? ", by " + table.scaling_source : ", as the table says");
}

bool IsScalingDecided(const FactorTable& table) {
  return table.scaling_source == "instructions" || table.scaling_source == "useful time" ||
         table.scaling_source == kShownByTimes;
}

bool PutsAllInDoubt(const Finding& finding) {
  return finding.id == anomaly::kScalingUnlikely.id || finding.id == anomaly::kTermsDiffer.id;
}

std::vector<std::string> DoubtsOf(const std::vector<Finding>& findings) {
  std::vector<std::string> doubts;
  for (const Finding& finding : findings) {
    if (!PutsAllInDoubt(finding)) continue;
    const std::string detail = DetailOf(finding);
    doubts.push_back(finding.sentence + (detail.empty() ? "" : " (" + detail + ")") + ".");
  }
  return doubts;
}

std::optional<Scaling> ScalingOf(const FactorTable& table, const std::vector<FactorRow>& rows) {
  return table.scaling ? table.scaling : ScalingShownBy(PointersTo(rows));
}

std::optional<Scaling> ScalingShownBy(const RowPointers& rows) {
  constexpr double kSame = 0.02;  // chosen: tables give two digits at least
  const bool has_speedups =
      std::ranges::any_of(rows, [](const FactorRow* row) { return row->runtime && row->values[Factor::kSpeedup]; });
  // Up to a constant, speedup is global efficiency times cores.
  const auto speedup_of = [&](const FactorRow& row) -> std::optional<double> {
    if (has_speedups) return row.values[Factor::kSpeedup];
    const std::optional<double>& efficiency = row.values[Factor::kGlobalEfficiency];
    return efficiency ? std::optional(*efficiency * static_cast<double>(row.cores)) : std::nullopt;
  };
  const FactorRow* first = nullptr;
  bool is_strong = true, is_weak = true, differs = false;
  for (const FactorRow* row : rows) {
    if (!row->runtime || !speedup_of(*row)) continue;
    if (first == nullptr) first = row;
    const auto reach = [&](const FactorRow& one) { return *one.runtime / one.iterations * *speedup_of(one); };
    const double growth = static_cast<double>(row->cores) / static_cast<double>(first->cores);
    const double ratio = reach(*row) / reach(*first);
    is_strong = is_strong && std::fabs(ratio - 1) < kSame;
    is_weak = is_weak && std::fabs(ratio / growth - 1) < kSame;
    differs = differs || row->cores != first->cores;
  }
  if (!differs || is_strong == is_weak) return std::nullopt;
  return is_strong ? Scaling::kStrong : Scaling::kWeak;
}

void PutInTermsUnchecked(FactorTable& table, std::optional<Scaling> scaling, std::optional<std::int64_t> reference) {
  if (!table.scaling) {
    // The one that all phases show, unless they contradict each other. Several series are decided one by one.
    std::set<Scaling> shown_by_phases;
    for (const RowsOfPhase& phase : table.Series().size() > 1 ? std::vector<RowsOfPhase>() : RowsByPhase(table)) {
      if (const auto shown = ScalingShownBy(phase.rows)) shown_by_phases.insert(*shown);
    }
    if (shown_by_phases.size() == 1) {
      table.scaling = *shown_by_phases.begin();
      table.scaling_source = kShownByTimes;
    }
    const std::vector<RowsOfPhase> phases = scaling ? LongestPhases(table) : std::vector<RowsOfPhase>();
    for (const RowsOfPhase& longest : phases) {
      const bool is_alone = phases.size() == 1;
      const std::optional<Scaling> shown = is_alone ? table.scaling : ScalingOfPhase(table, longest.rows);
      if (!shown || *shown == *scaling) continue;
      const std::string of = is_alone ? "the table" : "series " + longest.key.series;
      throw Error(ErrorKind::kUsage, "--scaling " + ToString(*scaling),
                  "times and efficiencies of " + of + " show " + ToString(*shown) + " scaling",
                  "correct the table, or leave --scaling out");
    }
  }
  // Where no factor depends on the scaling yet, --scaling may replace what the table says or what was guessed.
  const bool is_compared = std::ranges::any_of(table.rows, [](const FactorRow& row) {
    return std::ranges::any_of(
        AllFactors(), [&](const FactorType& type) { return type.IsOneAtReference() && row.values[type.factor]; });
  });
  if (!table.scaling || (scaling && !is_compared)) table.scaling = scaling;
  CompleteTable(table);
  if (scaling || reference) ChangeTerms(table, scaling, reference);
}

void PutInTerms(FactorTable& table, std::optional<Scaling> scaling, std::optional<std::int64_t> reference) {
  PutInTermsUnchecked(table, scaling, reference);
  CheckScaling(table, scaling ? SourceOfScaling(table) : SourceOfStoredScaling(table));
}

}  // namespace farscale
