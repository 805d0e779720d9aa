#include "trace/switched_off.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/parallel.h"
#include "trace/anomalies.h"
#include "trace/trace_builder.h"

namespace farscale {
namespace {

struct OffTime {
  Tick begin = 0;
  Tick end = 0;
  Tick removed = 0;  // of those before it
};

// In the order of time and apart, as recorded.
std::vector<OffTime> OffOf(const RankTimeline& timeline) {
  std::vector<OffTime> off;
  for (const Interruption& interruption : timeline.interruptions()) {
    if (!interruption.is_flush) off.push_back({interruption.begin, interruption.end});
  }
  return off;
}

std::vector<OffTime> Common(const std::vector<OffTime>& some, const std::vector<OffTime>& others) {
  std::vector<OffTime> both;
  for (std::size_t i = 0, k = 0; i < some.size() && k < others.size();) {
    const Tick begin = std::max(some[i].begin, others[k].begin), end = std::min(some[i].end, others[k].end);
    if (begin < end) both.push_back({begin, end});
    some[i].end < others[k].end ? ++i : ++k;
  }
  return both;
}

// Where no rank was recorded. Ranks without events do not say when they were.
std::vector<OffTime> OffOnAllRanks(const Trace& trace) {
  std::optional<std::vector<OffTime>> common;
  for (const RankTimeline& timeline : trace.timelines) {
    if (timeline.empty()) continue;
    common = common ? Common(*common, OffOf(timeline)) : OffOf(timeline);
  }
  std::vector<OffTime> off = common.value_or(std::vector<OffTime>());
  Tick removed = 0;
  for (OffTime& off_time : off) {
    off_time.removed = removed;
    removed += off_time.end - off_time.begin;
  }
  return off;
}

// Where times are without the stretches.
class TimeWithout {
 public:
  explicit TimeWithout(const std::vector<OffTime>& off) : off_(off) {}

  Tick operator()(Tick tick) const {
    const auto behind = std::ranges::partition_point(off_, [&](const OffTime& one) { return one.begin <= tick; });
    if (behind == off_.begin()) return tick;
    const OffTime& last = *(behind - 1);
    return tick - last.removed - (std::min(tick, last.end) - last.begin);
  }

 private:
  const std::vector<OffTime>& off_;
};

// `off`: what counters count in it is left out, too.
RankTimeline Moved(const RankTimeline& timeline, const TimeWithout& map, bool keeps_off,
                   const std::vector<OffTime>& off) {
  NewTimes times;
  for (std::size_t call = 0; call < timeline.calls(); ++call) {
    times.enter.push_back(map(timeline.enter(call)));
    times.leave.push_back(map(timeline.leave(call)));
  }
  for (std::size_t event = 0; event < timeline.region_events(); ++event) {
    times.events.push_back(map(timeline.event_tick(event)));
  }
  for (const Interruption& one : timeline.interruptions()) {
    const Interruption moved{map(one.begin), map(one.end), one.is_flush};
    if (one.is_flush || (keeps_off && moved.begin < moved.end)) times.interruptions.push_back(moved);
  }
  for (const OffTime& one : off) times.without.emplace_back(one.begin, one.end);
  return Retime(timeline, times);
}

void Move(std::vector<TeamEvent>& events, const TimeWithout& map) {
  for (TeamEvent& event : events) event.tick = map(event.tick);
}

void Move(std::vector<DeviceSpan>& spans, const TimeWithout& map) {
  for (DeviceSpan& span : spans) span = {map(span.begin), map(span.end)};
  std::erase_if(spans, [](const DeviceSpan& span) { return span.length() <= 0; });
}

}  // namespace

void LeaveOutSwitchedOff(Trace& trace) {
  const bool is_any_off =
      std::ranges::any_of(trace.timelines, [](const RankTimeline& timeline) { return !OffOf(timeline).empty(); });
  if (!is_any_off) return;
  const bool keeps_off = trace.diagnostics.count(anomaly::kRegionsAlone) == 0;
  const std::vector<OffTime> off = keeps_off ? OffOnAllRanks(trace) : std::vector<OffTime>();
  const TimeWithout map(off);
  const double length = trace.Seconds(trace.end() - trace.begin());
  const double kept = trace.Seconds(map(trace.end()) - map(trace.begin()));
  trace.diagnostics.Add(anomaly::kSwitchedOff, static_cast<std::uint64_t>((length - kept) * 1e6 + 0.5));
  trace.diagnostics.AddPopulation(anomaly::kSwitchedOff, static_cast<std::uint64_t>(length * 1e6 + 0.5));
  // Counters of farscale's own traces stand still meanwhile.
  const std::vector<OffTime> counted =
      trace.creator.find("farscale") == std::string::npos ? off : std::vector<OffTime>();
  ParallelFor(trace.size(),
              [&](std::size_t rank) { trace.timelines[rank] = Moved(trace.timelines[rank], map, keeps_off, counted); });
  for (std::vector<TeamEvent>& events : trace.team_threads.of_ranks) Move(events, map);
  for (WorkerThread& worker : trace.team_threads.workers) {
    worker.timeline = Moved(worker.timeline, map, keeps_off, counted);
    Move(worker.team_events, map);
  }
  for (Device& device : trace.devices) {
    for (DeviceWork& work : device.of_ranks) {
      Move(work.kernels, map);
      Move(work.active, map);
    }
  }
}

}  // namespace farscale
