// Results of growth as the values that are shown and written [results/growth_record.h].
#pragma once

#include "results/growth_record.h"
#include "study/run_growth.h"

namespace farscale {

GrowthFile RecordOf(const GrowthResults& results);

}  // namespace farscale
