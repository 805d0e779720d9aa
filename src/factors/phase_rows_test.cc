#include "factors/factor_table.h"

#include <gtest/gtest.h>

namespace farscale {
namespace {

FactorRow RowAt(const std::string& series, const std::string& phase, std::int64_t cores, std::int64_t repeat) {
  FactorRow row;
  row.series = series;
  row.phase = PhaseId{phase, ""};
  row.cores = cores;
  row.repeat = repeat;
  return row;
}

TEST(PhaseRows, PhasesSeriesBySeriesAndRowsByCoresAndRepeat) {
  FactorTable table;
  table.rows = {RowAt("x", "p", 4, 1), RowAt("y", "p", 2, 0), RowAt("x", "q", 2, 0), RowAt("x", "p", 4, 0),
                RowAt("x", "p", 2, 0)};
  const std::vector<RowsOfPhase> phases = RowsByPhase(table);
  ASSERT_EQ(phases.size(), 3u);
  EXPECT_EQ(phases[0].key, (PhaseKey{"x", PhaseId{"p", ""}}));
  EXPECT_EQ(phases[0].rows, (RowPointers{&table.rows[4], &table.rows[3], &table.rows[0]}));
  EXPECT_EQ(phases[1].rows, RowPointers{&table.rows[2]});
  EXPECT_EQ(phases[2].rows, RowPointers{&table.rows[1]});
  EXPECT_TRUE(RowsByPhase({}).empty());
}

// (2 + 4) / 2; what is not above 0 or at other cores does not count.
TEST(PhaseRows, MeanOfWhatIsKnown) {
  std::vector<FactorRow> rows = {RowAt("", "", 4, 0), RowAt("", "", 4, 1), RowAt("", "", 4, 2), RowAt("", "", 8, 0)};
  rows[0].runtime = 2;
  rows[1].runtime = 4;
  rows[2].runtime = 0;
  rows[3].runtime = 9;
  const auto runtime = [](const FactorRow& row) { return row.runtime; };
  EXPECT_EQ(MeanAt(PointersTo(rows), 4, runtime), 3);
  EXPECT_FALSE(MeanAt(PointersTo(rows), 2, runtime));
}

}  // namespace
}  // namespace farscale
