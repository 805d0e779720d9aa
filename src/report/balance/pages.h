// Gain from load balancing: names, sentences (worded by templates/balance_*.txt.mustache), figures as [Tesser17] draws
// them, and the page as HTML, Markdown or text.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "balance/what_if.h"
#include "pages/render.h"
#include "planning/balance_cases.h"
#include "planning/balance_json.h"
#include "plot/heat_map.h"

namespace farscale {

// Chosen: below this share of a makespan a reader has nothing to act on.
inline constexpr double kMatters = 0.01;

// "as measured", "in blocks" or "round robin".
std::string NameOfPlacement(Placement placement);
// "no balancing", with where tasks lie at first, where a case has several ways: "no balancing, placed round robin".
std::string NameInCase(const WhatIf& what_if, const BalanceCase& one, const BalanceConfiguration& configuration);
// "64", or "64, grown" of a run that nobody has made.
std::string RanksText(const BalanceRun& run);
// "64 tasks", or "64 tasks (grown)" of a run that nobody has made.
std::string CountOfTasks(const BalanceConfiguration& configuration);
// "64 tasks".
std::string CountText(std::size_t count, const std::string& one);
// "RefineLB every 20 iterations, 4 a processor": in legends, among others on as many processors.
std::string ShortName(const BalanceConfiguration& configuration);
// "16 processors", and of which run where the runs do not solve the same problem.
std::string NameOfCase(const WhatIf& what_if, const BalanceCase& one);

// "21.2 % less", "2.0 % more" or "no change".
std::string SayGain(double gain);
// The same with the 80 % of the replicas, where there are any: not every configuration has some.
std::string SayGain(const Gain& gain);
// For tables: "18.0–23.1 %", or nothing.
std::string GainInterval(const Gain& gain);

// Bytes that are no integer, or more than one holds.
std::string SayBytes(double bytes);

// The parts of a makespan by name, in the order of MakespanParts, but what is to be done first and what it costs last.
struct NamedPart {
  std::string name;
  double seconds = 0;
  int color = 0;  // in the palette
};
std::vector<NamedPart> NamedParts(const MakespanParts& parts);

// The main obstacle to perfect balance without communication: the largest part of the makespan that is not
// computation; nothing where it would not show.
std::optional<NamedPart> MainLimit(const BalanceOutcome& outcome);

using Sentences = std::vector<std::string>;

// The gain from balancing in a case, and in all of them: those with the largest gain first, and only a few of the
// others.
Sentences CaseAnswer(const WhatIf& what_if, const BalanceCase& one, const Partials& templates);
Sentences Answers(const WhatIf& what_if, const Partials& templates);

// Which part of the makespan went away, what that cost, and what limits the rest. Empty where nothing was balanced.
Sentences Reasons(const WhatIf& what_if, const BalanceCase& one, const Partials& templates);

// Advice on interval, decomposition and strategy, and what could be tried. Empty where nothing was balanced, or nothing
// balanced leads.
Sentences Advice(const WhatIf& what_if, const BalanceCase& one, const Partials& templates);

// A run of production length, and what the stated costs of switching and of lost locality do; empty unless asked for.
Sentences DescribeProduction(const WhatIf& what_if, const Partials& templates);

// Migration costs depend on the state of tasks: not where nothing moves, where that takes no time, or
// where the costs of bytes are unknown.
bool DependsOnState(const WhatIf& what_if);

// The gain from other ranks on nodes, for every mapping that was not measured.
Sentences DescribeMappings(const WhatIf& what_if, const Partials& templates);

// Runs whose replay without any change is far from what was measured.
Sentences DescribeFidelity(const WhatIf& what_if, const Partials& templates);

// Parallel efficiency on the most processors that were replayed or are reliable, with balancing and without.
Sentences DescribeProjections(const std::vector<BalancedProjection>& list, const Partials& templates);

// The simulation: names and values.
LabelledTexts DescribeMethod(const WhatIf& what_if, const Partials& templates);

// Configurations left out, by reason: "RefineLB every 20 iterations with 64 tasks on 16 processors and 3 more: why".
Sentences DescribeLeftOut(const WhatIf& what_if);

// One map for each history, in the order of the histories and the colours of one scale: `title`, `caption`, `figure`,
// `table`. Names of figures begin with `slug`.
ReportData LoadMaps(const WhatIf& what_if, const std::string& slug, ReportModel& model);

// Lists of the same, with what there is to draw.
ReportData AverageLoadFigures(const WhatIf& what_if, const std::string& slug, ReportModel& model);
ReportData FiguresOfCase(const WhatIf& what_if, const BalanceCase& one, const std::string& slug, ReportModel& model);

// The range of loads, in seconds, that the colours of all maps share: nearly all of them, so that a few far off do not
// hide the rest.
HeatLabels ScaleOfLoads(const std::vector<LoadHistory>& histories);

// The tags of templates/balance.*.mustache [docs/templates.md], but for `style`. `projections`: as measured first, then
// with balancing. `top`: configurations of a case that short forms show. The Markdown form shows the figures of the
// model, which belong beside it as figures/NAME.
ReportModel BuildBalanceModel(const WhatIf& what_if, const Partials& templates,
                              const std::vector<BalancedProjection>& projections = {}, std::size_t top = 10);

std::string WriteBalanceText(const ReportModel& model, const Partials& templates, std::size_t width = kAnyWidth);

}  // namespace farscale
