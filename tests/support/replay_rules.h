// The two sets of rules of a replay, with the threshold of rendezvous that most tests take.
#pragma once

#include "replay/replay.h"

namespace farscale::test {

inline constexpr ReplayRules kBsc{RuleSet::kBsc, 32768};
inline constexpr ReplayRules kCausal{RuleSet::kCausal, 32768};

}  // namespace farscale::test
