// What helps against the waiting that computation causes [docs/formulas.md, shapes of imbalance]. The text of a remedy:
// results/remedy_text.h.
#pragma once

#include <cstddef>
#include <cstdint>

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
  };
  enum class Doubt : std::uint8_t {
    kNone,
    kFewIterations,  // these do not show that the same ranks are slow all the time
    kOneIteration,   // loads may move between ranks instead
    kTwoRanks,       // loads may move between them within an iteration instead
  };

  Kind kind = Kind::kNone;
  Doubt doubt = Doubt::kNone;
  std::size_t every = 0;  // of repartitioning: iterations at most between two; 0: unknown

  friend bool operator==(const Remedy&, const Remedy&) = default;
};

// What the literature advises for a load of this shape.
Remedy RemedyFor(const LoadShape& shape);

// Against what all computation of the phase loses together; kNone where that is next to nothing.
Remedy RemedyForAll(const LossRecord& losses);

// Against what one call path of `losses` loses; kNone for one without a shape, too.
Remedy RemedyForPath(const LossRecord& losses, const PathRecord& path);

}  // namespace farscale
