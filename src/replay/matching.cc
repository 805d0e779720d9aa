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

// Puts the target of every post of one rank in the place of its number: index of the endpoint or collective type.
// Receives and non-blocking collectives learn theirs at completion.
void CollectTargets(const RankTimeline& timeline, RankMatching& targets) {
  targets.sends.assign(timeline.sends(), kNoTarget);
  targets.receives.assign(timeline.receives(), kNoTarget);
  targets.collective_types.assign(timeline.collectives(), kNoTarget);
  Posts posts;
  for (std::size_t i = 0; i < timeline.records(); ++i) {
    const OperationPart part = posts.Next(timeline, i);
    if (part.type == OperationClass::kSend) {
      if (part.posts) targets.sends[part.ordinal] = timeline.record_target(i);
      if (!part.posts && !part.completes) targets.sends[part.ordinal] = kNoTarget;
    } else if (part.completes) {
      (part.IsCollective() ? targets.collective_types : targets.receives)[part.ordinal] = timeline.record_target(i);
    }
  }
}

// Numbers for the next messages at one end of a channel: `matched` ones from `next` on, the rest from `next_unmatched`.
struct Numbering {
  std::uint32_t next = 0;
  std::uint32_t matched = 0;
  std::uint32_t next_unmatched = 0;

  std::uint32_t Take() { return matched > 0 ? (--matched, next++) : next_unmatched++; }
};

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

// The messages with both ends, and those with one. Adds the latter to the diagnostics: both kinds may count as one
// anomaly, whose example is the first of all.
std::pair<std::uint64_t, std::uint64_t> CountMessages(const std::vector<ChannelEnd>& ends, bool ends_early,
                                                      Diagnostics& diagnostics) {
  std::array<std::uint64_t, 2> counts{}, populations{};  // sends, receives
  std::array<const ChannelEnd*, 2> first{};              // in the order of channels
  ForEachChannel(ends, [&](std::size_t i, std::size_t j, std::uint32_t shared) {
    for (std::size_t k = i; k < j; ++k) {
      const bool kind = ends[k].is_receive;
      counts[kind] += ends[k].count - shared;
      populations[kind] += ends[k].count;
      if (ends[k].count > shared && first[kind] == nullptr) first[kind] = &ends[k];
    }
  });
  const bool receives_first = first[1] != nullptr && (first[0] == nullptr || first[1]->Order() < first[0]->Order());
  for (const bool is_receive : {receives_first, !receives_first}) {
    const Anomaly& missing = ends_early   ? anomaly::kMessageCutAtEdge
                             : is_receive ? anomaly::kUnmatchedReceive
                                          : anomaly::kUnmatchedSend;
    std::string example;
    if (const ChannelEnd* end = first[is_receive])
      example = fmt::format("from rank {} to rank {} with tag {}", end->source, end->destination, end->tag);
    diagnostics.Add(missing, counts[is_receive], example);
    if (populations[is_receive] > 0) diagnostics.AddPopulation(missing, populations[is_receive]);
  }
  return {populations[0] - counts[0], counts[0] + counts[1]};
}

// The k-th collective on a communicator is operation first[communicator] + k.
void MatchCollectives(const Trace& trace, Matching& matching) {
  const std::size_t communicators = trace.communicators.size();
  std::vector<std::uint32_t> most(communicators);
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    std::map<std::uint32_t, std::uint32_t> count;
    for (const std::uint32_t type : matching.ranks[rank].collective_types) {
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
    const std::vector<std::uint32_t>& types = matching.ranks[rank].collective_types;
    operations.assign(types.size(), kNoCollective);
    std::map<std::uint32_t, std::uint32_t> seen;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      if (types[i] == kNoTarget) continue;
      const CollectiveType& type = trace.timelines[rank].collective_types()[types[i]];
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
  }
  for (const CollectiveOperation& operation : matching.collectives) {
    const Communicator& communicator = trace.communicators[operation.communicator];
    const std::size_t members = communicator.members.size() + communicator.remote.size();
    if (operation.participants == members) continue;
    if (EndsEarly(trace)) {
      matching.diagnostics.Add(anomaly::kCollectiveCutAtEdge, 1, communicator.name);
    } else if (++mismatches; example.empty()) {
      example = fmt::format("a {} on {} with {} of {} ranks", ToString(operation.kind), communicator.name,
                            operation.participants, members);
    }
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
      const bool is_init = call == MpiCall::kInit;
      std::uint32_t& operation = is_init ? result.init : result.finalize;
      if ((!is_init && call != MpiCall::kFinalize) || operation != kNoCollective) continue;
      operation = is_init ? init : finalize;
      (is_init ? result.init_call : result.finalize_call) = i;
      ++matching.collectives[operation].participants;
    }
  }
}

// A matching by the wrong order shows in sizes that differ between sender and receiver.
void CompareSizes(const Trace& trace, Matching& matching) {
  std::vector<std::uint64_t> sent(matching.matched), differing(trace.size());
  for (const OperationClass type : {OperationClass::kSend, OperationClass::kReceive}) {
    const bool sends = type == OperationClass::kSend;
    ParallelFor(trace.size(), [&](std::size_t rank) {
      const RankTimeline& timeline = trace.timelines[rank];
      Posts posts;
      for (std::size_t i = 0; i < timeline.records(); ++i) {
        const RecordPart part = NextPart(timeline, matching.ranks[rank], i, posts);
        if (part.type != type || !(sends ? part.posts : part.completes) || part.number >= matching.matched) continue;
        if (sends) sent[part.number] = timeline.record_bytes(i);
        if (!sends) differing[rank] += sent[part.number] != timeline.record_bytes(i);
      }
    });
  }
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
  std::vector<std::array<std::vector<Numbering>, 2>> numbering(trace.size());  // one an endpoint: of sends, of receives
  std::vector<std::vector<ChannelEnd>> ends_of_rank(trace.size());
  ParallelFor(trace.size(), [&](std::size_t rank) {
    const RankTimeline& timeline = trace.timelines[rank];
    RankMatching& targets = matching.ranks[rank];
    CollectTargets(timeline, targets);
    numbering[rank].fill(std::vector<Numbering>(timeline.endpoints().size()));
    AddEnds(timeline, rank, targets.sends, false, ends_of_rank[rank]);
    AddEnds(timeline, rank, targets.receives, true, ends_of_rank[rank]);
  });
  std::vector<ChannelEnd> ends;
  for (const std::vector<ChannelEnd>& some : ends_of_rank) ends.insert(ends.end(), some.begin(), some.end());
  std::ranges::sort(ends, [](const ChannelEnd& a, const ChannelEnd& b) { return a.Order() < b.Order(); });
  const auto [matched, unmatched] = CountMessages(ends, EndsEarly(trace), matching.diagnostics);
  if (matched + unmatched >= kNoMessage)
    throw Error(ErrorKind::kInput, trace.path, "the trace has more than 4294967295 messages", "cut a shorter one");
  matching.matched = static_cast<std::uint32_t>(matched);
  matching.messages = static_cast<std::uint32_t>(matched + unmatched);
  // Matched ones first, channel by channel.
  std::uint32_t next = 0, next_unmatched = matching.matched;
  ForEachChannel(ends, [&](std::size_t i, std::size_t j, std::uint32_t shared) {
    for (std::size_t k = i; k < j; ++k) {
      const ChannelEnd& end = ends[k];
      numbering[end.rank()][end.is_receive][end.endpoint] = {next, shared, next_unmatched};
      next_unmatched += end.count - shared;
    }
    next += shared;
  });
  static_assert(kNoTarget == kNoMessage);
  ParallelFor(trace.size(), [&](std::size_t rank) {
    for (const bool is_receive : {false, true}) {
      for (std::uint32_t& post : is_receive ? matching.ranks[rank].receives : matching.ranks[rank].sends) {
        if (post != kNoTarget) post = numbering[rank][is_receive][post].Take();
      }
    }
  });
  CompareSizes(trace, matching);
  MatchCollectives(trace, matching);
  AddInitAndFinalize(trace, matching);
  return matching;
}

}  // namespace farscale
