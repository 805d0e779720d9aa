#include "cli/results_input.h"

#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "cli/table_options.h"
#include "results/results_json.h"
#include "study/resources.h"
#include "study/study.h"

namespace farscale {

Results ReadResults(const std::string& path, const ResultsOptions& options) {
  const std::string text = ReadFile(path);
  if (IsResultsJson(text)) {
    Results results = ReadResultsJson(text, path);
    if (options.scaling.empty() || options.is_one_of_several) return results;
    throw Error(ErrorKind::kUsage, "--scaling", path + " says how its runs scale",
                "say it in the study, or leave --scaling to factor tables");
  }
  TableOptions table_options;
  table_options.table = path;
  table_options.preset = options.preset;
  table_options.scaling = options.scaling;
  const FactorTable table = ReadTable(table_options);
  const ProjectionOptions projection = ProjectionOptionsOf(table_options);
  Results results =
      ResultsOfTable(table, Project(table, LoadModels(), projection), std::filesystem::path(path).stem().string());
  results.models = Describe(projection.models);
  return results;
}

}  // namespace farscale
