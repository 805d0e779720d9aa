// Runs without a trace, which farscale measure or TALP has measured, as runs of a study.
#pragma once

#include <string>
#include <vector>

#include "factors/factor_table.h"
#include "study/measure_run.h"
#include "study/study.h"

namespace farscale {

// Whether the file is JSON of such a run; false where it cannot be read.
bool IsMeasuredFile(const std::string& path);

// How many ranks the run has; 0 where the file does not say so.
std::size_t RanksOfMeasuredFile(const std::string& path);

// Such runs, measured by the same tool, as one table that is not complete yet. Throws as the readers of these files do.
FactorTable ReadMeasuredFiles(const std::vector<std::string>& paths);

// The phases of the study that the file knows: the whole run, and regions by their names. There is nothing in it to
// replay: no scenario has rows, and no losses are known. Throws as above.
AnalysedRun AnalyseMeasuredFile(const Study& study, const RunSpec& spec, std::size_t scenarios, bool wants_losses);

}  // namespace farscale
