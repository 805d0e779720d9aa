// The activities of a rank, one after the other: MPI calls, and between them the time in one call path each. Activities
// tile the rank's part of a phase without gaps [Boehme13, section 4.1; docs/formulas.md, imbalance].
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "phases/phase_cut.h"
#include "replay/replay.h"
#include "trace/packed_column.h"
#include "trace/trace.h"

namespace farscale {

// Call paths: the stack of regions under which something happened, the MPI call included [Boehme13, section 2.2].
using PathId = std::uint32_t;

// Paths that are no regions of the trace.
inline constexpr PathId kOutsideRegions = 0;
// A rank is late: others are in the phase already. Its children are the regions that it is in meanwhile.
inline constexpr PathId kBeforePhase = 1;
inline constexpr PathId kBetweenOccurrences = 2;  // the phase recurs with other work between
inline constexpr PathId kAfterPhase = 3;          // a rank is done: others are in the phase still
inline constexpr PathId kSpecialPaths = 4;

// Regions nested deeper than this belong to the path above them; chosen, deeper than reports show.
inline constexpr std::size_t kDeepestPath = 100;

// A tree of paths. Regions of one name are one region.
class CallPaths {
 public:
  CallPaths() = default;
  explicit CallPaths(const Trace& trace);

  // The path of a region called on another path; made when it is not known yet.
  PathId Child(PathId parent, std::uint32_t region);

  std::size_t size() const { return nodes_.size(); }
  PathId parent(PathId path) const { return nodes_[path].parent; }
  std::uint32_t region(PathId path) const { return nodes_[path].region; }  // in the trace; none for special paths
  // The innermost region: its name in brackets for special paths.
  const std::string& region_name(PathId path) const;
  bool is_mpi(PathId path) const { return nodes_[path].is_mpi; }
  // The innermost region is a call to the runtime of a device, as factors tell it.
  bool is_device_call(PathId path) const { return nodes_[path].is_device_call; }
  bool is_before_phase(PathId path) const { return path == kBeforePhase || nodes_[path].is_before_phase; }
  // "main / step / MPI_Recv", "(before the phase) / main / MPI_Recv"
  std::string Name(PathId path) const;
  // The innermost region; of an MPI call with the one around it, since it is called in many: "step / MPI_Recv".
  std::string InnermostName(PathId path) const;

  // The same paths under the numbers of `all`, which learns those it does not have.
  std::vector<PathId> MergeInto(CallPaths& all) const;

 private:
  struct Node {
    PathId parent = 0;
    std::uint32_t region = 0;  // in the trace
    std::uint32_t depth = 0;
    bool is_mpi = false;
    bool is_device_call = false;
    bool is_before_phase = false;
    std::vector<std::pair<std::uint32_t, PathId>> children;  // with their regions, the one used last in front
  };

  const Trace* trace_ = nullptr;
  // For every region of the trace the first with its name; copies of the paths share it.
  std::shared_ptr<const std::vector<std::uint32_t>> first_of_name_;
  std::vector<Node> nodes_;
};

inline constexpr std::uint32_t kNoCall = std::numeric_limits<std::uint32_t>::max();

// Ticks are those of the trace. Calls are counted from the first of the rank's window: call c of the window is call
// first_call + c of its timeline. Columns are packed, because there are more activities than calls in the trace.
class RankActivities {
 public:
  bool present = false;
  std::vector<std::uint32_t> iteration_begin;  // activity with which every iteration or occurrence begins
  std::size_t first_call = 0;                  // in the timeline
  std::size_t calls = 0;                       // in the timeline; one more stands for the end of the phase

  // Activity a is [edge(a), edge(a + 1)) in path(a). The last one is idle in the end of the phase.
  std::size_t size() const { return present ? paths_.size() + 1 : 0; }
  Tick edge(std::size_t activity) const { return activity < edges_.size() ? edges_[activity] : phase_end_; }
  Tick ticks(std::size_t activity) const { return edge(activity + 1) - edge(activity); }
  PathId path(std::size_t activity) const {
    return activity < paths_.size() ? path_of_[static_cast<std::size_t>(paths_[activity])] : kAfterPhase;
  }
  // Those that the rank is ever in, the end of the phase left out.
  const std::vector<PathId>& paths() const { return path_of_; }
  std::uint32_t activity_of(std::size_t call) const {
    return static_cast<std::uint32_t>(call < calls ? call_activity_[call] : static_cast<std::int64_t>(paths_.size()));
  }
  PathId path_of_call(std::size_t call) const { return path(activity_of(call)); }
  // Iteration or occurrence that a call lies in, kNoCall between them.
  std::uint32_t occurrence(std::size_t call) const {
    return call < calls ? static_cast<std::uint32_t>(call_occurrence_[call] - 1) : end_occurrence_;
  }

  Tick begin() const { return edges_[0]; }
  // The end of its activities: it enters the end of the phase, in which it is idle until the last rank is there.
  Tick end() const { return end_; }
  Tick enter(std::size_t call) const { return edge(activity_of(call)); }
  Tick leave(std::size_t call) const { return edge(activity_of(call) + std::size_t{1}); }
  bool counts(std::size_t call) const { return occurrence(call) != kNoCall; }
  // That an activity lies in or behind; 0 before the first.
  std::size_t IterationOf(std::size_t activity) const;

 private:
  friend class ActivitiesBuilder;

  PackedColumn edges_;            // all but the last
  PackedColumn paths_;            // all activities but the last, into path_of_
  PackedColumn call_activity_;    // one a call of the timeline
  PackedColumn call_occurrence_;  // 1 more, 0 between occurrences
  std::vector<PathId> path_of_;
  std::uint32_t end_occurrence_ = 0;
  Tick end_ = 0, phase_end_ = 0;
};

struct Activities {
  CallPaths paths;
  std::vector<RankActivities> ranks;  // one a rank of the trace
  Tick begin = 0;                     // the first rank's
  Tick end = 0;                       // the last one's
};

// Collects those of the ranks in a phase. All begin when the first does: whoever comes later is "before the phase"
// until then, and there in the regions and calls that the trace shows. What a rank does ends with its window, or where
// it enters MPI_Finalize; its last activity is that it is "after the phase" until the last rank ends, and counts as a
// call.
// `replayed`: a replay of the phase which kept the times of all calls. Then activities are at these times.
Activities CollectActivities(const Trace& trace, const PhaseCut& cut,
                             std::optional<ReplayResult> replayed = std::nullopt);

}  // namespace farscale
