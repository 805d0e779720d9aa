#include "factors/table_terms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <string>

#include "base/error.h"
#include "base/text.h"
#include "factors/anomalies.h"
#include "factors/phase_rows.h"
#include "factors/scaling.h"

namespace farscale {
namespace {

// Nearer to 1, a scalability of a table from elsewhere is that of the reference. Chosen: above the rounding of doubles,
// below that of any file.
constexpr double kOne = 1e-9;

// Of a phase, from the trace. Where no runs have as many threads, cores stand for processes.
std::optional<WorkGrowth> MeasuredGrowth(RowPointers rows) {
  std::erase_if(rows, [](const FactorRow* row) { return !row->totals; });
  if (const std::optional<WorkGrowth> growth = GrowthOfWork(rows)) return growth;
  std::vector<FactorRow> by_cores;
  for (const FactorRow* row : rows) by_cores.emplace_back(*row).threads = 1;
  return GrowthOfWork(PointersTo(by_cores));
}

void DecideScalingByWork(FactorTable& table, Diagnostics& diagnostics) {
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

}  // namespace

void DecideScaling(FactorTable& table, Diagnostics& diagnostics) {
  if (!table.scaling) DecideScalingByWork(table, diagnostics);
  if (!table.scaling && KnowsTimesOnly(table)) DecideScalingByTimes(table, diagnostics);
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

std::vector<FactorType> FactorsThatAreOneAtReference() {
  std::vector<FactorType> types;
  std::ranges::copy_if(AllFactors(), std::back_inserter(types), &FactorType::IsOneAtReference);
  return types;
}

bool KnowsTimesOnly(const FactorRow& row) {
  return row.runtime && !row.totals && std::ranges::none_of(AllFactors(), [&](const FactorType& type) {
           return row.values[type.factor] && type.factor != Factor::kGlobalEfficiency &&
                  type.factor != Factor::kSpeedup;
         });
}

bool KnowsTimesOnly(const FactorTable& table) {
  return std::ranges::all_of(table.rows, [](const FactorRow& row) { return KnowsTimesOnly(row); });
}

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

}  // namespace farscale
