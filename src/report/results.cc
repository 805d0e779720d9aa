#include "report/results.h"

#include <algorithm>

namespace farscale {

Results ResultsOfTable(const FactorTable& table, const std::vector<PhaseProjection>& projections,
                       const std::string& title) {
  Results results;
  results.title = title;
  results.table = table;
  results.projections = projections;
  for (const FactorRow& row : table.rows) {
    const bool known = std::any_of(results.phases.begin(), results.phases.end(),
                                   [&](const PhaseRecord& phase) { return phase.name == row.phase; });
    if (!known) results.phases.push_back({row.phase, "as given by the factor table"});
  }
  return results;
}

}  // namespace farscale
