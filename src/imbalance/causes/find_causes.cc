#include "imbalance/causes/find_causes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "base/parallel.h"

namespace farscale {
namespace {

// Chosen: what is looked for.
constexpr double kSignificant = 0.05;      // share of all computation: paths that must be slow where everything is
constexpr double kInEverything = 0.7;      // share of all computation that lies in paths that are slow alike
constexpr double kWorthCosts = 0.005;      // share of the time of all ranks: waits that a path causes
constexpr std::size_t kMostLoads = 12;     // call paths
constexpr std::size_t kMostReplayed = 12;  // deviations
constexpr std::size_t kMostPairs = 4;      // causes of which each is replayed with each other

// The ticks saved in each piece of a row where its columns keep these shares. Time of a column beyond the usual is
// saved where its pieces are longer than those of other columns; where nothing shows which are, it is saved of all
// alike.
std::vector<std::vector<double>> SavedPieces(std::vector<std::vector<double>> columns, const std::vector<float>& kept) {
  // Means of the pieces of columns that are usual, by how many pieces a column has.
  std::map<std::size_t, std::vector<double>> all_usual;
  std::map<std::size_t, double> counts;
  for (std::size_t column = 0; column < columns.size(); ++column) {
    const std::vector<double>& pieces = columns[column];
    if (kept[column] != 1 || pieces.size() < 2) continue;
    std::vector<double>& sums = all_usual[pieces.size()];
    sums.resize(pieces.size());
    for (std::size_t i = 0; i < pieces.size(); ++i) sums[i] += pieces[i];
    ++counts[pieces.size()];
  }
  for (auto& [size, sums] : all_usual) {
    for (double& sum : sums) sum /= counts[size];
  }
  for (std::size_t column = 0; column < columns.size(); ++column) {
    std::vector<double>& pieces = columns[column];
    const double share = 1 - static_cast<double>(kept[column]);
    const auto usual = all_usual.find(pieces.size());
    std::vector<double> beyond(pieces.size());
    double whole = 0, longer = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      whole += pieces[i];
      if (share > 0 && usual != all_usual.end()) longer += beyond[i] = std::max(0.0, pieces[i] - usual->second[i]);
    }
    // Else the column is not longer in some of its pieces, but compared with other ranks.
    const bool shows = longer >= share * whole / 2 && longer > 0;
    for (std::size_t i = 0; i < pieces.size(); ++i)
      pieces[i] = shows ? std::min(pieces[i], beyond[i] * share * whole / longer) : share * pieces[i];
  }
  return columns;
}

// Ticks of all ranks in the call paths for which is_wanted holds, waits left out.
double TotalExecution(const Diagnosis& diagnosis, bool (*is_wanted)(const CallPaths&, PathId)) {
  double ticks = 0;
  for (PathId path = 0; path < diagnosis.totals.size(); ++path) {
    if (is_wanted(diagnosis.paths, path)) ticks += diagnosis.totals[path].Execution();
  }
  return ticks;
}

// All computation, and all calls to devices; then call paths that take a good part of them, or that others wait for.
// Ranks that leave a call late are hardly charged where they also do a little more behind it, but the call is on the
// critical path.
std::vector<PathId> ChooseLoads(const Diagnosis& diagnosis, double length) {
  const double outside_mpi = TotalExecution(diagnosis, IsOutsideMpi);
  std::vector<std::pair<double, PathId>> paths;
  const double of_all = length * static_cast<double>(diagnosis.processes);
  for (PathId path = 0; path < diagnosis.totals.size(); ++path) {
    if (diagnosis.paths.is_before_phase(path) || path == kBetweenOccurrences || path == kAfterPhase) continue;
    const double costs = diagnosis.totals[path].Costs() / of_all;
    const bool is_outside_mpi = IsOutsideMpi(diagnosis.paths, path) && outside_mpi > 0;
    const double share = is_outside_mpi ? diagnosis.totals[path].Execution() / outside_mpi : 0;
    const double critical = diagnosis.paths.is_mpi(path) ? diagnosis.totals[path].critical / length : 0;
    if (share >= kSignificant || costs >= kWorthCosts || critical >= kSignificant)
      paths.emplace_back(-std::max({share, costs, critical}), path);
  }
  std::ranges::sort(paths);
  if (paths.size() > kMostLoads) paths.resize(kMostLoads);
  std::vector<PathId> loads = {kAllComputation};
  if (TotalExecution(diagnosis, IsDeviceCall) > 0) loads.push_back(kAllDeviceCalls);
  for (const auto& [share, path] : paths) loads.push_back(path);
  return loads;
}

RowPlaces FindPlaces(const Trace& trace, const DiagnosisOptions& options, const LoadTables& loads) {
  RowPlaces places;
  std::map<std::size_t, std::size_t> group_of;
  for (std::size_t group = 0; group < options.cause_groups.size(); ++group) {
    for (const std::size_t rank : options.cause_groups[group].ranks) group_of[rank] = group + 1;  // 0: in none
  }
  for (const std::size_t rank : loads.ranks()) {
    places.nodes.push_back(trace.ranks[rank].node);
    places.sockets.push_back(trace.ranks[rank].socket);
    if (!options.cause_groups.empty()) places.groups.push_back(group_of[rank]);
  }
  if (std::ranges::any_of(places.sockets, [](std::int32_t socket) { return socket < 0; })) places.sockets.clear();
  if (!options.grid || options.grid->size() != loads.ranks().size()) return places;
  places.coordinates.resize(options.grid->extents.size());
  for (std::size_t row = 0; row < loads.ranks().size(); ++row) {
    const std::vector<std::size_t> coordinates = options.grid->CoordinatesOf(row);
    for (std::size_t i = 0; i < coordinates.size(); ++i) places.coordinates[i].push_back(coordinates[i]);
  }
  return places;
}

bool AreAlike(const LoadDeviation& a, const LoadDeviation& b) {
  if (a.place != b.place) return false;
  if (a.place == CausePlace::kByDegrees || a.place == CausePlace::kMovingHotSpot) return false;
  return std::set(a.rows.begin(), a.rows.end()) == std::set(b.rows.begin(), b.rows.end());
}

// A deviation that most call paths share is slowness in everything, and one cause. Others that all computation shows
// are left to the call paths, where these show them, too. The same holds for calls to devices. `all`: the load of
// either.
void JoinInEverything(const Diagnosis& diagnosis, const LoadTables& loads, std::size_t all,
                      std::vector<std::vector<LoadDeviation>>& found) {
  const double whole = TotalExecution(diagnosis, loads.is_of_devices(diagnosis.paths, all) ? IsDeviceCall : IsUseful);
  std::vector<double> shares(loads.size(), 0);  // in `all`, for loads of call paths there
  for (std::size_t load = 0; load < loads.size(); ++load) {
    const PathId path = loads.path(load);
    if (!loads.is_of_all(load) && loads.Has(diagnosis.paths, all, path))
      shares[load] = diagnosis.totals[path].Execution() / whole;
  }
  std::erase_if(found[all], [&](const LoadDeviation& of_all) {
    double share = 0;
    std::size_t paths = 0;
    bool is_explained = false;
    for (std::size_t load = 1; load < found.size(); ++load) {
      for (const LoadDeviation& of_path : found[load]) {
        if (shares[load] <= 0) continue;
        is_explained = is_explained || std::ranges::find_first_of(of_all.rows, of_path.rows) != of_all.rows.end();
        if (!AreAlike(of_all, of_path)) continue;
        share += shares[load];
        ++paths;
      }
    }
    if (paths < 2 || share < kInEverything) return is_explained;
    for (std::size_t load = 1; load < found.size(); ++load) {
      if (shares[load] > 0) std::erase_if(found[load], [&](const auto& one) { return AreAlike(of_all, one); });
    }
    return false;
  });
}

// Ranks that enter the phase later than the first.
void AddStart(const WaitStates& states, const Diagnosis& diagnosis, const LoadTables& loads,
              std::vector<CauseCandidate>& candidates) {
  double costs = 0;
  for (PathId path = 0; path < diagnosis.totals.size(); ++path) {
    if (diagnosis.paths.is_before_phase(path)) costs += diagnosis.totals[path].Costs();
  }
  if (costs < kLeastGain / 2 * states.length() * static_cast<double>(diagnosis.processes)) return;
  CauseCandidate start;
  start.is_start = true;
  start.deviation.place = CausePlace::kStartUp;
  std::vector<std::pair<Tick, std::size_t>> late;
  for (std::size_t row = 0; row < loads.ranks().size(); ++row) {
    const RankActivities& own = states.activities.ranks[loads.ranks()[row]];
    Tick ticks = 0;
    for (std::size_t a = 0; a + 1 < own.size() && states.activities.paths.is_before_phase(own.path(a)); ++a)
      ticks += own.ticks(a);
    if (ticks > 0) late.emplace_back(-ticks, row);
  }
  std::ranges::sort(late);
  for (const auto& [ticks, row] : late) {
    start.savings.push_back({static_cast<std::uint32_t>(loads.ranks()[row]), 0, -ticks});
    start.deviation.rows.push_back(row);
  }
  if (late.empty()) return;
  start.most = static_cast<double>(-late.front().first);
  candidates.push_back(std::move(start));
}

// Work that other ranks have none of does not vanish, but is spread: every rank does an equal share of it before what
// it computes first in that iteration.
void AddShares(const WaitStates& states, const LoadTables& loads, const CauseCandidate& candidate,
               std::vector<Saving>& savings) {
  const CallPaths& paths = states.activities.paths;
  const LoadDeviation& deviation = candidate.deviation;
  const bool is_alone =
      deviation.place == CausePlace::kAlone || (deviation.place == CausePlace::kMovingHotSpot && !deviation.level);
  const bool is_mpi = !loads.is_of_all(candidate.load) && paths.is_mpi(loads.path(candidate.load));
  if (!is_alone || is_mpi || loads.is_of_devices(paths, candidate.load)) return;
  const LoadMatrix& matrix = loads.of(candidate.load);
  const std::size_t columns = loads.of(0).iterations;
  std::vector<double> shares(columns, 0);
  for (std::size_t i = 0; i < deviation.rows.size(); ++i) {
    for (std::size_t column = 0; column < matrix.iterations; ++column) {
      const double excess = deviation.Excess(matrix, i, column);
      shares[column * columns / matrix.iterations] += excess / static_cast<double>(loads.ranks().size());
    }
  }
  for (std::size_t row = 0; row < loads.ranks().size(); ++row) {
    std::vector<double> left = shares;
    loads.ForEachPiece(states, row, [&](const LoadPiece& piece) {
      if (piece.load != 0 || piece.is_call || left[piece.column] == 0) return;
      const auto ticks = static_cast<Tick>(std::llround(std::exchange(left[piece.column], 0)));
      savings.push_back({static_cast<std::uint32_t>(loads.ranks()[row]), piece.call, -ticks});
    });
  }
}

std::vector<Saving> FindSavings(const WaitStates& states, const LoadTables& loads, const CauseCandidate& candidate) {
  std::vector<Saving> savings;
  for (std::size_t i = 0; i < candidate.deviation.rows.size(); ++i) {
    const std::size_t row = candidate.deviation.rows[i];
    const auto rank = static_cast<std::uint32_t>(loads.ranks()[row]);
    const std::vector<float>& kept = candidate.deviation.kept[i];
    std::vector<std::vector<double>> columns(kept.size());
    loads.ForEachPiece(states, row, [&](const LoadPiece& piece) {
      if (piece.load == candidate.load) columns[piece.column].push_back(static_cast<double>(piece.execution));
    });
    const std::vector<std::vector<double>> saved = SavedPieces(std::move(columns), kept);
    std::vector<std::size_t> next(saved.size());
    double owed = 0;  // less than a tick
    loads.ForEachPiece(states, row, [&](const LoadPiece& piece) {
      if (piece.load != candidate.load) return;
      owed += saved[piece.column][next[piece.column]++];
      const auto ticks = static_cast<Tick>(std::llround(owed));
      if (ticks == 0) return;
      owed -= static_cast<double>(ticks);
      savings.push_back({rank, piece.call + (piece.is_call ? 1 : 0), ticks});
    });
  }
  AddShares(states, loads, candidate, savings);
  return savings;
}

std::vector<CauseCandidate> FindCandidates(const Trace& trace, const WaitStates& states, const Diagnosis& diagnosis,
                                           const DiagnosisOptions& options, const LoadTables& loads) {
  std::vector<CauseCandidate> candidates;
  const double outside_mpi = TotalExecution(diagnosis, IsOutsideMpi);
  const RowPlaces places = FindPlaces(trace, options, loads);
  std::vector<std::vector<LoadDeviation>> found(loads.size());
  ParallelFor(loads.size(), [&](std::size_t load) {
    const LoadMatrix& matrix = loads.of(load);
    const double typical =
        outside_mpi / static_cast<double>(std::max<std::size_t>(1, matrix.ranks.size()) * matrix.iterations);
    found[load] = FindDeviations(matrix, places, typical);
  });
  for (std::size_t all = 0; all < found.size() && loads.is_of_all(all); ++all)
    JoinInEverything(diagnosis, loads, all, found);
  for (std::size_t load = 0; load < found.size(); ++load) {
    const LoadMatrix& matrix = loads.of(load);
    for (LoadDeviation& deviation : found[load]) {
      CauseCandidate candidate{load, std::move(deviation)};
      for (std::size_t column = 0; column < matrix.iterations; ++column) {
        double most = 0;
        for (std::size_t i = 0; i < candidate.deviation.rows.size(); ++i) {
          most = std::max(most, candidate.deviation.Excess(matrix, i, column));
        }
        candidate.most += most;
      }
      if (candidate.most >= kLeastGain / 2 * states.length()) candidates.push_back(std::move(candidate));
    }
  }
  AddStart(states, diagnosis, loads, candidates);
  std::ranges::stable_sort(candidates, std::greater(), &CauseCandidate::most);
  if (candidates.size() > kMostReplayed) candidates.resize(kMostReplayed);
  ParallelFor(candidates.size(), [&](std::size_t i) {
    if (candidates[i].savings.empty()) candidates[i].savings = FindSavings(states, loads, candidates[i]);
  });
  return candidates;
}

// Those that gain enough, alone or once the others are gone, the largest gain first.
void SelectCauses(const Trace& trace, const WaitStates& states, const CounterNames& names, const LoadTables& loads,
                  std::vector<CauseCandidate>& candidates, MeasuredProgram& program) {
  std::vector<Fix> fixes;
  for (std::size_t left_out = 0; candidates.size() > 1 && left_out <= candidates.size(); ++left_out) {
    std::vector<const std::vector<Saving>*> lists;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (i != left_out) lists.push_back(&candidates[i].savings);
    }
    fixes.push_back(MakeFix(std::move(lists)));
  }
  const std::vector<Tick> durations = Replay(program, fixes);
  for (std::size_t i = 0; i + 1 < durations.size(); ++i)
    candidates[i].cause.gain_last = static_cast<double>(durations[i] - durations.back());
  const auto gains = [](const CauseCandidate& one) { return std::pair(one.cause.gain, one.cause.gain_last); };
  std::erase_if(candidates, [&](const CauseCandidate& one) {
    return !(std::max(one.cause.gain, one.cause.gain_last) >= kLeastGain * states.length());
  });
  std::ranges::stable_sort(candidates, std::greater(), gains);
  for (CauseCandidate& candidate : candidates) {
    if (candidate.is_start) continue;
    Cause& cause = candidate.cause;
    cause.parts = FindCauseParts(trace, states, loads, names, candidate);
    // A plane of the grid that fills a node, or socket, is that where counters say that its cores run slower.
    const CauseClass reason = cause.reason();
    const bool runs_slower = reason == CauseClass::kLowerFrequency || reason == CauseClass::kInterruptions;
    if (cause.place != CausePlace::kPlane || cause.node.empty() || !runs_slower) continue;
    cause.place = cause.socket ? CausePlace::kSocket : CausePlace::kNode;
    cause.line.reset();
  }
}

// Finds the cause that gains most once another one is gone.
void ReplayPairs(double length, std::vector<CauseCandidate>& candidates, Tick whole, MeasuredProgram& program) {
  const std::size_t count = std::min(kMostPairs, candidates.size());
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  std::vector<Fix> fixes;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = i + 1; j < count; ++j) {
      pairs.emplace_back(i, j);
      fixes.push_back(MakeFix({&candidates[i].savings, &candidates[j].savings}));
    }
  }
  const std::vector<Tick> durations = Replay(program, fixes);
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    const auto [i, j] = pairs[p];
    for (const auto& [first, then] : {std::pair(i, j), std::pair(j, i)}) {
      Cause& cause = candidates[first].cause;
      const double gain = static_cast<double>(whole - durations[p]) - cause.gain;
      if (gain < kLeastGain * length || gain <= cause.next_gain) continue;
      cause.next = then;
      cause.next_gain = gain;
    }
  }
}

// A repair that gains nothing alone, of the first such, is named with the one with which it gains most, else with all
// others of its kind, and not at all where that gains nothing either.
void JoinCoupled(double length, std::vector<CauseCandidate>& candidates, Tick whole, MeasuredProgram& program) {
  const auto cause = [&](std::size_t i) -> Cause& { return candidates[i].cause; };
  const auto gains = [&](std::size_t i) { return cause(i).gain >= kLeastGain * length; };
  std::vector<std::size_t> hidden;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!gains(i)) hidden.push_back(i);
  }
  std::ranges::stable_sort(hidden, std::greater(), [&](std::size_t i) { return cause(i).gain_last; });
  if (hidden.size() > kMostPairs) hidden.resize(kMostPairs);
  if (hidden.empty()) return;
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  std::vector<Fix> fixes;
  std::vector<const std::vector<Saving>*> all;
  for (const std::size_t i : hidden) {
    all.push_back(&candidates[i].savings);
    for (std::size_t j = 0; j < candidates.size(); ++j) {
      const bool is_named = gains(j) ? j < kMostPairs : std::ranges::find(hidden, j) != hidden.end();
      if (j == i || !is_named) continue;
      pairs.emplace_back(i, j);
      fixes.push_back(MakeFix({&candidates[i].savings, &candidates[j].savings}));
    }
  }
  fixes.push_back(MakeFix(std::move(all)));
  const std::vector<Tick> durations = Replay(program, fixes);
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    const auto [i, j] = pairs[p];
    const auto joint = static_cast<double>(whole - durations[p]);
    if (joint - std::max(0.0, cause(j).gain) < kLeastGain * length || joint <= cause(i).joint_gain) continue;
    cause(i).joint_gain = joint;
    cause(i).together = {j};
    cause(i).next.reset();  // it comes with it
  }
  const auto joint = static_cast<double>(whole - durations.back());
  for (const std::size_t i : hidden) {
    if (!cause(i).together.empty() || joint < kLeastGain * length) continue;
    cause(i).joint_gain = joint;
    std::ranges::copy_if(hidden, std::back_inserter(cause(i).together), [i](std::size_t j) { return j != i; });
  }
  // The other one is then named with it, too.
  for (const std::size_t i : hidden) {
    for (const std::size_t j : cause(i).together) {
      if (gains(j) || !cause(j).together.empty()) continue;
      cause(j).together = {i};
      cause(j).joint_gain = cause(i).joint_gain;
    }
  }
}

}  // namespace

std::vector<Cause> FindCauses(const Trace& trace, const Matching& matching, const PhaseCut& cut,
                              const WaitStates& states, const Diagnosis& diagnosis, const DiagnosisOptions& options) {
  const double length = states.length();
  if (length <= 0) return {};
  const LoadTables loads(cut, states, ChooseLoads(diagnosis, length));
  std::vector<CauseCandidate> candidates = FindCandidates(trace, states, diagnosis, options, loads);
  if (candidates.empty()) return {};
  MeasuredProgram program = MakeMeasuredProgram(trace, matching, states);
  std::vector<Fix> fixes = {nullptr};
  for (const CauseCandidate& candidate : candidates) fixes.push_back(MakeFix({&candidate.savings}));
  const std::vector<Tick> durations = Replay(program, fixes);
  const Tick whole = durations.front();
  if (std::fabs(static_cast<double>(whole) - length) > kMeasuredPrecision * length) return {};
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    candidates[i].cause = DescribeCause(trace, states, loads, candidates[i]);
    candidates[i].cause.gain = candidates[i].cause.gain_last = static_cast<double>(whole - durations[i + 1]);
  }
  SelectCauses(trace, states, options.counters, loads, candidates, program);
  ReplayPairs(length, candidates, whole, program);
  JoinCoupled(length, candidates, whole, program);
  // The causes that gain alone, or with others that stay, are left.
  const auto is_useless = [&](const CauseCandidate& one) {
    return one.cause.gain < kLeastGain * length && one.cause.together.empty();
  };
  std::vector<std::optional<std::size_t>> place;
  std::size_t kept = 0;
  for (const CauseCandidate& one : candidates) place.push_back(is_useless(one) ? std::nullopt : std::optional(kept++));
  std::erase_if(candidates, is_useless);
  std::vector<Cause> causes;
  for (CauseCandidate& candidate : candidates) {
    Cause& cause = causes.emplace_back(std::move(candidate.cause));
    if (cause.next) cause.next = place[*cause.next];
    for (std::size_t& other : cause.together) other = place[other].value();
    cause.worst = FindWorstWait(trace, states, loads, candidate);
    for (double Cause::*gain : {&Cause::gain, &Cause::gain_last, &Cause::next_gain, &Cause::joint_gain})
      cause.*gain *= 1 / trace.ticks_per_second;
  }
  return causes;
}

}  // namespace farscale
