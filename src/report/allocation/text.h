// What an allocation pack says, in sentences: templates/allocation_*.txt.mustache have the words, this their numbers.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "pages/render.h"
#include "planning/allocation.h"

namespace farscale {

// Lists of sentences but for the names and values of the facts.
struct AllocationText {
  LabelledTexts facts;  // code and case, phase, scaling, baseline, planned work
  std::vector<std::string> recommendation;
  std::string measurement, prediction;  // paragraphs
  std::string note;                     // on numbers and intervals of the table; one paragraph
  std::vector<std::string> contradictions, missing;
};

AllocationText DescribeAllocation(const Results& results, const AllocationPack& pack, const Partials& templates);

// Whether a row has it.
bool Any(const AllocationPack& pack, const std::function<bool(const AllocationRow&)>& has);
bool HasTimes(const AllocationPack& pack);
bool HasSizes(const AllocationPack& pack);

// All digits where it is a whole number.
std::string FormatIdealSpeedup(double ideal);

std::string FormatProblemSize(double size);

// "the group "pp" of ranks in the phase "step"".
std::string PhaseInWords(const PhaseId& phase);

// Without line breaks.
std::string OneLine(std::string text);

}  // namespace farscale
