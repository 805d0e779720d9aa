// The templates of the pages of histories.
#pragma once

#include <string>

#include "base/files.h"
#include "pages/render.h"
#include "support/traces.h"

namespace farscale::test {

inline ReportTemplates HistoryTemplates() {
  const auto load = [](const std::string& name) {
    return Template{ReadFile(SourceFolder() + "/templates/" + name), name};
  };
  return {load("history.html.mustache"), load("history.md.mustache"), load("history.css"), {}, {}};
}

}  // namespace farscale::test
