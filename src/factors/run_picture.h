// States of the ranks of a run over time, as a raster small enough to draw: ranks down, time across.
//
// Time in MPI is split call by call: the time of a call in a replay of the whole run on the ideal network is waiting,
// the rest of its measured time is transfer. Within a call waiting comes first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace farscale {

struct Matching;
struct ReplayRules;
struct Trace;

enum class RunState : std::uint8_t {
  kComputation,  // outside MPI and running
  kWaiting,      // in MPI, waiting for others
  kTransfer,     // in MPI, the rest
  kMpi,          // in MPI, where the two cannot be separated
  kNotRunning,   // in a pause
  kOutside,      // before the rank's first event or after its last
  kDeviceCalls,  // outside MPI, in calls to devices or waiting for them
};
inline constexpr std::size_t kRunStates = 7;

// "computation", "waiting for others" and so on.
std::string_view ToString(RunState state);

// Shares of the states in a cell, in eighths; chosen: finer shades cannot be distinguished.
inline constexpr int kCellLevels = 8;
using PictureCell = std::array<std::uint8_t, kRunStates>;

// The parts of `times` in `levels`-ths, adding up to `levels`: rounded down; the rest goes to the states that lost most
// by rounding, on ties to the earlier one. `times` must not all be 0.
PictureCell RoundToLevels(const std::array<double, kRunStates>& times);

// Shares of the run time in one state: of all ranks together, and of the ranks with the least and the most of it.
struct StateShare {
  double mean = 0;
  double least = 0, most = 0;
  std::int64_t least_rank = 0, most_rank = 0;  // the first of several

  friend bool operator==(const StateShare&, const StateShare&) = default;
};

// Work of devices in a cell, in eighths; else they are idle. Copies while kernels run count as kernels.
struct DeviceCell {
  std::uint8_t kernels = 0;
  std::uint8_t copies = 0;

  friend auto operator<=>(const DeviceCell&, const DeviceCell&) = default;
};

// A device of a rank, all of its streams together; or, where a row has several ranks or a rank more devices than are
// shown one by one, all devices of the row.
struct DeviceRow {
  std::int64_t row = 0;            // row of the ranks that use it
  std::string name;                // empty: several devices
  std::vector<DeviceCell> cells;   // one a column
  double kernels = 0, copies = 0;  // shares of the run time

  friend bool operator==(const DeviceRow&, const DeviceRow&) = default;
};

// Rows of a rank, one a device; chosen: they must be thin.
inline constexpr std::size_t kMostDeviceRows = 4;

struct RunPicture {
  double seconds = 0;  // all columns: from the first to the last event
  std::int64_t ranks = 0;
  std::int64_t ranks_per_row = 1;               // the last row may have fewer
  std::vector<std::int64_t> node_begins;        // first ranks of nodes; empty when nodes have no ranks in a row
  std::vector<std::vector<PictureCell>> rows;   // equally many columns, which are equally long to one tick
  std::array<StateShare, kRunStates> shares{};  // indexed by state
  std::vector<DeviceRow> devices;               // in the order of rows; nothing where the trace has none
  std::string problem;                          // why there is no replay and all time in MPI is kMpi; else empty

  const StateShare& Share(RunState state) const { return shares[static_cast<std::size_t>(state)]; }

  friend bool operator==(const RunPicture&, const RunPicture&) = default;
};

// Takes one replay and one more pass over the calls; ranks in parallel. A trace without time has a picture without
// rows. `rows`, `columns`: at most; chosen: about a pixel line and column each in a report.
RunPicture PictureOf(const Trace& trace, const Matching& matching, const ReplayRules& rules, std::int64_t rows = 64,
                     std::int64_t columns = 360);

}  // namespace farscale
