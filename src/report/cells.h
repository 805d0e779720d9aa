// Cells of tables of factors, in colours with the thresholds of POP reports. Blue and orange look different to readers
// with red-green blindness, too (tests/palette.py).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "factors/factor_table.h"
#include "pages/render.h"

namespace farscale {

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

struct FactorCell {
  std::string text, color = kNoColor, tone = kNoTone;
  std::string error;  // standard error; empty: unknown or too small to show
  FARSCALE_TAGS(text, color, tone, error)
};

// Coloured by the efficiency, where there is one.
FactorCell ColoredCell(const std::string& text, const std::optional<double>& efficiency);

// "12.5 %"; a share of nothing is a dash.
std::string ShareOrDash(double part, double whole);

// The numbers behind a figure: the tags of data_table.txt.mustache. Rows begin with their heading.
ReportData TextTable(const std::string& corner, const std::vector<std::string>& header,
                     const std::vector<std::vector<std::string>>& rows);

// A run as the column of a table. `repeat`: which of the runs on as many cores it is, or its processes × threads where
// runs divide the same cores differently.
struct RunColumn {
  FARSCALE_TEXTS(cores, repeat)
};
std::vector<RunColumn> ColumnsOf(const std::vector<FactorRow>& rows);

}  // namespace farscale
