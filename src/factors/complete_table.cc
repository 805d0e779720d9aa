#include "factors/complete_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "factors/anomalies.h"
#include "factors/counted_rows.h"
#include "factors/phase_rows.h"
#include "factors/spread.h"
#include "factors/table_check.h"
#include "factors/table_terms.h"
#include "trace/anomalies.h"

namespace farscale {
namespace {

// Medians over the repeats at the reference.
struct Reference {
  double cores = 0;
  double processes = 0;
  double useful = 0;                   // an iteration
  double runtime = 0;                  // an iteration
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
  reference.useful =
      of_totals([](const FactorRow& r) { return std::optional(r.totals->UsefulOfAll() / r.iterations); }).value_or(0);
  reference.instructions = of_totals([](const FactorRow& r) {
    return r.totals->instructions ? std::optional(*r.totals->instructions / r.iterations) : std::nullopt;
  });
  reference.ipc = of_totals([](const FactorRow& r) { return Ipc(*r.totals); });
  reference.frequency = of_totals([](const FactorRow& r) { return Frequency(*r.totals); });
  reference.runtime = MedianOf(rows, [](const FactorRow& r) { return r.TimePerIteration(); }).value_or(0);
  return reference;
}

void CompareWithReference(FactorRow& row, const Reference& reference, std::optional<double> reference_useful,
                          Scaling scaling) {
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
    if (useful && reference_useful && *useful > 0) {
      set(Factor::kComputationScalability, *reference_useful / *useful * growth);
    }
  }
  if (row.runtime && reference.runtime > 0) {
    set(Factor::kSpeedup, reference.runtime / (*row.runtime / row.iterations) * growth);
    // Against the reference run, whose own losses times do not tell.
    if (is_time)
      set(Factor::kGlobalEfficiency, *values[Factor::kSpeedup] * reference.cores / static_cast<double>(row.cores));
  }
}

// A speedup that is all that is known contains how the problem grows.
void CompareSpeedups(FactorRow& row, double reference_speedup, double reference_cores) {
  std::optional<double>& efficiency = row.values[Factor::kGlobalEfficiency];
  const double cores = static_cast<double>(row.cores) / reference_cores;
  if (!efficiency) efficiency = *row.values[Factor::kSpeedup] / reference_speedup / cores;
}

void FindMissingValues(const std::vector<FactorRow*>& rows, Diagnostics& diagnostics) {
  // Counted row by row, since rows are large and most factors are in none of them.
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
}

// Counts repeats whose work differs from that of any repeat before them.
void CompareWorkOfRepeats(const std::vector<FactorRow*>& rows, Diagnostics& diagnostics) {
  constexpr double kOtherWork = 0.1;  // chosen: noise moves useful time by a few percent
  std::vector<const FactorRow*> measured;
  std::ranges::copy_if(rows, std::back_inserter(measured),
                       [](const FactorRow* row) { return row->totals.has_value(); });
  const auto split = [](const FactorRow* row) { return std::pair(row->cores, row->threads); };
  std::ranges::stable_sort(measured, {}, [&](const FactorRow* row) { return std::pair(split(row), row->repeat); });
  double least = 0, most = 0;  // of the repeats before
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

// Whether runs differ in threads a process while factors of some are those of main threads alone. Run times are those
// of all threads.
bool ThreadsConfuse(const std::vector<FactorRow*>& rows) {
  if (std::ranges::all_of(rows, [](const FactorRow* row) { return KnowsTimesOnly(*row); })) return false;
  const auto differs = [&](const FactorRow* row) { return row->threads != rows.front()->threads; };
  const auto is_hybrid = [](const FactorRow* row) { return row->IsHybrid(); };
  return std::ranges::any_of(rows, differs) && !std::ranges::all_of(rows, is_hybrid);
}

// What is odd about the runs of a phase side by side.
void AddFindingsOfPhase(const std::vector<FactorRow*>& rows, Diagnostics& diagnostics) {
  const std::string series = rows[0]->series.empty() ? "" : "series " + rows[0]->series + ", ";
  const std::string phase = rows[0]->phase.IsUnnamed() ? "" : "phase " + rows[0]->phase.Text() + ", ";
  const std::string place = rows[0]->phase.IsUnnamed() ? "" : "in phase " + rows[0]->phase.Text();
  if (ThreadsConfuse(rows)) diagnostics.Add(anomaly::kThreadsDifferBetweenRuns, 1, place);
  if (const auto cores = CoresOfSeveralSplits({rows.begin(), rows.end()})) {
    diagnostics.Add(anomaly::kSplitsDiffer, 1, fmt::format("{}{}at {} cores", place, place.empty() ? "" : " ", *cores));
  }
  const CountedRows counted = CountRows({rows.begin(), rows.end()});
  if (!counted.slower.empty()) {
    diagnostics.Add(anomaly::kSlowerSplits, counted.slower.size(), series + phase + DescribeSplits(counted));
  }
  if (counted.outlying.empty()) return;
  diagnostics.Add(anomaly::kOutlyingRepeat, counted.outlying.size(), series + phase + DescribeOutlying(counted));
  diagnostics.AddPopulation(anomaly::kOutlyingRepeat, rows.size());
}

void CompletePhase(const std::vector<FactorRow*>& rows, const FactorTable& table, std::optional<Scaling> scaling,
                   Diagnostics& diagnostics) {
  FillHybrid(rows, table.findings);
  CheckPhase(rows, diagnostics);
  FindMissingValues(rows, diagnostics);
  const auto for_each_row = [&](const auto& body) {
    ParallelForBlocks(rows.size(), [&](std::size_t first, std::size_t end) {
      for (std::size_t i = first; i < end; ++i) body(*rows[i]);
    });
  };
  for_each_row([](FactorRow& row) { row.values.DeriveParents(); });
  const std::vector<const FactorRow*> reference_rows = ReferenceRows(rows, *table.reference);
  const Reference reference = MakeReference(reference_rows);
  const std::optional<double> reference_useful =
      MedianOf(reference_rows, [](const FactorRow& row) { return row.UsefulTime(); });
  const std::optional<double> reference_speedup =
      MedianOf(reference_rows, [](const FactorRow& row) { return row.values[Factor::kSpeedup]; });
  // Alone, a core count scales perfectly either way.
  const bool one_count =
      std::all_of(rows.begin(), rows.end(), [&](const FactorRow* row) { return row->cores == rows.front()->cores; });
  if (scaling || one_count) {
    for_each_row([&](FactorRow& row) {
      CompareWithReference(row, reference, reference_useful, scaling.value_or(Scaling::kStrong));
      row.values.DeriveParents();
    });
  }
  for (FactorRow* row : rows) {
    if (KnowsSpeedupOnly(*row) && reference_speedup) CompareSpeedups(*row, *reference_speedup, reference.cores);
  }
  AddErrors(rows);
  AddFindingsOfPhase(rows, diagnostics);
  CompareWorkOfRepeats(rows, diagnostics);
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
  ReplaceFindings(diagnostics, table.findings);  // of a table that was complete before
}

}  // namespace farscale
