// A study drafted from the structure of its runs: the loop they share, the parts of its iterations, and whether to keep
// clean iterations only.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "study/phase_structure.h"

namespace farscale {

// Whether to leave out what stands out in a phase.
struct CleanAdvice {
  std::size_t standing_out = 0, iterations = 0;  // of all runs
  std::string obstacle;  // why it would not be noise alone, or not in every run; empty: it would

  bool IsTaken() const { return standing_out > 0 && obstacle.empty(); }
};

// What the phases of a study are, as far as the runs show it.
struct FoundPhases {
  std::optional<PhaseSpec> loop;                          // nothing: the whole run stands in
  std::string why;                                        // it does
  std::vector<std::string> parts;                         // in the order of an iteration
  std::map<std::string, std::vector<std::string>> lacks;  // by part, the runs without it
  std::map<std::string, CleanAdvice> cleaning;            // by part, that of the loop under an empty name
};

// `spec`: that the runs were searched for; traces and structures in the same order.
FoundPhases PhasesOf(const std::vector<std::string>& traces, const PhaseSpec& spec,
                     const std::vector<PhaseStructure>& structures);

// What a study says besides its phases.
struct StudyDraft {
  std::vector<std::string> traces;
  int application = 0;                            // of the traces; 0: none is chosen
  std::string folder = ".";                       // of the file: paths are relative to it
  std::string title = "";                         // empty: none
  std::vector<std::string> measured = {};         // runs without a trace
  std::optional<Scaling> scaling = std::nullopt;  // found from the growth of work; nothing: only the user knows
  std::vector<std::string> left_out = {};         // runs that cannot be read, and why: one line each
  bool removes_noise = false;                     // on a network that is calibrated to the runs
  bool reports_here = false;                      // into the folder of the file
  AcceptedKinds accepted = {};                    // anomalies of the traces
};

// The study as TOML.
std::string WriteStudyDraft(const StudyDraft& draft, const FoundPhases& found);

// The same of measured runs, or with some among the runs: the phases that all of them know.
std::string WriteStudyDraft(const StudyDraft& draft, const std::vector<std::string>& regions);

}  // namespace farscale
