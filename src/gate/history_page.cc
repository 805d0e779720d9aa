// A history as one offline page: works from a mail attachment, needs no scripts and fetches nothing.
#include <fmt/format.h>

#include "factors/scaling.h"
#include "gate/history_view.h"
#include "gate/judging.h"
#include "plot/svg.h"
#include "pages/render.h"

namespace farscale {
namespace {

// The policy allows the style sheet by its hash and nothing else.
constexpr const char* kPage = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-{{{styleHash}}}'; base-uri 'none'; form-action 'none'">
<title>{{title}}</title>
<style>{{{style}}}</style>
</head>
<body>
<a class="skip" href="#main">To the charts</a>
<header><h1>{{title}}</h1><p>{{summary}}</p></header>
<nav aria-label="Phases"><ul>{{{navigation}}}<li><a href="#commits">Commits</a></li></ul></nav>
<main id="main">
{{{body}}}</main>
</body>
</html>
)";

constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --ground: #ffffff; --ink: #1f2933; --faint: #52606d; --line: #d5dae0; }
@media (prefers-color-scheme: dark) { :root { --ground: #16191d; --ink: #e6e9ec; --faint: #a9b2bb; --line: #3b434b; } }
body { margin: 0 auto; max-width: 60rem; padding: 1rem; background: var(--ground); color: var(--ink);
  font: 16px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
a { color: inherit; }
.skip { position: absolute; left: -100rem; }
.skip:focus { position: static; }
.table { overflow-x: auto; }
table { border-collapse: collapse; margin: .5rem 0; }
th, td { border-bottom: 1px solid var(--line); padding: .2rem .6rem; text-align: right; white-space: nowrap; }
th:first-child, td:first-child, .words { text-align: left; }
caption { text-align: left; color: var(--faint); }
figure { margin: 1rem 0; }
svg { max-width: 100%; height: auto; background: #ffffff; border-radius: 6px; }
summary { cursor: pointer; }
summary:focus-visible, a:focus-visible, .table:focus-visible { outline: 2px solid #0072b2; outline-offset: 2px; }
.beyond { font-weight: 600; }
@media print { nav, .skip { display: none; } figure { break-inside: avoid; } svg { border: 0; } }
)";

std::string Tag(const char* tag, const std::string& text, const char* more = "") {
  return fmt::format("<{0}{1}>{2}</{0}>", tag, more, EscapeXml(text));
}

// Tables are wide; so that the keyboard can scroll them they take the focus.
std::string OpenTable(const std::string& caption) {
  return fmt::format(
      "<div class=\"table\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table><caption>{0}</caption>\n",
      EscapeXml(caption));
}

std::string Overview(const HistoryView& view, std::size_t first, std::size_t last) {
  std::string text = OpenTable("Newest values, mean over " + CoresInWords(view.tracks[first].shared));
  text +=
      "<thead><tr><th scope=\"col\">Factor</th><th scope=\"col\">Newest</th><th scope=\"col\">Last change</th>"
      "<th scope=\"col\" class=\"words\">Steps at</th></tr></thead><tbody>\n";
  for (std::size_t i = first; i < last; ++i) {
    const HistoryTrack& track = view.tracks[i];
    const std::optional<double>& newest = track.means.back();
    const bool beyond = track.last && track.last->IsBeyondNoise(kChangeConfidence);
    text += "<tr>" + Tag("th", NameOf(track.quantity), " scope=\"row\"") +
            Tag("td", newest ? FormatQuantity(track.quantity, *newest) : "-") +
            Tag("td", LastChangeInWords(track), beyond ? " class=\"beyond\"" : "") +
            Tag("td", StepsInWords(view, track), " class=\"words\"") + "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
}

std::string DataTable(const HistoryView& view, const HistoryTrack& track) {
  std::string text =
      "<details><summary>Values</summary>" + OpenTable(NameOf(track.quantity) + ", " + PhaseTitle(track));
  text += "<thead><tr><th scope=\"col\">Commit</th><th scope=\"col\">Date</th>";
  for (const double cores : track.cores) text += Tag("th", CoresInWords({cores}), " scope=\"col\"");
  text += "</tr></thead><tbody>\n";
  for (std::size_t i = 0; i < view.history.size(); ++i) {
    text += "<tr>" + Tag("th", ShortCommit(view.history[i]), " scope=\"row\"") + Tag("td", view.history[i].date);
    for (const std::optional<double>& value : track.values[i]) {
      text += Tag("td", value ? FormatQuantity(track.quantity, *value) : "-");
    }
    text += "</tr>\n";
  }
  return text + "</tbody></table></div></details>\n";
}

std::string Commits(const HistoryView& view) {
  std::string text = "<h2 id=\"commits\">Commits</h2>\n" + OpenTable("Commits, oldest first");
  text +=
      "<thead><tr><th scope=\"col\">Commit</th><th scope=\"col\">Date</th>"
      "<th scope=\"col\" class=\"words\">Accepted as a new level</th></tr></thead><tbody>\n";
  for (const HistoryEntry& entry : view.history) {
    text += "<tr>" + Tag("th", entry.commit, " scope=\"row\"") + Tag("td", entry.date) +
            Tag("td", entry.accepted, " class=\"words\"") + "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
}

}  // namespace

std::string WriteHistoryPage(const HistoryView& view) {
  std::string navigation, body;
  for (const std::string& doubt : DoubtsOf(view.findings))
    body += "<p><strong>⚠️ " + EscapeXml(doubt) + "</strong></p>\n";
  for (std::size_t i = 0; i < view.tracks.size();) {
    std::size_t end = i;
    const std::string title = PhaseTitle(view.tracks[i]);
    while (end < view.tracks.size() && PhaseTitle(view.tracks[end]) == title) ++end;
    navigation += fmt::format("<li><a href=\"#phase{}\">{}</a></li>", i, EscapeXml(title));
    body += fmt::format("<h2 id=\"phase{}\">{}</h2>\n", i, EscapeXml(title)) + Overview(view, i, end);
    if (const std::string why = SuperlinearInWords(view, view.tracks[i]); !why.empty()) body += Tag("p", why) + "\n";
    for (; i < end; ++i) {
      const HistoryTrack& track = view.tracks[i];
      body += Tag("h3", NameOf(track.quantity)) + "\n<figure>" + DrawTrack(view, track) + "</figure>\n" +
              DataTable(view, track);
    }
  }
  ReportModel model;
  model.data["title"] = view.title;
  model.data["summary"] = fmt::format(
      "{} {}. A change is beyond noise when the scatter of earlier commits and of repeats explains it with a chance "
      "below {:g}.",
      view.history.size(), view.history.size() == 1 ? "commit" : "commits", 1 - kChangeConfidence);
  model.data["navigation"] = navigation;
  model.data["body"] = body + Commits(view);
  ReportTemplates templates;
  templates.html = {kPage, "the page of a history"};
  templates.style = {kStyle, "the page of a history"};
  return RenderHtml(model, templates);
}

}  // namespace farscale
