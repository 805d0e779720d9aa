// A history for the terminal, and as Markdown.
#include <fmt/format.h>

#include "base/format.h"
#include "factors/scaling.h"
#include "gate/history_view.h"
#include "gate/judging.h"
#include "pages/text_table.h"

namespace farscale {
namespace {

std::string ValueAt(const HistoryTrack& track, bool first) {
  std::optional<double> value;
  for (const std::optional<double>& mean : track.means) {
    if (!mean) continue;
    value = mean;
    if (first) break;
  }
  return value ? FormatQuantity(track.quantity, *value) : "-";
}

std::string SpanOf(const HistoryView& view) {
  if (view.history.empty()) return "no commits";
  const HistoryEntry& first = view.history.front();
  const HistoryEntry& last = view.history.back();
  if (view.history.size() == 1) return fmt::format("1 commit, {} of {}", ShortCommit(last), last.date);
  return fmt::format("{} commits, from {} of {} to {} of {}", view.history.size(), ShortCommit(first), first.date,
                     ShortCommit(last), last.date);
}

// "16 to 128": what the means are over.
std::string CoreSpan(const HistoryTrack& track) {
  if (track.shared.empty()) return "-";
  const std::string first = FormatCores(track.shared.front());
  return track.shared.size() == 1 ? first : first + " to " + FormatCores(track.shared.back());
}

// Names of phases and commits stay text.
std::string Plain(const std::string& text) {
  std::string plain;
  for (const char c : text) {
    const bool special = std::string("|`*_[]<>&\\#@").find(c) != std::string::npos;
    plain += special ? fmt::format("&#{};", static_cast<int>(c)) : std::string(1, c == '\n' ? ' ' : c);
  }
  return plain;
}

}  // namespace

std::string WriteHistoryTable(const HistoryView& view) {
  std::string text = fmt::format("{}: {}\n", view.title, SpanOf(view));
  for (const std::string& doubt : DoubtsOf(view.findings)) text += "\nWarning: " + doubt + "\n";
  std::string phase, superlinear;
  std::vector<std::vector<std::string>> rows;
  const auto flush = [&] {
    if (rows.size() > 1) text += FormatTable(rows);
    if (!superlinear.empty()) text += superlinear + "\n";
  };
  for (const HistoryTrack& track : view.tracks) {
    const std::string title = "\n" + PhaseTitle(track) + "\n";
    if (title != phase) {
      flush();
      phase = title;
      text += title;
      superlinear = SuperlinearInWords(view, track);
      rows = {{"", "cores", "first", "newest", "last change", "steps at"}};
    }
    rows.push_back({IdOf(track.quantity), CoreSpan(track), ValueAt(track, true), ValueAt(track, false),
                    LastChangeInWords(track), StepsInWords(view, track)});
  }
  flush();
  for (const HistoryEntry& entry : view.history) {
    if (!entry.accepted.empty()) text += fmt::format("\nAccepted at {}: {}\n", ShortCommit(entry), entry.accepted);
  }
  return text;
}

std::string WriteHistoryMarkdown(const HistoryView& view) {
  std::string text = fmt::format("# {}\n\n{}.\n", Plain(view.title), Plain(SpanOf(view)));
  for (const std::string& doubt : DoubtsOf(view.findings)) text += "\n**⚠️ " + Plain(doubt) + "**\n";
  std::string phase;
  for (const HistoryTrack& track : view.tracks) {
    const std::string title = PhaseTitle(track);
    if (title != phase || &track == &view.tracks.front()) {
      phase = title;
      text += fmt::format("\n## {}\n", Plain(title));
      if (const std::string why = SuperlinearInWords(view, track); !why.empty()) text += "\n" + Plain(why) + "\n";
      text +=
          "\n| Factor | Mean over | First | Newest | Last change | Steps at |\n"
          "|---|---|---:|---:|---:|---|\n";
    }
    text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", NameOf(track.quantity), CoresInWords(track.shared),
                        ValueAt(track, true), ValueAt(track, false), LastChangeInWords(track),
                        Plain(StepsInWords(view, track)));
  }
  text += "\n## Commits\n\n| Commit | Date | Accepted |\n|---|---|---|\n";
  for (const HistoryEntry& entry : view.history) {
    text += fmt::format("| {} | {} | {} |\n", Plain(entry.commit), entry.date, Plain(entry.accepted));
  }
  return text;
}

}  // namespace farscale
