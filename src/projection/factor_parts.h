// Which factors are extrapolated by themselves, and which are products of those.
#pragma once

#include <optional>
#include <vector>

#include "factors/factor.h"
#include "factors/factor_table.h"

namespace farscale {

// The finest factors among `available` whose product is `factor`: itself when it is there and its children are not
// complete; empty when it is not there, whole or in parts.
std::vector<Factor> PartsOf(Factor factor, const std::vector<Factor>& available);

// The factors whose losses make up global efficiency, else parallel efficiency, else all that are available.
std::vector<Factor> LossesAmong(const std::vector<Factor>& available);
// The efficiency that these make up; nothing where they make up none.
std::optional<Factor> WholeAmong(const std::vector<Factor>& available);

// Factors that are fitted by themselves, each to the rows that have it: the leaves of the tree, or the deepest
// ancestors that are known at enough core counts [docs/formulas.md, projection].
std::vector<Factor> FittedFactors(const std::vector<FactorRow>& rows);

}  // namespace farscale
