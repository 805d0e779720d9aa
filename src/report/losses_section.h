// Where a phase of one run loses time, as texts and pictures for templates: the tags of `losses` in docs/templates.md.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "imbalance/loss_record.h"
#include "pages/render.h"
#include "report/loss_growth.h"
#include "results/reported_losses.h"
#include "results/results.h"

namespace farscale {

// `heading`: of the phase, for names of figures. `growth`: of this phase; nothing where there is one run. `grown`: of
// the phase in a run that nobody has made, of which the sentences are shown; null: none.
ReportData LossesOfPhase(const LossRecord& losses, const std::vector<LossGrowth>& growth, const std::string& heading,
                         const Partials& texts, const LossDetail& detail = {}, const LossRecord* grown = nullptr);

// For a terminal, with `top` rows of a table at most.
std::string FormatLosses(const LossRecord& losses, std::size_t top, const Partials& texts,
                         std::size_t width = kAnyWidth);

// The tags of `losses` of a phase; nothing where its losses are not known.
std::optional<ReportData> LossesInReport(const Results& results, const std::string& series, const PhaseId& phase,
                                         const std::string& heading, const Partials& texts);

}  // namespace farscale
