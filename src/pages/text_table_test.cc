#include "pages/text_table.h"

#include <gtest/gtest.h>

namespace farscale {
namespace {

// The name takes 11 + 4 columns, and two blanks stand between columns: 15 + 2 + 5 + 2 + 3 = 27. Names keep 8.
TEST(TextTable, GivesUpNamesThenColumns) {
  const std::vector<std::vector<std::string>> cells = {{"program", "ranks", "eff"}, {"lulesh-2.0-計算", "8", "0.9"}};
  EXPECT_EQ(FormatTableWithin(cells, 27, 2), "program          ranks  eff\nlulesh-2.0-計算      8  0.9\n");
  EXPECT_EQ(FormatTableWithin(cells, 22, 2), "program     ranks  eff\nlulesh-2.…      8  0.9\n");
  EXPECT_EQ(FormatTableWithin(cells, 16, 2), "program    ranks\nlulesh-2…      8\n");
  EXPECT_EQ(FormatTableWithin(cells, 5, 2), "program   ranks\nlulesh-…      8\n");
}

// 17 + 2 + 1 + 2 + 2 = 24 columns are too wide for 20. Names keep 16, and beside them 2 columns fit.
TEST(TextTable, ColumnsThatDoNotFitFollowBelow) {
  const std::vector<std::vector<std::string>> cells = {{"name", "a", "b"}, {"long_name_here_xx", "1", "22"}};
  EXPECT_EQ(FormatTable(cells, 24), "name               a   b\nlong_name_here_xx  1  22\n");
  EXPECT_EQ(FormatTable(cells, 20),
            "name              a\nlong_name_here_…  1\n\nname               b\nlong_name_here_…  22\n");
  EXPECT_EQ(FormatTable({{"name", ""}, {"a", "a text without any heading"}}, 24), "name\na     a text without an…\n");
}

}  // namespace
}  // namespace farscale
