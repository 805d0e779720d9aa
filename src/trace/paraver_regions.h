// The regions of one rank of a Paraver trace. Functions nest; event types of the program's own, tracing and the callers
// of MPI calls each have their own time. On a timeline all regions nest.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/trace_builder.h"

namespace farscale {

class ParaverRegions {
 public:
  explicit ParaverRegions(RankBuilder& rank) : rank_(rank) {}

  void EnterFunction(Tick tick, std::uint32_t region);
  void LeaveFunction(Tick tick);
  // What an event type is from now on; ParaverBlockMeaning::kNothing for nothing.
  void SetEvent(Tick tick, std::uint32_t type, std::uint32_t region);

  // Makes these the callers, the outermost first: leaves what differs, enters what is new.
  void EnterCallers(Tick tick, const std::vector<std::uint32_t>& callers);
  // Leaves those that the next call will not have in common.
  void LeaveCallers(Tick tick, const std::vector<std::uint32_t>& next);
  bool has_callers() const { return !callers_.empty(); }

  // What changes within an MPI call is written at its end.
  void BeginCall() { in_call_ = true; }
  void EndCall(Tick tick);

  // Leaves whatever is open.
  void Finish(Tick tick);

 private:
  static constexpr std::uint32_t kFunction = 0;  // no event type

  struct Open {
    std::uint32_t type = kFunction;
    std::uint32_t region = 0;
  };
  struct Change {
    std::uint32_t type = kFunction;
    std::uint32_t region = 0;
    bool is_leave = false;
  };

  void Do(Tick tick, const Change& change);
  void Replace(Tick tick, const Change& change);

  RankBuilder& rank_;
  std::vector<Open> open_;
  std::vector<std::uint32_t> callers_;  // inside all of these
  bool in_call_ = false;
  std::vector<Change> waiting_;
};

}  // namespace farscale
