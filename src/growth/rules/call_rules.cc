#include "growth/rules/call_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>
#include <tuple>

namespace farscale {
std::int64_t NumberRule::At(const Stage& stage, std::int64_t rank, std::int64_t peer) const {
  switch (kind) {
    case Kind::kConstant: break;
    case Kind::kRank: return plus + rank;
    case Kind::kPeer: return plus + peer;
    case Kind::kStage: return plus + stage.index;
    case Kind::kStageFromLast: return plus + stage.count - 1 - stage.index;
  }
  return plus;
}

std::int32_t CountRule::Count(const RankGrid& grid) const {
  if (kind == Kind::kConstant) return plus;
  if (kind == Kind::kRatio) return static_cast<std::int32_t>(grid.HasTwo() ? grid.SizeOf(1) / grid.SizeOf(0) : 0);
  const std::int64_t extent = dimension == kAllRanks  ? grid.size()
                              : dimension == kProgram ? grid.SizeOf(0)
                              : dimension == kOther   ? grid.HasTwo() ? grid.SizeOf(1) : 0
                                                      : grid.extents[static_cast<std::size_t>(dimension)];
  if (kind == Kind::kExtent) return static_cast<std::int32_t>(extent) + plus;
  if (kind == Kind::kTwice) return 2 * (static_cast<std::int32_t>(extent) + plus);
  return std::bit_width(static_cast<std::uint64_t>(extent)) - 1;
}

std::string CountRule::Text() const {
  if (kind == Kind::kConstant) return fmt::format("{}", plus);
  if (kind == Kind::kRatio) return "ranks of the other program a rank";
  const std::string of = dimension == kAllRanks  ? "P"
                         : dimension == kProgram ? "ranks of the program"
                         : dimension == kOther   ? "ranks of the other program"
                                                 : fmt::format("extent of {}", "xyzt"[dimension]);
  if (kind == Kind::kLogarithm) return "log2 " + of;
  const std::string sum = plus == 0 ? of : fmt::format("{} {:+}", of, plus);
  return kind == Kind::kTwice ? "twice " + sum : sum;
}

std::vector<std::int64_t> ClassRules::DonorsIn(std::size_t run) const {
  std::vector<std::int64_t> ranks;
  for (const auto& [of_run, rank] : donors) {
    if (of_run == run) ranks.push_back(rank);
  }
  return ranks;
}

std::pair<std::size_t, std::vector<std::int64_t>> ClassRules::Donors() const {
  std::size_t largest = 0;
  for (const auto& [run, rank] : donors) largest = std::max(largest, run);
  return {largest, DonorsIn(largest)};
}

double ClassRules::Confirmed() const {
  if (donors.empty()) return 0;
  const bool has_others =
      std::ranges::any_of(donors, [&](const auto& one) { return one.first != donors.front().first; });
  return has_others ? 1 : 1 - 1.0 / static_cast<double>(donors.size());
}

bool ClassRules::IsContradicted() const { return !donors.empty() && Confirmed() < 1 && !others.empty(); }

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
  const GridVector at = grid.Coordinates(rank);
  if (scheme.is_lifted) {
    result[0] = static_cast<std::int16_t>(at[0]);
    return result;
  }
  const std::size_t program = grid.ProgramOf(rank);
  const GridVector &extents = grid.ExtentsOf(program), &reach = scheme.reach[program];
  for (std::size_t d = 0; d < kMostDimensions; ++d) {
    result[2 * kMostDimensions + d] = static_cast<std::int16_t>(std::min(extents[d], scheme.small_extents));
    result[2 * d] = static_cast<std::int16_t>(std::min(at[d], reach[d]));
    result[2 * d + 1] = static_cast<std::int16_t>(std::min(extents[d] - 1 - at[d], reach[d]));
  }
  result.back() = static_cast<std::int16_t>(program);
  return result;
}

CallRules WithSmallExtents(const CallRules& of_one_run, std::int32_t small_extents) {
  CallRules rules = of_one_run;
  rules.scheme.small_extents = small_extents;
  rules.classes.clear();
  for (const auto& [key, of_class] : of_one_run.classes) {
    RankClass changed = key;
    for (std::size_t d = 0; d < kMostDimensions; ++d) {
      changed[2 * kMostDimensions + d] =
          static_cast<std::int16_t>(std::min(of_one_run.grids.front().ExtentsOf(ProgramOf(key))[d], small_extents));
    }
    rules.classes.emplace(changed, of_class);
  }
  return rules;
}

namespace {

// Calls that do the same on different ranks of a program: functions and parts, without partners.
using CallShape = std::pair<std::size_t, std::vector<std::tuple<std::uint32_t, RecordKind, CollectiveKind>>>;

// The classes that have a rule for calls of a shape.
template <typename Rule>
using Votes = std::map<CallShape, std::map<Rule, std::set<std::size_t>>>;

// Puts the rule with most votes first if it has clearly more than the one that is.
template <typename Rule>
void PutFirst(const std::map<Rule, std::set<std::size_t>>& votes, std::vector<Rule>& rules) {
  constexpr std::size_t kClearly = 2;  // times; chosen: up and down, or a step and a shift, differ by less
  if (rules.size() < 2) return;
  const auto count = [&](const Rule& rule) {
    const auto found = votes.find(rule);
    return found != votes.end() ? found->second.size() : 0;
  };
  const auto most = std::ranges::max_element(rules, {}, count);
  if (count(*most) > kClearly * count(rules.front())) std::rotate(rules.begin(), most, most + 1);
}

}  // namespace

void PreferCommonRules(CallRules& rules) {
  Votes<PeerRule> peers;
  Votes<NumberRule> tags;
  Votes<CountRule> counts;
  for (const bool votes : {true, false}) {  // then rules are ordered
    std::size_t number = 0;
    for (auto& [key, of_class] : rules.classes) {
      ++number;
      const auto program = ProgramOf(key);
      if (votes && of_class.Confirmed() < 1) continue;  // seen in one run only
      const auto take = [&](auto& of_shape, auto& of_call) {
        if (!votes) return PutFirst(of_shape, of_call);
        for (const auto& rule : of_call) of_shape[rule].insert(number);
      };
      ForEachPart(of_class, [&](const CallRule& call, PartRule& part) {
        const CallShape shape{program, {{call.function, part.kind, part.collective}}};
        take(peers[shape], part.peers);
        take(tags[shape], part.tags);
      });
      for (std::vector<CallBlock>& blocks : of_class.kinds) {
        for (CallBlock& block : blocks) {
          CallShape shape{ProgramOf(key), {}};
          for (const CallRule& call : block.calls) {
            for (const PartRule& part : call.parts)
              shape.second.emplace_back(call.function, part.kind, part.collective);
          }
          take(counts[shape], block.counts);
        }
      }
    }
  }
}

}  // namespace farscale
