// Results as the gate reads them: what `farscale run`, `factors` and `history add` write, or a CSV table.
#pragma once

#include <string>
#include <vector>

#include "factors/factor_table.h"
#include "projection/projection.h"

namespace farscale {

struct MeasuredResults {
  std::string name;                          // of the files
  std::vector<std::string> files;            // their paths
  FactorTable table;                         // complete
  std::vector<PhaseProjection> projections;  // of one results.json; else empty
  std::string commit, date, accepted;        // of an entry of a history; else empty
};

// results.json, factors.json, a CSV table, or an entry of a history. Throws an input error for anything else.
MeasuredResults ReadResultFile(const std::string& path);
// Several files are repeats of each other.
MeasuredResults ReadResultFiles(const std::vector<std::string>& paths);

// The runs of all tables in one, as repeats; scaling and reference are those of the first.
FactorTable MergeRepeats(const std::vector<FactorTable>& tables);

}  // namespace farscale
