#include "report/compare/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "base/text.h"
#include "factors/scaling.h"
#include "pages/text_table.h"
#include "report/figures.h"

namespace farscale {
namespace {

using Kind = Contribution::Kind;

constexpr double kTellingRatio = 8;      // of a target to the largest run
constexpr double kWorthSaying = 0.0005;  // of logarithms: half a digit of what is printed

std::string Cores(double cores) { return FormatCores(cores) + (cores == 1 ? " core" : " cores"); }

std::string Capital(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

// "beyond noise (95 % interval +1.0 % to +2.0 %)"
std::string Verdict(const ComparedNumber& number) {
  return fmt::format("{} (95 % interval {})", number.is_beyond_noise ? "beyond noise" : "within noise",
                     FormatRiseInterval(*number.change));
}

std::string SayTime(const ComparedResults& compared, const ComparedCount& count) {
  const Change& change = *count.seconds.change;
  std::string text =
      fmt::format("On {}, an iteration takes {} in {} and {} in {}: {}, {}", Cores(count.cores),
                  FormatSeconds(*count.seconds.before), compared.before, FormatSeconds(*count.seconds.after),
                  compared.after, FormatRise(change.ratio), Verdict(count.seconds));
  const Contribution* largest = count.time ? count.time->Largest() : nullptr;
  if (largest != nullptr && count.seconds.is_beyond_noise) {
    text += fmt::format(". {} contributes most: {}", Capital(NameOf(*largest)), DescribeParts(*count.time, 4));
  }
  return text + ".";
}

std::string SayEfficiency(const ComparedResults& compared, const ComparedCount& count) {
  const ComparedNumber* number = count.Find(count.whole);
  if (number == nullptr || !number->change || !count.efficiency) return "";
  std::string text =
      fmt::format("On {}, {} is {} in {} and {} in {}: {}, {}", Cores(count.cores), NameInSentence(count.whole),
                  FormatFactor(*number->before), compared.before, FormatFactor(*number->after), compared.after,
                  FormatRise(number->change->ratio), Verdict(*number));
  const Contribution* largest = count.efficiency->Largest();
  if (largest != nullptr && number->is_beyond_noise) {
    text += fmt::format(". {} contributes most: {}", Capital(NameOf(*largest)), DescribeParts(*count.efficiency, 4));
  }
  return text + ".";
}

// What changed beyond noise, with the counts at which it did.
std::string SayChanges(const ComparedPhase& phase) {
  std::vector<std::string> changed;
  std::size_t common = 0, times = 0;
  for (const ComparedCount& count : phase.counts) {
    common += count.is_common ? 1 : 0;
    times += count.seconds.is_beyond_noise ? 1 : 0;
  }
  if (common == 0) return "";
  const auto add = [&](const std::string& name, std::size_t beyond) {
    if (beyond > 0) changed.push_back(name + (common == 1 ? "" : fmt::format(" (on {})", beyond)));
  };
  for (const FactorType& type : AllFactors()) {
    std::size_t beyond = 0;
    for (const ComparedCount& count : phase.counts) {
      const ComparedNumber* number = count.Find(type.factor);
      beyond += number != nullptr && number->is_beyond_noise ? 1 : 0;
    }
    add(NameInSentence(type.factor), beyond);
  }
  add("time of an iteration", times);
  const std::string counts = common == 1 ? "one common core count" : fmt::format("{} common core counts", common);
  const std::size_t changes = phase.CountChanges();
  if (changed.empty())
    return fmt::format("On the {} nothing changed beyond noise, {} changes taken together.", counts, changes);
  return fmt::format("On the {} these changed beyond noise, {} changes taken together: {}.", counts, changes,
                     Join(changed, ", "));
}

std::string Projected(Factor factor, const ProjectedValue& value) {
  return FormatValue(factor, value.value) +
         (value.interval80 ? " (" + FormatBounds(factor, value.interval80) + ")" : "");
}

double LargestFitted(const ComparedPhase& phase) {
  return std::max(phase.projection_before->fitted_cores.back(), phase.projection_after->fitted_cores.back());
}

// Of the targets that are evidence: the largest on which the intervals are apart, else the one nearest to eight times
// the largest run.
const ComparedTarget* TellingTarget(const ComparedPhase& phase) {
  const ComparedTarget* apart = nullptr;
  const ComparedTarget* nearest = nullptr;
  const double aim = kTellingRatio * LargestFitted(phase);
  const auto distance = [&](const ComparedTarget& target) { return std::fabs(std::log(target.cores / aim)); };
  for (const ComparedTarget& target : phase.targets) {
    if (!target.efficiency.is_evidence) continue;
    if (target.efficiency.is_apart) apart = &target;
    if (nearest == nullptr || distance(target) < distance(*nearest)) nearest = &target;
  }
  return apart != nullptr ? apart : nearest;
}

// Targets that are evidence and larger than that, where the intervals overlap again.
std::string SayWhereTheyOverlap(const ComparedPhase& phase, const ComparedTarget& told) {
  const ComparedTarget* first = nullptr;
  for (const ComparedTarget& target : phase.targets) {
    if (target.efficiency.is_evidence && target.cores > told.cores && first == nullptr) first = &target;
  }
  return first == nullptr ? "" : fmt::format(" From {} on the intervals overlap.", Cores(first->cores));
}

std::string SayProjected(const ComparedResults& compared, const ComparedPhase& phase) {
  if (phase.targets.empty()) return "";
  const ComparedTarget* told = TellingTarget(phase);
  if (told == nullptr) return "The projections are not evidence on both sides at any common target.";
  const ProjectedPair& pair = told->efficiency;
  std::string text = fmt::format("On {}, which is evidence on both sides, {} is projected as {} in {} and {} in {}",
                                 Cores(told->cores), NameInSentence(told->whole), Projected(told->whole, *pair.before),
                                 compared.before, Projected(told->whole, *pair.after), compared.after);
  if (!pair.is_apart) return text + ": the 80 % intervals overlap, so that is no evidence of a difference.";
  text += ": the 80 % intervals are apart, which is evidence of a difference";
  const Contribution* largest = told->explained ? told->explained->Largest() : nullptr;
  if (largest != nullptr) {
    text += fmt::format("; {} contributes most: {}", NameOf(*largest), DescribeParts(*told->explained, 3));
  }
  return text + "." + SayWhereTheyOverlap(phase, *told);
}

using Cells = std::vector<std::vector<std::string>>;

std::string Number(Factor factor, const std::optional<double>& value) {
  return value ? FormatValue(factor, *value) : "-";
}
std::string Seconds(const std::optional<double>& value) { return value ? FormatSeconds(*value) : "-"; }

// What a change is: "+1.2 %", its interval, and whether it is noise.
std::vector<std::string> ChangeCells(const ComparedNumber& number) {
  if (!number.change) return {"-", "-", "-"};
  return {FormatRise(number.change->ratio), FormatRiseInterval(*number.change), number.is_beyond_noise ? "yes" : "no"};
}

std::string ShareOfDifference(const std::optional<Decomposition>& difference, Factor factor) {
  if (!difference) return "";
  for (const Contribution& part : difference->parts) {
    if (part.kind == Kind::kFactor && part.factor == factor) return FormatRise(std::exp(part.logarithm));
  }
  return "";
}

std::string TableOfFactors(const ComparedResults& compared, const ComparedCount& count) {
  Cells cells = {{"on " + Cores(count.cores), compared.before, compared.after, "change", "95 % interval",
                  "beyond noise", "part of " + (count.efficiency ? NameInSentence(count.whole) : "it")}};
  const auto add = [&](std::vector<std::string> row, const ComparedNumber& number, const std::string& part) {
    for (std::string& cell : ChangeCells(number)) row.push_back(std::move(cell));
    row.push_back(part);
    cells.push_back(std::move(row));
  };
  for (const ComparedFactor& one : count.factors) {
    const std::string indent(2 * static_cast<std::size_t>(DepthOf(one.factor)), ' ');
    add({indent + Name(one.factor), Number(one.factor, one.number.before), Number(one.factor, one.number.after)},
        one.number, ShareOfDifference(count.efficiency, one.factor));
  }
  if (count.seconds.before || count.seconds.after) {
    add({"Time of an iteration", Seconds(count.seconds.before), Seconds(count.seconds.after)}, count.seconds, "");
  }
  return FormatTable(cells);
}

std::string TableOfCounts(const ComparedResults& compared, const ComparedPhase& phase) {
  Factor whole = Factor::kParallelEfficiency;
  bool has_times = false;
  for (const ComparedCount& count : phase.counts) {
    if (count.efficiency) whole = count.whole;
    has_times = has_times || count.seconds.before || count.seconds.after;
  }
  Cells cells = {{"cores"}};
  if (has_times) cells[0].insert(cells[0].end(), {"time: " + compared.before, compared.after, "change"});
  cells[0].insert(cells[0].end(),
                  {NameInSentence(whole) + ": " + compared.before, compared.after, "change", "beyond noise", ""});
  for (const ComparedCount& count : phase.counts) {
    std::vector<std::string> row = {FormatCores(count.cores)};
    if (has_times) {
      row.insert(row.end(), {Seconds(count.seconds.before), Seconds(count.seconds.after),
                             count.seconds.change ? FormatRise(count.seconds.change->ratio) : "-"});
    }
    const ComparedNumber* number = count.Find(whole);
    const ComparedNumber none;
    if (number == nullptr) number = &none;
    const std::vector<std::string> change = ChangeCells(*number);
    const Contribution* largest = count.efficiency ? count.efficiency->Largest() : nullptr;
    row.insert(row.end(), {Number(whole, number->before), Number(whole, number->after), change[0], change[2],
                           largest != nullptr ? "most by " + NameOf(*largest) : ""});
    cells.push_back(std::move(row));
  }
  return FormatTable(cells);
}

std::string TableOfTargets(const ComparedResults& compared, const ComparedPhase& phase) {
  if (phase.targets.empty()) return "";
  const Factor whole = phase.targets.front().whole;
  Cells cells = {
      {"projected to", NameInSentence(whole) + ": " + compared.before, compared.after, "intervals", "evidence", ""}};
  for (const ComparedTarget& target : phase.targets) {
    const ProjectedPair& pair = target.efficiency;
    const auto text = [&](const ProjectedValue& value) {
      return pair.is_evidence ? Projected(target.whole, value) : FormatBounds(target.whole, value.interval80);
    };
    const Contribution* largest = target.explained ? target.explained->Largest() : nullptr;
    cells.push_back({FormatCores(target.cores), text(*pair.before), text(*pair.after),
                     pair.is_apart ? "apart" : "overlap", pair.is_evidence ? "yes" : "no",
                     pair.is_evidence && pair.is_apart && largest != nullptr ? "most by " + NameOf(*largest) : ""});
  }
  return "\n" + FormatTable(cells);
}

}  // namespace

std::string NameOf(const Contribution& part) {
  switch (part.kind) {
    case Kind::kFactor: return NameInSentence(part.factor);
    case Kind::kBase: return "the base (useful time of the reference run)";
    case Kind::kBaseInstructions: return "the base (instructions of the reference run)";
    case Kind::kBaseRate: return "the base (time of an instruction in the reference run)";
    case Kind::kBaseIpc: return "the base (instructions a cycle in the reference run)";
    case Kind::kBaseFrequency: return "the base (frequency in the reference run)";
    case Kind::kRest: break;
  }
  return "the rest (the whole is not exactly the product of its parts)";
}

std::string FormatRise(double ratio) {
  const double percent = 100 * (ratio - 1);
  if (std::fabs(percent) < 0.05) return "0.0 %";
  return fmt::format(
      "{}{} %", percent < 0 ? "-" : "+",
      std::fabs(percent) < 100 ? fmt::format("{:.1f}", std::fabs(percent)) : FormatSpeedup(std::fabs(percent)));
}

std::string FormatRiseInterval(const Change& change) {
  std::string low = FormatRise(change.Low());
  low.resize(low.size() - 2);  // the unit is said once
  return low + " to " + FormatRise(change.High());
}

std::string DescribeParts(const Decomposition& difference, std::size_t most) {
  std::vector<Contribution> parts = difference.parts;
  std::stable_sort(parts.begin(), parts.end(), [](const Contribution& a, const Contribution& b) {
    return std::fabs(a.logarithm) > std::fabs(b.logarithm);
  });
  std::vector<std::string> texts;
  for (const Contribution& part : parts) {
    if (texts.size() == most || std::fabs(part.logarithm) < kWorthSaying) break;
    texts.push_back(fmt::format("{} {} ({:.0f} %)", NameOf(part), FormatRise(std::exp(part.logarithm)),
                                100 * difference.ShareOf(part)));
  }
  return Join(texts, ", ");
}

std::vector<std::string> SummarizeComparedPhase(const ComparedResults& compared, const ComparedPhase& phase) {
  std::vector<std::string> sentences;
  const ComparedCount* largest = phase.LargestCommon();
  if (largest == nullptr) {
    sentences.push_back("No core count was run on both sides, so nothing measured compares.");
  } else {
    if (largest->seconds.change) sentences.push_back(SayTime(compared, *largest));
    sentences.push_back(SayEfficiency(compared, *largest));
    sentences.push_back(SayChanges(phase));
  }
  sentences.push_back(SayProjected(compared, phase));
  for (const auto& [side, projection] :
       {std::pair(&compared.before, phase.projection_before), std::pair(&compared.after, phase.projection_after)}) {
    if (projection == nullptr) sentences.push_back(fmt::format("Nothing is projected of {}.", *side));
  }
  sentences.push_back(
      phase.noise
          ? fmt::format("What repeats differ by, {} from run to run, is taken for noise.",
                        FormatPercent(phase.noise->deviation))
          : fmt::format("No core count was run twice on either side, so runs are taken to differ by {} by noise.",
                        FormatPercent(kUsualNoise)));
  sentences.insert(sentences.end(), phase.notes.begin(), phase.notes.end());
  std::erase(sentences, "");
  return sentences;
}

std::vector<std::string> SummarizeCompared(const ComparedResults& compared) {
  std::vector<std::string> sentences;
  for (const ComparedPhase& phase : compared.phases) {
    if (phase.before == phase.after) continue;
    sentences.push_back(fmt::format(
        "No phase has the same name on both sides; \"{}\" of {} is compared with \"{}\" of {}, which take most time.",
        phase.before.Text(), compared.before, phase.after.Text(), compared.after));
  }
  for (const auto& [side, names] :
       {std::pair(&compared.before, &compared.only_before), std::pair(&compared.after, &compared.only_after)}) {
    if (names->empty()) continue;
    sentences.push_back(
        fmt::format("Only in {}: {} {}.", *side, names->size() == 1 ? "phase" : "phases", Join(*names, ", ")));
  }
  if (compared.phases.empty()) sentences.push_back("Nothing compares: no series and phase is on both sides.");
  return sentences;
}

std::vector<std::string> DoubtsOfCompared(const ComparedResults& compared) {
  const std::vector<std::string> before = DoubtsOf(compared.findings_before), after = DoubtsOf(compared.findings_after);
  std::vector<std::string> doubts;
  for (const std::string& doubt : before) {
    const bool is_both = std::find(after.begin(), after.end(), doubt) != after.end();
    doubts.push_back(
        fmt::format("{}: {}", is_both ? compared.before + " and " + compared.after : compared.before, doubt));
  }
  for (const std::string& doubt : after) {
    const bool is_both = std::find(before.begin(), before.end(), doubt) != before.end();
    if (!is_both) doubts.push_back(fmt::format("{}: {}", compared.after, doubt));
  }
  return doubts;
}

std::string FormatCompared(const ComparedResults& compared) {
  std::string text = fmt::format("{} against {}\n", compared.after, compared.before);
  for (const std::string& doubt : DoubtsOfCompared(compared)) text += "Warning: " + doubt + "\n";
  for (const std::string& sentence : SummarizeCompared(compared)) text += sentence + "\n";
  for (const ComparedPhase& phase : compared.phases) {
    text += "\n" + (phase.name.empty() ? std::string("All runs") : "Phase " + phase.name) + "\n";
    for (const std::string& sentence : SummarizeComparedPhase(compared, phase)) text += "  " + sentence + "\n";
    if (const ComparedCount* largest = phase.LargestCommon()) text += "\n" + TableOfFactors(compared, *largest);
    text += "\n" + TableOfCounts(compared, phase) + TableOfTargets(compared, phase);
  }
  return text;
}

}  // namespace farscale
