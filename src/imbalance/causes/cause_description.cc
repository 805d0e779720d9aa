#include "imbalance/causes/cause_description.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "base/diagnostics.h"

namespace farscale {
namespace {

constexpr std::size_t kNamedRanks = 16;

Tick EnterOf(const RankActivities& own, std::uint32_t call) { return call < own.calls ? own.enter(call) : own.end(); }

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

template <typename Visit>
void CauseDescriber::ForEachWaitFor(std::size_t rank, Visit visit) const {
  for (const std::size_t waiting : loads_.ranks()) {
    for (const WaitState& wait : input_.states.ranks[waiting].waits) {
      if (wait.delayer == rank) visit(waiting, wait);
    }
  }
}

Cause CauseDescriber::Describe(const CauseCandidate& candidate) const {
  const LoadDeviation& deviation = candidate.deviation;
  const CallPaths& paths = input_.diagnosis.paths;
  Cause cause;
  cause.place = deviation.place;
  cause.in_everything = candidate.in_everything;
  const LoadSource& source = loads_.source(candidate.load);
  if (candidate.is_start || source.kind == LoadSource::Kind::kPath) {
    const PathId path = candidate.is_start ? kBeforePhase : source.path;
    cause.path = paths.Name(path);
    cause.innermost = paths.InnermostName(path);
    cause.is_mpi = paths.is_mpi(path);
  }
  cause.is_device_call = !candidate.is_start && loads_.is_of_devices(candidate.load);
  cause.rank_count = deviation.rows.size();
  for (const std::size_t row : deviation.rows) {
    if (cause.ranks.size() < kNamedRanks) cause.ranks.push_back(loads_.ranks()[row]);
  }
  if (deviation.node) {
    const std::string& name = input_.trace.nodes[static_cast<std::size_t>(*deviation.node)];
    cause.node = name.empty() ? std::to_string(*deviation.node) : name;
  }
  cause.socket = deviation.socket;
  cause.line = deviation.line;
  cause.level = deviation.level;
  cause.every = deviation.every;
  cause.affected = deviation.affected;
  cause.columns = candidate.is_start ? 1 : loads_.of(candidate.load).iterations;
  if (candidate.is_start) return cause;
  SetTimes(candidate, cause);
  cause.beyond = RasterOf(candidate);
  return cause;
}

LossRaster CauseDescriber::RasterOf(const CauseCandidate& candidate) const {
  const LoadMatrix& matrix = loads_.of(candidate.load);
  const std::size_t rows = matrix.ranks.size(), columns = matrix.iterations;
  LossRaster raster{std::min(kCauseCells, rows), std::min(kCauseCells, columns), {}};
  raster.cells.assign(raster.rows * raster.columns, 0);
  for (std::size_t i = 0; i < candidate.deviation.rows.size(); ++i) {
    const std::size_t row = candidate.deviation.rows[i];
    for (std::size_t column = 0; column < columns; ++column) {
      const double excess = matrix.At(row, column) * (1 - static_cast<double>(candidate.deviation.kept[i][column]));
      double& cell = raster.cells[row * raster.rows / rows * raster.columns + column * raster.columns / columns];
      cell = std::max(cell, excess / input_.trace.ticks_per_second);
    }
  }
  return raster;
}

// From the first to the last cell of those that are no matter of all the time.
void CauseDescriber::SetTimes(const CauseCandidate& candidate, Cause& cause) const {
  if (cause.affected == cause.columns) return;
  Tick first = std::numeric_limits<Tick>::max(), last = std::numeric_limits<Tick>::min();
  const std::size_t rows = std::min(kNamedRanks, candidate.deviation.rows.size());
  for (std::size_t i = 0; i < rows; ++i) {
    const std::size_t row = candidate.deviation.rows[i];
    const RankActivities& own = input_.activities.ranks[loads_.ranks()[row]];
    loads_.ForEachPiece(row, [&](const LoadPiece& piece) {
      if (piece.load != candidate.load || !candidate.deviation.IsAffected(i, piece.column)) return;
      first = std::min(first, own.edge(piece.activity));
      last = std::max(last, own.edge(piece.activity + 1));
    });
  }
  if (last < first) return;
  cause.from = Seconds(first);
  cause.until = Seconds(last);
}

// Of the first rank; nothing of those that only begin late.
std::optional<CauseDescriber::WorstCell> CauseDescriber::WorstCellOf(const CauseCandidate& candidate) const {
  if (candidate.is_start) return std::nullopt;
  const LoadMatrix& matrix = loads_.of(candidate.load);
  WorstCell worst;
  double largest = 0;
  const std::size_t rows = std::min(kNamedRanks, candidate.deviation.rows.size());
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t column = 0; column < matrix.iterations; ++column) {
      const std::size_t row = candidate.deviation.rows[i];
      const double excess = matrix.At(row, column) * (1 - static_cast<double>(candidate.deviation.kept[i][column]));
      if (excess <= largest) continue;
      largest = excess;
      worst.row = row;
      worst.column = column;
    }
  }
  if (largest <= 0) return std::nullopt;
  worst.is_whole = matrix.iterations == 1;
  worst.begin = std::numeric_limits<Tick>::max();
  worst.end = std::numeric_limits<Tick>::min();
  const RankActivities& own = input_.activities.ranks[loads_.ranks()[worst.row]];
  loads_.ForEachPiece(worst.row, [&](const LoadPiece& piece) {
    if (piece.load != candidate.load || piece.column != worst.column) return;
    worst.begin = std::min(worst.begin, own.edge(piece.activity));
    worst.end = std::max(worst.end, own.edge(piece.activity + 1));
  });
  return worst;
}

WaitInstance CauseDescriber::InstanceOf(std::size_t rank, std::uint32_t call, const WorstCell& worst) const {
  const RankActivities& own = input_.activities.ranks[rank];
  WaitInstance instance;
  instance.rank = rank;
  instance.end = instance.begin = Seconds(EnterOf(own, call));
  instance.delay = Seconds(worst.begin);
  instance.call = call < own.calls ? input_.diagnosis.paths.InnermostName(own.path_of_call(call))
                                   : input_.diagnosis.paths.InnermostName(kAfterPhase);
  std::vector<std::pair<Tick, std::size_t>> waiting;
  ForEachWaitFor(rank, [&](std::size_t other, const WaitState& wait) {
    if (wait.delayer_call != call) return;
    waiting.emplace_back(-wait.length, other);
    instance.kind = wait.kind;
    instance.seconds += input_.trace.Seconds(wait.length);
    instance.begin = std::min(instance.begin, instance.end - input_.trace.Seconds(wait.length));
  });
  std::ranges::sort(waiting);
  instance.waiting_count = waiting.size();
  for (const auto& [length, other] : waiting) {
    if (instance.waiting.size() < kNamedRanks) instance.waiting.push_back(other);
  }
  return instance;
}

std::optional<WaitInstance> CauseDescriber::WorstOf(const CauseCandidate& candidate) const {
  const std::optional<WorstCell> worst = WorstCellOf(candidate);
  if (!worst) return std::nullopt;
  const std::size_t rank = loads_.ranks()[worst->row];
  const RankActivities& own = input_.activities.ranks[rank];
  std::optional<std::uint32_t> call;
  Tick best = std::numeric_limits<Tick>::max();
  ForEachWaitFor(rank, [&](std::size_t, const WaitState& wait) {
    const Tick enter = EnterOf(own, wait.delayer_call);
    const Tick rating = worst->is_whole ? -wait.length : enter;
    if ((!worst->is_whole && enter < worst->end) || rating >= best) return;
    best = rating;
    call = wait.delayer_call;
  });
  return call ? std::optional(InstanceOf(rank, *call, *worst)) : std::nullopt;
}

namespace {

// Ranks that are compared on either side; chosen, as one slow rank says as much as all.
constexpr std::size_t kRows = 16;
// Counters of a call path must be sampled at its edges; chosen.
constexpr double kSampledEdges = 0.9;

std::optional<std::size_t> CounterOf(const Trace& trace, CounterMeaning meaning, const CounterNames& names) {
  try {
    return ChooseCounter(trace, meaning, names);
  } catch (const Error&) {  // said where factors are measured
    return std::nullopt;
  }
}

// Some of them, evenly.
std::vector<std::size_t> Sample(const std::vector<std::size_t>& rows) {
  if (rows.size() <= kRows) return rows;
  std::vector<std::size_t> some;
  for (std::size_t i = 0; i < kRows; ++i) some.push_back(rows[i * rows.size() / kRows]);
  return some;
}

// Values of a counter at the edges of activities, asked for in the order of time.
class EdgeCounts {
 public:
  EdgeCounts(const RankTimeline& timeline, const RankActivities& own) : timeline_(timeline), own_(own) {}

  // Finds the edges of an activity that is no call.
  bool Find(const LoadPiece& piece) {
    begins_visit_ = false;
    const std::size_t a = piece.activity;
    const std::size_t next = own_.first_call + piece.call;
    begin_is_call_ = piece.call > 0 && own_.activity_of(piece.call - 1) + std::size_t{1} == a;
    end_is_call_ = piece.call < own_.calls && own_.activity_of(piece.call) == a + 1;
    call_ = next;
    const bool has_event = FindEvent(own_.edge(a), begin_event_);
    begins_visit_ = has_event && EntersAt(own_.edge(a));
    if (!begin_is_call_ && !has_event) return false;
    return end_is_call_ || FindEvent(own_.edge(a + 1), end_event_);
  }

  // Whether the rank enters the region with it, rather than comes back from a call or another region.
  bool begins_visit() const { return begins_visit_; }

  double Count(std::size_t counter) const {
    const double begin = begin_is_call_ ? timeline_.counter_at_leave(counter, call_ - 1)
                                        : timeline_.counter_at_event(counter, begin_event_);
    const double end =
        end_is_call_ ? timeline_.counter_at_enter(counter, call_) : timeline_.counter_at_event(counter, end_event_);
    return end - begin;
  }

 private:
  // Whether the last event at that time enters a region, behind the call before.
  bool EntersAt(Tick tick) const {
    std::size_t last = begin_event_;
    while (last + 1 < timeline_.region_events() && timeline_.event_tick(last + 1) == tick) ++last;
    const RankTimeline::RegionEvent event = timeline_.region_event(last);
    return !event.is_leave && event.call == call_;
  }

  bool FindEvent(Tick tick, std::size_t& event) {
    while (next_ < timeline_.region_events() && timeline_.event_tick(next_) < tick) ++next_;
    event = next_;
    return next_ < timeline_.region_events() && timeline_.event_tick(next_) == tick;
  }

  const RankTimeline& timeline_;
  const RankActivities& own_;
  bool begin_is_call_ = false, end_is_call_ = false, begins_visit_ = false;
  std::size_t call_ = 0, begin_event_ = 0, end_event_ = 0, next_ = 0;
};

// The logarithm of how many times as large it is; 0 where that is unknown.
double Growth(double now, double usual) { return now > 0 && usual > 0 ? std::log(now / usual) : 0; }

// Of what made the time longer each its share; what made it shorter has none.
std::vector<CausePart> Normalised(std::vector<CausePart> parts) {
  double whole = 0;
  for (CausePart& part : parts) whole += part.share = std::max(0.0, part.share);
  if (whole <= 0) return {{CauseClass::kUnknown, 1}};
  for (CausePart& part : parts) part.share /= whole;
  std::erase_if(parts, [](const CausePart& part) { return part.share < 0.005; });
  std::ranges::stable_sort(parts, std::greater(), &CausePart::share);
  return parts;
}

}  // namespace

struct CauseClassifier::Sums {
  double ticks = 0;    // of all pieces
  double counted = 0;  // of those with counters
  double instructions = 0, cycles = 0, cpu_ticks = 0;
  double visits = 0;
  double cells = 0;
};

CauseClassifier::CauseClassifier(const Trace& trace, const Activities& activities, const LoadTables& loads,
                                 const CounterNames& names)
    : trace_(trace),
      activities_(activities),
      loads_(loads),
      instructions_(CounterOf(trace, CounterMeaning::kInstructions, names)),
      cycles_(CounterOf(trace, CounterMeaning::kCycles, names)),
      cpu_time_(CounterOf(trace, CounterMeaning::kCpuTime, names)) {}

template <typename IsWanted>
void CauseClassifier::AddRow(std::size_t load, std::size_t row, IsWanted is_wanted, Sums& sums) const {
  const std::size_t rank = loads_.ranks()[row];
  const RankTimeline& timeline = trace_.timelines[rank];
  EdgeCounts edges(timeline, activities_.ranks[rank]);
  const auto known = [&](const std::optional<std::size_t>& counter) {
    return counter && timeline.has_counter(*counter) && timeline.counter_is_reliable(*counter) &&
           timeline.counter_edge_share(*counter) >= kSampledEdges;
  };
  const bool has_instructions = known(instructions_), has_cycles = known(cycles_), has_cpu = known(cpu_time_);
  const double cpu_ticks = has_cpu ? trace_.ticks_per_second / CountsPerSecond(trace_.counters[*cpu_time_]) : 0;
  std::set<std::size_t> columns;
  loads_.ForEachPiece(row, [&](const LoadPiece& piece) {
    if (piece.load != load || !is_wanted(piece.column)) return;
    columns.insert(piece.column);
    sums.ticks += static_cast<double>(piece.execution);
    const bool has_edges = !piece.is_call && edges.Find(piece);
    sums.visits += piece.is_call || edges.begins_visit() ? 1 : 0;
    if (!has_edges) return;
    sums.counted += static_cast<double>(piece.execution);
    if (has_instructions) sums.instructions += edges.Count(*instructions_);
    if (has_cycles) sums.cycles += edges.Count(*cycles_);
    if (has_cpu) sums.cpu_ticks += edges.Count(*cpu_time_) * cpu_ticks;
  });
  sums.cells += static_cast<double>(columns.size());
}

std::vector<CausePart> CauseClassifier::PartsOf(std::size_t load, const LoadDeviation& deviation) const {
  // Counters count how a host waits, and calls that ask whether a device is done are the more the longer it takes.
  if (loads_.is_of_devices(load)) return {{CauseClass::kDeviceWait, 1}};
  if (deviation.place == CausePlace::kAlone) return {{CauseClass::kMoreWork, 1}};
  const LoadMatrix& matrix = loads_.of(load);
  Sums slow, usual;
  const bool by_degrees = deviation.place == CausePlace::kByDegrees;
  std::set<std::size_t> rows;
  std::vector<std::size_t> indices(deviation.rows.size());
  std::iota(indices.begin(), indices.end(), 0);
  for (const std::size_t index : Sample(indices)) {
    const std::size_t row = deviation.rows[index];
    if (by_degrees) {
      AddRow(
          load, row, [](std::size_t) { return true; }, deviation.kept[index].front() < 1 ? slow : usual);
      continue;
    }
    AddRow(
        load, row, [&](std::size_t column) { return deviation.IsAffected(index, column); }, slow);
    AddRow(
        load, row, [&](std::size_t column) { return !deviation.IsAffected(index, column); }, usual);
  }
  rows.insert(deviation.rows.begin(), deviation.rows.end());
  if (usual.cells == 0) {
    std::vector<std::size_t> others;
    for (std::size_t row = 0; row < matrix.ranks.size(); ++row) {
      if (rows.count(row) == 0) others.push_back(row);
    }
    for (const std::size_t row : Sample(others))
      AddRow(
          load, row, [](std::size_t) { return true; }, usual);
  }
  if (usual.cells == 0 || usual.ticks <= 0) return {{CauseClass::kMoreWork, 1}};  // nobody else does it
  const auto growth = [&](double now, double then) { return Growth(now / slow.cells, then / usual.cells); };
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
    const bool lasts = deviation.place == CausePlace::kRank || deviation.place == CausePlace::kRanks ||
                       deviation.place == CausePlace::kNode || deviation.place == CausePlace::kPlane ||
                       deviation.place == CausePlace::kSocket || by_degrees ||
                       deviation.place == CausePlace::kFromTime || deviation.place == CausePlace::kForAWhile;
    add(lasts ? CauseClass::kLowerFrequency : CauseClass::kInterruptions,
        growth(slow.counted, usual.counted) - growth(slow.cycles, usual.cycles));
  }
  if (rest > 0.02 * whole) parts.push_back({CauseClass::kUnknown, rest});
  return Normalised(std::move(parts));
}

}  // namespace farscale
