#include "trace/trace_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "base/diagnostics.h"
#include "base/files.h"
#include "base/parallel.h"
#include "base/text.h"
#include "trace/anomalies.h"
#include "trace/paraver_header.h"
#include "trace/paraver_text.h"
#include "trace/trace_builder.h"

namespace farscale {
namespace {

namespace fs = std::filesystem;

// An anchor file of OTF2 begins with a byte of length, a byte order mark and these letters.
bool IsOtf2Anchor(const std::string& head) { return head.size() >= 6 && head.compare(2, 4, "OTF2") == 0; }

// The other files of an archive lie beside the anchor itself, not beside a link to it.
std::string Resolve(const std::string& path) {
  std::error_code code;
  return fs::is_symlink(path, code) ? fs::canonical(path, code).string() : path;
}

std::string HeadOf(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::array<char, 16> bytes{};
  stream.read(bytes.data(), bytes.size());
  if (stream.bad() || (stream.fail() && !stream.eof())) {
    throw Error(ErrorKind::kInput, path.string(), std::string("cannot be read: ") + std::strerror(errno));
  }
  return std::string(bytes.data(), static_cast<std::size_t>(stream.gcount()));
}

bool IsTraceName(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".otf2") || name.ends_with(".prv") || name.ends_with(".prv.gz");
}

// A folder was named instead of the trace in it: say which files in it would do.
[[noreturn]] void FailForFolder(const fs::path& path) {
  std::vector<std::string> traces;
  std::error_code code;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, code)) {
    if (IsTraceName(entry.path())) traces.push_back(entry.path().string());
  }
  std::sort(traces.begin(), traces.end());
  throw Error(ErrorKind::kInput, path.string(), "is a folder, not a trace",
              traces.empty() ? "name the anchor file of an OTF2 archive, which ends in .otf2, or a Paraver trace, "
                               "which ends in .prv or .prv.gz"
                             : "name the trace: " + Join(traces, " or "));
}

enum class TraceFormat { kOtf2, kParaver };

TraceFormat FormatOf(const fs::path& path) {
  std::error_code code;
  if (!fs::exists(path, code)) throw Error(ErrorKind::kInput, path.string(), "no such trace");
  if (fs::is_directory(path, code)) FailForFolder(path);
  if (!fs::is_regular_file(path, code)) {
    throw Error(ErrorKind::kInput, path.string(), "is no regular file", "a trace is read several times; name a file");
  }
  if (fs::file_size(path, code) == 0) {
    throw Error(ErrorKind::kInput, path.string(), "is empty", "copy the trace again");
  }
  if (IsOtf2Anchor(HeadOf(path))) return TraceFormat::kOtf2;
  if (IsParaver(path.string())) return TraceFormat::kParaver;
  throw Error(ErrorKind::kInput, path.string(), "is neither the anchor file of an OTF2 archive nor a Paraver trace",
              IsTraceName(path) ? "the file is damaged" : "name the file that ends in .otf2, .prv or .prv.gz");
}

std::string HashFile(const std::string& path) {
  thread_local std::vector<char> buffer(1 << 18);  // kept, since a trace may have thousands of small files
  const FilePieces file(path);
  Sha256 hash;
  for (std::uint64_t at = 0;;) {
    const std::optional<std::size_t> read = file.Read(at, buffer.data(), buffer.size());
    if (!read) throw Error(ErrorKind::kInput, path, "cannot be read to the end");
    hash.Add({buffer.data(), *read});
    if (*read < buffer.size()) break;
    at += *read;
  }
  return hash.Hex();
}

}  // namespace

std::vector<std::string> FilesOfTrace(const std::string& path) {
  if (FormatOf(path) == TraceFormat::kParaver) return FilesOfParaver(Resolve(path));
  const fs::path anchor(Resolve(path));
  const fs::path folder = anchor.parent_path() / anchor.stem();
  fs::path definitions = anchor;
  definitions.replace_extension(".def");
  std::vector<std::string> files = {anchor.string()};
  std::error_code code;
  if (fs::is_regular_file(definitions, code)) files.push_back(definitions.string());
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, code)) {
    if (entry.is_regular_file(code)) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::size_t RanksOfTrace(const std::string& path) {
  try {
    if (FormatOf(path) == TraceFormat::kParaver) {
      ParaverText text(Resolve(path));
      return ReadParaverHeader(Resolve(path), text).applications.front().tasks.size();
    }
    // The threads of a rank beside the main one have larger numbers.
    return static_cast<std::size_t>(std::ranges::count_if(FilesOfTrace(path), [](const std::string& file) {
      long long location = -1;
      return file.ends_with(".evt") && ParseInteger(fs::path(file).stem().string(), location) && location >= 0 &&
             location <= std::numeric_limits<std::uint32_t>::max();
    }));
  } catch (const std::exception&) {
    return 0;
  }
}

std::uint64_t BytesOfTrace(const std::string& path) {
  try {
    const std::vector<std::string> files = FilesOfTrace(path);
    std::vector<std::uint64_t> sizes(files.size());
    ParallelForBlocks(files.size(), [&](std::size_t first, std::size_t end) {
      for (std::size_t i = first; i < end; ++i) sizes[i] = fs::file_size(files[i]);
    });
    return std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
  } catch (const std::exception&) {
    return 0;
  }
}

std::vector<std::size_t> LargestFirst(const std::vector<std::uint64_t>& sizes) {
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return sizes[i]; });
  return order;
}

std::vector<std::size_t> LargestFirst(const std::vector<std::string>& paths) {
  std::vector<std::uint64_t> sizes;
  for (const std::string& path : paths) sizes.push_back(BytesOfTrace(path));
  return LargestFirst(sizes);
}

std::string FingerprintOfTrace(const std::string& path) {
  const std::vector<std::string> files = FilesOfTrace(path);
  std::string folder = fs::path(Resolve(path)).parent_path().string();  // all of them lie within
  if (!folder.empty() && !folder.ends_with('/')) folder += '/';
  std::vector<std::string> lines(files.size());
  ParallelFor(files.size(),
              [&](std::size_t i) { lines[i] = HashFile(files[i]) + "  " + files[i].substr(folder.size()) + "\n"; });
  Sha256 hash;
  for (const std::string& line : lines) hash.Add(line);
  return hash.Hex();
}

Trace ReadTrace(const std::string& path, const ReadOptions& options) {
  const CounterSelection counters{options.all_counters, options.counters};
  const TraceFormat format = FormatOf(path);
  if (format == TraceFormat::kOtf2 && options.application) {
    throw Error(ErrorKind::kUsage, path, "an OTF2 archive has no applications to choose from",
                "leave out the application");
  }
  Trace trace = format == TraceFormat::kOtf2
                    ? ReadOtf2(Resolve(path), counters, options.keep_threads)
                    : ReadParaver(Resolve(path), counters, options.application, options.accepted, options.keep_threads);
  trace.diagnostics.Accept(options.accepted);
  trace.path = path;
  trace.disk_bytes = BytesOfTrace(path);
  LeaveOutSwitchedOff(trace);
  return trace;
}

namespace {

struct OffTime {
  Tick begin = 0;
  Tick end = 0;
  Tick removed = 0;  // of those before it
};

// In the order of time and apart, as recorded.
std::vector<OffTime> OffOf(const RankTimeline& timeline) {
  std::vector<OffTime> off;
  for (const Interruption& interruption : timeline.interruptions()) {
    if (!interruption.is_flush) off.push_back({interruption.begin, interruption.end});
  }
  return off;
}

std::vector<OffTime> Common(const std::vector<OffTime>& some, const std::vector<OffTime>& others) {
  std::vector<OffTime> both;
  for (std::size_t i = 0, k = 0; i < some.size() && k < others.size();) {
    const Tick begin = std::max(some[i].begin, others[k].begin), end = std::min(some[i].end, others[k].end);
    if (begin < end) both.push_back({begin, end});
    some[i].end < others[k].end ? ++i : ++k;
  }
  return both;
}

// Where no rank was recorded. Ranks without events do not say when they were.
std::vector<OffTime> OffOnAllRanks(const Trace& trace) {
  std::optional<std::vector<OffTime>> common;
  for (const RankTimeline& timeline : trace.timelines) {
    if (timeline.empty()) continue;
    common = common ? Common(*common, OffOf(timeline)) : OffOf(timeline);
  }
  std::vector<OffTime> off = common.value_or(std::vector<OffTime>());
  Tick removed = 0;
  for (OffTime& off_time : off) {
    off_time.removed = removed;
    removed += off_time.end - off_time.begin;
  }
  return off;
}

// Where times are without the stretches.
class TimeWithout {
 public:
  explicit TimeWithout(const std::vector<OffTime>& off) : off_(off) {}

  Tick operator()(Tick tick) const {
    const auto behind = std::ranges::partition_point(off_, [&](const OffTime& one) { return one.begin <= tick; });
    if (behind == off_.begin()) return tick;
    const OffTime& last = *(behind - 1);
    return tick - last.removed - (std::min(tick, last.end) - last.begin);
  }

 private:
  const std::vector<OffTime>& off_;
};

// `off`: what counters count in it is left out, too.
RankTimeline Moved(const RankTimeline& timeline, const TimeWithout& map, bool keeps_off,
                   const std::vector<OffTime>& off) {
  NewTimes times;
  for (std::size_t call = 0; call < timeline.calls(); ++call) {
    times.enter.push_back(map(timeline.enter(call)));
    times.leave.push_back(map(timeline.leave(call)));
  }
  for (std::size_t event = 0; event < timeline.region_events(); ++event) {
    times.events.push_back(map(timeline.event_tick(event)));
  }
  for (const Interruption& one : timeline.interruptions()) {
    const Interruption moved{map(one.begin), map(one.end), one.is_flush};
    if (one.is_flush || (keeps_off && moved.begin < moved.end)) times.interruptions.push_back(moved);
  }
  for (const OffTime& one : off) times.without.emplace_back(one.begin, one.end);
  return Retime(timeline, times);
}

void Move(std::vector<TeamEvent>& events, const TimeWithout& map) {
  for (TeamEvent& event : events) event.tick = map(event.tick);
}

void Move(std::vector<DeviceSpan>& spans, const TimeWithout& map) {
  for (DeviceSpan& span : spans) span = {map(span.begin), map(span.end)};
  std::erase_if(spans, [](const DeviceSpan& span) { return span.length() <= 0; });
}

}  // namespace

void LeaveOutSwitchedOff(Trace& trace) {
  const bool is_any_off =
      std::ranges::any_of(trace.timelines, [](const RankTimeline& timeline) { return !OffOf(timeline).empty(); });
  if (!is_any_off) return;
  const bool keeps_off = trace.diagnostics.count(anomaly::kRegionsAlone) == 0;
  const std::vector<OffTime> off = keeps_off ? OffOnAllRanks(trace) : std::vector<OffTime>();
  const TimeWithout map(off);
  const double length = trace.Seconds(trace.end() - trace.begin());
  const double kept = trace.Seconds(map(trace.end()) - map(trace.begin()));
  trace.diagnostics.Add(anomaly::kSwitchedOff, static_cast<std::uint64_t>((length - kept) * 1e6 + 0.5));
  trace.diagnostics.AddPopulation(anomaly::kSwitchedOff, static_cast<std::uint64_t>(length * 1e6 + 0.5));
  // Counters of farscale's own traces stand still meanwhile.
  const std::vector<OffTime> counted =
      trace.creator.find("farscale") == std::string::npos ? off : std::vector<OffTime>();
  ParallelFor(trace.size(),
              [&](std::size_t rank) { trace.timelines[rank] = Moved(trace.timelines[rank], map, keeps_off, counted); });
  for (std::vector<TeamEvent>& events : trace.team_threads.of_ranks) Move(events, map);
  for (WorkerThread& worker : trace.team_threads.workers) {
    worker.timeline = Moved(worker.timeline, map, keeps_off, counted);
    Move(worker.team_events, map);
  }
  for (Device& device : trace.devices) {
    for (DeviceWork& work : device.of_ranks) {
      Move(work.kernels, map);
      Move(work.active, map);
    }
  }
}

}  // namespace farscale
