// Splits of cores into processes and threads as tables for the terminal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pages/render.h"
#include "projection/thread_split.h"

namespace farscale {

// The best split of every phase and the others beside it.
std::string FormatSplits(const std::vector<ThreadSplits>& phases, std::int64_t cores, std::size_t width = kAnyWidth);

}  // namespace farscale
