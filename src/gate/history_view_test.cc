// What people read of a history.
#include "gate/history_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/history_templates.h"

namespace farscale {
namespace {

using testing::HasSubstr;
using testing::Not;

FactorRow Row(std::int64_t cores, double computation) {
  FactorRow row;
  row.phase = "solve";
  row.cores = row.ranks = cores;
  row.runtime = 40 / static_cast<double>(cores) / computation;
  row.values[Factor::kParallelEfficiency] = 1;
  row.values[Factor::kComputationScalability] = computation;
  row.values.DeriveParents();
  return row;
}

MeasuredResults Entry(const std::string& commit, double computation) {
  MeasuredResults entry;
  entry.commit = commit;
  entry.date = "2026-11-20T12:00:00Z";
  entry.table.rows = {Row(4, 1), Row(8, computation)};
  entry.table.scaling = Scaling::kStrong;
  entry.table.reference = 4;
  return entry;
}

// The older of two commits has 1.5 on 8 cores, the newer none above 1.1: the older one's is explained.
TEST(HistoryView, EfficienciesAboveOneAreExplained) {
  const ReportTemplates templates = test::HistoryTemplates();
  const HistoryView view = ViewOf({Entry("0123456789", 1.5), Entry("abcdefabcd", 1)}, "History");
  const char* why = "At 01234567: Efficiencies above 110 % come from computation scalability (1.500 on 8 cores)";
  for (const std::string& text :
       {WriteHistoryTable(view), WriteHistoryMarkdown(view, templates), WriteHistoryHtml(view, templates)}) {
    EXPECT_THAT(text, HasSubstr(why));
  }
  const HistoryView usual = ViewOf({Entry("0123456789", 1.05), Entry("abcdefabcd", 1)}, "History");
  for (const std::string& text :
       {WriteHistoryTable(usual), WriteHistoryMarkdown(usual, templates), WriteHistoryHtml(usual, templates)}) {
    EXPECT_THAT(text, Not(HasSubstr("above 110 %")));
  }
}

}  // namespace
}  // namespace farscale
