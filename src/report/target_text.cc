#include "report/target_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/text.h"
#include "report/figures.h"
#include "report/key_results.h"

namespace farscale {
namespace {

constexpr const char* kUnknownValue = "–";
constexpr std::size_t kWidestName = 24;  // columns, as in a digest

struct TargetLine {
  FARSCALE_TEXTS(cores, efficiency, time)
};

struct TargetsOfPhase {
  std::string name, factor;
  bool has_times = false;
  std::vector<TargetLine> targets;
  FARSCALE_TAGS(name, factor, has_times, targets)
};

// The tags of targets.txt.mustache. Neither wide nor tall: lines.
struct TargetsText {
  bool is_wide = false, is_tall = false;
  std::vector<TargetLine> targets;  // of the first phase, for a heading
  std::vector<TargetsOfPhase> phases;
  FARSCALE_TAGS(is_wide, is_tall, targets, phases)
};

// The tags of target_steps.txt.mustache.
struct NextSteps {
  std::string unknown, run, reach;  // counts; of the run to make next; up to which one may ask. Empty: none.
  bool are_phases = false;          // several
  FARSCALE_TAGS(unknown, run, reach, are_phases)
};

// `value` with its interval, or the interval alone.
std::string Worded(Reliability level, const std::string& value, const std::string& interval) {
  if (level == Reliability::kUnknown) return kUnknownValue;
  return level == Reliability::kUncertain ? "(" + interval + ")" : value;
}

std::string EfficiencyAt(const PhaseProjection& phase, const FactorProjection& factor, const ProjectedValue& target) {
  const std::string interval = FormatBounds(factor.factor, target.interval80, "–");
  const std::string value = fmt::format("{} ({})", FormatFactor(target.value), interval);
  const std::string text = Worded(ReliabilityOf(phase, factor.factor, target.cores), value, interval);
  const std::string runs = MeasuredAt(factor, target.cores);
  return runs.empty() ? text : text + ", measured " + runs;
}

std::string TimeAt(const PhaseProjection& phase, double cores) {
  const std::vector<ProjectedTime>& times = phase.key_results->time->targets;
  const auto time = std::ranges::find(times, cores, &ProjectedTime::cores);
  if (time == times.end() || !time->interval80) return kUnknownValue;
  return Worded(ReliabilityOf(phase, Factor::kSpeedup, cores), FormatTime(*time), FormatTimeBounds(*time->interval80));
}

std::optional<TargetsOfPhase> TargetTextOf(const PhaseProjection& phase, bool several_series) {
  const FactorProjection* headline = HeadlineOf(phase);
  if (headline == nullptr || headline->targets.empty()) return std::nullopt;
  const Factor factor = headline->factor;
  const std::string name = NameOfPhase({phase.series, phase.phase}, several_series);
  TargetsOfPhase text{name.empty() ? "all runs" : Shorten(name, kWidestName), NameInSentence(factor)};
  text.has_times = phase.key_results && phase.key_results->time;
  for (const ProjectedValue& target : headline->targets) {
    text.targets.push_back({FormatCores(target.cores), EfficiencyAt(phase, *headline, target),
                            text.has_times ? TimeAt(phase, target.cores) : ""});
  }
  return text;
}

// What to do about counts of which nothing is known in any phase.
NextSteps StepsOf(const std::vector<PhaseProjection>& projections) {
  std::set<double> unknown, known;
  std::optional<double> reach;
  const RunChoice* run = nullptr;
  std::size_t phases = 0;
  for (const PhaseProjection& phase : projections) {
    const FactorProjection* headline = HeadlineOf(phase);
    if (headline == nullptr) continue;
    phases += phase.reliable_range ? 1 : 0;
    if (run == nullptr) run = SuggestedRun(phase);
    if (phase.reliable_range)
      reach = std::min(reach.value_or(phase.reliable_range->cores), phase.reliable_range->cores);
    for (const ProjectedValue& target : headline->targets) {
      const bool is_unknown = ReliabilityOf(phase, headline->factor, target.cores) == Reliability::kUnknown;
      (is_unknown ? unknown : known).insert(target.cores);
    }
  }
  std::vector<std::string> counts;
  for (const double cores : unknown) {
    if (!known.contains(cores)) counts.push_back(FormatCores(cores));
  }
  return {Join(counts, ", "), run == nullptr ? "" : FormatCores(run->cores) + (run->is_repeat ? " again" : ""),
          reach ? FormatCores(*reach) : "", phases > 1};
}

bool IsWithin(const std::string& text, std::size_t columns) {
  const std::vector<std::string> lines = Split(text, '\n');
  return std::ranges::all_of(lines, [&](const std::string& line) { return DisplayWidth(line) <= columns; });
}

}  // namespace

std::vector<std::string> NextStepsForTargets(const std::vector<PhaseProjection>& projections, const Partials& texts) {
  return RenderSentences(texts, "target_steps.txt", ToData(StepsOf(projections)));
}

std::string FormatTargets(const std::vector<PhaseProjection>& projections, const Partials& texts,
                          const TerminalStyle& style) {
  TargetsText targets;
  const auto is_other = [&](const PhaseProjection& one) { return one.series != projections.front().series; };
  const bool several_series = std::ranges::any_of(projections, is_other);
  for (const PhaseProjection& projection : projections) {
    if (std::optional<TargetsOfPhase> phase = TargetTextOf(projection, several_series))
      targets.phases.push_back(std::move(*phase));
  }
  if (targets.phases.empty()) return "";
  targets.targets = targets.phases.front().targets;
  const auto formatted = [&](bool is_wide, bool is_tall) {
    targets.is_wide = is_wide;
    targets.is_tall = is_tall;
    return RenderText(texts, "targets.txt", ToData(targets));
  };
  for (const bool is_wide : {true, false}) {
    const std::string text = formatted(is_wide, !is_wide);
    if (IsWithin(text, style.columns)) return text;
  }
  return formatted(false, false);
}

}  // namespace farscale
