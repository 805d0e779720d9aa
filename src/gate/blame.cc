#include "gate/blame.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "projection/factor_parts.h"

namespace farscale {
namespace {

using ReadValue = std::function<std::optional<double>(const FactorRow&)>;

std::optional<double> ComputationOf(const FactorRow& row, Factor factor) {
  if (factor == Factor::kComputationScalability) {
    const std::optional<double> useful = row.UsefulTime();
    return useful ? std::optional(1 / *useful) : std::nullopt;
  }
  if (!row.totals || !row.totals->instructions || !row.totals->cycles) return std::nullopt;
  if (factor == Factor::kInstructionScaling) return row.iterations / *row.totals->instructions;
  if (factor == Factor::kIpcScaling) return *row.totals->instructions / *row.totals->cycles;
  return *row.totals->cycles / row.totals->UsefulOfAll();
}

// The mean over core counts of their mean logarithm; nothing if a run lacks the value.
std::optional<double> MeanLog(const std::map<double, std::vector<FactorRow>>& rows, const ReadValue& read) {
  double sum = 0;
  for (const auto& [cores, runs] : rows) {
    for (const FactorRow& row : runs) {
      const std::optional<double> value = read(row);
      if (!value || !(*value > 0)) return std::nullopt;
      sum += std::log(*value) / static_cast<double>(runs.size());
    }
  }
  return rows.empty() ? std::nullopt : std::optional(sum / static_cast<double>(rows.size()));
}

std::vector<Factor> KeysOf(const std::map<Factor, double>& logs) {
  std::vector<Factor> keys;
  for (const auto& [factor, log] : logs) keys.push_back(factor);
  return keys;
}

// The factor that a quantity is made of: efficiency for times and speedup, else itself.
Factor TreeOf(const Quantity& quantity, const std::map<Factor, double>& known) {
  if (!quantity.IsTime() && quantity.factor != Factor::kSpeedup) return quantity.factor;
  return known.count(Factor::kGlobalEfficiency) > 0 ? Factor::kGlobalEfficiency : Factor::kParallelEfficiency;
}

std::optional<Blame> Largest(const std::map<Factor, double>& effects) {
  double lost = 0;
  const auto worst = std::min_element(effects.begin(), effects.end(),
                                      [](const auto& a, const auto& b) { return a.second < b.second; });
  for (const auto& [factor, effect] : effects) lost += std::min(0.0, effect);
  if (worst == effects.end() || !(worst->second < 0)) return std::nullopt;
  return Blame{worst->first, worst->second, worst->second / lost};
}

std::map<Factor, double> Difference(const std::vector<Factor>& factors, const std::map<Factor, double>& before,
                                    const std::map<Factor, double>& after) {
  std::map<Factor, double> effects;
  for (const Factor factor : factors) effects[factor] = after.at(factor) - before.at(factor);
  return effects;
}

std::vector<Factor> KnownInBoth(const std::map<Factor, double>& before, const std::map<Factor, double>& after) {
  std::vector<Factor> both;
  for (const auto& [factor, log] : before) {
    if (after.count(factor) > 0) both.push_back(factor);
  }
  return both;
}

// Computation as a whole, or in its three parts.
void AddComputation(const FactorLogs& before, const FactorLogs& after, std::map<Factor, double>& effects) {
  std::vector<Factor> known = KnownInBoth(before.computation, after.computation);
  if (known.size() > 1) known.erase(std::find(known.begin(), known.end(), Factor::kComputationScalability));
  effects.merge(Difference(known, before.computation, after.computation));
}

struct ComputationNames {
  const char* name;
  const char* id;
};

ComputationNames NamesOfComputation(Factor factor) {
  switch (factor) {
    case Factor::kInstructionScaling: return {"Instructions", "instructions"};
    case Factor::kIpcScaling: return {"IPC", "ipc"};
    case Factor::kFrequencyScaling: return {"Frequency", "frequency"};
    default: return {"Useful time", "usefulTime"};
  }
}

}  // namespace

std::string NameOf(const Blame& blame) {
  return blame.is_computation ? NamesOfComputation(blame.factor).name : std::string(Describe(blame.factor).name);
}

std::string IdOf(const Blame& blame) {
  return blame.is_computation ? NamesOfComputation(blame.factor).id : std::string(Describe(blame.factor).id);
}

FactorLogs LogsOf(const std::vector<const FactorTable*>& tables, const PhaseKey& key,
                  const std::vector<double>& cores) {
  std::map<double, std::vector<FactorRow>> rows;
  for (const FactorTable* table : tables) {
    for (const FactorRow& row : table->Rows(key)) {
      const auto count = static_cast<double>(row.cores);
      if (std::find(cores.begin(), cores.end(), count) != cores.end()) rows[count].push_back(row);
    }
  }
  FactorLogs logs;
  for (const FactorType& type : AllFactors()) {
    const auto log = MeanLog(rows, [&](const FactorRow& row) { return row.values[type.factor]; });
    if (log) logs.factors[type.factor] = *log;
  }
  for (const Factor factor :
       {Factor::kComputationScalability, Factor::kInstructionScaling, Factor::kIpcScaling, Factor::kFrequencyScaling}) {
    const auto log = MeanLog(rows, [&](const FactorRow& row) { return ComputationOf(row, factor); });
    if (log) logs.computation[factor] = *log;
  }
  return logs;
}

FactorLogs LogsOf(const PhaseProjection& projection, double cores) {
  FactorLogs logs;
  for (const FactorProjection& factor : projection.factors) {
    for (const ProjectedValue& value : factor.targets) {
      if (value.cores == cores && value.value > 0) logs.factors[factor.factor] = std::log(value.value);
    }
  }
  return logs;
}

std::optional<Blame> BlameForLoss(const Quantity& quantity, const FactorLogs& logs) {
  std::map<Factor, double> losses;
  for (const Factor part : PartsOf(TreeOf(quantity, logs.factors), KeysOf(logs.factors))) {
    losses[part] = logs.factors.at(part);
  }
  return Largest(losses);
}

std::optional<Blame> BlameForChange(const Quantity& quantity, const FactorLogs& before, const FactorLogs& after) {
  const std::vector<Factor> known = KnownInBoth(before.factors, after.factors);
  if (!quantity.IsTime()) {
    const Factor tree = TreeOf(quantity, before.factors);
    return Largest(Difference(PartsOf(tree, known), before.factors, after.factors));
  }
  std::map<Factor, double> effects =
      Difference(PartsOf(Factor::kParallelEfficiency, known), before.factors, after.factors);
  AddComputation(before, after, effects);
  std::optional<Blame> blame = Largest(effects);
  if (blame) blame->is_computation = before.computation.count(blame->factor) > 0;
  return blame;
}

}  // namespace farscale
