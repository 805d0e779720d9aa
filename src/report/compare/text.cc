#include "report/compare/pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "factors/scaling.h"
#include "factors/factor_table.h"
#include "report/figures.h"

namespace farscale {
namespace {

using Data = ReportData;

constexpr double kTellingRatio = 8;      // target over the largest run
constexpr double kWorthSaying = 0.0005;  // in logarithms: half a printed digit

// Adds the largest part of a difference and the `most` that are largest; empty texts for null.
void AddParts(const Decomposition* difference, std::size_t most, Data& text) {
  const Decomposition::Part* largest = difference != nullptr ? difference->Largest() : nullptr;
  text["largest"] = largest != nullptr ? PartName(largest->first) : "";
  text["parts"] = largest != nullptr ? DescribeParts(*difference, most) : "";
}

// A quantity measured on both sides.
Data MeasuredChange(const ComparedCount& count, const ComparedNumber& number, std::string (*format)(double),
                    const std::optional<Decomposition>& difference) {
  Data text = {{"cores", FormatCoreCount(count.cores)},
               {"factor", NameInSentence(count.whole)},
               {"from", format(*number.before)},
               {"to", format(*number.after)},
               {"change", FormatRise(number.change->ratio)},
               {"interval", FormatRiseInterval(*number.change)},
               {"isBeyondNoise", number.is_beyond_noise}};
  AddParts(difference && number.is_beyond_noise ? &*difference : nullptr, 4, text);
  return text;
}

// Changes beyond noise, with the number of counts at which they are; false without common counts.
Data PhaseChanges(const ComparedPhase& phase) {
  const auto common = static_cast<std::size_t>(std::ranges::count_if(phase.counts, &ComparedCount::is_common));
  if (common == 0) return false;
  std::vector<std::string> changed;
  const auto add = [&](const std::string& name, auto is_beyond) {
    const auto beyond = std::ranges::count_if(phase.counts, is_beyond);
    if (beyond > 0) changed.push_back(name + (common == 1 ? "" : fmt::format(" (on {})", beyond)));
  };
  for (const FactorType& type : AllFactors()) {
    add(NameInSentence(type.factor), [&](const ComparedCount& count) {
      const ComparedNumber* number = count.Find(type.factor);
      return number != nullptr && number->is_beyond_noise;
    });
  }
  add("time of an iteration", [](const ComparedCount& count) { return count.seconds.is_beyond_noise; });
  return {{"counts", common == 1 ? "one common core count" : fmt::format("{} common core counts", common)},
          {"changed", Join(changed, ", ")},
          {"total", std::to_string(phase.CountChanges())}};
}

std::string WithInterval(Factor factor, const ProjectedValue& value) {
  return FormatValue(factor, value.value) +
         (value.interval80 ? " (" + FormatBounds(factor, value.interval80) + ")" : "");
}

// Among the reliable targets, the largest on which the intervals are apart, else the one nearest to eight times the
// largest run. False without reliable targets.
Data ProjectedChange(const ComparedPhase& phase) {
  if (phase.targets.empty()) return false;
  const ComparedTarget *apart = nullptr, *nearest = nullptr;
  const double aim = kTellingRatio * std::max(phase.before.projection->fitted_cores.back(),
                                              phase.after.projection->fitted_cores.back());
  const auto distance = [&](const ComparedTarget& target) { return std::fabs(std::log(target.cores / aim)); };
  for (const ComparedTarget& target : phase.targets) {
    if (target.efficiency.reliability != Reliability::kReliable) continue;
    if (target.efficiency.is_apart) apart = &target;
    if (nearest == nullptr || distance(target) < distance(*nearest)) nearest = &target;
  }
  const ComparedTarget* told = apart != nullptr ? apart : nearest;
  if (told == nullptr) return false;
  const ProjectedPair& pair = told->efficiency;
  const auto beyond = std::ranges::find_if(phase.targets, [&](const ComparedTarget& target) {
    return target.efficiency.reliability == Reliability::kReliable && target.cores > told->cores;
  });
  Data text = {{"cores", FormatCoreCount(told->cores)},
               {"factor", NameInSentence(told->whole)},
               {"from", WithInterval(told->whole, *pair.before)},
               {"to", WithInterval(told->whole, *pair.after)},
               {"isApart", pair.is_apart},
               {"overlapFrom", pair.is_apart && beyond != phase.targets.end() ? FormatCoreCount(beyond->cores) : ""}};
  AddParts(told->explained ? &*told->explained : nullptr, 3, text);
  return text;
}

// Factors, and the time of an iteration, that the other side does not know at any core count.
std::string KnownAlone(const ComparedSide& side, const ComparedSide& other) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name, const RowReading& value) {
    if (side.Knows(value) && !other.Knows(value)) names.push_back(name);
  };
  for (const FactorType& type : AllFactors())
    add(NameInSentence(type.factor), [&](const FactorRow& row) { return row.values[type.factor]; });
  add("time of an iteration", &FactorRow::TimePerIteration);
  return Join(names, ", ");
}

// The tags of compare_notes.txt.mustache.
Data NoteTags(const ComparedResults& compared, const ComparedPhase& phase) {
  const ComparedSide &before = phase.before, &after = phase.after;
  const std::optional<Scaling>&first = before.scaling, &second = after.scaling;
  Data references = false, different = false, shown = Data::array(), only = Data::array(), superlinear = Data::array();
  const auto core_text = [](std::int64_t cores) { return FormatCores(static_cast<double>(cores)); };
  if (before.own_reference != after.own_reference) {
    references = {{"first", core_text(before.own_reference)},
                  {"second", core_text(after.own_reference)},
                  {"common", phase.reference ? FormatCores(*phase.reference) : ""}};
  }
  if (first && second && first != second) different = Data{{"first", ToString(*first)}, {"second", ToString(*second)}};
  const auto add = [&](const std::string& name, const ComparedSide& side, const ComparedSide& other) {
    if (side.is_scaling_shown) shown.push_back(Data{{"name", name}, {"scaling", ToString(*side.scaling)}});
    if (const std::string factors = KnownAlone(side, other); !factors.empty())
      only.push_back(Data{{"name", name}, {"factors", factors}});
    if (const std::string why = WhySuperlinear(side.rows, side.projection); !why.empty())
      superlinear.push_back(Data{{"name", name}, {"why", why}});
  };
  add(compared.before, before, after);
  add(compared.after, after, before);
  const auto know_both = [&](const RowReading& value) { return before.Knows(value) && after.Knows(value); };
  const bool have_times = know_both(&FactorRow::TimePerIteration);
  const bool have_global = know_both([](const FactorRow& row) { return row.values[Factor::kGlobalEfficiency]; });
  return {{"before", compared.before},
          {"after", compared.after},
          {"references", std::move(references)},
          {"differentScaling", std::move(different)},
          {"shown", std::move(shown)},
          {"only", std::move(only)},
          {"superlinear", std::move(superlinear)},
          {"unknownScaling", first.has_value() == second.has_value() ? ""
                             : first                                 ? compared.after
                                                                     : compared.before},
          {"isScalingUnknown", !first && !second && (have_global || have_times)},
          {"haveTimes", have_times},
          {"haveGlobal", have_global}};
}

}  // namespace

std::string PartName(const std::string& id) {
  constexpr std::pair<const char*, const char*> kNames[] = {
      {"base", "the base (useful time of the reference run)"},
      {"baseInstructions", "the base (instructions of the reference run)"},
      {"baseInstructionRate", "the base (time of an instruction in the reference run)"},
      {"baseIpc", "the base (instructions a cycle in the reference run)"},
      {"baseFrequency", "the base (frequency in the reference run)"},
      {"rest", "the rest (the whole is not exactly the product of its parts)"}};
  for (const auto& [known, name] : kNames) {
    if (id == known) return name;
  }
  const std::optional<Factor> factor = FactorById(id);
  return factor ? NameInSentence(*factor) : id;
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
  std::vector<Decomposition::Part> parts = difference.parts;
  std::ranges::stable_sort(parts, std::greater(), [](const auto& part) { return std::fabs(part.second); });
  std::vector<std::string> texts;
  for (const Decomposition::Part& part : parts) {
    if (texts.size() == most || std::fabs(part.second) < kWorthSaying) break;
    texts.push_back(fmt::format("{} {} ({:.0f} %)", PartName(part.first), FormatRise(std::exp(part.second)),
                                100 * part.second / difference.logarithm));
  }
  return Join(texts, ", ");
}

std::vector<std::string> SummarizeComparedPhase(const ComparedResults& compared, const ComparedPhase& phase,
                                                const Partials& templates) {
  const ComparedCount* largest = phase.LargestCommon();
  const ComparedNumber* number = largest != nullptr ? largest->Find(largest->whole) : nullptr;
  Data data = NoteTags(compared, phase), time = false, efficiency = false, unprojected = Data::array();
  if (largest != nullptr && largest->seconds.change)
    time = MeasuredChange(*largest, largest->seconds, FormatSeconds, largest->time);
  if (number != nullptr && number->change && largest->efficiency)
    efficiency = MeasuredChange(*largest, *number, FormatFactor, largest->efficiency);
  if (phase.before.projection == nullptr) unprojected.push_back(compared.before);
  if (phase.after.projection == nullptr) unprojected.push_back(compared.after);
  Data projected = ProjectedChange(phase);
  data.update({{"hasCommon", largest != nullptr},
               {"time", std::move(time)},
               {"efficiency", std::move(efficiency)},
               {"changes", PhaseChanges(phase)},
               {"hasNoTarget", !phase.targets.empty() && !projected.is_object()},
               {"projected", std::move(projected)},
               {"unprojected", std::move(unprojected)},
               {"noise", phase.noise ? FormatPercent(phase.noise->deviation) : ""},
               {"usualNoise", FormatPercent(kUsualNoise)}});
  return RenderSentences(templates, "compare_findings.txt", data);
}

std::vector<std::string> PhaseNotes(const ComparedResults& compared, const ComparedPhase& phase,
                                    const Partials& templates) {
  return RenderSentences(templates, "compare_notes.txt", NoteTags(compared, phase));
}

std::vector<std::string> SummarizeCompared(const ComparedResults& compared, const Partials& templates) {
  Data data = {{"before", compared.before}, {"after", compared.after}, {"isEmpty", compared.phases.empty()}};
  data["renamed"] = Data::array();
  for (const ComparedPhase& phase : compared.phases) {
    if (phase.before.phase == phase.after.phase) continue;
    data["renamed"].push_back({{"first", phase.before.phase.Text()}, {"second", phase.after.phase.Text()}});
  }
  data["only"] = Data::array();
  for (const auto& [side, names] :
       {std::pair(&compared.before, &compared.only_before), std::pair(&compared.after, &compared.only_after)}) {
    if (names->empty()) continue;
    data["only"].push_back({{"name", *side}, {"areMany", names->size() > 1}, {"phases", Join(*names, ", ")}});
  }
  return RenderSentences(templates, "compare_summary.txt", data);
}

std::vector<std::string> ComparedDoubts(const ComparedResults& compared) {
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

}  // namespace farscale
