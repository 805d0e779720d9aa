// The parts of a difference: logarithms of factors, which add up [docs/formulas.md, comparison].
#pragma once

#include <optional>
#include <vector>

#include "factors/factor.h"

namespace farscale {

// Part of a difference of logarithms. A factor, the rest that no factor explains (the whole is not exactly the product
// of its parts), or of times the base: what the reference run computes, in parts where counters tell.
struct Contribution {
  enum class Kind { kFactor, kBase, kBaseInstructions, kBaseRate, kBaseIpc, kBaseFrequency, kRest };
  Kind kind = Kind::kFactor;
  Factor factor = Factor::kLoadBalance;  // of kFactor
  double logarithm = 0;                  // that it adds to ln(after / before) of the whole

  friend bool operator==(const Contribution&, const Contribution&) = default;
};

// ln(after / before) of a product as the sum of its parts, exactly.
struct Decomposition {
  double logarithm = 0;
  std::vector<Contribution> parts;

  // The part that goes furthest in the direction of the whole; null where the whole did not change.
  const Contribution* Largest() const;
  double ShareOf(const Contribution& part) const { return part.logarithm / logarithm; }
};

// Splits ln(after / before) of a factor into its parts; nothing where they are not known on both sides. Values above 0.
std::optional<Decomposition> Explain(Factor whole, const FactorValues& before, const FactorValues& after);

// The same of the time of an iteration: T = base / efficiency, so that factors count with the opposite sign.
// `efficiency` is what Explain says of global efficiency.
Decomposition ExplainTime(double before, double after, const Decomposition& efficiency);

// Parts of global efficiency, where its parts are known on both sides, else of parallel efficiency; sets which.
std::optional<Decomposition> ExplainWhole(const FactorValues& before, const FactorValues& after, Factor& whole);

}  // namespace farscale
