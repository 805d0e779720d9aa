#include "balance/task_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/diagnostics.h"
#include "base/text.h"
#include "base/parallel.h"
#include "replay/unknown_waits.h"

namespace farscale {

TaskProgram CompileTasks(const Trace& trace, const Matching& matching, const PhaseCut& cut, const ReplayRules& rules,
                         const Network* network) {
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    if (!cut.ranks[rank].present) {
      throw Error(ErrorKind::kNotEnoughData, trace.path,
                  fmt::format("rank {} does not take part in phase '{}'", rank, cut.spec.name),
                  "choose a phase of all ranks");
    }
    const std::size_t iterations = cut.ranks[rank].iterations.size();
    if (iterations == cut.ranks.front().iterations.size()) continue;
    throw Error(ErrorKind::kNotEnoughData, trace.path,
                fmt::format("phase '{}' has {} iterations on rank 0, but {} on rank {}", cut.spec.name,
                            cut.ranks.front().iterations.size(), iterations, rank),
                "balancing points come after the same iteration of every rank; choose another phase");
  }
  RequireKnownWaits(trace, cut);
  const ReplayOptions options{.rules = rules, .network = network, .as_tasks = true};
  TaskProgram tasks{.program = Compile(trace, matching, cut, options),
                    .iterations = cut.ranks.front().iterations.size(),
                    .ticks_per_second = trace.ticks_per_second,
                    .trace = &trace,
                    .matching = &matching,
                    .cut = &cut,
                    .options = options};
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> bytes;
  for (const TaskMessage& message : tasks.program.task_messages) {
    if (!message.is_sent || message.from == message.to) continue;
    bytes[std::minmax(message.from, message.to)] += static_cast<double>(message.bytes);
  }
  for (const auto& [pair, sum] : bytes) tasks.edges.push_back({pair.first, pair.second, sum});
  return tasks;
}

TaskLoads LoadsOf(const TaskProgram& tasks, const LoadScale* scale) {
  TaskLoads loads(tasks.tasks(), std::vector<Tick>(tasks.iterations, 0));
  ParallelFor(tasks.tasks(), [&](std::size_t task) {
    std::size_t iteration = 0;
    const auto add = [&](Tick length) {
      loads[task][iteration] += ScaledLength(length, scale != nullptr ? (*scale)[task][iteration] : 1);
    };
    for (const Instruction& instruction : tasks.program.ranks[task].instructions) {
      add(instruction.compute);
      if (instruction.step == Step::kIterationEnd) iteration = instruction.target + 1;
    }
    add(tasks.program.ranks[task].compute_after);
  });
  return loads;
}

// The iterations of a phase again and again, as a run of production length has them.

namespace {

// Instructions and messages of a repeated program; chosen: half a gigabyte.
constexpr std::uint64_t kMostRepeated = 20'000'000;

bool IsOfMessage(Step step) {
  switch (step) {
    case Step::kSend:
    case Step::kWaitForSend:
    case Step::kReceive:
    case Step::kWaitForReceive:
    case Step::kSendRendezvous:
    case Step::kReceiveRendezvous: return true;
    default: return false;
  }
}

template <typename Element>
void RepeatAll(std::vector<Element>& elements, std::size_t times) {
  const std::size_t size = elements.size();
  elements.reserve(size * times);
  for (std::size_t i = size; i < size * times; ++i) elements.push_back(elements[i - size]);
}

// Sender, receiver, communicator and tag, by ranks of the trace.
using Channel = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;

// The phase with messages that it sends across its end received at its begin, as in the repetition before. These go to
// `joined`.
Program JoinRepetitions(const TaskProgram& tasks, std::set<std::uint32_t>& joined) {
  const std::vector<TaskMessage>& messages = tasks.program.task_messages;
  // Messages of a channel whose other side lies beyond the edge of the phase: those received after it, in this order,
  // and rank and number of the receives of those sent before it.
  std::map<Channel, std::pair<std::vector<std::uint32_t>, std::vector<std::pair<std::uint32_t, std::size_t>>>> cut;
  for (std::uint32_t rank = 0; rank < tasks.tasks(); ++rank) {
    const RankTimeline& timeline = tasks.trace->timelines[rank];
    const Interval& window = tasks.cut->ranks[rank].window;
    const auto channel_of = [&](std::size_t record, bool is_sent) {
      const Endpoint& end = timeline.endpoints()[timeline.record_target(record)];
      const auto peer = static_cast<std::uint32_t>(end.peer);
      return is_sent ? Channel{rank, peer, end.communicator, end.tag} : Channel{peer, rank, end.communicator, end.tag};
    };
    ForEachRecord(timeline, tasks.matching->ranks[rank], window.begin.call, window.end.call,
                  [&](std::size_t, std::size_t record, const RecordPart& part) {
                    if (part.IsCollective() || !part.IsMatched()) return;
                    const TaskMessage& message = messages[part.number];
                    if (part.type == OperationClass::kSend) {
                      if (part.posts && !message.is_awaited) cut[channel_of(record, true)].first.push_back(part.number);
                    } else if (part.completes && !message.is_sent) {
                      cut[channel_of(record, false)].second.emplace_back(rank, part.ordinal);
                    }
                  });
  }
  Matching matching = *tasks.matching;
  for (auto& [channel, of_channel] : cut) {
    // As many must come in as go out, else they belong to something else than the iterations.
    auto& [sent, received] = of_channel;
    if (sent.empty() || sent.size() != received.size()) continue;
    std::ranges::sort(received);
    for (std::size_t i = 0; i < sent.size(); ++i) {
      const auto [rank, receive] = received[i];
      matching.ranks[rank].receives[receive] = sent[i];
      joined.insert(sent[i]);
    }
  }
  return joined.empty() ? tasks.program : Compile(*tasks.trace, matching, *tasks.cut, tasks.options);
}

// `once`: the program of one repetition, of so many iterations.
void RepeatRank(std::size_t times, const Program& once, std::uint32_t iterations, const std::set<std::uint32_t>& joined,
                RankProgram& rank) {
  const std::vector<Instruction> instructions = std::move(rank.instructions);
  const std::vector<std::uint32_t> calls = rank.call_messages;
  rank.instructions.clear();
  rank.instructions.reserve((instructions.size() + 1) * times);
  for (std::uint32_t k = 0; k < times; ++k) {
    for (Instruction instruction : instructions) {
      const Step step = instruction.step;
      // Targets grow by the numbers of messages, collectives or iterations in one repetition.
      if (!IsOfMessage(step)) {
        const auto collectives = static_cast<std::uint32_t>(once.arrivals.size());
        const std::uint32_t of_one = step == Step::kIterationEnd ? iterations : collectives;
        if (step != Step::kNothing) instruction.target += k * of_one;
      } else if (!joined.contains(instruction.target)) {
        instruction.target += k * once.messages;
      } else {
        const bool is_received =
            step == Step::kWaitForSend || step == Step::kReceive || step == Step::kReceiveRendezvous;
        if (is_received ? k > 0 : k + 1 < times) {
          instruction.target += (is_received ? k - 1 : k) * once.messages;
        } else {
          // Messages from before the first repetition have arrived; nobody receives those of the last.
          instruction.step = Step::kNothing;
          instruction.target = 0;
        }
      }
      rank.instructions.push_back(instruction);
    }
    if (k + 1 == times) break;
    // The last iteration of a phase ends with it; here another one follows.
    Instruction& end = rank.instructions.emplace_back();
    end.compute = rank.compute_after;
    end.step = Step::kIterationEnd;
    end.target = (k + 1) * iterations - 1;
    for (std::size_t i = 0; i < calls.size();) {
      const std::size_t next = i + 1 + calls[i];
      rank.call_messages.push_back(calls[i]);
      for (++i; i < next; ++i) rank.call_messages.push_back(calls[i] + (k + 1) * once.messages);
    }
  }
}

// Slope of the line through the loads of a task, per iteration [least squares]; 0 where it is less than two standard
// errors, chosen: else noise of a few iterations would become a drift over thousands.
double LoadSlope(const std::vector<Tick>& loads) {
  const auto n = static_cast<double>(loads.size());
  if (loads.size() < 3) return 0;
  const double middle = (n - 1) / 2;
  double mean = 0, moments = 0, squares = 0;
  for (const Tick load : loads) mean += static_cast<double>(load) / n;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    const double x = static_cast<double>(i) - middle;
    moments += x * (static_cast<double>(loads[i]) - mean);
    squares += x * x;
  }
  const double slope = moments / squares;
  double residuals = 0;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    const double rest = static_cast<double>(loads[i]) - mean - slope * (static_cast<double>(i) - middle);
    residuals += rest * rest;
  }
  const double error = std::sqrt(residuals / (n - 2) / squares);
  return std::fabs(slope) < 2 * error ? 0 : slope;
}

}  // namespace

TaskProgram RepeatTasks(const TaskProgram& tasks, std::size_t times) {
  std::set<std::uint32_t> joined;
  const Program once = JoinRepetitions(tasks, joined);
  std::uint64_t size = once.messages;
  for (const RankProgram& rank : once.ranks) size += rank.instructions.size() + 1;
  if (size * times > kMostRepeated) {
    throw Error(ErrorKind::kNotEnoughData, tasks.trace->path,
                fmt::format("phase '{}' cannot be repeated so often: {} iterations have {} messages and steps, at most "
                            "{} are replayed",
                            tasks.cut->spec.name, FormatCount(tasks.iterations * times), FormatCount(size * times),
                            FormatCount(kMostRepeated)),
                fmt::format("ask for at most {} iterations",
                            FormatCount(std::max<std::uint64_t>(1, kMostRepeated / size) * tasks.iterations)));
  }
  TaskProgram repeated = tasks;
  repeated.iterations *= times;
  repeated.repeats *= times;
  Program& program = repeated.program = once;
  const auto iterations = static_cast<std::uint32_t>(tasks.iterations);
  ParallelFor(program.ranks.size(),
              [&](std::size_t rank) { RepeatRank(times, once, iterations, joined, program.ranks[rank]); });
  program.messages *= static_cast<std::uint32_t>(times);
  program.iterations *= static_cast<std::uint32_t>(times);
  program.calls *= times;
  RepeatAll(program.task_messages, times);
  RepeatAll(program.task_collectives, times);
  RepeatAll(program.arrivals, times);
  for (std::size_t i = once.root_arrives.size(); i < program.arrivals.size(); ++i)
    program.root_arrives.push_back(once.root_arrives[i % once.root_arrives.size()]);
  const auto collectives = static_cast<std::uint32_t>(once.arrivals.size());
  for (std::uint32_t k = 1; k < times; ++k) {
    for (const auto& [operation, ranks] : once.scan_ranks) {
      program.scan_ranks.emplace(operation + k * collectives, ranks);
    }
    for (const auto& [operation, order] : once.order_of_scan) {
      program.order_of_scan.emplace(operation + k * collectives, order);
    }
  }
  return repeated;
}

LoadScale ContinueDrift(const TaskLoads& loads, std::size_t times) {
  LoadScale scale(loads.size());
  for (std::size_t task = 0; task < loads.size(); ++task) {
    const std::size_t iterations = loads[task].size();
    const double drift = LoadSlope(loads[task]) * static_cast<double>(iterations);  // from one repetition to the next
    for (std::size_t k = 0; k < times * iterations; ++k) {
      const auto load = static_cast<double>(loads[task][k % iterations]);
      const double later = load + drift * static_cast<double>(k / iterations);
      scale[task].push_back(load > 0 ? std::max(0.0, later / load) : 1);
    }
  }
  return scale;
}

}  // namespace farscale
