#include "replay/clock_repair.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <utility>

#include "base/diagnostics.h"
#include "base/text.h"
#include "base/parallel.h"
#include "replay/anomalies.h"
#include "replay/replayed_trace.h"

namespace farscale {
namespace {

constexpr Tick kNever = std::numeric_limits<Tick>::min();
// Times that offsets and drifts leave contradicting each other by more than this share of the run are not those of
// clocks that run evenly; chosen: the logical clock then moves events by less than what factors are given to.
constexpr double kMostLeft = 0.01;
// Oscillators of computers are off by up to some hundred ppm, counters that were calibrated badly by more; chosen.
constexpr double kMostDrift = 0.005;
// After a jump the logical clock returns to the corrected one by this share of the time that passes [Becker09].
constexpr double kReturn = 0.01;

struct Contradictions {
  std::uint64_t checked = 0, count = 0;  // messages and parts in collectives
  Tick worst = 0;
  std::size_t worst_rank = 0;
};

// `times`: corrected ones of calls; null: those of the trace.
Contradictions FindContradictions(const Trace& trace, const Matching& matching, const ClockOrder& order,
                                  const std::vector<NewTimes>* times) {
  const auto enter = [&](std::size_t rank, std::size_t call) {
    return times != nullptr ? (*times)[rank].enter[call] : trace.timelines[rank].enter(call);
  };
  const auto leave = [&](std::size_t rank, std::size_t call) {
    return times != nullptr ? (*times)[rank].leave[call] : trace.timelines[rank].leave(call);
  };
  // When every message was sent, and when the last rank began a collective that others wait for.
  std::vector<Tick> sent(matching.matched, kNever), begun(matching.collectives.size(), kNever);
  ParallelFor(trace.size(), [&](std::size_t rank) {
    order.ForEachEvent(trace, matching, rank, [&](const ClockEvent& event) {
      if (!event.gives) return;
      if (event.is_collective) {
        const std::atomic_ref<Tick> shared(begun[event.number]);
        const Tick tick = enter(rank, event.call);
        for (Tick old = shared; old < tick && !shared.compare_exchange_weak(old, tick);) {
        }
      } else {
        sent[event.number] = enter(rank, event.call);
      }
    });
  });
  std::vector<Contradictions> of_rank(trace.size());
  ParallelFor(trace.size(), [&](std::size_t rank) {
    order.ForEachEvent(trace, matching, rank, [&](const ClockEvent& event) {
      if (!event.takes) return;
      const Tick needed = (event.is_collective ? begun : sent)[event.number];
      if (needed == kNever) return;
      const Tick early = needed - leave(rank, event.call);
      ++of_rank[rank].checked;
      of_rank[rank].count += early > 0;
      of_rank[rank].worst = std::max(of_rank[rank].worst, early);
    });
  });
  Contradictions all;
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    all.checked += of_rank[rank].checked;
    all.count += of_rank[rank].count;
    if (of_rank[rank].worst > all.worst) all.worst_rank = rank;
    all.worst = std::max(all.worst, of_rank[rank].worst);
  }
  return all;
}

// A controlled logical clock: no call ends before what it needs has begun; the time that a rank is late for that
// shrinks in its later computation by kReturn of its length, and at once in its later calls. Moves `times`, and returns
// how far any at most.
Tick RunLogicalClock(const Trace& trace, const Matching& matching, const ClockOrder& order,
                     std::vector<NewTimes>& times) {
  struct ClockedRank {
    std::vector<ClockEvent> events;
    std::size_t next = 0;  // event
    std::size_t call = 0;
    bool is_entered = false;
    Tick before = 0, moved_before = 0;  // corrected and logical time at which the call before was left
  };
  constexpr Tick kPending = kNever + 1;
  std::vector<ClockedRank> ranks(trace.size());
  std::vector<Tick> sent(matching.matched, kNever), begun(matching.collectives.size(), kNever);  // kPending: not yet
  std::vector<std::uint32_t> missing(begun.size());  // ranks that have not begun a collective
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    order.ForEachEvent(trace, matching, rank, [&](const ClockEvent& event) {
      ranks[rank].events.push_back(event);
      if (event.gives && event.is_collective) ++missing[event.number];
      if (event.gives && !event.is_collective) sent[event.number] = kPending;
    });
  }
  bool ignores = false;  // does not wait for what the next call needs
  Tick moved = 0;
  // The call at hand; false where it has to wait.
  const auto pass_call = [&](ClockedRank& of, Tick& enter, Tick& leave) {
    std::size_t end = of.next;
    while (end < of.events.size() && of.events[end].call == of.call) ++end;
    const std::span events(of.events.data() + of.next, end - of.next);
    if (!of.is_entered) {
      const Tick length = enter - of.before, late = of.moved_before - of.before;
      if (late > 0)
        enter = of.moved_before + length - std::min(late, static_cast<Tick>(kReturn * static_cast<double>(length)));
      of.is_entered = true;
      for (const ClockEvent& event : events) {
        if (!event.gives) continue;
        Tick& began = (event.is_collective ? begun : sent)[event.number];
        began = event.is_collective ? std::max(began, enter) : enter;
        if (event.is_collective) --missing[event.number];
      }
    }
    Tick needed = enter;
    for (const ClockEvent& event : events) {
      if (!event.takes) continue;
      const bool is_pending = event.is_collective ? missing[event.number] > 0 : sent[event.number] == kPending;
      if (is_pending && !ignores) return false;
      if (!is_pending) needed = std::max(needed, (event.is_collective ? begun : sent)[event.number]);
    }
    ignores = false;
    of.next = end;
    of.is_entered = false;
    of.before = leave;
    leave = std::max(leave, needed);
    of.moved_before = leave;
    moved = std::max(moved, of.moved_before - of.before);
    return true;
  };
  // Ranks in turn go as far as they can. Where none can, the trace contradicts itself, and the next one does not wait.
  for (bool is_done = false, goes_on = true; !is_done;) {
    ignores = !goes_on;
    goes_on = false;
    is_done = true;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      ClockedRank& of = ranks[rank];
      const std::size_t from = of.call, calls = times[rank].enter.size();
      while (of.call < calls && pass_call(of, times[rank].enter[of.call], times[rank].leave[of.call])) ++of.call;
      goes_on |= of.call > from;
      is_done &= of.call == calls;
    }
  }
  return moved;
}

// The longest that any rank was there, whatever its clock says about others.
Tick LongestRank(const Trace& trace) {
  Tick longest = 0;
  for (const RankTimeline& timeline : trace.timelines) longest = std::max(longest, timeline.end() - timeline.begin());
  return longest;
}

// "times of node b are 60.0 s too late, drifts up to 3.2 ppm"
std::string DescribeClocks(const Trace& trace, const ClockFit& fit) {
  std::size_t most = 0;
  double drift = 0;
  for (std::size_t i = 0; i < fit.corrections.size(); ++i) {
    if (std::fabs(fit.corrections[i].offset) > std::fabs(fit.corrections[most].offset)) most = i;
    drift = std::max(drift, std::fabs(fit.corrections[i].drift));
  }
  const ClockCorrection& clock = fit.corrections[most];
  std::string text = fmt::format("times of {} are {} too {}", fit.names[most],
                                 FormatSeconds(trace.Seconds(std::llround(std::fabs(clock.offset)))),
                                 clock.offset < 0 ? "late" : "early");
  if (drift > 0) text += fmt::format(", drifts up to {:.1f} ppm", 1e6 * drift);
  return text;
}

// "on rank 3, 60.0 s too early"
std::string DescribeWorst(const Trace& trace, const Contradictions& found) {
  return fmt::format("on rank {}, {} too early", found.worst_rank, FormatSeconds(trace.Seconds(found.worst)));
}

void MoveRanks(const ClockFit& fit, std::vector<NewTimes> times, Trace& trace) {
  ParallelFor(trace.size(), [&](std::size_t rank) {
    const RankTimeline& timeline = trace.timelines[rank];
    if (timeline.empty()) return;
    const ClockCorrection& clock = fit.corrections[fit.clock_of_rank[rank]];
    const Tick begin = clock.Corrected(timeline.begin());
    Tick end = clock.Corrected(timeline.end());
    if (!times[rank].leave.empty()) end = std::max(end, times[rank].leave.back());
    MoveRank(rank, std::move(times[rank]), begin, end, trace);
  });
}

// Times by a model of the clocks.
struct Candidate {
  ClockFit fit;
  std::vector<NewTimes> times;
  Contradictions left;
};

Candidate TryClocks(const Trace& trace, const Matching& matching, const ClockOrder& order, bool by_node,
                    bool has_drift) {
  Candidate candidate{FitClocks(trace, matching, order, by_node, has_drift), {}, {}};
  if (!candidate.fit.unknown.empty()) return candidate;
  candidate.times.resize(trace.size());
  ParallelFor(trace.size(), [&](std::size_t rank) {
    const RankTimeline& timeline = trace.timelines[rank];
    const ClockCorrection& clock = candidate.fit.corrections[candidate.fit.clock_of_rank[rank]];
    for (std::size_t call = 0; call < timeline.calls(); ++call) {
      candidate.times[rank].enter.push_back(clock.Corrected(timeline.enter(call)));
      candidate.times[rank].leave.push_back(clock.Corrected(timeline.leave(call)));
    }
  });
  candidate.left = FindContradictions(trace, matching, order, &candidate.times);
  return candidate;
}

// Clocks that differ may contradict nothing, if messages lie in buffers and barriers take longer. They show where the
// ranks of a node leave every barrier and allreduce of all nodes later than others by the same time: kConstant of it at
// least, longer than kMostLeft / 2 of the run and than any network takes to let all nodes go. All are chosen.
constexpr double kConstant = 0.99, kLongestWay = 1e-3;
constexpr std::size_t kFewestCollectives = 3;

// The number of collectives that show such clocks; 0: none.
std::uint64_t CountConstantSkew(const Trace& trace, const Matching& matching, const ClockOrder& order) {
  const std::size_t nodes = trace.nodes.size();
  if (nodes < 2) return 0;
  // For every collective, when the ranks of every node leave it on average, in ticks.
  std::map<std::uint32_t, std::map<std::size_t, double>> exits, ranks;
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    order.ForEachEvent(trace, matching, rank, [&](const ClockEvent& event) {
      if (!event.is_gather || !event.takes) return;
      const CollectiveKind kind = matching.collectives[event.number].kind;
      if (kind != CollectiveKind::kBarrier && kind != CollectiveKind::kAllreduce) return;
      const auto node = static_cast<std::size_t>(trace.ranks[rank].node);
      exits[event.number][node] += static_cast<double>(trace.timelines[rank].leave(event.call));
      ++ranks[event.number][node];
    });
  }
  std::vector<double> least(nodes, std::numeric_limits<double>::infinity()), most(nodes);
  std::uint64_t collectives = 0;
  for (auto& [collective, of_nodes] : exits) {
    for (auto& [node, ticks] : of_nodes) ticks /= ranks[collective][node];
    if (of_nodes.size() < nodes) continue;
    const double earliest =
        std::ranges::min_element(of_nodes, {}, [](const auto& exit) { return exit.second; })->second;
    for (const auto& [node, left] : of_nodes) {
      least[node] = std::min(least[node], left - earliest);
      most[node] = std::max(most[node], left - earliest);
    }
    ++collectives;
  }
  const double largest = std::ranges::max(most);
  const double matters =
      std::max(kMostLeft / 2 * static_cast<double>(LongestRank(trace)), kLongestWay * trace.ticks_per_second);
  if (collectives < kFewestCollectives || largest <= matters) return 0;
  for (std::size_t node = 0; node < nodes; ++node) {
    if (most[node] > matters && least[node] < kConstant * most[node]) return 0;
  }
  return collectives;
}

bool LeavesTooMuch(const Trace& trace, const Candidate& candidate) {
  return static_cast<double>(candidate.left.worst) > kMostLeft * static_cast<double>(LongestRank(trace));
}

// Why what was found is not the clocks'; empty: it is.
std::string WhyUnknown(const Trace& trace, const Contradictions& found, const Candidate& candidate) {
  const ClockFit& fit = candidate.fit;
  const std::string all = DescribeWorst(trace, found);
  if (!fit.unknown.empty()) {
    return fmt::format("{}; no messages in both directions tie the clock of {} to the others", all,
                       fit.names[fit.unknown.front()]);
  }
  if (LeavesTooMuch(trace, candidate)) {
    return fmt::format("{}; with the best offsets and drifts {} of {}, the first {}", all,
                       FormatCount(candidate.left.count), FormatCount(candidate.left.checked),
                       DescribeWorst(trace, candidate.left));
  }
  for (std::size_t i = 0; i < fit.corrections.size(); ++i) {
    if (std::fabs(fit.corrections[i].drift) <= kMostDrift) continue;
    return fmt::format("{}; the clock of {} would drift by {}", all, fit.names[i],
                       FormatPercent(std::fabs(fit.corrections[i].drift)));
  }
  return "";
}

void Repair(const Contradictions& found, const ClockOrder& order, Trace& trace, Matching& matching) {
  // The simplest model that no other leaves half as much of; where none explains the times, one that messages do not
  // tie.
  Candidate best = TryClocks(trace, matching, order, true, false);
  for (const auto& [by_node, has_drift] : {std::pair(true, true), {false, false}, {false, true}}) {
    if (best.fit.unknown.empty() && best.left.count == 0) break;
    Candidate candidate = TryClocks(trace, matching, order, by_node, has_drift);
    const bool is_better = candidate.fit.unknown.empty()
                               ? !best.fit.unknown.empty() || candidate.left.worst < best.left.worst / 2
                               : LeavesTooMuch(trace, best);
    if (is_better) best = std::move(candidate);
  }
  const std::string why = WhyUnknown(trace, found, best);
  const Anomaly& anomaly = why.empty() ? anomaly::kClocksCorrected : anomaly::kClocksContradict;
  matching.diagnostics.AddPopulation(anomaly, found.checked);
  if (!why.empty()) {
    matching.clocks_unknown = why;
    matching.diagnostics.Add(anomaly, found.count, why);
    return;
  }
  const Tick moved = RunLogicalClock(trace, matching, order, best.times);
  MoveRanks(best.fit, std::move(best.times), trace);
  std::string example = fmt::format("{}; {}", DescribeWorst(trace, found), DescribeClocks(trace, best.fit));
  if (moved > 0) example += fmt::format("; the rest moved by up to {}", FormatSeconds(trace.Seconds(moved)));
  matching.diagnostics.Add(anomaly, found.count, example);
}

}  // namespace

bool ClocksAgree(const Trace& trace) {
  const Matching matching = MatchTrace(trace);
  const ClockOrder order(trace, matching);
  return FindContradictions(trace, matching, order, nullptr).count == 0 &&
         CountConstantSkew(trace, matching, order) == 0;
}

void RequireClocks(const Trace& trace, const Matching& matching) {
  if (!matching.clocks_unknown) return;
  throw Error(ErrorKind::kNotEnoughData, trace.path,
              "messages and collectives contradict the clocks of ranks: " + *matching.clocks_unknown,
              "record the trace again with clocks that are synchronised, and check that all its files are of one run");
}

Matching MatchSynchronised(Trace& trace) {
  Matching matching = MatchTrace(trace);
  const ClockOrder order(trace, matching);
  const Contradictions found = FindContradictions(trace, matching, order, nullptr);
  if (found.count > 0) {
    Repair(found, order, trace, matching);
  } else if (const std::uint64_t skewed = CountConstantSkew(trace, matching, order); skewed > 0) {
    // Clocks of nodes by which the collectives are left together. Where these contradict something, nothing is moved.
    Candidate candidate = TryClocks(trace, matching, order, true, false);
    if (!candidate.fit.unknown.empty() || candidate.left.count > 0) return matching;
    MoveRanks(candidate.fit, std::move(candidate.times), trace);
    matching.diagnostics.Add(anomaly::kClocksSkewed, skewed, DescribeClocks(trace, candidate.fit));
  }
  return matching;
}

}  // namespace farscale
