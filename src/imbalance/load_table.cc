#include "imbalance/load_table.h"

#include <algorithm>
#include <utility>

#include "base/parallel.h"

namespace farscale {
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
