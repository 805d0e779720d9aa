#include "report/split_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "pages/text_table.h"

namespace farscale {
namespace {

constexpr double kLongestBar = 20;  // columns; chosen: as wide as a column of the table

std::string SplitName(const ThreadSplit& split) { return fmt::format("{} × {}", split.processes, split.threads); }

template <typename FormatOne>
std::string WithBounds(const SplitValue& value, FormatOne format) {
  return fmt::format("{} ({})", format(value.value),
                     FormatRange(format(value.interval80.low), format(value.interval80.high)));
}

// "32× the most processes, 2× the most threads of the runs"; empty within the runs.
std::string BeyondRuns(const ThreadSplit& split) {
  std::vector<std::string> parts;
  if (split.processes_ratio > 1) parts.push_back(FormatRatio(split.processes_ratio) + " the most processes");
  if (split.threads_ratio > 1) parts.push_back(FormatRatio(split.threads_ratio) + " the most threads");
  return parts.empty() ? "" : Join(parts, ", ") + " that were run";
}

// What is the best and by how much, one sentence a line.
std::string SplitSummary(const ThreadSplits& phase, std::int64_t cores) {
  const ThreadSplit& best = phase.splits[phase.best];
  std::string text = fmt::format("  Best split of {} cores: {} process{} of {} thread{}", cores, best.processes,
                                 best.processes == 1 ? "" : "es", best.threads, best.threads == 1 ? "" : "s");
  if (best.seconds) text += ", " + WithBounds(*best.seconds, FormatSeconds) + " per iteration";
  if (best.speedup) text += ", speedup " + WithBounds(*best.speedup, FormatSpeedup);
  text += fmt::format("\n  Limited most by: {}\n", Describe(best.limit).name);
  std::vector<std::string> others;
  for (const ThreadSplit& split : phase.splits) {
    if (split.may_be_best && &split != &best) others.push_back(SplitName(split));
  }
  if (!others.empty()) text += "  Cannot be told apart from the best: " + Join(others, ", ") + "\n";
  const std::string beyond = BeyondRuns(best);
  if (!beyond.empty()) text += fmt::format("  Reliability: {} ({})\n", ToString(best.reliability), beyond);
  if (!best.speedup) text += "  Computation scalability is unknown and taken to be the same for all splits\n";
  if (phase.gain) {
    text += fmt::format("  {} instead of {} threads on {} process{}: {} times as fast\n", phase.gain->to,
                        phase.gain->from, phase.gain->processes, phase.gain->processes == 1 ? "" : "es",
                        WithBounds(phase.gain->speedup, FormatSpeedup));
  }
  return text;
}

std::string SplitTable(const ThreadSplits& phase, std::size_t width) {
  double longest = 0;
  for (const ThreadSplit& split : phase.splits) longest = std::max(longest, split.time.value);
  std::vector<std::vector<std::string>> cells = {
      {"processes × threads", "parallel efficiency", "time over the best", "reliability", ""}};
  for (const ThreadSplit& split : phase.splits) {
    const auto format_time = [](double time) { return FormatSignificant(time, 3); };
    std::string bar;
    for (int i = 0; i < std::lround(kLongestBar * split.time.value / longest); ++i) bar += "█";
    cells.push_back({SplitName(split), WithBounds(split.efficiency, FormatFactor), WithBounds(split.time, format_time),
                     ToString(split.reliability), bar});
  }
  return FormatTable(cells, width);
}

}  // namespace

std::string FormatSplits(const std::vector<ThreadSplits>& phases, std::int64_t cores, std::size_t width) {
  std::string text;
  for (const ThreadSplits& phase : phases) {
    if (!text.empty()) text += "\n";
    std::string name = phase.series;
    if (!phase.phase.IsUnnamed()) name += (name.empty() ? "Phase " : ", phase ") + phase.phase.Text();
    if (!name.empty()) text += name + "\n";
    if (!phase.obstacle.empty()) {
      text += "  unknown: " + phase.obstacle + "\n";
      continue;
    }
    text += SplitSummary(phase, cores) + SplitTable(phase, width);
  }
  return text;
}

}  // namespace farscale
