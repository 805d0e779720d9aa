// The evidence horizon and the answers of a phase as JSON, parts of docs/schema/projection.schema.json.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "projection/projection.h"

namespace farscale {

nlohmann::ordered_json HorizonToJson(const EvidenceHorizon& horizon);
// Says with every value whether it is evidence.
nlohmann::ordered_json AnswersToJson(const PhaseProjection& projection, const PhaseAnswers& answers);

// Throw nlohmann::json::exception, or an input error, where the JSON is not what is written above.
EvidenceHorizon HorizonFromJson(const nlohmann::ordered_json& json);
PhaseAnswers AnswersFromJson(const nlohmann::ordered_json& json);

}  // namespace farscale
