#include "base/diagnostics.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "base/terminal.h"

namespace farscale {
namespace {

// "3 of 400 events", "2.40 ms of 21.9 s (0.01 %)": sentences begin with what is counted.
std::string Numbered(const Finding& finding) {
  constexpr std::string_view kMicroseconds = "microseconds ";
  const std::string& sentence = finding.sentence;
  const bool is_share = finding.population > 0;
  const auto count = static_cast<double>(finding.count), all = static_cast<double>(finding.population);
  if (sentence.starts_with(kMicroseconds)) {
    const std::string of =
        is_share ? fmt::format(" of {} ({})", FormatSeconds(1e-6 * all), FormatPercent(count / all)) : "";
    return FormatSeconds(1e-6 * count) + of + " " + sentence.substr(kMicroseconds.size());
  }
  if (is_share)
    return fmt::format("{} of {} {}", FormatCount(finding.count), FormatCount(finding.population), sentence);
  return finding.count > 1 ? FormatCount(finding.count) + " " + sentence : sentence;
}

// One line that any terminal can show: names and messages come out of files that may be damaged.
std::string Printable(const std::string& where, const std::string& what, const std::string& advice) {
  std::string text = where.empty() ? what : where + ": " + what;
  if (!advice.empty()) text += "; " + advice;
  std::string printable = ToUtf8(text);
  for (char& c : printable) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '\n' || c == '\t') c = ' ';
    if (code < 0x20 || code == 0x7F) c = c == ' ' ? ' ' : '?';
  }
  return printable;
}

}  // namespace

Finding AsFinding(const Anomaly& anomaly, const std::string& example, std::uint64_t count) {
  return {std::string(anomaly.id), anomaly.severity, std::string(anomaly.sentence), count, 0, example};
}

void Diagnostics::Add(const Anomaly& anomaly, std::uint64_t count, std::string_view example) {
  if (count == 0) return;
  Entry& entry = entries_[anomaly];
  entry.count += count;
  if (entry.example.empty()) entry.example = example;
}

void Diagnostics::AddTime(const Anomaly& anomaly, std::int64_t falsified, std::int64_t all) {
  Entry& entry = entries_[anomaly];
  entry.falsified_time += falsified;
  entry.all_time += all;
}

double Diagnostics::Entry::Share() const {
  if (all_time > 0) return static_cast<double>(falsified_time) / static_cast<double>(all_time);
  return population > 0 ? static_cast<double>(count) / static_cast<double>(population) : 0;
}

void Diagnostics::Merge(const Diagnostics& other) {
  for (const auto& [anomaly, entry] : other.entries_) {
    Add(anomaly, entry.count, entry.example);
    AddPopulation(anomaly, entry.population);
    AddTime(anomaly, entry.falsified_time, entry.all_time);
  }
  accepted_.insert(other.accepted_.begin(), other.accepted_.end());
}

const Diagnostics::Entry& Diagnostics::At(const Anomaly& anomaly) const {
  static const Entry kNone;
  const auto found = entries_.find(anomaly);
  return found == entries_.end() ? kNone : found->second;
}

bool Diagnostics::empty() const {
  return std::ranges::all_of(entries_, [](const auto& one) { return one.second.count == 0; });
}

std::vector<Finding> Diagnostics::findings() const {
  std::vector<Finding> result;
  for (const auto& [anomaly, entry] : entries_) {
    if (entry.count == 0) continue;
    result.push_back(AsFinding(anomaly, entry.example, entry.count));
    result.back().population = entry.population;
    if (Accepts(anomaly)) result.back().sentence += "; accepted with --accept";
  }
  return result;
}

void Diagnostics::FailPastThreshold(const std::string& where) const {
  for (const auto& [anomaly, entry] : entries_) {
    if (anomaly.fatal_share >= kNeverFatal || Accepts(anomaly)) continue;
    if (entry.count == 0 || entry.Share() <= anomaly.fatal_share) continue;
    const std::string of_time = entry.all_time > 0 ? fmt::format("{:.2g} % of the time, ", 100 * entry.Share()) : "";
    std::string what = fmt::format("{} of {} {} ({}, {}above the limit of {:.1f} %)", entry.count, entry.population,
                                   anomaly.sentence, anomaly.id, of_time, 100 * anomaly.fatal_share);
    if (!entry.example.empty()) what += ", first " + entry.example;
    throw Error(ErrorKind::kInput, where, what,
                AdviceToAccept("the trace is damaged or was not recorded correctly", anomaly));
  }
}

std::string AdviceToAccept(const std::string& advice, const Anomaly& anomaly) {
  return fmt::format("{}; --accept {} uses it all the same", advice, anomaly.id);
}

std::string DetailOf(const Finding& finding) {
  std::string text;
  if (finding.population > 0) {
    text = fmt::format("{} of {}", FormatCount(finding.count), FormatCount(finding.population));
  } else if (finding.count > 1) {
    text = FormatCount(finding.count);
  }
  if (finding.example.empty()) return text;
  if (finding.count > 1) return text + ", first " + finding.example;
  return text + (text.empty() ? "" : ", ") + finding.example;
}

std::string ToSentence(const Finding& finding) {
  std::string text = finding.id + ": " + Numbered(finding);
  if (!finding.example.empty()) text += fmt::format(" ({}{})", finding.count > 1 ? "first " : "", finding.example);
  return text;
}

std::string ToSentence(const Finding& finding, const std::string& where, std::size_t columns) {
  // The margin is for "warning: ", an indent and a line that breaks early.
  constexpr std::size_t kLines = 2, kMargin = 20;
  const auto fits = [&](const std::string& text) { return (DisplayWidth(text) + kMargin) / kLines <= columns; };
  const auto placed = [](const std::string& place, const std::string& text) {
    return place.empty() ? text : place + ": " + text;
  };
  const std::string whole = placed(where, ToSentence(finding));
  if (fits(whole)) return whole;
  Finding brief = finding;
  brief.example.clear();
  const std::string text = ToSentence(brief);
  if (fits(placed(where, text))) return placed(where, text);
  const std::filesystem::path path = where;
  const std::filesystem::path end = path.parent_path().filename() / path.filename();
  return placed(end == path ? where : "…/" + end.string(), text);
}

void MergeFindings(const std::vector<Finding>& more, std::vector<Finding>& findings, const std::string& source) {
  for (const Finding& finding : more) {
    const auto same = std::ranges::find(findings, finding.id, &Finding::id);
    if (same != findings.end()) {
      same->count += finding.count;
      same->population += finding.population;
      continue;
    }
    findings.push_back(finding);
    if (!source.empty()) findings.back().example = finding.example.empty() ? source : source + ": " + finding.example;
  }
}

Error::Error(ErrorKind kind, const std::string& where, const std::string& what, const std::string& advice)
    : std::runtime_error(Printable(where, what, advice)), kind_(kind), where_(where) {}

}  // namespace farscale
