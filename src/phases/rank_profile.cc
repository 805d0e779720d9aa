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

// Tables that all ranks share: names, and for every region of the trace its name or kind.
struct Tables {
  std::vector<std::string> regions, functions;
  std::vector<std::uint32_t> name_of;  // into `regions` or `functions`
  std::vector<std::uint32_t> kind_of;

  explicit Tables(const Trace& trace) : name_of(trace.regions.size()), kind_of(trace.regions.size()) {
    std::map<std::string, std::uint32_t> user, mpi;
    for (const Region& region : trace.regions) {
      if (region.IsUser()) user[region.name] = 0;
      if (region.is_mpi) mpi[region.name] = 0;
    }
    Number(user, regions);
    Number(mpi, functions);
    regions.emplace_back();
    for (std::size_t i = 0; i < trace.regions.size(); ++i) {
      const Region& region = trace.regions[i];
      kind_of[i] = KindOfCall(region);
      if (region.IsUser()) name_of[i] = user[region.name];
      if (region.is_mpi) name_of[i] = mpi[region.name];
    }
  }

  std::uint32_t no_region() const { return static_cast<std::uint32_t>(regions.size() - 1); }

 private:
  static void Number(std::map<std::string, std::uint32_t>& index, std::vector<std::string>& names) {
    for (auto& [name, number] : index) {
      number = static_cast<std::uint32_t>(names.size());
      names.push_back(name);
    }
  }
};

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

// Walks over the counted time of one rank, edge by edge.
class Profiler {
 public:
  Profiler(const Trace& trace, const Tables& tables, std::size_t rank)
      : trace_(trace),
        tables_(tables),
        timeline_(trace.timelines[rank]),
        regions_(tables.regions.size()),
        entries_(tables.regions.size()),
        inclusive_(tables.regions.size()),
        depth_(tables.regions.size()),
        entered_(tables.regions.size()),
        functions_(tables.functions.size()) {}

  RankProfile Run(const std::vector<Interval>& intervals) {
    for (const Interval& interval : intervals) Walk(interval);
    inclusive_[tables_.no_region()] = useful_;
    return Result();
  }

 private:
  void Walk(const Interval& interval) {
    for (; event_ < interval.begin.event; ++event_) Pass(event_, false);
    cursor_ = interval.begin.tick;
    before_ = KindBefore(interval.begin.call);
    pending_ = 0;
    std::size_t call = interval.begin.call;
    while (event_ < interval.end.event || call < interval.end.call) {
      if (event_ < interval.end.event && (call >= interval.end.call || timeline_.region_event(event_).call <= call)) {
        Compute(std::min(timeline_.event_tick(event_), interval.end.tick));
        Pass(event_++, true);
        continue;
      }
      Compute(std::min(timeline_.enter(call), interval.end.tick));
      cursor_ = std::max(cursor_, std::min(timeline_.leave(call), interval.end.tick));
      Call(call++);
    }
    Compute(interval.end.tick);
    EndBurst(KindFrom(call));
    for (const std::uint32_t name : open_) {  // they go on behind the interval
      inclusive_[name] += useful_ - entered_[name];
      entered_[name] = useful_;
    }
  }

  // Computation from the cursor to a tick.
  void Compute(Tick until) {
    if (until <= cursor_) return;
    const auto length = static_cast<double>(until - cursor_);
    cursor_ = until;
    if (pauses_ > 0) return;
    useful_ += length;
    pending_ += length;
    regions_[open_.empty() ? tables_.no_region() : open_.back()].Add(length);
  }

  void Pass(std::size_t index, bool counts) {
    const RankTimeline::RegionEvent event = timeline_.region_event(index);
    const Region& region = trace_.regions[event.region];
    if (region.is_pause) pauses_ += event.is_leave ? -1 : 1;
    if (!region.IsUser()) return;
    const std::uint32_t name = tables_.name_of[event.region];
    if (!event.is_leave) {
      open_.push_back(name);
      if (counts) ++entries_[name];
      if (depth_[name]++ == 0) entered_[name] = useful_;
    } else {
      if (!open_.empty()) open_.pop_back();
      if (--depth_[name] == 0) inclusive_[name] += useful_ - entered_[name];
    }
  }

  void Call(std::size_t call) {
    const std::uint32_t region = timeline_.region(call);
    ++functions_[tables_.name_of[region]];
    const std::uint32_t kind = tables_.kind_of[region];
    if (kind == kNoKind) return;
    ++calls_[kind];
    EndBurst(kind);
  }

  void EndBurst(std::uint32_t behind) {
    if (pending_ > 0) {
      bursts_[before_ * kKinds + behind].Add(pending_);
      by_length_[static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(pending_)))] += pending_;
    }
    pending_ = 0;
    before_ = behind;
  }

  std::uint32_t KindBefore(std::size_t call) const {
    while (call > 0) {
      const std::uint32_t kind = tables_.kind_of[timeline_.region(--call)];
      if (kind != kNoKind) return kind;
    }
    return kEndOfRun;
  }
  std::uint32_t KindFrom(std::size_t call) const {
    for (; call < timeline_.calls(); ++call) {
      const std::uint32_t kind = tables_.kind_of[timeline_.region(call)];
      if (kind != kNoKind) return kind;
    }
    return kEndOfRun;
  }

  double TypicalBurst() const {
    double length = 1, sum = 0;
    for (const double ticks : by_length_) {
      sum += ticks;
      if (2 * sum >= useful_) return length;
      length *= 2;
    }
    return length;
  }

  RankProfile Result() const {
    RankProfile profile;
    profile.present = true;
    profile.useful = useful_;
    profile.burst = TypicalBurst();
    for (std::uint32_t name = 0; name < regions_.size(); ++name) {
      if (regions_[name].sum <= 0 && entries_[name] == 0 && inclusive_[name] <= 0) continue;
      profile.regions.push_back({name, regions_[name].sum, regions_[name].Recurring(),
                                 std::max<double>(1, static_cast<double>(entries_[name])), inclusive_[name]});
    }
    for (const auto& [kind, stretches] : bursts_) {
      profile.bursts.push_back({kind, stretches.sum, stretches.Recurring(), 0, stretches.sum});
    }
    for (std::uint32_t kind = kMessages + 1; kind < kKinds; ++kind) {
      if (calls_[kind] > 0) profile.calls.push_back({kind, static_cast<double>(calls_[kind])});
    }
    for (std::uint32_t name = 0; name < functions_.size(); ++name) {
      if (functions_[name] > 0) profile.functions.push_back({name, static_cast<double>(functions_[name])});
    }
    return profile;
  }

  const Trace& trace_;
  const Tables& tables_;
  const RankTimeline& timeline_;
  std::size_t event_ = 0;  // the next to come
  Tick cursor_ = 0;
  double useful_ = 0, pending_ = 0;
  int pauses_ = 0;
  std::uint32_t before_ = kEndOfRun;
  std::vector<std::uint32_t> open_;  // names of open regions

  std::vector<Stretches> regions_;
  std::vector<std::uint64_t> entries_;
  std::vector<double> inclusive_;
  std::vector<int> depth_;
  std::vector<double> entered_;  // useful time when the outermost of a name was
  std::map<std::uint32_t, Stretches> bursts_;
  std::array<double, 65> by_length_ = {};  // useful time in bursts of fewer than 2^i ticks, but not than half of that
  std::array<std::uint64_t, kKinds> calls_ = {};
  std::vector<std::uint64_t> functions_;
};

void Add(Work& sum, const Work& one) {
  sum.ticks += one.ticks;
  sum.recurring += one.recurring;
  sum.entries += one.entries;
  sum.inclusive += one.inclusive;
}
void Add(Count& sum, const Count& one) { sum.count += one.count; }

void Divide(Work& sum, double by) {
  sum = {sum.kind, sum.ticks / by, sum.recurring / by, sum.entries / by, sum.inclusive / by};
}
void Divide(Count& sum, double by) { sum.count /= by; }

// Means of one of the lists, kind by kind; a kind that a rank lacks counts with nothing.
template <typename Item>
std::vector<Item> MeanList(const RankProfiles& profiles, const std::vector<std::size_t>& ranks,
                           std::vector<Item> RankProfile::*list) {
  std::map<std::uint32_t, Item> sums;
  for (const std::size_t rank : ranks) {
    for (const Item& item : profiles.ranks[rank].*list) {
      Item& sum = sums.try_emplace(item.kind).first->second;
      sum.kind = item.kind;
      Add(sum, item);
    }
  }
  std::vector<Item> means;
  for (auto& [kind, sum] : sums) {
    Divide(sum, static_cast<double>(ranks.size()));
    means.push_back(sum);
  }
  return means;
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
  const Tables tables(trace);
  RankProfiles profiles;
  profiles.regions = tables.regions;
  profiles.functions = tables.functions;
  profiles.ranks.resize(trace.size());
  ParallelFor(trace.size(), [&](std::size_t rank) {
    if (cut.ranks[rank].present) profiles.ranks[rank] = Profiler(trace, tables, rank).Run(cut.CountedTime(rank));
  });
  return profiles;
}

RankProfile MeanProfile(const RankProfiles& profiles, const std::vector<std::size_t>& ranks) {
  RankProfile mean;
  mean.present = true;
  for (const std::size_t rank : ranks) {
    mean.useful += profiles.ranks[rank].useful / static_cast<double>(ranks.size());
    mean.burst += profiles.ranks[rank].burst / static_cast<double>(ranks.size());
  }
  mean.regions = MeanList(profiles, ranks, &RankProfile::regions);
  mean.bursts = MeanList(profiles, ranks, &RankProfile::bursts);
  mean.calls = MeanList(profiles, ranks, &RankProfile::calls);
  mean.functions = MeanList(profiles, ranks, &RankProfile::functions);
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
