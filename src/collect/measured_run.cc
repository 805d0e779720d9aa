#include "collect/measured_run.h"

#include <signal.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "collect/clock.h"
#include "collect/text.h"
#include "collect/page.h"

namespace farscale::collect {
namespace {

// A page with what its clock needs to become seconds.
struct Process {
  const Page* page = nullptr;
  Sums sums{};
  double seconds_a_tick = 1e-9;
  int node = 0;
};

double SecondsATick(const Page& page, Tick now_tick, std::uint64_t now_clock) {
  if ((page.flags & kClockIsTsc) == 0) return 1e-9;
  const Tick end_tick = page.end_tick != 0 ? page.end_tick : now_tick;
  const std::uint64_t end_clock = page.end_tick != 0 ? page.end_clock : now_clock;
  if (end_tick <= page.begin_tick || end_clock <= page.begin_clock) return 1e-9;
  return static_cast<double>(end_clock - page.begin_clock) * 1e-9 / static_cast<double>(end_tick - page.begin_tick);
}

std::string Text(const char* text, std::size_t bytes) { return {text, std::find(text, text + bytes, '\0')}; }

// Pages are what anybody may have written there, and go to a terminal.
std::string Name(const char* text, std::size_t bytes) { return Printable(Text(text, bytes)); }

std::vector<Process> ProcessesOf(const std::vector<Page>& pages, MeasuredRun& run) {
  ChooseClock();
  const Tick now_tick = Now();
  const std::uint64_t now_clock = Nanoseconds(CLOCK_MONOTONIC);
  std::vector<Process> processes;
  std::map<std::string, int> nodes;
  for (const Page& page : pages) {
    const std::string host = Name(page.host, sizeof page.host);
    const auto [entry, is_new] = nodes.try_emplace(host, static_cast<int>(nodes.size()));
    if (is_new) run.nodes.push_back({host, {}});
    run.nodes[static_cast<std::size_t>(entry->second)].ranks.push_back(page.rank);
    const Tick now = (page.flags & kClockIsTsc) != 0 ? now_tick : now_clock;
    processes.push_back({&page, SumsOfPage(page, now), SecondsATick(page, now_tick, now_clock), entry->second});
  }
  return processes;
}

// Where CPU time was taken, on the ranks whose pages have it.
void AddCpu(const std::vector<const RegionRecord*>& records, const std::vector<const Process*>& processes,
            RegionMetrics& metrics) {
  double cpu = 0, covered = 0, process_cpu = 0;
  std::uint64_t preemptions = 0;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (records[i]->cpu_ticks == 0) continue;
    covered += static_cast<double>(records[i]->cpu_ticks) * processes[i]->seconds_a_tick;
    cpu += static_cast<double>(records[i]->total.cpu) * 1e-9;
    process_cpu += static_cast<double>(records[i]->total.process_cpu) * 1e-9;
    preemptions += records[i]->total.preemptions;
  }
  if (covered <= 0) return;
  metrics.cpu_share = cpu / covered;
  metrics.preemptions = preemptions;
  metrics.process_cpu = process_cpu;
  const double all = std::accumulate(metrics.elapsed_by_rank.begin(), metrics.elapsed_by_rank.end(), 0.0);
  metrics.other_cpu = std::max(0.0, process_cpu - cpu) * all / covered;
}

// What is known where no OpenMP library tells what threads do: that some compute beside the main one, and that no more
// than their CPU time was useful.
void AddThreadsSeen(const std::vector<const Process*>& processes, RegionMetrics& metrics) {
  std::uint32_t unknown = 0;
  for (const Process* process : processes) unknown = std::max(unknown, process->page->teams.unknown);
  if (unknown == 0) return;
  metrics.threads_seen = 1 + static_cast<int>(unknown);
  if (metrics.threads) metrics.threads_seen += (metrics.threads->cpus - 1) / static_cast<int>(processes.size());
  if (metrics.threads || !metrics.other_cpu || !(metrics.elapsed > 0)) return;
  const int threads = std::max(processes.front()->page->threads, metrics.threads_seen);
  const double cpus = threads * static_cast<double>(processes.size());
  metrics.parallel_at_most = std::min(1.0, (metrics.useful_total + *metrics.other_cpu) / (cpus * metrics.elapsed));
}

double WindowLengthOf(const std::vector<RankWindow>& windows) {
  return std::ranges::max(windows, {}, &RankWindow::end).end - std::ranges::min(windows, {}, &RankWindow::begin).begin;
}

// The whole run of one node goes from where its first rank began to where its last one ended, as in a trace
// [formulas.md, spans]; clocks of several nodes do not compare. Only of ranks that have ended.
double SpanOf(const std::vector<Process>& processes, double otherwise) {
  Tick begin = ~Tick{0}, end = 0;
  for (const Process& process : processes) {
    const Page& page = *process.page;
    if (process.node != processes.front().node || page.end_tick == 0) return otherwise;
    begin = std::min(begin, page.begin_tick);
    end = std::max(end, page.end_tick);
  }
  return std::max(otherwise, static_cast<double>(end - begin) * processes.front().seconds_a_tick);
}

// What the whole run lacks of the time between its begin and its end, on every rank.
std::vector<double> SwitchedOff(const std::vector<Process>& processes) {
  std::vector<double> off;
  for (const Process& process : processes) {
    const Page& page = *process.page;
    const Tick elapsed = page.end_tick != 0 ? page.end_tick - page.begin_tick : process.sums.elapsed;
    const Tick counted = TotalOf(page, page.region[0], process.sums).elapsed;
    off.push_back(elapsed > counted ? static_cast<double>(elapsed - counted) * process.seconds_a_tick : 0);
  }
  if (std::ranges::all_of(off, [](double seconds) { return seconds == 0; })) off.clear();
  return off;
}

// On the clock of the node, which the tick of the begin and its seconds tell.
RankWindow WindowIn(const Process& process, const Window& window, double elapsed) {
  const double began = static_cast<double>(process.page->begin_clock) * 1e-9;
  return {began + static_cast<double>(window.begin) * process.seconds_a_tick,
          began + static_cast<double>(window.end) * process.seconds_a_tick, elapsed, process.node};
}

// T and T_ideal of a region in the span that its occurrences have.
void ResolveSpan(const std::vector<RankWindow>& windows, const std::vector<RankWindow>& ideal, RegionMetrics& metrics) {
  const std::optional<double> whole = WholeSpanOf(windows);
  metrics.is_whole_span = whole.has_value();
  if (!whole) return;
  metrics.elapsed = std::max(metrics.elapsed, *whole);
  if (metrics.ideal_elapsed) metrics.ideal_elapsed = WindowLengthOf(ideal);
}

RegionMetrics Measure(const std::vector<Process>& processes, const std::string& name, bool is_whole) {
  RegionMetrics metrics;
  metrics.name = Printable(name);
  metrics.fewest_starts = ~std::uint64_t{0};
  std::vector<const RegionRecord*> records;
  std::vector<const Process*> taking_part;
  std::vector<int> nodes;
  std::vector<RankWindow> windows, ideal_windows;
  double instructions = 0, cycles = 0;
  bool has_counters = true, counts_threads = true, has_ideal = true;
  double ideal = 0, in_runtime = 0;
  std::vector<ThreadTimes> thread_times;
  const bool has_teams = std::ranges::any_of(processes, [](const Process& p) { return HasTeams(*p.page); });
  metrics.uses_devices = std::ranges::any_of(processes, [](const Process& p) { return UsesDevices(*p.page); });
  std::vector<DeviceUser> device_users;
  const bool is_hybrid = (has_teams || metrics.uses_devices) && std::ranges::none_of(processes, [](const Process& p) {
                           return (p.page->flags & kTooManyThreads) != 0;
                         });
  for (const Process& process : processes) {
    const int index = is_whole ? 0 : FindRegion(*process.page, name.c_str());
    if (index < 0 || process.page->region[index].starts == 0) continue;
    const RegionRecord& record = process.page->region[index];
    const Sums total = TotalOf(*process.page, record, process.sums);
    const double elapsed = static_cast<double>(total.elapsed) * process.seconds_a_tick;
    const double mpi = static_cast<double>(std::min(total.mpi, total.elapsed)) * process.seconds_a_tick;
    records.push_back(&record);
    taking_part.push_back(&process);
    thread_times.push_back(ThreadTimesOf(*process.page, total, process.seconds_a_tick, has_teams));
    device_users.push_back({process.page, process.node, static_cast<std::uint32_t>(index)});
    nodes.push_back(process.node);
    metrics.ranks.push_back(process.page->rank);
    metrics.fewest_starts = std::min(metrics.fewest_starts, record.starts);
    metrics.most_starts = std::max(metrics.most_starts, record.starts);
    metrics.is_open_somewhere |= record.open != 0 && !is_whole;
    metrics.elapsed = std::max(metrics.elapsed, elapsed);
    metrics.mpi_total += mpi;
    metrics.elapsed_by_rank.push_back(elapsed);
    metrics.useful_by_rank.push_back(elapsed - mpi);
    const Window window = WindowOf(*process.page, record, process.sums);
    windows.push_back(WindowIn(process, window, elapsed));
    ideal_windows.push_back({static_cast<double>(window.ideal_begin) * process.seconds_a_tick,
                             static_cast<double>(window.ideal_end) * process.seconds_a_tick, 0, process.node});
    metrics.mpi_calls += total.calls;
    metrics.mpi_calls_of_other_threads += total.other_calls;
    in_runtime += static_cast<double>(total.threads.main_in_runtime) * process.seconds_a_tick;
    if (elapsed > 0) {
      metrics.calls_a_millisecond =
          std::max(metrics.calls_a_millisecond, static_cast<double>(total.calls) / (elapsed * 1e3));
    }
    has_counters = has_counters && (process.page->flags & kHasCounters) != 0;
    counts_threads = counts_threads && (process.page->flags & kThreadsCounted) != 0;
    has_ideal = has_ideal && (process.page->flags & kHasIdeal) != 0;
    ideal = std::max(ideal, static_cast<double>(total.ideal) * process.seconds_a_tick);
    instructions += static_cast<double>(total.instructions);
    cycles += static_cast<double>(total.cycles);
  }
  const std::vector<double>& useful = metrics.useful_by_rank;
  metrics.useful_total = std::accumulate(useful.begin(), useful.end(), 0.0);
  metrics.useful_average = metrics.useful_total / static_cast<double>(std::max<std::size_t>(1, records.size()));
  if (!useful.empty()) metrics.useful_largest = std::max(0.0, std::ranges::max(useful));
  if (has_ideal && ideal > 0) metrics.ideal_elapsed = ideal;
  if (is_whole) {
    metrics.off_by_rank = SwitchedOff(processes);
    if (metrics.off_by_rank.empty()) metrics.elapsed = SpanOf(processes, metrics.elapsed);
    metrics.is_whole_span = metrics.off_by_rank.empty();
  } else {
    ResolveSpan(windows, ideal_windows, metrics);
  }
  metrics.efficiencies = EfficienciesOf(metrics.useful_by_rank, nodes, metrics.elapsed);
  if (is_hybrid) UseThreadTimes(thread_times, nodes, metrics);
  if (metrics.uses_devices) metrics.devices = DevicesOf(device_users, metrics.elapsed);
  const double elapsed_total = std::accumulate(metrics.elapsed_by_rank.begin(), metrics.elapsed_by_rank.end(), 0.0);
  if (is_hybrid && elapsed_total > 0) metrics.runtime_share = in_runtime / elapsed_total;
  if (metrics.efficiencies) metrics.node_load_largest = metrics.useful_average / metrics.efficiencies->load_balance_out;
  const bool counts_useful = !has_teams && !metrics.uses_devices;  // of the main threads alone
  if (has_counters && cycles > 0 && (counts_useful || (is_hybrid && counts_threads && !metrics.uses_devices))) {
    metrics.instructions = instructions;
    metrics.cycles = cycles;
  }
  AddCpu(records, taking_part, metrics);
  AddThreadsSeen(taking_part, metrics);
  return metrics;
}

std::vector<std::string> NamesOfRegions(const std::vector<Process>& processes) {
  std::vector<std::string> names;  // as they are in the pages
  for (const Process& process : processes) {
    for (std::uint32_t i = 1; i < process.page->regions; ++i) {
      const std::string name = Text(process.page->region[i].name, kNameBytes);
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

// How much a termination explains those of other ranks: most an abort, then a fault, then a signal to end.
int Weight(const Page& page) {
  const bool is_asked = page.signal == SIGTERM || page.signal == SIGINT || page.signal == SIGHUP;
  switch (page.termination) {
    case Termination::kAborted:
    case Termination::kError: return 3;
    case Termination::kSignal: return is_asked ? 1 : 2;
    case Termination::kNotFinalized:
    case Termination::kLost: return 1;
    case Termination::kRunning:
    case Termination::kFinalized: break;
  }
  return 0;
}

// When ranks ended, since the first one of their node began: all nodes begin together, but their clocks do not compare.
class Ends {
 public:
  explicit Ends(const std::vector<Page>& pages) {
    for (const Page& page : pages) {
      std::uint64_t& begin = begins_.try_emplace(Host(page), page.begin_clock).first->second;
      begin = std::min(begin, page.begin_clock);
    }
  }

  std::uint64_t operator()(const Page& page) const {
    return page.end_clock != 0 ? page.end_clock - begins_.at(Host(page)) : ~std::uint64_t{0};
  }

 private:
  static std::string Host(const Page& page) { return Text(page.host, sizeof page.host); }

  std::map<std::string, std::uint64_t> begins_;
};

// Of processes that are killed the guard sees when they are gone, and a launcher is quick to kill the others.
constexpr std::uint64_t kAtOnce = 20'000'000;  // ns; chosen: more than a scheduler needs to run the guard

std::vector<const Page*> FirstToEnd(const std::vector<Page>& pages) {
  const Ends end_of(pages);
  // The rank that explains most, then the earliest one. Ranks that the launcher ended afterwards are known until the
  // first one ended, and that one was sent no signal.
  const auto key = [&](const Page& page) {
    return std::tuple(-Weight(page), end_of(page), page.termination == Termination::kSignal);
  };
  const Page* first = nullptr;
  for (const Page& page : pages) {
    if (page.termination == Termination::kFinalized) continue;
    if (first == nullptr || key(page) < key(*first)) first = &page;
  }
  if (first == nullptr) return {};
  std::vector<const Page*> at_once = {first};
  if (first->termination != Termination::kLost) return at_once;
  for (const Page& page : pages) {
    const bool is_too = page.termination == first->termination && end_of(page) - end_of(*first) < kAtOnce;
    if (is_too && &page != first) at_once.push_back(&page);
  }
  // Those that were waiting in MPI waited for the one that did it.
  const auto waited = [](const Page* page) { return page->entered != 0; };
  if (!std::all_of(at_once.begin(), at_once.end(), waited)) std::erase_if(at_once, waited);
  return at_once;
}

void AddTermination(const std::vector<Page>& pages, MeasuredRun& run) {
  int expected = 0;
  for (const Page& page : pages) {
    for (; expected < page.rank; ++expected) run.missing.push_back(expected);
    expected = page.rank + 1;
    if (page.termination == Termination::kFinalized) continue;
    if (page.termination != Termination::kRunning) run.not_finalized.push_back(page.rank);
    if (page.termination == Termination::kNotFinalized) run.left.push_back(page.rank);
  }
  for (; expected < run.ranks; ++expected) run.missing.push_back(expected);
  const std::vector<const Page*> first = FirstToEnd(pages);
  if (first.empty()) return;
  run.termination = first.front()->termination;
  run.signal = first.front()->signal;
  run.error = Name(first.front()->error, sizeof first.front()->error);
  if (run.termination == Termination::kRunning) return;
  for (const Page* page : first) run.ended_first.push_back(page->rank);
  std::sort(run.ended_first.begin(), run.ended_first.end());
}

}  // namespace

std::optional<Efficiencies> EfficienciesOf(const std::vector<double>& useful, const std::vector<int>& node,
                                           double elapsed) {
  double total = 0, largest = 0;
  std::map<int, std::pair<double, int>> loads;
  for (std::size_t i = 0; i < useful.size(); ++i) {
    total += useful[i];
    largest = std::max(largest, useful[i]);
    loads[node[i]].first += useful[i];
    ++loads[node[i]].second;
  }
  if (!(largest > 0) || !(elapsed > 0)) return std::nullopt;
  double largest_load = 0;  // mean over the ranks of a node
  for (const auto& [key, load] : loads) largest_load = std::max(largest_load, load.first / load.second);
  const double average = total / static_cast<double>(useful.size());
  Efficiencies e;
  e.parallel = average / elapsed;
  e.load_balance = average / largest;
  e.load_balance_in = largest_load / largest;
  e.load_balance_out = average / largest_load;
  e.communication = largest / elapsed;
  return e;
}

std::optional<double> WholeSpanOf(const std::vector<RankWindow>& windows) {
  constexpr double kLargestGapShare = 0.02;  // [docs/formulas.md, spans]
  if (windows.empty()) return std::nullopt;
  const bool is_each = std::ranges::any_of(windows, [&](const RankWindow& window) {
    const double gaps = window.end - window.begin - window.elapsed;
    return window.node != windows.front().node || gaps >= kLargestGapShare * window.elapsed;
  });
  return is_each ? std::nullopt : std::optional(WindowLengthOf(windows));
}

MeasuredRun Summarize(std::vector<Page> pages) {
  std::sort(pages.begin(), pages.end(), [](const Page& a, const Page& b) { return a.rank < b.rank; });
  const Page& first = pages.front();
  MeasuredRun run;
  run.job = Text(first.job, sizeof first.job);
  run.program = Name(first.program, sizeof first.program);
  run.command = Split(Text(first.command, sizeof first.command), "\n");
  run.mpi_library = Name(first.mpi_library, sizeof first.mpi_library);
  run.output = Text(first.output, sizeof first.output);
  run.ranks = first.ranks;
  run.threads = std::max(1, first.threads);
  run.clock_is_tsc = (first.flags & kClockIsTsc) != 0;
  run.started = first.started;
  for (const Page& page : pages) {
    run.started = std::min(run.started, page.started);
    run.counters_refused |= (page.flags & kHasCounters) == 0;
    run.counters_forbidden |= (page.flags & kCountersForbidden) != 0;
    run.counters_slow |= (page.flags & kCountersSlow) != 0;
    run.counters_no_papi |= (page.flags & kCountersNoPapi) != 0;
    run.ideal_refused |= (page.flags & kIdealRefused) != 0;
    run.not_followed += page.not_followed;
    run.large_messages += page.large_messages;
    run.is_traced |= (page.flags & kIsTraced) != 0;
    run.devices_unknown |= UsesDevices(page) && !KnowsDevices(page);
    run.device_work_lost += static_cast<double>(page.devices.lost) * 1e-9;
    run.too_many_threads |= (page.flags & kTooManyThreads) != 0;
    run.too_many_regions |= (page.flags & kTooManyRegions) != 0;
    run.regions_out_of_order |= (page.flags & kRegionsOutOfOrder) != 0;
  }
  AddTermination(pages, run);
  const std::vector<Process> processes = ProcessesOf(pages, run);
  for (const Process& process : processes) {
    const double flushed = static_cast<double>(process.page->flushed) * process.seconds_a_tick;
    run.flushed_largest = std::max(run.flushed_largest, flushed);
  }
  run.regions.push_back(Measure(processes, "whole run", true));
  for (const std::string& name : NamesOfRegions(processes)) {
    RegionMetrics metrics = Measure(processes, name, false);
    if (!metrics.ranks.empty()) run.regions.push_back(std::move(metrics));
  }
  // The CPUs that their teams had, and those that were given.
  const std::optional<ThreadTimes>& threads = run.regions.front().threads;
  const int known = static_cast<int>(run.regions.front().ranks.size());
  if (threads) run.threads = (threads->cpus + known - 1) / known;
  if (run.not_followed > 0 || run.ideal_refused) {  // clocks that waits were lost to say too little
    for (RegionMetrics& region : run.regions) region.ideal_elapsed.reset();
  }
  return run;
}

}  // namespace farscale::collect
