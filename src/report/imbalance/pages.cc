#include "report/imbalance/pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "base/version.h"
#include "pages/render.h"
#include "report/loss_sentences.h"
#include "report/losses_section.h"

namespace farscale {
namespace {

// One run in a line.
struct LossRunRow {
  std::string cores, length, waiting = "unknown", share = "unknown", cause = "–", part = "–";
  FARSCALE_TAGS(cores, length, waiting, share, cause, part)
};

struct LossPhase {
  std::string heading, anchor, summed;
  bool several_runs = false;
  std::vector<LossRunRow> runs;
  std::vector<ReportData> losses;  // of the largest run, then of those that were grown
  FARSCALE_TAGS(heading, anchor, summed, several_runs, runs, losses)
};

struct LossPages {
  std::string title, generator;
  bool several_phases = false, has_warnings = false;
  std::vector<std::string> warnings;
  std::vector<LossPhase> phases;
  FARSCALE_TAGS(title, generator, several_phases, has_warnings, warnings, phases)
};

LossRunRow RowOf(const LossRecord& losses) {
  LossRunRow row{FormatCores(static_cast<double>(losses.cores)) + (losses.grown_from ? ", grown" : ""),
                 FormatSeconds(losses.length)};
  if (losses.repeat > 0) row.cores += fmt::format(", repeat {}", losses.repeat);
  if (!losses.unknown_waits) {
    row.waiting = FormatSeconds(losses.Waiting());
    row.share = ShareOrDash(losses.Waiting(), losses.allocation);
  }
  const std::vector<const PathRecord*> causes = LargestPaths(losses, 1, CostsOf);
  if (!causes.empty()) {
    row.cause = causes.front()->path;
    row.part = ShareOrDash(CostsOf(*causes.front()), losses.Waiting());
  }
  return row;
}

}  // namespace

ReportModel BuildLossesModel(const std::vector<LossRecord>& records, const std::vector<LossGrowth>& growth,
                             const std::string& title, const Partials& texts, std::size_t top,
                             const std::vector<Finding>& warnings) {
  LossPages pages{.title = title, .generator = Generator(), .has_warnings = !warnings.empty()};
  for (const Finding& warning : warnings) pages.warnings.push_back(ToSentence(warning));
  std::vector<std::string> names;
  for (const LossRecord& record : records) {
    if (std::ranges::find(names, record.phase) == names.end()) names.push_back(record.phase);
  }
  std::set<std::string> anchors;
  for (const std::string& name : names) {
    LossPhase phase{.heading = name.empty() ? "All of the run" : name, .anchor = UniqueSlug(name, anchors)};
    const LossRecord* largest = nullptr;
    std::vector<const LossRecord*> grown;
    for (const LossRecord& record : records) {
      if (record.phase != name) continue;
      phase.runs.push_back(RowOf(record));
      if (record.grown_from) {
        grown.push_back(&record);
      } else if (largest == nullptr || record.cores >= largest->cores) {
        largest = &record;
      }
    }
    if (largest == nullptr) largest = grown.front();
    std::vector<LossGrowth> of_phase = growth;
    std::erase_if(of_phase, [&](const LossGrowth& one) { return one.phase != name; });
    phase.several_runs = phase.runs.size() > 1;
    phase.summed = LossRanks(*largest).summed;
    const LossDetail detail{.rows = top, .maps = std::min<std::size_t>(top, 5)};
    phase.losses.push_back(LossesOfPhase(*largest, of_phase, phase.heading, texts, detail));
    for (const LossRecord* record : grown) {
      if (record == largest) continue;
      phase.losses.push_back(LossesOfPhase(*record, {}, phase.heading + " on " + CoresOf(*record), texts, detail));
    }
    pages.phases.push_back(std::move(phase));
  }
  pages.several_phases = pages.phases.size() > 1;
  return {ToData(pages), {}};
}

}  // namespace farscale
