#include "planning/decomposition.h"

#include <cmath>

#include "projection/factor_parts.h"

namespace farscale {
namespace {

constexpr double kNothing = 1e-9;  // of logarithms

using Kind = Contribution::Kind;

}  // namespace

const Contribution* Decomposition::Largest() const {
  const Contribution* largest = nullptr;
  if (std::fabs(logarithm) < kNothing) return largest;
  for (const Contribution& part : parts) {
    if (part.logarithm / logarithm <= 0) continue;
    if (largest == nullptr || part.logarithm / logarithm > largest->logarithm / logarithm) largest = &part;
  }
  return largest;
}

std::optional<Decomposition> Explain(Factor whole, const FactorValues& before, const FactorValues& after) {
  std::vector<Factor> available;
  for (const FactorType& type : AllFactors()) {
    if (before[type.factor] && after[type.factor]) available.push_back(type.factor);
  }
  const std::vector<Factor> parts = PartsOf(whole, available);
  if (parts.empty()) return std::nullopt;
  Decomposition result;
  for (const Factor part : parts) {
    result.parts.push_back({Kind::kFactor, part, std::log(*after[part] / *before[part])});
    result.logarithm += result.parts.back().logarithm;
  }
  if (!before[whole] || !after[whole]) return result;
  const double all = std::log(*after[whole] / *before[whole]), rest = all - result.logarithm;
  if (std::fabs(rest) > kNothing) result.parts.push_back({Kind::kRest, {}, rest});
  result.logarithm = all;
  return result;
}

Decomposition ExplainTime(double before, double after, const Decomposition& efficiency) {
  Decomposition time{std::log(after / before), {}};
  time.parts.push_back({Kind::kBase, {}, time.logarithm + efficiency.logarithm});
  for (Contribution part : efficiency.parts) {
    part.logarithm = -part.logarithm;
    time.parts.push_back(part);
  }
  return time;
}

std::optional<Decomposition> ExplainWhole(const FactorValues& before, const FactorValues& after, Factor& whole) {
  for (const Factor one : {Factor::kGlobalEfficiency, Factor::kParallelEfficiency}) {
    if (const auto explained = Explain(one, before, after)) {
      whole = one;
      return explained;
    }
  }
  return std::nullopt;
}

}  // namespace farscale
