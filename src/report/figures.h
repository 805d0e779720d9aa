// Common to figures and tables of a report: formats, cells and their colours, charts, and which results are
// shown. Where projections are uncertain a report shows the interval and no number, where they are unknown neither
// [docs/formulas.md, reliable range].
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "factors/factor.h"
#include "factors/factor_table.h"
#include "pages/render.h"
#include "plot/chart.h"
#include "projection/projection.h"
#include "results/results.h"

namespace farscale {

inline constexpr double kLargeDeviation = 0.03;  // from the curve, as much as factors matter by

std::string Name(Factor factor);
// With a capital letter.
std::string Capital(std::string text);
// "a, b and c".
std::string ListInWords(std::vector<std::string> texts);
// "series, phase step", or "Phase step"; empty where there are no names.
std::string PhaseHeading(const std::string& series, const PhaseId& phase);
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

// Measured values at so many cores: "0.912", or "0.912, 0.908" of repeated ones; empty where there was none.
std::string MeasuredAt(const FactorProjection& projection, double cores);

// The projected curve with the measured points, their tooltips and, if wanted, its 80 % and 95 % intervals.
ChartSeries FactorSeries(const FactorProjection& projection, bool has_bands);

// A phase in a report: as a heading, and in names of anchors and files.
struct PhaseNames {
  std::string heading, anchor;
};

// Shared by all sections of a report, and by all studies of a page.
struct ReportParts {
  const Partials& texts;           // templates of sentences
  ReportModel& model;              // gets the figures
  std::set<Factor>& used;          // factors that the glossary explains, or the script names
  std::set<std::string>& anchors;  // ids of the page
  ReportData& choices;             // data for the script
  std::optional<double> common;    // cores at which phases are compared
};

// The name of projections on the machine of the runs beside those on other machines.
inline const std::string kProjected = "projected";

// Axes of a chart of efficiencies against cores, which marks where measurement and the reliable range end.
Chart EfficiencyChart(const PhaseProjection& projection, const std::string& title);

// Where its y axis may begin so that all that is drawn fits.
double LowestShown(const Chart& chart);

// The figures of a model as files beside its pages.
void AddFigureFiles(const ReportModel& model, NamedTexts& files);

// Adds a chart to the figures of a report, by the name of its file.
ReportData AddChart(const Chart& chart, const std::string& name, ReportModel& model);

// False for device offload of runs without devices, which reports leave out.
bool IsShown(const FactorProjection& projection);

// The efficiency to talk about: parallel efficiency, else global efficiency; null when neither is projected.
const FactorProjection* Headline(const PhaseProjection& projection);

// Background of a factor in tables: blue above 0.8, fading to white there, orange below 0.5.
std::string PopColor(double value);
// The same in steps of 0.05, as a letter that style sheets have a colour for, light and dark: 0 (below 0.5) to 6 (up to
// 0.8) are orange, 7 to a (0.95 and above) are blue.
std::string PopTone(double value);

inline constexpr const char* kNoColor = "#ffffff";
inline constexpr const char* kUncertainColor = "#e8ebee";
// The same among the tones of PopTone.
inline constexpr const char* kNoTone = "n";
inline constexpr const char* kUncertainTone = "x";

// A factor in a table: `text`, `color` and `tone` by the efficiency, where there is one, and `error`, a standard error.
ReportData ColoredCell(const std::string& text, const std::optional<double>& efficiency, const std::string& error = "");

// A finding in a list of diagnostics.
ReportData FindingText(const Finding& finding);

// "12.5 %"; a share of nothing is a dash.
std::string ShareOrDash(double part, double whole);

// The numbers behind a figure: the tags of data_table.txt.mustache. Rows begin with their heading.
ReportData TextTable(const std::string& corner, const std::vector<std::string>& header,
                     const std::vector<std::vector<std::string>>& rows);

// Runs as the columns of a table: `cores` and `repeat`, which of the runs on as many cores it is, or its processes ×
// threads where runs divide the same cores differently.
ReportData RunColumns(const std::vector<FactorRow>& rows);

// Without what says nothing to a reader: targets beyond the first that is not reliable, unless the study names its
// targets; gains of more than ten times, or that may be that large; and the cost of as many iterations as were traced.
PhaseProjection ShownProjection(const PhaseProjection& projection);
// The same of all projections.
Results ShownResults(Results results);

// Where charts end: one doubling beyond the reliable range or at the last target, and not before the last run.
double ShownUpTo(const PhaseProjection& shown);

// The tags of reliable_range.txt.mustache; false where nothing is projected.
ReportData ReliableRangeText(const PhaseProjection& projection);

// The same in sentences.
std::vector<std::string> DescribeReliableRange(const PhaseProjection& projection, const Partials& texts);

// The end of the reliable range as a line with a label; beyond it the chart is grey, and darker where predictions are
// unknown. With a factor: those of its own.
void MarkReliableRange(const PhaseProjection& projection, Chart& chart);
void MarkReliableRange(const PhaseProjection& projection, Factor factor, Chart& chart);

// Where the reliable range of a factor ends, when that is before that of the phase; nothing else.
std::optional<double> EndsEarly(const PhaseProjection& projection, Factor factor);

// "global efficiency at 121 cores, transfer at 125 cores": the factors of a chart whose reliable range ends before the
// line; empty without any.
std::string ListEarlyEnds(const PhaseProjection& projection, const std::vector<const FactorProjection*>& factors);

// Which factor dominates the loss, as far as that is reliable: a change counts where both factors are. And up to how
// many cores that is known; nothing: as far as the curves go.
std::pair<std::vector<Dominance>, std::optional<double>> DominanceWithinReliableRange(
    const PhaseProjection& projection);

// The level as rows are labelled: nothing, "uncertain" or "unknown".
std::string ReliabilityLabel(Reliability level);

// For an unknown value: a dash where all of the phase is unknown, which the row says, else "unknown".
std::string UnknownText(const PhaseProjection& projection, double cores);

// A projected value in a table, and what runs at that count measured. Where it is uncertain the text is the interval
// and `interval` is empty; where it is unknown both say so. Not every column has a colour.
ReportData FormatCell(const PhaseProjection& projection, Factor factor, const ProjectedValue& value, bool is_colored);

}  // namespace farscale
