#include "planning/shortlist.h"

#include <algorithm>
#include <cmath>

#include "factors/scaling.h"

namespace farscale {
namespace {

constexpr double kWantedRatio = 8;  // over the largest run, as sentences about targets have it

// A code on one machine.
struct MachineResults {
  std::string name;  // empty: the machine of the runs
  const FactorTable* table = nullptr;
  const PhaseProjection* projection = nullptr;  // of the phase; null: there is none
};

const PhaseProjection* Among(const std::vector<PhaseProjection>& projections, const PhaseKey& key) {
  const auto found = std::ranges::find_if(projections, [&](const PhaseProjection& projection) {
    return projection.series == key.series && projection.phase == key.phase;
  });
  return found == projections.end() ? nullptr : &*found;
}

std::vector<MachineResults> MachinesOf(const Results& results, const PhaseKey& key) {
  std::vector<MachineResults> machines = {{"", &results.table, Among(results.projections, key)}};
  for (const Variant& variant : results.variants) {
    if (variant.is_noise) continue;
    machines.push_back({variant.name, &variant.table, Among(variant.projections, key)});
  }
  return machines;
}

const ProjectedTime* TimeAt(const PhaseProjection* projection, double cores) {
  if (projection == nullptr || !projection->key_results || !projection->key_results->time) return nullptr;
  const std::vector<ProjectedTime>& targets = projection->key_results->time->targets;
  const auto found = std::ranges::find(targets, cores, &ProjectedTime::cores);
  const bool is_reliable = found != targets.end() && IsReliable(*projection, Factor::kSpeedup, cores);
  return is_reliable ? &*found : nullptr;
}

std::optional<double> CommonTarget(const std::vector<MachineResults>& machines) {
  const PhaseProjection* own = machines.front().projection;
  if (own == nullptr || !own->key_results || !own->key_results->time) return std::nullopt;
  std::optional<double> best;
  double nearest = 0;
  for (const ProjectedTime& target : own->key_results->time->targets) {
    const double distance = std::fabs(std::log(target.ratio / kWantedRatio));
    const bool is_known = std::ranges::all_of(
        machines, [&](const MachineResults& machine) { return TimeAt(machine.projection, target.cores) != nullptr; });
    if (target.ratio <= 1 || !is_known || (best && distance >= nearest)) continue;
    best = target.cores;
    nearest = distance;
  }
  return best;
}

// The mean over repeated runs.
std::optional<MachineTime> MeasuredTime(const FactorTable& table, const PhaseKey& key, std::int64_t cores) {
  double sum = 0;
  int count = 0;
  for (const FactorRow& row : table.Rows(key)) {
    const std::optional<double> seconds = row.TimePerIteration();
    if (row.cores != cores || !seconds || !(*seconds > 0)) continue;
    sum += *seconds;
    ++count;
  }
  return count == 0 ? std::nullopt : std::optional(MachineTime{sum / count, std::nullopt, 1});
}

ShortlistRow& RowOf(const std::string& machine, std::vector<ShortlistRow>& rows) {
  const auto known = std::ranges::find(rows, machine, &ShortlistRow::machine);
  return known != rows.end() ? *known : rows.emplace_back(ShortlistRow{machine, {}, {}});
}

void AddStudy(const Results& results, std::size_t study, Shortlist& list) {
  const std::vector<std::string> series = results.table.Series();
  const std::vector<FactorRow> rows =
      series.empty() ? std::vector<FactorRow>() : LongestPhase(results.table, series.front());
  if (rows.empty()) return;
  const PhaseKey key = rows.front().Key();
  const std::vector<MachineResults> machines = MachinesOf(results, key);
  if (machines.size() < 2) return;
  const std::optional<double> target = CommonTarget(machines);
  const std::int64_t largest = rows.back().cores;
  const auto time_on = [&](const MachineResults& machine) -> std::optional<MachineTime> {
    if (!target) return MeasuredTime(*machine.table, key, largest);
    const ProjectedTime* time = TimeAt(machine.projection, *target);
    return MachineTime{time->seconds, time->interval80, 1};
  };
  const std::optional<MachineTime> own = time_on(machines.front());
  if (!own) return;
  list.columns.push_back({study, key, target.value_or(static_cast<double>(largest)), target.has_value()});
  for (const MachineResults& machine : machines) {
    ShortlistRow& row = RowOf(machine.name, list.rows);
    row.times.resize(list.columns.size());
    row.times.back() = time_on(machine);
    if (row.times.back()) row.times.back()->speed = own->seconds / row.times.back()->seconds;
  }
}

std::optional<double> MeanSpeed(const ShortlistRow& row) {
  double sum = 0;
  for (const std::optional<MachineTime>& time : row.times) {
    if (!time) return std::nullopt;
    sum += std::log(time->speed);
  }
  return std::exp(sum / static_cast<double>(row.times.size()));
}

}  // namespace

Shortlist ShortlistOf(const std::vector<const Results*>& studies) {
  Shortlist list;
  for (std::size_t i = 0; i < studies.size(); ++i) AddStudy(*studies[i], i, list);
  for (ShortlistRow& row : list.rows) {
    row.times.resize(list.columns.size());
    row.speed = MeanSpeed(row);
  }
  std::ranges::stable_sort(list.rows, std::ranges::greater(),
                           [](const ShortlistRow& row) { return row.speed.value_or(0); });
  return list;
}

}  // namespace farscale
