#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "base/diagnostics.h"
#include "base/parallel.h"
#include "base/search.h"
#include "base/text.h"
#include "trace/anomalies.h"
#include "trace/device_records.h"
#include "trace/trace_reader.h"
#include "trace/paraver_header.h"
#include "trace/paraver_records.h"
#include "trace/paraver_text.h"
#include "trace/paraver_timeline.h"

namespace farscale {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kUserFunction = 60000019;
constexpr std::uint32_t kOneSidedEvent = 50000004;

std::uint32_t ChooseApplication(const ParaverInput& input, std::optional<int> wanted) {
  const std::size_t count = input.applications.size();
  if (!wanted && count == 1) return 0;
  if (wanted && *wanted >= 1 && static_cast<std::size_t>(*wanted) <= count) {
    return static_cast<std::uint32_t>(*wanted - 1);
  }
  std::vector<std::string> list;
  for (std::size_t i = 0; i < count; ++i) {
    list.push_back(fmt::format("{} with {} tasks", i + 1, input.applications[i].tasks.size()));
  }
  if (wanted) {
    throw Error(ErrorKind::kUsage, input.path, fmt::format("there is no application {} in this trace", *wanted),
                "it has application " + Join(list, ", "));
  }
  throw Error(ErrorKind::kUsage, input.path, "the trace has several applications: " + Join(list, ", "),
              "choose one with --application, or with application in the study");
}

constexpr double kMostMissing = 0.01;  // share of the run; chosen as the limit of damaged lines

double ShareMissing(const ParaverInput& input, const ParaverRecords& records) {
  if (input.duration == 0) return 0;
  return 1 - static_cast<double>(records.last_begin) / static_cast<double>(input.duration);
}

// "at 4 s of the 22 s that the header gives"
std::string LastTime(const ParaverInput& input, const ParaverRecords& records) {
  return fmt::format("at {:.6g} s of the {:.6g} s that the header gives",
                     static_cast<double>(records.last_begin) / input.ticks_per_second,
                     static_cast<double>(input.duration) / input.ticks_per_second);
}

void RefuseDamage(const ParaverInput& input, const ParaverRecords& records, const Diagnostics& diagnostics) {
  const double limit = anomaly::kDamagedLine.fatal_share;
  if (records.records == 0) {
    throw Error(ErrorKind::kInput, input.path,
                records.damaged > 0 ? records.first_damage : "there are no records behind the header",
                "the trace is damaged, or empty");
  }
  if (static_cast<double>(records.damaged) > limit * static_cast<double>(records.lines) &&
      !diagnostics.Accepts(anomaly::kDamagedLine)) {
    throw Error(ErrorKind::kInput, input.path,
                fmt::format("{}; {} of {} lines are damaged, more than {} %", records.first_damage, records.damaged,
                            records.lines, 100 * limit),
                AdviceToAccept("the trace is damaged; copy it again", anomaly::kDamagedLine));
  }
  // A state that began early may end with the run.
  if (records.is_cut_short && !diagnostics.Accepts(anomaly::kTraceEndsEarly) &&
      ShareMissing(input, records) > kMostMissing) {
    throw Error(ErrorKind::kInput, input.path, fmt::format("{}, {}", records.first_damage, LastTime(input, records)),
                AdviceToAccept("the file is cut short; copy the trace again", anomaly::kTraceEndsEarly));
  }
}

// The .row file names every thread that the header lists. Tools that cut traces may copy it as it is.
void CompareWithRow(const ParaverInput& input, Diagnostics& diagnostics) {
  std::uint64_t threads = 0;
  for (const ParaverApplication& application : input.applications) {
    for (const auto& [node, own] : application.tasks) threads += static_cast<std::uint64_t>(std::max(own, 1));
  }
  if (input.row_threads == 0 || input.row_threads == threads) return;
  const std::string row = ParaverNamesFile(input.path, ".row");
  const std::string what = fmt::format("{}, line {}: the file names {} threads, the header of the trace {}", row,
                                       input.row_threads_line, input.row_threads, threads);
  const double differing = std::fabs(static_cast<double>(threads) - static_cast<double>(input.row_threads));
  if (input.tools.empty() && differing > kMostMissing * static_cast<double>(std::max(threads, input.row_threads)) &&
      !diagnostics.Accepts(anomaly::kHeaderContradicted)) {
    throw Error(ErrorKind::kInput, input.path, what,
                AdviceToAccept("one of both is damaged or of another trace; copy them again, or remove the .row file",
                               anomaly::kHeaderContradicted));
  }
  diagnostics.Add(anomaly::kHeaderContradicted, 1, what);
}

void Diagnose(const ParaverInput& input, const ParaverRecords& records, Diagnostics& diagnostics) {
  diagnostics.Add(anomaly::kDamagedLine, records.damaged, records.first_damage);
  diagnostics.AddPopulation(anomaly::kDamagedLine, records.lines);
  for (const std::string& sentence : input.contradictions) diagnostics.Add(anomaly::kHeaderContradicted, 1, sentence);
  if (records.not_read > 0) {
    diagnostics.Add(anomaly::kRecordNotRead, records.not_read,
                    fmt::format("line {}: a global operation", records.first_not_read));
  }
  diagnostics.AddPopulation(anomaly::kRecordNotRead, records.lines);
  diagnostics.Add(anomaly::kHeaderContradicted, records.late, input.path + ", " + records.first_late);
  diagnostics.Add(anomaly::kMpiOnWorkerThread, records.mpi_calls_on_threads);
  diagnostics.AddPopulation(anomaly::kMpiOnWorkerThread, records.mpi_calls_on_threads);
  // Tools that cut and filter traces leave the duration as it was.
  constexpr double kSmallestShare = 0.999;  // chosen: tools round, and end some records late
  const bool ends_early = static_cast<double>(records.last_tick) < kSmallestShare * static_cast<double>(input.duration);
  if (ends_early && input.tools.empty() && input.applications.size() == 1) {
    diagnostics.Add(
        anomaly::kTraceEndsEarly, 1,
        fmt::format("at {:.6g} s of {:.6g} s", static_cast<double>(records.last_tick) / input.ticks_per_second,
                    static_cast<double>(input.duration) / input.ticks_per_second));
  }
  // States that are missing are added, and more than a hundredth of their time refused. Tools that filter traces leave
  // states out.
  Tick missing = 0, all = 0;
  std::string first;
  for (std::size_t task = 0; task < records.tasks.size(); ++task) {
    const ParaverStates& states = records.tasks[task].states;
    if (!records.tasks[task].in_order[kParaverStates]) continue;
    const std::string example =
        fmt::format("before line {}: rank {} has no state from {:.6g} s on", states.first_missing_line, task,
                    static_cast<double>(states.first_missing) / input.ticks_per_second);
    diagnostics.Add(anomaly::kStateMissing, states.missing, example);
    if (states.missing > 0 && first.empty()) first = example;
    if (input.tools.empty()) diagnostics.AddPopulation(anomaly::kStateMissing, states.count + states.missing);
    missing += states.missing_ticks;
    all += states.end - states.begin;
  }
  if (!input.tools.empty()) return;
  diagnostics.AddTime(anomaly::kStateMissing, missing, all);
  const double share = all > 0 ? static_cast<double>(missing) / static_cast<double>(all) : 0;
  if (share <= anomaly::kStateMissing.fatal_share || diagnostics.Accepts(anomaly::kStateMissing)) return;
  throw Error(ErrorKind::kInput, input.path,
              fmt::format("{}; {:.2g} % of the time of all ranks has no state, more than {:.0f} %", first, 100 * share,
                          100 * anomaly::kStateMissing.fatal_share),
              AdviceToAccept("the trace is damaged; copy it again", anomaly::kStateMissing));
}

// "__mpi_ro..mal_init [__mpi_routines_MOD_mpi_minimal_init]": the name in brackets is the whole one.
std::string FunctionName(const std::string& label) {
  const std::size_t open = label.rfind(" [");
  if (open == std::string::npos || label.back() != ']' || open + 3 >= label.size()) return label;
  return label.substr(open + 2, label.size() - open - 3);
}

void AddParaverRanks(const ParaverInput& input, TraceBuilder& builder, ParaverTraceFacts& facts) {
  const std::vector<std::pair<std::int32_t, std::int32_t>>& tasks = input.chosen().tasks;
  std::map<std::int32_t, std::int32_t> nodes;  // numbers in the header, to those with ranks
  for (const auto& [node, threads] : tasks) nodes.try_emplace(node, 0);
  for (auto& [node, index] : nodes) {
    const auto number = static_cast<std::size_t>(node);
    index = static_cast<std::int32_t>(
        builder.AddNode(number < input.nodes.size() ? input.nodes[number] : fmt::format("node {}", node + 1)));
  }
  for (std::size_t task = 0; task < tasks.size(); ++task) {
    const auto& [node, threads] = tasks[task];
    builder.AddRank({nodes[node], std::max(threads, 1), fmt::format("rank {}", task)});
  }
  // World and self first, which need not be defined in the trace.
  Communicator world{"MPI_COMM_WORLD", {}, {}, false};
  world.members.resize(tasks.size());
  std::iota(world.members.begin(), world.members.end(), 0);
  facts.world = builder.AddCommunicator(world);
  const std::uint32_t self = builder.AddCommunicator({"MPI_COMM_SELF", {}, {}, true});
  if (input.chosen().communicators.empty()) facts.communicators[1] = facts.world;
  bool has_world = tasks.size() == 1;
  for (const auto& [id, communicator] : input.chosen().communicators) {
    const bool is_world = communicator.remote.empty() && communicator.members == world.members && !has_world;
    const bool is_self = communicator.remote.empty() && communicator.members.size() == 1;
    has_world |= is_world;
    facts.communicators[id] = is_world ? facts.world : is_self ? self : builder.AddCommunicator(communicator);
  }
}

// The name of the region of a symbol; nothing where it is not known.
std::optional<std::string> RegionName(const ParaverSymbol& symbol, const ParaverInput& input) {
  const std::optional<std::string> label = input.ValueOf(symbol.first, symbol.second);
  switch (ClassifyParaverEvent(symbol.first)) {
    case ParaverEvent::kMpi: {
      const auto function = ParaverMpiFunction(input, symbol.first, symbol.second);
      const char* unnamed = symbol.first == kOneSidedEvent ? "MPI_Win_unknown" : "MPI call";
      return function.value_or(fmt::format("{} {} of {}", unnamed, symbol.second, symbol.first));
    }
    case ParaverEvent::kFunction: return label ? FunctionName(*label) : fmt::format("function {}", symbol.second);
    case ParaverEvent::kCaller:
      if (!label || label->empty() || *label == "Unresolved" || *label == "_NOT_Found") return std::nullopt;
      return FunctionName(*label);
    default: break;
  }
  // Values with names of their own are regions of their own; others, which may be numbers of iterations, are
  // occurrences of one.
  if (label && !label->empty()) return label;
  const auto type = input.types.find(symbol.first);
  const bool has_name = type != input.types.end() && !type->second.empty();
  return has_name ? type->second : fmt::format("event {}", symbol.first);
}

// Regions of the tool first, then what the trace calls, in the order of its numbers.
std::map<ParaverSymbol, std::uint32_t> AddParaverRegions(const ParaverInput& input,
                                                         const std::set<ParaverSymbol>& symbols, TraceBuilder& builder,
                                                         ParaverTraceFacts& facts) {
  std::map<std::pair<bool, std::string>, std::uint32_t> by_name;
  const auto add = [&](const std::string& name, bool is_mpi) {
    const auto [found, is_new] = by_name.try_emplace({is_mpi, name}, 0);
    if (!is_new) return found->second;
    MpiCall call = is_mpi ? ClassifyMpiCall(name) : MpiCall::kNone;
    if (is_mpi && call == MpiCall::kNone) call = MpiCall::kOther;
    return found->second = builder.AddRegion({name, is_mpi, call});
  };
  facts.application_region = add("Application", false);
  facts.tracing_region = add("Tracing", false);
  facts.cut_call_region = add("MPI call begun before the trace", true);
  facts.pause_region = builder.AddRegion({std::string(kPauseRegion), false, MpiCall::kNone, false, true});
  std::map<ParaverSymbol, std::uint32_t> regions;
  Diagnostics& diagnostics = builder.trace().diagnostics;
  const std::string pcf = ParaverNamesFile(input.path, ".pcf");
  for (const ParaverSymbol& symbol : symbols) {
    facts.has_functions |= symbol.first == kUserFunction;
    const std::optional<std::string> name = RegionName(symbol, input);
    const bool is_mpi = ClassifyParaverEvent(symbol.first) == ParaverEvent::kMpi;
    regions[symbol] = name ? add(*name, is_mpi) : ParaverBlock::kNothing;
    if (is_mpi) diagnostics.AddPopulation(anomaly::kMpiNameContradicted, 1);
    const std::optional<std::string> label = input.ValueOf(symbol.first, symbol.second);
    if (is_mpi && label && ToLower(*label) != ToLower(*name)) {
      diagnostics.Add(anomaly::kMpiNameContradicted, 1,
                      fmt::format("{}, line {}: {} of {} is '{}', but that is the number of {}", pcf,
                                  input.values.at(symbol.first).at(symbol.second).second, symbol.second, symbol.first,
                                  *label, *name));
    }
    if (symbol.first == kParaverCudaCall) builder.trace().regions[regions[symbol]].is_device_runtime = true;
  }
  for (const Region& region : builder.definitions().regions) {
    facts.collectives.push_back(region.is_mpi ? CollectiveKindOf(region.name) : std::nullopt);
  }
  // Functions of the program that are all gone, and with them the counters of their records.
  const auto functions = input.values.find(kUserFunction);
  if (facts.has_functions || input.applications.size() > 1 || functions == input.values.end()) return regions;
  const auto is_function = [](const auto& value) { return value.first != 0; };
  if (const auto named = std::ranges::count_if(functions->second, is_function); named > 0) {
    diagnostics.Add(
        anomaly::kFunctionsLost, static_cast<std::uint64_t>(named),
        fmt::format("{} names '{}'", pcf, std::ranges::find_if(functions->second, is_function)->second.first));
  }
  return regions;
}

// Adds counters, and the numbers of all in every block.
void ResolveBlocks(const ParaverInput& input, const std::map<ParaverSymbol, std::uint32_t>& regions,
                   TraceBuilder& builder, std::deque<ParaverBlock>& blocks) {
  std::map<std::uint32_t, std::uint32_t> counters;
  for (const ParaverBlock& block : blocks) {
    for (const std::uint32_t type : block.types) counters[type] = ParaverBlock::kNothing;
  }
  for (auto& [type, counter] : counters) {
    const bool is_counter = ClassifyParaverEvent(type) == ParaverEvent::kCounter;
    if (is_counter) counter = builder.AddCounter(ParaverCounter(input, type));
  }
  for (ParaverBlock& block : blocks) {
    for (const std::uint32_t type : block.types) {
      block.events.push_back(ClassifyParaverEvent(type));
      block.counters.push_back(counters.at(type));
    }
    block.regions.push_back(ParaverBlock::kNothing);
    for (const ParaverSymbol& symbol : block.symbols) block.regions.push_back(regions.at(symbol));
  }
}

void BuildRanks(const std::vector<ParaverTaskParts>& tasks, ParaverTraceFacts& facts, Trace& trace) {
  std::vector<ParaverRoots> roots(tasks.size());
  ParallelFor(tasks.size(), [&](std::size_t rank) {
    if (tasks[rank].has_roots) roots[rank] = RootsOfTask(tasks[rank], facts, static_cast<std::int32_t>(rank));
  });
  for (ParaverRoots& own : roots) facts.roots.merge(own);
  std::vector<Diagnostics> diagnostics(tasks.size());
  std::vector<std::uint64_t> sizes;
  for (const ParaverTaskParts& task : tasks) {
    std::uint64_t& size = sizes.emplace_back(0);
    for (const auto& part : task.parts) size = std::accumulate(part.bytes.begin(), part.bytes.end(), size);
  }
  const std::vector<std::size_t> order = LargestFirst(sizes);
  ParallelFor(tasks.size(), [&](std::size_t i) {
    const std::size_t rank = order[i];
    RankBuilder of_rank = BuildParaverRank(trace, static_cast<std::int32_t>(rank), tasks[rank], facts);
    trace.timelines[rank] = of_rank.Finish();
    diagnostics[rank] = of_rank.diagnostics();
  });
  std::uint64_t threaded = 0, empty = 0;
  for (std::size_t rank = 0; rank < tasks.size(); ++rank) {
    trace.diagnostics.Merge(diagnostics[rank]);
    trace.diagnostics.AddPopulation(anomaly::kMpiOnWorkerThread, trace.timelines[rank].calls());
    threaded += trace.ranks[rank].threads > 1 ? 1 : 0;
    empty += trace.timelines[rank].empty() ? 1 : 0;
  }
  trace.diagnostics.Add(anomaly::kRankWithoutRecords, empty);
  if (!facts.knows_threads) trace.diagnostics.Add(anomaly::kThreadsAtProcessLevel, threaded);
}

}  // namespace

Trace ReadParaver(const std::string& path, const ReadOptions& options) {
  ParaverText text(path);
  ParaverInput input = ReadParaverHeader(path, text);
  input.options = options;
  ReadParaverNames(input);
  input.application = ChooseApplication(input, options.application);
  ParaverRecords records = ReadParaverRecords(input, text);

  TraceBuilder builder;
  Trace& trace = builder.trace();
  trace.diagnostics.Accept(options.accepted);
  RefuseDamage(input, records, trace.diagnostics);
  trace.path = path;
  trace.format = "Paraver";
  trace.ticks_per_second = input.ticks_per_second;
  trace.events = records.records;
  Diagnose(input, records, trace.diagnostics);
  CompareWithRow(input, trace.diagnostics);
  std::set<ParaverSymbol> symbols;
  for (const ParaverBlock& block : records.blocks) symbols.insert(block.symbols.begin(), block.symbols.end());
  ParaverTraceFacts facts;
  facts.is_part = !input.tools.empty();
  AddParaverRanks(input, builder, facts);
  AddParaverDevices(input, records.threads, builder);
  const std::map<ParaverSymbol, std::uint32_t> regions = AddParaverRegions(input, symbols, builder, facts);
  const auto runs = [](const auto& thread) {
    return std::ranges::find(thread.second.states, kParaverRunning, &ParaverState::state) != thread.second.states.end();
  };
  facts.knows_threads = std::ranges::any_of(records.threads, runs);
  if (facts.knows_threads) {  // and the states of the runtime of their teams
    facts.barrier_region = builder.AddRegion({.name = "OpenMP synchronization", .team_role = TeamRole::kBarrier});
    facts.scheduling_region =
        builder.AddRegion({.name = "OpenMP fork, join and scheduling", .team_role = TeamRole::kScheduling});
  }
  ResolveBlocks(input, regions, builder, records.blocks);
  BuildRanks(records.tasks, facts, trace);
  if (facts.knows_threads) AddParaverThreads(records, facts, builder);
  CheckDevices(trace);
  // A file cut between two lines, which no line shows: ranks do not end, or nothing reaches the end of the run.
  const double missing = ShareMissing(input, records);
  if (missing > kMostMissing && trace.diagnostics.count(anomaly::kTraceEndsEarly) > 0 &&
      !trace.diagnostics.Accepts(anomaly::kTraceEndsEarly)) {
    throw Error(ErrorKind::kInput, path,
                fmt::format("the trace ends with its line {}, {}: {:.0f} % of the run are missing", records.last_line,
                            LastTime(input, records), 100 * missing),
                AdviceToAccept("copy the trace again", anomaly::kTraceEndsEarly));
  }
  // Without events the cause of waiting that the states show cannot be found.
  const auto has_calls = [](const RankTimeline& timeline) { return timeline.calls() > 0; };
  if (records.has_mpi_states && std::ranges::none_of(trace.timelines, has_calls)) {
    throw Error(ErrorKind::kInput, trace.path, "states show MPI, but the trace has no events of MPI calls",
                "keep the events 50000001 to 50000005 and those of collectives when filtering");
  }
  return std::move(builder).Finish();
}

std::vector<std::string> FilesOfParaver(const std::string& path) {
  std::vector<std::string> files = {path};
  for (const char* extension : {".pcf", ".row"}) {
    const std::string file = ParaverNamesFile(path, extension);
    std::error_code code;
    if (file != path && fs::is_regular_file(file, code)) files.push_back(file);
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace farscale
