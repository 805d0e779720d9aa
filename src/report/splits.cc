#include "report/sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "pages/text_table.h"
#include "plot/canvas.h"
#include "report/figures.h"

namespace farscale {
namespace {

using Data = ReportData;

constexpr const char* kUnknownSplit = "–";
constexpr std::size_t kMostLines = 6;  // in the chart, one a number of cores; chosen: the default targets

// The splits of a phase at one number of cores.
struct Divided {
  std::int64_t cores = 1;
  const ThreadSplits* splits = nullptr;

  bool IsKnown() const {
    return splits->obstacle.empty() && splits->splits[splits->best].reliability != Reliability::kUnknown;
  }
  const ThreadSplit& Best() const { return splits->splits[splits->best]; }
};

// The splits at all targets, up to the first behind which all are unknown.
std::vector<Divided> DivideTargets(const Results& results, const PhaseKey& key) {
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

std::string SplitText(const ThreadSplit& split) {
  return fmt::format("{} × {}", FormatCores(static_cast<double>(split.processes)), split.threads);
}

std::string CoresText(std::int64_t cores) { return FormatCores(static_cast<double>(cores)); }

template <typename FormatOne>
std::string WithBounds(const SplitValue& value, FormatOne format) {
  return fmt::format("{} ({})", format(value.value),
                     FormatRange(format(value.interval80.low), format(value.interval80.high)));
}

// A value with its interval, the interval alone, or a dash.
template <typename FormatOne>
std::string Worded(Reliability level, const SplitValue& value, FormatOne format) {
  if (level == Reliability::kUnknown) return kUnknownSplit;
  if (level == Reliability::kReliable) return WithBounds(value, format);
  return "(" + FormatRange(format(value.interval80.low), format(value.interval80.high)) + ")";
}

std::string SplitTime(const ThreadSplit& split) {
  if (!split.seconds || split.reliability == Reliability::kUnknown) return kUnknownSplit;
  const OpenBounds bounds{split.seconds->interval80.low, split.seconds->interval80.high};
  if (split.reliability == Reliability::kUncertain) return "(" + FormatTimeBounds(bounds) + ")";
  return FormatTime(split.seconds->value, bounds);
}

std::string SplitEfficiency(const ThreadSplit& split) {
  return Worded(split.reliability, split.efficiency, FormatFactor);
}

// Those that cannot be told apart from the best one: "16 × 4, 8 × 8".
std::string EqualSplits(const ThreadSplits& splits, std::string (*name)(const ThreadSplit&)) {
  std::vector<std::string> others;
  for (const ThreadSplit& split : splits.splits) {
    if (split.may_be_best && &split != &splits.splits[splits.best]) others.push_back(name(split));
  }
  return Join(others, ", ");
}

Data BestSplit(const Divided& at) {
  const bool is_known = at.IsKnown(), has_any = at.splits->obstacle.empty();
  const auto known = [&](const auto& format) { return is_known ? format(at.Best()) : kUnknownSplit; };
  return {{"cores", CoresText(at.cores)},
          {"split", known(SplitText)},
          {"time", known(SplitTime)},
          {"efficiency", known(SplitEfficiency)},
          {"limit", known([](const ThreadSplit& split) { return NameInSentence(split.limit); })},
          {"others", is_known ? EqualSplits(*at.splits, SplitText) : ""},
          {"reliability", has_any ? ReliabilityLabel(at.Best().reliability) : ""},
          {"obstacle", at.splits->obstacle}};
}

// The largest number of cores whose best split is reliable, else the first that is known; null: none is.
const Divided* MainSplit(const std::vector<Divided>& all) {
  const Divided* chosen = nullptr;
  for (const Divided& at : all) {
    if (!at.IsKnown()) continue;
    if (chosen == nullptr || at.Best().reliability == Reliability::kReliable) chosen = &at;
  }
  return chosen;
}

// The tags of splits.txt.mustache: the best split of one number of cores, and what more threads would bring.
Data SplitAnswer(const std::vector<Divided>& all) {
  const Divided* at = MainSplit(all);
  if (at == nullptr) return {{"cores", ""}, {"obstacle", all.front().splits->obstacle}};
  const ThreadSplit& best = at->Best();
  Data text = BestSplit(*at);
  text.update({{"processes", CoresText(best.processes)},
               {"threads", std::to_string(best.threads)},
               {"isOneProcess", best.processes == 1},
               {"isOneThread", best.threads == 1},
               {"isUncertain", best.reliability == Reliability::kUncertain},
               {"gain", ""}});
  if (!best.seconds) text["time"] = "";
  if (const std::optional<ThreadGain>& gain = at->splits->gain) {
    text.update({{"moreFrom", std::to_string(gain->from)},
                 {"moreTo", std::to_string(gain->to)},
                 {"moreOn", CoresText(gain->processes)},
                 {"gain", WithBounds(gain->speedup, FormatSpeedup)}});
  }
  return text;
}

Data SplitsText(const std::vector<Divided>& all, const Partials& texts) {
  const bool is_known = MainSplit(all) != nullptr;
  Data best = Data::array(), details = Data::array();
  bool has_times = false;
  for (const Divided& at : all) {
    if (!is_known) break;
    best.push_back(BestSplit(at));
    has_times |= at.IsKnown() && at.Best().seconds.has_value();
    if (!at.splits->obstacle.empty()) continue;
    for (const ThreadSplit& split : at.splits->splits) {
      const bool is_first = &split == &at.splits->splits.front();
      const auto format_ratio = [](double ratio) { return FormatSignificant(ratio, 3); };
      details.push_back({{"cores", is_first ? CoresText(at.cores) : ""},
                         {"split", SplitText(split)},
                         {"time", SplitTime(split)},
                         {"overBest", Worded(split.reliability, split.time, format_ratio)},
                         {"efficiency", SplitEfficiency(split)},
                         {"limit", NameInSentence(split.limit)},
                         {"reliability", ReliabilityLabel(split.reliability)},
                         {"isBest", &split == &at.Best()}});
    }
  }
  return {{"name", ""},  // the phase, on the terminal
          {"sentences", RenderSentences(texts, "splits.txt", SplitAnswer(all))},
          {"best", std::move(best)},
          {"isKnown", is_known},
          {"hasTimes", has_times},
          {"figure", false},
          {"details", std::move(details)}};
}

// The time of an iteration, or over that of the best split where seconds are unknown.
const SplitValue& ShownTime(const ThreadSplit& split) { return split.seconds ? *split.seconds : split.time; }

// Nothing where no split is known.
std::optional<Chart> SplitsChart(const std::vector<Divided>& all, const std::string& heading) {
  std::vector<Divided> shown;
  std::ranges::copy_if(all, std::back_inserter(shown), [](const Divided& at) { return at.IsKnown(); });
  if (shown.size() > kMostLines) shown.resize(kMostLines);
  if (shown.empty()) return std::nullopt;
  std::map<std::int64_t, double> places;
  double longest = 0;  // the best
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
  const auto [unit, seconds] = has_times ? UnitFor(longest) : std::pair("", 1.0);
  chart.title = "Time over threads a process: " + heading;
  chart.description = "Predicted time of an iteration of " + heading +
                      " against the threads of a process, with 80 % intervals, a line a number of cores.";
  chart.x_label = "threads a process";
  chart.y_label = has_times ? fmt::format("{} an iteration (logarithmic)", unit) : "time over the best split";
  chart.log_x = false;
  chart.log_y = true;
  chart.width = 860;
  chart.height = 340;
  chart.has_script = false;
  for (const Divided& at : shown) {
    ChartSeries line;  // over the threads of a process, which lie at even distances
    line.name = FormatCoreCount(static_cast<double>(at.cores));
    line.has_filled_points = true;
    line.color = static_cast<int>(chart.series.size());
    for (const ThreadSplit& split : at.splits->splits) {
      if (split.reliability == Reliability::kUnknown) continue;
      const double x = places.at(split.threads);
      const SplitValue& time = ShownTime(split);
      const double low = time.interval80.low / seconds, high = time.interval80.high / seconds;
      const std::string text = split.seconds ? SplitTime(split) : FormatSignificant(time.value, 3) + " times the best";
      line.line.push_back({x, time.value / seconds, ""});
      line.points.push_back({x, time.value / seconds, fmt::format("{}: {}", SplitText(split), text)});
      line.error_bars.push_back({x, low, high});
      chart.y_min = std::min(chart.y_min.value_or(low), low);
      chart.y_max = std::max(chart.y_max.value_or(high), high);
    }
    chart.series.push_back(std::move(line));
  }
  return chart;
}

constexpr double kLongestBar = 20;  // columns; chosen: as wide as a column of the table

std::string SplitName(const ThreadSplit& split) { return fmt::format("{} × {}", split.processes, split.threads); }

// The best split and its advantage, one sentence a line.
std::string SplitSummary(const ThreadSplits& phase, std::int64_t cores) {
  const ThreadSplit& best = phase.splits[phase.best];
  std::string text = fmt::format("  Best split of {} cores: {} process{} of {} thread{}", cores, best.processes,
                                 best.processes == 1 ? "" : "es", best.threads, best.threads == 1 ? "" : "s");
  if (best.seconds) text += ", " + WithBounds(*best.seconds, FormatSeconds) + " per iteration";
  if (best.speedup) text += ", speedup " + WithBounds(*best.speedup, FormatSpeedup);
  text += fmt::format("\n  Limited most by: {}\n", Describe(best.limit).name);
  if (const std::string others = EqualSplits(phase, SplitName); !others.empty())
    text += "  Cannot be told apart from the best: " + others + "\n";
  std::vector<std::string> beyond;  // "32× the most processes", "2× the most threads"; empty within the runs
  if (best.processes_ratio > 1) beyond.push_back(FormatRatio(best.processes_ratio) + " the most processes");
  if (best.threads_ratio > 1) beyond.push_back(FormatRatio(best.threads_ratio) + " the most threads");
  if (!beyond.empty())
    text += fmt::format("  Reliability: {} ({} that were run)\n", ToString(best.reliability), Join(beyond, ", "));
  if (!best.speedup) text += "  Computation scalability is unknown and taken to be the same for all splits\n";
  if (phase.gain) {
    text += fmt::format("  {} instead of {} threads on {} process{}: {} times as fast\n", phase.gain->to,
                        phase.gain->from, phase.gain->processes, phase.gain->processes == 1 ? "" : "es",
                        WithBounds(phase.gain->speedup, FormatSpeedup));
  }
  return text;
}

}  // namespace

Data Splits(const Results& results, const PhaseKey& key, const PhaseNames& names, const Partials& texts,
            ReportModel& model) {
  const std::vector<Divided> all = DivideTargets(results, key);
  if (all.empty()) return false;
  Data section = SplitsText(all, texts);
  if (const std::optional<Chart> chart = SplitsChart(all, names.heading))
    section["figure"] = AddChart(*chart, names.anchor + "-splits.svg", model);
  return section;
}

std::string FormatBestSplits(const Results& results, const Partials& texts, const TerminalStyle& style) {
  std::string text;
  const bool several_series = results.table.Series().size() > 1;
  for (const PhaseKey& key : results.table.Keys()) {
    const std::vector<Divided> all = DivideTargets(results, key);
    if (all.empty()) continue;
    Data section = SplitsText(all, texts);
    const std::string name = NameOfPhase(key, several_series);
    section.update({{"name", name}, {"heading", name}});
    text += "\n" + RenderText(texts, "best_splits.txt", section, style.columns);
  }
  return text;
}

std::string FormatSplits(const std::vector<ThreadSplits>& phases, std::int64_t cores, std::size_t width) {
  std::string text;
  for (const ThreadSplits& phase : phases) {
    if (!text.empty()) text += "\n";
    const std::string name = PhaseHeading(phase.series, phase.phase);
    if (!name.empty()) text += name + "\n";
    if (!phase.obstacle.empty()) {
      text += "  unknown: " + phase.obstacle + "\n";
      continue;
    }
    double longest = 0;
    for (const ThreadSplit& split : phase.splits) longest = std::max(longest, split.time.value);
    std::vector<std::vector<std::string>> cells = {
        {"processes × threads", "parallel efficiency", "time over the best", "reliability", ""}};
    for (const ThreadSplit& split : phase.splits) {
      const auto format_time = [](double time) { return FormatSignificant(time, 3); };
      std::string bar;
      for (int i = 0; i < std::lround(kLongestBar * split.time.value / longest); ++i) bar += "█";
      cells.push_back({SplitName(split), WithBounds(split.efficiency, FormatFactor),
                       WithBounds(split.time, format_time), ToString(split.reliability), bar});
    }
    text += SplitSummary(phase, cores) + FormatTable(cells, width);
  }
  return text;
}

}  // namespace farscale
