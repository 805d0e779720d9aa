#include "report/next_run_table.h"

#include <fmt/format.h>

#include "base/format.h"
#include "base/text.h"

namespace farscale {
namespace {

// An interval that gets less than a tenth narrower is not worth a run.
constexpr double kNoticeable = 0.9;

std::string Width(double width) { return FormatSignificant(width, 2); }

std::string NameOf(const RunChoice& choice) {
  return FormatCores(choice.cores) + (choice.is_repeat ? " (once more)" : "");
}

}  // namespace

std::string DescribeNextRun(const PhaseProjection& projection) {
  if (!projection.next_runs || projection.next_runs->choices.empty()) return "";
  const NextRuns& next = *projection.next_runs;
  const RunChoice& best = next.choices.front();
  if (best.width > kNoticeable * next.width) return "";
  std::string text = fmt::format(
      "The next best run: {} cores{} would narrow the 80 % interval of {} on {} cores from {} to about {}",
      FormatCores(best.cores), best.is_repeat ? " once more" : "", ToLower(std::string(Describe(next.factor).name)),
      FormatCores(next.target), Width(next.width), Width(best.width));
  if (best.core_hours) text += fmt::format(", for {} core hours of this phase", FormatCoreHours(*best.core_hours));
  return text + ".";
}

AnswerTable TabulateNextRuns(const PhaseProjection& projection) {
  const NextRuns& next = *projection.next_runs;
  AnswerTable table;
  table.caption =
      fmt::format("What to run next: width of the 80 % interval of {} on {} cores, {} as things are",
                  ToLower(std::string(Describe(next.factor).name)), FormatCores(next.target), Width(next.width));
  table.header = {
      {"Cores", "", true}, {"Width", "expected after the run", true}, {"Core hours", "of this phase", true}};
  for (const RunChoice& choice : next.choices) {
    table.rows.push_back({{NameOf(choice), "", true},
                          {Width(choice.width), "", true},
                          {choice.core_hours ? FormatCoreHours(*choice.core_hours) : "unknown", "", true}});
  }
  return table;
}

}  // namespace farscale
