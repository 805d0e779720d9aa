// A history as JSON: what its page draws [docs/schema/tracks.schema.json].
#include <cmath>

#include "gate/history_view.h"
#include "gate/judging.h"
#include "results/fields.h"

namespace farscale {
namespace {

std::optional<std::pair<double, double>> ShareInterval(const Change& change) {
  const double low = change.Low(kChangeConfidence) - 1, high = change.High(kChangeConfidence) - 1;
  return std::isfinite(low) && std::isfinite(high) ? std::optional(std::pair(low, high)) : std::nullopt;
}

}  // namespace

template <>
Fields<Change> FieldsOf<Change>() {
  using T = Change;
  return Fields<T>{
      "",
      "The newest commit against the baseline before it",
      {
          Computed<T>(
              "change", [](const T& change) { return change.ratio - 1; }, "Relative: -0.05 is a drop of 5 %"),
          Computed<T>("isBeyondNoise", [](const T& change) { return change.IsBeyondNoise(kChangeConfidence); }),
          Computed<T>("interval", ShareInterval, "Of the change; it decides what is beyond noise"),
          Computed<T>(
              "confidence",
              [](const T& change) { return ShareInterval(change) ? std::optional(kChangeConfidence) : std::nullopt; })
              .Above(0)
              .Below(1),
      }}
      .Schema(R"({"dependentRequired": {"interval": ["confidence"]}})");
}

template <>
Fields<HistoryTrack> FieldsOf<HistoryTrack>() {
  using T = HistoryTrack;
  return {"tracks/track",
          {
              Field("series", &T::series),
              Embed(&T::phase),
              Computed<T>(
                  "factor", [](const T& track) { return IdOf(track.quantity); }, "Id of a factor, or timePerIteration"),
              Field("cores", &T::cores, "Of any commit, ascending").Above(0).LeastItems(1),
              Field("values", &T::values,
                    "A list for every commit with a value for every entry of cores: the geometric mean of its runs, "
                    "times in seconds; null where it was not measured"),
              Field("meanOver", &T::shared, "Core counts that means, steps and the last change are over").Above(0),
              Field("means", &T::means, "For every commit"),
              Field("steps", &T::steps, "Indices of commits at which a new level begins"),
              Field("lastChange", &T::last),
          }};
}

template <>
Fields<HistoryView> FieldsOf<HistoryView>() {
  using T = HistoryView;
  using E = HistoryEntry;
  const auto commits = ListOf<E>(FormOfFields(Fields<E>{
      Field("commit", &E::commit),
      Field("date", &E::date).Schema(kDateSchema),
      Field("accepted", &E::accepted, "Why the level changes on purpose from here on").NotEmpty().UnlessDefault(),
  }));
  return Fields<T>{"tracks",
                   {
                       Field("title", &T::title),
                       Field("commits", &T::history, commits, "The oldest first").LeastItems(1),
                       Field("tracks", &T::tracks),
                       Field("diagnostics", &T::findings),
                   }}
      .File("farscale-tracks", kTracksVersion, kTracksVersion, "view of a history");
}

std::string WriteTracksJson(const HistoryView& view) {
  return JsonOf(view).dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

OrderedJson TracksSchema() {
  return SchemaOf<HistoryView>("A history of farscale: every quantity of every phase over the commits");
}

}  // namespace farscale
