// The advice that a remedy stands for, for readers. Sources of the advice: docs/formulas.md, shapes of imbalance.
#pragma once

#include <string>

#include "imbalance/loss_remedy.h"

namespace farscale {

// One or two sentences; empty for none.
std::string TextOf(const Remedy& remedy);

}  // namespace farscale
