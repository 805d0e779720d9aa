#include "gate/history_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <set>

#include "base/files.h"
#include "base/text.h"
#include "gate/anomalies.h"
#include "factors/scaling.h"
#include "gate/result_files.h"
#include "results/json_fields.h"

namespace farscale {
namespace {

using Json = OrderedJson;
namespace fs = std::filesystem;

constexpr std::size_t kShort = 8;        // letters of a commit, as GitLab shortens it
constexpr std::size_t kDateLength = 20;  // "2026-11-20T12-00-00Z"

// Digits at an index of a text as a number; nothing for anything else.
std::optional<int> Digits(const std::string& text, std::size_t index, std::size_t count) {
  if (text.size() < index + count) return std::nullopt;
  int value = 0;
  for (std::size_t i = index; i < index + count; ++i) {
    if (std::isdigit(static_cast<unsigned char>(text[i])) == 0) return std::nullopt;
    value = 10 * value + (text[i] - '0');
  }
  return value;
}

bool IsAnyCharacter(const std::string& text, std::size_t index, const std::string& characters) {
  return index < text.size() && characters.find(text[index]) != std::string::npos;
}

// Minutes that "+01:00", "-0530", "Z" or "" lie ahead of universal time.
std::optional<int> MinutesOfZone(const std::string& zone) {
  if (zone.empty() || zone == "Z" || zone == "z") return 0;
  if (zone.front() != '+' && zone.front() != '-') return std::nullopt;
  const std::size_t minutes_at = zone.size() == 6 ? 4 : 3;
  const auto hours = Digits(zone, 1, 2), minutes = Digits(zone, minutes_at, 2);
  if (!hours || !minutes || zone.size() != minutes_at + 2) return std::nullopt;
  return (zone.front() == '-' ? -1 : 1) * (60 * *hours + *minutes);
}

// Seconds since midnight of "12:00:00.5+01:00" in universal time.
std::optional<int> SecondsOfTime(const std::string& time) {
  const auto hour = Digits(time, 0, 2), minute = Digits(time, 3, 2);
  if (!hour || !minute || !IsAnyCharacter(time, 2, ":-") || *hour > 23 || *minute > 59) return std::nullopt;
  std::size_t end = 5;
  int second = 0;
  if (IsAnyCharacter(time, 5, ":-") && Digits(time, 6, 2) && (time.size() == 8 || !IsAnyCharacter(time, 8, ":"))) {
    second = *Digits(time, 6, 2);
    end = 8;
    if (second > 60) return std::nullopt;
  }
  if (IsAnyCharacter(time, end, ".")) {
    do ++end;
    while (Digits(time, end, 1));
  }
  const std::size_t zone = time.find_first_not_of(' ', end);
  const auto ahead = MinutesOfZone(zone == std::string::npos ? "" : time.substr(zone));
  if (!ahead) return std::nullopt;
  return 3600 * *hour + 60 * *minute + second - 60 * *ahead;
}

// Date and commit out of the name of a file.
bool ReadName(const fs::path& path, MeasuredResults& entry) {
  const std::string stem = path.stem().string();
  const std::size_t length = stem.size() > kDateLength && stem[kDateLength - 1] == 'Z' ? kDateLength : kDateLength - 1;
  if (stem.size() < length + 2 || stem[length] != '-') return false;
  const auto date = DateFrom(stem.substr(0, length));
  if (!date) return false;
  entry.date = *date;
  entry.commit = stem.substr(length + 1);
  return true;
}

// True if name or format mark a file as part of the history, even if it is damaged.
bool ClaimsToBeEntry(const fs::path& path) {
  MeasuredResults named;
  if (ReadName(path, named)) return true;
  const std::string text = ReadFile(path);
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return text.find(fmt::format("\"{}\"", kHistoryFormat)) != std::string::npos;
  return json.is_object() && json.value("format", Json()) == kHistoryFormat;
}

// Files of the folder that may be results, in the order of their names.
std::vector<fs::path> CandidatesIn(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code code;
  for (const fs::directory_entry& file : fs::directory_iterator(folder, code)) {
    const std::string ending = file.path().extension().string();
    if (file.is_regular_file(code) && (ending == ".json" || ending == ".csv")) files.push_back(file.path());
  }
  if (code) throw Error(ErrorKind::kInput, folder.string(), "cannot be read: " + code.message());
  std::sort(files.begin(), files.end());
  return files;
}

// One more result of a commit is a repeat, unless it is the same one again.
void AddRepeat(const MeasuredResults& entry, MeasuredResults& commit, Diagnostics& diagnostics) {
  if (commit.accepted.empty()) commit.accepted = entry.accepted;
  const std::vector<FactorRow>& all = commit.table.rows;
  const std::vector<FactorRow>& more = entry.table.rows;
  const auto is_there = [&](FactorRow row) {
    return std::any_of(all.begin(), all.end(), [&](const FactorRow& other) {
      row.repeat = other.repeat;
      return row == other;
    });
  };
  if (std::all_of(more.begin(), more.end(), is_there)) {
    diagnostics.Add(anomaly::kSameResultsTwice, 1, fs::path(entry.name).filename().string());
  } else {
    FactorTable repeat = entry.table;
    diagnostics.Merge(AgreeOnTerms({{entry.name, &repeat}, {commit.name, &commit.table}}));
    commit.table = MergeRepeats({commit.table, repeat});
  }
}

}  // namespace

std::string DateFromSeconds(std::int64_t since_1970) {
  using namespace std::chrono;
  const sys_seconds time{seconds(since_1970)};
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                     clock.minutes().count(), clock.seconds().count());
}

std::optional<std::string> DateFrom(const std::string& text) {
  using namespace std::chrono;
  const auto y = Digits(text, 0, 4), m = Digits(text, 5, 2), d = Digits(text, 8, 2);
  if (!y || !m || !d || text[4] != '-' || text[7] != '-') return std::nullopt;
  const year_month_day date{year(*y), month(static_cast<unsigned>(*m)), day(static_cast<unsigned>(*d))};
  if (!date.ok()) return std::nullopt;
  int second = 0;
  if (text.size() > 10) {
    if (!IsAnyCharacter(text, 10, "Tt ")) return std::nullopt;
    const auto time = SecondsOfTime(text.substr(11));
    if (!time) return std::nullopt;
    second = *time;
  }
  return DateFromSeconds(sys_seconds(sys_days(date)).time_since_epoch().count() + second);
}

Fields<MeasuredResults> FieldsOf(Described<MeasuredResults>) {
  using T = MeasuredResults;
  const auto date = Via<std::string, std::string>([](const std::string& text) { return text; },
                                                  [](const std::string& text, const JsonPlace& at) {
                                                    const auto known = DateFrom(text);
                                                    if (!known) {
                                                      at.Fail("is not a date", "write it like 2026-11-20T12:00:00Z");
                                                    }
                                                    return *known;
                                                  });
  return Fields<T>{
      "history",
      {
          Property<&T::commit>("Any name of a state of the code").NotEmpty(),
          Property<&T::date>(date).Schema(kDateSchema),
          Property<&T::accepted>("Why the level changes on purpose from here on").NotEmpty().UnlessDefault(),
          Field("factors", &T::table),
      }}
      .File(kHistoryFormat, kHistoryVersion, kHistoryVersion, "history")
      .WithChecksum();
}

std::string WriteHistoryJson(const MeasuredResults& entry) {
  return JsonOf(entry).dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

MeasuredResults ReadHistoryJson(const std::string& text, const std::string& file) {
  const Json json = fields_internal::ParseJson(text, file);
  auto entry = FromJson<MeasuredResults>(json, file);
  CheckChecksum(json, file, entry.table.findings);
  entry.name = file;
  return entry;
}

OrderedJson HistorySchema() {
  return SchemaOf<MeasuredResults>("An entry of a history of farscale: results of one commit");
}

std::string FileNameOf(const MeasuredResults& entry) {
  std::string name = entry.date + "-";
  std::replace(name.begin(), name.end(), ':', '-');
  for (const char c : entry.commit) {
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' ? c : '-';
  }
  return name + ".json";
}

History ReadHistory(const fs::path& folder, Diagnostics& diagnostics, std::optional<Scaling> scaling) {
  History all;
  for (const fs::path& file : CandidatesIn(folder)) {
    const std::string name = file.filename().string();
    if (!ClaimsToBeEntry(file)) {
      diagnostics.Add(anomaly::kHistoryFileSkipped, 1, name);
      continue;
    }
    MeasuredResults& entry = all.emplace_back(ReadResultFileUnchecked(file.string(), scaling));
    const std::string excluded = WhyExcluded(entry.table);
    if (excluded.empty()) {
      CheckScaling(entry.table, name);
    } else {  // the other commits stay of use, and the factors that need no scaling
      for (FactorRow& row : entry.table.rows) ForgetComparison(row);
      diagnostics.Add(anomaly::kScalingExcluded, 1, fmt::format("{}: {}", name, excluded));
    }
    entry.projections.clear();
    if (entry.date.empty()) ReadName(file, entry);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const MeasuredResults& a, const MeasuredResults& b) { return a.date < b.date; });
  History history;
  for (MeasuredResults& entry : all) {
    const auto same = std::find_if(history.begin(), history.end(),
                                   [&](const MeasuredResults& other) { return other.commit == entry.commit; });
    if (same == history.end()) {
      history.push_back(std::move(entry));
    } else {
      AddRepeat(entry, *same, diagnostics);
    }
  }
  return history;
}

std::string ShortCommit(const MeasuredResults& entry) {
  return entry.commit.empty() ? "?" : ToUtf8(entry.commit.substr(0, kShort));
}

std::string NameOf(const MeasuredResults& entry) {
  return entry.commit.empty() ? entry.name : "commit " + ShortCommit(entry);
}

std::vector<Finding> FindingsOf(const History& history) {
  std::vector<Finding> all;
  for (auto entry = history.rbegin(); entry != history.rend(); ++entry) {
    std::set<std::string> known;  // files of this commit
    for (const Finding& finding : entry->table.findings) {
      if (!known.insert(finding.id).second) continue;
      const auto same =
          std::find_if(all.begin(), all.end(), [&](const Finding& other) { return other.id == finding.id; });
      if (same != all.end()) {
        ++same->count;
        continue;
      }
      const std::string detail = DetailOf(finding);
      all.push_back(finding);
      all.back().count = 1;
      all.back().population = history.size() > 1 ? history.size() : 0;
      all.back().example = NameOf(*entry) + (detail.empty() ? "" : ": " + detail);
    }
  }
  return all;
}

}  // namespace farscale
