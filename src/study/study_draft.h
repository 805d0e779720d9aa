// A study drafted from the structure of its runs: the loop they share, the parts of its iterations, and whether to keep
// clean iterations only.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "base/parallel.h"
#include "factors/factor_table.h"
#include "phases/phase_spec.h"
#include "study/input_files.h"
#include "study/phase_structure.h"

namespace farscale {

struct ReadOptions;

// Advice on leaving out iterations that stand out in a phase.
struct CleanAdvice {
  std::size_t standing_out = 0, iterations = 0;  // in all runs
  std::string obstacle;  // why it would not be noise alone, or not in every run; empty: it would

  bool IsTaken() const { return standing_out > 0 && obstacle.empty(); }
};

// The phases of a study, as far as the runs show them.
struct FoundPhases {
  std::optional<PhaseSpec> loop;                          // nothing: the whole run stands in
  std::string why;                                        // it does
  std::vector<std::string> parts;                         // in the order of an iteration
  std::map<std::string, std::vector<std::string>> lacks;  // runs without a part, keyed by the part
  std::map<std::string, CleanAdvice> cleaning;            // keyed by the part; empty: the loop
};

// `spec`: that the runs were searched for; traces and structures in the same order.
FoundPhases PhasesOf(const std::vector<std::string>& traces, const PhaseSpec& spec,
                     const std::vector<PhaseStructure>& structures);

// A study of runs for which nobody has written one: the loop that programs mark or that their calls show, its parts,
// and what noise costs.
struct StudyDraft {
  std::vector<std::string> traces;
  int application = 0;                            // chosen in the traces; 0: none
  std::string folder = ".";                       // the file's: paths are relative to it
  std::string title = "";                         // empty: none
  std::vector<std::string> measured = {};         // runs without a trace
  std::optional<Scaling> scaling = std::nullopt;  // found from the growth of work; nothing: only the user knows
  std::vector<std::string> left_out = {};         // runs that cannot be read, and why: one line each
  bool removes_noise = false;                     // on a network that is calibrated to the runs
  bool reports_here = false;                      // into the folder of the file
  AcceptedKinds accepted = {};                    // anomalies of the traces
  FoundPhases found = {};                         // in traces alone
  std::vector<std::string> regions = {};          // where there are measured runs: that all of these know
  std::vector<Error> unreadable = {};             // files that are left out

  // The study as TOML.
  std::string Text() const;
};

// `draft`: folder, title, and how traces are read; the runs are those of `files`. Throws an error when none can be
// read, and a usage error when measured runs are of several programs.
StudyDraft DraftStudy(const InputFiles& files, StudyDraft draft, const ProgressSink& progress);

// The text with a first line by which IsUnchangedDraft recognises it. `command`: that runs it again.
std::string SealDraft(const std::string& text, const std::string& command);
// True for a text as SealDraft made it; false once somebody has edited it.
bool IsUnchangedDraft(const std::string& text);

// The loops of several runs of a program, in the order of the traces. Reads the largest trace first, which shows them
// to the others. `is_automatic`: looks for the first loop that it shows, else for `spec`, which gets the shape of its
// iterations. A trace that cannot be read does not lose the others. Tables are no wider than `width`.
std::vector<PhaseStructure> ReadStructures(const std::vector<std::string>& traces, bool is_automatic,
                                           const ReadOptions& options, const ProgressSink& progress, PhaseSpec& spec,
                                           std::size_t width = kAnyWidth);

}  // namespace farscale
