// Layouts that explain the runs as well as the best one, and foresee another program.
#pragma once

#include <string>

#include "growth/growth_model.h"

namespace farscale {

// Why the layouts of a model cannot be believed: others explain the messages of the runs as fully, and on two or four
// times as many ranks messages go elsewhere under them. That happens where messages leave some dimension of the program
// unused. Empty where there are no such layouts, and where the study or the traces name the layouts.
std::string WhyContested(const GrowthModel& model);

}  // namespace farscale
