// Rules read from the calls of one rank, and narrowed to those that hold for the others of its class.
#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <set>

#include "growth/rules/call_rules.h"

namespace farscale {
namespace {

// A rank of a run in a layout, with what was found out for its calls, since it does the same again and again.
struct RankView {
  const RunCalls& run;
  std::array<RankGrid, 2> grids;                  // the grid, as each program sees it; all of it is the first one's
  std::vector<std::vector<RankDivision>> groups;  // one list a communicator; empty where it follows no division
  std::int64_t rank = 0;
  // Rules by communicator and the partners in all stages.
  std::map<std::pair<std::uint32_t, std::vector<std::int64_t>>, std::vector<PeerRule>> peers = {};
  std::map<std::int32_t, std::vector<CountRule>> counts = {};  // keyed by the number they give

  const RankGrid& grid() const { return grids.front(); }
  const RankGrid& seen() const { return grids[grid().ProgramOf(rank)]; }
  const RankCalls& calls() const { return run.of_ranks[static_cast<std::size_t>(rank)]; }
};

// The same part of a call in all its stages.
using StagedPart = std::vector<const CallPart*>;

StagedPart Stages(const RankCalls& calls, std::uint32_t call, std::size_t part, std::uint32_t period,
                  std::int32_t count) {
  StagedPart parts;
  parts.reserve(static_cast<std::size_t>(count));
  for (std::int32_t stage = 0; stage < count; ++stage)
    parts.push_back(&calls.Parts(call + static_cast<std::uint32_t>(stage) * period)[part]);
  return parts;
}

// Calls holds(part, stage) until it says no.
template <typename Holds>
bool InAllStages(const StagedPart& parts, const Holds& holds) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!holds(*parts[i], Stage{static_cast<std::int32_t>(i), static_cast<std::int32_t>(parts.size())})) return false;
  }
  return true;
}

bool GivesTags(const NumberRule& rule, const RankView& of, const StagedPart& parts) {
  return InAllStages(
      parts, [&](const CallPart& part, const Stage& stage) { return rule.At(stage, of.rank, part.peer) == part.tag; });
}

bool GivesGroups(const RankDivision& rule, const RankView& of, const StagedPart& parts) {
  return InAllStages(parts, [&](const CallPart& part, const Stage&) {
    const auto& groups = of.groups[part.communicator];
    return std::ranges::find(groups, rule) != groups.end();
  });
}

bool GivesBacks(const NumberRule& rule, const StagedPart& parts) {
  return InAllStages(parts, [&](const CallPart& part, const Stage& stage) { return rule.At(stage) == part.back; });
}

// The rules of a part of which nothing is known but these stages on one rank.
PartRule ReadPart(RankView& of, const StagedPart& parts) {
  using Kind = NumberRule::Kind;
  const CallPart& first = *parts.front();
  PartRule rule{.kind = first.kind, .collective = first.collective};
  if (!IsPost(first.kind)) {
    const auto count = static_cast<std::int64_t>(parts.size());
    rule.backs = {{Kind::kConstant, first.back}, {Kind::kStageFromLast, first.back - (count - 1)}};
    std::erase_if(rule.backs, [&](const NumberRule& one) { return !GivesBacks(one, parts); });
    return rule;
  }
  std::vector<std::int64_t> partners;
  for (const CallPart* part : parts) partners.push_back(part->peer);
  const auto& groups = of.groups[first.communicator];
  const auto [peers, is_new] = of.peers.try_emplace({first.communicator, std::move(partners)});
  if (is_new) {
    // Groups of all ranks are tried anyway, and dimensions of one rank show nothing here.
    std::uint8_t shown = 0;
    for (std::size_t d = 0; d < kMostDimensions; ++d) {
      if (of.seen().extents[d] > 1) shown |= 1u << d;
    }
    std::vector<RankDivision> divisions;
    for (const RankDivision& group : groups) {
      const RankDivision one = group.Copy(0);
      if ((one.varying & ~shown) == 0 && CountGroups(of.grid(), one) > 1 &&
          std::ranges::find(divisions, one) == divisions.end())
        divisions.push_back(one);
    }
    peers->second = RulesFor(of.grid(), of.rank, peers->first.second, divisions);
  }
  rule.peers = peers->second;
  const Stage begin{0, static_cast<std::int32_t>(parts.size())};
  for (const Kind kind : {Kind::kConstant, Kind::kRank, Kind::kPeer, Kind::kStage, Kind::kStageFromLast}) {
    NumberRule tag{kind, 0};
    tag.plus = static_cast<std::int64_t>(first.tag) - tag.At(begin, of.rank, first.peer);
    if (GivesTags(tag, of, parts)) rule.tags.push_back(tag);
  }
  rule.groups = groups;
  std::erase_if(rule.groups, [&](const RankDivision& one) { return !GivesGroups(one, of, parts); });
  return rule;
}

// Keeps the rules that hold. False when none is left; then they stay as they were.
template <typename Rule, typename Holds>
bool Keep(std::vector<Rule>& rules, const Holds& holds) {
  if (std::ranges::all_of(rules, holds)) return !rules.empty();
  std::vector<Rule> kept;
  std::ranges::copy_if(rules, std::back_inserter(kept), holds);
  if (kept.empty()) return false;
  rules = std::move(kept);
  return true;
}

// The same for the rules of a part on one more rank.
bool Narrow(const RankView& of, const StagedPart& parts, PartRule& rule) {
  if (!IsPost(rule.kind)) return Keep(rule.backs, [&](const NumberRule& one) { return GivesBacks(one, parts); });
  bool all = Keep(rule.peers, [&](const PeerRule& one) {
    return InAllStages(parts, [&](const CallPart& part, const Stage& stage) {
      return PeerBy(one, of.grid(), of.rank, stage) == part.peer;
    });
  });
  if (!PartOf(rule.kind).IsCollective())
    all = Keep(rule.tags, [&](const NumberRule& one) { return GivesTags(one, of, parts); }) && all;
  return Keep(rule.groups, [&](const RankDivision& one) { return GivesGroups(one, of, parts); }) && all;
}

// True if two calls do the same, but for whom with.
bool AreAlike(const RankCalls& calls, std::uint32_t a, std::uint32_t b) {
  if (calls.calls[a].function != calls.calls[b].function) return false;
  if (calls.calls[a].completes_all && calls.calls[b].completes_all) return true;
  return std::ranges::equal(calls.Parts(a), calls.Parts(b), [](const CallPart& x, const CallPart& y) {
    return x.kind == y.kind && x.collective == y.collective;
  });
}

// The rules of a call in its stages; with `complete`, nothing unless every part has some.
std::optional<CallRule> ReadCall(RankView& of, std::uint32_t call, std::uint32_t period, std::int32_t count,
                                 bool complete) {
  CallRule rule{of.calls().calls[call].function, true};
  for (std::int32_t stage = 0; stage < count; ++stage) {
    const std::uint32_t staged = call + static_cast<std::uint32_t>(stage) * period;
    rule.completes_all = rule.completes_all && of.calls().calls[staged].completes_all;
  }
  if (rule.completes_all && count > 1) return rule;
  const std::size_t parts = of.calls().Parts(call).size();
  for (std::size_t part = 0; part < parts; ++part) {
    const PartRule& read = rule.parts.emplace_back(ReadPart(of, Stages(of.calls(), call, part, period, count)));
    const bool has_number = PartOf(read.kind).IsCollective() || !read.tags.empty();
    const bool is_complete =
        IsPost(read.kind) ? !read.peers.empty() && !read.groups.empty() && has_number : !read.backs.empty();
    if (complete && !rule.completes_all && !is_complete) return std::nullopt;
  }
  return rule;
}

// Nothing unless every part has a rule over all stages and their number depends on the grid. `has_own`: true if some
// stages have partners of their own; else there must be three.
std::optional<CallBlock> ReadBlock(RankView& of, std::uint32_t first, std::uint32_t period, std::int32_t count,
                                   bool& has_own) {
  const auto [counts, is_new] = of.counts.try_emplace(count);
  if (is_new) {
    using Kind = CountRule::Kind;
    std::vector<CountRule>& rules = counts->second;
    rules.push_back({Kind::kConstant, -1, count});
    const bool has_two = of.grid().HasTwo();
    if (has_two) rules.push_back({Kind::kRatio, CountRule::kOther, 0});
    for (std::int8_t d = has_two ? CountRule::kOther : CountRule::kAllRanks; d < std::int8_t{kMostDimensions}; ++d) {
      for (const std::int32_t plus : {0, -1}) rules.push_back({Kind::kExtent, d, plus});
      rules.push_back({Kind::kLogarithm, d, 0});
      if (d < 0) rules.push_back({Kind::kTwice, d, -1});  // as rings reduce and hand round
    }
    std::erase_if(rules, [&](const CountRule& rule) { return rule.Count(of.seen()) != count; });
  }
  if (counts->second.size() < 2) return std::nullopt;
  CallBlock block{.counts = counts->second};
  for (std::uint32_t i = 0; i < period; ++i) {
    std::optional<CallRule> rule = ReadCall(of, first + i, period, count, true);
    if (!rule) return std::nullopt;
    for (const PartRule& part : rule->parts)
      has_own = has_own || (!part.peers.empty() && std::ranges::all_of(part.peers, &PeerRule::IsOfStages));
    block.calls.push_back(std::move(*rule));
  }
  return has_own || count >= 3 ? std::optional(std::move(block)) : std::nullopt;
}

// Adds a block of stages that begins here and returns where it ends; 0 where there is none. Stages with partners of
// their own go before mere repetitions.
std::uint32_t ReadStages(RankView& of, std::uint32_t first, std::uint32_t end, std::vector<CallBlock>& blocks) {
  constexpr std::uint32_t kLongestStage = 12;  // calls; chosen: hand-written exchanges have two to six
  std::optional<CallBlock> repeated;
  std::uint32_t behind_repeated = 0;
  for (std::uint32_t period = 1; period <= kLongestStage && first + 2 * period <= end; ++period) {
    std::uint32_t behind = first + period;
    while (behind < end && AreAlike(of.calls(), behind, behind - period)) ++behind;
    for (auto count = static_cast<std::int32_t>((behind - first) / period); count >= 2; --count) {
      bool has_own = false;
      std::optional<CallBlock> block = ReadBlock(of, first, period, count, has_own);
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

bool HasShape(const RankCalls& calls, std::uint32_t call, const CallRule& rule) {
  if (calls.calls[call].function != rule.function) return false;
  if (rule.completes_all && calls.calls[call].completes_all) return true;
  return std::ranges::equal(calls.Parts(call), rule.parts, [](const CallPart& part, const PartRule& of) {
    return part.kind == of.kind && part.collective == of.collective;
  });
}

bool HasPartners(const RankView& of, std::uint32_t first, std::int32_t count, const CallBlock& block) {
  if (count == 0) return true;
  const auto period = static_cast<std::uint32_t>(block.calls.size());
  for (std::uint32_t i = 0; i < period; ++i) {
    const CallRule& rule = block.calls[i];
    for (std::size_t part = 0; part < (rule.completes_all ? 0 : rule.parts.size()); ++part) {
      PartRule copy = rule.parts[part];
      if (!Narrow(of, Stages(of.calls(), first + i, part, period, count), copy)) return false;
    }
  }
  return true;
}

// The number of times that a rank goes through a block here: the largest that a rule gives and whose partners fit; -1
// where the calls are others.
std::int32_t CountHere(const RankView& of, std::uint32_t call, std::uint32_t end, const CallBlock& block) {
  if (block.calls.empty()) return 1;
  const auto size = static_cast<std::uint32_t>(block.calls.size());
  std::uint32_t alike = 0;
  while (call + alike < end && HasShape(of.calls(), call + alike, block.calls[alike % size])) ++alike;
  const auto repeats = static_cast<std::int32_t>(alike / size);
  if (block.counts.empty()) return repeats > 0 ? 1 : -1;
  std::set<std::int32_t, std::greater<>> counts;
  for (const CountRule& rule : block.counts) counts.insert(rule.Count(of.seen()));
  for (const std::int32_t count : counts) {
    if (count <= repeats && HasPartners(of, call, count, block)) return count;
  }
  return -1;
}

void AddMissed(const RankView& of, std::uint32_t call, std::uint64_t messages, CallRules& result) {
  const std::uint32_t path = of.calls().PathAt(call);
  const std::string region = path > 0 ? of.run.regions[of.calls().RegionOf(path)] : "";
  result.messages += messages;
  result.missed[{of.calls().calls[call].function, region}] += messages;
}

// Narrows the rules to those that hold for one more iteration; false if it does otherwise.
bool AddIteration(const RankView& of, std::size_t i, std::vector<CallBlock>& blocks, CallRules& result) {
  std::uint32_t call = of.calls().FirstCall(i);
  const std::uint32_t end = of.calls().iteration_end[i];
  bool fits = true, is_known = true;
  for (CallBlock& block : blocks) {
    const std::int32_t count = CountHere(of, call, end, block);
    is_known = count >= 0;
    if (!is_known) break;
    std::erase_if(block.counts, [&](const CountRule& rule) { return rule.Count(of.seen()) != count; });
    const auto period = static_cast<std::uint32_t>(block.calls.size());
    for (std::uint32_t k = 0; count > 0 && k < period; ++k) {
      CallRule& rule = block.calls[k];
      rule.completes_all = rule.completes_all && of.calls().calls[call + k].completes_all;
      if (rule.completes_all) continue;
      for (std::size_t part = 0; part < rule.parts.size(); ++part) {
        const bool holds = Narrow(of, Stages(of.calls(), call + k, part, period, count), rule.parts[part]);
        const auto messages = static_cast<std::uint64_t>(IsPost(rule.parts[part].kind) ? count : 0);
        if (holds) {
          result.messages += messages;
          result.explained += messages;
        } else if (messages > 0) {
          AddMissed(of, call + k, messages, result);
        }
        fits = fits && holds;
      }
    }
    call += period * static_cast<std::uint32_t>(count);
  }
  if (is_known && call == end) return fits;
  for (; call < end; ++call) {  // calls that no rule foresees are not explained
    for (const CallPart& part : of.calls().Parts(call)) {
      if (IsPost(part.kind)) AddMissed(of, call, 1, result);
    }
  }
  return false;
}

// The same for one more rank, of which so many iterations of each kind are read.
bool AddRank(RankView& of, std::int64_t rank, std::size_t iterations, ClassRules& rules, CallRules& result) {
  const bool has_stages = result.scheme.has_stages[of.grid().ProgramOf(rank)];
  of.rank = rank;
  of.peers.clear();
  of.counts.clear();
  std::vector<std::size_t> seen;
  bool fits = true;
  for (std::size_t i = 0; i < of.calls().iteration_end.size(); ++i) {
    const std::size_t kind = of.run.kinds[i];
    if (seen.size() <= kind) seen.resize(kind + 1, 0);
    if (seen[kind]++ >= iterations) continue;
    if (rules.kinds.size() <= kind) rules.kinds.resize(kind + 1);
    std::vector<CallBlock>& blocks = rules.kinds[kind];
    // Rules start from those of one rank; with stages, calls that repeat as often as the grid says are a block.
    const std::uint32_t end = blocks.empty() ? of.calls().iteration_end[i] : 0;
    for (std::uint32_t call = of.calls().FirstCall(i); call < end;) {
      if (const std::uint32_t behind = has_stages ? ReadStages(of, call, end, blocks) : 0) {
        call = behind;
        continue;
      }
      if (blocks.empty() || !blocks.back().counts.empty()) blocks.emplace_back();
      blocks.back().calls.push_back(*ReadCall(of, call, 1, 1, false));
      ++call;
    }
    if (blocks.empty()) blocks.emplace_back();  // an iteration without calls is a rule, too
    fits = AddIteration(of, i, blocks, result) && fits;
  }
  return fits;
}

// Stops at more than `most_missed` messages that are not explained. `program`: whose ranks are read; nothing: all.
void AddRun(const RunCalls& run, std::size_t number, std::size_t iterations, std::uint64_t most_missed,
            std::optional<std::size_t> program, CallRules& result) {
  const RankGrid& grid = result.grids[number];
  RankView view{run, {grid, grid.SeenBy(1)}, std::vector<std::vector<RankDivision>>(run.communicators.size())};
  // Where a dimension has one rank, communicators that are others on more ranks have the same members, and one that is
  // the first of its kind there may be a later one here.
  std::map<std::vector<std::int32_t>, std::uint8_t> copies;
  for (std::size_t i = 0; i < view.groups.size(); ++i) {
    const Communicator& communicator = run.communicators[i];
    if (communicator.is_self) view.groups[i] = {RankDivision::Grid(0)};
    if (communicator.members.empty() || !communicator.remote.empty()) continue;
    std::vector<RankDivision> groups = GridDivisionsWith(grid, communicator.members);
    if (result.scheme.has_lines)
      std::ranges::copy(LineDivisionsWith(grid, communicator.members), std::back_inserter(groups));
    for (std::int32_t copy = copies[communicator.members]++; copy >= 0; --copy) {
      for (const RankDivision& one : groups) view.groups[i].push_back(one.Copy(static_cast<std::uint8_t>(copy)));
    }
  }
  for (std::int64_t rank = 0; rank < run.ranks; ++rank) {
    if (result.messages - result.explained > most_missed) return;
    if (program && view.grid().ProgramOf(rank) != *program) continue;
    ClassRules& rules = result.classes[ClassOf(result.scheme, view.grid(), rank)];
    const std::uint64_t messages = result.messages, explained = result.explained;
    if (AddRank(view, rank, iterations, rules, result)) {
      rules.donors.emplace_back(number, rank);
    } else if (rules.others.empty() || rules.others.back() != run.ranks) {
      rules.others.push_back(run.ranks);
    }
    rules.messages += result.messages - messages;
    rules.explained += result.explained - explained;
  }
}

constexpr std::uint64_t kAnyMissed = std::numeric_limits<std::uint64_t>::max();

}  // namespace

// The largest run first, whose ranks are most.
CallRules FitCallRules(const std::vector<RunCalls>& runs, const std::vector<RankGrid>& grids, const ClassScheme& scheme,
                       std::size_t iterations) {
  CallRules rules{.scheme = scheme, .grids = grids};
  for (std::size_t run = runs.size(); run-- > 0;) AddRun(runs[run], run, iterations, kAnyMissed, std::nullopt, rules);
  return rules;
}

CallRules FitRun(const RunCalls& run, const RankGrid& grid, const ClassScheme& scheme, std::uint64_t most_missed,
                 std::optional<std::size_t> program) {
  CallRules rules{.scheme = scheme, .grids = {grid}};
  AddRun(run, 0, 1, most_missed, program, rules);
  return rules;
}

CallRules AddRunBefore(CallRules rules, const RunCalls& run, const RankGrid& grid, std::optional<std::size_t> program) {
  rules.grids.insert(rules.grids.begin(), grid);
  for (auto& [key, of_class] : rules.classes) {
    for (auto& donor : of_class.donors) ++donor.first;
  }
  AddRun(run, 0, 1, kAnyMissed, program, rules);
  return rules;
}

}  // namespace farscale
