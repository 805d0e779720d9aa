#include "projection/model_settings.h"

#include <fmt/format.h>

namespace farscale {

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
                            "extremes", "power", "universal", "boundary"}) {
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
                : "for every factor all of " + standard + ", each as much as it predicts larger runs from smaller ones";
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
