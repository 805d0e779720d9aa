#include "trace/paraver_collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "trace/anomalies.h"

namespace farscale {
namespace {

bool HasRoot(CollectiveKind kind) {
  using enum CollectiveKind;
  return kind == kBroadcast || kind == kReduce || kind == kGather || kind == kScatter;
}

}  // namespace

void CollectiveAttributes::Take(const ParaverFact& fact) {
  const auto bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(fact.value, 0));
  switch (fact.event) {
    case ParaverEvent::kSendSize: sent = bytes; break;
    case ParaverEvent::kReceiveSize: received = bytes; break;
    case ParaverEvent::kRoot: is_root = fact.value != 0; break;
    case ParaverEvent::kCommunicator: communicator = static_cast<std::uint64_t>(fact.value); break;
    default: break;
  }
}

void CollectiveCalls::Attribute(Tick tick, const ParaverFact& fact) {
  if (!IsCollectiveAttribute(fact.event)) return;
  if (!in_call_ && attributes_.tick != tick) attributes_ = {};
  if (!in_call_) attributes_.tick = tick;
  attributes_.Take(fact);
}

void CollectiveCalls::Enter(Tick tick) {
  if (attributes_.tick != tick) attributes_ = {};
  in_call_ = true;
}

std::optional<CollectiveCalls::Collective> CollectiveCalls::Leave(std::uint32_t region) {
  in_call_ = false;
  const CollectiveAttributes attributes = std::exchange(attributes_, {});
  const std::optional<CollectiveKind>& kind = facts_.collectives[region];
  if (!kind || !attributes.communicator) return std::nullopt;
  const auto found = facts_.communicators.find(*attributes.communicator);
  if (found == facts_.communicators.end()) return Collective{*kind, 0, 0, attributes, false};
  return Collective{*kind, found->second, numbers_[found->second]++, attributes, true};
}

void RecordedCollectives::Leave(std::uint32_t index) {
  const auto collective = CollectiveCalls::Leave(index);
  if (!collective) return;
  const Region& region = trace_.regions[index];
  rank_.diagnostics().AddPopulation(anomaly::kCommunicatorUnknown, 1);
  if (!collective->is_known) {
    rank_.diagnostics().Add(
        anomaly::kCommunicatorUnknown, 1,
        fmt::format("{}, {} on rank {}", *collective->attributes.communicator, region.name, rank_.rank()));
    return;
  }
  if (region.call == MpiCall::kImmediateCollective) return rank_.CollectivePost(std::nullopt);
  std::optional<std::uint32_t> root;
  if (HasRoot(collective->kind)) root = RootOf(*collective, region);
  rank_.Collective(collective->kind, collective->communicator, root, collective->attributes.sent,
                   collective->attributes.received);
}

std::optional<std::uint32_t> RecordedCollectives::RootOf(const Collective& collective, const Region& region) {
  const Communicator& communicator = trace_.communicators[collective.communicator];
  if (communicator.is_self) return 0;
  const auto found = facts_.roots.find({collective.communicator, collective.number});
  if (found == facts_.roots.end()) {
    rank_.diagnostics().Add(anomaly::kRootUnknown, 1, fmt::format("{} on rank {}", region.name, rank_.rank()));
    return std::nullopt;
  }
  const std::int32_t rank = found->second;
  const std::vector<std::int32_t>& group = communicator.remote.empty() ? communicator.members : communicator.remote;
  if (static_cast<std::size_t>(rank) < group.size() && group[static_cast<std::size_t>(rank)] == rank) {
    return static_cast<std::uint32_t>(rank);
  }
  const auto [local, is_new] = local_roots_.try_emplace({collective.communicator, rank}, 0);
  if (is_new) {
    local->second = static_cast<std::uint32_t>(std::ranges::find(group, rank) - group.begin());
  }
  return local->second;
}

ParaverRoots ParaverRootsOf(const ParaverTaskParts& parts, const ParaverCollectiveFacts& facts, std::int32_t rank) {
  ParaverRoots roots;
  CollectiveCalls collectives(facts);
  EventCursor events(parts);
  std::uint32_t call = ParaverBlockMeaning::kNothing;
  while (const ParaverMoment* record = events.Peek()) {
    for (const ParaverFact& fact : record->facts) {
      const ParaverEvent event = fact.event;
      collectives.Attribute(record->tick, fact);
      if (event != ParaverEvent::kMpi) continue;
      if (fact.is_enter()) {
        call = fact.index;
        collectives.Enter(record->tick);
      } else if (call != ParaverBlockMeaning::kNothing) {
        const auto collective = collectives.Leave(call);
        if (!collective || !collective->is_known || !collective->attributes.is_root) continue;
        roots[{collective->communicator, collective->number}] = rank;
      }
    }
    events.Advance();
  }
  return roots;
}

}  // namespace farscale
