// How many runs of a study are read at the same time: as many as the memory has room for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "study/study.h"

namespace farscale {

// What is done with a run, by the memory that it takes.
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
