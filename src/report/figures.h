// What figures and tables of a report have in common.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "factors/factor.h"
#include "projection/projection.h"
#include "plot/chart.h"

namespace farscale {

std::string Name(Factor factor);
// A factor or a speedup as printed.
std::string FormatValue(Factor factor, double value);
// A standard error as printed beside its value: "0.003", or "" where it is unknown or would not show in the digits of
// the value. The same of a time.
std::string FormatError(Factor factor, double value, const std::optional<double>& error);
std::string FormatSecondsError(double seconds, const std::optional<double>& error);
// "0.813 – 0.902", or "unknown".
std::string FormatBounds(Factor factor, const std::optional<IntervalBounds>& interval);

// What the runs at so many cores measured: "0.912", or "0.912, 0.908" of repeated ones; empty where there was none.
std::string MeasuredAt(const FactorProjection& projection, double cores);

// The projected curve, its interval (80 % or 95 %) and the measured points with their tooltips.
std::vector<ChartPoint> LineOf(const FactorProjection& projection);
std::vector<ChartBand> BandOf(const FactorProjection& projection, bool inner);
std::vector<ChartPoint> PointsOf(const FactorProjection& projection);

// What projections on the machine of the runs are called beside those on other machines.
inline const std::string kProjected = "projected";

// Axes of a chart of efficiencies against cores, which says where measurement ends and where evidence does.
Chart EfficiencyChart(const PhaseProjection& projection, const std::string& title);

// The efficiency to talk about: parallel efficiency, else global efficiency; null when neither is projected.
const FactorProjection* HeadlineOf(const PhaseProjection& projection);

}  // namespace farscale
