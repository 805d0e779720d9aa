// Runs the stages for every run of a study, in parallel, and brings the results together.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "base/parallel.h"
#include "results/results.h"
#include "study/measure_run.h"

namespace farscale {

class ModelLibrary;
struct Scenario;
struct Study;

struct StudyResults : Results {
  std::optional<Error> failure;   // error of the first failed run, in the order of the study
  std::optional<Error> shortage;  // why there is no projection of some phase
};

// trace -> phases -> replay -> factors; of groups of ranks too, where they do different work. A run that fails is
// recorded with its error and does not lose the others. Throws when all runs fail, and a usage error when the runs are
// of different programs. Runs are in the order of cores and repeats, failed ones last; tables, also of the scenarios in
// the variants, are completed and nothing is projected; losses, where asked for, are phase by phase, runs as above.
StudyResults MeasureRuns(const Study& study, const ProgressSink& progress, const std::vector<Scenario>& scenarios = {},
                         Detail detail = Detail::kFactors);

// The whole study: measure, fit, project; the same for every scenario, whose results become the variants.
StudyResults RunStudy(const Study& study, const ModelLibrary& library, const ProgressSink& progress,
                      const std::vector<Scenario>& scenarios = {});

// The scenarios that a study asks for: those of noise removal.
std::vector<Scenario> ScenariosOf(const Study& study);

}  // namespace farscale
