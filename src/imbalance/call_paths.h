// Call paths: the stack of regions under which something happened, the MPI call included [Boehme13, section 2.2].
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trace/trace.h"

namespace farscale {

using PathId = std::uint32_t;

// Paths that are no regions of the trace.
inline constexpr PathId kOutsideRegions = 0;
// A rank is late: others are in the phase already. Its children are the regions that it is in meanwhile.
inline constexpr PathId kBeforePhase = 1;
inline constexpr PathId kBetweenOccurrences = 2;  // of a phase that recurs with other work between
inline constexpr PathId kAfterPhase = 3;          // a rank is done: others are in the phase still
inline constexpr PathId kSpecialPaths = 4;

// Regions nested deeper than this belong to the path above them; chosen, deeper than reports show.
inline constexpr std::size_t kDeepestPath = 100;

// Whether a name is that of a path before the phase, between its occurrences or behind it.
bool LiesOutsidePhase(const std::string& name);

// A tree of paths. Regions of one name are one region.
class CallPaths {
 public:
  CallPaths() = default;
  explicit CallPaths(const Trace& trace);

  // The path of a region called on another path; made when it is not known yet.
  PathId Child(PathId parent, std::uint32_t region);

  std::size_t size() const { return nodes_.size(); }
  PathId parent(PathId path) const { return nodes_[path].parent; }
  // The innermost region: its name in brackets for special paths.
  const std::string& region_name(PathId path) const;
  bool is_mpi(PathId path) const { return nodes_[path].is_mpi; }
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
    std::uint32_t region = 0;  // of the trace
    std::uint32_t depth = 0;
    bool is_mpi = false;
    bool is_before_phase = false;
    std::vector<std::pair<std::uint32_t, PathId>> children;  // by region, the one used last in front
  };

  const Trace* trace_ = nullptr;
  // Of every region of the trace the first with its name; copies of the paths share it.
  std::shared_ptr<const std::vector<std::uint32_t>> first_of_name_;
  std::vector<Node> nodes_;
};

}  // namespace farscale
