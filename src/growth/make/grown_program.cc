#include "growth/make/grown_program.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "base/parallel.h"
#include "growth/make/class_plan.h"
#include "growth/rules/peer_rule.h"
#include "replay/call_compiler.h"
#include "replay/engine.h"

namespace farscale {
namespace {

// A collective operation as one rank takes part in it.
struct Contribution {
  std::uint32_t operation = 0;
  CollectiveKind kind = CollectiveKind::kBarrier;
  std::int32_t node = 0;
  double sent = 0, received = 0;
};

// What the ranks of a program share.
struct Growing {
  const GrowthModel& model;
  const GridPlan& plan;
  const GrownMessages& messages;
  const GrownLoads& loads;
  const ReplayRules& rules;
  const Network* network;
  double ticks_per_second;
  NodeMap nodes;
  std::vector<std::uint32_t> first_operation;  // on the communicators of every rule, and behind the last

  std::int32_t NodeOf(std::int64_t rank) const { return static_cast<std::int32_t>(nodes.NodeOf(rank)); }

  std::uint32_t OperationOf(const CollectivePlace& place, std::int64_t rank) const {
    if (!place.is_completed) return kNoCollective;
    const std::int64_t group = GroupOf(plan.grid, plan.groups[place.group].ranks, rank);
    return first_operation[place.group] + static_cast<std::uint32_t>(group) * plan.most[place.group] + place.number;
  }
};

// Walks through the calls of a rank. The visitor has Compute(ticks), Part(is, number, operation, call) for what a call
// posts and completes, with the message or collective operation, EndCall and EndIteration(number).
class RankWalk {
 public:
  explicit RankWalk(const Growing& growing) : of_(growing) {}

  template <typename Visitor>
  void Run(std::int64_t rank, Visitor& visitor) {
    open_.Clear();
    const auto index = static_cast<std::size_t>(rank);
    const ClassPlan& of_class = of_.plan.PlanOf(rank);
    const RankCalls& calls = of_.model.runs[of_class.donors.run].of_ranks[of_.loads.donors[index]];
    const std::size_t iterations = of_.plan.chosen.size();
    for (std::size_t i = 0; i < iterations; ++i) {
      const GrownLoads::Copied& copied = of_.loads.copied[index * iterations + i];
      const KindPlan& kind = of_class.kinds[of_.plan.kinds[of_.plan.chosen[i]]];
      std::uint32_t first = 0;
      for (const ClassCall& call : kind.calls) {
        const std::uint32_t model = calls.FirstCall(copied.from) + call.model;
        visitor.Compute(Ticks(calls.calls[model].compute, copied.ratio));
        MakeCall(rank, of_class, call, std::span(kind.parts).subspan(first, call.parts_end - first),
                 of_.loads.donors[index], calls.PartsOf(model), visitor);
        first = call.parts_end;
      }
      visitor.Compute(Ticks(calls.compute_after[copied.from], copied.ratio));
      visitor.EndIteration(static_cast<std::uint32_t>(i));
    }
  }

 private:
  static Tick Ticks(Tick ticks, double ratio) { return std::llround(static_cast<double>(ticks) * ratio); }
  template <typename Visitor>
  void MakeCall(std::int64_t rank, const ClassPlan& of_class, const ClassCall& call, std::span<const ClassPart> parts,
                std::int64_t donor, std::span<const CallPart> donated, Visitor& visitor) {
    open_.Call(
        call, parts,
        [&](std::uint32_t number) {
          if (number >= donated.size()) return std::pair<std::uint64_t, std::uint64_t>(0, 0);
          return call.sizes.Of(donated[number], IsRootOf(donated[number], donor),
                               IsRootBy(*parts[number].rule, of_.plan.grid, rank, parts[number].stage));
        },
        [&](const ClassPart& part, const OpenOperation& operation) {
          const std::uint32_t number = NumberOf(part.is.type, rank, of_class, operation.slot);
          if (number == GrownMessages::kNotCompleted) {
            visitor.Part(part.is, kNoMessage, operation, call);
            return true;
          }
          if (!part.is.IsCollective() && number == GrownMessages::kNoPartner) return false;
          visitor.Part(part.is, number, operation, call);
          return true;
        },
        [&](const OperationPart& is, const OpenOperation& operation) {
          visitor.Part(is, NumberOf(is.type, rank, of_class, operation.slot), operation, call);
        });
    visitor.EndCall();
  }

  // Of the message or collective operation.
  std::uint32_t NumberOf(OperationClass type, std::int64_t rank, const ClassPlan& of_class, std::uint32_t slot) const {
    const auto index = static_cast<std::size_t>(rank);
    if (type == OperationClass::kCollective) return of_.OperationOf(of_class.collectives[slot], rank);
    if (type == OperationClass::kReceive) return of_.messages.message_of[of_.messages.first_receive[index] + slot];
    const std::uint32_t message = of_.messages.first_send[index] + slot;
    return of_.messages.to[message] == GrownMessages::kNoPartner ? GrownMessages::kNoPartner : message;
  }

  const Growing& of_;
  OpenOperations open_;
};

// Says of all messages of a rank what their senders and receivers know, and how long they take.
class MessageFlagger {
 public:
  MessageFlagger(const Growing& growing, MessageFlags& flags, Program& program)
      : of_(growing), flags_(flags), program_(program) {}

  void Begin(std::int64_t rank) { rank_ = rank; }
  void Compute(Tick) {}
  void EndCall() {}
  void EndIteration(std::uint32_t) {}

  void Part(const OperationPart& is, std::uint32_t number, const OpenOperation& operation, const ClassCall& call) {
    if (is.IsCollective() || !is.posts || number == kNoMessage) return;
    if (is.type == OperationClass::kReceive) {  // which is awaited, too: else it had no number
      if (number != of_.messages.unsent) flags_.receiver[number] = kReceivePosted | kReceiverWaits;
      return;
    }
    const std::int32_t from = of_.NodeOf(rank_), to = of_.NodeOf(of_.messages.to[number]);
    flags_.sender[number] =
        SenderFlags(of_.rules, of_.network, false, {call.function, operation.bytes, from != to, is.completes});
    if (of_.network == nullptr) return;
    const Path path = PathOf(*of_.network, of_.ticks_per_second, from, to, operation.bytes);
    program_.message_delays[number] = path.delay;
    if (of_.network->HasContention()) program_.paths[number] = path;
  }

 private:
  const Growing& of_;
  MessageFlags& flags_;
  Program& program_;
  std::int64_t rank_ = 0;
};

// Makes the instructions of a rank.
class InstructionMaker {
 public:
  InstructionMaker(const Growing& growing, const MessageFlags& flags) : of_(growing), flags_(flags) {}

  void Begin(std::int64_t rank) {
    rank_ = rank;
    calls_ = 0;
    sink_.instructions.clear();
    compiler_.emplace(Compiler::Options{of_.rules, of_.network, of_.ticks_per_second}, flags_, sink_);
  }
  RankProgram End() const { return {sink_.instructions, 0, compiler_->compute_after(), {}}; }
  std::uint64_t calls() const { return calls_; }
  std::vector<Contribution>& contributions() { return contributions_; }

  void Compute(Tick ticks) { compiler_->Compute(ticks); }
  void EndIteration(std::uint32_t number) { compiler_->EndIteration(number); }

  void EndCall() {
    compiler_->Call(parts_, {});
    parts_.clear();
    ++calls_;
  }

  void Part(const OperationPart& is, std::uint32_t number, const OpenOperation& operation, const ClassCall&) {
    CompiledPart& part = parts_.emplace_back(CompiledPart{{is, number}});
    if (!is.IsCollective()) return;
    const PartRule& rule = *operation.part->rule;
    const std::int64_t root = PeerBy(rule.peers.front(), of_.plan.grid, rank_, operation.part->stage);
    part.collective = rule.collective;
    part.has_root = root >= 0;
    part.is_root = part.has_root &&
                   MemberAtPlaceOf(of_.plan.grid, of_.plan.groups[operation.part->group].ranks, rank_, root) == rank_;
    if (of_.network == nullptr || !is.completes || !part.IsMatched()) return;
    contributions_.push_back({number, rule.collective, of_.NodeOf(rank_), static_cast<double>(operation.bytes),
                              static_cast<double>(operation.received)});
  }

 private:
  struct Sink {
    std::vector<Instruction> instructions;

    void operator()(const Instruction& instruction, std::size_t) { instructions.push_back(instruction); }
    void EndCall() {}
  };
  using Compiler = CallCompiler<Sink>;

  const Growing& of_;
  const MessageFlags& flags_;
  Sink sink_;
  std::optional<Compiler> compiler_;
  std::vector<CompiledPart> parts_;  // of the call
  std::vector<Contribution> contributions_;
  std::int64_t rank_ = 0;
  std::uint64_t calls_ = 0;
};

void MakeRanks(const Growing& growing, const MessageFlags& flags, Program& program,
               std::vector<std::vector<Contribution>>& contributions) {
  std::vector<std::uint64_t> calls(program.ranks.size());
  contributions.resize(program.ranks.size());
  ParallelForBlocks(program.ranks.size(), [&](std::size_t first, std::size_t end) {
    RankWalk walk(growing);
    InstructionMaker maker(growing, flags);
    for (std::size_t rank = first; rank < end; ++rank) {
      maker.Begin(static_cast<std::int64_t>(rank));
      walk.Run(static_cast<std::int64_t>(rank), maker);
      program.ranks[rank] = maker.End();
      calls[rank] = maker.calls();
    }
    contributions[first] = std::move(maker.contributions());
  });
  for (const std::uint64_t of_rank : calls) program.calls += of_rank;
}

// From what the ranks contribute, in their order.
void AddCollectiveDelays(const Growing& growing, const std::vector<std::vector<Contribution>>& contributions,
                         Program& program) {
  struct Operation {
    OperationBytes bytes;
    CollectiveKind kind = CollectiveKind::kBarrier;
    std::int32_t node = -1;
    bool is_local = true;
  };
  std::vector<Operation> operations(program.arrivals.size());
  for (const std::vector<Contribution>& some : contributions) {
    for (const Contribution& one : some) {
      Operation& operation = operations[one.operation];
      if (operation.node < 0) operation = {{}, one.kind, one.node, true};
      operation.is_local = operation.is_local && operation.node == one.node;
      operation.bytes.Add(one.sent, one.received);
    }
  }
  program.collective_delays.assign(operations.size(), 0);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Operation& of = operations[i];
    if (of.bytes.ranks() == 0) continue;
    const double seconds =
        CollectiveSeconds(*growing.network, of.kind, of.bytes.ranks(), of.is_local, of.bytes.Bytes());
    program.collective_delays[i] = ToTicks(growing.ticks_per_second, seconds);
  }
}

void OrderScans(const Growing& growing, Program& program) {
  std::vector<std::uint32_t> orders(growing.plan.groups.size(), kNobody);
  for (const auto& [operation, ranks] : program.scan_ranks) {
    const auto group = static_cast<std::size_t>(std::ranges::upper_bound(growing.first_operation, operation) -
                                                growing.first_operation.begin() - 1);
    if (orders[group] == kNobody) {
      const RankDivision& division = growing.plan.groups[group].ranks;
      orders[group] = static_cast<std::uint32_t>(program.scan_orders.size());
      ScanOrder& order = program.scan_orders.emplace_back();
      for (std::int64_t rank = 0; rank < growing.plan.grid.size(); ++rank) {
        const auto size = static_cast<std::uint32_t>(SizeOfGroup(growing.plan.grid, division, rank));
        order.members = std::max(order.members, size);  // of the largest group
        order.places.push_back(static_cast<std::uint32_t>(PlaceInGroup(growing.plan.grid, division, rank)));
      }
    }
    program.order_of_scan[operation] = orders[group];
  }
}

std::vector<std::uint32_t> FirstOperations(const GridPlan& plan) {
  std::vector<std::uint32_t> first{0};
  for (std::size_t i = 0; i < plan.groups.size(); ++i) {
    const auto groups = static_cast<std::uint32_t>(CountGroups(plan.grid, plan.groups[i].ranks));
    first.push_back(first.back() + groups * plan.most[i]);
  }
  return first;
}

}  // namespace

Program CompileGrown(const GrowthModel& model, const GridPlan& plan, const GrownMessages& messages,
                     const GrownLoads& loads, const ReplayRules& rules, const Network* network) {
  const Growing growing{model,
                        plan,
                        messages,
                        loads,
                        rules,
                        network,
                        model.runs.back().ticks_per_second,
                        NodeMap(model, plan.grid),
                        FirstOperations(plan)};
  Program program;
  program.ranks.resize(plan.class_of.size());
  program.nodes = static_cast<std::size_t>(growing.nodes.nodes());
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
  MessageFlags flags;
  flags.sender.resize(program.messages);
  flags.receiver.resize(program.messages);
  ParallelForBlocks(program.ranks.size(), [&](std::size_t first, std::size_t end) {
    RankWalk walk(growing);
    MessageFlagger flagger(growing, flags, program);
    for (std::size_t rank = first; rank < end; ++rank) {
      flagger.Begin(static_cast<std::int64_t>(rank));
      walk.Run(static_cast<std::int64_t>(rank), flagger);
    }
  });
  std::vector<std::vector<Contribution>> contributions;
  MakeRanks(growing, flags, program, contributions);
  CountArrivals(program);
  OrderScans(growing, program);
  if (network != nullptr) {
    AddCollectiveDelays(growing, contributions, program);
    RequireTimes(*network, program);
  }
  return program;
}

double BytesToGrow(const GrowthModel& model, const RankGrid& grid, const std::vector<std::size_t>& of_kinds) {
  // Of an allocation of its own, with what the allocator adds.
  constexpr double kRank = sizeof(RankProgram) + sizeof(RankState) + 16 + 2 * sizeof(Tick) +  // program and engine
                           sizeof(Tick) + sizeof(std::uint32_t) +                             // loads
                           3 * sizeof(std::uint32_t) + 40;  // messages and collectives
  constexpr double kIteration = sizeof(GrownLoads::Copied) + sizeof(Instruction);
  // A post and its completion are two instructions at most. Of messages: both sides while they are matched, then when
  // they are sent, received and posted, how long they take, and on which path.
  constexpr double kPost = 2 * sizeof(Instruction) + sizeof(std::uint32_t);
  constexpr double kMessage = 4 * sizeof(Tick) + sizeof(Path) + sizeof(std::uint32_t) + 2;
  const double ranks = static_cast<double>(grid.size());
  double bytes = kRank * ranks;
  for (const ClassCount& count : CountClasses(model.rules.scheme, grid)) {
    const auto found = model.rules.classes.find(count.of_class);
    if (found == model.rules.classes.end()) continue;
    const RankGrid seen = grid.SeenBy(ProgramOf(count.of_class));
    for (std::size_t kind = 0; kind < std::min(of_kinds.size(), found->second.kinds.size()); ++kind) {
      double posts = 0, sends = 0;
      for (const CallBlock& block : found->second.kinds[kind]) {
        for (const CallRule& call : block.calls) {
          for (const PartRule& part : call.parts) {
            const OperationPart is = PartOf(part.kind);
            posts += is.posts ? block.Count(seen) : 0;
            sends += is.posts && is.type == OperationClass::kSend ? block.Count(seen) : 0;
          }
        }
      }
      bytes += static_cast<double>(count.ranks) * static_cast<double>(of_kinds[kind]) *
               (kIteration + posts * kPost + sends * kMessage);
    }
  }
  return bytes;
}

}  // namespace farscale
