#include "models/model_choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/text.h"

namespace farscale {

ModelChoice ParseModelChoice(const std::string& text, const std::string& where) {
  const std::size_t colon = text.find(':');
  ModelChoice::Option option{text.substr(0, colon)};
  if (option.model.empty()) throw Error(ErrorKind::kUsage, where, "'" + text + "' names no model");
  if (colon != std::string::npos) {
    for (const std::string& part : Split(text.substr(colon + 1), ',')) {
      long long dimension = 0;
      if (!ParseInteger(part, dimension) || dimension < 1 || dimension > kLargestDimension) {
        throw Error(ErrorKind::kUsage, where,
                    fmt::format("'{}' has no dimension between 1 and {} behind the colon", text, kLargestDimension));
      }
      option.dimensions.push_back(static_cast<int>(dimension));
    }
  }
  return {{option}, where};
}

ModelChoice ParseModelChoice(const ConfigTable& table, const std::string& key) {
  if (!table.IsTable(key)) return ParseModelChoice(table.RequiredString(key), table.Where(key));
  const ConfigTable choice = *table.Table(key);
  const ModelChoice::Option option = {choice.RequiredString("model"), ParseDimensions(choice, "dimension")};
  choice.RefuseUnknownKeys();
  return {{option}, table.Where(key)};
}

std::string Describe(const ModelChoice& choice) {
  std::vector<std::string> options;
  for (const auto& [model, dimensions] : choice.options) {
    options.push_back(dimensions.empty() ? model
                                         : fmt::format("{} in dimension{} {}", model, dimensions.size() == 1 ? "" : "s",
                                                       fmt::join(dimensions, ", ")));
  }
  return Join(options, ", ");
}

std::vector<Candidate> CandidatesOf(const ModelChoice& choice, const ModelLibrary& library) {
  std::vector<Candidate> candidates;
  for (const auto& [name, dimensions] : choice.options) {
    const ScalingModel& model = library.Get(name, choice.where);
    candidates.push_back({&model, dimensions.empty() ? model.dimensions : dimensions});
  }
  return candidates;
}

}  // namespace farscale
