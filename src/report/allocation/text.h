// What an allocation pack says in words [report/allocation.h].
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "planning/allocation.h"

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
