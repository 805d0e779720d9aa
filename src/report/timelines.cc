#include "report/sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "plot/canvas.h"
#include "stats/sample_quantiles.h"

namespace farscale {
namespace {

using IterationPanel = std::pair<std::string, std::vector<IterationRecord>>;  // "8 cores" and the iterations there

constexpr double kPanelWidth = 860;
constexpr double kPanelLeft = 76, kPanelRight = kPanelWidth - 14;
constexpr double kUp = 84, kDown = 34, kPanelGap = 28;  // heights of the parts of a panel
constexpr double kPanelTop = 74;
constexpr double kWidestBar = 44;

const Stroke kMedian{kInk, 1, "4 3", 0.6};
constexpr const char *kRestColor = "#7d93ab", *kLeftOutColor = "#b9c2cb", *kLeftOutDashes = "1.5 1.5";

// Durations of the iterations of a phase as SVG: a panel for every run, bars upwards for the time and, where it is
// known, bars downwards for what was disturbed.
class Panels {
 public:
  // At least one panel, none without iterations. `with_tooltips`: on every bar, in a file of its own; pages have a
  // script that reads them out.
  Panels(std::string title, std::string description, std::vector<IterationPanel> panels, bool with_tooltips)
      : title_(std::move(title)),
        description_(std::move(description)),
        panels_(std::move(panels)),
        with_tooltips_(with_tooltips) {
    for (const auto& [name, iterations] : panels_) {
      std::int64_t count = 0;
      for (const IterationRecord& record : iterations) {
        count += record.iterations;
        is_disturbed_ = is_disturbed_ || record.disturbance.has_value();
        most_disturbed_ = std::max(most_disturbed_, record.disturbance.value_or(0));
        has_left_out_ = has_left_out_ || record.left_out > 0;
      }
      most_ = std::max(most_, count);
    }
    panel_ = kUp + (is_disturbed_ ? kDown : 0) + kPanelGap;
    box_ = {kPanelLeft, kPanelTop, kPanelRight, kPanelTop + panel_ * static_cast<double>(panels_.size()) - kPanelGap};
    x_ = LinearScale(0.5, static_cast<double>(most_) + 0.5, box_.left, box_.right, 12);
    x_.step = std::max(1.0, x_.step);
  }

  // A complete <svg> element; `standalone` as for charts.
  std::string Render(bool standalone) {
    // For the script of a page: left, right, number of iterations, top of the first panel, height of a panel, of its
    // bars.
    const std::string data =
        fmt::format(" data-bars=\"{} {} {} {} {} {}\"", kPanelLeft, kPanelRight, most_, kPanelTop, panel_, kUp);
    SvgCanvas canvas({kPanelWidth, std::ceil(box_.bottom + kBelowAxis), title_, description_, standalone, 14, data});
    svg_ = &canvas;
    DrawLegend();
    double top = kPanelTop;
    for (const IterationPanel& panel : panels_) {
      const Box box{box_.left, top, box_.right, top + kUp};
      Panel(panel, box);
      if (standalone && with_tooltips_) Tooltips(panel.second, box);
      top += panel_;
    }
    DrawXAxis(canvas, box_, {x_, x_.Ticks(), "iteration", AxisMarks::kNone});
    return canvas.Close();
  }

 private:
  void DrawLegend() {
    std::vector<LegendEntry> entries;
    const auto add = [&](const std::string& color, const char* name) {
      entries.push_back({.name = name, .area = Fill{color}});
    };
    add(StateColor(RunState::kComputation), "useful");
    add(kRestColor, "MPI and pauses");
    if (has_left_out_) entries.push_back({.name = "left out", .line = Stroke{kLeftOutColor, 12, kLeftOutDashes}});
    if (is_disturbed_) add(StateColor(RunState::kWaiting), "disturbance");
    entries.push_back({.name = "median", .line = kMedian});
    Legend(std::move(entries), 14, box_.right, 42).Draw(*svg_);
  }

  void Panel(const IterationPanel& panel, const Box& box) {
    const auto& [name, iterations] = panel;
    std::vector<double> lengths;
    for (const IterationRecord& record : iterations) lengths.push_back(record.elapsed);
    double longest = *std::max_element(lengths.begin(), lengths.end());
    if (!(longest > 0)) longest = 1;
    const auto [unit, seconds] = UnitFor(longest);
    const Scale y = LinearScale(0, longest, box.bottom, box.top, 3, seconds);
    DrawYAxis(*svg_, box, {y, y.Ticks(seconds, std::string(" ") + unit), "", AxisMarks::kGridLines, 11});
    DrawXAxis(*svg_, box, {x_, {}});
    svg_->Text({box.left, box.top - 6}, name, {.is_bold = true});
    Bars(iterations, y);
    const double median = y.At(Median(std::move(lengths)));
    svg_->Lines({{box.left, median}, {box.right, median}}, kMedian);
    if (most_disturbed_ > 0) {
      svg_->Text({box.left - 8, box.bottom + kDown}, FormatPercent(most_disturbed_), {Anchor::kEnd, kFaint, 11});
    }
  }

  void Bars(const std::vector<IterationRecord>& iterations, const Scale& y) {
    const double base = y.At(0);
    std::string useful, rest, left_out, disturbed;  // paths
    const auto add = [&](std::string& path, double x, double from, double to) {
      if (std::fabs(from - to) >= 0.05) path += fmt::format("M{:.1f} {:.1f}V{:.1f}", x, from, to);
    };
    double number = 1, widest = 1;
    for (const IterationRecord& record : iterations) {
      const auto count = static_cast<double>(record.iterations);
      const double x = x_.At(number + (count - 1) / 2), end = y.At(record.elapsed);
      if (record.IsKept()) {
        const double middle = y.At(std::min(record.useful, record.elapsed));
        add(useful, x, base, middle);
        add(rest, x, middle, end);
      } else {
        add(left_out, x, base, end);
      }
      if (most_disturbed_ > 0) add(disturbed, x, base, base + record.disturbance.value_or(0) / most_disturbed_ * kDown);
      number += count;
      widest = std::max(widest, count);
    }
    const double slot = widest * box_.width() / static_cast<double>(most_);
    const double width = std::min(kWidestBar, slot < 4 ? slot : slot < 12 ? slot - 1 : 0.85 * slot);
    if (!useful.empty()) svg_->Path(useful, {StateColor(RunState::kComputation), width});
    if (!rest.empty()) svg_->Path(rest, {kRestColor, width});
    if (!left_out.empty()) svg_->Path(left_out, {kLeftOutColor, width, kLeftOutDashes});
    if (!disturbed.empty()) svg_->Path(disturbed, {StateColor(RunState::kWaiting), width});
  }

  void Tooltips(const std::vector<IterationRecord>& iterations, const Box& box) {
    double number = 1;
    for (const IterationRecord& record : iterations) {
      const auto count = static_cast<double>(record.iterations);
      std::string text = count > 1 ? fmt::format("iterations {} to {}, {} each", number, number + count - 1,
                                                 FormatSeconds(record.elapsed))
                                   : fmt::format("iteration {}: {}", number, FormatSeconds(record.elapsed));
      text += fmt::format(", parallel efficiency {}, load balance {}", FormatFactor(record.parallel_efficiency),
                          FormatFactor(record.load_balance));
      if (record.disturbance) text += ", disturbance " + FormatPercent(*record.disturbance);
      if (record.left_out > 0) text += record.reason.empty() ? ", left out" : ", left out: " + record.reason;
      svg_->Tooltip({x_.At(number - 0.5), box.top, x_.At(number + count - 0.5), box.bottom}, text);
      number += count;
    }
  }

  const std::string title_, description_;
  const std::vector<IterationPanel> panels_;
  const bool with_tooltips_;
  SvgCanvas* svg_ = nullptr;
  Box box_;                // around all panels
  Scale x_;                // an iteration is as wide as 1
  std::int64_t most_ = 1;  // iterations of any panel
  bool is_disturbed_ = false, has_left_out_ = false;
  double most_disturbed_ = 0;
  double panel_ = 0;
};

using RunList = std::vector<const RunRecord*>;

constexpr double kSmallestShare = 0.0005;  // share of a state that prints as more than nothing
constexpr std::size_t kMostPictureBytes = 40'000;
constexpr std::int64_t kFewestIterations = 3;  // that are worth a figure
constexpr std::size_t kFewDetailed = 8;        // that may have figures with details
constexpr std::size_t kMostBars = 400;         // a run in a figure; half of that with many phases
constexpr std::size_t kMostTooltips = 60;      // a figure
constexpr std::size_t kMostRows = 40;          // a run in the table behind a figure
constexpr Factor kChangedFactors[] = {Factor::kParallelEfficiency, Factor::kLoadBalance, Factor::kSerialization,
                                      Factor::kTransfer};

std::string RunHeading(const RunRecord& run) {
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

ReportData States(const RunPicture& picture) {
  ReportData states = ReportData::array();
  for (std::size_t i = 0; i < kRunStates; ++i) {
    const StateShare& share = picture.shares[i];
    const auto state = static_cast<RunState>(i);
    if (share.most < kSmallestShare) continue;
    states.push_back({{"name", ToString(state)},
                      {"color", StateColor(state)},
                      {"mean", FormatPercent(share.mean)},
                      {"least", FormatPercent(share.least)},
                      {"leastRank", FormatCores(static_cast<double>(share.least_rank))},
                      {"most", FormatPercent(share.most)},
                      {"mostRank", FormatCores(static_cast<double>(share.most_rank))}});
  }
  return states;
}

ReportData IterationSummary(const RunRecord& run, const PhaseMarks& phase) {
  std::vector<double> lengths;
  std::optional<double> disturbed;
  for (const IterationRecord& record : phase.iterations) {
    lengths.push_back(record.elapsed);
    if (record.disturbance) disturbed = std::max(disturbed.value_or(0), *record.disturbance);
  }
  const auto numbered = [&](auto at) {  // "410 ms (no. 3)", or "410 ms (nos. 3 to 5)" for a mean
    const auto chosen = phase.iterations.begin() + (at - lengths.begin());
    std::int64_t number = 1;
    for (auto record = phase.iterations.begin(); record != chosen; ++record) number += record->iterations;
    const std::string first = FormatCores(static_cast<double>(number));
    const std::string last = FormatCores(static_cast<double>(number + chosen->iterations - 1));
    return FormatSeconds(chosen->elapsed) +
           (chosen->iterations == 1 ? fmt::format(" (no. {})", first) : fmt::format(" (nos. {} to {})", first, last));
  };
  return {{"heading", RunHeading(run)},
          {"count", FormatCores(static_cast<double>(phase.Count()))},
          {"leftOut", FormatCores(static_cast<double>(phase.LeftOut()))},
          {"median", FormatSeconds(Median(lengths))},
          {"shortest", numbered(std::ranges::min_element(lengths))},
          {"longest", numbered(std::ranges::max_element(lengths))},
          {"disturbance", disturbed ? FormatPercent(*disturbed) : "–"}};
}

// Null when there are too few.
const PhaseMarks* FindIterations(const RunRecord& run, const PhaseId& phase) {
  for (const PhaseMarks& marks : run.phases) {
    if (marks.phase == phase && marks.Count() >= kFewestIterations) return &marks;
  }
  return nullptr;
}

// Each factor as kept, and with all iterations; why some were left out: "iteration 1: rank 1 computes ...; iteration 9:
// ...".
ReportData WithoutLeftOut(const Results& results, const RunRecord& run, const PhaseMarks& phase) {
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
  ReportData cells = ReportData::array();
  for (const FactorRow& row : results.table.rows) {
    if (row.phase != phase.phase || row.cores != run.cores || row.repeat != run.repeat) continue;
    const auto value = [](const std::optional<double>& factor) { return factor ? FormatFactor(*factor) : "–"; };
    for (const Factor factor : kChangedFactors)
      cells.push_back({{"kept", value(row.values[factor])}, {"all", value((*phase.with_all)[factor])}});
    break;
  }
  return {{"heading", RunHeading(run)},
          {"leftOut", fmt::format("{} of {}", phase.LeftOut(), phase.Count())},
          {"why", reasons.empty() ? "not among the cleanest" : Join(reasons, "; ")},
          {"cells", std::move(cells)}};
}

// The table behind the figure: an iteration a row, or some that follow each other where there are many.
void AddIterationRows(const std::string& heading, std::vector<IterationRecord> iterations, ReportData& rows) {
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

}  // namespace

ReportData Timelines(const Results& results, ReportModel& model, std::size_t& all, std::size_t& shown) {
  RunList runs;
  for (const RunRecord& run : results.runs) {
    if (HasTimeline(run)) runs.push_back(&run);
  }
  all = runs.size();
  if (runs.size() > kMostTimelines) runs = WithoutRepeats(runs);
  runs = Spread(runs, kMostTimelines);
  shown = runs.size();
  ReportData timelines = ReportData::array();
  if (runs.empty()) return timelines;
  const std::size_t most = std::min(kMostPictureBytes, kMostTimelineBytes / (runs.size() + results.grown_runs.size()));
  const auto add = [&](const RunRecord& run, const std::string& name, bool is_folded) {
    const RunPicture& picture = *run.picture;
    std::vector<std::string> caption;
    if (run.grown_from) {
      caption.push_back(fmt::format("Grown, not measured: phase {} alone, as learned from runs on up to {}.",
                                    run.phases.empty() ? "" : run.phases.front().phase,
                                    FormatCoreCount(static_cast<double>(*run.grown_from))));
    }
    if (picture.ranks_per_row > 1) caption.push_back(fmt::format("A row is {} ranks.", picture.ranks_per_row));
    if (!picture.problem.empty())
      caption.push_back("The run cannot be replayed, so waiting and transfer are not told apart: " + picture.problem +
                        ".");
    timelines.push_back({{"figure", AddFigure(model, name, RenderTimeline(run, false, most),
                                              RenderTimeline(run, true, most), DescribeTimeline(run))},
                         {"heading", RunHeading(run)},
                         {"caption", Join(caption, " ")},
                         {"isFolded", is_folded},
                         {"states", States(picture)}});
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

ReportData Iterations(const Results& results, const PhaseId& phase, const PhaseNames& names, ReportModel& model) {
  RunList runs;
  ReportData summaries = ReportData::array(), left_out = ReportData::array(), factors = ReportData::array();
  for (const RunRecord& run : results.runs) {
    const PhaseMarks* iterations = FindIterations(run, phase);
    if (iterations == nullptr) continue;
    runs.push_back(&run);
    summaries.push_back(IterationSummary(run, *iterations));
    if (iterations->with_all) left_out.push_back(WithoutLeftOut(results, run, *iterations));
  }
  if (runs.empty()) return false;
  for (const Factor factor : kChangedFactors) factors.push_back(Name(factor));
  const bool is_small = results.phases.size() <= kFewDetailed;
  const std::string description = "Length of the iterations of " + names.heading + ", run by run.";
  std::vector<IterationPanel> panels;
  ReportData rows = ReportData::array();
  std::size_t bars = 0;
  std::int64_t together = 1;
  for (const RunRecord* run : Spread(WithoutRepeats(runs), is_small ? 3 : 1)) {
    auto& [name, iterations] = panels.emplace_back();
    name = RunHeading(*run);
    iterations = FindIterations(*run, phase)->iterations;
    AddIterationRows(name, iterations, rows);
    JoinIterations(iterations, is_small ? kMostBars : kMostBars / 2);
    bars += iterations.size();
    for (const IterationRecord& record : iterations) together = std::max(together, record.iterations);
  }
  Panels chart("Iterations: " + names.heading, description, std::move(panels), is_small && bars <= kMostTooltips);
  return {{"hasDisturbance", std::ranges::any_of(summaries, [](const auto& run) { return run["disturbance"] != "–"; })},
          {"runs", std::move(summaries)},
          {"figure",
           AddFigure(model, names.anchor + "-iterations.svg", chart.Render(false), chart.Render(true), description)},
          {"rows", std::move(rows)},
          {"together", together > 1 ? std::to_string(together) : ""},
          {"hasLeftOut", !left_out.empty()},
          {"leftOutRuns", std::move(left_out)},
          {"leftOutFactors", std::move(factors)}};
}

}  // namespace farscale
