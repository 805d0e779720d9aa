#include "support/timeline_text.h"

#include <fmt/format.h>

#include <vector>

#include "base/text.h"
#include "trace/timeline_feed.h"

namespace farscale::test {
namespace {

class TextSink : public TimelineSink {
 public:
  explicit TextSink(const Trace& trace) : trace_(trace) {}

  void Enter(Tick tick, std::uint32_t region) override { Add("{} +{}", tick, trace_.regions[region].name); }
  void Leave(Tick tick, std::uint32_t region) override { Add("{} -{}", tick, trace_.regions[region].name); }
  void SetCounter(Tick, std::uint32_t, std::int64_t) override {}
  void MeasurementOff(Tick tick) override { Add("{} off", tick); }
  void MeasurementOn(Tick tick) override { Add("{} on", tick); }
  void BufferFlush(Tick begin, Tick end) override { Add("{}-{} flush", begin, end); }

  void Record(const FedRecord& r) override {
    switch (r.kind) {
      case RecordKind::kSend: return Add("send to {} of {}", r.peer, r.bytes);
      case RecordKind::kSendPost: return Add("post send to {} of {}", r.peer, r.bytes);
      case RecordKind::kSendComplete: return Add("sent");
      case RecordKind::kSendCancelled: return Add("cancelled");
      case RecordKind::kReceive: return Add("receive {} from {}", r.bytes, r.peer);
      case RecordKind::kReceivePost: return Add("post receive");
      case RecordKind::kReceiveComplete: return Add("received {} from {}", r.bytes, r.peer);
      case RecordKind::kCollectivePost: return Add("post collective");
      case RecordKind::kCollective:
      case RecordKind::kCollectiveComplete: break;
    }
    const std::string root = r.root ? fmt::format(", root {}", *r.root) : "";
    Add("{} on {}{}, {} and {} bytes", ToString(r.collective), trace_.communicators[r.communicator].name, root, r.bytes,
        r.received);
  }

  const std::vector<std::string>& parts() const { return parts_; }

 private:
  template <typename... Values>
  void Add(fmt::format_string<Values...> format, Values&&... values) {
    parts_.push_back(fmt::format(format, std::forward<Values>(values)...));
  }

  const Trace& trace_;
  std::vector<std::string> parts_;
};

}  // namespace

std::string TimelineText(const Trace& trace, std::size_t rank) {
  TextSink sink(trace);
  if (!trace.timelines[rank].empty()) FeedTimeline(trace, LocalRanks(trace), rank, sink);
  return Join(sink.parts(), ", ");
}

std::string CounterText(const Trace& trace, std::size_t rank, const std::string& counter) {
  const auto index = trace.FindCounter(counter);
  const RankTimeline& timeline = trace.timelines[rank];
  if (!index || !timeline.has_counter(*index)) return "none";
  std::vector<std::string> parts;
  for (std::size_t call = 0; call < timeline.calls(); ++call) {
    parts.push_back(
        fmt::format("{} {}", timeline.counter_at_enter(*index, call), timeline.counter_at_leave(*index, call)));
  }
  return Join(parts, ", ");
}

}  // namespace farscale::test
