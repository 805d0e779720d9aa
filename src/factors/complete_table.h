// The values of a factor table that follow from others: of the reference run, and of parts.
#pragma once

#include <cstdint>
#include <optional>

#include "factors/factor_table.h"

namespace farscale {

// Decides the scaling when the table does not say it, chooses the reference (where the scalabilities given are 1, else
// the smallest number of cores, unless given), fills the factors that compare with the reference, and derives missing
// parents from children. Throws a usage error when the reference given is not a run of the table.
void CompleteTable(FactorTable& table);

// Converts a completed table to another kind of scaling or another reference run. What compares with the
// reference is made anew from the totals; rows without totals are divided by their values at the new reference.
// Throws a usage error when the reference is not a run of the table, and when the rows do not know enough.
void ChangeTerms(FactorTable& table, std::optional<Scaling> scaling, std::optional<std::int64_t> reference);

}  // namespace farscale
