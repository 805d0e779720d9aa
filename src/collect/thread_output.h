// What the threads of a measured run did, in its JSON file and in the summary on the terminal.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "collect/measured_run.h"

namespace farscale::collect {

// Of a region; nothing where it has no threads beside the main ones.
void AddThreadsToJson(const RegionMetrics& region, nlohmann::ordered_json& json);

// " x 4 threads", where all ranks together have whole teams; nothing without threads.
std::string OfThreads(const RegionMetrics& whole);

// Not where threads are known for what they do on devices alone.
bool ShowsOpenMp(const RegionMetrics& region);

// The factors of the whole run, one a line. It has threads.
std::string TreeOfThreads(const RegionMetrics& whole);

}  // namespace farscale::collect
