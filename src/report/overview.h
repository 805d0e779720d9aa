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

struct Overview {
  std::string verdict, sure;
  std::vector<OverviewNumber> numbers;
  std::optional<ReportData> figure;  // nothing without a projection
  std::string small;                 // the same as a small multiple, in an HTML page
  std::optional<LostTime> lost;
  std::vector<std::string> notes;
  std::string next_run;
  FARSCALE_TAGS(verdict, sure, numbers, figure, small, lost, notes, next_run)
};

// `projection` is as a report shows it [shown_results.h], or null.
Overview OverviewOf(const Results& results, const std::vector<FactorRow>& rows, const PhaseProjection* projection,
                    const PhaseNames& names, const Partials& texts, ReportModel& model);

// What a reader follows from run to target: the efficiencies and their losses.
std::vector<const FactorProjection*> ChartedFactors(const PhaseProjection& phase);

// Whether the factor is part of the efficiency as projected; others are fitted for reading only.
bool IsPartOfTheWhole(const PhaseProjection& phase, Factor factor);

}  // namespace farscale
