#include "phases/phase_cut.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <unordered_map>

#include "base/parallel.h"
#include "base/search.h"

namespace farscale {
namespace {

// Evidence for a burst being a landmark. All weights are chosen: a region of the program identifies a burst best, a
// function alone hardly does. Tested like the constants of iteration_shape.cc.
constexpr double kSameFunction = 1;     // before it, and behind it
constexpr double kSameRegion = 3;       // the program's region
constexpr double kSameLength = 2;       // less where the share of the computation differs
constexpr double kSameCollectives = 1;  // as many of them before it, and behind it
constexpr double kSameTime = 2;         // as on the rank that shows the landmarks best; nothing farther away than
constexpr double kFarAway = 0.15;       // so much of an iteration
constexpr double kRecognised = 0.55;    // share of the possible evidence for a landmark, on that rank
constexpr double kLeastLength = 0.2;    // share of the computation that it should have; evidence for
constexpr double kTooShort = 0.5;       // a shorter one, so much counts

// Without collectives their number says nothing.
bool KnowsCollectives(const Landmark& landmark) {
  return landmark.collectives_before + landmark.collectives_behind > 0;
}

double MostFor(const Landmark& landmark, bool has_regions) {
  return 2 * kSameFunction + (has_regions ? kSameRegion : 0) + kSameLength +
         (KnowsCollectives(landmark) ? 2 * kSameCollectives : 0);
}

// Functions and regions of a landmark as this trace numbers them.
struct ResolvedLandmark {
  const Landmark* landmark = nullptr;
  std::vector<bool> before, after, region;  // indexed by region of the trace

  bool IsBefore(const RankTimeline& timeline, std::size_t call) const {
    return call > 0 ? static_cast<bool>(before[timeline.region(call - 1)]) : landmark->before.empty();
  }
  bool IsAfter(const RankTimeline& timeline, std::size_t call) const {
    return call < timeline.calls() ? static_cast<bool>(after[timeline.region(call)]) : landmark->after.empty();
  }
};

// They refer to the landmarks, which must outlive them.
std::vector<ResolvedLandmark> Resolve(const Trace& trace, std::vector<Landmark>&& landmarks) = delete;
std::vector<ResolvedLandmark> Resolve(const Trace& trace, const std::vector<Landmark>& landmarks) {
  const auto is_one = [&](const std::string& name) {
    return std::ranges::find(landmarks, name, &Landmark::region) != landmarks.end();
  };
  std::vector<ResolvedLandmark> known;
  for (const Landmark& landmark : landmarks) {
    ResolvedLandmark k;
    k.landmark = &landmark;
    for (const Region& region : trace.regions) {
      k.before.push_back(region.is_mpi && region.name == landmark.before);
      k.after.push_back(region.is_mpi && region.name == landmark.after);
      // One outside all regions is in none of the others.
      const bool same = landmark.region.empty() ? !is_one(region.name) : region.name == landmark.region;
      k.region.push_back(region.IsUser() && same);
    }
    known.push_back(std::move(k));
  }
  return known;
}

// The bursts of the iteration of a rank that was prepared last.
struct BurstList {
  const Trace& trace;
  const RankTimeline& timeline;
  Interval iteration = {};
  std::vector<double> lengths = {};
  std::vector<Tick> begins = {};
  std::vector<std::uint32_t> collectives = {};  // before each
  std::span<const std::uint32_t> regions = {};  // one each; empty: they say nothing
  double total = 1;                             // sum of lengths, at least 1
  std::vector<double> best = {}, next = {};     // room for FindInIteration, which is called for every iteration
  std::vector<bool> taken = {};

  void Prepare(const Interval& of, std::span<const std::uint32_t> regions_of);
  // Its share of the computation, over that of the landmark.
  double LengthRatio(const ResolvedLandmark& known, std::size_t p) const {
    return lengths[p] / total / known.landmark->share;
  }
  // Evidence for burst p being the landmark.
  double Score(const ResolvedLandmark& known, std::size_t p) const;
  // Evidence for its being a landmark that begins at that time on another rank.
  double Nearness(std::size_t p, Tick time) const {
    const double far = kFarAway * static_cast<double>(std::max<Tick>(1, iteration.length()));
    return kSameTime * std::max(0.0, 1 - std::fabs(static_cast<double>(begins[p] - time)) / far);
  }
  std::size_t FirstTurn(const ResolvedLandmark& known, std::size_t begin, std::size_t found) const;
};

void BurstList::Prepare(const Interval& of, std::span<const std::uint32_t> regions_of) {
  iteration = of;
  regions = regions_of;
  const std::size_t count = CountBursts(iteration);
  lengths.resize(count);
  begins.resize(count);
  collectives.assign(count, 0);
  total = 0;
  for (std::size_t p = 0; p < count; ++p) {
    const std::size_t call = iteration.begin.call + p;
    begins[p] = p > 0 ? timeline.leave(call - 1) : iteration.begin.tick;
    const Tick end = p + 1 < count ? timeline.enter(call) : iteration.end.tick;
    lengths[p] = static_cast<double>(std::max<Tick>(0, end - begins[p]));
    total += lengths[p];
    if (p > 0) collectives[p] = collectives[p - 1] + trace.regions[timeline.region(call - 1)].IsCollective();
  }
  total = std::max(total, 1.0);
}

double BurstList::Score(const ResolvedLandmark& known, std::size_t p) const {
  const Landmark& landmark = *known.landmark;
  const std::size_t call = iteration.begin.call + p;
  double score = 0;
  if (known.IsBefore(timeline, call)) score += kSameFunction;
  if (known.IsAfter(timeline, call)) score += kSameFunction;
  if (!regions.empty()) {
    const bool none = regions[p] == kNoRegion;
    if (none ? landmark.region.empty() : static_cast<bool>(known.region[regions[p]])) score += kSameRegion;
  }
  const double ratio = LengthRatio(known, p);
  score += kSameLength * std::min(ratio, ratio > 0 ? 1 / ratio : 0);
  if (!KnowsCollectives(landmark)) return score;
  if (collectives[p] == landmark.collectives_before) score += kSameCollectives;
  if (collectives.back() - collectives[p] == landmark.collectives_behind) score += kSameCollectives;
  return score;
}

// The first burst behind the landmark before that is like the one found.
std::size_t BurstList::FirstTurn(const ResolvedLandmark& known, std::size_t begin, std::size_t found) const {
  const std::size_t first_call = iteration.begin.call;
  std::size_t first = found;
  for (std::size_t p = found; p-- > begin;) {
    const double ratio = lengths[p] / std::max(lengths[found], 1.0);
    const bool is_alike = known.IsBefore(timeline, first_call + p) == known.IsBefore(timeline, first_call + found) &&
                          known.IsAfter(timeline, first_call + p) == known.IsAfter(timeline, first_call + found) &&
                          (regions.empty() || regions[p] == regions[found]) && ratio <= kSameShare &&
                          ratio * kSameShare >= 1;
    if (is_alike) first = p;
  }
  return first;
}

// The bursts of landmarks in an iteration, in order: those that most speaks for, the earlier of equal ones, and of the
// turns of an inner loop the first. `times`: when the landmarks begin on another rank, empty when not known; then less
// speaks for a burst that is too short for the landmark.
std::vector<std::size_t> FindInIteration(const std::vector<ResolvedLandmark>& landmarks, std::span<const Tick> times,
                                         BurstList& bursts) {
  const std::size_t count = bursts.lengths.size(), most = landmarks.size();
  std::vector<std::size_t> found(most);
  if (count < most) return found;
  std::vector<double>&best = bursts.best, &next = bursts.next;
  std::vector<bool>& taken = bursts.taken;
  best.assign(count + 1, 0);
  taken.assign(most * count, false);
  for (std::size_t j = 0; j < most; ++j) {
    // best[p]: of the landmarks before j within the first p bursts.
    next.assign(count + 1, -1);
    for (std::size_t p = j; p < count; ++p) {
      const double nearness = times.empty() ? 0 : bursts.Nearness(p, times[j]);
      const bool is_too_short = times.empty() && bursts.LengthRatio(landmarks[j], p) < kLeastLength;
      const double with = best[p] + nearness + (is_too_short ? kTooShort : 1) * bursts.Score(landmarks[j], p);
      const bool is_better = with > next[p];
      next[p + 1] = is_better ? with : next[p];
      taken[j * count + p] = is_better;
    }
    best.swap(next);
  }
  std::size_t p = count;
  for (std::size_t j = most; j-- > 0;) {
    while (!taken[j * count + p - 1]) --p;
    found[j] = --p;
  }
  for (std::size_t j = 0; j < most; ++j) {
    if (landmarks[j].landmark->is_repeated)
      found[j] = bursts.FirstTurn(landmarks[j], j > 0 ? found[j - 1] + 1 : 0, found[j]);
  }
  return found;
}

using LandmarkBursts = std::vector<std::vector<std::size_t>>;  // indices by iteration and landmark

// The evidence of a rank for each landmark and the ratio of its length, means over the iterations.
using Shown = std::vector<std::pair<double, double>>;

using BurstRegions = std::vector<std::vector<std::uint32_t>>;  // indexed by iteration and burst

LandmarkBursts FindOnRank(const Trace& trace, std::size_t rank, const std::vector<Interval>& iterations,
                          const BurstRegions& regions, const std::vector<ResolvedLandmark>& known,
                          const std::vector<std::vector<Tick>>& times, Shown* shown) {
  BurstList list{trace, trace.timelines[rank]};
  LandmarkBursts bursts;
  const auto count = static_cast<double>(iterations.size());
  if (shown != nullptr) shown->assign(known.size(), {0, 0});
  for (std::size_t k = 0; k < iterations.size(); ++k) {
    list.Prepare(iterations[k], regions[k]);
    bursts.push_back(FindInIteration(known, k < times.size() ? times[k] : std::span<const Tick>(), list));
    for (std::size_t j = 0; shown != nullptr && j < known.size(); ++j) {
      auto& [score, ratio] = (*shown)[j];
      score += list.Score(known[j], bursts[k][j]) / count;
      ratio += list.LengthRatio(known[j], bursts[k][j]) / count;
    }
  }
  return bursts;
}

// Landmarks of which it is unknown which they are: beside each is a missing one that is alike, and the burst would do
// for either. `present`: those of the shape that are there; `bursts`: theirs, by iteration of the rank.
std::vector<std::size_t> Ambiguous(const Trace& trace, std::size_t rank, const std::vector<Interval>& iterations,
                                   const std::vector<Landmark>& landmarks, const std::vector<bool>& present,
                                   const LandmarkBursts& bursts) {
  std::vector<std::size_t> order, ambiguous;
  for (std::size_t j = 0; j < landmarks.size(); ++j) {
    if (present[j]) order.push_back(j);
  }
  for (std::size_t j = 0; j < landmarks.size(); ++j) {
    if (present[j]) continue;
    const std::vector<Landmark> alone = {landmarks[j]};
    const std::vector<ResolvedLandmark> missing = Resolve(trace, alone);
    BurstList list{trace, trace.timelines[rank]};
    const auto behind = static_cast<std::size_t>(std::lower_bound(order.begin(), order.end(), j) - order.begin());
    for (std::size_t i = behind > 0 ? behind - 1 : 0; i < std::min(behind + 1, order.size()); ++i) {
      // Nothing but length and order distinguishes them.
      const Landmark &a = landmarks[j], &b = landmarks[order[i]];
      const bool are_alike = a.before == b.before && a.after == b.after && a.region == b.region &&
                             a.collectives_before == b.collectives_before &&
                             a.collectives_behind == b.collectives_behind;
      if (!are_alike) continue;
      double ratio = 0;
      for (std::size_t k = 0; k < bursts.size(); ++k) {
        list.Prepare(iterations[k], {});
        ratio += list.LengthRatio(missing.front(), bursts[k][i]) / static_cast<double>(bursts.size());
      }
      if (ratio >= kLeastLength && ratio * kLeastLength <= 1) ambiguous.push_back(order[i]);
    }
  }
  return ambiguous;
}

// The landmarks of a shape on all ranks. `present`: set for each whether it is there. Returns bursts by rank, of the
// landmarks present, in their order.
std::vector<LandmarkBursts> FindLandmarks(const Trace& trace, const std::vector<RankCut>& loop,
                                          const std::vector<BurstRegions>& regions,
                                          const std::vector<Landmark>& landmarks, bool has_regions,
                                          std::vector<bool>& present) {
  present.assign(landmarks.size(), true);
  std::vector<LandmarkBursts> bursts(trace.size());
  for (;;) {
    std::vector<Landmark> left;
    std::vector<std::size_t> index;
    for (std::size_t j = 0; j < landmarks.size(); ++j) {
      if (!present[j]) continue;
      left.push_back(landmarks[j]);
      index.push_back(j);
    }
    if (left.empty()) return bursts;
    const std::vector<ResolvedLandmark> known = Resolve(trace, left);
    std::vector<Shown> shown(trace.size());
    ParallelFor(trace.size(), [&](std::size_t rank) {
      bursts[rank] = FindOnRank(trace, rank, loop[rank].iterations, regions[rank], known, {}, &shown[rank]);
    });
    const auto total = [](const Shown& of_rank) {
      return std::accumulate(of_rank.begin(), of_rank.end(), 0.0,
                             [](double sum, const auto& one) { return sum + one.first; });
    };
    const auto guide = static_cast<std::size_t>(std::ranges::max_element(shown, {}, total) - shown.begin());
    bool all = true;
    for (std::size_t j = 0; j < left.size(); ++j) {
      const auto [score, ratio] = shown[guide][j];
      const bool is_there = score >= kRecognised * MostFor(left[j], has_regions) && ratio >= kLeastLength;
      if (!is_there) present[index[j]] = all = false;
    }
    if (!all) continue;
    const std::vector<std::size_t> ambiguous =
        Ambiguous(trace, guide, loop[guide].iterations, landmarks, present, bursts[guide]);
    for (const std::size_t j : ambiguous) present[j] = false;
    if (!ambiguous.empty()) continue;
    std::vector<std::vector<Tick>> times;
    const std::vector<Interval>& iterations = loop[guide].iterations;
    for (std::size_t k = 0; k < iterations.size(); ++k) {
      times.emplace_back();
      for (const std::size_t burst : bursts[guide][k]) {
        times[k].push_back(BurstAt(trace.timelines[guide], iterations[k], burst).begin.tick);
      }
    }
    ParallelFor(trace.size(), [&](std::size_t rank) {
      if (rank != guide)
        bursts[rank] = FindOnRank(trace, rank, loop[rank].iterations, regions[rank], known, times, nullptr);
    });
    return bursts;
  }
}

// A part as this run shows it.
struct PresentPart {
  std::size_t landmark = 0;  // index among those present
  bool is_behind = false;
  std::size_t part = 0;  // index in the shape
  bool is_whole = true;  // no landmark is missing in it
};

std::vector<PresentPart> PresentParts(const IterationShape& shape, const std::vector<bool>& present) {
  std::vector<PresentPart> parts;
  for (std::size_t i = 0; i < shape.parts.size(); ++i) {
    const std::size_t landmark = shape.parts[i].landmark;
    if (!present[landmark]) {
      if (!parts.empty()) parts.back().is_whole = false;  // it goes on where the missing one would begin
      continue;
    }
    const auto before = static_cast<std::size_t>(std::count(present.begin(), present.begin() + landmark, true));
    parts.push_back({before, shape.parts[i].is_behind, i, true});
  }
  const bool first_is_missing = !present[shape.parts.front().landmark];
  if (first_is_missing && !parts.empty()) parts.back().is_whole = false;
  return parts;
}

// The parts of one rank follow each other; the last part of an iteration goes on in the next one up to its first part.
std::vector<RankCut> PartsOfRank(const RankTimeline& timeline, const std::vector<Interval>& iterations,
                                 const LandmarkBursts& bursts, const std::vector<PresentPart>& parts, bool is_wrapped) {
  std::vector<std::vector<Edge>> begins(iterations.size());
  for (std::size_t k = 0; k < iterations.size(); ++k) {
    for (const PresentPart& part : parts) {
      const Interval burst = BurstAt(timeline, iterations[k], bursts[k][part.landmark]);
      begins[k].push_back(part.is_behind ? burst.end : burst.begin);
    }
    if (!is_wrapped) begins[k].front() = iterations[k].begin;
  }
  std::vector<RankCut> cuts(parts.size());
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    for (std::size_t k = 0; k < iterations.size(); ++k) {
      const bool is_last = i + 1 == cuts.size();
      if (is_last && is_wrapped && k + 1 == iterations.size()) break;
      const Edge end = !is_last ? begins[k][i + 1] : is_wrapped ? begins[k + 1].front() : iterations[k].end;
      cuts[i].iterations.push_back({begins[k][i], end});
    }
    cuts[i].present = !cuts[i].iterations.empty();
    if (cuts[i].present) cuts[i].window = {cuts[i].iterations.front().begin, cuts[i].iterations.back().end};
  }
  return cuts;
}

}  // namespace

std::vector<std::vector<RankCut>> CutParts(const Trace& trace, const std::vector<RankCut>& loop,
                                           const IterationShape& shape) {
  std::vector<std::vector<RankCut>> result(shape.parts.size());
  if (shape.parts.empty()) return result;
  const bool has_regions = std::any_of(shape.landmarks.begin(), shape.landmarks.end(),
                                       [](const Landmark& landmark) { return !landmark.region.empty(); });
  std::vector<BurstRegions> regions(trace.size());
  ParallelFor(trace.size(), [&](std::size_t rank) {
    regions[rank].resize(loop[rank].iterations.size());
    if (has_regions) regions[rank] = RegionsOfBursts(trace, rank, loop[rank].iterations);
  });
  std::vector<bool> is_there;
  const std::vector<LandmarkBursts> bursts =
      FindLandmarks(trace, loop, regions, shape.landmarks, has_regions, is_there);
  const std::vector<PresentPart> present = PresentParts(shape, is_there);
  if (present.empty()) return result;
  // Most iterations have calls before their first part: those belong to the last part of the iteration before.
  std::size_t iterations = 0, with_head = 0, most = 0;
  for (const LandmarkBursts& of_rank : bursts) {
    iterations += of_rank.size();
    most = std::max(most, of_rank.size());
    for (const std::vector<std::size_t>& of_iteration : of_rank) {
      with_head += of_iteration[present.front().landmark] > 0 || present.front().is_behind ? 1 : 0;
    }
  }
  const bool is_wrapped = most > 1 && 2 * with_head > iterations;
  std::vector<std::vector<RankCut>> cuts(trace.size());
  ParallelFor(trace.size(), [&](std::size_t rank) {
    cuts[rank] = PartsOfRank(trace.timelines[rank], loop[rank].iterations, bursts[rank], present, is_wrapped);
  });
  for (std::size_t i = 0; i < present.size(); ++i) {
    if (!present[i].is_whole) continue;
    for (std::size_t rank = 0; rank < trace.size(); ++rank) {
      result[present[i].part].push_back(std::move(cuts[rank][i]));
    }
  }
  return result;
}

Interval BurstAt(const RankTimeline& timeline, const Interval& iteration, std::size_t index) {
  const std::uint32_t call = iteration.begin.call + static_cast<std::uint32_t>(index);
  // Region events know how many calls were entered before them.
  const auto first_event_behind = [&](std::uint32_t calls) {
    return static_cast<std::uint32_t>(
        PartitionIndex(iteration.begin.event, iteration.end.event,
                       [&](std::size_t event) { return timeline.region_event(event).call < calls; }));
  };
  Interval burst = iteration;
  if (index > 0) burst.begin = {timeline.leave(call - 1), call, first_event_behind(call)};
  if (call < iteration.end.call) burst.end = {timeline.enter(call), call, first_event_behind(call + 1)};
  return burst;
}

CallSequence CallsOf(const RankTimeline& timeline, const Interval& iteration) {
  CallSequence calls;
  for (std::uint32_t call = iteration.begin.call; call < iteration.end.call; ++call) {
    calls.push_back(timeline.region(call));
  }
  return calls;
}

CallSequence TurnsOf(const RankTimeline& timeline, const Interval& iteration) {
  CallSequence turns = CallsOf(timeline, iteration);
  turns.erase(std::unique(turns.begin(), turns.end()), turns.end());
  return turns;
}

std::vector<std::vector<std::uint32_t>> RegionsOfBursts(const Trace& trace, std::size_t rank,
                                                        const std::vector<Interval>& iterations) {
  const RankTimeline& timeline = trace.timelines[rank];
  std::vector<std::uint32_t> open;  // regions of the program
  const auto apply = [&](const RankTimeline::RegionEvent& event) {
    if (!trace.regions[event.region].IsUser()) return;
    if (!event.is_leave) {
      open.push_back(event.region);
    } else if (!open.empty()) {
      open.pop_back();
    }
  };
  std::vector<std::unordered_map<std::uint32_t, Tick>> inside;  // time in regions during one burst, by depth
  const auto pass = [&](Tick from, Tick to) {
    if (to <= from) return;
    if (inside.size() < open.size()) inside.resize(open.size());
    for (std::size_t depth = 0; depth < open.size(); ++depth) inside[depth][open[depth]] += to - from;
  };
  // The deepest region with at least half of the length of a burst; forgets the burst.
  const auto take = [&](Tick length) {
    std::uint32_t found = kNoRegion;
    for (auto& depth : inside) {
      for (const auto& [region, ticks] : depth) {
        if (2 * ticks >= length && ticks > 0) found = region;
      }
      depth.clear();
    }
    return found;
  };
  std::vector<std::vector<std::uint32_t>> regions;
  std::size_t event = 0;
  for (const Interval& iteration : iterations) {
    for (; event < iteration.begin.event; ++event) apply(timeline.region_event(event));
    regions.emplace_back();
    for (std::size_t index = 0; index < CountBursts(iteration); ++index) {
      const Interval burst = BurstAt(timeline, iteration, index);
      Tick reached = burst.begin.tick;
      for (; event < burst.end.event; ++event) {
        pass(reached, timeline.event_tick(event));
        reached = std::max(reached, timeline.event_tick(event));
        apply(timeline.region_event(event));
      }
      pass(reached, burst.end.tick);
      regions.back().push_back(take(burst.length()));
    }
  }
  return regions;
}

}  // namespace farscale
