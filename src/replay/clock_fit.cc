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

// A sum of unknowns with their factors that should be `value`.
struct Equation {
  std::vector<std::pair<int, double>> terms;
  double value = 0;

  void Add(int unknown, double factor) {
    if (unknown >= 0) terms.emplace_back(unknown, factor);
  }
};

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

// Messages and collectives that tie clocks to each other, and the unknowns of the fit.
struct ClockSearch {
  std::vector<Tick> begin, end;  // one a clock
  std::vector<CallAt> sent, root;
  std::size_t all_exits = 0;
  bool exits_suffice = false;  // tie all clocks together
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::int64_t>, Transit> fastest;
  std::vector<Transit> transits;
  std::vector<Exit> exits;
  std::vector<std::size_t> first_exit;  // one a collective with exits
  std::vector<double> weight_of_exits;  // one a collective
  std::vector<double> together;         // when its ranks leave, since the first exit
  std::vector<int> unknown_of_clock, unknown_of_exit;
  int unknowns = 0, clock_unknowns = 0;
};

using Edges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

// Where every message was sent and where the root of every collective is; how many equations exits give.
void FindBegins(const Trace& trace, const Matching& matching, const ClockOrder& order, ClockSearch& search) {
  search.sent.resize(matching.matched);
  search.root.resize(matching.collectives.size());
  for (std::uint32_t rank = 0; rank < trace.size(); ++rank) {
    ForEachClockEvent(trace, matching, order, rank, [&](const ClockEvent& event) {
      if (event.kind == ClockEvent::Kind::kSend) search.sent[event.number] = {rank, event.call};
      if (event.kind == ClockEvent::Kind::kGather && event.ends) ++search.all_exits;
      const CollectiveOperation* operation = event.IsCollective() ? &matching.collectives[event.number] : nullptr;
      if (operation == nullptr || event.kind == ClockEvent::Kind::kGather) return;
      const bool gives = operation->kind == CollectiveKind::kBroadcast || operation->kind == CollectiveKind::kScatter;
      if (gives ? event.kind == ClockEvent::Kind::kGive && event.begins
                : event.kind == ClockEvent::Kind::kTake && event.ends) {
        search.root[event.number] = {rank, event.call};
      }
    });
  }
}

// Ranks of one clock that leave together say nothing of others.
void DropLonelyExits(ClockSearch& search) {
  std::vector<Exit> kept;
  for (auto first = search.exits.begin(); first != search.exits.end();) {
    const auto last =
        std::find_if(first, search.exits.end(), [&](const Exit& exit) { return exit.collective != first->collective; });
    const bool is_lonely = std::all_of(first, last, [&](const Exit& exit) { return exit.clock == first->clock; });
    if (!is_lonely) kept.insert(kept.end(), first, last);
    first = last;
  }
  search.exits = std::move(kept);
}

// Keeps the fastest of every direction in every part of the run.
void AddTransit(const Trace& trace, ClockSearch& search, const ClockFit& fit, CallAt begun, CallAt ended) {
  if (!begun.is_known() || !ended.is_known()) return;
  Transit transit;
  transit.from = fit.clock_of_rank[begun.rank];
  transit.to = fit.clock_of_rank[ended.rank];
  if (transit.from == transit.to) return;
  const RankTimeline& timeline = trace.timelines[ended.rank];
  transit.begun = trace.timelines[begun.rank].enter(begun.call);
  transit.ended = timeline.leave(ended.call);
  transit.waited = timeline.duration(ended.call);
  const Tick length = search.end[transit.to] - search.begin[transit.to] + 1;
  const std::int64_t window = (transit.ended - search.begin[transit.to]) / (length / kMostWindows + 1);
  const auto [at, is_new] = search.fastest.try_emplace({transit.from, transit.to, window}, transit);
  if (!is_new && transit.ticks() < at->second.ticks()) at->second = transit;
}

void FindTransits(const Trace& trace, const Matching& matching, const ClockOrder& order, ClockSearch& search,
                  const ClockFit& fit) {
  const std::size_t every = search.all_exits / kMostEquations + 1;
  for (std::uint32_t rank = 0; rank < trace.size(); ++rank) {
    const RankTimeline& timeline = trace.timelines[rank];
    ForEachClockEvent(trace, matching, order, rank, [&](const ClockEvent& event) {
      if (event.kind == ClockEvent::Kind::kReceive)
        AddTransit(trace, search, fit, search.sent[event.number], {rank, event.call});
      if (event.kind == ClockEvent::Kind::kTake && event.ends && search.root[event.number].rank != rank) {
        AddTransit(trace, search, fit, search.root[event.number], {rank, event.call});
      }
      if (event.kind == ClockEvent::Kind::kGive && event.begins && search.root[event.number].rank != rank) {
        AddTransit(trace, search, fit, {rank, event.call}, search.root[event.number]);
      }
      if (event.kind == ClockEvent::Kind::kGather && event.ends && event.number % every == 0) {
        search.exits.push_back({fit.clock_of_rank[rank], event.number, timeline.leave(event.call)});
      }
    });
  }
  search.sent = {};
  search.root = {};
  std::ranges::stable_sort(search.exits, {}, &Exit::collective);
  DropLonelyExits(search);
}

std::uint32_t Reference(const Trace& trace, const ClockFit& fit) {
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    if (!trace.timelines[rank].empty()) return fit.clock_of_rank[rank];
  }
  return 0;
}

std::vector<bool> Reached(const Trace& trace, const ClockFit& fit, const Edges& edges, bool forwards) {
  std::vector<std::vector<std::uint32_t>> next(fit.corrections.size());
  for (const auto& [from, to] : edges) next[forwards ? from : to].push_back(forwards ? to : from);
  std::vector<bool> reached(next.size());
  std::vector<std::uint32_t> open = {Reference(trace, fit)};
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

std::vector<std::uint32_t> NotTied(const Trace& trace, const ClockSearch& search, const ClockFit& fit, Edges edges) {
  std::ranges::sort(edges);
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  const std::vector<bool> there = Reached(trace, fit, edges, true), back = Reached(trace, fit, edges, false);
  std::vector<std::uint32_t> clocks;
  for (std::uint32_t clock = 0; clock < fit.corrections.size(); ++clock) {
    if (search.begin[clock] <= search.end[clock] && !(there[clock] && back[clock])) clocks.push_back(clock);
  }
  return clocks;
}

// Clocks that no way along messages and collectives leads to from the first clock, or none back.
void FindUnknown(const Trace& trace, ClockSearch& search, ClockFit& fit) {
  Edges edges;
  for (std::size_t i = 1; i < search.exits.size(); ++i) {
    if (search.exits[i].collective != search.exits[i - 1].collective) continue;
    edges.emplace_back(search.exits[i].clock, search.exits[i - 1].clock);
    edges.emplace_back(search.exits[i - 1].clock, search.exits[i].clock);
  }
  search.exits_suffice = NotTied(trace, search, fit, edges).empty();
  for (const auto& [key, transit] : search.fastest) edges.emplace_back(transit.from, transit.to);
  fit.unknown = NotTied(trace, search, fit, edges);
}

double CorrectedTicks(const ClockFit& fit, const Transit& transit) {
  return static_cast<double>(transit.ticks()) + fit.corrections[transit.to].At(transit.ended) -
         fit.corrections[transit.from].At(transit.begun);
}

// The time of the fastest messages, from pairs of clocks whose receivers waited for messages both ways: half of
// such a round trip does not depend on clocks. A tenth of the pairs may be faster; without any, as good as no time.
double FastestTransit(const ClockSearch& search, const ClockFit& fit) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> least;
  for (const Transit& transit : search.transits) {
    const double ticks = CorrectedTicks(fit, transit);
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

std::size_t CollectiveAt(const ClockSearch& search, std::size_t exit) {
  return static_cast<std::size_t>(search.unknown_of_exit[exit] - search.clock_unknowns);
}

// The time by which ranks leave a collective apart follows from how it is carried out, for all of them together, so
// that each collective counts once, however many take part.
void WeighExits(ClockSearch& search) {
  search.weight_of_exits.assign(search.first_exit.size(), 0);
  for (std::size_t i = 0; i < search.exits.size(); ++i) ++search.weight_of_exits[CollectiveAt(search, i)];
  for (double& weight : search.weight_of_exits) weight = 1 / std::sqrt(weight);
}

void NumberUnknowns(const Trace& trace, ClockSearch& search, const ClockFit& fit) {
  search.unknown_of_clock.assign(fit.corrections.size(), -1);
  for (std::uint32_t clock = 0; clock < fit.corrections.size(); ++clock) {
    if (clock == Reference(trace, fit) || search.begin[clock] > search.end[clock]) continue;
    search.unknown_of_clock[clock] = search.unknowns;
    search.unknowns += 2;
  }
  search.clock_unknowns = search.unknowns;
  for (std::size_t i = 0; i < search.exits.size(); ++i) {
    if (i == 0 || search.exits[i].collective != search.exits[i - 1].collective) search.first_exit.push_back(i);
    search.unknown_of_exit.push_back(search.unknowns + static_cast<int>(search.first_exit.size()) - 1);
  }
  search.together.assign(search.first_exit.size(), 0);
  WeighExits(search);
  search.unknowns += static_cast<int>(search.first_exit.size());
}

// Half a length of the clock's run, so that drifts are unknowns of the size of offsets.
double Half(const ClockSearch& search, std::uint32_t clock) {
  return 0.5 * static_cast<double>(search.end[clock] - search.begin[clock]) + 1;
}

void AddClock(bool has_drift, const ClockSearch& search, const ClockFit& fit, std::uint32_t clock, Tick at, double sign,
              Equation& equation) {
  const int unknown = search.unknown_of_clock[clock];
  if (unknown < 0) return;
  equation.Add(unknown, sign);
  if (has_drift)
    equation.Add(unknown + 1, sign * static_cast<double>(at - fit.corrections[clock].middle) / Half(search, clock));
}

double SinceFirst(const ClockSearch& search, std::size_t exit) {
  return static_cast<double>(search.exits[exit].left -
                             search.exits[search.first_exit[CollectiveAt(search, exit)]].left);
}

double DistanceOfExit(const ClockSearch& search, const ClockFit& fit, std::size_t exit) {
  return SinceFirst(search, exit) + fit.corrections[search.exits[exit].clock].At(search.exits[exit].left) -
         search.together[CollectiveAt(search, exit)];
}

// The smallest distance that weights tell apart: of exact times one would weigh everything.
double SmallestDistance(const ClockSearch& search, const ClockFit& fit, double fastest) {
  std::vector<double> distances;
  for (const Transit& transit : search.transits) distances.push_back(std::fabs(CorrectedTicks(fit, transit) - fastest));
  for (std::size_t i = 0; i < search.exits.size(); ++i) distances.push_back(std::fabs(DistanceOfExit(search, fit, i)));
  return std::max(1.0, 0.1 * Quantile(distances, 0.5));
}

double TransitWeight(const ClockSearch& search, const ClockFit& fit, const Transit& transit, double fastest,
                     double smallest) {
  const double ticks = CorrectedTicks(fit, transit);
  // The receiver has waited all the time that the message took, if it has waited for it.
  const double share = static_cast<double>(transit.waited) / std::max(ticks, 1.0);
  const double pull = std::clamp(share, kLooseWeight, 1.0) * (search.exits_suffice ? kLooseWeight : 1);
  return (ticks < 0 ? kImpossible : pull) / std::max(std::fabs(ticks - fastest), smallest);
}

void TakeSolution(ClockSearch& search, ClockFit& fit, const Eigen::VectorXd& solution) {
  for (std::uint32_t clock = 0; clock < fit.corrections.size(); ++clock) {
    const int unknown = search.unknown_of_clock[clock];
    if (unknown < 0 || !std::isfinite(solution[unknown]) || !std::isfinite(solution[unknown + 1])) continue;
    fit.corrections[clock].offset = solution[unknown];
    fit.corrections[clock].drift = solution[unknown + 1] / Half(search, clock);
  }
  for (std::size_t i = 0; i < search.together.size(); ++i)
    search.together[i] = solution[search.clock_unknowns + static_cast<int>(i)];
}

void Minimise(bool has_drift, ClockSearch& search, ClockFit& fit, double fastest, bool is_first) {
  Equations equations{{}, Eigen::VectorXd::Zero(search.unknowns)};
  const double smallest = SmallestDistance(search, fit, fastest);
  for (const Transit& transit : search.transits) {
    Equation equation;
    AddClock(has_drift, search, fit, transit.to, transit.ended, 1, equation);
    AddClock(has_drift, search, fit, transit.from, transit.begun, -1, equation);
    equation.value = fastest - static_cast<double>(transit.ticks());
    equations.Add(equation, is_first ? 1 : TransitWeight(search, fit, transit, fastest, smallest));
  }
  for (std::size_t i = 0; i < search.exits.size(); ++i) {
    Equation equation;
    AddClock(has_drift, search, fit, search.exits[i].clock, search.exits[i].left, 1, equation);
    equation.Add(search.unknown_of_exit[i], -1);
    equation.value = -SinceFirst(search, i);
    const double distance = std::max(std::fabs(DistanceOfExit(search, fit, i)), smallest);
    equations.Add(equation, search.weight_of_exits[CollectiveAt(search, i)] / (is_first ? 1 : distance));
  }
  // An unknown without equations stays as it is.
  for (int i = 0; i < search.unknowns; ++i) equations.entries.emplace_back(i, i, 1e-15);
  Eigen::SparseMatrix<double> matrix(search.unknowns, search.unknowns);
  matrix.setFromTriplets(equations.entries.begin(), equations.entries.end());
  const Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>> solver(matrix);
  if (solver.info() == Eigen::Success) TakeSolution(search, fit, solver.solve(equations.right));
}

// Least absolute deviations by least squares with weights that are taken anew from every solution.
void Solve(const Trace& trace, bool has_drift, ClockSearch& search, ClockFit& fit) {
  for (const auto& [key, transit] : search.fastest) search.transits.push_back(transit);
  NumberUnknowns(trace, search, fit);
  double fastest = 0;
  for (int i = 0; i < kSolutions; ++i) {
    Minimise(has_drift, search, fit, fastest, i == 0);
    fastest = FastestTransit(search, fit);
  }
}

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
  ClockSearch search;
  search.begin.assign(fit.corrections.size(), std::numeric_limits<Tick>::max());
  search.end.assign(fit.corrections.size(), std::numeric_limits<Tick>::min());
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    const RankTimeline& timeline = trace.timelines[rank];
    if (timeline.empty()) continue;
    const std::uint32_t clock = fit.clock_of_rank[rank];
    search.begin[clock] = std::min(search.begin[clock], timeline.begin());
    search.end[clock] = std::max(search.end[clock], timeline.end());
  }
  for (std::size_t clock = 0; clock < search.begin.size(); ++clock) {
    if (search.begin[clock] > search.end[clock]) continue;
    fit.corrections[clock].middle = search.begin[clock] + (search.end[clock] - search.begin[clock]) / 2;
  }
  FindBegins(trace, matching, order, search);
  FindTransits(trace, matching, order, search, fit);
  FindUnknown(trace, search, fit);
  if (fit.unknown.empty() && !(search.fastest.empty() && search.exits.empty()))
    Solve(trace, model.has_drift, search, fit);
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

void LeaveOutChannels(const Trace& trace, const Matching& matching, ClockOrder& order) {
  order.channel_left_out.resize(trace.size());
  std::vector<std::vector<Channel>> of_rank(trace.size());
  ParallelFor(trace.size(), [&](std::size_t rank) {
    order.channel_left_out[rank].resize(trace.timelines[rank].endpoints().size());
    of_rank[rank] = ChannelsWithGaps(trace.timelines[rank], matching.ranks[rank], static_cast<std::int32_t>(rank),
                                     matching.matched);
  });
  for (const std::vector<Channel>& channels : of_rank) {
    for (const auto& [communicator, tag, from, to] : channels) {
      const auto sender = static_cast<std::size_t>(from);
      if (from < 0 || sender >= trace.size()) continue;
      const std::vector<Endpoint>& endpoints = trace.timelines[sender].endpoints();
      const auto found = std::ranges::find(endpoints, Endpoint{to, communicator, tag});
      if (found != endpoints.end()) {
        order.channel_left_out[sender][static_cast<std::size_t>(found - endpoints.begin())] = true;
      }
    }
  }
}

}  // namespace

bool HasSizesOfItsOwn(std::string_view region) {
  const std::string name = ToLower(region);
  for (const std::string_view part : {"allgatherv", "alltoallv", "alltoallw", "gatherv", "scatterv"}) {
    if (name.find(part) != std::string::npos) return true;
  }
  return false;
}

ClockOrder FindClockOrder(const Trace& trace, const Matching& matching) {
  ClockOrder order;
  for (const Region& region : trace.regions) {
    order.is_on_window.push_back(IsOneSided(region.call));
    order.has_own_sizes.push_back(region.IsCollective() && HasSizesOfItsOwn(region.name));
  }
  order.is_left_out.assign(trace.communicators.size(), false);
  for (std::size_t i = 0; i < trace.communicators.size(); ++i) {
    const Communicator& communicator = trace.communicators[i];
    order.is_left_out[i] = communicator.is_self || !communicator.remote.empty();
  }
  if (EndsEarly(trace)) return order;  // only the last operations lack something
  for (const CollectiveOperation& operation : matching.collectives) {
    if (operation.communicator >= order.is_left_out.size()) continue;
    if (operation.participants > 0 &&
        operation.participants < trace.communicators[operation.communicator].members.size()) {
      order.is_left_out[operation.communicator] = true;
    }
  }
  if (matching.messages > matching.matched) LeaveOutChannels(trace, matching, order);
  return order;
}

bool IsClockMessage(const Trace& trace, const Matching& matching, const ClockOrder& order, std::size_t rank,
                    std::size_t record, const RecordPart& part, ClockEvent& event) {
  const RankTimeline& timeline = trace.timelines[rank];
  if (part.number >= matching.matched || order.is_on_window[timeline.region(event.call)]) return false;
  if (part.type == OperationClass::kReceive) {
    event.kind = ClockEvent::Kind::kReceive;
    return part.completes;
  }
  if (!part.posts) return false;
  event.kind = ClockEvent::Kind::kSend;
  return order.channel_left_out.empty() || !order.channel_left_out[rank][timeline.record_target(record)];
}

bool IsClockCollective(const Trace& trace, const Matching& matching, const ClockOrder& order, std::size_t rank,
                       const RecordPart& part, ClockEvent& event) {
  const RankTimeline& timeline = trace.timelines[rank];
  const CollectiveType& type = timeline.collective_types()[matching.ranks[rank].collective_types[part.ordinal]];
  const bool is_root = type.root == static_cast<std::int32_t>(rank);
  if (order.is_left_out[type.communicator]) return false;
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
  return !order.has_own_sizes[region];
}

}  // namespace farscale
