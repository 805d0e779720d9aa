#include "imbalance/delays/delay_costs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/parallel.h"

namespace farscale {
namespace {

// Finds when a rank was last in a call path.
class PathVisits {
 public:
  PathVisits(const RankActivities& activities, std::size_t paths) : activities_(activities.size()), first_(paths + 1) {
    for (std::size_t a = 0; a < activities.size(); ++a) ++first_[activities.path(a) + 1];
    for (std::size_t path = 0; path < paths; ++path) first_[path + 1] += first_[path];
    std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
    for (std::uint32_t a = 0; a < activities.size(); ++a) activities_[next[activities.path(a)]++] = a;
  }

  // The last activity in the path before `activity`; that one itself when there is none.
  std::size_t LastBefore(std::size_t activity, PathId path) const {
    const auto first = activities_.begin() + first_[path], end = activities_.begin() + first_[path + 1];
    const auto behind = std::lower_bound(first, end, activity);
    return behind == first ? activity : *std::prev(behind);
  }

 private:
  std::vector<std::uint32_t> activities_;  // path by path, rising
  std::vector<std::uint32_t> first_;       // one a path, and the end
};

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
        Flow& flow = (*block)[i % kBlock];
        farscale::Add(each, flow.caused);
        flow.share = std::max(flow.share, share);
      }
      return;
    }
    farscale::Add(each, rims_[end - 1].ends);
    farscale::Add(each, rims_[first].begins);
    wide_.emplace(share, first);
  }

  struct Flow {
    ByWaitKind caused{};  // each tick
    double share = 0;
  };
  // Takes that of the wait before the one asked for last.
  Flow TakePrevious() {
    const std::size_t i = --next_;
    std::unique_ptr<Block>& block = blocks_[i / kBlock];
    Flow flow = block ? (*block)[i % kBlock] : Flow{};
    if (i % kBlock == 0) block.reset();
    if (wide_.empty()) return flow;
    const auto rim = rims_.find(static_cast<std::uint32_t>(i));
    if (rim != rims_.end()) farscale::Add(rim->second.ends, running_);
    while (!wide_.empty() && wide_.top().second > i) wide_.pop();
    if (!wide_.empty()) flow.share = std::max(flow.share, wide_.top().first);
    farscale::Add(running_, flow.caused);
    if (rim != rims_.end()) {
      for (std::size_t kind = 0; kind < kWaitKinds; ++kind) running_[kind] -= rim->second.begins[kind];
      rims_.erase(rim);
    }
    if (wide_.empty()) running_ = {};
    return flow;
  }

 private:
  static constexpr std::uint32_t kShort = 64;  // chosen: adding one by one costs less than a heap then
  static constexpr std::size_t kBlock = 64;    // chosen: about as many as a short range has
  using Block = std::array<Flow, kBlock>;

  struct Rim {
    ByWaitKind begins{}, ends{};
  };

  std::vector<std::unique_ptr<Block>> blocks_;
  std::unordered_map<std::uint32_t, Rim> rims_;  // at both ends of long ranges
  ByWaitKind running_{};                         // from long ranges around the next wait
  std::priority_queue<std::pair<double, std::uint32_t>> wide_;
  std::size_t next_;
};

// Ticks of a wait that are to be charged to its delayer.
struct WaitCharge {
  double length = 0;
  double counted = 0;   // the part of it in the phase
  ByWaitKind caused{};  // waiting elsewhere that it brought about

  WaitCharge Scaled(double share) const {
    WaitCharge scaled{length * share, counted * share, caused};
    for (double& of_kind : scaled.caused) of_kind *= share;
    return scaled;
  }
};

// Costs of many ranks and waits add up to no more than this many units, so that their sums are exact and do not depend
// on who adds them in which order: doubles have 53 bits.
constexpr int kRasterBits = 50;

double RasterUnit(const Activities& activities) {
  const auto all =
      static_cast<double>(activities.ranks.size()) * static_cast<double>(activities.end - activities.begin);
  return std::exp2(std::ilogb(std::max(1.0, all)) + 1 - kRasterBits);
}

// The accounts while waits are settled, from the last to the first: the side of who waited and the side of the rank
// that was late.
struct DelayAccounts {
  std::size_t iterations = 1;
  DelayOptions options;
  double raster_unit = 1;
  DelayCosts costs{};
  std::vector<WaitLedger> ledgers{};                // one a rank
  std::vector<std::optional<PathVisits>> visits{};  // for ranks that are present, where there are iterations
  std::vector<std::vector<std::uint32_t>> place{};  // one a rank and path, among the costs of the rank
};

DelayAccounts OpenAccounts(const Activities& activities, const WaitStates& states, std::size_t iterations,
                           const DelayOptions& options) {
  const std::size_t ranks = states.ranks.size();
  DelayAccounts accounts{iterations, options, RasterUnit(activities)};
  accounts.visits.resize(ranks);
  accounts.place.resize(ranks);
  for (const RankWaits& rank : states.ranks) {
    accounts.ledgers.emplace_back(rank.waits.size());
    accounts.costs.ranks.emplace_back().waits.resize(rank.waits.size());
  }
  ParallelFor(iterations > 1 ? ranks : 0, [&](std::size_t rank) {
    if (activities.ranks[rank].present) accounts.visits[rank].emplace(activities.ranks[rank], activities.paths.size());
  });
  const LossRaster empty{std::min(kRasterCells, ranks), std::min(kRasterCells, iterations), {}};
  accounts.costs.rasters.assign(activities.paths.size(), empty);
  return accounts;
}

// In the iteration in which the delayer was last in the path before it let the other go.
void AddToRaster(const Activities& activities, const WaitStates& states, DelayAccounts& accounts, PathId path,
                 const WaitState& wait, double cost) {
  if (cost <= 0) return;
  LossRaster& raster = accounts.costs.rasters[path];
  std::size_t iteration = 0;
  if (accounts.iterations > 1) {
    const RankActivities& delayer = activities.ranks[wait.delayer];
    const std::size_t until = delayer.activity_of(wait.delayer_call);
    iteration =
        std::min(delayer.IterationOf(accounts.visits[wait.delayer]->LastBefore(until, path)), accounts.iterations - 1);
  }
  raster.Add(wait.delayer * raster.rows / states.ranks.size(), iteration * raster.columns / accounts.iterations,
             std::round(cost / accounts.raster_unit) * accounts.raster_unit);
}

PathCosts& CostsIn(const Activities& activities, DelayAccounts& accounts, std::uint32_t rank, PathId path) {
  std::vector<std::uint32_t>& places = accounts.place[rank];
  if (places.size() <= path) places.resize(activities.paths.size(), kNoCall);
  std::vector<PathCosts>& paths = accounts.costs.ranks[rank].paths;
  if (places[path] == kNoCall) {
    places[path] = static_cast<std::uint32_t>(paths.size());
    paths.push_back({path, {}, {}, {}});
  }
  return paths[places[path]];
}

// A wait that no delay explains, and what it caused: the delayer left the call at the synchronization point later.
void ChargeExit(const Activities& activities, const WaitStates& states, DelayAccounts& accounts, const WaitState& wait,
                const WaitCharge& charge, const DelayInterval& interval) {
  ByWaitKind charged = charge.caused;
  charged[static_cast<std::size_t>(wait.kind)] += charge.counted;
  const std::optional<PathId>& path = interval.exit_path;
  Add(charged, path ? CostsIn(activities, accounts, wait.delayer, *path).exit_skew
                    : accounts.costs.ranks[wait.delayer].unattributed);
  if (path) AddToRaster(activities, states, accounts, *path, wait, Sum(charged));
}

// Charges the delayer; returns the indirect part of the wait.
double ChargeDelays(const Activities& activities, const WaitStates& states, DelayAccounts& accounts,
                    const WaitState& wait, const WaitCharge& charge, const DelayInterval& interval,
                    const std::vector<Delay>& delays) {
  const auto kind = static_cast<std::size_t>(wait.kind);
  const auto sum = static_cast<double>(interval.delays + interval.waits);
  double explained = sum > 0 ? 1 : 0;
  if (accounts.options.rules == DelayRules::kBounded && sum < charge.length) explained = sum / charge.length;
  if (explained < 1) ChargeExit(activities, states, accounts, wait, charge.Scaled(1 - explained), interval);
  if (explained == 0) return 0;
  const WaitCharge part = charge.Scaled(explained);
  double charged = part.counted;
  if (accounts.options.rules == DelayRules::kScalasca && charged > sum) charged = sum;
  accounts.costs.ranks[wait.delayer].lost[kind] += part.counted - charged;
  ByWaitKind each{};
  for (std::size_t k = 0; k < kWaitKinds; ++k) each[k] = part.caused[k] / sum;
  each[kind] += charged / sum;
  accounts.ledgers[wait.delayer].Add(interval.first_wait, interval.end_wait, each, part.length / sum);
  for (std::uint32_t i = interval.first_delay; i < interval.end_delay; ++i) {
    const auto ticks = static_cast<double>(delays[i].ticks);
    PathCosts& costs = CostsIn(activities, accounts, wait.delayer, delays[i].path);
    costs.short_term[kind] += ticks * charged / sum;
    double all = charged;
    for (std::size_t k = 0; k < kWaitKinds; ++k) {
      costs.long_term[k] += ticks * part.caused[k] / sum;
      all += part.caused[k];
    }
    AddToRaster(activities, states, accounts, delays[i].path, wait, ticks * all / sum);
  }
  return part.length * static_cast<double>(interval.waits) / sum;
}

// Settles the wait of the rank before the one settled last, once everything that it caused has been charged. Waits
// must come in the order of their ends, the last one first; of equals by rank, then the last.
void Settle(const Activities& activities, const WaitStates& states, DelayAccounts& accounts, std::uint32_t rank,
            std::uint32_t index, const DelayInterval& interval, const std::vector<Delay>& delays) {
  const WaitState& wait = states.ranks[rank].waits[index];
  WaitCharge charge{static_cast<double>(wait.length), 0, {}};
  if (activities.ranks[rank].counts(wait.call)) charge.counted = charge.length;
  const WaitLedger::Flow flow = accounts.ledgers[rank].TakePrevious();
  if (wait.kind == WaitKind::kWaitAtEnd && !accounts.options.charge_end.value_or(false)) {
    accounts.costs.ranks[rank].at_end += charge.counted;
    return;
  }
  WaitParts& parts = accounts.costs.ranks[rank].waits[index];
  for (std::size_t k = 0; k < kWaitKinds; ++k) charge.caused[k] = flow.caused[k] * charge.length;
  parts.caused = Sum(charge.caused);
  parts.propagating = std::min(1.0, flow.share) * charge.length;
  parts.indirect = ChargeDelays(activities, states, accounts, wait, charge, interval, delays);
}

struct WaitPlace {
  Tick end = 0;
  std::uint32_t range = 0;  // in the stretch
  std::uint32_t index = 0;  // among the waits of the rank
};

// All wait states, the one that ends last first: what a wait causes has ended later, so it is known. They come in
// stretches of time, because everything that their accounting needs is more than can be kept of all.
struct WaitStretch {
  std::vector<WaitRange> ranges;
  std::vector<WaitPlace> places;
  std::vector<std::uint32_t> left;  // waits, by rank
  std::vector<Tick> begins;         // the stretches left but the first
  bool is_done = false;
};

constexpr std::size_t kWaitStretch = 65536, kWaitSample = 64;  // waits; chosen

// Rising with the index: a wait lies within its call.
Tick WaitEnd(const Activities& activities, const WaitStates& states, std::uint32_t rank, std::size_t index) {
  const WaitState& wait = states.ranks[rank].waits[index];
  return activities.ranks[rank].enter(wait.call) + wait.length;
}

// Before the last stretch.
WaitStretch BeginStretches(const Activities& activities, const WaitStates& states) {
  WaitStretch stretch;
  std::vector<Tick>& begins = stretch.begins;
  for (std::uint32_t rank = 0; rank < states.ranks.size(); ++rank) {
    const std::size_t waits = states.ranks[rank].waits.size();
    stretch.left.push_back(static_cast<std::uint32_t>(waits));
    for (std::size_t i = kWaitSample / 2; i < waits; i += kWaitSample)
      begins.push_back(WaitEnd(activities, states, rank, i));
  }
  std::ranges::sort(begins);
  // From the first stretch to the last.
  constexpr std::size_t kStep = kWaitStretch / kWaitSample;
  std::size_t kept = 0;
  for (std::size_t i = kStep; i < begins.size(); i += kStep) begins[kept++] = begins[i];
  begins.resize(kept);
  return stretch;
}

// The next stretch; false behind the last.
bool TakeStretch(const Activities& activities, const WaitStates& states, WaitStretch& stretch) {
  if (stretch.is_done) return false;
  stretch.is_done = stretch.begins.empty();
  const Tick begin = stretch.is_done ? std::numeric_limits<Tick>::min() : stretch.begins.back();
  if (!stretch.is_done) stretch.begins.pop_back();
  stretch.ranges.clear();
  stretch.places.clear();
  for (std::uint32_t rank = 0; rank < stretch.left.size(); ++rank) {
    const std::uint32_t end = stretch.left[rank];
    std::uint32_t& first = stretch.left[rank];
    for (Tick at = 0; first > 0 && (at = WaitEnd(activities, states, rank, first - 1)) >= begin; --first) {
      stretch.places.push_back({at, static_cast<std::uint32_t>(stretch.ranges.size()), first - 1});
    }
    if (first < end) stretch.ranges.push_back({rank, first, end});
  }
  // Ranges are in the order of ranks.
  std::ranges::sort(stretch.places, {}, [](const WaitPlace& p) { return std::tuple(-p.end, p.range, ~p.index); });
  return true;
}

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

DelayCosts FindDelayCosts(const Activities& activities, const WaitStates& states, const CollectiveWaits& collectives,
                          std::size_t iterations, const DelayOptions& options) {
  const std::vector<IntervalSums> sums = FindIntervalSums(activities, states);
  DelayAccounts accounts = OpenAccounts(activities, states, std::max<std::size_t>(1, iterations), options);
  WaitStretch stretch = BeginStretches(activities, states);
  std::vector<RankIntervals> intervals;
  while (TakeStretch(activities, states, stretch)) {
    intervals.resize(std::max(intervals.size(), stretch.ranges.size()));
    FindIntervals(activities, states, collectives, options.rules, sums, stretch.ranges, intervals);
    for (const WaitPlace& place : stretch.places) {
      const WaitRange& range = stretch.ranges[place.range];
      const RankIntervals& found = intervals[place.range];
      Settle(activities, states, accounts, range.rank, place.index, found.intervals[place.index - range.first],
             found.delays);
    }
  }
  for (RankCosts& rank : accounts.costs.ranks) std::ranges::sort(rank.paths, {}, &PathCosts::path);
  return std::move(accounts.costs);
}

}  // namespace farscale
