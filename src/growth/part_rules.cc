#include "growth/part_rules.h"

#include <algorithm>
#include <map>

namespace farscale {
namespace {

// What groups of ranks the communicators of a run are; nothing for those that are no lines or planes of the grid.
std::vector<std::vector<GroupRule>> GroupsOf(const RunCalls& run, const RankGrid& grid) {
  std::vector<std::vector<GroupRule>> rules(run.communicators.size());
  std::map<std::vector<std::int32_t>, std::uint8_t> copies;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const Communicator& communicator = run.communicators[i];
    const std::uint8_t copy = copies[communicator.members]++;
    if (communicator.is_self) rules[i] = {{0, copy}};
    if (communicator.members.empty() || !communicator.remote.empty()) continue;
    std::uint8_t varying = 0, alone = 0;
    std::int64_t expected = 1;
    const GridVector first = grid.CoordinatesOf(communicator.members.front());
    for (std::size_t d = 0; d < kMostDimensions; ++d) {
      const bool varies = std::ranges::any_of(
          communicator.members, [&](std::int32_t rank) { return grid.CoordinatesOf(rank)[d] != first[d]; });
      if (varies) varying |= 1u << d;
      if (varies) expected *= grid.extents[d];
      if (grid.extents[d] == 1) alone |= 1u << d;
    }
    if (expected != static_cast<std::int64_t>(communicator.members.size())) continue;
    // A dimension of extent 1 may be among those that vary on more ranks.
    for (std::uint8_t more = alone;; more = (more - 1) & alone) {
      rules[i].push_back({static_cast<std::uint8_t>(varying | more), copy});
      if (more == 0) break;
    }
  }
  return rules;
}

std::vector<std::int64_t> PeersOf(const StagedPart& parts) {
  std::vector<std::int64_t> peers;
  for (const CallPart* part : parts) peers.push_back(part->peer);
  return peers;
}

// Calls holds(part, stage) until it says no.
template <typename Holds>
bool InAllStages(const StagedPart& parts, const Holds& holds) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!holds(*parts[i], Stage{static_cast<std::int32_t>(i), static_cast<std::int32_t>(parts.size())})) return false;
  }
  return true;
}

bool HoldsFor(const TagRule& rule, std::int64_t rank, const StagedPart& parts) {
  return InAllStages(parts, [&](const CallPart& part, const Stage& stage) {
    return TagBase(rule, rank, part.peer, stage) + rule.plus == part.tag;
  });
}

bool HoldsFor(const GroupRule& rule, const RunView& view, const StagedPart& parts) {
  return InAllStages(parts, [&](const CallPart& part, const Stage&) {
    const auto& groups = view.groups[part.communicator];
    return std::ranges::find(groups, rule) != groups.end();
  });
}

bool HoldsFor(const BackRule& rule, const StagedPart& parts) {
  return InAllStages(parts, [&](const CallPart& part, const Stage& stage) {
    return rule.Back(stage) == static_cast<std::int64_t>(part.back);
  });
}

}  // namespace

RunView::RunView(const RunCalls& of_run, const RankGrid& of_grid)
    : run(of_run), grid(of_grid), groups(GroupsOf(of_run, of_grid)) {}

StagedPart StagesOf(const RankCalls& calls, std::uint32_t call, std::size_t part, std::uint32_t period,
                    std::int32_t count) {
  StagedPart parts;
  for (std::int32_t stage = 0; stage < count; ++stage) {
    parts.push_back(&calls.PartsOf(call + static_cast<std::uint32_t>(stage) * period)[part]);
  }
  return parts;
}

PartRule RuleOf(const RunView& view, std::int64_t rank, const StagedPart& parts) {
  const CallPart& first = *parts.front();
  PartRule rule{.kind = first.kind, .collective = first.collective};
  if (!IsPost(first.kind)) {
    const auto count = static_cast<std::int64_t>(parts.size());
    rule.backs = {{false, first.back}, {true, static_cast<std::int64_t>(first.back) - (count - 1)}};
    std::erase_if(rule.backs, [&](const BackRule& one) { return !HoldsFor(one, parts); });
    return rule;
  }
  rule.peers = RulesFor(view.grid, rank, PeersOf(parts));
  const Stage begin{0, static_cast<std::int32_t>(parts.size())};
  using Kind = TagRule::Kind;
  for (const Kind kind : {Kind::kConstant, Kind::kRank, Kind::kPeer, Kind::kStage, Kind::kStageFromLast}) {
    TagRule tag{kind, 0};
    tag.plus = static_cast<std::int64_t>(first.tag) - TagBase(tag, rank, first.peer, begin);
    if (HoldsFor(tag, rank, parts)) rule.tags.push_back(tag);
  }
  rule.groups = view.groups[first.communicator];
  std::erase_if(rule.groups, [&](const GroupRule& one) { return !HoldsFor(one, view, parts); });
  return rule;
}

bool IsComplete(const PartRule& rule) {
  if (!IsPost(rule.kind)) return !rule.backs.empty();
  return !rule.peers.empty() && (PartOf(rule.kind).IsCollective() || !rule.tags.empty());
}

bool Narrow(const RunView& view, std::int64_t rank, const StagedPart& parts, PartRule& rule) {
  const auto keep = [](auto& rules, const auto& holds) {
    auto kept = rules;
    std::erase_if(kept, [&](const auto& one) { return !holds(one); });
    if (kept.empty()) return false;
    rules = std::move(kept);
    return true;
  };
  bool all = true;
  if (!IsPost(rule.kind)) {
    all = keep(rule.backs, [&](const BackRule& one) { return HoldsFor(one, parts); });
  } else {
    all = keep(rule.peers, [&](const PeerRule& one) {
      return InAllStages(parts, [&](const CallPart& part, const Stage& stage) {
        return PeerBy(one, view.grid, rank, stage) == part.peer;
      });
    });
    if (!PartOf(rule.kind).IsCollective())
      all = keep(rule.tags, [&](const TagRule& one) { return HoldsFor(one, rank, parts); }) && all;
    all = keep(rule.groups, [&](const GroupRule& one) { return HoldsFor(one, view, parts); }) && all;
  }
  return all;
}

}  // namespace farscale
