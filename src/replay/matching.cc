#include "replay/matching.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "base/parallel.h"
#include "replay/anomalies.h"
#include "trace/anomalies.h"

namespace farscale {
namespace {

inline constexpr std::uint32_t kNoTarget = std::numeric_limits<std::uint32_t>::max();

// Target of every post of one rank, by its number: index of the endpoint or collective type. Receives and non-blocking
// collectives learn theirs at completion.
struct Targets {
  std::vector<std::uint32_t> sends, receives, collectives;
};

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

// Numbers of the messages at one end of a channel: the first `matched` ones from `first` on, the rest from
// `first_unmatched` on.
struct Numbering {
  std::uint32_t first = 0;
  std::uint32_t matched = 0;
  std::uint32_t first_unmatched = 0;

  std::uint32_t operator()(std::uint32_t k) const { return k < matched ? first + k : first_unmatched + (k - matched); }
};

// One an endpoint, for sends, then for receives.
using RankNumbering = std::array<std::vector<Numbering>, 2>;

// One direction of one endpoint of one rank: part of a channel (communicator, source, destination, tag).
struct ChannelEnd {
  std::uint32_t communicator = 0;
  std::uint32_t tag = 0;
  std::int32_t source = 0;
  std::int32_t destination = 0;
  bool is_receive = false;
  std::uint32_t endpoint = 0;
  std::uint32_t count = 0;

  std::size_t rank() const { return static_cast<std::size_t>(is_receive ? destination : source); }
  auto Channel() const { return std::tie(communicator, tag, source, destination); }
  auto Order() const { return std::tie(communicator, tag, source, destination, is_receive); }
};

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
                    is_receive, e, counts[e]});
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

// The messages with both ends, and those with one.
std::pair<std::uint64_t, std::uint64_t> CountMessages(const std::vector<ChannelEnd>& ends) {
  std::uint64_t matched = 0, unmatched = 0;
  ForEachChannel(ends, [&](std::size_t i, std::size_t j, std::uint32_t shared) {
    matched += shared;
    for (std::size_t k = i; k < j; ++k) unmatched += ends[k].count - shared;
  });
  return {matched, unmatched};
}

// Matched ones first, channel by channel.
void NumberMessages(const std::vector<ChannelEnd>& ends, std::uint32_t matched, std::vector<RankNumbering>& numbering) {
  std::uint32_t next = 0, next_unmatched = matched;
  ForEachChannel(ends, [&](std::size_t i, std::size_t j, std::uint32_t shared) {
    for (std::size_t k = i; k < j; ++k) {
      const ChannelEnd& end = ends[k];
      numbering[end.rank()][end.is_receive][end.endpoint] = {next, shared, next_unmatched};
      next_unmatched += end.count - shared;
    }
    next += shared;
  });
}

// Ends of messages that lack the other one. Both kinds may count as one anomaly, whose example is the first of all.
Diagnostics DiagnoseMissing(const std::vector<ChannelEnd>& ends, bool ends_early) {
  struct OfKind {
    std::uint64_t count = 0, population = 0;
    const ChannelEnd* first = nullptr;  // in the order of channels
  };
  std::array<OfKind, 2> kinds;  // sends, receives
  ForEachChannel(ends, [&](std::size_t i, std::size_t j, std::uint32_t shared) {
    for (std::size_t k = i; k < j; ++k) {
      OfKind& kind = kinds[ends[k].is_receive];
      kind.count += ends[k].count - shared;
      kind.population += ends[k].count;
      if (ends[k].count > shared && kind.first == nullptr) kind.first = &ends[k];
    }
  });
  const auto& [sends, receives] = kinds;
  const bool receives_first =
      receives.first != nullptr && (sends.first == nullptr || receives.first->Order() < sends.first->Order());
  Diagnostics diagnostics;
  for (const bool is_receive : {receives_first, !receives_first}) {
    const OfKind& kind = kinds[is_receive];
    const Anomaly& missing = MissingHalf(ends_early, is_receive);
    diagnostics.Add(missing, kind.count, kind.first != nullptr ? NameChannel(*kind.first) : "");
    if (kind.population > 0) diagnostics.AddPopulation(missing, kind.population);
  }
  return diagnostics;
}

std::string DescribeMissingRanks(const Trace& trace, const CollectiveOperation& operation) {
  const Communicator& communicator = trace.communicators[operation.communicator];
  const std::size_t members = communicator.members.size() + communicator.remote.size();
  if (operation.participants == members) return "";
  return fmt::format("a {} on {} with {} of {} ranks", ToString(operation.kind), communicator.name,
                     operation.participants, members);
}

// The k-th collective on a communicator is operation first[communicator] + k.
void MatchCollectives(const Trace& trace, std::vector<Targets>& targets, Matching& matching) {
  const std::size_t communicators = trace.communicators.size();
  std::vector<std::uint32_t> most(communicators);
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    std::map<std::uint32_t, std::uint32_t> count;
    for (const std::uint32_t type : targets[rank].collectives) {
      if (type != kNoTarget) ++count[trace.timelines[rank].collective_types()[type].communicator];
    }
    for (const auto& [communicator, n] : count) most[communicator] = std::max(most[communicator], n);
  }
  std::vector<std::uint32_t> first(communicators);
  std::uint32_t total = 0;
  for (std::size_t c = 0; c < communicators; ++c) {
    first[c] = total;
    if (!trace.communicators[c].is_self) total += most[c];
  }
  matching.collectives.resize(total);
  std::uint64_t mismatches = 0;
  std::string example;
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    std::vector<std::uint32_t>& operations = matching.ranks[rank].collectives;
    operations.assign(targets[rank].collectives.size(), kNoCollective);
    std::map<std::uint32_t, std::uint32_t> seen;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      if (targets[rank].collectives[i] == kNoTarget) continue;
      const CollectiveType& type = trace.timelines[rank].collective_types()[targets[rank].collectives[i]];
      if (trace.communicators[type.communicator].is_self) continue;
      operations[i] = first[type.communicator] + seen[type.communicator]++;
      CollectiveOperation& operation = matching.collectives[operations[i]];
      if (operation.participants++ == 0) {
        operation.communicator = type.communicator;
        operation.kind = type.kind;
      } else if (operation.kind != type.kind) {
        ++mismatches;
        if (example.empty()) {
          example =
              fmt::format("rank {} calls {} where others call {}", rank, ToString(type.kind), ToString(operation.kind));
        }
      }
    }
    matching.ranks[rank].collective_types = std::move(targets[rank].collectives);
  }
  for (const CollectiveOperation& operation : matching.collectives) {
    const std::string missing = DescribeMissingRanks(trace, operation);
    if (missing.empty()) continue;
    if (EndsEarly(trace)) {
      matching.diagnostics.Add(anomaly::kCollectiveCutAtEdge, 1, trace.communicators[operation.communicator].name);
      continue;
    }
    ++mismatches;
    if (example.empty()) example = missing;
  }
  matching.diagnostics.Add(anomaly::kCollectiveMismatch, mismatches, example);
  matching.diagnostics.AddPopulation(anomaly::kCollectiveMismatch, total);
}

// They follow all others.
void AddInitAndFinalize(const Trace& trace, Matching& matching) {
  const auto init = static_cast<std::uint32_t>(matching.collectives.size()), finalize = init + 1;
  matching.collectives.resize(init + 2);
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    const RankTimeline& timeline = trace.timelines[rank];
    RankMatching& result = matching.ranks[rank];
    for (std::size_t i = 0; i < timeline.calls(); ++i) {
      const MpiCall call = trace.regions[timeline.region(i)].call;
      if (call == MpiCall::kInit && result.init == kNoCollective) {
        result.init = init;
        result.init_call = i;
        ++matching.collectives[init].participants;
      } else if (call == MpiCall::kFinalize && result.finalize == kNoCollective) {
        result.finalize = finalize;
        result.finalize_call = i;
        ++matching.collectives[finalize].participants;
      }
    }
  }
}

// A matching by the wrong order shows in sizes that differ between sender and receiver.
void CompareSizes(const Trace& trace, Matching& matching) {
  std::vector<std::uint64_t> sent(matching.matched), differing(trace.size());
  const auto for_each_size = [&](std::size_t rank, const auto& wants, const auto& visit) {
    const RankTimeline& timeline = trace.timelines[rank];
    Posts posts;
    for (std::size_t i = 0; i < timeline.records(); ++i) {
      const RecordPart part = NextPart(timeline, matching.ranks[rank], i, posts);
      if (!part.IsCollective() && wants(part) && part.number < matching.matched)
        visit(part.number, timeline.record_bytes(i));
    }
  };
  ParallelFor(trace.size(), [&](std::size_t rank) {
    for_each_size(
        rank, [](const RecordPart& part) { return part.type == OperationClass::kSend && part.posts; },
        [&](std::uint32_t message, std::uint64_t bytes) { sent[message] = bytes; });
  });
  ParallelFor(trace.size(), [&](std::size_t rank) {
    for_each_size(
        rank, [](const RecordPart& part) { return part.type == OperationClass::kReceive && part.completes; },
        [&](std::uint32_t message, std::uint64_t bytes) { differing[rank] += sent[message] != bytes; });
  });
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    matching.diagnostics.Add(anomaly::kMessageSizeMismatch, differing[rank], fmt::format("received by rank {}", rank));
  }
  matching.diagnostics.AddPopulation(anomaly::kMessageSizeMismatch, matching.matched);
}

}  // namespace

bool EndsEarly(const Trace& trace) { return trace.diagnostics.count(anomaly::kTraceEndsEarly) > 0; }

Matching MatchTrace(const Trace& trace) {
  Matching matching;
  matching.ranks.resize(trace.size());
  std::vector<Targets> targets(trace.size());
  std::vector<RankNumbering> numbering(trace.size());
  std::vector<std::vector<ChannelEnd>> ends_of_rank(trace.size());
  ParallelFor(trace.size(), [&](std::size_t rank) {
    const RankTimeline& timeline = trace.timelines[rank];
    targets[rank] = CollectTargets(timeline);
    numbering[rank].fill(std::vector<Numbering>(timeline.endpoints().size()));
    AddEnds(timeline, rank, targets[rank].sends, false, ends_of_rank[rank]);
    AddEnds(timeline, rank, targets[rank].receives, true, ends_of_rank[rank]);
  });
  std::vector<ChannelEnd> ends;
  for (const std::vector<ChannelEnd>& some : ends_of_rank) ends.insert(ends.end(), some.begin(), some.end());
  std::ranges::sort(ends, [](const ChannelEnd& a, const ChannelEnd& b) { return a.Order() < b.Order(); });
  matching.diagnostics = DiagnoseMissing(ends, EndsEarly(trace));
  const auto [matched, unmatched] = CountMessages(ends);
  if (matched + unmatched >= kNoMessage)
    throw Error(ErrorKind::kInput, trace.path, "the trace has more than 4294967295 messages", "cut a shorter one");
  matching.matched = static_cast<std::uint32_t>(matched);
  matching.messages = static_cast<std::uint32_t>(matched + unmatched);
  NumberMessages(ends, matching.matched, numbering);
  ParallelFor(trace.size(), [&](std::size_t rank) {
    matching.ranks[rank].sends = Apply(numbering[rank][0], targets[rank].sends);
    matching.ranks[rank].receives = Apply(numbering[rank][1], targets[rank].receives);
  });
  CompareSizes(trace, matching);
  MatchCollectives(trace, targets, matching);
  AddInitAndFinalize(trace, matching);
  return matching;
}

}  // namespace farscale
