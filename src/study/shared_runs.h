// Runs of a study that other processes of the job measure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "parallel/job.h"

namespace farscale {

enum class Detail;
struct AnalysedRun;
struct RunSpec;
struct Scenario;
struct Study;

// The service of a process for others that measure the runs of a study.
Service MeasuringService();

// Measures those runs of the study as MeasureRun does, as many at a time as fit into memory, and calls done(i, result)
// for each, from one thread at a time. Runs are spread over the processes of the job that may be asked, by what they
// take; where there are more processes than runs, several read one run.
void MeasureEach(const Study& study, const std::vector<std::size_t>& which, const std::vector<Scenario>& scenarios,
                 Detail detail, const std::function<void(std::size_t, AnalysedRun)>& done);

// The number of runs read at the same time: as many as fit in memory.

// The work on a run, which decides how much memory it takes.
enum class RunUse {
  kReplay,  // read, matched and replayed
  kLosses,  // besides, searched for waits and their causes
};

// Bytes of memory that a run is expected to take; 0 for one without a trace.
std::uint64_t ExpectedMemory(const RunSpec& run, RunUse use);

// Calls body(i) for all those runs of the study, on several threads: as many at a time as fit into the memory budget,
// and one where even that does not fit.
void ForEachRun(const std::vector<RunSpec>& runs, const std::vector<std::size_t>& which, RunUse use,
                const std::function<void(std::size_t)>& body);

}  // namespace farscale
