// Who sends to whom in a grown run, and which receive takes which message, for all ranks.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "growth/make/class_plan.h"

namespace farscale {

// Messages are numbered by their sender and the order in which it posts them. A receive takes the first message from
// its partner, with its tag and communicator, that none before it takes.
struct GrownMessages {
  static constexpr std::uint32_t kNoPartner = std::numeric_limits<std::uint32_t>::max();  // no operation on this rank
  static constexpr std::uint32_t kNotCompleted = kNoPartner - 1;  // a receive that nobody awaits

  std::vector<std::uint32_t> first_send, first_receive;  // of every rank, and behind the last one
  std::vector<std::uint32_t> to;                         // receiver of every message
  std::vector<std::uint32_t> message_of;                 // of every receive; `unsent` for those that no send belongs to
  std::uint32_t unsent = 0;                              // behind all messages
};

GrownMessages MatchGrown(const GridPlan& plan);

// Throws an error of kind kNotEnoughData, with the call sites on both ranks, where more messages of a rank have no
// other end than in the largest run, in which they may come from before the phase or be received behind it.
void RequireMatched(const GrowthModel& model, const GridPlan& plan, const GrownMessages& messages);

}  // namespace farscale
