#include "trace/paraver_tasks.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/diagnostics.h"
#include "base/parallel.h"
#include "base/search.h"
#include "trace/anomalies.h"
#include "trace/device_records.h"

namespace farscale {
namespace {

constexpr std::size_t kBlocksAtOnce = 8;  // chosen: 4 MiB of text, work for eight threads

// Names are needed to choose counters only.
ParaverScope MakeScope(const ReadOptions& options, std::uint32_t application, const ParaverHeader& header,
                       const ParaverNames& names) {
  ParaverScope scope;
  scope.header = &header;
  scope.keep_threads = options.keep_threads;
  scope.application = application;
  for (const ParaverCommunicator& communicator : header.applications[scope.application].communicators) {
    scope.communicators.push_back(communicator.id);
  }
  std::ranges::sort(scope.communicators);
  if (!options.all_counters) {
    scope.keeps_counter = [&](std::uint32_t type) { return options.Keeps(ParaverCounter(names, type).name); };
  }
  return scope;
}

// Reads blocks of text while those before are taken apart, and calls take(block) in their order. Returns the text
// behind the last whole line.
template <typename Take>
std::optional<TextBlock> ReadBlocks(ParaverText& text, const ParaverScope& scope, Take take) {
  std::vector<TextBlock> now, next;
  std::optional<TextBlock> last;
  const auto read = [&](std::vector<TextBlock>& blocks) {
    std::size_t count = 0;
    blocks.resize(kBlocksAtOnce);  // in the memory of those before
    while (count < kBlocksAtOnce && text.NextBlock(blocks[count])) {
      if (blocks[count].is_cut || blocks[count].is_endless) {
        last = std::move(blocks[count]);
      } else {
        ++count;
      }
    }
    blocks.resize(count);
  };
  read(now);
  while (!now.empty()) {
    std::vector<ParaverBlock> parsed(now.size());
    ParallelFor(now.size() + 1, [&](std::size_t i) {
      if (i == 0) {
        read(next);
      } else {
        parsed[i - 1] = ReadParaverBlock(scope, now[i - 1]);
      }
    });
    for (ParaverBlock& block : parsed) take(std::move(block));
    std::swap(now, next);
  }
  return last;
}

// A last line without newline is whole when the trace is: nothing is missing then.
void AddLastLine(const std::string& path, const ParaverScope& scope, const TextBlock& text, ParaverRecords& records) {
  if (text.is_endless) {
    throw Error(ErrorKind::kInput, path,
                fmt::format("has a line of more than {} bytes behind line {}, which no record is",
                            ParaverText::kLongestRecord, text.first_line - 1),
                "the trace is damaged");
  }
  ParaverBlock block = ReadParaverBlock(scope, text);
  const Tick duration = scope.header->duration;
  // Nor can its last number be the begin of another one.
  const bool is_whole = text.text.ends_with(":0\n") && block.tally.last_begin >= duration;
  if (block.tally.damaged > 0 || !is_whole) {
    records.is_cut_short = true;
    block = {};
    block.tally.lines = 1;
    block.tally.damaged = 1;
    block.tally.first_damage = fmt::format("line {}: the file ends in the middle of this line", text.first_line);
  }
  records.Add(std::move(block));
}

}  // namespace

void ParaverRecords::Add(ParaverBlock block) {
  Append(block.tally);
  const auto number = static_cast<std::uint32_t>(blocks.size());
  const std::uint8_t* begin = block.bytes.data();
  for (const ParaverSegment& segment : block.segments) {
    ParaverTaskParts& task = tasks[segment.task];
    task.parts.push_back({begin, segment.bytes, number});
    task.states.Append(segment.states);
    task.has_roots |= segment.has_root;
    for (std::size_t s = 0; s < kParaverStreams; ++s) task.orders[s].Append(segment.orders[s]);
    begin = std::accumulate(segment.bytes.begin(), segment.bytes.end(), begin,
                            [](const std::uint8_t* at, std::uint32_t size) { return at + size; });
  }
  for (const ParaverThreadState& state : block.thread_states) thread_states[state.task].push_back(state);
  for (const ParaverThreadCount& count : block.thread_counts) thread_counts[count.task].push_back(count);
  block.thread_states = {};
  block.thread_counts = {};
  block.segments = {};
  blocks.push_back(std::move(block));
}

ParaverRecords ReadParaverRecords(const std::string& path, const ReadOptions& options, std::uint32_t application,
                                  const ParaverHeader& header, const ParaverNames& names, ParaverText& text) {
  const ParaverScope scope = MakeScope(options, application, header, names);
  const std::size_t tasks = header.applications[application].tasks.size();
  text.MakeBlocksFor(tasks);
  ParaverRecords records(tasks);
  const auto last = ReadBlocks(text, scope, [&](ParaverBlock block) { records.Add(std::move(block)); });
  records.last_line = text.lines();
  if (last) AddLastLine(path, scope, *last, records);
  return records;
}

namespace {

constexpr std::uint32_t kTeam = 0;  // who is in it is not recorded

bool IsActive(std::uint32_t state) { return state != kParaverIdle && state != kParaverNotCreated; }

// Stretches in which any of the threads is active, in order and apart.
std::vector<DeviceSpan> ActiveStretches(const std::vector<ParaverThreadState>& states) {
  std::vector<DeviceSpan> active;
  for (const ParaverThreadState& state : states) {
    if (IsActive(state.state) && state.end > state.begin) active.push_back({state.begin, state.end});
  }
  return UnionOf(std::move(active));
}

// Where the main thread forks and joins, by time alone.
std::vector<TeamEvent> FindForks(const RankTimeline& timeline, const std::vector<DeviceSpan>& teams) {
  std::vector<TeamEvent> events;
  const auto add = [&](TeamEvent::Kind kind, Tick tick) {
    const std::size_t call =
        PartitionIndex(0, timeline.calls(), [&](std::size_t i) { return timeline.enter(i) < tick; });
    const std::size_t event =
        PartitionIndex(0, timeline.region_events(), [&](std::size_t i) { return timeline.event_tick(i) < tick; });
    events.push_back({kind, tick, static_cast<std::uint32_t>(call), static_cast<std::uint32_t>(event), kTeam});
  };
  using enum TeamEvent::Kind;
  for (const auto& [begin, end] : teams) {
    for (const TeamEvent::Kind kind : {kFork, kBegin}) add(kind, begin);
    for (const TeamEvent::Kind kind : {kEnd, kJoin}) add(kind, end);
  }
  return events;
}

using States = std::vector<ParaverThreadState>;
using Counts = std::vector<ParaverThreadCount>;
using CounterByType = std::map<std::uint32_t, std::uint32_t>;

// A stretch in which a thread ran, and for how long it did before.
struct Running {
  Tick begin = 0, end = 0, before = 0;
};

std::vector<Running> RunningTimes(States::const_iterator first, States::const_iterator end) {
  std::vector<Running> stretches;
  Tick before = 0;
  for (; first != end; ++first) {
    if (first->state != kParaverRunning || first->end <= first->begin) continue;
    stretches.push_back({first->begin, first->end, before});
    before += first->end - first->begin;
  }
  return stretches;
}

// The time that the thread ran up to a tick.
Tick RunUntil(const std::vector<Running>& stretches, Tick tick) {
  const auto next = std::ranges::lower_bound(stretches, tick, {}, &Running::begin);
  if (next == stretches.begin()) return 0;
  const Running& last = *(next - 1);
  return last.before + std::min(tick, last.end) - last.begin;
}

// One counter of one thread, at times in order.
class PassingCount {
 public:
  PassingCount(Counts::const_iterator first, Counts::const_iterator end, std::uint32_t type,
               const std::vector<Running>& running) {
    double total = 0;
    for (; first != end; ++first) {
      if (first->type != type) continue;
      total += static_cast<double>(first->count);
      samples_.emplace_back(RunUntil(running, first->tick), total);
    }
  }

  std::size_t samples() const { return samples_.size() - 1; }
  std::int64_t At(Tick running) {
    while (next_ < samples_.size() && samples_[next_].first <= running) ++next_;
    const auto& [last_running, last_total] = samples_[next_ - 1];
    if (next_ == samples_.size()) return std::llround(last_total);
    const auto& [next_running, next_total] = samples_[next_];
    const double share = static_cast<double>(running - last_running) / static_cast<double>(next_running - last_running);
    return std::llround(last_total + share * (next_total - last_total));
  }

 private:
  std::vector<std::pair<Tick, double>> samples_ = {{0, 0}};  // running time and total
  std::size_t next_ = 1;
};

class WorkerBuilder {
 public:
  WorkerBuilder(const Trace& definitions, const ParaverTraceFacts& facts, Location location,
                const std::vector<DeviceSpan>& teams)
      : facts_(facts), location_(location), teams_(teams), builder_(definitions, location.rank) {}

  // Counters of the thread, whose samples are in the order of time; before Build.
  void Count(Counts::const_iterator first, Counts::const_iterator end, const std::vector<Running>& running,
             const CounterByType& counters) {
    running_ = &running;
    std::size_t most = 0;
    for (const auto& [type, counter] : counters) {
      PassingCount count(first, end, type, running);
      most = std::max(most, count.samples());
      if (count.samples() > 0) counts_.emplace_back(counter, std::move(count));
    }
    for (const auto& [counter, count] : counts_) {
      constexpr double kSmallestShare = 0.99;  // chosen: as of main threads
      if (static_cast<double>(count.samples()) < kSmallestShare * static_cast<double>(most)) {
        builder_.DistrustCounter(counter);
      }
    }
  }

  // States of the thread in the order of time.
  WorkerThread Build(States::const_iterator first, States::const_iterator end) {
    auto team = teams_.begin();
    while (first != end) {
      const auto is_before = [&](const ParaverThreadState& state) {
        return !IsActive(state.state) || state.end <= state.begin;
      };
      first = std::find_if_not(first, end, is_before);
      if (first == end) break;
      while (team->end < first->end) ++team;
      first = AddSpan(first, end, team->end);
    }
    return {location_, builder_.Finish(), builder_.TakeTeamEvents()};
  }

 private:
  using Iterator = States::const_iterator;

  // Adds the part of the thread in one team; returns the state behind it.
  Iterator AddSpan(Iterator first, Iterator end, Tick team_end) {
    Iterator behind = first, last = first;
    for (; behind != end && behind->begin < team_end; ++behind) {
      if (IsActive(behind->state)) last = behind;
    }
    Tick now = first->begin;
    builder_.Team(TeamEvent::Kind::kBegin, now, kTeam);
    for (Iterator state = first; state <= last; ++state) {
      const Tick from = std::max(now, state->begin), to = std::max(from, state->end);
      In(facts_.scheduling_region, now, from);  // no state is recorded
      std::optional<std::uint32_t> region = RegionOf(state->state);
      if (!region && !counts_.empty()) region = facts_.application_region;  // whose edges have samples
      if (region) In(*region, from, to);
      now = to;
    }
    builder_.Team(TeamEvent::Kind::kEnd, now, kTeam);
    return behind;
  }

  void In(std::uint32_t region, Tick from, Tick to) {
    if (to <= from) return;
    SetCounters(from);
    builder_.Enter(from, region);
    SetCounters(to);
    builder_.Leave(to, region);
  }

  void SetCounters(Tick tick) {
    for (auto& [counter, count] : counts_) builder_.SetCounter(tick, counter, count.At(RunUntil(*running_, tick)));
  }

  // Nothing for work.
  std::optional<std::uint32_t> RegionOf(std::uint32_t state) const {
    switch (state) {
      case kParaverRunning: return std::nullopt;
      case kParaverSynchronization: return facts_.barrier_region;
      case kParaverForkJoin:
      case kParaverIdle:
      case kParaverNotCreated: return facts_.scheduling_region;
      default: return facts_.pause_region;
    }
  }

  const ParaverTraceFacts& facts_;
  const Location location_;
  const std::vector<DeviceSpan>& teams_;
  RankBuilder builder_;
  const std::vector<Running>* running_ = nullptr;
  std::vector<std::pair<std::uint32_t, PassingCount>> counts_;  // with the counter's number
};

using TaskThreads = std::pair<std::vector<TeamEvent>, std::vector<WorkerThread>>;  // events of the main thread, workers

TaskThreads BuildThreads(const Trace& trace, const ParaverTraceFacts& facts, std::size_t rank, States states,
                         Counts counts, const CounterByType& counters) {
  std::ranges::stable_sort(states, {}, [](const ParaverThreadState& s) { return std::pair(s.thread, s.begin); });
  std::ranges::stable_sort(counts, {}, [](const ParaverThreadCount& c) { return std::pair(c.thread, c.tick); });
  const std::vector<DeviceSpan> teams = ActiveStretches(states);
  TaskThreads threads{FindForks(trace.timelines[rank], teams), {}};
  for (auto first = states.cbegin(); first != states.cend();) {
    const std::uint32_t thread = first->thread;
    const auto end =
        std::find_if(first, states.cend(), [&](const ParaverThreadState& state) { return state.thread != thread; });
    const Location location{static_cast<std::int32_t>(rank), static_cast<std::int32_t>(thread)};
    const std::vector<Running> running = RunningTimes(first, end);
    const auto own = std::ranges::lower_bound(std::as_const(counts), thread, {}, &ParaverThreadCount::thread);
    WorkerBuilder builder(trace, facts, location, teams);
    builder.Count(own,
                  std::upper_bound(own, counts.cend(), thread,
                                   [](std::uint32_t one, const auto& count) { return one < count.thread; }),
                  running, counters);
    threads.second.push_back(builder.Build(first, end));
    first = end;
  }
  return threads;
}

CounterByType FindCounters(const std::vector<ParaverBlock>& blocks) {
  CounterByType counters;
  for (const ParaverBlock& block : blocks) {
    for (std::size_t i = 0; i < block.types.size(); ++i) {
      if (block.counters[i] != ParaverBlock::kNothing) counters[block.types[i]] = block.counters[i];
    }
  }
  return counters;
}

// Counters that the main thread has count for all threads or for none.
void CheckCounters(Trace& trace, const WorkerThread& worker) {
  const auto [rank, thread] = worker.location;
  const RankTimeline& main = trace.timelines[static_cast<std::size_t>(rank)];
  for (std::size_t i = 0; i < trace.counters.size() && !worker.team_events.empty(); ++i) {
    if (!main.has_counter(i) || worker.timeline.has_counter(i)) continue;
    trace.diagnostics.Add(anomaly::kThreadWithoutCounter, 1,
                          fmt::format("{} on rank {}, thread {}", trace.counters[i].name, rank, thread));
  }
}

}  // namespace

void AddParaverTeamRegions(TraceBuilder& builder, ParaverTraceFacts& facts) {
  facts.barrier_region = builder.AddRegion({.name = "OpenMP synchronization", .team_role = TeamRole::kBarrier});
  facts.scheduling_region =
      builder.AddRegion({.name = "OpenMP fork, join and scheduling", .team_role = TeamRole::kScheduling});
  facts.knows_threads = true;
}

void AddParaverThreads(ParaverRecords& records, const ParaverTraceFacts& facts, TraceBuilder& builder) {
  Trace& trace = builder.trace();
  const CounterByType counters = FindCounters(records.blocks);
  std::vector<TaskThreads> of_tasks(trace.size());
  ParallelFor(trace.size(), [&](std::size_t rank) {
    of_tasks[rank] = BuildThreads(trace, facts, rank, std::move(records.thread_states[rank]),
                                  std::move(records.thread_counts[rank]), counters);
  });
  TeamThreads& threads = trace.team_threads;
  threads.teams.emplace_back();
  for (auto& [of_main, workers] : of_tasks) {
    for (const WorkerThread& worker : workers) CheckCounters(trace, worker);
    threads.of_ranks.push_back(std::move(of_main));
    std::ranges::move(workers, std::back_inserter(threads.workers));
  }
}

namespace {

constexpr std::uint32_t kMemoryTransfer = 17;  // state of streams that copy; those that run kernels are running

// "CUDA-D1-host" of "CUDA-D1.S2-host"; empty for a thread.
std::string DeviceOf(std::string_view thread) {
  const std::size_t stream = thread.find(".S"), host = thread.find('-', stream);
  if (!thread.starts_with("CUDA-D") || stream == std::string_view::npos || host == std::string_view::npos) return "";
  return std::string(thread.substr(0, stream)) + std::string(thread.substr(host));
}

// Devices of the threads of an application by task and thread; empty where the names are of another trace.
using DeviceNames = std::map<std::pair<std::size_t, std::uint32_t>, std::string>;

DeviceNames DevicesOf(const ParaverNames& names, const ParaverHeader& header, std::size_t application) {
  DeviceNames devices;
  std::size_t next = 0;
  for (std::size_t k = 0; k < header.applications.size(); ++k) {
    const std::vector<ParaverTask>& tasks = header.applications[k].tasks;
    for (std::size_t task = 0; task < tasks.size(); ++task) {
      const auto threads = static_cast<std::uint32_t>(std::max(tasks[task].threads, 1));
      for (std::uint32_t thread = 0; thread < threads; ++thread, ++next) {
        if (next >= names.thread_names.size()) return {};
        const std::string device = k == application ? DeviceOf(names.thread_names[next]) : "";
        if (!device.empty() && thread > 0) devices[{task, thread}] = device;
      }
    }
  }
  return next == names.thread_names.size() ? devices : DeviceNames();
}

void AddState(const ParaverThreadState& state, StreamSpans& spans) {
  if (state.end <= state.begin) return;
  if (state.state == kParaverRunning) spans.kernels.push_back({state.begin, state.end});
  if (state.state == kMemoryTransfer) spans.copies.push_back({state.begin, state.end});
}

}  // namespace

void AddParaverDevices(const ParaverNames& names, const ParaverHeader& header, std::size_t application,
                       std::vector<std::vector<ParaverThreadState>>& states, TraceBuilder& builder) {
  const DeviceNames device_of = DevicesOf(names, header, application);
  if (device_of.empty()) return;
  Trace& trace = builder.trace();
  for (const auto& [place, device] : device_of) --trace.ranks[place.first].threads;
  std::map<std::string, std::map<std::int32_t, StreamSpans>> devices;
  for (std::size_t task = 0; task < states.size(); ++task) {
    std::map<std::string, StreamSpans> of_task;
    std::erase_if(states[task], [&](const ParaverThreadState& state) {
      const auto device = device_of.find({task, state.thread});
      if (device == device_of.end()) return false;
      AddState(state, of_task[device->second]);
      return true;
    });
    for (const auto& [name, spans] : of_task) AddStream(static_cast<std::int32_t>(task), spans, devices[name]);
  }
  for (const auto& [name, of_ranks] : devices) AddDevice(name, of_ranks, trace);
}

}  // namespace farscale
