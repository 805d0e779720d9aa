#include "replay/matching.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/parallel.h"
#include "replay/anomalies.h"
#include "replay/operations.h"
#include "trace/anomalies.h"

namespace farscale {
namespace {

constexpr std::uint32_t kNoTarget = std::numeric_limits<std::uint32_t>::max();

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

// One direction of one endpoint of one rank: part of a channel (communicator, source, destination, tag).
struct ChannelEnd {
  std::uint32_t communicator;
  std::uint32_t tag;
  std::int32_t source;
  std::int32_t destination;
  bool is_receive;
  std::uint32_t rank;
  std::uint32_t endpoint;
  std::uint32_t count;

  auto Channel() const { return std::tie(communicator, tag, source, destination); }
};

void AddChannelEnds(const RankTimeline& timeline, std::uint32_t rank, const std::vector<std::uint32_t>& endpoints,
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
                    is_receive, rank, e, counts[e]});
  }
}

// Numbers of the messages at one end of a channel: the first `matched` ones from `first` on, the rest from
// `first_unmatched` on.
struct Numbering {
  std::uint32_t first = 0;
  std::uint32_t matched = 0;
  std::uint32_t first_unmatched = 0;

  std::uint32_t operator()(std::uint32_t k) const { return k < matched ? first + k : first_unmatched + (k - matched); }
};

struct RankNumbering {
  std::vector<Numbering> sends, receives;  // by endpoint
};

// Of a trace that ends early the ranks end at different times. As halves are matched in order, those that lack another
// half are then the last ones.
bool EndsEarly(const Trace& trace) { return trace.diagnostics.count(anomaly::kTraceEndsEarly) > 0; }

const Anomaly& MissingHalf(bool ends_early, bool is_receive) {
  if (ends_early) return anomaly::kMessageCutAtEdge;
  return is_receive ? anomaly::kUnmatchedReceive : anomaly::kUnmatchedSend;
}

std::string NameChannel(const ChannelEnd& end) {
  return fmt::format("from rank {} to rank {} with tag {}", end.source, end.destination, end.tag);
}

// Calls visit(begin, end) for every run of ends that are one channel: a send end, a receive end, or both.
template <typename Visit>
void ForEachChannel(const std::vector<ChannelEnd>& ends, Visit visit) {
  for (std::size_t i = 0; i < ends.size();) {
    std::size_t j = i + 1;
    while (j < ends.size() && ends[j].Channel() == ends[i].Channel()) ++j;
    visit(i, j);
    i = j;
  }
}

std::vector<RankNumbering> NumberMessages(const Trace& trace, std::vector<ChannelEnd>& ends, Matching& matching) {
  std::sort(ends.begin(), ends.end(), [](const ChannelEnd& a, const ChannelEnd& b) {
    return std::tuple_cat(a.Channel(), std::tie(a.is_receive)) < std::tuple_cat(b.Channel(), std::tie(b.is_receive));
  });
  std::uint64_t matched = 0, unmatched = 0;
  const bool ends_early = EndsEarly(trace);
  const auto shared_count = [&](std::size_t i, std::size_t j) {
    return j - i == 2 ? std::min(ends[i].count, ends[i + 1].count) : 0;
  };
  ForEachChannel(ends, [&](std::size_t i, std::size_t j) {
    const std::uint32_t shared = shared_count(i, j);
    matched += shared;
    for (std::size_t k = i; k < j; ++k) {
      const std::uint64_t extra = ends[k].count - shared;
      unmatched += extra;
      const Anomaly& missing = MissingHalf(ends_early, ends[k].is_receive);
      matching.diagnostics.Add(missing, extra, extra > 0 ? NameChannel(ends[k]) : "");
      matching.diagnostics.AddPopulation(missing, ends[k].count);
    }
  });
  if (matched + unmatched >= kNoMessage) {
    throw Error(ErrorKind::kInput, trace.path, "the trace has more than 4294967295 messages", "cut a shorter one");
  }
  matching.matched = static_cast<std::uint32_t>(matched);
  matching.messages = static_cast<std::uint32_t>(matched + unmatched);
  std::vector<RankNumbering> numbering(trace.size());
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    numbering[rank].sends.resize(trace.timelines[rank].endpoints().size());
    numbering[rank].receives.resize(trace.timelines[rank].endpoints().size());
  }
  std::uint32_t next = 0, next_unmatched = matching.matched;
  ForEachChannel(ends, [&](std::size_t i, std::size_t j) {
    const std::uint32_t shared = shared_count(i, j);
    for (std::size_t k = i; k < j; ++k) {
      const ChannelEnd& end = ends[k];
      RankNumbering& rank = numbering[end.rank];
      (end.is_receive ? rank.receives : rank.sends)[end.endpoint] = {next, shared, next_unmatched};
      next_unmatched += end.count - shared;
    }
    next += shared;
  });
  return numbering;
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

// A matching by the wrong order shows in sizes that differ between sender and receiver.
void CompareSizes(const Trace& trace, Matching& matching) {
  // Calls visit(message, bytes) for every record that `wants` of the messages with two ends.
  const auto for_each = [&](std::size_t rank, auto wants, auto visit) {
    const RankTimeline& timeline = trace.timelines[rank];
    Posts posts;
    for (std::size_t i = 0; i < timeline.records(); ++i) {
      const RecordPart part = NextPart(timeline, matching.ranks[rank], i, posts);
      if (!part.IsCollective() && wants(part) && part.number < matching.matched) {
        visit(part.number, timeline.record_bytes(i));
      }
    }
  };
  std::vector<std::uint64_t> sent(matching.matched), differing(trace.size());
  ParallelFor(trace.size(), [&](std::size_t rank) {
    for_each(
        rank, [](const RecordPart& part) { return part.type == OperationClass::kSend && part.posts; },
        [&](std::uint32_t message, std::uint64_t bytes) { sent[message] = bytes; });
  });
  ParallelFor(trace.size(), [&](std::size_t rank) {
    for_each(
        rank, [](const RecordPart& part) { return part.type == OperationClass::kReceive && part.completes; },
        [&](std::uint32_t message, std::uint64_t bytes) { differing[rank] += sent[message] != bytes; });
  });
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    matching.diagnostics.Add(anomaly::kMessageSizeMismatch, differing[rank], fmt::format("received by rank {}", rank));
  }
  matching.diagnostics.AddPopulation(anomaly::kMessageSizeMismatch, matching.matched);
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
    const Communicator& communicator = trace.communicators[operation.communicator];
    const std::size_t members = communicator.members.size() + communicator.remote.size();
    if (operation.participants == members) continue;
    if (EndsEarly(trace)) {
      matching.diagnostics.Add(anomaly::kCollectiveCutAtEdge, 1, communicator.name);
      continue;
    }
    ++mismatches;
    if (example.empty()) {
      example = fmt::format("a {} on {} with {} of {} ranks", ToString(operation.kind), communicator.name,
                            operation.participants, members);
    }
  }
  matching.diagnostics.Add(anomaly::kCollectiveMismatch, mismatches, example);
  matching.diagnostics.AddPopulation(anomaly::kCollectiveMismatch, total);
}

// MPI_Init and MPI_Finalize are collective over all ranks without being recorded so.
void MatchInitAndFinalize(const Trace& trace, Matching& matching) {
  const auto init = static_cast<std::uint32_t>(matching.collectives.size());
  const std::uint32_t finalize = init + 1;
  matching.collectives.resize(finalize + 1);
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    const RankTimeline& timeline = trace.timelines[rank];
    RankMatching& result = matching.ranks[rank];
    for (std::size_t i = 0; i < timeline.calls(); ++i) {
      const MpiCall call = trace.regions[timeline.region(i)].call;
      if (call == MpiCall::kInit && result.init == kNoCollective) {
        result.init = init;
        result.init_call = i;
      } else if (call == MpiCall::kFinalize && result.finalize == kNoCollective) {
        result.finalize = finalize;
        result.finalize_call = i;
      }
    }
    if (result.init != kNoCollective) ++matching.collectives[init].participants;
    if (result.finalize != kNoCollective) ++matching.collectives[finalize].participants;
  }
}

}  // namespace

Matching MatchTrace(const Trace& trace) {
  Matching matching;
  matching.ranks.resize(trace.size());
  std::vector<Targets> targets(trace.size());
  std::vector<std::vector<ChannelEnd>> ends_of_rank(trace.size());
  ParallelFor(trace.size(), [&](std::size_t rank) {
    const RankTimeline& timeline = trace.timelines[rank];
    targets[rank] = CollectTargets(timeline);
    AddChannelEnds(timeline, static_cast<std::uint32_t>(rank), targets[rank].sends, false, ends_of_rank[rank]);
    AddChannelEnds(timeline, static_cast<std::uint32_t>(rank), targets[rank].receives, true, ends_of_rank[rank]);
  });
  std::vector<ChannelEnd> ends;
  for (const std::vector<ChannelEnd>& some : ends_of_rank) ends.insert(ends.end(), some.begin(), some.end());
  const std::vector<RankNumbering> numbering = NumberMessages(trace, ends, matching);
  ParallelFor(trace.size(), [&](std::size_t rank) {
    matching.ranks[rank].sends = Apply(numbering[rank].sends, targets[rank].sends);
    matching.ranks[rank].receives = Apply(numbering[rank].receives, targets[rank].receives);
  });
  CompareSizes(trace, matching);
  MatchCollectives(trace, targets, matching);
  MatchInitAndFinalize(trace, matching);
  return matching;
}

}  // namespace farscale
