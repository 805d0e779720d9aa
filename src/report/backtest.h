// How well larger runs are predicted from smaller ones: the section of a report, and tables for the terminal.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pages/render.h"
#include "projection/backtest.h"
#include "results/results.h"

namespace farscale {

struct BacktestLine {
  std::string name;  // of the factor, in the first of its lines
  std::string trained, cores, ratio, measured, predicted, interval, error, within;
  bool is_outside = false;  // of both intervals
  FARSCALE_TAGS(name, trained, cores, ratio, measured, predicted, interval, error, within, is_outside)
};

struct BacktestSection {
  std::vector<std::string> sentences;
  std::vector<BacktestLine> rows;
  bool is_shortened = false;
  FARSCALE_TAGS(sentences, rows, is_shortened)
};

// Nothing where nothing was predicted.
std::optional<BacktestSection> BacktestOfPhase(const Results& results, const std::string& series, const PhaseId& phase,
                                               const Partials& texts);

// Its sentences, as backtest.txt.mustache of `texts` words them.
std::vector<std::string> SummarizeBacktest(const Results& results, const std::string& series, const PhaseId& phase,
                                           const Partials& texts);

// The same of these rows.
std::vector<std::string> SummarizeBacktest(const std::vector<BacktestRow>& rows, const Partials& texts);

// The same of a phase in a few words, also that nothing was predicted.
std::string BacktestInShort(const Results& results, const std::string& series, const PhaseId& phase,
                            const Partials& texts);

// Errors of the predictions and how the intervals held, by factor and ratio.
std::string FormatErrors(const std::vector<ErrorsAtRatio>& errors, std::size_t width = kAnyWidth);

// The same of one factor, one line a series and phase.
std::string FormatErrorsByPhase(const std::vector<BacktestRow>& rows, Factor factor, std::size_t width = kAnyWidth);

// Two ways to predict side by side.
std::string FormatComparison(const BacktestComparison& comparison, std::size_t width = kAnyWidth);

}  // namespace farscale
