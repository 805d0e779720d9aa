// Factors, projections and answers as tables for the terminal.
#pragma once

#include <string>
#include <vector>

#include "factors/factor_table.h"
#include "projection/projection.h"

namespace farscale {

// The factors of every series and phase, runs side by side.
std::string FormatFactorTable(const FactorTable& table);

// The projections of every series and phase: factors side by side, targets below each other, 80 % intervals of
// parallel or global efficiency; of all factors, and no values, beyond the evidence horizon. Then where that is, and
// why values are above 110 %, by the rows of the table that they are projected from.
std::string FormatProjections(const std::vector<PhaseProjection>& projections, const FactorTable& table);

// The answers of every series and phase in sentences: with tables below, or the evidence horizon on top.
std::string FormatAnswers(const std::vector<PhaseProjection>& projections, bool with_tables);

}  // namespace farscale
