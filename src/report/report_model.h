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

}  // namespace farscale
