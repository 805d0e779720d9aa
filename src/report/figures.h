// What figures and tables of a report have in common.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "factors/factor.h"
#include "pages/render.h"
#include "plot/chart.h"
#include "projection/projection.h"

namespace farscale {

std::string Name(Factor factor);
// "phase", or "series, phase" where there are several series; empty where it has no name.
std::string NameOfPhase(const PhaseKey& key, bool several_series);
// A factor or a speedup as printed.
std::string FormatValue(Factor factor, double value);
// A standard error as printed beside its value: "0.003", or "" where it is unknown or would not show in the digits of
// the value. The same of a time.
std::string FormatError(Factor factor, double value, const std::optional<double>& error);
std::string FormatSecondsError(double seconds, const std::optional<double>& error);
// "0.813 – 0.902", or "unknown".
std::string FormatBounds(Factor factor, const std::optional<IntervalBounds>& interval, const char* between = " – ");

// The same of a time: "1.55–2.03 ms", or "more than 1.55 ms".
std::string FormatTimeBounds(const OpenBounds& bounds);
// "1.68 ms (1.55–2.03)": the unit once where all have it.
std::string FormatTime(double seconds, const std::optional<OpenBounds>& bounds);
inline std::string FormatTime(const ProjectedTime& time) { return FormatTime(time.seconds, time.interval80); }

// What the runs at so many cores measured: "0.912", or "0.912, 0.908" of repeated ones; empty where there was none.
std::string MeasuredAt(const FactorProjection& projection, double cores);

// The projected curve with the measured points, their tooltips and, if wanted, its 80 % and 95 % intervals.
ChartSeries SeriesOf(const FactorProjection& projection, bool has_bands);

// A phase in a report: as a heading, and in names of anchors and files.
struct PhaseNames {
  std::string heading, anchor;
};

// What projections on the machine of the runs are called beside those on other machines.
inline const std::string kProjected = "projected";

// Axes of a chart of efficiencies against cores, which marks where measurement and the reliable range end.
Chart EfficiencyChart(const PhaseProjection& projection, const std::string& title);

// Where its y axis may begin so that all that is drawn fits.
double LowestShown(const Chart& chart);

// Adds a chart to the figures of a report, by the name of its file.
ReportData AddChart(const Chart& chart, const std::string& name, ReportModel& model);

// Whether a report has it: not device offload of runs without devices.
bool IsShown(const FactorProjection& projection);

// The efficiency to talk about: parallel efficiency, else global efficiency; null when neither is projected.
const FactorProjection* HeadlineOf(const PhaseProjection& projection);

}  // namespace farscale
