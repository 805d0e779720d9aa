// What all ranks of a class do on a grid, worked out once: only partners, sizes and times are left to each rank.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "growth/rules/call_rules.h"
#include "growth/read/call_sites.h"
#include "growth/growth_model.h"
#include "growth/read/rank_grid.h"
#include "trace/mpi_call.h"
#include "trace/operations.h"

namespace farscale {

struct ClassPart {
  const PartRule* rule = nullptr;
  OperationPart is;
  Stage stage;
  std::uint16_t group = 0;   // index of the rule of its communicator in GridPlan::groups; of posts alone
  std::uint32_t number = 0;  // of the part among those of its call
  bool is_known = true;      // a post with rules for its partner and communicator
};

struct ClassCall {
  std::uint32_t model = 0;  // the call of the donor, counted within its iteration
  MpiCall function = MpiCall::kNone;
  bool completes_all = false;  // all that is pending
  CallSizes sizes;
  std::uint32_t parts_end = 0;
};

// The calls of an iteration of one kind.
struct KindPlan {
  std::vector<ClassCall> calls;
  std::vector<ClassPart> parts;
  std::array<std::uint32_t, 3> posts{};  // by class of operations, whether a partner is there or not
};

// Of a collective that a rank posts: index of the rule of its communicator, and its number among those of the rank on
// it.
struct CollectivePlace {
  std::uint16_t group = 0;
  std::uint32_t number = 0;
  bool is_completed = false;
};

struct ClassPlan {
  ClassDonors donors;
  double law = 1;  // computation to that of the donors
  std::vector<KindPlan> kinds;
  std::array<std::uint32_t, 3> posts{};      // of all iterations to be made
  std::vector<CollectivePlace> collectives;  // of these iterations
};

// The plans of all ranks.
struct GridPlan {
  RankGrid grid;
  std::vector<std::size_t> kinds;   // of all iterations
  std::vector<std::size_t> chosen;  // those to be made, rising
  std::vector<GroupRule> groups;    // communicators, each for many groups of ranks
  std::vector<std::uint32_t> most;  // collectives of a rank on a communicator of each rule
  std::vector<ClassPlan> classes;
  std::vector<std::uint16_t> class_of;  // of every rank

  const ClassPlan& PlanOf(std::int64_t rank) const { return classes[class_of[static_cast<std::size_t>(rank)]]; }
};

// The rules of a rank of a grid. Throws an error of kind kNotEnoughData where it is like none of the runs, or runs
// differ in what ranks like it do.
const std::pair<const RankClass, ClassRules>& RulesOfRank(const GrowthModel& model, const RankGrid& grid,
                                                          std::int64_t rank);

// Throws an error of kind kNotEnoughData where the grid has ranks that are like none of the runs.
GridPlan PlanGrid(const GrowthModel& model, const RankGrid& grid, const std::vector<std::size_t>& chosen);
// Of a run itself, on which every rank is its own donor.
GridPlan PlanRun(const GrowthModel& model, std::size_t run, const std::vector<std::size_t>& chosen);

// Operations of a rank that are posted, by class, so that completions find theirs.
struct OpenOperation {
  std::uint32_t slot = 0;  // among the posts of its class in the plan of the rank
  const ClassPart* part = nullptr;
  std::uint64_t bytes = 0, received = 0;
  bool is_pending = false;
};

class OpenOperations {
 public:
  void Clear() {
    for (auto& open : open_) open.clear();
    slots_ = {};
  }

  // Walks through a call. Calls bytes(number) for the bytes that part has, post(part, slot, operation), which says
  // whether there is such an operation on this rank, and complete(is, operation).
  template <typename Bytes, typename OnPost, typename OnComplete>
  void Call(const ClassCall& call, std::span<const ClassPart> parts, const Bytes& bytes, const OnPost& post,
            const OnComplete& complete) {
    if (call.completes_all) return CompleteAll(complete);
    for (const ClassPart& part : parts) {
      auto& open = open_[static_cast<std::size_t>(part.is.type)];
      if (!part.is.posts) {
        const auto back = static_cast<std::size_t>(part.rule->backs.front().Back(part.stage));
        if (back < open.size()) Complete(part.is.type, open[open.size() - 1 - back], complete);
        continue;
      }
      OpenOperation operation{slots_[static_cast<std::size_t>(part.is.type)]++, &part};
      if (!part.is_known) continue;
      std::tie(operation.bytes, operation.received) = bytes(part.number);
      operation.is_pending = !part.is.completes;
      if (post(part, operation)) open.push_back(operation);
    }
  }

 private:
  template <typename OnComplete>
  void CompleteAll(const OnComplete& complete) {
    for (std::size_t type = 0; type < open_.size(); ++type) {
      for (OpenOperation& operation : open_[type]) Complete(static_cast<OperationClass>(type), operation, complete);
      open_[type].clear();
    }
  }

  template <typename OnComplete>
  void Complete(OperationClass type, OpenOperation& operation, const OnComplete& complete) {
    if (std::exchange(operation.is_pending, false)) complete(OperationPart{type, false, true}, operation);
  }

  std::array<std::vector<OpenOperation>, 3> open_;
  std::array<std::uint32_t, 3> slots_{};
};

// How long every rank of a grown run computes.

// Times in ticks of the largest run.
struct GrownLoads {
  struct Copied {
    std::uint32_t from = 0;  // iteration of the donor
    double ratio = 1;        // of the computation to that of the donor
  };
  std::vector<std::uint32_t> donors;  // of every rank
  std::vector<Copied> copied;         // of the iterations to be made, rank by rank
  std::vector<Tick> useful;           // computation of every rank in all iterations, made or not
  // Of every iteration over all ranks: computation together, and that of the rank with most.
  std::vector<Tick> sums;
  std::vector<Tick> largest;
};

// Computation as drawn with this seed.
GrownLoads DrawLoads(const GrowthModel& model, const GridPlan& plan, std::uint64_t seed);
// That of a run itself.
GrownLoads LoadsOfRun(const GrowthModel& model, const GridPlan& plan, std::size_t run);

// How many ranks of a grid are of which class, however many ranks it has.

struct ClassCount {
  RankClass of_class{};
  std::int64_t first = 0;  // the lowest rank of the class
  std::int64_t ranks = 0;
};

// By the lowest rank.
std::vector<ClassCount> CountClasses(const ClassScheme& scheme, const RankGrid& grid);

// On which node the ranks of a grown run are, after those of the largest run.

// As many ranks are on a node as in the largest run: consecutive ones, or in turn where that run has them so. Copies of
// a run [statistical_growth.h] are on nodes as its ranks are, each copy of the run on others.
class NodeMap {
 public:
  NodeMap(const GrowthModel& model, const RankGrid& grid);

  std::int64_t nodes() const { return nodes_; }
  std::int64_t NodeOf(std::int64_t rank) const {
    if (!of_copied_.empty()) {
      const auto ranks = static_cast<std::int64_t>(of_copied_.size());
      return of_copied_[static_cast<std::size_t>(rank % ranks)] + rank / ranks * nodes_of_copy_;
    }
    return is_in_turn_ ? rank % nodes_ : rank / ranks_of_node_;
  }

 private:
  std::int64_t nodes_ = 1, ranks_of_node_ = 1, nodes_of_copy_ = 1;
  bool is_in_turn_ = false;
  std::vector<std::int32_t> of_copied_;  // nodes of the largest run; empty unless its ranks are copied
};

}  // namespace farscale
