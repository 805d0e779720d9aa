// What helps against the waiting that computation causes [docs/formulas.md, shapes of imbalance].
#pragma once

#include <string>

#include "imbalance/loss_record.h"

namespace farscale {

// Against what all computation of the phase loses together; empty where that is next to nothing, or nothing is known to
// help.
std::string RemedyForAll(const LossRecord& losses);

// Against what one call path of `losses` loses; empty for one without a shape, too.
std::string RemedyForPath(const LossRecord& losses, const PathRecord& path);

}  // namespace farscale
