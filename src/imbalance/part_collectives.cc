// What processes tell each other of the collective operations that they share. Of an operation on many ranks few
// decide: the last who gives something, the root, the first to leave.
#include <algorithm>
#include <set>
#include <utility>

#include "imbalance/part_waits.h"

namespace farscale {
namespace {

// What is known of an operation, by its number among those of all processes.
struct OperationFacts {
  std::uint32_t of_all = 0;
  std::uint32_t type_of = 0;  // the highest rank that takes part: its type counts
  OperationType type;
  std::vector<Participant> deciding;
};
using FactsList = std::vector<OperationFacts>;  // rising

// Keeps those who may decide, whatever the type is and whoever the root is.
void KeepDeciding(std::vector<Participant>& all) {
  std::vector<char> is_kept(all.size());
  // The first so many in an order among those of some kind.
  const auto keep = [&](std::size_t count, const auto& is_of_kind, const auto& order) {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (is_of_kind(all[i])) places.push_back(i);
    }
    std::ranges::sort(places, {}, [&](std::size_t i) { return order(all[i]); });
    for (std::size_t i = 0; i < std::min(count, places.size()); ++i) is_kept[places[i]] = 1;
  };
  const auto latest = [](const Participant& p) { return std::pair(-p.enter, p.rank); };
  const auto first_to_leave = [](const Participant& p) { return std::pair(p.done_leave, p.rank); };
  const auto is_blocking = [](const Participant& p) { return p.is_blocking; };
  // Two, since a root does not wait for itself.
  keep(
      2, [](const Participant&) { return true; }, latest);
  keep(
      2, [](const Participant& p) { return p.sends; }, latest);
  keep(
      1, [](const Participant& p) { return p.receives; }, latest);
  keep(1, is_blocking, latest);
  keep(1, is_blocking, first_to_leave);
  std::vector<Participant> deciding;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (is_kept[i] != 0) deciding.push_back(all[i]);
  }
  all = std::move(deciding);
}

void MergeFacts(OperationFacts& into, const OperationFacts& other) {
  const bool has_sizes = into.type.has_sizes || other.type.has_sizes;
  if (other.type_of > into.type_of) {
    into.type_of = other.type_of;
    into.type = other.type;
  }
  into.type.has_sizes = has_sizes;
  into.deciding.insert(into.deciding.end(), other.deciding.begin(), other.deciding.end());
  KeepDeciding(into.deciding);
}

void MergeLists(FactsList& into, const FactsList& other) {
  FactsList merged;
  auto a = into.begin();
  auto b = other.begin();
  while (a != into.end() || b != other.end()) {
    if (b == other.end() || (a != into.end() && a->of_all < b->of_all)) {
      merged.push_back(std::move(*a++));
    } else if (a == into.end() || b->of_all < a->of_all) {
      merged.push_back(*b++);
    } else {
      MergeFacts(*a, *b++);
      merged.push_back(std::move(*a++));
    }
  }
  into = std::move(merged);
}

// Operations that processes agree on at a time; chosen: some megabytes.
constexpr std::uint32_t kOperationsAtOnce = 16384;

class OperationSharing {
 public:
  explicit OperationSharing(const PhasePart& phase)
      : phase_(phase), posted_(FindPostedOperations(phase.trace(), phase.matching.matching, phase.activities)) {
    // Shared ones by operation, then rank.
    const std::uint32_t shared = phase.matching.shared_operations;
    for (std::vector<PostedOperation>& of_rank : posted_) {
      for (PostedOperation& one : of_rank) {
        if (one.participant.operation < shared) shared_.push_back(&one);
      }
    }
    std::ranges::sort(shared_, {}, [](const PostedOperation* one) {
      return std::pair(one->participant.operation, one->participant.rank);
    });
  }

  CollectiveWaits Run() {
    const std::uint32_t last = shared_.empty() ? 0 : phase_.matching.OfAll(shared_.back()->participant.operation) + 1;
    const std::uint32_t all = phase_.exchange.Agree<std::uint32_t>(
        last, [](std::uint32_t& into, std::uint32_t other) { into = std::max(into, other); },
        [](std::uint32_t most) { return most; });
    for (std::uint32_t first = 0; first < all;) {
      first += std::min(kOperationsAtOnce, all - first);
      ShareUntil(first);
    }
    PostedOperations posted = std::move(posted_);
    for (const auto& [participant, type] : others_) posted[participant.rank].push_back({participant, type});
    others_ = {};
    return {phase_.trace(), phase_.matching.matching.collectives.size(), std::move(posted)};
  }

 private:
  void ShareUntil(std::uint32_t end_of_all) {
    const std::size_t first = next_;
    while (next_ < shared_.size() && OfAll(next_) < end_of_all) ++next_;
    const FactsList facts = AgreeOnFacts(first, next_);
    std::vector<Participant> others;  // with numbers among all
    for (const OperationFacts& one : facts) others.insert(others.end(), one.deciding.begin(), one.deciding.end());
    TakeTypes(first, next_, facts);
    const std::vector<Participant> asked_for = ShareAskedFor(first, next_);
    others.insert(others.end(), asked_for.begin(), asked_for.end());
    const std::vector<Participant> late = ShareLate(first, next_, asked_for);
    others.insert(others.end(), late.begin(), late.end());
    Take(facts, others);
  }

  std::uint32_t OfAll(std::size_t i) const { return phase_.matching.OfAll(shared_[i]->participant.operation); }

  Participant ForOthers(std::size_t i) const {
    Participant participant = shared_[i]->participant;
    participant.operation = OfAll(i);
    return participant;
  }

  FactsList AgreeOnFacts(std::size_t first, std::size_t end) const {
    FactsList own;
    for (std::size_t i = first; i < end; ++i) {
      const Participant participant = ForOthers(i);
      const OperationFacts one{participant.operation, participant.rank, shared_[i]->type, {participant}};
      if (own.empty() || own.back().of_all != one.of_all) {
        own.push_back(one);
      } else {
        MergeFacts(own.back(), one);
      }
    }
    return phase_.exchange.Agree<FactsList>(std::move(own), MergeLists, [](const FactsList& all) { return all; });
  }

  void TakeTypes(std::size_t first, std::size_t end, const FactsList& facts) {
    auto of = facts.begin();
    for (std::size_t i = first; i < end; ++i) {
      while (of->of_all < OfAll(i)) ++of;
      shared_[i]->type = of->type;
    }
  }

  // Roots, and all who take part in prefixes.
  std::vector<Participant> ShareAskedFor(std::size_t first, std::size_t end) const {
    std::vector<Participant> own;
    for (std::size_t i = first; i < end; ++i) {
      const bool is_root = shared_[i]->participant.rank == shared_[i]->type.root;
      if (is_root || shared_[i]->type.pattern == CollectivePattern::kPrefix) own.push_back(ForOthers(i));
    }
    return phase_.exchange.Agree<std::vector<Participant>>(
        std::move(own),
        [](std::vector<Participant>& into, const std::vector<Participant>& other) {
          into.insert(into.end(), other.begin(), other.end());
        },
        [](std::vector<Participant>& all) {
          std::ranges::sort(all, {}, [](const Participant& p) { return std::pair(p.operation, p.rank); });
          return all;
        });
  }

  // To the root of an N-to-1 operation those who come after it.
  std::vector<Participant> ShareLate(std::size_t first, std::size_t end, const std::vector<Participant>& asked_for) {
    std::vector<std::vector<Participant>> of_member(phase_.exchange.count());
    for (std::size_t i = first; i < end; ++i) {
      const OperationType& type = shared_[i]->type;
      if (type.pattern != CollectivePattern::kToRoot || type.root == kNoParticipant) continue;
      const auto root = std::ranges::lower_bound(asked_for, std::pair(OfAll(i), type.root), {},
                                                 [](const Participant& p) { return std::pair(p.operation, p.rank); });
      if (root == asked_for.end() || root->operation != OfAll(i) || root->rank != type.root) continue;
      const std::size_t member = phase_.part.members[type.root];
      if (member != phase_.exchange.own() && shared_[i]->participant.enter > root->enter)
        of_member[member].push_back(ForOthers(i));
    }
    return SwapValues(phase_.exchange, std::move(of_member));
  }

  void Take(const FactsList& facts, const std::vector<Participant>& others) {
    std::set<std::pair<std::uint32_t, std::uint32_t>> taken;
    for (Participant participant : others) {
      if (phase_.IsOwn(participant.rank)) continue;
      if (!taken.emplace(participant.operation, participant.rank).second) continue;
      const auto of = std::ranges::lower_bound(facts, participant.operation, {}, &OperationFacts::of_all);
      participant.operation = phase_.matching.Here(participant.operation);
      if (participant.operation != kNoCollective) others_.push_back({participant, of->type});
    }
  }

  const PhasePart& phase_;
  PostedOperations posted_;
  std::vector<PostedOperation*> shared_;
  std::size_t next_ = 0;  // of shared_
  std::vector<PostedOperation> others_;
};

}  // namespace

CollectiveWaits FindPartCollectives(const PhasePart& phase) { return OperationSharing(phase).Run(); }

}  // namespace farscale
