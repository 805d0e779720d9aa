#include "imbalance/delays/delay_costs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/parallel.h"

namespace farscale {
namespace {

// When a rank was last in a call path.
class PathVisits {
 public:
  // `paths`: how many there are.
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
  std::vector<std::uint32_t> first_;       // of every path, and the end
};

// What flows back to the waits of one rank, asked for from the last wait to the first. Short ranges are added wait by
// wait, long ones at their ends. Room is made for waits that something flows back to, and given up behind the last.
class WaitLedger {
 public:
  explicit WaitLedger(std::size_t waits) : blocks_((waits + kBlock - 1) / kBlock), next_(waits) {}

  // Waits [first, end) caused so much each tick of theirs; `share`: of which this much is waiting they passed on.
  void Add(std::uint32_t first, std::uint32_t end, const ByWaitKind& each, double share) {
    if (end <= first) return;
    if (end - first <= kShort) {
      for (std::uint32_t i = first; i < end; ++i) {
        Flow& flow = FlowOf(i);
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
  // Of the wait before the one asked for last.
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

  Flow& FlowOf(std::uint32_t i) {
    std::unique_ptr<Block>& block = blocks_[i / kBlock];
    if (!block) block = std::make_unique<Block>();
    return (*block)[i % kBlock];
  }

  std::vector<std::unique_ptr<Block>> blocks_;
  std::unordered_map<std::uint32_t, Rim> rims_;  // of long ranges
  ByWaitKind running_{};                         // of long ranges around the next wait
  std::priority_queue<std::pair<double, std::uint32_t>> wide_;
  std::size_t next_;
};

// A wait that is to be charged to its delayer.
struct WaitCharge {
  WaitKind kind = WaitKind::kLateSender;
  double length = 0;
  double counted = 0;   // of that, what lies in the phase
  ByWaitKind caused{};  // waiting elsewhere that it brought about
};

// Costs of many ranks and waits add up to no more than this many units, so that their sums are exact and do not depend
// on who adds them in which order: doubles have 53 bits.
constexpr int kRasterBits = 50;

double RasterUnit(const Activities& activities) {
  const auto all =
      static_cast<double>(activities.ranks.size()) * static_cast<double>(activities.end - activities.begin);
  return std::exp2(std::ilogb(std::max(1.0, all)) + 1 - kRasterBits);
}

// A share of a wait and of what it caused.
WaitCharge Scaled(WaitCharge wait, double share) {
  wait.length *= share;
  wait.counted *= share;
  for (double& caused : wait.caused) caused *= share;
  return wait;
}

// The delayer, and its call that was waited for.
struct ChargedCall {
  std::uint32_t rank = 0;
  std::uint32_t call = 0;
};

// The accounts while waits are settled, from the last to the first: the side of who waited and the side of the rank
// that was late.
class DelayAccounts {
 public:
  // `iterations`: of the phase.
  DelayAccounts(const Activities& activities, const WaitStates& states, std::size_t iterations,
                const DelayOptions& options);

  // Of the wait of the rank before the one settled last, when all that it caused has been charged. Nothing for a wait
  // that is charged to nobody.
  std::optional<WaitCharge> Settle(std::uint32_t rank, std::uint32_t index);
  // To a rank, in the order of the ends of waits, the last one first; of equals by rank, then the last. Returns how
  // much of the wait is indirect.
  double Charge(const ChargedCall& to, const WaitCharge& wait, const DelayInterval& interval,
                const std::vector<Delay>& delays);
  void SetIndirect(std::uint32_t rank, std::uint32_t index, double ticks) {
    costs_.ranks[rank].waits[index].indirect = ticks;
  }
  bool IsCharged(const WaitState& wait) const {
    return wait.kind != WaitKind::kWaitAtEnd || options_.charge_end.value_or(false);
  }

  DelayCosts Take();

 private:
  void AddTo(const ChargedCall& to, const WaitCharge& wait, const Delay& delay, double sum, double charged);
  void ChargeExit(const ChargedCall& to, const DelayInterval& interval, const WaitCharge& wait);
  void AddToRaster(PathId path, const ChargedCall& to, double cost);
  PathCosts& CostsOf(std::uint32_t rank, PathId path);

  const Activities& activities_;
  const WaitStates& states_;
  const std::size_t iterations_;
  const DelayOptions options_;
  double raster_unit_ = 1;
  DelayCosts costs_;
  std::vector<WaitLedger> ledgers_;                // of every rank
  std::vector<std::optional<PathVisits>> visits_;  // of every rank that is present, where there are iterations
  std::vector<std::vector<std::uint32_t>> place_;  // of the costs of a path, of every rank
};

DelayAccounts::DelayAccounts(const Activities& activities, const WaitStates& states, std::size_t iterations,
                             const DelayOptions& options)
    : activities_(activities),
      states_(states),
      iterations_(iterations),
      options_(options),
      raster_unit_(RasterUnit(activities)),
      visits_(states.ranks.size()),
      place_(states.ranks.size()) {
  ledgers_.reserve(states.ranks.size());
  for (const RankWaits& rank : states.ranks) ledgers_.emplace_back(rank.waits.size());
  ParallelFor(iterations > 1 ? visits_.size() : 0, [&](std::size_t rank) {
    if (activities.ranks[rank].present) visits_[rank].emplace(activities.ranks[rank], activities.paths.size());
  });
  const LossRaster empty{std::min(kRasterCells, states.ranks.size()), std::min(kRasterCells, iterations), {}};
  costs_.rasters.assign(activities.paths.size(), empty);
  for (const RankWaits& rank : states.ranks) costs_.ranks.emplace_back().waits.resize(rank.waits.size());
}

std::optional<WaitCharge> DelayAccounts::Settle(std::uint32_t rank, std::uint32_t index) {
  const WaitState& wait = states_.ranks[rank].waits[index];
  WaitCharge charge{wait.kind, static_cast<double>(wait.length), 0, {}};
  if (activities_.ranks[rank].counts(wait.call)) charge.counted = charge.length;
  const WaitLedger::Flow flow = ledgers_[rank].TakePrevious();
  if (!IsCharged(wait)) {
    costs_.ranks[rank].at_end += charge.counted;
    return std::nullopt;
  }
  WaitParts& parts = costs_.ranks[rank].waits[index];
  for (std::size_t k = 0; k < kWaitKinds; ++k) charge.caused[k] = flow.caused[k] * charge.length;
  parts.caused = SumOf(charge.caused);
  parts.propagating = std::min(1.0, flow.share) * charge.length;
  return charge;
}

double DelayAccounts::Charge(const ChargedCall& to, const WaitCharge& wait, const DelayInterval& interval,
                             const std::vector<Delay>& delays) {
  const auto kind = static_cast<std::size_t>(wait.kind);
  const auto sum = static_cast<double>(interval.delays + interval.waits);
  double explained = sum > 0 ? 1 : 0;
  if (options_.rules == DelayRules::kBounded && sum < wait.length) explained = sum / wait.length;
  if (explained < 1) ChargeExit(to, interval, Scaled(wait, 1 - explained));
  if (explained == 0) return 0;
  const WaitCharge part = Scaled(wait, explained);
  double charged = part.counted;
  if (options_.rules == DelayRules::kScalasca && charged > sum) charged = sum;
  costs_.ranks[to.rank].lost[kind] += part.counted - charged;
  ByWaitKind each{};
  for (std::size_t k = 0; k < kWaitKinds; ++k) each[k] = part.caused[k] / sum;
  each[kind] += charged / sum;
  ledgers_[to.rank].Add(interval.first_wait, interval.end_wait, each, part.length / sum);
  for (std::uint32_t i = interval.first_delay; i < interval.end_delay; ++i) AddTo(to, part, delays[i], sum, charged);
  return part.length * static_cast<double>(interval.waits) / sum;
}

// Its share of a wait and of what that caused to a delay among others that come to `sum` with it.
void DelayAccounts::AddTo(const ChargedCall& to, const WaitCharge& wait, const Delay& delay, double sum,
                          double charged) {
  const auto ticks = static_cast<double>(delay.ticks);
  PathCosts& costs = CostsOf(to.rank, delay.path);
  costs.short_term[static_cast<std::size_t>(wait.kind)] += ticks * charged / sum;
  double all = charged;
  for (std::size_t k = 0; k < kWaitKinds; ++k) {
    costs.long_term[k] += ticks * wait.caused[k] / sum;
    all += wait.caused[k];
  }
  AddToRaster(delay.path, to, ticks * all / sum);
}

// A wait that no delay explains, and what it caused: the delayer left the call at the synchronization point later.
void DelayAccounts::ChargeExit(const ChargedCall& to, const DelayInterval& interval, const WaitCharge& wait) {
  ByWaitKind charged = wait.caused;
  charged[static_cast<std::size_t>(wait.kind)] += wait.counted;
  ByWaitKind& costs =
      interval.exit_path ? CostsOf(to.rank, *interval.exit_path).exit_skew : costs_.ranks[to.rank].unattributed;
  Add(charged, costs);
  if (interval.exit_path) AddToRaster(*interval.exit_path, to, SumOf(charged));
}

// In the iteration in which the delayer was last in the path before it let the other go.
void DelayAccounts::AddToRaster(PathId path, const ChargedCall& to, double cost) {
  if (cost <= 0) return;
  LossRaster& raster = costs_.rasters[path];
  std::size_t iteration = 0;
  if (iterations_ > 1) {
    const RankActivities& delayer = activities_.ranks[to.rank];
    const std::size_t until = delayer.activity_of(to.call);
    iteration = std::min(delayer.IterationOf(visits_[to.rank]->LastBefore(until, path)), iterations_ - 1);
  }
  raster.Add(to.rank * raster.rows / states_.ranks.size(), iteration * raster.columns / iterations_,
             std::round(cost / raster_unit_) * raster_unit_);
}

PathCosts& DelayAccounts::CostsOf(std::uint32_t rank, PathId path) {
  std::vector<std::uint32_t>& places = place_[rank];
  if (places.size() <= path) places.resize(activities_.paths.size(), kNoCall);
  std::vector<PathCosts>& paths = costs_.ranks[rank].paths;
  if (places[path] == kNoCall) {
    places[path] = static_cast<std::uint32_t>(paths.size());
    paths.push_back({path, {}, {}, {}});
  }
  return paths[places[path]];
}

DelayCosts DelayAccounts::Take() {
  for (RankCosts& rank : costs_.ranks) std::ranges::sort(rank.paths, {}, &PathCosts::path);
  return std::move(costs_);
}

struct WaitPlace {
  Tick end = 0;
  std::uint32_t part = 0;   // of the stretch
  std::uint32_t index = 0;  // among the waits of the rank
};

// All wait states, the one that ends last first: what a wait causes has ended later, so it is known. They come in
// stretches of time, because everything that their accounting needs is more than can be kept of all.
class WaitsLastToFirst {
 public:
  WaitsLastToFirst(const Activities& activities, const WaitStates& states) : activities_(activities), states_(states) {
    for (std::uint32_t rank = 0; rank < states.ranks.size(); ++rank) {
      const std::size_t waits = states.ranks[rank].waits.size();
      left_.push_back(static_cast<std::uint32_t>(waits));
      for (std::size_t i = kSample / 2; i < waits; i += kSample) begins_.push_back(EndOf(rank, i));
    }
    std::ranges::sort(begins_);
    // From the first stretch to the last.
    std::size_t kept = 0;
    for (std::size_t i = kStretch / kSample; i < begins_.size(); i += kStretch / kSample) begins_[kept++] = begins_[i];
    begins_.resize(kept);
  }

  // The next stretch; false behind the last.
  bool Next() {
    if (is_done_) return false;
    is_done_ = begins_.empty();
    const Tick begin = is_done_ ? std::numeric_limits<Tick>::min() : begins_.back();
    if (!is_done_) begins_.pop_back();
    parts_.clear();
    places_.clear();
    for (std::uint32_t rank = 0; rank < left_.size(); ++rank) {
      const std::uint32_t end = left_[rank];
      std::uint32_t& first = left_[rank];
      for (Tick at = 0; first > 0 && (at = EndOf(rank, first - 1)) >= begin; --first) {
        places_.push_back({at, static_cast<std::uint32_t>(parts_.size()), first - 1});
      }
      if (first < end) parts_.push_back({rank, first, end});
    }
    // Parts are in the order of ranks.
    std::ranges::sort(places_, {}, [](const WaitPlace& p) { return std::tuple(-p.end, p.part, ~p.index); });
    return true;
  }

  const std::vector<DelayIntervalSearch::Part>& parts() const { return parts_; }
  const std::vector<WaitPlace>& places() const { return places_; }

 private:
  static constexpr std::size_t kStretch = 65536, kSample = 64;  // waits; chosen

  // Rising with the index: a wait lies within its call.
  Tick EndOf(std::uint32_t rank, std::size_t index) const {
    const WaitState& wait = states_.ranks[rank].waits[index];
    return activities_.ranks[rank].enter(wait.call) + wait.length;
  }

  const Activities& activities_;
  const WaitStates& states_;
  std::vector<std::uint32_t> left_;  // waits of every rank
  std::vector<Tick> begins_;         // of the stretches left but the first
  std::vector<DelayIntervalSearch::Part> parts_;
  std::vector<WaitPlace> places_;
  bool is_done_ = false;
};

}  // namespace

std::string_view ToString(DelayRules rules) {
  switch (rules) {
    case DelayRules::kBounded: return "bounded";
    case DelayRules::kConserving: return "conserving";
    case DelayRules::kScalasca: return "scalasca";
  }
  return "";
}

std::optional<DelayRules> ParseDelayRules(std::string_view id) {
  for (const DelayRules rules : {DelayRules::kBounded, DelayRules::kConserving, DelayRules::kScalasca}) {
    if (id == ToString(rules)) return rules;
  }
  return std::nullopt;
}

DelayCosts FindDelayCosts(const Activities& activities, const WaitStates& states, const CollectiveWaits& collectives,
                          std::size_t iterations, const DelayOptions& options) {
  const DelayIntervalSearch search(activities, states, collectives, options.rules);
  DelayAccounts accounts(activities, states, std::max<std::size_t>(1, iterations), options);
  WaitsLastToFirst waits(activities, states);
  std::vector<RankIntervals> intervals;
  while (waits.Next()) {
    intervals.resize(std::max(intervals.size(), waits.parts().size()));
    search.Find(waits.parts(), intervals);
    for (const WaitPlace& place : waits.places()) {
      const DelayIntervalSearch::Part& part = waits.parts()[place.part];
      const RankIntervals& of_part = intervals[place.part];
      const std::optional<WaitCharge> charge = accounts.Settle(part.rank, place.index);
      if (!charge) continue;
      const WaitState& wait = states.ranks[part.rank].waits[place.index];
      const double indirect = accounts.Charge({wait.delayer, wait.delayer_call}, *charge,
                                              of_part.intervals[place.index - part.first], of_part.delays);
      accounts.SetIndirect(part.rank, place.index, indirect);
    }
  }
  return accounts.Take();
}

}  // namespace farscale
