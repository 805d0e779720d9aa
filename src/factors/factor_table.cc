#include "factors/factor_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <set>
#include <utility>

#include "base/parallel.h"
#include "base/text.h"
#include "factors/anomalies.h"
#include "factors/spread.h"
#include "stats/sample_quantiles.h"
#include "trace/anomalies.h"

namespace farscale {

std::string ToString(Scaling scaling) { return scaling == Scaling::kStrong ? "strong" : "weak"; }

std::optional<Scaling> ScalingByName(std::string_view name) {
  if (name == "strong") return Scaling::kStrong;
  if (name == "weak") return Scaling::kWeak;
  return std::nullopt;
}

std::optional<double> FactorRow::TimePerIteration() const {
  return runtime ? std::optional(*runtime / iterations) : std::nullopt;
}

std::optional<double> FactorRow::UsefulTime() const {
  if (totals) return totals->UsefulOfAll() / iterations;
  if (!runtime || !values[Factor::kParallelEfficiency]) return std::nullopt;
  const double processors = static_cast<double>(IsHybrid() ? ranks * threads : ranks);
  return processors * *runtime * *values[Factor::kParallelEfficiency] / iterations;
}

std::vector<std::string> FactorTable::Series() const {
  std::vector<std::string> series;
  for (const PhaseKey& key : Keys()) {
    if (series.empty() || series.back() != key.series) series.push_back(key.series);
  }
  return series;
}

std::vector<PhaseId> FactorTable::Phases(const std::string& series) const {
  std::vector<PhaseId> phases;
  for (const PhaseKey& key : Keys()) {
    if (key.series == series) phases.push_back(key.phase);
  }
  return phases;
}

std::vector<PhaseKey> FactorTable::Keys() const {
  std::map<std::string, std::size_t> order;  // series in the order of their first rows
  std::set<PhaseKey> seen;
  std::vector<PhaseKey> keys;
  const FactorRow* before = nullptr;
  for (const FactorRow& row : rows) {
    const bool is_same = before != nullptr && before->series == row.series && before->phase == row.phase;
    before = &row;
    if (is_same || !seen.insert(row.Key()).second) continue;
    order.try_emplace(row.series, order.size());
    keys.push_back(row.Key());
  }
  std::ranges::stable_sort(keys, {}, [&](const PhaseKey& key) { return order.at(key.series); });
  return keys;
}

std::vector<FactorRow> FactorTable::Rows(const PhaseKey& key) const {
  std::vector<const FactorRow*> chosen;  // rows are large: sorted by their places, then copied once
  for (const FactorRow& row : rows) {
    if (row.series == key.series && row.phase == key.phase) chosen.push_back(&row);
  }
  chosen = CountRows(chosen).counted;
  std::ranges::stable_sort(chosen, {}, [](const FactorRow* row) { return std::pair(row->cores, row->repeat); });
  std::vector<FactorRow> sorted;
  sorted.reserve(chosen.size());
  for (const FactorRow* row : chosen) sorted.push_back(*row);
  return sorted;
}

FactorTree TreeOf(const std::vector<FactorRow>& rows) {
  const bool is_hybrid = std::ranges::any_of(rows, [](const FactorRow& row) { return row.IsHybrid(); });
  return is_hybrid ? FactorTree::kHybrid : FactorTree::kMpi;
}

bool IsShown(Factor factor, const std::vector<FactorRow>& rows) {
  return std::ranges::any_of(rows, [&](const FactorRow& row) {
    const std::optional<double>& value = row.values[factor];
    return value && !IsWithoutDevices(factor, *value);
  });
}

void FindGroupsInOldTexts(FactorTable& table) {
  const auto is_part = [](const FactorRow& row) { return row.ranks < row.cores / row.threads; };
  std::set<PhaseKey> groups;
  std::set<std::pair<PhaseKey, std::int64_t>> parts;  // at these core counts
  for (const FactorRow& row : table.rows) {
    if (!is_part(row) || !GroupInOldText(row.phase.name)) continue;
    groups.insert(row.Key());
    parts.emplace(row.Key(), row.cores);
  }
  if (groups.empty()) return;
  // A group has some of the ranks or all of them at one core count: where there are rows of both kinds, those of all
  // ranks are a phase with the same text.
  std::set<PhaseKey> phases;
  for (const FactorRow& row : table.rows) {
    if (!is_part(row) && parts.contains({row.Key(), row.cores})) phases.insert(row.Key());
  }
  for (FactorRow& row : table.rows) {
    if (groups.contains(row.Key()) && (is_part(row) || !phases.contains(row.Key()))) {
      row.phase = *GroupInOldText(row.phase.name);
    }
  }
}

void ForgetComparison(FactorRow& row) {
  for (const FactorType& type : AllFactors()) {
    if (!type.ComparesWithReference()) continue;
    row.values[type.factor].reset();
    row.standard_errors[type.factor].reset();
  }
}

void AddFindingsOfRows(FactorTable& table) {
  const std::string_view id = anomaly::kWaitsUnknown.id;
  std::erase_if(table.findings, [&](const Finding& finding) { return finding.id == id; });
  Diagnostics diagnostics;
  for (const FactorRow& row : table.rows) {
    if (!row.unknown_waits || row.phase.IsGroup()) continue;  // a group has those of its phase
    diagnostics.Add(
        anomaly::kWaitsUnknown, row.unknown_waits->calls,
        fmt::format("at {} cores{}: {}", row.cores, row.phase.IsUnnamed() ? "" : " in phase " + row.phase.Text(),
                    row.unknown_waits->example));
  }
  for (const Finding& finding : diagnostics.findings()) table.findings.push_back(finding);
}

double SpeedupFrom(double global_efficiency, double cores, const SpeedupAnchor& anchor) {
  return anchor.speedup * global_efficiency / anchor.global_efficiency * cores / anchor.cores;
}

RowPointers PointersTo(const std::vector<FactorRow>& rows) {
  RowPointers pointers;
  pointers.reserve(rows.size());
  for (const FactorRow& row : rows) pointers.push_back(&row);
  return pointers;
}

namespace {

// Calls add(number of the phase in `keys`, row) for every row of the table.
void ForEachRow(auto& table, const std::vector<PhaseKey>& keys, const auto& add) {
  std::map<PhaseKey, std::size_t> index;
  for (const PhaseKey& key : keys) index.emplace(key, index.size());
  std::size_t last = 0;  // rows of one phase often follow each other
  for (auto& row : table.rows) {
    if (row.series != keys[last].series || row.phase != keys[last].phase) last = index.at(row.Key());
    add(last, row);
  }
}

}  // namespace

std::vector<std::vector<FactorRow*>> RowsToComplete(FactorTable& table) {
  const std::vector<PhaseKey> keys = table.Keys();
  std::vector<std::vector<FactorRow*>> rows(keys.size());
  ForEachRow(table, keys, [&](std::size_t phase, FactorRow& row) { rows[phase].push_back(&row); });
  return rows;
}

std::vector<RowsOfPhase> RowsByPhase(const FactorTable& table) {
  const std::vector<PhaseKey> keys = table.Keys();
  std::vector<RowsOfPhase> phases;
  for (const PhaseKey& key : keys) phases.push_back({key, {}});
  ForEachRow(table, keys, [&](std::size_t phase, const FactorRow& row) { phases[phase].rows.push_back(&row); });
  const auto place = [](const FactorRow* row) { return std::pair(row->cores, row->repeat); };
  for (RowsOfPhase& phase : phases) {
    phase.rows = CountRows(phase.rows).counted;
    if (!std::ranges::is_sorted(phase.rows, {}, place)) std::ranges::stable_sort(phase.rows, {}, place);
  }
  return phases;
}

std::optional<std::int64_t> CoresOfSeveralSplits(const RowPointers& rows) {
  std::map<std::int64_t, std::set<std::int64_t>> threads;  // indexed by cores
  for (const FactorRow* row : rows) {
    if (!row->IsHybrid()) return std::nullopt;
    threads[row->cores].insert(row->threads);
  }
  const auto several = std::ranges::find_if(threads, [](const auto& one) { return one.second.size() > 1; });
  return several == threads.end() ? std::nullopt : std::optional(several->first);
}

namespace {

// Medians over the repeats at the reference.
struct Reference {
  double cores = 0;
  double processes = 0;
  double runtime = 0;            // an iteration
  std::optional<double> useful;  // an iteration; nothing where a row does not know it
  std::optional<double> speedup;
  std::optional<double> instructions;  // an iteration
  std::optional<double> ipc;
  std::optional<double> frequency;
};

std::optional<double> Ipc(const PhaseTotals& totals) {
  if (!totals.instructions || !totals.cycles) return std::nullopt;
  return *totals.instructions / *totals.cycles;
}

std::optional<double> Frequency(const PhaseTotals& totals) {
  if (!totals.cycles) return std::nullopt;
  return *totals.cycles / totals.UsefulOfAll();
}

Reference MakeReference(const std::vector<const FactorRow*>& rows) {
  Reference reference;
  reference.cores = static_cast<double>(rows.front()->cores);
  reference.processes = *MedianOf(rows, [](const FactorRow& row) { return std::optional(row.Processes()); });
  const auto of_totals = [&](auto value) {
    return MedianOf(rows, [&](const FactorRow& row) { return row.totals ? value(row) : std::optional<double>(); });
  };
  reference.useful = MedianOf(rows, [](const FactorRow& r) { return r.UsefulTime(); });
  reference.speedup = MedianOf(rows, [](const FactorRow& r) { return r.values[Factor::kSpeedup]; });
  reference.instructions = of_totals([](const FactorRow& r) {
    return r.totals->instructions ? std::optional(*r.totals->instructions / r.iterations) : std::nullopt;
  });
  reference.ipc = of_totals([](const FactorRow& r) { return Ipc(*r.totals); });
  reference.frequency = of_totals([](const FactorRow& r) { return Frequency(*r.totals); });
  reference.runtime = MedianOf(rows, [](const FactorRow& r) { return r.TimePerIteration(); }).value_or(0);
  return reference;
}

void CompareWithReference(FactorRow& row, const Reference& reference, Scaling scaling) {
  // Weak scaling: P / P_ref times the work. Run times are those of cores, however divided.
  const bool is_time = KnowsTimesOnly(row);
  const double larger =
      is_time ? static_cast<double>(row.cores) / reference.cores : row.Processes() / reference.processes;
  const double growth = scaling == Scaling::kWeak ? larger : 1;
  FactorValues& values = row.values;
  const auto set = [&](Factor factor, std::optional<double> value) {
    if (!values[factor] && value) values[factor] = value;
  };
  if (row.totals) {
    const auto ipc = Ipc(*row.totals);
    const auto frequency = Frequency(*row.totals);
    if (row.totals->instructions && reference.instructions) {
      set(Factor::kInstructionScaling, *reference.instructions / (*row.totals->instructions / row.iterations) * growth);
    }
    if (ipc && reference.ipc) set(Factor::kIpcScaling, *ipc / *reference.ipc);
    if (frequency && reference.frequency) set(Factor::kFrequencyScaling, *frequency / *reference.frequency);
  }
  const bool has_children =
      values[Factor::kInstructionScaling] && values[Factor::kIpcScaling] && values[Factor::kFrequencyScaling];
  if (!has_children) {
    const std::optional<double> useful = row.UsefulTime();
    if (useful && reference.useful && *useful > 0) {
      set(Factor::kComputationScalability, *reference.useful / *useful * growth);
    }
  }
  if (row.runtime && reference.runtime > 0) {
    set(Factor::kSpeedup, reference.runtime / (*row.runtime / row.iterations) * growth);
    // Against the reference run, whose own losses times do not tell.
    if (is_time)
      set(Factor::kGlobalEfficiency, *values[Factor::kSpeedup] * reference.cores / static_cast<double>(row.cores));
  }
}

// Where some rows have factors of threads or devices, those of one thread a process have them, too. What a run has no
// part of costs it nothing.
void FillHybrid(const std::vector<FactorRow*>& rows, const std::vector<Finding>& findings) {
  if (std::ranges::none_of(rows, [](const FactorRow* row) { return row->IsHybrid(); })) return;
  const bool has_unknown_threads = std::ranges::any_of(
      findings, [](const Finding& finding) { return finding.id == anomaly::kThreadsAtProcessLevel.id; });
  const bool know_parts =
      std::ranges::any_of(rows, [](const FactorRow* row) { return row->values[Factor::kOmpLoadBalance].has_value(); });
  for (FactorRow* row : rows) {
    FactorValues& values = row->values;
    const bool may_have_more = row->threads > 1 || has_unknown_threads;
    if (may_have_more && !row->IsHybrid()) continue;  // at process level
    if (!row->IsHybrid()) values[Factor::kMpiParallelEfficiency] = values[Factor::kParallelEfficiency];
    const bool knows_openmp =
        values[Factor::kOmpParallelEfficiency] || values.KnowsChildrenOf(Factor::kOmpParallelEfficiency);
    if (row->threads == 1 && !knows_openmp) {
      values.SetPerfectOpenMp();
      for (const Factor part : {Factor::kOmpLoadBalance, Factor::kOmpScheduling, Factor::kOmpSerialization}) {
        if (!know_parts) values[part].reset();
      }
    }
    if (!values[Factor::kDeviceOffload]) values.SetPerfectOffload();
  }
}

// Adds oddities of the runs of a phase side by side.
void AddFindingsOfPhase(const std::vector<FactorRow*>& rows, Diagnostics& diagnostics) {
  const std::string series = rows[0]->series.empty() ? "" : "series " + rows[0]->series + ", ";
  const std::string phase = rows[0]->phase.IsUnnamed() ? "" : "phase " + rows[0]->phase.Text() + ", ";
  const std::string place = rows[0]->phase.IsUnnamed() ? "" : "in phase " + rows[0]->phase.Text();
  // Runs differ in threads a process while factors of some are those of main threads alone. Run times are those of all.
  const auto differs = [&](const FactorRow* row) { return row->threads != rows.front()->threads; };
  const bool threads_confuse = std::ranges::any_of(rows, differs) &&
                               !std::ranges::all_of(rows, [](const FactorRow* row) { return row->IsHybrid(); }) &&
                               !std::ranges::all_of(rows, [](const FactorRow* row) { return KnowsTimesOnly(*row); });
  if (threads_confuse) diagnostics.Add(anomaly::kThreadsDifferBetweenRuns, 1, place);
  if (const auto cores = CoresOfSeveralSplits({rows.begin(), rows.end()})) {
    diagnostics.Add(anomaly::kSplitsDiffer, 1, fmt::format("{}{}at {} cores", place, place.empty() ? "" : " ", *cores));
  }
  const CountedRows counted = CountRows({rows.begin(), rows.end()});
  if (!counted.slower.empty()) {
    diagnostics.Add(anomaly::kSlowerSplits, counted.slower.size(), series + phase + DescribeSplits(counted));
  }
  if (!counted.outlying.empty()) {
    diagnostics.Add(anomaly::kOutlyingRepeat, counted.outlying.size(), series + phase + DescribeOutlying(counted));
    diagnostics.AddPopulation(anomaly::kOutlyingRepeat, rows.size());
  }
  // Repeats whose work differs from that of any repeat before them.
  constexpr double kOtherWork = 0.1;  // chosen: noise moves useful time by a few percent
  RowPointers measured;
  std::ranges::copy_if(rows, std::back_inserter(measured),
                       [](const FactorRow* row) { return row->totals.has_value(); });
  const auto split = [](const FactorRow* row) { return std::pair(row->cores, row->threads); };
  std::ranges::stable_sort(measured, {}, [&](const FactorRow* row) { return std::pair(split(row), row->repeat); });
  double least = 0, most = 0;  // extremes of the repeats before
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const double useful = *measured[i]->UsefulTime();
    if (i == 0 || split(measured[i]) != split(measured[i - 1])) {
      least = most = useful;
      continue;
    }
    if (std::fabs(useful / least - 1) > kOtherWork || std::fabs(useful / most - 1) > kOtherWork) {
      diagnostics.Add(anomaly::kWorkDiffersBetweenRepeats, 1, fmt::format("at {} cores", measured[i]->cores));
    }
    least = std::min(least, useful);
    most = std::max(most, useful);
  }
}

void CompletePhase(const std::vector<FactorRow*>& rows, const FactorTable& table, std::optional<Scaling> scaling,
                   Diagnostics& diagnostics) {
  FillHybrid(rows, table.findings);
  diagnostics.Merge(CheckPhase(rows));
  // Missing values are counted row by row, since rows are large and most factors are in none of them.
  std::array<std::size_t, kFactorCount> counts{};
  for (const FactorRow* row : rows) {
    for (std::size_t i = 0; i < kFactorCount; ++i) counts[i] += row->values[static_cast<Factor>(i)] ? 1 : 0;
  }
  for (const FactorType& type : AllFactors()) {
    const std::size_t known = counts[static_cast<std::size_t>(type.factor)];
    if (known == 0 || known == rows.size()) continue;
    diagnostics.Add(anomaly::kValuesMissing, rows.size() - known,
                    fmt::format("{} in {} of {} rows", type.id, known, rows.size()));
  }
  const auto for_each_row = [&](const auto& body) {
    ParallelForBlocks(rows.size(), [&](std::size_t first, std::size_t end) {
      for (std::size_t i = first; i < end; ++i) body(*rows[i]);
    });
  };
  for_each_row([](FactorRow& row) { row.values.DeriveParents(); });
  const Reference reference = MakeReference(ReferenceRows(rows, *table.reference));
  // Alone, a core count scales perfectly either way.
  const bool one_count =
      std::all_of(rows.begin(), rows.end(), [&](const FactorRow* row) { return row->cores == rows.front()->cores; });
  if (scaling || one_count) {
    for_each_row([&](FactorRow& row) {
      CompareWithReference(row, reference, scaling.value_or(Scaling::kStrong));
      row.values.DeriveParents();
    });
  }
  for (FactorRow* row : rows) {
    std::optional<double>& efficiency = row->values[Factor::kGlobalEfficiency];
    if (efficiency || !reference.speedup || !KnowsSpeedupOnly(*row)) continue;
    // A speedup that is all that is known contains how the problem grows.
    const double cores = static_cast<double>(row->cores) / reference.cores;
    efficiency = *row->values[Factor::kSpeedup] / *reference.speedup / cores;
  }
  AddErrors(rows);
  AddFindingsOfPhase(rows, diagnostics);
}

}  // namespace

void CompleteTable(FactorTable& table) {
  if (table.rows.empty()) return;
  Diagnostics diagnostics;
  const std::map<std::string, Scaling> scaling = DecideScaling(table, diagnostics);
  if (KnowsTimesOnly(table)) diagnostics.Add(anomaly::kTimesOnly, 1);
  ChooseReference(table);
  for (const std::vector<FactorRow*>& rows : RowsToComplete(table)) {
    const auto of_series = scaling.find(rows[0]->series);
    CompletePhase(rows, table, of_series == scaling.end() ? std::nullopt : std::optional(of_series->second),
                  diagnostics);
  }
  ReplaceFindings(diagnostics, table.findings);  // the table may have been complete before
}

namespace {

using Reading = std::function<std::optional<double>(const FactorRow&)>;

using Run = std::pair<const FactorRow*, double>;                                 // with its value
using Runs = std::map<std::pair<std::int64_t, std::int64_t>, std::vector<Run>>;  // indexed by cores and threads

// Chosen: repeats of 1 to 3 % are never out; of normal scatter of 5 % one table in 30 has one that is.
constexpr double kUsualScatter = 0.02;
constexpr double kFarthest = 6;             // standard deviations
constexpr std::size_t kFewestToJudge = 3;   // two do not tell which of them is bad
constexpr std::size_t kFewNoisyCounts = 2;  // more with outlying repeats, and more than half of all: that is the noise
constexpr std::size_t kMostNamed = 3;

// Each row is looked at once, since rows are large. Nothing where one lacks the value.
std::optional<Runs> RunsBy(const RowPointers& rows, const Reading& value) {
  Runs runs;
  for (const FactorRow* row : rows) {
    const double one = value(*row).value_or(0);
    if (!(one > 0)) return std::nullopt;
    runs[{row->cores, row->threads}].push_back({row, one});
  }
  return runs;
}

const Reading kTime = [](const FactorRow& row) { return row.TimePerIteration(); };

// The value by which repeats are compared, with the id of its factor: time (without id), else the first factor that all
// rows know.
std::optional<std::pair<Runs, std::string>> ComparedRuns(const RowPointers& rows) {
  if (auto runs = RunsBy(rows, kTime)) return std::pair(std::move(*runs), std::string());
  for (const FactorType& type : AllFactors()) {
    auto runs = RunsBy(rows, [factor = type.factor](const FactorRow& row) { return row.values[factor]; });
    if (runs) return std::pair(std::move(*runs), std::string(type.id));
  }
  return std::nullopt;
}

double MedianOfRuns(const std::vector<Run>& runs) {
  std::vector<double> values;
  for (const auto& [row, value] : runs) values.push_back(value);
  return Median(values);
}

std::vector<double> Distances(const std::vector<Run>& runs) {
  const double median = MedianOfRuns(runs);
  std::vector<double> distances;
  for (const auto& [row, value] : runs) distances.push_back(std::fabs(std::log(value / median)));
  return distances;
}

// Standard deviation of logarithms, from distances to the median; the factors correct the bias of few normal values.
double ScatterOfRuns(const std::vector<double>& distances) {
  const std::size_t count = distances.size();
  if (count == 2) return std::max(kUsualScatter, std::sqrt(2.0) * distances[0]);
  const double of_few = count == 3 ? 1.6 : count < 6 ? 1.2 : 1.05;
  return std::max(kUsualScatter, of_few * kDeviationOverMedianDistance * Median(distances));
}

// Own scatter of few repeats is uncertain, so that of the other core counts, and the usual one, counts as much.
RowPointers FindOutlying(const RowPointers& rows) {
  if (rows.size() < kFewestToJudge) return {};
  const auto compared = ComparedRuns(rows);
  if (!compared) return {};
  const Runs& runs = compared->first;
  std::vector<double> scatters = {kUsualScatter};
  for (const auto& [split, repeats] : runs) {
    if (repeats.size() > 1) scatters.push_back(ScatterOfRuns(Distances(repeats)));
  }
  const double usual = Median(scatters);
  RowPointers outlying;
  std::size_t judged = 0, noisy = 0;
  for (const auto& [split, repeats] : runs) {
    if (repeats.size() < kFewestToJudge) continue;
    const std::vector<double> distances = Distances(repeats);
    const double limit = kFarthest * std::sqrt(usual * ScatterOfRuns(distances));
    RowPointers far;
    for (std::size_t i = 0; i < repeats.size(); ++i) {
      if (distances[i] > limit) far.push_back(repeats[i].first);
    }
    ++judged;
    if (far.empty() || 2 * far.size() >= repeats.size()) continue;
    ++noisy;
    outlying.insert(outlying.end(), far.begin(), far.end());
  }
  return noisy > kFewNoisyCounts && 2 * noisy > judged ? RowPointers() : outlying;
}

// Run times are those of the program, however its cores are divided: the best of them is what the cores can do.
RowPointers FindSlower(const RowPointers& rows) {
  if (!std::ranges::all_of(rows, [](const FactorRow* row) { return KnowsTimesOnly(*row); })) return {};
  const std::optional<Runs> runs = RunsBy(rows, kTime);
  if (!runs) return {};
  std::map<std::int64_t, std::pair<double, std::int64_t>> fastest;  // time and threads by cores
  for (const auto& [split, repeats] : *runs) {
    const std::pair of_split(MedianOfRuns(repeats), split.second);
    const auto [best, is_first] = fastest.try_emplace(split.first, of_split);
    if (!is_first) best->second = std::min(best->second, of_split);
  }
  RowPointers slower;
  for (const auto& [split, repeats] : *runs) {
    if (split.second == fastest.at(split.first).second) continue;
    for (const auto& [row, time] : repeats) slower.push_back(row);
  }
  return slower;
}

RowPointers Without(RowPointers rows, const RowPointers& others) {
  if (others.empty()) return rows;
  const std::set<const FactorRow*> left_out(others.begin(), others.end());
  std::erase_if(rows, [&](const FactorRow* row) { return left_out.contains(row); });
  return rows;
}

std::string Joined(std::vector<std::string> names, const char* separator) {
  const std::size_t all = names.size();
  if (all <= kMostNamed) return Join(names, separator);
  names.resize(kMostNamed);
  return Join(names, separator) + fmt::format("{}{} more", separator, all - kMostNamed);
}

}  // namespace

CountedRows CountRows(const RowPointers& rows) {
  CountedRows result;
  result.slower = FindSlower(rows);
  result.counted = Without(rows, result.slower);
  result.outlying = FindOutlying(result.counted);
  result.counted = Without(std::move(result.counted), result.outlying);
  return result;
}

std::string DescribeOutlying(const CountedRows& rows) {
  RowPointers all = rows.counted;
  all.insert(all.end(), rows.outlying.begin(), rows.outlying.end());
  const auto [runs, id] = *ComparedRuns(all);
  const auto shown = [unit = id.empty() ? " s" : ""](double value) { return fmt::format("{:.4g}{}", value, unit); };
  std::vector<std::string> names;
  for (const FactorRow* row : rows.outlying) {
    const std::vector<Run>& repeats = runs.at({row->cores, row->threads});
    names.push_back(fmt::format("repeat {} on {} core{} {} {}, the median {}", row->repeat, row->cores,
                                row->cores == 1 ? "" : "s", id.empty() ? "takes" : "has " + id,
                                shown(std::ranges::find(repeats, row, &Run::first)->second),
                                shown(MedianOfRuns(repeats))));
  }
  return Joined(names, "; ");
}

std::string DescribeSplits(const CountedRows& rows) {
  std::map<std::int64_t, std::string> splits;
  for (const FactorRow* row : rows.counted) {
    splits[row->cores] = fmt::format("{} = {} × {}", row->cores, row->ranks, row->threads);
  }
  std::vector<std::string> names;
  for (const auto& [cores, split] : splits) names.push_back(split);
  return Joined(names, ", ");
}

}  // namespace farscale
