#include "support/damage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files.h"

namespace farscale::test {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kHeaderBytes = 18;  // of a chunk: mark, byte order, first and last event
constexpr unsigned char kTimeStamp = 5, kLongRecord = 0xFF, kEndOfChunk = 0, kEndOfFile = 2;
constexpr unsigned char kEnter = 12, kLeave = 13, kLocation = 14;

std::vector<std::string> NamesWithEnding(const InputFiles& files, std::string_view ending) {
  std::vector<std::string> names;
  for (const auto& [name, content] : files) {
    if (name.ends_with(ending) && !content.empty()) names.push_back(name);
  }
  return names;
}

template <typename Value>
const Value& Draw(const std::vector<Value>& values, Random& random) {
  return values[random.Index(values.size())];
}

// A record of an event file; a time stamp is a record of its own.
struct EventRecord {
  std::size_t begin = 0, end = 0;
  unsigned char type = 0;
};

// Of files of one chunk; nothing of others.
std::vector<EventRecord> EventRecords(const std::string& content) {
  std::vector<EventRecord> records;
  std::size_t at = kHeaderBytes;
  const auto byte = [&](std::size_t index) { return static_cast<unsigned char>(content[index]); };
  while (at + 1 < content.size() && byte(at) != kEndOfChunk && byte(at) != kEndOfFile) {
    if (byte(at) != kTimeStamp && byte(at + 1) == kLongRecord) return {};
    const std::size_t end = at + (byte(at) == kTimeStamp ? 9 : 2u + byte(at + 1));
    if (end > content.size()) return {};
    records.push_back({at, end, byte(at)});
    at = end;
  }
  if (at >= content.size() || byte(at) != kEndOfFile) return {};
  return records;
}

std::string PlaceOf(const std::string& content, std::size_t offset) {
  for (const EventRecord& record : EventRecords(content)) {
    if (offset < record.begin || offset >= record.end) continue;
    if (record.type == kTimeStamp && offset > record.begin)
      return fmt::format("time byte {}", offset - record.begin - 1);
    return fmt::format("record {} byte {}", record.type, offset - record.begin);
  }
  return offset < kHeaderBytes ? "head" : "end";
}

std::string FlipBit(std::string& content, Random& random) {
  const std::size_t offset = random.Index(content.size()), bit = random.Index(8);
  content[offset] = static_cast<char>(content[offset] ^ (1 << bit));
  return fmt::format("byte {} bit {}", offset, bit);
}

std::optional<Damage> BitOfEvents(InputFiles& files, Random& random) {
  const std::string name = Draw(NamesWithEnding(files, ".evt"), random);
  const std::string before = files[name];
  const std::string where = FlipBit(files[name], random);
  const std::size_t offset = std::stoul(where.substr(5));
  const std::string place = PlaceOf(before, offset);
  return Damage{place.starts_with("time") ? "bit of a time stamp" : "bit of an event",
                fmt::format("{} {} ({})", name, where, place)};
}

std::optional<Damage> BitOfDefinitions(InputFiles& files, Random& random) {
  const bool is_local = random.Index(6) == 0;
  std::vector<std::string> names = NamesWithEnding(files, ".def");
  std::erase_if(names, [&](const std::string& name) { return (name.find('/') != std::string::npos) != is_local; });
  if (names.empty()) return std::nullopt;
  const std::string name = Draw(names, random);
  return Damage{is_local ? "bit of local definitions" : "bit of definitions",
                name + " " + FlipBit(files[name], random)};
}

std::optional<Damage> BitOfAnchor(InputFiles& files, Random& random) {
  const std::string name = NamesWithEnding(files, ".otf2").front();
  return Damage{"bit of the anchor", FlipBit(files[name], random)};
}

std::optional<Damage> EventsOfAnotherRun(InputFiles& files, const InputFiles& other, Random& random) {
  const std::vector<std::string> from = NamesWithEnding(other, ".evt");
  const std::string name = Draw(NamesWithEnding(files, ".evt"), random);
  if (from.empty()) return std::nullopt;
  const std::string rank = name.substr(name.rfind('/'));
  for (const std::string& candidate : from) {
    if (!candidate.ends_with(rank)) continue;
    if (other.at(candidate) == files[name]) return std::nullopt;
    files[name] = other.at(candidate);
    return Damage{"events of another run", name};
  }
  return std::nullopt;
}

std::optional<Damage> EventsOfAnotherRank(InputFiles& files, Random& random) {
  const std::vector<std::string> names = NamesWithEnding(files, ".evt");
  const std::string a = Draw(names, random), b = Draw(names, random);
  if (files[a] == files[b]) return std::nullopt;
  if (random.Index(2) == 0) {
    std::swap(files[a], files[b]);
    return Damage{"event files swapped", a + " " + b};
  }
  files[a] = files[b];
  return Damage{"event file of another rank", a + " from " + b};
}

std::optional<Damage> LostFile(InputFiles& files, Random& random) {
  const std::string name = Draw(NamesWithEnding(files, ".evt"), random);
  switch (random.Index(3)) {
    case 0: files.erase(name); return Damage{"event file missing", name};
    case 1: files[name].clear(); return Damage{"event file empty", name};
    default: {
      const std::size_t size = random.Index(files[name].size());
      files[name].resize(size);
      return Damage{"event file truncated", fmt::format("{} to {}", name, size)};
    }
  }
}

// Numbers of OTF2: how many bytes, and the bytes, the lowest first.
std::string Compressed(std::uint64_t number) {
  std::string bytes;
  for (; number > 0; number >>= 8) bytes += static_cast<char>(number & 0xFF);
  return static_cast<char>(bytes.size()) + bytes;
}

// So that nothing but the missing records shows that they are missing: filters count what is left.
void SetEventCount(InputFiles& files, const std::string& event_file, std::uint64_t count) {
  for (int i = 0; i < 8; ++i) files[event_file][10 + static_cast<std::size_t>(i)] = static_cast<char>(count >> (8 * i));
  std::string& definitions = files[event_file.substr(0, event_file.find('/')) + ".def"];
  const std::string location = Compressed(std::stoul(event_file.substr(event_file.find('/') + 1)));
  for (const EventRecord& record : EventRecords(definitions)) {
    if (record.type != kLocation || definitions.compare(record.begin + 2, location.size(), location) != 0) continue;
    const std::size_t name = record.begin + 2 + location.size();
    const std::size_t events = name + 1 + static_cast<unsigned char>(definitions[name]) + 1;
    const std::size_t group = events + 1 + static_cast<unsigned char>(definitions[events]);
    const std::string body = definitions.substr(record.begin + 2, events - record.begin - 2) + Compressed(count) +
                             definitions.substr(group, record.end - group);
    definitions.replace(record.begin, record.end - record.begin,
                        std::string{static_cast<char>(kLocation), static_cast<char>(body.size())} + body);
    return;
  }
}

// Removes records for which `is_lost`, with the time stamps that nothing follows.
template <typename IsLost>
std::size_t RemoveRecords(InputFiles& files, const std::string& name, const IsLost& is_lost) {
  const std::string content = files[name];
  const std::vector<EventRecord> records = EventRecords(content);
  if (records.empty()) return 0;
  std::string kept = content.substr(0, kHeaderBytes), time;
  std::size_t removed = 0, left = 0;
  for (const EventRecord& record : records) {
    const std::string bytes = content.substr(record.begin, record.end - record.begin);
    if (record.type == kTimeStamp) {
      time = bytes;
    } else if (is_lost(record)) {
      ++removed;
    } else {
      kept += std::exchange(time, "") + bytes;
      ++left;
    }
  }
  files[name] = kept + static_cast<char>(kEndOfFile);
  if (removed > 0) SetEventCount(files, name, left);
  return removed;
}

std::optional<Damage> LostRecords(InputFiles& files, Random& random) {
  std::vector<std::string> names = NamesWithEnding(files, ".evt");
  std::set<unsigned char> types;
  for (const EventRecord& record : EventRecords(files[names.front()])) types.insert(record.type);
  types.erase(kTimeStamp);
  if (types.empty()) return std::nullopt;
  const unsigned char type = Draw(std::vector<unsigned char>(types.begin(), types.end()), random);
  if (random.Index(3) == 0) names = {Draw(names, random)};
  const double share = random.Index(2) == 0 ? 1 : random.Uniform();
  std::size_t removed = 0;
  for (const std::string& name : names) {
    removed += RemoveRecords(
        files, name, [&](const EventRecord& record) { return record.type == type && random.Uniform() < share; });
  }
  if (removed == 0) return std::nullopt;
  return Damage{fmt::format("records of a kind lost in {}", names.size() > 1 ? "all ranks" : "a rank"),
                fmt::format("{} of type {} ({:.0f} %)", removed, type, 100 * share)};
}

std::vector<std::string_view> LinesIn(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1);
    lines.push_back(text.substr(0, end + 1));
    text.remove_prefix(end + 1);
  }
  return lines;
}

// Of numbers, so that names stay; not the first digit of a date.
std::optional<std::string> ChangeDigit(std::string& text, Random& random) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] >= '0' && text[i] <= '9') places.push_back(i);
  }
  if (places.empty()) return std::nullopt;
  const std::size_t at = Draw(places, random);
  const char before = text[at];
  text[at] = static_cast<char>('0' + (before - '0' + 1 + static_cast<int>(random.Index(9))) % 10);
  const std::size_t begin = text.rfind('\n', at) == std::string::npos ? 0 : text.rfind('\n', at) + 1;
  const std::size_t line =
      static_cast<std::size_t>(std::count(text.begin(), text.begin() + static_cast<long>(at), '\n'));
  return fmt::format("line {} column {} {}→{}: {}", line + 1, at - begin + 1, before, text[at],
                     text.substr(begin, std::min(text.find('\n', at), begin + 120) - begin));
}

std::optional<Damage> DigitOfParaver(InputFiles& files, Random& random) {
  const bool is_beside = random.Index(4) == 0;
  std::vector<std::string> names;
  for (const auto& [name, content] : files) {
    if (!content.empty() && name.ends_with(".prv") != is_beside) names.push_back(name);
  }
  if (names.empty()) return std::nullopt;
  const std::string name = Draw(names, random);
  const auto where = ChangeDigit(files[name], random);
  if (!where) return std::nullopt;
  return Damage{"digit of ." + name.substr(name.rfind('.') + 1), *where};
}

std::string MainText(const InputFiles& files) { return NamesWithEnding(files, ".prv").front(); }

std::optional<Damage> LinesLost(InputFiles& files, Random& random) {
  std::string& text = files[MainText(files)];
  const std::vector<std::string_view> lines = LinesIn(text);
  const std::size_t first = 1 + random.Index(lines.size() - 1);
  const std::size_t how = random.Index(3);
  const std::size_t length = how == 0 ? 1 : 1 + random.Index(lines.size() - first);
  const double share = how == 1 ? 0.5 * random.Uniform() : 0;
  std::string kept;
  std::size_t lost = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool is_lost = i > 0 && (how == 1 ? random.Uniform() < share : i >= first && i < first + length);
    if (is_lost) ++lost;
    if (!is_lost) kept += lines[i];
  }
  const std::size_t count = lines.size();
  text = kept;
  return Damage{how == 0   ? "line lost"
                : how == 1 ? "lines lost at random"
                           : "lines lost in a row",
                fmt::format("{} of {} from line {}", lost, count, first + 1)};
}

std::optional<Damage> LinesSwapped(InputFiles& files, Random& random) {
  std::string& text = files[MainText(files)];
  std::vector<std::string_view> lines = LinesIn(text);
  if (lines.size() < 3) return std::nullopt;
  const std::size_t a = 1 + random.Index(lines.size() - 1), b = 1 + random.Index(lines.size() - 1);
  std::swap(lines[a], lines[b]);
  std::string swapped;
  for (const std::string_view line : lines) swapped += line;
  text = swapped;
  return Damage{"lines swapped", fmt::format("{} and {}", a + 1, b + 1)};
}

// Type of a record, and what most event records have first.
std::string KindOfLine(std::string_view line) {
  if (line.empty() || line.front() == '#' || line.front() == 'c') return "";
  if (line.front() != '2') return std::string(1, line.front());
  std::size_t at = 0;
  for (int field = 0; field < 6; ++field) at = line.find(':', at) + 1;
  return "2 " + std::string(line.substr(at, line.find(':', at) - at));
}

std::optional<Damage> KindOfLinesLost(InputFiles& files, Random& random) {
  std::string& text = files[MainText(files)];
  const std::vector<std::string_view> lines = LinesIn(text);
  std::set<std::string> kinds;
  for (const std::string_view line : lines) kinds.insert(KindOfLine(line));
  kinds.erase("");
  const std::string kind = Draw(std::vector<std::string>(kinds.begin(), kinds.end()), random);
  const double share = random.Index(2) == 0 ? 1 : random.Uniform();
  std::string kept;
  std::size_t lost = 0;
  for (const std::string_view line : lines) {
    if (KindOfLine(line) == kind && random.Uniform() < share) {
      ++lost;
    } else {
      kept += line;
    }
  }
  text = kept;
  return Damage{share == 1 ? "records of a kind lost" : "share of a kind of records lost",
                fmt::format("{} of kind {} ({:.0f} %)", lost, kind, 100 * share)};
}

// The task of a record; that of the sender of a message.
std::string TaskOf(std::string_view line) {
  std::size_t at = 0;
  for (int field = 0; field < 3; ++field) at = line.find(':', at) + 1;
  return std::string(line.substr(at, line.find(':', at) - at));
}

std::optional<Damage> LinesOfAnotherRun(InputFiles& files, const InputFiles& other, Random& random) {
  if (NamesWithEnding(other, ".prv").empty()) return std::nullopt;
  std::string& text = files[MainText(files)];
  const std::string& from = other.at(MainText(other));
  std::set<std::string> tasks;
  for (const std::string_view line : LinesIn(text)) {
    if (!KindOfLine(line).empty()) tasks.insert(TaskOf(line));
  }
  const std::string task = Draw(std::vector<std::string>(tasks.begin(), tasks.end()), random);
  const auto is_of_task = [&](std::string_view line) { return !KindOfLine(line).empty() && TaskOf(line) == task; };
  std::string mixed;
  for (const std::string_view line : LinesIn(text)) {
    if (!is_of_task(line)) mixed += line;
  }
  std::size_t taken = 0;
  for (const std::string_view line : LinesIn(from)) {
    if (!is_of_task(line)) continue;
    mixed += line;
    ++taken;
  }
  if (taken == 0) return std::nullopt;
  text = mixed;
  return Damage{"lines of another run", fmt::format("{} of task {}", taken, task)};
}

std::optional<Damage> TextTruncated(InputFiles& files, Random& random) {
  std::string& text = files[MainText(files)];
  const std::size_t size = random.Index(text.size());
  text.resize(size);
  return Damage{"text truncated", fmt::format("to {}", size)};
}

}  // namespace

InputFiles ReadInputFiles(const fs::path& main_file) {
  InputFiles files;
  const fs::path folder = main_file.parent_path();
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    const fs::path name = entry.path().lexically_relative(folder);
    if (!entry.is_regular_file() || name.begin()->stem() != main_file.stem()) continue;
    files[name.string()] = ReadFile(entry.path());
  }
  return files;
}

void WriteInputFiles(const InputFiles& files, const fs::path& folder) {
  fs::remove_all(folder);
  for (const auto& [name, content] : files) {
    fs::create_directories((folder / name).parent_path());
    std::ofstream(folder / name, std::ios::binary) << content;
  }
}

std::optional<Damage> DamageArchive(InputFiles& files, const InputFiles& other, Random& random) {
  switch (random.Index(16)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
    case 5: return BitOfEvents(files, random);
    case 6:
    case 7:
    case 8: return BitOfDefinitions(files, random);
    case 9: return BitOfAnchor(files, random);
    case 10:
    case 11: return EventsOfAnotherRun(files, other, random);
    case 12: return EventsOfAnotherRank(files, random);
    case 13: return LostFile(files, random);
    default: return LostRecords(files, random);
  }
}

std::optional<Damage> DamageParaver(InputFiles& files, const InputFiles& other, Random& random) {
  switch (random.Index(12)) {
    case 0:
    case 1:
    case 2:
    case 3: return DigitOfParaver(files, random);
    case 4:
    case 5: return LinesLost(files, random);
    case 6: return LinesSwapped(files, random);
    case 7:
    case 8:
    case 9: return KindOfLinesLost(files, random);
    case 10: return LinesOfAnotherRun(files, other, random);
    default: return TextTruncated(files, random);
  }
}

std::optional<Damage> DamageTable(std::string& text, Random& random) {
  const auto where = ChangeDigit(text, random);
  if (!where) return std::nullopt;
  return Damage{text.front() == '{' ? "digit of JSON" : "digit of CSV", *where};
}

}  // namespace farscale::test
