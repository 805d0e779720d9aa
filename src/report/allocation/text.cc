#include "report/allocation/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/version.h"
#include "factors/table_terms.h"
#include "report/key_results.h"

namespace farscale {
namespace {

constexpr double kSecondsOfHour = 3600;

std::string CountOfNoun(std::size_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string CountIterations(double count) { return FormatCores(count) + (count == 1 ? " iteration" : " iterations"); }

std::string FormatWallTime(double seconds) {
  return seconds < 2 * kSecondsOfHour ? FormatSeconds(seconds) : FormatSpeedup(seconds / kSecondsOfHour) + " h";
}

// "39", "less than 2", "more than 1,024".
std::string BoundText(const CountBound& bound) {
  switch (bound.kind) {
    case CountBound::Kind::kBelow: return "less than " + FormatCores(bound.cores);
    case CountBound::Kind::kMoreThan: return "more than " + FormatCores(bound.cores);
    case CountBound::Kind::kAt: break;
  }
  return FormatCores(bound.cores);
}

// "87.3 % (80 % interval 85.0 % to 89.0 %)".
std::string WithInterval(const Estimate& estimate) {
  std::string text = FormatPercent(*estimate.value);
  if (!estimate.interval80 || !estimate.interval80->high) return text;
  return text + fmt::format(" (80 % interval {} to {})", FormatPercent(estimate.interval80->low),
                            FormatPercent(*estimate.interval80->high));
}

struct EfficiencyOfCount {
  FARSCALE_TEXTS(cores, efficiency)
};

struct RecommendedJob {
  bool is_measured = false, is_baseline = false, is_reached = false, is_beyond = false;
  std::string size, cores, interval, limit, efficiency, work, core_hours, core_hours_interval;
  std::optional<EfficiencyOfCount> next;
  FARSCALE_TAGS(is_measured, is_baseline, is_reached, is_beyond, size, cores, interval, limit, efficiency, work,
                core_hours, core_hours_interval, next)
};

struct SureJob {
  std::string cores;
  bool is_surer = false;
  FARSCALE_TAGS(cores, is_surer)
};

struct DisagreementRow {
  bool is_first = false, is_baseline = false;
  std::string cores, measured, projected;
  FARSCALE_TAGS(is_first, is_baseline, cores, measured, projected)
};

struct Disagreements {
  std::vector<DisagreementRow> rows;
  bool is_none = false;  // by the projection alone
  std::string allowed;
  FARSCALE_TAGS(rows, is_none, allowed)
};

struct ProblemSizes {
  bool is_one = false;
  std::string first_total, first_portion, first_cores, last_total, last_portion, last_cores;
  FARSCALE_TAGS(is_one, first_total, first_portion, first_cores, last_total, last_portion, last_cores)
};

struct RemovedNoise {
  FARSCALE_TEXTS(name, cores, without, measured)
};

struct ContradictionText {
  std::vector<std::string> doubts;
  std::string work, efficiencies, sizes, baseline_size, baseline_cores;
  FARSCALE_TAGS(doubts, work, efficiencies, sizes, baseline_size, baseline_cores)
};

struct MissingText {
  bool description = false, size = false, scaling = false, times = false, plan = false, computation = false;
  bool counts = false, repeats = false, nodes = false, prediction = false;
  std::string obstacle, count_number;
  bool is_one_count = false;
  FARSCALE_TAGS(description, size, scaling, times, plan, computation, counts, repeats, nodes, prediction, obstacle,
                count_number, is_one_count)
};

struct PackText {
  std::string title, description, group, phase, phase_description, phase_in_words;
  bool is_strong = false, is_weak = false, is_scaling_unknown = false, is_scaling_shown = false;
  std::string scaling;
  std::optional<ProblemSizes> sizes;
  std::string baseline, runs, counts, noise, required, iterations, planned_iterations, baseline_iterations;
  bool is_of_runs = false, is_one_iteration = false, has_intervals = false, is_any_beyond = false;
  bool are_nodes_estimated = false;
  std::string reliable, omitted_up_to, superlinear;
  RecommendedJob job;
  std::optional<SureJob> sure;
  std::optional<EfficiencyOfCount> largest_enough;
  std::string exceptions;
  std::optional<Disagreements> disagreements;
  std::string from, to, tracers, cores_per_node;
  bool has_largest_time = false, has_repeats = false, is_one_repeated = false, is_of_times = false, is_whole = false;
  bool is_times_weak = false, is_times_strong = false, is_speedup = false, is_global_efficiency = false;
  bool is_parallel_efficiency = false;
  std::string repeated_counts;
  std::optional<RemovedNoise> removed_noise;
  bool is_predicted = false, has_predicted_times = false, is_reliable_to_end = false;
  std::string rules, models, generator;
  ContradictionText contradictions;
  MissingText missing;
  FARSCALE_TAGS(title, description, group, phase, phase_description, phase_in_words, is_strong, is_weak,
                is_scaling_unknown, is_scaling_shown, scaling, sizes, baseline, runs, counts, noise, required,
                iterations, planned_iterations, baseline_iterations, is_of_runs, is_one_iteration, has_intervals,
                is_any_beyond, are_nodes_estimated, reliable, omitted_up_to, superlinear, job, sure, largest_enough,
                exceptions, disagreements, from, to, tracers, cores_per_node, has_largest_time, has_repeats,
                is_one_repeated, is_of_times, is_whole, is_times_weak, is_times_strong, is_speedup,
                is_global_efficiency, is_parallel_efficiency, repeated_counts, removed_noise, is_predicted,
                has_predicted_times, is_reliable_to_end, rules, models, generator, contradictions, missing)
};

RecommendedJob JobOf(const AllocationPack& pack) {
  const Recommendation& job = pack.recommendation;
  RecommendedJob text{.is_measured = job.is_measured,
                      .is_baseline = job.is_baseline,
                      .is_reached = job.kind == Recommendation::Kind::kReached,
                      .is_beyond = pack.reliable > 0 && job.disagreements.empty(),
                      .size = FormatCoreCount(job.cores),
                      .cores = FormatCoreCount(job.cores)};
  if (job.nodes && *job.nodes > 0) {
    text.size += fmt::format(" ({}{} {})", FormatCores(*job.nodes), job.is_measured ? "" : " full",
                             *job.nodes == 1 ? "node" : "nodes");
  }
  if (job.low && job.high) {
    const bool is_one = job.high->kind == CountBound::Kind::kAt && job.high->cores == 1;
    text.interval = fmt::format("{} to {} {}", BoundText(*job.low), BoundText(*job.high), is_one ? "core" : "cores");
  }
  if (job.limit && (job.is_measured || !text.interval.empty())) text.limit = FormatCores(*job.limit);
  const auto next = std::ranges::find_if(pack.rows, [&](const AllocationRow& row) {
    return row.is_measured && row.cores > job.cores && row.efficiency.value;
  });
  if (next != pack.rows.end()) text.next = {FormatCoreCount(next->cores), WithInterval(next->efficiency)};
  if (!job.efficiency.value) return text;
  text.efficiency = WithInterval(job.efficiency);
  if (!job.work.value) return text;
  text.work = FormatWallTime(*job.work.value);
  text.core_hours = FormatCoreHours(*job.core_hours.value);
  const std::optional<OpenBounds>& cost = job.core_hours.interval80;
  if (cost && cost->high) {
    text.core_hours_interval = fmt::format("{} to {}", FormatCoreHours(cost->low), FormatCoreHours(*cost->high));
  }
  return text;
}

// The largest measured count up to the recommended one that is efficient enough; smaller ones that are not.
void FillMeasured(const AllocationPack& pack, PackText& text) {
  const Recommendation& job = pack.recommendation;
  if (job.sure) text.sure = {FormatCoreCount(*job.sure), job.is_surer};
  std::vector<std::string> exceptions;
  for (const AllocationRow& row : pack.rows) {
    if (!row.is_measured || row.is_baseline || row.cores > job.cores || !row.efficiency.value) continue;
    const std::string efficiency = FormatPercent(*row.efficiency.value), cores = FormatCoreCount(row.cores);
    const bool is_enough = *row.efficiency.value >= pack.required;
    if (!is_enough && row.cores < job.cores) exceptions.push_back(fmt::format("{} on {}", efficiency, cores));
    if (is_enough) {
      text.largest_enough.reset();
      if (!job.is_measured && row.cores > job.sure.value_or(0)) text.largest_enough = {cores, efficiency};
    }
  }
  text.exceptions = Join(exceptions, ", ");
  if (job.disagreements.empty()) return;
  Disagreements disagreements;
  for (const Disagreement& one : job.disagreements) {
    disagreements.rows.push_back({disagreements.rows.empty(), one.is_baseline, FormatCoreCount(one.cores),
                                  WithInterval(one.measured), WithInterval(one.projected)});
  }
  if (job.projected) {
    disagreements.is_none = job.projected->kind == CountBound::Kind::kBelow;
    const bool is_more = job.projected->kind == CountBound::Kind::kMoreThan;
    if (!disagreements.is_none)
      disagreements.allowed = (is_more ? "more than " : "") + FormatCoreCount(job.projected->cores);
  }
  text.disagreements = std::move(disagreements);
}

std::optional<ProblemSizes> SizesOf(const AllocationPack& pack, const std::string& unit) {
  std::vector<const AllocationRow*> sized;
  for (const AllocationRow& row : pack.rows) {
    if (row.is_measured && row.size) sized.push_back(&row);
  }
  if (sized.empty()) return std::nullopt;
  const auto with_unit = [&](double size) { return FormatProblemSize(size) + (unit.empty() ? "" : " " + unit); };
  const AllocationRow &first = *sized.front(), &last = *sized.back();
  return ProblemSizes{
      &first == &last,       with_unit(*first.size),   with_unit(*first.portion),  FormatCores(first.cores),
      with_unit(*last.size), with_unit(*last.portion), FormatCoreCount(last.cores)};
}

// The tools that wrote the traces, each once.
std::string TracersOf(const Results& results) {
  std::vector<std::string> tracers;
  for (const RunRecord& run : results.runs) {
    if (!run.error.empty()) continue;
    const std::string tracer = run.creator.empty() ? run.format : run.creator + " (" + run.format + ")";
    if (std::ranges::find(tracers, tracer) == tracers.end()) tracers.push_back(tracer);
  }
  return Join(tracers, ", ");
}

std::optional<double> MeanParallelEfficiency(const std::vector<FactorRow>& rows, std::int64_t cores) {
  double sum = 0, count = 0;
  for (const FactorRow& row : rows) {
    if (row.cores != cores || !row.values[Factor::kParallelEfficiency]) continue;
    sum += *row.values[Factor::kParallelEfficiency];
    ++count;
  }
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

// What the noise of the machine costs in the largest run, where the study removed it.
std::optional<RemovedNoise> RemovedNoiseOf(const Results& results, const AllocationPack& pack) {
  if (results.comparison != Comparison::kNoise || results.variants.empty()) return std::nullopt;
  const std::vector<FactorRow> rows = results.table.Rows(pack.series, pack.phase);
  const Variant& clean = results.variants.back();
  const auto measured = MeanParallelEfficiency(rows, rows.back().cores);
  const auto without = MeanParallelEfficiency(clean.table.Rows(pack.series, pack.phase), rows.back().cores);
  if (!measured || !without) return std::nullopt;
  return RemovedNoise{clean.name, FormatCoreCount(static_cast<double>(rows.back().cores)), FormatPercent(*without),
                      FormatPercent(*measured)};
}

void FillMethod(const Results& results, const AllocationPack& pack, PackText& text) {
  std::vector<const AllocationRow*> measured;
  for (const AllocationRow& row : pack.rows) {
    if (row.is_measured) measured.push_back(&row);
  }
  if (pack.counts > 1) {
    text.from = FormatCores(measured.front()->cores);
    text.to = FormatCores(measured.back()->cores);
  }
  text.tracers = TracersOf(results);
  if (pack.cores_per_node) text.cores_per_node = FormatCoreCount(std::round(*pack.cores_per_node * 10) / 10);
  text.has_largest_time = measured.back()->iteration.value.has_value();
  text.has_repeats = measured.back()->runs > 1 || pack.repeated_counts > 0;
  text.is_one_repeated = pack.repeated_counts == 1;
  text.repeated_counts = std::to_string(pack.repeated_counts);
  text.is_whole = KnowsTimesOnly(results.table);
  text.is_of_times = pack.basis == EfficiencyBasis::kTimes;
  text.is_times_weak = text.is_of_times && pack.scaling == Scaling::kWeak;
  text.is_times_strong = text.is_of_times && !text.is_times_weak;
  text.is_speedup = pack.basis == EfficiencyBasis::kSpeedup;
  text.is_global_efficiency = pack.basis == EfficiencyBasis::kGlobalEfficiency;
  text.is_parallel_efficiency = pack.basis == EfficiencyBasis::kParallelEfficiency;
  text.removed_noise = RemovedNoiseOf(results, pack);
  text.is_predicted = !pack.curve.empty();
  text.has_predicted_times =
      Any(pack, [](const AllocationRow& row) { return !row.is_measured && row.iteration.interval80; });
  text.is_reliable_to_end = pack.reliable >= pack.largest_target;
  text.rules = results.table.rules;
  text.models = results.models;
  text.generator = Generator();
}

ContradictionText TextOf(const Contradictions& found) {
  ContradictionText text{.doubts = found.doubts, .work = found.work};
  std::vector<std::string> efficiencies, sizes;
  for (const ContradictingEfficiency& one : found.efficiencies) {
    efficiencies.push_back(fmt::format("on {} cores {} by times and {} by factors", FormatCores(one.cores),
                                       FormatPercent(one.by_times), FormatPercent(one.by_factors)));
  }
  for (const SizeOfCount& one : found.sizes) {
    sizes.push_back(fmt::format("{} on {}", FormatCores(one.size), FormatCores(one.cores)));
  }
  text.efficiencies = Join(efficiencies, ", ");
  if (sizes.empty()) return text;
  text.baseline_size = FormatCores(found.sizes.front().size);
  text.baseline_cores = FormatCores(found.sizes.front().cores);
  sizes.erase(sizes.begin());
  text.sizes = Join(sizes, ", ");
  return text;
}

PackText TextOf(const Results& results, const AllocationPack& pack) {
  PackText text{.title = OneLine(results.title),
                .description = OneLine(results.description),
                .group = OneLine(pack.phase.group),
                .phase = OneLine(pack.phase.name),
                .phase_description = OneLine(pack.phase_description),
                .phase_in_words = pack.phase.IsUnnamed() ? "" : OneLine(PhaseInWords(pack.phase)),
                .is_strong = pack.scaling == Scaling::kStrong,
                .is_weak = pack.scaling == Scaling::kWeak,
                .is_scaling_unknown = !pack.scaling,
                .is_scaling_shown = pack.is_scaling_shown,
                .scaling = pack.scaling ? ToString(*pack.scaling) : "",
                .sizes = SizesOf(pack, results.problem.unit),
                .baseline = FormatCoreCount(pack.baseline),
                .runs = CountOfNoun(pack.runs, "run"),
                .counts = CountOfNoun(pack.counts, "core count"),
                .noise = pack.noise ? FormatPercent(pack.noise->deviation) : "",
                .required = fmt::format("{:g} %", 100 * pack.required),
                .iterations = CountIterations(pack.iterations),
                .planned_iterations = pack.are_planned ? CountIterations(pack.iterations) : "",
                .baseline_iterations =
                    HasTimes(pack) && !pack.are_planned && !pack.is_of_runs ? CountIterations(pack.iterations) : "",
                .is_of_runs = pack.is_of_runs,
                .is_one_iteration = pack.iterations == 1,
                .reliable = FormatCoreCount(pack.reliable),
                .superlinear = pack.superlinear,
                .job = JobOf(pack)};
  text.has_intervals =
      Any(pack, [](const AllocationRow& row) { return row.efficiency.interval80 || row.iteration.interval80; });
  text.is_any_beyond = Any(pack, [](const AllocationRow& row) { return row.reliability != Reliability::kReliable; });
  text.are_nodes_estimated =
      pack.cores_per_node && Any(pack, [](const AllocationRow& row) { return !row.is_measured; });
  if (pack.largest_target > pack.rows.back().cores) text.omitted_up_to = FormatCores(pack.largest_target);
  FillMeasured(pack, text);
  FillMethod(results, pack, text);
  text.contradictions = TextOf(pack.contradictions);
  const MissingInformation& missing = pack.missing;
  text.missing = {missing.description, missing.size,        missing.scaling,  missing.times,
                  missing.plan,        missing.computation, missing.counts,   missing.repeats,
                  missing.nodes,       missing.prediction,  missing.obstacle, std::to_string(pack.counts),
                  pack.counts == 1};
  return text;
}

}  // namespace

AllocationText DescribeAllocation(const Results& results, const AllocationPack& pack, const Partials& templates) {
  const ReportData data = ToData(TextOf(results, pack));
  const auto sentences = [&](const char* name) { return RenderSentences(templates, name, data); };
  return {.facts = RenderLabelledTexts(templates, "allocation_facts.txt", data),
          .recommendation = sentences("allocation_recommendation.txt"),
          .measurement = Join(sentences("allocation_measurement.txt"), " "),
          .prediction = Join(sentences("allocation_prediction.txt"), " "),
          .note = Join(sentences("allocation_note.txt"), " "),
          .contradictions = sentences("allocation_contradictions.txt"),
          .missing = sentences("allocation_missing.txt")};
}

bool Any(const AllocationPack& pack, const std::function<bool(const AllocationRow&)>& has) {
  return std::ranges::any_of(pack.rows, has);
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

std::string PhaseInWords(const PhaseId& phase) {
  const std::string whole = fmt::format("the phase \"{}\"", phase.name);
  return phase.IsGroup() ? fmt::format("the group \"{}\" of ranks in {}", phase.group, whole) : whole;
}

std::string OneLine(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return text;
}

}  // namespace farscale
