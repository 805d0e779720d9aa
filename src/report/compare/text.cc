#include "report/compare/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "factors/scaling.h"
#include "report/figures.h"

namespace farscale {
namespace {

constexpr double kTellingRatio = 8;      // of a target to the largest run
constexpr double kWorthSaying = 0.0005;  // of logarithms: half a digit of what is printed

// Of a quantity measured on both sides.
struct MeasuredChange {
  std::string cores, factor, from, to, change, interval, largest, parts;
  bool is_beyond_noise = false;
  FARSCALE_TAGS(cores, factor, from, to, change, interval, largest, parts, is_beyond_noise)
};

MeasuredChange ChangeOf(const ComparedCount& count, const ComparedNumber& number, std::string (*format)(double),
                        const std::optional<Decomposition>& difference) {
  MeasuredChange text{.cores = FormatCoreCount(count.cores),
                      .factor = NameInSentence(count.whole),
                      .from = format(*number.before),
                      .to = format(*number.after),
                      .change = FormatRise(number.change->ratio),
                      .interval = FormatRiseInterval(*number.change),
                      .is_beyond_noise = number.is_beyond_noise};
  const Contribution* largest = difference ? difference->Largest() : nullptr;
  if (largest != nullptr && number.is_beyond_noise) {
    text.largest = NameOf(*largest);
    text.parts = DescribeParts(*difference, 4);
  }
  return text;
}

// What changed beyond noise, with the number of counts at which it did.
struct ChangesOfPhase {
  std::string counts, changed;
  std::string total;
  FARSCALE_TAGS(counts, changed, total)
};

std::optional<ChangesOfPhase> ChangesOf(const ComparedPhase& phase) {
  const auto common = static_cast<std::size_t>(std::ranges::count_if(phase.counts, &ComparedCount::is_common));
  if (common == 0) return std::nullopt;
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
  return ChangesOfPhase{common == 1 ? "one common core count" : fmt::format("{} common core counts", common),
                        Join(changed, ", "), std::to_string(phase.CountChanges())};
}

struct ProjectedChange {
  std::string cores, factor, from, to, largest, parts, overlap_from;
  bool is_apart = false;
  FARSCALE_TAGS(cores, factor, from, to, largest, parts, overlap_from, is_apart)
};

std::string WithInterval(Factor factor, const ProjectedValue& value) {
  return FormatValue(factor, value.value) +
         (value.interval80 ? " (" + FormatBounds(factor, value.interval80) + ")" : "");
}

// Of the reliable targets: the largest on which the intervals are apart, else the one nearest to eight times the
// largest run.
const ComparedTarget* TellingTarget(const ComparedPhase& phase) {
  const ComparedTarget* apart = nullptr;
  const ComparedTarget* nearest = nullptr;
  const double aim = kTellingRatio * std::max(phase.projection_before->fitted_cores.back(),
                                              phase.projection_after->fitted_cores.back());
  const auto distance = [&](const ComparedTarget& target) { return std::fabs(std::log(target.cores / aim)); };
  for (const ComparedTarget& target : phase.targets) {
    if (target.efficiency.reliability != Reliability::kReliable) continue;
    if (target.efficiency.is_apart) apart = &target;
    if (nearest == nullptr || distance(target) < distance(*nearest)) nearest = &target;
  }
  return apart != nullptr ? apart : nearest;
}

std::optional<ProjectedChange> ProjectedOf(const ComparedPhase& phase) {
  const ComparedTarget* told = phase.targets.empty() ? nullptr : TellingTarget(phase);
  if (told == nullptr) return std::nullopt;
  const ProjectedPair& pair = told->efficiency;
  ProjectedChange text{.cores = FormatCoreCount(told->cores),
                       .factor = NameInSentence(told->whole),
                       .from = WithInterval(told->whole, *pair.before),
                       .to = WithInterval(told->whole, *pair.after),
                       .is_apart = pair.is_apart};
  const Contribution* largest = told->explained ? told->explained->Largest() : nullptr;
  if (largest != nullptr) {
    text.largest = NameOf(*largest);
    text.parts = DescribeParts(*told->explained, 3);
  }
  const auto beyond = std::ranges::find_if(phase.targets, [&](const ComparedTarget& target) {
    return target.efficiency.reliability == Reliability::kReliable && target.cores > told->cores;
  });
  if (pair.is_apart && beyond != phase.targets.end()) text.overlap_from = FormatCoreCount(beyond->cores);
  return text;
}

// Two values of a side each.
struct BothSides {
  FARSCALE_TEXTS(first, second, common)
};

struct SideFact {
  FARSCALE_TEXTS(name, scaling, factors, why)
};

struct ComparisonNotes {
  std::optional<BothSides> references, different_scaling;
  std::vector<SideFact> shown, only, superlinear;
  std::string unknown_scaling;  // a side
  bool is_scaling_unknown = false, have_times = false, have_global = false;
  FARSCALE_TAGS(references, different_scaling, shown, only, superlinear, unknown_scaling, is_scaling_unknown,
                have_times, have_global)
};

void AddOnly(const std::string& name, const std::vector<Factor>& factors, bool is_timed, ComparisonNotes& notes) {
  std::vector<std::string> names;
  for (const Factor factor : factors) names.push_back(NameInSentence(factor));
  if (is_timed) names.emplace_back("time of an iteration");
  if (!names.empty()) notes.only.push_back({.name = name, .factors = Join(names, ", ")});
}

ReportData NotesData(const ComparedResults& compared, const ComparedPhase& phase) {
  const ComparedTerms& terms = phase.terms;
  const std::optional<Scaling>&first = terms.first_scaling, &second = terms.second_scaling;
  ComparisonNotes notes{.have_times = terms.have_times, .have_global = terms.have_global};
  if (terms.first_reference) {
    notes.references = {FormatCores(*terms.first_reference), FormatCores(*terms.second_reference),
                        terms.reference ? FormatCores(*terms.reference) : ""};
  }
  if (terms.is_first_shown) notes.shown.push_back({.name = compared.before, .scaling = ToString(*first)});
  if (terms.is_second_shown) notes.shown.push_back({.name = compared.after, .scaling = ToString(*second)});
  if (first && second && first != second) notes.different_scaling = {ToString(*first), ToString(*second), ""};
  if (first.has_value() != second.has_value()) notes.unknown_scaling = first ? compared.after : compared.before;
  notes.is_scaling_unknown = !first && !second && (terms.have_global || terms.have_times);
  AddOnly(compared.before, terms.first_only, terms.is_first_timed, notes);
  AddOnly(compared.after, terms.second_only, terms.is_second_timed, notes);
  for (const auto& [name, why] :
       {std::pair(compared.before, phase.superlinear_before), std::pair(compared.after, phase.superlinear_after)}) {
    if (!why.empty()) notes.superlinear.push_back({.name = name, .why = why});
  }
  ReportData data = {{"before", compared.before}, {"after", compared.after}};
  data.update(farscale::ToData(notes));
  return data;
}

struct Findings {
  bool has_common = false, has_no_target = false;
  std::optional<MeasuredChange> time, efficiency;
  std::optional<ChangesOfPhase> changes;
  std::optional<ProjectedChange> projected;
  std::vector<std::string> unprojected;  // sides
  std::string noise, usual_noise;
  FARSCALE_TAGS(has_common, has_no_target, time, efficiency, changes, projected, unprojected, noise, usual_noise)
};

}  // namespace

std::string NameOf(const Contribution& part) {
  switch (part.kind) {
    case Contribution::Kind::kFactor: return NameInSentence(part.factor);
    case Contribution::Kind::kBase: return "the base (useful time of the reference run)";
    case Contribution::Kind::kBaseInstructions: return "the base (instructions of the reference run)";
    case Contribution::Kind::kBaseRate: return "the base (time of an instruction in the reference run)";
    case Contribution::Kind::kBaseIpc: return "the base (instructions a cycle in the reference run)";
    case Contribution::Kind::kBaseFrequency: return "the base (frequency in the reference run)";
    case Contribution::Kind::kRest: break;
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

std::vector<std::string> SummarizeComparedPhase(const ComparedResults& compared, const ComparedPhase& phase,
                                                const Partials& templates) {
  const ComparedCount* largest = phase.LargestCommon();
  Findings findings{.has_common = largest != nullptr,
                    .changes = ChangesOf(phase),
                    .projected = ProjectedOf(phase),
                    .noise = phase.noise ? FormatPercent(phase.noise->deviation) : "",
                    .usual_noise = FormatPercent(kUsualNoise)};
  if (largest != nullptr && largest->seconds.change) {
    findings.time = ChangeOf(*largest, largest->seconds, FormatSeconds, largest->time);
  }
  const ComparedNumber* number = largest != nullptr ? largest->Find(largest->whole) : nullptr;
  if (number != nullptr && number->change && largest->efficiency) {
    findings.efficiency = ChangeOf(*largest, *number, FormatFactor, largest->efficiency);
  }
  findings.has_no_target = !phase.targets.empty() && !findings.projected;
  if (phase.projection_before == nullptr) findings.unprojected.push_back(compared.before);
  if (phase.projection_after == nullptr) findings.unprojected.push_back(compared.after);
  ReportData data = NotesData(compared, phase);
  data.update(farscale::ToData(findings));
  return RenderSentences(templates, "compare_findings.txt", data);
}

std::vector<std::string> NotesOf(const ComparedResults& compared, const ComparedPhase& phase,
                                 const Partials& templates) {
  return RenderSentences(templates, "compare_notes.txt", NotesData(compared, phase));
}

std::vector<std::string> SummarizeCompared(const ComparedResults& compared, const Partials& templates) {
  ReportData data = {{"before", compared.before}, {"after", compared.after}, {"isEmpty", compared.phases.empty()}};
  data["renamed"] = ReportData::array();
  for (const ComparedPhase& phase : compared.phases) {
    if (phase.before == phase.after) continue;
    data["renamed"].push_back({{"first", phase.before.Text()}, {"second", phase.after.Text()}});
  }
  data["only"] = ReportData::array();
  for (const auto& [side, names] :
       {std::pair(&compared.before, &compared.only_before), std::pair(&compared.after, &compared.only_after)}) {
    if (names->empty()) continue;
    data["only"].push_back({{"name", *side}, {"areMany", names->size() > 1}, {"phases", Join(*names, ", ")}});
  }
  return RenderSentences(templates, "compare_summary.txt", data);
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

}  // namespace farscale
