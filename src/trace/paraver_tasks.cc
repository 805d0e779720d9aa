// All records of a Paraver text by task, and the threads and devices of the tasks.
#include "trace/paraver_timeline.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <numeric>
#include <string_view>

#include "base/diagnostics.h"
#include "base/parallel.h"
#include "base/search.h"
#include "trace/anomalies.h"
#include "trace/device_records.h"

namespace farscale {
namespace {

constexpr std::size_t kBlocksAtOnce = 8;  // chosen: 4 MiB of text, work for eight threads

// A last line without newline is whole when the trace is: nothing is missing then.
void AddLastLine(const ParaverInput& input, const TextBlock& text, ParaverRecords& records) {
  if (text.is_endless) {
    throw Error(ErrorKind::kInput, input.path,
                fmt::format("has a line of more than {} bytes behind line {}, which no record is",
                            ParaverText::kLongestRecord, text.first_line - 1),
                "the trace is damaged");
  }
  ParaverBlock block = ReadParaverBlock(input, text);
  const Tick duration = input.duration;
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

constexpr std::uint32_t kTeam = 0;  // who is in it is not recorded

bool IsActive(const ParaverState& state) {
  return state.state != kParaverIdle && state.state != kParaverNotCreated && state.end > state.begin;
}

using CounterByType = std::map<std::uint32_t, std::uint32_t>;
using RunningTimes = std::vector<std::pair<DeviceSpan, Tick>>;  // stretches, and how long the thread ran before each

// The time that the thread ran up to a tick.
Tick RunUntil(const RunningTimes& stretches, Tick tick) {
  const auto next =
      std::ranges::lower_bound(stretches, tick, {}, [](const auto& stretch) { return stretch.first.begin; });
  if (next == stretches.begin()) return 0;
  const auto& [last, before] = *(next - 1);
  return before + std::min(tick, last.end) - last.begin;
}

using ThreadSamples = std::vector<std::pair<Tick, double>>;  // running time and total of a counter

// The count up to a running time; it grows evenly between two samples.
std::int64_t CountAt(const ThreadSamples& samples, Tick running) {
  const auto next =
      std::ranges::upper_bound(samples.begin() + 1, samples.end(), running, {}, &ThreadSamples::value_type::first);
  const auto& [last_running, last_total] = *(next - 1);
  if (next == samples.end()) return std::llround(last_total);
  const double share = static_cast<double>(running - last_running) / static_cast<double>(next->first - last_running);
  return std::llround(last_total + share * (next->second - last_total));
}

RunningTimes TimesOfRunning(const std::vector<ParaverState>& states) {
  RunningTimes running;
  Tick before = 0;
  for (const auto& [begin, end, state] : states) {
    if (state != kParaverRunning || end <= begin) continue;
    running.push_back({{begin, end}, before});
    before += end - begin;
  }
  return running;
}

// Keys: counters.
std::map<std::uint32_t, ThreadSamples> CountsOfThread(const ParaverThread& thread, const CounterByType& counters,
                                                      const RunningTimes& running, RankBuilder& builder) {
  std::map<std::uint32_t, ThreadSamples> samples;
  std::size_t most = 0;
  for (const auto& [type, counter] : counters) {
    const auto counts = thread.counts.find(type);
    if (counts == thread.counts.end()) continue;
    most = std::max(most, counts->second.size());
    ThreadSamples& own = samples[counter];
    own.emplace_back(0, 0.0);
    for (const auto& [tick, count] : counts->second) {
      own.emplace_back(RunUntil(running, tick), own.back().second + static_cast<double>(count));
    }
  }
  for (const auto& [counter, own] : samples) {
    constexpr double kSmallestShare = 0.99;  // chosen: as of main threads
    if (static_cast<double>(own.size() - 1) < kSmallestShare * static_cast<double>(most)) {
      builder.DistrustCounter(counter);
    }
  }
  return samples;
}

// Builds one thread, whose records are in the order of time.
WorkerThread BuildWorker(const Trace& definitions, const ParaverTraceFacts& facts, Location location,
                         const ParaverThread& thread, const std::vector<DeviceSpan>& teams,
                         const CounterByType& counters) {
  RankBuilder builder(definitions, location.rank);
  const RunningTimes running = TimesOfRunning(thread.states);
  const std::map<std::uint32_t, ThreadSamples> counts = CountsOfThread(thread, counters, running, builder);
  const auto edge = [&](Tick tick, std::uint32_t region, bool is_leave) {
    for (const auto& [counter, own] : counts) builder.SetCounter(tick, counter, CountAt(own, RunUntil(running, tick)));
    is_leave ? builder.Leave(tick, region) : builder.Enter(tick, region);
  };
  const auto in = [&](std::uint32_t region, Tick from, Tick to) {
    if (to <= from) return;
    edge(from, region, false);
    edge(to, region, true);
  };
  // Nothing for work, unless its edges have samples.
  const auto region_of = [&](std::uint32_t state) -> std::optional<std::uint32_t> {
    switch (state) {
      case kParaverRunning: return counts.empty() ? std::nullopt : std::optional(facts.application_region);
      case kParaverSynchronization: return facts.barrier_region;
      case kParaverForkJoin:
      case kParaverIdle:
      case kParaverNotCreated: return facts.scheduling_region;
      default: return facts.pause_region;
    }
  };
  auto team = teams.begin();
  for (auto first = thread.states.begin(); first != thread.states.end();) {
    if (!IsActive(*first)) {
      ++first;
      continue;
    }
    while (team->end < first->end) ++team;
    auto behind = first, last = first;  // the part of the thread in this team
    for (; behind != thread.states.end() && behind->begin < team->end; ++behind) {
      if (behind->state != kParaverIdle && behind->state != kParaverNotCreated) last = behind;
    }
    Tick now = first->begin;
    builder.Team(TeamEvent::Kind::kBegin, now, kTeam);
    for (auto state = first; state <= last; ++state) {
      const Tick from = std::max(now, state->begin), to = std::max(from, state->end);
      in(facts.scheduling_region, now, from);  // no state is recorded
      if (const auto region = region_of(state->state)) in(*region, from, to);
      now = to;
    }
    builder.Team(TeamEvent::Kind::kEnd, now, kTeam);
    first = behind;
  }
  return {location, builder.Finish(), builder.TakeTeamEvents()};
}

using TaskThreads = std::pair<std::vector<TeamEvent>, std::vector<WorkerThread>>;  // events of the main thread, workers

TaskThreads BuildThreads(const Trace& trace, const ParaverTraceFacts& facts, std::uint32_t rank,
                         ParaverThreads& threads, const CounterByType& counters) {
  const auto first = threads.lower_bound({rank, 0}), end = threads.lower_bound({rank + 1, 0});
  std::vector<DeviceSpan> active;
  for (auto entry = first; entry != end; ++entry) {
    ParaverThread& thread = entry->second;
    std::ranges::stable_sort(thread.states, {}, &ParaverState::begin);
    for (auto& [type, counts] : thread.counts) {
      std::ranges::stable_sort(counts, {}, &std::pair<Tick, std::int64_t>::first);
    }
    for (const ParaverState& state : thread.states) {
      if (IsActive(state)) active.push_back({state.begin, state.end});
    }
  }
  const std::vector<DeviceSpan> teams = UnionOf(std::move(active));
  TaskThreads built;
  // The main thread forks and joins by time alone.
  const RankTimeline& timeline = trace.timelines[rank];
  const auto add = [&](TeamEvent::Kind kind, Tick tick) {
    const std::size_t call =
        PartitionIndex(0, timeline.calls(), [&](std::size_t i) { return timeline.enter(i) < tick; });
    const std::size_t event =
        PartitionIndex(0, timeline.region_events(), [&](std::size_t i) { return timeline.event_tick(i) < tick; });
    built.first.push_back({kind, tick, static_cast<std::uint32_t>(call), static_cast<std::uint32_t>(event), kTeam});
  };
  using enum TeamEvent::Kind;
  for (const auto& [team_begin, team_end] : teams) {
    for (const TeamEvent::Kind kind : {kFork, kBegin}) add(kind, team_begin);
    for (const TeamEvent::Kind kind : {kEnd, kJoin}) add(kind, team_end);
  }
  for (auto entry = first; entry != end; ++entry) {
    auto& [place, thread] = *entry;
    if (thread.states.empty()) continue;
    const Location location{static_cast<std::int32_t>(rank), static_cast<std::int32_t>(place.second)};
    built.second.push_back(BuildWorker(trace, facts, location, thread, teams, counters));
    thread = {};  // its memory
  }
  return built;
}

}  // namespace

void ParaverRecords::Add(ParaverBlock block) {
  Append(block.tally);
  ParaverBlock& added = blocks.emplace_back(std::move(block));
  const std::uint8_t* begin = added.bytes.data();
  for (const ParaverTaskParts& segment : added.segments) {
    ParaverTaskParts& task = tasks[segment.task];
    task.parts.push_back({begin, segment.bytes, &added});
    task.states.Append(segment.states);
    task.has_roots |= segment.has_roots;
    for (std::size_t s = 0; s < kParaverStreams; ++s) {
      if (segment.bytes[s] == 0) continue;
      task.in_order[s] = task.in_order[s] && segment.in_order[s] && segment.first[s] >= task.last[s];
      task.last[s] = segment.last[s];
    }
    begin = std::accumulate(segment.bytes.begin(), segment.bytes.end(), begin);
  }
  for (auto& [place, thread] : added.threads) {
    const auto [known, is_new] = threads.try_emplace(place, std::move(thread));
    if (is_new) continue;
    ParaverThread& all = known->second;
    all.states.insert(all.states.end(), thread.states.begin(), thread.states.end());
    for (const auto& [type, counts] : thread.counts) {
      all.counts[type].insert(all.counts[type].end(), counts.begin(), counts.end());
    }
  }
  added.threads = {};
  added.segments = {};
}

ParaverRecords ReadParaverRecords(const ParaverInput& input, ParaverText& text) {
  const std::size_t tasks = input.chosen().tasks.size();
  text.MakeBlocksFor(tasks);
  ParaverRecords records(tasks);
  // Blocks of text are read while those before are taken apart.
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
  for (read(now); !now.empty(); std::swap(now, next)) {
    std::vector<ParaverBlock> parsed(now.size());
    ParallelFor(now.size() + 1, [&](std::size_t i) {
      if (i == 0) {
        read(next);
      } else {
        parsed[i - 1] = ReadParaverBlock(input, now[i - 1]);
      }
    });
    for (ParaverBlock& block : parsed) records.Add(std::move(block));
  }
  records.last_line = text.lines();
  if (last) AddLastLine(input, *last, records);
  return records;
}

void AddParaverThreads(ParaverRecords& records, const ParaverTraceFacts& facts, TraceBuilder& builder) {
  Trace& trace = builder.trace();
  CounterByType counters;
  for (const ParaverBlock& block : records.blocks) {
    for (std::size_t i = 0; i < block.types.size(); ++i) {
      if (block.counters[i] != ParaverBlock::kNothing) counters[block.types[i]] = block.counters[i];
    }
  }
  std::vector<TaskThreads> of_tasks(trace.size());
  ParallelFor(trace.size(), [&](std::size_t rank) {
    of_tasks[rank] = BuildThreads(trace, facts, static_cast<std::uint32_t>(rank), records.threads, counters);
  });
  TeamThreads& threads = trace.team_threads;
  threads.teams.emplace_back();
  for (auto& [of_main, workers] : of_tasks) {
    for (const WorkerThread& worker : workers) {
      const auto [rank, thread] = worker.location;
      const RankTimeline& main = trace.timelines[static_cast<std::size_t>(rank)];
      for (std::size_t i = 0; i < trace.counters.size() && !worker.team_events.empty(); ++i) {
        if (!main.has_counter(i) || worker.timeline.has_counter(i)) continue;
        trace.diagnostics.Add(anomaly::kThreadWithoutCounter, 1,
                              fmt::format("{} on rank {}, thread {}", trace.counters[i].name, rank, thread));
      }
    }
    threads.of_ranks.push_back(std::move(of_main));
    std::ranges::move(workers, std::back_inserter(threads.workers));
  }
}

void AddParaverDevices(const ParaverInput& input, ParaverThreads& threads, TraceBuilder& builder) {
  constexpr std::uint32_t kMemoryTransfer = 17;  // state of streams that copy; those that run kernels are running
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::string> device_names;  // keys: task and thread
  std::size_t next = 0;
  for (const ParaverApplication& application : input.applications) {
    for (std::uint32_t task = 0; task < application.tasks.size(); ++task) {
      const auto count = static_cast<std::uint32_t>(std::max(application.tasks[task].second, 1));
      for (std::uint32_t thread = 0; thread < count; ++thread, ++next) {
        if (next >= input.thread_names.size()) return;
        const std::string_view name = input.thread_names[next];
        const std::size_t stream = name.find(".S"), host = name.find('-', stream);
        const bool is_stream = name.starts_with("CUDA-D") && host != std::string_view::npos;
        if (!is_stream || thread == 0 || &application != &input.chosen()) continue;
        // "CUDA-D1-host" of "CUDA-D1.S2-host"
        device_names[{task, thread}] = std::string(name.substr(0, stream)) + std::string(name.substr(host));
      }
    }
  }
  if (next != input.thread_names.size()) return;  // the names are of another trace
  std::map<std::string, Device> devices;
  for (const auto& [place, name] : device_names) {
    --builder.trace().ranks[place.first].threads;
    Device& device = devices[name];
    device.name = name;
    const auto stream = threads.find(place);
    if (stream == threads.end()) continue;
    DeviceWork work{static_cast<std::int32_t>(place.first), {}, {}};
    for (const auto& [begin, end, state] : stream->second.states) {
      if (end <= begin) continue;
      if (state == kParaverRunning) work.kernels.push_back({begin, end});
      if (state == kParaverRunning || state == kMemoryTransfer) work.active.push_back({begin, end});
    }
    AddStream(work, device);
    threads.erase(stream);
  }
  std::vector<Device> used;
  for (auto& [name, device] : devices) used.push_back(std::move(device));
  AddDevices(std::move(used), builder.trace());
}

}  // namespace farscale
