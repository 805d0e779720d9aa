// The first screen of a phase: how it scales, what is to blame, and how sure that is.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/figures.h"
#include "results/results.h"

namespace farscale {

struct OverviewNumber {
  FARSCALE_TEXTS(label, value, detail)
};

struct Overview {
  std::string verdict, sure;
  std::vector<OverviewNumber> numbers;
  std::optional<ReportData> figure;  // nothing without a projection
  std::string narrow, small;         // the same for a narrow screen and as a small multiple, in an HTML page
  std::optional<ReportData> lost;    // tags `lost`: what each factor takes of the time of all cores
  std::vector<std::string> notes;
  std::string next_run;
  // The factor that costs most at the end of the reliable range, or else in the largest run, and its share of the time
  // of all cores; nothing where no loss is known.
  std::optional<std::pair<Factor, double>> limit;
  FARSCALE_TAGS(verdict, sure, numbers, figure, narrow, small, lost, notes, next_run)
};

// The largest target at which most phases of these studies are reliable, to compare their losses at; nothing for one
// phase, and where there is none.
std::optional<double> CommonTarget(const std::vector<const Results*>& studies);

// Without figures. `common`: where losses are shown, else at the end of the reliable range. `projection` is as a report
// shows it [figures.h, ShownProjection], or null.
Overview OverviewWithoutFigures(const Results& results, const std::vector<FactorRow>& rows,
                                const PhaseProjection* projection, const PhaseNames& names, const Partials& texts,
                                std::optional<double> common = {});

// The same with its charts.
Overview OverviewWithFigures(const Results& results, const std::vector<FactorRow>& rows,
                             const PhaseProjection* projection, const PhaseNames& names, const Partials& texts,
                             ReportModel& model, std::optional<double> common = {});

// The efficiency to talk about alone, without labels.
Chart SmallMultiple(const PhaseProjection& projection, const std::string& heading);

// The efficiencies and their losses, which readers follow from run to target.
std::vector<const FactorProjection*> ChartedFactors(const PhaseProjection& phase);

// A part of the efficiency as projected that a report shows; other factors are fitted for reading only.
bool IsPartOfTheWhole(const PhaseProjection& phase, Factor factor);

}  // namespace farscale
