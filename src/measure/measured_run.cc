#include "measure/measured_run.h"

#include <signal.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "collect/threads/counters.h"
#include "collect/text.h"
#include "replay/network.h"

namespace farscale {
namespace {

using collect::Page;
using collect::RankShare;
using collect::RegionRecord;
using collect::Sums;
using collect::Termination;

using Processes = std::vector<MeasuredProcess>;

double SecondsATick(const Page& page, collect::Tick now_tick, std::uint64_t now_clock) {
  if ((page.flags & collect::kClockIsTsc) == 0) return 1e-9;
  const collect::Tick end_tick = page.end_tick != 0 ? page.end_tick : now_tick;
  const std::uint64_t end_clock = page.end_tick != 0 ? page.end_clock : now_clock;
  if (end_tick <= page.begin_tick || end_clock <= page.begin_clock) return 1e-9;
  return static_cast<double>(end_clock - page.begin_clock) * 1e-9 / static_cast<double>(end_tick - page.begin_tick);
}

std::string Text(const char* text, std::size_t bytes) { return {text, std::find(text, text + bytes, '\0')}; }

// Pages are what anybody may have written there, and go to a terminal.
std::string Name(const char* text, std::size_t bytes) { return collect::Printable(Text(text, bytes)); }

Processes FindProcesses(const std::vector<Page>& pages, MeasuredRun& run) {
  collect::ChooseClock();
  const collect::Tick now_tick = collect::Now();
  const std::uint64_t now_clock = collect::Nanoseconds(CLOCK_MONOTONIC);
  Processes processes;
  std::map<std::string, int> nodes;
  for (const Page& page : pages) {
    const std::string host = Name(page.host, sizeof page.host);
    const auto [entry, is_new] = nodes.try_emplace(host, static_cast<int>(nodes.size()));
    if (is_new) run.nodes.push_back({host, {}});
    run.nodes[static_cast<std::size_t>(entry->second)].second.push_back(page.rank);
    const collect::Tick now = (page.flags & collect::kClockIsTsc) != 0 ? now_tick : now_clock;
    processes.push_back({&page, entry->second, 0, SumsOfPage(page, now), SecondsATick(page, now_tick, now_clock)});
  }
  return processes;
}

const RegionRecord& Record(const MeasuredProcess& process) { return process.page->region[process.region]; }

// Where CPU time was taken, on the ranks whose pages have it.
void AddCpu(const Processes& members, MeasuredRegion& region) {
  double cpu = 0, covered = 0, process_cpu = 0;
  std::uint64_t preemptions = 0;
  for (const MeasuredProcess& member : members) {
    const RegionRecord& record = Record(member);
    if (record.cpu_ticks == 0) continue;
    covered += static_cast<double>(record.cpu_ticks) * member.seconds_a_tick;
    cpu += static_cast<double>(record.total.cpu) * 1e-9;
    process_cpu += static_cast<double>(record.total.process_cpu) * 1e-9;
    preemptions += record.total.preemptions;
  }
  if (covered <= 0) return;
  region.cpu_share = cpu / covered;
  region.preemptions = preemptions;
  region.process_cpu = process_cpu;
  const double all = std::accumulate(region.elapsed_by_rank.begin(), region.elapsed_by_rank.end(), 0.0);
  region.other_cpu = std::max(0.0, process_cpu - cpu) * all / covered;
}

// Where no OpenMP library tells what threads do, it is known that some compute beside the main one, and that no more
// than their CPU time was useful.
void AddThreadsSeen(const Processes& members, MeasuredRegion& region) {
  std::uint32_t unknown = 0;
  for (const MeasuredProcess& member : members) unknown = std::max(unknown, member.page->teams.unknown);
  if (unknown == 0) return;
  const PhaseTotals& totals = region.totals;
  const auto count = static_cast<int>(members.size());
  region.threads_seen = 1 + static_cast<int>(unknown);
  if (totals.threads) region.threads_seen += (static_cast<int>(totals.threads->cpus) - 1) / count;
  if (totals.threads || !region.other_cpu || !(totals.elapsed > 0)) return;
  const int threads = std::max(members.front().page->threads, region.threads_seen);
  const double cpus = threads * static_cast<double>(count);
  region.parallel_at_most = std::min(1.0, (totals.total_useful + *region.other_cpu) / (cpus * totals.elapsed));
}

// The whole run of one node goes from where its first rank began to where its last one ended, as in a trace
// [formulas.md, spans]; clocks of several nodes do not compare. Only of ranks that have ended.
double WholeRunSpan(const Processes& processes, double otherwise) {
  collect::Tick begin = ~collect::Tick{0}, end = 0;
  for (const MeasuredProcess& process : processes) {
    const Page& page = *process.page;
    if (process.node != processes.front().node || page.end_tick == 0) return otherwise;
    begin = std::min(begin, page.begin_tick);
    end = std::max(end, page.end_tick);
  }
  return std::max(otherwise, static_cast<double>(end - begin) * processes.front().seconds_a_tick);
}

// Useful times, factors and what else follows from the times of all ranks. `elapsed` is known.
void UseShares(const std::vector<RankShare>& shares, bool is_hybrid, MeasuredRegion& region) {
  PhaseTotals& totals = region.totals;
  const collect::LoadSums loads = SumLoads(shares, is_hybrid);
  region.useful_by_rank = loads.of_ranks;
  totals.average_useful = loads.average;
  totals.largest_useful = loads.largest;
  totals.total_useful = loads.average * static_cast<double>(shares.size());
  const double elapsed = std::accumulate(region.elapsed_by_rank.begin(), region.elapsed_by_rank.end(), 0.0);
  totals.total_mpi = std::max(0.0, elapsed - totals.total_useful);
  if (is_hybrid && !shares.empty()) {
    totals.threads = loads.threads;
    // Threads that compute while the main one is in MPI do so on any network.
    if (totals.ideal_elapsed > 0) totals.ideal_elapsed = std::max(totals.ideal_elapsed, totals.largest_useful);
  }
  if (!(loads.threads.useful > 0) || !(totals.elapsed > 0)) return;
  totals.largest_node_load = loads.largest_node;
  region.factors = FactorsOf(totals, RuleSet::kCausal);
  if (!region.uses_devices) region.factors[Factor::kDeviceOffload].reset();
}

// Nothing without devices that computed.
std::optional<DeviceTimes> TimesOfDevices(const std::vector<MeasuredDevice>& devices) {
  if (devices.empty()) return std::nullopt;
  DeviceTimes times{.devices = static_cast<double>(devices.size())};
  for (const MeasuredDevice& device : devices) {
    times.kernels += device.kernels;
    times.most_kernels = std::max(times.most_kernels, device.kernels);
    times.most_active = std::max(times.most_active, device.active);
  }
  return times;
}

// T and T_ideal in the span that the region's occurrences have.
void ResolveSpan(const Processes& processes, bool is_whole_run, const std::vector<RankShare>& shares,
                 const std::vector<RankShare>& ideal, MeasuredRegion& region) {
  double& elapsed = region.totals.elapsed;
  if (is_whole_run) {
    std::vector<double>& off = region.off_by_rank;  // missing between begin and end of the run
    for (const MeasuredProcess& process : processes) {
      const Page& page = *process.page;
      const collect::Tick passed = page.end_tick != 0 ? page.end_tick - page.begin_tick : process.sums.elapsed;
      const collect::Tick counted = RegionUntil(page, page.region[0], process.sums).total.elapsed;
      off.push_back(passed > counted ? static_cast<double>(passed - counted) * process.seconds_a_tick : 0);
    }
    if (std::ranges::all_of(off, [](double seconds) { return seconds == 0; })) off.clear();
    region.is_whole_span = off.empty();
    if (region.is_whole_span) elapsed = WholeRunSpan(processes, elapsed);
  } else if (const std::optional<double> whole = WholeSpan(shares)) {
    region.is_whole_span = true;
    elapsed = std::max(elapsed, *whole);
    if (region.totals.ideal_elapsed > 0) region.totals.ideal_elapsed = WindowLength(ideal);
  }
}

bool AllHave(const Processes& members, collect::PageFlags flag) {
  return std::ranges::all_of(members, [&](const MeasuredProcess& member) { return (member.page->flags & flag) != 0; });
}

// Instructions and cycles where they are those of all useful time.
void AddCounters(const Processes& members, bool has_teams, bool is_hybrid, MeasuredRegion& region) {
  const bool counts_useful = !has_teams || (is_hybrid && AllHave(members, collect::kThreadsCounted));
  if (region.uses_devices || !counts_useful || !AllHave(members, collect::kHasCounters)) return;
  double instructions = 0, cycles = 0;
  for (const MeasuredProcess& member : members) {
    const Sums total = RegionUntil(*member.page, Record(member), member.sums).total;
    instructions += static_cast<double>(total.instructions);
    cycles += static_cast<double>(total.cycles);
  }
  if (cycles == 0) return;
  region.totals.instructions = instructions;
  region.totals.cycles = cycles;
}

// Those that have started the region.
Processes MembersIn(const Processes& processes, const std::string& name, bool is_whole_run) {
  Processes members;
  for (const MeasuredProcess& process : processes) {
    const int index = is_whole_run ? 0 : FindRegion(*process.page, name.c_str());
    if (index < 0 || process.page->region[index].starts == 0) continue;
    members.push_back(process);
    members.back().region = static_cast<std::uint32_t>(index);
  }
  return members;
}

MeasuredRegion Measure(const Processes& processes, const std::string& name, bool is_whole_run, bool knows_ideal) {
  MeasuredRegion region;
  region.name = collect::Printable(name);
  region.fewest_starts = ~std::uint64_t{0};
  const auto any = [&](auto has) {
    return std::ranges::any_of(processes, [&](const MeasuredProcess& p) { return has(*p.page); });
  };
  const bool has_teams = any(collect::HasTeams);
  region.uses_devices = any(collect::UsesDevices);
  const bool is_hybrid = (has_teams || region.uses_devices) &&
                         !any([](const Page& page) { return (page.flags & collect::kTooManyThreads) != 0; });
  const Processes members = MembersIn(processes, name, is_whole_run);
  std::vector<RankShare> shares, ideal;
  double in_runtime = 0, longest_ideal = 0, elapsed = 0;
  for (const MeasuredProcess& member : members) {
    const Page& page = *member.page;
    const RegionRecord record = RegionUntil(page, Record(member), member.sums);
    const Sums& total = record.total;
    const auto seconds = [&](std::uint64_t ticks) { return static_cast<double>(ticks) * member.seconds_a_tick; };
    RankShare& share = shares.emplace_back(ShareOf(page, record, member.seconds_a_tick, has_teams));
    share.node = static_cast<std::uint64_t>(member.node);
    ideal.push_back({.begin = seconds(record.first_start_ideal), .end = seconds(record.last_stop_ideal)});
    region.ranks.push_back(page.rank);
    region.fewest_starts = std::min(region.fewest_starts, record.starts);
    region.most_starts = std::max(region.most_starts, record.starts);
    region.is_open_somewhere |= record.open != 0 && !is_whole_run;
    region.elapsed_by_rank.push_back(share.elapsed);
    region.totals.elapsed = std::max(region.totals.elapsed, share.elapsed);
    region.mpi_calls += total.calls;
    region.mpi_calls_of_other_threads += total.other_calls;
    in_runtime += seconds(total.main_in_runtime);
    longest_ideal = std::max(longest_ideal, seconds(total.ideal));
    elapsed += share.elapsed;
    const double calls = static_cast<double>(total.calls);
    if (share.elapsed > 0)
      region.calls_a_millisecond = std::max(region.calls_a_millisecond, calls / (share.elapsed * 1e3));
  }
  if (knows_ideal && AllHave(members, collect::kHasIdeal)) region.totals.ideal_elapsed = longest_ideal;
  ResolveSpan(processes, is_whole_run, shares, ideal, region);
  if (region.uses_devices) region.devices = SumDevices(members, region.totals.elapsed);
  if (is_hybrid) region.totals.devices = TimesOfDevices(region.devices);
  UseShares(shares, is_hybrid, region);
  if (is_hybrid && elapsed > 0) region.runtime_share = in_runtime / elapsed;
  AddCounters(members, has_teams, is_hybrid, region);
  AddCpu(members, region);
  AddThreadsSeen(members, region);
  return region;
}

// The weight of a termination as the reason of those of other ranks: most an abort, then a fault, then a signal to end.
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

// The guard sees when processes that are killed are gone, and a launcher is quick to kill the others.
constexpr std::uint64_t kAtOnce = 20'000'000;  // ns; chosen: more than a scheduler needs to run the guard

std::vector<const Page*> FirstToEnd(const std::vector<Page>& pages) {
  // When ranks ended, since the first one of their node began: all nodes begin together, but their clocks do not
  // compare.
  std::map<std::string, std::uint64_t> begins;
  const auto host = [](const Page& page) { return Text(page.host, sizeof page.host); };
  for (const Page& page : pages) {
    std::uint64_t& begin = begins.try_emplace(host(page), page.begin_clock).first->second;
    begin = std::min(begin, page.begin_clock);
  }
  const auto end_of = [&](const Page& page) {
    return page.end_clock != 0 ? page.end_clock - begins.at(host(page)) : ~std::uint64_t{0};
  };
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
  if (!std::ranges::all_of(at_once, waited)) std::erase_if(at_once, waited);
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
  std::ranges::sort(run.ended_first);
}

}  // namespace

bool KnowsDevices(const Page& page) {
  const collect::DevicesRecord& devices = page.devices;
  const bool is_possible = devices.devices <= collect::kMostDevices && devices.sums <= collect::kMostDeviceSums;
  const bool is_complete = devices.is_complete != 0 && devices.has_no_room == 0;
  return is_possible && ((page.flags & collect::kHasDevices) == 0 || is_complete);
}

std::vector<MeasuredDevice> SumDevices(const Processes& users, double elapsed) {
  std::map<std::pair<int, std::string>, MeasuredDevice> devices;
  for (const MeasuredProcess& user : users) {
    if (!KnowsDevices(*user.page)) return {};
    const collect::DevicesRecord& record = user.page->devices;
    for (std::uint32_t i = 0; i < record.devices; ++i) {
      const std::string name = Name(record.name[i], collect::kDeviceNameBytes);
      MeasuredDevice& device = devices[{user.node, name}];
      device.name = name;
      device.node = user.node;
      device.ranks.push_back(user.page->rank);
      for (std::uint32_t sum = 0; sum < record.sums; ++sum) {
        if (record.sum[sum].region != user.region || record.sum[sum].device != i) continue;
        device.kernels += static_cast<double>(record.sum[sum].kernels) * 1e-9;
        device.active += static_cast<double>(record.sum[sum].active) * 1e-9;
      }
    }
  }
  std::vector<MeasuredDevice> all;
  for (auto& [key, device] : devices) {
    // Work of several ranks at the same time counts for each: what overlaps is not known.
    device.kernels = std::min(device.kernels, elapsed);
    device.active = std::min(device.active, elapsed);
    all.push_back(std::move(device));
  }
  const bool computed = std::ranges::any_of(all, [](const MeasuredDevice& device) { return device.kernels > 0; });
  return computed ? all : std::vector<MeasuredDevice>();
}

MeasuredRun Summarize(std::vector<Page> pages) {
  std::ranges::sort(pages, {}, &Page::rank);
  const Page& first = pages.front();
  MeasuredRun run;
  run.job = Text(first.job, sizeof first.job);
  run.program = Name(first.program, sizeof first.program);
  run.command = collect::Split(Text(first.command, sizeof first.command), "\n");
  run.mpi_library = Name(first.mpi_library, sizeof first.mpi_library);
  run.output = Text(first.output, sizeof first.output);
  run.ranks = first.ranks;
  run.threads = std::max(1, first.threads);
  run.started = first.started;
  run.clock_is_tsc = (first.flags & collect::kClockIsTsc) != 0;
  run.flags_of_all = first.flags;
  for (const Page& page : pages) {
    run.started = std::min(run.started, page.started);
    run.flags_of_any |= page.flags;
    run.flags_of_all &= page.flags;
    run.not_followed += page.not_followed;
    run.large_messages += page.large_messages;
    run.devices_unknown |= UsesDevices(page) && !KnowsDevices(page);
    run.device_work_lost += static_cast<double>(page.devices.lost) * 1e-9;
  }
  AddTermination(pages, run);
  const Processes processes = FindProcesses(pages, run);
  std::vector<std::string> names;  // regions as the pages name them
  for (const MeasuredProcess& process : processes) {
    const double flushed = static_cast<double>(process.page->flushed) * process.seconds_a_tick;
    run.flushed_largest = std::max(run.flushed_largest, flushed);
    for (std::uint32_t i = 1; i < process.page->regions; ++i) {
      const std::string name = Text(process.page->region[i].name, collect::kNameBytes);
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  // Clocks that waits were lost to say too little.
  const bool knows_ideal = run.not_followed == 0 && !run.Has(collect::kIdealRefused);
  run.regions.push_back(Measure(processes, "whole run", true, knows_ideal));
  for (const std::string& name : names) {
    MeasuredRegion region = Measure(processes, name, false, knows_ideal);
    if (!region.ranks.empty()) run.regions.push_back(std::move(region));
  }
  // The CPUs that their teams had, and those that were given.
  const auto known = static_cast<int>(run.regions.front().ranks.size());
  if (const auto& threads = run.regions.front().totals.threads) {
    run.threads = (static_cast<int>(threads->cpus) + known - 1) / known;
  }
  return run;
}

}  // namespace farscale
