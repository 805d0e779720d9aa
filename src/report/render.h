// Templates into texts. The only place that knows the template engine.
#pragma once

#include <string>

#include "report/report_model.h"

namespace farscale {

enum class Escape { kHtml, kMarkdown };

// A mustache template, as read from a file.
struct Template {
  std::string text;
  std::string file;  // for error messages
};

// Fills the template. Throws a usage error with file and line when it is not well-formed or has a tag without a
// value.
std::string RenderTemplate(const Template& source, const ReportData& data, Escape escape);

}  // namespace farscale
