// Remedies against the waiting that computation causes [docs/formulas.md, shapes of imbalance]. The text of a remedy:
// results/cause_text.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "imbalance/loss_record.h"

namespace farscale {

struct Remedy {
  enum class Kind : std::uint8_t {
    kNone,  // nothing is known to be wrong, or to help
    // The same ranks are slow all the time.
    kRelieveFew,
    kUseFewerRanks,
    kMoveRanksBetweenGroups,
    kWeighParts,
    kDecompose,
    // Slow ranks stay slow for a while.
    kRepartition,
    kRepartitionAndRegroup,
    // Other ranks are slow in every iteration.
    kBalanceWithinIteration,
    kMakeUpLater,
    kSynchronizeLess,
    // Ranks with equally much to do wait for each other.
    kBreakChain,
    kBalanceSteps,       // others are slow at other times within an iteration
    kFindWhenRanksSlow,  // others are slow at other times of a phase of one iteration
    kRelieveDevices,     // ranks wait for their devices for different times
    kSeeCauses,          // the first cause named for it asks for something else
  };
  enum class Doubt : std::uint8_t {
    kNone,
    kFewIterations,  // these do not show that the same ranks are slow all the time
    kOneIteration,   // loads may move between ranks instead
    kTwoRanks,       // loads may move between them within an iteration instead
  };

  Kind kind = Kind::kNone;
  Doubt doubt = Doubt::kNone;
  std::size_t every = 0;  // for repartitioning: iterations at most between two; 0: unknown

  friend bool operator==(const Remedy&, const Remedy&) = default;
};

// The thing that a remedy changes. Two that differ are not for the same loss.
enum class Approach : std::uint8_t {
  kOther,    // none of these
  kWork,     // who has which part of the work, once and for all
  kDynamic,  // the same while the program runs, or how often ranks synchronise
  kMachine,  // cores, nodes and what else runs there
  kGroups    // how many ranks do which kind of work
};
Approach ApproachOf(const Remedy& remedy);
Approach ApproachOf(const Cause& cause);

// Numbers of ranks of the groups, in proportion to what these compute, and by how much the slowest group would then be
// faster if its ranks are balanced, in seconds. Nothing where there are no groups, or they gain less than kLeastGain.
std::optional<std::pair<std::vector<std::size_t>, double>> BetterSizes(const LossRecord& losses);

// Advice of the literature for a load of this shape.
Remedy RemedyFor(const LoadShape& shape);

// Against what all computation of the phase loses together; kNone where that is next to nothing.
Remedy RemedyForAll(const LossRecord& losses);

// Against what one call path of `losses` loses; kNone for one without a shape, too.
Remedy RemedyForPath(const LossRecord& losses, const PathRecord& path);

}  // namespace farscale
