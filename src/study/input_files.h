// What files and folders on a command line hold: studies, traces, measured runs.
#pragma once

#include <string>
#include <vector>

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

}  // namespace farscale
