// What stands around the table of an allocation pack: the facts of the application, and what the table means.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "report/allocation.h"

namespace farscale {

// Name and value: code and case, phase, scaling, baseline, what was measured, planned work.
using AllocationFacts = std::vector<std::pair<std::string, std::string>>;
AllocationFacts FactsOf(const Results& results, const AllocationPack& pack);

// What numbers and intervals of the table mean.
std::string AllocationNote(const AllocationPack& pack);

// Whether a row has it.
bool Any(const AllocationPack& pack, const std::function<bool(const AllocationRow&)>& has);
bool HasTimes(const AllocationPack& pack);
bool HasSizes(const AllocationPack& pack);

// All digits where it is a whole number.
std::string FormatIdealSpeedup(double ideal);

// "1 core", "1,024 cores".
std::string CoresInWords(double cores);

std::string FormatProblemSize(double size);

}  // namespace farscale
