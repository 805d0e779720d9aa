// What balancing would bring, for a terminal.
#pragma once

#include <cstddef>
#include <string>

#include "balance/what_if.h"

namespace farscale {

// What was simulated and how, the answer and why, the best `top` configurations of every case with what they are
// compared with, other mappings of ranks to nodes, what was left out, and what was odd.
std::string FormatWhatIf(const WhatIf& what_if, std::size_t top);

}  // namespace farscale
