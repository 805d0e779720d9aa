// From the records of one task of a Paraver trace to the timeline of its rank.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/paraver_messages.h"
#include "trace/paraver_cursors.h"
#include "trace/trace.h"
#include "trace/trace_builder.h"

namespace farscale {

// Feeds the rank with all that its task recorded: a region around all of it; functions, the program's own events and
// stretches with tracing on as regions; MPI calls with their messages and collectives; counters, summed up; and the
// stretches outside MPI in which it did not run as pauses; where threads are known, as what the runtime of its team
// does. Without functions, regions of the callers of MPI calls:
// a region from the first to the last of the calls that follow each other and have the caller in common.
void BuildParaverRank(const Trace& trace, const ParaverTaskParts& parts, const ParaverTraceFacts& facts,
                      RankBuilder& rank);

// The regions of one rank of a Paraver trace. Functions nest; event types of the program's own, tracing and the callers
// of MPI calls each have their own time. On a timeline all regions nest.

class ParaverRegions {
 public:
  explicit ParaverRegions(RankBuilder& rank) : rank_(rank) {}

  void EnterFunction(Tick tick, std::uint32_t region);
  void LeaveFunction(Tick tick);
  // The region of an event type from now on; ParaverBlock::kNothing for nothing.
  void SetEvent(Tick tick, std::uint32_t type, std::uint32_t region);

  // Makes these the callers, the outermost first: leaves what differs, enters what is new.
  void EnterCallers(Tick tick, const std::vector<std::uint32_t>& callers);
  // Leaves those that the next call will not have in common.
  void LeaveCallers(Tick tick, const std::vector<std::uint32_t>& next);
  bool has_callers() const { return !callers_.empty(); }

  // Changes within an MPI call are written at its end.
  void BeginCall() { in_call_ = true; }
  void EndCall(Tick tick);

  // Leaves whatever is open.
  void Finish(Tick tick);

 private:
  static constexpr std::uint32_t kFunction = 0;  // no event type

  struct Change {
    std::uint32_t type = kFunction;
    std::uint32_t region = 0;
    bool is_leave = false;
  };

  void Do(Tick tick, const Change& change);
  void Replace(Tick tick, const Change& change);

  RankBuilder& rank_;
  std::vector<Change> open_;            // no leaves
  std::vector<std::uint32_t> callers_;  // inside all of these
  bool in_call_ = false;
  std::vector<Change> waiting_;
};

}  // namespace farscale
