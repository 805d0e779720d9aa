// The answers to what people ask a projection, as sentences and small tables: for the section of a report and for the
// terminal [projection/answers.h].
#pragma once

#include <string>
#include <vector>

#include "projection/projection.h"
#include "report/report_model.h"

namespace farscale {

// How many cores keep which efficiency, where speedup ends, what an iteration takes and costs, and which perfect factor
// would bring most. Beyond the evidence horizon they give intervals only. Empty when there are no answers.
std::vector<std::string> SummarizeAnswers(const PhaseProjection& projection);

// A table of answers. Of cells that are not evidence the interval is the text.
struct AnswerCell {
  std::string text;
  std::string detail;  // beside it, in small print or parentheses; may be empty
  bool is_evidence = true;
};

struct AnswerTable {
  std::string caption;
  bool is_text = false;                       // cells are words rather than numbers
  std::vector<AnswerCell> header;             // of the columns
  std::vector<std::vector<AnswerCell>> rows;  // each begins with its heading
};

// Core counts by level of efficiency; by target times and costs, and what perfect factors would bring. Without those
// that say nothing.
std::vector<AnswerTable> TabulateAnswers(const PhaseProjection& projection);

// Digits that tell core hours apart from the smallest to the largest.
std::string FormatCoreHours(double hours);

// Tags hasAnswers, answers and answerTables [docs/templates.md]. `projection` may be null.
ReportData AnswersOfPhase(const PhaseProjection* projection);

}  // namespace farscale
