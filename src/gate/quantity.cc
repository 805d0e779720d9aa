#include "gate/quantity.h"

#include "base/format.h"

namespace farscale {
namespace {

constexpr const char* kTimePerIterationId = "timePerIteration";
constexpr const char* kRuntimeId = "runtime";

}  // namespace

std::optional<Quantity> QuantityById(std::string_view id) {
  if (id == kTimePerIterationId) return Quantity::TimePerIteration();
  if (id == kRuntimeId) return Quantity{Quantity::Kind::kRuntime, Factor::kParallelEfficiency};
  const auto factor = FactorById(id);
  return factor ? std::optional(Quantity::Of(*factor)) : std::nullopt;
}

std::vector<std::string> QuantityIds() {
  std::vector<std::string> ids = FactorIds();
  ids.emplace_back(kTimePerIterationId);
  ids.emplace_back(kRuntimeId);
  return ids;
}

std::string IdOf(const Quantity& quantity) {
  switch (quantity.kind) {
    case Quantity::Kind::kTimePerIteration: return kTimePerIterationId;
    case Quantity::Kind::kRuntime: return kRuntimeId;
    default: return std::string(Describe(quantity.factor).id);
  }
}

std::string NameOf(const Quantity& quantity) {
  switch (quantity.kind) {
    case Quantity::Kind::kTimePerIteration: return "Time of an iteration";
    case Quantity::Kind::kRuntime: return "Run time";
    default: return std::string(Describe(quantity.factor).name);
  }
}

std::optional<double> ValueOf(const FactorRow& row, const Quantity& quantity) {
  if (quantity.kind == Quantity::Kind::kFactor) return row.values[quantity.factor];
  return quantity.kind == Quantity::Kind::kRuntime ? row.runtime : row.TimePerIteration();
}

std::optional<double> ErrorOf(const FactorRow& row, const Quantity& quantity) {
  if (quantity.kind == Quantity::Kind::kFactor) return row.standard_errors[quantity.factor];
  if (!row.runtime_error) return std::nullopt;
  return quantity.kind == Quantity::Kind::kRuntime ? *row.runtime_error : *row.runtime_error / row.iterations;
}

std::string FormatQuantity(const Quantity& quantity, double value) {
  if (quantity.IsTime()) return FormatSeconds(value);
  return quantity.factor == Factor::kSpeedup ? FormatSpeedup(value) : FormatFactor(value);
}

}  // namespace farscale
