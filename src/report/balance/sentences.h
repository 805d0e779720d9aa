// What a what-if of balancing found, in sentences: templates/balance_*.txt.mustache have the words, this their numbers.
#pragma once

#include <string>
#include <vector>

#include "balance/what_if.h"
#include "pages/render.h"
#include "planning/balance_cases.h"
#include "planning/balance_json.h"

namespace farscale {

using Sentences = std::vector<std::string>;

// Whether balancing pays: of a case, and of all of them, those with the largest gain first and only a few of the
// others.
Sentences AnswerOf(const WhatIf& what_if, const BalanceCase& one, const Partials& templates);
Sentences AnswersOf(const WhatIf& what_if, const Partials& templates);

// Which part of the makespan went away, what that cost, and what limits the rest. Empty where nothing was balanced.
Sentences ReasonsOf(const WhatIf& what_if, const BalanceCase& one, const Partials& templates);

// How often, how finely, by which strategy; what could be tried. Empty where nothing was balanced, or nothing balanced
// leads.
Sentences AdviceOf(const WhatIf& what_if, const BalanceCase& one, const Partials& templates);

// A run of production length, and what the stated costs of switching and of lost locality do; empty unless asked for.
Sentences DescribeProduction(const WhatIf& what_if, const Partials& templates);

// Whether migration costs depend on how much state tasks have: not where nothing moves, where that takes no time, or
// where the costs of bytes are unknown.
bool DependsOnState(const WhatIf& what_if);

// Whether other ranks on nodes would help, for every mapping that was not measured.
Sentences DescribeMappings(const WhatIf& what_if, const Partials& templates);

// Runs whose replay without any change is far from what was measured.
Sentences DescribeFidelity(const WhatIf& what_if, const Partials& templates);

// Parallel efficiency on the most processors that were replayed or are reliable, with balancing and without.
Sentences DescribeProjections(const std::vector<BalancedProjection>& list, const Partials& templates);

// How it was simulated: names and values.
LabelledTexts DescribeMethod(const WhatIf& what_if, const Partials& templates);

// What was left out, by reason: "RefineLB every 20 iterations with 64 tasks on 16 processors and 3 more: why".
Sentences DescribeLeftOut(const WhatIf& what_if);

}  // namespace farscale
