// Several studies within one budget of threads and memory: side by side where it suffices for several.
#pragma once

#include "cli/one_study.h"
#include "study/input_files.h"

namespace farscale {

// One that fails does not stop the others. A study whose report was made by this program of the same inputs is not run
// again. Prints a row a study, and writes a page with the same where there is a folder for all. Returns the largest
// exit code.
int RunBatch(const InputFiles& files, const RunOptions& options, const Common& common);

}  // namespace farscale
