// The first screen of a phase: how it scales, what is to blame, and how sure that is.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/figures.h"
#include "results/results.h"

namespace farscale {

struct OverviewNumber {
  FARSCALE_TEXTS(label, value, detail)
};

// What a factor takes of the time of all cores, at the largest run and at the end of the reliable range.
struct LostShare {
  std::string name, factor, affects;       // its id, and those of the efficiencies that it is part of
  std::string color, measured, projected;  // the index of its colour in the palette
  bool is_worst = false;
  FARSCALE_TAGS(name, factor, affects, color, measured, projected, is_worst)
};

// `last` is empty where nothing is reliable beyond the largest run.
struct LostTime {
  std::string svg, largest, last, measured, projected;  // counts of cores, and what all factors take there
  std::vector<LostShare> rows;
  FARSCALE_TAGS(svg, largest, last, measured, projected, rows)
};

// What costs most at the end of the reliable range, or else in the largest run: its share of the time of all cores.
struct Limit {
  Factor factor = Factor::kLoadBalance;
  double share = 0;
};

struct Overview {
  std::string verdict, sure;
  std::vector<OverviewNumber> numbers;
  std::optional<ReportData> figure;  // nothing without a projection
  std::string narrow, small;         // the same for a narrow screen and as a small multiple, in an HTML page
  std::optional<LostTime> lost;
  std::vector<std::string> notes;
  std::string next_run;
  std::optional<Limit> limit;  // nothing where no loss is known
  FARSCALE_TAGS(verdict, sure, numbers, figure, narrow, small, lost, notes, next_run)
};

// The largest target at which most phases of these studies are reliable, to compare their losses at; nothing for one
// phase, and where there is none.
std::optional<double> CommonTarget(const std::vector<const Results*>& studies);

// Without figures. `common`: where losses are shown, else at the end of the reliable range. `projection` is as a report
// shows it [shown_results.h], or null.
Overview OverviewWithoutFigures(const Results& results, const std::vector<FactorRow>& rows,
                                const PhaseProjection* projection, const PhaseNames& names, const Partials& texts,
                                std::optional<double> common = {});

// The same with its charts.
Overview OverviewOf(const Results& results, const std::vector<FactorRow>& rows, const PhaseProjection* projection,
                    const PhaseNames& names, const Partials& texts, ReportModel& model,
                    std::optional<double> common = {});

// The efficiency to talk about alone, without labels.
Chart SmallMultiple(const PhaseProjection& projection, const std::string& heading);

// What a reader follows from run to target: the efficiencies and their losses.
std::vector<const FactorProjection*> ChartedFactors(const PhaseProjection& phase);

// Whether the factor is a part of the efficiency as projected that a report shows; others are fitted for reading only.
bool IsPartOfTheWhole(const PhaseProjection& phase, Factor factor);

}  // namespace farscale
