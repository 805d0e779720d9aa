#include "report/sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"
#include "projection/model_settings.h"
#include "pages/text_table.h"
#include "report/figures.h"

namespace farscale {
namespace {

constexpr std::size_t kMostBacktestRows = 30;

// The efficiency as a whole and the factors whose losses make it up.
std::vector<BacktestRow> PhaseRows(const Results& results, const std::string& series, const PhaseId& phase) {
  std::vector<BacktestRow> rows;
  std::set<Factor> leaves;
  for (const BacktestRow& row : results.backtest) {
    if (row.series != series || row.phase != phase) continue;
    if (!IsWithoutDevices(row.factor, row.measured)) rows.push_back(row);
    if (row.model != kProduct) leaves.insert(row.factor);
  }
  const std::vector<Factor> losses = LossesAmong({leaves.begin(), leaves.end()});
  std::erase_if(rows, [&](const BacktestRow& row) {
    const bool is_loss = std::find(losses.begin(), losses.end(), row.factor) != losses.end();
    return row.factor != Factor::kParallelEfficiency && !is_loss;
  });
  return rows;
}

ReportData BacktestLine(const BacktestRow& row, bool is_first) {
  const ProjectedValue& predicted = row.predicted;
  const bool is_unknown = !predicted.interval80 && !predicted.interval95;
  const std::string within = is_unknown                                                              ? "unknown"
                             : predicted.interval80 && Contains(*predicted.interval80, row.measured) ? "80 %"
                             : predicted.interval95 && Contains(*predicted.interval95, row.measured) ? "95 %"
                                                                                                     : "neither";
  const std::optional<double> error = RelativeErrorOf(row);
  std::string cores = FormatCores(predicted.cores);
  if (row.repeat > 0) cores += fmt::format(", repeat {}", row.repeat);
  return {{"name", is_first ? Name(row.factor) : ""},
          {"trained", FormatCores(predicted.cores / predicted.ratio)},
          {"cores", cores},
          {"ratio", FormatRatio(predicted.ratio)},
          {"measured", FormatValue(row.factor, row.measured)},
          {"predicted", FormatValue(row.factor, predicted.value)},
          {"interval", FormatBounds(row.factor, predicted.interval80)},
          {"error", !error                       ? "–"
                    : std::fabs(*error) < 0.0005 ? "0.0 %"
                                                 : fmt::format("{:+.1f} %", 100 * *error)},
          {"within", within},
          {"isOutside", within == "neither"}};  // outside of both intervals
}

// The tags of backtest.txt.mustache.
ReportData BacktestText(const std::vector<BacktestRow>& rows) {
  if (rows.empty()) return {{"error", ""}};
  const bool has_whole = std::ranges::count(rows, Factor::kParallelEfficiency, &BacktestRow::factor) > 0;
  const Factor headline = has_whole ? Factor::kParallelEfficiency : rows.front().factor;
  std::vector<const BacktestRow*> all, of_headline;
  for (const BacktestRow& row : rows) {
    all.push_back(&row);
    if (row.factor == headline) of_headline.push_back(&row);
  }
  const PredictionErrors errors = ErrorsOf(all);
  const auto& inner = errors.interval80;
  const auto median = ErrorsOf(of_headline).median;
  return {{"points", inner ? std::to_string(inner->points) : ""},
          {"within80", inner ? std::to_string(inner->inside) : ""},
          {"within95", inner && errors.interval95 ? std::to_string(errors.interval95->inside) : ""},
          {"name", NameInSentence(headline)},
          {"error", median ? FormatPercent(*median) : ""},
          {"isMedian", of_headline.size() > 1}};
}

using TableRow = std::vector<std::string>;

constexpr int kScoreDigits = 2;  // in scores

std::string ErrorCell(const std::optional<double>& error) { return error ? FormatPercent(*error) : "-"; }

std::string CoveredCell(const std::optional<IntervalRecord>& record) {
  return record ? FormatPercent(record->Coverage()) : "-";
}

std::string ScoreCell(const std::optional<IntervalRecord>& record) {
  return record ? FormatSignificant(record->score, kScoreDigits) : "-";
}

const TableRow kErrorHeader = {"points",     "median error", "90th percentile", "in 80 %",
                               "score 80 %", "in 95 %",      "score 95 %"};

TableRow ErrorCells(const PredictionErrors& errors) {
  return {FormatCount(errors.points),     ErrorCell(errors.median),     ErrorCell(errors.percentile90),
          CoveredCell(errors.interval80), ScoreCell(errors.interval80), CoveredCell(errors.interval95),
          ScoreCell(errors.interval95)};
}

// Lines below a table for what its columns do not count; empty when they count everything.
std::string Notes(const std::vector<const PredictionErrors*>& all) {
  std::size_t without_error = 0, without_interval = 0;
  for (const PredictionErrors* errors : all) {
    without_error += errors->without_error;
    without_interval += errors->points - (errors->interval80 ? errors->interval80->points : 0);
  }
  std::string text;
  if (without_error > 0)
    text += fmt::format("{} points were measured as 0 and have no relative error\n", without_error);
  if (without_interval > 0) text += fmt::format("{} points have no interval\n", without_interval);
  return text;
}

TableRow Joined(TableRow first, const TableRow& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// The name of the factor where it is another one than in the line above.
std::string NameCell(const std::vector<ErrorsAtRatio>& errors, std::size_t i) {
  return i > 0 && errors[i - 1].factor == errors[i].factor ? "" : Name(errors[i].factor);
}

std::string ShareCell(const std::optional<IntervalRecord>& own, const std::optional<IntervalRecord>& other) {
  if (!own || !other || other->score <= 0) return "-";
  return FormatSignificant(own->score / other->score, kScoreDigits) + "×";
}

}  // namespace

ReportData BacktestSection(const Results& results, const std::string& series, const PhaseId& phase,
                           const Partials& texts) {
  std::vector<BacktestRow> rows = PhaseRows(results, series, phase);
  if (rows.empty()) return false;
  const std::vector<std::string> sentences = SummarizeBacktest(rows, texts);
  std::set<double> splits;
  for (const BacktestRow& row : rows) splits.insert(row.train_max);
  const std::size_t all = rows.size();
  while (rows.size() > kMostBacktestRows && splits.size() > 1) {  // the one with the fewest training runs goes first
    const double smallest = *splits.begin();
    splits.erase(splits.begin());
    std::erase_if(rows, [&](const BacktestRow& row) { return row.train_max == smallest; });
  }
  ReportData lines = ReportData::array();
  for (std::size_t i = 0; i < rows.size(); ++i)
    lines.push_back(BacktestLine(rows[i], i == 0 || rows[i - 1].factor != rows[i].factor));
  return {{"sentences", sentences}, {"rows", std::move(lines)}, {"isShortened", rows.size() < all}};
}

std::vector<std::string> SummarizeBacktest(const Results& results, const std::string& series, const PhaseId& phase,
                                           const Partials& texts) {
  return SummarizeBacktest(PhaseRows(results, series, phase), texts);
}

std::vector<std::string> SummarizeBacktest(const std::vector<BacktestRow>& rows, const Partials& texts) {
  return rows.empty() ? std::vector<std::string>() : RenderSentences(texts, "backtest.txt", BacktestText(rows));
}

std::string BacktestInShort(const Results& results, const std::string& series, const PhaseId& phase,
                            const Partials& texts) {
  return RenderSentences(texts, "backtest_short.txt", BacktestText(PhaseRows(results, series, phase))).at(0);
}

std::string FormatErrors(const std::vector<ErrorsAtRatio>& errors, std::size_t width) {
  std::vector<TableRow> cells = {Joined({"factor", "ratio"}, kErrorHeader)};
  std::vector<const PredictionErrors*> all;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    cells.push_back(Joined({NameCell(errors, i), FormatCores(errors[i].ratio) + "×"}, ErrorCells(errors[i].errors)));
    all.push_back(&errors[i].errors);
  }
  return FormatTable(cells, width) + Notes(all);
}

std::string FormatErrorsByPhase(const std::vector<BacktestRow>& rows, Factor factor, std::size_t width) {
  std::vector<TableRow> cells = {Joined({Name(factor)}, kErrorHeader)};
  const auto list = ErrorsByPhase(rows, factor);
  std::vector<const PredictionErrors*> all;
  for (const auto& [key, errors] : list) {
    std::string name = key.series;
    if (!key.phase.IsUnnamed()) name += (name.empty() ? "phase " : ", phase ") + key.phase.Text();
    cells.push_back(Joined({name.empty() ? "all runs" : name}, ErrorCells(errors)));
    all.push_back(&errors);
  }
  return FormatTable(cells, width) + Notes(all);
}

std::string FormatComparison(const BacktestComparison& comparison, std::size_t width) {
  const std::string& other = comparison.against;
  std::vector<TableRow> cells = {{"factor", "ratio", "points", "median error", other, "90th percentile", other,
                                  "score 80 %", other, "share", "score 95 %", other, "share"}};
  for (std::size_t i = 0; i < comparison.errors.size(); ++i) {
    const PredictionErrors& a = comparison.errors[i].errors;
    const PredictionErrors& b = comparison.errors_against[i].errors;
    cells.push_back({NameCell(comparison.errors, i), FormatCores(comparison.errors[i].ratio) + "×",
                     FormatCount(a.points), ErrorCell(a.median), ErrorCell(b.median), ErrorCell(a.percentile90),
                     ErrorCell(b.percentile90), ScoreCell(a.interval80), ScoreCell(b.interval80),
                     ShareCell(a.interval80, b.interval80), ScoreCell(a.interval95), ScoreCell(b.interval95),
                     ShareCell(a.interval95, b.interval95)});
  }
  return FormatTable(cells, width) + fmt::format("share: the score over that of {}, below 1× is better\n", other);
}

}  // namespace farscale
