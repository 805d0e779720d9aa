#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "base/parallel.h"
#include "imbalance/causes/find_causes.h"
#include "replay/replay.h"
#include "replay/network.h"

namespace farscale {
namespace {

// The time of the shortest call of every path beyond its waiting.
std::vector<Tick> FindShortest(const WaitStates& states) {
  const Activities& activities = states.activities;
  constexpr Tick kNone = std::numeric_limits<Tick>::max();
  std::vector<std::vector<Tick>> of_ranks(activities.ranks.size());
  ParallelFor(of_ranks.size(), [&](std::size_t rank) {
    const RankActivities& own = activities.ranks[rank];
    if (!own.present) return;
    of_ranks[rank].assign(activities.paths.size(), kNone);
    WaitsByCall waits(states.ranks[rank].waits);
    for (std::uint32_t call = 0; call < own.calls; ++call) {
      Tick& least = of_ranks[rank][own.path_of_call(call)];
      least = std::min(least, own.leave(call) - own.enter(call) - waits.Length(call));
    }
  });
  std::vector<Tick> shortest(activities.paths.size(), kNone);
  for (const std::vector<Tick>& of_rank : of_ranks) {
    for (std::size_t path = 0; path < of_rank.size(); ++path) shortest[path] = std::min(shortest[path], of_rank[path]);
  }
  return shortest;
}

// Writes the program of one rank. `shortest`: one a call path; empty: calls beyond their waiting are time of their
// ranks.
void WriteRank(const RankRecords& records, const WaitStates& states, const std::vector<RegionWaiting>& regions,
               const MessageEnds& ends, const std::vector<Tick>& shortest, MeasuredProgram& result) {
  const RankActivities& own = records.activities;
  const CollectiveWaits& collectives = states.collectives;
  RankProgram& program = result.program.ranks[records.rank];
  std::vector<std::uint32_t>& before_calls = result.instructions[records.rank];
  program.begin = result.origin;
  before_calls.reserve(own.calls + 1);
  WaitsByCall waits(states.ranks[records.rank].waits);
  Tick pending = 0;        // computation of the next instruction
  std::uint32_t next = 0;  // call to begin
  // The call begun last, and what it waits for.
  std::uint32_t call = 0;
  Tick enter = own.begin(), leave = enter, released = enter;
  const WaitState* wait = nullptr;
  std::vector<Instruction> needs;
  const auto append = [&](Step step, std::uint32_t target) {
    program.instructions.push_back({std::exchange(pending, 0), target, step});
  };
  const auto is_sent_at_once = [&](const Instruction& needed) {
    return needed.step == Step::kWaitForSend && !ends.received[needed.target].is_awaited;
  };
  const auto compute_until = [&](Tick tick) {
    before_calls.push_back(static_cast<std::uint32_t>(program.instructions.size()));
    pending += tick - leave;
  };
  const auto end_call = [&] {
    // The transit of the messages that the call waited for, where the last one was sent at once.
    const bool has_transit =
        !shortest.empty() && released > enter && std::ranges::any_of(needs, [&](const Instruction& needed) {
          return is_sent_at_once(needed) && ends.sent[needed.target].enter == released;
        });
    const Tick transit = has_transit ? std::max<Tick>(0, leave - released - shortest[own.path_of_call(call)]) : 0;
    for (const Instruction& needed : needs) {
      if (transit > 0 && is_sent_at_once(needed)) result.program.message_delays[needed.target] = transit;
      append(needed.step, needed.target);
    }
    needs.clear();
    pending += leave - released - transit;
  };
  const auto begin_call = [&] {
    end_call();
    call = next++;
    enter = released = own.enter(call);
    compute_until(enter);
    leave = own.leave(call);
    wait = waits.Find(call);
  };
  // If one of several operations is enough, the call needs the one that it waited for.
  const auto need = [&](Step step, std::uint32_t target, Tick since) {
    const Waiting how = regions[records.Region(call)].how;
    if (how == Waiting::kNever || since >= leave) return;
    if (how == Waiting::kForFirst && (wait == nullptr || since != enter + wait->length)) return;
    needs.push_back({0, target, step});
    released = std::max(released, since);
  };
  const auto take_collective = [&](const RecordPart& part) {
    const Participant* self = collectives.Find(part.number, records.rank);
    if (self == nullptr) return;
    const CollectivePattern pattern = collectives.pattern(part.number);
    const bool is_root = collectives.IsRoot(part.number, records.rank),
               is_from_root = pattern == CollectivePattern::kFromRoot;
    if (part.posts && self->sends) {
      if (pattern == CollectivePattern::kAllToAll || (pattern == CollectivePattern::kToRoot && !is_root))
        append(Step::kArrive, part.number);
      if (is_from_root && is_root) append(Step::kArriveAsRoot, part.number);
    }
    const bool is_known = pattern != CollectivePattern::kNone && pattern != CollectivePattern::kPrefix;
    if (part.completes && self->depends_on != kNoParticipant && is_known)
      need(is_from_root ? Step::kWaitForRoot : Step::kWaitForAll, part.number,
           collectives.participant(self->depends_on).enter);
  };
  ForEachRecord(records, [&](std::uint32_t of_record, std::size_t, const RecordPart& part) {
    while (next <= of_record) begin_call();
    if (!part.IsMatched()) return;
    if (part.IsCollective()) return take_collective(part);
    const MessageEnd &sent = ends.sent[part.number], &received = ends.received[part.number];
    if (sent.call == kNoCall || received.call == kNoCall) return;
    const bool is_send = part.type == OperationClass::kSend;
    if (part.posts && (is_send || received.is_awaited)) append(is_send ? Step::kSend : Step::kReceive, part.number);
    if (!part.completes) return;
    if (!is_send) need(Step::kWaitForSend, part.number, sent.enter);
    if (is_send && received.is_awaited) need(Step::kWaitForReceive, part.number, received.enter);
  });
  while (next < own.calls) begin_call();
  end_call();
  compute_until(own.end());
  program.compute_after = pending;
  program.instructions.shrink_to_fit();  // there are about as many as calls
}

void Apply(const MeasuredProgram& measured, const Fix& fix, int times, Program& program) {
  if (fix == nullptr) return;
  fix([&](const Saving& saving) {
    RankProgram& rank = program.ranks[saving.rank];
    const std::uint32_t at = measured.instructions[saving.rank][saving.call];
    Tick& compute = at < rank.instructions.size() ? rank.instructions[at].compute : rank.compute_after;
    compute -= times * saving.ticks;
  });
}

constexpr std::size_t kPathsTried = 4;  // those that take longest; chosen

// Functions in which messages or collectives may be under way.
bool HasLatency(MpiCall call) {
  switch (call) {
    case MpiCall::kSend:
    case MpiCall::kSynchronousSend:
    case MpiCall::kReceive:
    case MpiCall::kSendReceive:
    case MpiCall::kWait:
    case MpiCall::kCollective: return true;
    default: return IsWindowSynchronisation(call);
  }
}

// Calls visit(rank, call, path, ticks) for every call of the phase, with what it takes beyond its waiting.
template <typename Visit>
void ForEachCall(const WaitStates& states, Visit visit) {
  for (std::uint32_t rank = 0; rank < states.ranks.size(); ++rank) {
    const RankActivities& own = states.activities.ranks[rank];
    WaitsByCall waits(states.ranks[rank].waits);
    for (std::uint32_t call = 0; own.present && call < own.calls; ++call) {
      visit(rank, call, own.path_of_call(call), own.leave(call) - own.enter(call) - waits.Length(call));
    }
  }
}

}  // namespace

MeasuredProgram MakeMeasuredProgram(const Trace& trace, const Matching& matching, const WaitStates& states,
                                    bool receivers_transmit) {
  const std::vector<RegionWaiting> regions = FindRegionWaiting(trace);
  MessageEnds ends = FindMessageEnds(trace, matching, states.activities);
  // Marks the receives that the senders of messages wait for.
  ForEachRank(trace, matching, states.activities, [&](std::size_t rank, const RankRecords& records) {
    const ReplayRules rules;
    std::vector<std::pair<std::uint32_t, std::uint64_t>> posts;  // region and bytes
    std::optional<std::size_t> first;
    WaitsByCall of_calls(states.ranks[rank].waits);
    ForEachRecord(records, [&](std::uint32_t call, std::size_t record, const RecordPart& part) {
      if (part.type != OperationClass::kSend) return;
      const std::uint32_t region = records.Region(call);
      if (part.posts) {
        if (!first) first = part.ordinal;
        posts.emplace_back(region, records.timeline.record_bytes(record));
      }
      if (!part.completes || !part.IsMatched() || !first || part.ordinal < *first) return;
      const auto& [posted_in, bytes] = posts[part.ordinal - *first];
      MessageEnd& received = ends.received[part.number];  // which only this rank changes
      if (received.call == kNoCall || regions[posted_in].sends_locally) return;
      if (regions[region].how != Waiting::kForAll || received.enter >= records.activities.leave(call)) return;
      const WaitState* wait = of_calls.Find(call);
      const bool has_waited = wait != nullptr && wait->kind == WaitKind::kLateReceiver;
      received.is_awaited = has_waited || rules.IsRendezvous(trace.regions[posted_in].call, bytes);
    });
  });
  const std::vector<Tick> shortest = receivers_transmit ? std::vector<Tick>() : FindShortest(states);
  MeasuredProgram measured{states.activities.end - states.activities.begin};
  measured.instructions.resize(trace.size());
  measured.program.ranks.resize(trace.size());
  measured.program.messages = matching.messages;
  measured.program.message_delays.assign(matching.messages, 0);
  ForEachRank(trace, matching, states.activities, [&](std::size_t, const RankRecords& records) {
    WriteRank(records, states, regions, ends, shortest, measured);
  });
  measured.program.arrivals.assign(matching.collectives.size(), 0);
  measured.program.root_arrives.assign(matching.collectives.size(), false);
  CountArrivals(measured.program);
  return measured;
}

Fix MakeFix(std::vector<const std::vector<Saving>*> lists) {
  return [lists = std::move(lists)](const Save& save) {
    for (const std::vector<Saving>* list : lists) {
      for (const Saving& saving : *list) save(saving);
    }
  };
}

std::vector<Tick> Replay(MeasuredProgram& measured, const std::vector<Fix>& fixes) {
  // A program is as large as a trace, so that there are few of them at a time; chosen.
  constexpr std::size_t kPrograms = 4;
  std::vector<Tick> durations(fixes.size());
  const std::size_t programs = std::min({kPrograms, ThreadsAtOnce(), fixes.size()});
  std::vector<Program> copies(std::max<std::size_t>(1, programs) - 1, measured.program);
  ParallelFor(programs, [&](std::size_t first) {
    Program& own = first == 0 ? measured.program : copies[first - 1];
    for (std::size_t i = first; i < fixes.size(); i += programs) {
      Apply(measured, fixes[i], 1, own);
      StuckRanks stuck;
      // Messages are under way while their receivers may do something else.
      durations[i] = RunProgram(own, false, false, stuck).Duration() - measured.origin;
      Apply(measured, fixes[i], -1, own);
    }
  });
  return durations;
}

std::optional<LatencyGain> FindLatencyGain(const Trace& trace, const Matching& matching, const WaitStates& states,
                                           const Diagnosis& diagnosis) {
  const CallPaths& paths = diagnosis.paths;
  const std::vector<Tick> shortest = FindShortest(states);
  std::vector<Tick> all(paths.size()), calls(paths.size());
  ForEachCall(states, [&](std::uint32_t, std::uint32_t, PathId path, Tick ticks) {
    all[path] += ticks;
    ++calls[path];
  });
  const auto excess = [&](PathId path) { return calls[path] == 0 ? 0 : all[path] - calls[path] * shortest[path]; };
  std::vector<PathId> longest;
  for (PathId path = 0; path < paths.size(); ++path) {
    const bool counts = paths.is_mpi(path) && !paths.is_before_phase(path) && !diagnosis.IsOutside(path);
    if (counts && excess(path) > 0 && HasLatency(ClassifyMpiCall(paths.region_name(path)))) longest.push_back(path);
  }
  if (longest.empty()) return std::nullopt;
  std::ranges::stable_sort(longest, std::greater(), excess);
  longest.resize(std::min(kPathsTried, longest.size()));
  MeasuredProgram program = MakeMeasuredProgram(trace, matching, states, true);
  std::vector<Fix> fixes = {nullptr};
  for (const PathId of_fix : longest) {
    fixes.push_back([&, of_fix](const Save& save) {
      ForEachCall(states, [&](std::uint32_t rank, std::uint32_t call, PathId path, Tick ticks) {
        if (path == of_fix && ticks > shortest[path]) save({rank, call + 1, ticks - shortest[path]});
      });
    });
  }
  const std::vector<Tick> durations = Replay(program, fixes);
  const std::size_t best =
      static_cast<std::size_t>(std::min_element(durations.begin() + 1, durations.end()) - durations.begin());
  const Tick whole = durations.front(), gain = whole - durations[best];
  const double length = states.length();
  const bool is_as_measured = std::abs(static_cast<double>(whole) - length) <= kMeasuredPrecision * length;
  if (!is_as_measured || static_cast<double>(gain) < kLeastGain * length) return std::nullopt;
  const PathId path = longest[best - 1];
  const auto mean = static_cast<double>(all[path]) / static_cast<double>(calls[path]);
  return LatencyGain{paths.Name(path), trace.Seconds(gain), mean / trace.ticks_per_second,
                     trace.Seconds(shortest[path])};
}

}  // namespace farscale
