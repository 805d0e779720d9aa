#include "report/splits_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text.h"
#include "plot/canvas.h"
#include "report/reliability.h"

namespace farscale {
namespace {

constexpr const char* kUnknownSplit = "–";
constexpr std::size_t kMostLines = 6;  // of the chart, one a number of cores; chosen: the default targets

// The splits of a phase at one number of cores.
struct Divided {
  std::int64_t cores = 1;
  const ThreadSplits* splits = nullptr;

  bool IsKnown() const {
    return splits->obstacle.empty() && splits->splits[splits->best].reliability != Reliability::kUnknown;
  }
  const ThreadSplit& Best() const { return splits->splits[splits->best]; }
};

// Up to the first behind which all are unknown.
std::vector<Divided> DividedOf(const Results& results, const PhaseKey& key) {
  std::vector<Divided> all;
  std::size_t known = 0;
  for (const SplitsOfCores& of_cores : results.splits) {
    const ThreadSplits* splits = FindSplits(of_cores, key);
    if (splits == nullptr) continue;
    all.push_back({of_cores.cores, splits});
    if (all.back().IsKnown()) known = all.size();
  }
  all.resize(std::min(all.size(), known + 1));
  return all;
}

std::string NameOfSplit(const ThreadSplit& split) {
  return fmt::format("{} × {}", FormatCores(static_cast<double>(split.processes)), split.threads);
}

std::string CoresText(std::int64_t cores) { return FormatCores(static_cast<double>(cores)); }

// A value with its interval, the interval alone, or a dash.
template <typename FormatOne>
std::string Worded(Reliability level, const SplitValue& value, FormatOne format) {
  if (level == Reliability::kUnknown) return kUnknownSplit;
  const std::string interval = FormatRange(format(value.interval80.low), format(value.interval80.high));
  return level == Reliability::kUncertain ? "(" + interval + ")"
                                          : fmt::format("{} ({})", format(value.value), interval);
}

std::string TimeOf(const ThreadSplit& split) {
  if (!split.seconds || split.reliability == Reliability::kUnknown) return kUnknownSplit;
  const OpenBounds bounds{split.seconds->interval80.low, split.seconds->interval80.high};
  if (split.reliability == Reliability::kUncertain) return "(" + FormatTimeBounds(bounds) + ")";
  return FormatTime(split.seconds->value, bounds);
}

std::string EfficiencyOf(const ThreadSplit& split) { return Worded(split.reliability, split.efficiency, FormatFactor); }

BestSplit BestOf(const Divided& at) {
  BestSplit text{CoresText(at.cores), kUnknownSplit, kUnknownSplit, kUnknownSplit, kUnknownSplit, "", "", ""};
  text.obstacle = at.splits->obstacle;
  if (!text.obstacle.empty()) return text;
  text.reliability = LabelOf(at.Best().reliability);
  if (!at.IsKnown()) return text;
  text.split = NameOfSplit(at.Best());
  text.time = TimeOf(at.Best());
  text.efficiency = EfficiencyOf(at.Best());
  text.limit = NameInSentence(at.Best().limit);
  std::vector<std::string> others;
  for (const ThreadSplit& split : at.splits->splits) {
    if (split.may_be_best && &split != &at.Best()) others.push_back(NameOfSplit(split));
  }
  text.others = Join(others, ", ");
  return text;
}

void AddDetails(const Divided& at, std::vector<SplitDetail>& details) {
  if (!at.splits->obstacle.empty()) return;
  for (const ThreadSplit& split : at.splits->splits) {
    const bool is_first = &split == &at.splits->splits.front();
    const auto format_ratio = [](double ratio) { return FormatSignificant(ratio, 3); };
    details.push_back({is_first ? CoresText(at.cores) : "", NameOfSplit(split), TimeOf(split),
                       Worded(split.reliability, split.time, format_ratio), EfficiencyOf(split),
                       NameInSentence(split.limit), LabelOf(split.reliability), &split == &at.Best()});
  }
}

// The tags of splits.txt.mustache: the best split of one number of cores, in words.
struct AnswerText {
  std::string cores, processes, threads, time, efficiency, limit, others;
  bool is_one_process = false, is_one_thread = false, is_uncertain = false;
  std::string obstacle;
  std::string more_from, more_to, more_on, gain;  // what more threads would bring; `gain` is empty where unknown
  FARSCALE_TAGS(cores, processes, threads, time, efficiency, limit, others, is_one_process, is_one_thread, is_uncertain,
                obstacle, more_from, more_to, more_on, gain)
};

// The largest number of cores whose best split is reliable, else the first that is known; null: none is.
const Divided* ToSpeakOf(const std::vector<Divided>& all) {
  const Divided* chosen = nullptr;
  for (const Divided& at : all) {
    if (!at.IsKnown()) continue;
    if (chosen == nullptr || at.Best().reliability == Reliability::kReliable) chosen = &at;
  }
  return chosen;
}

AnswerText AnswerOf(const std::vector<Divided>& all) {
  AnswerText text;
  const Divided* at = ToSpeakOf(all);
  if (at == nullptr) {
    text.obstacle = all.front().splits->obstacle;
    return text;
  }
  const ThreadSplit& best = at->Best();
  const BestSplit row = BestOf(*at);
  text.cores = row.cores;
  text.processes = CoresText(best.processes);
  text.threads = std::to_string(best.threads);
  text.is_one_process = best.processes == 1;
  text.is_one_thread = best.threads == 1;
  text.is_uncertain = best.reliability == Reliability::kUncertain;
  if (best.seconds) text.time = row.time;
  text.efficiency = row.efficiency;
  text.limit = row.limit;
  text.others = row.others;
  if (const std::optional<ThreadGain>& gain = at->splits->gain) {
    text.more_from = std::to_string(gain->from);
    text.more_to = std::to_string(gain->to);
    text.more_on = CoresText(gain->processes);
    text.gain = fmt::format(
        "{} ({})", FormatSpeedup(gain->speedup.value),
        FormatRange(FormatSpeedup(gain->speedup.interval80.low), FormatSpeedup(gain->speedup.interval80.high)));
  }
  return text;
}

SplitsSection SectionOf(const std::vector<Divided>& all, const Partials& texts) {
  SplitsSection section;
  section.sentences = RenderSentences(texts, "splits.txt", ToData(AnswerOf(all)));
  section.is_known = ToSpeakOf(all) != nullptr;
  if (!section.is_known) return section;
  for (const Divided& at : all) {
    section.best.push_back(BestOf(at));
    AddDetails(at, section.details);
    section.has_times |= at.IsKnown() && at.Best().seconds.has_value();
  }
  return section;
}

// Of an iteration, or over that of the best split where seconds are unknown.
const SplitValue& ShownTime(const ThreadSplit& split) { return split.seconds ? *split.seconds : split.time; }

// A line a number of cores over the threads of a process, which lie at even distances. `unit`: of times.
ChartSeries LineOf(const Divided& at, const std::map<std::int64_t, double>& places, double unit) {
  ChartSeries line;
  line.name = FormatCoreCount(static_cast<double>(at.cores));
  line.has_filled_points = true;
  for (const ThreadSplit& split : at.splits->splits) {
    if (split.reliability == Reliability::kUnknown) continue;
    const double x = places.at(split.threads);
    const SplitValue& time = ShownTime(split);
    const std::string text = split.seconds ? TimeOf(split) : FormatSignificant(time.value, 3) + " times the best";
    line.line.push_back({x, time.value / unit, ""});
    line.points.push_back({x, time.value / unit, fmt::format("{}: {}", NameOfSplit(split), text)});
    line.error_bars.push_back({x, time.interval80.low / unit, time.interval80.high / unit});
  }
  return line;
}

// Nothing where no split is known.
std::optional<Chart> ChartOf(const std::vector<Divided>& all, const std::string& heading) {
  std::vector<Divided> shown;
  std::ranges::copy_if(all, std::back_inserter(shown), [](const Divided& at) { return at.IsKnown(); });
  if (shown.size() > kMostLines) shown.resize(kMostLines);
  if (shown.empty()) return std::nullopt;
  std::map<std::int64_t, double> places;
  double longest = 0;  // of the best
  for (const Divided& at : shown) {
    for (const ThreadSplit& split : at.splits->splits) places[split.threads] = 0;
    longest = std::max(longest, ShownTime(at.Best()).value);
  }
  Chart chart;
  for (auto& [threads, place] : places) {
    place = static_cast<double>(chart.x_names.size());
    chart.x_names.push_back(std::to_string(threads));
  }
  const bool has_times = shown.front().Best().seconds.has_value();
  const TimeUnit unit = has_times ? UnitFor(longest) : TimeUnit{"", 1};
  chart.title = "Time over threads a process: " + heading;
  chart.description = "Predicted time of an iteration of " + heading +
                      " against the threads of a process, with 80 % intervals, a line a number of cores.";
  chart.x_label = "threads a process";
  chart.y_label = has_times ? fmt::format("{} an iteration (logarithmic)", unit.name) : "time over the best split";
  chart.log_x = false;
  chart.log_y = true;
  chart.width = 860;
  chart.height = 340;
  chart.has_script = false;
  for (const Divided& at : shown) {
    chart.series.push_back(LineOf(at, places, unit.seconds));
    for (const ChartBand& bar : chart.series.back().error_bars) {
      chart.y_min = std::min(chart.y_min.value_or(bar.low), bar.low);
      chart.y_max = std::max(chart.y_max.value_or(bar.high), bar.high);
    }
    chart.series.back().color = static_cast<int>(chart.series.size()) - 1;
  }
  return chart;
}

}  // namespace

std::optional<SplitsSection> SplitsOfPhase(const Results& results, const PhaseKey& key, const PhaseNames& names,
                                           const Partials& texts, ReportModel& model) {
  const std::vector<Divided> all = DividedOf(results, key);
  if (all.empty()) return std::nullopt;
  SplitsSection section = SectionOf(all, texts);
  if (const std::optional<Chart> chart = ChartOf(all, names.heading))
    section.figure = AddChart(*chart, names.anchor + "-splits.svg", model);
  return section;
}

std::string FormatBestSplits(const Results& results, const Partials& texts, const TerminalStyle& style) {
  std::string text;
  const bool several_series = results.table.Series().size() > 1;
  for (const PhaseKey& key : results.table.Keys()) {
    const std::vector<Divided> all = DividedOf(results, key);
    if (all.empty()) continue;
    SplitsSection section = SectionOf(all, texts);
    section.name = NameOfPhase(key, several_series);
    text += "\n" + RenderText(texts, "best_splits.txt", ToData(section), style.columns);
  }
  return text;
}

}  // namespace farscale
