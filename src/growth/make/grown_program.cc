#include "growth/make/grown_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>
#include <tuple>
#include <utility>

#include "base/parallel.h"
#include "replay/replay.h"
#include "trace/trace_builder.h"

namespace farscale {
namespace {

// Walks through the calls of a rank. The visitor has Compute(steps, ticks, ratio) for computation and the changes of
// region in it, Post(part, operation, call), which returns whether the rank has such an operation, Complete(type,
// operation), BeginIteration(), BeginCall(call), EndCall(call) and EndIteration(number, copied iteration).
template <typename Visitor>
void WalkRank(const GrowthModel& model, const GridPlan& plan, const GrownLoads& loads, std::size_t rank,
              OpenOperations& open, Visitor& visitor) {
  open.Clear();
  const ClassPlan& of_class = plan.PlanOf(rank);
  const std::int64_t donor = loads.donors[rank];
  const RankCalls& calls = model.runs[of_class.run].of_ranks[static_cast<std::size_t>(donor)];
  for (std::size_t i = 0; i < plan.chosen.size(); ++i) {
    const auto [from, ratio] = loads.copied[rank * plan.chosen.size() + i];
    visitor.BeginIteration();
    for (const ClassCall& call : of_class.kinds[plan.kinds[plan.chosen[i]]]) {
      const std::uint32_t copied = calls.FirstCall(from) + call.model;
      const auto donated = calls.Parts(copied);
      const auto post = [&](const ClassPart& part, OpenOperation& operation) {
        if (part.number < donated.size()) {
          const CallPart& like = donated[part.number];
          std::tie(operation.bytes, operation.received) =
              CopiedBytes(call.sizes, like, IsRootOf(like, donor),
                          IsRootBy(*part.rule, plan.grid, static_cast<std::int64_t>(rank), part.stage));
        }
        return visitor.Post(part, operation, call);
      };
      visitor.Compute(calls.StepsBefore(copied, from), calls.calls[copied].compute, ratio);
      visitor.BeginCall(call);
      open.Call(call, post,
                [&](OperationClass type, const OpenOperation& operation) { visitor.Complete(type, operation); });
      visitor.EndCall(call);
    }
    visitor.Compute(calls.StepsBefore(calls.iteration_end[from], from), calls.compute_after[from], ratio);
    visitor.EndIteration(i, from);
  }
}

Tick ScaledTicks(Tick ticks, double ratio) { return std::llround(static_cast<double>(ticks) * ratio); }

// A collective operation as one rank takes part in it.
struct Contribution {
  std::uint32_t operation = 0;
  CollectiveKind kind = CollectiveKind::kBarrier;
  std::int32_t node = 0;
  double sent = 0, received = 0;
};

// A program while it grows, and data that its ranks share.
struct Growing {
  const GridPlan& plan;
  const GrownMessages& messages;
  ReplayOptions options;
  double ticks_per_second;
  std::vector<std::int32_t> nodes;             // one a rank
  std::vector<std::uint32_t> first_operation;  // on the communicators of every rule, and behind the last
  Program program = {};
  MessageFlags flags = {};
  std::vector<std::vector<Contribution>> contributions = {};  // one a block of ranks, at its first

  // The number of the message or collective operation of a post of a rank.
  std::uint32_t Number(OperationClass type, std::size_t rank, std::uint32_t slot) const {
    if (type == OperationClass::kReceive) return messages.message_of[messages.first_receive[rank] + slot];
    if (type == OperationClass::kSend) {
      const std::uint32_t message = messages.first_send[rank] + slot;
      return messages.to[message] == GrownMessages::kNoPartner ? GrownMessages::kNoPartner : message;
    }
    const auto& [rule, number] = plan.PlanOf(rank).collectives[slot];
    if (!number) return kNoCollective;
    const std::int64_t group = GroupOf(plan.grid, plan.groups[rule], static_cast<std::int64_t>(rank));
    return first_operation[rule] + static_cast<std::uint32_t>(group) * plan.most[rule] + *number;
  }
};

// Records of all messages of a rank what their senders and receivers know, and how long they take.
struct MessageFlagger {
  Growing& of;
  std::size_t rank = 0;

  void Compute(std::span<const RegionStep>, Tick, double) {}
  void BeginIteration() {}
  void BeginCall(const ClassCall&) {}
  void EndCall(const ClassCall&) {}
  void EndIteration(std::size_t, std::size_t) {}
  void Complete(OperationClass, const OpenOperation&) {}

  bool Post(const ClassPart& part, const OpenOperation& operation, const ClassCall& call) {
    if (part.is.IsCollective()) return true;
    const std::uint32_t number = of.Number(part.is.type, rank, operation.slot);
    if (number == GrownMessages::kNoPartner || number == GrownMessages::kNotCompleted)
      return number == GrownMessages::kNotCompleted;
    if (part.is.type == OperationClass::kReceive) {  // which is awaited, too: else it had no number
      if (number != of.messages.unsent) of.flags.receiver[number] = kReceivePosted | kReceiverWaits;
      return true;
    }
    const std::int32_t from = of.nodes[rank], to = of.nodes[of.messages.to[number]];
    of.flags.sender[number] = SenderFlags(of.options, call.function, operation.bytes, from != to, part.is.completes);
    const Network* network = of.options.network;
    if (network == nullptr) return true;
    const Path path = PathOf(*network, of.ticks_per_second, from, to, operation.bytes);
    of.program.message_delays[number] = path.delay;
    if (network->HasContention()) of.program.paths[number] = path;
    return true;
  }
};

// Makes the instructions of a rank.
struct InstructionMaker {
  Growing& of;
  std::size_t block, rank;  // the first rank of those made one after the other, and this one
  CallCompiler compiler;
  std::vector<CompiledPart> parts = {};  // parts of the call
  std::uint64_t calls = 0;

  void Compute(std::span<const RegionStep>, Tick ticks, double ratio) { compiler.Compute(ScaledTicks(ticks, ratio)); }
  void BeginIteration() {}
  void BeginCall(const ClassCall&) {}
  void EndIteration(std::size_t number, std::size_t) { compiler.EndIteration(static_cast<std::uint32_t>(number)); }

  void EndCall(const ClassCall&) {
    compiler.Call(of.flags, parts, {});
    parts.clear();
    ++calls;
  }

  bool Post(const ClassPart& part, const OpenOperation& operation, const ClassCall&) {
    const std::uint32_t number = of.Number(part.is.type, rank, operation.slot);
    if (!part.is.IsCollective() && number == GrownMessages::kNoPartner) return false;
    AddPart(part.is, number == GrownMessages::kNotCompleted ? kNoMessage : number, operation);
    return true;
  }
  void Complete(OperationClass type, const OpenOperation& operation) {
    AddPart({type, false, true}, of.Number(type, rank, operation.slot), operation);
  }

  void AddPart(const OperationPart& is, std::uint32_t number, const OpenOperation& operation) {
    CompiledPart& part = parts.emplace_back(CompiledPart{{is, number}});
    if (!is.IsCollective()) return;
    const PartRule& rule = *operation.part->rule;
    const auto own = static_cast<std::int64_t>(rank);
    const RankGrid& grid = of.plan.grid;
    const std::int64_t root = PeerBy(rule.peers.front(), grid, own, operation.part->stage);
    part.collective = rule.collective;
    part.has_root = root >= 0;
    part.is_root = part.has_root && MemberAtPlaceOf(grid, of.plan.groups[operation.part->group], own, root) == own;
    if (of.options.network == nullptr || !is.completes || !part.IsMatched()) return;
    of.contributions[block].push_back({number, rule.collective, of.nodes[rank], static_cast<double>(operation.bytes),
                                       static_cast<double>(operation.received)});
  }
};

// From what the ranks contribute, in their order.
void AddCollectiveDelays(Growing& growing) {
  const std::size_t operations = growing.program.arrivals.size();
  std::vector<CollectiveBytes> bytes(operations);
  std::vector<const Contribution*> first(operations, nullptr);
  std::vector<bool> is_local(operations, true);
  for (const std::vector<Contribution>& some : growing.contributions) {
    for (const Contribution& one : some) {
      const std::uint32_t i = one.operation;
      if (first[i] == nullptr) first[i] = &one;
      if (first[i]->node != one.node) is_local[i] = false;
      bytes[i].Add(one.sent, one.received);
    }
  }
  growing.program.collective_delays.assign(operations, 0);
  for (std::size_t i = 0; i < operations; ++i) {
    if (first[i] == nullptr) continue;
    const double seconds = CollectiveSeconds(*growing.options.network, first[i]->kind, is_local[i], bytes[i]);
    growing.program.collective_delays[i] = ToTicks(growing.ticks_per_second, seconds);
  }
}

void OrderScans(Growing& growing) {
  Program& program = growing.program;
  std::vector<std::optional<std::uint32_t>> orders(growing.plan.groups.size());
  for (const auto& [operation, ranks] : program.scan_ranks) {
    const auto group = static_cast<std::size_t>(std::ranges::upper_bound(growing.first_operation, operation) -
                                                growing.first_operation.begin() - 1);
    if (!orders[group]) {
      const RankDivision& division = growing.plan.groups[group];
      orders[group] = static_cast<std::uint32_t>(program.scan_orders.size());
      ScanOrder& order = program.scan_orders.emplace_back();
      for (std::int64_t rank = 0; rank < growing.plan.grid.size(); ++rank) {
        const auto size = static_cast<std::uint32_t>(SizeOfGroup(growing.plan.grid, division, rank));
        order.members = std::max(order.members, size);  // members of the largest group
        order.places.push_back(static_cast<std::uint32_t>(PlaceInGroup(growing.plan.grid, division, rank)));
      }
    }
    program.order_of_scan[operation] = *orders[group];
  }
}

}  // namespace

Program CompileGrown(const GrowthModel& model, const GridPlan& plan, const GrownMessages& messages,
                     const GrownLoads& loads, const ReplayRules& rules, const Network* network) {
  network = TimedNetwork(network);
  Growing growing{
      plan, messages, {rules, false, network}, model.runs.back().ticks_per_second, GrownNodes(model, plan.grid), {0}};
  for (std::size_t i = 0; i < plan.groups.size(); ++i) {
    const auto groups = static_cast<std::uint32_t>(CountGroups(plan.grid, plan.groups[i]));
    growing.first_operation.push_back(growing.first_operation.back() + groups * plan.most[i]);
  }
  Program& program = growing.program;
  program.ranks.resize(plan.class_of.size());
  program.nodes = 1 + static_cast<std::size_t>(std::ranges::max(growing.nodes));
  program.messages = messages.unsent + 1;
  program.iterations = static_cast<std::uint32_t>(plan.chosen.size());
  program.arrivals.assign(growing.first_operation.back(), 0);
  program.root_arrives.assign(growing.first_operation.back(), false);
  if (network != nullptr) {
    program.message_delays.assign(program.messages, 0);
    if (network->HasContention()) program.paths.resize(program.messages);
    program.sending = network->sending.value_or(0);
    program.receiving = network->receiving.value_or(0);
  }
  // Flags of messages first: instructions need those of both ends.
  growing.flags.sender.resize(program.messages);
  growing.flags.receiver.resize(program.messages);
  const std::size_t ranks = program.ranks.size();
  ParallelForBlocks(ranks, [&](std::size_t first, std::size_t end) {
    OpenOperations open;
    MessageFlagger flagger{growing};
    for (flagger.rank = first; flagger.rank < end; ++flagger.rank)
      WalkRank(model, plan, loads, flagger.rank, open, flagger);
  });
  std::vector<std::uint64_t> calls(ranks);
  growing.contributions.resize(ranks);
  ParallelForBlocks(ranks, [&](std::size_t first, std::size_t end) {
    OpenOperations open;
    for (std::size_t rank = first; rank < end; ++rank) {
      InstructionMaker maker{growing, first, rank, {growing.options, growing.ticks_per_second}};
      WalkRank(model, plan, loads, rank, open, maker);
      program.ranks[rank] = maker.compiler.Finish();
      program.ranks[rank].instructions.shrink_to_fit();
      calls[rank] = maker.calls;
    }
  });
  for (const std::uint64_t of_rank : calls) program.calls += of_rank;
  CountArrivals(program);
  OrderScans(growing);
  if (network != nullptr) {
    AddCollectiveDelays(growing);
    RequireTimes(*network, program);
  }
  return std::move(program);
}

namespace {

// A trace without ranks' timelines, and the numbers in it.
struct GrownDefinitions {
  TraceBuilder builder;
  std::uint32_t iteration = 0;                                // region
  std::vector<std::uint32_t> functions;                       // regions of a model's functions
  std::vector<std::vector<std::uint32_t>> of_runs;            // regions of every run of a model, by its own numbers
  std::map<RankDivision, std::vector<std::uint32_t>> groups;  // communicators of the groups of every rule
};

void Define(const GrowthModel& model, const RankGrid& grid, GrownDefinitions& definitions) {
  TraceBuilder& builder = definitions.builder;
  builder.trace().format = "grown";
  builder.trace().ticks_per_second = model.runs.back().ticks_per_second;
  std::map<std::string, std::uint32_t> numbers;
  const auto number = [&](const std::string& name) {
    const auto [found, is_new] = numbers.try_emplace(name);
    if (is_new) found->second = builder.AddRegion(name);
    return found->second;
  };
  definitions.iteration = number(model.region);
  for (std::uint32_t i = 0; i < model.functions.size(); ++i)
    definitions.functions.push_back(number(model.functions[i]));
  for (const RunCalls& run : model.runs) {
    std::vector<std::uint32_t>& of_run = definitions.of_runs.emplace_back();
    for (const std::string& name : run.regions) of_run.push_back(number(name));
  }
  const std::vector<std::int32_t> nodes = GrownNodes(model, grid);
  for (std::int32_t node = 0; node <= std::ranges::max(nodes); ++node) builder.AddNode(fmt::format("node {}", node));
  for (std::size_t rank = 0; rank < nodes.size(); ++rank)
    builder.AddRank({nodes[rank], 1, fmt::format("rank {}", rank)});
  for (const auto& [key, of_class] : model.rules.classes) {
    ForEachPart(of_class, [&](const CallRule&, const PartRule& part) {
      if (part.groups.empty()) return;
      const RankDivision& rule = part.groups.front();
      const auto [found, is_new] = definitions.groups.try_emplace(rule);
      if (!is_new) return;
      std::vector<Communicator> communicators(static_cast<std::size_t>(CountGroups(grid, rule)));
      for (std::int64_t rank = 0; rank < grid.size(); ++rank) {
        const auto group = static_cast<std::size_t>(GroupOf(grid, rule, rank));
        communicators[group].members.push_back(static_cast<std::int32_t>(rank));
      }
      for (std::size_t i = 0; i < communicators.size(); ++i) {
        communicators[i].name = communicators.size() == 1 ? "all" : fmt::format("group {}", i);
        found->second.push_back(builder.AddCommunicator(std::move(communicators[i])));
      }
    });
  }
}

// Writes the timeline of a rank, which goes through the regions of its donor.
struct TimelineMaker {
  const GrownDefinitions& definitions;
  const RankGrid& grid;
  const RankCalls& calls;  // calls of the donor
  std::size_t run;         // the donor's
  bool has_region;         // as in the model
  std::int64_t rank;
  RankBuilder& builder;
  Tick tick = 0;
  std::uint32_t path = 0;  // regions that the rank is in

  void Compute(std::span<const RegionStep> steps, Tick ticks, double ratio) {
    const Tick begin = tick;
    for (const auto& [after, to] : steps) {
      tick = begin + ScaledTicks(after, ratio);
      MoveTo(to);
    }
    tick = begin + ScaledTicks(ticks, ratio);
  }

  void BeginIteration() {
    if (!has_region) builder.Enter(tick, definitions.iteration);
  }
  void EndIteration(std::size_t, std::size_t from) {
    if (has_region) return MoveTo(calls.StepsBefore(calls.FirstCall(from), from).front().second);
    MoveTo(0);
    builder.Leave(tick, definitions.iteration);
  }
  void BeginCall(const ClassCall& call) { builder.Enter(tick, definitions.functions[call.rule->function]); }
  void EndCall(const ClassCall& call) { builder.Leave(tick, definitions.functions[call.rule->function]); }

  // Leaves the regions that are not on a path, and enters those that are.
  void MoveTo(std::uint32_t target) {
    std::vector<std::uint32_t> entered;
    // A path has a larger number than those that it continues.
    for (std::uint32_t to = target; path != to;) {
      std::uint32_t& longer = path > to ? path : to;
      const std::uint32_t region = definitions.of_runs[run][calls.RegionOf(longer)];
      if (path > to) {
        builder.Leave(tick, region);
      } else {
        entered.push_back(region);
      }
      longer = calls.paths[longer].first;
    }
    path = target;
    for (std::size_t i = entered.size(); i-- > 0;) builder.Enter(tick, entered[i]);
  }

  bool Post(const ClassPart& part, const OpenOperation& operation, const ClassCall&) {
    return Record(part.rule->kind, operation);
  }
  void Complete(OperationClass type, const OpenOperation& operation) {
    Record(type == OperationClass::kSend      ? RecordKind::kSendComplete
           : type == OperationClass::kReceive ? RecordKind::kReceiveComplete
                                              : RecordKind::kCollectiveComplete,
           operation);
  }

  // False for a message without a partner.
  bool Record(RecordKind kind, const OpenOperation& o) {
    const PartRule& rule = *o.part->rule;
    const RankDivision& group = rule.groups.front();
    const std::int64_t to = PeerBy(rule.peers.front(), grid, rank, o.part->stage);
    if (to < 0 && !o.part->is.IsCollective()) return false;
    const auto peer = static_cast<std::uint32_t>(to < 0 ? 0 : PlaceInGroup(grid, group, to));
    const std::optional<std::uint32_t> root = to < 0 ? std::nullopt : std::optional(peer);
    const auto number = static_cast<std::size_t>(GroupOf(grid, group, rank));
    const std::uint32_t communicator = definitions.groups.at(group)[number];
    const auto tag =
        static_cast<std::uint32_t>(o.part->is.IsCollective() ? 0 : rule.tags.front().At(o.part->stage, rank, to));
    const std::uint64_t request = 3 * std::uint64_t{o.slot} + static_cast<std::uint64_t>(o.part->is.type);
    builder.Record({kind, peer, communicator, tag, o.bytes, request, rule.collective, root, o.received});
    return true;
  }
};

Trace MakeTrace(const GrowthModel& model, const GridPlan& plan, const GrownLoads& loads, const std::string& path) {
  GrownDefinitions definitions;
  Define(model, plan.grid, definitions);
  definitions.builder.trace().path = path;
  std::deque<RankBuilder> builders;
  for (std::size_t rank = 0; rank < plan.class_of.size(); ++rank)
    builders.emplace_back(definitions.builder.definitions(), static_cast<std::int32_t>(rank));
  ParallelFor(builders.size(), [&](std::size_t rank) {
    const std::size_t run = plan.PlanOf(rank).run;
    TimelineMaker maker{definitions,   plan.grid,        model.runs[run].of_ranks[loads.donors[rank]],
                        run,           model.has_region, static_cast<std::int64_t>(rank),
                        builders[rank]};
    OpenOperations open;
    WalkRank(model, plan, loads, rank, open, maker);
    maker.MoveTo(0);
  });
  for (RankBuilder& builder : builders) definitions.builder.SetTimeline(builder);
  return std::move(definitions.builder).Finish();
}

// All iterations of a run.
std::vector<std::size_t> AllIterations(const RunCalls& run) { return ChooseIterations(run.kinds, run.kinds.size()); }

// Calls visit(blocks, ranks, kind, grid) for the rules of all kinds of iterations of every class of the grid that has
// some, with the number of its ranks and the grid as they see it.
template <typename Visit>
void ForEachKind(const GrowthModel& model, const RankGrid& grid, const Visit& visit) {
  for (const auto& [first, ranks] : CountClasses(model.rules.scheme, grid)) {
    const auto found = model.rules.classes.find(ClassOf(model.rules.scheme, grid, first));
    if (found == model.rules.classes.end()) continue;
    const RankGrid seen = grid.SeenBy(ProgramOf(found->first));
    for (std::size_t kind = 0; kind < found->second.kinds.size(); ++kind)
      visit(found->second.kinds[kind], static_cast<double>(ranks), kind, seen);
  }
}

}  // namespace

Trace GrowTrace(const GrowthModel& model, const RankGrid& grid, std::uint64_t seed) {
  const GridPlan plan = PlanGrid(model, grid, AllIterations(model.runs.back()));
  return MakeTrace(model, plan, DrawLoads(model, plan, seed), fmt::format("grown to {} ranks", grid.size()));
}

std::optional<Trace> RepeatRun(const GrowthModel& model, std::size_t run) {
  if (!HasRulesOfAllRanks(model, run)) return std::nullopt;
  const GridPlan plan = PlanRun(model, run, AllIterations(model.runs[run]));
  return MakeTrace(model, plan, LoadsOfRun(model, plan, run), fmt::format("the run on {} ranks", plan.grid.size()));
}

double CountCalls(const GrowthModel& model, const RankGrid& grid) {
  double sum = 0;
  ForEachKind(model, grid, [&](const auto& blocks, double ranks, std::size_t kind, const RankGrid& seen) {
    const auto iterations = static_cast<double>(std::ranges::count(model.runs.back().kinds, kind));
    for (const CallBlock& block : blocks)
      sum += ranks * iterations * static_cast<double>(block.Count(seen)) * static_cast<double>(block.calls.size());
  });
  return sum;
}

double BytesToGrow(const GrowthModel& model, const RankGrid& grid, const std::vector<std::size_t>& of_kinds) {
  // Bytes of an allocation of its own, with those that the allocator adds.
  constexpr double kRank = sizeof(RankProgram) + sizeof(RankState) + 16 + 2 * sizeof(Tick) +  // program and engine
                           sizeof(Tick) + sizeof(std::uint32_t) +                             // loads
                           3 * sizeof(std::uint32_t) + 40;  // messages and collectives
  constexpr double kIteration = sizeof(CopiedIteration) + sizeof(Instruction);
  // A post and its completion are two instructions at most. Of messages: both sides while they are matched, then when
  // they are sent, received and posted, how long they take, and on which path.
  constexpr double kPost = 2 * sizeof(Instruction) + sizeof(std::uint32_t);
  constexpr double kMessage = 4 * sizeof(Tick) + sizeof(Path) + sizeof(std::uint32_t) + 2;
  const double ranks = static_cast<double>(grid.size());
  double bytes = kRank * ranks;
  ForEachKind(model, grid, [&](const auto& blocks, double of_class, std::size_t kind, const RankGrid& seen) {
    if (kind >= of_kinds.size()) return;
    double posts = 0, sends = 0;
    for (const CallBlock& block : blocks) {
      for (const CallRule& call : block.calls) {
        for (const PartRule& part : call.parts) {
          const OperationPart is = PartOf(part.kind);
          posts += is.posts ? block.Count(seen) : 0;
          sends += is.posts && is.type == OperationClass::kSend ? block.Count(seen) : 0;
        }
      }
    }
    bytes += of_class * static_cast<double>(of_kinds[kind]) * (kIteration + posts * kPost + sends * kMessage);
  });
  return bytes;
}

}  // namespace farscale
