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

// The columns of a picture, which are equally long to one tick.
struct Columns {
  Tick begin = 0;
  Tick length = 0;
  std::int64_t count = 0;

  // `column` may be `count`: the end of the run.
  Tick Begin(std::int64_t column) const {  // begin + length * column / count, without leaving the range of numbers
    return begin + length / count * column + length % count * column / count;
  }
};

// Adds the spans of one rank, in the order of time, to the cells of its row.
class Pen {
 public:
  Pen(const Columns& columns, std::vector<StateTimes>& cells, StateTimes& total)
      : columns_(columns), cells_(cells), total_(total), end_(columns.Begin(1)) {}

  void Add(RunState state, Tick from, Tick to) {
    to = std::min(to, columns_.Begin(columns_.count));  // damaged times may lie behind the run
    if (to <= from) return;
    At(total_, state) += static_cast<double>(to - from);
    while (true) {
      if (from < end_) {
        const Tick until = std::min(to, end_);
        At(cells_[static_cast<std::size_t>(column_)], state) += static_cast<double>(until - from);
        from = until;
      }
      if (from >= to) return;
      end_ = columns_.Begin(++column_ + 1);
    }
  }

 private:
  const Columns& columns_;
  std::vector<StateTimes>& cells_;
  StateTimes& total_;
  std::int64_t column_ = 0;
  Tick end_;
};

// The run on the ideal network; nothing, and `problem`, when it cannot be replayed.
std::optional<ReplayResult> ReplayIdeally(const Trace& trace, const Matching& matching, const ReplayRules& rules,
                                          std::string& problem) {
  try {
    ReplayResult ideal = Replay(trace, matching, CutPhase(trace, PhaseSpec::WholeRun()), {rules, true});
    if (matching.clocks_unknown) {
      problem = "clocks of ranks contradict their messages: " + matching.clocks_unknown->reason;
    } else if (ideal.unknown_waits.any()) {
      problem = "the trace does not say whom some calls wait for: " + ideal.unknown_waits.example;
    } else {
      return ideal;
    }
  } catch (const Error& error) {  // the measured times can be shown anyway
    problem = error.what();
  }
  return std::nullopt;
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
  const Tick run_end = columns.begin + columns.length;
  Pen pen(columns, cells, total);
  if (timeline.empty()) {
    pen.Add(RunState::kOutside, columns.begin, run_end);
    return total;
  }
  pen.Add(RunState::kOutside, columns.begin, timeline.begin());
  for (std::size_t call = 0; call < timeline.calls(); ++call) {
    const Tick enter = timeline.enter(call), leave = timeline.leave(call);
    if (ideal) {
      const Tick waited = enter + Waiting(*ideal, timeline, rank, call);
      pen.Add(RunState::kWaiting, enter, waited);
      pen.Add(RunState::kTransfer, waited, leave);
    } else {
      pen.Add(RunState::kMpi, enter, leave);
    }
  }
  pen.Add(RunState::kOutside, timeline.end(), run_end);
  Pen pause_pen(columns, cells, total);
  for (const Pause& pause : timeline.pauses()) {
    pause_pen.Add(RunState::kNotRunning, timeline.event_tick(pause.begin_event), timeline.event_tick(pause.end_event));
  }
  Pen off_pen(columns, cells, total);
  for (const Interruption& one : timeline.interruptions()) {
    if (!one.is_flush) off_pen.Add(RunState::kNotRunning, one.begin, one.end);
  }
  if (states) {
    Pen device_pen(columns, cells, total);
    for (const auto& [begin, end] : states->SpansOfMain(rank, ThreadState::kDeviceRuntime)) {
      device_pen.Add(RunState::kDeviceCalls, std::max(begin, timeline.begin()), std::min(end, timeline.end()));
    }
  }
  At(total, RunState::kComputation) = static_cast<double>(columns.length) - Sum(total);
  return total;
}

// The cells of a row of so many ranks, which are in `cells`; the remaining time is computation.
std::vector<PictureCell> FinishRow(const Columns& columns, std::size_t ranks, std::vector<StateTimes>& cells) {
  std::vector<PictureCell> row;
  for (std::int64_t column = 0; column < columns.count; ++column) {
    StateTimes& cell = cells[static_cast<std::size_t>(column)];
    const auto length = static_cast<double>(columns.Begin(column + 1) - columns.Begin(column));
    At(cell, RunState::kComputation) = length * static_cast<double>(ranks) - Sum(cell);
    row.push_back(RoundToLevels(cell));
  }
  return row;
}

using DeviceTotals = std::array<double, 2>;  // ticks in kernels, and in kernels or copies

// Adds the spans of a device to the cells of its row. The clock of a device may differ from those of hosts.
void AddSpans(const std::vector<DeviceSpan>& spans, std::size_t index, const Columns& columns,
              std::vector<DeviceTotals>& cells) {
  const Tick run_end = columns.begin + columns.length;
  std::int64_t column = 0;
  for (const DeviceSpan& span : spans) {
    Tick from = std::max(span.begin, columns.begin);
    for (const Tick to = std::min(span.end, run_end); from < to;) {
      while (columns.Begin(column + 1) <= from) ++column;
      const Tick until = std::min(to, columns.Begin(column + 1));
      cells[static_cast<std::size_t>(column)][index] += static_cast<double>(until - from);
      from = until;
    }
  }
}

DeviceRow DeviceRowOf(const std::vector<const DeviceWork*>& works, const Columns& columns) {
  std::vector<DeviceTotals> cells(static_cast<std::size_t>(columns.count));
  for (const DeviceWork* work : works) {
    AddSpans(work->kernels, 0, columns, cells);
    AddSpans(work->active, 1, columns, cells);
  }
  const auto count = static_cast<double>(works.size());
  DeviceRow row;
  for (std::int64_t column = 0; column < columns.count; ++column) {
    const auto [kernels, active] = cells[static_cast<std::size_t>(column)];
    const double whole = static_cast<double>(columns.Begin(column + 1) - columns.Begin(column)) * count;
    const auto levels = [&](double time) { return static_cast<std::uint8_t>(time / whole * kCellLevels + 0.5); };
    row.cells.push_back({levels(kernels), static_cast<std::uint8_t>(levels(active) - levels(kernels))});
    row.kernels += kernels / count / static_cast<double>(columns.length);
    row.copies += (active - kernels) / count / static_cast<double>(columns.length);
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

RunPicture PictureOf(const Trace& trace, const Matching& matching, const ReplayRules& rules, const PictureSize& size) {
  RunPicture picture;
  const Columns columns = {trace.begin(), trace.end() - trace.begin(),
                           std::min<std::int64_t>(size.columns, trace.end() - trace.begin())};
  picture.seconds = trace.Seconds(columns.length);
  picture.ranks = static_cast<std::int64_t>(trace.size());
  if (columns.length <= 0) return picture;
  const std::optional<ReplayResult> ideal = ReplayIdeally(trace, matching, rules, picture.problem);
  std::optional<ThreadStates> states;
  const bool calls_devices = std::ranges::any_of(trace.regions, &Region::is_device_runtime);
  if (calls_devices && ThreadStates::AreIn(trace)) states.emplace(trace);
  picture.node_begins = NodeBegins(trace);
  picture.ranks_per_row = (picture.ranks + size.rows - 1) / size.rows;
  const auto height = static_cast<std::size_t>(picture.ranks_per_row);
  picture.rows.resize((trace.size() + height - 1) / height);
  std::vector<StateTimes> totals(trace.size());
  ParallelFor(picture.rows.size(), [&](std::size_t row) {
    const std::size_t first = row * height, end = std::min(first + height, trace.size());
    std::vector<StateTimes> cells(static_cast<std::size_t>(columns.count));
    for (std::size_t rank = first; rank < end; ++rank) {
      totals[rank] = DrawRank(trace, rank, ideal, states, columns, cells);
    }
    picture.rows[row] = FinishRow(columns, end - first, cells);
  });
  picture.shares = SharesOf(totals, columns.length);
  for (std::size_t row = 0; row < picture.rows.size() && !trace.devices.empty(); ++row) {
    const std::size_t first = row * height;
    for (DeviceRow& device : DevicesOfRow(trace, first, std::min(first + height, trace.size()), columns)) {
      device.row = static_cast<std::int64_t>(row);
      picture.devices.push_back(std::move(device));
    }
  }
  return picture;
}

}  // namespace farscale
