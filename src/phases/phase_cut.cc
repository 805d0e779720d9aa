#include "phases/phase_cut.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <regex>

#include "base/text.h"
#include "base/search.h"
#include "phases/found_loop.h"

namespace farscale {
namespace {

constexpr double kLargestGapShare = 0.02;  // docs/formulas.md, spans

Edge EdgeAt(const RankTimeline& timeline, std::size_t event) {
  return {timeline.event_tick(event), timeline.region_event(event).call, static_cast<std::uint32_t>(event)};
}

// Outermost occurrences of the matching regions on one rank.
std::vector<Interval> Occurrences(const RankTimeline& timeline, const std::vector<bool>& matches) {
  std::vector<Interval> found;
  std::size_t depth = 0;
  Edge begin;
  for (std::size_t i = 0; i < timeline.region_events(); ++i) {
    const RankTimeline::RegionEvent event = timeline.region_event(i);
    if (!matches[event.region]) continue;
    if (!event.is_leave) {
      if (depth++ == 0) begin = EdgeAt(timeline, i);
    } else if (--depth == 0) {
      found.push_back({begin, EdgeAt(timeline, i)});
    }
  }
  return found;
}

std::string Where(const Trace& trace, const PhaseSpec& spec) {
  return spec.where.empty() ? trace.path : spec.where + ", " + trace.path;
}

// Keeps the iterations the phase asks for; the rank has at least one.
void Choose(const Trace& trace, const PhaseSpec& spec, std::size_t rank, RankCut& cut) {
  std::vector<Interval>& iterations = cut.iterations;
  const std::size_t wanted = spec.skip + spec.keep.value_or(1);
  if (iterations.size() < wanted) {
    const std::string range =
        spec.keep ? fmt::format("{} to {}", spec.skip + 1, wanted) : fmt::format("{} and later", wanted);
    throw Error(ErrorKind::kUsage, Where(trace, spec),
                fmt::format("phase '{}' has {} iterations on rank {}, so iterations {} do not exist", spec.name,
                            iterations.size(), rank, range),
                "lower skip or keep");
  }
  iterations.erase(iterations.begin(), iterations.begin() + static_cast<std::ptrdiff_t>(spec.skip));
  if (spec.keep) iterations.resize(*spec.keep);
  cut.present = true;
  cut.window = {iterations.front().begin, iterations.back().end};
}

void FindRegion(const Trace& trace, const PhaseSpec& spec, PhaseCut& cut) {
  std::regex expression;
  if (spec.kind == PhaseSpec::Kind::kRegularExpression) {
    try {
      expression = std::regex(spec.region, std::regex::ECMAScript);
    } catch (const std::regex_error&) {
      throw Error(ErrorKind::kUsage, spec.where, "'" + spec.region + "' is not a regular expression");
    }
  }
  std::vector<bool> matches;  // indexed by region of the trace
  for (const Region& region : trace.regions) {
    const bool is_named = spec.kind == PhaseSpec::Kind::kRegion;
    matches.push_back(region.IsUser() &&
                      (is_named ? region.name == spec.region : std::regex_match(region.name, expression)));
  }
  std::size_t present = 0;
  std::size_t fewest = std::numeric_limits<std::size_t>::max(), most = 0;
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    RankCut& rank_cut = cut.ranks[rank];
    rank_cut.iterations = Occurrences(trace.timelines[rank], matches);
    if (rank_cut.iterations.empty()) continue;
    ++present;
    fewest = std::min(fewest, rank_cut.iterations.size());
    most = std::max(most, rank_cut.iterations.size());
    Choose(trace, spec, rank, rank_cut);
  }
  if (present == 0) {
    const std::vector<std::string> names = trace.UserRegionNames();
    std::string advice = DidYouMean(spec.region, names);
    if (advice.empty() && names.empty()) advice = "the trace has no user regions; leave out --phase for the whole run";
    if (advice.empty()) advice = "farscale inspect lists the regions of a trace";
    throw PhaseNotFound(ErrorKind::kUsage, Where(trace, spec),
                        fmt::format("no region '{}' for phase '{}' in this trace", spec.region, spec.name), advice);
  }
  cut.diagnostics.Add(anomaly::kRankWithoutPhase, trace.size() - present, "in phase " + spec.name);
  if (fewest != most) {
    cut.diagnostics.Add(anomaly::kUnevenIterations, 1,
                        fmt::format("in phase {}: {} to {} times", spec.name, fewest, most));
  }
}

void TakeWholeRun(const Trace& trace, PhaseCut& cut) {
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    const RankTimeline& timeline = trace.timelines[rank];
    if (timeline.empty()) continue;
    const Interval run = {{timeline.begin(), 0, 0}, EndOf(timeline)};
    cut.ranks[rank] = {true, run, {run}};
  }
}

// The loop that the calls show; where the shape of another run is known, the one that looks like it.
std::optional<FoundLoop> FindLoopFor(const Trace& trace, const PhaseSpec& spec) {
  constexpr double kSameFunctions = 0.5;  // share of all that either calls; chosen
  std::optional<FoundLoop> loop = FindLoopOfRun(trace, spec.shape ? &spec.shape->calls : nullptr);
  if (!spec.shape) return loop;
  if (!loop) loop = FindLoopOfRun(trace);  // ranks may agree on another one
  if (loop && FunctionsInCommon(spec.shape->calls, loop->calls) >= kSameFunctions) return loop;
  throw PhaseNotFound(ErrorKind::kUsage, Where(trace, spec),
                      fmt::format("the MPI calls show no loop for phase '{}' like that of the other runs", spec.name),
                      "farscale phases shows what they show");
}

// The iterations that have parts, without any left out.
std::optional<std::vector<RankCut>> IterationsWithParts(const Trace& trace, const PhaseSpec& spec) {
  if (spec.kind == PhaseSpec::Kind::kFoundLoop) {
    const std::optional<FoundLoop> loop = FindLoopFor(trace, spec);
    if (!loop) return std::nullopt;
    return CutLoopBetweenBursts(trace, *loop);
  }
  PhaseSpec all = spec;
  all.part.clear();
  all.skip = 0;
  all.keep.reset();
  return CutPhase(trace, all).ranks;
}

void TakePart(const Trace& trace, PhaseCut& cut) {
  const PhaseSpec& spec = cut.spec;
  const auto fail = [&](const std::string& what, const std::string& advice) {
    throw PhaseNotFound(ErrorKind::kUsage, Where(trace, spec), what, advice);
  };
  const std::optional<std::vector<RankCut>> loop = IterationsWithParts(trace, spec);
  if (!loop) fail(fmt::format("the MPI calls show no loop, so there is no part '{}' of one", spec.part), "");
  const IterationShape shape = spec.shape ? *spec.shape : ShapeOf(trace, *loop);
  const IterationPart* part = shape.FindPart(spec.part);
  if (part == nullptr) {
    const std::string names = Join(shape.PartNames(), ", ");
    fail(fmt::format("the iterations have no part '{}'", spec.part),
         names.empty() ? "they are alike throughout; leave out the part" : "there are: " + names);
  }
  const auto index = static_cast<std::size_t>(part - shape.parts.data());
  cut.ranks = std::move(CutParts(trace, *loop, shape)[index]);
  if (cut.ranks.empty()) fail(fmt::format("the iterations of this run show no part '{}' by itself", spec.part), "");
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    if (cut.ranks[rank].present) Choose(trace, spec, rank, cut.ranks[rank]);
  }
}

void TakeTimeWindow(const Trace& trace, const PhaseSpec& spec, PhaseCut& cut) {
  const double length = trace.Seconds(trace.end() - trace.begin());
  if (!(spec.window_begin < spec.window_end) || spec.window_begin < 0) {
    throw Error(ErrorKind::kUsage, Where(trace, spec),
                fmt::format("the window of phase '{}' ends before it begins", spec.name),
                "give [begin, end] in seconds since the start of the run");
  }
  if (spec.window_begin >= length) {
    throw Error(ErrorKind::kUsage, Where(trace, spec),
                fmt::format("the window of phase '{}' begins at {} s, after the end of the run at {}", spec.name,
                            spec.window_begin, FormatSeconds(length)));
  }
  const auto to_tick = [&](double seconds) {
    if (seconds >= length) return trace.end();
    return trace.begin() + static_cast<Tick>(std::llround(seconds * trace.ticks_per_second));
  };
  std::size_t present = 0;
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    const RankTimeline& timeline = trace.timelines[rank];
    const Tick begin = std::max(to_tick(spec.window_begin), timeline.begin());
    const Tick end = std::min(to_tick(spec.window_end), timeline.end());
    if (timeline.empty() || begin >= end) continue;
    const Interval window = {EdgeAtTick(timeline, begin, true), EdgeAtTick(timeline, end, false)};
    cut.ranks[rank] = {true, window, {window}};
    ++present;
  }
  if (present == 0) {
    throw Error(ErrorKind::kUsage, Where(trace, spec),
                "no rank was running in the window of phase '" + spec.name + "'");
  }
  cut.diagnostics.Add(anomaly::kRankWithoutPhase, trace.size() - present, "in phase " + spec.name);
}

// [docs/formulas.md, spans]: whole when gaps are below 2 % of the occurrences' time on every rank.
Span ResolveSpan(const PhaseCut& cut) {
  if (cut.spec.span != Span::kAuto) return cut.spec.span;
  for (const RankCut& rank : cut.ranks) {
    if (!rank.present) continue;
    Tick inside = 0;
    for (const Interval& iteration : rank.iterations) inside += iteration.length();
    const Tick gaps = rank.window.length() - inside;
    if (static_cast<double>(gaps) >= kLargestGapShare * static_cast<double>(inside) && gaps > 0) return Span::kEach;
  }
  return Span::kWhole;
}

// Distinct names of regions, in alphabetical order, and for every region the index of its name.
std::pair<std::vector<std::string>, std::vector<std::size_t>> NumberNames(const Trace& trace) {
  std::map<std::string, std::size_t> index;
  for (const Region& region : trace.regions) index[region.name] = 0;
  std::vector<std::string> names;
  for (auto& [name, number] : index) {
    number = names.size();
    names.push_back(name);
  }
  std::vector<std::size_t> name_of;
  for (const Region& region : trace.regions) name_of.push_back(index[region.name]);
  return {names, name_of};
}

}  // namespace

Edge EdgeAtTick(const RankTimeline& timeline, Tick tick, bool is_begin) {
  std::size_t call = PartitionIndex(0, timeline.calls(), [&](std::size_t i) { return timeline.enter(i) < tick; });
  if (is_begin && call > 0 && timeline.leave(call - 1) > tick) --call;
  const std::size_t event =
      PartitionIndex(0, timeline.region_events(), [&](std::size_t i) { return timeline.event_tick(i) < tick; });
  return {tick, static_cast<std::uint32_t>(call), static_cast<std::uint32_t>(event)};
}

Edge EndOf(const RankTimeline& timeline) {
  return {timeline.end(), static_cast<std::uint32_t>(timeline.calls()),
          static_cast<std::uint32_t>(timeline.region_events())};
}

Tick PhaseCut::begin() const {
  Tick earliest = std::numeric_limits<Tick>::max();
  for (const RankCut& rank : ranks) earliest = rank.present ? std::min(earliest, rank.window.begin.tick) : earliest;
  return earliest;
}

Tick PhaseCut::end() const {
  Tick latest = std::numeric_limits<Tick>::min();
  for (const RankCut& rank : ranks) latest = rank.present ? std::max(latest, rank.window.end.tick) : latest;
  return latest;
}

std::vector<std::size_t> PhaseCut::CountedRanks() const {
  if (!group.empty()) return group;
  std::vector<std::size_t> all(ranks.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

PhaseCut PhaseCut::OnlyRanks(const std::vector<std::size_t>& some, const std::string& name) const {
  PhaseCut only;
  only.spec = spec;
  only.group_name = name;
  only.span = span;
  only.iterations = 0;
  only.ranks.resize(ranks.size());
  only.group = some;
  for (const std::size_t rank : some) {
    only.ranks[rank] = ranks[rank];
    only.iterations = std::max(only.iterations, ranks[rank].iterations.size());
  }
  return only;
}

std::vector<Interval> PhaseCut::CountedTime(std::size_t rank) const {
  if (!ranks[rank].present) return {};
  if (span == Span::kWhole) return {ranks[rank].window};
  return ranks[rank].iterations;
}

std::optional<IterationShape> ShapeOfPhase(const Trace& trace, const PhaseSpec& spec) {
  const std::optional<std::vector<RankCut>> loop = IterationsWithParts(trace, spec);
  return loop ? std::optional(ShapeOf(trace, *loop)) : std::nullopt;
}

PhaseCut CutPhase(const Trace& trace, const PhaseSpec& spec) {
  PhaseCut cut;
  cut.spec = spec;
  cut.ranks.resize(trace.size());
  if (trace.begin() == trace.end()) {
    throw Error(ErrorKind::kInput, trace.path, "the trace contains no time between its first and its last event");
  }
  if (!spec.part.empty()) {
    TakePart(trace, cut);
  } else if (spec.kind == PhaseSpec::Kind::kWholeRun) {
    TakeWholeRun(trace, cut);
  } else if (spec.kind == PhaseSpec::Kind::kTimeWindow) {
    TakeTimeWindow(trace, spec, cut);
  } else if (spec.kind != PhaseSpec::Kind::kFoundLoop) {
    FindRegion(trace, spec, cut);
  } else if (const std::optional<FoundLoop> loop = FindLoopFor(trace, spec)) {
    cut.ranks = CutLoop(trace, *loop);
    for (std::size_t rank = 0; rank < trace.size(); ++rank) Choose(trace, spec, rank, cut.ranks[rank]);
  } else {
    cut.diagnostics.Add(anomaly::kNoLoopFound, 1, "in phase " + spec.name);  // the whole run stands in
    cut.spec.skip = 0;
    cut.spec.keep.reset();
    TakeWholeRun(trace, cut);
  }
  cut.iterations = 0;
  for (const RankCut& rank : cut.ranks) cut.iterations = std::max(cut.iterations, rank.iterations.size());
  cut.span = ResolveSpan(cut);
  // Those with events, where others have none: these were not recorded, so no factors are asked for them. A part of a
  // run has ranks that do nothing in it.
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    if (!trace.timelines[rank].empty()) cut.group.push_back(rank);
  }
  if (cut.group.size() == trace.size() || trace.IsCutOut()) cut.group.clear();
  return cut;
}

PhaseCut KeepIterations(const Trace& trace, const PhaseCut& cut, const std::vector<bool>& kept) {
  PhaseCut result = cut;
  const auto first = std::find(kept.begin(), kept.end(), true);
  const auto end = std::find(first, kept.end(), false);
  const bool follow_each_other = std::find(end, kept.end(), true) == kept.end();
  if (!follow_each_other && cut.spec.span == Span::kWhole) {
    throw Error(ErrorKind::kUsage, Where(trace, cut.spec),
                fmt::format("the iterations kept of phase '{}' do not follow each other, so they are not one window",
                            cut.spec.name),
                "leave out span = \"whole\", or keep the longest run of clean iterations");
  }
  result.iterations = static_cast<std::size_t>(std::count(kept.begin(), kept.end(), true));
  for (RankCut& rank : result.ranks) {
    std::size_t k = 0;
    std::erase_if(rank.iterations, [&](const Interval&) { return !kept[k++]; });
    rank.present = !rank.iterations.empty();
    if (rank.present) rank.window = {rank.iterations.front().begin, rank.iterations.back().end};
  }
  // A window that begins in the middle of a loop would begin with what earlier iterations left behind: ranks that are
  // ahead wait at once for the others.
  result.span = cut.spec.span == Span::kWhole ? Span::kWhole : Span::kEach;
  return result;
}

std::vector<TickRange> CountedTicks(const std::vector<PhaseCut>& cuts, std::size_t rank) {
  std::vector<TickRange> all, joined;
  for (const PhaseCut& cut : cuts) {
    for (const Interval& interval : cut.CountedTime(rank)) all.emplace_back(interval.begin.tick, interval.end.tick);
  }
  std::ranges::sort(all);
  for (const auto& [begin, end] : all) {
    if (!joined.empty() && begin <= joined.back().second) {
      joined.back().second = std::max(joined.back().second, end);
    } else {
      joined.emplace_back(begin, end);
    }
  }
  return joined;
}

double Coverage(const Trace& trace, const std::vector<PhaseCut>& cuts) {
  Tick covered = 0, total = 0;
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    for (const auto& [begin, end] : CountedTicks(cuts, rank)) covered += end - begin;
    total += trace.timelines[rank].end() - trace.timelines[rank].begin();
  }
  return total > 0 ? static_cast<double>(covered) / static_cast<double>(total) : 0;
}

std::vector<RegionSummary> SummarizeRegions(const Trace& trace) {
  const auto [names, name_of] = NumberNames(trace);
  struct Open {
    std::uint64_t depth = 0, count = 0;
    Tick begin = 0, ticks = 0;
    bool seen = false;
  };
  std::vector<RegionSummary> all(names.size());
  std::vector<Tick> ticks(names.size());
  std::vector<std::uint64_t> counts(names.size());
  Tick run_time = 0;
  for (const RankTimeline& timeline : trace.timelines) {
    run_time += timeline.end() - timeline.begin();
    std::vector<Open> open(names.size());
    for (std::size_t i = 0; i < timeline.region_events(); ++i) {
      const RankTimeline::RegionEvent event = timeline.region_event(i);
      if (!trace.regions[event.region].IsUser()) continue;
      Open& region = open[name_of[event.region]];
      region.seen = true;
      if (!event.is_leave) {
        if (region.depth++ == 0) region.begin = event.tick;
      } else if (--region.depth == 0) {
        ++region.count;
        region.ticks += event.tick - region.begin;
      }
    }
    for (std::size_t name = 0; name < names.size(); ++name) {
      const Open& region = open[name];
      if (!region.seen) continue;
      RegionSummary& summary = all[name];
      summary.fewest = summary.ranks == 0 ? region.count : std::min(summary.fewest, region.count);
      summary.most = std::max(summary.most, region.count);
      ++summary.ranks;
      counts[name] += region.count;
      ticks[name] += region.ticks;
    }
  }
  for (std::size_t name = 0; name < names.size(); ++name) {
    all[name].name = names[name];
    all[name].seconds = trace.Seconds(ticks[name]) / static_cast<double>(std::max<std::uint64_t>(counts[name], 1));
    if (run_time > 0) all[name].share = static_cast<double>(ticks[name]) / static_cast<double>(run_time);
  }
  for (std::size_t region = 0; region < trace.regions.size(); ++region) {
    if (trace.regions[region].is_device_runtime) all[name_of[region]].is_device_runtime = true;
  }
  std::erase_if(all, [](const RegionSummary& summary) { return summary.ranks == 0; });
  std::ranges::stable_sort(all, std::greater<>(), &RegionSummary::share);
  return all;
}

}  // namespace farscale
