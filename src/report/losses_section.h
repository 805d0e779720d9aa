// Where a phase of one run loses time, as texts and pictures for templates: the tags of `losses` in docs/templates.md.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "imbalance/loss_record.h"
#include "report/loss_growth.h"
#include "pages/render.h"
#include "results/reported_losses.h"
#include "results/results.h"

namespace farscale {

// `heading`: of the phase, for names of figures. `growth`: of this phase; nothing where there is one run.
ReportData LossesOfPhase(const LossRecord& losses, const std::vector<LossGrowth>& growth, const std::string& heading,
                         const LossDetail& detail = {});

// Why nothing is said of waits; empty where they are known.
std::string DescribeUnknownWaits(const LossRecord& losses);

// What stands above the tables.
std::vector<std::string> SummarizeLosses(const LossRecord& losses);

// Over what ranks lose while a call path is on the critical path: those that do the same work, and others.
std::pair<std::string, std::string> HeadingsOfImpact(const LossRecord& losses);

// What the rules of delay costs leave out; empty for those that leave nothing.
std::string DescribeRules(const LossRecord& losses);

// The tags of `losses` of a phase; nothing where its losses are not known.
std::optional<ReportData> LossesInReport(const Results& results, const std::string& series, const PhaseId& phase,
                                         const std::string& heading);

}  // namespace farscale
