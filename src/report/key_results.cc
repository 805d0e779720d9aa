#include "report/key_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/reliability.h"
#include "report/figures.h"

namespace farscale {
namespace {

using BoundKind = CountBound::Kind;

constexpr double kSmallestGain = 0.0005;  // prints as 0.1 %
constexpr double kWantedRatio = 8;        // of the target that sentences speak of
// Chosen: an interval that gets less than a tenth narrower is not worth a run.
constexpr double kNoticeable = 0.9;

template <typename Format>
std::string FormatOpenBounds(const std::optional<OpenBounds>& bounds, const char* between, Format format) {
  if (!bounds) return "unknown";
  if (!bounds->high) return "more than " + format(bounds->low);
  return FormatRange(format(bounds->low), format(*bounds->high), between);
}

// "20.4 %", for bounds. What is above 1 has nothing to gain from being 1.
std::string FormatGainSize(double gain) {
  const double percent = 100 * std::max(0.0, gain);
  if (percent >= 100) return FormatSpeedup(percent) + " %";
  return percent < 0.05 ? "0 %" : fmt::format("{:.1f} %", percent);
}

std::string FormatGain(double gain) {
  const std::string size = FormatGainSize(gain);
  return size == "0 %" ? size : "+" + size;
}

// Which answer of a level, and the factor whose curve it was read off.
struct LevelKind {
  std::optional<CountEstimate> LevelCounts::*answer;
  Factor factor;
};
constexpr LevelKind kOfParallel = {&LevelCounts::parallel, Factor::kParallelEfficiency};
constexpr LevelKind kOfSpeedup = {&LevelCounts::relative, Factor::kSpeedup};

struct LevelText {
  std::string percent, cores, interval;
  bool is_first = false, is_below = false, is_end = false, is_reliable = false;
  FARSCALE_TAGS(percent, cores, interval, is_first, is_below, is_end, is_reliable)
};

struct LevelsText {
  std::string reference;  // that efficiency is relative to; empty: parallel efficiency
  std::vector<LevelText> steps;
  FARSCALE_TAGS(reference, steps)
};

struct PeakText {
  std::string cores, interval, speedup, speedup_interval, reference, beyond;
  bool is_end = false;
  FARSCALE_TAGS(cores, interval, speedup, speedup_interval, reference, beyond, is_end)
};

struct TimeText {
  FARSCALE_TEXTS(cores, seconds, seconds_interval, hours, hours_interval, iterations, phase_hours)
};

struct ChangedText {
  FARSCALE_TEXTS(name, then, now)
};

struct GainText {
  std::string cores, name, value, interval;
  std::optional<ChangedText> whole;
  FARSCALE_TAGS(cores, name, value, interval, whole)
};

struct NextRunText {
  std::string cores, factor, target, width, expected, core_hours;
  bool is_repeat = false;
  FARSCALE_TAGS(cores, factor, target, width, expected, core_hours, is_repeat)
};

// The tags of key_results.txt.mustache.
struct KeyResultsText {
  std::vector<LevelsText> levels;
  std::optional<PeakText> peak;
  std::optional<TimeText> time;
  std::optional<GainText> gain;
  std::optional<NextRunText> next_run;
  FARSCALE_TAGS(levels, peak, time, gain, next_run)
};

// All levels of one kind of efficiency, without those below a level that is reached at all counts and those at which
// the count is unknown.
LevelsText LevelsOf(const PhaseProjection& projection, const LevelKind& kind, const std::string& reference) {
  LevelsText text{reference, {}};
  const CountEstimate* before = nullptr;
  for (const LevelCounts& level : projection.key_results->levels) {
    if (!(level.*kind.answer)) continue;
    const CountEstimate& here = *(level.*kind.answer);
    const bool reached_end = before != nullptr && before->value.kind == BoundKind::kMoreThan;
    const bool is_repeated = reached_end && here == *before;
    before = &here;
    if (is_repeated) continue;
    const Reliability count = ReliabilityOf(projection, kind.factor, here.value);
    if (count == Reliability::kUnknown) continue;
    const bool is_exact = here.low == here.value && here.high == here.value;
    const bool is_reliable = count == Reliability::kReliable;
    text.steps.push_back({fmt::format("{:g}", 100 * level.level), FormatCores(here.value.cores),
                          !here.low || is_exact ? "" : FormatCountBounds(here, "–"), text.steps.empty(),
                          is_reliable && here.value.kind == BoundKind::kBelow,
                          is_reliable && here.value.kind == BoundKind::kMoreThan && !reached_end, is_reliable});
  }
  return text;
}

// Nothing where the peak is uncertain.
std::optional<PeakText> PeakOf(const PhaseProjection& projection) {
  const KeyResults& key_results = *projection.key_results;
  if (!key_results.peak || !key_results.reference) return std::nullopt;
  const CountEstimate& count = key_results.peak->count;
  if (ReliabilityOf(projection, Factor::kSpeedup, count.value) != Reliability::kReliable) return std::nullopt;
  PeakText text{.cores = FormatCores(count.value.cores),
                .interval = count.low ? FormatCountBounds(count, "–") : "",
                .speedup = FormatSpeedup(key_results.peak->speedup),
                .speedup_interval = "",
                .reference = FormatCoreCount(*key_results.reference),
                .beyond = "",
                .is_end = count.value.kind == BoundKind::kMoreThan};
  if (const auto& bounds = key_results.peak->speedup80) {
    text.speedup_interval = FormatRange(FormatSpeedup(bounds->low), FormatSpeedup(bounds->high), "–");
  }
  if (text.is_end && count.low && count.low->kind == BoundKind::kAt) text.beyond = FormatCores(count.low->cores);
  return text;
}

std::optional<TimeText> TimeOf(const PhaseProjection& projection) {
  const std::optional<TimeEstimate>& time = projection.key_results->time;
  const std::optional<double> cores = TargetToSpeakOf(projection, Factor::kSpeedup);
  if (!time || !cores) return std::nullopt;
  const auto target = std::ranges::find(time->targets, *cores, &ProjectedTime::cores);
  if (target == time->targets.end()) return std::nullopt;
  const auto hours = [&](double seconds) { return FormatCoreHours(CoreHours(*cores, seconds)); };
  return TimeText{FormatCores(*cores),
                  FormatSeconds(target->seconds),
                  FormatOpenBounds(target->interval80, "–", FormatSeconds),
                  hours(target->seconds),
                  FormatOpenBounds(target->interval80, "–", hours),
                  fmt::format("{:g}", time->iterations),
                  time->iterations != 1 ? hours(target->seconds * time->iterations) : ""};
}

// Efficiency as projected, to compare with what it would be.
std::optional<double> ValueAt(const PhaseProjection& projection, Factor factor, double cores) {
  const FactorProjection* found = projection.Find(factor);
  if (found == nullptr) return std::nullopt;
  for (const ProjectedValue& target : found->targets) {
    if (target.cores == cores) return target.value;
  }
  return std::nullopt;
}

std::optional<GainText> GainOf(const PhaseProjection& projection) {
  const std::optional<double> cores = TargetToSpeakOf(projection, Factor::kParallelEfficiency);
  const auto& targets = projection.key_results->perfect;
  const auto at = cores ? std::ranges::find(targets, *cores, &PerfectAtTarget::cores) : targets.end();
  if (at == targets.end() || at->factors.empty() || at->factors.front().gain < kSmallestGain) return std::nullopt;
  const PerfectFactor& best = at->factors.front();
  GainText text{FormatCores(*cores),
                NameInSentence(best.factor),
                "",
                best.gain80 ? FormatOpenBounds(best.gain80, "–", FormatGainSize) : "",
                {}};
  const Reliability level = ReliabilityOf(projection, best.factor, *cores);
  if (level == Reliability::kUnknown || text.interval.empty()) text.interval = LabelOf(level);
  if (level != Reliability::kReliable) return text;
  text.value = FormatGain(best.gain);
  const Factor whole = best.parallel_efficiency ? Factor::kParallelEfficiency : Factor::kGlobalEfficiency;
  const std::optional<double> then = best.parallel_efficiency ? best.parallel_efficiency : best.global_efficiency;
  const std::optional<double> now = ValueAt(projection, whole, *cores);
  if (then && now) text.whole = ChangedText{NameInSentence(whole), FormatFactor(*then), FormatFactor(*now)};
  return text;
}

std::string FormatWidth(double width) { return FormatSignificant(width, 2); }

std::optional<NextRunText> NextRunOf(const PhaseProjection& projection) {
  const RunChoice* suggested = SuggestedRun(projection);
  if (suggested == nullptr) return std::nullopt;
  const NextRuns& next = *projection.next_runs;
  const RunChoice& best = *suggested;
  return NextRunText{
      FormatCores(best.cores), NameInSentence(next.factor), FormatCores(next.target),
      FormatWidth(next.width), FormatWidth(best.width),     best.core_hours ? FormatCoreHours(*best.core_hours) : "",
      best.is_repeat};
}

ResultCell CountCell(const PhaseProjection& projection, const LevelCounts& level, const LevelKind& kind) {
  const std::optional<CountEstimate>& answer = level.*kind.answer;
  if (!answer) return {"–", ""};
  const std::string interval = FormatCountBounds(*answer, " – ");
  const Reliability reliability = ReliabilityOf(projection, kind.factor, answer->value);
  if (reliability == Reliability::kUnknown) return {ToString(reliability), "", false};
  if (reliability == Reliability::kUncertain) return {interval, ToString(reliability), false};
  const std::string value = FormatBound(answer->value);
  return {value, answer->low && interval != value ? interval : ""};
}

ResultTable LevelTable(const PhaseProjection& projection) {
  const KeyResults& key_results = *projection.key_results;
  ResultTable table;
  table.caption = "Largest number of cores with at least that efficiency";
  table.header = {{"Efficiency", ""}};
  const auto any = [&](std::optional<CountEstimate> LevelCounts::*answer) {
    return std::any_of(key_results.levels.begin(), key_results.levels.end(),
                       [&](const LevelCounts& level) { return (level.*answer).has_value(); });
  };
  const bool has_parallel = any(&LevelCounts::parallel), has_relative = any(&LevelCounts::relative);
  if (has_parallel) table.header.push_back({"Parallel efficiency", "of the cores' time"});
  if (has_relative) {
    table.header.push_back({"Relative efficiency", "to the run on " + FormatCoreCount(*key_results.reference)});
  }
  for (const LevelCounts& level : key_results.levels) {
    table.rows.push_back({{fmt::format("{:g}", level.level), ""}, {}});
    if (has_parallel) table.rows.back().cells.push_back(CountCell(projection, level, kOfParallel));
    if (has_relative) table.rows.back().cells.push_back(CountCell(projection, level, kOfSpeedup));
  }
  return table;
}

// The heading of a row about a target.
ResultCell TargetCell(const PhaseProjection& projection, double cores, Reliability level) {
  const std::string ratio = FormatRatio(cores / projection.fitted_cores.back());
  const bool is_reliable = level == Reliability::kReliable;
  return {FormatCores(cores), is_reliable ? ratio : ratio + ", " + ToString(level), is_reliable};
}

// A time, or what it costs; where it is uncertain its interval alone.
template <typename Format>
ResultCell TimeCell(const PhaseProjection& projection, const ProjectedTime& target, Format format) {
  const std::string interval = FormatOpenBounds(target.interval80, " – ", format);
  const Reliability level = ReliabilityOf(projection, Factor::kSpeedup, target.cores);
  if (level == Reliability::kUnknown) return {"–", "", false};
  if (level == Reliability::kUncertain) return {interval, "", false};
  return {format(target.seconds), interval};
}

ResultTable TimeTable(const PhaseProjection& projection) {
  const TimeEstimate& time = *projection.key_results->time;
  ResultTable table;
  table.caption = "Time and cost at the targets";
  table.header = {{"Cores", "beyond the runs"}, {"Time", "per iteration"}, {"Core hours", "per iteration"}};
  const bool has_several = time.iterations != 1;
  if (has_several) table.header.push_back({"Core hours", fmt::format("of {:g} iterations", time.iterations)});
  for (const ProjectedTime& target : time.targets) {
    const auto hours = [&](double iterations) {
      return TimeCell(projection, target,
                      [&](double seconds) { return FormatCoreHours(CoreHours(target.cores, seconds) * iterations); });
    };
    const Reliability level = ReliabilityOf(projection, Factor::kSpeedup, target.cores);
    table.rows.push_back(
        {TargetCell(projection, target.cores, level), {TimeCell(projection, target, FormatSeconds), hours(1)}});
    if (has_several) table.rows.back().cells.push_back(hours(time.iterations));
  }
  return table;
}

// The efficiency that all factors of the table are part of.
Factor WholeOf(const std::vector<PerfectAtTarget>& targets) {
  for (const PerfectAtTarget& at : targets) {
    for (const PerfectFactor& perfect : at.factors) {
      if (perfect.global_efficiency) return Factor::kGlobalEfficiency;
    }
  }
  return Factor::kParallelEfficiency;
}

// What of it is known.
ResultCell GainCell(const PhaseProjection& projection, double cores, const PerfectFactor& perfect, Factor whole) {
  std::string detail = FormatOpenBounds(perfect.gain80, " – ", FormatGainSize);
  const Reliability level = ReliabilityOf(projection, perfect.factor, cores);
  if (ReliabilityOf(projection, cores) == Reliability::kUnknown) return {"–", "", false};
  if (level == Reliability::kUnknown) detail = ToString(level);
  if (level != Reliability::kReliable) return {Name(perfect.factor), detail, false};
  const bool is_global = whole == Factor::kGlobalEfficiency;
  const std::optional<double>& then = is_global ? perfect.global_efficiency : perfect.parallel_efficiency;
  if (then && IsReliable(projection, whole, cores)) detail += "; " + FormatFactor(*then);
  if (perfect.seconds && IsReliable(projection, Factor::kSpeedup, cores)) {
    detail += "; " + FormatSeconds(*perfect.seconds);
  }
  return {Name(perfect.factor) + " " + FormatGain(perfect.gain), detail};
}

// Without factors above 1, and those that a report does not have.
std::vector<PerfectAtTarget> WithGains(const PhaseProjection& projection) {
  std::vector<PerfectAtTarget> targets = projection.key_results->perfect;
  for (PerfectAtTarget& at : targets) {
    std::erase_if(at.factors, [&](const PerfectFactor& perfect) {
      const FactorProjection* factor = projection.Find(perfect.factor);
      return perfect.gain < 0 || (factor != nullptr && !IsShown(*factor));
    });
  }
  return targets;
}

ResultTable PerfectTable(const PhaseProjection& projection) {
  const std::vector<PerfectAtTarget> targets = WithGains(projection);
  ResultTable table;
  const Factor whole = WholeOf(targets);
  table.caption = fmt::format("Potential gain from removing each loss, with the resulting {}{}", NameInSentence(whole),
                              projection.key_results->time ? " and time per iteration" : "");
  table.is_text = true;
  table.header = {{"Cores", "beyond the runs"}};
  std::size_t most = 0;
  for (const PerfectAtTarget& at : targets) most = std::max(most, at.factors.size());
  for (std::size_t rank = 1; rank <= most; ++rank) {
    table.header.push_back({rank == 1 ? "Largest gain" : fmt::format("No. {}", rank), ""});
  }
  for (const PerfectAtTarget& at : targets) {
    table.rows.push_back({TargetCell(projection, at.cores, ReliabilityOf(projection, at.cores)), {}});
    for (std::size_t i = 0; i < most; ++i) {
      table.rows.back().cells.push_back(i < at.factors.size() ? GainCell(projection, at.cores, at.factors[i], whole)
                                                              : ResultCell{"–", ""});
    }
    const auto is_unknown = [](const ResultCell& cell) { return cell.text == "–"; };
    if (std::ranges::all_of(table.rows.back().cells, is_unknown)) table.rows.pop_back();
  }
  return table;
}

ResultTable NextRunTable(const NextRuns& next) {
  ResultTable table;
  table.caption = fmt::format("Suggested next runs: width of the 80 % interval of {} at {} cores, now {}",
                              NameInSentence(next.factor), FormatCores(next.target), FormatWidth(next.width));
  table.header = {{"Cores", ""}, {"Width", "expected after the run"}, {"Core hours", "of this phase"}};
  for (const RunChoice& choice : next.choices) {
    table.rows.push_back(
        {{FormatCores(choice.cores) + (choice.is_repeat ? " (again)" : ""), ""},
         {{FormatWidth(choice.width), ""}, {choice.core_hours ? FormatCoreHours(*choice.core_hours) : "unknown", ""}}});
  }
  return table;
}

}  // namespace

std::string FormatBound(const CountBound& bound) {
  const std::string cores = FormatCores(bound.cores);
  if (bound.kind == BoundKind::kBelow) return "below " + cores;
  return bound.kind == BoundKind::kMoreThan ? "more than " + cores : cores;
}

std::string FormatCountBounds(const CountEstimate& answer, const char* between) {
  if (!answer.low || !answer.high) return "unknown";
  return FormatRange(FormatBound(*answer.low), FormatBound(*answer.high), between);
}

std::optional<double> TargetToSpeakOf(const PhaseProjection& projection, Factor factor) {
  std::optional<double> best;
  double distance = 0;
  const double reach = ReliableUpTo(projection, factor);
  for (const PerfectAtTarget& at : projection.key_results->perfect) {
    const double ratio = at.cores / projection.fitted_cores.back();
    const double here = std::fabs(std::log(ratio / kWantedRatio));
    if (at.cores > reach || (best && here >= distance)) continue;
    best = at.cores;
    distance = here;
  }
  return best;
}

const RunChoice* SuggestedRun(const PhaseProjection& projection) {
  if (!projection.next_runs || projection.next_runs->choices.empty()) return nullptr;
  const RunChoice& best = projection.next_runs->choices.front();
  return best.width > kNoticeable * projection.next_runs->width ? nullptr : &best;
}

// Three digits from a hundredth of a core hour on, two below.
std::string FormatCoreHours(double hours) {
  return hours < 1000 ? FormatSignificant(hours, hours < 0.01 ? 2 : 3) : FormatSpeedup(hours);
}

std::vector<std::string> SummarizeKeyResults(const PhaseProjection& projection, const Partials& texts) {
  if (!projection.key_results) return {};
  KeyResultsText text{{}, PeakOf(projection), TimeOf(projection), GainOf(projection), NextRunOf(projection)};
  text.levels.push_back(LevelsOf(projection, kOfParallel, ""));
  if (const auto& reference = projection.key_results->reference) {
    text.levels.push_back(LevelsOf(projection, kOfSpeedup, FormatCoreCount(*reference)));
  }
  std::erase_if(text.levels, [](const LevelsText& levels) { return levels.steps.empty(); });
  return RenderSentences(texts, "key_results.txt", ToData(text));
}

std::string DescribePeak(const PhaseProjection& projection, const Partials& texts) {
  if (!projection.key_results) return "";
  return Join(RenderSentences(texts, "peak.txt", {{"peak", ToData(PeakOf(projection))}}), " ");
}

std::string SuggestNextRun(const PhaseProjection& projection, const Partials& texts) {
  return Join(RenderSentences(texts, "next_run.txt", {{"nextRun", ToData(NextRunOf(projection))}}), " ");
}

std::vector<ResultTable> TabulateOutlook(const PhaseProjection& projection) {
  std::vector<ResultTable> tables;
  if (!projection.key_results) return tables;
  if (!projection.key_results->levels.empty()) tables.push_back(LevelTable(projection));
  if (projection.key_results->time) tables.push_back(TimeTable(projection));
  return tables;
}

std::vector<ResultTable> TabulateGains(const PhaseProjection& projection) {
  if (!projection.key_results || projection.key_results->perfect.empty()) return {};
  ResultTable perfect = PerfectTable(projection);
  return perfect.header.size() > 1 && !perfect.rows.empty() ? std::vector{std::move(perfect)}
                                                            : std::vector<ResultTable>();
}

std::vector<ResultTable> TabulateNextRuns(const PhaseProjection& projection) {
  if (!projection.key_results || !projection.next_runs) return {};
  return {NextRunTable(*projection.next_runs)};
}

std::vector<ResultTable> TabulateKeyResults(const PhaseProjection& projection) {
  std::vector<ResultTable> tables = TabulateOutlook(projection);
  for (ResultTable& table : TabulateGains(projection)) tables.push_back(std::move(table));
  for (ResultTable& table : TabulateNextRuns(projection)) tables.push_back(std::move(table));
  return tables;
}

}  // namespace farscale
