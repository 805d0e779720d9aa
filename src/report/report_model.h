// What a report says, as texts ready to print: every number formatted, every sentence written, every figure drawn.
// Templates only arrange it.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "report/results.h"

namespace farscale {

// Lists, objects, texts and truth values, for the tags listed in docs/templates.md.
using ReportData = nlohmann::ordered_json;

struct ReportModel {
  ReportData data;
  std::map<std::string, std::string> figures;  // SVG files by name without folder: "figures/NAME"
};

ReportModel BuildReportModel(const Results& results);

// Registers a figure under its file name and returns what templates need of it. `svg` is put into the HTML, `file` is
// the same with what a file of its own must have.
ReportData AddFigure(ReportModel& model, const std::string& name, const std::string& svg, const std::string& file,
                     const std::string& alt);

// Background of a factor in tables: green above 0.8, fading to white there, red below 0.5, as POP reports have it.
std::string PopColor(double value);
// The same in steps of 0.05, as a letter that style sheets have a colour for, light and dark: 0 (below 0.5) to 6 (up to
// 0.8) are red, 7 to a (0.95 and above) are green.
std::string PopTone(double value);

}  // namespace farscale
