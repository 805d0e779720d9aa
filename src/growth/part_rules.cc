#include "growth/part_rules.h"

#include <algorithm>
#include <iterator>
#include <map>

namespace farscale {
namespace {

// What groups of ranks the communicators of a run are; nothing for those that are no groups of a division. Where a
// dimension has one rank, communicators that are others on more ranks have the same members, and one that is the first
// of its kind there may be a later one here.
std::vector<std::vector<GroupRule>> RulesOfCommunicators(const RunCalls& run, const RankGrid& grid, bool has_lines) {
  std::vector<std::vector<GroupRule>> rules(run.communicators.size());
  std::map<std::vector<std::int32_t>, std::uint8_t> copies;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const Communicator& communicator = run.communicators[i];
    if (communicator.is_self) rules[i] = {{RankDivision::Grid(0), 0}};
    if (communicator.members.empty() || !communicator.remote.empty()) continue;
    std::vector<RankDivision> groups = GridDivisionsWith(grid, communicator.members);
    if (has_lines) std::ranges::copy(LineDivisionsWith(grid, communicator.members), std::back_inserter(groups));
    for (std::int32_t copy = copies[communicator.members]++; copy >= 0; --copy) {
      for (const RankDivision& one : groups) rules[i].push_back({one, static_cast<std::uint8_t>(copy)});
    }
  }
  return rules;
}

// Groups in which partners may be found: without those of all ranks, and without dimensions of one rank, which show
// nothing here.
std::vector<RankDivision> DivisionsOf(const std::vector<GroupRule>& rules, const RankGrid& grid, std::int64_t rank) {
  std::uint8_t shown = 0;
  for (std::size_t d = 0; d < kMostDimensions; ++d) {
    if (grid.ExtentsOf(grid.ProgramOf(rank))[d] > 1) shown |= 1u << d;
  }
  std::vector<RankDivision> divisions;
  for (const GroupRule& rule : rules) {
    const RankDivision& one = rule.ranks;
    if ((one.varying & ~shown) == 0 && CountGroups(grid, one) > 1 &&
        std::ranges::find(divisions, one) == divisions.end())
      divisions.push_back(one);
  }
  return divisions;
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

RunView::RunView(const RunCalls& of_run, const RankGrid& of_grid, bool has_lines)
    : run(of_run),
      grid(of_grid),
      seen_by{of_grid, of_grid.SeenBy(1)},
      groups(RulesOfCommunicators(of_run, of_grid, has_lines)) {}

StagedPart StagesOf(const RankCalls& calls, std::uint32_t call, std::size_t part, std::uint32_t period,
                    std::int32_t count) {
  StagedPart parts;
  parts.reserve(static_cast<std::size_t>(count));
  for (std::int32_t stage = 0; stage < count; ++stage) {
    parts.push_back(&calls.PartsOf(call + static_cast<std::uint32_t>(stage) * period)[part]);
  }
  return parts;
}

PartRule RuleOf(const RunView& view, std::int64_t rank, const StagedPart& parts, KnownPeers& known) {
  const CallPart& first = *parts.front();
  PartRule rule{.kind = first.kind, .collective = first.collective};
  if (!IsPost(first.kind)) {
    const auto count = static_cast<std::int64_t>(parts.size());
    rule.backs = {{false, first.back}, {true, static_cast<std::int64_t>(first.back) - (count - 1)}};
    std::erase_if(rule.backs, [&](const BackRule& one) { return !HoldsFor(one, parts); });
    return rule;
  }
  const auto [peers, is_new] = known.try_emplace({first.communicator, PeersOf(parts)});
  if (is_new) {
    peers->second =
        RulesFor(view.grid, rank, peers->first.second, DivisionsOf(view.groups[first.communicator], view.grid, rank));
  }
  rule.peers = peers->second;
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
  return !rule.peers.empty() && !rule.groups.empty() && (PartOf(rule.kind).IsCollective() || !rule.tags.empty());
}

bool Narrow(const RunView& view, std::int64_t rank, const StagedPart& parts, PartRule& rule) {
  const auto keep = [](auto& rules, const auto& holds) {
    const auto other = std::ranges::find_if_not(rules, holds);
    if (other == rules.end()) return !rules.empty();
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
