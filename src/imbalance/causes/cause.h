// Why ranks wait, in the words of whoever is to repair it: where a delay lies, what it consists of, and what the run
// would gain without it [docs/formulas.md, causes and gains].
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "imbalance/waits/losses.h"

namespace farscale {

// Where a delay lies, in ranks and time.
enum class CausePlace : std::uint8_t {
  kRank,           // one rank, all the time
  kRanks,          // few ranks, all the time
  kNode,           // all ranks of a node, all the time
  kAlone,          // one rank or few do it, the others never
  kByDegrees,      // ranks differ by degrees, or in groups of many
  kFromTime,       // one rank, from a time on
  kForAWhile,      // one rank, for a while
  kNoisyRank,      // one rank, again and again without a pattern
  kOnce,           // once or twice
  kPeriodic,       // every n-th iteration
  kStartUp,        // in the first iterations, or ranks begin at different times
  kMovingHotSpot,  // other ranks in other iterations
  kPlane,          // a row, column or plane of the process grid, all the time
  kSocket          // all ranks of a socket, all the time
};
inline constexpr std::size_t kCausePlaces = 14;

// The reason why it takes longer there than elsewhere.
enum class CauseClass : std::uint8_t {
  kUnknown,         // nothing that the trace records
  kMoreWork,        // more instructions; or others do nothing of the kind
  kMoreCalls,       // the call path is visited more often
  kLowerIpc,        // fewer instructions a cycle
  kLowerFrequency,  // fewer cycles a second
  kInterruptions,   // the process did not run
  kDeviceWait,      // the host calls or waits for its device
};
inline constexpr std::size_t kCauseClasses = 7;

std::string_view IdOf(CausePlace place);   // "fromTime"
std::string_view IdOf(CauseClass reason);  // "moreWork"

// The share of the difference that a class explains; the shares of a cause add up to 1.
using CausePart = std::pair<CauseClass, double>;

// A wait, as other tools find it. Times are seconds since the begin of the trace.
struct WaitInstance {
  double begin = 0;  // the first rank waits
  double end = 0;    // the late rank is there
  double delay = 0;  // since when the late rank does what makes it late
  std::size_t rank = 0;
  std::string call;                  // made by the late rank
  std::vector<std::size_t> waiting;  // ranks, longest first; the first ones
  std::size_t waiting_count = 0;
  double seconds = 0;  // that they wait, summed over ranks
  WaitKind kind = WaitKind::kLateSender;

  friend bool operator==(const WaitInstance&, const WaitInstance&) = default;
};

// All ranks with this coordinate in this dimension of the process grid; both count from 0.
struct GridLine {
  std::size_t dimension = 0, coordinate = 0;
  std::size_t dimensions = 2;  // the grid has

  friend bool operator==(const GridLine&, const GridLine&) = default;
};

struct Cause {
  CausePlace place = CausePlace::kRank;
  bool in_everything = false;      // in all computation, or all calls to devices, alike; else in one call path
  std::string path, innermost;     // call path; empty in everything
  bool is_mpi = false;             // time in an MPI call beyond its waiting
  bool is_device_call = false;     // time in calls to devices, which is no computation
  std::vector<std::size_t> ranks;  // those with most first; the first ones
  std::size_t rank_count = 0;
  std::string node;                       // that has these ranks and no others; else empty
  std::string group;                      // the same for a group of ranks that do different work
  std::optional<std::int32_t> socket;     // on the node
  std::optional<GridLine> line;           // in the process grid
  std::optional<double> level;            // time there over that elsewhere; nothing where others have none
  std::optional<double> from, until;      // seconds since the begin of the trace
  std::size_t every = 0;                  // iterations, of a periodic one
  std::size_t affected = 0, columns = 0;  // iterations (or visits, or steps) with it, and all of them
  std::vector<CausePart> parts;           // largest first
  // Seconds of the phase, without this delay alone; with it spread over all ranks where others have none of that work.
  double gain = 0;
  // The same when all other causes named are gone: what two of equal length hide from each other.
  double gain_last = 0;
  // The next bottleneck once this is gone: its index among the causes, and its gain then.
  std::optional<std::size_t> next;
  double next_gain = 0;
  // Alone it gains next to nothing: the others, by their place among the causes, with which it is to be repaired.
  std::vector<std::size_t> together;
  double joint_gain = 0;  // all these and it
  std::optional<WaitInstance> worst;
  // Seconds of one rank beyond the usual, by rank of the phase and iteration (or visit, or step); of those that share a
  // cell the largest. Empty: ranks differ in when they begin alone.
  LossRaster beyond;

  CauseClass reason() const { return parts.empty() ? CauseClass::kUnknown : parts.front().first; }
  friend bool operator==(const Cause&, const Cause&) = default;
};

// The gain of the phase without the latency of messages and collectives in one call path. Seconds.
struct LatencyGain {
  std::string path;
  double gain = 0;   // with every call as short as the shortest
  double mean = 0;   // time of a call, waits apart
  double least = 0;  // time of the shortest

  friend bool operator==(const LatencyGain&, const LatencyGain&) = default;
};

inline constexpr std::size_t kCauseCells = 32;  // in `beyond`, either direction, at most; chosen

// Chosen: what gains less is not named.
inline constexpr double kLeastGain = 0.01;  // share of the length of the phase

}  // namespace farscale
