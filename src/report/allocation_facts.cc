#include "report/allocation_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "base/text.h"
#include "report/figures.h"

namespace farscale {
namespace {

std::string WithUnit(const std::string& text, const std::string& unit) {
  return unit.empty() ? text : text + " " + unit;
}

std::string ScalingInWords(const AllocationPack& pack, const ProblemCase& problem) {
  if (!pack.scaling) return "not known whether strong or weak";
  const std::string shown = pack.is_scaling_shown ? " (as its times and efficiencies show)" : "";
  const AllocationRow* first = nullptr;
  const AllocationRow* last = nullptr;
  for (const AllocationRow& row : pack.rows) {
    if (!row.is_measured || !row.size) continue;
    if (first == nullptr) first = &row;
    last = &row;
  }
  const auto with_unit = [&](double size) { return WithUnit(FormatProblemSize(size), problem.unit); };
  if (*pack.scaling == Scaling::kStrong) {
    std::string text = "strong" + shown + ": the problem is the same on every core count";
    if (first == nullptr) return text;
    text += ", " + with_unit(*first->size) + " in total";
    if (first == last) return text + fmt::format(", {} per process", with_unit(*first->portion));
    return text + fmt::format("; per process {} on {} and {} on {}", with_unit(*first->portion),
                              FormatCores(first->cores), with_unit(*last->portion), CoresInWords(last->cores));
  }
  std::string text = "weak" + shown + ": the problem grows with the cores";
  if (first == nullptr) return text;
  text += fmt::format(", {} per process; in total {} on {}", with_unit(*first->portion), with_unit(*first->size),
                      FormatCores(first->cores));
  return first == last ? text + (first->cores == 1 ? " core" : " cores")
                       : text + fmt::format(" and {} on {}", with_unit(*last->size), CoresInWords(last->cores));
}

std::string TracedRuns(const AllocationPack& pack) {
  std::string text = fmt::format("{} {} on {} core {}", pack.runs, pack.runs == 1 ? "run" : "runs", pack.counts,
                                 pack.counts == 1 ? "count" : "counts");
  if (pack.noise) text += fmt::format("; from run to run {} of noise", FormatPercent(pack.noise->deviation));
  return text;
}

}  // namespace

bool Any(const AllocationPack& pack, const std::function<bool(const AllocationRow&)>& has) {
  return std::any_of(pack.rows.begin(), pack.rows.end(), has);
}

bool HasTimes(const AllocationPack& pack) {
  return Any(pack, [](const AllocationRow& row) { return row.iteration.value.has_value(); });
}

bool HasSizes(const AllocationPack& pack) {
  return Any(pack, [](const AllocationRow& row) { return row.size.has_value(); });
}

// Parts of a unit are no news in thousands of them.
std::string FormatProblemSize(double size) {
  if (!(size < 1e15)) return FormatSignificant(size, 4);
  if (size >= 1000) return FormatCores(std::round(size));
  return size < 1 && size > 0 ? FormatSignificant(size, 3) : FormatCores(size);
}

std::string FormatIdealSpeedup(double ideal) {
  const bool is_whole = std::fabs(ideal - std::round(ideal)) < 1e-9 * ideal;
  if (is_whole) return FormatCores(std::round(ideal));
  return ideal < 1000 ? fmt::format("{:.2f}", ideal) : FormatCores(ideal);
}

std::string CoresInWords(double cores) { return FormatCores(cores) + (cores == 1 ? " core" : " cores"); }

AllocationFacts FactsOf(const Results& results, const AllocationPack& pack) {
  AllocationFacts facts;
  facts.emplace_back("Code and case",
                     results.description.empty() ? results.title : results.title + ". " + results.description);
  if (!pack.phase.IsUnnamed()) {
    if (pack.phase.IsGroup()) facts.emplace_back("Group of ranks", pack.phase.group);
    facts.emplace_back("Phase",
                       pack.phase.name + (pack.phase_description.empty() ? "" : ": " + pack.phase_description));
  }
  facts.emplace_back("Scaling", ScalingInWords(pack, results.problem));
  facts.emplace_back("Baseline", CoresInWords(pack.baseline));
  facts.emplace_back("Measured", TracedRuns(pack));
  if (pack.are_planned)
    facts.emplace_back("Planned work",
                       FormatCores(pack.iterations) + (pack.iterations == 1 ? " iteration" : " iterations"));
  return facts;
}

std::string AllocationNote(const AllocationPack& pack) {
  std::string note;
  if (Any(pack, [](const AllocationRow& row) { return row.efficiency.interval80 || row.iteration.interval80; })) {
    note = "Below a number stands its 80 % interval.";
  }
  const bool any_beyond = Any(pack, [](const AllocationRow& row) { return !row.is_evidence; });
  if (any_beyond) {
    note +=
        fmt::format(" Beyond {} there is no evidence, so rows give the interval only.", CoresInWords(pack.evidence));
  }
  const bool reckoned = pack.cores_per_node && Any(pack, [](const AllocationRow& row) { return !row.is_measured; });
  if (reckoned) note += " Nodes of predicted rows are as full as the fullest of a run.";
  const bool has_times = Any(pack, [](const AllocationRow& row) { return row.iteration.value.has_value(); });
  if (has_times && !pack.are_planned)
    note +=
        fmt::format(" The baseline ran {} iteration{}.", FormatCores(pack.iterations), pack.iterations == 1 ? "" : "s");
  if (pack.largest_target > pack.rows.back().cores) {
    note +=
        fmt::format(" Larger core counts, projected up to {} cores, are left out.", FormatCores(pack.largest_target));
  }
  if (!pack.superlinear.empty()) note += " " + pack.superlinear;
  return std::string(Trim(note));
}

}  // namespace farscale
