// A study of runs for which nobody has written one: the loop that programs mark or that their calls show, its parts,
// and what noise costs.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "study/input_files.h"
#include "study/run_study.h"
#include "study/study_draft.h"
#include "trace/trace_reader.h"

namespace farscale {

struct DraftedStudy {
  StudyDraft draft;
  FoundPhases found;                 // of traces alone
  std::vector<std::string> regions;  // where there are measured runs: that all of these know
  std::vector<Error> unreadable;     // files that are left out

  std::string Text() const;
};

// `draft`: folder, title, and how traces are read; the runs are those of `files`. Throws an error when none can be
// read, and a usage error when measured runs are of several programs.
DraftedStudy DraftStudy(const InputFiles& files, const StudyDraft& draft, const ProgressSink& progress);

// The text with a first line by which IsUnchangedDraft recognises it. `command`: that runs it again.
std::string SealDraft(const std::string& text, const std::string& command);
// Whether a text is as SealDraft has made it; false once somebody has edited it.
bool IsUnchangedDraft(const std::string& text);

}  // namespace farscale
