// States of the threads of processes in a phase, and the factors that follow [docs/formulas.md, threads and devices].
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "base/diagnostics.h"
#include "factors/formulas.h"
#include "phases/phase_cut.h"
#include "trace/trace.h"

namespace farscale {

// A thread is in one of these at a time. A thread that does not exist yet or any more is outside of parallel regions:
// its processor is there.
enum class ThreadState : std::uint8_t {
  kUseful,
  kMpi,            // or the trace says that the thread did not run
  kMpiIdle,        // a worker without work while the main thread is in MPI
  kImbalance,      // at a barrier of the team, or waiting for tasks
  kScheduling,     // fork, join, creation of tasks, waiting for locks and sections
  kSerialization,  // a worker outside of a parallel region, while the main thread is outside too
  kIdleInRegion,   // the same, while the main thread is in a parallel region of others; counts as serialization
  kDeviceRuntime,  // the host calls or waits for devices
};
inline constexpr std::size_t kThreadStates = 8;

// Times of one process in parts of a phase.
struct ThreadTicks {
  std::array<Tick, kThreadStates> in{};  // indexed by state
  std::vector<Tick> outside;             // time outside MPI, one a thread, the main one first

  Tick Of(ThreadState state) const { return in[static_cast<std::size_t>(state)]; }
  Tick OutsideMpi() const;
  ThreadTicks& operator+=(const ThreadTicks& other);
  ThreadTicks& operator-=(const ThreadTicks& other);
};

// The states of all threads of a trace, from its records of teams, barriers and calls.
class ThreadStates {
 public:
  explicit ThreadStates(const Trace& trace);

  // True if the trace shows what threads do, or calls to devices: else there are factors of MPI alone.
  static bool AreIn(const Trace& trace);

  // m: the main thread and those that are ever in a team.
  std::size_t Threads(std::size_t rank) const { return ranks_[rank].size(); }
  ThreadTicks In(std::size_t rank, const Interval& interval) const;
  // When the main thread is in a state, in the order of time; the last span may have no end.
  std::vector<std::pair<Tick, Tick>> SpansOfMain(std::size_t rank, ThreadState state) const;
  // True if the counter is reliable on all of these threads; and its count in their useful time in an interval.
  static bool HaveCounter(const Trace& trace, std::size_t rank, std::size_t counter);
  double UsefulCount(const Trace& trace, std::size_t rank, std::size_t counter, const Interval& interval) const;

  // Threads that are in no team, and records of teams that do not fit each other.
  const Diagnostics& diagnostics() const { return diagnostics_; }

 private:
  using Segments = std::vector<std::pair<Tick, ThreadState>>;  // one thread, each from its begin to the next

  static void Append(Tick begin, ThreadState state, Segments& segments);
  // Calls visit(begin, end, state) for the parts of segments in an interval.
  static void ForEachPart(const Segments& segments, const Interval& interval, const auto& visit);
  Diagnostics ReadRank(const Trace& trace, std::size_t rank);

  std::vector<std::vector<Segments>> ranks_;
  Diagnostics diagnostics_;
};

// m of the rank with most threads; 1 where threads form no teams.
std::int64_t ThreadsInTeams(const Trace& trace);

// Work of devices in a phase, and the factors that follow [docs/formulas.md, threads and devices].

// Times of one device.
struct DeviceTicks {
  Tick kernels = 0;
  Tick active = 0;  // in kernels or copies

  friend bool operator==(const DeviceTicks&, const DeviceTicks&) = default;
};

using IntervalsOfRank = std::function<std::vector<Interval>(std::size_t rank)>;

// Times of every device that ranks of the cut use in the run, in intervals in order and apart: work of a device for a
// rank counts where the rank is in the phase. Kernels of several ranks that overlap on a device count once.
std::vector<DeviceTicks> TicksOfDevices(const Trace& trace, const PhaseCut& cut, const IntervalsOfRank& intervals);

// Nothing without devices, or where none computes.
std::optional<DeviceTimes> DeviceTimesOf(const Trace& trace, const std::vector<DeviceTicks>& devices, double elapsed);

}  // namespace farscale
