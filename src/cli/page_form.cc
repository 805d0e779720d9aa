#include "cli/page_form.h"

#include <filesystem>

#include "base/error.h"

namespace farscale {

PageForm PageFormOf(const std::string& output) {
  if (output.empty()) return PageForm::kText;
  const std::string ending = std::filesystem::path(output).extension().string();
  if (output == "-" || ending == ".json") return PageForm::kJson;
  if (ending == ".html") return PageForm::kHtml;
  if (ending == ".md") return PageForm::kMarkdown;
  if (ending.empty()) return PageForm::kFolder;
  throw Error(ErrorKind::kUsage, output, "the name of the output must end in .html, .md or .json, or be a folder");
}

}  // namespace farscale
