#include "imbalance/part_waits.h"

#include <algorithm>

#include "imbalance/wait_steps.h"

namespace farscale {
namespace {

// Messages with other processes have one end here.
MessageEnds SharedMessageEnds(const PhasePart& phase) {
  MessageEnds ends = FindMessageEnds(phase.trace(), phase.matching.matching, phase.activities);
  std::vector<std::size_t> partners;
  std::vector<std::string> texts;
  const auto part_of = [](const std::vector<MessageEnd>& all, std::uint32_t first, std::uint32_t end) {
    return std::vector<MessageEnd>(all.begin() + first, all.begin() + end);
  };
  for (const MessageBlock& block : phase.matching.blocks) {
    partners.push_back(block.member);
    std::vector<MessageEnd> sent = part_of(ends.sent, block.first_sent, block.end_sent);
    std::vector<MessageEnd> received = part_of(ends.received, block.first_received, block.end_received);
    texts.push_back(ToBytes(sent, received));
  }
  texts = phase.exchange.Swap(partners, std::move(texts));
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::vector<MessageEnd> sent, received;
    FromBytes(texts[i], sent, received);
    const MessageBlock& block = phase.matching.blocks[i];
    std::ranges::copy(sent, ends.sent.begin() + block.first_received);
    std::ranges::copy(received, ends.received.begin() + block.first_sent);
  }
  return ends;
}

// Marks of ranks elsewhere go there.
void ShareMarks(const PhasePart& phase, std::vector<std::vector<SyncMark>>& marks) {
  using OfRank = std::pair<std::uint32_t, SyncMark>;
  MirrorMarks(marks);
  std::vector<std::vector<OfRank>> of_member(phase.exchange.count());
  for (std::uint32_t rank = 0; rank < marks.size(); ++rank) {
    if (phase.IsOwn(rank)) continue;
    for (const SyncMark& mark : marks[rank]) of_member[phase.part.members[rank]].emplace_back(rank, mark);
    marks[rank] = {};
  }
  for (const auto& [rank, mark] : SwapValues(phase.exchange, std::move(of_member))) marks[rank].push_back(mark);
  SortMarks(marks);
}

struct CompleteCall {
  std::uint32_t rank = 0, call = 0;
  std::uint32_t member = 0;  // who asks
  Tick done = 0;

  std::pair<std::uint32_t, std::uint32_t> Place() const { return {rank, call}; }
};

// Asks other processes where their ranks were done.
void AddSharedLateCompletes(const PhasePart& phase, std::vector<RankWaits>& ranks) {
  std::vector<std::vector<CompleteCall>> questions(phase.exchange.count()), answers(phase.exchange.count());
  const auto own = static_cast<std::uint32_t>(phase.exchange.own());
  for (const RankWaits& rank : ranks) {
    for (const WaitState& wait : rank.waits) {
      if (wait.kind != WaitKind::kEarlyWait || phase.IsOwn(wait.delayer)) continue;
      questions[phase.part.members[wait.delayer]].push_back({wait.delayer, wait.delayer_call, own, 0});
    }
  }
  for (CompleteCall question : SwapValues(phase.exchange, std::move(questions))) {
    question.done = DoneBefore(phase.trace(), phase.activities, question.rank, question.call);
    answers[question.member].push_back(question);
  }
  std::vector<CompleteCall> known = SwapValues(phase.exchange, std::move(answers));
  std::ranges::sort(known, {}, &CompleteCall::Place);
  const auto done_of = [&](const WaitState& wait) {
    if (phase.IsOwn(wait.delayer)) return DoneBefore(phase.trace(), phase.activities, wait.delayer, wait.delayer_call);
    const std::pair<std::uint32_t, std::uint32_t> place(wait.delayer, wait.delayer_call);
    return std::ranges::lower_bound(known, place, {}, &CompleteCall::Place)->done;
  };
  AddLateCompletes(phase.activities, done_of, ranks);
}

// At the first member.
Diagnostics DiagnosticsOfAll(const PhasePart& phase, std::vector<SearchCounts> counts) {
  const auto merge = [](std::vector<SearchCounts>& into, const std::vector<SearchCounts>& other) {
    for (std::size_t rank = 0; rank < into.size(); ++rank) {
      into[rank].needs += other[rank].needs;
      into[rank].violations += other[rank].violations;
      into[rank].flushes += other[rank].flushes;
    }
  };
  Diagnostics diagnostics;
  phase.exchange.Agree<std::uint8_t>(std::move(counts), merge, [&](const std::vector<SearchCounts>& all) {
    diagnostics = DiagnosticsOf(phase.trace(), all);
    return std::uint8_t{0};
  });
  return diagnostics;
}

}  // namespace

LastRank LastRankOfAll(const PhasePart& phase) {
  return phase.exchange.Agree<LastRank>(
      FindLastRank(phase.activities),
      [](LastRank& into, const LastRank& other) {
        if (other.rank < into.rank) into = other;
      },
      [](const LastRank& first) { return first; });
}

WaitStates FindPartWaitStates(const PhasePart& phase, const CollectiveWaits& collectives) {
  WaitStates states;
  std::vector<SearchCounts> counts = SearchRanks(phase.trace(), phase.matching.matching, phase.activities, collectives,
                                                 SharedMessageEnds(phase), states);
  AddLockWaits(phase.trace(), phase.activities, states, &phase.exchange);
  ShareMarks(phase, states.marks);
  AddSharedLateCompletes(phase, states.ranks);
  AddWaitsAtEnd(phase.activities, LastRankOfAll(phase), states.ranks);
  states.diagnostics = DiagnosticsOfAll(phase, std::move(counts));
  return states;
}

}  // namespace farscale
