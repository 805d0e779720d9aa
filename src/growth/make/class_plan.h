// The plan of a grown run: what the ranks of a class do on a grid, worked out once. Only partners, sizes and times are
// left to each rank.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "growth/growth_model.h"
#include "growth/read/call_sites.h"
#include "growth/read/rank_grid.h"
#include "growth/rules/call_rules.h"
#include "trace/names.h"
#include "trace/trace.h"

namespace farscale {

struct ClassPart {
  const PartRule* rule = nullptr;
  OperationPart is;
  Stage stage;
  std::uint16_t group = 0;   // index of the rule of its communicator in GridPlan::groups; of posts alone
  std::uint32_t number = 0;  // position of the part in its call
  bool is_known = true;      // a post with rules for its partner and communicator
};

struct ClassCall {
  const CallRule* rule = nullptr;
  std::uint32_t model = 0;  // the call of the donor, counted within its iteration
  MpiCall function = MpiCall::kNone;
  CallSizes sizes = {};
  std::vector<ClassPart> parts = {};
};

// A collective that a rank posts: the index of the rule of its communicator, and its number among those of the rank on
// it; nothing: it is not completed.
using CollectivePlace = std::pair<std::uint16_t, std::optional<std::uint32_t>>;

struct ClassPlan {
  std::size_t run = 0;  // whose ranks it copies
  std::vector<std::int64_t> donors = {};
  double law = 1;                                  // computation to that of the donors
  std::vector<std::vector<ClassCall>> kinds = {};  // calls of an iteration of every kind
  std::array<std::uint32_t, 3> posts{};            // in all iterations to be made, by class, with a partner or without
  std::vector<CollectivePlace> collectives = {};   // in these iterations
};

struct GridPlan {
  RankGrid grid = {};
  std::vector<std::size_t> kinds = {};    // one an iteration
  std::vector<std::size_t> chosen = {};   // those to be made, rising
  std::vector<RankDivision> groups = {};  // communicators, each for many groups of ranks
  std::vector<std::uint32_t> most = {};   // collectives of a rank on a communicator of each rule
  std::vector<ClassPlan> classes = {};
  std::vector<std::uint16_t> class_of = {};  // one a rank

  const ClassPlan& PlanOf(std::size_t rank) const { return classes[class_of[rank]]; }
  // Calls visit(call) for all that a rank of a class makes.
  template <typename Visit>
  void ForEachCall(const ClassPlan& of_class, const Visit& visit) const {
    for (const std::size_t iteration : chosen) {
      for (const ClassCall& call : of_class.kinds[kinds[iteration]]) visit(call);
    }
  }
};

// Throws an error of kind kNotEnoughData where the grid has ranks that are like none of the runs, or whose likes do
// different things in different runs.
GridPlan PlanGrid(const GrowthModel& model, const RankGrid& grid, const std::vector<std::size_t>& chosen);
// The plan of a run itself, in which every rank is its own donor.
GridPlan PlanRun(const GrowthModel& model, std::size_t run, const std::vector<std::size_t>& chosen);
// True if rules are known of all ranks of a run, as PlanRun needs.
bool HasRulesOfAllRanks(const GrowthModel& model, std::size_t run);

// An operation of a rank that is posted.
struct OpenOperation {
  std::uint32_t slot = 0;  // among the posts of its class in the plan of the rank
  const ClassPart* part = nullptr;
  std::uint64_t bytes = 0, received = 0;
  bool is_pending = false;
};

// Operations of a rank by class, so that completions find theirs.
class OpenOperations {
 public:
  void Clear() {
    for (auto& open : open_) open.clear();
    slots_ = {};
  }

  // Walks through a call. Calls post(part, operation), which returns whether there is such an operation on this rank
  // and may set its bytes, and complete(type, operation).
  template <typename OnPost, typename OnComplete>
  void Call(const ClassCall& call, const OnPost& post, const OnComplete& complete) {
    if (call.rule->completes_all) {
      for (std::size_t type = 0; type < open_.size(); ++type) {
        for (OpenOperation& operation : open_[type]) Complete(static_cast<OperationClass>(type), operation, complete);
        open_[type].clear();
      }
      return;
    }
    for (const ClassPart& part : call.parts) {
      auto& open = open_[static_cast<std::size_t>(part.is.type)];
      if (!part.is.posts) {
        const auto back = static_cast<std::size_t>(part.rule->backs.front().At(part.stage));
        if (back < open.size()) Complete(part.is.type, open[open.size() - 1 - back], complete);
        continue;
      }
      OpenOperation operation{slots_[static_cast<std::size_t>(part.is.type)]++, &part};
      operation.is_pending = !part.is.completes;
      if (part.is_known && post(part, operation)) open.push_back(operation);
    }
  }

 private:
  template <typename OnComplete>
  static void Complete(OperationClass type, OpenOperation& operation, const OnComplete& complete) {
    if (std::exchange(operation.is_pending, false)) complete(type, operation);
  }

  std::array<std::vector<OpenOperation>, 3> open_;
  std::array<std::uint32_t, 3> slots_{};
};

// An iteration of a donor, and the ratio of the computation to it.
using CopiedIteration = std::pair<std::uint32_t, double>;

// Computation of every rank of a grown run, in ticks of the largest run.
struct GrownLoads {
  std::vector<std::uint32_t> donors;    // one a rank
  std::vector<CopiedIteration> copied;  // iterations to be made, rank by rank
  std::vector<Tick> useful;             // computation of every rank in all iterations, made or not
  std::vector<Tick> sums;               // one an iteration, over all ranks
  std::vector<Tick> largest;            // that of the rank with most, by iteration
};

// Draws donors and computation of the ranks. A seed gives the same for a rank on any grid.
GrownLoads DrawLoads(const GrowthModel& model, const GridPlan& plan, std::uint64_t seed);
// The computation of a run itself.
GrownLoads LoadsOfRun(const GrowthModel& model, const GridPlan& plan, std::size_t run);

// Numbers of ranks of a grid that lie alike, by the lowest of them; a class may come several times. Takes no longer for
// more ranks.
std::map<std::int64_t, std::int64_t> CountClasses(const ClassScheme& scheme, const RankGrid& grid);

// The nodes of the ranks of a grown run, numbered from 0 on. As many ranks are on a node as in the largest run:
// consecutive ones, or in turn where that run has them so. Copies of a run [LearnStatistically] are on nodes as its
// ranks are, each copy of the run on others.
std::vector<std::int32_t> GrownNodes(const GrowthModel& model, const RankGrid& grid);

// Adds the classes of the grid that no run has to the rules of the model; returns how many. A call is made in such a
// class where it is in every dimension: where its partner lies in the grid, or where ranks of any class make it. The
// order of the calls must follow from that in other classes. Nothing is added unless every class that is known, left
// out in turn, is what the others give for it, as far as they give anything. Where a place in a dimension was never
// seen, it must have been in another dimension.
//
// Computation of such a rank is that of ranks of the class with most of its calls in the largest run: these do most of
// the same work.
std::size_t AddComposedClasses(GrowthModel& model, const RankGrid& grid);

}  // namespace farscale
