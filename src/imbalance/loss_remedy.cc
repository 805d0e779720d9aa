#include "imbalance/loss_remedy.h"

#include <algorithm>

namespace farscale {
namespace {

using Kind = Remedy::Kind;
using Doubt = Remedy::Doubt;

// Losses below this share of the run time need no remedy; chosen: less than repeated runs differ by.
constexpr double kWorth = 0.01;
// A chain of dependencies shows in waits that other waits caused: at least this share of all. Chosen: chains of the
// sample programs (LU, Sweep3D) have more, loads that move less (loss_remedy_test.cc).
constexpr double kChain = 0.1;

// The same ranks are slow all the time, or are taken to be.
Kind RemedyForStatic(ShapeOverRanks shape) {
  switch (shape) {
    case ShapeOverRanks::kOverloadedFew: return Kind::kRelieveFew;
    case ShapeOverRanks::kUnderloadedFew: return Kind::kUseFewerRanks;
    case ShapeOverRanks::kTwoGroups: return Kind::kMoveRanksBetweenGroups;
    case ShapeOverRanks::kGaussian: return Kind::kWeighParts;
    default: return Kind::kDecompose;
  }
}

// The costs of computation on the ideal network, in seconds of the run.
struct Loss {
  double load_balance = 0, serialization = 0;
  double average = 0;   // computation of a rank
  double indirect = 0;  // share of the waiting that it causes, which other waits brought about

  double Total() const { return load_balance + serialization; }
};

// The excess of the slowest rank over the average, summed over iterations: from (max - avg) / max * N / (N - 1).
double ExcessOf(double imbalance, double average, std::size_t ranks) {
  if (ranks < 2) return 0;
  const double part = imbalance * static_cast<double>(ranks - 1) / static_cast<double>(ranks);
  return average * part / std::max(1 - part, 1e-9);
}

double ShareOf(double part, double whole) { return whole > 0 ? part / whole : 0; }

// The loss of all computation in the phase. What ranks do before they enter it, late, is none of it, and what lies
// between occurrences takes no time in it.
Loss LossOfAll(const LossRecord& losses) {
  Loss loss;
  double costs = 0, long_term = 0;
  for (const PathRecord& path : losses.paths) {
    const PathFactorLoss* found = FindLoss(*losses.by_factor, path.path);
    if (path.is_mpi || path.is_device_call || path.IsOutside() || !(path.total.Execution() > 0) || found == nullptr)
      continue;
    costs += path.total.Costs();
    long_term += path.total.LongTerm();
    loss.load_balance += found->load_balance;
    loss.serialization += found->serialization;
    loss.average += path.total.Execution() / static_cast<double>(losses.ranks.size());
  }
  loss.indirect = ShareOf(long_term, costs);
  return loss;
}

double LostToLoads(const LoadShape& shape, const Loss& loss, std::size_t ranks) {
  return std::max(ExcessOf(shape.imbalance_in_iteration, loss.average, ranks), loss.load_balance);
}

// Loads explain, iteration by iteration, as much of a loss as the slowest rank has more than the average. Where they
// explain the smaller part, ranks that have equally much to do wait for each other. Two ranks do not show a chain:
// nobody waits for a rank that waits itself; and where its direction turns, as in Sweep3D, one of them computes two
// pieces at a stretch, so that steps do not show it either.
Remedy RemedyForLoss(const LossRecord& losses, const LoadShape& shape, const Loss& loss) {
  const double worth = kWorth * losses.length;
  const std::size_t ranks = losses.ranks.size();
  const double of_loads = LostToLoads(shape, loss, ranks);
  const double rest = loss.Total() - of_loads;
  if (rest <= of_loads) return std::max(loss.Total(), loss.load_balance) < worth ? Remedy{} : RemedyFor(shape);
  if (rest < worth) return {};
  const bool is_chain = loss.indirect >= kChain;
  if (losses.iterations <= 1) {
    return is_chain ? Remedy{Kind::kBreakChain, Doubt::kOneIteration} : Remedy{Kind::kFindWhenRanksSlow};
  }
  bool moves_within = !is_chain;
  if (losses.shape && losses.shape->imbalance_in_step) {
    // Then step by step the slowest rank has so much more than the average that it explains half of what loads of whole
    // iterations leave.
    const Loss all = LossOfAll(losses);
    const double of_all_loads = LostToLoads(*losses.shape, all, ranks);
    const double of_steps = ExcessOf(*losses.shape->imbalance_in_step, all.average, ranks);
    moves_within = 2 * (of_steps - of_all_loads) >= all.Total() - of_all_loads;
  }
  if (!moves_within) return {Kind::kBreakChain};
  return ranks > 2 ? Remedy{Kind::kBalanceSteps} : Remedy{Kind::kBreakChain, Doubt::kTwoRanks};
}

// `path` is empty for all computation. The first cause named for it decides what is to be done. It was replayed.
Remedy InAgreement(const LossRecord& losses, const std::string& path, Remedy remedy) {
  const auto is_for = [&](const Cause& cause) { return cause.in_everything || path.empty() || cause.path == path; };
  const auto first = std::ranges::find_if(losses.causes, is_for);
  if (first == losses.causes.end()) return remedy;
  const Approach of_cause = ApproachOf(*first), of_remedy = ApproachOf(remedy);
  const bool differs = of_cause != Approach::kOther && of_remedy != Approach::kOther && of_cause != of_remedy;
  return differs ? Remedy{Kind::kSeeCauses} : remedy;
}

}  // namespace

Remedy RemedyFor(const LoadShape& shape) {
  if (shape.over_time == ShapeOverTime::kDrifting) {
    const bool has_groups = shape.over_ranks == ShapeOverRanks::kTwoGroups;
    return {has_groups ? Kind::kRepartitionAndRegroup : Kind::kRepartition, Doubt::kNone, shape.lasts};
  }
  if (shape.over_time == ShapeOverTime::kAlternating) {
    switch (shape.over_ranks) {
      case ShapeOverRanks::kOverloadedFew:
      case ShapeOverRanks::kTwoGroups: return {Kind::kBalanceWithinIteration};
      case ShapeOverRanks::kUnderloadedFew: return {Kind::kMakeUpLater};
      default: return {Kind::kSynchronizeLess};
    }
  }
  if (shape.over_ranks == ShapeOverRanks::kBalanced) return {};
  if (shape.over_time == ShapeOverTime::kStatic) return {RemedyForStatic(shape.over_ranks)};
  if (shape.over_ranks == ShapeOverRanks::kUnknown) return {};
  return {RemedyForStatic(shape.over_ranks), Doubt::kFewIterations};
}

Approach ApproachOf(const Remedy& remedy) {
  switch (remedy.kind) {
    case Kind::kRelieveFew:
    case Kind::kUseFewerRanks:
    case Kind::kWeighParts:
    case Kind::kDecompose: return Approach::kWork;
    case Kind::kMoveRanksBetweenGroups: return Approach::kGroups;
    case Kind::kRepartition:
    case Kind::kRepartitionAndRegroup:
    case Kind::kBalanceWithinIteration:
    case Kind::kMakeUpLater:
    case Kind::kSynchronizeLess:
    case Kind::kBalanceSteps:
    case Kind::kFindWhenRanksSlow: return Approach::kDynamic;
    case Kind::kNone:
    case Kind::kBreakChain:
    case Kind::kRelieveDevices:
    case Kind::kSeeCauses: break;
  }
  return Approach::kOther;
}

Approach ApproachOf(const Cause& cause) {
  using enum CausePlace;
  if (cause.is_mpi || cause.is_device_call) return Approach::kOther;
  const CauseClass reason = cause.reason();
  const bool is_more_work = reason == CauseClass::kMoreWork || reason == CauseClass::kMoreCalls;
  const bool is_machine =
      reason == CauseClass::kInterruptions || reason == CauseClass::kLowerFrequency || reason == CauseClass::kLowerIpc;
  if (!cause.group.empty() && (cause.place == kAlone || cause.place == kMovingHotSpot)) return Approach::kGroups;
  if (is_machine) return Approach::kMachine;
  const bool is_work = is_more_work || cause.place == kByDegrees || cause.place == kPlane || cause.place == kNode ||
                       cause.place == kSocket;
  const bool moves = cause.place == kFromTime || cause.place == kForAWhile || cause.place == kNoisyRank ||
                     cause.place == kMovingHotSpot || cause.place == kPeriodic || cause.place == kOnce;
  if (cause.place == kStartUp || !is_work) return Approach::kOther;
  return moves ? Approach::kDynamic : Approach::kWork;
}

std::optional<std::pair<std::vector<std::size_t>, double>> BetterSizes(const LossRecord& losses) {
  const std::vector<GroupLoad>& groups = losses.groups;
  if (groups.size() < 2) return std::nullopt;
  std::size_t all = 0;
  for (const GroupLoad& group : groups) all += group.ranks;
  std::vector<std::size_t> better(groups.size(), 1);
  const auto each = [&](std::size_t i, std::size_t ranks) {
    return groups[i].computation / static_cast<double>(std::max<std::size_t>(1, ranks));
  };
  const auto slowest = [&](const auto& ranks_of) {
    double most = 0;
    for (std::size_t i = 0; i < groups.size(); ++i) most = std::max(most, each(i, ranks_of(i)));
    return most;
  };
  // The next rank goes to the group whose ranks have most to do: no other sizes have a smaller maximum.
  for (std::size_t rank = groups.size(); rank < all; ++rank) {
    std::size_t next = 0;
    for (std::size_t i = 1; i < groups.size(); ++i) {
      if (each(i, better[i]) > each(next, better[next])) next = i;
    }
    ++better[next];
  }
  const double gain =
      slowest([&](std::size_t i) { return groups[i].ranks; }) - slowest([&](std::size_t i) { return better[i]; });
  if (gain < kLeastGain * losses.length) return std::nullopt;
  return std::pair(std::move(better), gain);
}

Remedy RemedyForAll(const LossRecord& losses) {
  if (!losses.shape || !losses.locations.empty()) return {};  // remedies are known for ranks alone
  if (BetterSizes(losses)) return InAgreement(losses, "", {Kind::kMoveRanksBetweenGroups});
  if (!losses.by_factor) return InAgreement(losses, "", RemedyFor(*losses.shape));
  return InAgreement(losses, "", RemedyForLoss(losses, *losses.shape, LossOfAll(losses)));
}

Remedy RemedyForPath(const LossRecord& losses, const PathRecord& path) {
  if (!path.shape || path.IsOutside() || !losses.locations.empty()) return {};
  const PathFactorLoss* found = losses.by_factor ? FindLoss(*losses.by_factor, path.path) : nullptr;
  Remedy remedy = RemedyFor(*path.shape);
  if (found != nullptr) {
    const Loss loss{found->load_balance, found->serialization,
                    path.total.Execution() / static_cast<double>(losses.ranks.size()),
                    ShareOf(path.total.LongTerm(), path.total.Costs())};
    remedy = RemedyForLoss(losses, *path.shape, loss);
  }
  remedy = InAgreement(losses, path.path, remedy);
  // Shapes of such calls are those of what devices do, which other work for the ranks does not change.
  const bool is_of_device = path.is_device_call && remedy.kind != Kind::kNone && remedy.kind != Kind::kBreakChain &&
                            remedy.kind != Kind::kSeeCauses;
  return is_of_device ? Remedy{Kind::kRelieveDevices} : remedy;
}

}  // namespace farscale
