#include "results/trace_events.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include "base/parallel.h"
#include "base/text.h"
#include "base/files.h"
#include "results/cause_text.h"
#include "results/json_fields.h"

namespace farscale {
namespace {

using OrderedJson = nlohmann::ordered_json;

// That end when one other rank enters a call, which an arrow can show.
constexpr WaitKind kWaitsForOne[] = {WaitKind::kLateSender, WaitKind::kLateReceiver, WaitKind::kLatePost,
                                     WaitKind::kEarlyWait,  WaitKind::kWaitForLock,  WaitKind::kLateNeighbour};

std::string Quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Process 1 has the causes; then come the nodes.
constexpr int kCauses = 1;
constexpr int kFirstNode = 2;

std::string At(const Trace& trace, Tick tick) {
  return fmt::format("{:.3f}", 1e6 * trace.Seconds(tick - trace.begin()));
}
std::string Long(const Trace& trace, Tick ticks) { return fmt::format("{:.3f}", 1e6 * trace.Seconds(ticks)); }
int ProcessOf(const Trace& trace, std::size_t rank) { return kFirstNode + trace.ranks[rank].node; }

template <typename... Values>
void AddEvent(std::string& text, fmt::format_string<Values...> format, Values&&... values) {
  fmt::format_to(std::back_inserter(text), format, std::forward<Values>(values)...);
  text += ",\n";
}

void AddTrack(int process, std::size_t track, const std::string& name, std::size_t place, std::string& text) {
  AddEvent(text, R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":{}}}}})", process, track,
           Quoted(name));
  AddEvent(text, R"({{"ph":"M","pid":{},"tid":{},"name":"thread_sort_index","args":{{"sort_index":{}}}}})", process,
           track, place);
}

// A track for every device of every rank, beside that of the rank. Kernels lie in the times in which the device has
// anything to do, so that what is left of these are copies.
void AddDevices(const Trace& trace, const PhaseCut& cut, const Activities& activities, std::string& text) {
  std::size_t track = trace.size();
  for (const Device& device : trace.devices) {
    for (const DeviceWork& work : device.of_ranks) {
      const auto rank = static_cast<std::size_t>(work.rank);
      if (!activities.ranks[rank].present) continue;
      ++track;
      AddTrack(ProcessOf(trace, rank), track, fmt::format("rank {}, device {}", rank, device.name), rank, text);
      const Interval& window = cut.ranks[rank].window;
      const auto add = [&](const char* name, const std::vector<DeviceSpan>& spans) {  // the parts in the rank's window
        for (const DeviceSpan& span : spans) {
          const Tick begin = std::max(span.begin, window.begin.tick), end = std::min(span.end, window.end.tick);
          if (begin >= end) continue;
          AddEvent(text, R"({{"ph":"X","pid":{},"tid":{},"cat":"device","name":"{}","ts":{},"dur":{}}})",
                   ProcessOf(trace, rank), track, name, At(trace, begin), Long(trace, end - begin));
        }
      };
      add("busy", work.active);
      add("kernel", work.kernels);
    }
  }
}

// From when the late rank is late until it is there.
void AddCauses(const LossRecord& losses, std::string& text) {
  std::size_t number = 0;
  for (const Cause& cause : losses.causes) {
    ++number;
    if (!cause.worst) continue;
    const WaitInstance& worst = *cause.worst;
    AddEvent(text, R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":"cause {}"}}}})", kCauses,
             number, number);
    AddEvent(text,
             R"({{"ph":"X","pid":{},"tid":{},"cat":"cause","name":{},"ts":{:.3f},"dur":{:.3f},"args":{{"class":{},)"
             R"("gain":{},"worst":{}}}}})",
             kCauses, number, Quoted(DescribePlace(cause, losses)), 1e6 * worst.delay,
             1e6 * std::max(0.0, worst.end - worst.delay), Quoted(DescribeReasons(cause)),
             Quoted(DescribeGainOf(cause, losses)), Quoted(DescribeWorst(cause, losses)));
  }
}

// The slices of one rank. `names`: of the regions, quoted.
std::string EventsOfRank(const Trace& trace, const Interval& window, const RankActivities& own,
                         const std::vector<WaitState>& waits, std::size_t rank, const std::vector<std::string>& names) {
  std::string text;
  const auto add_slice = [&](const char* category, const std::string& name, Tick begin, Tick end,
                             const std::string& arguments) {
    AddEvent(text, R"({{"ph":"X","pid":{},"tid":{},"cat":"{}","name":{},"ts":{},"dur":{}{}}})", ProcessOf(trace, rank),
             rank + 1, category, name, At(trace, begin), Long(trace, std::max<Tick>(0, end - begin)), arguments);
  };
  std::size_t wait = 0;
  const RankTimeline& timeline = trace.timelines[rank];
  const auto add_call = [&](std::size_t call) {
    const Tick enter = own.enter(call);
    add_slice("mpi", names[timeline.region(own.first_call + call)], enter, own.leave(call), "");
    while (wait < waits.size() && waits[wait].call < call) ++wait;
    if (wait == waits.size() || waits[wait].call != call) return;
    const WaitState& state = waits[wait];
    add_slice("wait", Quoted(std::string(WaitKindNames()[static_cast<std::size_t>(state.kind)].name)), enter,
              enter + state.length, fmt::format(R"(,"args":{{"late rank":{}}})", state.delayer));
    if (std::ranges::find(kWaitsForOne, state.kind) == std::end(kWaitsForOne)) return;
    // One arrow a wait; its number is the same nowhere else.
    const std::string id = fmt::format("\"{}.{}\"", rank, call), at = At(trace, enter + state.length);
    AddEvent(text, R"({{"ph":"s","cat":"wait","name":"late","id":{},"pid":{},"tid":{},"ts":{}}})", id,
             ProcessOf(trace, state.delayer), state.delayer + 1, at);
    AddEvent(text, R"({{"ph":"f","bp":"e","cat":"wait","name":"late","id":{},"pid":{},"tid":{},"ts":{}}})", id,
             ProcessOf(trace, rank), rank + 1, at);
  };
  std::vector<std::pair<std::uint32_t, Tick>> open;  // regions, and since when
  const auto close = [&](Tick tick) {
    add_slice("region", names[open.back().first], open.back().second, tick, "");
    open.pop_back();
  };
  const auto take = [&](std::size_t index) {
    const RankTimeline::RegionEvent event = timeline.region_event(index);
    if (!event.is_leave) {
      open.emplace_back(event.region, event.tick);
    } else if (!open.empty()) {
      close(event.tick);
    }
  };
  for (std::size_t event = 0; event < window.begin.event; ++event) {  // regions around the begin
    const RankTimeline::RegionEvent at = timeline.region_event(event);
    if (!at.is_leave) open.emplace_back(at.region, window.begin.tick);
    if (at.is_leave && !open.empty()) open.pop_back();
  }
  std::size_t event = window.begin.event;
  for (std::size_t call = 0; call < own.calls; ++call) {
    while (event < window.end.event && timeline.region_event(event).call <= own.first_call + call) take(event++);
    add_call(call);
  }
  while (event < window.end.event) take(event++);
  while (!open.empty()) close(window.end.tick);
  return text;
}

}  // namespace

std::string WriteTraceEvents(const Trace& trace, const PhaseCut& cut, const WaitStates& states,
                             const LossRecord& losses) {
  const Activities& activities = states.activities;
  std::string text = "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"generator\":" + Quoted(Generator()) +
                     ",\"trace\":" + Quoted(losses.trace) + "},\"traceEvents\":[\n";
  const auto add_process = [&](int process, const std::string& name) {
    AddEvent(text, R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":{}}}}})", process, Quoted(name));
    AddEvent(text, R"({{"ph":"M","pid":{},"name":"process_sort_index","args":{{"sort_index":{}}}}})", process, process);
  };
  if (!losses.causes.empty()) add_process(kCauses, "causes of waiting");
  for (std::size_t node = 0; node < trace.nodes.size(); ++node)
    add_process(kFirstNode + static_cast<int>(node), "node " + trace.nodes[node]);
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    if (!activities.ranks[rank].present) continue;
    AddTrack(ProcessOf(trace, rank), rank + 1, fmt::format("rank {}", rank), rank, text);
  }
  AddCauses(losses, text);
  std::vector<std::string> names;
  for (const Region& region : trace.regions) names.push_back(Quoted(region.name));
  std::vector<std::string> of_ranks(trace.size());
  ParallelFor(trace.size(), [&](std::size_t rank) {
    if (!activities.ranks[rank].present) return;
    of_ranks[rank] =
        EventsOfRank(trace, cut.ranks[rank].window, activities.ranks[rank], states.ranks[rank].waits, rank, names);
  });
  for (std::string& of_rank : of_ranks) text += std::exchange(of_rank, {});
  AddDevices(trace, cut, activities, text);
  text.resize(text.size() - 2);  // the last comma
  return text + "\n]}\n";
}

std::string WriteAnnotations(const LossRecord& losses) {
  OrderedJson annotations = OrderedJson::array();
  for (const Cause& cause : losses.causes) {
    OrderedJson one = {{"number", annotations.size() + 1},
                       {"description", DescribePlace(cause, losses)},
                       {"class", DescribeReasons(cause)},
                       {"gain", cause.gain}};
    if (const std::string remedy = RemedyOf(cause, losses); !remedy.empty()) one["remedy"] = remedy;
    if (const std::optional<WaitInstance>& worst = cause.worst) {
      one["begin"] = worst->delay;
      one["waitBegin"] = worst->begin;
      one["end"] = worst->end;
      one["rank"] = worst->rank;
      one["call"] = worst->call;
      one["waiting"] = worst->waiting;
      one["waitingCount"] = worst->waiting_count;
      one["text"] = DescribeWorst(cause, losses);
      one["command"] = fmt::format("farscale cut {} --window {:.9f},{:.9f} -o cause{}.otf2", losses.trace,
                                   std::min(worst->delay, worst->begin), worst->end, annotations.size() + 1);
    }
    annotations.push_back(std::move(one));
  }
  const OrderedJson file = {{"format", "farscale-annotations"},
                            {"version", 1},
                            {"generator", Generator()},
                            {"trace", losses.trace},
                            {"annotations", std::move(annotations)}};
  return file.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

// Where a run spent its time, as part of the results' JSON [docs/file-formats.md, pictures of runs].

namespace {

constexpr std::string_view kLetters = "cwtmnod";  // the states in their order
const std::vector<std::string> kStateNames = {"computation", "waiting", "transfer",   "mpi",
                                              "notRunning",  "outside", "deviceCalls"};
// Chosen: beyond what farscale writes, and a damaged file does not fill the memory.
constexpr std::int64_t kMostColumns = 1 << 16;
constexpr std::int64_t kMostRanks = 1'000'000'000;
constexpr std::int64_t kMostIterations = 1'000'000'000;  // in one record

// "c5w3": five eighths computation, three waiting; "w": waiting alone.
std::string CellText(const PictureCell& cell) {
  std::string text;
  for (std::size_t state = 0; state < kRunStates; ++state) {
    if (cell[state] == 0) continue;
    text += kLetters[state];
    if (cell[state] < kCellLevels) text += static_cast<char>('0' + cell[state]);
  }
  return text;
}

// "k5c1": five eighths kernels, one copies; "k": kernels alone; "i": idle.
std::string CellText(const DeviceCell& cell) {
  std::string text;
  for (const auto& [letter, level] : {std::pair('k', cell.kernels), {'c', cell.copies}}) {
    if (level == 0) continue;
    text += letter;
    if (level < kCellLevels) text += static_cast<char>('0' + level);
  }
  return text.empty() ? "i" : text;
}

template <typename Cell>
std::string RowText(const std::vector<Cell>& row) {
  std::vector<std::string> parts;
  for (std::size_t first = 0, end = 0; first < row.size(); first = end) {
    while (end < row.size() && row[end] == row[first]) ++end;
    parts.push_back(CellText(row[first]));
    if (end - first > 1) parts.back() += fmt::format("*{}", end - first);
  }
  return Join(parts, " ");
}

[[noreturn]] void RefuseCell(const JsonPlace& at, const std::string& text) {
  at.Fail("is damaged: '" + text + "' is no part of a run's picture");
}

// Calls set(letter, level) for every part of a cell; returns the sum of levels.
template <typename Set>
int PartsOfCell(std::string_view text, std::string_view letters, const JsonPlace& at, Set set) {
  int sum = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t letter = letters.find(text[i]);
    if (letter == std::string_view::npos) RefuseCell(at, std::string(text));
    const bool has_level = i + 1 < text.size() && text[i + 1] >= '1' && text[i + 1] < '0' + kCellLevels;
    const int level = has_level ? text[++i] - '0' : kCellLevels;
    set(letter, static_cast<std::uint8_t>(level));
    sum += level;
  }
  return sum;
}

void ReadCell(std::string_view text, const JsonPlace& at, PictureCell& cell) {
  const int sum = PartsOfCell(text, kLetters, at, [&](std::size_t state, std::uint8_t level) { cell[state] = level; });
  if (sum != kCellLevels) RefuseCell(at, std::string(text));
}

void ReadCell(std::string_view text, const JsonPlace& at, DeviceCell& cell) {
  if (text == "i") return;
  const int sum = PartsOfCell(
      text, "kc", at, [&](std::size_t part, std::uint8_t level) { (part == 0 ? cell.kernels : cell.copies) = level; });
  if (sum > kCellLevels || cell.kernels + cell.copies != sum) RefuseCell(at, std::string(text));
}

template <typename Cell>
std::vector<Cell> RowOf(const std::string& text, std::size_t columns, const JsonPlace& at) {
  std::vector<Cell> row;
  for (const std::string& part : Split(text, ' ')) {
    const std::size_t star = part.find('*');
    long long count = 1;
    if (star != std::string::npos && !ParseInteger(part.substr(star + 1), count)) RefuseCell(at, part);
    if (count < 1 || count > static_cast<long long>(columns - row.size())) RefuseCell(at, part);
    Cell cell{};
    ReadCell(part.substr(0, star), at, cell);
    row.insert(row.end(), static_cast<std::size_t>(count), cell);
  }
  if (row.size() != columns) RefuseCell(at, text);
  return row;
}

struct DevicesInFile {
  DeviceRow device;  // without cells
  std::string cells;
};

// A picture as it stands in the file.
struct PictureInFile {
  RunPicture picture;  // without shares, rows and devices
  std::int64_t columns = 0;
  Dictionary<StateShare> shares;
  std::vector<std::string> rows;
  std::vector<DevicesInFile> devices;
};

PictureInFile InFile(const RunPicture& picture) {
  PictureInFile file{picture, 0, {}, {}, {}};
  if (!picture.rows.empty()) file.columns = static_cast<std::int64_t>(picture.rows.front().size());
  for (std::size_t state = 0; state < kRunStates; ++state) {
    if (picture.shares[state].most > 0) file.shares.emplace_back(kStateNames[state], picture.shares[state]);
  }
  for (const std::vector<PictureCell>& row : picture.rows) file.rows.push_back(RowText(row));
  for (const DeviceRow& device : picture.devices) file.devices.push_back({device, RowText(device.cells)});
  return file;
}

RunPicture PictureFrom(PictureInFile file, const JsonPlace& at) {
  RunPicture& picture = file.picture;
  for (const auto& [name, share] : file.shares) {
    picture.shares[static_cast<std::size_t>(std::ranges::find(kStateNames, name) - kStateNames.begin())] = share;
  }
  const auto rows = static_cast<std::int64_t>(file.rows.size());
  const bool fits = picture.ranks > (rows - 1) * picture.ranks_per_row &&
                    picture.ranks <= rows * picture.ranks_per_row && picture.seconds > 0;
  if (rows > 0 && !fits) at.Fail(fmt::format("has {} rows of {} ranks", rows, picture.ranks));
  const JsonPlace place(at, "rows");
  for (std::size_t i = 0; i < file.rows.size(); ++i) {
    picture.rows.push_back(
        RowOf<PictureCell>(file.rows[i], static_cast<std::size_t>(file.columns), JsonPlace(place, i)));
  }
  const JsonPlace devices(at, "devices");
  picture.devices.clear();
  for (std::size_t i = 0; i < file.devices.size(); ++i) {
    const JsonPlace of_device(devices, i);
    DeviceRow& device = file.devices[i].device;
    if (device.row >= rows) of_device.Fail(fmt::format("has row {} of {}", device.row, rows));
    device.cells = RowOf<DeviceCell>(file.devices[i].cells, static_cast<std::size_t>(file.columns), of_device);
    picture.devices.push_back(std::move(device));
  }
  return std::move(picture);
}

}  // namespace

Fields<StateShare> FieldsOf(Described<StateShare>) {
  using T = StateShare;
  return {"results/stateShare",
          {
              Properties<&T::mean, &T::least>().AtLeast(0).AtMost(1),
              Property<&T::least_rank>().AtLeast(0),
              Property<&T::most>().AtLeast(0).AtMost(1),
              Property<&T::most_rank>().AtLeast(0),
          }};
}

Fields<DevicesInFile> FieldsOf(Described<DevicesInFile>) {
  using T = DevicesInFile;
  using D = DeviceRow;
  return {"results/deviceRow",
          "What a device did over time, all of its streams together; without a name: several devices",
          {
              Embed(&T::device,
                    Fields<D>{Property<&D::row>("Of the ranks that use it, from 0").AtLeast(0),
                              Property<&D::name>().UnlessDefault(),
                              Property<&D::kernels>("Share of the run time in kernels").AtLeast(0).AtMost(1.000001),
                              Property<&D::copies>("In copies without kernels").AtLeast(0).AtMost(1.000001)}),
              Property<&T::cells>("From left to right: eighths of kernels and of copies, or idle; *N for N alike")
                  .Schema(R"({"pattern": "^[kci1-7]+(\\*[0-9]+)?( [kci1-7]+(\\*[0-9]+)?)*$"})"),
          }};
}

Fields<PictureInFile> FieldsOf(Described<PictureInFile>) {
  using T = PictureInFile;
  using P = RunPicture;
  return {
      "results/picture",
      "What the ranks did over time",
      {
          Embed(&T::picture,
                Fields<P>{Property<&P::seconds>("That the columns take together").AtLeast(0),
                          Property<&P::ranks>().AtLeast(0).AtMost(kMostRanks),
                          Property<&P::ranks_per_row>("The last row may have fewer").AtLeast(1).AtMost(kMostRanks)}),
          Property<&T::columns>().AtLeast(0).AtMost(kMostColumns),
          Embed(&T::picture,
                Fields<P>{Property<&P::node_begins>(
                              "First ranks of nodes; empty when the ranks of a node do not follow each other")
                              .AtLeast(0),
                          Property<&P::problem>("Why the run could not be replayed, so that time in MPI is not split")
                              .UnlessDefault()}),
          Property<&T::shares>(Keyed<StateShare>(kStateNames), "Of the run time, state by state"),
          Property<&T::rows>(
              "Cells from left to right: eighths of computation, waiting, transfer, MPI, not running and outside "
              "by first letters, calls to devices by d, *N for N alike")
              .Schema(R"({"pattern": "^[cwtmnod1-7]+(\\*[0-9]+)?( [cwtmnod1-7]+(\\*[0-9]+)?)*$"})"),
          Property<&T::devices>("Below the rows of the ranks that use them; absent without any").UnlessDefault(),
      }};
}

template <>
Form<RunPicture> FormOf<RunPicture>() {
  static const auto form = Via<RunPicture, PictureInFile>(InFile, PictureFrom);
  return form;
}

Fields<IterationRecord> FieldsOf(Described<IterationRecord>) {
  using T = IterationRecord;
  return Fields<T>{
      "results/iteration",
      "One iteration, or means over several that follow each other",
      {
          Property<&T::begin>(
              "Mean over the ranks, seconds since the begin of the run; of a window: of the earliest rank"),
          Property<&T::end>("The same; of a window: of the latest rank"),
          Property<&T::elapsed>("Mean length over all ranks, seconds").AtLeast(0),
          Property<&T::useful>("Of that useful"),
          Properties<&T::parallel_efficiency, &T::load_balance>(),
          Property<&T::disturbance>("Share of the time that disturbances took; absent: not known"),
          Property<&T::iterations>("That this stands for; absent: one")
              .AtLeast(1)
              .AtMost(kMostIterations)
              .UnlessDefault(),
          Property<&T::left_out>("Of them, which the factors are not made from; absent: none")
              .AtLeast(0)
              .UnlessDefault(),
          Property<&T::reason>("Why the first of those was left out").UnlessDefault(),
      }}
      .After([](T& record, const JsonPlace& at) {
        if (record.left_out <= record.iterations) return;
        at.Fail(fmt::format("is damaged: {} of {} iterations are left out", record.left_out, record.iterations));
      });
}

Fields<PhaseMarks> FieldsOf(Described<PhaseMarks>) {
  using T = PhaseMarks;
  return {"results/phaseMarks",
          {
              Properties<&T::phase, &T::iterations>(),
              Property<&T::with_all>("Factors of all iterations, where some are left out"),
          }};
}

}  // namespace farscale
