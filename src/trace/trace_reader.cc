#include "trace/trace_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <numeric>

#include "base/diagnostics.h"
#include "base/files.h"
#include "base/parallel.h"
#include "base/search.h"
#include "base/text.h"
#include "trace/anomalies.h"
#include "trace/paraver_header.h"
#include "trace/paraver_text.h"
#include "trace/trace_builder.h"

namespace farscale {
namespace {

namespace fs = std::filesystem;

// The other files of an archive lie beside the anchor itself, not beside a link to it.
std::string Resolve(const std::string& path) {
  std::error_code code;
  return fs::is_symlink(path, code) ? fs::canonical(path, code).string() : path;
}

// Else it is an OTF2 archive. Throws an input error when it is neither.
bool IsParaverTrace(const fs::path& path) {
  std::error_code code;
  if (!fs::exists(path, code)) throw Error(ErrorKind::kInput, path.string(), "no such trace");
  if (fs::is_directory(path, code)) {  // say which files in it would do
    std::vector<std::string> traces;
    for (const fs::directory_entry& entry : fs::directory_iterator(path, code)) {
      if (IsTraceName(entry.path())) traces.push_back(entry.path().string());
    }
    std::sort(traces.begin(), traces.end());
    throw Error(ErrorKind::kInput, path.string(), "is a folder, not a trace",
                traces.empty() ? "name the anchor file of an OTF2 archive, which ends in .otf2, or a Paraver trace, "
                                 "which ends in .prv or .prv.gz"
                               : "name the trace: " + Join(traces, " or "));
  }
  if (!fs::is_regular_file(path, code)) {
    throw Error(ErrorKind::kInput, path.string(), "is no regular file", "a trace is read several times; name a file");
  }
  if (fs::file_size(path, code) == 0) {
    throw Error(ErrorKind::kInput, path.string(), "is empty", "copy the trace again");
  }
  std::ifstream stream(path, std::ios::binary);
  std::string head(16, '\0');
  stream.read(head.data(), static_cast<std::streamsize>(head.size()));
  if (stream.bad() || (stream.fail() && !stream.eof())) {
    throw Error(ErrorKind::kInput, path.string(), std::string("cannot be read: ") + std::strerror(errno));
  }
  head.resize(static_cast<std::size_t>(stream.gcount()));
  // An anchor file of OTF2 begins with a byte of length, a byte order mark and these letters.
  if (head.size() >= 6 && head.compare(2, 4, "OTF2") == 0) return false;
  if (IsParaver(path.string())) return true;
  throw Error(ErrorKind::kInput, path.string(), "is neither the anchor file of an OTF2 archive nor a Paraver trace",
              IsTraceName(path) ? "the file is damaged" : "name the file that ends in .otf2, .prv or .prv.gz");
}

using Spans = std::vector<std::pair<Tick, Tick>>;  // begins and ends, in the order of time and apart

// Stretches in which recording was switched off.
Spans OffTimes(const RankTimeline& timeline) {
  Spans off;
  for (const Interruption& interruption : timeline.interruptions()) {
    if (!interruption.is_flush) off.emplace_back(interruption.begin, interruption.end);
  }
  return off;
}

Spans Common(const Spans& some, const Spans& others) {
  Spans both;
  for (std::size_t i = 0, k = 0; i < some.size() && k < others.size();) {
    const Tick begin = std::max(some[i].first, others[k].first), end = std::min(some[i].second, others[k].second);
    if (begin < end) both.emplace_back(begin, end);
    some[i].second < others[k].second ? ++i : ++k;
  }
  return both;
}

using TickMap = std::function<Tick(Tick)>;

// Counts within `without` are left out, too.
RankTimeline Moved(const RankTimeline& timeline, const TickMap& map, bool keeps_off, const Spans& without) {
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
  times.without = without;
  return Retime(timeline, times);
}

void Move(std::vector<TeamEvent>& events, const TickMap& map) {
  for (TeamEvent& event : events) event.tick = map(event.tick);
}

void Move(std::vector<DeviceSpan>& spans, const TickMap& map) {
  for (DeviceSpan& span : spans) span = {map(span.begin), map(span.end)};
  std::erase_if(spans, [](const DeviceSpan& span) { return span.length() <= 0; });
}

}  // namespace

bool IsTraceName(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".otf2") || name.ends_with(".prv") || name.ends_with(".prv.gz");
}

std::vector<std::string> FilesOfTrace(const std::string& path) {
  if (IsParaverTrace(path)) return FilesOfParaver(Resolve(path));
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
    if (IsParaverTrace(path)) {
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
  ParallelFor(files.size(), [&](std::size_t i) {
    thread_local std::vector<char> buffer(1 << 18);  // kept, since a trace may have thousands of small files
    const FilePieces file(files[i]);
    Sha256 of_file;
    for (std::uint64_t at = 0;;) {
      const std::optional<std::size_t> read = file.Read(at, buffer.data(), buffer.size());
      if (!read) throw Error(ErrorKind::kInput, files[i], "cannot be read to the end");
      of_file.Add({buffer.data(), *read});
      if (*read < buffer.size()) break;
      at += *read;
    }
    lines[i] = of_file.Hex() + "  " + files[i].substr(folder.size()) + "\n";
  });
  Sha256 hash;
  for (const std::string& line : lines) hash.Add(line);
  return hash.Hex();
}

bool ReadOptions::Keeps(const std::string& counter) const {
  return all_counters || std::ranges::find(counters, counter) != counters.end();
}

Trace ReadTrace(const std::string& path, const ReadOptions& options) {
  const bool is_paraver = IsParaverTrace(path);
  if (!is_paraver && options.application) {
    throw Error(ErrorKind::kUsage, path, "an OTF2 archive has no applications to choose from",
                "leave out the application");
  }
  Trace trace = is_paraver ? ReadParaver(Resolve(path), options) : ReadOtf2(Resolve(path), options);
  trace.diagnostics.Accept(options.accepted);
  trace.path = path;
  trace.disk_bytes = BytesOfTrace(path);
  LeaveOutSwitchedOff(trace);
  return trace;
}

void LeaveOutSwitchedOff(Trace& trace) {
  const bool is_any_off =
      std::ranges::any_of(trace.timelines, [](const RankTimeline& timeline) { return !OffTimes(timeline).empty(); });
  if (!is_any_off) return;
  const bool keeps_off = trace.diagnostics.count(anomaly::kRegionsAlone) == 0;
  std::optional<Spans> common;  // where no rank was recorded; ranks without events do not say when they were
  for (const RankTimeline& timeline : trace.timelines) {
    if (timeline.empty()) continue;
    common = common ? Common(*common, OffTimes(timeline)) : OffTimes(timeline);
  }
  const Spans off = keeps_off ? common.value_or(Spans()) : Spans();
  std::vector<Tick> removed = {0};  // before every stretch, and behind the last
  for (const auto& [begin, end] : off) removed.push_back(removed.back() + end - begin);
  // The new time of every old one, without the stretches `off`.
  const TickMap map = [&](Tick tick) {
    const auto behind = std::ranges::upper_bound(off, tick, {}, &std::pair<Tick, Tick>::first);
    if (behind == off.begin()) return tick;
    const auto& [begin, end] = *(behind - 1);
    return tick - removed[static_cast<std::size_t>(behind - off.begin()) - 1] - (std::min(tick, end) - begin);
  };
  const double length = trace.Seconds(trace.end() - trace.begin());
  const double kept = trace.Seconds(map(trace.end()) - map(trace.begin()));
  trace.diagnostics.Add(anomaly::kSwitchedOff, static_cast<std::uint64_t>((length - kept) * 1e6 + 0.5));
  trace.diagnostics.AddPopulation(anomaly::kSwitchedOff, static_cast<std::uint64_t>(length * 1e6 + 0.5));
  // Counters of farscale's own traces stand still meanwhile.
  const Spans counted = trace.creator.find("farscale") == std::string::npos ? off : Spans();
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
