#include "report/split_text.h"

#include <fmt/format.h>

#include "base/format.h"
#include "pages/text_table.h"

namespace farscale {

std::string FormatSplits(const std::vector<ThreadSplits>& phases, std::int64_t cores, std::size_t width) {
  std::string text;
  for (const ThreadSplits& phase : phases) {
    if (!text.empty()) text += "\n";
    text += phase.series + (phase.series.empty() ? "Phase " : ", phase ") + phase.phase.Text() + "\n";
    if (!phase.obstacle.empty()) {
      text += "  unknown: " + phase.obstacle + "\n";
      continue;
    }
    const ThreadSplit& best = phase.splits[phase.best];
    text += fmt::format("  Best on {} cores: {} processes of {} thread{} (80 % interval: {} to {} threads)\n", cores,
                        best.processes, best.threads, best.threads == 1 ? "" : "s", phase.fewest, phase.most);
    std::vector<std::vector<std::string>> cells = {
        {"processes", "threads", "parallel efficiency", "80 % interval", "time over the best"}};
    for (const ThreadSplit& split : phase.splits) {
      cells.push_back({std::to_string(split.processes), std::to_string(split.threads), FormatFactor(split.efficiency),
                       FormatFactor(split.interval80.low) + "–" + FormatFactor(split.interval80.high),
                       fmt::format("{:.3g}", split.time)});
    }
    text += FormatTable(cells, width);
  }
  return text;
}

}  // namespace farscale
