#include "planning/allocation.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "base/diagnostics.h"
#include "base/text.h"
#include "factors/scaling.h"
#include "factors/factor_table.h"
#include "planning/allocation_terms.h"
#include "projection/projection.h"

namespace farscale {
namespace {

constexpr double kLastBits = 1e-9;

// The largest of 2^k and 3 · 2^k that is not larger; 0 below 1.
double LargestUsual(double count) {
  if (count < 1 - kLastBits) return 0;
  const double power = std::exp2(std::floor(std::log2(count + kLastBits)));
  return 1.5 * power <= count + kLastBits && power >= 2 ? 1.5 * power : power;
}

bool IsEnough(double efficiency, double required) { return efficiency >= required * (1 - kLastBits); }

bool HasFullNode(const AllocationPack& pack, double cores) {
  return pack.cores_per_node && cores >= *pack.cores_per_node - kLastBits;
}

double UsualNodes(const AllocationPack& pack, double cores) { return LargestUsual(cores / *pack.cores_per_node); }

double WholeProcesses(const AllocationTerms& terms, double cores) {
  const auto threads = static_cast<double>(terms.counts.back().rows.front()->threads);
  return threads > 1 ? std::floor(cores / threads) * threads : cores;
}

// The largest usual count of full nodes, where the cores hold at least one, else of cores, with whole processes.
double UsualCores(const AllocationTerms& terms, double cores) {
  if (HasFullNode(terms.pack, cores))
    return WholeProcesses(terms, std::floor(UsualNodes(terms.pack, cores) * *terms.pack.cores_per_node));
  std::int64_t divisor = 0;
  for (const RunsAt& runs : terms.counts) divisor = std::gcd(divisor, runs.cores);
  const auto odd = static_cast<double>(divisor >> std::countr_zero(static_cast<std::uint64_t>(divisor)));
  return odd * WholeProcesses(terms, LargestUsual(cores / odd));
}

// The projection decides beyond the largest run that is efficient enough, up to the next one, which is not. `answer`:
// where the projected efficiency falls below the required one. `job` comes in as the recommendation of the largest
// measured run that is efficient enough.
void RecommendProjected(const AllocationTerms& terms, const CountEstimate& answer, const AllocationRow* next,
                        Recommendation& job) {
  const double largest = job.row.cores, reliable = terms.ReliableCores();
  const bool ends = answer.value.kind == CountBound::Kind::kMoreThan || answer.value.cores > reliable;
  const double limit =
      answer.value.kind == CountBound::Kind::kBelow ? 0 : std::floor(ends ? reliable : answer.value.cores);
  const double cores = UsualCores(terms, limit);
  const auto value = ReadCurve(*terms.projection, cores);
  if (!ends && next == nullptr && limit >= largest) {
    job.reliable_range_ends = false;
    job.limit = limit;
    job.low = answer.low;
    job.high = answer.high;
  }
  if (!value || cores <= largest || (next != nullptr && cores >= next->cores)) return;
  job.row = ProjectedRow(terms, *value);
  job.row.nodes = HasFullNode(terms.pack, limit) ? std::optional(UsualNodes(terms.pack, limit)) : std::nullopt;
  job.reliable_range_ends = ends && next == nullptr;
  job.limit = cores != limit ? std::optional(limit) : std::nullopt;
  job.low = answer.low;
  job.high = answer.high;
  if (!job.low || job.low->kind == CountBound::Kind::kBelow) return;
  const double sure = UsualCores(terms, std::min(job.low->cores, cores));
  if (sure > 0) job.sure = sure;
  job.is_surer = job.low->kind == CountBound::Kind::kMoreThan || job.low->cores > cores;
}

// The job size that an allocation pack recommends [docs/formulas.md, allocation].
Recommendation Recommend(const AllocationTerms& terms) {
  const double required = terms.options.efficiency;
  std::vector<const AllocationRow*> measured;
  const AllocationRow *largest = nullptr, *next = nullptr;  // efficient enough, as the baseline is by definition
  for (const AllocationRow& row : terms.pack.rows) {
    if (!row.is_measured || !row.efficiency.value) continue;
    measured.push_back(&row);
    if (row.is_baseline || IsEnough(*row.efficiency.value, required)) largest = &row;
  }
  for (const AllocationRow* row : measured) {
    if (next == nullptr && row->cores > largest->cores) next = row;
  }
  Recommendation job;
  job.row = *largest;
  job.reliable_range_ends = next == nullptr;
  if (terms.projection != nullptr) {
    const CountEstimate answer = LargestCountWith(*terms.phase_projection, *terms.projection, required,
                                                  [&](double cores) { return terms.ToEfficiency(cores); });
    RecommendProjected(terms, answer, next, job);
    for (const AllocationRow* row : measured) {
      const auto value = ReadCurve(*terms.projection, row->cores);
      const Estimate projected = value ? terms.ProjectedEfficiency(*value) : row->efficiency;
      if (IsEnough(*projected.value, required) != IsEnough(*row->efficiency.value, required))
        job.disagreements.emplace_back(*row, projected);
    }
    if (job.row.is_measured && !job.disagreements.empty()) job.projected = answer.value;
  }
  // Where the lower bound of the 80 % interval is enough, efficiency is with 90 %.
  for (const AllocationRow* row : measured) {
    const std::optional<OpenBounds>& bounds = row->efficiency.interval80;
    if (row->is_baseline || row->cores > job.row.cores || !bounds || !IsEnough(bounds->low, required)) continue;
    if (row->cores <= job.sure.value_or(0)) continue;
    job.sure = row->cores;
    job.is_surer = false;
  }
  return job;
}

constexpr double kBeyondRuns = 16;  // the same of the largest run, where predictions are reliable beyond

void AddProjected(AllocationTerms& terms) {
  AllocationPack& pack = terms.pack;
  const FactorProjection* projection = terms.projection;
  if (projection == nullptr) return;
  pack.reliable = terms.ReliableCores();
  const auto smallest = static_cast<double>(terms.counts.front().cores),
             largest = static_cast<double>(terms.counts.back().cores);
  const double shown = terms.options.up_to.value_or(
      std::min(kShownBeyondReliable * std::max(pack.reliable, largest), kBeyondRuns * largest));
  for (const ProjectedValue& value : projection->targets) {
    pack.largest_target = value.cores;
    const bool was_run = std::any_of(terms.counts.begin(), terms.counts.end(), [&](const RunsAt& runs) {
      return static_cast<double>(runs.cores) == value.cores;
    });
    if (value.cores <= shown && !was_run) pack.rows.push_back(ProjectedRow(terms, value));
  }
  for (const ProjectedValue& value : projection->curve) {
    if (value.cores < smallest || value.cores > pack.rows.back().cores) continue;
    const AllocationRow row = ProjectedRow(terms, value);
    if (row.reliability != Reliability::kUnknown) pack.curve.emplace_back(value.cores, row.speedup);
  }
}

constexpr double kRounding = 0.02;  // logarithm: two digits of a table leave this open
constexpr double kSameSize = 0.05;  // relative: processes seldom divide a problem evenly
constexpr double kWholeConfidence = 0.05;

// Efficiency at a count by times and by global efficiency, in words, and the change between them; 1 where they agree.
using Pair = std::pair<std::string, Change>;

// T p GE with strong and T GE with weak scaling: the useful time of the baseline's work, the same at every count.
std::vector<double> WorkOf(const RunsAt& runs, Scaling scaling) {
  std::vector<double> work = runs.Seconds();
  const std::vector<double> efficiencies = runs.Values(Factor::kGlobalEfficiency);
  if (work.size() != efficiencies.size()) return {};
  for (std::size_t i = 0; i < work.size(); ++i) {
    work[i] *= efficiencies[i] * (scaling == Scaling::kStrong ? static_cast<double>(runs.cores) : 1);
  }
  return work;
}

std::vector<Pair> PairsOf(const AllocationTerms& terms, Scaling scaling) {
  std::vector<std::vector<double>> work;
  for (const RunsAt& runs : terms.counts) work.push_back(WorkOf(runs, scaling));
  const auto repeats = NoiseOfRepeats(work);
  const Noise noise = repeats ? Pool(*repeats, Noise{}) : Noise{};
  const auto at_baseline = Measure(WorkOf(*terms.baseline, scaling), {}, noise);
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < work.size() && at_baseline; ++i) {
    const RunsAt& runs = terms.counts[i];
    const auto measured = Measure(work[i], {}, noise);
    if (!measured || runs.cores == terms.baseline->cores) continue;
    const auto mean = [](const RunsAt& at) { return Measure(at.Values(Factor::kGlobalEfficiency), {})->value; };
    const double by_factors = mean(runs) / mean(*terms.baseline);
    const Change change = ChangeBetween(*at_baseline, *measured);
    pairs.emplace_back(
        fmt::format("on {} cores {} by times and {} by factors", FormatCores(static_cast<double>(runs.cores)),
                    FormatPercent(by_factors / change.ratio), FormatPercent(by_factors)),
        change);
  }
  return pairs;
}

// Those that differ beyond noise; all share the chance of an error [Dunn61].
std::vector<std::string> Different(const std::vector<Pair>& pairs) {
  const double confidence = 1 - kWholeConfidence / static_cast<double>(std::max<std::size_t>(1, pairs.size()));
  std::vector<std::string> different;
  for (const auto& [efficiency, change] : pairs) {
    const bool is_rounding = std::fabs(std::log(change.ratio)) < kRounding;
    if (!is_rounding && change.IsBeyondNoise(confidence)) different.push_back(efficiency);
  }
  return different;
}

std::string CheckTimes(const AllocationTerms& terms) {
  // Rows about some of the ranks have times of all and factors of their own.
  const auto is_about_all = [](const FactorRow& row) { return row.ranks * row.threads == row.cores; };
  if (!terms.pack.scaling || !std::ranges::all_of(terms.rows, is_about_all)) return "";
  const Scaling scaling = *terms.pack.scaling, other = scaling == Scaling::kStrong ? Scaling::kWeak : Scaling::kStrong;
  const std::vector<Pair> pairs = PairsOf(terms, scaling);
  const std::vector<std::string> different = Different(pairs);
  if (!different.empty() && different.size() == pairs.size() && Different(PairsOf(terms, other)).empty()) {
    const PhaseId& phase = terms.pack.phase;
    throw Error(
        ErrorKind::kUsage, phase.IsUnnamed() ? "" : "phase '" + phase.Text() + "'",
        fmt::format("times and factors contradict each other with {} scaling: efficiency is {}; with {} scaling "
                    "they agree",
                    ToString(scaling), Join(different, ", "), ToString(other)),
        "state that the scaling is " + ToString(other));
  }
  return Join(different, ", ");
}

// Runs whose efficiency by times is not that by factors, beyond noise, and problem sizes that do not go with the
// scaling. Throws a usage error where times and factors agree with the other kind of scaling and not with the one
// stated, and where the runs of the phase exclude it.
void FindContradictions(AllocationTerms& terms) {
  AllocationPack& pack = terms.pack;
  const FactorTable& table = terms.results.table;
  pack.doubts = DoubtsOf(table.findings);
  const std::string work = CheckScalingOf(table, pack.series, pack.phase);
  const auto says_it = [&](const std::string& doubt) { return doubt.find(work) != std::string::npos; };
  if (std::ranges::none_of(pack.doubts, says_it)) pack.unlike_work = work;
  pack.contradicting_efficiencies = CheckTimes(terms);
  if (!pack.scaling) return;
  const auto size_of = [&](const AllocationRow& row) {
    return *pack.scaling == Scaling::kStrong ? row.size : row.portion;
  };
  const auto baseline = std::ranges::find_if(pack.rows, &AllocationRow::is_baseline);
  const std::optional<double> expected = size_of(*baseline);
  for (const AllocationRow& row : pack.rows) {
    const std::optional<double> size = size_of(row);
    if (!row.is_measured || !size || !expected || std::fabs(*size / *expected - 1) < kSameSize) continue;
    if (pack.contradicting_sizes.empty()) pack.contradicting_sizes.emplace_back(baseline->cores, *expected);
    pack.contradicting_sizes.emplace_back(row.cores, *size);
  }
}

}  // namespace

double EfficiencyOfTimes(Scaling scaling, double baseline_cores, double baseline_seconds, double cores,
                         double seconds) {
  const double ratio = baseline_seconds / seconds;
  return scaling == Scaling::kWeak ? ratio : baseline_cores / cores * ratio;
}

const PhaseProjection* ProjectionOf(const Results& results, const std::string& series, const PhaseId& phase) {
  const PhaseProjection* found = FindPhase(results.projections, {series, phase});
  return found != nullptr && found->obstacle.empty() ? found : nullptr;
}

PhaseId MostImportantPhase(const FactorTable& table, const std::string& series) {
  std::int64_t largest = 0;
  for (const FactorRow& row : table.rows) {
    if (row.series == series) largest = std::max(largest, row.cores);
  }
  const FactorRow* chosen = nullptr;
  for (const FactorRow& row : table.rows) {
    if (row.series != series || row.cores != largest || row.phase.IsGroup()) continue;
    if (chosen == nullptr || row.runtime.value_or(0) > chosen->runtime.value_or(0)) chosen = &row;
  }
  if (chosen != nullptr) return chosen->phase;
  const std::vector<PhaseId> phases = table.Phases(series);
  return phases.empty() ? PhaseId() : phases.front();
}

AllocationPack MakeAllocationPack(const Results& results, const AllocationOptions& options) {
  AllocationPack pack;
  AllocationTerms terms = GatherTerms(results, options, pack);
  const auto record = std::ranges::find(results.phases, pack.phase, &PhaseRecord::id);
  if (record != results.phases.end()) pack.phase_description = record->description;
  pack.is_scaling_shown = pack.scaling && !results.table.scaling;
  pack.required = options.efficiency;
  pack.counts = terms.counts.size();
  for (const RunsAt& runs : terms.counts) {
    pack.runs += runs.rows.size();
    pack.repeated_counts += runs.rows.size() > 1 ? 1 : 0;
  }
  for (const FactorRow& row : terms.rows) {
    if (!row.nodes || *row.nodes < 1) continue;
    const double of_node = static_cast<double>(row.cores) / static_cast<double>(*row.nodes);
    pack.cores_per_node = std::max(pack.cores_per_node.value_or(0), of_node);
  }
  // Nodes of one core are names of processes or of containers.
  if (pack.cores_per_node.value_or(0) <= 1) pack.cores_per_node.reset();
  const std::optional<double> planned = options.iterations ? options.iterations : results.problem.iterations;
  pack.are_planned = planned.has_value();
  pack.iterations = planned.value_or(terms.baseline->rows.front()->iterations);
  pack.is_of_runs = !planned && pack.iterations == 1 && pack.phase.IsUnnamed() && KnowsTimesOnly(results.table);
  for (const RunsAt& runs : terms.counts) pack.rows.push_back(MeasuredRow(terms, runs));
  AddProjected(terms);
  pack.recommendation = Recommend(terms);
  double largest_efficiency = 0;  // where a row is uncertain and has no number, the low end of the interval
  for (const AllocationRow& row : pack.rows) {
    const double low = row.efficiency.interval80 ? row.efficiency.interval80->low : 0;
    largest_efficiency = std::max(largest_efficiency, row.efficiency.value.value_or(low));
  }
  pack.superlinear = WhySuperlinear(terms.rows, largest_efficiency, terms.baseline->cores);
  FindContradictions(terms);
  return pack;
}

}  // namespace farscale
