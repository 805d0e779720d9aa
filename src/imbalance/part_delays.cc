#include "imbalance/part_delays.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "imbalance/delay_accounts.h"
#include "imbalance/wait_steps.h"

namespace farscale {
namespace {

// A wait that will be charged to a rank here.
struct DueCharge {
  Tick end = 0;
  std::uint32_t rank = 0, index = 0;  // who waits
  std::uint32_t delayer = 0, delayer_call = 0;

  // In the order of charging.
  auto Place() const { return std::tuple(-end, rank, ~index); }
};

// What the waiter says when it is settled.
struct SettledWait {
  std::uint32_t rank = 0, index = 0;
  std::uint32_t delayer = 0;
  SyncPoint from;
  WaitKind kind = WaitKind::kLateSender;
  double length = 0, counted = 0;
  std::vector<std::pair<std::uint8_t, double>> caused;  // what there is, by kind
  std::vector<std::pair<PathId, Tick>> times;           // of the waiter in the interval
};

// What the delayer's process answers.
struct IndirectPart {
  std::uint32_t rank = 0, index = 0;
  double ticks = 0;
};

// Where the critical path goes on.
struct PathToken {
  std::uint32_t rank = 0;
  Tick end = 0;
  std::uint64_t number = 0;
};

// To another process in a round.
struct BackwardNews {
  std::vector<SettledWait> waits;
  std::vector<IndirectPart> indirect;
  std::vector<PathToken> path;
};

struct RankQueue {
  std::vector<DueCharge> due;  // to the rank, in order
  std::size_t charged = 0;     // of them
  std::uint32_t unsettled = 0;
  std::map<std::pair<std::uint32_t, std::uint32_t>, SettledWait> settled;  // waits by rank and index, not yet charged
};

class BackwardPass {
 public:
  BackwardPass(const PhasePart& phase, const WaitStates& states, const CollectiveWaits& collectives,
               std::size_t iterations, const DelayOptions& options)
      : phase_(phase),
        states_(states),
        points_(phase, states, collectives),
        sides_(phase.activities, states, options.rules),
        accounts_(phase.activities, states, std::max<std::size_t>(1, iterations), options),
        own_times_(phase.activities.paths.size()),
        other_times_(phase.activities.paths.size()),
        queues_(phase.ranks()),
        news_(phase.exchange.count()) {
    ShareDue();
  }

  PartDelays Run() {
    const LastRank last = LastRankOfAll(phase_);
    if (last.rank != kNoCall && phase_.IsOwn(last.rank)) Follow({last.rank, phase_.activities.end, 0});
    for (std::uint32_t rank = 0; rank < queues_.size(); ++rank) {
      if (phase_.IsOwn(rank)) ready_.push_back(rank);
    }
    std::uint64_t left = 0;
    do {
      ++result_.rounds;
      while (!ready_.empty()) {
        const std::uint32_t rank = ready_.back();
        ready_.pop_back();
        Advance(rank);
      }
      left = left_;
      for (const BackwardNews& to : news_) left += to.path.size();
      SwapNews();
    } while (phase_.exchange.Sum(left) > 0);
    result_.costs = accounts_.Take();
    return std::move(result_);
  }

 private:
  const WaitState& WaitOf(std::uint32_t rank, std::uint32_t index) const { return states_.ranks[rank].waits[index]; }

  // Which waits are charged to ranks here; who tells of them or is told.
  void ShareDue() {
    std::vector<std::vector<DueCharge>> of_member(phase_.exchange.count());
    std::vector<char> is_partner(phase_.exchange.count());
    for (std::uint32_t rank = 0; rank < queues_.size(); ++rank) {
      const std::vector<WaitState>& waits = states_.ranks[rank].waits;
      queues_[rank].unsettled = static_cast<std::uint32_t>(waits.size());
      left_ += waits.size();
      for (std::uint32_t i = 0; i < waits.size(); ++i) {
        if (!accounts_.IsCharged(waits[i])) continue;
        const Tick end = phase_.activities.ranks[rank].enter(waits[i].call) + waits[i].length;
        const std::size_t member = phase_.part.members[waits[i].delayer];
        of_member[member].push_back({end, rank, i, waits[i].delayer, waits[i].delayer_call});
        is_partner[member] = 1;
      }
    }
    std::vector<DueCharge> own = std::exchange(of_member[phase_.exchange.own()], {});
    const std::vector<DueCharge> others = SwapValues(phase_.exchange, std::move(of_member));
    for (const std::vector<DueCharge>* some : {&std::as_const(own), &others}) {
      for (const DueCharge& due : *some) {
        queues_[due.delayer].due.push_back(due);
        is_partner[phase_.part.members[due.rank]] = 1;
        ++left_;
      }
    }
    for (RankQueue& queue : queues_) std::ranges::sort(queue.due, {}, &DueCharge::Place);
    for (const std::size_t other : phase_.exchange.Others()) {
      if (is_partner[other] != 0) partners_.push_back(other);
    }
  }

  // Settles and charges what can be, in the order of time: a wait of the rank behind all charges for what it did later.
  void Advance(std::uint32_t rank) {
    RankQueue& queue = queues_[rank];
    while (true) {
      const bool has_wait = queue.unsettled > 0;
      const bool is_due = queue.charged < queue.due.size() &&
                          (!has_wait || queue.due[queue.charged].delayer_call > WaitOf(rank, queue.unsettled - 1).call);
      if (is_due) {
        const DueCharge& due = queue.due[queue.charged];
        const auto settled = queue.settled.find({due.rank, due.index});
        if (settled == queue.settled.end()) return;
        Charge(due, settled->second);
        queue.settled.erase(settled);
        ++queue.charged;
      } else if (has_wait) {
        Settle(rank, --queue.unsettled);
      } else {
        return;
      }
      --left_;
    }
  }

  void Settle(std::uint32_t rank, std::uint32_t index) {
    const std::optional<WaitCharge> charge = accounts_.Settle(rank, index);
    if (!charge) return;
    const WaitState& wait = WaitOf(rank, index);
    SettledWait settled{
        rank, index, wait.delayer, points_.Of(rank, index), charge->kind, charge->length, charge->counted, {}, {}};
    for (std::size_t k = 0; k < kWaitKinds; ++k) {
      if (charge->caused[k] != 0) settled.caused.emplace_back(static_cast<std::uint8_t>(k), charge->caused[k]);
    }
    own_times_.Clear();
    sides_.AddBetween(own_times_, rank, settled.from.call, wait.call);
    for (const PathId path : own_times_.used()) {
      if (own_times_[path] != 0) settled.times.emplace_back(path, own_times_[path]);
    }
    if (phase_.IsOwn(wait.delayer)) return Take(std::move(settled));
    news_[phase_.part.members[wait.delayer]].waits.push_back(std::move(settled));
  }

  void Take(SettledWait settled) {
    ready_.push_back(settled.delayer);
    RankQueue& queue = queues_[settled.delayer];
    const std::pair<std::uint32_t, std::uint32_t> place(settled.rank, settled.index);
    queue.settled.emplace(place, std::move(settled));
  }

  void Charge(const DueCharge& due, const SettledWait& settled) {
    own_times_.Clear();
    for (const auto& [path, ticks] : settled.times) own_times_.Add(path, ticks);
    delays_.clear();
    const DelayInterval interval =
        sides_.Compare(own_times_, due.delayer, settled.from, due.delayer_call, other_times_, delays_);
    WaitCharge charge{settled.kind, settled.length, settled.counted, {}};
    for (const auto& [kind, ticks] : settled.caused) charge.caused[kind] = ticks;
    const double indirect = accounts_.Charge({due.delayer, due.delayer_call}, charge, interval, delays_);
    if (phase_.IsOwn(due.rank)) return accounts_.SetIndirect(due.rank, due.index, indirect);
    if (indirect != 0) news_[phase_.part.members[due.rank]].indirect.push_back({due.rank, due.index, indirect});
  }

  // As far as it stays on ranks here.
  void Follow(PathToken token) {
    while (phase_.IsOwn(token.rank)) {
      const PathStep step = StepBack(phase_.activities, states_, token.rank, token.end);
      result_.critical.push_back({token.number++, {token.rank, step.begin, token.end}});
      if (!step.wait) return;
      token.rank = step.wait->delayer;
      token.end = step.begin;
    }
    news_[phase_.part.members[token.rank]].path.push_back(token);
  }

  void SwapNews() {
    std::vector<std::string> texts;
    for (const std::size_t partner : partners_) {
      BackwardNews& to = news_[partner];
      const bool is_empty = to.waits.empty() && to.indirect.empty() && to.path.empty();
      texts.push_back(is_empty ? "" : ToBytes(to));
      to = {};
    }
    for (const std::string& text : phase_.exchange.Swap(partners_, std::move(texts))) {
      if (text.empty()) continue;
      BackwardNews from;
      FromBytes(text, from);
      for (SettledWait& settled : from.waits) Take(std::move(settled));
      for (const IndirectPart& part : from.indirect) accounts_.SetIndirect(part.rank, part.index, part.ticks);
      for (const PathToken& token : from.path) Follow(token);
    }
  }

  const PhasePart& phase_;
  const WaitStates& states_;
  const PartSyncPoints points_;
  const IntervalSides sides_;
  DelayAccounts accounts_;
  PathTimes own_times_, other_times_;
  std::vector<Delay> delays_;
  std::vector<RankQueue> queues_;
  std::vector<std::uint32_t> ready_;  // ranks that may be able to go on
  std::uint64_t left_ = 0;            // to settle and to charge
  std::vector<std::size_t> partners_;
  std::vector<BackwardNews> news_;  // by member
  PartDelays result_;
};

}  // namespace

PartDelays FindPartDelays(const PhasePart& phase, const WaitStates& states, const CollectiveWaits& collectives,
                          std::size_t iterations, const DelayOptions& options) {
  return BackwardPass(phase, states, collectives, iterations, options).Run();
}

}  // namespace farscale
