#include "phases/iteration_shape.h"

#include <fmt/format.h>

#include <numeric>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/parallel.h"
#include "phases/found_loop.h"
#include "phases/phase_cut.h"
#include "stats/sample_quantiles.h"

namespace farscale {
namespace {

// All are chosen, and tested on the parts of the sample traces (tests/invariants/iteration_parts_test.cc).
constexpr double kLeastShare = 0.03;    // share of an iteration's computation, for a landmark
constexpr double kLeastTogether = 0.3;  // the same of all landmarks
constexpr double kLeastGap = 1.5;       // between the shortest landmark and the longest other burst
constexpr std::size_t kMostLandmarks = 24;
constexpr std::size_t kFewestTurns = 3;
constexpr std::size_t kLongestTurn = 3;  // landmarks in it
constexpr int kFewestRounds = 5;  // rounds of messages, for a part of its own, and between them no burst longer than
constexpr double kLittle = 0.25;  // so much of the shortest landmark
constexpr std::size_t kFewestSamples = 3;
constexpr std::size_t kMostSamples = 64;
constexpr double kAround = 0.85;  // share of an iteration's time

std::uint64_t Mix(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15 + (hash << 6) + (hash >> 2);
  return hash * 0xff51afd7ed558ccd;
}

using Sample = std::pair<std::size_t, std::size_t>;  // rank and iteration

// Iterations that make the same calls, of those the most common; among equally common ones those with more calls.
std::vector<Sample> MostCommon(const Trace& trace, const std::vector<RankCut>& loop) {
  std::vector<std::vector<std::uint64_t>> hashes(trace.size());
  ParallelFor(trace.size(), [&](std::size_t rank) {
    const RankTimeline& timeline = trace.timelines[rank];
    for (const Interval& iteration : loop[rank].iterations) {
      std::uint64_t hash = iteration.end.call - iteration.begin.call;
      for (std::uint32_t call = iteration.begin.call; call < iteration.end.call; ++call) {
        hash = Mix(hash, timeline.region(call));
      }
      hashes[rank].push_back(hash);
    }
  });
  std::unordered_map<std::uint64_t, std::vector<Sample>> classes;
  const std::vector<Sample>* best = nullptr;
  const auto calls = [&](const Sample& s) {
    const Interval& iteration = loop[s.first].iterations[s.second];
    return iteration.end.call - iteration.begin.call;
  };
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    for (std::size_t k = 0; k < hashes[rank].size(); ++k) classes[hashes[rank][k]].push_back({rank, k});
  }
  const auto key = [&](const std::vector<Sample>& c) {  // larger is better
    return std::tuple(c.size(), calls(c.front()), ~c.front().first, ~c.front().second);
  };
  for (const auto& [hash, samples] : classes) {
    if (best == nullptr || key(samples) > key(*best)) best = &samples;
  }
  return *best;
}

// The most common iteration of a loop, burst by burst, on the rank in the middle of those that make the same calls.
struct TypicalIteration {
  std::size_t samples = 0;  // iterations on any rank that make the same calls, not all where there are many
  std::size_t rank = 0;
  Interval iteration;
  std::vector<std::uint64_t> symbols;  // one a call of the rank
  std::vector<double> shares;          // one a burst, of the computation
  std::vector<std::uint32_t> regions;  // one a burst
  std::set<std::uint32_t> around;      // regions around nearly all of the iteration, which say nothing of its parts
};

const Region& Function(const Trace& trace, const TypicalIteration& typical, std::size_t call) {
  return trace.regions[trace.timelines[typical.rank].region(call)];
}

// The kind of the part that the calls are from one burst up to the next time that another comes, in this iteration or
// the next: rounds, which are turns of functions that may wait, or occurrences of one call, with no long burst between.
// Empty where they are no part of their own. `longest`: share of a burst between rounds.
std::string KindOfCalls(const Trace& trace, const TypicalIteration& typical, std::size_t from, std::size_t to,
                        double longest) {
  std::string last;
  std::unordered_map<std::uint64_t, int> same;
  int repeats = 0, turns = 0, collective = 0;
  const std::size_t count = to > from ? to - from : to + typical.shares.size() - from;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t burst = (from + i) % typical.shares.size();
    if (i > 0 && typical.shares[burst] > longest) return "";
    if (burst + 1 == typical.shares.size()) continue;  // no call follows in this iteration
    const Region& function = Function(trace, typical, typical.iteration.begin.call + burst);
    const bool may_wait = function.call == MpiCall::kWait || function.call == MpiCall::kReceive ||
                          function.call == MpiCall::kSendReceive || function.call == MpiCall::kCollective;
    if (!may_wait) {
      last = function.name;
      continue;
    }
    repeats = std::max(repeats, ++same[typical.symbols[typical.iteration.begin.call + burst]]);
    if (function.name != last) {
      ++turns;
      if (function.IsCollective()) ++collective;
    }
    last = function.name;
  }
  if (std::max(turns, repeats) < kFewestRounds) return "";
  return 2 * collective >= turns ? "collectives" : "exchange";
}

// The region that the calls and computation from one burst to another are made of, and little else of the
// iteration; nothing when there is none.
std::string RegionBetween(const Trace& trace, const TypicalIteration& typical, std::size_t from, std::size_t to) {
  std::map<std::uint32_t, double> inside, everywhere;
  double length = 0;
  for (std::size_t burst = 0; burst < typical.shares.size(); ++burst) {
    const bool is_inside = from < to ? burst >= from && burst < to : burst >= from || burst < to;
    const double share = typical.shares[burst];
    if (is_inside) length += share;
    if (typical.regions[burst] == kNoRegion) continue;
    everywhere[typical.regions[burst]] += share;
    if (is_inside) inside[typical.regions[burst]] += share;
  }
  for (const auto& [region, share] : inside) {
    if (typical.around.count(region) > 0) continue;
    if (share >= 0.8 * length && everywhere[region] <= 1.25 * share) return trace.regions[region].name;
  }
  return "";
}

TypicalIteration FindTypical(const Trace& trace, const std::vector<RankCut>& loop) {
  std::vector<Sample> samples = MostCommon(trace, loop);
  // The middle iteration of the rank in the middle: neither the first nor the last, where there are others.
  const std::size_t middle = samples[samples.size() / 2].first;
  const auto [first, end_of_rank] = std::ranges::equal_range(samples, middle, {}, &Sample::first);
  const auto [rank, place] = first[(end_of_rank - first) / 2];
  TypicalIteration typical;
  typical.samples = std::min(samples.size(), kMostSamples);
  typical.rank = rank;
  typical.iteration = loop[rank].iterations[place];
  typical.symbols = CallSymbols(trace, rank);
  typical.shares.resize(CountBursts(typical.iteration));
  for (std::size_t burst = 0; burst < typical.shares.size(); ++burst) {
    std::vector<Tick> lengths;
    for (std::size_t i = 0; i < typical.samples; ++i) {
      const auto& [other, iteration] = samples[i * samples.size() / typical.samples];
      lengths.push_back(BurstAt(trace.timelines[other], loop[other].iterations[iteration], burst).length());
    }
    typical.shares[burst] = static_cast<double>(Median(std::move(lengths)));
  }
  const double total = std::accumulate(typical.shares.begin(), typical.shares.end(), 0.0);
  for (double& share : typical.shares) share = total > 0 ? share / total : 0;
  typical.regions = RegionsOfBursts(trace, rank, {typical.iteration}).front();
  // Regions around nearly all of the iteration, such as the body of the loop, say nothing of its parts.
  std::map<std::uint32_t, Tick> inside, since;
  const Tick begin = typical.iteration.begin.tick, end = typical.iteration.end.tick;
  for (std::size_t event = 0; event < typical.iteration.end.event; ++event) {
    const RankTimeline::RegionEvent e = trace.timelines[rank].region_event(event);
    if (!e.is_leave) {
      since[e.region] = e.tick;
    } else if (since.count(e.region) > 0) {
      inside[e.region] += std::max<Tick>(0, e.tick - std::max(begin, since[e.region]));
      since.erase(e.region);
    }
  }
  for (const auto& [region, tick] : since) inside[region] += end - std::max(begin, tick);
  for (const auto& [region, ticks] : inside) {
    if (static_cast<double>(ticks) >= kAround * static_cast<double>(end - begin)) typical.around.insert(region);
  }
  return typical;
}

// The bursts that stand out: down to the widest gap between one length and the next.
std::vector<std::size_t> LongBursts(const std::vector<double>& shares) {
  std::vector<std::size_t> order(shares.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return shares[a] > shares[b]; });
  std::size_t count = 0;
  double together = 0, widest = kLeastGap;
  for (std::size_t i = 0; i < std::min(order.size(), kMostLandmarks); ++i) {
    if (shares[order[i]] < kLeastShare) break;
    together += shares[order[i]];
    const double next = i + 1 < order.size() ? shares[order[i + 1]] : 0;
    const double gap = shares[order[i]] / std::max(next, kLeastShare / 10);
    if (together < kLeastTogether || gap < widest) continue;
    widest = gap;
    count = i + 1;
  }
  order.resize(count);
  std::sort(order.begin(), order.end());
  return order;
}

// Landmarks that come back in turn belong to an inner loop; it counts as one, from its first landmark on.
void FoldTurns(std::vector<Landmark>& landmarks, std::vector<std::size_t>& bursts) {
  const auto are_same = [](const Landmark& a, const Landmark& b) {
    const double ratio = std::max(a.share, b.share) / std::min(a.share, b.share);
    return a.before == b.before && a.after == b.after && a.region == b.region && ratio <= kSameShare;
  };
  for (std::size_t length = 1; length <= kLongestTurn; ++length) {
    for (std::size_t i = 0; i + length < landmarks.size(); ++i) {
      std::size_t end = i + length;
      while (end < landmarks.size() && are_same(landmarks[end], landmarks[end - length])) ++end;
      if (end - i < kFewestTurns * length) continue;
      const auto first = static_cast<std::ptrdiff_t>(i + 1), last = static_cast<std::ptrdiff_t>(end);
      landmarks.erase(landmarks.begin() + first, landmarks.begin() + last);
      bursts.erase(bursts.begin() + first, bursts.begin() + last);
      landmarks[i].is_repeated = true;
    }
  }
}

std::vector<IterationPart> Parts(const Trace& trace, const TypicalIteration& typical,
                                 const std::vector<std::size_t>& bursts, const std::vector<Landmark>& landmarks) {
  double shortest = 1;
  for (const std::size_t burst : bursts) shortest = std::min(shortest, typical.shares[burst]);
  std::vector<IterationPart> parts;
  for (std::size_t i = 0; i < bursts.size(); ++i) {
    const std::size_t next = bursts[(i + 1) % bursts.size()];
    const std::string of_calls =
        landmarks[i].is_repeated ? "" : KindOfCalls(trace, typical, bursts[i], next, kLittle * shortest);
    const auto add = [&](const std::string& kind, bool is_behind, std::size_t from, std::size_t to) {
      const std::string region = RegionBetween(trace, typical, from, to);
      parts.push_back({region.empty() ? kind : region, kind, i, is_behind});
    };
    add("computation", false, bursts[i], of_calls.empty() ? next : bursts[i] + 1);
    if (!of_calls.empty()) add(of_calls, true, bursts[i] + 1, next);
  }
  if (parts.size() < 2) return {};
  std::map<std::string, int> count, used;
  for (const IterationPart& part : parts) ++count[part.name];
  for (IterationPart& part : parts) {
    if (count[part.name] > 1) part.name += fmt::format(" {}", ++used[part.name]);
  }
  return parts;
}

// Chosen.
constexpr double kHeavy = 1.1;      // times the rank's middle iteration
constexpr std::size_t kFewest = 3;  // that recur
constexpr double kMostHeavy = 0.5;  // share of all iterations

}  // namespace

const IterationPart* IterationShape::FindPart(const std::string& name) const {
  const auto found = std::ranges::find(parts, name, &IterationPart::name);
  return found == parts.end() ? nullptr : &*found;
}

std::vector<std::string> IterationShape::PartNames() const {
  std::vector<std::string> names;
  for (const IterationPart& part : parts) names.push_back(part.name);
  return names;
}

IterationShape ShapeOf(const Trace& trace, const std::vector<RankCut>& loop) {
  const TypicalIteration typical = FindTypical(trace, loop);
  IterationShape shape;
  shape.calls =
      CountCalls(trace, trace.timelines[typical.rank], typical.iteration.begin.call, typical.iteration.end.call);
  if (typical.samples < kFewestSamples) return shape;  // long bursts may be noise there
  std::vector<std::size_t> bursts = LongBursts(typical.shares);
  for (const std::size_t burst : bursts) {
    Landmark& landmark = shape.landmarks.emplace_back();
    const std::size_t call = typical.iteration.begin.call + burst;
    if (call > 0) landmark.before = Function(trace, typical, call - 1).name;
    if (call < trace.timelines[typical.rank].calls()) landmark.after = Function(trace, typical, call).name;
    const std::uint32_t region = typical.regions[burst];
    if (region != kNoRegion && typical.around.count(region) == 0) landmark.region = trace.regions[region].name;
    landmark.share = typical.shares[burst];
    for (std::uint32_t c = typical.iteration.begin.call; c < typical.iteration.end.call; ++c) {
      if (!Function(trace, typical, c).IsCollective()) continue;
      ++(c < call ? landmark.collectives_before : landmark.collectives_behind);
    }
  }
  FoldTurns(shape.landmarks, bursts);
  shape.parts = Parts(trace, typical, bursts, shape.landmarks);
  return shape;
}

HeavyIterations FindHeavyIterations(std::size_t ranks, const LoadOfRank& load_of) {
  std::vector<std::size_t> longer;  // ranks that take longer than usual, by iteration
  std::vector<double> sums;
  std::size_t busy = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const std::span<const double> load = load_of(rank);
    const double usual = load.empty() ? 0 : Median(std::vector<double>(load.begin(), load.end()));
    sums.resize(std::max(sums.size(), load.size()));
    longer.resize(sums.size());
    for (std::size_t k = 0; k < load.size(); ++k) {
      sums[k] += load[k];
      longer[k] += usual > 0 && load[k] > kHeavy * usual;
    }
    busy += usual > 0;
  }
  std::vector<std::size_t> heavy;
  double time = 0, whole = 0;
  for (std::size_t k = 0; k < sums.size(); ++k) {
    whole += sums[k];
    if (2 * longer[k] <= busy) continue;
    heavy.push_back(k);
    time += sums[k];
  }
  const auto count = static_cast<double>(heavy.size()), all = static_cast<double>(sums.size());
  if (heavy.size() < kFewest || count > kMostHeavy * all) return {};
  // They recur at one distance of two or more, from the first to the last.
  const std::size_t every = heavy[1] - heavy[0];
  if (every < 2 || heavy.front() >= every || heavy.back() + every < sums.size()) return {};
  for (std::size_t i = 1; i < heavy.size(); ++i) {
    if (heavy[i] - heavy[i - 1] != every) return {};
  }
  const double usual = (whole - time) / (all - count);
  if (!(usual > 0)) return {};
  return {every, heavy.front(), time / count / usual, (time - count * usual) / whole};
}

}  // namespace farscale
