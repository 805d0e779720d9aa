#include "growth/call_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <optional>
#include <set>

#include "base/parallel.h"

namespace farscale {
namespace {

constexpr std::size_t kAllIterations = std::numeric_limits<std::size_t>::max();

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

bool IsPost(RecordKind kind) { return PartOf(kind).posts; }

struct RunView {
  const RunCalls& run;
  const RankGrid& grid;
  std::vector<std::vector<GroupRule>> groups;
};

// The same part of a call in all its stages.
using StagedPart = std::vector<const CallPart*>;

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

// The rules of a part of which nothing is known but these stages on one rank.
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

// Whether there is a rule for everything that the part of a call needs.
bool IsComplete(const PartRule& rule) {
  if (!IsPost(rule.kind)) return !rule.backs.empty();
  return !rule.peers.empty() && (PartOf(rule.kind).IsCollective() || !rule.tags.empty());
}

// Keeps the rules that hold for one more rank. False when none is left; then they stay as they were.
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
  if (!all) rule.is_contradicted = true;
  return all;
}

// Whether two calls do the same, but for whom with.
bool IsAlike(const RankCalls& calls, std::uint32_t a, std::uint32_t b) {
  if (calls.calls[a].function != calls.calls[b].function) return false;
  if (calls.calls[a].completes_all && calls.calls[b].completes_all) return true;
  return std::ranges::equal(calls.PartsOf(a), calls.PartsOf(b), [](const CallPart& x, const CallPart& y) {
    return x.kind == y.kind && x.collective == y.collective;
  });
}

bool HasShape(const RankCalls& calls, std::uint32_t call, const CallRule& rule) {
  if (calls.calls[call].function != rule.function) return false;
  if (rule.completes_all && calls.calls[call].completes_all) return true;
  return std::ranges::equal(calls.PartsOf(call), rule.parts, [](const CallPart& part, const PartRule& of) {
    return part.kind == of.kind && part.collective == of.collective;
  });
}

// How often, at most, calls with the shape of the block follow from `first` on.
std::int32_t Repeats(const RankCalls& calls, std::uint32_t first, std::uint32_t end,
                     const std::vector<CallRule>& block) {
  const auto size = static_cast<std::uint32_t>(block.size());
  std::int32_t repeats = 0;
  for (; first + size <= end; first += size, ++repeats) {
    for (std::uint32_t i = 0; i < size; ++i) {
      if (!HasShape(calls, first + i, block[i])) return repeats;
    }
  }
  return repeats;
}

StagedPart StagesOf(const RankCalls& calls, std::uint32_t call, std::size_t part, std::uint32_t period,
                    std::int32_t count) {
  StagedPart parts;
  for (std::int32_t stage = 0; stage < count; ++stage) {
    parts.push_back(&calls.PartsOf(call + static_cast<std::uint32_t>(stage) * period)[part]);
  }
  return parts;
}

// All rules by which calls may be repeated as often as seen.
std::vector<CountRule> CountsFor(const RankGrid& grid, std::int32_t count) {
  using Kind = CountRule::Kind;
  std::vector<CountRule> rules = {{Kind::kConstant, -1, count}};
  for (std::int8_t d = -1; d < static_cast<std::int8_t>(kMostDimensions); ++d) {
    for (const std::int32_t plus : {0, -1}) rules.push_back({Kind::kExtent, d, plus});
    rules.push_back({Kind::kLogarithm, d, 0});
  }
  std::erase_if(rules, [&](const CountRule& rule) { return rule.Count(grid) != count; });
  return rules;
}

constexpr std::uint32_t kLongestStage = 12;  // calls; chosen: hand-written exchanges have two to six

// The rules of one rank alone, from which those of its class start.
class FirstReading {
 public:
  FirstReading(const RunView& view, std::int64_t rank, bool has_stages)
      : view_(view), rank_(rank), has_stages_(has_stages), calls_(view.run.of_ranks[static_cast<std::size_t>(rank)]) {}

  std::vector<CallBlock> Read(std::size_t iteration) const {
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
  std::uint32_t ReadStages(std::uint32_t first, std::uint32_t end, std::vector<CallBlock>& blocks) const {
    for (const bool have_own : {true, false}) {
      for (std::uint32_t period = 1; period <= kLongestStage && first + 2 * period <= end; ++period) {
        std::uint32_t behind = first + period;
        while (behind < end && IsAlike(calls_, behind, behind - period)) ++behind;
        for (auto count = static_cast<std::int32_t>((behind - first) / period); count >= 2; --count) {
          std::optional<CallBlock> block = ReadBlock(first, period, count, have_own);
          if (!block) continue;
          blocks.push_back(std::move(*block));
          return first + static_cast<std::uint32_t>(count) * period;
        }
      }
    }
    return 0;
  }

  // Nothing unless every part has a rule over all stages and their number depends on the grid.
  std::optional<CallBlock> ReadBlock(std::uint32_t first, std::uint32_t period, std::int32_t count,
                                     bool have_own) const {
    if (!have_own && count < 3) return std::nullopt;
    CallBlock block;
    block.counts = CountsFor(view_.grid, count);
    if (block.counts.size() < 2) return std::nullopt;
    bool is_own = false;
    for (std::uint32_t i = 0; i < period; ++i) {
      std::optional<CallRule> rule = ReadCall(first + i, period, count, true);
      if (!rule) return std::nullopt;
      for (const PartRule& part : rule->parts) {
        is_own = is_own || (!part.peers.empty() && std::ranges::all_of(part.peers, &PeerRule::IsOfStages));
      }
      block.calls.push_back(std::move(*rule));
    }
    return is_own == have_own ? std::optional(std::move(block)) : std::nullopt;
  }

  std::optional<CallRule> ReadCall(std::uint32_t call, std::uint32_t period, std::int32_t count, bool complete) const {
    CallRule rule{calls_.calls[call].function};
    rule.completes_all = calls_.calls[call].completes_all;
    for (std::int32_t stage = 1; stage < count; ++stage) {
      rule.completes_all =
          rule.completes_all && calls_.calls[call + static_cast<std::uint32_t>(stage) * period].completes_all;
    }
    if (rule.completes_all && count > 1) return rule;
    const std::size_t parts = calls_.PartsOf(call).size();
    for (std::size_t part = 0; part < parts; ++part) {
      rule.parts.push_back(RuleOf(view_, rank_, StagesOf(calls_, call, part, period, count)));
      if (complete && !rule.completes_all && !IsComplete(rule.parts.back())) return std::nullopt;
    }
    return rule;
  }

  const RunView& view_;
  std::int64_t rank_;
  bool has_stages_;
  const RankCalls& calls_;
};

class Fitter {
 public:
  Fitter(const std::vector<RunCalls>& runs, const std::vector<RankGrid>& grids, const ClassScheme& scheme,
         std::size_t iterations)
      : runs_(runs), iterations_(iterations) {
    result_.scheme = scheme;
    result_.grids = grids;
  }

  // The largest run first, whose ranks are most.
  CallRules Fit() {
    for (std::size_t run = runs_.size(); run-- > 0;) {
      const RunView view{runs_[run], result_.grids[run], GroupsOf(runs_[run], result_.grids[run])};
      for (std::int64_t rank = 0; rank < runs_[run].ranks; ++rank) {
        ClassRules& rules = result_.classes[ClassOf(result_.scheme, view.grid, rank)];
        const std::uint64_t messages = result_.messages, explained = result_.explained;
        if (AddRank(view, rank, rules)) rules.donors.emplace_back(run, rank);
        rules.messages += result_.messages - messages;
        rules.explained += result_.explained - explained;
      }
    }
    return std::move(result_);
  }

 private:
  bool AddRank(const RunView& view, std::int64_t rank, ClassRules& rules) {
    const RankCalls& calls = view.run.of_ranks[static_cast<std::size_t>(rank)];
    std::vector<std::size_t> seen;
    bool fits = true;
    for (std::size_t i = 0; i < calls.iteration_end.size(); ++i) {
      const std::size_t kind = view.run.kinds[i];
      if (seen.size() <= kind) seen.resize(kind + 1, 0);
      if (seen[kind]++ >= iterations_) continue;
      if (rules.kinds.size() <= kind) rules.kinds.resize(kind + 1);
      if (rules.kinds[kind].empty()) rules.kinds[kind] = FirstReading(view, rank, result_.scheme.has_stages).Read(i);
      fits = AddIteration(view, rank, calls, i, rules.kinds[kind]) && fits;
    }
    return fits;
  }

  bool AddIteration(const RunView& view, std::int64_t rank, const RankCalls& calls, std::size_t i,
                    std::vector<CallBlock>& blocks) {
    std::uint32_t call = calls.FirstCall(i);
    const std::uint32_t end = calls.iteration_end[i];
    bool fits = true;
    for (CallBlock& block : blocks) {
      const std::int32_t count = CountHere(view, rank, calls, call, end, block);
      if (count < 0) return Miss(calls, call, end);
      std::erase_if(block.counts, [&](const CountRule& rule) { return rule.Count(view.grid) != count; });
      fits = AddStages(view, rank, calls, call, count, block) && fits;
      call += static_cast<std::uint32_t>(block.calls.size()) * static_cast<std::uint32_t>(count);
    }
    if (call < end) return Miss(calls, call, end);
    return fits;
  }

  // How often a rank goes through a block here: the largest number that a rule gives and whose partners fit; -1 where
  // the calls are others.
  static std::int32_t CountHere(const RunView& view, std::int64_t rank, const RankCalls& calls, std::uint32_t call,
                                std::uint32_t end, const CallBlock& block) {
    if (block.calls.empty()) return 1;
    const std::int32_t repeats = Repeats(calls, call, end, block.calls);
    if (block.counts.empty()) return repeats > 0 ? 1 : -1;
    std::set<std::int32_t, std::greater<>> counts;
    for (const CountRule& rule : block.counts) counts.insert(rule.Count(view.grid));
    for (const std::int32_t count : counts) {
      if (count <= repeats && HasPartners(view, rank, calls, call, count, block)) return count;
    }
    return -1;
  }

  static bool HasPartners(const RunView& view, std::int64_t rank, const RankCalls& calls, std::uint32_t first,
                          std::int32_t count, const CallBlock& block) {
    if (count == 0) return true;
    const auto period = static_cast<std::uint32_t>(block.calls.size());
    for (std::uint32_t i = 0; i < period; ++i) {
      const CallRule& rule = block.calls[i];
      for (std::size_t part = 0; part < (rule.completes_all ? 0 : rule.parts.size()); ++part) {
        PartRule copy = rule.parts[part];
        if (!Narrow(view, rank, StagesOf(calls, first + i, part, period, count), copy)) return false;
      }
    }
    return true;
  }

  // What no rule foresees counts as not explained.
  bool Miss(const RankCalls& calls, std::uint32_t call, std::uint32_t end) {
    for (; call < end; ++call) {
      for (const CallPart& part : calls.PartsOf(call)) result_.messages += IsPost(part.kind);
    }
    return false;
  }

  bool AddStages(const RunView& view, std::int64_t rank, const RankCalls& calls, std::uint32_t first,
                 std::int32_t count, CallBlock& block) {
    if (count == 0) return true;
    const auto period = static_cast<std::uint32_t>(block.calls.size());
    bool fits = true;
    for (std::uint32_t i = 0; i < period; ++i) {
      CallRule& rule = block.calls[i];
      rule.completes_all = rule.completes_all && calls.calls[first + i].completes_all;
      if (rule.completes_all) continue;
      for (std::size_t part = 0; part < rule.parts.size(); ++part) {
        const bool holds = Narrow(view, rank, StagesOf(calls, first + i, part, period, count), rule.parts[part]);
        if (IsPost(rule.parts[part].kind)) {
          result_.messages += static_cast<std::uint64_t>(count);
          result_.explained += holds ? static_cast<std::uint64_t>(count) : 0;
        }
        fits = fits && holds;
      }
    }
    return fits;
  }

  const std::vector<RunCalls>& runs_;
  std::size_t iterations_;
  CallRules result_;
};

// How many different steps the messages of a run make on a grid; each counts by its length, so that near neighbours are
// preferred.
double Disorder(const RunCalls& run, const RankGrid& grid) {
  std::set<GridVector> steps;
  for (std::int64_t rank = 0; rank < run.ranks; ++rank) {
    const RankCalls& calls = run.of_ranks[static_cast<std::size_t>(rank)];
    std::set<std::int32_t> peers;
    for (std::uint32_t i = 0; i < calls.FirstPart(calls.iteration_end.front()); ++i) {
      const CallPart& part = calls.parts[i];
      if (IsPost(part.kind) && !PartOf(part.kind).IsCollective() && part.peer >= 0) peers.insert(part.peer);
    }
    const GridVector from = grid.CoordinatesOf(rank);
    for (const std::int32_t peer : peers) {
      GridVector step = grid.CoordinatesOf(peer);
      for (std::size_t d = 0; d < kMostDimensions; ++d) {
        step[d] -= from[d];
        const std::int32_t extent = grid.extents[d];  // the shorter way around
        if (2 * std::abs(step[d]) >= extent) step[d] -= step[d] > 0 ? extent : -extent;
        if (2 * std::abs(step[d]) == extent) step[d] = extent / 2;
      }
      steps.insert(step);
    }
  }
  double sum = 0;
  for (const GridVector& step : steps) {
    for (const std::int32_t one : step) sum += std::abs(one);
  }
  // Of equals, the one that MPI_Dims_create would rather choose.
  return sum + 0.001 * *std::ranges::max_element(grid.extents);
}

std::vector<RankGrid> BestGrids(const RunCalls& run, std::size_t dimensions, std::size_t most) {
  std::vector<std::pair<double, RankGrid>> ranked;
  for (const RankGrid& grid : GridsOf(run.ranks, dimensions)) ranked.emplace_back(Disorder(run, grid), grid);
  std::ranges::stable_sort(ranked, {}, &std::pair<double, RankGrid>::first);
  std::vector<RankGrid> best;
  for (std::size_t i = 0; i < std::min(most, ranked.size()); ++i) best.push_back(ranked[i].second);
  return best;
}

}  // namespace

std::int64_t TagBase(const TagRule& rule, std::int64_t rank, std::int64_t peer, const Stage& stage) {
  switch (rule.kind) {
    case TagRule::Kind::kConstant: return 0;
    case TagRule::Kind::kRank: return rank;
    case TagRule::Kind::kPeer: return peer;
    case TagRule::Kind::kStage: return stage.index;
    case TagRule::Kind::kStageFromLast: return stage.count - 1 - stage.index;
  }
  return 0;
}

std::int32_t CountRule::Count(const RankGrid& grid) const {
  if (kind == Kind::kConstant) return plus;
  const std::int64_t extent = dimension < 0 ? grid.size() : grid.extents[static_cast<std::size_t>(dimension)];
  if (kind == Kind::kExtent) return static_cast<std::int32_t>(extent) + plus;
  return std::bit_width(static_cast<std::uint64_t>(extent)) - 1;
}

std::string CountRule::Text() const {
  if (kind == Kind::kConstant) return fmt::format("{}", plus);
  const std::string of = dimension < 0 ? "P" : fmt::format("extent of {}", "xyzt"[dimension]);
  if (kind == Kind::kLogarithm) return "log2 " + of;
  return plus == 0 ? of : fmt::format("{} {:+}", of, plus);
}

double ClassRules::Confirmed() const {
  if (donors.empty()) return 0;
  const bool has_others =
      std::ranges::any_of(donors, [&](const auto& one) { return one.first != donors.front().first; });
  return has_others ? 1 : 1 - 1.0 / static_cast<double>(donors.size());
}

double CallRules::Confirmed() const {
  if (messages == 0) return 1;
  double confirmed = 0;
  for (const auto& [key, one] : classes) confirmed += one.Confirmed() * static_cast<double>(one.explained);
  return confirmed / static_cast<double>(messages);
}

std::vector<std::size_t> CallRules::RunsAlone() const {
  std::vector<bool> shares(grids.size(), false);
  for (const auto& [key, one] : classes) {
    std::set<std::size_t> runs;
    for (const auto& [run, rank] : one.donors) runs.insert(run);
    for (const std::size_t run : runs) shares[run] = shares[run] || runs.size() > 1;
  }
  std::vector<std::size_t> alone;
  for (std::size_t run = 0; run < shares.size(); ++run) {
    if (!shares[run]) alone.push_back(run);
  }
  return alone;
}

RankClass ClassOf(const ClassScheme& scheme, const RankGrid& grid, std::int64_t rank) {
  RankClass result{};
  const GridVector at = grid.CoordinatesOf(rank);
  for (std::size_t d = 0; d < kMostDimensions; ++d) {
    result[2 * kMostDimensions + d] = static_cast<std::int16_t>(std::min(grid.extents[d], scheme.small_extents));
    result[2 * d] = static_cast<std::int16_t>(std::min(at[d], scheme.reach[d]));
    result[2 * d + 1] = static_cast<std::int16_t>(std::min(grid.extents[d] - 1 - at[d], scheme.reach[d]));
  }
  return result;
}

CallRules FitCallRules(const std::vector<RunCalls>& runs, const std::vector<RankGrid>& grids, const ClassScheme& scheme,
                       std::size_t iterations) {
  return Fitter(runs, grids, scheme, iterations).Fit();
}

namespace {

// How unlike the extents of two layouts are in their proportions.
double Unlikeness(const RankGrid& a, const RankGrid& b) {
  const double ratio = static_cast<double>(a.size()) / static_cast<double>(b.size());
  const double even = std::pow(ratio, 1.0 / static_cast<double>(std::max<std::size_t>(1, b.dimensions())));
  double sum = 0;
  for (std::size_t d = 0; d < kMostDimensions; ++d) {
    const double expected = b.extents[d] == 1 ? 1 : even * b.extents[d];
    sum += std::abs(std::log(a.extents[d] / expected));
  }
  return sum;
}

// The layout of the largest run is given, those of the others are chosen one by one beside it: of those that explain
// equally much, the one that is most like it.
std::vector<RankGrid> GridsBeside(const std::vector<RunCalls>& runs, const RankGrid& largest, std::size_t dimensions,
                                  const ClassScheme& scheme) {
  std::vector<RankGrid> grids(runs.size());
  grids.back() = largest;
  for (std::size_t run = 0; run + 1 < runs.size(); ++run) {
    double share = -1;
    std::vector<RankGrid> tried = BestGrids(runs[run], dimensions, 8);
    std::ranges::stable_sort(tried, {}, [&](const RankGrid& grid) { return Unlikeness(grid, largest); });
    for (const RankGrid& grid : tried) {
      const double one = FitCallRules({runs[run], runs.back()}, {grid, largest}, scheme, 1).Confirmed();
      if (one > share + 1e-9) {
        grids[run] = grid;
        share = one;
      }
      if (share == 1) break;
    }
  }
  return grids;
}

// From plain to particular.
std::vector<ClassScheme> Schemes(std::size_t dimensions) {
  std::vector<ClassScheme> schemes;
  for (const std::int32_t reach : {0, 1, 2}) {
    for (const bool has_stages : {false, true}) {
      for (const std::int32_t small_extents : {1, 2, 3}) {
        ClassScheme scheme{{}, small_extents, has_stages};
        for (std::size_t d = 0; d < dimensions; ++d) scheme.reach[d] = reach;
        schemes.push_back(scheme);
      }
    }
  }
  return schemes;
}

// A layout and classes of the largest run, and how much of it they explain by themselves.
struct Start {
  RankGrid grid;
  ClassScheme scheme;
  double share = 0;
};

// All of so many dimensions, the best first and the plainer before the more particular; those that explain clearly less
// are left out.
std::vector<Start> Starts(const RunCalls& largest, std::size_t dimensions) {
  constexpr double kClearlyLess = 0.01;  // chosen: rules of the other runs do not make up for it
  constexpr std::size_t kMost = 8;       // chosen: as many as a search over all runs has time for
  std::vector<Start> starts;
  for (const ClassScheme& scheme : Schemes(dimensions)) {
    for (const RankGrid& grid : BestGrids(largest, dimensions, 6)) starts.push_back({grid, scheme});
  }
  const std::vector<RunCalls> alone = {largest};
  ParallelFor(starts.size(), [&](std::size_t i) {
    starts[i].share = FitCallRules(alone, {starts[i].grid}, starts[i].scheme, 1).Share();
  });
  const double best = std::ranges::max(starts, {}, &Start::share).share;
  std::erase_if(starts, [&](const Start& start) { return start.share < best - kClearlyLess; });
  std::ranges::stable_sort(starts, std::greater<>(), [](const Start& start) { return std::round(1e4 * start.share); });
  if (starts.size() > kMost) starts.resize(kMost);
  return starts;
}

}  // namespace

CallRules FindCallRules(const std::vector<RunCalls>& runs) {
  std::optional<CallRules> best;
  for (std::size_t dimensions = 1; dimensions <= 3 && !(best && best->Confirmed() == 1); ++dimensions) {
    for (const Start& start : Starts(runs.back(), dimensions)) {
      CallRules rules = FitCallRules(runs, GridsBeside(runs, start.grid, dimensions, start.scheme), start.scheme, 1);
      if (!best || rules.Confirmed() > best->Confirmed() + 1e-6) best = std::move(rules);
      if (best->Confirmed() == 1) break;
    }
  }
  return FitCallRules(runs, best->grids, best->scheme, kAllIterations);
}

}  // namespace farscale
