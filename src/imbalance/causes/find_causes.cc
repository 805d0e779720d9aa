#include "imbalance/causes/find_causes.h"

#include <algorithm>
#include <cmath>
#include <limits>
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

// Means of the pieces of columns that are usual, by how many pieces a column has.
std::map<std::size_t, std::vector<double>> UsualPieces(const std::vector<std::vector<double>>& columns,
                                                       const std::vector<float>& kept) {
  std::map<std::size_t, std::vector<double>> usual;
  std::map<std::size_t, double> counts;
  for (std::size_t column = 0; column < columns.size(); ++column) {
    const std::vector<double>& pieces = columns[column];
    if (kept[column] != 1 || pieces.size() < 2) continue;
    std::vector<double>& sums = usual[pieces.size()];
    sums.resize(pieces.size());
    for (std::size_t i = 0; i < pieces.size(); ++i) sums[i] += pieces[i];
    ++counts[pieces.size()];
  }
  for (auto& [size, sums] : usual) {
    for (double& sum : sums) sum /= counts[size];
  }
  return usual;
}

// The ticks saved in each piece of a row where its columns keep these shares. Time of a column beyond the usual is
// saved where its pieces are longer than those of other columns; where nothing shows which are, it is saved of all
// alike.
std::vector<std::vector<double>> SavedPieces(std::vector<std::vector<double>> columns, const std::vector<float>& kept) {
  const std::map<std::size_t, std::vector<double>> all_usual = UsualPieces(columns, kept);
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

class CauseSearch {
 public:
  CauseSearch(const CauseInput& input, const CauseOptions& options)
      : input_(input),
        length_(static_cast<double>(input.activities.end - input.activities.begin)),
        loads_(input.trace, input.cut, input.activities, input.states, input.collectives, ChooseLoads()),
        options_(options) {}

  std::vector<Cause> Run() {
    FindCandidates();
    if (candidates_.empty()) return {};
    MeasuredProgram program(input_.trace, input_.matching, input_.activities, input_.states, input_.collectives);
    if (!ReplayAlone(program)) return {};
    ReplayWithoutOthers(program);
    Select();
    ReplayPairs(program);
    JoinCoupled(program);
    const double second = 1 / input_.trace.ticks_per_second;
    for (std::size_t i = 0; i < causes_.size(); ++i) {
      Cause& cause = causes_[i];
      cause.worst = FindWorstWait(input_, loads_, candidates_[i]);
      cause.gain *= second;
      cause.gain_last *= second;
      cause.next_gain *= second;
      cause.joint_gain *= second;
    }
    return std::move(causes_);
  }

 private:
  // All computation, and all calls to devices; then call paths that take a good part of them, or that others wait for.
  // Ranks that leave a call late are hardly charged where they also do a little more behind it, but the call is on the
  // critical path.
  std::vector<LoadSource> ChooseLoads() {
    const Diagnosis& diagnosis = input_.diagnosis;
    for (PathId path = 0; path < diagnosis.totals.size(); ++path) {
      if (IsUseful(diagnosis.paths, path)) useful_ += diagnosis.totals[path].Execution();
      if (IsDeviceCall(diagnosis.paths, path)) of_devices_ += diagnosis.totals[path].Execution();
    }
    std::vector<std::pair<double, PathId>> paths;
    const double of_all = length_ * static_cast<double>(diagnosis.processes);
    for (PathId path = 0; path < diagnosis.totals.size(); ++path) {
      if (diagnosis.paths.is_before_phase(path) || path == kBetweenOccurrences || path == kAfterPhase) continue;
      const double costs = diagnosis.totals[path].Costs() / of_all;
      const bool is_outside_mpi = IsOutsideMpi(diagnosis.paths, path) && OutsideMpi() > 0;
      const double share = is_outside_mpi ? diagnosis.totals[path].Execution() / OutsideMpi() : 0;
      const double critical = diagnosis.paths.is_mpi(path) ? diagnosis.totals[path].critical / length_ : 0;
      if (share >= kSignificant || costs >= kWorthCosts || critical >= kSignificant)
        paths.emplace_back(-std::max({share, costs, critical}), path);
    }
    std::ranges::sort(paths);
    if (paths.size() > kMostLoads) paths.resize(kMostLoads);
    std::vector<LoadSource> loads = {{LoadSource::Kind::kComputation}};
    if (of_devices_ > 0) loads.push_back({LoadSource::Kind::kDeviceCalls});
    for (const auto& [share, path] : paths) loads.push_back({LoadSource::Kind::kPath, path});
    return loads;
  }

  double OutsideMpi() const { return useful_ + of_devices_; }

  bool IsOfAll(std::size_t load) const { return loads_.source(load).kind != LoadSource::Kind::kPath; }

  // The part of a call path in all computation or all calls to devices.
  double ShareIn(std::size_t load, std::size_t all) const {
    if (IsOfAll(load)) return 0;
    const PathId path = loads_.source(load).path;
    if (!loads_.source(all).Has(input_.diagnosis.paths, path)) return 0;
    return input_.diagnosis.totals[path].Execution() / (loads_.is_of_devices(all) ? of_devices_ : useful_);
  }

  RowPlaces FindPlaces() const {
    RowPlaces places;
    std::map<std::size_t, std::size_t> group_of;
    for (std::size_t group = 0; group < options_.groups.size(); ++group) {
      for (const std::size_t rank : options_.groups[group].ranks) group_of[rank] = group + 1;  // 0: in none
    }
    for (const std::size_t rank : loads_.ranks()) {
      places.nodes.push_back(input_.trace.ranks[rank].node);
      places.sockets.push_back(input_.trace.ranks[rank].socket);
      if (!options_.groups.empty()) places.groups.push_back(group_of[rank]);
    }
    if (std::ranges::any_of(places.sockets, [](std::int32_t socket) { return socket < 0; })) places.sockets.clear();
    if (!options_.grid || options_.grid->size() != loads_.ranks().size()) return places;
    places.coordinates.resize(options_.grid->extents.size());
    for (std::size_t row = 0; row < loads_.ranks().size(); ++row) {
      const std::vector<std::size_t> coordinates = options_.grid->CoordinatesOf(row);
      for (std::size_t i = 0; i < coordinates.size(); ++i) places.coordinates[i].push_back(coordinates[i]);
    }
    return places;
  }

  void FindCandidates() {
    const RowPlaces places = FindPlaces();
    std::vector<std::vector<LoadDeviation>> found(loads_.size());
    ParallelFor(loads_.size(), [&](std::size_t load) {
      const LoadMatrix& matrix = loads_.of(load);
      const double typical =
          OutsideMpi() / static_cast<double>(std::max<std::size_t>(1, matrix.ranks.size()) * matrix.iterations);
      found[load] = FindDeviations(matrix, places, typical);
    });
    for (std::size_t all = 0; all < found.size() && IsOfAll(all); ++all) JoinInEverything(all, found);
    for (std::size_t load = 0; load < found.size(); ++load) {
      for (LoadDeviation& deviation : found[load]) Add({load, std::move(deviation), IsOfAll(load), false, 0, {}});
    }
    AddStart();
    std::ranges::stable_sort(candidates_, std::greater(), &CauseCandidate::most);
    if (candidates_.size() > kMostReplayed) candidates_.resize(kMostReplayed);
    ParallelFor(candidates_.size(), [&](std::size_t i) {
      if (candidates_[i].savings.empty()) candidates_[i].savings = FindSavings(candidates_[i]);
    });
  }

  static bool AreAlike(const LoadDeviation& a, const LoadDeviation& b) {
    if (a.place != b.place) return false;
    if (a.place == CausePlace::kByDegrees || a.place == CausePlace::kMovingHotSpot) return false;
    return std::set(a.rows.begin(), a.rows.end()) == std::set(b.rows.begin(), b.rows.end());
  }

  static bool ShareRows(const LoadDeviation& a, const LoadDeviation& b) {
    return std::ranges::any_of(a.rows, [&](std::size_t row) { return std::ranges::find(b.rows, row) != b.rows.end(); });
  }

  // A deviation that most call paths share is slowness in everything, and one cause. Others that all computation shows
  // are left to the call paths, where these show them, too. The same holds for calls to devices.
  void JoinInEverything(std::size_t all, std::vector<std::vector<LoadDeviation>>& found) const {
    std::erase_if(found[all], [&](const LoadDeviation& of_all) {
      double share = 0;
      std::size_t paths = 0;
      bool is_explained = false;
      for (std::size_t load = 1; load < found.size(); ++load) {
        for (const LoadDeviation& of_path : found[load]) {
          is_explained = is_explained || (ShareIn(load, all) > 0 && ShareRows(of_all, of_path));
          if (ShareIn(load, all) <= 0 || !AreAlike(of_all, of_path)) continue;
          share += ShareIn(load, all);
          ++paths;
        }
      }
      if (paths < 2 || share < kInEverything) return is_explained;
      for (std::size_t load = 1; load < found.size(); ++load) {
        if (ShareIn(load, all) > 0) std::erase_if(found[load], [&](const auto& one) { return AreAlike(of_all, one); });
      }
      return false;
    });
  }

  void Add(CauseCandidate candidate) {
    const LoadMatrix& matrix = loads_.of(candidate.load);
    for (std::size_t column = 0; column < matrix.iterations; ++column) {
      double most = 0;
      for (std::size_t i = 0; i < candidate.deviation.rows.size(); ++i) {
        most = std::max(most, candidate.deviation.Excess(matrix, i, column));
      }
      candidate.most += most;
    }
    if (candidate.most >= kLeastGain / 2 * length_) candidates_.push_back(std::move(candidate));
  }

  // Ranks that enter the phase later than the first.
  void AddStart() {
    double costs = 0;
    for (PathId path = 0; path < input_.diagnosis.totals.size(); ++path) {
      if (input_.diagnosis.paths.is_before_phase(path)) costs += input_.diagnosis.totals[path].Costs();
    }
    if (costs < kLeastGain / 2 * length_ * static_cast<double>(input_.diagnosis.processes)) return;
    CauseCandidate start;
    start.is_start = true;
    start.deviation.place = CausePlace::kStartUp;
    std::vector<std::pair<Tick, std::size_t>> late;
    for (std::size_t row = 0; row < loads_.ranks().size(); ++row) {
      const RankActivities& own = input_.activities.ranks[loads_.ranks()[row]];
      Tick ticks = 0;
      for (std::size_t a = 0; a + 1 < own.size() && input_.activities.paths.is_before_phase(own.path(a)); ++a)
        ticks += own.ticks(a);
      if (ticks > 0) late.emplace_back(-ticks, row);
    }
    std::ranges::sort(late);
    for (const auto& [ticks, row] : late) {
      start.savings.push_back({static_cast<std::uint32_t>(loads_.ranks()[row]), 0, -ticks});
      start.deviation.rows.push_back(row);
    }
    if (late.empty()) return;
    start.most = static_cast<double>(-late.front().first);
    candidates_.push_back(std::move(start));
  }

  std::vector<Saving> FindSavings(const CauseCandidate& candidate) const {
    std::vector<Saving> savings;
    for (std::size_t i = 0; i < candidate.deviation.rows.size(); ++i) {
      const std::size_t row = candidate.deviation.rows[i];
      const auto rank = static_cast<std::uint32_t>(loads_.ranks()[row]);
      const std::vector<float>& kept = candidate.deviation.kept[i];
      std::vector<std::vector<double>> columns(kept.size());
      loads_.ForEachPiece(row, [&](const LoadPiece& piece) {
        if (piece.load == candidate.load) columns[piece.column].push_back(static_cast<double>(piece.execution));
      });
      const std::vector<std::vector<double>> saved = SavedPieces(std::move(columns), kept);
      std::vector<std::size_t> next(saved.size());
      double owed = 0;  // less than a tick
      loads_.ForEachPiece(row, [&](const LoadPiece& piece) {
        if (piece.load != candidate.load) return;
        owed += saved[piece.column][next[piece.column]++];
        const auto ticks = static_cast<Tick>(std::llround(owed));
        if (ticks == 0) return;
        owed -= static_cast<double>(ticks);
        savings.push_back({rank, piece.call + (piece.is_call ? 1 : 0), ticks});
      });
    }
    if (IsSpread(candidate)) AddShares(candidate, savings);
    return savings;
  }

  // Work that other ranks have none of does not vanish: it is spread.
  bool IsSpread(const CauseCandidate& candidate) const {
    const LoadDeviation& deviation = candidate.deviation;
    const bool is_alone =
        deviation.place == CausePlace::kAlone || (deviation.place == CausePlace::kMovingHotSpot && !deviation.level);
    const LoadSource& source = loads_.source(candidate.load);
    const bool is_mpi = source.kind == LoadSource::Kind::kPath && input_.diagnosis.paths.is_mpi(source.path);
    return is_alone && !is_mpi && !loads_.is_of_devices(candidate.load);
  }

  // Every rank does an equal share of it before what it computes first in that iteration.
  void AddShares(const CauseCandidate& candidate, std::vector<Saving>& savings) const {
    const LoadMatrix& matrix = loads_.of(candidate.load);
    const std::size_t columns = loads_.of(0).iterations;
    std::vector<double> shares(columns, 0);
    for (std::size_t i = 0; i < candidate.deviation.rows.size(); ++i) {
      for (std::size_t column = 0; column < matrix.iterations; ++column) {
        const double excess = candidate.deviation.Excess(matrix, i, column);
        shares[column * columns / matrix.iterations] += excess / static_cast<double>(loads_.ranks().size());
      }
    }
    for (std::size_t row = 0; row < loads_.ranks().size(); ++row) {
      std::vector<double> left = shares;
      loads_.ForEachPiece(row, [&](const LoadPiece& piece) {
        if (piece.load != 0 || piece.is_call || left[piece.column] == 0) return;
        const auto ticks = static_cast<Tick>(std::llround(std::exchange(left[piece.column], 0)));
        savings.push_back({static_cast<std::uint32_t>(loads_.ranks()[row]), piece.call, -ticks});
      });
    }
  }

  // False: the program does not take as long as it did.
  bool ReplayAlone(MeasuredProgram& program) {
    std::vector<Fix> fixes = {nullptr};
    for (const CauseCandidate& candidate : candidates_) fixes.push_back(MakeFix({&candidate.savings}));
    const std::vector<Tick> durations = program.Replay(fixes);
    whole_ = durations.front();
    if (std::fabs(static_cast<double>(whole_) - length_) > kMeasuredPrecision * length_) return false;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      causes_.push_back(DescribeCause(input_, loads_, candidates_[i]));
      causes_.back().gain = causes_.back().gain_last = static_cast<double>(whole_ - durations[i + 1]);
    }
    return true;
  }

  Fix AllBut(std::size_t left_out) const {
    std::vector<const std::vector<Saving>*> lists;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (i != left_out) lists.push_back(&candidates_[i].savings);
    }
    return MakeFix(std::move(lists));
  }

  void ReplayWithoutOthers(MeasuredProgram& program) {
    if (candidates_.size() < 2) return;
    std::vector<Fix> fixes;
    for (std::size_t i = 0; i <= candidates_.size(); ++i) fixes.push_back(AllBut(i));
    const std::vector<Tick> durations = program.Replay(fixes);
    for (std::size_t i = 0; i < causes_.size(); ++i)
      causes_[i].gain_last = static_cast<double>(durations[i] - durations.back());
  }

  void Select() {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < causes_.size(); ++i) {
      if (std::max(causes_[i].gain, causes_[i].gain_last) >= kLeastGain * length_) order.push_back(i);
    }
    std::ranges::stable_sort(order, std::greater(),
                             [&](std::size_t i) { return std::pair(causes_[i].gain, causes_[i].gain_last); });
    Keep(order);
    const CauseCounters counters = ChooseCauseCounters(input_.trace, options_.counters);
    for (std::size_t i = 0; i < causes_.size(); ++i) {
      if (candidates_[i].is_start) continue;
      causes_[i].parts = FindCauseParts(input_, loads_, counters, candidates_[i]);
      ChooseHardware(causes_[i]);
    }
  }

  void Keep(const std::vector<std::size_t>& order) {
    std::vector<Cause> causes;
    std::vector<CauseCandidate> candidates;
    for (const std::size_t i : order) {
      causes.push_back(std::move(causes_[i]));
      candidates.push_back(std::move(candidates_[i]));
    }
    causes_ = std::move(causes);
    candidates_ = std::move(candidates);
  }

  // A plane of the grid that fills a node, or socket, is that where counters say that its cores run slower.
  static void ChooseHardware(Cause& cause) {
    const CauseClass reason = cause.reason();
    const bool runs_slower = reason == CauseClass::kLowerFrequency || reason == CauseClass::kInterruptions;
    if (cause.place != CausePlace::kPlane || cause.node.empty() || !runs_slower) return;
    cause.place = cause.socket ? CausePlace::kSocket : CausePlace::kNode;
    cause.line.reset();
  }

  // Finds the cause that gains most once another one is gone.
  void ReplayPairs(MeasuredProgram& program) {
    const std::size_t count = std::min(kMostPairs, causes_.size());
    std::vector<std::pair<std::size_t, std::size_t>> pairs;
    std::vector<Fix> fixes;
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = i + 1; j < count; ++j) {
        pairs.emplace_back(i, j);
        fixes.push_back(MakeFix({&candidates_[i].savings, &candidates_[j].savings}));
      }
    }
    const std::vector<Tick> durations = program.Replay(fixes);
    for (std::size_t p = 0; p < pairs.size(); ++p) {
      const auto both = static_cast<double>(whole_ - durations[p]);
      const auto update = [&](std::size_t first, std::size_t then) {
        const double gain = both - causes_[first].gain;
        if (gain < kLeastGain * length_ || gain <= causes_[first].next_gain) return;
        causes_[first].next = then;
        causes_[first].next_gain = gain;
      };
      update(pairs[p].first, pairs[p].second);
      update(pairs[p].second, pairs[p].first);
    }
  }

  // A repair that gains nothing alone, of the first such, is named with the one with which it gains most, else with all
  // others of its kind, and not at all where that gains nothing either.
  void JoinCoupled(MeasuredProgram& program) {
    std::vector<std::size_t> hidden;
    for (std::size_t i = 0; i < causes_.size(); ++i) {
      if (causes_[i].gain < kLeastGain * length_) hidden.push_back(i);
    }
    std::ranges::stable_sort(hidden, std::greater(), [&](std::size_t i) { return causes_[i].gain_last; });
    if (hidden.size() > kMostPairs) hidden.resize(kMostPairs);
    if (hidden.empty()) return;
    std::vector<std::pair<std::size_t, std::size_t>> pairs;
    std::vector<Fix> fixes;
    std::vector<const std::vector<Saving>*> all;
    for (const std::size_t i : hidden) {
      all.push_back(&candidates_[i].savings);
      for (std::size_t j = 0; j < causes_.size(); ++j) {
        const bool gains = causes_[j].gain >= kLeastGain * length_;
        const bool is_named = gains ? j < kMostPairs : std::ranges::find(hidden, j) != hidden.end();
        if (j == i || !is_named) continue;
        pairs.emplace_back(i, j);
        fixes.push_back(MakeFix({&candidates_[i].savings, &candidates_[j].savings}));
      }
    }
    fixes.push_back(MakeFix(std::move(all)));
    const std::vector<Tick> durations = program.Replay(fixes);
    for (std::size_t p = 0; p < pairs.size(); ++p) {
      Cause& cause = causes_[pairs[p].first];
      const auto joint = static_cast<double>(whole_ - durations[p]);
      if (joint - std::max(0.0, causes_[pairs[p].second].gain) < kLeastGain * length_ || joint <= cause.joint_gain)
        continue;
      cause.joint_gain = joint;
      cause.together = {pairs[p].second};
      cause.next.reset();  // it comes with it
    }
    const auto joint = static_cast<double>(whole_ - durations.back());
    for (const std::size_t i : hidden) {
      if (!causes_[i].together.empty() || joint < kLeastGain * length_) continue;
      causes_[i].joint_gain = joint;
      std::ranges::copy_if(hidden, std::back_inserter(causes_[i].together), [i](std::size_t j) { return j != i; });
    }
    // The other one is then named with it, too.
    for (const std::size_t i : hidden) {
      for (const std::size_t j : causes_[i].together) {
        if (causes_[j].gain >= kLeastGain * length_ || !causes_[j].together.empty()) continue;
        causes_[j].together = {i};
        causes_[j].joint_gain = causes_[i].joint_gain;
      }
    }
    DropUseless();
  }

  // Leaves the causes that gain alone, or with others that stay.
  void DropUseless() {
    std::vector<std::size_t> place(causes_.size(), causes_.size()), order;
    for (std::size_t i = 0; i < causes_.size(); ++i) {
      if (causes_[i].gain < kLeastGain * length_ && causes_[i].together.empty()) continue;
      place[i] = order.size();
      order.push_back(i);
    }
    Keep(order);
    for (Cause& cause : causes_) {
      if (cause.next && place[*cause.next] == place.size()) cause.next.reset();
      if (cause.next) cause.next = place[*cause.next];
      for (std::size_t& other : cause.together) other = place[other];
    }
  }

  const CauseInput& input_;
  const double length_;                 // ticks
  double useful_ = 0, of_devices_ = 0;  // all ranks; set while loads are chosen
  LoadTables loads_;
  const CauseOptions& options_;
  std::vector<CauseCandidate> candidates_;
  std::vector<Cause> causes_;  // one a candidate
  Tick whole_ = 0;
};

}  // namespace

std::vector<Cause> FindCauses(const CauseInput& input, const CauseOptions& options) {
  if (input.activities.end <= input.activities.begin) return {};
  return CauseSearch(input, options).Run();
}

}  // namespace farscale
