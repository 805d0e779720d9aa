#include "support/same_trace.h"

#include <fmt/format.h>

#include <tuple>

namespace farscale::test {
namespace {

auto Fields(const Region& r) { return std::tie(r.name, r.is_mpi, r.call, r.is_outside, r.is_pause); }
auto Fields(const Communicator& c) { return std::tie(c.name, c.members, c.remote, c.is_self); }
auto Fields(const Counter& c) { return std::tie(c.name, c.description, c.unit, c.scale, c.is_double, c.accumulates); }
auto Fields(const Rank& r) { return std::tie(r.node, r.threads, r.name, r.socket); }
auto Fields(const Interruption& i) { return std::tie(i.begin, i.end, i.is_flush); }

template <typename Element>
std::string CompareLists(const char* what, const std::vector<Element>& a, const std::vector<Element>& b) {
  if (a.size() != b.size()) return fmt::format("{} and {} {}", a.size(), b.size(), what);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (Fields(a[i]) != Fields(b[i])) return fmt::format("{} number {}", what, i);
  }
  return "";
}

// A record with what its target means rather than its index.
auto Meaning(const RankTimeline& t, std::size_t index) {
  const RankTimeline::Record r = t.record(index);
  const bool is_message = r.kind == RecordKind::kSend || r.kind == RecordKind::kSendPost ||
                          r.kind == RecordKind::kReceive || r.kind == RecordKind::kReceiveComplete;
  const bool is_collective = r.kind == RecordKind::kCollective || r.kind == RecordKind::kCollectiveComplete;
  return std::tuple(r.kind, r.back, r.bytes, r.received, is_message ? t.endpoints()[r.target] : Endpoint{},
                    is_collective ? t.collective_types()[r.target] : CollectiveType{});
}

auto CallEdges(const RankTimeline& t, std::size_t call) {
  return std::tuple(t.enter(call), t.leave(call), t.region(call), t.first_record(call), t.first_record(call + 1));
}
auto Fields(const RankTimeline::RegionEvent& e) { return std::tie(e.tick, e.region, e.is_leave, e.call); }

std::string CompareCounter(const RankTimeline& a, const RankTimeline& b, std::size_t counter) {
  if (a.has_counter(counter) != b.has_counter(counter)) return fmt::format("presence of counter {}", counter);
  if (!a.has_counter(counter)) return "";
  if (a.counter_is_reliable(counter) != b.counter_is_reliable(counter)) {
    return fmt::format("reliability of counter {}", counter);
  }
  if (!a.counter_is_reliable(counter)) return "";
  for (std::size_t i = 0; i < a.calls(); ++i) {
    if (a.raw_counter_at_enter(counter, i) != b.raw_counter_at_enter(counter, i) ||
        a.raw_counter_at_leave(counter, i) != b.raw_counter_at_leave(counter, i)) {
      return fmt::format("counter {} at call {}", counter, i);
    }
  }
  for (std::size_t i = 0; i < a.region_events(); ++i) {
    if (a.raw_counter_at_event(counter, i) != b.raw_counter_at_event(counter, i)) {
      return fmt::format("counter {} at region event {}", counter, i);
    }
  }
  return "";
}

std::string CompareTimelines(const RankTimeline& a, const RankTimeline& b, std::size_t counters) {
  const auto sizes = [](const RankTimeline& t) {
    return std::tuple(t.calls(), t.records(), t.region_events(), t.first_record(t.calls()), t.sends(), t.receives(),
                      t.collectives(), t.begin(), t.end());
  };
  if (sizes(a) != sizes(b)) return "sizes, begin or end";
  for (std::size_t i = 0; i < a.calls(); ++i) {
    if (CallEdges(a, i) != CallEdges(b, i)) return fmt::format("call {}", i);
  }
  for (std::size_t i = 0; i < a.records(); ++i) {
    if (Meaning(a, i) != Meaning(b, i)) return fmt::format("record {}", i);
  }
  for (std::size_t i = 0; i < a.region_events(); ++i) {
    if (Fields(a.region_event(i)) != Fields(b.region_event(i))) return fmt::format("region event {}", i);
  }
  for (std::size_t i = 0; i < counters; ++i) {
    const std::string difference = CompareCounter(a, b, i);
    if (!difference.empty()) return difference;
  }
  if (a.pauses() != b.pauses()) return "pauses";
  return CompareLists("interruptions", a.interruptions(), b.interruptions());
}

}  // namespace

std::string Difference(const Trace& a, const Trace& b) {
  if (a.ticks_per_second != b.ticks_per_second) return "clocks";
  if (a.program != b.program) return fmt::format("programs '{}' and '{}'", a.program, b.program);
  if (a.nodes != b.nodes) return "nodes";
  for (const std::string& difference :
       {CompareLists("ranks", a.ranks, b.ranks), CompareLists("regions", a.regions, b.regions),
        CompareLists("communicators", a.communicators, b.communicators),
        CompareLists("counters", a.counters, b.counters)}) {
    if (!difference.empty()) return difference;
  }
  if (a.topologies != b.topologies) return "topologies";
  for (std::size_t rank = 0; rank < a.size(); ++rank) {
    const std::string difference = CompareTimelines(a.timelines[rank], b.timelines[rank], a.counters.size());
    if (!difference.empty()) return fmt::format("rank {}: {}", rank, difference);
  }
  return "";
}

}  // namespace farscale::test
