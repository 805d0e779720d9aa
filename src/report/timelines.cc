#include "report/timelines.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/format.h"
#include "base/text.h"
#include "report/figures.h"
#include "report/iteration_chart.h"
#include "report/timeline_picture.h"
#include "stats/sample_quantiles.h"

namespace farscale {
namespace {

using RunList = std::vector<const RunRecord*>;

constexpr double kSmallestShare = 0.0005;  // of a state, to be printed as more than nothing
constexpr std::size_t kMostPictureBytes = 40'000;
constexpr std::int64_t kFewestIterations = 3;  // that are worth a figure
constexpr std::size_t kFewDetailed = 8;        // that may have figures with details
constexpr std::size_t kMostBars = 400;         // of a run in a figure; half of that with many phases
constexpr std::size_t kMostTooltips = 60;      // of a figure
constexpr std::size_t kMostRows = 40;          // of a run in the table behind a figure
constexpr Factor kChangedFactors[] = {Factor::kParallelEfficiency, Factor::kLoadBalance, Factor::kSerialization,
                                      Factor::kTransfer};

std::string HeadingOf(const RunRecord& run) {
  std::string heading = FormatCoreCount(static_cast<double>(run.cores));
  if (run.repeat > 0) heading += fmt::format(", repeat {}", run.repeat);
  if (run.grown_from) heading += ", grown";
  return heading;
}

// One run of every core count.
RunList WithoutRepeats(const RunList& runs) {
  RunList firsts;
  for (const RunRecord* run : runs) {
    if (firsts.empty() || firsts.back()->cores != run->cores) firsts.push_back(run);
  }
  return firsts;
}

// The first, the last and others evenly between them.
RunList Spread(const RunList& runs, std::size_t most) {
  if (runs.size() <= most) return runs;
  if (most == 1) return {runs.back()};
  RunList chosen;
  for (std::size_t i = 0; i < most; ++i) chosen.push_back(runs[i * (runs.size() - 1) / (most - 1)]);
  return chosen;
}

std::vector<StateText> StatesOf(const RunPicture& picture) {
  std::vector<StateText> states;
  for (std::size_t i = 0; i < kRunStates; ++i) {
    const StateShare& share = picture.shares[i];
    const auto state = static_cast<RunState>(i);
    if (share.most < kSmallestShare) continue;
    states.push_back({std::string(ToString(state)), StateColor(state), FormatPercent(share.mean),
                      FormatPercent(share.least), FormatCores(static_cast<double>(share.least_rank)),
                      FormatPercent(share.most), FormatCores(static_cast<double>(share.most_rank))});
  }
  return states;
}

std::string CaptionOf(const RunRecord& run) {
  const RunPicture& picture = *run.picture;
  std::vector<std::string> sentences;
  if (run.grown_from) {
    sentences.push_back(fmt::format("Grown, not measured: phase {} alone, as learned from runs on up to {}.",
                                    run.phases.empty() ? "" : run.phases.front().phase,
                                    FormatCoreCount(static_cast<double>(*run.grown_from))));
  }
  if (picture.ranks_per_row > 1) sentences.push_back(fmt::format("A row is {} ranks.", picture.ranks_per_row));
  if (!picture.problem.empty()) {
    sentences.push_back("The run cannot be replayed, so waiting and transfer are not told apart: " + picture.problem +
                        ".");
  }
  return Join(sentences, " ");
}

// "410 ms (no. 3)", or "410 ms (nos. 3 to 5)" for a mean.
std::string Numbered(const std::vector<IterationRecord>& iterations, std::size_t chosen) {
  std::int64_t number = 1;
  for (std::size_t i = 0; i < chosen; ++i) number += iterations[i].iterations;
  const IterationRecord& record = iterations[chosen];
  const std::string first = FormatCores(static_cast<double>(number));
  const std::string last = FormatCores(static_cast<double>(number + record.iterations - 1));
  return FormatSeconds(record.elapsed) +
         (record.iterations == 1 ? fmt::format(" (no. {})", first) : fmt::format(" (nos. {} to {})", first, last));
}

IterationRun SummaryOf(const RunRecord& run, const PhaseMarks& phase) {
  std::vector<double> lengths;
  std::optional<double> disturbed;
  for (const IterationRecord& record : phase.iterations) {
    lengths.push_back(record.elapsed);
    if (record.disturbance) disturbed = std::max(disturbed.value_or(0), *record.disturbance);
  }
  const auto numbered = [&](auto at) {
    return Numbered(phase.iterations, static_cast<std::size_t>(at - lengths.begin()));
  };
  const std::string shortest_text = numbered(std::ranges::min_element(lengths));
  const std::string longest_text = numbered(std::ranges::max_element(lengths));
  return {HeadingOf(run),
          FormatCores(static_cast<double>(phase.Count())),
          FormatCores(static_cast<double>(phase.LeftOut())),
          FormatSeconds(Median(lengths)),
          shortest_text,
          longest_text,
          disturbed ? FormatPercent(*disturbed) : "–"};
}

// Null when there are too few.
const PhaseMarks* IterationsOf(const RunRecord& run, const PhaseId& phase) {
  for (const PhaseMarks& marks : run.phases) {
    if (marks.phase == phase && marks.Count() >= kFewestIterations) return &marks;
  }
  return nullptr;
}

// "1, 7 and 9: rank 1 computes ...; rank 0 computes ...": which iterations were left out, and why. Without numbers
// where some are told together.
std::string ReasonsOf(const PhaseMarks& phase) {
  constexpr std::size_t kMostReasons = 3;
  std::vector<std::string> reasons;
  std::int64_t number = 1;
  std::size_t more = 0;
  for (const IterationRecord& record : phase.iterations) {
    const std::int64_t first = number;
    number += record.iterations;
    if (record.left_out == 0 || record.reason.empty()) continue;
    if (reasons.size() == kMostReasons) {
      ++more;
      continue;
    }
    const std::string which = record.iterations == 1 ? fmt::format("iteration {}", first)
                                                     : fmt::format("in iterations {} to {}", first, number - 1);
    reasons.push_back(which + ": " + record.reason);
  }
  if (more > 0) reasons.push_back(fmt::format("and {} more", more));
  if (reasons.empty()) return "not among the cleanest";
  return Join(reasons, "; ");
}

// What leaving out iterations changes: each factor as kept, and with all of them.
LeftOutRun LeftOutOf(const Results& results, const RunRecord& run, const PhaseMarks& phase) {
  LeftOutRun left_out{HeadingOf(run), fmt::format("{} of {}", phase.LeftOut(), phase.Count()), ReasonsOf(phase), {}};
  for (const FactorRow& row : results.table.rows) {
    if (row.phase != phase.phase || row.cores != run.cores || row.repeat != run.repeat) continue;
    for (const Factor factor : kChangedFactors) {
      const std::optional<double>& kept = row.values[factor];
      const std::optional<double>& all = (*phase.with_all)[factor];
      left_out.cells.push_back({kept ? FormatFactor(*kept) : "–", all ? FormatFactor(*all) : "–"});
    }
    break;
  }
  return left_out;
}

// The table behind the figure: an iteration a row, or some that follow each other where there are many.
void AddIterationRows(const std::string& heading, std::vector<IterationRecord> iterations,
                      std::vector<IterationRow>& rows) {
  JoinIterations(iterations, kMostRows);
  std::int64_t number = 1;
  for (const IterationRecord& record : iterations) {
    const std::string first = FormatCores(static_cast<double>(number));
    const std::string last = FormatCores(static_cast<double>(number + record.iterations - 1));
    rows.push_back({heading, record.iterations == 1 ? first : first + " to " + last, FormatSeconds(record.elapsed),
                    FormatSeconds(record.useful), FormatFactor(record.parallel_efficiency),
                    FormatFactor(record.load_balance), record.disturbance ? FormatPercent(*record.disturbance) : "–",
                    FormatCores(static_cast<double>(record.left_out))});
    number += record.iterations;
  }
}

}  // namespace

std::vector<TimelineText> TimelinesOf(const Results& results, ReportModel& model, std::size_t& all,
                                      std::size_t& shown) {
  RunList runs;
  for (const RunRecord& run : results.runs) {
    if (HasTimeline(run)) runs.push_back(&run);
  }
  all = runs.size();
  if (runs.size() > kMostTimelines) runs = WithoutRepeats(runs);
  runs = Spread(runs, kMostTimelines);
  shown = runs.size();
  std::vector<TimelineText> timelines;
  if (runs.empty()) return timelines;
  const std::size_t most = std::min(kMostPictureBytes, kMostTimelineBytes / (runs.size() + results.grown_runs.size()));
  const auto add = [&](const RunRecord& run, const std::string& name, bool is_folded) {
    timelines.push_back({AddFigure(model, name, RenderTimeline(run, false, most), RenderTimeline(run, true, most),
                                   DescribeTimeline(run)),
                         HeadingOf(run), CaptionOf(run), is_folded, StatesOf(*run.picture)});
  };
  const RunRecord* largest = *std::ranges::max_element(runs, {}, &RunRecord::cores);
  for (const RunRecord* run : runs) {
    const std::string name =
        fmt::format("timeline-{}{}.svg", run->cores, run->repeat > 0 ? fmt::format("-{}", run->repeat) : "");
    add(*run, name, run != runs.front() && run != largest);
  }
  std::size_t number = 0;
  for (const RunRecord& run : results.grown_runs) {
    if (HasTimeline(run)) add(run, fmt::format("timeline-{}-grown-{}.svg", run.cores, ++number), false);
  }
  return timelines;
}

std::optional<IterationsSection> IterationsOfPhase(const Results& results, const PhaseId& phase,
                                                   const PhaseNames& names, ReportModel& model) {
  IterationsSection section;
  RunList runs;
  for (const RunRecord& run : results.runs) {
    const PhaseMarks* iterations = IterationsOf(run, phase);
    if (iterations == nullptr) continue;
    runs.push_back(&run);
    section.runs.push_back(SummaryOf(run, *iterations));
    if (iterations->with_all) section.left_out_runs.push_back(LeftOutOf(results, run, *iterations));
  }
  if (runs.empty()) return std::nullopt;
  for (const Factor factor : kChangedFactors) section.left_out_factors.push_back(Name(factor));
  section.has_left_out = !section.left_out_runs.empty();
  section.has_disturbance =
      std::ranges::any_of(section.runs, [](const IterationRun& run) { return run.disturbance != "–"; });
  const bool is_small = results.phases.size() <= kFewDetailed;
  IterationChart chart;
  chart.title = "Iterations: " + names.heading;
  chart.description = "Length of the iterations of " + names.heading + ", run by run.";
  std::size_t bars = 0;
  std::int64_t together = 1;
  for (const RunRecord* run : Spread(WithoutRepeats(runs), is_small ? 3 : 1)) {
    IterationPanel& panel = chart.panels.emplace_back();
    panel.name = HeadingOf(*run);
    panel.iterations = IterationsOf(*run, phase)->iterations;
    AddIterationRows(panel.name, panel.iterations, section.rows);
    JoinIterations(panel.iterations, is_small ? kMostBars : kMostBars / 2);
    bars += panel.iterations.size();
    for (const IterationRecord& record : panel.iterations) together = std::max(together, record.iterations);
  }
  if (together > 1) section.together = std::to_string(together);
  chart.with_tooltips = is_small && bars <= kMostTooltips;
  section.figure = AddFigure(model, names.anchor + "-iterations.svg", RenderIterations(chart, false),
                             RenderIterations(chart, true), chart.description);
  return section;
}

}  // namespace farscale
