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

using Data = ReportData;
using RunList = std::vector<const RunRecord*>;

constexpr double kSmallestShare = 0.0005;  // of a state, to be printed as more than nothing
constexpr std::size_t kMostPictureBytes = 40'000;
constexpr std::int64_t kFewestIterations = 3;  // that are worth a figure
constexpr std::size_t kFewDetailed = 8;          // that may have figures with details
constexpr std::size_t kMostBars = 400;         // of a run in a figure; half of that with many phases
constexpr std::size_t kMostTooltips = 60;      // of a figure
constexpr std::size_t kMostRows = 40;          // of a run in the table behind a figure
constexpr Factor kChangedFactors[] = {Factor::kParallelEfficiency, Factor::kLoadBalance, Factor::kSerialization,
                                      Factor::kTransfer};

std::string HeadingOf(const RunRecord& run) {
  std::string heading = FormatCores(static_cast<double>(run.cores)) + (run.cores == 1 ? " core" : " cores");
  if (run.repeat > 0) heading += fmt::format(", repeat {}", run.repeat);
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

Data StatesOf(const RunPicture& picture) {
  Data states = Data::array();
  for (std::size_t state = 0; state < kRunStates; ++state) {
    const StateShare& share = picture.shares[state];
    if (share.most < kSmallestShare) continue;
    states.push_back({{"name", std::string(ToString(static_cast<RunState>(state)))},
                      {"color", StateColor(static_cast<RunState>(state))},
                      {"mean", FormatPercent(share.mean)},
                      {"least", FormatPercent(share.least)},
                      {"leastRank", FormatCores(static_cast<double>(share.least_rank))},
                      {"most", FormatPercent(share.most)},
                      {"mostRank", FormatCores(static_cast<double>(share.most_rank))}});
  }
  return states;
}

std::string CaptionOf(const RunRecord& run) {
  const RunPicture& picture = *run.picture;
  std::vector<std::string> sentences;
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

Data IterationRow(const RunRecord& run, const PhaseMarks& phase) {
  std::vector<double> lengths;
  std::optional<double> disturbed;
  for (const IterationRecord& record : phase.iterations) {
    lengths.push_back(record.elapsed);
    if (record.disturbance) disturbed = std::max(disturbed.value_or(0), *record.disturbance);
  }
  const auto shortest = std::min_element(lengths.begin(), lengths.end()) - lengths.begin();
  const auto longest = std::max_element(lengths.begin(), lengths.end()) - lengths.begin();
  return {{"heading", HeadingOf(run)},
          {"count", FormatCores(static_cast<double>(phase.Count()))},
          {"leftOut", FormatCores(static_cast<double>(phase.LeftOut()))},
          {"median", FormatSeconds(Median(lengths))},
          {"shortest", Numbered(phase.iterations, static_cast<std::size_t>(shortest))},
          {"longest", Numbered(phase.iterations, static_cast<std::size_t>(longest))},
          {"disturbance", disturbed ? FormatPercent(*disturbed) : "–"}};
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
Data LeftOutRow(const Results& results, const RunRecord& run, const PhaseMarks& phase) {
  Data cells = Data::array();
  for (const FactorRow& row : results.table.rows) {
    if (row.phase != phase.phase || row.cores != run.cores || row.repeat != run.repeat) continue;
    for (const Factor factor : kChangedFactors) {
      const std::optional<double>& kept = row.values[factor];
      const std::optional<double>& all = (*phase.with_all)[factor];
      cells.push_back({{"kept", kept ? FormatFactor(*kept) : "–"}, {"all", all ? FormatFactor(*all) : "–"}});
    }
    break;
  }
  return {{"heading", HeadingOf(run)},
          {"leftOut", fmt::format("{} of {}", phase.LeftOut(), phase.Count())},
          {"cells", cells},
          {"why", ReasonsOf(phase)}};
}

// The table behind the figure: an iteration a row, or some that follow each other where there are many.
void AddIterationRows(const std::string& heading, std::vector<IterationRecord> iterations, Data& rows) {
  JoinIterations(iterations, kMostRows);
  std::int64_t number = 1;
  for (const IterationRecord& record : iterations) {
    const std::string first = FormatCores(static_cast<double>(number));
    const std::string last = FormatCores(static_cast<double>(number + record.iterations - 1));
    rows.push_back({{"run", heading},
                    {"number", record.iterations == 1 ? first : first + " to " + last},
                    {"length", FormatSeconds(record.elapsed)},
                    {"useful", FormatSeconds(record.useful)},
                    {"parallelEfficiency", FormatFactor(record.parallel_efficiency)},
                    {"loadBalance", FormatFactor(record.load_balance)},
                    {"disturbance", record.disturbance ? FormatPercent(*record.disturbance) : "–"},
                    {"leftOut", FormatCores(static_cast<double>(record.left_out))}});
    number += record.iterations;
  }
}

std::string IterationCaption(const IterationChart& chart) {
  std::int64_t together = 1;
  for (const IterationPanel& panel : chart.panels) {
    for (const IterationRecord& record : panel.iterations) together = std::max(together, record.iterations);
  }
  std::string caption = "Mean length of every iteration over the ranks, and how much of it is useful.";
  if (together > 1) caption += fmt::format(" A bar is the mean of {} iterations that follow each other.", together);
  return caption;
}

}  // namespace

void AddTimelines(const Results& results, ReportModel& model) {
  RunList runs;
  for (const RunRecord& run : results.runs) {
    if (HasTimeline(run)) runs.push_back(&run);
  }
  const std::size_t all = runs.size();
  if (runs.size() > kMostTimelines) runs = WithoutRepeats(runs);
  runs = Spread(runs, kMostTimelines);
  Data& data = model.data;
  data["hasTimelines"] = !runs.empty();
  data["hasTimelinesNote"] = runs.size() < all;
  data["timelinesNote"] = runs.size() < all ? fmt::format("Shown are {} of {} runs.", runs.size(), all) : std::string();
  data["timelines"] = Data::array();
  const RunRecord* smallest = runs.empty() ? nullptr : runs.front();
  const RunRecord* largest = nullptr;
  for (const RunRecord* run : runs) {
    if (largest == nullptr || run->cores > largest->cores) largest = run;
  }
  for (const RunRecord* run : runs) {
    const std::size_t most = std::min(kMostPictureBytes, kMostTimelineBytes / runs.size());
    const std::string name =
        fmt::format("timeline-{}{}.svg", run->cores, run->repeat > 0 ? fmt::format("-{}", run->repeat) : "");
    Data timeline = AddFigure(model, name, RenderTimeline(*run, false, most), RenderTimeline(*run, true, most),
                              DescribeTimeline(*run));
    timeline["heading"] = HeadingOf(*run);
    timeline["isFolded"] = run != smallest && run != largest;
    timeline["caption"] = CaptionOf(*run);
    timeline["hasCaption"] = timeline["caption"] != "";
    timeline["states"] = StatesOf(*run->picture);
    data["timelines"].push_back(timeline);
  }
}

ReportData IterationsOfPhase(const Results& results, const PhaseId& phase, const std::string& heading,
                             const std::string& slug, ReportModel& model) {
  Data data = {{"hasIterations", false}, {"iterations", Data::array()}, {"leftOut", Data::array()}};
  data["leftOutFactors"] = Data::array();
  for (const Factor factor : kChangedFactors) data["leftOutFactors"].push_back({{"name", Name(factor)}});
  RunList runs;
  for (const RunRecord& run : results.runs) {
    const PhaseMarks* iterations = IterationsOf(run, phase);
    if (iterations == nullptr) continue;
    runs.push_back(&run);
    data["iterations"].push_back(IterationRow(run, *iterations));
    if (iterations->with_all) data["leftOut"].push_back(LeftOutRow(results, run, *iterations));
  }
  if (runs.empty()) return data;
  data["hasIterations"] = true;
  data["hasLeftOut"] = !data["leftOut"].empty();
  data["hasDisturbance"] = std::any_of(data["iterations"].begin(), data["iterations"].end(),
                                       [](const Data& row) { return row["disturbance"] != "–"; });
  const bool is_small = results.phases.size() <= kFewDetailed;
  IterationChart chart;
  chart.title = "Iterations: " + heading;
  chart.description = "Length of the iterations of " + heading + ", run by run.";
  data["iterationRows"] = Data::array();
  std::size_t bars = 0;
  for (const RunRecord* run : Spread(WithoutRepeats(runs), is_small ? 3 : 1)) {
    IterationPanel& panel = chart.panels.emplace_back();
    panel.name = HeadingOf(*run);
    panel.iterations = IterationsOf(*run, phase)->iterations;
    AddIterationRows(panel.name, panel.iterations, data["iterationRows"]);
    JoinIterations(panel.iterations, is_small ? kMostBars : kMostBars / 2);
    bars += panel.iterations.size();
  }
  chart.with_tooltips = is_small && bars <= kMostTooltips;
  data["iterationFigure"] = AddFigure(model, slug + "-iterations.svg", RenderIterations(chart, false),
                                      RenderIterations(chart, true), chart.description);
  data["iterationCaption"] = IterationCaption(chart);
  return data;
}

}  // namespace farscale
