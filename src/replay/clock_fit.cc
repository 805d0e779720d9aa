#include <Eigen/Sparse>
#include <Eigen/SparseCholesky>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/parallel.h"
#include "base/text.h"
#include "replay/clock_repair.h"
#include "stats/sample_quantiles.h"

namespace farscale {
namespace {

constexpr std::uint32_t kNoRank = std::numeric_limits<std::uint32_t>::max();
// Equations of one fit; chosen: more take longer and add little.
constexpr std::size_t kMostEquations = 200000;
// Parts of the run in each of which the fastest message of a direction counts; chosen.
constexpr std::int64_t kMostWindows = 32;
constexpr int kSolutions = 30;
// A message that arrives before it was sent is this much worse than one that takes as much too long; chosen.
constexpr double kImpossible = 10;
// A message whose receiver did not wait for it says little about clocks; chosen.
constexpr double kLooseWeight = 0.01;

// Something that began by one clock and ended, not before that, by another.
struct Transit {
  std::uint32_t from = 0, to = 0;  // clocks
  Tick begun = 0, ended = 0;
  Tick waited = 0;  // length of the call that ended

  Tick ticks() const { return ended - begun; }
};

// A rank leaves a collective together with others.
struct Exit {
  std::uint32_t clock = 0;
  std::uint32_t collective = 0;
  Tick left = 0;
};

using CallAt = std::pair<std::uint32_t, std::uint32_t>;           // rank, kNoRank where it is unknown, and call
using Edges = std::set<std::pair<std::uint32_t, std::uint32_t>>;  // from clock to clock

// Messages and collectives that tie clocks to each other, and the unknowns of the fit.
class ClockSearch {
 public:
  ClockSearch(const Trace& trace, const Matching& matching, const ClockOrder& order, bool by_node, bool has_drift)
      : has_drift_(has_drift) {
    for (std::uint32_t rank = 0; rank < trace.size(); ++rank) {
      fit_.clock_of_rank.push_back(by_node ? static_cast<std::uint32_t>(trace.ranks[rank].node) : rank);
      if (!by_node) fit_.names.push_back(fmt::format("rank {}", rank));
    }
    if (by_node) fit_.names = trace.nodes;
    fit_.corrections.resize(fit_.names.size());
    std::optional<std::uint32_t> reference;
    begin_.assign(fit_.corrections.size(), std::numeric_limits<Tick>::max());
    end_.assign(fit_.corrections.size(), std::numeric_limits<Tick>::min());
    for (std::size_t rank = 0; rank < trace.size(); ++rank) {
      const RankTimeline& timeline = trace.timelines[rank];
      if (timeline.empty()) continue;
      const std::uint32_t clock = fit_.clock_of_rank[rank];
      if (!reference) reference = clock;
      begin_[clock] = std::min(begin_[clock], timeline.begin());
      end_[clock] = std::max(end_[clock], timeline.end());
    }
    reference_ = reference.value_or(0);
    for (std::size_t clock = 0; clock < begin_.size(); ++clock) {
      if (IsUsed(clock)) fit_.corrections[clock].middle = begin_[clock] + (end_[clock] - begin_[clock]) / 2;
    }
    FindTransits(trace, matching, order);
  }

  ClockFit Fit() {
    Edges edges;
    for (std::size_t i = 1; i < exits_.size(); ++i) {
      if (exits_[i].collective != exits_[i - 1].collective) continue;
      edges.insert({{exits_[i].clock, exits_[i - 1].clock}, {exits_[i - 1].clock, exits_[i].clock}});
    }
    exits_suffice_ = NotTied(edges).empty();
    for (const auto& [key, transit] : fastest_) edges.emplace(transit.from, transit.to);
    fit_.unknown = NotTied(edges);
    if (fit_.unknown.empty() && !(fastest_.empty() && exits_.empty())) Solve();
    return std::move(fit_);
  }

 private:
  bool IsUsed(std::size_t clock) const { return begin_[clock] <= end_[clock]; }

  void FindTransits(const Trace& trace, const Matching& matching, const ClockOrder& order) {
    std::vector<CallAt> sent(matching.matched, CallAt{kNoRank, 0});
    std::vector<CallAt> root(matching.collectives.size(), CallAt{kNoRank, 0});
    std::size_t exits = 0;
    for (std::uint32_t rank = 0; rank < trace.size(); ++rank) {
      order.ForEachEvent(trace, matching, rank, [&](const ClockEvent& event) {
        if (event.gives && !event.is_collective) sent[event.number] = {rank, event.call};
        if (event.is_root) root[event.number] = {rank, event.call};
        exits += event.is_gather && event.takes;
      });
    }
    const std::size_t every = exits / kMostEquations + 1;
    for (std::uint32_t rank = 0; rank < trace.size(); ++rank) {
      order.ForEachEvent(trace, matching, rank, [&](const ClockEvent& event) {
        const CallAt here{rank, event.call};
        if (event.is_gather) {
          if (event.takes && event.number % every == 0)
            exits_.push_back({fit_.clock_of_rank[rank], event.number, trace.timelines[rank].leave(event.call)});
        } else if (!event.is_root) {
          if (event.takes) AddTransit(trace, (event.is_collective ? root : sent)[event.number], here);
          if (event.gives && event.is_collective) AddTransit(trace, here, root[event.number]);
        }
      });
    }
    // Ranks of one clock that leave together say nothing of others. The collectives of the others are numbered through.
    std::ranges::stable_sort(exits_, {}, &Exit::collective);
    std::vector<Exit> kept;
    for (auto first = exits_.begin(); first != exits_.end();) {
      const auto last =
          std::find_if(first, exits_.end(), [&](const Exit& exit) { return exit.collective != first->collective; });
      const bool is_shared = std::any_of(first, last, [&](const Exit& exit) { return exit.clock != first->clock; });
      for (auto exit = first; is_shared && exit != last; ++exit)
        kept.push_back({exit->clock, static_cast<std::uint32_t>(first_left_.size()), exit->left});
      if (is_shared) {
        first_left_.push_back(first->left);
        weight_of_exits_.push_back(1 / std::sqrt(static_cast<double>(last - first)));
      }
      first = last;
    }
    exits_ = std::move(kept);
  }

  // Keeps the fastest of every direction in every part of the run.
  void AddTransit(const Trace& trace, CallAt begun, CallAt ended) {
    if (begun.first == kNoRank || ended.first == kNoRank) return;
    Transit transit;
    transit.from = fit_.clock_of_rank[begun.first];
    transit.to = fit_.clock_of_rank[ended.first];
    if (transit.from == transit.to) return;
    const RankTimeline& timeline = trace.timelines[ended.first];
    transit.begun = trace.timelines[begun.first].enter(begun.second);
    transit.ended = timeline.leave(ended.second);
    transit.waited = timeline.duration(ended.second);
    const Tick length = end_[transit.to] - begin_[transit.to] + 1;
    const std::int64_t window = (transit.ended - begin_[transit.to]) / (length / kMostWindows + 1);
    const auto [at, is_new] = fastest_.try_emplace({transit.from, transit.to, window}, transit);
    if (!is_new && transit.ticks() < at->second.ticks()) at->second = transit;
  }

  // Clocks that no way along the edges leads to from the first clock, or none back.
  std::vector<std::uint32_t> NotTied(const Edges& edges) const {
    const auto reached = [&](const Edges& ways) {
      std::vector<bool> seen(fit_.corrections.size());
      std::vector<std::uint32_t> open = {reference_};
      while (!open.empty()) {
        const std::uint32_t clock = open.back();
        open.pop_back();
        if (seen[clock]) continue;
        seen[clock] = true;
        for (auto way = ways.lower_bound({clock, 0}); way != ways.end() && way->first == clock; ++way) {
          open.push_back(way->second);
        }
      }
      return seen;
    };
    Edges reversed;
    for (const auto& [from, to] : edges) reversed.emplace(to, from);
    const std::vector<bool> there = reached(edges), back = reached(reversed);
    std::vector<std::uint32_t> clocks;
    for (std::uint32_t clock = 0; clock < there.size(); ++clock) {
      if (IsUsed(clock) && !(there[clock] && back[clock])) clocks.push_back(clock);
    }
    return clocks;
  }

  // Least absolute deviations by least squares with weights that are taken anew from every solution.
  void Solve() {
    unknown_of_clock_.assign(fit_.corrections.size(), -1);
    for (std::uint32_t clock = 0; clock < fit_.corrections.size(); ++clock) {
      if (clock == reference_ || !IsUsed(clock)) continue;
      unknown_of_clock_[clock] = clock_unknowns_;
      clock_unknowns_ += 2;
    }
    together_.assign(first_left_.size(), 0);
    double fastest = 0;
    for (int i = 0; i < kSolutions; ++i) {
      Minimise(fastest, i == 0);
      // The time of the fastest messages, from pairs of clocks whose receivers waited for messages both ways: half of
      // such a round trip does not depend on clocks. A tenth of the pairs may be faster; without any, as good as no
      // time.
      std::map<std::pair<std::uint32_t, std::uint32_t>, double> least;
      for (const auto& [key, transit] : fastest_) {
        const double ticks = CorrectedTicks(transit);
        if (static_cast<double>(transit.waited) < ticks) continue;
        const auto [at, is_new] = least.try_emplace({transit.from, transit.to}, ticks);
        at->second = std::min(at->second, ticks);
      }
      std::vector<double> halves;
      for (const auto& [pair, ticks] : least) {
        const auto back = least.find({pair.second, pair.first});
        if (pair.first < pair.second && back != least.end()) halves.push_back((ticks + back->second) / 2);
      }
      fastest = halves.empty() ? 0 : std::max(0.0, Quantile(std::move(halves), 0.1));
    }
  }

  double CorrectedTicks(const Transit& transit) const {
    return static_cast<double>(transit.ticks()) + fit_.corrections[transit.to].At(transit.ended) -
           fit_.corrections[transit.from].At(transit.begun);
  }

  // Half a length of the clock's run, so that drifts are unknowns of the size of offsets.
  double Half(std::uint32_t clock) const { return 0.5 * static_cast<double>(end_[clock] - begin_[clock]) + 1; }

  using Terms = std::vector<std::pair<int, double>>;  // unknowns with their factors

  void AddClock(std::uint32_t clock, Tick at, double sign, Terms& terms) const {
    const int unknown = unknown_of_clock_[clock];
    if (unknown < 0) return;
    terms.emplace_back(unknown, sign);
    if (has_drift_)
      terms.emplace_back(unknown + 1, sign * static_cast<double>(at - fit_.corrections[clock].middle) / Half(clock));
  }

  double SinceFirst(const Exit& exit) const { return static_cast<double>(exit.left - first_left_[exit.collective]); }

  double DistanceOfExit(const Exit& exit) const {
    return SinceFirst(exit) + fit_.corrections[exit.clock].At(exit.left) - together_[exit.collective];
  }

  double TransitWeight(const Transit& transit, double fastest, double smallest) const {
    const double ticks = CorrectedTicks(transit);
    // The receiver has waited all the time that the message took, if it has waited for it.
    const double share = static_cast<double>(transit.waited) / std::max(ticks, 1.0);
    const double pull = std::clamp(share, kLooseWeight, 1.0) * (exits_suffice_ ? kLooseWeight : 1);
    return (ticks < 0 ? kImpossible : pull) / std::max(std::fabs(ticks - fastest), smallest);
  }

  // Weighted least squares.
  void Minimise(double fastest, bool is_first) {
    const int unknowns = clock_unknowns_ + static_cast<int>(first_left_.size());
    std::vector<Eigen::Triplet<double>> entries;
    Eigen::VectorXd right = Eigen::VectorXd::Zero(unknowns);
    // The sum of the terms should be `value`.
    const auto add = [&](const Terms& terms, double value, double weight) {
      for (const auto& [i, factor] : terms) {
        right[i] += weight * factor * value;
        for (const auto& [j, other] : terms) entries.emplace_back(i, j, weight * factor * other);
      }
    };
    // The smallest distance that weights tell apart: of exact times one would weigh everything.
    std::vector<double> distances;
    for (const auto& [key, transit] : fastest_) distances.push_back(std::fabs(CorrectedTicks(transit) - fastest));
    for (const Exit& exit : exits_) distances.push_back(std::fabs(DistanceOfExit(exit)));
    const double smallest = std::max(1.0, 0.1 * Quantile(std::move(distances), 0.5));
    for (const auto& [key, transit] : fastest_) {
      Terms terms;
      AddClock(transit.to, transit.ended, 1, terms);
      AddClock(transit.from, transit.begun, -1, terms);
      add(terms, fastest - static_cast<double>(transit.ticks()),
          is_first ? 1 : TransitWeight(transit, fastest, smallest));
    }
    for (const Exit& exit : exits_) {
      Terms terms;
      AddClock(exit.clock, exit.left, 1, terms);
      terms.emplace_back(clock_unknowns_ + static_cast<int>(exit.collective), -1);
      const double distance = std::max(std::fabs(DistanceOfExit(exit)), smallest);
      add(terms, -SinceFirst(exit), weight_of_exits_[exit.collective] / (is_first ? 1 : distance));
    }
    // An unknown without equations stays as it is.
    for (int i = 0; i < unknowns; ++i) entries.emplace_back(i, i, 1e-15);
    Eigen::SparseMatrix<double> matrix(unknowns, unknowns);
    matrix.setFromTriplets(entries.begin(), entries.end());
    const Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>> solver(matrix);
    if (solver.info() != Eigen::Success) return;
    const Eigen::VectorXd solution = solver.solve(right);
    for (std::uint32_t clock = 0; clock < fit_.corrections.size(); ++clock) {
      const int unknown = unknown_of_clock_[clock];
      if (unknown < 0 || !std::isfinite(solution[unknown]) || !std::isfinite(solution[unknown + 1])) continue;
      fit_.corrections[clock].offset = solution[unknown];
      fit_.corrections[clock].drift = solution[unknown + 1] / Half(clock);
    }
    for (std::size_t i = 0; i < together_.size(); ++i) together_[i] = solution[clock_unknowns_ + static_cast<int>(i)];
  }

  const bool has_drift_;
  std::uint32_t reference_ = 0;  // the clock of the first rank that recorded anything
  ClockFit fit_;
  std::vector<Tick> begin_, end_;  // one a clock
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::int64_t>, Transit> fastest_;
  std::vector<Exit> exits_;
  bool exits_suffice_ = false;    // tie all clocks together
  std::vector<Tick> first_left_;  // one a collective with exits
  // The time by which ranks leave a collective apart follows from how it is carried out, for all of them together, so
  // that each collective counts once, however many take part.
  std::vector<double> weight_of_exits_;  // one a collective
  std::vector<double> together_;         // when its ranks leave, since the first exit
  std::vector<int> unknown_of_clock_;
  int clock_unknowns_ = 0;
};

}  // namespace

Tick ClockCorrection::Corrected(Tick tick) const { return tick + static_cast<Tick>(std::llround(At(tick))); }

ClockFit FitClocks(const Trace& trace, const Matching& matching, const ClockOrder& order, bool by_node,
                   bool has_drift) {
  return ClockSearch(trace, matching, order, by_node, has_drift).Fit();
}

void ClockOrder::LeaveOutChannels(const Trace& trace, const Matching& matching) {
  channel_left_out_.resize(trace.size());
  using Channel = std::tuple<std::uint32_t, std::uint32_t, std::int32_t, std::int32_t>;  // communicator, tag, from, to
  std::vector<std::vector<Channel>> of_rank(trace.size());  // those of messages that lack their other half
  ParallelFor(trace.size(), [&](std::size_t i) {
    const RankTimeline& timeline = trace.timelines[i];
    const auto rank = static_cast<std::int32_t>(i);
    channel_left_out_[i].resize(timeline.endpoints().size());
    Posts posts;
    for (std::size_t record = 0; record < timeline.records(); ++record) {
      const RecordPart part = NextPart(timeline, matching.ranks[i], record, posts);
      if (part.IsCollective() || !part.IsMatched() || part.number < matching.matched) continue;
      const bool sends = part.type == OperationClass::kSend;
      if (sends ? !part.posts : !part.completes) continue;
      const Endpoint& other = timeline.endpoints()[timeline.record_target(record)];
      of_rank[i].emplace_back(other.communicator, other.tag, sends ? rank : other.peer, sends ? other.peer : rank);
    }
  });
  for (const std::vector<Channel>& channels : of_rank) {
    for (const auto& [communicator, tag, from, to] : channels) {
      const auto sender = static_cast<std::size_t>(from);
      if (from < 0 || sender >= trace.size()) continue;
      const std::vector<Endpoint>& endpoints = trace.timelines[sender].endpoints();
      const auto found = std::ranges::find(endpoints, Endpoint{to, communicator, tag});
      if (found != endpoints.end()) {
        channel_left_out_[sender][static_cast<std::size_t>(found - endpoints.begin())] = true;
      }
    }
  }
}

bool HasSizesOfItsOwn(std::string_view region) {
  const std::string name = ToLower(region);
  for (const std::string_view part : {"allgatherv", "alltoallv", "alltoallw", "gatherv", "scatterv"}) {
    if (name.find(part) != std::string::npos) return true;
  }
  return false;
}

ClockOrder::ClockOrder(const Trace& trace, const Matching& matching) {
  for (const Region& region : trace.regions) {
    is_on_window_.push_back(IsOneSided(region.call));
    has_own_sizes_.push_back(region.IsCollective() && HasSizesOfItsOwn(region.name));
  }
  is_left_out_.assign(trace.communicators.size(), false);
  for (std::size_t i = 0; i < trace.communicators.size(); ++i) {
    const Communicator& communicator = trace.communicators[i];
    is_left_out_[i] = communicator.is_self || !communicator.remote.empty();
  }
  if (EndsEarly(trace)) return;  // only the last operations lack something
  for (const CollectiveOperation& operation : matching.collectives) {
    if (operation.communicator >= is_left_out_.size()) continue;
    if (operation.participants > 0 &&
        operation.participants < trace.communicators[operation.communicator].members.size()) {
      is_left_out_[operation.communicator] = true;
    }
  }
  if (matching.messages > matching.matched) LeaveOutChannels(trace, matching);
}

void ClockOrder::FillMessage(const RankTimeline& timeline, std::size_t rank, std::size_t record, const RecordPart& part,
                             ClockEvent& event) const {
  if (is_on_window_[timeline.region(event.call)]) return;
  event.takes = part.type == OperationClass::kReceive && part.completes;
  event.gives = part.type == OperationClass::kSend && part.posts &&
                (channel_left_out_.empty() || !channel_left_out_[rank][timeline.record_target(record)]);
}

void ClockOrder::FillCollective(const RankTimeline& timeline, const Matching& matching, std::size_t rank,
                                const RecordPart& part, ClockEvent& event) const {
  const CollectiveType& type = timeline.collective_types()[matching.ranks[rank].collective_types[part.ordinal]];
  // Sizes stand in the record that completes. Where each rank has its own, one without data need not wait.
  if (is_left_out_[type.communicator] || has_own_sizes_[timeline.region(event.call)]) return;
  const bool is_root = type.root == static_cast<std::int32_t>(rank);
  event.is_collective = true;
  switch (type.kind) {
    case CollectiveKind::kBarrier:
    case CollectiveKind::kAllgather:
    case CollectiveKind::kAlltoall:
    case CollectiveKind::kAllreduce:
    case CollectiveKind::kReduceScatter: event.is_gather = event.gives = event.takes = true; break;
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kScatter: (is_root ? event.gives : event.takes) = type.root != kNoRoot; break;
    case CollectiveKind::kReduce:
    case CollectiveKind::kGather: (is_root ? event.takes : event.gives) = type.root != kNoRoot; break;
    default: break;
  }
  event.is_root = is_root && !event.is_gather;
  event.gives = event.gives && part.posts;
  event.takes = event.takes && part.completes;
}

}  // namespace farscale
