#include "imbalance/waits/activities.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <unordered_map>

#include "base/parallel.h"
#include "base/search.h"
#include "imbalance/waits/losses.h"
#include "replay/replayed_trace.h"
#include "trace/trace_builder.h"

namespace farscale {

// The columns of one rank while they grow.
class ActivitiesBuilder {
 public:
  explicit ActivitiesBuilder(Tick origin) : last_edge_(origin) { edges_.Append(origin); }

  Tick last_edge() const { return last_edge_; }

  void Add(PathId path, Tick end) {
    paths_.Append(path);
    edges_.Append(last_edge_ = end);
  }
  void AddCall(PathId path, Tick end, std::uint32_t occurrence) {
    call_activity_.Append(static_cast<std::int64_t>(paths_.size()));
    call_occurrence_.Append(occurrence == kNoCall ? 0 : static_cast<std::int64_t>(occurrence) + 1);
    Add(path, end);
  }

  // For a rank with these iterations or occurrences, and paths numbered as its own.
  RankActivities Finish(const RankCut& cut) {
    RankActivities rank;
    rank.present = true;
    rank.first_call = cut.window.begin.call;
    rank.calls = call_activity_.size();
    rank.edges_ = edges_.Finish();
    rank.paths_ = paths_.Finish();
    rank.call_activity_ = call_activity_.Finish();
    rank.call_occurrence_ = call_occurrence_.Finish();
    rank.end_ = rank.phase_end_ = last_edge_;
    for (const Interval& iteration : cut.iterations) {
      const std::size_t edge =
          PartitionIndex(0, rank.edges_.size(), [&](std::size_t i) { return rank.edges_[i] < iteration.begin.tick; });
      rank.iteration_begin.push_back(static_cast<std::uint32_t>(edge));
    }
    return rank;
  }

  static void SetPaths(std::vector<PathId> numbers, RankActivities& rank) { rank.path_of_ = std::move(numbers); }

  // `counts`: the end of the phase, as its last iteration does.
  static void SetEnd(Tick end, bool counts, RankActivities& rank) {
    rank.phase_end_ = end;
    rank.end_occurrence_ = !counts ? kNoCall : rank.calls == 0 ? 0 : rank.occurrence(rank.calls - 1);
  }

 private:
  PackedColumnBuilder edges_, paths_, call_activity_, call_occurrence_;
  Tick last_edge_;
};

namespace {

// The calls and region events of a timeline; at the times of a replay, where there are `times`.
struct RankTimes {
  const RankTimeline& timeline;
  const NewTimes* times = nullptr;

  Tick enter(std::size_t call) const { return times != nullptr ? times->enter[call] : timeline.enter(call); }
  Tick leave(std::size_t call) const { return times != nullptr ? times->leave[call] : timeline.leave(call); }
  RankTimeline::RegionEvent region_event(std::size_t event) const {
    RankTimeline::RegionEvent at = timeline.region_event(event);
    if (times != nullptr) at.tick = times->events[event];
    return at;
  }
};

// The activities of a rank as far as they are tiled.
struct Tiling {
  ActivitiesBuilder result;
  std::span<const Interval> occurrences{};  // or iterations, if there are several
  bool hides_between = false;
  std::size_t occurrence = 0, call_occurrence = 0;
  std::vector<PathId> stack{};
};

PathId CurrentPath(const Tiling& tiling) { return tiling.stack.empty() ? kOutsideRegions : tiling.stack.back(); }

void FollowEvent(CallPaths& paths, Tiling& tiling, const RankTimeline::RegionEvent& event) {
  if (!event.is_leave) {
    tiling.stack.push_back(paths.Child(CurrentPath(tiling), event.region));
  } else if (!tiling.stack.empty()) {
    tiling.stack.pop_back();
  }
}

void CloseAt(Tiling& tiling, Tick tick, PathId path) {
  if (tick > tiling.result.last_edge()) tiling.result.Add(path, tick);
}

// Up to `tick`, in the current path; edges of occurrences part it where the time between them is not counted.
void ComputeUntil(Tiling& tiling, Tick tick) {
  if (!tiling.hides_between) return CloseAt(tiling, tick, CurrentPath(tiling));
  while (tiling.occurrence < tiling.occurrences.size()) {
    const Interval& next = tiling.occurrences[tiling.occurrence];
    CloseAt(tiling, std::min(tick, next.begin.tick), kBetweenOccurrences);
    CloseAt(tiling, std::min(tick, next.end.tick), CurrentPath(tiling));
    if (tick <= next.end.tick) return;
    ++tiling.occurrence;
  }
  CloseAt(tiling, tick, kBetweenOccurrences);
}

void TakeEvent(const RankTimes& at, CallPaths& paths, Tiling& tiling, std::size_t index) {
  const RankTimeline::RegionEvent event = at.region_event(index);
  ComputeUntil(tiling, event.tick);
  FollowEvent(paths, tiling, event);
}

// Calls come in order, so the occurrence is found by going on.
std::uint32_t Occurrence(Tiling& tiling, std::size_t call) {
  if (tiling.occurrences.empty() && !tiling.hides_between) return 0;
  while (tiling.call_occurrence < tiling.occurrences.size() &&
         tiling.occurrences[tiling.call_occurrence].end.call <= call) {
    ++tiling.call_occurrence;
  }
  if (tiling.call_occurrence == tiling.occurrences.size() ||
      tiling.occurrences[tiling.call_occurrence].begin.call > call) {
    return tiling.hides_between
               ? kNoCall
               : static_cast<std::uint32_t>(std::min(tiling.call_occurrence, tiling.occurrences.size() - 1));
  }
  return static_cast<std::uint32_t>(tiling.call_occurrence);
}

void TileWindow(const Trace& trace, const RankTimes& at, const RankCut& rank, CallPaths& paths, Tiling& tiling) {
  const Interval& window = rank.window;
  std::size_t event = window.begin.event;
  for (std::size_t call = window.begin.call; call < window.end.call; ++call) {
    for (; event < window.end.event && at.region_event(event).call <= call; ++event)
      TakeEvent(at, paths, tiling, event);
    const std::uint32_t region = at.timeline.region(call);
    const std::uint32_t occurrence = Occurrence(tiling, call);
    Tick begin = std::max(at.enter(call), window.begin.tick);
    // Threads are idle from one occurrence into the next, until a fork in it: the time before does not count.
    if (tiling.hides_between && occurrence != kNoCall)
      begin = std::max(begin, tiling.occurrences[occurrence].begin.tick);
    ComputeUntil(tiling, begin);
    if (trace.regions[region].call == MpiCall::kFinalize) return;
    const bool is_hidden = tiling.hides_between && occurrence == kNoCall;
    tiling.result.AddCall(is_hidden ? kBetweenOccurrences : paths.Child(CurrentPath(tiling), region),
                          std::max(std::min(at.leave(call), window.end.tick), tiling.result.last_edge()), occurrence);
  }
  for (; event < window.end.event; ++event) TakeEvent(at, paths, tiling, event);
  ComputeUntil(tiling, window.end.tick);
}

// Opens the regions around the begin of the window. From when the phase begins on the first rank until then, what the
// rank does is in the same regions below "before the phase"; its calls there wait for nobody in the phase.
void TileBefore(const RankTimes& at, const RankCut& rank, CallPaths& paths, Tick origin, Tiling& tiling) {
  const Edge& begin = rank.window.begin;
  std::vector<PathId> before;
  const auto current = [&] { return before.empty() ? kBeforePhase : before.back(); };
  std::size_t event = 0;
  const auto take_events = [&](std::size_t last_call) {
    for (; event < begin.event && at.region_event(event).call <= last_call; ++event) {
      const RankTimeline::RegionEvent next = at.region_event(event);
      CloseAt(tiling, std::min(next.tick, begin.tick), current());
      FollowEvent(paths, tiling, next);
      if (!next.is_leave) {
        before.push_back(paths.Child(current(), next.region));
      } else if (!before.empty()) {
        before.pop_back();
      }
    }
  };
  const std::size_t first =
      PartitionIndex(0, at.timeline.calls(), [&](std::size_t call) { return at.leave(call) <= origin; });
  for (std::size_t call = first; call < begin.call; ++call) {
    take_events(call);
    CloseAt(tiling, std::min(at.enter(call), begin.tick), current());
    CloseAt(tiling, std::min(at.leave(call), begin.tick), paths.Child(current(), at.timeline.region(call)));
  }
  take_events(std::numeric_limits<std::size_t>::max());
  CloseAt(tiling, begin.tick, current());
}

RankActivities TileRank(const Trace& trace, const RankTimes& at, Span span, const RankCut& rank, Tick origin,
                        CallPaths& paths) {
  Tiling tiling{ActivitiesBuilder(origin)};
  if (span == Span::kEach || rank.iterations.size() > 1) tiling.occurrences = rank.iterations;
  tiling.hides_between = span == Span::kEach;
  TileBefore(at, rank, paths, origin, tiling);
  TileWindow(trace, at, rank, paths, tiling);
  return tiling.result.Finish(rank);
}

}  // namespace

std::size_t RankActivities::IterationOf(std::size_t activity) const {
  const auto behind = std::upper_bound(iteration_begin.begin(), iteration_begin.end(), activity);
  return behind == iteration_begin.begin() ? 0 : static_cast<std::size_t>(behind - iteration_begin.begin()) - 1;
}

Activities CollectActivities(const Trace& trace, const PhaseCut& cut, std::optional<ReplayResult> replayed) {
  const Tick begin = cut.begin();
  Activities activities{CallPaths(trace), std::vector<RankActivities>(trace.size()), begin, begin};
  std::vector<CallPaths> own(trace.size(), activities.paths);  // with numbers of each rank
  ParallelFor(trace.size(), [&](std::size_t rank) {
    const RankTimeline& timeline = trace.timelines[rank];
    if (!cut.ranks[rank].present) return;
    if (!replayed) {
      activities.ranks[rank] = TileRank(trace, {timeline}, cut.span, cut.ranks[rank], begin, own[rank]);
      return;
    }
    const auto [times, moved] = ReplayedPart(trace, cut, begin, *replayed, rank);
    replayed->leave[rank] = {};
    activities.ranks[rank] = TileRank(trace, {timeline, &times}, cut.span, moved, begin, own[rank]);
  });
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    std::vector<PathId> numbers = own[rank].MergeInto(activities.paths);
    RankActivities& of_rank = activities.ranks[rank];
    if (!of_rank.present) continue;
    ActivitiesBuilder::SetPaths(std::move(numbers), of_rank);
    activities.end = std::max(activities.end, of_rank.end());
  }
  // If a phase recurs, the end is that of its last occurrence, and nothing of the phase.
  const bool counts = cut.span != Span::kEach;
  for (RankActivities& rank : activities.ranks) {
    if (rank.present) ActivitiesBuilder::SetEnd(activities.end, counts, rank);
  }
  return activities;
}

namespace {

const std::string kSpecialNames[kSpecialPaths] = {"(outside regions)", "(before the phase)", "(between occurrences)",
                                                  "(after the phase)"};
constexpr std::string_view kSeparator = " / ";

}  // namespace

bool LiesOutsidePhase(const std::string& name) {
  return std::any_of(std::begin(kSpecialNames) + kBeforePhase, std::end(kSpecialNames),
                     [&](const std::string& special) { return name.starts_with(special); });
}

CallPaths::CallPaths(const Trace& trace) : trace_(&trace), nodes_(kSpecialPaths) {
  std::unordered_map<std::string_view, std::uint32_t> first;
  std::vector<std::uint32_t> named;
  named.reserve(trace.regions.size());
  for (std::uint32_t region = 0; region < trace.regions.size(); ++region) {
    named.push_back(first.emplace(trace.regions[region].name, region).first->second);
  }
  first_of_name_ = std::make_shared<const std::vector<std::uint32_t>>(std::move(named));
}

PathId CallPaths::Child(PathId parent, std::uint32_t region) {
  const std::uint32_t named = (*first_of_name_)[region];
  std::vector<std::pair<std::uint32_t, PathId>>& children = nodes_[parent].children;
  for (std::size_t i = 0; i < children.size(); ++i) {
    if (children[i].first != named) continue;
    const PathId child = children[i].second;
    if (i > 0) std::swap(children[i], children[i - 1]);
    return child;
  }
  const std::uint32_t depth = nodes_[parent].depth + 1;
  const Region& innermost = trace_->regions[named];
  if (depth > kDeepestPath && !innermost.is_mpi) return parent;
  const auto child = static_cast<PathId>(nodes_.size());
  children.emplace_back(named, child);
  nodes_.push_back({parent, named, depth, innermost.is_mpi, innermost.is_device_runtime, is_before_phase(parent), {}});
  return child;
}

const std::string& CallPaths::region_name(PathId path) const {
  return path < kSpecialPaths ? kSpecialNames[path] : trace_->regions[nodes_[path].region].name;
}

std::string CallPaths::Name(PathId path) const {
  if (path < kSpecialPaths) return kSpecialNames[path];
  std::vector<PathId> stack;
  for (; path >= kSpecialPaths; path = nodes_[path].parent) stack.push_back(path);
  std::string name = path == kOutsideRegions ? "" : kSpecialNames[path];
  for (auto at = stack.rbegin(); at != stack.rend(); ++at) {
    if (!name.empty()) name += kSeparator;
    name += region_name(*at);
  }
  return name;
}

std::string CallPaths::InnermostName(PathId path) const {
  const bool is_inside = is_mpi(path) && parent(path) != kOutsideRegions;
  if (!is_inside) return region_name(path);
  return fmt::format("{}{}{}", region_name(parent(path)), kSeparator, region_name(path));
}

std::vector<PathId> CallPaths::MergeInto(CallPaths& all) const {
  std::vector<PathId> merged(nodes_.size());
  for (PathId path = 0; path < nodes_.size(); ++path) {
    // Parents come before their children.
    merged[path] = path < kSpecialPaths ? path : all.Child(merged[nodes_[path].parent], nodes_[path].region);
  }
  return merged;
}

}  // namespace farscale
