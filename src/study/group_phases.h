// Groups of ranks over the runs of a study: which ones its file names [docs/study-file.md], which are the same in
// several runs, what their phases are called and how they are described.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "factors/factor_table.h"
#include "phases/phase_spec.h"
#include "phases/rank_groups.h"

namespace farscale {

class ConfigTable;
struct PhaseCut;
struct Study;
struct Trace;

// The [[groups]] of a study file. Throws a usage error with file and line for everything that is not as
// docs/study-file.md says.
std::vector<GroupSpec> ParseGroups(const ConfigTable& root);

// One phase of one run.
struct PhaseRows {
  std::optional<FactorRow> whole;                   // nothing where the phase does not occur
  std::vector<RankGroup> groups;                    // groups of ranks; none, or at least two
  std::vector<std::optional<FactorRow>> of_groups;  // nothing for a group that computes nothing
};

// As the study names them, or as they are found, unless the study wants none.
std::vector<RankGroup> GroupsOf(const Study& study, const Trace& trace, const PhaseCut& cut, Diagnostics& diagnostics);

// The same phase in all runs of a study, smallest first; those in which it does not occur are left out.
class GroupsOfPhase {
 public:
  // Gives groups found the same names in all runs, none of them such that the group reads like a phase among
  // `taken`.
  GroupsOfPhase(const Study& study, std::size_t phase, std::vector<PhaseRows*> runs,
                const std::set<std::string>& taken);

  // Groups of all runs, those of the largest run first.
  const std::vector<std::string>& names() const { return names_; }
  PhaseId IdOf(const std::string& group) const { return {spec_.name, group}; }
  // "region step, ranks 20-31 (12 of 32), 40-63 (24 of 64)"
  std::string Describe(const std::string& group) const;
  // Groups that some runs have and others lack.
  void AddMissing(Diagnostics& diagnostics) const;

 private:
  const PhaseSpec& spec_;
  std::vector<PhaseRows*> runs_;
  std::vector<std::string> names_;
};

// The row of a group of this name; null when there is none. `groups`: those of the measured run, whose names are those
// of all runs.
const FactorRow* FindRow(const PhaseRows& rows, const std::vector<RankGroup>& groups, const std::string& name);

}  // namespace farscale
