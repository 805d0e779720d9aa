#include "projection/model_settings.h"

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

std::vector<Candidate> CandidatesOf(const ModelChoice& choice, const ModelLibrary& library, PriorCase prior) {
  std::vector<Candidate> candidates;
  for (const auto& [name, dimensions] : choice.options) {
    const ScalingModel& model = library.Get(name, choice.where);
    candidates.push_back({&model, dimensions.empty() ? model.dimensions : dimensions, prior});
  }
  return candidates;
}

const ModelChoice& ModelSettings::For(const PhaseId& phase, Factor factor) const {
  auto of_phase = by_phase.find(phase);
  if (of_phase == by_phase.end()) of_phase = by_phase.find(PhaseId(phase.name));
  for (const auto* choices : {of_phase == by_phase.end() ? nullptr : &of_phase->second, &by_factor}) {
    if (choices != nullptr && choices->contains(factor)) return choices->at(factor);
  }
  return standard;
}

ModelSettings DefaultModelSettings() {
  ModelSettings settings;
  for (const char* model : {"constant", "logarithm", "amdahl", "pipeline", "saturation", "quadratic", "linlog",
                            "extremes", "power", "universal", "boundary", "growing"}) {
    settings.standard.options.push_back({model});
  }
  return settings;
}

void RequireModels(const ModelSettings& settings, const ModelLibrary& library) {
  CandidatesOf(settings.standard, library);
  for (const auto& [factor, choice] : settings.by_factor) CandidatesOf(choice, library);
  for (const auto& [phase, choices] : settings.by_phase) {
    for (const auto& [factor, choice] : choices) CandidatesOf(choice, library);
  }
}

std::string Describe(const ModelSettings& settings) {
  const bool is_single = settings.standard.options.size() == 1 && settings.standard.options[0].dimensions.size() == 1;
  const std::string standard = Describe(settings.standard);
  std::string text =
      is_single ? standard + " for every factor"
                : fmt::format(
                      "{} candidate models per factor, weighted by how well each predicts the larger runs from the "
                      "smaller ones: {}",
                      settings.standard.options.size(), standard);
  if (settings.weights == PointWeights::kAlike) text += "; all runs count alike";
  for (const auto& [factor, choice] : settings.by_factor) {
    text += fmt::format("; {}: {}", Describe(factor).id, Describe(choice));
  }
  for (const auto& [phase, choices] : settings.by_phase) {
    for (const auto& [factor, choice] : choices) {
      text += fmt::format("; {} in {}: {}", Describe(factor).id, phase.Text(), Describe(choice));
    }
  }
  return text;
}

}  // namespace farscale
