#include "report/imbalance/pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/format.h"
#include "base/version.h"
#include "pages/render.h"
#include "report/loss_ranks.h"
#include "report/losses_section.h"

namespace farscale {
namespace {

using Data = ReportData;

// One run in a line.
Data RowOf(const LossRecord& losses) {
  const std::vector<const PathRecord*> causes =
      LargestPaths(losses, 1, [](const PathRecord& path) { return path.total.Costs(); });
  const double waiting = losses.Waiting();
  std::string run = FormatCores(static_cast<double>(losses.cores));
  if (losses.repeat > 0) run += fmt::format(", repeat {}", losses.repeat);
  return {{"cores", run},
          {"length", FormatSeconds(losses.length)},
          {"waiting", losses.unknown_waits ? "unknown" : FormatSeconds(waiting)},
          {"share", losses.unknown_waits    ? "unknown"
                    : losses.allocation > 0 ? FormatPercent(waiting / losses.allocation) : "–"},
          {"cause", causes.empty() ? "–" : causes.front()->path},
          {"part", causes.empty() ? "–" : FormatPercent(causes.front()->total.Costs() / waiting)}};
}

}  // namespace

ReportModel BuildLossesModel(const std::vector<LossRecord>& records, const std::vector<LossGrowth>& growth,
                             const std::string& title, std::size_t top, const std::vector<Finding>& warnings) {
  ReportModel model;
  std::vector<std::string> phases;
  for (const LossRecord& record : records) {
    if (std::find(phases.begin(), phases.end(), record.phase) == phases.end()) phases.push_back(record.phase);
  }
  model.data = {{"title", title}, {"generator", Generator()}, {"severalPhases", phases.size() > 1}};
  model.data["warnings"] = Data::array();
  for (const Finding& warning : warnings) model.data["warnings"].push_back(ToSentence(warning));
  model.data["hasWarnings"] = !warnings.empty();
  model.data["phases"] = Data::array();
  std::set<std::string> anchors;
  for (const std::string& phase : phases) {
    Data runs = Data::array();
    const LossRecord* largest = nullptr;
    for (const LossRecord& record : records) {
      if (record.phase != phase) continue;
      runs.push_back(RowOf(record));
      if (largest == nullptr || record.cores >= largest->cores) largest = &record;
    }
    std::vector<LossGrowth> of_phase;
    for (const LossGrowth& one : growth) {
      if (one.phase == phase) of_phase.push_back(one);
    }
    const std::string heading = phase.empty() ? "All of the run" : phase;
    model.data["phases"].push_back(
        {{"heading", heading},
         {"anchor", UniqueSlug(phase, anchors)},
         {"severalRuns", runs.size() > 1},
         {"runs", std::move(runs)},
         {"summed", LossRanks(*largest).Summed()},
         {"losses", LossesOfPhase(*largest, of_phase, heading, {top, std::min<std::size_t>(top, 5)})}});
  }
  return model;
}

std::string WriteLossesHtml(const ReportModel& model, const ReportTemplates& templates) {
  return RenderHtml(model, templates);
}

std::string WriteLossesMarkdown(const ReportModel& model, const ReportTemplates& templates) {
  return RenderTemplate(templates.markdown, model.data, Escape::kMarkdown, templates.partials);
}

}  // namespace farscale
