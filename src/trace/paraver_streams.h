// Streams of devices in a Paraver trace: to Extrae they are threads of their task, with names of their own.
#pragma once

#include <cstddef>
#include <vector>

#include "trace/paraver_header.h"
#include "trace/paraver_names.h"
#include "trace/paraver_records.h"
#include "trace/trace_builder.h"

namespace farscale {

// Takes the states of streams out of those of the threads of every task, and makes devices of them. Streams are known
// by the .row file, "CUDA-D1.S2-host" being the second of the first device; they are no threads of their rank.
void AddParaverDevices(const ParaverNames& names, const ParaverHeader& header, std::size_t application,
                       std::vector<std::vector<ParaverThreadState>>& states, TraceBuilder& builder);

}  // namespace farscale
