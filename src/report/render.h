// Templates into texts. The only place that knows the template engine.
#pragma once

#include <string>

#include "report/report_model.h"
#include "report/template_text.h"

namespace farscale {

enum class Escape { kHtml, kMarkdown };

// Fills the template. Throws a usage error with file and line when it is not well-formed, has a tag without a value,
// prints what is no text, or asks for a partial that does not exist.
std::string RenderTemplate(const Template& source, const ReportData& data, Escape escape,
                           const Partials& partials = {});

}  // namespace farscale
