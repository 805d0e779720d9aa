// The models of fits/.
#pragma once

#include <filesystem>

#include "base/files.h"
#include "models/scaling_model.h"
#include "support/traces.h"

namespace farscale::test {

inline ScalingModel LoadModel(const std::string& id) {
  const std::string file = SourceFolder() + "/fits/" + id + ".toml";
  return ParseModel(ReadFile(file), file);
}

inline const ModelLibrary& AllModels() {
  static const ModelLibrary library = [] {
    const std::string calibration = SourceFolder() + "/configs/calibration/intervals.toml";
    ModelLibrary models(ParseIntervalConstants(ReadFile(calibration), calibration));
    for (const auto& entry : std::filesystem::directory_iterator(SourceFolder() + "/fits")) {
      models.Add(ParseModel(ReadFile(entry.path()), entry.path().string()));
    }
    return models;
  }();
  return library;
}

}  // namespace farscale::test
