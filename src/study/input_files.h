// Files and folders on a command line: studies, traces, measured runs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "factors/factor_table.h"
#include "study/measure_run.h"
#include "study/study.h"

namespace farscale {

struct InputFiles {
  std::vector<std::string> studies, traces, measured;  // each once, in the order given; those of a folder by name
  // Measured runs that are left out, since they are the runs of the traces beside them.
  std::vector<std::string> traced;

  bool HasRuns() const { return !traces.empty() || !measured.empty(); }
};

// Folders are searched with all folders in them, but for hidden ones and those of reports (with a results.json).
// Traces and measured runs in the folder of a study, or below it, are left to that study. farscale trace puts the
// results of a run beside its trace: a measured run in the folder of a trace with as many ranks is the run of that
// trace. Throws an input error for a
// file that is missing, or JSON of something else, and for a folder without any of these.
InputFiles FindInputFiles(const std::vector<std::string>& inputs);

// Runs without a trace, which farscale measure or TALP has measured, as runs of a study.

// True if the file is JSON of such a run; false where it cannot be read.
bool IsMeasuredFile(const std::string& path);

// The number of ranks of the run; 0 if the file does not give it.
std::size_t RanksOfMeasuredFile(const std::string& path);

// Such runs, measured by the same tool, as one table that is not complete yet. Throws as the readers of these files do.
FactorTable ReadMeasuredFiles(const std::vector<std::string>& paths);

// The phases of the study that the file knows: the whole run, and regions by their names. There is nothing in it to
// replay: no scenario has rows, and no losses are known. Throws as above.
AnalysedRun AnalyseMeasuredFile(const Study& study, const RunSpec& spec, std::size_t scenarios, bool wants_losses);

// Paths in studies. TOML is UTF-8 and names of files need not be: a byte that is none stands there as a character of
// its own, U+10FE00 plus the byte, which no name has by accident.

std::string TextOfPath(std::string_view path);
std::string PathOfText(std::string_view text);

}  // namespace farscale
