// What groups of ranks are called, so that the same group has the same name in every run.
#pragma once

#include <string>
#include <vector>

#include "phases/rank_groups.h"
#include "phases/rank_profile.h"

namespace farscale {

struct NamedWork {
  RankProfile profile;  // the mean of a group's ranks
  bool serves = false;  // the ranks of the others, as a master does
};

struct GroupName {
  std::string text;
  bool is_own = true;  // else a number, in the order of the groups
};

// Each after the region in which its ranks spend the largest share of their useful time beyond what any other group
// does; without such regions "master" and "workers", or the MPI function that makes up the largest share of its calls
// beyond that of the others; else a number. No two are the same.
std::vector<GroupName> NameGroups(const RankProfiles& profiles, const std::vector<NamedWork>& groups);

GroupTraits TraitsOf(const RankProfiles& profiles, const RankProfile& profile);

}  // namespace farscale
