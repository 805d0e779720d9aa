// What a report says, as texts ready to print: every number formatted, every sentence written, every figure drawn.
// Templates only arrange it.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "report/chart.h"
#include "report/results.h"

namespace farscale {

// Lists, objects, texts and truth values, for the tags listed in docs/templates.md.
using ReportData = nlohmann::ordered_json;

struct ReportModel {
  ReportData data;
  std::map<std::string, Chart> figures;  // by file name without folder: "figures/NAME"
};

ReportModel BuildReportModel(const Results& results);

// Background of a factor in tables: green above 0.8, fading to white there, red below 0.5, as POP reports have it.
std::string PopColor(double value);

}  // namespace farscale
