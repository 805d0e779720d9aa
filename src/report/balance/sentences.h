// Why balancing brings what it brings, and what to do about the rest, in sentences with numbers.
#pragma once

#include <string>
#include <vector>

#include "balance/what_if.h"
#include "planning/balance_cases.h"

namespace farscale {

// Which part of the makespan went away in what a case is told by, what that cost, and what limits the rest.
// Empty where nothing was balanced.
std::vector<std::string> ReasonsOf(const WhatIf& what_if, const BalanceCase& one);

// How often, how finely, by which strategy; what could be tried. Empty where nothing was balanced, or
// nothing balanced leads.
std::vector<std::string> AdviceOf(const WhatIf& what_if, const BalanceCase& one);

// Whether what moving tasks takes depends on how much state they have: not where nothing moves, where that takes no
// time, or where nobody knows what bytes take.
bool DependsOnState(const WhatIf& what_if);

// Whether other ranks on nodes would help, a sentence for every mapping that was not measured.
std::vector<std::string> SayMappings(const WhatIf& what_if);

// What the replay makes of runs without any change, where that is far from what was measured.
std::vector<std::string> SayFidelity(const WhatIf& what_if);


// Of a case, and of all of them: the most telling first, few of the others.
std::string AnswerOf(const WhatIf& what_if, const BalanceCase& one);
std::vector<std::string> AnswersOf(const WhatIf& what_if);

}  // namespace farscale
