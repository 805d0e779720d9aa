#include "phases/counter_at.h"

#include <bit>
#include <cmath>
#include <optional>
#include <type_traits>

namespace farscale {
namespace {

struct CounterSample {
  Tick tick = 0;
  bool is_event = false;
  bool is_leave = false;  // of a call
  std::size_t index = 0;  // of the event or call
};

// The samples next to an edge; the same one twice when it lies on the edge.
struct ValuesAround {
  std::optional<CounterSample> before, after;

  void Compare(const CounterSample& sample, Tick edge) {
    if (sample.tick <= edge && (!before || sample.tick >= before->tick)) before = sample;
    if (sample.tick >= edge && (!after || sample.tick < after->tick)) after = sample;
  }

  // Of the way from the one to the other.
  double Share(Tick edge) const {
    return static_cast<double>(edge - before->tick) / static_cast<double>(after->tick - before->tick);
  }
};

// Compares in the order of the trace, which decides between samples of one tick.
ValuesAround FindValuesAround(const RankTimeline& timeline, const Edge& edge) {
  ValuesAround result;
  const auto event = [&](std::size_t i) { result.Compare({timeline.event_tick(i), true, false, i}, edge.tick); };
  if (edge.event < timeline.region_events() && timeline.event_tick(edge.event) == edge.tick) {
    event(edge.event);
    return result;
  }
  const auto leave = [&](std::size_t i) { result.Compare({timeline.leave(i), false, true, i}, edge.tick); };
  const auto enter = [&](std::size_t i) { result.Compare({timeline.enter(i), false, false, i}, edge.tick); };
  const bool has_event = edge.event > 0, has_call = edge.call > 0;
  const bool event_is_last = has_event && timeline.region_event(edge.event - 1).call >= edge.call;
  if (has_event && !event_is_last) event(edge.event - 1);
  if (has_call) leave(edge.call - 1);
  if (event_is_last) event(edge.event - 1);
  const bool event_follows = edge.event < timeline.region_events(), call_follows = edge.call < timeline.calls();
  const bool event_is_first = event_follows && timeline.region_event(edge.event).call <= edge.call;
  if (event_is_first) event(edge.event);
  if (call_follows) enter(edge.call);
  if (event_follows && !event_is_first) event(edge.event);
  return result;
}

// Scaled as a double, or as recorded.
template <typename Value>
Value ValueOf(const RankTimeline& timeline, std::size_t counter, const CounterSample& sample) {
  if constexpr (std::is_same_v<Value, double>) {
    return sample.is_event   ? timeline.counter_at_event(counter, sample.index)
           : sample.is_leave ? timeline.counter_at_leave(counter, sample.index)
                             : timeline.counter_at_enter(counter, sample.index);
  } else {
    return sample.is_event   ? timeline.raw_counter_at_event(counter, sample.index)
           : sample.is_leave ? timeline.raw_counter_at_leave(counter, sample.index)
                             : timeline.raw_counter_at_enter(counter, sample.index);
  }
}

// Calls between(before, growth from one sample to the next, share of the way) for an edge between two samples.
template <typename Value, typename Between>
Value ValueAt(const RankTimeline& timeline, std::size_t counter, const Edge& edge, Between between) {
  const ValuesAround n = FindValuesAround(timeline, edge);
  if (!n.before) return n.after ? ValueOf<Value>(timeline, counter, *n.after) : 0;
  const Value before = ValueOf<Value>(timeline, counter, *n.before);
  if (!n.after || n.after->tick == n.before->tick) return before;
  return between(before, ValueOf<Value>(timeline, counter, *n.after) - before, n.Share(edge.tick));
}

}  // namespace

double CounterAt(const RankTimeline& timeline, std::size_t counter, const Edge& edge) {
  return ValueAt<double>(timeline, counter, edge,
                         [](double before, double growth, double share) { return before + share * growth; });
}

std::int64_t RawCounterAt(const RankTimeline& timeline, std::size_t counter, bool is_double, const Edge& edge) {
  return ValueAt<std::int64_t>(timeline, counter, edge, [&](std::int64_t before, std::int64_t growth, double share) {
    if (is_double) return std::bit_cast<std::int64_t>(CounterAt(timeline, counter, edge));
    return before + std::int64_t{std::llround(share * static_cast<double>(growth))};
  });
}

}  // namespace farscale
