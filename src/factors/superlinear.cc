#include "factors/superlinear.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/format.h"
#include "base/text.h"
#include "factors/phase_rows.h"

namespace farscale {
namespace {

constexpr double kMatters = 1.02;  // of a part; chosen: below, it is noise

constexpr const char* kReal = "real where more of the problem fits the caches of more cores";
constexpr const char* kWrong =
    "wrong where the scaling, the problem or the iterations are not those of the runs, or where the run compared with "
    "was disturbed";

const FactorRow* RowWithLargest(const std::vector<FactorRow>& rows, Factor factor) {
  const FactorRow* largest = nullptr;
  for (const FactorRow& row : rows) {
    const bool is_larger = row.values[factor] && (largest == nullptr || *row.values[factor] > *largest->values[factor]);
    if (is_larger) largest = &row;
  }
  return largest;
}

const FactorRow& RowAt(const std::vector<FactorRow>& rows, std::int64_t cores) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const FactorRow& row) { return row.cores == cores; });
  return found == rows.end() ? rows.front() : *found;
}

std::string OnCores(const FactorRow& row) { return "on " + FormatCoreCount(static_cast<double>(row.cores)); }

std::string CauseOf(Factor factor, double value) {
  switch (factor) {
    case Factor::kInstructionScaling:
      return fmt::format(
          "the program executes {:.2f} times fewer instructions than its scaling makes of the reference "
          "run's, so check that scaling, problem and iterations are those of the runs",
          value);
    case Factor::kIpcScaling:
      return fmt::format(
          "a cycle executes {:.2f} times as many instructions as in the reference run, as it does where more of the "
          "problem fits the caches of more cores",
          value);
    case Factor::kFrequencyScaling: return fmt::format("the clock is {:.2f} times that of the reference run", value);
    default:
      return fmt::format(
          "computation takes {:.2f} times less than its scaling makes of the reference run's, which is "
          "{}, and {}",
          value, kReal, kWrong);
  }
}

// The run that computation scalability is 1 of, the smallest of them.
const FactorRow& ReferenceIn(const std::vector<FactorRow>& rows) {
  const FactorRow* reference = &rows.front();
  const auto rank = [](const FactorRow& row) {
    const std::optional<double>& scalability = row.values[Factor::kComputationScalability];
    return std::pair(!scalability || std::fabs(*scalability - 1) > 1e-9, row.cores);
  };
  for (const FactorRow& row : rows) {
    if (rank(row) < rank(*reference)) reference = &row;
  }
  return *reference;
}

std::string Threads(const FactorRow& row) {
  return fmt::format("{} thread{} a process", row.threads, row.threads == 1 ? "" : "s");
}

// Of computation scalability: other threads, else its parts where they are known.
std::string CauseOfScalability(const FactorRow& row, const FactorRow& reference) {
  if (row.threads != reference.threads) {
    return fmt::format(
        "this run has {} and the run compared with {}, and computation is that of processes, so it is less where more "
        "threads share it; compare runs with as many threads",
        Threads(row), Threads(reference));
  }
  std::vector<std::string> causes;
  for (const Factor part : {Factor::kInstructionScaling, Factor::kIpcScaling, Factor::kFrequencyScaling}) {
    if (row.values[part] && *row.values[part] > kMatters) causes.push_back(CauseOf(part, *row.values[part]));
  }
  if (!causes.empty()) return Join(causes, ", and ");
  return CauseOf(Factor::kComputationScalability, *row.values[Factor::kComputationScalability]);
}

std::string BecauseOfScalability(const FactorRow& row, const FactorRow& reference) {
  return fmt::format("come from computation scalability ({} {}): {}.",
                     FormatFactor(*row.values[Factor::kComputationScalability]), OnCores(row),
                     CauseOfScalability(row, reference));
}

}  // namespace

std::string WhySuperlinear(const std::vector<FactorRow>& rows, double largest, std::optional<std::int64_t> baseline) {
  if (!(largest > kSuperlinear)) return "";
  const std::string text = "Efficiencies above 110 % ";
  const FactorRow* scalability = RowWithLargest(rows, Factor::kComputationScalability);
  const FactorRow* parallel = baseline ? RowWithLargest(rows, Factor::kParallelEfficiency) : nullptr;
  const auto there = [&](Factor factor) {
    return baseline ? MeanAt(PointersTo(rows), *baseline, [&](const FactorRow& row) { return row.values[factor]; })
                    : std::nullopt;
  };
  const std::optional<double> scalability_there = there(Factor::kComputationScalability);
  const std::optional<double> parallel_there = there(Factor::kParallelEfficiency);
  const double by_scalability =
      scalability ? *scalability->values[Factor::kComputationScalability] / scalability_there.value_or(1) : 1;
  const double by_parallel =
      parallel && parallel_there ? *parallel->values[Factor::kParallelEfficiency] / *parallel_there : 1;
  if (by_parallel > kMatters && by_parallel >= by_scalability) {
    return text + fmt::format("come from parallel efficiency, which is {} {} and only {} in the run compared with.",
                              FormatFactor(*parallel->values[Factor::kParallelEfficiency]), OnCores(*parallel),
                              FormatFactor(*parallel_there));
  }
  if (by_scalability > kMatters && *scalability->values[Factor::kComputationScalability] > kMatters) {
    return text + BecauseOfScalability(*scalability, baseline ? RowAt(rows, *baseline) : ReferenceIn(rows));
  }
  return text + fmt::format("are {}; they are {}.", kReal, kWrong);
}

std::string WhySuperlinear(const std::vector<FactorRow>& rows) {
  const auto value = [&](Factor factor) {
    const FactorRow* row = RowWithLargest(rows, factor);
    return row == nullptr ? 0 : *row->values[factor];
  };
  const double whole = std::max(value(Factor::kGlobalEfficiency), value(Factor::kComputationScalability));
  if (whole > kSuperlinear) return WhySuperlinear(rows, whole);
  for (const FactorType& type : AllFactors()) {
    if (!type.IsEfficiency() || type.AtMostOne() || !(value(type.factor) > kSuperlinear)) continue;
    const FactorRow& row = *RowWithLargest(rows, type.factor);
    const double largest = *row.values[type.factor];
    return fmt::format("{} is {} {}: {}.", type.name, FormatFactor(largest), OnCores(row),
                       CauseOf(type.factor, largest));
  }
  return "";
}

}  // namespace farscale
