#include "imbalance/causes/load_matrix.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "base/parallel.h"
#include "replay/computation.h"

namespace farscale {
namespace {

constexpr double kShortestStep = 0.001;  // share of the computation of the rank in the iteration; chosen

// A call to a device, and the ticks of those before it.
struct DeviceCall {
  Tick begin, end, before;
};

// Time of a rank in calls to devices up to a tick.
Tick InDevices(const std::vector<DeviceCall>& calls, Tick tick) {
  const auto behind = std::ranges::upper_bound(calls, tick, {}, &DeviceCall::begin);
  if (behind == calls.begin()) return 0;
  const DeviceCall& last = *std::prev(behind);
  return last.before + std::min(tick, last.end) - last.begin;
}

std::vector<double> Steps(const RankTimeline& timeline, const Interval& iteration,
                          const std::vector<DeviceCall>& device_calls) {
  std::vector<double> steps;
  double all = 0;
  for (std::size_t call = iteration.begin.call; call <= iteration.end.call; ++call) {
    const Tick begin = std::max(iteration.begin.tick, BurstBegin(timeline, call));
    const Tick end = call < iteration.end.call ? timeline.enter(call) : iteration.end.tick;
    const Tick in_devices = InDevices(device_calls, end) - InDevices(device_calls, begin);
    steps.push_back(static_cast<double>(std::max<Tick>(0, end - begin - in_devices)));
    all += steps.back();
  }
  std::erase_if(steps, [&](double step) { return step <= kShortestStep * all; });
  return steps;
}

// Cells of one load at most, beyond which neighbouring columns are joined; chosen: a table is smaller than the trace.
constexpr std::size_t kMostCells = std::size_t{1} << 22;

}  // namespace

std::vector<double> LoadMatrix::Sums() const {
  std::vector<double> sums;
  for (std::size_t row = 0; row < ranks.size(); ++row) {
    sums.push_back(std::accumulate(Row(row).begin(), Row(row).end(), 0.0));
  }
  return sums;
}

bool IsOutsideMpi(const CallPaths& paths, PathId path) {
  return !paths.is_mpi(path) && !paths.is_before_phase(path) && path != kBetweenOccurrences && path != kAfterPhase;
}

bool IsDeviceCall(const CallPaths& paths, PathId path) {
  return paths.is_device_call(path) && IsOutsideMpi(paths, path);
}

bool IsUseful(const CallPaths& paths, PathId path) { return !paths.is_device_call(path) && IsOutsideMpi(paths, path); }

LoadMatrix FindLoad(const Trace& trace, const PhaseCut& cut, const WaitStates& states, std::optional<PathId> path) {
  const Activities& activities = states.activities;
  LoadMatrix load;
  for (std::size_t rank = 0; rank < activities.ranks.size(); ++rank) {
    if (activities.ranks[rank].present) load.ranks.push_back(rank);
  }
  std::set<std::size_t> counts;  // iterations, as ranks have them
  for (const RankCut& rank : cut.ranks) {
    if (rank.present) counts.insert(rank.iterations.size());
  }
  load.iterations = counts.size() == 1 ? std::max<std::size_t>(1, *counts.begin()) : 1;
  load.seconds.resize(load.ranks.size() * load.iterations);
  std::vector<char> is_wanted(activities.paths.size());
  for (PathId other = 0; other < is_wanted.size(); ++other) {
    is_wanted[other] = path ? other == *path : IsUseful(activities.paths, other);
  }
  ParallelFor(load.ranks.size(), [&](std::size_t i) {
    const RankActivities& own = activities.ranks[load.ranks[i]];
    const std::vector<Interval>& iterations = cut.ranks[load.ranks[i]].iterations;
    WaitsByCall waits(states.ranks[load.ranks[i]].waits);
    std::vector<Tick> row(load.iterations);
    std::size_t call = 0, column = 0;
    std::size_t next_call = own.activity_of(0);
    for (std::size_t a = 0; a < own.size(); ++a) {
      const bool is_call = a == next_call;
      if (is_wanted[own.path(a)] && is_call) {
        const std::uint32_t occurrence = own.occurrence(call);
        row[std::min<std::size_t>(occurrence == kNoCall ? 0 : occurrence, row.size() - 1)] +=
            own.ticks(a) - waits.Length(call);
      } else if (is_wanted[own.path(a)]) {
        // An iteration lasts until its end, from the end of the one before on.
        Tick begin = own.edge(a);
        const Tick end = own.edge(a + 1);
        while (column + 1 < row.size() && iterations[column].end.tick <= begin) ++column;
        for (std::size_t k = column; begin < end; ++k) {
          const Tick until = k + 1 < row.size() ? std::min(end, iterations[k].end.tick) : end;
          row[k] += until - begin;
          begin = until;
        }
      }
      if (is_call && ++call <= own.calls) next_call = own.activity_of(call);
    }
    for (std::size_t k = 0; k < row.size(); ++k) load.seconds[i * load.iterations + k] = trace.Seconds(row[k]);
  });
  return load;
}

std::optional<double> ImbalanceInSteps(const Trace& trace, const PhaseCut& cut, const Activities& activities) {
  double largest = 0, average = 0, ranks = 0;
  for (const RankCut& rank : cut.ranks) {
    ranks += rank.present ? 1 : 0;
    if (rank.present && rank.iterations.size() != cut.iterations) return std::nullopt;
  }
  if (ranks < 2) return std::nullopt;
  std::vector<std::vector<DeviceCall>> device_calls(cut.ranks.size());
  for (std::size_t rank = 0; rank < activities.ranks.size(); ++rank) {
    const RankActivities& own = activities.ranks[rank];
    Tick before = 0;
    for (std::size_t a = 0; a + 1 < own.size(); ++a) {
      if (!activities.paths.is_device_call(own.path(a))) continue;
      device_calls[rank].push_back({own.edge(a), own.edge(a + 1), before});
      before += own.ticks(a);
    }
  }
  for (std::size_t i = 0; i < cut.iterations; ++i) {
    std::optional<std::vector<double>> most;
    for (std::size_t rank = 0; rank < cut.ranks.size(); ++rank) {
      if (!cut.ranks[rank].present) continue;
      const std::vector<double> steps = Steps(trace.timelines[rank], cut.ranks[rank].iterations[i], device_calls[rank]);
      if (!most) most.emplace(steps.size());
      if (steps.size() != most->size()) return std::nullopt;
      for (std::size_t k = 0; k < steps.size(); ++k) {
        (*most)[k] = std::max((*most)[k], steps[k]);
        average += steps[k] / ranks;
      }
    }
    for (const double step : *most) largest += step;
  }
  if (largest <= 0) return std::nullopt;
  return std::max(0.0, (largest - average) / largest * ranks / (ranks - 1));
}

bool LoadTables::Has(const CallPaths& paths, std::size_t load, PathId path) const {
  if (loads_[load] == kAllComputation) return IsUseful(paths, path);
  if (loads_[load] == kAllDeviceCalls) return IsDeviceCall(paths, path);
  return loads_[load] == path;
}

bool LoadTables::is_of_devices(const CallPaths& paths, std::size_t load) const {
  return loads_[load] == kAllDeviceCalls || (!is_of_all(load) && IsDeviceCall(paths, loads_[load]));
}

LoadTables::LoadTables(const PhaseCut& cut, const WaitStates& states, std::vector<PathId> loads)
    : loads_(std::move(loads)) {
  const Activities& activities = states.activities;
  for (std::size_t rank = 0; rank < activities.ranks.size(); ++rank) {
    if (activities.ranks[rank].present) ranks_.push_back(rank);
  }
  loads_of_path_.resize(activities.paths.size());
  for (std::size_t load = 0; load < loads_.size(); ++load) {
    for (PathId path = 0; path < loads_of_path_.size(); ++path) {
      if (Has(activities.paths, load, path)) loads_of_path_[path].push_back(load);
    }
  }
  const CollectiveWaits& collectives = states.collectives;
  std::vector<std::size_t> row_of(states.ranks.size());
  for (std::size_t row = 0; row < ranks_.size(); ++row) row_of[ranks_[row]] = row;
  step_ends_.resize(ranks_.size());
  for (std::uint32_t operation = 0; operation < collectives.operations(); ++operation) {
    if (collectives.pattern(operation) != CollectivePattern::kAllToAll) continue;
    const std::span<const Participant> all = collectives.participants(operation);
    if (all.size() != ranks_.size() || !std::ranges::all_of(all, &Participant::is_blocking)) continue;
    for (const Participant& one : all) step_ends_[row_of[one.rank]].push_back(one.call);
  }
  for (std::vector<std::uint32_t>& of_row : step_ends_) std::ranges::sort(of_row);
  ChooseColumns(cut, activities);
  ParallelFor(ranks_.size(), [&](std::size_t row) {
    ForEachPiece(states, row, [&](const LoadPiece& piece) {
      LoadMatrix& matrix = matrices_[piece.load];
      matrix.seconds[row * matrix.iterations + piece.column] += static_cast<double>(piece.execution);
    });
  });
}

void LoadTables::ChooseColumns(const PhaseCut& cut, const Activities& activities) {
  std::vector<std::vector<std::uint64_t>> visits(loads_.size(), std::vector<std::uint64_t>(ranks_.size()));
  ParallelFor(ranks_.size(), [&](std::size_t row) {
    const RankActivities& own = activities.ranks[ranks_[row]];
    for (std::size_t a = 0; a + 1 < own.size(); ++a) {
      for (const std::size_t load : loads_of_path_[own.path(a)]) ++visits[load][row];
    }
  });
  const bool have_iterations = cut.iterations > 1 && std::ranges::all_of(ranks_, [&](std::size_t rank) {
                                 return cut.ranks[rank].iterations.size() == cut.iterations;
                               });
  const std::size_t steps = step_ends_.empty() ? 0 : step_ends_.front().size();
  for (std::size_t load = 0; load < loads_.size(); ++load) {
    const auto most = visits[load].empty() ? 0 : static_cast<std::size_t>(std::ranges::max(visits[load]));
    const bool have_equally_many =
        std::ranges::all_of(visits[load], [&](std::uint64_t of_rank) { return of_rank == 0 || of_rank == most; });
    LoadColumns columns = LoadColumns::kOne;
    std::size_t count = 1;
    if (have_iterations) {
      columns = LoadColumns::kIterations;
      count = cut.iterations;
    } else if (!is_of_all(load) && have_equally_many && most > 1) {
      columns = LoadColumns::kVisits;
      count = most;
    } else if (steps > 1) {
      columns = LoadColumns::kSteps;
      count = steps + 1;
    }
    const std::size_t joined = count * ranks_.size() / kMostCells + 1;
    columns_.push_back(columns);
    joined_.push_back(joined);
    LoadMatrix& matrix = matrices_.emplace_back();
    matrix.ranks = ranks_;
    matrix.iterations = (count + joined - 1) / joined;
    matrix.seconds.assign(matrix.iterations * ranks_.size(), 0);
  }
}

}  // namespace farscale
