// What a comparison of results says in words, and its tables [planning/compare.h].
#pragma once

#include <string>
#include <vector>

#include "planning/compare.h"

namespace farscale {

// "serialization", "base: instructions of the reference run", "rounding".
std::string NameOf(const Contribution& part);

// "+12.3 %" of a ratio or its logarithm.
std::string FormatRise(double ratio);

// "+1.0 to +2.0 %", the 95 % interval of a change.
std::string FormatRiseInterval(const Change& change);

// What of a phase changed, beyond noise or within, which factor explains it, and what the projections say.
std::vector<std::string> SummarizeComparedPhase(const ComparedResults& compared, const ComparedPhase& phase);

// What puts the numbers of a side in doubt, each once where it is the same of both.
std::vector<std::string> DoubtsOfCompared(const ComparedResults& compared);

// Phases and core counts that only one side has; what the verdict on noise rests on.
std::vector<std::string> SummarizeCompared(const ComparedResults& compared);

// For the terminal: sentences, then tables of factors, of core counts and of projections.
std::string FormatCompared(const ComparedResults& compared);

// The parts of a difference, the furthest first: "serialization +5.1 % (72 %), transfer +1.9 % (28 %)".
std::string DescribeParts(const Decomposition& difference, std::size_t most);

}  // namespace farscale
