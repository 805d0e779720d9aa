// What is said of a cause: where and when it is, and the worst wait for it.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "imbalance/causes/cause.h"
#include "imbalance/causes/find_causes.h"
#include "imbalance/causes/load_deviation.h"
#include "imbalance/causes/load_matrix.h"
#include "imbalance/causes/measured_program.h"
#include "trace/counters.h"
#include "trace/trace.h"

namespace farscale {

struct CauseCandidate {
  std::size_t load = 0;
  LoadDeviation deviation;
  bool in_everything = false;
  bool is_start = false;  // ranks enter the phase at different times
  double most = 0;        // ticks that it can gain at most: of every column the largest excess of a rank
  std::vector<Saving> savings;
};

class CauseDescriber {
 public:
  CauseDescriber(const CauseInput& input, const LoadTables& loads) : input_(input), loads_(loads) {}

  // Without parts, gains and the worst wait.
  Cause Describe(const CauseCandidate& candidate) const;
  // The waits for the first call behind the cell in which the rank lost most that others waited for; where there is one
  // cell alone, for the call that others waited longest for.
  std::optional<WaitInstance> WorstOf(const CauseCandidate& candidate) const;

 private:
  // Where a rank is late: the cell with most beyond the usual.
  struct WorstCell {
    std::size_t row = 0, column = 0;
    Tick begin = 0, end = 0;
    bool is_whole = false;  // the load has no other columns
  };

  LossRaster RasterOf(const CauseCandidate& candidate) const;
  void SetTimes(const CauseCandidate& candidate, Cause& cause) const;
  std::optional<WorstCell> WorstCellOf(const CauseCandidate& candidate) const;
  WaitInstance InstanceOf(std::size_t rank, std::uint32_t call, const WorstCell& worst) const;
  double Seconds(Tick tick) const { return input_.trace.Seconds(tick - input_.trace.begin()); }
  // Calls visit(rank, wait) for every wait for this rank.
  template <typename Visit>
  void ForEachWaitFor(std::size_t rank, Visit visit) const;

  const CauseInput& input_;
  const LoadTables& loads_;
};

// What a deviation of a load consists of, by the counters of the trace: more instructions, fewer a cycle, fewer cycles
// a second, time in which the process did not run, or more visits [docs/formulas.md, causes and gains].

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
