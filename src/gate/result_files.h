// Results as the gate reads them: what `farscale run`, `factors` and `history add` write, or a CSV table.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/diagnostics.h"
#include "factors/factor_table.h"
#include "projection/projection.h"

namespace farscale {

struct MeasuredResults {
  std::string name = "";      // the files
  std::string commit = "";    // any name of a state of the code; only from an entry of a history, as the next two
  std::string date = "";      // "2026-11-20T12:00:00Z"
  std::string accepted = "";  // why the level changes on purpose from here on; empty: it does not
  FactorTable table = {};     // complete
  std::vector<std::string> files = {};            // their paths
  std::vector<PhaseProjection> projections = {};  // only from one results.json
  bool is_results_json = false;                   // which says how its runs scale
};

// results.json, factors.json, a CSV table, a run measured by TALP, or an entry of a history. Tables are put in the
// scaling asked for. Throws an input error for anything else, and a usage error for a scaling that the runs exclude.
MeasuredResults ReadResultFile(const std::string& path, std::optional<Scaling> scaling = {});
// The same without the check of the scaling.
MeasuredResults ReadResultFileUnchecked(const std::string& path, std::optional<Scaling> scaling = {});
// Several files are repeats of each other; several runs measured by TALP are one table, whatever their core counts.
// Throws a usage error when a file is given twice, and when their runs do not scale alike or have no reference run in
// common; the same numbers in two files count once, with a finding in the table.
MeasuredResults ReadResultFiles(const std::vector<std::string>& paths, std::optional<Scaling> scaling = {});

// The runs and findings of all tables in one, as repeats. They must be in the same terms [AgreeOnTerms]; scaling and
// reference are those of the first.
FactorTable MergeRepeats(const std::vector<FactorTable>& tables);

// Tables with their names for messages, which stand beside each other in the same terms: what compares with a reference
// run means the same in two of them only where their runs scale alike and compare with the same run. Puts complete
// tables, the oldest first, in terms of the last one: of its reference run, or of the smallest run that it has in
// common with the newest of the others. A table that scales otherwise, does not say how, or does not know enough for
// another reference forgets what compares with its reference, phase by phase. A core count that only one table has, and
// a reference run alone, compare with nothing, so there it does not matter.
Diagnostics AgreeOnTerms(const std::vector<std::pair<std::string, FactorTable*>>& tables);

}  // namespace farscale
