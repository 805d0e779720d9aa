#include "report/allocation/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "base/text.h"
#include "base/version.h"
#include "report/key_results.h"
#include "report/figures.h"

namespace farscale {
namespace {

std::string Cores(double cores) { return CoresInWords(cores); }
std::string Percent(double share) { return fmt::format("{:g} %", 100 * share); }

std::string CountIterations(double count) { return FormatCores(count) + (count == 1 ? " iteration" : " iterations"); }

// "39", "less than 2", "more than 1,024".
std::string BoundInWords(const CountBound& bound) {
  switch (bound.kind) {
    case CountBound::Kind::kBelow: return "less than " + FormatCores(bound.cores);
    case CountBound::Kind::kMoreThan: return "more than " + FormatCores(bound.cores);
    case CountBound::Kind::kAt: break;
  }
  return FormatCores(bound.cores);
}

std::string IntervalInWords(const Recommendation& recommendation) {
  if (!recommendation.low || !recommendation.high) return "";
  const bool is_reached = recommendation.kind == Recommendation::Kind::kReached;
  const std::string limit =
      is_reached && recommendation.limit ? fmt::format("the limit is at {}, ", FormatCores(*recommendation.limit)) : "";
  const bool is_one = recommendation.high->kind == CountBound::Kind::kAt && recommendation.high->cores == 1;
  return fmt::format(" ({}80 % interval {} to {} {})", limit, BoundInWords(*recommendation.low),
                     BoundInWords(*recommendation.high), is_one ? "core" : "cores");
}

// What such a job takes and costs.
std::string CostInWords(const AllocationPack& pack) {
  const Recommendation& job = pack.recommendation;
  if (!job.efficiency.value) return "";
  std::string text =
      fmt::format("With {} the efficiency is {}", Cores(job.cores), FormatPercent(*job.efficiency.value));
  if (job.efficiency.interval80 && job.efficiency.interval80->high) {
    text += fmt::format(" (80 % interval {} to {})", FormatPercent(job.efficiency.interval80->low),
                        FormatPercent(*job.efficiency.interval80->high));
  }
  if (job.work.value) {
    text += fmt::format("; {} of the phase {} {} and cost{} {} core hours", CountIterations(pack.iterations),
                        pack.iterations == 1 ? "takes" : "take", FormatWallTime(*job.work.value),
                        pack.iterations == 1 ? "s" : "", FormatCoreHours(*job.core_hours.value));
    const std::optional<OpenBounds>& cost = job.core_hours.interval80;
    if (cost && cost->high) {
      text += fmt::format(" ({} to {})", FormatCoreHours(cost->low), FormatCoreHours(*cost->high));
    }
  }
  return text + ".";
}

// Measured counts up to the recommended one that are efficient enough, or are not.
const AllocationRow* LargestEnough(const AllocationPack& pack) {
  const AllocationRow* largest = nullptr;
  for (const AllocationRow& row : pack.rows) {
    const bool is_within = row.is_measured && !row.is_baseline && row.cores <= pack.recommendation.cores;
    if (is_within && row.efficiency.value && *row.efficiency.value >= pack.required) largest = &row;
  }
  return largest;
}

std::string CautionInWords(const AllocationPack& pack) {
  const Recommendation& job = pack.recommendation;
  std::string text;
  if (job.sure) {
    text = fmt::format("On {} it is at least {} with a probability of {}90 %.", Cores(*job.sure),
                       Percent(pack.required), job.is_surer ? "more than " : "");
  }
  const AllocationRow* largest = LargestEnough(pack);
  if (job.is_measured || largest == nullptr || largest->cores <= job.sure.value_or(0)) return text;
  return text + fmt::format("{}On {}, the largest run that has it, {} was measured.", text.empty() ? "" : " ",
                            Cores(largest->cores), FormatPercent(*largest->efficiency.value));
}

// Smaller runs that are less efficient than a larger one that is efficient enough.
std::string ExceptionsInWords(const AllocationPack& pack) {
  std::vector<std::string> exceptions;
  for (const AllocationRow& row : pack.rows) {
    const bool is_within = row.is_measured && row.cores < pack.recommendation.cores && row.efficiency.value;
    if (is_within && !row.is_baseline && *row.efficiency.value < pack.required)
      exceptions.push_back(fmt::format("{} on {}", FormatPercent(*row.efficiency.value), Cores(row.cores)));
  }
  return exceptions.empty() ? ""
                            : fmt::format("Smaller jobs had less, though: {}, as measured.", Join(exceptions, ", "));
}

std::string WithInterval(const Estimate& estimate) {
  std::string text = FormatPercent(*estimate.value);
  if (!estimate.interval80 || !estimate.interval80->high) return text;
  return text + fmt::format(" (80 % interval {} to {})", FormatPercent(estimate.interval80->low),
                            FormatPercent(*estimate.interval80->high));
}

std::string DisagreementInWords(const AllocationPack& pack) {
  const Recommendation& job = pack.recommendation;
  if (job.disagreements.empty()) return "";
  std::vector<std::string> texts;
  for (const Disagreement& one : job.disagreements) {
    texts.push_back(fmt::format("on {} the efficiency is {} {} and {} as projected", Cores(one.cores),
                                WithInterval(one.measured), one.is_baseline ? "by definition" : "as measured",
                                WithInterval(one.projected)));
  }
  std::string text = "Measurement and projection disagree: " + Join(texts, "; ") + ". What was measured comes first";
  if (!job.projected) return text + ".";
  switch (job.projected->kind) {
    case CountBound::Kind::kBelow: return text + "; by the projection alone no job has the efficiency required.";
    case CountBound::Kind::kMoreThan:
      return text + fmt::format("; the projection alone allows more than {}.", Cores(job.projected->cores));
    case CountBound::Kind::kAt: break;
  }
  return text + fmt::format("; the projection alone allows {}.", Cores(job.projected->cores));
}

// What the recommended job size is read off, where that is the runs.
std::string MeasuredInWords(const AllocationPack& pack, const std::string& size, const std::string& against) {
  const Recommendation& job = pack.recommendation;
  const AllocationRow* next = nullptr;
  for (const AllocationRow& row : pack.rows) {
    if (next == nullptr && row.is_measured && row.cores > job.cores && row.efficiency.value) next = &row;
  }
  std::string text = fmt::format("Jobs of up to {} have an {}, ", size, against);
  text += job.is_baseline ? "by definition" : "as measured";
  if (next != nullptr) {
    return text + fmt::format("; on {}, the next larger count, it is less ({}).", Cores(next->cores),
                              WithInterval(next->efficiency));
  }
  text += "; larger ones were not run";
  const bool is_beyond = pack.evidence > 0 && job.disagreements.empty();
  return text + (is_beyond ? ", and what is projected for them is not evidence." : ".");
}

// The tools that wrote the traces, each once.
std::string Tracers(const Results& results) {
  std::vector<std::string> tracers;
  for (const RunRecord& run : results.runs) {
    if (!run.error.empty()) continue;
    const std::string tracer = run.creator.empty() ? run.format : run.creator + " (" + run.format + ")";
    if (std::find(tracers.begin(), tracers.end(), tracer) == tracers.end()) tracers.push_back(tracer);
  }
  return Join(tracers, ", ");
}

std::string NoiseInWords(const AllocationPack& pack) {
  if (!pack.noise) return "Every core count was run once, so what differs from run to run is not known.";
  return fmt::format(
      "{} of {} core counts {} run more than once; {} {} from run to run by {} (standard deviation), "
      "and intervals of measured rows come from that.",
      pack.repeated_counts, pack.counts, pack.repeated_counts == 1 ? "was" : "were",
      pack.basis == EfficiencyBasis::kTimes ? "times" : "efficiencies",
      pack.basis == EfficiencyBasis::kTimes ? "vary" : "vary", FormatPercent(pack.noise->deviation));
}

std::optional<double> MeanAt(const std::vector<FactorRow>& rows, Factor factor, std::int64_t cores) {
  double sum = 0, count = 0;
  for (const FactorRow& row : rows) {
    if (row.cores != cores || !row.values[factor]) continue;
    sum += *row.values[factor];
    ++count;
  }
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

// What the noise of the machine costs in the largest run, where the study removed it.
std::string RemovedNoiseInWords(const Results& results, const AllocationPack& pack) {
  if (results.comparison != Comparison::kNoise || results.variants.empty()) return "";
  const std::vector<FactorRow> rows = results.table.Rows(pack.series, pack.phase);
  const FactorTable& clean = results.variants.back().table;
  const auto measured = MeanAt(rows, Factor::kParallelEfficiency, rows.back().cores);
  const auto without = MeanAt(clean.Rows(pack.series, pack.phase), Factor::kParallelEfficiency, rows.back().cores);
  if (!measured || !without) return "";
  return fmt::format(
      " Replayed {}, parallel efficiency on {} is {} instead of {}: noise of the machine is part of the "
      "measured times.",
      results.variants.back().name, Cores(static_cast<double>(rows.back().cores)), FormatFactor(*without),
      FormatFactor(*measured));
}

std::string FormulaInWords(const AllocationPack& pack) {
  const std::string baseline = Cores(pack.baseline);
  switch (pack.basis) {
    case EfficiencyBasis::kTimes:
      if (pack.scaling == Scaling::kWeak) {
        return fmt::format(
            " The baseline is the run on {}. Efficiency is E = T₀ / T, with the time T₀ of an iteration there and T "
            "elsewhere, "
            "since the work grows "
            "with the cores; speedup is E times the cores over those of the baseline, and counts the larger problem.",
            baseline);
      }
      return fmt::format(
          " The baseline is the run on {}. Speedup is S = T₀ / T and efficiency E = p₀ T₀ / (p T), with "
          "p₀ cores and the time T₀ of an iteration there, and p and T elsewhere.",
          baseline);
    case EfficiencyBasis::kSpeedup:
      return fmt::format(" The baseline is the run on {}; efficiency is speedup over that, a core.", baseline);
    case EfficiencyBasis::kGlobalEfficiency:
      return fmt::format(
          " The baseline is the run on {}. Efficiency is global efficiency over that of the baseline, which is "
          "p₀ T₀ / (p T) for strong and T₀ / T for weak scaling; speedup is that times the cores over those of the "
          "baseline.",
          baseline);
    case EfficiencyBasis::kParallelEfficiency:
      return fmt::format(
          " The baseline is the run on {}. Efficiency is parallel efficiency over that of the baseline, as if "
          "computation itself scaled "
          "ideally.",
          baseline);
    case EfficiencyBasis::kNone: break;
  }
  return "";
}

}  // namespace

std::string FormatWallTime(double seconds) {
  constexpr double kHour = 3600;
  return seconds < 2 * kHour ? FormatSeconds(seconds) : FormatSpeedup(seconds / kHour) + " h";
}

std::string PhaseInWords(const PhaseId& phase) {
  const std::string whole = fmt::format("the phase \"{}\"", phase.name);
  return phase.IsGroup() ? fmt::format("the group \"{}\" of ranks in {}", phase.group, whole) : whole;
}

std::vector<std::string> DescribeRecommendation(const AllocationPack& pack) {
  const Recommendation& job = pack.recommendation;
  std::vector<std::string> sentences;
  const std::string against =
      fmt::format("efficiency of at least {} against the run on {}", Percent(pack.required), Cores(pack.baseline));
  std::string size = Cores(job.cores);
  if (job.nodes && *job.nodes > 0) {
    size += fmt::format(" ({}{} {})", FormatCores(*job.nodes), job.is_measured ? "" : " full",
                        *job.nodes == 1 ? "node" : "nodes");
  }
  if (job.is_measured) {
    sentences.push_back(MeasuredInWords(pack, size, against));
  } else if (job.kind == Recommendation::Kind::kReached) {
    sentences.push_back(
        fmt::format("Jobs of up to {} are expected to have an {}{}.", size, against, IntervalInWords(job)));
  } else {
    sentences.push_back(
        fmt::format("Jobs of up to {} are expected to have an {}, which is as far as the evidence goes. "
                    "Larger jobs may have it too{}, but that is not evidence.",
                    size, against, IntervalInWords(job)));
  }
  for (const std::string& sentence : {CostInWords(pack), pack.superlinear, CautionInWords(pack),
                                      ExceptionsInWords(pack), DisagreementInWords(pack)}) {
    if (!sentence.empty()) sentences.push_back(sentence);
  }
  return sentences;
}

std::string DescribeMeasurement(const Results& results, const AllocationPack& pack) {
  const AllocationRow* smallest = nullptr;
  const AllocationRow* largest = nullptr;
  for (const AllocationRow& row : pack.rows) {
    if (!row.is_measured) continue;
    if (smallest == nullptr) smallest = &row;
    largest = &row;
  }
  const std::string tracers = Tracers(results);
  std::string text = fmt::format("Measured rows are {} {} on {} core {}", pack.runs, pack.runs == 1 ? "run" : "runs",
                                 pack.counts, pack.counts == 1 ? "count" : "counts");
  if (pack.counts > 1) text += fmt::format(" from {} to {}", FormatCores(smallest->cores), FormatCores(largest->cores));
  text += tracers.empty() ? ", from a table of factors" : ", recorded as traces by " + tracers;
  if (pack.cores_per_node) {
    text += fmt::format(", with up to {} a node", Cores(std::round(*pack.cores_per_node * 10) / 10));
  }
  text += ".";
  if (!pack.phase.IsUnnamed()) {
    text +=
        fmt::format(" All numbers are about {}{}, not about start and end of the program.", PhaseInWords(pack.phase),
                    pack.phase_description.empty() || tracers.empty() ? "" : " (" + pack.phase_description + ")");
  }
  const bool has_times = largest->iteration.value.has_value();
  if (has_times) {
    text += tracers.empty() ? " Times are those of the table"
                            : " Times are wall-clock times of the traced runs, with what tracing costs";
    text += largest->runs > 1 || pack.repeated_counts > 0 ? ", geometric means over repeats." : ".";
  }
  text += FormulaInWords(pack);
  return text + " " + NoiseInWords(pack) + RemovedNoiseInWords(results, pack);
}

std::string DescribePrediction(const Results& results, const AllocationPack& pack) {
  if (pack.curve.empty()) {
    return "Nothing is predicted: every row was measured. A projection needs runs on two core counts at least, better "
           "five, and factors that were measured in them.";
  }
  std::string text = "Predicted rows were not run.";
  if (!results.table.rules.empty()) {
    text += fmt::format(
        " Each trace was replayed on an ideal network (rules \"{}\"), which splits what is lost on every core count "
        "into load balance, "
        "serialization, transfer and the scaling of computation, as the POP methodology defines them.",
        results.table.rules);
  } else {
    text +=
        " What is lost on every core count is split into factors such as load balance, serialization, transfer and "
        "the scaling of computation.";
  }
  text += " Scaling models are fitted to each factor by itself";
  if (!results.models.empty()) text += fmt::format(" ({})", results.models);
  text += " and extrapolated; their product is the efficiency, from which follow speedup";
  const bool has_times = std::any_of(pack.rows.begin(), pack.rows.end(), [](const AllocationRow& row) {
    return !row.is_measured && row.iteration.interval80;
  });
  text += has_times ? ", times and core hours." : ".";
  text +=
      " Intervals of predictions hold four of five new runs (80 %): they contain the scatter of the runs, what these "
      "leave open about "
      "models and parameters, and how far other codes drift from every model.";
  text += fmt::format(
      " Predictions are evidence up to {}, where the intervals of the efficiencies get too wide to decide by{}; "
      "beyond, a row gives the "
      "interval only.",
      Cores(pack.evidence), pack.evidence >= pack.largest_target ? " at the earliest" : "");
  return text + " Made by " + Generator() + ".";
}

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
