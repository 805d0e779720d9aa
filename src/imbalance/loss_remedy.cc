#include "imbalance/loss_remedy.h"

#include <algorithm>

namespace farscale {
namespace {

// Losses below this share of the run time need no remedy.
constexpr double kWorth = 0.01;
// A chain of dependencies shows in waits that other waits caused: at least this share of all.
constexpr double kChain = 0.1;

// One iteration does not show whether loads move within it.
std::string DoubtOfSerialization() {
  return "One iteration does not show whether it is the loads that move from rank to rank instead: take the region of "
         "an "
         "iteration as phase (--phase).";
}

// In a chain of two ranks nobody waits for a rank that waits itself; and where its direction turns, as in Sweep3D, one
// of them computes two pieces at a stretch, so that steps do not tell.
constexpr const char* kDoubtOfTwoRanks =
    "Two ranks do not show whether it is the loads that move between them within an iteration instead.";

// Ranks have equally much to do in a phase of one iteration, but not at the same time.
std::string RemedyForUnseenMoves() {
  return "All ranks have about as much to do, but others are slow at other times: take the region of an iteration as "
         "phase (--phase) to see for how long. Where slow ranks stay slow for a while, repartitioning by measured "
         "loads "
         "helps; where they change at once, fewer synchronisations do.";
}

// The same in a phase of several: every iteration is balanced, but what is between two synchronisations in it is not.
std::string RemedyForMovesWithinIterations() {
  return "All ranks have about as much to do in an iteration, but others are slow at other times within it: balance by "
         "itself what lies between two synchronisations (the parts of the iteration, --phase auto:NAME, show where), "
         "or synchronise less often, so that delays of different ranks even out.";
}

// What computation costs on the ideal network, in seconds of the run.
struct Loss {
  double load_balance = 0, serialization = 0;
  double average = 0;   // what a rank computes
  double indirect = 0;  // share of the waiting that it causes, which other waits brought about

  double Total() const { return load_balance + serialization; }
};

// What the slowest rank has above the average, summed over iterations: from (max - avg) / max * N / (N - 1).
double ExcessOf(double imbalance, double average, std::size_t ranks) {
  if (ranks < 2) return 0;
  const double part = imbalance * static_cast<double>(ranks - 1) / static_cast<double>(ranks);
  return average * part / std::max(1 - part, 1e-9);
}

double ShareOf(double part, double whole) { return whole > 0 ? part / whole : 0; }

// Of all computation in the phase. What ranks do before they enter it, late, is none of it, and what lies between
// occurrences takes no time in it.
Loss LossOfAll(const LossRecord& losses) {
  Loss loss;
  double costs = 0, long_term = 0;
  for (const PathRecord& path : losses.paths) {
    const PathFactorLoss* found = losses.by_factor->Find(path.path);
    if (path.is_mpi || path.IsOutside() || !(path.total.Execution() > 0) || found == nullptr) continue;
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

// Whether loads move within iterations: then step by step the slowest rank has so much more than the average that it
// explains half of what loads of whole iterations leave. Nothing where steps do not compare.
std::optional<bool> MovesWithinIterations(const LossRecord& losses) {
  if (!losses.shape || !losses.shape->imbalance_in_step) return std::nullopt;
  const Loss all = LossOfAll(losses);
  const double of_loads = LostToLoads(*losses.shape, all, losses.ranks.size());
  const double of_steps = ExcessOf(*losses.shape->imbalance_in_step, all.average, losses.ranks.size());
  return 2 * (of_steps - of_loads) >= all.Total() - of_loads;
}

// Loads explain, iteration by iteration, as much of a loss as the slowest rank has more than the average. Where they
// explain the smaller part, ranks that have equally much to do wait for each other.
std::string RemedyFor(const LossRecord& losses, const LoadShape& shape, const Loss& loss) {
  const double worth = kWorth * losses.length;
  const double of_loads = LostToLoads(shape, loss, losses.ranks.size());
  const double rest = loss.Total() - of_loads;
  if (rest <= of_loads) return std::max(loss.Total(), loss.load_balance) < worth ? "" : RemedyFor(shape);
  if (rest < worth) return "";
  const bool is_chain = loss.indirect >= kChain;
  if (losses.iterations > 1) {
    if (!MovesWithinIterations(losses).value_or(!is_chain)) return RemedyForSerialization();
    return losses.ranks.size() > 2 ? RemedyForMovesWithinIterations()
                                   : RemedyForSerialization() + " " + kDoubtOfTwoRanks;
  }
  return is_chain ? RemedyForSerialization() + " " + DoubtOfSerialization() : RemedyForUnseenMoves();
}

}  // namespace

std::string RemedyForAll(const LossRecord& losses) {
  if (!losses.shape || !losses.locations.empty()) return "";  // remedies are known for ranks alone
  if (!losses.by_factor) return RemedyFor(*losses.shape);
  return RemedyFor(losses, *losses.shape, LossOfAll(losses));
}

std::string RemedyForPath(const LossRecord& losses, const PathRecord& path) {
  if (!path.shape || path.IsOutside() || !losses.locations.empty()) return "";
  const PathFactorLoss* found = losses.by_factor ? losses.by_factor->Find(path.path) : nullptr;
  if (found == nullptr) return RemedyFor(*path.shape);
  const Loss loss{found->load_balance, found->serialization,
                  path.total.Execution() / static_cast<double>(losses.ranks.size()),
                  ShareOf(path.total.LongTerm(), path.total.Costs())};
  return RemedyFor(losses, *path.shape, loss);
}

}  // namespace farscale
