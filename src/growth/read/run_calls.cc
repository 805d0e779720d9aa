#include "growth/read/run_calls.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <map>

#include "base/diagnostics.h"
#include "base/parallel.h"
#include "replay/computation.h"

namespace farscale {
namespace {

// The records that say with whom, and of how many bytes, the operations are: of sends the posts, of others the
// completions. By class, in the order of the posts.
std::array<std::vector<std::optional<RankTimeline::Record>>, 3> TargetsByPost(const RankTimeline& timeline) {
  std::array<std::vector<std::optional<RankTimeline::Record>>, 3> targets;
  Posts posts;
  for (std::size_t record = 0; record < timeline.records(); ++record) {
    const OperationPart part = posts.Next(timeline, record);
    auto& of = targets[static_cast<std::size_t>(part.type)];
    if (of.size() <= part.ordinal) of.resize(part.ordinal + 1);
    const bool says = part.type == OperationClass::kSend ? part.posts : part.completes;
    if (says) of[part.ordinal] = timeline.record(record);
  }
  return targets;
}

CallPart PartFor(const RankTimeline& timeline, const RankTimeline::Record& record, const OperationPart& part,
                 const std::optional<RankTimeline::Record>& known) {
  CallPart result{.kind = record.kind, .back = part.posts ? 0 : record.back};
  if (!known) return result;
  result.bytes = known->bytes;
  result.received = known->received;
  if (part.IsCollective()) {
    const CollectiveType& type = timeline.collective_types()[known->target];
    result.collective = type.kind;
    result.communicator = type.communicator;
    result.peer = type.root;
  } else {
    const Endpoint& endpoint = timeline.endpoints()[known->target];
    result.peer = endpoint.peer;
    result.communicator = endpoint.communicator;
    result.tag = endpoint.tag;
  }
  return result;
}

// Follows the operations that are posted and not yet completed through a call; true if it completes all of them and
// does nothing else. `open`: their numbers, by class.
bool CompletesAll(const std::vector<OperationPart>& parts, std::array<std::vector<std::size_t>, 3>& open) {
  bool all = !parts.empty();
  for (const OperationPart& part : parts) {
    auto& of_class = open[static_cast<std::size_t>(part.type)];
    if (part.posts && !part.completes) of_class.push_back(part.ordinal);
    if (!part.posts) std::erase(of_class, part.ordinal);
    all = all && !part.posts && part.completes;
  }
  return all && std::ranges::all_of(open, [](const auto& of_class) { return of_class.empty(); });
}

RankCalls ReadRank(const Trace& trace, std::size_t rank, const RankCut& cut, const std::vector<std::uint32_t>& names) {
  const RankTimeline& timeline = trace.timelines[rank];
  const auto targets = TargetsByPost(timeline);
  RankCalls result;
  // The user regions of the rank from its first event on; steps note where they change within iterations.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> children;  // paths by the one around and the region
  std::uint32_t event = 0, path = 0;
  const auto follow = [&] {
    const RankTimeline::RegionEvent at = timeline.region_event(event++);
    if (at.is_leave) {
      path = result.paths[path].first;
      return at.tick;
    }
    const auto [child, is_new] =
        children.try_emplace({path, at.region}, static_cast<std::uint32_t>(result.paths.size()));
    if (is_new) result.paths.push_back({path, at.region});
    path = child->second;
    return at.tick;
  };
  // Notes the steps before an event or a call, whichever comes first, as far behind `left`, where the last call was
  // left, as there is computation.
  const auto add_steps = [&](std::uint32_t end_event, std::uint32_t call, Tick left, Tick compute) {
    while (event < end_event && timeline.region_event(event).call <= call) {
      const Tick tick = follow();
      result.steps.push_back({std::clamp<Tick>(tick - left, 0, compute), path});
    }
  };
  Posts posts;
  std::array<std::vector<std::size_t>, 3> pending;
  std::vector<OperationPart> of_call;
  std::size_t before = 0;
  for (const Interval& iteration : cut.iterations) {
    const std::size_t first = timeline.first_record(iteration.begin.call);
    for (; before < first; ++before) posts.Next(timeline, before);
    Tick left = iteration.begin.tick;
    while (event < iteration.begin.event) follow();
    result.steps.push_back({0, path});
    for (std::uint32_t call = iteration.begin.call; call < iteration.end.call; ++call) {
      const std::size_t end = timeline.first_record(call + 1);
      of_call.clear();
      for (; before < end; ++before) {
        const OperationPart& part = of_call.emplace_back(posts.Next(timeline, before));
        const auto& of = targets[static_cast<std::size_t>(part.type)];
        result.parts.push_back(PartFor(timeline, timeline.record(before), part, of[part.ordinal]));
      }
      const Tick compute = std::max<Tick>(0, timeline.enter(call) - left);
      result.calls.push_back({names[timeline.region(call)], static_cast<std::uint32_t>(result.parts.size()), compute});
      result.calls.back().completes_all = CompletesAll(of_call, pending);
      add_steps(iteration.end.event, call, left, compute);
      result.calls.back().steps_end = static_cast<std::uint32_t>(result.steps.size());
      left = std::max(left, timeline.leave(call));
    }
    result.iteration_end.push_back(static_cast<std::uint32_t>(result.calls.size()));
    const Tick after = std::max<Tick>(0, iteration.end.tick - left);
    add_steps(iteration.end.event, std::numeric_limits<std::uint32_t>::max(), left, after);
    result.compute_after.push_back(after);
    result.steps_after.push_back(static_cast<std::uint32_t>(result.steps.size()));
  }
  return result;
}

}  // namespace

RunCalls ReadRunCalls(const Trace& trace, const PhaseCut& cut, std::vector<std::string>& functions) {
  RunCalls run{.ranks = static_cast<std::int64_t>(trace.size()),
               .ticks_per_second = trace.ticks_per_second,
               .communicators = trace.communicators};
  std::map<std::string, std::uint32_t> numbers;
  for (const std::string& name : functions) numbers.emplace(name, numbers.size());
  std::vector<std::uint32_t> names;
  for (const Region& region : trace.regions) {
    const auto [found, is_new] = numbers.try_emplace(region.name, static_cast<std::uint32_t>(numbers.size()));
    if (is_new) functions.push_back(region.name);
    names.push_back(found->second);
    run.regions.push_back(region.name);
  }
  for (const Rank& rank : trace.ranks) run.nodes.push_back(rank.node);
  // Topologies in which ranks stand in rising order, as MPI_Cart_create puts them unless it may reorder: as layouts,
  // the first dimension of which changes fastest, and so the other way around.
  for (const CartesianTopology& topology : trace.topologies) {
    const std::vector<std::int32_t>& members = trace.communicators[topology.communicator].members;
    bool is_rising = members.size() == trace.size() && topology.places.size() == trace.size();
    for (std::size_t i = 0; is_rising && i < trace.size(); ++i)
      is_rising = members[i] == static_cast<std::int32_t>(i) && topology.places[i] == i;
    const std::vector<std::int64_t> extents(topology.extents.rbegin(), topology.extents.rend());
    const std::optional<RankGrid> grid = is_rising ? GridWith(extents) : std::nullopt;
    if (grid && grid->size() == run.ranks) run.recorded.push_back(*grid);
  }
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    const RankCut& of = cut.ranks[rank];
    if (!of.present || of.iterations.size() != cut.ranks.front().iterations.size()) {
      throw Error(
          ErrorKind::kNotEnoughData, trace.path,
          fmt::format("rank {} has {} iterations of phase '{}' and rank 0 has {}", rank,
                      of.present ? of.iterations.size() : 0, cut.spec.name, cut.ranks.front().iterations.size()),
          "a run is grown from phases that all ranks go through together");
    }
  }
  run.of_ranks.resize(trace.size());
  ParallelFor(trace.size(),
              [&](std::size_t rank) { run.of_ranks[rank] = ReadRank(trace, rank, cut.ranks[rank], names); });
  return run;
}

namespace {

// Average number of calls of every function by a rank in an iteration.
std::vector<double> CallProfile(const RunCalls& run, std::size_t iteration) {
  std::vector<double> profile;
  for (const RankCalls& calls : run.of_ranks) {
    for (std::uint32_t call = calls.FirstCall(iteration); call < calls.iteration_end[iteration]; ++call) {
      const std::uint32_t function = calls.calls[call].function;
      if (function >= profile.size()) profile.resize(function + 1, 0);
      profile[function] += 1.0 / static_cast<double>(run.ranks);
    }
  }
  return profile;
}

double Distance(std::vector<double> a, std::vector<double> b) {
  const std::size_t size = std::max(a.size(), b.size());
  a.resize(size, 0);
  b.resize(size, 0);
  double distance = 0;
  for (std::size_t i = 0; i < size; ++i) distance += std::abs(a[i] - b[i]) / std::max({a[i], b[i], 1e-9});
  return distance;
}

bool MakesSameCalls(const RankCalls& calls, std::size_t a, std::size_t b, bool exactly) {
  const std::uint32_t first_a = calls.FirstCall(a), first_b = calls.FirstCall(b);
  const std::uint32_t count = calls.iteration_end[a] - first_a;
  if (calls.iteration_end[b] - first_b != count) return false;
  const auto is_same = [](const CallPart& x, const CallPart& y) {
    return x.kind == y.kind && x.collective == y.collective && x.peer == y.peer && x.communicator == y.communicator &&
           x.tag == y.tag && x.back == y.back;
  };
  for (std::uint32_t i = 0; i < count; ++i) {
    const PhaseCall &call_a = calls.calls[first_a + i], &call_b = calls.calls[first_b + i];
    if (call_a.function != call_b.function) return false;
    if (exactly && (call_a.completes_all != call_b.completes_all ||
                    !std::ranges::equal(calls.Parts(first_a + i), calls.Parts(first_b + i), is_same)))
      return false;
  }
  return true;
}

}  // namespace

std::vector<std::size_t> SortIntoKinds(const RunCalls& run, bool exactly, std::vector<std::size_t>& first) {
  std::vector<std::size_t> kinds;
  for (std::size_t i = 0; i < run.iterations(); ++i) {
    const auto same = std::ranges::find_if(first, [&](std::size_t other) {
      return std::ranges::all_of(run.of_ranks,
                                 [&](const RankCalls& calls) { return MakesSameCalls(calls, i, other, exactly); });
    });
    kinds.push_back(static_cast<std::size_t>(same - first.begin()));
    if (same == first.end()) first.push_back(i);
  }
  return kinds;
}

void MatchKinds(std::vector<RunCalls>& runs) {
  std::vector<std::size_t> first;
  runs.back().kinds = SortIntoKinds(runs.back(), false, first);
  std::vector<std::vector<double>> profiles;
  for (const std::size_t iteration : first) profiles.push_back(CallProfile(runs.back(), iteration));
  for (RunCalls& run : std::span(runs).first(runs.size() - 1)) {
    std::vector<std::size_t> own_first, numbers;
    run.kinds = SortIntoKinds(run, false, own_first);
    for (const std::size_t iteration : own_first) {
      const std::vector<double> own = CallProfile(run, iteration);
      const auto nearest =
          std::ranges::min_element(profiles, {}, [&](const auto& other) { return Distance(own, other); });
      numbers.push_back(static_cast<std::size_t>(nearest - profiles.begin()));
    }
    for (std::size_t& kind : run.kinds) kind = numbers[kind];
  }
}

}  // namespace farscale
