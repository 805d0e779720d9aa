// Which loop of a run stands for the program where nobody names one.
#pragma once

#include <string>
#include <vector>

#include "phases/phase_spec.h"
#include "trace/trace.h"

namespace farscale {

// In the order in which they are taken [docs/formulas.md, loops found in the calls]: regions that mark the iterations,
// those without gaps first, then by size; the loop that the calls show; other regions that all ranks enter equally
// often, by size. Empty: there is none.
std::vector<PhaseSpec> LoopsOf(const Trace& trace);

// Whether a phase is asked for by "auto", or a part by "auto:exchange".
bool IsAutomatic(const std::string& text);

// A found loop, or a part of it, becomes the first of those loops, or its part. Without any loop it stays as it is.
PhaseSpec WithLoopOf(const Trace& trace, const PhaseSpec& found);

}  // namespace farscale
