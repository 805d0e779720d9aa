// Losses of ranks by waiting, as values that need no trace: by kind of wait, by call path, by rank and iteration.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace farscale {

enum class WaitKind : std::uint8_t {
  kLateSender,
  kLateReceiver,
  kLateBroadcast,  // 1-to-N: broadcast, scatter
  kEarlyReduce,    // N-to-1: reduce, gather
  kEarlyScan,
  kWaitAtNxN,
  kWaitAtBarrier,
  kWaitAtFence,     // and where a window is freed: all its ranks
  kLatePost,        // complete, until the last of its group has posted
  kEarlyWait,       // wait, until the last of its group has completed
  kWaitForLock,     // a lock of a rank's window, until who has it gives it back
  kLateNeighbour,   // a collective among neighbours
  kWaitAtCreation,  // creation of communicators, windows and files, which need not synchronise
  kWaitAtFork,      // forks of a team of threads by its main one [trace/location_trace.h]
  kWaitAtThreadBarrier,
  kWaitAtImplicitBarrier,  // at the end of a parallel region, loop or other construct
  kWaitAtEnd,              // the end of the phase, until the last rank is done: pseudo-synchronisation
};
inline constexpr std::size_t kWaitKinds = 17;

struct WaitKindName {
  WaitKind kind;
  std::string_view id;    // "lateSender"
  std::string_view name;  // "Late sender"
};
const std::array<WaitKindName, kWaitKinds>& WaitKindNames();

// The rules by which intervals are weighed.
enum class DelayRules : std::uint8_t {
  kBounded,  // costs add up to the waiting time; what is longer on the late rank is charged with as much at most, the
             // rest is exit skew, so that costs are continuous in what ranks do
  kConserving,  // [Boehme13]: costs add up to the waiting time; the smallest excess is charged with all of a wait
  kScalasca,    // as Scalasca 2: the end of the call at the synchronization point counts as work, and a wait longer
                // than what its delayer did is charged in part only
};

std::string_view ToString(DelayRules rules);                     // "bounded", "conserving", "scalasca"
std::optional<DelayRules> ParseDelayRules(std::string_view id);  // nothing: none of these

// Ticks summed over ranks, by kind of the wait state that is caused in the end.
using ByWaitKind = std::array<double, kWaitKinds>;

inline double Sum(const ByWaitKind& values) { return std::accumulate(values.begin(), values.end(), 0.0); }
inline void Add(const ByWaitKind& more, ByWaitKind& sum) {
  std::ranges::transform(sum, more, sum.begin(), std::plus<>());
}

// Where in a phase something arises: ranks from top to bottom, iterations from left to right, neighbours joined where
// there are many.
struct LossRaster {
  std::size_t rows = 0, columns = 0;
  std::vector<double> cells;  // row by row; empty: nothing arises

  void Add(std::size_t row, std::size_t column, double value) {
    if (cells.empty()) cells.assign(rows * columns, 0);
    cells[row * columns + column] += value;
  }
  friend bool operator==(const LossRaster&, const LossRaster&) = default;
};

// Cells of a raster at most, in either direction; chosen: as many as a chart of a report shows.
inline constexpr std::size_t kRasterCells = 64;

// The name is that of a path before the phase, between its occurrences or behind it.
bool LiesOutsidePhase(const std::string& name);

// Losses of one rank in one call path, or of several added up. Seconds of ranks' time, but for `critical`, which is
// time of the run.
struct PathLosses {
  double time = 0;           // with its waits
  std::uint64_t visits = 0;  // activities
  ByWaitKind waiting{};
  double wrong_order = 0;                // the late senders that another order of receiving would have avoided
  double wrong_order_same = 0;           // those with messages from the same rank
  double late_complete = 0;              // the part of the early waits after the late rank's last operation
  double individual_io = 0;              // time in calls on files, by one rank alone
  double collective_io = 0;              // the same, by all ranks of a file
  double completion = 0;                 // barriers and N×N operations, after the first rank left
  double indirect = 0, propagating = 0;  // parts of its waits
  double caused = 0;                     // waiting elsewhere that its waits brought about (phi)
  ByWaitKind short_term{}, long_term{};  // waits that it caused
  ByWaitKind exit_skew{};                // waits for ranks that left it later, as a synchronization point, and no more
  double critical = 0;                   // on the critical path
  double nearly_critical = 0;            // with little slack, on the critical path or not [imbalance/diagnosis.h]
  double intra = 0, inter = 0;  // waits of other ranks that go with its being on the critical path; unknown if the
                                // phase recurs

  double Waiting() const { return Sum(waiting); }
  double Execution() const { return time - Waiting(); }
  double ShortTerm() const { return Sum(short_term); }
  double LongTerm() const { return Sum(long_term); }
  double ExitSkew() const { return Sum(exit_skew); }
  double Costs() const { return ShortTerm() + LongTerm() + ExitSkew(); }
  PathLosses& operator+=(const PathLosses& other);
};

// Time of the hosts in calls to the runtimes of their devices, which wait for kernels and copies or start them.
struct DeviceCalls {
  double time = 0;      // seconds, all ranks
  std::string largest;  // the function that takes most of it
  double of_largest = 0;
  double costs = 0;  // waiting of other ranks that these calls cause; 0 where waits are not known
};

}  // namespace farscale
