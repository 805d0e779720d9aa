#include "replay/channels.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "replay/anomalies.h"
#include "replay/operations.h"
#include "trace/anomalies.h"

namespace farscale {
namespace {

void AddEnds(const RankTimeline& timeline, std::size_t rank, const std::vector<std::uint32_t>& endpoints,
             bool is_receive, std::vector<ChannelEnd>& ends) {
  std::vector<std::uint32_t> counts(timeline.endpoints().size());
  for (const std::uint32_t endpoint : endpoints) {
    if (endpoint != kNoTarget) ++counts[endpoint];
  }
  const auto self = static_cast<std::int32_t>(rank);
  for (std::uint32_t e = 0; e < counts.size(); ++e) {
    if (counts[e] == 0) continue;
    const Endpoint& other = timeline.endpoints()[e];
    ends.push_back({other.communicator, other.tag, is_receive ? other.peer : self, is_receive ? self : other.peer,
                    is_receive, false, e, counts[e]});
  }
}

const Anomaly& MissingHalf(bool ends_early, bool is_receive) {
  if (ends_early) return anomaly::kMessageCutAtEdge;
  return is_receive ? anomaly::kUnmatchedReceive : anomaly::kUnmatchedSend;
}

std::string NameChannel(const ChannelEnd& end) {
  return fmt::format("from rank {} to rank {} with tag {}", end.source, end.destination, end.tag);
}

// Calls visit(begin, end, shared) for every run of ends that are one channel: a send end, a receive end, or both, which
// share so many messages.
template <typename Visit>
void ForEachChannel(const std::vector<ChannelEnd>& ends, Visit visit) {
  for (std::size_t i = 0; i < ends.size();) {
    std::size_t j = i + 1;
    while (j < ends.size() && ends[j].Channel() == ends[i].Channel()) ++j;
    visit(i, j, j - i == 2 ? std::min(ends[i].count, ends[i + 1].count) : 0);
    i = j;
  }
}

std::vector<std::uint32_t> Apply(const std::vector<Numbering>& numbering, const std::vector<std::uint32_t>& endpoints) {
  std::vector<std::uint32_t> seen(numbering.size());
  std::vector<std::uint32_t> messages(endpoints.size(), kNoMessage);
  for (std::size_t i = 0; i < endpoints.size(); ++i) {
    if (endpoints[i] == kNoTarget) continue;
    messages[i] = numbering[endpoints[i]](seen[endpoints[i]]++);
  }
  return messages;
}

// Calls visit(message, bytes) for every record of messages with two ends that `wants`.
template <typename Wants, typename Visit>
void ForEachSize(const RankTimeline& timeline, const RankMatching& matching, std::size_t matched, const Wants& wants,
                 const Visit& visit) {
  Posts posts;
  for (std::size_t i = 0; i < timeline.records(); ++i) {
    const RecordPart part = NextPart(timeline, matching, i, posts);
    if (!part.IsCollective() && wants(part) && part.number < matched) visit(part.number, timeline.record_bytes(i));
  }
}

}  // namespace

Targets CollectTargets(const RankTimeline& timeline) {
  Targets targets;
  targets.sends.assign(timeline.sends(), kNoTarget);
  targets.receives.assign(timeline.receives(), kNoTarget);
  targets.collectives.assign(timeline.collectives(), kNoTarget);
  Posts posts;
  for (std::size_t i = 0; i < timeline.records(); ++i) {
    const OperationPart part = posts.Next(timeline, i);
    switch (part.type) {
      case OperationClass::kSend:
        if (part.posts) targets.sends[part.ordinal] = timeline.record_target(i);
        if (!part.posts && !part.completes) targets.sends[part.ordinal] = kNoTarget;
        break;
      case OperationClass::kReceive:
        if (part.completes) targets.receives[part.ordinal] = timeline.record_target(i);
        break;
      case OperationClass::kCollective:
        if (part.completes) targets.collectives[part.ordinal] = timeline.record_target(i);
        break;
    }
  }
  return targets;
}

void AddChannelEnds(const RankTimeline& timeline, std::size_t rank, const Targets& targets,
                    std::vector<ChannelEnd>& ends) {
  AddEnds(timeline, rank, targets.sends, false, ends);
  AddEnds(timeline, rank, targets.receives, true, ends);
}

void SortEnds(std::vector<ChannelEnd>& ends) {
  std::sort(ends.begin(), ends.end(), [](const ChannelEnd& a, const ChannelEnd& b) { return a.Order() < b.Order(); });
}

NumberedMessages CountNumbered(const std::vector<ChannelEnd>& ends) {
  NumberedMessages counts;
  ForEachChannel(ends, [&](std::size_t i, std::size_t j, std::uint32_t shared) {
    counts.matched += shared;
    for (std::size_t k = i; k < j; ++k) counts.unmatched += ends[k].is_elsewhere ? 0 : ends[k].count - shared;
  });
  return counts;
}

void NumberMessages(const std::vector<ChannelEnd>& ends, NumberedMessages& next,
                    std::vector<RankNumbering>& numbering) {
  ForEachChannel(ends, [&](std::size_t i, std::size_t j, std::uint32_t shared) {
    for (std::size_t k = i; k < j; ++k) {
      const ChannelEnd& end = ends[k];
      if (end.is_elsewhere) continue;
      RankNumbering& rank = numbering[end.rank()];
      (end.is_receive ? rank.receives : rank.sends)[end.endpoint] = {static_cast<std::uint32_t>(next.matched), shared,
                                                                     static_cast<std::uint32_t>(next.unmatched)};
      next.unmatched += end.count - shared;
    }
    next.matched += shared;
  });
}

RankNumbering EmptyNumbering(const RankTimeline& timeline) {
  const std::vector<Numbering> none(timeline.endpoints().size());
  return {none, none};
}

void ApplyNumbering(const RankNumbering& numbering, const Targets& targets, RankMatching& matching) {
  matching.sends = Apply(numbering.sends, targets.sends);
  matching.receives = Apply(numbering.receives, targets.receives);
}

void RequireNumbers(const NumberedMessages& counts, const std::string& path) {
  if (counts.all() < kNoMessage) return;
  throw Error(ErrorKind::kInput, path, "the trace has more than 4294967295 messages", "cut a shorter one");
}

void MissingHalves::Add(const std::vector<ChannelEnd>& ends) {
  ForEachChannel(ends, [&](std::size_t i, std::size_t j, std::uint32_t shared) {
    for (std::size_t k = i; k < j; ++k) {
      if (ends[k].is_elsewhere) continue;
      MissingHalves one;
      one.kinds[ends[k].is_receive] = {ends[k].count - shared, ends[k].count, std::nullopt};
      if (ends[k].count > shared) one.kinds[ends[k].is_receive].first = ends[k];
      Merge(one);
    }
  });
}

void MissingHalves::Merge(const MissingHalves& other) {
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    kinds[i].count += other.kinds[i].count;
    kinds[i].population += other.kinds[i].population;
    const std::optional<ChannelEnd>& first = other.kinds[i].first;
    if (first && (!kinds[i].first || first->Order() < kinds[i].first->Order())) kinds[i].first = first;
  }
}

Diagnostics MissingHalves::Diagnose(bool ends_early) const {
  const auto& [sends, receives] = kinds;
  // Both may count as one anomaly, whose example is the first of all.
  const bool receives_first = receives.first && (!sends.first || receives.first->Order() < sends.first->Order());
  Diagnostics diagnostics;
  for (const bool is_receive : {receives_first, !receives_first}) {
    const OfKind& kind = kinds[is_receive];
    const Anomaly& missing = MissingHalf(ends_early, is_receive);
    diagnostics.Add(missing, kind.count, kind.first ? NameChannel(*kind.first) : "");
    if (kind.population > 0) diagnostics.AddPopulation(missing, kind.population);
  }
  return diagnostics;
}

bool EndsEarly(const Trace& trace) { return trace.diagnostics.count(anomaly::kTraceEndsEarly) > 0; }

void FillSentBytes(const RankTimeline& timeline, const RankMatching& matching, std::vector<std::uint64_t>& sent) {
  ForEachSize(
      timeline, matching, sent.size(),
      [](const RecordPart& part) { return part.type == OperationClass::kSend && part.posts; },
      [&](std::uint32_t message, std::uint64_t bytes) { sent[message] = bytes; });
}

std::uint64_t CountDiffering(const RankTimeline& timeline, const RankMatching& matching,
                             const std::vector<std::uint64_t>& sent) {
  std::uint64_t differing = 0;
  ForEachSize(
      timeline, matching, sent.size(),
      [](const RecordPart& part) { return part.type == OperationClass::kReceive && part.completes; },
      [&](std::uint32_t message, std::uint64_t bytes) { differing += sent[message] != bytes; });
  return differing;
}

void MatchInitAndFinalize(const Trace& trace, const RankTimeline& timeline, std::uint32_t init, std::uint32_t finalize,
                          RankMatching& matching) {
  for (std::size_t i = 0; i < timeline.calls(); ++i) {
    const MpiCall call = trace.regions[timeline.region(i)].call;
    if (call == MpiCall::kInit && matching.init == kNoCollective) {
      matching.init = init;
      matching.init_call = i;
    } else if (call == MpiCall::kFinalize && matching.finalize == kNoCollective) {
      matching.finalize = finalize;
      matching.finalize_call = i;
    }
  }
}

std::string DescribeMissingRanks(const Trace& trace, const CollectiveOperation& operation) {
  const Communicator& communicator = trace.communicators[operation.communicator];
  const std::size_t members = communicator.members.size() + communicator.remote.size();
  if (operation.participants == members) return "";
  return fmt::format("a {} on {} with {} of {} ranks", ToString(operation.kind), communicator.name,
                     operation.participants, members);
}

}  // namespace farscale
