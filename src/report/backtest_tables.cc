#include "report/backtest_tables.h"

#include <fmt/format.h>

#include "base/format.h"
#include "report/figures.h"
#include "pages/text_table.h"

namespace farscale {
namespace {

using Cells = std::vector<std::string>;

constexpr int kDigits = 2;  // of scores

std::string ErrorCell(const std::optional<double>& error) { return error ? FormatPercent(*error) : "-"; }

std::string CoveredCell(const std::optional<IntervalRecord>& record) {
  return record ? FormatPercent(record->Coverage()) : "-";
}

std::string ScoreCell(const std::optional<IntervalRecord>& record) {
  return record ? FormatSignificant(record->score, kDigits) : "-";
}

const Cells kErrorHeader = {"points",     "median error", "90th percentile", "in 80 %",
                            "score 80 %", "in 95 %",      "score 95 %"};

Cells ErrorCells(const PredictionErrors& errors) {
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

Cells Joined(Cells first, const Cells& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// The name of the factor where it is another one than in the line above.
std::string NameCell(const std::vector<ErrorsAtRatio>& errors, std::size_t i) {
  return i > 0 && errors[i - 1].factor == errors[i].factor ? "" : Name(errors[i].factor);
}

std::string ClassCell(double ratio) { return FormatCores(ratio) + "×"; }

std::string ShareCell(const std::optional<IntervalRecord>& own, const std::optional<IntervalRecord>& other) {
  if (!own || !other || other->score <= 0) return "-";
  return FormatSignificant(own->score / other->score, kDigits) + "×";
}

}  // namespace

std::string FormatErrors(const std::vector<ErrorsAtRatio>& errors) {
  std::vector<Cells> cells = {Joined({"factor", "ratio"}, kErrorHeader)};
  std::vector<const PredictionErrors*> all;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    cells.push_back(Joined({NameCell(errors, i), ClassCell(errors[i].ratio)}, ErrorCells(errors[i].errors)));
    all.push_back(&errors[i].errors);
  }
  return FormatTable(cells) + Notes(all);
}

std::string FormatErrorsByPhase(const std::vector<BacktestRow>& rows, Factor factor) {
  std::vector<Cells> cells = {Joined({Name(factor)}, kErrorHeader)};
  const std::vector<ErrorsOfPhase> list = ErrorsByPhase(rows, factor);
  std::vector<const PredictionErrors*> all;
  for (const ErrorsOfPhase& one : list) {
    std::string name = one.series;
    if (!one.phase.IsUnnamed()) name += (name.empty() ? "phase " : ", phase ") + one.phase.Text();
    cells.push_back(Joined({name.empty() ? "all runs" : name}, ErrorCells(one.errors)));
    all.push_back(&one.errors);
  }
  return FormatTable(cells) + Notes(all);
}

std::string FormatComparison(const BacktestComparison& comparison) {
  const std::string& other = comparison.against;
  std::vector<Cells> cells = {{"factor", "ratio", "points", "median error", other, "90th percentile", other,
                               "score 80 %", other, "share", "score 95 %", other, "share"}};
  for (std::size_t i = 0; i < comparison.errors.size(); ++i) {
    const PredictionErrors& a = comparison.errors[i].errors;
    const PredictionErrors& b = comparison.errors_against[i].errors;
    cells.push_back({NameCell(comparison.errors, i), ClassCell(comparison.errors[i].ratio), FormatCount(a.points),
                     ErrorCell(a.median), ErrorCell(b.median), ErrorCell(a.percentile90), ErrorCell(b.percentile90),
                     ScoreCell(a.interval80), ScoreCell(b.interval80), ShareCell(a.interval80, b.interval80),
                     ScoreCell(a.interval95), ScoreCell(b.interval95), ShareCell(a.interval95, b.interval95)});
  }
  return FormatTable(cells) + fmt::format("share: the score over that of {}, below 1× is better\n", other);
}

}  // namespace farscale
