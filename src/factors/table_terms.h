// The terms that a factor table is completed in: strong or weak scaling, and the reference run.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/diagnostics.h"
#include "factors/factor_table.h"

namespace farscale {

// Strong scaling keeps the total work, weak scaling lets it grow with the processes; the nearer one (in the logarithm)
// is it. The first series with a result decides. Of a table that knows run times alone: runs of weak scaling do not get
// faster. A table that says its scaling keeps it.
void DecideScaling(FactorTable& table, Diagnostics& diagnostics);

// The reference that the table says, else where the scalabilities given are 1, else the smallest number of cores.
// Throws a usage error when there is no run at the one it says.
void ChooseReference(FactorTable& table);

// Computation scalability, its parts and the speedup.
std::vector<FactorType> FactorsThatAreOneAtReference();

// Whether run times are all that is known, with what was derived from them.
bool KnowsTimesOnly(const FactorRow& row);
bool KnowsTimesOnly(const FactorTable& table);

// The rows of every phase, in the order of the table; phases as in Keys().
std::vector<std::vector<FactorRow*>> RowsToComplete(FactorTable& table);

// Rows of a phase at the reference count; the smallest count of the phase when it was not run there.
std::vector<const FactorRow*> ReferenceRows(const std::vector<FactorRow*>& rows, std::int64_t reference);

// Of a value of each row; nothing where a row lacks it.
template <typename Value>
std::optional<double> MeanOf(const std::vector<const FactorRow*>& rows, Value value) {
  double sum = 0;
  for (const FactorRow* row : rows) {
    const std::optional<double> one = value(*row);
    if (!one) return std::nullopt;
    sum += *one;
  }
  return rows.empty() ? std::nullopt : std::optional(sum / static_cast<double>(rows.size()));
}

}  // namespace farscale
