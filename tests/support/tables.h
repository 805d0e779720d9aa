// Factor tables written as CSV.
#pragma once

#include <string>

#include "factors/factor_table.h"
#include "results/factor_table_files.h"

namespace farscale::test {

// With all factors that follow from those given.
inline FactorTable CompletedTable(const std::string& csv) {
  FactorTable table = ReadFactorCsv(csv, "t.csv");
  CompleteTable(table);
  return table;
}

}  // namespace farscale::test
