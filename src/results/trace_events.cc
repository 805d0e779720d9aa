#include "results/trace_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/parallel.h"
#include "base/version.h"
#include "results/cause_text.h"

namespace farscale {
namespace {

using OrderedJson = nlohmann::ordered_json;

// That end when one other rank enters a call, which an arrow can show.
constexpr WaitKind kWaitsForOne[] = {WaitKind::kLateSender, WaitKind::kLateReceiver, WaitKind::kLatePost,
                                     WaitKind::kEarlyWait,  WaitKind::kWaitForLock,  WaitKind::kLateNeighbour};

std::string Quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Process 1 has the causes; then come the nodes.
constexpr int kCauses = 1;
constexpr int kFirstNode = 2;

class EventWriter {
 public:
  explicit EventWriter(const TimelineInput& input) : input_(input) {
    for (const Region& region : input.trace.regions) names_.push_back(Quoted(region.name));
    for (const WaitKindName& kind : WaitKindNames()) kinds_.push_back(Quoted(std::string(kind.name)));
  }

  std::string Write() {
    std::string text = "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"generator\":" + Quoted(Generator()) +
                       ",\"trace\":" + Quoted(input_.losses.trace) + "},\"traceEvents\":[\n";
    AddNames(text);
    AddCauses(text);
    std::vector<std::string> of_ranks(input_.trace.size());
    ParallelFor(input_.trace.size(), [&](std::size_t rank) {
      if (input_.activities.ranks[rank].present) AddRank(rank, of_ranks[rank]);
    });
    for (std::string& of_rank : of_ranks) text += std::exchange(of_rank, {});
    AddDevices(text);
    text.resize(text.size() - 2);  // the last comma
    return text + "\n]}\n";
  }

 private:
  std::string At(Tick tick) const {
    return fmt::format("{:.3f}", 1e6 * input_.trace.Seconds(tick - input_.trace.begin()));
  }
  std::string Long(Tick ticks) const { return fmt::format("{:.3f}", 1e6 * input_.trace.Seconds(ticks)); }
  int ProcessOf(std::size_t rank) const { return kFirstNode + input_.trace.ranks[rank].node; }

  template <typename... Values>
  static void Add(std::string& text, fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(text), format, std::forward<Values>(values)...);
    text += ",\n";
  }

  void AddNames(std::string& text) const {
    const auto add_process = [&](int process, const std::string& name) {
      Add(text, R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":{}}}}})", process, Quoted(name));
      Add(text, R"({{"ph":"M","pid":{},"name":"process_sort_index","args":{{"sort_index":{}}}}})", process, process);
    };
    if (!input_.losses.causes.empty()) add_process(kCauses, "causes of waiting");
    for (std::size_t node = 0; node < input_.trace.nodes.size(); ++node)
      add_process(kFirstNode + static_cast<int>(node), "node " + input_.trace.nodes[node]);
    for (std::size_t rank = 0; rank < input_.trace.size(); ++rank) {
      if (!input_.activities.ranks[rank].present) continue;
      Add(text, R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":"rank {}"}}}})", ProcessOf(rank),
          rank + 1, rank);
      Add(text, R"({{"ph":"M","pid":{},"tid":{},"name":"thread_sort_index","args":{{"sort_index":{}}}}})",
          ProcessOf(rank), rank + 1, rank);
    }
  }

  // A track for every device of every rank, beside that of the rank. Kernels lie in the times in which the device has
  // anything to do, so that what is left of these are copies.
  void AddDevices(std::string& text) const {
    std::size_t track = input_.trace.size();
    for (const Device& device : input_.trace.devices) {
      for (const DeviceWork& work : device.of_ranks) {
        const auto rank = static_cast<std::size_t>(work.rank);
        if (!input_.activities.ranks[rank].present) continue;
        ++track;
        const std::string name = Quoted(fmt::format("rank {}, device {}", rank, device.name));
        Add(text, R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":{}}}}})", ProcessOf(rank), track,
            name);
        Add(text, R"({{"ph":"M","pid":{},"tid":{},"name":"thread_sort_index","args":{{"sort_index":{}}}}})",
            ProcessOf(rank), track, rank);
        AddSpans(rank, track, "busy", work.active, text);
        AddSpans(rank, track, "kernel", work.kernels, text);
      }
    }
  }

  // The part of them that lies in the rank's window.
  void AddSpans(std::size_t rank, std::size_t track, const char* name, const std::vector<DeviceSpan>& spans,
                std::string& text) const {
    const Interval& window = input_.cut.ranks[rank].window;
    for (const DeviceSpan& span : spans) {
      const Tick begin = std::max(span.begin, window.begin.tick), end = std::min(span.end, window.end.tick);
      if (begin >= end) continue;
      Add(text, R"({{"ph":"X","pid":{},"tid":{},"cat":"device","name":"{}","ts":{},"dur":{}}})", ProcessOf(rank), track,
          name, At(begin), Long(end - begin));
    }
  }

  // From when the late rank is late until it is there.
  void AddCauses(std::string& text) const {
    std::size_t number = 0;
    for (const Cause& cause : input_.losses.causes) {
      ++number;
      if (!cause.worst) continue;
      const WaitInstance& worst = *cause.worst;
      Add(text, R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":"cause {}"}}}})", kCauses, number,
          number);
      Add(text,
          R"({{"ph":"X","pid":{},"tid":{},"cat":"cause","name":{},"ts":{:.3f},"dur":{:.3f},"args":{{"class":{},)"
          R"("gain":{},"worst":{}}}}})",
          kCauses, number, Quoted(DescribePlace(cause, input_.losses)), 1e6 * worst.delay,
          1e6 * std::max(0.0, worst.end - worst.delay), Quoted(DescribeReasons(cause)),
          Quoted(DescribeGainOf(cause, input_.losses)), Quoted(DescribeWorst(cause, input_.losses)));
    }
  }

  struct Open {
    std::uint32_t region = 0;
    Tick since = 0;
  };

  void AddSlice(std::size_t rank, const char* category, const std::string& name, Tick begin, Tick end,
                const std::string& arguments, std::string& text) const {
    Add(text, R"({{"ph":"X","pid":{},"tid":{},"cat":"{}","name":{},"ts":{},"dur":{}{}}})", ProcessOf(rank), rank + 1,
        category, name, At(begin), Long(std::max<Tick>(0, end - begin)), arguments);
  }

  void AddRank(std::size_t rank, std::string& text) const {
    const RankTimeline& timeline = input_.trace.timelines[rank];
    const Interval& window = input_.cut.ranks[rank].window;
    std::vector<Open> open;
    const auto take = [&](std::size_t index, Tick tick) {
      const RankTimeline::RegionEvent event = timeline.region_event(index);
      if (!event.is_leave) {
        open.push_back({event.region, tick});
      } else if (!open.empty()) {
        AddSlice(rank, "region", names_[open.back().region], open.back().since, tick, "", text);
        open.pop_back();
      }
    };
    for (std::size_t event = 0; event < window.begin.event; ++event) {  // regions around the begin
      const RankTimeline::RegionEvent at = timeline.region_event(event);
      if (!at.is_leave) open.push_back({at.region, window.begin.tick});
      if (at.is_leave && !open.empty()) open.pop_back();
    }
    std::size_t event = window.begin.event, wait = 0;
    const RankActivities& own = input_.activities.ranks[rank];
    for (std::size_t call = 0; call < own.calls; ++call) {
      const std::size_t of_timeline = own.first_call + call;
      for (; event < window.end.event && timeline.region_event(event).call <= of_timeline; ++event)
        take(event, timeline.event_tick(event));
      AddCall(rank, call, wait, text);
    }
    for (; event < window.end.event; ++event) take(event, timeline.event_tick(event));
    for (; !open.empty(); open.pop_back())
      AddSlice(rank, "region", names_[open.back().region], open.back().since, window.end.tick, "", text);
  }

  void AddCall(std::size_t rank, std::size_t call, std::size_t& wait, std::string& text) const {
    const RankActivities& own = input_.activities.ranks[rank];
    const std::uint32_t region = input_.trace.timelines[rank].region(own.first_call + call);
    const Tick enter = own.enter(call), leave = own.leave(call);
    AddSlice(rank, "mpi", names_[region], enter, leave, "", text);
    const std::vector<WaitState>& waits = input_.states.ranks[rank].waits;
    while (wait < waits.size() && waits[wait].call < call) ++wait;
    if (wait == waits.size() || waits[wait].call != call) return;
    const WaitState& state = waits[wait];
    AddSlice(rank, "wait", kinds_[static_cast<std::size_t>(state.kind)], enter, enter + state.length,
             fmt::format(R"(,"args":{{"late rank":{}}})", state.delayer), text);
    if (std::ranges::find(kWaitsForOne, state.kind) == std::end(kWaitsForOne)) return;
    // One arrow a wait; its number is the same nowhere else.
    const std::string id = fmt::format("\"{}.{}\"", rank, call);
    Add(text, R"({{"ph":"s","cat":"wait","name":"late","id":{},"pid":{},"tid":{},"ts":{}}})", id,
        ProcessOf(state.delayer), state.delayer + 1, At(enter + state.length));
    Add(text, R"({{"ph":"f","bp":"e","cat":"wait","name":"late","id":{},"pid":{},"tid":{},"ts":{}}})", id,
        ProcessOf(rank), rank + 1, At(enter + state.length));
  }

  const TimelineInput& input_;
  std::vector<std::string> names_, kinds_;
};

}  // namespace

std::string WriteTraceEvents(const TimelineInput& input) { return EventWriter(input).Write(); }

std::string WriteAnnotations(const LossRecord& losses) {
  OrderedJson annotations = OrderedJson::array();
  for (const Cause& cause : losses.causes) {
    OrderedJson one = {{"number", annotations.size() + 1},
                       {"description", DescribePlace(cause, losses)},
                       {"class", DescribeReasons(cause)},
                       {"gain", cause.gain}};
    if (const std::string remedy = RemedyOf(cause, losses); !remedy.empty()) one["remedy"] = remedy;
    if (const std::optional<WaitInstance>& worst = cause.worst) {
      one["begin"] = worst->delay;
      one["waitBegin"] = worst->begin;
      one["end"] = worst->end;
      one["rank"] = worst->rank;
      one["call"] = worst->call;
      one["waiting"] = worst->waiting;
      one["waitingCount"] = worst->waiting_count;
      one["text"] = DescribeWorst(cause, losses);
      one["command"] = fmt::format("farscale cut {} --window {:.9f},{:.9f} -o cause{}.otf2", losses.trace,
                                   std::min(worst->delay, worst->begin), worst->end, annotations.size() + 1);
    }
    annotations.push_back(std::move(one));
  }
  const OrderedJson file = {{"format", "farscale-annotations"},
                            {"version", 1},
                            {"generator", Generator()},
                            {"trace", losses.trace},
                            {"annotations", std::move(annotations)}};
  return file.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace farscale
