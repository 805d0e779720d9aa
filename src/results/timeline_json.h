// Where a run spent its time, as part of the results' JSON [docs/file-formats.md, pictures of runs].
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "results/results.h"

namespace farscale {

nlohmann::ordered_json PictureToJson(const RunPicture& picture);
nlohmann::ordered_json MarksToJson(const std::vector<PhaseMarks>& phases);

// Throw an input error, or an exception of the JSON library, when something is missing or not as it must be.
RunPicture PictureFromJson(const nlohmann::ordered_json& json, const std::string& file);
std::vector<PhaseMarks> MarksFromJson(const nlohmann::ordered_json& json, const std::string& file);

}  // namespace farscale
