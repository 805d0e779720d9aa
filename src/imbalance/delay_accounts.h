// The accounts of delay costs [imbalance/delay_costs.h] while waits are settled, from the last to the first: the side
// of who waited and the side of the rank that was late, which may lie with different processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "imbalance/activities.h"
#include "imbalance/delay_costs.h"
#include "imbalance/delay_intervals.h"
#include "imbalance/wait_states.h"

namespace farscale {

// A wait that is to be charged to its delayer.
struct WaitCharge {
  WaitKind kind = WaitKind::kLateSender;
  double length = 0;
  double counted = 0;   // of that, what lies in the phase
  ByWaitKind caused{};  // waiting elsewhere that it brought about
};

// The delayer, and its call that was waited for.
struct ChargedCall {
  std::uint32_t rank = 0;
  std::uint32_t call = 0;
};

class DelayAccounts {
 public:
  // `iterations`: of the phase.
  DelayAccounts(const Activities& activities, const WaitStates& states, std::size_t iterations,
                const DelayOptions& options);
  ~DelayAccounts();

  // Of the wait of the rank before the one settled last, when all that it caused has been charged. Nothing for a wait
  // that is charged to nobody.
  std::optional<WaitCharge> Settle(std::uint32_t rank, std::uint32_t index);
  // To a rank, in the order of the ends of waits, the last one first; of equals by rank, then the last. Returns how
  // much of the wait is indirect.
  double Charge(const ChargedCall& to, const WaitCharge& wait, const DelayInterval& interval,
                const std::vector<Delay>& delays);
  void SetIndirect(std::uint32_t rank, std::uint32_t index, double ticks) {
    costs_.ranks[rank].waits[index].indirect = ticks;
  }
  bool IsCharged(const WaitState& wait) const {
    return wait.kind != WaitKind::kWaitAtEnd || options_.charge_end.value_or(false);
  }

  DelayCosts Take();

 private:
  class Ledgers;
  class Visits;

  void AddTo(const ChargedCall& to, const WaitCharge& wait, const Delay& delay, double sum, double charged);
  void ChargeExit(const ChargedCall& to, const DelayInterval& interval, const WaitCharge& wait);
  void AddToRaster(PathId path, const ChargedCall& to, double cost);
  PathCosts& CostsOf(std::uint32_t rank, PathId path);

  const Activities& activities_;
  const WaitStates& states_;
  const std::size_t iterations_;
  const DelayOptions options_;
  double raster_unit_ = 1;
  DelayCosts costs_;
  std::unique_ptr<Ledgers> ledgers_;
  std::unique_ptr<Visits> visits_;
  std::vector<std::vector<std::uint32_t>> place_;  // of the costs of a path, of every rank
};

}  // namespace farscale
