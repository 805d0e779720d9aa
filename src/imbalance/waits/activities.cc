#include "imbalance/waits/activities.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <unordered_map>

#include "base/parallel.h"
#include "base/search.h"
#include "imbalance/waits/losses.h"
#include "replay/replay.h"
#include "replay/replayed_trace.h"
#include "trace/trace_builder.h"

namespace farscale {

// Tiles the part that one rank has in a phase.
class ActivitiesBuilder {
 public:
  // At the times of a replay, where there are `times`, of which `cut` is then, too. `origin`: where the phase begins.
  ActivitiesBuilder(const Trace& trace, std::size_t rank, const NewTimes* times, const RankCut& cut, Span span,
                    Tick origin)
      : trace_(trace),
        rank_(rank),
        times_(times),
        cut_(cut),
        hides_between_(span == Span::kEach),
        origin_(origin),
        last_edge_(origin) {
    if (hides_between_ || cut.iterations.size() > 1) occurrences_ = cut.iterations;
    edges_.Append(origin);
  }

  // With paths numbered as the rank's own.
  RankActivities Tile(CallPaths& paths) {
    TileBefore(paths);
    TileWindow(paths);
    RankActivities rank;
    rank.present = true;
    rank.first_call = cut_.window.begin.call;
    rank.calls = call_activity_.size();
    rank.edges_ = edges_.Finish();
    rank.paths_ = paths_.Finish();
    rank.call_activity_ = call_activity_.Finish();
    rank.call_occurrence_ = call_occurrence_.Finish();
    rank.end_ = rank.phase_end_ = last_edge_;
    for (const Interval& iteration : cut_.iterations) {
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
  const RankTimeline& timeline() const { return trace_.timelines[rank_]; }
  Tick Enter(std::size_t call) const { return times_ != nullptr ? times_->enter[call] : timeline().enter(call); }
  Tick Leave(std::size_t call) const { return times_ != nullptr ? times_->leave[call] : timeline().leave(call); }
  RankTimeline::RegionEvent Event(std::size_t event) const {
    RankTimeline::RegionEvent at = timeline().region_event(event);
    if (times_ != nullptr) at.tick = times_->events[event];
    return at;
  }

  // Opens the regions around the begin of the window. From when the phase begins on the first rank until then, what the
  // rank does is in the same regions below "before the phase"; its calls there wait for nobody in the phase.
  void TileBefore(CallPaths& paths) {
    const Edge& begin = cut_.window.begin;
    std::vector<PathId> before;
    const auto current = [&] { return before.empty() ? kBeforePhase : before.back(); };
    std::size_t event = 0;
    const auto take_events = [&](std::size_t last_call) {
      for (; event < begin.event && Event(event).call <= last_call; ++event) {
        const RankTimeline::RegionEvent next = Event(event);
        CloseAt(std::min(next.tick, begin.tick), current());
        FollowEvent(next, kOutsideRegions, paths, stack_);
        FollowEvent(next, kBeforePhase, paths, before);
      }
    };
    const std::size_t first =
        PartitionIndex(0, timeline().calls(), [&](std::size_t call) { return Leave(call) <= origin_; });
    for (std::size_t call = first; call < begin.call; ++call) {
      take_events(call);
      CloseAt(std::min(Enter(call), begin.tick), current());
      CloseAt(std::min(Leave(call), begin.tick), paths.Child(current(), timeline().region(call)));
    }
    take_events(std::numeric_limits<std::size_t>::max());
    CloseAt(begin.tick, current());
  }

  void TileWindow(CallPaths& paths) {
    const Interval& window = cut_.window;
    std::size_t event = window.begin.event;
    const auto take_event = [&] {
      const RankTimeline::RegionEvent next = Event(event++);
      ComputeUntil(next.tick);
      FollowEvent(next, kOutsideRegions, paths, stack_);
    };
    for (std::size_t call = window.begin.call; call < window.end.call; ++call) {
      while (event < window.end.event && Event(event).call <= call) take_event();
      const std::uint32_t region = timeline().region(call);
      const std::uint32_t occurrence = Occurrence(call);
      Tick begin = std::max(Enter(call), window.begin.tick);
      // Threads are idle from one occurrence into the next, until a fork in it: the time before does not count.
      if (hides_between_ && occurrence != kNoCall) begin = std::max(begin, occurrences_[occurrence].begin.tick);
      ComputeUntil(begin);
      if (trace_.regions[region].call == MpiCall::kFinalize) return;
      const bool is_hidden = hides_between_ && occurrence == kNoCall;
      call_activity_.Append(static_cast<std::int64_t>(paths_.size()));
      call_occurrence_.Append(occurrence == kNoCall ? 0 : static_cast<std::int64_t>(occurrence) + 1);
      Add(is_hidden ? kBetweenOccurrences : paths.Child(Current(), region),
          std::max(std::min(Leave(call), window.end.tick), last_edge_));
    }
    while (event < window.end.event) take_event();
    ComputeUntil(window.end.tick);
  }

  PathId Current() const { return stack_.empty() ? kOutsideRegions : stack_.back(); }

  static void FollowEvent(const RankTimeline::RegionEvent& event, PathId outermost, CallPaths& paths,
                          std::vector<PathId>& stack) {
    if (!event.is_leave) {
      stack.push_back(paths.Child(stack.empty() ? outermost : stack.back(), event.region));
    } else if (!stack.empty()) {
      stack.pop_back();
    }
  }

  void Add(PathId path, Tick end) {
    paths_.Append(path);
    edges_.Append(last_edge_ = end);
  }

  void CloseAt(Tick tick, PathId path) {
    if (tick > last_edge_) Add(path, tick);
  }

  // Up to `tick`, in the current path; edges of occurrences part it where the time between them is not counted.
  void ComputeUntil(Tick tick) {
    if (!hides_between_) return CloseAt(tick, Current());
    for (; occurrence_ < occurrences_.size(); ++occurrence_) {
      const Interval& next = occurrences_[occurrence_];
      CloseAt(std::min(tick, next.begin.tick), kBetweenOccurrences);
      CloseAt(std::min(tick, next.end.tick), Current());
      if (tick <= next.end.tick) return;
    }
    CloseAt(tick, kBetweenOccurrences);
  }

  // Calls come in order, so the occurrence is found by going on.
  std::uint32_t Occurrence(std::size_t call) {
    if (occurrences_.empty() && !hides_between_) return 0;
    std::size_t& at = call_occurrence_at_;
    while (at < occurrences_.size() && occurrences_[at].end.call <= call) ++at;
    if (at < occurrences_.size() && occurrences_[at].begin.call <= call) return static_cast<std::uint32_t>(at);
    return hides_between_ ? kNoCall : static_cast<std::uint32_t>(std::min(at, occurrences_.size() - 1));
  }

  const Trace& trace_;
  const std::size_t rank_;
  const NewTimes* const times_;
  const RankCut& cut_;
  std::span<const Interval> occurrences_;  // or iterations, if there are several
  const bool hides_between_;
  const Tick origin_;
  PackedColumnBuilder edges_, paths_, call_activity_, call_occurrence_;
  Tick last_edge_;
  std::size_t occurrence_ = 0, call_occurrence_at_ = 0;
  std::vector<PathId> stack_;
};

std::size_t RankActivities::IterationOf(std::size_t activity) const {
  const auto behind = std::upper_bound(iteration_begin.begin(), iteration_begin.end(), activity);
  return behind == iteration_begin.begin() ? 0 : static_cast<std::size_t>(behind - iteration_begin.begin()) - 1;
}

Activities CollectActivities(const Trace& trace, const PhaseCut& cut, std::optional<ReplayResult> replayed) {
  const Tick begin = cut.begin();
  Activities activities{CallPaths(trace), std::vector<RankActivities>(trace.size()), begin, begin};
  std::vector<CallPaths> own(trace.size(), activities.paths);  // with numbers of each rank
  ParallelFor(trace.size(), [&](std::size_t rank) {
    if (!cut.ranks[rank].present) return;
    const auto tile = [&](const NewTimes* times, const RankCut& moved) {
      activities.ranks[rank] = ActivitiesBuilder(trace, rank, times, moved, cut.span, begin).Tile(own[rank]);
    };
    if (!replayed) return tile(nullptr, cut.ranks[rank]);
    const auto [times, moved] = ReplayedPart(trace, cut, begin, *replayed, rank);
    replayed->leave[rank] = {};
    tile(&times, moved);
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
