// Execution time, waits left out, by rank and iteration.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "imbalance/waits/activities.h"
#include "imbalance/waits/wait_states.h"
#include "phases/phase_cut.h"
#include "trace/trace.h"

namespace farscale {

struct LoadMatrix {
  std::vector<std::size_t> ranks;  // world ranks in the phase, rising: one row each
  std::size_t iterations = 0;      // columns
  std::vector<double> seconds;     // row by row

  double At(std::size_t row, std::size_t iteration) const { return seconds[row * iterations + iteration]; }
  std::span<const double> Row(std::size_t row) const {
    return std::span(seconds).subspan(row * iterations, iterations);
  }
  std::vector<double> Sums() const;  // one a row, over all iterations
};

// In the phase and outside of MPI, which is what load balance compares: computation and calls to devices.
bool IsOutsideMpi(const CallPaths& paths, PathId path);
// Calls to the runtimes of devices in the phase, in which the host starts their work or waits for it.
bool IsDeviceCall(const CallPaths& paths, PathId path);
// Computation in the program's regions: neither MPI, nor calls to devices, nor time outside of what the phase counts.
bool IsUseful(const CallPaths& paths, PathId path);

// The load of one call path, or without `path` of all useful ones together. Computation that reaches over the edge of
// an iteration is parted there; a call belongs to the iteration in which it is counted. If ranks differ in their number
// of iterations, which then cannot be compared, all time is in one column. Linear in activities.
LoadMatrix FindLoad(const Trace& trace, const PhaseCut& cut, const WaitStates& states,
                    std::optional<PathId> path = std::nullopt);

// (max - avg) / max * N / (N - 1) of the sums, over all steps of all iterations, of their largest and average lengths.
// Computation between two MPI calls is a step of an iteration, unless it takes less than a thousandth of it. Nothing if
// ranks do not make equally many steps, which then do not belong together. `activities` tell calls to devices; empty
// ones are enough where there are none.
std::optional<double> ImbalanceInSteps(const Trace& trace, const PhaseCut& cut, const Activities& activities);

// Execution time, waits left out, of several call paths by rank and column: an iteration, a step between two operations
// of all ranks, or a visit of the call path. Tells which piece of a rank's time lies in which cell.

// The columns of a load: iterations where there are several, as many on every rank; else visits of the
// call path where every rank that has any has equally many; else steps; else all time is in one column.
enum class LoadColumns : std::uint8_t { kOne, kIterations, kVisits, kSteps };

// Loads of all paths of a kind in the phase, in the place of a call path.
inline constexpr PathId kAllDeviceCalls = std::numeric_limits<PathId>::max() - 1;
inline constexpr PathId kAllComputation = std::numeric_limits<PathId>::max();

// An activity, or a part of no other cell.
struct LoadPiece {
  std::size_t load = 0, column = 0;
  std::size_t activity = 0;
  Tick execution = 0;
  std::uint32_t call = 0;  // the activity itself where it is a call, else the next one
  bool is_call = false;
};

class LoadTables {
 public:
  // An activity belongs to the iteration in which it begins.
  LoadTables(const PhaseCut& cut, const WaitStates& states, std::vector<PathId> loads);

  std::size_t size() const { return loads_.size(); }
  PathId path(std::size_t load) const { return loads_[load]; }
  bool is_of_all(std::size_t load) const { return loads_[load] >= kAllDeviceCalls; }
  bool Has(const CallPaths& paths, std::size_t load, PathId path) const;
  bool is_of_devices(const CallPaths& paths, std::size_t load) const;
  // In ticks. Rows are the ranks in the phase.
  const LoadMatrix& of(std::size_t load) const { return matrices_[load]; }
  const std::vector<std::size_t>& ranks() const { return ranks_; }

  // Calls visit(piece) for all pieces of a row, in the order of time.
  template <typename Visit>
  void ForEachPiece(const WaitStates& states, std::size_t row, Visit visit) const;

 private:
  void ChooseColumns(const PhaseCut& cut, const Activities& activities);

  std::vector<PathId> loads_;
  std::vector<std::size_t> ranks_;
  std::vector<std::vector<std::size_t>> loads_of_path_;
  std::vector<std::vector<std::uint32_t>> step_ends_;  // one a row: calls in operations of all ranks
  std::vector<LoadColumns> columns_;
  std::vector<std::size_t> joined_;  // one a load: neighbouring columns that are one
  std::vector<LoadMatrix> matrices_;
};

template <typename Visit>
void LoadTables::ForEachPiece(const WaitStates& states, std::size_t row, Visit visit) const {
  const RankActivities& own = states.activities.ranks[ranks_[row]];
  WaitsByCall waits(states.ranks[ranks_[row]].waits);
  const std::vector<std::uint32_t>& steps = step_ends_[row];
  std::vector<std::size_t> visited(loads_.size(), 0);
  std::size_t call = 0, iteration = 0, step = 0;
  std::size_t next_call = own.activity_of(0);
  Tick begin = own.begin();
  for (std::size_t a = 0; a + 1 < own.size(); ++a) {
    const Tick end = own.edge(a + 1);
    const bool is_call = a == next_call && call < own.calls;
    while (iteration + 1 < own.iteration_begin.size() && own.iteration_begin[iteration + 1] <= a) ++iteration;
    const Tick execution = end - begin - (is_call ? waits.Length(call) : 0);
    for (const std::size_t load : loads_of_path_[own.path(a)]) {
      const std::size_t columns[] = {0, iteration, visited[load], step};
      const std::size_t column = columns[static_cast<std::size_t>(columns_[load])] / joined_[load];
      visit(LoadPiece{load, column, a, execution, static_cast<std::uint32_t>(call), is_call});
      ++visited[load];
    }
    if (is_call) {
      if (step < steps.size() && steps[step] == call) ++step;
      next_call = ++call <= own.calls ? own.activity_of(call) : own.size();
    }
    begin = end;
  }
}

}  // namespace farscale
