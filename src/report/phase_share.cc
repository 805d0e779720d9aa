#include "report/phase_share.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace farscale {
namespace {

const RunRecord* RunOf(const Results& results, const FactorRow& row) {
  const auto run = std::ranges::find_if(results.runs, [&](const RunRecord& one) {
    return one.error.empty() && one.cores == row.cores && one.repeat == row.repeat;
  });
  return run == results.runs.end() ? nullptr : &*run;
}

// What of a run lies in no phase, as a share of its time. Ranks are in a phase for less than it takes from its first
// begin to its last end, which no phase can be longer than.
double OutsideOf(const Results& results, const RunRecord& run) {
  double covered = run.coverage;
  for (const FactorRow& row : results.table.rows) {
    if (row.cores != run.cores || row.repeat != run.repeat || !row.runtime) continue;
    covered = std::max(covered, *row.runtime / run.seconds);
  }
  return std::clamp(1 - covered, 0.0, 1.0);
}

}  // namespace

std::string ShareOfRun(const Results& results, const std::vector<FactorRow>& rows, const PhaseId& phase) {
  if (results.table.Series().size() > 1) return "";  // runs of different programs may have the same cores
  std::vector<std::string> shares;
  std::string left_out;
  for (const FactorRow* row : {&rows.front(), &rows.back()}) {
    const RunRecord* run = RunOf(results, *row);
    if (run == nullptr || !row->runtime || !(run->seconds > 0)) return "";
    const std::string cores = shares.empty() ? FormatCoreCount(static_cast<double>(row->cores))
                                             : FormatCores(static_cast<double>(row->cores));
    const auto marks = std::ranges::find(run->phases, phase.name, &PhaseMarks::phase);
    double share = *row->runtime / run->seconds;
    if (marks != run->phases.end() && marks->Count() > marks->LeftOut())
      share *= static_cast<double>(marks->Count()) / static_cast<double>(marks->Count() - marks->LeftOut());
    if (row == &rows.front() || rows.front().cores != rows.back().cores) {
      shares.push_back(fmt::format("{} {}on {}", FormatPercent(std::min(1.0, share)),
                                   shares.empty() ? "of the run time " : "", cores));
    }
    if (row != &rows.back() || marks == run->phases.end() || marks->LeftOut() == 0) continue;
    left_out = fmt::format("; {} of {} iterations excluded as disturbed", FormatCount(marks->LeftOut()),
                           FormatCount(marks->Count()));
  }
  return Join(shares, ", ") + left_out;
}

std::string OutsideOfPhases(const Results& results, double least) {
  if (results.table.Series().size() > 1) return "";
  const RunRecord *smallest = nullptr, *largest = nullptr;
  for (const RunRecord& run : results.runs) {
    if (!run.error.empty() || !(run.seconds > 0) || !(run.coverage > 0)) continue;
    if (smallest == nullptr || run.cores < smallest->cores) smallest = &run;
    if (largest == nullptr || run.cores > largest->cores) largest = &run;
  }
  if (largest == nullptr) return "";
  const double first = OutsideOf(results, *smallest), last = OutsideOf(results, *largest);
  if (std::max(first, last) < least) return "";
  std::string text = fmt::format("{} of the run time on {}", FormatPercent(first),
                                 FormatCoreCount(static_cast<double>(smallest->cores)));
  if (largest->cores == smallest->cores) return text;
  return text + fmt::format(", {} on {}", FormatPercent(last), FormatCores(static_cast<double>(largest->cores)));
}

}  // namespace farscale
