#include "phases/rank_profile.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>

#include "base/parallel.h"

namespace farscale {
namespace {

constexpr std::uint32_t kMessages = 0;
constexpr std::uint32_t kFirstCollective = 1;
constexpr std::uint32_t kOneSided = kFirstCollective + static_cast<std::uint32_t>(CollectiveKind::kDestroyHandle) + 1;
constexpr std::uint32_t kInputOutput = kOneSided + 1;
constexpr std::uint32_t kInit = kOneSided + 2;
constexpr std::uint32_t kFinalize = kOneSided + 3;
constexpr std::uint32_t kEndOfRun = kOneSided + 4;  // before the first call and behind the last
constexpr std::uint32_t kKinds = kOneSided + 5;
constexpr std::uint32_t kNoKind = kKinds;

std::uint32_t KindOfCall(const Region& region) {
  if (IsOneSided(region.call)) return kOneSided;
  switch (region.call) {
    case MpiCall::kInit: return kInit;
    case MpiCall::kFinalize: return kFinalize;
    case MpiCall::kInputOutput:
    case MpiCall::kCollectiveInputOutput: return kInputOutput;
    case MpiCall::kNone:
    case MpiCall::kOther: return kNoKind;
    case MpiCall::kCollective:
    case MpiCall::kImmediateCollective: {
      const auto kind = CollectiveKindOf(region.name);
      return kind ? kFirstCollective + static_cast<std::uint32_t>(*kind) : kMessages;  // else among neighbours
    }
    default: return kMessages;
  }
}

// Names of regions and functions, each once in alphabetical order, and kinds of calls; no ranks yet.
RankProfiles NameKinds(const Trace& trace) {
  RankProfiles profiles;
  std::map<std::string, std::uint32_t> user, mpi;
  for (const Region& region : trace.regions) {
    if (region.IsUser()) user[region.name] = 0;
    if (region.is_mpi) mpi[region.name] = 0;
  }
  for (auto& [numbers, names] : {std::pair(&user, &profiles.regions), {&mpi, &profiles.functions}}) {
    for (auto& [name, number] : *numbers) {
      number = static_cast<std::uint32_t>(names->size());
      names->push_back(name);
    }
  }
  profiles.regions.emplace_back();
  for (const Region& region : trace.regions) {
    profiles.name_of.push_back(region.is_mpi ? mpi[region.name] : region.IsUser() ? user[region.name] : 0);
    profiles.kind_of.push_back(KindOfCall(region));
  }
  return profiles;
}

// Stretches of one kind as they come.
struct Stretches {
  double sum = 0;
  std::array<double, 3> longest = {};  // falling
  std::uint64_t count = 0;

  void Add(double length) {
    if (length <= 0) return;
    sum += length;
    ++count;
    for (double& slot : longest) {
      if (length > slot) std::swap(length, slot);
    }
  }
  double Recurring() const { return count < 3 ? 0 : sum - (longest[0] - longest[2]) - (longest[1] - longest[2]); }
};

// The work of a rank so far.
struct ProfileTimes {
  const Trace& trace;
  const RankProfiles& names;
  const RankTimeline& timeline;
  std::size_t event = 0;  // the next to come
  Tick cursor = 0;
  double useful = 0, pending = 0;
  int pauses = 0;
  std::uint32_t before = kEndOfRun;
  std::vector<std::uint32_t> open = {};  // names of open regions

  std::vector<Stretches> regions = std::vector<Stretches>(names.regions.size());
  std::vector<std::uint64_t> entries = std::vector<std::uint64_t>(names.regions.size());
  std::vector<double> inclusive = std::vector<double>(names.regions.size());
  std::vector<int> depth = std::vector<int>(names.regions.size());
  std::vector<double> entered =
      std::vector<double>(names.regions.size());  // useful time when the outermost of a name was
  std::map<std::uint32_t, Stretches> bursts = {};
  std::array<double, 65> by_length = {};  // useful time in bursts of fewer than 2^i ticks, but not than half of that
  std::array<std::uint64_t, kKinds> calls = {};
  std::vector<std::uint64_t> functions = std::vector<std::uint64_t>(names.functions.size());
};

// Computation from the cursor to a tick.
void ComputeUntil(ProfileTimes& times, Tick until) {
  if (until <= times.cursor) return;
  const auto length = static_cast<double>(until - times.cursor);
  times.cursor = until;
  if (times.pauses > 0) return;
  times.useful += length;
  times.pending += length;
  (times.open.empty() ? times.regions.back() : times.regions[times.open.back()]).Add(length);
}

void PassEvent(ProfileTimes& times, std::size_t index, bool counts) {
  const RankTimeline::RegionEvent event = times.timeline.region_event(index);
  const Region& region = times.trace.regions[event.region];
  if (region.is_pause) times.pauses += event.is_leave ? -1 : 1;
  if (!region.IsUser()) return;
  const std::uint32_t name = times.names.name_of[event.region];
  if (!event.is_leave) {
    times.open.push_back(name);
    if (counts) ++times.entries[name];
    if (times.depth[name]++ == 0) times.entered[name] = times.useful;
  } else {
    if (!times.open.empty()) times.open.pop_back();
    if (--times.depth[name] == 0) times.inclusive[name] += times.useful - times.entered[name];
  }
}

void EndBurst(ProfileTimes& times, std::uint32_t behind) {
  if (times.pending > 0) {
    times.bursts[times.before * kKinds + behind].Add(times.pending);
    times.by_length[static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(times.pending)))] +=
        times.pending;
  }
  times.pending = 0;
  times.before = behind;
}

void ProfileInterval(ProfileTimes& times, const Interval& interval) {
  const RankTimeline& timeline = times.timeline;
  for (; times.event < interval.begin.event; ++times.event) PassEvent(times, times.event, false);
  const auto kind_of = [&](std::size_t call) { return times.names.kind_of[timeline.region(call)]; };
  std::size_t call = interval.begin.call;
  while (call > 0 && kind_of(call - 1) == kNoKind) --call;
  times.cursor = interval.begin.tick;
  times.before = call > 0 ? kind_of(call - 1) : kEndOfRun;
  times.pending = 0;
  call = interval.begin.call;
  while (times.event < interval.end.event || call < interval.end.call) {
    if (times.event < interval.end.event &&
        (call >= interval.end.call || timeline.region_event(times.event).call <= call)) {
      ComputeUntil(times, std::min(timeline.event_tick(times.event), interval.end.tick));
      PassEvent(times, times.event++, true);
      continue;
    }
    ComputeUntil(times, std::min(timeline.enter(call), interval.end.tick));
    times.cursor = std::max(times.cursor, std::min(timeline.leave(call), interval.end.tick));
    const std::uint32_t region = timeline.region(call), kind = kind_of(call);
    ++call;
    ++times.functions[times.names.name_of[region]];
    if (kind == kNoKind) continue;
    ++times.calls[kind];
    EndBurst(times, kind);
  }
  ComputeUntil(times, interval.end.tick);
  while (call < timeline.calls() && kind_of(call) == kNoKind) ++call;
  EndBurst(times, call < timeline.calls() ? kind_of(call) : kEndOfRun);
  for (const std::uint32_t name : times.open) {  // they go on behind the interval
    times.inclusive[name] += times.useful - times.entered[name];
    times.entered[name] = times.useful;
  }
}

RankProfile ProfileRank(const Trace& trace, const RankProfiles& names, std::size_t rank,
                        const std::vector<Interval>& intervals) {
  ProfileTimes times{trace, names, trace.timelines[rank]};
  for (const Interval& interval : intervals) ProfileInterval(times, interval);
  times.inclusive.back() = times.useful;
  RankProfile profile;
  profile.present = true;
  profile.useful = times.useful;
  profile.burst = 1;
  double sum = 0;
  for (const double ticks : times.by_length) {
    sum += ticks;
    if (2 * sum >= times.useful) break;
    profile.burst *= 2;
  }
  for (std::uint32_t name = 0; name < times.regions.size(); ++name) {
    if (times.regions[name].sum <= 0 && times.entries[name] == 0 && times.inclusive[name] <= 0) continue;
    profile.regions.push_back({name, times.regions[name].sum, times.regions[name].Recurring(),
                               std::max<double>(1, static_cast<double>(times.entries[name])), times.inclusive[name]});
  }
  for (const auto& [kind, stretches] : times.bursts) {
    profile.bursts.push_back({kind, stretches.sum, stretches.Recurring(), 0, stretches.sum});
  }
  for (std::uint32_t kind = kMessages + 1; kind < kKinds; ++kind) {
    if (times.calls[kind] > 0) profile.calls.push_back({kind, static_cast<double>(times.calls[kind])});
  }
  for (std::uint32_t name = 0; name < times.functions.size(); ++name) {
    if (times.functions[name] > 0) profile.functions.push_back({name, static_cast<double>(times.functions[name])});
  }
  return profile;
}

}  // namespace

std::string NameOfCallKind(std::uint32_t kind) {
  switch (kind) {
    case kMessages: return "messages";
    case kOneSided: return "one-sided";
    case kInputOutput: return "input and output";
    case kInit: return "init";
    case kFinalize: return "finalize";
    case kEndOfRun: return "end of run";
    default: return std::string(ToString(static_cast<CollectiveKind>(kind - kFirstCollective)));
  }
}

std::pair<std::uint32_t, std::uint32_t> CallKindsOfBurst(std::uint32_t kind) { return {kind / kKinds, kind % kKinds}; }

RankProfiles ProfileRanks(const Trace& trace, const PhaseCut& cut) {
  RankProfiles profiles = NameKinds(trace);
  profiles.ranks.resize(trace.size());
  ParallelFor(trace.size(), [&](std::size_t rank) {
    if (cut.ranks[rank].present) profiles.ranks[rank] = ProfileRank(trace, profiles, rank, cut.CountedTime(rank));
  });
  return profiles;
}

RankProfile MeanProfile(const RankProfiles& profiles, const std::vector<std::size_t>& ranks) {
  RankProfile mean;
  mean.present = true;
  const auto count = static_cast<double>(ranks.size());
  for (const std::size_t rank : ranks) {
    mean.useful += profiles.ranks[rank].useful / count;
    mean.burst += profiles.ranks[rank].burst / count;
  }
  for (auto list : {&RankProfile::regions, &RankProfile::bursts, &RankProfile::calls, &RankProfile::functions}) {
    std::map<std::uint32_t, Work> sums;  // a kind that a rank lacks counts with nothing
    for (const std::size_t rank : ranks) {
      for (const Work& item : profiles.ranks[rank].*list) {
        Work& sum = sums[item.kind];
        sum.amount += item.amount;
        sum.recurring += item.recurring;
        sum.entries += item.entries;
        sum.inclusive += item.inclusive;
      }
    }
    for (const auto& [kind, sum] : sums) {
      (mean.*list)
          .push_back({kind, sum.amount / count, sum.recurring / count, sum.entries / count, sum.inclusive / count});
    }
  }
  return mean;
}

MessageCounts CountMessages(const Trace& trace, const PhaseCut& cut, std::size_t rank) {
  MessageCounts counts;
  const RankTimeline& timeline = trace.timelines[rank];
  std::map<std::int32_t, std::uint64_t> by_peer;
  for (const Interval& interval : cut.CountedTime(rank)) {
    if (interval.begin.call >= interval.end.call) continue;
    const std::size_t end = timeline.first_record(interval.end.call);
    for (std::size_t i = timeline.first_record(interval.begin.call); i < end; ++i) {
      const RecordKind kind = timeline.record_kind(i);
      const bool is_sent = kind == RecordKind::kSend || kind == RecordKind::kSendPost;
      if (!is_sent && kind != RecordKind::kReceive && kind != RecordKind::kReceiveComplete) continue;
      ++by_peer[timeline.endpoints()[timeline.record_target(i)].peer];
      ++(is_sent ? counts.sent : counts.received);
    }
  }
  counts.by_peer.assign(by_peer.begin(), by_peer.end());
  return counts;
}

}  // namespace farscale
