// The ideal replay once more, as plainly as possible and without any of the program's code for it: for tests that
// compare the two on random programs.
#pragma once

#include <vector>

#include "replay/network.h"
#include "trace/trace.h"

namespace farscale::test {

// When every rank ends in the replay of the whole run; an empty vector when the program cannot complete. Rules are
// looked up in docs/formulas.md, not in replay/network.cc.
std::vector<Tick> ReferenceReplay(const Trace& trace, RuleSet set);

}  // namespace farscale::test
