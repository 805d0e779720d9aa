// The templates of the program, as a report is made from them.
#pragma once

#include <filesystem>
#include <string>

#include "base/files.h"
#include "pages/render.h"
#include "report/report.h"
#include "support/traces.h"

namespace farscale::test {

// Of a page other than the report, such as "balance".
inline ReportTemplates OwnTemplates(const std::string& form = "report") {
  const std::string folder = SourceFolder() + "/templates/";
  const auto load = [&](const std::string& name) { return Template{ReadFile(folder + name), name}; };
  ReportTemplates templates = {
      load(form + ".html.mustache"), load(form + ".md.mustache"), load("style.css"), load("report.js"), {}};
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::filesystem::path name = entry.path().filename();
    if (name.extension() == ".mustache") templates.partials[name.stem().string()] = load(name.string());
  }
  return templates;
}

// The templates of sentences.
inline const Partials& OwnTexts() {
  static const Partials texts = OwnTemplates().partials;
  return texts;
}

inline std::string OwnHtml(const Results& results) {
  return RenderHtml(BuildReportModel(results, OwnTexts()), OwnTemplates());
}

}  // namespace farscale::test
