// What the slack of ranks needs to know of other ranks.
#include <algorithm>
#include <tuple>
#include <utility>

#include "base/search.h"
#include "imbalance/part_slack.h"

namespace farscale {
namespace {

// Of a message.
constexpr std::uint8_t kIsNeeded = 1;  // it is received behind its being sent
constexpr std::uint8_t kIsToItself = 2;
constexpr std::uint8_t kIsKnown = 4;

constexpr Tick kNotReceived = std::numeric_limits<Tick>::min();

// Of a shared operation, by its number among those of all processes.
struct OperationSpan {
  std::uint32_t of_all = 0;
  Tick first_left = kNeverNeeded, last_entered = kNotReceived;
  std::uint32_t processes = 0;  // with ranks that need it
};
using OperationSpans = std::vector<OperationSpan>;  // rising

void MergeSpans(OperationSpans& into, const OperationSpans& other) {
  OperationSpans merged;
  auto a = into.begin();
  auto b = other.begin();
  while (a != into.end() || b != other.end()) {
    const bool takes_a = b == other.end() || (a != into.end() && a->of_all <= b->of_all);
    OperationSpan span = takes_a ? *a : *b;
    if (takes_a && b != other.end() && b->of_all == span.of_all) {
      span.first_left = std::min(span.first_left, b->first_left);
      span.last_entered = std::max(span.last_entered, b->last_entered);
      span.processes += b->processes;
      ++b;
    }
    takes_a ? ++a : ++b;
    merged.push_back(span);
  }
  into = std::move(merged);
}

constexpr std::uint32_t kSpansAtOnce = 65536;  // operations agreed on at a time; chosen

// In the order of the pass.
auto OrderOf(const LeaveMoment& moment) { return std::pair(-moment.tick, moment.rank); }

}  // namespace

SlackNeeds::SlackNeeds(const PhasePart& phase, const WaitStates& states, const CollectiveWaits& collectives)
    : phase_(phase),
      states_(states),
      collectives_(collectives),
      received_(phase.matching.matching.messages, kNotReceived),
      flags_(phase.matching.matching.messages),
      operations_(collectives.operations()) {
  const auto for_each_rank = [&](auto body) {
    for (std::size_t rank = 0; rank < phase.ranks(); ++rank) {
      if (phase.activities.ranks[rank].present) body(rank);
    }
  };
  for_each_rank([&](std::size_t rank) { Collect(rank); });
  ShareMessages();
  for_each_rank([&](std::size_t rank) { FlagSends(rank); });
  ShareOperations();
  FindMixed();
}

RankRecords SlackNeeds::Records(std::size_t rank) const {
  return RecordsOf(phase_.trace(), phase_.matching.matching, phase_.activities, rank);
}

void SlackNeeds::Collect(std::size_t rank) {
  const RankRecords records = Records(rank);
  const std::vector<WaitState>& waits = states_.ranks[rank].waits;
  std::size_t wait = 0;
  ForEachRecord(records, [&](std::uint32_t call, std::size_t, const RecordPart& part) {
    if (!part.IsMatched()) return;
    const Tick leave = records.activities.leave(call);
    if (part.IsCollective()) {
      Operation& operation = operations_[part.number];
      if (part.completes && IsNeeded(part.number, records.rank)) {
        operation.first_left = std::min(operation.first_left, leave);
        ++operation.missing;
      }
      if (part.posts && Gives(part.number, records.rank)) {
        operation.last_entered = std::max(operation.last_entered, records.activities.enter(call));
      }
      return;
    }
    if (!part.completes) return;
    if (part.type == OperationClass::kReceive) {
      received_[part.number] = leave;
      return;
    }
    while (wait < waits.size() && waits[wait].call < call) ++wait;
    const bool is_late = wait < waits.size() && waits[wait].call == call && waits[wait].kind == WaitKind::kLateReceiver;
    if (is_late) late_sends_.push_back({part.number, {leave, records.rank}});
  });
}

// In the order of their channels on both sides.
void SlackNeeds::ShareMessages() {
  std::ranges::sort(late_sends_, {}, &LateSend::message);
  std::vector<std::size_t> partners;
  std::vector<std::string> texts;
  for (const MessageBlock& block : phase_.matching.blocks) {
    partners.push_back(block.member);
    std::vector<Tick> received(received_.begin() + block.first_received, received_.begin() + block.end_received);
    std::vector<LateSend> late;
    for (const LateSend& send : late_sends_) {
      if (send.message < block.first_sent || send.message >= block.end_sent) continue;
      late.push_back(send);
      late.back().message -= block.first_sent;
    }
    texts.push_back(ToBytes(received, late));
  }
  texts = phase_.exchange.Swap(partners, std::move(texts));
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const MessageBlock& block = phase_.matching.blocks[i];
    std::vector<Tick> received;
    std::vector<LateSend> late;
    FromBytes(texts[i], received, late);
    std::ranges::copy(received, received_.begin() + block.first_sent);
    for (LateSend& send : late) {
      send.message += block.first_received;
      late_sends_.push_back(send);
    }
  }
  std::ranges::sort(late_sends_, {}, &LateSend::message);
}

void SlackNeeds::FlagSends(std::size_t rank) {
  const RankRecords records = Records(rank);
  ForEachRecord(records, [&](std::uint32_t call, std::size_t record, const RecordPart& part) {
    if (part.type != OperationClass::kSend || !part.posts || !part.IsMatched()) return;
    const std::uint32_t endpoint = records.timeline.record_target(record);
    const auto peer = static_cast<std::uint32_t>(records.timeline.endpoints()[endpoint].peer);
    const LeaveMoment received{received_[part.number], peer};
    const bool is_needed = received.tick != kNotReceived &&
                           received.IsBehind(records.activities.enter(call), records.rank) && peer != records.rank;
    flags_[part.number] = static_cast<std::uint8_t>((is_needed ? kIsNeeded : 0) | (peer == rank ? kIsToItself : 0));
  });
}

void SlackNeeds::ShareOperations() {
  const auto largest = [](std::uint32_t& into, std::uint32_t other) { into = std::max(into, other); };
  const std::uint32_t shared = phase_.matching.shared_operations;
  const std::uint32_t all = phase_.exchange.Agree<std::uint32_t>(shared > 0 ? phase_.matching.OfAll(shared - 1) + 1 : 0,
                                                                 largest, [](std::uint32_t most) { return most; });
  std::uint32_t next = 0;
  for (std::uint32_t end = 0; end < all;) {
    end += std::min(kSpansAtOnce, all - end);
    OperationSpans own;
    const std::uint32_t first = next;
    for (; next < shared && phase_.matching.OfAll(next) < end; ++next) {
      const Operation& one = operations_[next];
      if (one.missing == 0 && one.last_entered == kNotReceived) continue;
      own.push_back({phase_.matching.OfAll(next), one.first_left, one.last_entered, one.missing > 0 ? 1u : 0u});
    }
    const auto spans = phase_.exchange.Agree<OperationSpans>(std::move(own), MergeSpans,
                                                             [](const OperationSpans& of_all) { return of_all; });
    auto span = spans.begin();
    for (std::uint32_t i = first; i < next; ++i) {
      while (span != spans.end() && span->of_all < phase_.matching.OfAll(i)) ++span;
      if (span == spans.end()) break;
      if (span->of_all != phase_.matching.OfAll(i)) continue;
      Operation& one = operations_[i];
      one.first_left = span->first_left;
      one.last_entered = span->last_entered;
      one.awaits_others = span->processes > (one.missing > 0 ? 1u : 0u);
    }
    if (!phase_.exchange.IsFirst()) continue;
    for (const OperationSpan& one : spans) AppendRun(processes_, {one.of_all, one.of_all + 1, one.processes});
  }
  for (Operation& one : operations_) one.is_mixed = one.first_left <= one.last_entered;
}

// Of operations some of whose ranks leave before others enter: who needs them.
void SlackNeeds::FindMixed() {
  std::vector<OperationNeed> shared;
  const bool has_any = std::ranges::any_of(operations_, [](const Operation& one) { return one.is_mixed; });
  for (std::size_t rank = 0; has_any && rank < phase_.ranks(); ++rank) {
    if (!phase_.activities.ranks[rank].present) continue;
    const RankRecords records = Records(rank);
    ForEachRecord(records, [&](std::uint32_t call, std::size_t, const RecordPart& part) {
      const bool is_mixed = part.IsCollective() && part.completes && part.IsMatched() && IsMixed(part.number);
      if (!is_mixed || !IsNeeded(part.number, records.rank)) return;
      mixed_.push_back({part.number, {records.activities.leave(call), records.rank}});
      if (part.number >= phase_.matching.shared_operations) return;
      shared.emplace_back(mixed_.back()).operation = phase_.matching.OfAll(part.number);
    });
  }
  shared = phase_.exchange.Agree<std::vector<OperationNeed>>(
      std::move(shared),
      [](std::vector<OperationNeed>& into, const std::vector<OperationNeed>& other) {
        into.insert(into.end(), other.begin(), other.end());
      },
      [](const std::vector<OperationNeed>& all) { return all; });
  for (OperationNeed& need : shared) {
    if (phase_.IsOwn(need.moment.rank)) continue;
    need.operation = phase_.matching.Here(need.operation);
    if (need.operation != kNoCollective) mixed_.push_back(need);
  }
  std::ranges::sort(mixed_, {}, [](const OperationNeed& need) {
    return std::tuple(need.operation, -need.moment.tick, need.moment.rank);
  });
  for (std::uint32_t i = 0; i < mixed_.size(); ++i) {
    const auto [range, is_new] = mixed_ranges_.try_emplace(mixed_[i].operation, MixedRange{i, i, i});
    range->second.end = i + 1;
  }
}

bool SlackNeeds::IsNeeded(std::uint32_t operation, std::uint32_t rank) const {
  const CollectivePattern pattern = collectives_.pattern(operation);
  if (pattern == CollectivePattern::kNone) return false;
  return pattern == CollectivePattern::kAllToAll || collectives_.DependencyOf(operation, rank).has_value();
}

// Of a prefix, too, as if all higher ranks came after: slack is never said to be larger than it is.
bool SlackNeeds::Gives(std::uint32_t operation, std::uint32_t rank) const {
  const CollectivePattern pattern = collectives_.pattern(operation);
  if (pattern == CollectivePattern::kNone) return false;
  return pattern != CollectivePattern::kFromRoot || collectives_.IsRoot(operation, rank);
}

std::optional<Tick> SlackNeeds::OfSend(std::uint32_t message) const {
  const bool is_known = (flags_[message] & kIsKnown) != 0;
  if ((flags_[message] & kIsToItself) != 0) return is_known ? received_[message] : kNeverNeeded;
  if ((flags_[message] & kIsNeeded) == 0) return kNeverNeeded;
  return is_known ? std::optional(received_[message]) : std::nullopt;
}

std::optional<Tick> SlackNeeds::OfReceive(std::uint32_t message, Tick enter, std::uint32_t rank) const {
  const auto send = std::ranges::lower_bound(late_sends_, message, {}, &LateSend::message);
  if (send == late_sends_.end() || send->message != message) return kNeverNeeded;
  if (send->moment.rank == rank) return send->is_known ? send->needed : kNeverNeeded;
  if (!send->moment.IsBehind(enter, rank)) return kNeverNeeded;
  return send->is_known ? std::optional(send->needed) : std::nullopt;
}

std::optional<Tick> SlackNeeds::OfOperation(std::uint32_t operation, Tick enter, std::uint32_t rank) const {
  if (!Gives(operation, rank)) return kNeverNeeded;
  const Operation& one = operations_[operation];
  if (!one.is_mixed) return one.missing > 0 || one.awaits_others ? std::nullopt : std::optional(one.needed);
  const auto range = mixed_ranges_.find(operation);
  if (range == mixed_ranges_.end()) return kNeverNeeded;
  const std::uint32_t end = FirstNotBehind(range->second, enter, rank);
  if (range->second.known < end) return std::nullopt;
  // A rank that leaves when it enters has left before, in this order.
  const bool is_own_next = end < range->second.known && mixed_[end].moment.rank == rank;
  if (is_own_next) return mixed_[end].needed;
  return end > range->second.first ? mixed_[end - 1].needed : kNeverNeeded;
}

std::uint32_t SlackNeeds::WaitedFor(std::uint32_t operation, Tick enter, std::uint32_t rank) const {
  return IsMixed(operation) ? FirstNotBehind(mixed_ranges_.at(operation), enter, rank) - 1 : operation;
}

std::uint32_t SlackNeeds::FirstNotBehind(const MixedRange& range, Tick enter, std::uint32_t rank) const {
  return static_cast<std::uint32_t>(
      PartitionIndex(range.first, range.end, [&](std::size_t i) { return mixed_[i].moment.IsBehind(enter, rank); }));
}

std::optional<Tick> SlackNeeds::NeededHere(std::uint32_t operation) const {
  const Operation& one = operations_[operation];
  return one.missing > 0 ? std::nullopt : std::optional(one.needed);
}

void SlackNeeds::SetReceived(std::uint32_t message, Tick latest) {
  received_[message] = latest;
  flags_[message] |= kIsKnown;
}

void SlackNeeds::SetLateSend(std::uint32_t message, Tick latest) {
  const auto send = std::ranges::lower_bound(late_sends_, message, {}, &LateSend::message);
  send->needed = latest;
  send->is_known = true;
}

NumberRange SlackNeeds::SetNeed(std::uint32_t operation, const LeaveMoment& moment, Tick latest) {
  Operation& one = operations_[operation];
  if (!one.is_mixed) {
    one.needed = std::min(one.needed, latest);
    return --one.missing == 0 && !one.awaits_others ? NumberRange{operation, operation + 1} : NumberRange{};
  }
  MixedRange& range = mixed_ranges_.at(operation);
  const auto first = mixed_.begin() + range.first, end = mixed_.begin() + range.end;
  const auto need = std::ranges::lower_bound(first, end, OrderOf(moment), {},
                                             [](const OperationNeed& of) { return OrderOf(of.moment); });
  need->needed = latest;
  need->is_known = true;
  const std::uint32_t before = range.known;
  for (; range.known < range.end && mixed_[range.known].is_known; ++range.known) {
    OperationNeed& next = mixed_[range.known];
    if (range.known > range.first) next.needed = std::min(next.needed, mixed_[range.known - 1].needed);
  }
  return {before, range.known};
}

void SlackNeeds::SetOfAll(std::uint32_t operation, Tick latest) {
  operations_[operation].needed = std::min(operations_[operation].needed, latest);
  operations_[operation].awaits_others = false;
}

}  // namespace farscale
