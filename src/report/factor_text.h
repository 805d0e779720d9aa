// Factors, projections, targets, key results and grown runs for the terminal.
#pragma once

#include <string>
#include <vector>

#include "base/terminal.h"
#include "factors/factor_table.h"
#include "pages/render.h"
#include "pages/template_text.h"
#include "pages/text_table.h"
#include "projection/projection.h"
#include "results/growth_record.h"

namespace farscale {

// One a line, broken where they are wider.
std::string WrapSentences(const std::vector<std::string>& sentences, std::size_t width);
bool IsWithin(const std::string& text, std::size_t columns);

// The factors of every series and phase, runs side by side. Lines are broken where they are wider than `width`, here
// and below.
std::string FormatFactorTable(const FactorTable& table, std::size_t width = kAnyWidth);

// Losses by the additive scheme, as shares of all time that add up to 1 with parallel efficiency. Throws a usage
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

// The efficiency to talk about and the time of an iteration of every phase: targets side by side, below each other, or
// in lines, the first of these that is not wider than the terminal; as targets.txt.mustache of `texts` words it. An
// interval alone is uncertain, a dash unknown. Empty where no phase has a projection.
std::string FormatTargets(const std::vector<PhaseProjection>& projections, const Partials& texts,
                          const TerminalStyle& style);

// Steps towards targets of which nothing is known, by target_steps.txt.mustache; empty without such targets.
std::vector<std::string> NextStepsForTargets(const std::vector<PhaseProjection>& projections, const Partials& texts);

// `with_classes`: also the classes of ranks.
std::string FormatGrownRuns(const GrowthRecord& record, const std::string& scenario, bool with_classes,
                            const Partials& texts, std::size_t width = kAnyWidth);

}  // namespace farscale
