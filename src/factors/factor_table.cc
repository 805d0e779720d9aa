#include "factors/factor_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "factors/anomalies.h"
#include "factors/phase_rows.h"
#include "factors/scaling.h"
#include "factors/share_limit.h"
#include "factors/spread.h"
#include "trace/anomalies.h"

namespace farscale {
namespace {

// Nearer to 1, a scalability of a table from elsewhere is that of the reference. Chosen: above the rounding of doubles,
// below that of any file.
constexpr double kOne = 1e-9;

std::vector<FactorType> FactorsThatAreOneAtReference() {
  std::vector<FactorType> types;
  std::ranges::copy_if(AllFactors(), std::back_inserter(types), &FactorType::IsOneAtReference);
  return types;
}

// Of a phase, from the trace. Where no runs have as many threads, cores stand for processes.
std::optional<WorkGrowth> MeasuredGrowth(RowPointers rows) {
  std::erase_if(rows, [](const FactorRow* row) { return !row->totals; });
  if (const std::optional<WorkGrowth> growth = GrowthOfWork(rows)) return growth;
  std::vector<FactorRow> by_cores;
  for (const FactorRow* row : rows) by_cores.emplace_back(*row).threads = 1;
  return GrowthOfWork(PointersTo(by_cores));
}

// Strong scaling keeps the total work, weak scaling lets it grow with the processes; the nearer one (in the logarithm)
// is it. The first series with a result decides.
void DecideScaling(FactorTable& table, Diagnostics& diagnostics) {
  if (table.scaling) return;
  for (const RowsOfPhase& longest : LongestPhases(table)) {
    const std::optional<WorkGrowth> growth = MeasuredGrowth(longest.rows);
    if (!growth || !growth->work) continue;
    table.scaling = *growth->work > std::sqrt(growth->processes) ? Scaling::kWeak : Scaling::kStrong;
    table.scaling_source = growth->is_instructions ? "instructions" : "useful time";
    diagnostics.Add(anomaly::kScalingGuessed, 1,
                    fmt::format("{} {} {:.3g} times from {} to {} cores: {} scaling", table.scaling_source,
                                growth->is_instructions ? "grow" : "grows", *growth->work, growth->first, growth->last,
                                ToString(*table.scaling)));
    return;
  }
}

// The number of cores at which the scalabilities and speedups that a table from elsewhere gives are 1.
std::optional<std::int64_t> ImpliedReference(const FactorTable& table) {
  std::map<std::int64_t, bool> is_one;
  const std::vector<FactorType> types = FactorsThatAreOneAtReference();
  for (const FactorRow& row : table.rows) {
    for (const FactorType& type : types) {
      if (row.totals || !row.values[type.factor]) continue;
      const bool one = std::fabs(*row.values[type.factor] - 1) < kOne;
      is_one[row.cores] = is_one.try_emplace(row.cores, true).first->second && one;
    }
  }
  for (const auto& [cores, one] : is_one) {
    if (one) return cores;
  }
  return std::nullopt;
}

void ChooseReference(FactorTable& table) {
  std::set<std::int64_t> cores;
  for (const FactorRow& row : table.rows) cores.insert(row.cores);
  if (cores.empty()) return;
  if (!table.reference) table.reference = ImpliedReference(table);
  if (!table.reference) {
    table.reference = *cores.begin();
    return;
  }
  if (cores.contains(*table.reference)) return;
  std::vector<std::string> known;
  for (const std::int64_t count : cores) known.push_back(std::to_string(count));
  throw Error(ErrorKind::kUsage, "", fmt::format("there is no run at the reference of {} cores", *table.reference),
              "runs are at " + Join(known, ", ") + " cores");
}

// Means over the repeats at the reference.
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

template <typename Value>
std::optional<double> MeanOf(const std::vector<const FactorRow*>& rows, Value value) {
  double sum = 0;
  for (const FactorRow* row : rows) {
    const std::optional<double> one = value(*row);
    if (!one) return std::nullopt;
    sum += *one;
  }
  return rows.empty() ? std::nullopt : std::optional(sum / static_cast<double>(rows.size()));
}

// Rows of a phase at the reference count; the smallest count of the phase when it was not run there.
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
  return chosen;
}

Reference MakeReference(const std::vector<const FactorRow*>& rows) {
  Reference reference;
  reference.cores = static_cast<double>(rows.front()->cores);
  reference.processes = *MeanOf(rows, [](const FactorRow& row) { return std::optional(row.Processes()); });
  const auto of_totals = [&](auto value) {
    return MeanOf(rows, [&](const FactorRow& row) { return row.totals ? value(row) : std::optional<double>(); });
  };
  reference.useful =
      of_totals([](const FactorRow& r) { return std::optional(r.totals->UsefulOfAll() / r.iterations); }).value_or(0);
  reference.instructions = of_totals([](const FactorRow& r) {
    return r.totals->instructions ? std::optional(*r.totals->instructions / r.iterations) : std::nullopt;
  });
  reference.ipc = of_totals([](const FactorRow& r) { return Ipc(*r.totals); });
  reference.frequency = of_totals([](const FactorRow& r) { return Frequency(*r.totals); });
  reference.runtime = MeanOf(rows, [](const FactorRow& r) { return r.TimePerIteration(); }).value_or(0);
  return reference;
}

// Whether run times are all that is known of a row, with what was derived from them.
bool KnowsTimesOnly(const FactorRow& row) {
  return row.runtime && !row.totals && std::ranges::none_of(AllFactors(), [&](const FactorType& type) {
           return row.values[type.factor] && type.factor != Factor::kGlobalEfficiency &&
                  type.factor != Factor::kSpeedup;
         });
}

bool KnowsTimesOnly(const FactorTable& table) {
  return std::ranges::all_of(table.rows, [](const FactorRow& row) { return KnowsTimesOnly(row); });
}

// Runs of weak scaling do not get faster.
void DecideScalingByTimes(FactorTable& table, Diagnostics& diagnostics) {
  constexpr double kFaster = 0.8;  // chosen: above what noise makes of a time
  std::string detail;
  for (const RowsOfPhase& phase : RowsByPhase(table)) {
    const FactorRow& first = *phase.rows.front();
    const FactorRow& fastest =
        **std::ranges::min_element(phase.rows, {}, [](const FactorRow* row) { return *row->TimePerIteration(); });
    if (fastest.cores == first.cores) continue;
    const double ratio = *fastest.TimePerIteration() / *first.TimePerIteration();
    if (ratio > kFaster) continue;
    table.scaling = Scaling::kStrong;
    detail = fmt::format("run times become {:.3g} times as long from {} to {} cores: strong scaling", ratio,
                         first.cores, fastest.cores);
    break;
  }
  if (!table.scaling) {
    const bool has_several =
        std::ranges::any_of(table.rows, [&](const FactorRow& row) { return row.cores != table.rows.front().cores; });
    if (!has_several) return;
    table.scaling = Scaling::kWeak;
    detail = "run times do not become shorter on more cores: weak scaling";
  }
  table.scaling_source = kShownByTimes;
  diagnostics.Add(anomaly::kScalingGuessed, 1, detail);
}

void CompareWithReference(FactorRow& row, const Reference& reference, std::optional<double> reference_useful,
                          Scaling scaling) {
  // Weak scaling: P / P_ref times the work.
  const double growth = scaling == Scaling::kWeak ? row.Processes() / reference.processes : 1;
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
    if (KnowsTimesOnly(row))
      set(Factor::kGlobalEfficiency, *values[Factor::kSpeedup] * reference.cores / static_cast<double>(row.cores));
  }
}

// What the parts of a given factor multiply to; nothing for leaves and where a part is unknown.
std::optional<double> ProductOfParts(const FactorValues& values, Factor factor) {
  if (!IsParent(factor, values.Tree())) return std::nullopt;
  FactorValues derived = values;
  derived[factor].reset();
  derived.DeriveParents();
  return derived[factor];
}

void CheckGivenValue(const FactorRow& row, const FactorType& type, double value, Diagnostics& diagnostics) {
  constexpr double kLargestDeviation = 0.01;  // chosen: above what rounding to three digits makes
  if (type.AtMostOne() && value > LargestGiven(type.factor)) {
    throw Error(ErrorKind::kInput, fmt::format("row of {} cores", row.cores),
                fmt::format("{} is {}, but it is a share between 0 and 1", type.id, value), kShareAdvice);
  }
  if (type.AtMostOne() && value > kLargestShare) {
    diagnostics.Add(anomaly::kShareAboveOne, 1, fmt::format("{} {} at {} cores", type.id, value, row.cores));
  }
  const std::optional<double> product = ProductOfParts(row.values, type.factor);
  if (!product || !(std::fabs(value / *product - 1) > kLargestDeviation)) return;
  diagnostics.Add(anomaly::kParentNotProduct, 1,
                  fmt::format("{} {} at {} cores, parts give {:.6g}", type.id, value, row.cores, *product));
}

// What a table from elsewhere may get wrong.
void CheckGivenValues(const std::vector<FactorRow*>& rows, Diagnostics& diagnostics) {
  for (const FactorType& type : AllFactors()) {
    std::size_t known = 0;
    for (const FactorRow* row : rows) {
      const auto& value = row->values[type.factor];
      known += value ? 1 : 0;
      if (value && !row->totals) CheckGivenValue(*row, type, *value, diagnostics);
    }
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

// Whether runs differ in threads a process while factors of some are those of main threads alone.
bool ThreadsConfuse(const std::vector<FactorRow*>& rows) {
  const auto differs = [&](const FactorRow* row) { return row->threads != rows.front()->threads; };
  const auto is_hybrid = [](const FactorRow* row) { return row->IsHybrid(); };
  return std::ranges::any_of(rows, differs) && !std::ranges::all_of(rows, is_hybrid);
}

void CompletePhase(const std::vector<FactorRow*>& rows, const FactorTable& table, Diagnostics& diagnostics) {
  FillHybrid(rows, table.findings);
  CheckGivenValues(rows, diagnostics);
  for (FactorRow* row : rows) row->values.DeriveParents();
  const std::vector<const FactorRow*> reference_rows = ReferenceRows(rows, *table.reference);
  const Reference reference = MakeReference(reference_rows);
  const std::optional<double> reference_useful =
      MeanOf(reference_rows, [](const FactorRow& row) { return row.UsefulTime(); });
  // Alone, a core count scales perfectly either way.
  const bool one_count =
      std::all_of(rows.begin(), rows.end(), [&](const FactorRow* row) { return row->cores == rows.front()->cores; });
  if (table.scaling || one_count) {
    for (FactorRow* row : rows) {
      CompareWithReference(*row, reference, reference_useful, table.scaling.value_or(Scaling::kStrong));
      row->values.DeriveParents();
    }
  }
  AddErrors(rows);
  if (ThreadsConfuse(rows)) {
    diagnostics.Add(anomaly::kThreadsDifferBetweenRuns, 1, "in phase " + rows[0]->phase.Text());
  }
  if (const auto cores = CoresOfSeveralSplits({rows.begin(), rows.end()})) {
    diagnostics.Add(anomaly::kSplitsDiffer, 1, fmt::format("in phase {} at {} cores", rows[0]->phase.Text(), *cores));
  }
  CompareWorkOfRepeats(rows, diagnostics);
}

// The rows of every phase, in the order of the table; phases as in Keys().
std::vector<std::vector<FactorRow*>> RowsToComplete(FactorTable& table) {
  const std::vector<PhaseKey> keys = table.Keys();
  std::map<PhaseKey, std::size_t> index;
  for (std::size_t i = 0; i < keys.size(); ++i) index[keys[i]] = i;
  std::vector<std::vector<FactorRow*>> rows(keys.size());
  const auto is_of = [](const FactorRow& row, const PhaseKey& key) {
    return row.series == key.series && row.phase == key.phase;
  };
  std::size_t last = 0;  // rows of one phase often follow each other
  for (FactorRow& row : table.rows) {
    if (!is_of(row, keys[last])) last = index.at(row.Key());
    rows[last].push_back(&row);
  }
  return rows;
}

[[noreturn]] void RefuseTerms(const FactorRow& row, const std::string& why) {
  throw Error(ErrorKind::kUsage, fmt::format("row of {} cores", row.cores), why,
              "make the table anew from the traces, or predict from factors.json, which knows the totals");
}

void RefuseOtherScaling(const FactorRow& row, Scaling scaling) {
  for (const FactorType& type : FactorsThatAreOneAtReference()) {
    if (!row.values[type.factor]) continue;
    RefuseTerms(row, fmt::format("{} was made for {} scaling and cannot be made anew", type.id,
                                 ToString(scaling == Scaling::kWeak ? Scaling::kStrong : Scaling::kWeak)));
  }
}

// Divides what rows without totals say of scalability by what they say at the new reference: the mean of the repeats
// there, harmonic since times stand in the denominator.
void MoveReference(const std::vector<FactorRow*>& rows, std::int64_t reference) {
  const std::vector<const FactorRow*> at = ReferenceRows(rows, reference);
  std::map<Factor, double> divisors;
  for (const FactorType& type : FactorsThatAreOneAtReference()) {
    const auto inverse = MeanOf(at, [&](const FactorRow& row) {
      return row.values[type.factor] ? std::optional(1 / *row.values[type.factor]) : std::nullopt;
    });
    if (inverse) divisors[type.factor] = 1 / *inverse;
  }
  for (FactorRow* row : rows) {
    if (row->totals) continue;
    FactorValues& values = row->values;
    const bool product = values[Factor::kParallelEfficiency] && values[Factor::kComputationScalability];
    if (values[Factor::kGlobalEfficiency] && KnowsTimesOnly(*row)) {
      row->values = {};  // made anew of the times
      row->standard_errors = {};
      continue;
    }
    if (values[Factor::kGlobalEfficiency] && !product) {
      RefuseTerms(*row, "globalEfficiency cannot be compared with another run without its two parts");
    }
    for (const FactorType& type : FactorsThatAreOneAtReference()) {
      const Factor factor = type.factor;
      if (!values[factor]) continue;
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
  std::map<std::string, std::size_t> order;  // of the series, by their first rows
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
        fmt::format("at {} cores in phase {}: {}", row.cores, row.phase.Text(), row.unknown_waits->example));
  }
  for (const Finding& finding : diagnostics.findings()) table.findings.push_back(finding);
}

void CompleteTable(FactorTable& table) {
  if (table.rows.empty()) return;
  Diagnostics diagnostics;
  DecideScaling(table, diagnostics);
  if (KnowsTimesOnly(table)) {
    if (!table.scaling) DecideScalingByTimes(table, diagnostics);
    diagnostics.Add(anomaly::kTimesOnly, 1);
  }
  ChooseReference(table);
  for (const std::vector<FactorRow*>& rows : RowsToComplete(table)) CompletePhase(rows, table, diagnostics);
  for (const Finding& finding : diagnostics.findings()) {
    const auto same = [&](const Finding& other) { return other.id == finding.id; };
    std::erase_if(table.findings, same);  // of a table that was complete before
    table.findings.push_back(finding);
  }
}

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
    if (other_reference) MoveReference(rows, *table.reference);
    for (FactorRow* row : rows) {
      if (other_scaling && KnowsTimesOnly(*row)) row->values = {};  // made anew of the times
      if (other_scaling && !row->totals) RefuseOtherScaling(*row, *scaling);
      if ((other_scaling || other_reference) && row->totals) ForgetComparison(*row);
    }
  }
  CompleteTable(table);
}

double SpeedupFrom(double global_efficiency, double cores, const SpeedupAnchor& anchor) {
  return anchor.speedup * global_efficiency / anchor.global_efficiency * cores / anchor.cores;
}

}  // namespace farscale
