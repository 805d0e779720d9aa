// Where the ranks of this process last ran together with ranks of others before a wait for these.
#include <algorithm>
#include <optional>
#include <utility>

#include "imbalance/part_delays.h"

namespace farscale {
namespace {

// A participant here, by the number of the operation among those of all processes, and a rank that may be another.
struct SyncQuestion {
  Participant self;
  std::uint32_t peer = 0;
  std::uint32_t member = 0;  // who asks
  std::uint32_t number = 0;  // among the questions of that one
};
struct SyncAnswer {
  std::uint32_t number = 0;
  std::uint32_t call = 0, peer_call = 0;
};
using SyncAnswers = std::vector<std::optional<CollectiveWaits::SyncedCalls>>;

constexpr std::size_t kOpenWaits = 16384;  // of a process at a time; chosen
constexpr std::size_t kMostAhead = 64;     // operations asked about at once for a wait; chosen

SyncAnswers Ask(const PhasePart& phase, const CollectiveWaits& collectives,
                const std::vector<SyncQuestion>& questions) {
  std::vector<std::vector<SyncQuestion>> of_member(phase.exchange.count());
  for (const SyncQuestion& question : questions) of_member[phase.part.members[question.peer]].push_back(question);
  std::vector<std::vector<SyncAnswer>> replies(phase.exchange.count());
  for (const SyncQuestion& question : SwapValues(phase.exchange, std::move(of_member))) {
    const std::uint32_t operation = phase.matching.Here(question.self.operation);
    if (operation == kNoCollective) continue;
    const auto synced = collectives.Synchronises(question.self, operation, question.peer);
    if (synced) replies[question.member].push_back({question.number, synced->call, synced->peer_call});
  }
  SyncAnswers answers(questions.size());
  for (const SyncAnswer& answer : SwapValues(phase.exchange, std::move(replies)))
    answers[answer.number] = {answer.call, answer.peer_call};
  return answers;
}

}  // namespace

struct PartSyncPoints::Open {
  std::uint32_t rank = 0;
  std::uint32_t place = 0;  // of elsewhere_
  std::uint32_t delayer = 0;
  SyncPointSearch search;
  std::size_t first_question = 0, questions = 0;
};

PartSyncPoints::PartSyncPoints(const PhasePart& phase, const WaitStates& states, const CollectiveWaits& collectives)
    : phase_(phase),
      states_(states),
      collectives_(collectives),
      members_(phase.trace().communicators.size()),
      elsewhere_(phase.ranks()),
      places_(phase.ranks()) {
  std::uint64_t all = 0;
  for (std::uint32_t rank = 0; rank < states.ranks.size(); ++rank) {
    const std::vector<WaitState>& waits = states.ranks[rank].waits;
    for (std::uint32_t i = 0; i < waits.size(); ++i) {
      if (!phase.IsOwn(waits[i].delayer)) places_[rank].push_back(i);
    }
    elsewhere_[rank].resize(places_[rank].size());
    all += places_[rank].size();
  }
  const auto most = phase.exchange.Agree<std::uint64_t>(
      all, [](std::uint64_t& into, std::uint64_t other) { into = std::max(into, other); },
      [](std::uint64_t largest) { return largest; });
  std::uint32_t rank = 0, place = 0;
  for (std::uint64_t asked = 0; asked < most; asked += kOpenWaits) {
    std::vector<Open> open;
    while (open.size() < kOpenWaits && rank < places_.size()) {
      if (place == places_[rank].size()) {
        ++rank;
        place = 0;
        continue;
      }
      const WaitState& wait = states.ranks[rank].waits[places_[rank][place]];
      open.push_back({rank, place++, wait.delayer, SyncPointSearch(states, collectives, rank, wait)});
    }
    AskAbout(std::move(open));
  }
}

// Ends on all members together: when none has an open wait.
void PartSyncPoints::AskAbout(std::vector<Open> open) {
  for (std::size_t ahead = 1;; ahead = std::min(2 * ahead, kMostAhead)) {
    std::vector<SyncQuestion> questions;
    for (Open& one : open) {
      one.first_question = questions.size();
      std::size_t left = one.search.left();
      for (; left > 0 && questions.size() < one.first_question + ahead; --left) {
        const SyncPointSearch::SyncCall& sync = one.search.calls()[left - 1];
        if (!one.search.MayBeAsked(sync)) break;
        if (!MayTakePart(sync.operation, one.delayer)) continue;
        const auto number = static_cast<std::uint32_t>(questions.size());
        const auto own = static_cast<std::uint32_t>(phase_.exchange.own());
        SyncQuestion& question = questions.emplace_back();
        question = {*collectives_.Find(sync.operation, one.rank), one.delayer, own, number};
        question.self.operation = phase_.matching.OfAll(sync.operation);
      }
      one.questions = questions.size() - one.first_question;
    }
    if (phase_.exchange.Sum(questions.size()) == 0) break;
    const SyncAnswers answers = Ask(phase_, collectives_, questions);
    for (Open& one : open) {
      for (std::size_t i = 0; i < one.questions;) {
        const auto sync = one.search.Next();
        if (!sync) break;
        if (MayTakePart(sync->operation, one.delayer)) one.search.Take(*sync, answers[one.first_question + i++]);
      }
    }
  }
  for (const Open& one : open) elsewhere_[one.rank][one.place] = one.search.point();
}

// Whether the communicator has the rank, which is one elsewhere.
bool PartSyncPoints::MayTakePart(std::uint32_t operation, std::uint32_t rank) {
  if (operation >= phase_.matching.shared_operations) return false;
  const std::uint32_t communicator = phase_.matching.matching.collectives[operation].communicator;
  std::vector<char>& is_member = members_[communicator];
  if (is_member.empty()) {
    const Communicator& of = phase_.trace().communicators[communicator];
    is_member.assign(phase_.ranks(), of.members.empty() ? 1 : 0);
    for (const auto* some : {&of.members, &of.remote}) {
      for (const std::int32_t member : *some) is_member[static_cast<std::size_t>(member)] = 1;
    }
  }
  return is_member[rank] != 0;
}

SyncPoint PartSyncPoints::Of(std::uint32_t rank, std::uint32_t index) const {
  const WaitState& wait = states_.ranks[rank].waits[index];
  if (phase_.IsOwn(wait.delayer)) return PointBefore(states_, collectives_, rank, wait);
  const std::vector<std::uint32_t>& places = places_[rank];
  return elsewhere_[rank][static_cast<std::size_t>(std::ranges::lower_bound(places, index) - places.begin())];
}

}  // namespace farscale
