#include "report/allocation/pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/files.h"
#include "factors/factor_table.h"
#include "report/sections.h"
#include "results/results.h"

namespace farscale {
namespace {

using Data = ReportData;

constexpr double kSecondsOfHour = 3600;

std::string CountOfNoun(std::size_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
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

Data EfficiencyOn(const std::string& cores, const std::string& efficiency) {
  return Data{{"cores", cores}, {"efficiency", efficiency}};
}

// The tags `job`.
Data JobText(const AllocationPack& pack) {
  const Recommendation& job = pack.recommendation;
  const AllocationRow& row = job.row;
  Data text = {{"isMeasured", row.is_measured},
               {"isBaseline", row.is_baseline},
               {"isReached", !job.reliable_range_ends},
               {"isBeyond", pack.reliable > 0 && job.disagreements.empty()},
               {"cores", FormatCoreCount(row.cores)},
               {"efficiency", ""},
               {"work", ""},
               {"coreHours", ""},
               {"coreHoursInterval", ""},
               {"next", false}};
  std::string nodes, interval;
  if (row.nodes && *row.nodes > 0) {
    nodes = fmt::format(" ({}{} {})", FormatCores(*row.nodes), row.is_measured ? "" : " full",
                        *row.nodes == 1 ? "node" : "nodes");
  }
  text["size"] = FormatCoreCount(row.cores) + nodes;
  if (job.low && job.high) {
    const bool is_one = job.high->kind == CountBound::Kind::kAt && job.high->cores == 1;
    interval = fmt::format("{} to {} {}", BoundText(*job.low), BoundText(*job.high), is_one ? "core" : "cores");
  }
  text["interval"] = interval;
  text["limit"] = job.limit && (row.is_measured || !interval.empty()) ? FormatCores(*job.limit) : "";
  const auto next = std::ranges::find_if(pack.rows, [&](const AllocationRow& other) {
    return other.is_measured && other.cores > row.cores && other.efficiency.value;
  });
  if (next != pack.rows.end())
    text["next"] = EfficiencyOn(FormatCoreCount(next->cores), WithInterval(next->efficiency));
  if (!row.efficiency.value) return text;
  text["efficiency"] = WithInterval(row.efficiency);
  if (!row.work.value) return text;
  const double hours = *row.work.value / kSecondsOfHour;
  text["work"] = *row.work.value < 2 * kSecondsOfHour ? FormatSeconds(*row.work.value) : FormatSpeedup(hours) + " h";
  text["coreHours"] = FormatCoreHours(*row.core_hours.value);
  const std::optional<OpenBounds>& cost = row.core_hours.interval80;
  if (cost && cost->high)
    text["coreHoursInterval"] = fmt::format("{} to {}", FormatCoreHours(cost->low), FormatCoreHours(*cost->high));
  return text;
}

// The largest measured count up to the recommended one that is efficient enough; smaller ones that are not.
void FillMeasured(const AllocationPack& pack, Data& text) {
  const Recommendation& job = pack.recommendation;
  text.update({{"sure", false}, {"largestEnough", false}});
  if (job.sure) text["sure"] = Data{{"cores", FormatCoreCount(*job.sure)}, {"isSurer", job.is_surer}};
  std::vector<std::string> exceptions;
  for (const AllocationRow& row : pack.rows) {
    if (!row.is_measured || row.is_baseline || row.cores > job.row.cores || !row.efficiency.value) continue;
    const std::string efficiency = FormatPercent(*row.efficiency.value), cores = FormatCoreCount(row.cores);
    const bool is_enough = *row.efficiency.value >= pack.required;
    if (!is_enough && row.cores < job.row.cores) exceptions.push_back(fmt::format("{} on {}", efficiency, cores));
    if (!is_enough) continue;
    const bool is_beyond = !job.row.is_measured && row.cores > job.sure.value_or(0);
    text["largestEnough"] = is_beyond ? EfficiencyOn(cores, efficiency) : Data(false);
  }
  text["exceptions"] = Join(exceptions, ", ");
  text["disagreements"] = false;  // counts where measured and projected efficiencies disagree
  if (job.disagreements.empty()) return;
  Data rows = Data::array();
  for (const auto& [row, projected] : job.disagreements) {
    rows.push_back({{"isFirst", rows.empty()},
                    {"isBaseline", row.is_baseline},
                    {"cores", FormatCoreCount(row.cores)},
                    {"measured", WithInterval(row.efficiency)},
                    {"projected", WithInterval(projected)}});
  }
  const auto& allowed = job.projected;  // if the projection alone counts
  const bool is_none = allowed && allowed->kind == CountBound::Kind::kBelow;
  const char* more = allowed && allowed->kind == CountBound::Kind::kMoreThan ? "more than " : "";
  text["disagreements"] = {{"rows", std::move(rows)},
                           {"isNone", is_none},
                           {"allowed", allowed && !is_none ? more + FormatCoreCount(allowed->cores) : ""}};
}

// The smallest and the largest measured problem; false where sizes are unknown.
Data ProblemSizes(const AllocationPack& pack, const std::string& unit) {
  std::vector<const AllocationRow*> sized;
  for (const AllocationRow& row : pack.rows) {
    if (row.is_measured && row.size) sized.push_back(&row);
  }
  if (sized.empty()) return false;
  const auto with_unit = [&](double size) { return FormatProblemSize(size) + (unit.empty() ? "" : " " + unit); };
  const AllocationRow &first = *sized.front(), &last = *sized.back();
  return {{"isOne", &first == &last},
          {"firstTotal", with_unit(*first.size)},
          {"firstPortion", with_unit(*first.portion)},
          {"firstCores", FormatCores(first.cores)},
          {"lastTotal", with_unit(*last.size)},
          {"lastPortion", with_unit(*last.portion)},
          {"lastCores", FormatCoreCount(last.cores)}};
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

// The cost of the machine's noise in the largest run, where the study removed it; false elsewhere.
Data RemovedNoise(const Results& results, const AllocationPack& pack) {
  if (results.is_what_if || results.variants.empty()) return false;
  const std::vector<FactorRow> rows = results.table.Rows(pack.series, pack.phase);
  const Variant& clean = results.variants.back();
  const auto measured = MeanParallelEfficiency(rows, rows.back().cores);
  const auto without = MeanParallelEfficiency(clean.table.Rows(pack.series, pack.phase), rows.back().cores);
  if (!measured || !without) return false;
  return {{"name", clean.name},
          {"cores", FormatCoreCount(static_cast<double>(rows.back().cores))},
          {"without", FormatPercent(*without)},
          {"measured", FormatPercent(*measured)}};
}

void FillMethod(const Results& results, const AllocationPack& pack, Data& text) {
  std::vector<const AllocationRow*> measured;
  for (const AllocationRow& row : pack.rows) {
    if (row.is_measured) measured.push_back(&row);
  }
  std::vector<std::string> tracers;  // that wrote the traces, each once
  for (const RunRecord& run : results.runs) {
    if (!run.error.empty()) continue;
    const std::string tracer = run.creator.empty() ? run.format : run.creator + " (" + run.format + ")";
    if (std::ranges::find(tracers, tracer) == tracers.end()) tracers.push_back(tracer);
  }
  const bool is_of_times = !pack.basis;
  text.update({{"from", pack.counts > 1 ? FormatCores(measured.front()->cores) : ""},
               {"to", pack.counts > 1 ? FormatCores(measured.back()->cores) : ""},
               {"tracers", Join(tracers, ", ")},
               {"coresPerNode", pack.cores_per_node ? FormatCoreCount(std::round(*pack.cores_per_node * 10) / 10) : ""},
               {"hasLargestTime", measured.back()->iteration.value.has_value()},
               {"hasRepeats", measured.back()->runs > 1 || pack.repeated_counts > 0},
               {"isOneRepeated", pack.repeated_counts == 1},
               {"repeatedCounts", std::to_string(pack.repeated_counts)},
               {"isWhole", KnowsTimesOnly(results.table)},
               {"isOfTimes", is_of_times},
               {"isTimesWeak", is_of_times && pack.scaling == Scaling::kWeak},
               {"isTimesStrong", is_of_times && pack.scaling != Scaling::kWeak},
               {"isSpeedup", pack.basis == Factor::kSpeedup},
               {"isGlobalEfficiency", pack.basis == Factor::kGlobalEfficiency},
               {"isParallelEfficiency", pack.basis == Factor::kParallelEfficiency},
               {"removedNoise", RemovedNoise(results, pack)},
               {"isPredicted", !pack.curve.empty()},
               {"hasPredictedTimes",
                Any(pack, [](const AllocationRow& row) { return !row.is_measured && row.iteration.interval80; })},
               {"isReliableToEnd", pack.reliable >= pack.largest_target},
               {"rules", results.table.rules},
               {"models", results.models},
               {"generator", Generator()}});
}

Data ContradictionText(const AllocationPack& pack) {
  const auto& sizes = pack.contradicting_sizes;
  std::vector<std::string> others;
  for (std::size_t i = 1; i < sizes.size(); ++i)
    others.push_back(fmt::format("{} on {}", FormatCores(sizes[i].second), FormatCores(sizes[i].first)));
  return {{"doubts", pack.doubts},
          {"work", pack.unlike_work},
          {"efficiencies", pack.contradicting_efficiencies},
          {"sizes", Join(others, ", ")},
          {"baselineSize", sizes.empty() ? "" : FormatCores(sizes.front().second)},
          {"baselineCores", sizes.empty() ? "" : FormatCores(sizes.front().first)}};
}

constexpr std::size_t kCountsAskedFor = 3;  // chosen: what most computing centres ask for

// Statements that an application needs and the results do not have; why nothing is projected, where the results say it.
Data MissingText(const Results& results, const AllocationPack& pack) {
  const bool has_times =
      Any(pack, [](const AllocationRow& row) { return row.is_measured && row.iteration.value.has_value(); });
  const bool is_predicted = Any(pack, [](const AllocationRow& row) { return !row.is_measured; });
  const PhaseProjection* projection = FindPhase(results.projections, {pack.series, pack.phase});
  return {{"description", results.description.empty()},
          {"size", !HasSizes(pack)},
          {"scaling", !pack.scaling},
          {"times", !has_times},
          {"plan", has_times && !pack.are_planned},
          {"computation", pack.basis == Factor::kParallelEfficiency},
          {"counts", pack.counts < kCountsAskedFor},
          {"repeats", pack.repeated_counts == 0},
          {"nodes", !Any(pack, [](const AllocationRow& row) { return row.nodes.has_value(); })},
          {"prediction", !is_predicted},
          {"obstacle", is_predicted || projection == nullptr ? "" : projection->obstacle},
          {"countNumber", std::to_string(pack.counts)},
          {"isOneCount", pack.counts == 1}};
}

// The tags of templates/allocation_*.txt.mustache.
Data PackText(const Results& results, const AllocationPack& pack) {
  const std::string iterations = FormatCores(pack.iterations) + (pack.iterations == 1 ? " iteration" : " iterations");
  const bool is_per_baseline = HasTimes(pack) && !pack.are_planned && !pack.is_of_runs;
  Data text = {
      {"title", OneLine(results.title)},
      {"description", OneLine(results.description)},
      {"group", OneLine(pack.phase.group)},
      {"phase", OneLine(pack.phase.name)},
      {"phaseDescription", OneLine(pack.phase_description)},
      {"phaseInWords", pack.phase.IsUnnamed() ? "" : OneLine(PhaseInWords(pack.phase))},
      {"isStrong", pack.scaling == Scaling::kStrong},
      {"isWeak", pack.scaling == Scaling::kWeak},
      {"isScalingUnknown", !pack.scaling},
      {"isScalingShown", pack.is_scaling_shown},
      {"scaling", pack.scaling ? ToString(*pack.scaling) : ""},
      {"sizes", ProblemSizes(pack, results.problem.unit)},
      {"baseline", FormatCoreCount(pack.baseline)},
      {"runs", CountOfNoun(pack.runs, "run")},
      {"counts", CountOfNoun(pack.counts, "core count")},
      {"noise", pack.noise ? FormatPercent(pack.noise->deviation) : ""},
      {"required", fmt::format("{:g} %", 100 * pack.required)},
      {"iterations", iterations},
      {"plannedIterations", pack.are_planned ? iterations : ""},
      {"baselineIterations", is_per_baseline ? iterations : ""},
      {"isOfRuns", pack.is_of_runs},
      {"isOneIteration", pack.iterations == 1},
      {"hasIntervals",
       Any(pack, [](const AllocationRow& row) { return row.efficiency.interval80 || row.iteration.interval80; })},
      {"isAnyBeyond", Any(pack, [](const AllocationRow& row) { return row.reliability != Reliability::kReliable; })},
      {"areNodesEstimated",
       pack.cores_per_node && Any(pack, [](const AllocationRow& row) { return !row.is_measured; })},
      {"reliable", FormatCoreCount(pack.reliable)},
      {"omittedUpTo", pack.largest_target > pack.rows.back().cores ? FormatCores(pack.largest_target) : ""},
      {"superlinear", pack.superlinear},
      {"job", JobText(pack)},
      {"contradictions", ContradictionText(pack)},
      {"missing", MissingText(results, pack)}};
  FillMeasured(pack, text);
  FillMethod(results, pack, text);
  return text;
}

}  // namespace

Data DescribeAllocation(const Results& results, const AllocationPack& pack, const Partials& templates) {
  const Data data = PackText(results, pack);
  const auto sentences = [&](const char* name) { return RenderSentences(templates, name, data); };
  Data text = {{"facts", Data::array()},
               {"recommendation", sentences("allocation_recommendation.txt")},
               {"measurement", Join(sentences("allocation_measurement.txt"), " ")},
               {"prediction", Join(sentences("allocation_prediction.txt"), " ")},
               {"tableNote", Join(sentences("allocation_note.txt"), " ")},
               {"contradictions", sentences("allocation_contradictions.txt")},
               {"missing", sentences("allocation_missing.txt")}};
  for (const auto& [name, value] : RenderLabelledTexts(templates, "allocation_facts.txt", data))
    text["facts"].push_back({{"name", name}, {"value", value}});
  AddWhetherFilled(text, {"contradictions", "missing"});
  return text;
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
