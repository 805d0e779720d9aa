// A history as JSON: what its page draws [docs/schema/tracks.schema.json].
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/version.h"
#include "results/factor_table_json.h"
#include "gate/history_view.h"
#include "gate/judging.h"

namespace farscale {
namespace {

using Json = nlohmann::ordered_json;

Json ToJson(const HistoryEntry& entry) {
  Json json = {{"commit", entry.commit}, {"date", entry.date}};
  if (!entry.accepted.empty()) json["accepted"] = entry.accepted;
  return json;
}

Json ToJson(const std::vector<std::optional<double>>& values) {
  Json list = Json::array();
  for (const std::optional<double>& value : values) list.push_back(value ? Json(*value) : Json());
  return list;
}

Json ToJson(const Change& change) {
  Json json = {{"change", change.ratio - 1}, {"isBeyondNoise", change.IsBeyondNoise(kChangeConfidence)}};
  const double low = change.Low(kChangeConfidence) - 1, high = change.High(kChangeConfidence) - 1;
  if (!std::isfinite(low) || !std::isfinite(high)) return json;
  json["interval"] = {low, high};
  json["confidence"] = kChangeConfidence;
  return json;
}

Json ToJson(const HistoryTrack& track) {
  Json json = {{"series", track.series}};
  AddPhase(track.phase, json);
  json.update({{"factor", IdOf(track.quantity)},
               {"cores", track.cores},
               {"values", Json::array()},
               {"meanOver", track.shared},
               {"means", ToJson(track.means)},
               {"steps", track.steps}});
  for (const auto& commit : track.values) json["values"].push_back(ToJson(commit));
  if (track.last) json["lastChange"] = ToJson(*track.last);
  return json;
}

}  // namespace

std::string WriteTracksJson(const HistoryView& view) {
  Json json = {{"format", "farscale-tracks"},
               {"version", kTracksVersion},
               {"generator", Generator()},
               {"title", view.title},
               {"commits", Json::array()},
               {"tracks", Json::array()},
               {"diagnostics", FindingsToJson(view.findings)}};
  for (const HistoryEntry& entry : view.history) json["commits"].push_back(ToJson(entry));
  for (const HistoryTrack& track : view.tracks) json["tracks"].push_back(ToJson(track));
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace farscale
