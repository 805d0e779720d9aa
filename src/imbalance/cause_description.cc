#include "imbalance/cause_description.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

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

}  // namespace farscale
