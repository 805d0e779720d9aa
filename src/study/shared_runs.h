// Runs of a study that other processes of the job measure.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "parallel/job.h"
#include "study/measure_run.h"

namespace farscale {

// What a process does for others that measure the runs of a study.
Service MeasuringService();

// Measures those runs of the study as MeasureRun does, as many at a time as fit into memory, and calls done(i, result)
// for each, from one thread at a time. Runs are spread over the processes of the job that may be asked, by what they
// take; where there are more processes than runs, several read one run.
void MeasureEach(const Study& study, const std::vector<std::size_t>& which, const std::vector<Scenario>& scenarios,
                 Detail detail, const std::function<void(std::size_t, AnalysedRun)>& done);

}  // namespace farscale
