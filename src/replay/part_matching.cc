#include "replay/part_matching.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "base/parallel.h"
#include "replay/anomalies.h"
#include "replay/channels.h"
#include "replay/operation_runs.h"

namespace farscale {
namespace {

// How many collectives of a communicator a rank posts at most, and how many processes have ranks that do.
struct CollectivesPosted {
  std::uint32_t most = 0;
  std::uint32_t processes = 0;
};

// By communicator.
using PostedCollectives = std::map<std::uint32_t, CollectivesPosted>;

void MergePosted(PostedCollectives& into, const PostedCollectives& other) {
  for (const auto& [communicator, posted] : other) {
    into[communicator].most = std::max(into[communicator].most, posted.most);
    into[communicator].processes += posted.processes;
  }
}

// Who takes part in an operation, and what its lowest rank calls.
struct Participants {
  std::uint32_t ranks = 0;
  std::uint32_t lowest = 0;
  CollectiveKind kind = CollectiveKind::kBarrier;

  friend bool operator==(const Participants&, const Participants&) = default;
};

void MergeParticipants(Participants& into, const Participants& other) {
  into.ranks += other.ranks;
  if (other.lowest >= into.lowest) return;
  into.lowest = other.lowest;
  into.kind = other.kind;
}

// A number of places where something is wrong, with a text for the first in some order.
struct WrongPlaces {
  std::uint64_t count = 0;
  std::optional<std::pair<std::uint64_t, std::uint64_t>> first;
  std::string text;

  void Add(std::uint64_t some, std::pair<std::uint64_t, std::uint64_t> place, const std::string& example) {
    Merge({some, place, example});
  }
  void Merge(const WrongPlaces& other) {
    count += other.count;
    if (!other.first || (first && *first <= *other.first)) return;
    first = other.first;
    text = other.text;
  }
};

// What diagnostics say of the matching.
struct PartFindings {
  MissingHalves missing;
  std::uint64_t matched = 0;
  WrongPlaces sizes;          // by rank
  WrongPlaces kinds;          // by rank and collective of the rank
  WrongPlaces missing_ranks;  // by operation
};

class PartMatcher {
 public:
  PartMatcher(const TracePart& part, Exchange& exchange)
      : part_(part),
        trace_(part.trace),
        exchange_(exchange),
        own_ranks_(part.OwnRanks(exchange)),
        targets_(trace_.size()),
        numbering_(trace_.size()) {}

  PartMatching Run() {
    matching().ranks.resize(trace_.size());
    ParallelFor(own_ranks_.size(), [&](std::size_t i) {
      const std::size_t rank = own_ranks_[i];
      targets_[rank] = CollectTargets(trace_.timelines[rank]);
      numbering_[rank] = EmptyNumbering(trace_.timelines[rank]);
    });
    NumberAll(ChannelLists());
    ParallelFor(own_ranks_.size(), [&](std::size_t i) {
      const std::size_t rank = own_ranks_[i];
      ApplyNumbering(numbering_[rank], targets_[rank], matching().ranks[rank]);
    });
    ComparePartSizes();
    MatchPartCollectives();
    Diagnose();
    return std::move(result_);
  }

 private:
  Matching& matching() { return result_.matching; }

  // The channels among ranks here, then of every other member those that lead there and those that come from there.
  std::vector<std::vector<ChannelEnd>> ChannelLists() {
    std::vector<std::vector<ChannelEnd>> with(exchange_.count());
    for (const std::size_t rank : own_ranks_) {
      std::vector<ChannelEnd> ends;
      AddChannelEnds(trace_.timelines[rank], rank, targets_[rank], ends);
      for (const ChannelEnd& end : ends) with[MemberOf(end.is_receive ? end.source : end.destination)].push_back(end);
    }
    const std::vector<std::size_t> others = exchange_.Others();
    std::vector<std::string> texts;
    for (const std::size_t other : others) texts.push_back(with[other].empty() ? "" : ToBytes(with[other]));
    texts = exchange_.Swap(others, std::move(texts));
    std::vector<std::vector<ChannelEnd>> lists = {std::move(with[exchange_.own()])};
    for (std::size_t i = 0; i < others.size(); ++i) {
      std::vector<ChannelEnd> theirs, both = std::move(with[others[i]]);
      if (!texts[i].empty()) FromBytes(texts[i], theirs);
      for (ChannelEnd& end : theirs) end.is_elsewhere = true;
      both.insert(both.end(), theirs.begin(), theirs.end());
      const auto comes = std::partition(both.begin(), both.end(),
                                        [&](const ChannelEnd& end) { return MemberOf(end.source) == exchange_.own(); });
      lists.emplace_back(both.begin(), comes);
      lists.emplace_back(comes, both.end());
    }
    for (std::vector<ChannelEnd>& list : lists) SortEnds(list);
    return lists;
  }

  std::size_t MemberOf(std::int32_t rank) const { return part_.members[static_cast<std::size_t>(rank)]; }

  void NumberAll(const std::vector<std::vector<ChannelEnd>>& lists) {
    NumberedMessages counts;
    for (const std::vector<ChannelEnd>& list : lists) {
      const NumberedMessages some = CountNumbered(list);
      counts.matched += some.matched;
      counts.unmatched += some.unmatched;
      findings_.missing.Add(list);
    }
    // That of the one with most, so that all throw or none.
    RequireNumbers(exchange_.Agree<NumberedMessages>(
                       counts,
                       [](NumberedMessages& into, const NumberedMessages& other) {
                         if (other.all() > into.all()) into = other;
                       },
                       [](const NumberedMessages& most) { return most; }),
                   trace_.path);
    matching().matched = static_cast<std::uint32_t>(counts.matched);
    matching().messages = static_cast<std::uint32_t>(counts.all());
    NumberedMessages next{0, counts.matched};
    NumberMessages(lists[0], next, numbering_);
    findings_.matched = next.matched;
    const std::vector<std::size_t> others = exchange_.Others();
    for (std::size_t i = 0; i < others.size(); ++i) {
      MessageBlock block{others[i]};
      block.first_sent = static_cast<std::uint32_t>(next.matched);
      NumberMessages(lists[2 * i + 1], next, numbering_);
      block.end_sent = block.first_received = static_cast<std::uint32_t>(next.matched);
      NumberMessages(lists[2 * i + 2], next, numbering_);
      block.end_received = static_cast<std::uint32_t>(next.matched);
      if (block.end_received > block.first_sent) result_.blocks.push_back(block);
      findings_.matched += block.end_sent - block.first_sent;  // each once
    }
  }

  // Receivers compare what senders tell them: runs of equal sizes.
  void ComparePartSizes() {
    std::vector<std::uint64_t> sent(matching().matched), differing(own_ranks_.size());
    ParallelFor(own_ranks_.size(), [&](std::size_t i) {
      FillSentBytes(trace_.timelines[own_ranks_[i]], matching().ranks[own_ranks_[i]], sent);
    });
    std::vector<std::size_t> partners;
    std::vector<std::string> texts;
    for (const MessageBlock& block : result_.blocks) {
      RunLengths<std::uint64_t> sizes = PackRuns(sent, block.first_sent, block.end_sent);
      partners.push_back(block.member);
      texts.push_back(ToBytes(sizes));
    }
    texts = exchange_.Swap(partners, std::move(texts));
    for (std::size_t i = 0; i < texts.size(); ++i) {
      RunLengths<std::uint64_t> sizes;
      FromBytes(texts[i], sizes);
      UnpackRuns(sizes, sent, result_.blocks[i].first_received);
    }
    ParallelFor(own_ranks_.size(), [&](std::size_t i) {
      differing[i] = CountDiffering(trace_.timelines[own_ranks_[i]], matching().ranks[own_ranks_[i]], sent);
    });
    for (std::size_t i = 0; i < own_ranks_.size(); ++i) {
      if (differing[i] == 0) continue;
      findings_.sizes.Add(differing[i], {own_ranks_[i], 0}, fmt::format("received by rank {}", own_ranks_[i]));
    }
  }

  // The k-th collective on a communicator is one operation, as in MatchTrace.
  void MatchPartCollectives() {
    const PostedCollectives own = CountPosted();
    const PostedCollectives all =
        exchange_.Agree<PostedCollectives>(own, MergePosted, [](const PostedCollectives& every) { return every; });
    const std::map<std::uint32_t, std::uint32_t> first = PlaceOperations(own, all);
    std::vector<Participants> participants(matching().collectives.size());
    for (const std::size_t rank : own_ranks_) NumberCollectives(rank, first, participants);
    ShareParticipants(participants);
    for (const std::size_t rank : own_ranks_) CompareKinds(rank);
  }

  PostedCollectives CountPosted() const {
    PostedCollectives posted;
    for (const std::size_t rank : own_ranks_) {
      std::map<std::uint32_t, std::uint32_t> count;
      for (const std::uint32_t type : targets_[rank].collectives) {
        if (type != kNoTarget) ++count[trace_.timelines[rank].collective_types()[type].communicator];
      }
      for (const auto& [communicator, n] : count) {
        if (!trace_.communicators[communicator].is_self) MergePosted(posted, {{communicator, {n, 0}}});
      }
    }
    for (auto& [communicator, of] : posted) of.processes = 1;
    return posted;
  }

  // Returns the first operation here of every communicator.
  std::map<std::uint32_t, std::uint32_t> PlaceOperations(const PostedCollectives& own, const PostedCollectives& all) {
    std::map<std::uint32_t, std::uint32_t> first, first_of_all;
    for (const auto& [communicator, posted] : all) {
      first_of_all[communicator] = operations_of_all_;
      operations_of_all_ += posted.most;
    }
    std::uint32_t next = 0;
    const auto place = [&](std::uint32_t count, std::uint32_t of_all) {
      result_.operations.push_back({next, next + count, of_all});
      next += count;
      return next - count;
    };
    const auto place_those = [&](bool are_shared) {
      for (const auto& [communicator, posted] : own) {
        if ((all.at(communicator).processes > 1) != are_shared) continue;
        first[communicator] = place(posted.most, first_of_all.at(communicator));
      }
    };
    place_those(true);
    init_ = place(2, operations_of_all_);  // and the end, of all ranks
    result_.shared_operations = exchange_.count() > 1 ? next : 0;
    place_those(false);
    matching().collectives.resize(next);
    return first;
  }

  void NumberCollectives(std::size_t rank, std::map<std::uint32_t, std::uint32_t> next,
                         std::vector<Participants>& participants) {
    RankMatching& result = matching().ranks[rank];
    const RankTimeline& timeline = trace_.timelines[rank];
    const auto take_part = [&](std::uint32_t operation, CollectiveKind kind) {
      if (participants[operation].ranks++ > 0) return;
      participants[operation].lowest = static_cast<std::uint32_t>(rank);
      participants[operation].kind = kind;
    };
    result.collectives.assign(targets_[rank].collectives.size(), kNoCollective);
    for (std::size_t i = 0; i < result.collectives.size(); ++i) {
      if (targets_[rank].collectives[i] == kNoTarget) continue;
      const CollectiveType& type = timeline.collective_types()[targets_[rank].collectives[i]];
      if (trace_.communicators[type.communicator].is_self) continue;
      result.collectives[i] = next.at(type.communicator)++;
      matching().collectives[result.collectives[i]].communicator = type.communicator;
      take_part(result.collectives[i], type.kind);
    }
    result.collective_types = std::move(targets_[rank].collectives);
    MatchInitAndFinalize(trace_, timeline, init_, init_ + 1, result);
    for (const std::uint32_t operation : {result.init, result.finalize}) {
      if (operation != kNoCollective) take_part(operation, CollectiveKind::kBarrier);
    }
  }

  // What all processes know of the operations that they share. Of others this one knows all.
  void ShareParticipants(const std::vector<Participants>& participants) {
    OperationRuns<Participants> runs;
    for (std::uint32_t i = 0; i < result_.shared_operations; ++i) {
      const std::uint32_t of_all = result_.OfAll(i);
      if (participants[i].ranks > 0) AppendRun(runs, {of_all, of_all + 1, participants[i]});
    }
    runs = exchange_.Agree<OperationRuns<Participants>>(
        runs,
        [](OperationRuns<Participants>& into, const OperationRuns<Participants>& other) {
          MergeRuns(into, other, MergeParticipants);
        },
        [](const OperationRuns<Participants>& all) { return all; });
    for (std::uint32_t i = 0; i < participants.size(); ++i) {
      const Participants* of = &participants[i];
      if (i < result_.shared_operations) of = FindInRuns(runs, result_.OfAll(i));
      if (of == nullptr || of->ranks == 0) continue;
      CollectiveOperation& operation = matching().collectives[i];
      operation.participants = of->ranks;
      operation.kind = of->kind;
      const bool is_for_me =
          of->lowest < trace_.size() && MemberOf(static_cast<std::int32_t>(of->lowest)) == exchange_.own();
      if (is_for_me && i != init_ && i != init_ + 1) FindMissingRanks(i);
    }
  }

  void FindMissingRanks(std::uint32_t i) {
    const CollectiveOperation& operation = matching().collectives[i];
    const std::string text = DescribeMissingRanks(trace_, operation);
    if (text.empty()) return;
    const std::string& communicator = trace_.communicators[operation.communicator].name;
    findings_.missing_ranks.Add(1, {result_.OfAll(i), 0}, EndsEarly(trace_) ? communicator : text);
  }

  void CompareKinds(std::size_t rank) {
    const RankMatching& of_rank = matching().ranks[rank];
    for (std::size_t i = 0; i < of_rank.collectives.size(); ++i) {
      if (of_rank.collectives[i] == kNoCollective) continue;
      const CollectiveKind kind = trace_.timelines[rank].collective_types()[of_rank.collective_types[i]].kind;
      const CollectiveKind of_all = matching().collectives[of_rank.collectives[i]].kind;
      if (kind == of_all) continue;
      findings_.kinds.Add(1, {rank, i},
                          fmt::format("rank {} calls {} where others call {}", rank, ToString(kind), ToString(of_all)));
    }
  }

  void Diagnose() {
    matching().diagnostics = exchange_.Agree<Diagnostics>(
        findings_,
        [](PartFindings& into, const PartFindings& other) {
          into.missing.Merge(other.missing);
          into.matched += other.matched;
          into.sizes.Merge(other.sizes);
          into.kinds.Merge(other.kinds);
          into.missing_ranks.Merge(other.missing_ranks);
        },
        [&](const PartFindings& all) { return DiagnosticsOf(all); });
    if (!exchange_.IsFirst()) matching().diagnostics = {};
  }

  Diagnostics DiagnosticsOf(const PartFindings& all) const {
    const bool ends_early = EndsEarly(trace_);
    Diagnostics diagnostics = all.missing.Diagnose(ends_early);
    diagnostics.Add(anomaly::kMessageSizeMismatch, all.sizes.count, all.sizes.text);
    diagnostics.AddPopulation(anomaly::kMessageSizeMismatch, all.matched);
    diagnostics.Add(anomaly::kCollectiveMismatch, all.kinds.count, all.kinds.text);
    diagnostics.Add(ends_early ? anomaly::kCollectiveCutAtEdge : anomaly::kCollectiveMismatch, all.missing_ranks.count,
                    all.missing_ranks.text);
    diagnostics.AddPopulation(anomaly::kCollectiveMismatch, operations_of_all_);
    return diagnostics;
  }

  const TracePart& part_;
  const Trace& trace_;
  Exchange& exchange_;
  const std::vector<std::size_t> own_ranks_;
  std::vector<Targets> targets_;          // of ranks here
  std::vector<RankNumbering> numbering_;  // likewise
  std::uint32_t init_ = 0, operations_of_all_ = 0;
  PartFindings findings_;
  PartMatching result_;
};

}  // namespace

std::vector<std::size_t> TracePart::OwnRanks(const Exchange& exchange) const {
  std::vector<std::size_t> own;
  for (std::size_t rank = 0; rank < members.size(); ++rank) {
    if (members[rank] == exchange.own()) own.push_back(rank);
  }
  return own;
}

std::uint32_t PartMatching::OfAll(std::uint32_t operation) const {
  const auto range = std::ranges::upper_bound(operations, operation, {}, &OperationRange::first) - 1;
  return range->first_of_all + (operation - range->first);
}

std::uint32_t PartMatching::Here(std::uint32_t of_all) const {
  const auto is_before = [&](const OperationRange& range) {
    return range.first < shared_operations && range.first_of_all <= of_all;
  };
  const auto behind = std::partition_point(operations.begin(), operations.end(), is_before);
  if (behind == operations.begin()) return kNoCollective;
  const OperationRange& range = *(behind - 1);
  const std::uint32_t operation = range.first + (of_all - range.first_of_all);
  return operation < range.end ? operation : kNoCollective;
}

PartMatching MatchPart(const TracePart& part, Exchange& exchange) { return PartMatcher(part, exchange).Run(); }

}  // namespace farscale
