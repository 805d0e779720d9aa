#include "replay/matching.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/parallel.h"
#include "replay/anomalies.h"
#include "replay/channels.h"

namespace farscale {
namespace {

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
  const auto init = static_cast<std::uint32_t>(matching.collectives.size());
  matching.collectives.resize(init + 2);
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    RankMatching& result = matching.ranks[rank];
    MatchInitAndFinalize(trace, trace.timelines[rank], init, init + 1, result);
    if (result.init != kNoCollective) ++matching.collectives[init].participants;
    if (result.finalize != kNoCollective) ++matching.collectives[init + 1].participants;
  }
}

// A matching by the wrong order shows in sizes that differ between sender and receiver.
void CompareSizes(const Trace& trace, Matching& matching) {
  std::vector<std::uint64_t> sent(matching.matched), differing(trace.size());
  ParallelFor(trace.size(),
              [&](std::size_t rank) { FillSentBytes(trace.timelines[rank], matching.ranks[rank], sent); });
  ParallelFor(trace.size(), [&](std::size_t rank) {
    differing[rank] = CountDiffering(trace.timelines[rank], matching.ranks[rank], sent);
  });
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    matching.diagnostics.Add(anomaly::kMessageSizeMismatch, differing[rank], fmt::format("received by rank {}", rank));
  }
  matching.diagnostics.AddPopulation(anomaly::kMessageSizeMismatch, matching.matched);
}

}  // namespace

Matching MatchTrace(const Trace& trace) {
  Matching matching;
  matching.ranks.resize(trace.size());
  std::vector<Targets> targets(trace.size());
  std::vector<RankNumbering> numbering(trace.size());
  std::vector<std::vector<ChannelEnd>> ends_of_rank(trace.size());
  ParallelFor(trace.size(), [&](std::size_t rank) {
    const RankTimeline& timeline = trace.timelines[rank];
    targets[rank] = CollectTargets(timeline);
    numbering[rank] = EmptyNumbering(timeline);
    AddChannelEnds(timeline, rank, targets[rank], ends_of_rank[rank]);
  });
  std::vector<ChannelEnd> ends;
  for (const std::vector<ChannelEnd>& some : ends_of_rank) ends.insert(ends.end(), some.begin(), some.end());
  SortEnds(ends);
  MissingHalves missing;
  missing.Add(ends);
  matching.diagnostics = missing.Diagnose(EndsEarly(trace));
  const NumberedMessages counts = CountNumbered(ends);
  RequireNumbers(counts, trace.path);
  matching.matched = static_cast<std::uint32_t>(counts.matched);
  matching.messages = static_cast<std::uint32_t>(counts.all());
  NumberedMessages next{0, counts.matched};
  NumberMessages(ends, next, numbering);
  ParallelFor(trace.size(),
              [&](std::size_t rank) { ApplyNumbering(numbering[rank], targets[rank], matching.ranks[rank]); });
  CompareSizes(trace, matching);
  MatchCollectives(trace, targets, matching);
  AddInitAndFinalize(trace, matching);
  return matching;
}

}  // namespace farscale
