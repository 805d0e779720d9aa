#include "support/paraver_writer.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <numeric>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/text.h"
#include "trace/paraver_header.h"
#include "trace/timeline_feed.h"

namespace farscale::test {
namespace {

constexpr int kRunning = 1, kNotCreated = 2, kPaused = 12;

// One record: a line, and what the order of the file depends on.
struct Line {
  Tick tick = 0;
  int type = 0;  // at the same time, states come before events and these before messages
  std::size_t task = 0;
  std::string text;
};

// Times of one end of a message.
struct MessageEnd {
  std::optional<Tick> post, complete;
  std::uint64_t bytes = 0;
  std::uint32_t tag = 0;
};

struct MpiEvent {
  std::uint32_t type = 0;
  std::uint64_t value = 0;
  int state = 0;
};

MpiEvent KindOf(MpiCall call) {
  if (IsOneSided(call)) return {50000004, 0, 15};
  switch (call) {
    case MpiCall::kSend:
    case MpiCall::kBufferedSend:
    case MpiCall::kSynchronousSend: return {50000001, 0, 4};
    case MpiCall::kImmediateSend:
    case MpiCall::kImmediateBufferedSend:
    case MpiCall::kImmediateSynchronousSend: return {50000001, 0, 10};
    case MpiCall::kReceive: return {50000001, 0, 3};
    case MpiCall::kImmediateReceive: return {50000001, 0, 11};
    case MpiCall::kSendReceive: return {50000001, 0, 16};
    case MpiCall::kWait: return {50000001, 0, 8};
    case MpiCall::kTest:
    case MpiCall::kProbe: return {50000001, 0, 6};
    case MpiCall::kStart: return {50000001, 0, 15};
    case MpiCall::kCollective:
    case MpiCall::kImmediateCollective: return {50000002, 0, 13};
    case MpiCall::kInputOutput:
    case MpiCall::kCollectiveInputOutput: return {50000005, 0, 12};
    default: return {50000003, 0, 15};
  }
}

// Numbers of all that the trace has names for.
class Numbers {
 public:
  explicit Numbers(const Trace& trace) : trace_(trace) {
    std::map<std::string, std::uint64_t> values;
    for (std::uint64_t value = 1; value < 300; ++value) {
      if (const auto name = ParaverMpiFunction({}, 50000001, value)) values[*name] = value;
    }
    for (std::size_t i = 0; i < trace.regions.size(); ++i) {
      const Region& region = trace.regions[i];
      MpiEvent event = KindOf(region.call);
      const auto found = values.find(region.name);
      event.value = found == values.end() ? 1000 + i : found->second;
      mpi_.push_back(event);
    }
    std::uint32_t next = 42001000;
    for (const Counter& counter : trace.counters) {
      const std::uint32_t type = counter.name == "PAPI_TOT_INS"   ? 42000050
                                 : counter.name == "PAPI_TOT_CYC" ? 42000059
                                                                  : next++;
      counters_.push_back(type);
    }
  }

  const MpiEvent& Mpi(std::uint32_t region) const { return mpi_[region]; }
  std::uint32_t CounterType(std::uint32_t counter) const { return counters_[counter]; }
  static std::uint64_t Function(std::uint32_t region) { return region + 1; }
  // Every rank has a communicator of its own for MPI_COMM_SELF.
  std::uint64_t CommunicatorId(std::uint32_t communicator, std::size_t rank) const {
    return trace_.communicators[communicator].is_self ? trace_.communicators.size() + 1 + rank : communicator + 1;
  }

  std::string Names() const {
    std::string text = "STATES\n0    Idle\n1    Running\n";
    for (std::size_t i = 0; i < counters_.size(); ++i) {
      const Counter& counter = trace_.counters[i];
      text += fmt::format("\nEVENT_TYPE\n7  {} {} [{}]\n", counters_[i], counter.name, counter.description);
    }
    text += "\nEVENT_TYPE\n0  60000019 User function\nVALUES\n0  End\n";
    for (std::uint32_t i = 0; i < trace_.regions.size(); ++i) {
      if (trace_.regions[i].IsUser()) text += fmt::format("{}  {}\n", Function(i), trace_.regions[i].name);
    }
    for (const std::uint32_t type : {50000001u, 50000002u, 50000003u, 50000004u, 50000005u}) {
      text += fmt::format("\nEVENT_TYPE\n9  {}  MPI calls\nVALUES\n0  Outside MPI\n", type);
      for (std::uint32_t i = 0; i < trace_.regions.size(); ++i) {
        if (trace_.regions[i].is_mpi && mpi_[i].type == type) {
          text += fmt::format("{}  {}\n", mpi_[i].value, trace_.regions[i].name);
        }
      }
    }
    return text;
  }

 private:
  const Trace& trace_;
  std::vector<MpiEvent> mpi_;
  std::vector<std::uint32_t> counters_;
};

// Lines of one rank but for messages, whose ends it collects.
class RankLines : public TimelineSink {
 public:
  RankLines(const Trace& trace, const Numbers& numbers, const ParaverOptions& options, std::size_t rank,
            std::vector<Line>& lines)
      : trace_(trace), numbers_(numbers), options_(options), rank_(rank), lines_(lines) {
    const RankTimeline& timeline = trace.timelines[rank];
    sends.resize(timeline.sends());
    receives.resize(timeline.receives());
    if (timeline.empty()) return;
    if (timeline.begin() > trace.begin()) State(trace.begin(), timeline.begin(), kNotCreated);
    state_since_ = timeline.begin();
    Event(timeline.begin(), "40000001:1");
  }

  void Close() {
    const RankTimeline& timeline = trace_.timelines[rank_];
    if (timeline.empty()) return;
    State(state_since_, timeline.end(), kRunning);
    Event(timeline.end(), "40000001:0");
  }

  void Enter(Tick tick, std::uint32_t region) override { Edge(tick, region, true); }
  void Leave(Tick tick, std::uint32_t region) override { Edge(tick, region, false); }

  void Record(const FedRecord& record) override {
    if (call_ == nullptr) return;
    const std::size_t ordinal = static_cast<std::size_t>(record.request.value_or(0) / 3);
    switch (record.kind) {
      case RecordKind::kSend:
      case RecordKind::kSendPost: sends[ordinal] = {enter_, enter_, record.bytes, record.tag}; break;
      case RecordKind::kReceivePost: receives[ordinal].post = enter_; break;
      case RecordKind::kReceive: receives[ordinal].post = enter_; [[fallthrough]];
      case RecordKind::kReceiveComplete: completed_.push_back(ordinal); break;
      case RecordKind::kCollective: attributes_ = Attributes(record); break;
      default: break;
    }
  }

  void SetCounter(Tick, std::uint32_t counter, std::int64_t value) override {
    if (trace_.counters[counter].is_double) return;
    const auto [last, is_first] = last_.try_emplace(counter, value);  // the first sample is where counting begins
    counts_ += fmt::format(":{}:{}", numbers_.CounterType(counter), value - last->second);
    last->second = value;
  }
  void MeasurementOff(Tick tick) override { Event(tick, "40000012:0"); }
  void MeasurementOn(Tick tick) override { Event(tick, "40000012:1"); }
  void BufferFlush(Tick begin, Tick end) override {
    Event(begin, "40000003:1");
    Event(end, "40000003:0");
  }

  std::vector<MessageEnd> sends, receives;

 private:
  std::string Attributes(const FedRecord& record) const {
    if (!CollectiveKindOf(call_->name)) return "";
    const bool is_self = trace_.communicators[record.communicator].is_self;
    bool is_root = false;
    if (record.root && !is_self) {
      const Communicator& c = trace_.communicators[record.communicator];
      is_root = (c.remote.empty() ? c.members : c.remote)[*record.root] == static_cast<std::int32_t>(rank_);
    }
    return fmt::format(":50100001:{}:50100002:{}{}:50100004:{}", record.bytes, record.received,
                       is_root ? ":50100003:1" : "", numbers_.CommunicatorId(record.communicator, rank_));
  }

  void Edge(Tick tick, std::uint32_t region, bool is_enter) {
    const Region& r = trace_.regions[region];
    std::string counts = std::exchange(counts_, {});
    if (r.is_outside) return;
    if (r.is_mpi || r.is_pause) {
      const int state = r.is_pause ? kPaused : numbers_.Mpi(region).state;
      State(state_since_, tick, is_enter ? kRunning : state);
      state_since_ = tick;
    }
    if (r.is_pause) {
      if (!counts.empty()) Event(tick, counts.substr(1));
    } else if (!r.is_mpi) {
      Fact(tick, fmt::format("60000019:{}", is_enter ? Numbers::Function(region) : 0), counts);
    } else if (is_enter) {
      call_ = &r;
      enter_ = tick;
      entry_ = lines_.size();
      Fact(tick, fmt::format("{}:{}", numbers_.Mpi(region).type, numbers_.Mpi(region).value), counts);
    } else {
      // What the call did is known only now, but belongs to its entry.
      lines_[entry_].text += std::exchange(attributes_, {});
      for (const std::size_t ordinal : completed_) receives[ordinal].complete = tick;
      completed_.clear();
      call_ = nullptr;
      Fact(tick, fmt::format("{}:0", numbers_.Mpi(region).type), counts);
    }
  }

  void Fact(Tick tick, const std::string& fact, const std::string& counts) {
    if (options_.split_counters && !counts.empty()) {
      Event(tick, fact);
      Event(tick, counts.substr(1));
    } else {
      Event(tick, fact + counts);
    }
  }
  void Event(Tick tick, const std::string& facts) {
    lines_.push_back({tick, 2, rank_, fmt::format("2:{0}:1:{0}:1:{1}:{2}", rank_ + 1, tick - trace_.begin(), facts)});
  }
  void State(Tick begin, Tick end, int state) {
    if (begin >= end) return;
    lines_.push_back(
        {begin, 1, rank_,
         fmt::format("1:{0}:1:{0}:1:{1}:{2}:{3}", rank_ + 1, begin - trace_.begin(), end - trace_.begin(), state)});
  }

  const Trace& trace_;
  const Numbers& numbers_;
  const ParaverOptions& options_;
  std::size_t rank_;
  std::vector<Line>& lines_;
  const Region* call_ = nullptr;  // at hand
  Tick enter_ = 0;
  std::size_t entry_ = 0;  // line of the call's entry
  Tick state_since_ = 0;
  std::string attributes_, counts_;
  std::vector<std::size_t> completed_;  // receives in the call at hand
  std::map<std::uint32_t, std::int64_t> last_;
};

// 3:sender:lsend:psend:receiver:lrecv:precv:size:tag
void AddMessages(const Trace& trace, const Matching& matching, const std::vector<std::vector<MessageEnd>>& sends,
                 const std::vector<std::vector<MessageEnd>>& receives, std::vector<Line>& lines) {
  std::vector<std::pair<std::size_t, std::size_t>> senders(matching.matched);  // rank and ordinal
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    for (std::size_t i = 0; i < sends[rank].size(); ++i) {
      const std::uint32_t message = matching.ranks[rank].sends[i];
      if (message < matching.matched) senders[message] = {rank, i};
    }
  }
  const Tick origin = trace.begin();
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    for (std::size_t i = 0; i < receives[rank].size(); ++i) {
      const std::uint32_t message = matching.ranks[rank].receives[i];
      if (message >= matching.matched) continue;
      const auto [sender, ordinal] = senders[message];
      const MessageEnd& send = sends[sender][ordinal];
      const MessageEnd& receive = receives[rank][i];
      if (!send.post || !receive.post || !receive.complete) continue;
      lines.push_back(
          {*send.post, 3, sender,
           fmt::format("3:{0}:1:{0}:1:{1}:{1}:{2}:1:{2}:1:{3}:{4}:{5}:{6}", sender + 1, *send.post - origin, rank + 1,
                       *receive.post - origin, *receive.complete - origin, send.bytes, send.tag)});
    }
  }
}

void Shuffle(std::vector<Line>& lines, int seed) {
  std::mt19937 random(static_cast<unsigned>(seed));
  std::map<std::pair<std::size_t, Tick>, std::vector<std::size_t>> together;
  for (std::size_t i = 0; i < lines.size(); ++i) together[{lines[i].task, lines[i].tick}].push_back(i);
  std::vector<std::size_t> places(lines.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  // Not std::shuffle, which differs between machines.
  for (std::size_t i = places.size(); i > 1; --i) std::swap(places[i - 1], places[random() % i]);
  std::vector<Line> shuffled(lines.size());
  for (const auto& [key, group] : together) {
    std::vector<std::size_t> own;
    for (const std::size_t i : group) own.push_back(places[i]);
    std::sort(own.begin(), own.end());
    for (std::size_t i = 0; i < group.size(); ++i) shuffled[own[i]] = std::move(lines[group[i]]);
  }
  lines = std::move(shuffled);
}

std::vector<std::string> Header(const Trace& trace, const Numbers& numbers, const ParaverOptions& options) {
  std::vector<std::string> communicators, tasks, nodes;
  const auto add = [&](std::uint64_t id, const std::vector<std::int32_t>& members) {
    std::string line = fmt::format("c:1:{}:{}", id, members.size());
    for (const std::int32_t member : members) line += fmt::format(":{}", member + 1);
    communicators.push_back(line);
  };
  for (std::uint32_t i = 0; i < trace.communicators.size(); ++i) {
    const Communicator& communicator = trace.communicators[i];
    if (!communicator.is_self) {
      add(numbers.CommunicatorId(i, 0), communicator.members);
      if (!communicator.remote.empty()) {  // its two groups as communicators of their own
        const std::uint64_t group = 2 * trace.communicators.size() + trace.size() + 2 * i;
        communicators.pop_back();
        add(group, communicator.members);
        add(group + 1, communicator.remote);
        communicators.push_back(fmt::format("i:1:{}:{}:{}", numbers.CommunicatorId(i, 0), group, group + 1));
      }
      continue;
    }
    for (std::size_t rank = 0; rank < trace.size(); ++rank) {
      add(numbers.CommunicatorId(i, rank), {static_cast<std::int32_t>(rank)});
    }
  }
  for (const Rank& rank : trace.ranks) tasks.push_back(fmt::format("{}:{}", rank.threads, rank.node + 1));
  for (std::size_t i = 0; i < trace.nodes.size(); ++i) nodes.push_back("64");
  std::vector<std::string> lines = {
      fmt::format("#Paraver (20/11/2026 at 10:30):{}{}:{}({}):1:{}({}),{}", trace.end() - trace.begin(), options.unit,
                  trace.nodes.size(), Join(nodes, ","), trace.size(), Join(tasks, ","), communicators.size())};
  lines.insert(lines.end(), communicators.begin(), communicators.end());
  return lines;
}

void WriteText(const std::filesystem::path& path, const std::string& text, bool compress) {
  if (!compress) {
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  gzFile file = gzopen(path.c_str(), "wb1");
  const bool written =
      file != nullptr && (text.empty() || gzwrite(file, text.data(), static_cast<unsigned>(text.size())) > 0);
  if (file == nullptr || gzclose(file) != Z_OK || !written) throw std::runtime_error("cannot write " + path.string());
}

std::string RowText(const Trace& trace) {
  std::string text = fmt::format("LEVEL CPU SIZE {}\n", trace.size());
  for (std::size_t i = 0; i < trace.size(); ++i) text += fmt::format("{}.cpu\n", i + 1);
  text += fmt::format("\nLEVEL NODE SIZE {}\n", trace.nodes.size());
  for (const std::string& node : trace.nodes) text += node + "\n";
  text += fmt::format("\nLEVEL THREAD SIZE {}\n", trace.size());
  for (std::size_t i = 0; i < trace.size(); ++i) text += fmt::format("THREAD 1.{}.1\n", i + 1);
  return text;
}

}  // namespace

std::string WriteParaver(const Trace& trace, const Matching& matching, const std::filesystem::path& folder,
                         const std::string& name, const ParaverOptions& options) {
  const Numbers numbers(trace);
  const LocalRanks local_ranks(trace);
  std::vector<Line> lines;
  std::vector<std::vector<MessageEnd>> sends, receives;
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    RankLines sink(trace, numbers, options, rank, lines);
    if (!trace.timelines[rank].empty()) FeedTimeline(trace, local_ranks, rank, sink);
    sink.Close();
    sends.push_back(std::move(sink.sends));
    receives.push_back(std::move(sink.receives));
  }
  AddMessages(trace, matching, sends, receives, lines);
  std::stable_sort(lines.begin(), lines.end(),
                   [](const Line& a, const Line& b) { return std::pair(a.tick, a.type) < std::pair(b.tick, b.type); });
  if (options.shuffle_by) Shuffle(lines, *options.shuffle_by);
  const char* const newline = options.crlf ? "\r\n" : "\n";
  std::string text;
  for (const std::string& line : Header(trace, numbers, options)) text += line + newline;
  for (const Line& line : lines) text += line.text + newline;
  const std::filesystem::path path = folder / (name + (options.compress ? ".prv.gz" : ".prv"));
  WriteText(path, text, options.compress);
  if (options.with_names) WriteText(folder / (name + ".pcf"), numbers.Names(), false);
  if (options.with_rows) WriteText(folder / (name + ".row"), RowText(trace), false);
  return path.string();
}

}  // namespace farscale::test
