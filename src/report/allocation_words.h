// What an allocation pack says in words [report/allocation.h].
#pragma once

#include <string>
#include <vector>

#include "report/allocation.h"

namespace farscale {

// Seconds as FormatSeconds has them, from two hours on in hours.
std::string FormatWallTime(double seconds);

// "the phase "solve"", "the group "pme" of ranks in the phase "solve"".
std::string PhaseInWords(const PhaseId& phase);

// The recommended job size with its interval, efficiency and cost, in sentences.
std::vector<std::string> DescribeRecommendation(const AllocationPack& pack);

// How it was measured, and how the rest was predicted: two paragraphs.
std::string DescribeMeasurement(const Results& results, const AllocationPack& pack);
std::string DescribePrediction(const Results& results, const AllocationPack& pack);

}  // namespace farscale
