#include "phases/found_loop.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "base/parallel.h"
#include "stats/sample_quantiles.h"

namespace farscale {
namespace {

// Evidence for a border is worth as much as so much of an iteration nearer to that of the guide. Chosen; smaller
// than the quarter of an iteration within which borders are sought.
constexpr double kNear = 0.2;

// When the first calls of the iterations are left, and the last one of all. Ranks enter calls at different times, but
// leave them together where they wait for each other.
std::vector<Tick> TimesOf(const RankTimeline& timeline, const std::vector<std::uint32_t>& borders) {
  std::vector<Tick> times;
  for (const std::uint32_t border : borders)
    times.push_back(timeline.leave(border == borders.back() ? border - 1 : border));
  return times;
}

// The iterations of the rank that shows the loop best.
struct Guide {
  std::vector<Tick> times;
  std::string before, behind;  // functions on either side of a border

  double Iteration() const {
    return std::max(1.0, static_cast<double>(times.back() - times.front()) / static_cast<double>(times.size() - 1));
  }
};

using Context = std::pair<std::uint64_t, std::uint64_t>;  // symbols of the call before and of the call

constexpr std::uint64_t kAnything = ~std::uint64_t{0};

Context ContextAt(const std::vector<std::uint64_t>& symbols, std::uint32_t call) {
  return {call > 0 ? symbols[call - 1] : 0, symbols[call]};
}

double Away(const RankTimeline& timeline, const Guide& guide, std::uint32_t call, std::size_t k) {
  return std::fabs(static_cast<double>(timeline.leave(call) - guide.times[k]));
}

double Computed(const RankTimeline& timeline, std::uint32_t call) {
  return call > 0 ? static_cast<double>(timeline.enter(call) - timeline.leave(call - 1)) : 0;
}

double Misfit(const RankTimeline& timeline, const Guide& guide, std::uint32_t call, std::size_t k) {
  return Away(timeline, guide, call, k) - Computed(timeline, call);
}

// The first call entered at a time or later.
std::uint32_t CallEnteredFrom(const RankTimeline& timeline, Tick tick) {
  return EdgeAtTick(timeline, tick, false).call;
}

// The call of each context that fits best at a border; also by its own symbol, whatever comes before.
std::map<Context, std::uint32_t> Nearest(const RankTimeline& timeline, const std::vector<std::uint64_t>& symbols,
                                         const Guide& guide, std::size_t k) {
  std::map<Context, std::uint32_t> nearest;
  const double reach = guide.Iteration() / 4;
  const Tick earliest = guide.times[k] - static_cast<Tick>(guide.Iteration());
  for (std::uint32_t call = CallEnteredFrom(timeline, earliest); call < timeline.calls(); ++call) {
    if (timeline.enter(call) > guide.times[k] + static_cast<Tick>(reach)) break;
    if (Away(timeline, guide, call, k) > reach) continue;
    for (const Context& context : {ContextAt(symbols, call), Context{kAnything, symbols[call]}}) {
      const auto [found, is_new] = nearest.try_emplace(context, call);
      if (!is_new && Misfit(timeline, guide, call, k) < Misfit(timeline, guide, found->second, k)) found->second = call;
    }
  }
  return nearest;
}

const std::string& FunctionName(const Trace& trace, const RankTimeline& timeline, std::uint32_t call) {
  return trace.regions[timeline.region(call)].name;
}

bool IsAlike(const Trace& trace, const RankTimeline& timeline, const Guide& guide,
             const std::vector<std::uint32_t>& calls) {
  return calls.front() > 0 && FunctionName(trace, timeline, calls.front()) == guide.behind &&
         FunctionName(trace, timeline, calls.front() - 1) == guide.before;
}

// In iterations: how far from the borders, less what speaks for them.
double Cost(const Trace& trace, const RankTimeline& timeline, const Guide& guide,
            const std::vector<std::uint32_t>& calls) {
  double misfit = 0;
  for (std::size_t i = 0; i < calls.size(); ++i) misfit += Misfit(timeline, guide, calls[i], i + 1);
  const double per_iteration = guide.Iteration() * static_cast<double>(calls.size());
  return misfit / per_iteration - (IsAlike(trace, timeline, guide, calls) ? kNear : 0);
}

// The first iteration may begin otherwise, the last one ends when that of the guide does: behind the last call that is
// left by then.
std::vector<std::uint32_t> WithEnds(const RankTimeline& timeline, const std::vector<std::uint64_t>& symbols,
                                    const Guide& guide, const std::vector<std::uint32_t>& inner) {
  const auto firsts = Nearest(timeline, symbols, guide, 0);
  auto same = firsts.find(ContextAt(symbols, inner.front()));
  if (same == firsts.end()) same = firsts.find({kAnything, symbols[inner.front()]});
  std::uint32_t first = CallEnteredFrom(timeline, guide.times.front());
  for (const auto& [context, call] : firsts) {
    if (first >= inner.front() || Away(timeline, guide, call, 0) < Away(timeline, guide, first, 0)) first = call;
  }
  if (same != firsts.end()) first = same->second;
  std::vector<std::uint32_t> borders = {std::min(first, inner.front() - 1)};
  borders.insert(borders.end(), inner.begin(), inner.end());
  std::uint32_t end = CallEnteredFrom(timeline, guide.times.back() + 1);
  const Tick slack = static_cast<Tick>(guide.Iteration() / 20);
  while (end > inner.back() + 1 && timeline.leave(end - 1) > guide.times.back() + slack) --end;
  borders.push_back(std::max(end, inner.back() + 1));
  return borders;
}

// A rank seen by the guide: its iterations begin at about the same times, all but perhaps the first between the same
// two calls. Of several such calls, the one before which it computes long and where the guide is between the same
// functions, too.
// `own`: what the rank shows itself, with as many iterations. It stands when it is like the guide, or when its calls
// leave no choice, else it competes.
std::optional<std::vector<std::uint32_t>> GuidedBorders(const Trace& trace, const RankTimeline& timeline,
                                                        const std::vector<std::uint64_t>& symbols, const Guide& guide,
                                                        const CallLoop* own) {
  bool is_meanwhile = false, is_exact = false, is_alike = false;
  if (own != nullptr) {
    // The loop runs while that of the guide does, or most of the shorter one. Ranks that do not all wait for each other
    // come to the same iteration at times that differ by more than an iteration takes.
    const std::vector<Tick> times = TimesOf(timeline, own->borders);
    const Tick common = std::min(times.back(), guide.times.back()) - std::max(times.front(), guide.times.front());
    is_meanwhile = 2 * common > std::min(times.back() - times.front(), guide.times.back() - guide.times.front());
    is_exact = is_meanwhile && own->is_exact;
    const std::vector<std::uint32_t> inner(own->borders.begin() + 1, own->borders.end() - 1);
    is_alike = IsAlike(trace, timeline, guide, inner);
    double away = 0;
    for (std::size_t i = 0; i < inner.size(); ++i) away += Away(timeline, guide, inner[i], i + 1);
    const bool is_near = away / (guide.Iteration() * static_cast<double>(inner.size())) < kNear;
    if (is_alike && (is_near || is_exact)) return own->borders;
  }
  std::map<Context, std::vector<std::uint32_t>> choices;
  for (std::size_t k = 1; k + 1 < guide.times.size(); ++k) {
    for (const auto& [context, call] : Nearest(timeline, symbols, guide, k)) {
      std::vector<std::uint32_t>& calls = choices[context];
      if (calls.size() + 1 == k) calls.push_back(call);  // else it is missing at some border before
    }
  }
  const std::vector<std::uint32_t>* best = nullptr;
  double least = 0;
  for (const auto& [context, calls] : choices) {
    if (calls.size() + 2 != guide.times.size()) continue;
    if (calls.front() == 0) continue;  // nothing is left for the first iteration
    if (std::adjacent_find(calls.begin(), calls.end(), std::greater_equal<>()) != calls.end()) continue;
    const double cost = Cost(trace, timeline, guide, calls);
    if (best != nullptr && cost >= least) continue;
    best = &calls;
    least = cost;
  }
  if (is_exact && (best == nullptr || !IsAlike(trace, timeline, guide, *best))) return own->borders;
  if (own != nullptr) {
    const double cost = Cost(trace, timeline, guide, {own->borders.begin() + 1, own->borders.end() - 1}) - kNear / 2;
    if (best == nullptr ? cost < kNear || (is_alike && is_meanwhile) : cost <= least) return own->borders;
  }
  if (best == nullptr) return std::nullopt;
  return WithEnds(timeline, symbols, guide, *best);
}

// Symbols of the calls of a rank, and the loop that they show.
using RankLoop = std::pair<std::vector<std::uint64_t>, std::optional<CallLoop>>;

// The rank that shows the loop best among those that most agree with: as many iterations, which begin at about the same
// times. The number of ranks for none.
std::size_t ChooseGuide(const Trace& trace, const std::vector<RankLoop>& ranks) {
  const auto loop = [&](std::size_t rank) -> const CallLoop& { return *ranks[rank].second; };
  std::vector<std::size_t> votes;  // ranks
  // Begins of the second iterations, as the first may be odd, and how far apart others may begin.
  std::vector<Tick> second(ranks.size()), near(ranks.size());
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (!ranks[rank].second) continue;
    const std::vector<Tick> times = TimesOf(trace.timelines[rank], loop(rank).borders);
    second[rank] = times[1];
    near[rank] = (times.back() - times.front()) / static_cast<Tick>(loop(rank).iterations()) / 20;
    votes.push_back(rank);
  }
  std::ranges::sort(votes, {}, [&](std::size_t rank) {
    return std::tuple(loop(rank).iterations(), loop(rank).follows, second[rank], rank);
  });
  std::size_t best = ranks.size();
  double most = 0;
  for (auto one = votes.begin(); one != votes.end(); ++one) {
    double sum = 0;
    std::size_t top = *one;
    for (auto other = one; other != votes.end(); ++other) {
      const bool agrees = loop(*other).iterations() == loop(*one).iterations() &&
                          loop(*other).follows == loop(*one).follows && second[*other] <= second[*one] + near[*one];
      if (!agrees) break;
      sum += loop(*other).score;
      if (loop(*other).score > loop(top).score) top = *other;
    }
    if (sum > most) {
      most = sum;
      best = top;
    }
  }
  return best;
}

// The computation between two calls lies on the border of two iterations: it ends the one and begins the other. At the
// ends of the loop each has its part, with what is done before and behind the loop. A burst there that is not much
// longer than usual is a part; of a longer one, what the other part leaves.
struct BorderBursts {
  Tick usual = 0;                  // median length of those between iterations
  Tick shortest = 0, longest = 0;  // the same for the extremes
  Tick before = 0;                 // the first iteration
  Tick behind = 0;                 // the last one

  // Much longer than usual, it does more than belongs to an iteration.
  bool IsUsual(Tick burst) const { return 2 * burst <= 3 * usual; }
  Tick OfIteration(Tick burst) const { return IsUsual(burst) ? burst : usual; }

  Tick Trail() const {
    if (IsUsual(behind)) return behind;
    return before < usual ? usual - before : usual;
  }
  Tick Lead() const {
    if (2 * before <= usual) return before;
    return std::min(before, std::max<Tick>(0, usual - Trail()));
  }
};

// Iterations between edges right before the first call of each, or right behind the last of all, at the ticks of
// tick_of(rank, border, whether it is the first, or the last).
template <typename TickOf>
std::vector<RankCut> CutAt(const Trace& trace, const FoundLoop& loop, TickOf tick_of) {
  std::vector<RankCut> cuts(trace.size());
  for (std::size_t rank = 0; rank < cuts.size(); ++rank) {
    const std::vector<std::uint32_t>& borders = loop.borders[rank];
    std::vector<Edge> edges;
    for (std::size_t k = 0; k < borders.size(); ++k) {
      const Tick tick = tick_of(rank, borders[k], k == 0, k + 1 == borders.size());
      edges.push_back({tick, borders[k], EdgeAtTick(trace.timelines[rank], tick, false).event});
      if (k > 0) cuts[rank].iterations.push_back({edges[k - 1], edges[k]});
    }
    cuts[rank].present = true;
    cuts[rank].window = {edges.front(), edges.back()};
  }
  return cuts;
}

// The largest difference of two ranks in either part of a burst, as a share of the longest usual burst of any.
// Chosen: beyond measurement noise, far below what ranks with different loads differ by.
constexpr double kSameParts = 0.05;

// True if the computation on every border can be divided: both parts are the same on all ranks. Where they differ, what
// one iteration gives to the next would be another load on every rank, and the ends of the loop have more of it on
// some.
bool AgreeOnParts(const Trace& trace, const FoundLoop& loop, const std::vector<BorderBursts>& bursts) {
  Tick longest = 0;
  for (const BorderBursts& of_rank : bursts) longest = std::max(longest, of_rank.usual);
  const double most = kSameParts * static_cast<double>(longest);
  const auto agree = [&](auto part) {
    Tick least = std::numeric_limits<Tick>::max(), largest = std::numeric_limits<Tick>::min();
    for (std::size_t rank = 0; rank < trace.size(); ++rank) {
      least = std::min(least, part(rank));
      largest = std::max(largest, part(rank));
    }
    return static_cast<double>(largest - least) <= most;
  };
  if (!agree([&](std::size_t rank) { return bursts[rank].Lead(); })) return false;
  if (!agree([&](std::size_t rank) { return bursts[rank].Trail(); })) return false;
  for (std::size_t k = 1; k < loop.iterations(); ++k) {
    const auto burst = [&](std::size_t rank) {
      const std::uint32_t border = loop.borders[rank][k];
      return trace.timelines[rank].enter(border) - trace.timelines[rank].leave(border - 1);
    };
    if (!agree(burst)) return false;
  }
  return true;
}

std::vector<BorderBursts> BurstsOfRanks(const Trace& trace, const FoundLoop& loop) {
  std::vector<BorderBursts> bursts;
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    const RankTimeline& timeline = trace.timelines[rank];
    const std::vector<std::uint32_t>& borders = loop.borders[rank];
    std::vector<Tick> lengths;
    for (std::size_t k = 1; k + 1 < borders.size(); ++k) {
      lengths.push_back(timeline.enter(borders[k]) - timeline.leave(borders[k] - 1));
    }
    const auto [shortest, longest] = std::ranges::minmax(lengths);
    const std::uint32_t first = borders.front(), end = borders.back();
    bursts.push_back({lengths[PlaceOfMedian(lengths)], shortest, longest,
                      timeline.enter(first) - (first > 0 ? timeline.leave(first - 1) : timeline.begin()),
                      (end < timeline.calls() ? timeline.enter(end) : timeline.end()) - timeline.leave(end - 1)});
  }
  return bursts;
}

// Iterations with the computation on every border on one side of it, not much more than usual at the ends.
std::vector<RankCut> CutBetween(const Trace& trace, const FoundLoop& loop, const std::vector<BorderBursts>& bursts,
                                bool begins) {
  return CutAt(trace, loop, [&](std::size_t rank, std::uint32_t border, bool is_first, bool is_last) {
    const RankTimeline& timeline = trace.timelines[rank];
    const Tick tick = is_last || (begins && !is_first) ? timeline.leave(border - 1) : timeline.enter(border);
    if (is_first && begins) return tick - bursts[rank].OfIteration(bursts[rank].before);
    return is_last && !begins ? tick + bursts[rank].OfIteration(bursts[rank].behind) : tick;
  });
}

}  // namespace

std::optional<FoundLoop> FindLoopOfRun(const Trace& trace, const CallCounts* like) {
  std::vector<RankLoop> ranks(trace.size());
  ParallelFor(trace.size(), [&](std::size_t rank) {
    auto& [symbols, loop] = ranks[rank];
    symbols = CallSymbols(trace, rank);
    loop = FindLoop(trace, rank, symbols, like);
  });
  const std::size_t best = ChooseGuide(trace, ranks);
  if (best == trace.size()) return std::nullopt;
  const CallLoop& shown = *ranks[best].second;
  const auto name = [&](std::uint32_t call) { return trace.regions[trace.timelines[best].region(call)].name; };
  const Guide guide{TimesOf(trace.timelines[best], shown.borders), name(shown.borders[1] - 1), name(shown.borders[1])};
  FoundLoop found;
  found.similarity = shown.similarity;
  found.calls = shown.calls;
  found.borders.resize(trace.size());
  Tick covered = 0, run = 0;
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    const RankTimeline& timeline = trace.timelines[rank];
    run += timeline.end() - timeline.begin();
    if (timeline.calls() == 0) return std::nullopt;
    const auto& [symbols, own] = ranks[rank];
    const bool shows_it = own && own->iterations() == shown.iterations() && own->follows == shown.follows;
    auto borders =
        rank == best ? shown.borders : GuidedBorders(trace, timeline, symbols, guide, shows_it ? &*own : nullptr);
    if (!borders) return std::nullopt;
    const std::vector<Tick> times = TimesOf(timeline, *borders);
    covered += times.back() - times.front();
    found.borders[rank] = std::move(*borders);
  }
  found.coverage = static_cast<double>(covered) / static_cast<double>(std::max<Tick>(run, 1));
  return found;
}

std::vector<RankCut> CutLoop(const Trace& trace, const FoundLoop& loop) {
  const std::vector<BorderBursts> bursts = BurstsOfRanks(trace, loop);
  Tick lead = 0, trail = 0, noise = 0, longest = 0, before = 0, behind = 0;
  for (const BorderBursts& of_rank : bursts) {
    lead = std::max(lead, of_rank.Lead());
    trail = std::max(trail, of_rank.Trail());
    noise = std::max(noise, of_rank.longest - of_rank.shortest);
    longest = std::max(longest, of_rank.usual);
    // A burst that is much longer than usual does more than an iteration does there and says nothing; then what the
    // other side lacks of the usual is taken to be on this one.
    const bool knows_before = of_rank.IsUsual(of_rank.before), knows_behind = of_rank.IsUsual(of_rank.behind);
    const Tick at_begin = std::min(of_rank.before, of_rank.usual), at_end = std::min(of_rank.behind, of_rank.usual);
    before += knows_before || !knows_behind ? at_begin : of_rank.usual - at_end;
    behind += knows_behind || !knows_before ? at_end : of_rank.usual - at_begin;
  }
  // Ranks do next to nothing of the bursts on one side of the loop, and less than the bursts differ by: then noise
  // alone would divide them.
  const Tick less = std::min(lead, trail);
  const bool is_on_one_side = less < noise && static_cast<double>(less) <= kSameParts * static_cast<double>(longest);
  if (is_on_one_side || !AgreeOnParts(trace, loop, bursts)) return CutBetween(trace, loop, bursts, before > behind);
  return CutAt(trace, loop, [&](std::size_t rank, std::uint32_t border, bool is_first, bool is_last) {
    const RankTimeline& timeline = trace.timelines[rank];
    if (is_last) return timeline.leave(border - 1) + bursts[rank].Trail();
    const Tick enter = timeline.enter(border), own_lead = bursts[rank].Lead();
    return enter - (is_first ? own_lead : std::min(own_lead, enter - timeline.leave(border - 1)));
  });
}

std::vector<RankCut> CutLoopBetweenBursts(const Trace& trace, const FoundLoop& loop) {
  std::vector<BorderBursts> bursts = BurstsOfRanks(trace, loop);
  Tick before = 0, behind = 0;
  for (BorderBursts& of_rank : bursts) {
    // Parts are recognised by their share of an iteration: what more than usual lies at its ends is left out.
    of_rank.before = std::min(of_rank.before, of_rank.usual);
    of_rank.behind = std::min(of_rank.behind, of_rank.usual);
    before += of_rank.before;
    behind += of_rank.behind;
  }
  return CutBetween(trace, loop, bursts, before > behind);
}

}  // namespace farscale
