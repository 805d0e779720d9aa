#include "results/remedy_text.h"

#include <fmt/format.h>

namespace farscale {
namespace {

constexpr const char* kRepartition =
    "Repartition {} by measured loads, or make more parts than ranks and migrate them: the loads move.";

std::string AdviceFor(const Remedy& remedy) {
  switch (remedy.kind) {
    case Remedy::Kind::kNone: break;
    case Remedy::Kind::kRelieveFew:
      return "Take work away from these few ranks, by another decomposition or by weights from measured times: the "
             "most loaded one decides how long all take.";
    case Remedy::Kind::kUseFewerRanks:
      return "Little is to be gained by giving these few ranks more work; use fewer ranks, or let them do what keeps "
             "the others busy, such as input and output.";
    case Remedy::Kind::kMoveRanksBetweenGroups:
      return "Check whether the two groups do different work or have parts of different size. If they do different "
             "work, move ranks from the group that waits to the other one, until both take equally long.";
    case Remedy::Kind::kWeighParts:
      return "Ranks differ by degrees: weigh the parts of the decomposition by measured times, or make more and "
             "smaller parts than ranks.";
    case Remedy::Kind::kDecompose: return "Decompose differently, or with weights from measured times.";
    case Remedy::Kind::kRepartition:
    case Remedy::Kind::kRepartitionAndRegroup: {
      const std::string every = remedy.every > 0 ? fmt::format("every {} iterations or more often", remedy.every)
                                                 : std::string("every so many iterations");
      const std::string regroup = " Where the groups do different work, let the number of ranks in each follow.";
      return fmt::format(fmt::runtime(kRepartition), every) +
             (remedy.kind == Remedy::Kind::kRepartitionAndRegroup ? regroup : "");
    }
    case Remedy::Kind::kBalanceWithinIteration:
      return "Balance within the iteration: lend cores to ranks that are late, or hand out work as tasks. Fewer "
             "synchronisations help, too, since the delays of different ranks then even out.";
    case Remedy::Kind::kMakeUpLater:
      return "Synchronise less often, so that what is missing at one time is made up at another.";
    case Remedy::Kind::kSynchronizeLess:
      return "Synchronise less often, so that delays of different ranks even out, or hide waits behind computation. "
             "Where instructions are equal, look for what disturbs the ranks.";
    case Remedy::Kind::kBreakChain:
      return "Other work for the ranks helps little, since they wait in turn: break the chain of dependencies, by "
             "smaller pieces that go on earlier, another order, or work that does not depend on it in between.";
    case Remedy::Kind::kBalanceSteps:
      return "All ranks have about as much to do in an iteration, but others are slow at other times within it: "
             "balance by itself what lies between two synchronisations (the parts of the iteration, --phase "
             "auto:NAME, show where), or synchronise less often, so that delays of different ranks even out.";
    case Remedy::Kind::kFindWhenRanksSlow:
      return "All ranks have about as much to do, but others are slow at other times: take the region of an iteration "
             "as phase (--phase) to see for how long. Where slow ranks stay slow for a while, repartitioning by "
             "measured loads helps; where they change at once, fewer synchronisations do.";
    case Remedy::Kind::kRelieveDevices:
      return "This is time for devices, not computation of the ranks: divide the work of devices more evenly, check "
             "that "
             "ranks do not share one by accident, copy less, or let ranks compute while devices do.";
    case Remedy::Kind::kSeeCauses: return "See the repairs above.";
  }
  return "";
}

std::string TextOfDoubt(Remedy::Doubt doubt) {
  switch (doubt) {
    case Remedy::Doubt::kNone: break;
    case Remedy::Doubt::kFewIterations:
      return " That holds if the same ranks are slow all the time, which these iterations do not show.";
    case Remedy::Doubt::kOneIteration:
      return " One iteration does not show whether it is the loads that move from rank to rank instead: take the "
             "region of an iteration as phase (--phase).";
    case Remedy::Doubt::kTwoRanks:
      return " Two ranks do not show whether it is the loads that move between them within an iteration instead.";
  }
  return "";
}

}  // namespace

std::string TextOf(const Remedy& remedy) { return AdviceFor(remedy) + TextOfDoubt(remedy.doubt); }

}  // namespace farscale
