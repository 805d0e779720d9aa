#include "report/sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/figures.h"

namespace farscale {
namespace {

using BoundKind = CountBound::Kind;
using Data = ReportData;

constexpr double kSmallestGain = 0.0005;  // prints as 0.1 %
constexpr double kWantedRatio = 8;        // target of sentences over the largest run
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
using LevelKind = std::pair<std::optional<CountEstimate> LevelCounts::*, Factor>;
constexpr LevelKind kOfParallel = {&LevelCounts::parallel, Factor::kParallelEfficiency};
constexpr LevelKind kOfSpeedup = {&LevelCounts::relative, Factor::kSpeedup};

// All levels of one kind of efficiency, without those below a level that is reached at all counts and those at which
// the count is unknown.
Data Levels(const PhaseProjection& projection, const LevelKind& kind, const std::string& reference) {
  const auto [answer, factor] = kind;
  Data steps = Data::array();
  const CountEstimate* before = nullptr;
  for (const LevelCounts& level : projection.key_results->levels) {
    if (!(level.*answer)) continue;
    const CountEstimate& here = *(level.*answer);
    const bool reached_end = before != nullptr && before->value.kind == BoundKind::kMoreThan;
    const bool is_repeated = reached_end && here == *before;
    before = &here;
    if (is_repeated) continue;
    const Reliability count = ReliabilityOf(projection, factor, here.value);
    if (count == Reliability::kUnknown) continue;
    const bool is_exact = here.low == here.value && here.high == here.value;
    const bool is_reliable = count == Reliability::kReliable;
    steps.push_back({{"percent", fmt::format("{:g}", 100 * level.level)},
                     {"cores", FormatCores(here.value.cores)},
                     {"interval", !here.low || is_exact ? "" : FormatCountBounds(here, "–")},
                     {"isFirst", steps.empty()},
                     {"isBelow", is_reliable && here.value.kind == BoundKind::kBelow},
                     {"isEnd", is_reliable && here.value.kind == BoundKind::kMoreThan && !reached_end},
                     {"isReliable", is_reliable}});
  }
  return {{"reference", reference}, {"steps", std::move(steps)}};
}

// False where the peak is uncertain.
Data PeakText(const PhaseProjection& projection) {
  const KeyResults& key_results = *projection.key_results;
  if (!key_results.peak || !key_results.reference) return false;
  const CountEstimate& count = key_results.peak->count;
  if (ReliabilityOf(projection, Factor::kSpeedup, count.value) != Reliability::kReliable) return false;
  const bool is_end = count.value.kind == BoundKind::kMoreThan;
  const auto& bounds = key_results.peak->speedup80;
  return {{"cores", FormatCores(count.value.cores)},
          {"interval", count.low ? FormatCountBounds(count, "–") : ""},
          {"speedup", FormatSpeedup(key_results.peak->speedup)},
          {"speedupInterval", bounds ? FormatRange(FormatSpeedup(bounds->low), FormatSpeedup(bounds->high), "–") : ""},
          {"reference", FormatCoreCount(*key_results.reference)},
          {"beyond", is_end && count.low && count.low->kind == BoundKind::kAt ? FormatCores(count.low->cores) : ""},
          {"isEnd", is_end}};
}

Data TimeText(const PhaseProjection& projection) {
  const std::optional<TimeEstimate>& time = projection.key_results->time;
  const std::optional<double> cores = MainTarget(projection, Factor::kSpeedup);
  if (!time || !cores) return false;
  const auto target = std::ranges::find(time->targets, *cores, &ProjectedTime::cores);
  if (target == time->targets.end()) return false;
  const auto hours = [&](double seconds) { return FormatCoreHours(CoreHours(*cores, seconds)); };
  return {{"cores", FormatCores(*cores)},
          {"seconds", FormatSeconds(target->seconds)},
          {"secondsInterval", FormatOpenBounds(target->interval80, "–", FormatSeconds)},
          {"hours", hours(target->seconds)},
          {"hoursInterval", FormatOpenBounds(target->interval80, "–", hours)},
          {"iterations", fmt::format("{:g}", time->iterations)},
          {"phaseHours", time->iterations != 1 ? hours(target->seconds * time->iterations) : ""}};
}

Data GainText(const PhaseProjection& projection) {
  const std::optional<double> cores = MainTarget(projection, Factor::kParallelEfficiency);
  const auto& targets = projection.key_results->perfect;
  const auto at = cores ? std::ranges::find(targets, *cores, &PerfectAtTarget::cores) : targets.end();
  if (at == targets.end() || at->factors.empty() || at->factors.front().gain < kSmallestGain) return false;
  const PerfectFactor& best = at->factors.front();
  const Reliability level = ReliabilityOf(projection, best.factor, *cores);
  const bool is_reliable = level == Reliability::kReliable;
  const bool has_interval = level != Reliability::kUnknown && best.gain80;
  const Factor whole = best.parallel_efficiency ? Factor::kParallelEfficiency : Factor::kGlobalEfficiency;
  const std::optional<double> then = best.parallel_efficiency ? best.parallel_efficiency : best.global_efficiency;
  Data changed = false;
  if (const FactorProjection* found = projection.Find(whole); found != nullptr && is_reliable && then) {
    const auto now = std::ranges::find(found->targets, *cores, &ProjectedValue::cores);
    if (now != found->targets.end())
      changed = {{"name", NameInSentence(whole)}, {"then", FormatFactor(*then)}, {"now", FormatFactor(now->value)}};
  }
  return {{"cores", FormatCores(*cores)},
          {"name", NameInSentence(best.factor)},
          {"value", is_reliable ? FormatGain(best.gain) : ""},
          {"interval", has_interval ? FormatOpenBounds(best.gain80, "–", FormatGainSize) : ReliabilityLabel(level)},
          {"whole", std::move(changed)}};
}

std::string FormatWidth(double width) { return FormatSignificant(width, 2); }

Data NextRunText(const PhaseProjection& projection) {
  const RunChoice* best = SuggestedRun(projection);
  if (best == nullptr) return false;
  const NextRuns& next = *projection.next_runs;
  return {
      {"cores", FormatCores(best->cores)},    {"factor", NameInSentence(next.factor)},
      {"target", FormatCores(next.target)},   {"width", FormatWidth(next.width)},
      {"expected", FormatWidth(best->width)}, {"coreHours", best->core_hours ? FormatCoreHours(*best->core_hours) : ""},
      {"isRepeat", best->is_repeat}};
}

Data Cell(const std::string& text, const std::string& detail = "", bool is_reliable = true) {
  return {{"text", text}, {"detail", detail}, {"isReliable", is_reliable}};
}

Data ResultRow(Data heading, Data cells) { return {{"heading", std::move(heading)}, {"cells", std::move(cells)}}; }

// `is_text`: cells are words rather than numbers.
Data ResultTable(const std::string& caption, Data header, Data rows, bool is_text = false) {
  return {{"caption", caption}, {"isText", is_text}, {"header", std::move(header)}, {"rows", std::move(rows)}};
}

Data CountCell(const PhaseProjection& projection, const LevelCounts& level, const LevelKind& kind) {
  const std::optional<CountEstimate>& answer = level.*kind.first;
  if (!answer) return Cell("–");
  const std::string interval = FormatCountBounds(*answer, " – ");
  const Reliability reliability = ReliabilityOf(projection, kind.second, answer->value);
  if (reliability == Reliability::kUnknown) return Cell(ToString(reliability), "", false);
  if (reliability == Reliability::kUncertain) return Cell(interval, ToString(reliability), false);
  const std::string value = FormatBound(answer->value);
  return Cell(value, answer->low && interval != value ? interval : "");
}

// The heading of a row about a target.
Data TargetCell(const PhaseProjection& projection, double cores, Reliability level) {
  const std::string ratio = FormatRatio(cores / projection.fitted_cores.back());
  const bool is_reliable = level == Reliability::kReliable;
  return Cell(FormatCores(cores), is_reliable ? ratio : ratio + ", " + ToString(level), is_reliable);
}

// A time, or what it costs; where it is uncertain its interval alone.
template <typename Format>
Data TimeCell(const PhaseProjection& projection, const ProjectedTime& target, Format format) {
  const std::string interval = FormatOpenBounds(target.interval80, " – ", format);
  const Reliability level = ReliabilityOf(projection, Factor::kSpeedup, target.cores);
  if (level == Reliability::kUnknown) return Cell("–", "", false);
  if (level == Reliability::kUncertain) return Cell(interval, "", false);
  return Cell(format(target.seconds), interval);
}

// The gain as far as it is known.
Data GainCell(const PhaseProjection& projection, double cores, const PerfectFactor& perfect, Factor whole) {
  std::string detail = FormatOpenBounds(perfect.gain80, " – ", FormatGainSize);
  const Reliability level = ReliabilityOf(projection, perfect.factor, cores);
  if (ReliabilityOf(projection, cores) == Reliability::kUnknown) return Cell("–", "", false);
  if (level == Reliability::kUnknown) detail = ToString(level);
  if (level != Reliability::kReliable) return Cell(Name(perfect.factor), detail, false);
  const bool is_global = whole == Factor::kGlobalEfficiency;
  const std::optional<double>& then = is_global ? perfect.global_efficiency : perfect.parallel_efficiency;
  if (then && IsReliable(projection, whole, cores)) detail += "; " + FormatFactor(*then);
  if (perfect.seconds && IsReliable(projection, Factor::kSpeedup, cores)) {
    detail += "; " + FormatSeconds(*perfect.seconds);
  }
  return Cell(Name(perfect.factor) + " " + FormatGain(perfect.gain), detail);
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

std::optional<double> MainTarget(const PhaseProjection& projection, Factor factor) {
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
  Data levels = Data::array({Levels(projection, kOfParallel, "")});
  if (const auto& reference = projection.key_results->reference)
    levels.push_back(Levels(projection, kOfSpeedup, FormatCoreCount(*reference)));
  Data shown = Data::array();
  for (Data& one : levels) {
    if (!one["steps"].empty()) shown.push_back(std::move(one));
  }
  return RenderSentences(texts, "key_results.txt",
                         {{"levels", std::move(shown)},
                          {"peak", PeakText(projection)},
                          {"time", TimeText(projection)},
                          {"gain", GainText(projection)},
                          {"nextRun", NextRunText(projection)}});
}

std::string DescribePeak(const PhaseProjection& projection, const Partials& texts) {
  if (!projection.key_results) return "";
  return Join(RenderSentences(texts, "peak.txt", {{"peak", PeakText(projection)}}), " ");
}

std::string SuggestNextRun(const PhaseProjection& projection, const Partials& texts) {
  return Join(RenderSentences(texts, "next_run.txt", {{"nextRun", NextRunText(projection)}}), " ");
}

Data TabulateOutlook(const PhaseProjection& projection) {
  Data tables = Data::array();
  if (!projection.key_results) return tables;
  const KeyResults& key_results = *projection.key_results;
  if (!key_results.levels.empty()) {
    const auto any = [&](std::optional<CountEstimate> LevelCounts::*answer) {
      return std::ranges::any_of(key_results.levels, [&](const auto& level) { return (level.*answer).has_value(); });
    };
    const bool has_parallel = any(&LevelCounts::parallel), has_relative = any(&LevelCounts::relative);
    Data header = Data::array({Cell("Efficiency")}), rows = Data::array();
    if (has_parallel) header.push_back(Cell("Parallel efficiency", "of the cores' time"));
    if (has_relative)
      header.push_back(Cell("Relative efficiency", "to the run on " + FormatCoreCount(*key_results.reference)));
    for (const LevelCounts& level : key_results.levels) {
      Data cells = Data::array();
      if (has_parallel) cells.push_back(CountCell(projection, level, kOfParallel));
      if (has_relative) cells.push_back(CountCell(projection, level, kOfSpeedup));
      rows.push_back(ResultRow(Cell(fmt::format("{:g}", level.level)), std::move(cells)));
    }
    tables.push_back(
        ResultTable("Largest number of cores with at least that efficiency", std::move(header), std::move(rows)));
  }
  if (!key_results.time) return tables;
  const TimeEstimate& time = *key_results.time;
  Data header = {Cell("Cores", "beyond the runs"), Cell("Time", "per iteration"), Cell("Core hours", "per iteration")};
  Data rows = Data::array();
  const bool has_several = time.iterations != 1;
  if (has_several) header.push_back(Cell("Core hours", fmt::format("of {:g} iterations", time.iterations)));
  for (const ProjectedTime& target : time.targets) {
    const auto hours = [&](double iterations) {
      return TimeCell(projection, target,
                      [&](double seconds) { return FormatCoreHours(CoreHours(target.cores, seconds) * iterations); });
    };
    const Reliability level = ReliabilityOf(projection, Factor::kSpeedup, target.cores);
    Data cells = {TimeCell(projection, target, FormatSeconds), hours(1)};
    if (has_several) cells.push_back(hours(time.iterations));
    rows.push_back(ResultRow(TargetCell(projection, target.cores, level), std::move(cells)));
  }
  tables.push_back(ResultTable("Time and cost at the targets", std::move(header), std::move(rows)));
  return tables;
}

Data TabulateGains(const PhaseProjection& projection) {
  Data tables = Data::array();
  if (!projection.key_results || projection.key_results->perfect.empty()) return tables;
  std::vector<PerfectAtTarget> targets = projection.key_results->perfect;
  for (PerfectAtTarget& at : targets) {  // without factors above 1, and those that a report does not have
    std::erase_if(at.factors, [&](const PerfectFactor& perfect) {
      const FactorProjection* factor = projection.Find(perfect.factor);
      return perfect.gain < 0 || (factor != nullptr && !IsShown(*factor));
    });
  }
  const bool is_global = std::ranges::any_of(targets, [](const PerfectAtTarget& at) {
    return std::ranges::any_of(at.factors, [](const auto& perfect) { return perfect.global_efficiency.has_value(); });
  });
  const Factor whole = is_global ? Factor::kGlobalEfficiency : Factor::kParallelEfficiency;
  std::size_t most = 0;
  for (const PerfectAtTarget& at : targets) most = std::max(most, at.factors.size());
  Data header = Data::array({Cell("Cores", "beyond the runs")}), rows = Data::array();
  for (std::size_t rank = 1; rank <= most; ++rank) {
    header.push_back(Cell(rank == 1 ? "Largest gain" : fmt::format("No. {}", rank)));
  }
  for (const PerfectAtTarget& at : targets) {
    Data cells = Data::array();
    for (std::size_t i = 0; i < most; ++i)
      cells.push_back(i < at.factors.size() ? GainCell(projection, at.cores, at.factors[i], whole) : Cell("–"));
    if (std::ranges::all_of(cells, [](const Data& cell) { return cell["text"] == "–"; })) continue;
    const Reliability level = ReliabilityOf(projection, at.cores);
    rows.push_back(ResultRow(TargetCell(projection, at.cores, level), std::move(cells)));
  }
  if (rows.empty()) return tables;
  const std::string caption =
      fmt::format("Potential gain from removing each loss, with the resulting {}{}", NameInSentence(whole),
                  projection.key_results->time ? " and time per iteration" : "");
  tables.push_back(ResultTable(caption, std::move(header), std::move(rows), true));
  return tables;
}

Data TabulateNextRuns(const PhaseProjection& projection) {
  Data tables = Data::array();
  if (!projection.key_results || !projection.next_runs) return tables;
  const NextRuns& next = *projection.next_runs;
  Data rows = Data::array();
  for (const RunChoice& choice : next.choices) {
    Data cells = {Cell(FormatWidth(choice.width)),
                  Cell(choice.core_hours ? FormatCoreHours(*choice.core_hours) : "unknown")};
    rows.push_back(ResultRow(Cell(FormatCores(choice.cores) + (choice.is_repeat ? " (again)" : "")), std::move(cells)));
  }
  const std::string caption =
      fmt::format("Suggested next runs: width of the 80 % interval of {} at {} cores, now {}",
                  NameInSentence(next.factor), FormatCores(next.target), FormatWidth(next.width));
  tables.push_back(ResultTable(
      caption, {Cell("Cores"), Cell("Width", "expected after the run"), Cell("Core hours", "of this phase")},
      std::move(rows)));
  return tables;
}

Data TabulateKeyResults(const PhaseProjection& projection) {
  Data tables = TabulateOutlook(projection);
  for (Data& table : TabulateGains(projection)) tables.push_back(std::move(table));
  for (Data& table : TabulateNextRuns(projection)) tables.push_back(std::move(table));
  return tables;
}

}  // namespace farscale
