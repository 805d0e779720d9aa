// Whether balancing pays, in sentences: what it brings, and what over-decomposition and placement do by themselves.
#pragma once

#include <string>
#include <vector>

#include "balance/what_if.h"
#include "report/balance_cases.h"

namespace farscale {

// Of a case, and of all of them: the most telling first, few of the others.
std::string AnswerOf(const WhatIf& what_if, const BalanceCase& one);
std::vector<std::string> AnswersOf(const WhatIf& what_if);

}  // namespace farscale
