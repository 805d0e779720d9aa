#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>

#include "base/text.h"
#include "cli/command.h"
#include "phases/phase_cut.h"
#include "replay/clock_repair.h"
#include "pages/text_table.h"
#include "results/json_fields.h"
#include "trace/device_records.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

struct CallSummary {
  std::string name;
  std::uint64_t count = 0;
  double share = 0;  // share of the time of all ranks
};

// A counter with its total over all ranks; none for levels, which do not accumulate.
struct CounterSummary {
  std::string name, unit, description;
  std::optional<double> total;
};

struct NodeSummary {
  std::string name;
  std::vector<std::size_t> ranks;
};

struct Inspection {
  Trace trace;
  std::vector<NodeSummary> nodes;
  std::vector<RegionSummary> regions;
  std::vector<CallSummary> calls;  // per MPI function, largest share first
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  MovedBytes one_sided, on_files;
  double mpi_share = 0;
  std::vector<CounterSummary> counters;
  std::vector<Finding> findings;
};

void SummarizeCalls(Inspection& inspection) {
  const Trace& trace = inspection.trace;
  std::vector<std::uint64_t> counts(trace.regions.size());
  std::vector<Tick> ticks(trace.regions.size());
  Tick run_time = 0;
  for (const RankTimeline& timeline : trace.timelines) {
    inspection.one_sided += timeline.one_sided();
    inspection.on_files += timeline.on_files();
    run_time += timeline.end() - timeline.begin();
    for (std::size_t call = 0; call < timeline.calls(); ++call) {
      ++counts[timeline.region(call)];
      ticks[timeline.region(call)] += timeline.duration(call);
    }
    const std::size_t end = timeline.first_record(timeline.calls());
    for (std::size_t record = timeline.first_record(0); record < end; ++record) {
      const RecordKind kind = timeline.record_kind(record);
      if (kind != RecordKind::kSend && kind != RecordKind::kSendPost) continue;
      ++inspection.messages;
      inspection.bytes += timeline.record_bytes(record);
    }
  }
  std::map<std::string, CallSummary> by_name;
  for (std::size_t region = 0; region < counts.size(); ++region) {
    if (counts[region] == 0) continue;
    CallSummary& call = by_name[trace.regions[region].name];
    call.name = trace.regions[region].name;
    call.count += counts[region];
    call.share += run_time > 0 ? static_cast<double>(ticks[region]) / static_cast<double>(run_time) : 0;
  }
  for (const auto& [name, call] : by_name) {
    inspection.calls.push_back(call);
    inspection.mpi_share += call.share;
  }
  std::stable_sort(inspection.calls.begin(), inspection.calls.end(),
                   [](const CallSummary& a, const CallSummary& b) { return a.share > b.share; });
}

// "0-3, 8" of ascending ranks.
std::string Ranges(const std::vector<std::size_t>& ranks) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t j = i;
    while (j + 1 < ranks.size() && ranks[j + 1] == ranks[j] + 1) ++j;
    parts.push_back(i == j ? std::to_string(ranks[i]) : fmt::format("{}-{}", ranks[i], ranks[j]));
    i = j + 1;
  }
  return Join(parts, ", ");
}

// A name as a shell takes it for one word.
std::string ShellWord(const std::string& name) {
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("_-.:/+,=@").find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (!name.empty() && std::ranges::all_of(name, is_plain)) return name;
  std::string quoted = "'";
  for (const char c : name) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

// "2, in kernels 44.3 % of the run"
std::string DescribeDevices(const Trace& trace) {
  Tick kernels = 0;
  for (const Device& device : trace.devices) {
    std::vector<DeviceSpan> all;
    for (const DeviceWork& work : device.of_ranks) all.insert(all.end(), work.kernels.begin(), work.kernels.end());
    for (const DeviceSpan& span : UnionOf(std::move(all))) kernels += span.length();
  }
  const double of_run = static_cast<double>(trace.devices.size()) * static_cast<double>(trace.end() - trace.begin());
  return fmt::format("{}, in kernels {} of the run", FormatCount(trace.devices.size()),
                     FormatPercent(of_run > 0 ? static_cast<double>(kernels) / of_run : 0));
}

// The size of traces like this one that fit a usual machine. A replay adds so many bytes a call, a search for waits and
// their causes so many: measured at the peak, for traces of MPI calls alone [docs/large-traces.md].
void PrintMemory(const Trace& trace, std::uint64_t calls) {
  constexpr double kOfReplay = 20, kOfLosses = 60, kMachine = 24e9;
  if (trace.events == 0) return;
  const auto events = static_cast<double>(trace.events);
  std::vector<std::string> bytes, hold;
  for (const double of_call : {0.0, kOfReplay, kOfLosses}) {
    const double each = (static_cast<double>(trace.MemoryBytes()) + of_call * static_cast<double>(calls)) / events;
    bytes.push_back(FormatSignificant(each, 2));
    hold.push_back(FormatCount(static_cast<std::uint64_t>(std::round(kMachine / each / 1e8)) * 100));
  }
  fmt::print(
      "Memory     {}, {}, {} bytes an event to read, replay, find waits\n"
      "           24 GB hold {}, {}, {} million events\n",
      bytes[0], bytes[1], bytes[2], hold[0], hold[1], hold[2]);
}

void PrintHead(const Inspection& inspection) {
  const Trace& trace = inspection.trace;
  std::uint64_t calls = 0;
  for (const CallSummary& call : inspection.calls) calls += call.count;
  fmt::print("Trace      {}\n", trace.path);
  fmt::print("Format     {}{}\n", trace.format, trace.creator.empty() ? "" : ", written by " + trace.creator);
  fmt::print("Program    {}\n", trace.program.empty() ? "not recorded" : trace.program);
  fmt::print("Run time   {}, clock of {} ticks a second\n", FormatSeconds(trace.Seconds(trace.end() - trace.begin())),
             FormatCores(trace.ticks_per_second));
  fmt::print("Ranks      {} on {} node{}, {} thread{} each\n", trace.size(), trace.nodes.size(),
             trace.nodes.size() == 1 ? "" : "s", trace.threads(), trace.threads() == 1 ? "" : "s");
  if (!trace.devices.empty()) fmt::print("Devices    {}\n", DescribeDevices(trace));
  fmt::print("Events     {} in {}; in memory {}\n", FormatCount(trace.events), FormatBytes(trace.disk_bytes),
             FormatBytes(trace.MemoryBytes()));
  PrintMemory(trace, calls);
  fmt::print("MPI        {} calls, {} of the time; {} messages with {}\n", FormatCount(calls),
             FormatPercent(inspection.mpi_share), FormatCount(inspection.messages), FormatBytes(inspection.bytes));
  const auto print_moved = [](std::string_view what, const MovedBytes& moved) {
    if (moved.operations == 0) return;
    fmt::print("{:<11}{} operations with {}\n", what, FormatCount(moved.operations), FormatBytes(moved.bytes));
  };
  print_moved("One-sided", inspection.one_sided);
  print_moved("Files", inspection.on_files);
  fmt::print("\nNodes\n");
  const std::size_t shown = std::min<std::size_t>(inspection.nodes.size(), 8);
  for (std::size_t i = 0; i < shown; ++i) {
    fmt::print("  {}: ranks {}\n", inspection.nodes[i].name, Ranges(inspection.nodes[i].ranks));
  }
  if (shown < inspection.nodes.size()) fmt::print("  and {} more\n", inspection.nodes.size() - shown);
}

void PrintTables(const Inspection& inspection, std::size_t most) {
  const Trace& trace = inspection.trace;
  std::vector<std::vector<std::string>> cells = {{"MPI function", "calls", "time"}};
  for (const CallSummary& call : inspection.calls) {
    cells.push_back({call.name, FormatCount(call.count), FormatPercent(call.share)});
  }
  if (cells.size() > 1) fmt::print("\n{}", FormatTable(cells, WidthOfOutput()));
  cells = {{"Region", "a rank", "each", "time", ""}};
  for (std::size_t i = 0; i < std::min(most, inspection.regions.size()); ++i) {
    const RegionSummary& region = inspection.regions[i];
    cells.push_back({region.name,
                     region.fewest == region.most ? FormatCount(region.most)
                                                  : FormatCount(region.fewest) + " to " + FormatCount(region.most),
                     FormatSeconds(region.seconds), FormatPercent(region.share),
                     region.IsLoop(trace)          ? "loop"
                     : region.ranks < trace.size() ? fmt::format("on {} ranks only", region.ranks)
                                                   : ""});
  }
  if (cells.size() > 1) fmt::print("\n{}", FormatTable(cells, WidthOfOutput()));
  if (inspection.regions.size() > most) {
    fmt::print("and {} more regions (--regions shows more)\n", inspection.regions.size() - most);
  }
  cells = {{"Counter", "total", "unit", ""}};
  for (const CounterSummary& counter : inspection.counters) {
    cells.push_back({counter.name, counter.total ? FormatSignificant(*counter.total, 4) : "-", counter.unit,
                     counter.total ? counter.description : "a level, not counted"});
  }
  if (cells.size() > 1) fmt::print("\n{}", FormatTable(cells, WidthOfOutput()));
}

// The regions to analyse, and how.
void PrintAdvice(const Inspection& inspection) {
  constexpr double kSmallestShare = 0.05;
  std::vector<const RegionSummary*> loops;
  bool any = false;
  for (const RegionSummary& region : inspection.regions) {
    if (!region.IsLoop(inspection.trace)) continue;
    any = true;
    if (region.share >= kSmallestShare && loops.size() < 3) loops.push_back(&region);
  }
  fmt::print("\n");
  if (loops.empty()) {
    PrintSentences({std::string(any ? "No region that repeats on every rank covers much of the run"
                                    : "No region repeats on every rank") +
                        "; analyse the whole run or a time window.",
                    "Next: farscale phases " + inspection.trace.path + " finds loops in the MPI calls."});
    return;
  }
  std::vector<std::string> texts;
  for (const RegionSummary* region : loops) {
    texts.push_back(
        fmt::format("{} ({} iterations, {} of the run)", region->name, region->most, FormatPercent(region->share)));
  }
  PrintSentences({"Loops to analyse as phases: " + Join(texts, ", ") + ".",
                  "Next: farscale factors " + inspection.trace.path + " --phase " + ShellWord(loops.front()->name)});
}

}  // namespace

Fields<NodeSummary> FieldsOf(Described<NodeSummary>) { return {Properties<&NodeSummary::name, &NodeSummary::ranks>()}; }

Fields<Communicator> FieldsOf(Described<Communicator>) {
  return {Property<&Communicator::name>(),
          Computed<Communicator>("size", [](const Communicator& one) { return one.is_self ? 1 : one.members.size(); })};
}

Fields<CounterSummary> FieldsOf(Described<CounterSummary>) {
  using T = CounterSummary;
  return {
      Properties<&T::name, &T::unit, &T::description>(),
      Property<&T::total>("Of all ranks; absent for levels, which do not accumulate"),
  };
}

Fields<CallSummary> FieldsOf(Described<CallSummary>) {
  using T = CallSummary;
  return {Properties<&T::name, &T::count>(), Property<&T::share>().AtLeast(0)};
}

Fields<RegionSummary> FieldsOf(Described<RegionSummary>) {
  using T = RegionSummary;
  return {"inspection/region",
          {
              Property<&T::name>(),
              Property<&T::fewest>("Occurrences on the rank with fewest, among those that enter it"),
              Property<&T::most>(),
              Property<&T::ranks>("That enter it"),
              Property<&T::seconds>("Mean length of an occurrence").AtLeast(0),
              Property<&T::share>("Of the run").AtLeast(0),
              Computed<T>("isLoop", [](const T& region,
                                       const JsonPlace& at) { return region.IsLoop(at.Within<Inspection>().trace); }),
          }};
}

Fields<Inspection> FieldsOf(Described<Inspection>) {
  using T = Inspection;
  const auto of_trace = [](auto value) { return [value](const T& inspection) { return value(inspection.trace); }; };
  return Fields<T>{
      "inspection",
      {
          Embed(&T::trace, Fields<Trace>{Property<&Trace::path>(), Field("traceFormat", &Trace::format),
                                         Properties<&Trace::creator, &Trace::program>().OrMissing()}),
          Computed<T>("seconds",
                      of_trace([](const Trace& trace) { return trace.Seconds(trace.end() - trace.begin()); }))
              .AtLeast(0)
              .OrMissing(),
          Embed(&T::trace, Fields<Trace>{Property<&Trace::ticks_per_second>().Above(0).OrMissing()}),
          Computed<T>("ranks", of_trace([](const Trace& trace) { return trace.size(); })).AtLeast(1),
          Computed<T>("threads", of_trace([](const Trace& trace) { return trace.threads(); })).AtLeast(1),
          Embed(&T::trace, Fields<Trace>{Property<&Trace::events>(), Property<&Trace::disk_bytes>().OrMissing()}),
          Computed<T>("memoryBytes", of_trace([](const Trace& trace) { return trace.MemoryBytes(); })).OrMissing(),
          Property<&T::messages>().OrMissing(),
          Field("messageBytes", &T::bytes).OrMissing(),
          Embed(&T::one_sided, Fields<MovedBytes>{Field("oneSidedOperations", &MovedBytes::operations).OrMissing(),
                                                  Field("oneSidedBytes", &MovedBytes::bytes).OrMissing()}),
          Embed(&T::on_files, Fields<MovedBytes>{Field("fileOperations", &MovedBytes::operations).OrMissing(),
                                                 Field("fileBytes", &MovedBytes::bytes).OrMissing()}),
          Property<&T::mpi_share>().AtLeast(0).OrMissing(),
          Property<&T::nodes>(),
          Embed(&T::trace, Fields<Trace>{Property<&Trace::communicators>()}),
          Properties<&T::calls, &T::regions, &T::counters>(),
          Field("diagnostics", &T::findings),
      }}
      .File("farscale-inspection", 1, 1, "inspection")
      .WithoutGenerator();
}

OrderedJson InspectionSchema() { return SchemaOf<Inspection>("What farscale inspect found in a trace"); }

namespace {

int Inspect(const TraceOptions& options, const Common&) {
  Inspection inspection;
  inspection.trace = ReadTrace(options.trace, options.Reading(true));
  const Trace& trace = inspection.trace;
  const Matching matching = MatchSynchronised(inspection.trace);
  inspection.regions = SummarizeRegions(trace);
  SummarizeCalls(inspection);
  for (const std::string& node : trace.nodes) inspection.nodes.push_back({node, {}});
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    inspection.nodes[static_cast<std::size_t>(trace.ranks[rank].node)].ranks.push_back(rank);
  }
  for (std::size_t i = 0; i < trace.counters.size(); ++i) {
    const Counter& one = trace.counters[i];
    double total = 0;  // last values of all ranks
    for (const RankTimeline& timeline : trace.timelines) {
      if (!one.accumulates || !timeline.has_counter(i)) continue;
      double last = 0;
      if (timeline.calls() > 0) last = timeline.counter_at_leave(i, timeline.calls() - 1);
      if (timeline.region_events() > 0) {
        last = std::max(last, timeline.counter_at_event(i, timeline.region_events() - 1));
      }
      total += last;
    }
    inspection.counters.push_back(
        {one.name, one.unit, one.description, one.accumulates ? std::optional(total * one.scale) : std::nullopt});
  }
  Diagnostics diagnostics = trace.diagnostics;
  diagnostics.Merge(matching.diagnostics);
  diagnostics.Merge(FindDisplacedTimes(trace));
  diagnostics.Merge(CheckProcessorTime(trace, {}));
  inspection.findings = diagnostics.findings();
  if (options.json) {
    fmt::print("{}\n", JsonOf(inspection).dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    return 0;
  }
  PrintHead(inspection);
  PrintTables(inspection, options.most_regions);
  fmt::print("\n");
  if (inspection.findings.empty()) PrintSentences({"No anomalies were found."});
  for (const Finding& finding : inspection.findings) {
    PrintSentences({(finding.severity == Severity::kWarning ? "warning: " : "note: ") + ToSentence(finding)});
  }
  PrintAdvice(inspection);
  return 0;
}

}  // namespace

void AddInspectCommand(CommandLine& line) {
  auto [command, options] =
      AddCommand(line, "inspect",
                 "Show what is in a trace: ranks, nodes, MPI functions, regions, loops, counters, anomalies", Inspect);
  AddTraceInput(command, options);
  AddTraceOptions(command, options);
  command->add_flag("--json", options.json, "Print JSON");
  command->add_option("--regions", options.most_regions, "How many regions to list")->capture_default_str();
}

}  // namespace farscale
