#include "imbalance/delay_costs.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>

#include "imbalance/delay_accounts.h"
#include "imbalance/delay_intervals.h"

namespace farscale {
namespace {

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
