#include "growth/rules/call_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "growth/rules/part_rules.h"

namespace farscale {
namespace {

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

class Fitter {
 public:
  Fitter(CallRules rules, std::size_t iterations, std::uint64_t most_missed = kNoLimit,
         std::optional<std::size_t> program = std::nullopt)
      : iterations_(iterations), most_missed_(most_missed), program_(program), result_(std::move(rules)) {}

  void AddRun(const RunCalls& run, std::size_t number) {
    const RunView view(run, result_.grids[number], result_.scheme.has_lines);
    for (std::int64_t rank = 0; rank < run.ranks; ++rank) {
      if (result_.messages - result_.explained > most_missed_) return;
      if (program_ && view.grid.ProgramOf(rank) != *program_) continue;
      ClassRules& rules = result_.classes[ClassOf(result_.scheme, view.grid, rank)];
      const std::uint64_t messages = result_.messages, explained = result_.explained;
      if (AddRank(view, rank, rules)) {
        rules.donors.emplace_back(number, rank);
      } else if (rules.others.empty() || rules.others.back() != run.ranks) {
        rules.others.push_back(run.ranks);
      }
      rules.messages += result_.messages - messages;
      rules.explained += result_.explained - explained;
    }
  }
  CallRules Result() { return std::move(result_); }

  static constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

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
      if (rules.kinds[kind].empty())
        rules.kinds[kind] = ReadRank(view, rank, i, result_.scheme.HasStages(view.grid.ProgramOf(rank)));
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
      if (count < 0) return Miss(view, calls, call, end);
      const RankGrid& seen = view.SeenBy(rank);
      std::erase_if(block.counts, [&](const CountRule& rule) { return rule.Count(seen) != count; });
      fits = AddStages(view, rank, calls, call, count, block) && fits;
      call += static_cast<std::uint32_t>(block.calls.size()) * static_cast<std::uint32_t>(count);
    }
    if (call < end) return Miss(view, calls, call, end);
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
    for (const CountRule& rule : block.counts) counts.insert(rule.Count(view.SeenBy(rank)));
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
  bool Miss(const RunView& view, const RankCalls& calls, std::uint32_t call, std::uint32_t end) {
    for (; call < end; ++call) {
      for (const CallPart& part : calls.PartsOf(call)) {
        if (IsPost(part.kind)) AddMissed(view, calls, call, 1);
      }
    }
    return false;
  }

  void AddMissed(const RunView& view, const RankCalls& calls, std::uint32_t call, std::uint64_t messages) {
    const std::uint32_t path = calls.PathAt(call);
    const std::string region = path > 0 ? view.run.regions[calls.paths[path].region] : "";
    result_.messages += messages;
    result_.missed[{calls.calls[call].function, region}] += messages;
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
        const auto messages = static_cast<std::uint64_t>(IsPost(rule.parts[part].kind) ? count : 0);
        if (holds) {
          result_.messages += messages;
          result_.explained += messages;
        } else if (messages > 0) {
          AddMissed(view, calls, first + i, messages);
        }
        fits = fits && holds;
      }
    }
    return fits;
  }

  std::size_t iterations_;  // of each kind that are read, at most
  std::uint64_t most_missed_;
  std::optional<std::size_t> program_;  // whose ranks are read; nothing: all
  CallRules result_;
};

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
  const GridVector at = grid.CoordinatesOf(rank);
  if (scheme.is_lifted) {
    result[0] = static_cast<std::int16_t>(at[0]);
    return result;
  }
  const std::size_t program = grid.ProgramOf(rank);
  const GridVector &extents = grid.ExtentsOf(program), &reach = scheme.ReachOf(program);
  for (std::size_t d = 0; d < kMostDimensions; ++d) {
    result[2 * kMostDimensions + d] = static_cast<std::int16_t>(std::min(extents[d], scheme.small_extents));
    result[2 * d] = static_cast<std::int16_t>(std::min(at[d], reach[d]));
    result[2 * d + 1] = static_cast<std::int16_t>(std::min(extents[d] - 1 - at[d], reach[d]));
  }
  result.back() = static_cast<std::int16_t>(program);
  return result;
}

// The largest run first, whose ranks are most.
CallRules FitCallRules(const std::vector<RunCalls>& runs, const std::vector<RankGrid>& grids, const ClassScheme& scheme,
                       std::size_t iterations) {
  Fitter fitter({.scheme = scheme, .grids = grids}, iterations);
  for (std::size_t run = runs.size(); run-- > 0;) fitter.AddRun(runs[run], run);
  return fitter.Result();
}

CallRules FitRun(const RunCalls& run, const RankGrid& grid, const ClassScheme& scheme, std::uint64_t most_missed,
                 std::optional<std::size_t> program) {
  Fitter fitter({.scheme = scheme, .grids = {grid}}, 1, most_missed, program);
  fitter.AddRun(run, 0);
  return fitter.Result();
}

CallRules AddRunBefore(CallRules rules, const RunCalls& run, const RankGrid& grid, std::optional<std::size_t> program) {
  rules.grids.insert(rules.grids.begin(), grid);
  for (auto& [key, of_class] : rules.classes) {
    for (auto& donor : of_class.donors) ++donor.first;
  }
  Fitter fitter(std::move(rules), 1, Fitter::kNoLimit, program);
  fitter.AddRun(run, 0);
  return fitter.Result();
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

// Which of several rules that hold for a class is the one that holds for others, too.

namespace {

bool IsOfSeveralRuns(const ClassRules& of_class) {
  return std::ranges::any_of(of_class.donors,
                             [&](const auto& one) { return one.first != of_class.donors.front().first; });
}

// Calls that do the same on different ranks of a program: functions and parts, without partners.
struct Shape {
  std::size_t program = 0;
  std::vector<std::tuple<std::uint32_t, RecordKind, CollectiveKind>> parts = {};

  friend auto operator<=>(const Shape&, const Shape&) = default;
};

Shape ShapeOf(std::size_t program, const CallRule& call, const PartRule& part) {
  return {program, {{call.function, part.kind, part.collective}}};
}
Shape ShapeOf(std::size_t program, const CallBlock& block) {
  Shape shape{program};
  for (const CallRule& call : block.calls) {
    for (const PartRule& part : call.parts) shape.parts.emplace_back(call.function, part.kind, part.collective);
  }
  return shape;
}

// How many classes have a rule for calls of a shape.
template <typename Rule>
class Votes {
 public:
  void Add(const Shape& shape, const std::vector<Rule>& rules, std::size_t of_class) {
    auto& of_shape = votes_[shape];
    for (const Rule& rule : rules) {
      auto found = std::ranges::find(of_shape, rule, &Vote::rule);
      if (found == of_shape.end()) found = of_shape.insert(found, {rule, 0, kNoClass});
      if (std::exchange(found->last, of_class) != of_class) ++found->classes;
    }
  }

  // That with most votes goes first where it has clearly more than the one that does.
  void Order(const Shape& shape, std::vector<Rule>& rules) const {
    constexpr std::size_t kClearly = 2;  // times; chosen: up and down, or a step and a shift, differ by less
    if (rules.size() < 2) return;
    const auto most = std::ranges::max_element(rules, {}, [&](const Rule& rule) { return Of(shape, rule); });
    if (Of(shape, *most) > kClearly * Of(shape, rules.front())) std::rotate(rules.begin(), most, most + 1);
  }

 private:
  static constexpr std::size_t kNoClass = static_cast<std::size_t>(-1);
  struct Vote {
    Rule rule;
    std::size_t classes = 0;
    std::size_t last = kNoClass;  // class that voted last
  };

  std::size_t Of(const Shape& shape, const Rule& rule) const {
    const auto found = votes_.find(shape);
    if (found == votes_.end()) return 0;
    const auto vote = std::ranges::find(found->second, rule, &Vote::rule);
    return vote != found->second.end() ? vote->classes : 0;
  }

  std::map<Shape, std::vector<Vote>> votes_;
};

struct AllVotes {
  Votes<PeerRule> peers;
  Votes<TagRule> tags;
  Votes<CountRule> counts;
};

// Calls visit(block) and visit(call, part) for everything in the rules of a class.
template <typename Blocks, typename Parts>
void VisitRules(ClassRules& of_class, const Blocks& blocks, const Parts& parts) {
  for (std::vector<CallBlock>& kind : of_class.kinds) {
    for (CallBlock& block : kind) {
      blocks(block);
      for (CallRule& call : block.calls) {
        for (PartRule& part : call.parts) parts(call, part);
      }
    }
  }
}

}  // namespace

void PreferCommonRules(CallRules& rules) {
  AllVotes votes;
  std::size_t number = 0;
  for (auto& [key, of_class] : rules.classes) {
    ++number;
    if (!IsOfSeveralRuns(of_class)) continue;
    const std::size_t program = ProgramOf(key);
    VisitRules(
        of_class, [&](CallBlock& block) { votes.counts.Add(ShapeOf(program, block), block.counts, number); },
        [&](CallRule& call, PartRule& part) {
          votes.peers.Add(ShapeOf(program, call, part), part.peers, number);
          votes.tags.Add(ShapeOf(program, call, part), part.tags, number);
        });
  }
  for (auto& [key, of_class] : rules.classes) {
    const std::size_t program = ProgramOf(key);
    VisitRules(
        of_class, [&](CallBlock& block) { votes.counts.Order(ShapeOf(program, block), block.counts); },
        [&](CallRule& call, PartRule& part) {
          votes.peers.Order(ShapeOf(program, call, part), part.peers);
          votes.tags.Order(ShapeOf(program, call, part), part.tags);
        });
  }
}

}  // namespace farscale
