#include "results/backtest_csv.h"

#include <fmt/format.h>

#include "base/format.h"
#include "results/factor_table_csv.h"
#include "results/projection_csv.h"

namespace farscale {

std::string WriteBacktestCsv(const std::vector<BacktestRow>& rows) {
  std::string text = "series,phase,group,factor,train_max,cores,ratio,measured,value,low80,high80,low95,high95,model\n";
  for (const BacktestRow& row : rows) {
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}\n", CsvField(row.series), CsvField(row.phase.name),
                        CsvField(row.phase.group), Describe(row.factor).id, FormatExact(row.train_max),
                        FormatExact(row.predicted.cores), FormatExact(row.predicted.ratio), FormatExact(row.measured),
                        FormatExact(row.predicted.value), BoundsAsCsv(row.predicted.interval80),
                        BoundsAsCsv(row.predicted.interval95), CsvField(row.model));
  }
  return text;
}

}  // namespace farscale
