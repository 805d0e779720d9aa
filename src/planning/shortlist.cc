#include "planning/shortlist.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "factors/scaling.h"
#include "results/results.h"

namespace farscale {
namespace {

// The error of a replay on another machine in four of five cases, as a logarithm: so much of the share of the time that
// the network takes there. Chosen on four programs on three simulated machines; it held for 85 % of the programs left
// out, and for 82 % of the machines left out. A constant held for 74 %.
constexpr double kErrorOfNetwork = 0.9;
constexpr double kSmallestError = 0.01;
constexpr double kWantedRatio = 8;  // over the largest run, as sentences about targets have it

// A code on one machine.
struct MachineResults {
  std::string name;  // empty: the machine of the runs
  const FactorTable* table = nullptr;
  const PhaseProjection* projection = nullptr;  // null: there is none
  OfferTerms terms;
};

std::vector<MachineResults> MachinesOf(const Results& results, const PhaseKey& key) {
  std::vector<MachineResults> machines = {{"", &results.table, FindPhase(results.projections, key), {}}};
  for (const Variant& variant : results.variants) {
    if (variant.is_noise) continue;
    machines.push_back({variant.name, &variant.table, FindPhase(variant.projections, key), variant.terms});
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

// The transfer of a phase on so many cores, or what bounds it from below.
double TransferAt(const MachineResults& machine, const PhaseKey& key, double cores) {
  for (const Factor factor : {Factor::kTransfer, Factor::kParallelEfficiency}) {
    if (const FactorProjection* fitted = machine.projection ? machine.projection->Find(factor) : nullptr) {
      const auto target = std::ranges::find(fitted->targets, cores, &ProjectedValue::cores);
      if (target != fitted->targets.end()) return target->value;
    }
    const std::vector<FactorRow> rows = machine.table->Rows(key);
    const auto largest = std::ranges::find_if(rows.rbegin(), rows.rend(), [&](const FactorRow& row) {
      return static_cast<double>(row.cores) <= cores && row.values[factor];
    });
    if (largest != rows.rend()) return *largest->values[factor];
  }
  return 0;
}

double ReplayError(double transfer) { return std::max(kSmallestError, kErrorOfNetwork * (1 - transfer)); }

// A time may be so much shorter and longer, as logarithms. `replay`: error of the replay that it comes from.
std::pair<double, double> DoubtOf(const MachineTime& time, double replay) {
  if (!time.interval80) return {replay, replay};
  const std::optional<double>& high = time.interval80->high;
  return {std::hypot(std::log(time.seconds / time.interval80->low), replay),
          high ? std::hypot(std::log(*high / time.seconds), replay) : std::numeric_limits<double>::infinity()};
}

Ratio RatioOf(double value, double down, double up) { return {value, value * std::exp(-down), value * std::exp(up)}; }

Ratio SpeedOf(const MachineTime& own, const MachineTime& other, double shorter, double longer) {
  const auto [own_shorter, own_longer] = DoubtOf(own, 0);
  return RatioOf(own.seconds / other.seconds, std::hypot(own_shorter, longer), std::hypot(own_longer, shorter));
}

// The geometric mean of a part of all times, and of its bounds: studies err together, since they were replayed on one
// description of the machine.
template <typename Part>
std::optional<Ratio> MeanOver(const ShortlistRow& row, const Part& part) {
  Ratio sum{0, 0, 0};
  for (const std::optional<MachineTime>& time : row.times) {
    const std::optional<Ratio> ratio = time ? part(*time) : std::nullopt;
    if (!ratio) return std::nullopt;
    sum.value += std::log(ratio->value);
    sum.low += std::log(ratio->low);
    sum.high += std::log(ratio->high);
  }
  const auto count = static_cast<double>(row.times.size());
  return Ratio{std::exp(sum.value / count), std::exp(sum.low / count), std::exp(sum.high / count)};
}

ShortlistRow& RowOf(const std::string& machine, std::vector<ShortlistRow>& rows) {
  const auto known = std::ranges::find(rows, machine, &ShortlistRow::machine);
  if (known != rows.end()) return *known;
  rows.emplace_back().machine = machine;
  return rows.back();
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
    if (target) {
      const ProjectedTime* time = TimeAt(machine.projection, *target);
      return MachineTime{time->seconds, time->interval80, {}, {}};
    }
    double sum = 0;
    int count = 0;  // repeated runs
    for (const FactorRow& row : machine.table->Rows(key)) {
      const std::optional<double> seconds = row.TimePerIteration();
      if (row.cores != largest || !seconds || !(*seconds > 0)) continue;
      sum += *seconds;
      ++count;
    }
    return count == 0 ? std::nullopt : std::optional(MachineTime{sum / count, std::nullopt, {}, {}});
  };
  const std::optional<MachineTime> own = time_on(machines.front());
  if (!own) return;
  list.columns.push_back({study, key, target.value_or(static_cast<double>(largest)), target.has_value()});
  for (const MachineResults& machine : machines) {
    ShortlistRow& row = RowOf(machine.name, list.rows);
    row.times.resize(list.columns.size());
    row.times.back() = time_on(machine);
    if (!row.times.back()) continue;
    MachineTime& time = *row.times.back();
    const double cores = list.columns.back().cores;
    const auto [shorter, longer] =
        DoubtOf(time, machine.name.empty() ? 0 : ReplayError(TransferAt(machine, key, cores)));
    if (!machine.name.empty()) time.speed = SpeedOf(*own, time, shorter, longer);
    if (const std::optional<double> cost = machine.terms.CostOf(time.seconds, cores, rows.back().threads)) {
      time.cost = RatioOf(*cost, shorter, longer);
    }
    row.currency = machine.terms.currency;
  }
}

}  // namespace

std::optional<Ratio> ReplayedSpeed(const FactorRow& measured, const FactorRow& replayed) {
  if (!measured.runtime || !replayed.runtime || !(*replayed.runtime > 0)) return std::nullopt;
  const FactorValues& values = replayed.values;
  const double error = ReplayError(values[Factor::kTransfer].value_or(values[Factor::kParallelEfficiency].value_or(0)));
  return RatioOf(*measured.runtime / *replayed.runtime, error, error);
}

Shortlist ShortlistOf(const std::vector<const Results*>& studies) {
  Shortlist list;
  for (std::size_t i = 0; i < studies.size(); ++i) AddStudy(*studies[i], i, list);
  for (ShortlistRow& row : list.rows) {
    row.times.resize(list.columns.size());
    row.speed = MeanOver(row, [](const MachineTime& time) { return std::optional(time.speed); });
  }
  std::ranges::stable_sort(list.rows, std::ranges::greater(),
                           [](const ShortlistRow& row) { return row.speed ? row.speed->value : 0; });
  // Costs over the least of them, where all are in one currency.
  std::optional<double> least;
  std::set<std::string> currencies;
  for (ShortlistRow& row : list.rows) {
    row.cost = MeanOver(row, [](const MachineTime& time) { return time.cost; });
    if (!row.cost) continue;
    currencies.insert(row.currency);
    least = std::min(least.value_or(row.cost->value), row.cost->value);
  }
  for (ShortlistRow& row : list.rows) {
    if (currencies.size() > 1) row.cost.reset();
    if (row.cost) row.cost = Ratio{row.cost->value / *least, row.cost->low / *least, row.cost->high / *least};
    if (!row.speed) continue;
    row.first_rank = 1;
    for (const ShortlistRow& other : list.rows) {
      if (!other.speed) continue;
      row.first_rank += other.speed->low > row.speed->high;
      row.last_rank += other.speed->high >= row.speed->low;
    }
  }
  return list;
}

}  // namespace farscale
