#include "imbalance/causes/load_matrix.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/parallel.h"
#include "replay/bursts.h"

namespace farscale {
namespace {

// Goes over the activities of one rank, with the wait in each and the iteration in which it is.
class RowFiller {
 public:
  RowFiller(const RankActivities& activities, const std::vector<WaitState>& waits,
            const std::vector<Interval>& iterations, std::size_t columns)
      : activities_(activities), waits_(waits), iterations_(iterations), columns_(columns) {}

  // Adds ticks of those activities whose paths are wanted.
  void Fill(const std::vector<char>& is_wanted, std::vector<Tick>& row) {
    std::size_t next_call = activities_.activity_of(0);
    for (std::size_t a = 0; a < activities_.size(); ++a) {
      const bool is_call = a == next_call;
      if (is_wanted[activities_.path(a)]) {
        if (is_call) {
          row[ColumnOfCall()] += activities_.ticks(a) - WaitOfCall();
        } else {
          Part(activities_.edge(a), activities_.edge(a + 1), row);
        }
      }
      if (is_call && ++call_ <= activities_.calls) next_call = activities_.activity_of(call_);
    }
  }

 private:
  std::size_t ColumnOfCall() const {
    const std::uint32_t occurrence = activities_.occurrence(call_);
    return std::min<std::size_t>(occurrence == kNoCall ? 0 : occurrence, columns_ - 1);
  }

  Tick WaitOfCall() {
    while (wait_ < waits_.size() && waits_[wait_].call < call_) ++wait_;
    return wait_ < waits_.size() && waits_[wait_].call == call_ ? waits_[wait_].length : 0;
  }

  // An iteration lasts until its end, from the end of the one before on.
  void Part(Tick begin, Tick end, std::vector<Tick>& row) {
    while (column_ + 1 < columns_ && iterations_[column_].end.tick <= begin) ++column_;
    for (std::size_t column = column_; begin < end; ++column) {
      const Tick until = column + 1 < columns_ ? std::min(end, iterations_[column].end.tick) : end;
      row[column] += until - begin;
      begin = until;
    }
  }

  const RankActivities& activities_;
  const std::vector<WaitState>& waits_;
  const std::vector<Interval>& iterations_;
  std::size_t columns_;
  std::size_t call_ = 0, wait_ = 0, column_ = 0;
};

}  // namespace

std::vector<double> LoadMatrix::Sums() const {
  std::vector<double> sums;
  for (std::size_t row = 0; row < ranks.size(); ++row) {
    const auto first = seconds.begin() + static_cast<std::ptrdiff_t>(row * iterations);
    sums.push_back(std::accumulate(first, first + static_cast<std::ptrdiff_t>(iterations), 0.0));
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

std::size_t CommonIterations(const PhaseCut& cut) {
  std::optional<std::size_t> common;
  for (const RankCut& rank : cut.ranks) {
    if (rank.present && rank.iterations.size() != common.value_or(rank.iterations.size())) return 1;
    if (rank.present) common = rank.iterations.size();
  }
  return std::max<std::size_t>(1, common.value_or(1));
}

LoadMatrix LoadOf(const Trace& trace, const PhaseCut& cut, const Activities& activities, const WaitStates& states,
                  std::optional<PathId> path) {
  return LoadOfRanks(trace, cut, activities, states, path, CommonIterations(cut));
}

LoadMatrix LoadOfRanks(const Trace& trace, const PhaseCut& cut, const Activities& activities, const WaitStates& states,
                       std::optional<PathId> path, std::size_t columns) {
  LoadMatrix load;
  for (std::size_t rank = 0; rank < activities.ranks.size(); ++rank) {
    if (activities.ranks[rank].present) load.ranks.push_back(rank);
  }
  load.iterations = columns;
  load.seconds.resize(load.ranks.size() * load.iterations);
  std::vector<char> is_wanted(activities.paths.size());
  for (PathId other = 0; other < is_wanted.size(); ++other) {
    is_wanted[other] = path ? other == *path : IsUseful(activities.paths, other);
  }
  ParallelFor(load.ranks.size(), [&](std::size_t i) {
    const std::size_t rank = load.ranks[i];
    std::vector<Tick> row(load.iterations);
    RowFiller(activities.ranks[rank], states.ranks[rank].waits, cut.ranks[rank].iterations, load.iterations)
        .Fill(is_wanted, row);
    for (std::size_t k = 0; k < row.size(); ++k) load.seconds[i * load.iterations + k] = trace.Seconds(row[k]);
  });
  return load;
}

namespace {

constexpr double kShortestStep = 0.001;  // of what the rank computes in the iteration; chosen

// Time of a rank in calls to devices up to any tick.
class DeviceTime {
 public:
  DeviceTime() = default;  // of a rank that calls none
  DeviceTime(const CallPaths& paths, const RankActivities& own) {
    Tick before = 0;
    for (std::size_t a = 0; a + 1 < own.size(); ++a) {
      if (!paths.is_device_call(own.path(a))) continue;
      spans_.push_back({own.edge(a), own.edge(a + 1), before});
      before += own.ticks(a);
    }
  }

  Tick Between(Tick begin, Tick end) const { return Until(end) - Until(begin); }

 private:
  struct Call {
    Tick begin, end, before;
  };

  Tick Until(Tick tick) const {
    const auto behind = std::ranges::upper_bound(spans_, tick, {}, &Call::begin);
    if (behind == spans_.begin()) return 0;
    const Call& last = *std::prev(behind);
    return last.before + std::min(tick, last.end) - last.begin;
  }

  std::vector<Call> spans_;
};

std::vector<double> StepsOf(const RankTimeline& timeline, const Interval& iteration, const DeviceTime& in_device) {
  std::vector<double> steps;
  double all = 0;
  for (std::size_t call = iteration.begin.call; call <= iteration.end.call; ++call) {
    const Tick begin = std::max(iteration.begin.tick, BurstBegin(timeline, call));
    const Tick end = call < iteration.end.call ? timeline.enter(call) : iteration.end.tick;
    steps.push_back(static_cast<double>(std::max<Tick>(0, end - begin - in_device.Between(begin, end))));
    all += steps.back();
  }
  std::erase_if(steps, [&](double step) { return step <= kShortestStep * all; });
  return steps;
}

}  // namespace

std::optional<double> ImbalanceInSteps(const Trace& trace, const PhaseCut& cut, const Activities& activities) {
  double largest = 0, average = 0, ranks = 0;
  for (const RankCut& rank : cut.ranks) {
    ranks += rank.present ? 1 : 0;
    if (rank.present && rank.iterations.size() != cut.iterations) return std::nullopt;
  }
  if (ranks < 2) return std::nullopt;
  std::vector<DeviceTime> in_devices;
  for (const RankActivities& of_rank : activities.ranks) in_devices.emplace_back(activities.paths, of_rank);
  in_devices.resize(cut.ranks.size());
  for (std::size_t i = 0; i < cut.iterations; ++i) {
    std::optional<std::vector<double>> most;
    for (std::size_t rank = 0; rank < cut.ranks.size(); ++rank) {
      if (!cut.ranks[rank].present) continue;
      const std::vector<double> steps = StepsOf(trace.timelines[rank], cut.ranks[rank].iterations[i], in_devices[rank]);
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

namespace {

// Cells of one load at most, beyond which neighbouring columns are joined; chosen: a table is smaller than the trace.
constexpr std::size_t kMostCells = std::size_t{1} << 22;

bool HaveEquallyMany(const std::vector<std::uint64_t>& visits) {
  std::uint64_t common = 0;
  for (const std::uint64_t of_rank : visits) {
    if (of_rank == 0) continue;
    if (common != 0 && of_rank != common) return false;
    common = of_rank;
  }
  return common > 1;
}

}  // namespace

bool LoadSource::Has(const CallPaths& paths, PathId other) const {
  switch (kind) {
    case Kind::kComputation: return IsUseful(paths, other);
    case Kind::kDeviceCalls: return IsDeviceCall(paths, other);
    case Kind::kPath: break;
  }
  return other == path;
}

bool LoadTables::is_of_devices(std::size_t load) const {
  const LoadSource& source = loads_[load];
  return source.kind == LoadSource::Kind::kDeviceCalls ||
         (source.kind == LoadSource::Kind::kPath && IsDeviceCall(activities_.paths, source.path));
}

LoadTables::LoadTables(const Trace& trace, const PhaseCut& cut, const Activities& activities, const WaitStates& states,
                       const CollectiveWaits& collectives, std::vector<LoadSource> loads)
    : activities_(activities), states_(states), loads_(std::move(loads)) {
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    if (activities.ranks[rank].present) ranks_.push_back(rank);
  }
  loads_of_path_.resize(activities.paths.size());
  for (std::size_t load = 0; load < loads_.size(); ++load) {
    for (PathId path = 0; path < loads_of_path_.size(); ++path) {
      if (loads_[load].Has(activities.paths, path)) loads_of_path_[path].push_back(load);
    }
  }
  FindSteps(collectives);
  ChooseColumns(cut);
  Fill();
}

void LoadTables::FindSteps(const CollectiveWaits& collectives) {
  std::vector<std::size_t> row_of(activities_.ranks.size());
  for (std::size_t row = 0; row < ranks_.size(); ++row) row_of[ranks_[row]] = row;
  step_ends_.resize(ranks_.size());
  for (std::uint32_t operation = 0; operation < collectives.operations(); ++operation) {
    if (collectives.pattern(operation) != CollectivePattern::kAllToAll) continue;
    const Participant* const first = collectives.begin(operation);
    const Participant* const end = collectives.end(operation);
    const bool is_of_all = static_cast<std::size_t>(end - first) == ranks_.size() &&
                           std::all_of(first, end, [](const Participant& one) { return one.is_blocking; });
    if (!is_of_all) continue;
    for (const Participant* one = first; one != end; ++one) step_ends_[row_of[one->rank]].push_back(one->call);
  }
  for (std::vector<std::uint32_t>& of_row : step_ends_) std::ranges::sort(of_row);
}

void LoadTables::ChooseColumns(const PhaseCut& cut) {
  visits_.assign(loads_.size(), std::vector<std::uint64_t>(ranks_.size()));
  ParallelFor(ranks_.size(), [&](std::size_t row) {
    const RankActivities& own = activities_.ranks[ranks_[row]];
    for (std::size_t a = 0; a + 1 < own.size(); ++a) {
      for (const std::size_t load : loads_of_path_[own.path(a)]) ++visits_[load][row];
    }
  });
  const bool have_iterations = cut.iterations > 1 && std::ranges::all_of(ranks_, [&](std::size_t rank) {
                                 return cut.ranks[rank].iterations.size() == cut.iterations;
                               });
  const std::size_t steps = step_ends_.empty() ? 0 : step_ends_.front().size();
  for (std::size_t load = 0; load < loads_.size(); ++load) {
    LoadColumns columns = LoadColumns::kOne;
    std::size_t count = 1;
    if (have_iterations) {
      columns = LoadColumns::kIterations;
      count = cut.iterations;
    } else if (loads_[load].kind == LoadSource::Kind::kPath && HaveEquallyMany(visits_[load])) {
      columns = LoadColumns::kVisits;
      count = static_cast<std::size_t>(std::ranges::max(visits_[load]));
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

void LoadTables::Fill() {
  ParallelFor(ranks_.size(), [&](std::size_t row) {
    ForEachPiece(row, [&](const LoadPiece& piece) {
      LoadMatrix& matrix = matrices_[piece.load];
      matrix.seconds[row * matrix.iterations + piece.column] += static_cast<double>(piece.execution);
    });
  });
}

}  // namespace farscale
