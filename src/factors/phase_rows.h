// The rows of a factor table by phase, where they lie: rows are large, and a table may have a million of them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "factors/factor_table.h"

namespace farscale {

using RowPointers = std::vector<const FactorRow*>;

RowPointers PointersTo(const std::vector<FactorRow>& rows);

struct RowsOfPhase {
  PhaseKey key;
  RowPointers rows;  // that count [counted_rows.h], by cores and repeat
};

// All phases, as in FactorTable::Keys(). The time grows with the rows, however many phases there are.
std::vector<RowsOfPhase> RowsByPhase(const FactorTable& table);

// The mean of the known values above 0 at a core count; nothing without any.
template <typename Value>
std::optional<double> MeanAt(const RowPointers& rows, std::int64_t cores, Value value) {
  double sum = 0, known = 0;
  for (const FactorRow* row : rows) {
    const std::optional<double> one = row->cores == cores ? value(*row) : std::nullopt;
    if (!one || !(*one > 0)) continue;
    sum += *one;
    ++known;
  }
  return known > 0 ? std::optional(sum / known) : std::nullopt;
}

// The fewest cores on which runs, all with factors of all their threads, are divided differently into processes and
// threads. Such runs are no repeats of each other, and there is no curve over cores. Nothing without any.
std::optional<std::int64_t> CoresOfSeveralSplits(const RowPointers& rows);

}  // namespace farscale
