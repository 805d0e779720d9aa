// Tables that stand beside each other in the same terms. What compares with a reference run means the same in two
// tables only where their runs scale alike and compare with the same run.
#pragma once

#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "factors/factor_table.h"
#include "gate/history_json.h"

namespace farscale {

struct NamedTable {
  std::string name;  // of the results, for messages
  FactorTable* table = nullptr;
};

// Puts complete tables, the oldest first, in terms of the last one: of its reference run, or of the smallest run that
// it has in common with the newest of the others. A table that scales otherwise, does not say how, or does not know
// enough for another reference forgets what compares with its reference, phase by phase. A core count that only one
// table has, and a reference run alone, compare with nothing, so there it does not matter.
Diagnostics AgreeOnTerms(const std::vector<NamedTable>& tables);

// "commit 1a2b3c4d", or the file of an entry without one.
std::string NameOf(const HistoryEntry& entry);

// What is odd about the tables of a history, a finding an anomaly: of how many commits, and the newest of these.
std::vector<Finding> FindingsOf(const History& history);

}  // namespace farscale
