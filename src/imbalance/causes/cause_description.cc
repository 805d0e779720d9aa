#include "imbalance/causes/find_causes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "base/diagnostics.h"

namespace farscale {
namespace {

constexpr std::size_t kNamedRanks = 16;

Tick Enter(const RankActivities& own, std::uint32_t call) { return call < own.calls ? own.enter(call) : own.end(); }

double SecondsSinceBegin(const Trace& trace, Tick tick) { return trace.Seconds(tick - trace.begin()); }

// From the begin of the first to the end of the last piece of a row that is wanted.
template <typename IsWanted>
TickRange PieceSpan(const WaitStates& states, const LoadTables& loads, std::size_t row, const IsWanted& is_wanted) {
  TickRange span{std::numeric_limits<Tick>::max(), std::numeric_limits<Tick>::min()};
  const RankActivities& own = states.activities.ranks[loads.ranks()[row]];
  loads.ForEachPiece(states, row, [&](const LoadPiece& piece) {
    if (!is_wanted(piece)) return;
    span.first = std::min(span.first, own.edge(piece.activity));
    span.second = std::max(span.second, own.edge(piece.activity + 1));
  });
  return span;
}

// The times of cells that are no matter of all the time.
void SetTimes(const Trace& trace, const WaitStates& states, const LoadTables& loads, const CauseCandidate& candidate,
              Cause& cause) {
  if (cause.affected == cause.columns) return;
  TickRange all{std::numeric_limits<Tick>::max(), std::numeric_limits<Tick>::min()};
  for (std::size_t i = 0; i < std::min(kNamedRanks, candidate.deviation.rows.size()); ++i) {
    const TickRange of_row = PieceSpan(states, loads, candidate.deviation.rows[i], [&](const LoadPiece& piece) {
      return piece.load == candidate.load && candidate.deviation.IsAffected(i, piece.column);
    });
    all = {std::min(all.first, of_row.first), std::max(all.second, of_row.second)};
  }
  if (all.second < all.first) return;
  cause.from = SecondsSinceBegin(trace, all.first);
  cause.until = SecondsSinceBegin(trace, all.second);
}

// Calls visit(rank, wait) for every wait for this rank.
template <typename Visit>
void ForEachWaitFor(const WaitStates& states, const LoadTables& loads, std::size_t rank, Visit visit) {
  for (const std::size_t waiting : loads.ranks()) {
    for (const WaitState& wait : states.ranks[waiting].waits) {
      if (wait.delayer == rank) visit(waiting, wait);
    }
  }
}

// Ranks that are compared on either side; chosen, as one slow rank says as much as all.
constexpr std::size_t kRows = 16;
// Counters of a call path must be sampled at its edges; chosen.
constexpr double kSampledEdges = 0.9;

// Places among so many rows, evenly.
std::vector<std::size_t> Sample(std::size_t rows) {
  std::vector<std::size_t> some;
  for (std::size_t i = 0; i < std::min(kRows, rows); ++i) some.push_back(rows <= kRows ? i : i * rows / kRows);
  return some;
}

// The edges of an activity that is no call, where counters have values.
struct PieceEdges {
  bool begin_is_call = false, end_is_call = false;
  bool begins_visit = false;  // the rank enters the region with it, rather than comes back to it
  std::size_t call = 0, begin_event = 0, end_event = 0;
  std::size_t next = 0;  // event
};

// Finds the edges of an activity that is no call.
bool FindEdges(const RankTimeline& timeline, const RankActivities& own, PieceEdges& edges, const LoadPiece& piece) {
  const std::size_t events = timeline.region_events(), a = piece.activity;
  const auto find_event = [&](Tick tick, std::size_t& event) {
    while (edges.next < events && timeline.event_tick(edges.next) < tick) ++edges.next;
    event = edges.next;
    return event < events && timeline.event_tick(event) == tick;
  };
  edges.begin_is_call = piece.call > 0 && own.activity_of(piece.call - 1) + std::size_t{1} == a;
  edges.end_is_call = piece.call < own.calls && own.activity_of(piece.call) == a + 1;
  edges.call = own.first_call + piece.call;
  const bool has_event = find_event(own.edge(a), edges.begin_event);
  edges.begins_visit = false;
  if (has_event) {
    // The last event at that time enters a region, behind the call before.
    std::size_t last = edges.begin_event;
    while (last + 1 < events && timeline.event_tick(last + 1) == own.edge(a)) ++last;
    const RankTimeline::RegionEvent event = timeline.region_event(last);
    edges.begins_visit = !event.is_leave && event.call == edges.call;
  }
  if (!edges.begin_is_call && !has_event) return false;
  return edges.end_is_call || find_event(own.edge(a + 1), edges.end_event);
}

double CountBetween(const RankTimeline& timeline, const PieceEdges& edges, std::size_t counter) {
  const double begin = edges.begin_is_call ? timeline.counter_at_leave(counter, edges.call - 1)
                                           : timeline.counter_at_event(counter, edges.begin_event);
  const double end = edges.end_is_call ? timeline.counter_at_enter(counter, edges.call)
                                       : timeline.counter_at_event(counter, edges.end_event);
  return end - begin;
}

// Sums over some cells of a load.
struct CellSums {
  double ticks = 0;    // all pieces
  double counted = 0;  // those with counters
  double instructions = 0, cycles = 0, cpu_ticks = 0;
  double visits = 0;
  double cells = 0;
};

using CauseCounters = std::array<std::optional<std::size_t>, 3>;  // instructions, cycles, CPU time

// Without those that a rank does not have, or not where it enters and leaves call paths.
CauseCounters KnownCounters(const RankTimeline& timeline, CauseCounters counters) {
  for (std::optional<std::size_t>& counter : counters) {
    const bool is_known = counter && timeline.has_counter(*counter) && timeline.counter_is_reliable(*counter) &&
                          timeline.counter_edge_share(*counter) >= kSampledEdges;
    if (!is_known) counter.reset();
  }
  return counters;
}

// A part has the share of the logarithms of the ratios that is its own.
std::vector<CausePart> ComparePlaces(const CellSums& slow, const CellSums& usual, CausePlace place) {
  // The logarithm of how many times as large it is in a cell; 0 where that is unknown.
  const auto growth = [&](double now, double then) {
    const double here = now / slow.cells, there = then / usual.cells;
    return here > 0 && there > 0 ? std::log(here / there) : 0;
  };
  const double whole = growth(slow.ticks, usual.ticks);
  const double calls = std::max(0.0, growth(slow.visits, usual.visits));
  const bool has_instructions = slow.instructions > 0 && usual.instructions > 0;
  const bool has_cycles = slow.cycles > 0 && usual.cycles > 0;
  const bool has_cpu = slow.cpu_ticks > 0 && usual.cpu_ticks > 0;
  std::vector<CausePart> parts;
  double rest = whole;
  const auto add = [&](CauseClass reason, double share) {
    parts.push_back({reason, share});
    rest -= share;
  };
  if (has_instructions) {
    const double work = growth(slow.instructions, usual.instructions);
    const double of_calls = std::clamp(work, 0.0, calls);
    add(CauseClass::kMoreCalls, of_calls);
    add(CauseClass::kMoreWork, work - of_calls);
    if (has_cycles) add(CauseClass::kLowerIpc, growth(slow.cycles, usual.cycles) - work);
  } else {
    add(CauseClass::kMoreCalls, std::min(calls, whole));
  }
  if (has_cpu) {
    const double running = growth(slow.cpu_ticks, usual.cpu_ticks);
    add(CauseClass::kInterruptions, growth(slow.counted, usual.counted) - running);
    if (has_cycles) add(CauseClass::kLowerFrequency, running - growth(slow.cycles, usual.cycles));
  } else if (has_cycles) {
    // Cycles do not pass while a process is interrupted, which does not last; a slow clock does.
    using enum CausePlace;
    const bool lasts = place == kRank || place == kRanks || place == kNode || place == kPlane || place == kSocket ||
                       place == kByDegrees || place == kFromTime || place == kForAWhile;
    add(lasts ? CauseClass::kLowerFrequency : CauseClass::kInterruptions,
        growth(slow.counted, usual.counted) - growth(slow.cycles, usual.cycles));
  }
  if (rest > 0.02 * whole) parts.push_back({CauseClass::kUnknown, rest});
  // Everything that made the time longer has its share; what made it shorter has none.
  double longer = 0;
  for (auto& [reason, share] : parts) longer += share = std::max(0.0, share);
  if (longer <= 0) return {{CauseClass::kUnknown, 1}};
  for (auto& [reason, share] : parts) share /= longer;
  std::erase_if(parts, [](const CausePart& part) { return part.second < 0.005; });
  std::ranges::stable_sort(parts, std::greater(), &CausePart::second);
  return parts;
}

CauseCounters ChooseCauseCounters(const Trace& trace, const CounterNames& names) {
  const auto find = [&](CounterMeaning meaning) -> std::optional<std::size_t> {
    try {
      return ChooseCounter(trace, meaning, names);
    } catch (const Error&) {  // said where factors are measured
      return std::nullopt;
    }
  };
  return {find(CounterMeaning::kInstructions), find(CounterMeaning::kCycles), find(CounterMeaning::kCpuTime)};
}

}  // namespace

std::string_view IdOf(CausePlace place) {
  constexpr std::string_view kIds[kCausePlaces] = {"rank",     "ranks",         "node",      "alone", "byDegrees",
                                                   "fromTime", "forAWhile",     "noisyRank", "once",  "periodic",
                                                   "startUp",  "movingHotSpot", "gridLine",  "socket"};
  return kIds[static_cast<std::size_t>(place)];
}

std::string_view IdOf(CauseClass reason) {
  constexpr std::string_view kIds[kCauseClasses] = {"unknown",        "moreWork",      "moreCalls", "lowerIpc",
                                                    "lowerFrequency", "interruptions", "deviceWait"};
  return kIds[static_cast<std::size_t>(reason)];
}

Cause DescribeCause(const Trace& trace, const WaitStates& states, const LoadTables& loads,
                    const CauseCandidate& candidate) {
  const LoadDeviation& deviation = candidate.deviation;
  const CallPaths& paths = states.activities.paths;
  Cause cause;
  cause.place = deviation.place;
  cause.in_everything = !candidate.is_start && loads.is_of_all(candidate.load);
  if (!cause.in_everything) {
    const PathId path = candidate.is_start ? kBeforePhase : loads.path(candidate.load);
    cause.path = paths.Name(path);
    cause.innermost = paths.InnermostName(path);
    cause.is_mpi = paths.is_mpi(path);
  }
  cause.is_device_call = !candidate.is_start && loads.is_of_devices(paths, candidate.load);
  cause.rank_count = deviation.rows.size();
  for (const std::size_t row : deviation.rows) {
    if (cause.ranks.size() < kNamedRanks) cause.ranks.push_back(loads.ranks()[row]);
  }
  if (deviation.node) {
    const std::string& name = trace.nodes[static_cast<std::size_t>(*deviation.node)];
    cause.node = name.empty() ? std::to_string(*deviation.node) : name;
  }
  cause.socket = deviation.socket;
  cause.line = deviation.line;
  cause.level = deviation.level;
  cause.every = deviation.every;
  cause.affected = deviation.affected;
  cause.columns = candidate.is_start ? 1 : loads.of(candidate.load).iterations;
  if (candidate.is_start) return cause;
  SetTimes(trace, states, loads, candidate, cause);
  const LoadMatrix& matrix = loads.of(candidate.load);
  const std::size_t rows = matrix.ranks.size();
  LossRaster& raster = cause.beyond = {std::min(kCauseCells, rows), std::min(kCauseCells, cause.columns), {}};
  raster.cells.assign(raster.rows * raster.columns, 0);
  for (std::size_t i = 0; i < deviation.rows.size(); ++i) {
    const std::size_t first_cell = deviation.rows[i] * raster.rows / rows * raster.columns;
    for (std::size_t column = 0; column < cause.columns; ++column) {
      double& cell = raster.cells[first_cell + column * raster.columns / cause.columns];
      cell = std::max(cell, deviation.Excess(matrix, i, column) / trace.ticks_per_second);
    }
  }
  return cause;
}

std::optional<WaitInstance> FindWorstWait(const Trace& trace, const WaitStates& states, const LoadTables& loads,
                                          const CauseCandidate& candidate) {
  if (candidate.is_start) return std::nullopt;
  // The cell with most beyond the usual.
  const LoadMatrix& matrix = loads.of(candidate.load);
  std::size_t row = 0, column = 0;
  double largest = 0;
  for (std::size_t i = 0; i < std::min(kNamedRanks, candidate.deviation.rows.size()); ++i) {
    for (std::size_t k = 0; k < matrix.iterations; ++k) {
      const double excess = candidate.deviation.Excess(matrix, i, k);
      if (excess <= largest) continue;
      largest = excess;
      row = candidate.deviation.rows[i];
      column = k;
    }
  }
  if (largest <= 0) return std::nullopt;
  const TickRange cell = PieceSpan(states, loads, row, [&](const LoadPiece& piece) {
    return piece.load == candidate.load && piece.column == column;
  });
  const bool is_whole = matrix.iterations == 1;
  const std::size_t rank = loads.ranks()[row];
  const RankActivities& own = states.activities.ranks[rank];
  std::optional<std::uint32_t> call;
  Tick best = std::numeric_limits<Tick>::max();
  ForEachWaitFor(states, loads, rank, [&](std::size_t, const WaitState& wait) {
    const Tick enter = Enter(own, wait.delayer_call);
    const Tick rating = is_whole ? -wait.length : enter;
    if ((!is_whole && enter < cell.second) || rating >= best) return;
    best = rating;
    call = wait.delayer_call;
  });
  if (!call) return std::nullopt;
  WaitInstance instance;
  instance.rank = rank;
  instance.end = instance.begin = SecondsSinceBegin(trace, Enter(own, *call));
  instance.delay = SecondsSinceBegin(trace, cell.first);
  instance.call = states.activities.paths.InnermostName(*call < own.calls ? own.path_of_call(*call) : kAfterPhase);
  std::vector<std::pair<Tick, std::size_t>> longest_first;
  ForEachWaitFor(states, loads, rank, [&](std::size_t other, const WaitState& wait) {
    if (wait.delayer_call != *call) return;
    longest_first.emplace_back(-wait.length, other);
    instance.kind = wait.kind;
    instance.seconds += trace.Seconds(wait.length);
    instance.begin = std::min(instance.begin, instance.end - trace.Seconds(wait.length));
  });
  std::ranges::sort(longest_first);
  instance.waiting_count = longest_first.size();
  for (const auto& [length, other] : longest_first) {
    if (instance.waiting.size() < kNamedRanks) instance.waiting.push_back(other);
  }
  return instance;
}

std::vector<CausePart> FindCauseParts(const Trace& trace, const WaitStates& states, const LoadTables& loads,
                                      const CounterNames& names, const CauseCandidate& candidate) {
  const LoadDeviation& deviation = candidate.deviation;
  const std::size_t load = candidate.load;
  // Counters count how a host waits, and calls that ask whether a device is done are the more the longer it takes.
  if (loads.is_of_devices(states.activities.paths, load)) return {{CauseClass::kDeviceWait, 1}};
  if (deviation.place == CausePlace::kAlone) return {{CauseClass::kMoreWork, 1}};
  const CauseCounters counters = ChooseCauseCounters(trace, names);
  CellSums slow, usual;
  // Adds the cells of a row for which is_wanted(column) holds.
  const auto add = [&](std::size_t row, auto is_wanted, CellSums& sums) {
    const std::size_t rank = loads.ranks()[row];
    const RankTimeline& timeline = trace.timelines[rank];
    const auto [instructions, cycles, cpu_time] = KnownCounters(timeline, counters);
    const double cpu_ticks = cpu_time ? trace.ticks_per_second / CountsPerSecond(trace.counters[*cpu_time]) : 0;
    PieceEdges edges;
    std::set<std::size_t> columns;
    loads.ForEachPiece(states, row, [&](const LoadPiece& piece) {
      if (piece.load != load || !is_wanted(piece.column)) return;
      columns.insert(piece.column);
      sums.ticks += static_cast<double>(piece.execution);
      const bool has_edges = !piece.is_call && FindEdges(timeline, states.activities.ranks[rank], edges, piece);
      sums.visits += piece.is_call || edges.begins_visit ? 1 : 0;
      if (!has_edges) return;
      sums.counted += static_cast<double>(piece.execution);
      if (instructions) sums.instructions += CountBetween(timeline, edges, *instructions);
      if (cycles) sums.cycles += CountBetween(timeline, edges, *cycles);
      if (cpu_time) sums.cpu_ticks += CountBetween(timeline, edges, *cpu_time) * cpu_ticks;
    });
    sums.cells += static_cast<double>(columns.size());
  };
  const auto everywhere = [](std::size_t) { return true; };
  for (const std::size_t index : Sample(deviation.rows.size())) {
    const std::size_t row = deviation.rows[index];
    if (deviation.place == CausePlace::kByDegrees) {
      add(row, everywhere, deviation.kept[index].front() < 1 ? slow : usual);
      continue;
    }
    const auto is_affected = [&](std::size_t column) { return deviation.IsAffected(index, column); };
    add(row, is_affected, slow);
    add(row, std::not_fn(is_affected), usual);
  }
  if (usual.cells == 0) {
    const std::set<std::size_t> rows(deviation.rows.begin(), deviation.rows.end());
    std::vector<std::size_t> others;
    for (std::size_t row = 0; row < loads.ranks().size(); ++row) {
      if (!rows.contains(row)) others.push_back(row);
    }
    for (const std::size_t index : Sample(others.size())) add(others[index], everywhere, usual);
  }
  if (usual.cells == 0 || usual.ticks <= 0) return {{CauseClass::kMoreWork, 1}};  // nobody else does it
  return ComparePlaces(slow, usual, deviation.place);
}

}  // namespace farscale
