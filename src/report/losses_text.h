// Where time is lost, as tables for a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "imbalance/loss_record.h"

namespace farscale {

// One phase of one run: its waits by kind, the call paths that cause most of them, those that wait, the critical path.
// `top`: rows of a table at most.
std::string FormatLosses(const LossRecord& losses, std::size_t top);

}  // namespace farscale
