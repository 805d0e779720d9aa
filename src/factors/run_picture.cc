#include "factors/run_picture.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/diagnostics.h"
#include "base/parallel.h"
#include "factors/thread_times.h"
#include "phases/phase_cut.h"
#include "replay/computation.h"
#include "replay/replay.h"

namespace farscale {
namespace {

// In ticks; sums over ranks of whole numbers, which may be beyond the range of those.
using StateTimes = std::array<double, kRunStates>;

double& At(StateTimes& times, RunState state) { return times[static_cast<std::size_t>(state)]; }
double Sum(const StateTimes& times) { return std::accumulate(times.begin(), times.end(), 0.0); }

// Where the columns of a picture begin, and the end of the last. They are equally long to one tick.
using Columns = std::vector<Tick>;

// Calls add(column, ticks) for every column that a span lies in. `column`: that of the span before, in the order of
// time. Damaged times may lie behind the run.
template <typename Add>
void Spread(const Columns& columns, Tick from, Tick to, std::size_t& column, Add add) {
  for (to = std::min(to, columns.back()); from < to;) {
    while (columns[column + 1] <= from) ++column;
    const Tick until = std::min(to, columns[column + 1]);
    add(column, static_cast<double>(until - from));
    from = until;
  }
}

// The waiting time of a call on the ideal network.
Tick Waiting(const ReplayResult& ideal, const RankTimeline& timeline, std::size_t rank, std::size_t call) {
  const Tick left_before = call > 0 ? ideal.leave[rank][call - 1] : ideal.begin[rank];
  const Tick burst = std::max<Tick>(0, BurstEnd(timeline, call) - BurstBegin(timeline, call));
  return std::min(timeline.duration(call), ideal.leave[rank][call] - left_before - burst);
}

// Adds one rank to its row and returns its own times. `ideal`: nothing where it is not known; `states`: nothing where
// no calls to devices are known.
StateTimes DrawRank(const Trace& trace, std::size_t rank, const std::optional<ReplayResult>& ideal,
                    const std::optional<ThreadStates>& states, const Columns& columns, std::vector<StateTimes>& cells) {
  StateTimes total{};
  const RankTimeline& timeline = trace.timelines[rank];
  std::size_t column = 0;
  const auto draw = [&](RunState state, Tick from, Tick to) {
    Spread(columns, from, to, column, [&](std::size_t at, double ticks) {
      At(cells[at], state) += ticks;
      At(total, state) += ticks;
    });
  };
  if (timeline.empty()) {
    draw(RunState::kOutside, columns.front(), columns.back());
    return total;
  }
  draw(RunState::kOutside, columns.front(), timeline.begin());
  for (std::size_t call = 0; call < timeline.calls(); ++call) {
    const Tick enter = timeline.enter(call), leave = timeline.leave(call);
    if (ideal) {
      const Tick waited = enter + Waiting(*ideal, timeline, rank, call);
      draw(RunState::kWaiting, enter, waited);
      draw(RunState::kTransfer, waited, leave);
    } else {
      draw(RunState::kMpi, enter, leave);
    }
  }
  draw(RunState::kOutside, timeline.end(), columns.back());
  column = 0;
  for (const Pause& pause : timeline.pauses()) {
    draw(RunState::kNotRunning, timeline.event_tick(pause.begin_event), timeline.event_tick(pause.end_event));
  }
  column = 0;
  for (const Interruption& one : timeline.interruptions()) {
    if (!one.is_flush) draw(RunState::kNotRunning, one.begin, one.end);
  }
  column = 0;
  if (states) {
    for (const auto& [begin, end] : states->SpansOfMain(rank, ThreadState::kDeviceRuntime)) {
      draw(RunState::kDeviceCalls, std::max(begin, timeline.begin()), std::min(end, timeline.end()));
    }
  }
  At(total, RunState::kComputation) = static_cast<double>(columns.back() - columns.front()) - Sum(total);
  return total;
}

using DeviceTotals = std::array<double, 2>;  // ticks in kernels, and in kernels or copies

DeviceRow DeviceRowOf(const std::vector<const DeviceWork*>& works, const Columns& columns) {
  std::vector<DeviceTotals> cells(columns.size() - 1);
  for (const DeviceWork* work : works) {
    for (const std::size_t index : {0, 1}) {
      std::size_t column = 0;
      for (const DeviceSpan& span : index == 0 ? work->kernels : work->active) {
        // The clock of a device may differ from those of hosts.
        Spread(columns, std::max(span.begin, columns.front()), span.end, column,
               [&](std::size_t at, double ticks) { cells[at][index] += ticks; });
      }
    }
  }
  const auto count = static_cast<double>(works.size());
  DeviceRow row;
  const auto length = static_cast<double>(columns.back() - columns.front());
  for (std::size_t column = 0; column < cells.size(); ++column) {
    const auto [kernels, active] = cells[column];
    const double whole = static_cast<double>(columns[column + 1] - columns[column]) * count;
    const auto levels = [&](double time) { return static_cast<std::uint8_t>(time / whole * kCellLevels + 0.5); };
    row.cells.push_back({levels(kernels), static_cast<std::uint8_t>(levels(active) - levels(kernels))});
    row.kernels += kernels / count / length;
    row.copies += (active - kernels) / count / length;
  }
  return row;
}

// Devices of ranks [first, end), which are a row of the picture.
std::vector<DeviceRow> DevicesOfRow(const Trace& trace, std::size_t first, std::size_t end, const Columns& columns) {
  std::vector<const DeviceWork*> works;
  std::vector<std::string> names;
  for (const Device& device : trace.devices) {
    for (const DeviceWork& work : device.of_ranks) {
      const auto rank = static_cast<std::size_t>(work.rank);
      if (rank < first || rank >= end) continue;
      works.push_back(&work);
      names.push_back(device.name);
    }
  }
  std::vector<DeviceRow> rows;
  if (works.empty()) return rows;
  if (end - first > 1 || works.size() > kMostDeviceRows) {
    rows.push_back(DeviceRowOf(works, columns));
    if (works.size() == 1) rows.back().name = names.front();
    return rows;
  }
  for (std::size_t i = 0; i < works.size(); ++i) {
    rows.push_back(DeviceRowOf({works[i]}, columns));
    rows.back().name = names[i];
  }
  return rows;
}

// Where ranks of another node begin; nothing when the ranks of a node are not next to each other.
std::vector<std::int64_t> NodeBegins(const Trace& trace) {
  std::vector<std::int64_t> begins;
  std::vector<bool> seen(trace.nodes.size());
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    const std::int32_t node = trace.ranks[rank].node;
    if (rank > 0 && trace.ranks[rank - 1].node == node) continue;
    if (seen[static_cast<std::size_t>(node)]) return {};
    seen[static_cast<std::size_t>(node)] = true;
    begins.push_back(static_cast<std::int64_t>(rank));
  }
  return begins;
}

std::array<StateShare, kRunStates> SharesOf(const std::vector<StateTimes>& totals, Tick length) {
  std::array<StateShare, kRunStates> shares;
  for (std::size_t state = 0; state < kRunStates; ++state) {
    StateShare& share = shares[state];
    double sum = 0, least = totals.front()[state], most = least;
    for (std::size_t rank = 0; rank < totals.size(); ++rank) {
      const double time = totals[rank][state];
      sum += time;
      if (time < least) share.least_rank = static_cast<std::int64_t>(rank);
      if (time > most) share.most_rank = static_cast<std::int64_t>(rank);
      least = std::min(least, time);
      most = std::max(most, time);
    }
    const auto all = static_cast<double>(length);
    share.mean = sum / all / static_cast<double>(totals.size());
    share.least = least / all;
    share.most = most / all;
  }
  return shares;
}

}  // namespace

std::string_view ToString(RunState state) {
  switch (state) {
    case RunState::kComputation: return "computation";
    case RunState::kWaiting: return "waiting for others";
    case RunState::kTransfer: return "transfer";
    case RunState::kMpi: return "in MPI";
    case RunState::kNotRunning: return "not running";
    case RunState::kOutside: return "before begin or after end";
    case RunState::kDeviceCalls: return "calls to devices";
  }
  return "";
}

PictureCell RoundToLevels(const std::array<double, kRunStates>& times) {
  const double whole = Sum(times);
  PictureCell cell{};
  std::array<double, kRunStates> lost{};
  int missing = kCellLevels;
  for (std::size_t state = 0; state < kRunStates; ++state) {
    const double levels = times[state] * kCellLevels / whole;
    cell[state] = static_cast<std::uint8_t>(levels);
    lost[state] = levels - cell[state];
    missing -= cell[state];
  }
  for (; missing > 0; --missing) {
    const auto most = static_cast<std::size_t>(std::max_element(lost.begin(), lost.end()) - lost.begin());
    ++cell[most];
    lost[most] = 0;
  }
  return cell;
}

RunPicture PictureOf(const Trace& trace, const Matching& matching, const ReplayRules& rules, std::int64_t rows,
                     std::int64_t columns) {
  RunPicture picture;
  const Tick length = trace.end() - trace.begin();
  picture.seconds = trace.Seconds(length);
  picture.ranks = static_cast<std::int64_t>(trace.size());
  if (length <= 0) return picture;
  Columns edges;
  const std::int64_t count = std::min<std::int64_t>(columns, length);
  for (std::int64_t i = 0; i <= count; ++i) {  // begin + length * i / count, without leaving the range of numbers
    edges.push_back(trace.begin() + length / count * i + length % count * i / count);
  }
  std::optional<ReplayResult> ideal;
  try {
    ideal = Replay(trace, matching, CutPhase(trace, PhaseSpec::WholeRun()), {rules, true});
    if (matching.clocks_unknown) {
      picture.problem = "clocks of ranks contradict their messages: " + *matching.clocks_unknown;
    } else if (ideal->unknown_waits.any()) {
      picture.problem = "the trace does not say whom some calls wait for: " + ideal->unknown_waits.example;
    }
  } catch (const Error& error) {  // the measured times can be shown anyway
    picture.problem = error.what();
  }
  if (!picture.problem.empty()) ideal.reset();
  std::optional<ThreadStates> states;
  const bool calls_devices = std::ranges::any_of(trace.regions, &Region::is_device_runtime);
  if (calls_devices && ThreadStates::AreIn(trace)) states.emplace(trace);
  picture.node_begins = NodeBegins(trace);
  picture.ranks_per_row = (picture.ranks + rows - 1) / rows;
  const auto height = static_cast<std::size_t>(picture.ranks_per_row);
  picture.rows.resize((trace.size() + height - 1) / height);
  std::vector<StateTimes> totals(trace.size());
  ParallelFor(picture.rows.size(), [&](std::size_t row) {
    const std::size_t first = row * height, end = std::min(first + height, trace.size());
    std::vector<StateTimes> cells(edges.size() - 1);
    for (std::size_t rank = first; rank < end; ++rank) {
      totals[rank] = DrawRank(trace, rank, ideal, states, edges, cells);
    }
    for (std::size_t column = 0; column < cells.size(); ++column) {  // the rest of a cell is computation
      const auto width = static_cast<double>(edges[column + 1] - edges[column]);
      At(cells[column], RunState::kComputation) = width * static_cast<double>(end - first) - Sum(cells[column]);
      picture.rows[row].push_back(RoundToLevels(cells[column]));
    }
  });
  picture.shares = SharesOf(totals, length);
  for (std::size_t row = 0; row < picture.rows.size() && !trace.devices.empty(); ++row) {
    const std::size_t first = row * height;
    for (DeviceRow& device : DevicesOfRow(trace, first, std::min(first + height, trace.size()), edges)) {
      device.row = static_cast<std::int64_t>(row);
      picture.devices.push_back(std::move(device));
    }
  }
  return picture;
}

}  // namespace farscale
