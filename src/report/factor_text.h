// Factors, projections and key results as tables for the terminal.
#pragma once

#include <string>
#include <vector>

#include "factors/factor_table.h"
#include "pages/render.h"
#include "projection/projection.h"

namespace farscale {

// The factors of every series and phase, runs side by side. Lines are broken where they are wider than `width`, here
// and below.
std::string FormatFactorTable(const FactorTable& table, std::size_t width = kAnyWidth);

// What is lost by the additive scheme, as shares of all time that add up to 1 with parallel efficiency. Throws a usage
// error when no row knows what threads do.
std::string FormatAdditiveLosses(const FactorTable& table, std::size_t width = kAnyWidth);

// The projections of every series and phase: factors side by side, targets below each other, 80 % intervals of
// parallel or global efficiency; of all factors, and no values, beyond the reliable range. Then where that ends, and
// why values are above 110 %, by the rows of the table that they are projected from.
std::string FormatProjections(const std::vector<PhaseProjection>& projections, const FactorTable& table,
                              const Partials& texts, std::size_t width = kAnyWidth);

// The key results of every series and phase in sentences: with tables below, or the reliable range on top.
std::string FormatKeyResults(const std::vector<PhaseProjection>& projections, bool with_tables, const Partials& texts,
                             std::size_t width = kAnyWidth);

}  // namespace farscale
