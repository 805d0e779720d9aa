#include "results/results.h"

#include <algorithm>
#include <cmath>

namespace farscale {

std::optional<double> OfferTerms::NodesFor(double cores, std::int64_t threads) const {
  if (!cores_per_node) return std::nullopt;
  const std::int64_t processes_per_node = std::max<std::int64_t>(1, *cores_per_node / threads);
  return std::ceil(cores / static_cast<double>(threads * processes_per_node));
}

std::optional<double> OfferTerms::CostOf(double seconds, double cores, std::int64_t threads) const {
  constexpr double kSecondsAnHour = 3600;
  const std::optional<double> nodes = NodesFor(cores, threads);
  if (!nodes || !price_per_node_hour) return std::nullopt;
  return *nodes * *price_per_node_hour * seconds / kSecondsAnHour;
}

std::int64_t PhaseMarks::Count() const {
  std::int64_t count = 0;
  for (const IterationRecord& record : iterations) count += record.iterations;
  return count;
}

std::int64_t PhaseMarks::LeftOut() const {
  std::int64_t count = 0;
  for (const IterationRecord& record : iterations) count += record.left_out;
  return count;
}

void JoinIterations(std::vector<IterationRecord>& iterations, std::size_t most) {
  const std::size_t together = (iterations.size() + most - 1) / most;
  if (together < 2) return;
  std::vector<IterationRecord> joined;
  for (std::size_t first = 0; first < iterations.size(); first += together) {
    IterationRecord& record = joined.emplace_back(iterations[first]);
    double elapsed = 0, useful = 0, efficiency = 0, balance = 0, disturbance = 0;
    record.iterations = 0;
    record.left_out = 0;
    for (std::size_t i = first; i < std::min(first + together, iterations.size()); ++i) {
      const IterationRecord& one = iterations[i];
      const auto weight = static_cast<double>(one.iterations);
      elapsed += weight * one.elapsed;
      useful += weight * one.useful;
      efficiency += weight * one.parallel_efficiency;
      balance += weight * one.load_balance;
      disturbance += weight * one.disturbance.value_or(0);
      record.begin = std::min(record.begin, one.begin);
      record.end = std::max(record.end, one.end);
      record.iterations += one.iterations;
      record.left_out += one.left_out;
      if (record.reason.empty()) record.reason = one.reason;
    }
    const auto count = static_cast<double>(record.iterations);
    record.elapsed = elapsed / count;
    record.useful = useful / count;
    record.parallel_efficiency = efficiency / count;
    record.load_balance = balance / count;
    if (record.disturbance) record.disturbance = disturbance / count;
  }
  iterations = std::move(joined);
}

Results ResultsOfTable(const FactorTable& table, const std::vector<PhaseProjection>& projections,
                       const std::string& title) {
  Results results;
  results.title = title;
  results.table = table;
  results.projections = projections;
  for (const FactorRow& row : table.rows) {
    const bool known = std::any_of(results.phases.begin(), results.phases.end(),
                                   [&](const PhaseRecord& phase) { return phase.id == row.phase; });
    if (!known) results.phases.push_back({row.phase, "as given by the factor table"});
  }
  return results;
}

}  // namespace farscale
