#include "report/backtest_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/format.h"
#include "projection/backtest_errors.h"
#include "projection/factor_parts.h"
#include "report/figures.h"

namespace farscale {
namespace {

using Data = ReportData;

constexpr std::size_t kMostRows = 30;

// The efficiency as a whole and the factors whose losses make it up.
std::vector<BacktestRow> RowsOf(const Results& results, const std::string& series, const PhaseId& phase) {
  std::vector<BacktestRow> rows;
  std::set<Factor> leaves;
  for (const BacktestRow& row : results.backtest) {
    if (row.series != series || row.phase != phase) continue;
    rows.push_back(row);
    if (row.model != kProduct) leaves.insert(row.factor);
  }
  const std::vector<Factor> losses = LossesAmong({leaves.begin(), leaves.end()});
  std::erase_if(rows, [&](const BacktestRow& row) {
    const bool is_loss = std::find(losses.begin(), losses.end(), row.factor) != losses.end();
    return row.factor != Factor::kParallelEfficiency && !is_loss;
  });
  return rows;
}

// Parallel efficiency, or the first of the others where it is not predicted.
Factor HeadlineOf(const std::vector<BacktestRow>& rows) {
  const bool has_whole = std::any_of(rows.begin(), rows.end(),
                                     [](const BacktestRow& row) { return row.factor == Factor::kParallelEfficiency; });
  return has_whole ? Factor::kParallelEfficiency : rows.front().factor;
}

std::string Within(const BacktestRow& row) {
  const ProjectedValue& predicted = row.predicted;
  if (!predicted.interval80 && !predicted.interval95) return "unknown";
  if (predicted.interval80 && Contains(*predicted.interval80, row.measured)) return "80 %";
  if (predicted.interval95 && Contains(*predicted.interval95, row.measured)) return "95 %";
  return "neither";
}

std::string ErrorInWords(const BacktestRow& row) {
  const std::optional<double> error = RelativeErrorOf(row);
  if (!error) return "–";
  return std::fabs(*error) < 0.0005 ? "0.0 %" : fmt::format("{:+.1f} %", 100 * *error);
}

Data RowData(const BacktestRow& row, bool is_first) {
  const std::string within = Within(row);
  std::string cores = FormatCores(row.predicted.cores);
  if (row.repeat > 0) cores += fmt::format(", repeat {}", row.repeat);
  return {{"name", is_first ? Name(row.factor) : ""},
          {"isFirst", is_first},
          {"trained", FormatCores(row.predicted.cores / row.predicted.ratio)},
          {"cores", cores},
          {"ratio", FormatRatio(row.predicted.ratio)},
          {"measured", FormatValue(row.factor, row.measured)},
          {"predicted", FormatValue(row.factor, row.predicted.value)},
          {"interval", FormatBounds(row.factor, row.predicted.interval80)},
          {"error", ErrorInWords(row)},
          {"within", within},
          {"isOutside", within == "neither"}};
}

// Leaves out what was trained on the fewest runs until a table stays short; returns whether anything was.
bool Shorten(std::vector<BacktestRow>& rows) {
  std::set<double> splits;
  for (const BacktestRow& row : rows) splits.insert(row.train_max);
  const std::size_t all = rows.size();
  while (rows.size() > kMostRows && splits.size() > 1) {
    const double smallest = *splits.begin();
    splits.erase(splits.begin());
    std::erase_if(rows, [&](const BacktestRow& row) { return row.train_max == smallest; });
  }
  return rows.size() < all;
}

std::string Sentence(const std::vector<BacktestRow>& rows) {
  const Factor headline = HeadlineOf(rows);
  std::vector<const BacktestRow*> all, of_headline;
  for (const BacktestRow& row : rows) {
    all.push_back(&row);
    if (row.factor == headline) of_headline.push_back(&row);
  }
  const PredictionErrors errors = ErrorsOf(all);
  std::string text = "With the largest runs hidden, ";
  if (errors.interval80) {
    text += fmt::format("{} of {} values lie in their 80 % intervals", errors.interval80->inside,
                        errors.interval80->points);
    if (errors.interval95) text += fmt::format(" and {} in those of 95 %", errors.interval95->inside);
  } else {
    text += "no value has an interval";
  }
  const std::optional<double> median = ErrorsOf(of_headline).median;
  if (median) {
    text += fmt::format("; {} was off by {} {}", NameInSentence(headline), FormatPercent(*median),
                        of_headline.size() == 1 ? "" : "in the median");
    while (text.back() == ' ') text.pop_back();
  }
  return text + ".";
}

}  // namespace

ReportData BacktestOfPhase(const Results& results, const std::string& series, const PhaseId& phase) {
  std::vector<BacktestRow> rows = RowsOf(results, series, phase);
  Data data = {{"hasBacktest", !rows.empty()}};
  if (rows.empty()) return data;
  data["backtestSummary"] = Sentence(rows);
  data["isBacktestShortened"] = Shorten(rows);
  data["backtest"] = Data::array();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    data["backtest"].push_back(RowData(rows[i], i == 0 || rows[i - 1].factor != rows[i].factor));
  }
  return data;
}

std::string SummarizeBacktest(const Results& results, const std::string& series, const PhaseId& phase) {
  const std::vector<BacktestRow> rows = RowsOf(results, series, phase);
  return rows.empty() ? "" : Sentence(rows);
}

}  // namespace farscale
