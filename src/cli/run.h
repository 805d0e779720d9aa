// One study of `farscale run`: from a file, or drafted for runs that have none.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/table_options.h"
#include "cli/command.h"
#include "results/results.h"
#include "study/study_draft.h"

namespace farscale {

struct RunOptions {
  std::vector<std::string> inputs;
  std::string output;
  std::string preset;
  std::string templates;
  std::string form = "report";
  bool grow = false;
  TraceChoice choice;
  AllocationFormOptions allocation;
};

struct StudyToRun {
  std::string name;  // in tables, and of its folder where there are several
  std::string file;  // where the study stands; of a draft, where it is written
  std::string text;
  std::optional<DraftedStudy> draft = std::nullopt;
};

StudyToRun StudyOfFile(const std::string& file);

// A study of runs without one, for a report in `folder`. Throws a usage error when somebody has edited an earlier draft
// there, and as DraftStudy.
StudyToRun StudyOfRuns(const InputFiles& files, const RunOptions& options, const std::string& folder,
                       const Messages& messages);

// As the options have it. An empty `folder`: as the study says.
Study ParseStudyToRun(const StudyToRun& study, const std::string& folder, const RunOptions& options);

struct StudyRun {
  Results results;
  std::vector<std::filesystem::path> files;  // written
  int code = 0;                              // exit code; its reason was printed
};

// Runs the study and writes its report, and the draft beside it.
StudyRun RunOneStudy(const StudyToRun& study, const std::string& folder, const RunOptions& options,
                     const Common& common);

}  // namespace farscale
