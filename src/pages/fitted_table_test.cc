#include "pages/fitted_table.h"

#include <gtest/gtest.h>

namespace farscale {
namespace {

// The name takes 11 + 4 columns, and two blanks stand between columns: 15 + 2 + 5 + 2 + 3 = 27. Names keep 8.
TEST(FittedTable, GivesUpNamesThenColumns) {
  const std::vector<std::vector<std::string>> cells = {{"program", "ranks", "eff"}, {"lulesh-2.0-計算", "8", "0.9"}};
  EXPECT_EQ(FormatTableWithin(cells, 27, 2), "program          ranks  eff\nlulesh-2.0-計算      8  0.9\n");
  EXPECT_EQ(FormatTableWithin(cells, 22, 2), "program     ranks  eff\nlulesh-2.…      8  0.9\n");
  EXPECT_EQ(FormatTableWithin(cells, 16, 2), "program    ranks\nlulesh-2…      8\n");
  EXPECT_EQ(FormatTableWithin(cells, 5, 2), "program   ranks\nlulesh-…      8\n");
}

}  // namespace
}  // namespace farscale
