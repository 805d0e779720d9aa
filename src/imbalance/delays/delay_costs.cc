#include "imbalance/delays/delay_costs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <queue>
#include <tuple>
#include <unordered_map>

#include "base/parallel.h"

namespace farscale {
namespace {

// Waiting that flows back to the waits of one rank, asked for from the last wait to the first. Short ranges are added
// wait by wait, long ones at their ends. Room is made for waits that something flows back to, and given up behind the
// last.
class WaitLedger {
 public:
  explicit WaitLedger(std::size_t waits) : blocks_((waits + kBlock - 1) / kBlock), next_(waits) {}

  // Waits [first, end) caused so much each tick of theirs; `share`: of which this much is waiting they passed on.
  void Add(std::uint32_t first, std::uint32_t end, const ByWaitKind& each, double share) {
    if (end <= first) return;
    if (end - first <= kShort) {
      for (std::uint32_t i = first; i < end; ++i) {
        std::unique_ptr<Block>& block = blocks_[i / kBlock];
        if (!block) block = std::make_unique<Block>();
        auto& [caused, most] = (*block)[i % kBlock];
        farscale::Add(each, caused);
        most = std::max(most, share);
      }
      return;
    }
    farscale::Add(each, rims_[end - 1].second);
    farscale::Add(each, rims_[first].first);
    wide_.emplace(share, first);
  }

  using Flow = std::pair<ByWaitKind, double>;  // caused each tick, and the share
  // Takes that of the wait before the one asked for last.
  Flow TakePrevious() {
    const std::size_t i = --next_;
    std::unique_ptr<Block>& block = blocks_[i / kBlock];
    Flow flow = block ? (*block)[i % kBlock] : Flow{};
    auto& [caused, share] = flow;
    if (i % kBlock == 0) block.reset();
    if (wide_.empty()) return flow;
    const auto rim = rims_.find(static_cast<std::uint32_t>(i));
    if (rim != rims_.end()) farscale::Add(rim->second.second, running_);
    while (!wide_.empty() && wide_.top().second > i) wide_.pop();
    if (!wide_.empty()) share = std::max(share, wide_.top().first);
    farscale::Add(running_, caused);
    if (rim != rims_.end()) {
      for (std::size_t kind = 0; kind < kWaitKinds; ++kind) running_[kind] -= rim->second.first[kind];
      rims_.erase(rim);
    }
    if (wide_.empty()) running_ = {};
    return flow;
  }

 private:
  static constexpr std::uint32_t kShort = 64;  // chosen: adding one by one costs less than a heap then
  static constexpr std::size_t kBlock = 64;    // chosen: about as many as a short range has
  using Block = std::array<Flow, kBlock>;

  std::vector<std::unique_ptr<Block>> blocks_;
  // At both ends of long ranges: what begins and what ends there.
  std::unordered_map<std::uint32_t, std::pair<ByWaitKind, ByWaitKind>> rims_;
  ByWaitKind running_{};  // from long ranges around the next wait
  std::priority_queue<std::pair<double, std::uint32_t>> wide_;
  std::size_t next_;
};

// Costs of many ranks and waits add up to no more than this many units, so that their sums are exact and do not depend
// on who adds them in which order: doubles have 53 bits.
constexpr int kRasterBits = 50;

constexpr std::size_t kWaitStretch = 65536, kWaitSample = 64;  // waits; chosen

// The accounts while waits are settled, from the last to the first: the side of who waited and the side of the rank
// that was late. What a wait causes has ended later, so it is known. Waits come in stretches of time, because
// everything that their accounting needs is more than can be kept of all.
class DelayAccounts {
 public:
  DelayAccounts(const WaitStates& states, std::size_t iterations, DelayRules rules, bool charge_end)
      : states_(states), iterations_(std::max<std::size_t>(1, iterations)), rules_(rules), charge_end_(charge_end) {
    const Activities& activities = states.activities;
    const std::size_t ranks = states.ranks.size();
    const double all = static_cast<double>(activities.ranks.size()) * states.length();
    raster_unit_ = std::exp2(std::ilogb(std::max(1.0, all)) + 1 - kRasterBits);
    visits_.resize(ranks);
    first_visit_.resize(ranks);
    place_.resize(ranks);
    for (const RankWaits& rank : states.ranks) {
      ledgers_.emplace_back(rank.waits.size());
      costs_.ranks.emplace_back().waits.resize(rank.waits.size());
    }
    ParallelFor(iterations_ > 1 ? ranks : 0, [&](std::size_t rank) {
      const RankActivities& own = activities.ranks[rank];
      if (!own.present) return;
      std::vector<std::uint32_t>& first = first_visit_[rank];
      first.resize(activities.paths.size() + 1);
      for (std::size_t a = 0; a < own.size(); ++a) ++first[own.path(a) + 1];
      std::partial_sum(first.begin(), first.end(), first.begin());
      std::vector<std::uint32_t> next(first.begin(), first.end() - 1);
      visits_[rank].resize(own.size());
      for (std::uint32_t a = 0; a < own.size(); ++a) visits_[rank][next[own.path(a)]++] = a;
    });
    const LossRaster empty{std::min(kRasterCells, ranks), std::min(kRasterCells, iterations_), {}};
    costs_.rasters.assign(activities.paths.size(), empty);
  }

  DelayCosts Settle() {
    const std::vector<IntervalSums> sums = FindIntervalSums(states_);
    std::vector<std::uint32_t> left;  // waits, by rank
    for (const RankWaits& rank : states_.ranks) left.push_back(static_cast<std::uint32_t>(rank.waits.size()));
    std::vector<Tick> ends;
    for (std::uint32_t rank = 0; rank < left.size(); ++rank) {
      for (std::size_t i = kWaitSample / 2; i < left[rank]; i += kWaitSample) ends.push_back(WaitEnd(rank, i));
    }
    // From the last stretch to the first.
    std::vector<Tick> begins = BeginsOfStretches(std::move(ends), kWaitStretch / kWaitSample);
    for (; !begins.empty(); begins.pop_back()) {
      // The waits left that end from its begin on, as ranges of ranks and one by one, the one that ends last first: its
      // end, its range in the stretch, and its index among the waits of the rank.
      using WaitPlace = std::tuple<Tick, std::uint32_t, std::uint32_t>;
      std::vector<RankIntervals> ranges;
      std::vector<WaitPlace> places;
      for (std::uint32_t rank = 0; rank < left.size(); ++rank) {
        const std::uint32_t end = left[rank];
        std::uint32_t& first = left[rank];
        for (Tick at = 0; first > 0 && (at = WaitEnd(rank, first - 1)) >= begins.back(); --first) {
          places.emplace_back(at, static_cast<std::uint32_t>(ranges.size()), first - 1);
        }
        if (first < end) ranges.push_back({rank, first, end});
      }
      // Ranges are in the order of ranks.
      std::ranges::sort(places, {}, [](const WaitPlace& place) {
        const auto [end, range, index] = place;
        return std::tuple(-end, range, ~index);
      });
      FindIntervals(states_, rules_, sums, ranges);
      for (const auto& [end, number, index] : places) {
        const RankIntervals& range = ranges[number];
        Settle(range.rank, index, range.intervals[index - range.first], range.delays);
      }
    }
    for (RankCosts& rank : costs_.ranks) std::ranges::sort(rank.paths, {}, &PathCosts::path);
    return std::move(costs_);
  }

 private:
  // Rising with the index: a wait lies within its call.
  Tick WaitEnd(std::uint32_t rank, std::size_t index) const {
    const WaitState& wait = states_.ranks[rank].waits[index];
    return states_.activities.ranks[rank].enter(wait.call) + wait.length;
  }

  // Settles the wait of the rank before the one settled last, once everything that it caused has been charged. Waits
  // must come in the order of their ends, the last one first; of equals by rank, then the last.
  void Settle(std::uint32_t rank, std::uint32_t index, const DelayInterval& interval,
              const std::vector<std::pair<PathId, Tick>>& delays) {
    const WaitState& wait = states_.ranks[rank].waits[index];
    const auto kind = static_cast<std::size_t>(wait.kind);
    const auto length = static_cast<double>(wait.length);
    double counted = states_.activities.ranks[rank].counts(wait.call) ? length : 0;  // the part in the phase
    auto [caused, share] = ledgers_[rank].TakePrevious();  // waiting elsewhere that it brought about
    if (wait.kind == WaitKind::kWaitAtEnd && !charge_end_) {
      costs_.ranks[rank].at_end += counted;
      return;
    }
    WaitParts& parts = costs_.ranks[rank].waits[index];
    for (double& of_kind : caused) of_kind *= length;
    parts.caused = Sum(caused);
    parts.propagating = std::min(1.0, share) * length;
    const auto sum = static_cast<double>(interval.delays + interval.waits);
    double explained = sum > 0 ? 1 : 0;
    if (rules_ == DelayRules::kBounded && sum < length) explained = sum / length;
    if (explained < 1) {
      // No delay explains the rest, and what it caused: the delayer left the call at the synchronization point later.
      ByWaitKind rest = caused;
      for (double& of_kind : rest) of_kind *= 1 - explained;
      rest[kind] += counted * (1 - explained);
      const std::optional<PathId>& path = interval.exit_path;
      Add(rest, path ? CostsIn(wait.delayer, *path).exit_skew : costs_.ranks[wait.delayer].unattributed);
      if (path) AddToRaster(*path, wait, Sum(rest));
    }
    if (explained == 0) return;
    counted *= explained;
    for (double& of_kind : caused) of_kind *= explained;
    double charged = counted;
    if (rules_ == DelayRules::kScalasca && charged > sum) charged = sum;
    costs_.ranks[wait.delayer].lost[kind] += counted - charged;
    ByWaitKind each{};
    for (std::size_t k = 0; k < kWaitKinds; ++k) each[k] = caused[k] / sum;
    each[kind] += charged / sum;
    ledgers_[wait.delayer].Add(interval.first_wait, interval.end_wait, each, length * explained / sum);
    for (std::uint32_t i = interval.first_delay; i < interval.end_delay; ++i) {
      const auto ticks = static_cast<double>(delays[i].second);
      PathCosts& costs = CostsIn(wait.delayer, delays[i].first);
      costs.short_term[kind] += ticks * charged / sum;
      double all = charged;
      for (std::size_t k = 0; k < kWaitKinds; ++k) {
        costs.long_term[k] += ticks * caused[k] / sum;
        all += caused[k];
      }
      AddToRaster(delays[i].first, wait, ticks * all / sum);
    }
    parts.indirect = length * explained * static_cast<double>(interval.waits) / sum;
  }

  PathCosts& CostsIn(std::uint32_t rank, PathId path) {
    std::vector<std::uint32_t>& places = place_[rank];
    if (places.size() <= path) places.resize(states_.activities.paths.size(), kNoCall);
    std::vector<PathCosts>& paths = costs_.ranks[rank].paths;
    if (places[path] == kNoCall) {
      places[path] = static_cast<std::uint32_t>(paths.size());
      paths.push_back({path, {}, {}, {}});
    }
    return paths[places[path]];
  }

  // In the iteration in which the delayer was last in the path before it let the other go.
  void AddToRaster(PathId path, const WaitState& wait, double cost) {
    if (cost <= 0) return;
    LossRaster& raster = costs_.rasters[path];
    std::size_t iteration = 0;
    if (iterations_ > 1) {
      const RankActivities& delayer = states_.activities.ranks[wait.delayer];
      const std::uint32_t until = delayer.activity_of(wait.delayer_call);
      const std::vector<std::uint32_t>& firsts = first_visit_[wait.delayer];
      const auto first = visits_[wait.delayer].begin() + firsts[path];
      const auto behind = std::lower_bound(first, visits_[wait.delayer].begin() + firsts[path + 1], until);
      iteration = std::min(delayer.IterationOf(behind == first ? until : *std::prev(behind)), iterations_ - 1);
    }
    raster.Add(wait.delayer * raster.rows / states_.ranks.size(), iteration * raster.columns / iterations_,
               std::round(cost / raster_unit_) * raster_unit_);
  }

  const WaitStates& states_;
  const std::size_t iterations_;
  const DelayRules rules_;
  const bool charge_end_;
  double raster_unit_ = 0;
  DelayCosts costs_;
  std::vector<WaitLedger> ledgers_;  // one a rank
  // Activities of ranks that are present, where there are iterations: path by path, rising; and where each path begins.
  std::vector<std::vector<std::uint32_t>> visits_, first_visit_;
  std::vector<std::vector<std::uint32_t>> place_;  // one a rank and path, among the costs of the rank
};

}  // namespace

std::string_view ToString(DelayRules rules) {
  constexpr std::string_view kIds[] = {"bounded", "conserving", "scalasca"};
  return kIds[static_cast<std::size_t>(rules)];
}

std::optional<DelayRules> ParseDelayRules(std::string_view id) {
  for (const DelayRules rules : {DelayRules::kBounded, DelayRules::kConserving, DelayRules::kScalasca}) {
    if (id == ToString(rules)) return rules;
  }
  return std::nullopt;
}

DelayCosts FindDelayCosts(const WaitStates& states, std::size_t iterations, DelayRules rules, bool charge_end) {
  return DelayAccounts(states, iterations, rules, charge_end).Settle();
}

std::vector<Tick> BeginsOfStretches(std::vector<Tick> samples, std::size_t step) {
  std::ranges::sort(samples);
  std::vector<Tick> begins = {std::numeric_limits<Tick>::min()};
  for (std::size_t i = step; i < samples.size(); i += step) begins.push_back(samples[i]);
  return begins;
}

}  // namespace farscale
