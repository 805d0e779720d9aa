#include "factors/run_scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/error.h"

namespace farscale {
namespace {

// What all phases say of their scaling, unless they contradict each other.
std::optional<Scaling> ImpliedScaling(const FactorTable& table) {
  std::optional<Scaling> implied;
  for (const std::string& series : table.Series()) {
    for (const std::string& phase : table.Phases(series)) {
      const std::optional<Scaling> scaling = ScalingShownBy(table.Rows(series, phase));
      if (implied && scaling && *implied != *scaling) return std::nullopt;
      if (scaling) implied = scaling;
    }
  }
  return implied;
}

// Means of an iteration over the repeats at one core count.
struct Iteration {
  double seconds = 0;
  double useful = 0;  // seconds of computation of all ranks together
};

std::optional<Iteration> IterationAt(const std::vector<FactorRow>& rows, std::int64_t cores) {
  Iteration mean;
  double known = 0;
  for (const FactorRow& row : rows) {
    const std::optional<double>& efficiency = row.values[Factor::kParallelEfficiency];
    if (row.cores != cores || !row.runtime || !efficiency) continue;
    const double seconds = *row.runtime / row.iterations;
    mean.seconds += seconds;
    mean.useful += seconds * *efficiency * static_cast<double>(row.cores);
    ++known;
  }
  if (known == 0 || !(mean.useful > 0)) return std::nullopt;
  return Iteration{mean.seconds / known, mean.useful / known};
}

// Why these runs cannot be weak scaling; empty when they may be. The time of a grown problem does not fall below half,
// and computation grows with the cores: here it must be nearer to constant than to that, which is less than half of
// it per core. Computation that scales badly only brings runs of strong scaling nearer to weak ones, so little of it
// leaves the question open. The other way round nothing is certain: computation that every rank repeats grows with
// the cores in strong scaling, too.
std::string WhyNotWeak(const std::vector<FactorRow>& rows) {
  constexpr double kLeastGrowth = 4, kLargestTime = 0.5;
  const auto by_cores = [](const FactorRow& a, const FactorRow& b) { return a.cores < b.cores; };
  const auto [least, most] = std::minmax_element(rows.begin(), rows.end(), by_cores);
  const double growth = static_cast<double>(most->cores) / static_cast<double>(least->cores);
  if (growth < kLeastGrowth || least->threads != most->threads) return "";
  const std::optional<Iteration> first = IterationAt(rows, least->cores), last = IterationAt(rows, most->cores);
  if (!first || !last) return "";
  const double time = last->seconds / first->seconds, useful = last->useful / first->useful;
  if (time >= kLargestTime || useful >= std::sqrt(growth)) return "";
  return fmt::format(
      "the problem does not grow with the cores: from {} to {} cores an iteration falls from {:.3g} to {:.3g} s, and "
      "its computation on all cores together is {:.3g} times as much, not {:.3g} times",
      least->cores, most->cores, first->seconds, last->seconds, useful, growth);
}

// The phase of a series that takes longest at its fewest cores: a smaller one may well have work that does not grow.
std::vector<FactorRow> LongestPhase(const FactorTable& table, const std::string& series) {
  std::vector<FactorRow> longest;
  double most = -1;
  for (const std::string& phase : table.Phases(series)) {
    std::vector<FactorRow> rows = table.Rows(series, phase);
    const double seconds = rows.front().runtime.value_or(0);
    if (seconds <= most) continue;
    most = seconds;
    longest = std::move(rows);
  }
  return longest;
}

void RefuseImpossible(const FactorTable& table, Scaling scaling) {
  if (scaling != Scaling::kWeak) return;
  for (const std::string& series : table.Series()) {
    const std::vector<FactorRow> rows = LongestPhase(table, series);
    const std::string why = rows.empty() ? "" : WhyNotWeak(rows);
    if (why.empty()) continue;
    throw Error(ErrorKind::kUsage, "--scaling weak", (series.empty() ? "" : "series " + series + ": ") + why,
                "say --scaling strong, or correct run times and iterations");
  }
}

}  // namespace

std::optional<Scaling> ScalingOf(const FactorTable& table, const std::vector<FactorRow>& rows) {
  return table.scaling ? table.scaling : ScalingShownBy(rows);
}

std::optional<Scaling> ScalingShownBy(const std::vector<FactorRow>& rows) {
  constexpr double kSame = 0.02;
  const bool has_speedups = std::any_of(
      rows.begin(), rows.end(), [](const FactorRow& row) { return row.runtime && row.values[Factor::kSpeedup]; });
  // Up to a constant, speedup is global efficiency times cores.
  const auto speedup_of = [&](const FactorRow& row) -> std::optional<double> {
    if (has_speedups) return row.values[Factor::kSpeedup];
    const std::optional<double>& efficiency = row.values[Factor::kGlobalEfficiency];
    return efficiency ? std::optional(*efficiency * static_cast<double>(row.cores)) : std::nullopt;
  };
  const FactorRow* first = nullptr;
  bool is_strong = true, is_weak = true, differs = false;
  for (const FactorRow& row : rows) {
    if (!row.runtime || !speedup_of(row)) continue;
    if (first == nullptr) first = &row;
    const auto reach = [&](const FactorRow& one) { return *one.runtime / one.iterations * *speedup_of(one); };
    const double growth = static_cast<double>(row.cores) / static_cast<double>(first->cores);
    const double ratio = reach(row) / reach(*first);
    is_strong = is_strong && std::fabs(ratio - 1) < kSame;
    is_weak = is_weak && std::fabs(ratio / growth - 1) < kSame;
    differs = differs || row.cores != first->cores;
  }
  if (!differs || is_strong == is_weak) return std::nullopt;
  return is_strong ? Scaling::kStrong : Scaling::kWeak;
}

void PutInTerms(FactorTable& table, std::optional<Scaling> scaling, std::optional<std::int64_t> reference) {
  if (!table.scaling) {
    table.scaling = ImpliedScaling(table);
    if (table.scaling) table.scaling_source = kShownByTimes;
    if (table.scaling && scaling && *scaling != *table.scaling) {
      throw Error(ErrorKind::kUsage, "--scaling " + ToString(*scaling),
                  "times and efficiencies of the table show " + ToString(*table.scaling) + " scaling",
                  "correct the table, or leave --scaling out");
    }
  }
  const bool is_told = !table.scaling && scaling;
  if (is_told) table.scaling = scaling;
  CompleteTable(table);
  if (is_told) RefuseImpossible(table, *scaling);
  if (scaling || reference) ChangeTerms(table, scaling, reference);
}

}  // namespace farscale
