// What a comparison of results says, in sentences: templates/compare_*.txt.mustache have the words, this their numbers.
#pragma once

#include <string>
#include <vector>

#include "pages/render.h"
#include "planning/compare.h"

namespace farscale {

// "serialization", "the base (instructions of the reference run)".
std::string NameOf(const Contribution& part);

// "+12.3 %" of a ratio or its logarithm.
std::string FormatRise(double ratio);

// "+1.0 to +2.0 %", the 95 % interval of a change.
std::string FormatRiseInterval(const Change& change);

// The parts of a difference, the largest first: "serialization +5.1 % (72 %), transfer +1.9 % (28 %)".
std::string DescribeParts(const Decomposition& difference, std::size_t most);

// What of a phase changed, beyond noise or within, which factor explains it, what the projections say, and last the
// notes.
std::vector<std::string> SummarizeComparedPhase(const ComparedResults& compared, const ComparedPhase& phase,
                                                const Partials& templates);

// What was done so that both sides of a phase compare, and what does not compare.
std::vector<std::string> NotesOf(const ComparedResults& compared, const ComparedPhase& phase,
                                 const Partials& templates);

// What puts the numbers of a side in doubt, each once where it is the same of both.
std::vector<std::string> DoubtsOfCompared(const ComparedResults& compared);

// Phases that only one side has, and phases with different names.
std::vector<std::string> SummarizeCompared(const ComparedResults& compared, const Partials& templates);

}  // namespace farscale
