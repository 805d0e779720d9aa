#include "report/answers_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "base/text.h"
#include "report/evidence.h"
#include "report/figures.h"
#include "report/next_run_table.h"

namespace farscale {
namespace {

using Data = ReportData;
using Kind = CountBound::Kind;

constexpr double kWantedRatio = 8;  // of the target that sentences speak of

std::string FormatBound(const CountBound& bound) {
  const std::string cores = FormatCores(bound.cores);
  if (bound.kind == Kind::kBelow) return "below " + cores;
  return bound.kind == Kind::kMoreThan ? "more than " + cores : cores;
}

// "38 – 56", "38 – more than 1,000,000", or one of both when they are the same.
std::string FormatCountBounds(const CountAnswer& answer, const char* between) {
  if (!answer.low || !answer.high) return "unknown";
  if (*answer.low == *answer.high) return FormatBound(*answer.low);
  return FormatBound(*answer.low) + between + FormatBound(*answer.high);
}

template <typename Format>
std::string FormatOpenBounds(const std::optional<OpenBounds>& bounds, const char* between, Format format) {
  if (!bounds) return "unknown";
  if (!bounds->high) return "more than " + format(bounds->low);
  const std::string low = format(bounds->low), high = format(*bounds->high);
  return low == high ? low : low + between + high;
}

// What is above 1 has nothing to gain from being 1.
std::string FormatGain(double gain) {
  const double percent = 100 * std::max(0.0, gain);
  if (percent >= 100) return "+" + FormatSpeedup(percent) + " %";
  return std::fabs(percent) < 0.05 ? "0 %" : fmt::format("{:+.1f} %", percent);
}

// " (80 % interval 38 to 56)"; what it is an interval of is said once.
std::string InParentheses(const std::string& interval, bool is_first) {
  return fmt::format(" ({}{})", is_first ? "80 % interval " : "", interval);
}

// Which answer of a level, and the factor whose curve it was read off.
struct LevelKind {
  std::optional<CountAnswer> LevelAnswer::*answer;
  Factor factor;
};
constexpr LevelKind kOfParallel = {&LevelAnswer::parallel, Factor::kParallelEfficiency};
constexpr LevelKind kOfSpeedup = {&LevelAnswer::relative, Factor::kSpeedup};

// The answer to one level within a sentence.
std::string LevelInWords(double level, const CountAnswer& answer, bool is_evidence, bool is_first, bool explains_end) {
  const std::string cores = FormatCores(answer.value.cores);
  std::string text;
  if (!is_evidence) {
    text = fmt::format("at least {:g} up to a count that is not evidence", level);
  } else if (answer.value.kind == Kind::kBelow) {
    text = fmt::format("less than {:g} already on {} cores", level, cores);
  } else if (answer.value.kind == Kind::kAt) {
    text = fmt::format("at least {:g} up to {} cores", level, cores);
  } else {
    text =
        fmt::format("at least {:g} still on {} cores{}", level, cores, explains_end ? ", the largest count shown" : "");
  }
  const bool says_more = answer.low && !(*answer.low == answer.value && *answer.high == answer.value);
  return says_more ? text + InParentheses(FormatCountBounds(answer, " to "), is_first) : text;
}

// One sentence for all levels of one kind of efficiency. Less than a level that is reached at all counts is, too.
void SayLevels(const PhaseProjection& projection, const std::string& name, const LevelKind& kind,
               std::vector<std::string>& sentences) {
  std::vector<std::string> parts;
  const CountAnswer* before = nullptr;
  for (const LevelAnswer& level : projection.answers->levels) {
    if (!(level.*kind.answer)) continue;
    const CountAnswer& here = *(level.*kind.answer);
    const bool reached_end = before != nullptr && before->value.kind == Kind::kMoreThan;
    const bool is_repeated = reached_end && here == *before;
    before = &here;
    if (is_repeated) continue;
    parts.push_back(
        LevelInWords(level.level, here, IsEvidence(projection, kind.factor, here.value), parts.empty(), !reached_end));
  }
  if (!parts.empty()) sentences.push_back(name + " is " + Join(parts, ", ") + ".");
}

void SayPeak(const PhaseProjection& projection, std::vector<std::string>& sentences) {
  const PhaseAnswers& answers = *projection.answers;
  if (!answers.peak || !answers.reference) return;
  const CountAnswer& count = answers.peak->count;
  if (!IsEvidence(projection, Factor::kSpeedup, count.value)) {
    const std::string interval = count.low ? InParentheses(FormatCountBounds(count, " to ") + " cores", true) : "";
    sentences.push_back("Where speedup peaks is not evidence" + interval + ".");
    return;
  }
  const bool grows = count.value.kind == Kind::kMoreThan;
  const std::string cores = FormatCores(count.value.cores);
  std::string sentence = "Speedup peaks on " + cores + " cores";
  if (grows) sentence = "Speedup still grows on " + cores + " cores, the largest count shown, to";
  if (!grows && count.low) sentence += InParentheses(FormatCountBounds(count, " to "), true);
  sentence += (grows ? " " : ", at ") + FormatSpeedup(answers.peak->speedup);
  if (answers.peak->speedup80) {
    const IntervalBounds& bounds = *answers.peak->speedup80;
    sentence += InParentheses(FormatSpeedup(bounds.low) + " to " + FormatSpeedup(bounds.high), grows || !count.low);
  }
  sentence += fmt::format(" times the speed of the run on {} cores", FormatCores(*answers.reference));
  if (grows && count.low && count.low->kind == Kind::kAt) {
    sentence += fmt::format("; its peak lies beyond {}", FormatCores(count.low->cores));
  }
  sentences.push_back(sentence + ".");
}

// Of the targets that are evidence for a factor and beyond the runs, the one nearest to eight times the largest run.
std::optional<double> TargetToSpeakOf(const PhaseProjection& projection, Factor factor) {
  std::optional<double> best;
  double distance = 0;
  const double reach = EvidenceUpTo(projection, factor);
  for (const PerfectAtTarget& at : projection.answers->perfect) {
    const double ratio = at.cores / projection.fitted_cores.back();
    const double here = std::fabs(std::log(ratio / kWantedRatio));
    if (at.cores > reach || (best && here >= distance)) continue;
    best = at.cores;
    distance = here;
  }
  return best;
}

void SayTime(const PhaseProjection& projection, double cores, std::vector<std::string>& sentences) {
  const std::optional<TimeAnswer>& time = projection.answers->time;
  if (!time) return;
  for (const ProjectedTime& target : time->targets) {
    if (target.cores != cores) continue;
    const double hours = CoreHours(cores, target.seconds);
    std::string sentence = fmt::format(
        "On {} cores an iteration takes {} (80 % interval {}) and costs {} core hours ({})", FormatCores(cores),
        FormatSeconds(target.seconds), FormatOpenBounds(target.interval80, " to ", FormatSeconds),
        FormatCoreHours(hours), FormatOpenBounds(target.interval80, " to ", [&](double seconds) {
          return FormatCoreHours(CoreHours(cores, seconds));
        }));
    if (time->iterations != 1) {
      sentence +=
          fmt::format(", the phase of {:g} iterations {}", time->iterations, FormatCoreHours(hours * time->iterations));
    }
    sentences.push_back(sentence + ".");
  }
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

void SayPerfect(const PhaseProjection& projection, double cores, std::vector<std::string>& sentences) {
  for (const PerfectAtTarget& at : projection.answers->perfect) {
    if (at.cores != cores || at.factors.empty()) continue;
    const PerfectFactor& best = at.factors.front();
    if (best.gain < 0.0005) continue;
    std::string sentence = fmt::format("On {} cores {} would bring most if it were perfect", FormatCores(cores),
                                       NameInSentence(best.factor));
    if (!IsEvidence(projection, best.factor, cores)) {
      const std::string range = FormatOpenBounds(best.gain80, " to ", FormatGain);
      sentences.push_back(sentence + "; how much is not evidence" + (range.empty() ? "" : " (" + range + ")") + ".");
      continue;
    }
    sentence += ": " + FormatGain(best.gain);
    if (best.gain80) sentence += InParentheses(FormatOpenBounds(best.gain80, " to ", FormatGain), true);
    const Factor whole = best.parallel_efficiency ? Factor::kParallelEfficiency : Factor::kGlobalEfficiency;
    const std::optional<double> then = best.parallel_efficiency ? best.parallel_efficiency : best.global_efficiency;
    const std::optional<double> now = ValueAt(projection, whole, cores);
    if (then && now) {
      sentence += fmt::format(", {} {} instead of {}", NameInSentence(whole), FormatFactor(*then), FormatFactor(*now));
    }
    sentences.push_back(sentence + ".");
  }
}

AnswerCell CountCell(const PhaseProjection& projection, const LevelAnswer& level, const LevelKind& kind) {
  const std::optional<CountAnswer>& answer = level.*kind.answer;
  if (!answer) return {"–", ""};
  const std::string interval = FormatCountBounds(*answer, " – ");
  if (!IsEvidence(projection, kind.factor, answer->value)) return {interval, kNotEvidence, false};
  const std::string value = FormatBound(answer->value);
  return {value, answer->low && interval != value ? interval : ""};
}

AnswerTable LevelTable(const PhaseProjection& projection) {
  const PhaseAnswers& answers = *projection.answers;
  AnswerTable table;
  table.caption = "The largest number of cores with at least that efficiency";
  table.header = {{"Efficiency", ""}};
  const auto any = [&](std::optional<CountAnswer> LevelAnswer::*answer) {
    return std::any_of(answers.levels.begin(), answers.levels.end(),
                       [&](const LevelAnswer& level) { return (level.*answer).has_value(); });
  };
  const bool has_parallel = any(&LevelAnswer::parallel), has_relative = any(&LevelAnswer::relative);
  if (has_parallel) table.header.push_back({"Parallel efficiency", "of the cores' time"});
  if (has_relative) {
    table.header.push_back(
        {"Relative efficiency", fmt::format("to the run on {} cores", FormatCores(*answers.reference))});
  }
  for (const LevelAnswer& level : answers.levels) {
    table.rows.push_back({{fmt::format("{:g}", level.level), ""}});
    if (has_parallel) table.rows.back().push_back(CountCell(projection, level, kOfParallel));
    if (has_relative) table.rows.back().push_back(CountCell(projection, level, kOfSpeedup));
  }
  return table;
}

// The heading of a row about a target.
AnswerCell TargetCell(const PhaseProjection& projection, double cores, bool is_evidence) {
  const std::string ratio = FormatRatio(cores / projection.fitted_cores.back());
  return {FormatCores(cores), is_evidence ? ratio : ratio + ", " + kNotEvidence, is_evidence};
}

// A time, or what it costs; beyond the evidence horizon its interval alone.
template <typename Format>
AnswerCell TimeCell(const PhaseProjection& projection, const ProjectedTime& target, Format format) {
  const std::string interval = FormatOpenBounds(target.interval80, " – ", format);
  if (!IsEvidence(projection, Factor::kSpeedup, target.cores)) return {interval, "", false};
  return {format(target.seconds), interval};
}

AnswerTable TimeTable(const PhaseProjection& projection) {
  const TimeAnswer& time = *projection.answers->time;
  AnswerTable table;
  table.caption = "Time and cost at the targets";
  table.header = {{"Cores", "beyond the runs"}, {"Time", "of an iteration"}, {"Core hours", "of an iteration"}};
  const bool has_several = time.iterations != 1;
  if (has_several) table.header.push_back({"Core hours", fmt::format("of {:g} iterations", time.iterations)});
  for (const ProjectedTime& target : time.targets) {
    const auto hours = [&](double iterations) {
      return TimeCell(projection, target,
                      [&](double seconds) { return FormatCoreHours(CoreHours(target.cores, seconds) * iterations); });
    };
    const bool is_evidence = IsEvidence(projection, Factor::kSpeedup, target.cores);
    table.rows.push_back(
        {TargetCell(projection, target.cores, is_evidence), TimeCell(projection, target, FormatSeconds), hours(1)});
    if (has_several) table.rows.back().push_back(hours(time.iterations));
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
AnswerCell GainCell(const PhaseProjection& projection, double cores, const PerfectFactor& perfect, Factor whole) {
  std::string detail = FormatOpenBounds(perfect.gain80, " – ", FormatGain);
  if (!IsEvidence(projection, perfect.factor, cores)) return {Name(perfect.factor), detail, false};
  const bool is_global = whole == Factor::kGlobalEfficiency;
  const std::optional<double>& then = is_global ? perfect.global_efficiency : perfect.parallel_efficiency;
  if (then && IsEvidence(projection, whole, cores)) detail += "; " + FormatFactor(*then);
  if (perfect.seconds && IsEvidence(projection, Factor::kSpeedup, cores)) {
    detail += "; " + FormatSeconds(*perfect.seconds);
  }
  return {Name(perfect.factor) + " " + FormatGain(perfect.gain), detail};
}

// Without factors above 1.
std::vector<PerfectAtTarget> WithGains(std::vector<PerfectAtTarget> targets) {
  for (PerfectAtTarget& at : targets) {
    at.factors.erase(std::remove_if(at.factors.begin(), at.factors.end(),
                                    [](const PerfectFactor& perfect) { return perfect.gain < 0; }),
                     at.factors.end());
  }
  return targets;
}

AnswerTable PerfectTable(const PhaseProjection& projection) {
  const std::vector<PerfectAtTarget> targets = WithGains(projection.answers->perfect);
  AnswerTable table;
  const Factor whole = WholeOf(targets);
  table.caption = fmt::format("What one perfect factor would bring, and the {}{} then", NameInSentence(whole),
                              projection.answers->time ? " and time of an iteration" : "");
  table.is_text = true;
  table.header = {{"Cores", "beyond the runs"}};
  std::size_t most = 0;
  for (const PerfectAtTarget& at : targets) most = std::max(most, at.factors.size());
  for (std::size_t rank = 1; rank <= most; ++rank) {
    table.header.push_back({rank == 1 ? "Largest gain" : fmt::format("No. {}", rank), ""});
  }
  for (const PerfectAtTarget& at : targets) {
    table.rows.push_back({TargetCell(projection, at.cores, IsEvidence(projection, at.cores))});
    for (std::size_t i = 0; i < most; ++i) {
      table.rows.back().push_back(i < at.factors.size() ? GainCell(projection, at.cores, at.factors[i], whole)
                                                        : AnswerCell{"–", ""});
    }
  }
  return table;
}

Data ToData(const AnswerCell& cell) {
  return {{"text", cell.text},
          {"detail", cell.detail},
          {"hasDetail", !cell.detail.empty()},
          {"color", cell.is_evidence ? kNoColor : kNoEvidenceColor},
          {"tone", cell.is_evidence ? kNoTone : kNoEvidenceTone}};
}

Data ToData(const AnswerTable& table) {
  Data data = {
      {"caption", table.caption}, {"isText", table.is_text}, {"header", Data::array()}, {"rows", Data::array()}};
  for (const AnswerCell& cell : table.header) data["header"].push_back(ToData(cell));
  for (const std::vector<AnswerCell>& row : table.rows) {
    Data cells = Data::array();
    for (std::size_t i = 1; i < row.size(); ++i) cells.push_back(ToData(row[i]));
    data["rows"].push_back({{"heading", ToData(row.front())}, {"cells", cells}});
  }
  return data;
}

}  // namespace

// Three digits from a hundredth of a core hour on, two below.
std::string FormatCoreHours(double hours) {
  return hours < 1000 ? FormatSignificant(hours, hours < 0.01 ? 2 : 3) : FormatSpeedup(hours);
}

std::vector<std::string> SummarizeAnswers(const PhaseProjection& projection) {
  std::vector<std::string> sentences;
  if (!projection.answers) return sentences;
  SayLevels(projection, "Parallel efficiency", kOfParallel, sentences);
  if (projection.answers->reference) {
    SayLevels(projection,
              fmt::format("Efficiency relative to the run on {} cores", FormatCores(*projection.answers->reference)),
              kOfSpeedup, sentences);
  }
  SayPeak(projection, sentences);
  if (const auto cores = TargetToSpeakOf(projection, Factor::kSpeedup)) SayTime(projection, *cores, sentences);
  if (const auto cores = TargetToSpeakOf(projection, Factor::kParallelEfficiency)) {
    SayPerfect(projection, *cores, sentences);
  }
  if (const std::string next = DescribeNextRun(projection); !next.empty()) sentences.push_back(next);
  return sentences;
}

std::vector<AnswerTable> TabulateAnswers(const PhaseProjection& projection) {
  std::vector<AnswerTable> tables;
  if (!projection.answers) return tables;
  if (!projection.answers->levels.empty()) tables.push_back(LevelTable(projection));
  if (projection.answers->time) tables.push_back(TimeTable(projection));
  if (!projection.answers->perfect.empty()) {
    AnswerTable perfect = PerfectTable(projection);
    if (perfect.header.size() > 1) tables.push_back(std::move(perfect));
  }
  if (projection.next_runs) tables.push_back(TabulateNextRuns(projection));
  return tables;
}

ReportData AnswersOfPhase(const PhaseProjection* projection) {
  Data data = {{"hasAnswers", false}, {"answers", Data::array()}, {"answerTables", Data::array()}};
  if (projection == nullptr) return data;
  for (const std::string& sentence : SummarizeAnswers(*projection)) data["answers"].push_back(sentence);
  for (const AnswerTable& table : TabulateAnswers(*projection)) data["answerTables"].push_back(ToData(table));
  data["hasAnswers"] = !data["answerTables"].empty();
  return data;
}

}  // namespace farscale
