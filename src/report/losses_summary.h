// How much of a phase is waiting, and what causes most of it, in sentences: templates/losses_summary.txt.mustache.
#pragma once

#include <string>
#include <vector>

#include "imbalance/loss_record.h"
#include "pages/render.h"

namespace farscale {

std::vector<std::string> SummarizeLosses(const LossRecord& losses, const Partials& texts);

}  // namespace farscale
