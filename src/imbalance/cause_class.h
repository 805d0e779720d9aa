// What a deviation of a load consists of, by the counters of the trace: more instructions, fewer a cycle, fewer cycles
// a second, time in which the process did not run, or more visits [docs/formulas.md, causes and gains].
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "imbalance/cause.h"
#include "imbalance/load_deviation.h"
#include "imbalance/load_table.h"
#include "trace/counters.h"
#include "trace/trace.h"

namespace farscale {

class CauseClassifier {
 public:
  CauseClassifier(const Trace& trace, const Activities& activities, const LoadTables& loads, const CounterNames& names);

  // Time per cell is visits × instructions a visit × cycles an instruction × seconds a cycle × wall time over CPU time;
  // a class has the share of the logarithms of these ratios that is its own. Largest first; they add up to 1.
  std::vector<CausePart> PartsOf(std::size_t load, const LoadDeviation& deviation) const;

 private:
  struct Sums;
  struct Samples {
    std::vector<std::size_t> rows, reference_rows;
  };

  // Adds the cells of a row for which is_wanted(column) holds.
  template <typename IsWanted>
  void AddRow(std::size_t load, std::size_t row, IsWanted is_wanted, Sums& sums) const;

  const Trace& trace_;
  const Activities& activities_;
  const LoadTables& loads_;
  std::optional<std::size_t> instructions_, cycles_, cpu_time_;
};

}  // namespace farscale
