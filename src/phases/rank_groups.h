// Groups of ranks that do different work: the programs of an MPMD run, the ranks of one program with a task of their
// own [Huck10; docs/formulas.md, groups of ranks].
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/diagnostics.h"

namespace farscale {

struct PhaseCut;
struct RankProfile;
struct RankProfiles;
struct Trace;

// Work of the ranks of a group, as shares by name: useful time by region and by kind of burst, calls by kind.
struct GroupTraits {
  std::map<std::string, double> regions, bursts, calls;
};

struct RankGroup {
  std::string name;
  std::vector<std::size_t> ranks;  // rising
  bool has_own_name = true;        // false: nothing is distinctive of it, and its name is only a number
  GroupTraits traits;              // empty for groups that a study names
};

struct RankGroups {
  std::vector<RankGroup> groups;  // none, or two and more; the largest first, of equals that with the lowest rank
  Diagnostics diagnostics;
};

// None when all ranks do the same work, in whatever amounts. Ranks that are not in the phase are in no group. A part of
// iterations has the groups of whole ones.
RankGroups FindGroups(const Trace& trace, const PhaseCut& cut);

// Gives the groups of one phase in several runs the same names where they are the same: by name, else by what they do.
// The first run that has a group names it, by a name that is not among those taken.
void MatchNames(const std::vector<std::vector<RankGroup>*>& runs, std::set<std::string> taken = {});

// "20-31", "0-11, 16", "3 to 31 by 4"; with many ranges the first ones.
std::string FormatRanks(const std::vector<std::size_t>& ranks);

// DBSCAN [Ester96]: points that lie densely together are a cluster, whatever its shape, and points between are noise.
struct ClusterPoint {
  std::size_t weight = 1;              // so many points at one place
  std::optional<std::size_t> cluster;  // found; from 0 in the order of their first points, nothing for noise
};

// Two points are neighbours when their distance is `reach` at most; a point with at least `fewest` neighbours, itself
// included, is part of a cluster with all of them. Every pair of points is compared.
void FindClusters(std::vector<ClusterPoint>& points, const std::function<double(std::size_t, std::size_t)>& distance,
                  double reach, std::size_t fewest);

// For FindGroups [phases/group_spec.cc]. `work`: the mean profile of every group, and whether it serves the others, as
// a master does. Returns the name of every group, and whether it is its own; else it is a number, in the order of the
// groups. A group has the name of the region in which its ranks spend the largest share of their useful time beyond
// what any other group does; without such regions "master" and "workers", or the MPI function that makes up the largest
// share of its calls beyond that of the others; else a number. No two are the same.
std::vector<std::pair<std::string, bool>> NameGroups(const RankProfiles& profiles,
                                                     const std::vector<std::pair<RankProfile, bool>>& work);

GroupTraits TraitsOf(const RankProfiles& profiles, const RankProfile& profile);

}  // namespace farscale
