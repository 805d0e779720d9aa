// The quantities that rules judge and histories show: efficiency factors and times.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "factors/factor.h"
#include "factors/factor_table.h"

namespace farscale {

struct Quantity {
  enum class Kind { kFactor, kTimePerIteration, kRuntime };
  Kind kind = Kind::kFactor;
  Factor factor = Factor::kParallelEfficiency;  // for kFactor only

  static Quantity Of(Factor factor) { return {Kind::kFactor, factor}; }
  static Quantity TimePerIteration() { return {Kind::kTimePerIteration, Factor::kParallelEfficiency}; }

  // Times are better when they are smaller, everything else when it is larger.
  bool IsTime() const { return kind != Kind::kFactor; }
  // As of a factor; times do not compare.
  bool IsOneAtReference() const { return !IsTime() && Describe(factor).IsOneAtReference(); }
  bool ComparesWithReference() const { return !IsTime() && Describe(factor).ComparesWithReference(); }

  friend bool operator==(const Quantity&, const Quantity&) = default;
};

// "timePerIteration", "runtime", or the id of a factor; nothing for anything else.
std::optional<Quantity> QuantityById(std::string_view id);
std::vector<std::string> QuantityIds();
std::string IdOf(const Quantity& quantity);
std::string NameOf(const Quantity& quantity);

// The value in one run, times in seconds; nothing if it is unknown. The standard error has the unit of the value.
std::optional<double> ValueOf(const FactorRow& row, const Quantity& quantity);
std::optional<double> ErrorOf(const FactorRow& row, const Quantity& quantity);

// For printing: "0.813", "2.35", "1.23 ms".
std::string FormatQuantity(const Quantity& quantity, double value);

}  // namespace farscale
