// Groups of ranks that do different work: the programs of an MPMD run, the ranks of one program with a task of their
// own [Huck10; docs/formulas.md, groups of ranks].
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/diagnostics.h"

namespace farscale {

struct PhaseCut;
struct RankProfile;
struct RankProfiles;
struct Trace;

// Shares of the work of ranks, by name.
using WorkShares = std::map<std::string, double>;

struct RankGroup {
  std::string name;
  std::vector<std::size_t> ranks;  // rising
  bool has_own_name = true;        // false: nothing is distinctive of it, and its name is only a number
  // Useful time by region and by kind of burst, calls by kind; empty for groups that a study names.
  std::vector<WorkShares> traits;
};

// None, or two and more; the largest first, of equals that with the lowest rank. None when all ranks do the same work,
// in whatever amounts. Ranks that are not in the phase are in no group. A part of iterations has the groups of whole
// ones.
std::vector<RankGroup> FindGroups(const Trace& trace, const PhaseCut& cut, Diagnostics& diagnostics);

// Gives the groups of one phase in several runs the same names where they are the same: by name, else by what they do.
// The first run that has a group names it, by a name that is not among those taken.
void MatchNames(const std::vector<std::vector<RankGroup>*>& runs, std::set<std::string> taken = {});

// "20-31", "0-11, 16", "3 to 31 by 4"; with many ranges the first ones.
std::string FormatRanks(const std::vector<std::size_t>& ranks);

// DBSCAN [Ester96]: points that lie densely together are a cluster, whatever its shape, and points between are noise.
// Two points are neighbours when their distance is `reach` at most; a point with at least `fewest` neighbours, itself
// included, is part of a cluster with all of them. Every pair of points is compared. `weights`: numbers of points at
// one place. Returns the cluster of each, from 0 in the order of their first points; nothing for noise.
std::vector<std::optional<std::size_t>> FindClusters(const std::vector<std::size_t>& weights,
                                                     const std::function<double(std::size_t, std::size_t)>& distance,
                                                     double reach, std::size_t fewest);

// For FindGroups [phases/group_spec.cc]. `work`: the mean profile of every group, and whether it serves the others, as
// a master does. Returns the groups without their ranks. A group has the name of the region in which its ranks spend
// the largest share of their useful time beyond what any other group does; without such regions "master" and "workers",
// or the MPI function that makes up the largest share of its calls beyond that of the others; else a number, in the
// order of the groups. No two are the same.
std::vector<RankGroup> NameGroups(const RankProfiles& profiles, const std::vector<std::pair<RankProfile, bool>>& work);

// Ranks [begin, end), or those shares of all ranks.
struct RankRange {
  double begin = 0;
  double end = 0;
  bool is_share = false;

  friend bool operator==(const RankRange&, const RankRange&) = default;
};

// A group that a study names, before it is looked for in a trace: by one of three ways.
struct GroupSpec {
  std::string name;
  std::string region;             // the program's region that the ranks enter; empty: it has `ranges`
  std::vector<RankRange> ranges;  // ranks beyond those of a run are left out; empty: it has those by `every`
  std::size_t every = 1;          // ranks that leave the rest `offset` when divided by it
  std::size_t offset = 0;
  std::string where;  // file and line that says so, for error messages
};

// Name of the group of all ranks that no other has.
inline constexpr std::string_view kOtherRanks = "others";

// "0-11, 16", "75%-100%". Throws a usage error at `where` for anything else.
std::vector<RankRange> ParseRankRanges(const std::string& text, const std::string& where);

// The groups in the order of the study, then the others if there are any. None when there is only one. Throws a usage
// error when a group has no rank in this trace, or two groups have the same one.
std::vector<RankGroup> NamedGroups(const Trace& trace, const std::vector<GroupSpec>& specs);

// The groups with all threads of their ranks.
std::vector<RankGroup> GroupsOfLocations(const std::vector<RankGroup>& groups, const Trace& locations);

}  // namespace farscale
