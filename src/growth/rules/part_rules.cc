#include "growth/rules/part_rules.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>

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

// What one rank alone tells of its rules.

namespace {

// Whether two calls do the same, but for whom with.
bool IsAlike(const RankCalls& calls, std::uint32_t a, std::uint32_t b) {
  if (calls.calls[a].function != calls.calls[b].function) return false;
  if (calls.calls[a].completes_all && calls.calls[b].completes_all) return true;
  return std::ranges::equal(calls.PartsOf(a), calls.PartsOf(b), [](const CallPart& x, const CallPart& y) {
    return x.kind == y.kind && x.collective == y.collective;
  });
}

// All rules by which calls may be repeated as often as seen.
std::vector<CountRule> CountsFor(const RankGrid& grid, std::int32_t count) {
  using Kind = CountRule::Kind;
  std::vector<CountRule> rules = {{Kind::kConstant, -1, count}};
  if (grid.HasTwo()) rules.push_back({Kind::kRatio, CountRule::kOther, 0});
  const std::int8_t first = grid.HasTwo() ? CountRule::kOther : CountRule::kAllRanks;
  for (std::int8_t d = first; d < static_cast<std::int8_t>(kMostDimensions); ++d) {
    for (const std::int32_t plus : {0, -1}) rules.push_back({Kind::kExtent, d, plus});
    rules.push_back({Kind::kLogarithm, d, 0});
    if (d < 0) rules.push_back({Kind::kTwice, d, -1});  // as rings reduce and hand round
  }
  std::erase_if(rules, [&](const CountRule& rule) { return rule.Count(grid) != count; });
  return rules;
}

constexpr std::uint32_t kLongestStage = 12;  // calls; chosen: hand-written exchanges have two to six

class FirstReading {
 public:
  FirstReading(const RunView& view, std::int64_t rank, bool has_stages)
      : view_(view), rank_(rank), has_stages_(has_stages), calls_(view.run.of_ranks[static_cast<std::size_t>(rank)]) {}

  std::vector<CallBlock> Read(std::size_t iteration) {
    std::vector<CallBlock> blocks;
    const std::uint32_t end = calls_.iteration_end[iteration];
    for (std::uint32_t call = calls_.FirstCall(iteration); call < end;) {
      if (has_stages_) {
        if (const std::uint32_t behind = ReadStages(call, end, blocks)) {
          call = behind;
          continue;
        }
      }
      if (blocks.empty() || !blocks.back().counts.empty()) blocks.emplace_back();
      blocks.back().calls.push_back(*ReadCall(call, 1, 1, false));
      ++call;
    }
    if (blocks.empty()) blocks.emplace_back();  // an iteration without calls is a rule, too
    return blocks;
  }

 private:
  // Adds a block of stages that begins here and returns where it ends; 0 where there is none. Stages with partners of
  // their own go before mere repetitions.
  std::uint32_t ReadStages(std::uint32_t first, std::uint32_t end, std::vector<CallBlock>& blocks) {
    std::optional<CallBlock> repeated;
    std::uint32_t behind_repeated = 0;
    for (std::uint32_t period = 1; period <= kLongestStage && first + 2 * period <= end; ++period) {
      std::uint32_t behind = first + period;
      while (behind < end && IsAlike(calls_, behind, behind - period)) ++behind;
      for (auto count = static_cast<std::int32_t>((behind - first) / period); count >= 2; --count) {
        bool has_own = false;
        std::optional<CallBlock> block = ReadBlock(first, period, count, has_own);
        if (!block || (!has_own && repeated)) continue;
        const std::uint32_t behind_block = first + static_cast<std::uint32_t>(count) * period;
        if (has_own) {
          blocks.push_back(std::move(*block));
          return behind_block;
        }
        repeated = std::move(block);
        behind_repeated = behind_block;
      }
    }
    if (repeated) blocks.push_back(std::move(*repeated));
    return behind_repeated;
  }

  // Nothing unless every part has a rule over all stages and their number depends on the grid. `has_own`: whether some
  // stages have partners of their own; without, there must be three.
  std::optional<CallBlock> ReadBlock(std::uint32_t first, std::uint32_t period, std::int32_t count, bool& has_own) {
    const auto [counts, is_new] = counts_.try_emplace(count);
    if (is_new) counts->second = CountsFor(view_.SeenBy(rank_), count);
    if (counts->second.size() < 2) return std::nullopt;
    CallBlock block;
    block.counts = counts->second;
    for (std::uint32_t i = 0; i < period; ++i) {
      std::optional<CallRule> rule = ReadCall(first + i, period, count, true);
      if (!rule) return std::nullopt;
      for (const PartRule& part : rule->parts) {
        has_own = has_own || (!part.peers.empty() && std::ranges::all_of(part.peers, &PeerRule::IsOfStages));
      }
      block.calls.push_back(std::move(*rule));
    }
    return has_own || count >= 3 ? std::optional(std::move(block)) : std::nullopt;
  }

  std::optional<CallRule> ReadCall(std::uint32_t call, std::uint32_t period, std::int32_t count, bool complete) {
    CallRule rule{calls_.calls[call].function};
    rule.completes_all = calls_.calls[call].completes_all;
    for (std::int32_t stage = 1; stage < count; ++stage) {
      rule.completes_all =
          rule.completes_all && calls_.calls[call + static_cast<std::uint32_t>(stage) * period].completes_all;
    }
    if (rule.completes_all && count > 1) return rule;
    const std::size_t parts = calls_.PartsOf(call).size();
    for (std::size_t part = 0; part < parts; ++part) {
      rule.parts.push_back(RuleOf(view_, rank_, StagesOf(calls_, call, part, period, count), known_));
      if (complete && !rule.completes_all && !IsComplete(rule.parts.back())) return std::nullopt;
    }
    return rule;
  }

  const RunView& view_;
  std::int64_t rank_;
  bool has_stages_;
  const RankCalls& calls_;
  KnownPeers known_;
  std::map<std::int32_t, std::vector<CountRule>> counts_;  // rules by the number they give
};

}  // namespace

std::vector<CallBlock> ReadRank(const RunView& view, std::int64_t rank, std::size_t iteration, bool has_stages) {
  return FirstReading(view, rank, has_stages).Read(iteration);
}

}  // namespace farscale
