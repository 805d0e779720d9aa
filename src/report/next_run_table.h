// What to run next to know more, as a sentence and a table [projection/next_run.h].
#pragma once

#include <string>

#include "report/answers_section.h"

namespace farscale {

// Empty where nothing is known, or no run would narrow the interval noticeably.
std::string DescribeNextRun(const PhaseProjection& projection);

// Of a projection with next runs.
AnswerTable TabulateNextRuns(const PhaseProjection& projection);

}  // namespace farscale
