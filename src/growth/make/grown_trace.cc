#include "growth/make/grown_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <map>
#include <optional>

#include "base/diagnostics.h"
#include "base/parallel.h"
#include "growth/make/class_plan.h"
#include "growth/rules/peer_rule.h"
#include "growth/growth_model.h"
#include "trace/trace_builder.h"

namespace farscale {
namespace {

// Communicators of a grown run: one for every group of ranks.
class GroupCommunicators {
 public:
  GroupCommunicators(const RankGrid& grid, const CallRules& rules, TraceBuilder& builder) : grid_(grid) {
    for (const auto& [key, of_class] : rules.classes) {
      for (const auto& kind : of_class.kinds) {
        for (const CallBlock& block : kind) {
          for (const CallRule& call : block.calls) {
            for (const PartRule& part : call.parts) {
              if (!part.groups.empty()) Add(part.groups.front(), builder);
            }
          }
        }
      }
    }
  }

  std::uint32_t Of(const GroupRule& rule, std::int64_t rank) const {
    const std::vector<std::uint32_t>& all = numbers_.at({rule.ranks, rule.copy});
    return all[static_cast<std::size_t>(GroupOf(grid_, rule.ranks, rank))];
  }
  // Place of a rank among those of its group.
  std::uint32_t Place(const GroupRule& rule, std::int64_t rank) const {
    return static_cast<std::uint32_t>(PlaceInGroup(grid_, rule.ranks, rank));
  }

 private:
  void Add(const GroupRule& rule, TraceBuilder& builder) {
    const auto [found, is_new] = numbers_.try_emplace({rule.ranks, rule.copy});
    if (!is_new) return;
    const std::int64_t groups = CountGroups(grid_, rule.ranks);
    std::vector<Communicator> communicators(static_cast<std::size_t>(groups));
    for (std::int64_t rank = 0; rank < grid_.size(); ++rank) {
      communicators[static_cast<std::size_t>(GroupOf(grid_, rule.ranks, rank))].members.push_back(
          static_cast<std::int32_t>(rank));
    }
    for (std::size_t i = 0; i < communicators.size(); ++i) {
      communicators[i].name = groups == 1 ? "all" : fmt::format("group {}", i);
      found->second.push_back(builder.AddCommunicator(std::move(communicators[i])));
    }
  }

  const RankGrid& grid_;
  std::map<std::pair<RankDivision, std::uint8_t>, std::vector<std::uint32_t>> numbers_;
};

// Operations of a rank that are posted, by class, so that completions find theirs.
struct PostedOperation {
  std::uint64_t request = 0;
  std::uint32_t peer = 0, communicator = 0, tag = 0;
  std::uint64_t bytes = 0, received = 0;
  CollectiveKind collective = CollectiveKind::kBarrier;
  std::optional<std::uint32_t> root;
  bool is_pending = false;
};

// Numbers of regions in a grown trace.
struct GrownRegions {
  std::uint32_t iteration = 0;
  std::vector<std::uint32_t> functions;             // of a model
  std::vector<std::vector<std::uint32_t>> of_runs;  // of every run of a model, by its own numbers
};

class RankGrower {
 public:
  RankGrower(const GrowthModel& model, const RankGrid& grid, const GroupCommunicators& groups, const Trace& definitions,
             std::int64_t rank)
      : model_(model),
        grid_(grid),
        seen_(grid.SeenBy(grid.ProgramOf(rank))),
        groups_(groups),
        rank_(rank),
        builder_(definitions, static_cast<std::int32_t>(rank)) {}

  RankBuilder& builder() { return builder_; }

  void Grow(const RankClass& of_class, const ClassRules& rules, const GrownRegions& regions, const RankDraws& draws) {
    const ClassDonors donors = DonorsOf(rules);
    const RankGrid grid = model_.rules.grids[donors.run].SeenBy(ProgramOf(of_class));
    RankDraw draw;
    draws.Draw(donors, model_.load.LawOf(of_class).Ratio(grid_, grid), rank_, draw);
    const Copy copy{draw.donor, model_.runs[donors.run].of_ranks[static_cast<std::size_t>(draw.donor)],
                    grid,       rules,
                    regions,    regions.of_runs[donors.run]};
    const std::vector<std::size_t>& kinds = model_.runs.back().kinds;
    for (std::size_t i = 0; i < kinds.size(); ++i)
      MakeIteration(copy, kinds[i], draw.iterations[i].from, draw.iterations[i].ratio);
    MoveTo(0, copy);
  }

  // The calls that the rank of a run made itself, as long after each other.
  void Repeat(std::size_t run, const ClassRules& rules, const GrownRegions& regions) {
    const RunCalls& of_run = model_.runs[run];
    const Copy copy{
        rank_, of_run.of_ranks[static_cast<std::size_t>(rank_)], seen_, rules, regions, regions.of_runs[run]};
    for (std::size_t i = 0; i < of_run.kinds.size(); ++i) MakeIteration(copy, of_run.kinds[i], i, 1);
    MoveTo(0, copy);
  }

 private:
  // What a rank is made of: calls of a rank of a run, on its grid as the program sees it, and the rules of both.
  struct Copy {
    std::int64_t rank = 0;
    const RankCalls& calls;
    const RankGrid& grid;
    const ClassRules& rules;
    const GrownRegions& regions;
    const std::vector<std::uint32_t>& of_run;  // numbers of the regions of its run
  };

  void MakeIteration(const Copy& copy, std::size_t kind, std::size_t from, double ratio) {
    if (!model_.has_region) builder_.Enter(tick_, copy.regions.iteration);
    for (const PlannedCall& call : PlanCalls(copy.rules.kinds[kind], kind, seen_, copy.grid)) {
      const std::uint32_t index = copy.calls.FirstCall(from) + call.model;
      Compute(copy, copy.calls.StepsBefore(index, from), copy.calls.calls[index].compute, ratio);
      builder_.Enter(tick_, copy.regions.functions[call.rule->function]);
      MakeCall(call, copy.calls.PartsOf(index), copy);
      builder_.Leave(tick_, copy.regions.functions[call.rule->function]);
    }
    Compute(copy, copy.calls.StepsBefore(copy.calls.iteration_end[from], from), copy.calls.compute_after[from], ratio);
    if (model_.has_region) {
      MoveTo(copy.calls.StepsBefore(copy.calls.FirstCall(from), from).front().path, copy);
    } else {
      MoveTo(0, copy);
      builder_.Leave(tick_, copy.regions.iteration);
    }
  }

  // Computes for a while, in the regions that the donor went through.
  void Compute(const Copy& copy, std::span<const RegionStep> steps, Tick ticks, double ratio) {
    const Tick begin = tick_;
    for (const RegionStep& step : steps) {
      tick_ = begin + std::llround(static_cast<double>(step.after) * ratio);
      MoveTo(step.path, copy);
    }
    tick_ = begin + std::llround(static_cast<double>(ticks) * ratio);
  }

  // Leaves the regions that are not on a path, and enters those that are.
  void MoveTo(std::uint32_t path, const Copy& copy) {
    const std::vector<RegionPath>& paths = copy.calls.paths;
    const auto number = [&](std::uint32_t of) { return copy.of_run[paths[of].region]; };
    std::vector<std::uint32_t> entered;
    // A path has a larger number than those that it continues.
    for (std::uint32_t to = path; path_ != to;) {
      if (path_ > to) {
        builder_.Leave(tick_, number(path_));
        path_ = paths[path_].parent;
      } else {
        entered.push_back(number(to));
        to = paths[to].parent;
      }
    }
    path_ = path;
    for (std::size_t i = entered.size(); i-- > 0;) builder_.Enter(tick_, entered[i]);
  }

  void MakeCall(const PlannedCall& call, std::span<const CallPart> parts, const Copy& copy) {
    if (call.rule->completes_all) {
      for (std::size_t type = 0; type < posted_.size(); ++type) {
        for (PostedOperation& operation : posted_[type]) {
          if (operation.is_pending) Complete(static_cast<OperationClass>(type), operation);
        }
        posted_[type].clear();
      }
      return;
    }
    const CallSizes sizes = model_.laws.SizesOn(seen_, call, copy.grid);
    for (std::size_t i = 0; i < call.rule->parts.size(); ++i) {
      std::uint64_t bytes = 0, received = 0;
      if (i < parts.size()) {
        std::tie(bytes, received) =
            sizes.Of(parts[i], IsRootOf(parts[i], copy.rank), IsRootBy(call.rule->parts[i], grid_, rank_, call.stage));
      }
      MakePart(call.rule->parts[i], call.stage, bytes, received);
    }
  }

  void MakePart(const PartRule& rule, const Stage& stage, std::uint64_t bytes, std::uint64_t received) {
    const OperationPart is = PartOf(rule.kind);
    auto& posted = posted_[static_cast<std::size_t>(is.type)];
    if (!is.posts) {
      const auto back = static_cast<std::size_t>(rule.backs.front().Back(stage));
      if (back < posted.size()) Complete(is.type, posted[posted.size() - 1 - back]);
      return;
    }
    PostedOperation operation = Posted(rule, is, stage, bytes, received);
    if (operation.communicator == kNone) return;
    Post(rule.kind, operation);
    operation.is_pending = !is.completes;
    posted.push_back(operation);
  }

  PostedOperation Posted(const PartRule& rule, const OperationPart& is, const Stage& stage, std::uint64_t bytes,
                         std::uint64_t received) {
    PostedOperation operation;
    operation.communicator = kNone;
    if (rule.groups.empty() || rule.peers.empty()) return operation;
    const GroupRule& group = rule.groups.front();
    const std::int64_t peer = PeerBy(rule.peers.front(), grid_, rank_, stage);
    operation.request = ++requests_;
    operation.bytes = bytes;
    operation.received = received;
    operation.collective = rule.collective;
    if (is.IsCollective()) {
      if (peer >= 0) operation.root = groups_.Place(group, peer);
    } else {
      if (peer < 0) return operation;
      operation.peer = groups_.Place(group, peer);
      const TagRule& tag = rule.tags.front();
      operation.tag = static_cast<std::uint32_t>(tag.plus + TagBase(tag, rank_, peer, stage));
    }
    operation.communicator = groups_.Of(group, rank_);
    return operation;
  }

  void Post(RecordKind kind, const PostedOperation& o) {
    switch (kind) {
      case RecordKind::kSend: return builder_.Send(o.peer, o.communicator, o.tag, o.bytes);
      case RecordKind::kSendPost: return builder_.SendPost(o.peer, o.communicator, o.tag, o.bytes, o.request);
      case RecordKind::kReceive: return builder_.Receive(o.peer, o.communicator, o.tag, o.bytes);
      case RecordKind::kReceivePost: return builder_.ReceivePost(o.request);
      case RecordKind::kCollective:
        return builder_.Collective(o.collective, o.communicator, o.root, o.bytes, o.received);
      case RecordKind::kCollectivePost: return builder_.CollectivePost(o.request);
      default: return;
    }
  }

  void Complete(OperationClass type, PostedOperation& o) {
    if (!std::exchange(o.is_pending, false)) return;
    switch (type) {
      case OperationClass::kSend: return builder_.SendComplete(o.request);
      case OperationClass::kReceive: return builder_.ReceiveComplete(o.peer, o.communicator, o.tag, o.bytes, o.request);
      case OperationClass::kCollective:
        return builder_.CollectiveComplete(o.collective, o.communicator, o.root, o.bytes, o.received, o.request);
    }
  }

  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  const GrowthModel& model_;
  const RankGrid& grid_;
  RankGrid seen_;  // by the program of the rank
  const GroupCommunicators& groups_;
  std::int64_t rank_;
  RankBuilder builder_;
  Tick tick_ = 0;
  std::uint32_t path_ = 0;  // of regions that the rank is in
  std::uint64_t requests_ = 0;
  std::array<std::vector<PostedOperation>, 3> posted_;
};

// A trace without ranks' timelines: what they refer to.
struct GrownDefinitions {
  TraceBuilder builder;
  GrownRegions regions;

  GrownDefinitions(const GrowthModel& model, const RankGrid& grid) {
    const RunCalls& largest = model.runs.back();
    builder.trace().format = "grown";
    builder.trace().ticks_per_second = largest.ticks_per_second;
    std::map<std::string, std::uint32_t> numbers;
    const auto number = [&](const std::string& name) {
      const auto [found, is_new] = numbers.try_emplace(name);
      if (is_new) found->second = builder.AddRegion(name);
      return found->second;
    };
    regions.iteration = number(model.region);
    for (std::size_t i = 0; i < model.functions.size(); ++i) {
      regions.functions.push_back(number(model.functions.Name(static_cast<std::uint32_t>(i))));
    }
    for (const RunCalls& run : model.runs) {
      std::vector<std::uint32_t>& of_run = regions.of_runs.emplace_back();
      for (const std::string& name : run.regions) of_run.push_back(number(name));
    }
    const NodeMap nodes(model, grid);
    for (std::int64_t node = 0; node < nodes.nodes(); ++node) builder.AddNode(fmt::format("node {}", node));
    for (std::int64_t rank = 0; rank < grid.size(); ++rank)
      builder.AddRank({static_cast<std::int32_t>(nodes.NodeOf(rank)), 1, fmt::format("rank {}", rank)});
  }
};

// Lets `make`(grower, rank) write the timeline of every rank.
template <typename Make>
Trace TraceOf(const GrowthModel& model, const RankGrid& grid, GrownDefinitions& definitions, const Make& make) {
  TraceBuilder& builder = definitions.builder;
  const GroupCommunicators groups(grid, model.rules, builder);
  std::deque<RankGrower> growers;
  for (std::int64_t rank = 0; rank < grid.size(); ++rank)
    growers.emplace_back(model, grid, groups, builder.definitions(), rank);
  ParallelFor(growers.size(), [&](std::size_t rank) { make(growers[rank], rank); });
  for (RankGrower& grower : growers) builder.SetTimeline(grower.builder());
  return std::move(builder).Finish();
}

}  // namespace

Trace GrowTrace(const GrowthModel& model, const RankGrid& grid, std::uint64_t seed) {
  std::vector<const std::pair<const RankClass, ClassRules>*> classes;
  for (std::int64_t rank = 0; rank < grid.size(); ++rank) {
    classes.push_back(&RulesOfRank(model, grid, rank));
  }
  GrownDefinitions definitions(model, grid);
  definitions.builder.trace().path = fmt::format("grown to {} ranks", grid.size());
  const RankDraws draws(model, seed);
  return TraceOf(model, grid, definitions, [&](RankGrower& grower, std::size_t rank) {
    grower.Grow(classes[rank]->first, classes[rank]->second, definitions.regions, draws);
  });
}

double CountCalls(const GrowthModel& model, const RankGrid& grid) {
  double sum = 0;
  for (const ClassCount& count : CountClasses(model.rules.scheme, grid)) {
    const auto found = model.rules.classes.find(count.of_class);
    const RankGrid seen = grid.SeenBy(ProgramOf(count.of_class));
    for (const std::size_t kind : model.runs.back().kinds) {
      if (found == model.rules.classes.end() || kind >= found->second.kinds.size()) break;
      for (const CallBlock& block : found->second.kinds[kind]) {
        sum += static_cast<double>(count.ranks) * static_cast<double>(block.Count(seen)) *
               static_cast<double>(block.calls.size());
      }
    }
  }
  return sum;
}

std::optional<Trace> RepeatRun(const GrowthModel& model, std::size_t run) {
  const RankGrid& grid = model.rules.grids[run];
  std::vector<const ClassRules*> classes(static_cast<std::size_t>(grid.size()));
  for (const auto& [key, of_class] : model.rules.classes) {
    for (const auto& [of_run, rank] : of_class.donors) {
      if (of_run == run && !of_class.is_composed) classes[static_cast<std::size_t>(rank)] = &of_class;
    }
  }
  if (std::ranges::find(classes, nullptr) != classes.end()) return std::nullopt;
  GrownDefinitions definitions(model, grid);
  definitions.builder.trace().path = fmt::format("the run on {} ranks", grid.size());
  return TraceOf(model, grid, definitions, [&](RankGrower& grower, std::size_t rank) {
    grower.Repeat(run, *classes[rank], definitions.regions);
  });
}

}  // namespace farscale
