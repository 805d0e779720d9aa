// Groups of ranks that do different work: the programs of an MPMD run, the ranks of one program with a task of their
// own [Huck10; docs/formulas.md, groups of ranks].
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "phases/phase_cut.h"
#include "phases/phase_id.h"
#include "phases/rank_profile.h"
#include "trace/trace.h"

namespace farscale {

// What the ranks of a group do, as shares by name: of useful time by region and by kind of burst, of calls by kind.
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

}  // namespace farscale
