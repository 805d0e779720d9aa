#include "factors/factor_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"

namespace farscale {
namespace {

template <typename Value>
void AddOnce(std::vector<Value>& values, const Value& value) {
  if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
}

// Work of a row, in whatever the trace knows best. An iteration's worth, so that cuts of different length compare.
double Work(const FactorRow& row, bool use_instructions) {
  const double total = use_instructions ? *row.totals->instructions : row.totals->total_useful;
  return total / row.iterations;
}

// Strong scaling keeps the total work, weak scaling lets it grow with the cores; the nearer one (in the logarithm)
// is it.
void DecideScaling(FactorTable& table, Diagnostics& diagnostics) {
  if (table.scaling) return;
  const FactorRow* smallest = nullptr;
  const FactorRow* largest = nullptr;
  for (const FactorRow& row : table.rows) {
    if (!row.totals) continue;
    if (smallest == nullptr || row.cores < smallest->cores) smallest = &row;
  }
  if (smallest == nullptr) return;
  for (const FactorRow& row : table.rows) {
    const bool same_phase = row.series == smallest->series && row.phase == smallest->phase;
    if (row.totals && same_phase && (largest == nullptr || row.cores > largest->cores)) largest = &row;
  }
  if (largest->cores == smallest->cores) return;
  const bool use_instructions = smallest->totals->instructions && largest->totals->instructions;
  const double growth = Work(*largest, use_instructions) / Work(*smallest, use_instructions);
  const double cores = static_cast<double>(largest->cores) / static_cast<double>(smallest->cores);
  table.scaling = growth > std::sqrt(cores) ? Scaling::kWeak : Scaling::kStrong;
  table.scaling_source = use_instructions ? "instructions" : "useful time";
  diagnostics.Add(Anomaly::kScalingGuessed, 1,
                  fmt::format("{} grow {:.3g} times from {} to {} cores: {} scaling", table.scaling_source, growth,
                              smallest->cores, largest->cores, ToString(*table.scaling)));
}

void ChooseReference(FactorTable& table) {
  std::vector<std::int64_t> cores;
  for (const FactorRow& row : table.rows) AddOnce(cores, row.cores);
  if (cores.empty()) return;
  if (!table.reference) {
    table.reference = *std::min_element(cores.begin(), cores.end());
    return;
  }
  if (std::find(cores.begin(), cores.end(), *table.reference) != cores.end()) return;
  std::vector<std::string> known;
  for (const std::int64_t count : cores) known.push_back(std::to_string(count));
  throw Error(ErrorKind::kUsage, "", fmt::format("there is no run at the reference of {} cores", *table.reference),
              "runs are at " + Join(known, ", ") + " cores");
}

// Means over the repeats at the reference.
struct Reference {
  double cores = 0;
  double ranks = 0;
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
  return *totals.cycles / totals.total_useful;
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
  reference.ranks = static_cast<double>(rows.front()->ranks);
  const auto of_totals = [&](auto value) {
    return MeanOf(rows, [&](const FactorRow& row) { return row.totals ? value(row) : std::optional<double>(); });
  };
  reference.useful =
      of_totals([](const FactorRow& r) { return std::optional(r.totals->total_useful / r.iterations); }).value_or(0);
  reference.instructions = of_totals([](const FactorRow& r) {
    return r.totals->instructions ? std::optional(*r.totals->instructions / r.iterations) : std::nullopt;
  });
  reference.ipc = of_totals([](const FactorRow& r) { return Ipc(*r.totals); });
  reference.frequency = of_totals([](const FactorRow& r) { return Frequency(*r.totals); });
  reference.runtime = MeanOf(rows, [](const FactorRow& r) {
                        return r.runtime ? std::optional(*r.runtime / r.iterations) : std::nullopt;
                      }).value_or(0);
  return reference;
}

// A row from elsewhere with run time and parallel efficiency says its useful time too: Σ t = P · T · PE.
std::optional<double> UsefulOf(const FactorRow& row) {
  if (row.totals) return row.totals->total_useful / row.iterations;
  if (!row.runtime || !row.values[Factor::kParallelEfficiency]) return std::nullopt;
  return static_cast<double>(row.ranks) * *row.runtime * *row.values[Factor::kParallelEfficiency] / row.iterations;
}

void CompareWithReference(FactorRow& row, const Reference& reference, std::optional<double> reference_useful,
                          Scaling scaling) {
  // Weak scaling: P / P_ref times the work.
  const double growth = scaling == Scaling::kWeak ? static_cast<double>(row.ranks) / reference.ranks : 1;
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
    const std::optional<double> useful = UsefulOf(row);
    if (useful && reference_useful && *useful > 0) {
      set(Factor::kComputationScalability, *reference_useful / *useful * growth);
    }
  }
  if (row.runtime && reference.runtime > 0) {
    set(Factor::kSpeedup, reference.runtime / (*row.runtime / row.iterations) * growth);
  }
}

void CompletePhase(const std::vector<FactorRow*>& rows, const FactorTable& table, Diagnostics& diagnostics) {
  for (FactorRow* row : rows) row->values.DeriveParents();
  const std::vector<const FactorRow*> reference_rows = ReferenceRows(rows, *table.reference);
  const Reference reference = MakeReference(reference_rows);
  const std::optional<double> reference_useful =
      MeanOf(reference_rows, [](const FactorRow& row) { return UsefulOf(row); });
  // Alone, a core count scales perfectly either way.
  const bool one_count =
      std::all_of(rows.begin(), rows.end(), [&](const FactorRow* row) { return row->cores == rows.front()->cores; });
  if (table.scaling || one_count) {
    for (FactorRow* row : rows) {
      CompareWithReference(*row, reference, reference_useful, table.scaling.value_or(Scaling::kStrong));
      row->values.DeriveParents();
    }
  }
  for (const FactorRow* row : rows) {
    for (const FactorRow* other : rows) {
      if (!row->totals || !other->totals || other->cores != row->cores || other->repeat >= row->repeat) continue;
      const double ratio =
          (row->totals->total_useful / row->iterations) / (other->totals->total_useful / other->iterations);
      if (std::fabs(ratio - 1) > 0.1) {
        diagnostics.Add(Anomaly::kWorkDiffersBetweenRepeats, 1, fmt::format("at {} cores", row->cores));
      }
    }
  }
}

}  // namespace

std::string ToString(Scaling scaling) { return scaling == Scaling::kStrong ? "strong" : "weak"; }

std::optional<Scaling> ScalingByName(std::string_view name) {
  if (name == "strong") return Scaling::kStrong;
  if (name == "weak") return Scaling::kWeak;
  return std::nullopt;
}

std::vector<std::string> FactorTable::Series() const {
  std::vector<std::string> series;
  for (const FactorRow& row : rows) AddOnce(series, row.series);
  return series;
}

std::vector<std::string> FactorTable::Phases(const std::string& series) const {
  std::vector<std::string> phases;
  for (const FactorRow& row : rows) {
    if (row.series == series) AddOnce(phases, row.phase);
  }
  return phases;
}

std::vector<FactorRow> FactorTable::Rows(const std::string& series, const std::string& phase) const {
  std::vector<FactorRow> chosen;
  for (const FactorRow& row : rows) {
    if (row.series == series && row.phase == phase) chosen.push_back(row);
  }
  std::stable_sort(chosen.begin(), chosen.end(), [](const FactorRow& a, const FactorRow& b) {
    return std::tie(a.cores, a.repeat) < std::tie(b.cores, b.repeat);
  });
  return chosen;
}

void CompleteTable(FactorTable& table) {
  if (table.rows.empty()) return;
  Diagnostics diagnostics;
  DecideScaling(table, diagnostics);
  ChooseReference(table);
  for (const std::string& series : table.Series()) {
    for (const std::string& phase : table.Phases(series)) {
      std::vector<FactorRow*> rows;
      for (FactorRow& row : table.rows) {
        if (row.series == series && row.phase == phase) rows.push_back(&row);
      }
      CompletePhase(rows, table, diagnostics);
    }
  }
  for (const Finding& finding : diagnostics.findings()) table.findings.push_back(finding);
}

double SpeedupFrom(double global_efficiency, double cores, double reference_efficiency, double reference_cores) {
  return global_efficiency / reference_efficiency * cores / reference_cores;
}

}  // namespace farscale
