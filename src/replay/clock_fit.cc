#include "replay/clock_fit.h"

#include <Eigen/Sparse>
#include <Eigen/SparseCholesky>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "base/parallel.h"
#include "base/text.h"
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

struct CallAt {
  std::uint32_t rank = kNoRank;
  std::uint32_t call = 0;

  bool is_known() const { return rank != kNoRank; }
};

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

// Fits clocks to the operations of a trace.
class ClockSearch {
 public:
  ClockSearch(const Trace& trace, const Matching& matching, const ClockOrder& order, bool has_drift, ClockFit& fit)
      : trace_(trace), matching_(matching), order_(order), has_drift_(has_drift), fit_(fit) {
    begin_.assign(fit.corrections.size(), std::numeric_limits<Tick>::max());
    end_.assign(fit.corrections.size(), std::numeric_limits<Tick>::min());
    for (std::size_t rank = 0; rank < trace.size(); ++rank) {
      const RankTimeline& timeline = trace.timelines[rank];
      if (timeline.empty()) continue;
      const std::uint32_t clock = fit.clock_of_rank[rank];
      begin_[clock] = std::min(begin_[clock], timeline.begin());
      end_[clock] = std::max(end_[clock], timeline.end());
    }
    for (std::size_t clock = 0; clock < begin_.size(); ++clock) {
      if (begin_[clock] > end_[clock]) continue;
      fit.corrections[clock].middle = begin_[clock] + (end_[clock] - begin_[clock]) / 2;
    }
  }

  void Run() {
    FindBegins();
    FindTransits();
    FindUnknown();
    if (fit_.unknown.empty() && !(fastest_.empty() && exits_.empty())) Solve();
  }

 private:
  using Kind = ClockEvent::Kind;

  Tick Enter(CallAt at) const { return trace_.timelines[at.rank].enter(at.call); }

  // Where every message was sent and where the root of every collective is; how many equations exits give.
  void FindBegins() {
    sent_.resize(matching_.matched);
    root_.resize(matching_.collectives.size());
    for (std::uint32_t rank = 0; rank < trace_.size(); ++rank) {
      order_.ForEach(rank, [&](const ClockEvent& event) {
        if (event.kind == Kind::kSend) sent_[event.number] = {rank, event.call};
        if (event.kind == Kind::kGather && event.ends) ++all_exits_;
        const CollectiveOperation* operation = event.IsCollective() ? &matching_.collectives[event.number] : nullptr;
        if (operation == nullptr || event.kind == Kind::kGather) return;
        const bool gives = operation->kind == CollectiveKind::kBroadcast || operation->kind == CollectiveKind::kScatter;
        if (gives ? event.kind == Kind::kGive && event.begins : event.kind == Kind::kTake && event.ends) {
          root_[event.number] = {rank, event.call};
        }
      });
    }
  }

  void FindTransits() {
    const std::size_t every = all_exits_ / kMostEquations + 1;
    for (std::uint32_t rank = 0; rank < trace_.size(); ++rank) {
      const RankTimeline& timeline = trace_.timelines[rank];
      order_.ForEach(rank, [&](const ClockEvent& event) {
        if (event.kind == Kind::kReceive) Add(sent_[event.number], {rank, event.call});
        if (event.kind == Kind::kTake && event.ends && root_[event.number].rank != rank) {
          Add(root_[event.number], {rank, event.call});
        }
        if (event.kind == Kind::kGive && event.begins && root_[event.number].rank != rank) {
          Add({rank, event.call}, root_[event.number]);
        }
        if (event.kind == Kind::kGather && event.ends && event.number % every == 0) {
          exits_.push_back({fit_.clock_of_rank[rank], event.number, timeline.leave(event.call)});
        }
      });
    }
    sent_ = {};
    root_ = {};
    std::ranges::stable_sort(exits_, {}, &Exit::collective);
    DropLonelyExits();
  }

  // Ranks of one clock that leave together say nothing of others.
  void DropLonelyExits() {
    std::vector<Exit> kept;
    for (auto first = exits_.begin(); first != exits_.end();) {
      const auto last =
          std::find_if(first, exits_.end(), [&](const Exit& exit) { return exit.collective != first->collective; });
      const bool is_lonely = std::all_of(first, last, [&](const Exit& exit) { return exit.clock == first->clock; });
      if (!is_lonely) kept.insert(kept.end(), first, last);
      first = last;
    }
    exits_ = std::move(kept);
  }

  // Keeps the fastest of every direction in every part of the run.
  void Add(CallAt begun, CallAt ended) {
    if (!begun.is_known() || !ended.is_known()) return;
    Transit transit;
    transit.from = fit_.clock_of_rank[begun.rank];
    transit.to = fit_.clock_of_rank[ended.rank];
    if (transit.from == transit.to) return;
    const RankTimeline& timeline = trace_.timelines[ended.rank];
    transit.begun = Enter(begun);
    transit.ended = timeline.leave(ended.call);
    transit.waited = timeline.duration(ended.call);
    const Tick length = end_[transit.to] - begin_[transit.to] + 1;
    const std::int64_t window = (transit.ended - begin_[transit.to]) / (length / kMostWindows + 1);
    const auto [at, is_new] = fastest_.try_emplace({transit.from, transit.to, window}, transit);
    if (!is_new && transit.ticks() < at->second.ticks()) at->second = transit;
  }

  using Edges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

  // Clocks that no way along messages and collectives leads to from the first clock, or none back.
  void FindUnknown() {
    Edges edges;
    for (std::size_t i = 1; i < exits_.size(); ++i) {
      if (exits_[i].collective != exits_[i - 1].collective) continue;
      edges.emplace_back(exits_[i].clock, exits_[i - 1].clock);
      edges.emplace_back(exits_[i - 1].clock, exits_[i].clock);
    }
    exits_suffice_ = NotTied(edges).empty();
    for (const auto& [key, transit] : fastest_) edges.emplace_back(transit.from, transit.to);
    fit_.unknown = NotTied(edges);
  }

  std::vector<std::uint32_t> NotTied(Edges edges) const {
    std::ranges::sort(edges);
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
    const std::vector<bool> there = Reached(edges, true), back = Reached(edges, false);
    std::vector<std::uint32_t> clocks;
    for (std::uint32_t clock = 0; clock < fit_.corrections.size(); ++clock) {
      if (begin_[clock] <= end_[clock] && !(there[clock] && back[clock])) clocks.push_back(clock);
    }
    return clocks;
  }

  std::vector<bool> Reached(const Edges& edges, bool forwards) const {
    std::vector<std::vector<std::uint32_t>> next(fit_.corrections.size());
    for (const auto& [from, to] : edges) next[forwards ? from : to].push_back(forwards ? to : from);
    std::vector<bool> reached(next.size());
    std::vector<std::uint32_t> open = {Reference()};
    reached[open.front()] = true;
    while (!open.empty()) {
      const std::uint32_t clock = open.back();
      open.pop_back();
      for (const std::uint32_t other : next[clock]) {
        if (!reached[other]) open.push_back(other);
        reached[other] = true;
      }
    }
    return reached;
  }

  std::uint32_t Reference() const {
    for (std::size_t rank = 0; rank < trace_.size(); ++rank) {
      if (!trace_.timelines[rank].empty()) return fit_.clock_of_rank[rank];
    }
    return 0;
  }

  // Half a length of the clock's run, so that drifts are unknowns of the size of offsets.
  double Half(std::uint32_t clock) const { return 0.5 * static_cast<double>(end_[clock] - begin_[clock]) + 1; }

  double Corrected(const Transit& transit) const {
    return static_cast<double>(transit.ticks()) + fit_.corrections[transit.to].At(transit.ended) -
           fit_.corrections[transit.from].At(transit.begun);
  }

  // The time of the fastest messages, from pairs of clocks whose receivers waited for messages both ways: half of
  // such a round trip does not depend on clocks. A tenth of the pairs may be faster; without any, as good as no time.
  double FastestTransit() const {
    std::map<std::pair<std::uint32_t, std::uint32_t>, double> least;
    for (const Transit& transit : transits_) {
      const double ticks = Corrected(transit);
      if (static_cast<double>(transit.waited) < ticks) continue;
      const auto [at, is_new] = least.try_emplace({transit.from, transit.to}, ticks);
      at->second = std::min(at->second, ticks);
    }
    std::vector<double> halves;
    for (const auto& [pair, ticks] : least) {
      const auto back = least.find({pair.second, pair.first});
      if (pair.first < pair.second && back != least.end()) halves.push_back((ticks + back->second) / 2);
    }
    return halves.empty() ? 0 : std::max(0.0, Quantile(std::move(halves), 0.1));
  }

  // Least absolute deviations by least squares with weights that are taken anew from every solution.
  void Solve() {
    for (const auto& [key, transit] : fastest_) transits_.push_back(transit);
    NumberUnknowns();
    double fastest = 0;
    for (int i = 0; i < kSolutions; ++i) {
      Minimise(fastest, i == 0);
      fastest = FastestTransit();
    }
  }

  void NumberUnknowns() {
    unknown_of_clock_.assign(fit_.corrections.size(), -1);
    for (std::uint32_t clock = 0; clock < fit_.corrections.size(); ++clock) {
      if (clock == Reference() || begin_[clock] > end_[clock]) continue;
      unknown_of_clock_[clock] = unknowns_;
      unknowns_ += 2;
    }
    clock_unknowns_ = unknowns_;
    for (std::size_t i = 0; i < exits_.size(); ++i) {
      if (i == 0 || exits_[i].collective != exits_[i - 1].collective) first_exit_.push_back(i);
      unknown_of_exit_.push_back(unknowns_ + static_cast<int>(first_exit_.size()) - 1);
    }
    together_.assign(first_exit_.size(), 0);
    WeighExits();
    unknowns_ += static_cast<int>(first_exit_.size());
  }

  // The time by which ranks leave a collective apart follows from how it is carried out, for all of them together, so
  // that each collective counts once, however many take part.
  void WeighExits() {
    weight_of_exits_.assign(first_exit_.size(), 0);
    for (std::size_t i = 0; i < exits_.size(); ++i) ++weight_of_exits_[CollectiveOf(i)];
    for (double& weight : weight_of_exits_) weight = 1 / std::sqrt(weight);
  }

  // A sum of unknowns with their factors that should be `value`.
  struct Equation {
    std::vector<std::pair<int, double>> terms;
    double value = 0;

    void Add(int unknown, double factor) {
      if (unknown >= 0) terms.emplace_back(unknown, factor);
    }
  };

  void AddClock(std::uint32_t clock, Tick at, double sign, Equation& equation) const {
    const int unknown = unknown_of_clock_[clock];
    if (unknown < 0) return;
    equation.Add(unknown, sign);
    if (has_drift_)
      equation.Add(unknown + 1, sign * static_cast<double>(at - fit_.corrections[clock].middle) / Half(clock));
  }

  // Weighted least squares of all equations.
  struct Equations {
    std::vector<Eigen::Triplet<double>> entries;
    Eigen::VectorXd right;

    void Add(const Equation& equation, double weight) {
      for (const auto& [i, factor] : equation.terms) {
        right[i] += weight * factor * equation.value;
        for (const auto& [j, other] : equation.terms) entries.emplace_back(i, j, weight * factor * other);
      }
    }
  };

  // The smallest distance that weights tell apart: of exact times one would weigh everything.
  double SmallestDistance(double fastest) const {
    std::vector<double> distances;
    for (const Transit& transit : transits_) distances.push_back(std::fabs(Corrected(transit) - fastest));
    for (std::size_t i = 0; i < exits_.size(); ++i) distances.push_back(std::fabs(DistanceOfExit(i)));
    return std::max(1.0, 0.1 * Quantile(distances, 0.5));
  }

  double WeightOfTransit(const Transit& transit, double fastest, double smallest) const {
    const double ticks = Corrected(transit);
    // The receiver has waited all the time that the message took, if it has waited for it.
    const double share = static_cast<double>(transit.waited) / std::max(ticks, 1.0);
    const double pull = std::clamp(share, kLooseWeight, 1.0) * (exits_suffice_ ? kLooseWeight : 1);
    return (ticks < 0 ? kImpossible : pull) / std::max(std::fabs(ticks - fastest), smallest);
  }

  void Minimise(double fastest, bool is_first) {
    Equations equations{{}, Eigen::VectorXd::Zero(unknowns_)};
    const double smallest = SmallestDistance(fastest);
    for (const Transit& transit : transits_) {
      Equation equation;
      AddClock(transit.to, transit.ended, 1, equation);
      AddClock(transit.from, transit.begun, -1, equation);
      equation.value = fastest - static_cast<double>(transit.ticks());
      equations.Add(equation, is_first ? 1 : WeightOfTransit(transit, fastest, smallest));
    }
    for (std::size_t i = 0; i < exits_.size(); ++i) {
      Equation equation;
      AddClock(exits_[i].clock, exits_[i].left, 1, equation);
      equation.Add(unknown_of_exit_[i], -1);
      equation.value = -SinceFirst(i);
      const double distance = std::max(std::fabs(DistanceOfExit(i)), smallest);
      equations.Add(equation, weight_of_exits_[CollectiveOf(i)] / (is_first ? 1 : distance));
    }
    // An unknown without equations stays as it is.
    for (int i = 0; i < unknowns_; ++i) equations.entries.emplace_back(i, i, 1e-15);
    Eigen::SparseMatrix<double> matrix(unknowns_, unknowns_);
    matrix.setFromTriplets(equations.entries.begin(), equations.entries.end());
    const Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>> solver(matrix);
    if (solver.info() == Eigen::Success) Take(solver.solve(equations.right));
  }

  std::size_t CollectiveOf(std::size_t exit) const {
    return static_cast<std::size_t>(unknown_of_exit_[exit] - clock_unknowns_);
  }
  double SinceFirst(std::size_t exit) const {
    return static_cast<double>(exits_[exit].left - exits_[first_exit_[CollectiveOf(exit)]].left);
  }
  double DistanceOfExit(std::size_t exit) const {
    return SinceFirst(exit) + fit_.corrections[exits_[exit].clock].At(exits_[exit].left) -
           together_[CollectiveOf(exit)];
  }

  void Take(const Eigen::VectorXd& solution) {
    for (std::uint32_t clock = 0; clock < fit_.corrections.size(); ++clock) {
      const int unknown = unknown_of_clock_[clock];
      if (unknown < 0 || !std::isfinite(solution[unknown]) || !std::isfinite(solution[unknown + 1])) continue;
      fit_.corrections[clock].offset = solution[unknown];
      fit_.corrections[clock].drift = solution[unknown + 1] / Half(clock);
    }
    for (std::size_t i = 0; i < together_.size(); ++i) together_[i] = solution[clock_unknowns_ + static_cast<int>(i)];
  }

  const Trace& trace_;
  const Matching& matching_;
  const ClockOrder& order_;
  const bool has_drift_;
  ClockFit& fit_;
  std::vector<Tick> begin_, end_;  // one a clock
  std::vector<CallAt> sent_, root_;
  std::size_t all_exits_ = 0;
  bool exits_suffice_ = false;  // tie all clocks together
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::int64_t>, Transit> fastest_;
  std::vector<Transit> transits_;
  std::vector<Exit> exits_;
  std::vector<std::size_t> first_exit_;  // one a collective with exits
  std::vector<double> weight_of_exits_;  // one a collective
  std::vector<double> together_;         // when its ranks leave, since the first exit
  std::vector<int> unknown_of_clock_, unknown_of_exit_;
  int unknowns_ = 0, clock_unknowns_ = 0;
};

}  // namespace

Tick ClockCorrection::Corrected(Tick tick) const { return tick + static_cast<Tick>(std::llround(At(tick))); }

ClockFit FitClocks(const Trace& trace, const Matching& matching, const ClockOrder& order, const ClockModel& model) {
  const bool by_node = model.by_node;
  ClockFit fit;
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    fit.clock_of_rank.push_back(
        static_cast<std::uint32_t>(by_node ? trace.ranks[rank].node : static_cast<std::int32_t>(rank)));
    if (!by_node) fit.names.push_back(fmt::format("rank {}", rank));
  }
  if (by_node) fit.names = trace.nodes;
  fit.corrections.resize(fit.names.size());
  ClockSearch(trace, matching, order, model.has_drift, fit).Run();
  return fit;
}

namespace {

using Channel = std::tuple<std::uint32_t, std::uint32_t, std::int32_t, std::int32_t>;  // communicator, tag, from, to

// Channels of the messages of a rank that lack their other half.
std::vector<Channel> ChannelsWithGaps(const RankTimeline& timeline, const RankMatching& matching, std::int32_t rank,
                                      std::uint32_t matched) {
  std::vector<Channel> found;
  Posts posts;
  for (std::size_t record = 0; record < timeline.records(); ++record) {
    const RecordPart part = NextPart(timeline, matching, record, posts);
    if (part.IsCollective() || !part.IsMatched() || part.number < matched) continue;
    const bool sends = part.type == OperationClass::kSend;
    if (sends ? !part.posts : !part.completes) continue;
    const Endpoint& other = timeline.endpoints()[timeline.record_target(record)];
    found.emplace_back(other.communicator, other.tag, sends ? rank : other.peer, sends ? other.peer : rank);
  }
  return found;
}

}  // namespace

bool HasSizesOfItsOwn(std::string_view region) {
  const std::string name = ToLower(region);
  for (const std::string_view part : {"allgatherv", "alltoallv", "alltoallw", "gatherv", "scatterv"}) {
    if (name.find(part) != std::string::npos) return true;
  }
  return false;
}

ClockOrder::ClockOrder(const Trace& trace, const Matching& matching) : trace_(trace), matching_(matching) {
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
  if (matching.messages > matching.matched) LeaveOutChannels();
}

void ClockOrder::LeaveOutChannels() {
  channel_left_out_.resize(trace_.size());
  std::vector<std::vector<Channel>> of_rank(trace_.size());
  ParallelFor(trace_.size(), [&](std::size_t rank) {
    channel_left_out_[rank].resize(trace_.timelines[rank].endpoints().size());
    of_rank[rank] = ChannelsWithGaps(trace_.timelines[rank], matching_.ranks[rank], static_cast<std::int32_t>(rank),
                                     matching_.matched);
  });
  for (const std::vector<Channel>& channels : of_rank) {
    for (const auto& [communicator, tag, from, to] : channels) {
      const auto sender = static_cast<std::size_t>(from);
      if (from < 0 || sender >= trace_.size()) continue;
      const std::vector<Endpoint>& endpoints = trace_.timelines[sender].endpoints();
      const auto found = std::ranges::find(endpoints, Endpoint{to, communicator, tag});
      if (found != endpoints.end()) {
        channel_left_out_[sender][static_cast<std::size_t>(found - endpoints.begin())] = true;
      }
    }
  }
}

bool ClockOrder::IsMessage(std::size_t rank, std::size_t record, const RecordPart& part, ClockEvent& event) const {
  const RankTimeline& timeline = trace_.timelines[rank];
  if (part.number >= matching_.matched || is_on_window_[timeline.region(event.call)]) return false;
  if (part.type == OperationClass::kReceive) {
    event.kind = ClockEvent::Kind::kReceive;
    return part.completes;
  }
  if (!part.posts) return false;
  event.kind = ClockEvent::Kind::kSend;
  return channel_left_out_.empty() || !channel_left_out_[rank][timeline.record_target(record)];
}

bool ClockOrder::IsCollective(std::size_t rank, const RecordPart& part, ClockEvent& event) const {
  const RankTimeline& timeline = trace_.timelines[rank];
  const CollectiveType& type = timeline.collective_types()[matching_.ranks[rank].collective_types[part.ordinal]];
  const bool is_root = type.root == static_cast<std::int32_t>(rank);
  if (is_left_out_[type.communicator]) return false;
  event.begins = part.posts;
  event.ends = part.completes;
  switch (type.kind) {
    case CollectiveKind::kBarrier:
    case CollectiveKind::kAllgather:
    case CollectiveKind::kAlltoall:
    case CollectiveKind::kAllreduce:
    case CollectiveKind::kReduceScatter: event.kind = ClockEvent::Kind::kGather; break;
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kScatter: event.kind = is_root ? ClockEvent::Kind::kGive : ClockEvent::Kind::kTake; break;
    case CollectiveKind::kReduce:
    case CollectiveKind::kGather: event.kind = is_root ? ClockEvent::Kind::kTake : ClockEvent::Kind::kGive; break;
    default: return false;
  }
  if (event.kind != ClockEvent::Kind::kGather && type.root == kNoRoot) return false;
  // Sizes stand in the record that completes. Where each rank has its own, one without data need not wait.
  const std::uint32_t region = timeline.region(event.call);
  return !has_own_sizes_[region];
}

}  // namespace farscale
