#include "imbalance/activities.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/parallel.h"
#include "base/search.h"

namespace farscale {
namespace {

const std::string kSpecialNames[kSpecialPaths] = {"(outside regions)", "(before the phase)", "(between occurrences)",
                                                  "(after the phase)"};
constexpr std::string_view kSeparator = " / ";

class Tiler {
 public:
  Tiler(const Trace& trace, const RankTimeline& timeline, const PhaseCut& cut, const RankCut& rank, CallPaths& paths,
        RankActivities& result)
      : trace_(trace), timeline_(timeline), rank_(rank), paths_(paths), result_(result) {
    if (cut.span == Span::kEach || rank.iterations.size() > 1) occurrences_ = &rank.iterations;
    hides_between_ = cut.span == Span::kEach;
  }

  void Run(Tick origin) {
    const Interval& window = rank_.window;
    result_.present = true;
    result_.first_call = window.begin.call;
    result_.call_activity.reserve(window.end.call - window.begin.call);
    result_.call_occurrence.reserve(window.end.call - window.begin.call);
    result_.edges.push_back(origin);
    TileBefore();
    std::size_t event = window.begin.event;
    for (std::size_t call = window.begin.call; call < window.end.call; ++call) {
      for (; event < window.end.event && timeline_.region_event(event).call <= call; ++event) TakeEvent(event);
      const std::uint32_t region = timeline_.region(call);
      ComputeUntil(std::max({timeline_.enter(call), window.begin.tick, BeginOfOccurrence(call)}));
      if (trace_.regions[region].call == MpiCall::kFinalize) {
        result_.calls = call - window.begin.call;
        return;
      }
      TakeCall(call, region, std::min(timeline_.leave(call), window.end.tick));
    }
    for (; event < window.end.event; ++event) TakeEvent(event);
    ComputeUntil(window.end.tick);
    result_.calls = window.end.call - window.begin.call;
  }

 private:
  // Opens the regions around the begin of the window. From when the phase begins on the first rank until then, what the
  // rank does is in the same regions below "before the phase"; its calls there wait for nobody in the phase.
  void TileBefore() {
    const Edge& begin = rank_.window.begin;
    std::vector<PathId> before;
    const auto current = [&] { return before.empty() ? kBeforePhase : before.back(); };
    std::size_t event = 0;
    const auto take_events = [&](std::size_t last_call) {
      for (; event < begin.event && timeline_.region_event(event).call <= last_call; ++event) {
        const RankTimeline::RegionEvent next = timeline_.region_event(event);
        CloseAt(std::min(next.tick, begin.tick), current());
        Apply(next);
        if (!next.is_leave) {
          before.push_back(paths_.Child(current(), next.region));
        } else if (!before.empty()) {
          before.pop_back();
        }
      }
    };
    for (std::size_t call = FirstCallBehind(result_.edges.front()); call < begin.call; ++call) {
      take_events(call);
      CloseAt(std::min(timeline_.enter(call), begin.tick), current());
      CloseAt(std::min(timeline_.leave(call), begin.tick), paths_.Child(current(), timeline_.region(call)));
    }
    take_events(std::numeric_limits<std::size_t>::max());
    CloseAt(begin.tick, current());
  }

  std::size_t FirstCallBehind(Tick tick) const {
    return PartitionIndex(0, timeline_.calls(), [&](std::size_t call) { return timeline_.leave(call) <= tick; });
  }

  void TakeEvent(std::size_t index) {
    const RankTimeline::RegionEvent event = timeline_.region_event(index);
    ComputeUntil(event.tick);
    Apply(event);
  }

  void Apply(const RankTimeline::RegionEvent& event) {
    if (!event.is_leave) {
      stack_.push_back(paths_.Child(Current(), event.region));
    } else if (!stack_.empty()) {
      stack_.pop_back();
    }
  }

  PathId Current() const { return stack_.empty() ? kOutsideRegions : stack_.back(); }

  // Up to `tick`, in the current path; edges of occurrences part it where the time between them is not counted.
  void ComputeUntil(Tick tick) {
    if (!hides_between_) return CloseAt(tick, Current());
    while (occurrence_ < occurrences_->size()) {
      const Interval& next = (*occurrences_)[occurrence_];
      CloseAt(std::min(tick, next.begin.tick), kBetweenOccurrences);
      CloseAt(std::min(tick, next.end.tick), Current());
      if (tick <= next.end.tick) return;
      ++occurrence_;
    }
    CloseAt(tick, kBetweenOccurrences);
  }

  void CloseAt(Tick tick, PathId path) {
    if (tick <= result_.edges.back()) return;
    result_.edges.push_back(tick);
    result_.path.push_back(path);
  }

  // Threads are idle from one occurrence into the next, until a fork in it: what lies before does not count.
  Tick BeginOfOccurrence(std::size_t call) {
    const std::uint32_t occurrence = hides_between_ ? OccurrenceOf(call) : kNoCall;
    return occurrence == kNoCall ? rank_.window.begin.tick : (*occurrences_)[occurrence].begin.tick;
  }

  void TakeCall(std::size_t call, std::uint32_t region, Tick leave) {
    const std::uint32_t occurrence = OccurrenceOf(call);
    const bool is_hidden = hides_between_ && occurrence == kNoCall;
    result_.call_activity.push_back(static_cast<std::uint32_t>(result_.path.size()));
    result_.call_occurrence.push_back(occurrence);
    result_.path.push_back(is_hidden ? kBetweenOccurrences : paths_.Child(Current(), region));
    result_.edges.push_back(std::max(leave, result_.edges.back()));
  }

  // Calls come in order, so the occurrence is found by going on.
  std::uint32_t OccurrenceOf(std::size_t call) {
    if (occurrences_ == nullptr) return 0;
    while (call_occurrence_ < occurrences_->size() && (*occurrences_)[call_occurrence_].end.call <= call) {
      ++call_occurrence_;
    }
    if (call_occurrence_ == occurrences_->size() || (*occurrences_)[call_occurrence_].begin.call > call) {
      return hides_between_ ? kNoCall
                            : static_cast<std::uint32_t>(std::min(call_occurrence_, occurrences_->size() - 1));
    }
    return static_cast<std::uint32_t>(call_occurrence_);
  }

  const Trace& trace_;
  const RankTimeline& timeline_;
  const RankCut& rank_;
  CallPaths& paths_;
  RankActivities& result_;
  const std::vector<Interval>* occurrences_ = nullptr;
  bool hides_between_ = false;
  std::size_t occurrence_ = 0, call_occurrence_ = 0;
  std::vector<PathId> stack_;
};

void NoteIterations(const RankCut& cut, RankActivities& rank) {
  for (const Interval& iteration : cut.iterations) {
    const auto edge = std::lower_bound(rank.edges.begin(), rank.edges.end(), iteration.begin.tick);
    rank.iteration_begin.push_back(static_cast<std::uint32_t>(edge - rank.edges.begin()));
  }
}

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
  const bool is_mpi = trace_->regions[named].is_mpi;
  if (depth > kDeepestPath && !is_mpi) return parent;
  const auto child = static_cast<PathId>(nodes_.size());
  children.emplace_back(named, child);
  nodes_.push_back({parent, named, depth, is_mpi, is_before_phase(parent), {}});
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

std::size_t RankActivities::IterationOf(std::size_t activity) const {
  const auto behind = std::upper_bound(iteration_begin.begin(), iteration_begin.end(), activity);
  return behind == iteration_begin.begin() ? 0 : static_cast<std::size_t>(behind - iteration_begin.begin()) - 1;
}

Activities CollectActivities(const Trace& trace, const PhaseCut& cut) {
  Activities activities{CallPaths(trace), std::vector<RankActivities>(trace.size()), cut.begin(), cut.begin()};
  std::vector<CallPaths> own(trace.size(), activities.paths);
  ParallelFor(trace.size(), [&](std::size_t rank) {
    if (!cut.ranks[rank].present) return;
    Tiler(trace, trace.timelines[rank], cut, cut.ranks[rank], own[rank], activities.ranks[rank]).Run(activities.begin);
    NoteIterations(cut.ranks[rank], activities.ranks[rank]);
  });
  std::vector<std::vector<PathId>> numbers;
  numbers.reserve(trace.size());
  for (const CallPaths& paths : own) numbers.push_back(paths.MergeInto(activities.paths));
  ParallelFor(trace.size(), [&](std::size_t rank) {
    for (PathId& path : activities.ranks[rank].path) path = numbers[rank][path];
  });
  for (const RankActivities& rank : activities.ranks) {
    if (rank.present) activities.end = std::max(activities.end, rank.edges.back());
  }
  for (RankActivities& rank : activities.ranks) {
    if (!rank.present) continue;
    rank.call_activity.push_back(static_cast<std::uint32_t>(rank.path.size()));
    // Of a phase that recurs, the end is that of its last occurrence, and nothing of the phase.
    const bool counts = cut.span != Span::kEach;
    rank.call_occurrence.push_back(!counts ? kNoCall : rank.call_occurrence.empty() ? 0 : rank.call_occurrence.back());
    rank.path.push_back(kAfterPhase);
    rank.edges.push_back(activities.end);
  }
  return activities;
}

}  // namespace farscale
