// A history for the terminal, and as pages made from templates [docs/templates.md, histories].
#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "factors/scaling.h"
#include "gate/history_view.h"
#include "gate/judging.h"
#include "pages/text_table.h"

namespace farscale {
namespace {

std::string Mean(const HistoryTrack& track, const std::optional<double>& mean) {
  return mean ? FormatQuantity(track.quantity, *mean) : "-";
}

std::string FirstMean(const HistoryTrack& track) {
  const auto found = std::ranges::find_if(track.means, [](const auto& mean) { return mean.has_value(); });
  return found == track.means.end() ? "-" : Mean(track, *found);
}

// The newest commit that has one.
std::string NewestMean(const HistoryTrack& track) {
  const auto found =
      std::find_if(track.means.rbegin(), track.means.rend(), [](const auto& m) { return m.has_value(); });
  return found == track.means.rend() ? "-" : Mean(track, *found);
}

std::string SpanOf(const HistoryView& view) {
  if (view.history.empty()) return "no commits";
  const HistoryEntry& first = view.history.front();
  const HistoryEntry& last = view.history.back();
  if (view.history.size() == 1) return fmt::format("1 commit, {} of {}", ShortCommit(last), last.date);
  return fmt::format("{} commits, from {} of {} to {} of {}", view.history.size(), ShortCommit(first), first.date,
                     ShortCommit(last), last.date);
}

// "16 to 128": the core counts that means are over.
std::string CoreSpan(const HistoryTrack& track) {
  if (track.shared.empty()) return "-";
  const std::string first = FormatCores(track.shared.front());
  return track.shared.size() == 1 ? first : first + " to " + FormatCores(track.shared.back());
}

ReportData DataOf(const HistoryView& view, const HistoryTrack& track) {
  ReportData data = {{"name", NameOf(track.quantity)},
                     {"meanOver", CoresInWords(track.shared)},
                     {"first", FirstMean(track)},
                     {"newest", NewestMean(track)},
                     {"atNewest", Mean(track, track.means.back())},
                     {"lastChange", LastChangeInWords(track)},
                     {"isBeyondNoise", track.last && track.last->IsBeyondNoise(kChangeConfidence)},
                     {"steps", StepsInWords(view, track)},
                     {"svg", DrawTrack(view, track)},
                     {"counts", ReportData::array()},
                     {"rows", ReportData::array()}};
  for (const double cores : track.cores) data["counts"].push_back(FormatCoreCount(cores));
  for (std::size_t i = 0; i < view.history.size(); ++i) {
    ReportData values = ReportData::array();
    for (const std::optional<double>& value : track.values[i]) values.push_back(Mean(track, value));
    data["rows"].push_back(
        {{"commit", ShortCommit(view.history[i])}, {"date", view.history[i].date}, {"values", values}});
  }
  return data;
}

}  // namespace

std::string WriteHistoryTable(const HistoryView& view) {
  std::string text = fmt::format("{}: {}\n", view.title, SpanOf(view));
  for (const std::string& doubt : DoubtsOf(view.findings)) text += "\nWarning: " + doubt + "\n";
  for (const std::vector<const HistoryTrack*>& tracks : ByPhase(view)) {
    std::vector<std::vector<std::string>> rows = {{"", "cores", "first", "newest", "last change", "steps at"}};
    for (const HistoryTrack* track : tracks) {
      rows.push_back({IdOf(track->quantity), CoreSpan(*track), FirstMean(*track), NewestMean(*track),
                      LastChangeInWords(*track), StepsInWords(view, *track)});
    }
    text += "\n" + PhaseTitle(*tracks.front()) + "\n" + FormatTable(rows);
    if (const std::string why = SuperlinearInWords(view, *tracks.front()); !why.empty()) text += why + "\n";
  }
  for (const HistoryEntry& entry : view.history) {
    if (!entry.accepted.empty()) text += fmt::format("\nAccepted at {}: {}\n", ShortCommit(entry), entry.accepted);
  }
  return text;
}

ReportModel BuildHistoryModel(const HistoryView& view) {
  ReportModel model;
  ReportData& data = model.data;
  data["title"] = view.title;
  data["span"] = SpanOf(view);
  data["summary"] = fmt::format(
      "{} {}. A change is beyond noise when the scatter of earlier commits and of repeats explains it with a chance "
      "below {:g}.",
      view.history.size(), view.history.size() == 1 ? "commit" : "commits", 1 - kChangeConfidence);
  data["doubts"] = DoubtsOf(view.findings);
  data["phases"] = ReportData::array();
  for (const std::vector<const HistoryTrack*>& tracks : ByPhase(view)) {
    const std::string why = SuperlinearInWords(view, *tracks.front());
    ReportData phase = {{"phase", PhaseTitle(*tracks.front())},
                        {"anchor", fmt::format("phase{}", data["phases"].size())},
                        {"meanOver", CoresInWords(tracks.front()->shared)},
                        {"superlinear", ReportData::array()},
                        {"tracks", ReportData::array()}};
    if (!why.empty()) phase["superlinear"].push_back(why);
    for (const HistoryTrack* track : tracks) phase["tracks"].push_back(DataOf(view, *track));
    data["phases"].push_back(phase);
  }
  data["commits"] = ReportData::array();
  for (const HistoryEntry& entry : view.history) {
    data["commits"].push_back({{"commit", entry.commit}, {"date", entry.date}, {"accepted", entry.accepted}});
  }
  return model;
}

std::string WriteHistoryMarkdown(const HistoryView& view, const ReportTemplates& templates) {
  return RenderMarkdown(BuildHistoryModel(view), templates);
}

std::string WriteHistoryHtml(const HistoryView& view, const ReportTemplates& templates) {
  return RenderHtml(BuildHistoryModel(view), templates);
}

}  // namespace farscale
