// Which of several rules that hold for a class is the one that holds for others, too.
#pragma once

#include "growth/call_rules.h"

namespace farscale {

// A class with one rank in every run leaves rules open: the last of 4 × 2 and 4 × 4 ranks is 4 before the fourth one,
// too, and tag 7 of rank 7 is constant or the number of the rank. Where several are left, that one goes first which
// clearly more classes with ranks of several runs have for such calls.
void PreferCommonRules(CallRules& rules);

}  // namespace farscale
