#include "planning/allocation.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "base/diagnostics.h"
#include "base/text.h"
#include "factors/scaling.h"
#include "factors/table_check.h"
#include "planning/allocation_terms.h"
#include "projection/projection.h"

namespace farscale {
namespace {

// The job size that an allocation pack recommends [docs/formulas.md, allocation].

constexpr double kLastBits = 1e-9;

// The largest of 2^k and 3 · 2^k that is not larger; 0 below 1.
double LargestUsual(double count) {
  if (count < 1 - kLastBits) return 0;
  const double power = std::exp2(std::floor(std::log2(count + kLastBits)));
  return 1.5 * power <= count + kLastBits && power >= 2 ? 1.5 * power : power;
}

class JobSize {
 public:
  JobSize(const AllocationTerms& terms, const WorkPlan& plan, const std::vector<AllocationRow>& rows)
      : terms_(terms), plan_(plan), required_(terms.options().efficiency) {
    for (const AllocationRow& row : rows) {
      if (row.is_measured && row.efficiency.value) measured_.push_back(&row);
    }
    for (const AllocationRow* row : measured_) {
      if (row->is_baseline || IsEnough(*row->efficiency.value)) largest_ = row;
    }
    for (const AllocationRow* row : measured_) {
      if (next_ == nullptr && row->cores > largest_->cores) next_ = row;
    }
  }

  Recommendation Recommend() {
    RecommendMeasured();
    if (terms_.projection() != nullptr) {
      const CountEstimate answer = LargestCountWith(*terms_.phase_projection(), *terms_.projection(), required_,
                                                    [&](double cores) { return terms_.ToEfficiency(cores); });
      Project(answer);
      FindDisagreements();
      if (job_.is_measured && !job_.disagreements.empty()) job_.projected = answer.value;
    }
    FindSureMeasured();
    return job_;
  }

 private:
  bool IsEnough(double efficiency) const { return efficiency >= required_ * (1 - kLastBits); }

  // The largest run that is efficient enough. The baseline is, by definition, so there is one.
  void RecommendMeasured() {
    job_.is_measured = true;
    job_.is_baseline = largest_->is_baseline;
    job_.kind = next_ == nullptr ? Recommendation::Kind::kReliableRangeEnds : Recommendation::Kind::kReached;
    job_.cores = largest_->cores;
    job_.nodes = largest_->nodes;
    Fill(*largest_);
  }

  void Fill(const AllocationRow& row) {
    job_.efficiency = row.efficiency;
    job_.work = row.work;
    job_.core_hours = row.core_hours;
  }

  // The largest usual count of full nodes, where the cores hold at least one, else of cores, with whole processes.
  double Fitting(double cores) const {
    if (HasFullNode(cores)) return WholeProcesses(std::floor(UsualNodes(cores) * *plan_.cores_per_node));
    std::int64_t divisor = 0;
    for (const RunsAt& runs : terms_.counts()) divisor = std::gcd(divisor, runs.cores);
    const auto odd = static_cast<double>(divisor >> std::countr_zero(static_cast<std::uint64_t>(divisor)));
    return odd * WholeProcesses(LargestUsual(cores / odd));
  }

  bool HasFullNode(double cores) const { return plan_.cores_per_node && cores >= *plan_.cores_per_node - kLastBits; }
  double UsualNodes(double cores) const { return LargestUsual(cores / *plan_.cores_per_node); }

  double WholeProcesses(double cores) const {
    const auto threads = static_cast<double>(terms_.counts().back().rows.front()->threads);
    return threads > 1 ? std::floor(cores / threads) * threads : cores;
  }

  // The projection decides beyond the largest run that is efficient enough, up to the next one, which is not.
  void Project(const CountEstimate& answer) {
    const bool is_below = answer.value.kind == CountBound::Kind::kBelow;
    const double reliable = terms_.ReliableCores();
    const bool ends = answer.value.kind == CountBound::Kind::kMoreThan || answer.value.cores > reliable;
    const double limit = is_below ? 0 : std::floor(ends ? reliable : answer.value.cores);
    const double cores = Fitting(limit);
    const auto value = ReadCurve(*terms_.projection(), cores);
    if (!ends && next_ == nullptr && limit >= largest_->cores) {
      job_.kind = Recommendation::Kind::kReached;
      job_.limit = limit;
      job_.low = answer.low;
      job_.high = answer.high;
    }
    if (!value || cores <= largest_->cores || (next_ != nullptr && cores >= next_->cores)) return;
    job_.is_measured = job_.is_baseline = false;
    job_.kind = ends && next_ == nullptr ? Recommendation::Kind::kReliableRangeEnds : Recommendation::Kind::kReached;
    job_.cores = cores;
    job_.limit = cores != limit ? std::optional(limit) : std::nullopt;
    job_.nodes.reset();
    if (HasFullNode(limit)) job_.nodes = UsualNodes(limit);
    job_.low = answer.low;
    job_.high = answer.high;
    Fill(ProjectedRow(terms_, plan_, *value));
    if (!job_.low || job_.low->kind == CountBound::Kind::kBelow) return;
    const double sure = Fitting(std::min(job_.low->cores, cores));
    if (sure > 0) job_.sure = sure;
    job_.is_surer = job_.low->kind == CountBound::Kind::kMoreThan || job_.low->cores > cores;
  }

  // Where the lower bound of the 80 % interval is enough, efficiency is with 90 %.
  void FindSureMeasured() {
    for (const AllocationRow* row : measured_) {
      const std::optional<OpenBounds>& bounds = row->efficiency.interval80;
      if (row->is_baseline || row->cores > job_.cores || !bounds || !IsEnough(bounds->low)) continue;
      if (row->cores <= job_.sure.value_or(0)) continue;
      job_.sure = row->cores;
      job_.is_surer = false;
    }
  }

  void FindDisagreements() {
    for (const AllocationRow* row : measured_) {
      const auto value = ReadCurve(*terms_.projection(), row->cores);
      if (!value) continue;
      const Estimate projected = terms_.ProjectedEfficiency(*value);
      if (IsEnough(*projected.value) == IsEnough(*row->efficiency.value)) continue;
      job_.disagreements.push_back({row->cores, row->is_baseline, row->efficiency, projected});
    }
  }

  const AllocationTerms& terms_;
  const WorkPlan& plan_;
  const double required_;
  std::vector<const AllocationRow*> measured_;
  const AllocationRow* largest_ = nullptr;  // measured, and efficient enough
  const AllocationRow* next_ = nullptr;     // the run after that, which is not
  Recommendation job_;
};

constexpr double kBeyondRuns = 16;  // the same of the largest run, where predictions are reliable beyond

std::string DescriptionOf(const Results& results, const PhaseId& phase) {
  for (const PhaseRecord& record : results.phases) {
    if (record.id == phase) return record.description;
  }
  return "";
}

// Cores of a node in the run with the fullest nodes. Nodes of one core are names of processes or of containers.
std::optional<double> CoresPerNode(const std::vector<FactorRow>& rows) {
  std::optional<double> most;
  for (const FactorRow& row : rows) {
    if (!row.nodes || *row.nodes < 1) continue;
    most = std::max(most.value_or(0), static_cast<double>(row.cores) / static_cast<double>(*row.nodes));
  }
  return most.value_or(0) > 1 ? most : std::nullopt;
}

void CountRuns(const AllocationTerms& terms, AllocationPack& pack) {
  pack.counts = terms.counts().size();
  for (const RunsAt& runs : terms.counts()) {
    pack.runs += runs.rows.size();
    pack.repeated_counts += runs.rows.size() > 1 ? 1 : 0;
  }
  pack.noise = terms.noise();
  pack.cores_per_node = CoresPerNode(terms.rows());
}

void ChooseIterations(const AllocationTerms& terms, AllocationPack& pack) {
  const std::optional<double> planned =
      terms.options().iterations ? terms.options().iterations : terms.results().problem.iterations;
  pack.are_planned = planned.has_value();
  pack.iterations = planned.value_or(terms.baseline().rows.front()->iterations);
  pack.is_of_runs = !planned && pack.iterations == 1 && pack.phase.IsUnnamed() && KnowsTimesOnly(terms.results().table);
}

// Where a row is uncertain and has no number, the low end of the interval.
double LargestEfficiency(const AllocationPack& pack) {
  double largest = 0;
  for (const AllocationRow& row : pack.rows) {
    largest = std::max(largest, row.efficiency.value.value_or(0));
    if (!row.efficiency.value && row.efficiency.interval80) largest = std::max(largest, row.efficiency.interval80->low);
  }
  return largest;
}

void AddProjected(const AllocationTerms& terms, const WorkPlan& plan, AllocationPack& pack) {
  const FactorProjection* projection = terms.projection();
  if (projection == nullptr) return;
  pack.reliable = terms.ReliableCores();
  const auto smallest = static_cast<double>(terms.counts().front().cores),
             largest = static_cast<double>(terms.counts().back().cores);
  const double shown = terms.options().up_to.value_or(
      std::min(kShownBeyondReliable * std::max(pack.reliable, largest), kBeyondRuns * largest));
  for (const ProjectedValue& value : projection->targets) {
    pack.largest_target = value.cores;
    const bool was_run = std::any_of(terms.counts().begin(), terms.counts().end(), [&](const RunsAt& runs) {
      return static_cast<double>(runs.cores) == value.cores;
    });
    if (value.cores <= shown && !was_run) pack.rows.push_back(ProjectedRow(terms, plan, value));
  }
  for (const ProjectedValue& value : projection->curve) {
    if (value.cores < smallest || value.cores > pack.rows.back().cores) continue;
    const AllocationRow row = ProjectedRow(terms, plan, value);
    if (row.reliability != Reliability::kUnknown) pack.curve.push_back({value.cores, row.speedup});
  }
}

constexpr std::size_t kCountsAskedFor = 3;  // chosen: what most computing centres ask for

// `pack` is complete but for this.
MissingInformation FindMissing(const AllocationTerms& terms, const AllocationPack& pack) {
  const auto any = [&](auto condition) { return std::ranges::any_of(pack.rows, condition); };
  const bool has_times = any([](const AllocationRow& row) { return row.is_measured && row.iteration.value; });
  const bool is_predicted = any([](const AllocationRow& row) { return !row.is_measured; });
  const PhaseProjection* projection = FindPhase(terms.results().projections, {terms.series(), terms.phase()});
  return {.description = terms.results().description.empty(),
          .size = !any([](const AllocationRow& row) { return row.size.has_value(); }),
          .scaling = !pack.scaling,
          .times = !has_times,
          .plan = has_times && !pack.are_planned,
          .computation = pack.basis == EfficiencyBasis::kParallelEfficiency,
          .counts = pack.counts < kCountsAskedFor,
          .repeats = pack.repeated_counts == 0,
          .nodes = !any([](const AllocationRow& row) { return row.nodes.has_value(); }),
          .prediction = !is_predicted,
          .obstacle = is_predicted || projection == nullptr ? "" : projection->obstacle};
}

constexpr double kRounding = 0.02;  // logarithm: two digits of a table leave this open
constexpr double kSameSize = 0.05;  // relative: processes seldom divide a problem evenly
constexpr double kWholeConfidence = 0.05;

// Efficiency at a count by times and by global efficiency.
struct Pair {
  double cores = 0;
  double by_times = 0, by_factors = 0;
  Change change;  // between them; 1 where they agree
};

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

// Rows about some of the ranks have times of all and factors of their own.
bool IsAboutAllRanks(const std::vector<FactorRow>& rows) {
  return std::all_of(rows.begin(), rows.end(),
                     [](const FactorRow& row) { return row.ranks * row.threads == row.cores; });
}

std::vector<Pair> PairsOf(const AllocationTerms& terms, Scaling scaling) {
  std::vector<std::vector<double>> work;
  for (const RunsAt& runs : terms.counts()) work.push_back(WorkOf(runs, scaling));
  const auto repeats = NoiseOfRepeats(work);
  const Noise noise = repeats ? Pool(*repeats, Noise{}) : Noise{};
  const auto at_baseline = Measure(WorkOf(terms.baseline(), scaling), {}, noise);
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < work.size() && at_baseline; ++i) {
    const RunsAt& runs = terms.counts()[i];
    const auto measured = Measure(work[i], {}, noise);
    if (!measured || runs.cores == terms.baseline().cores) continue;
    const auto mean = [](const RunsAt& at) { return Measure(at.Values(Factor::kGlobalEfficiency), {})->value; };
    const double by_factors = mean(runs) / mean(terms.baseline());
    const Change change = ChangeBetween(*at_baseline, *measured);
    pairs.push_back({static_cast<double>(runs.cores), by_factors / change.ratio, by_factors, change});
  }
  return pairs;
}

// Those that differ beyond noise; all share the chance of an error [Dunn61].
std::vector<Pair> Different(const std::vector<Pair>& pairs) {
  const double confidence = 1 - kWholeConfidence / static_cast<double>(std::max<std::size_t>(1, pairs.size()));
  std::vector<Pair> different;
  for (const Pair& pair : pairs) {
    const bool is_rounding = std::fabs(std::log(pair.change.ratio)) < kRounding;
    if (!is_rounding && pair.change.IsBeyondNoise(confidence)) different.push_back(pair);
  }
  return different;
}

std::string InWords(const std::vector<Pair>& pairs) {
  std::vector<std::string> texts;
  for (const Pair& pair : pairs) {
    texts.push_back(fmt::format("on {} cores {} by times and {} by factors", FormatCores(pair.cores),
                                FormatPercent(pair.by_times), FormatPercent(pair.by_factors)));
  }
  return Join(texts, ", ");
}

std::vector<ContradictingEfficiency> CheckTimes(const AllocationTerms& terms) {
  if (!terms.scaling() || !IsAboutAllRanks(terms.rows())) return {};
  const Scaling scaling = *terms.scaling(), other = scaling == Scaling::kStrong ? Scaling::kWeak : Scaling::kStrong;
  const std::vector<Pair> pairs = PairsOf(terms, scaling), different = Different(pairs);
  if (!different.empty() && different.size() == pairs.size() && Different(PairsOf(terms, other)).empty()) {
    throw Error(
        ErrorKind::kUsage, terms.phase().IsUnnamed() ? "" : "phase '" + terms.phase().Text() + "'",
        fmt::format("times and factors contradict each other with {} scaling: efficiency is {}; with {} scaling "
                    "they agree",
                    ToString(scaling), InWords(different), ToString(other)),
        "state that the scaling is " + ToString(other));
  }
  std::vector<ContradictingEfficiency> efficiencies;
  for (const Pair& pair : different) efficiencies.push_back({pair.cores, pair.by_times, pair.by_factors});
  return efficiencies;
}

std::vector<SizeOfCount> CheckSizes(const AllocationTerms& terms, const std::vector<AllocationRow>& rows) {
  if (!terms.scaling()) return {};
  const auto size_of = [&](const AllocationRow& row) {
    return *terms.scaling() == Scaling::kStrong ? row.size : row.portion;
  };
  const auto baseline = std::ranges::find_if(rows, &AllocationRow::is_baseline);
  const std::optional<double> expected = size_of(*baseline);
  std::vector<SizeOfCount> others;
  for (const AllocationRow& row : rows) {
    const std::optional<double> size = size_of(row);
    if (!row.is_measured || !size || !expected || std::fabs(*size / *expected - 1) < kSameSize) continue;
    if (others.empty()) others.push_back({baseline->cores, *expected});
    others.push_back({row.cores, *size});
  }
  return others;
}

// Runs whose efficiency by times is not that by factors, beyond noise, and problem sizes that do not go with the
// scaling. `rows` are those of the pack. Throws a usage error where times and factors agree with the other kind of
// scaling and not with the one stated, and where the runs of the phase exclude it.
Contradictions FindContradictions(const AllocationTerms& terms, const std::vector<AllocationRow>& rows) {
  const FactorTable& table = terms.results().table;
  Contradictions found;
  found.doubts = DoubtsOf(table.findings);
  found.work = CheckScalingOf(table, terms.series(), terms.phase());
  const bool is_said = std::ranges::any_of(
      found.doubts, [&](const std::string& doubt) { return doubt.find(found.work) != std::string::npos; });
  if (is_said) found.work.clear();
  found.efficiencies = CheckTimes(terms);
  found.sizes = CheckSizes(terms, rows);
  return found;
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
  const AllocationTerms terms(results, options);
  AllocationPack pack;
  pack.series = terms.series();
  pack.phase = terms.phase();
  pack.phase_description = DescriptionOf(results, pack.phase);
  pack.basis = terms.basis();
  pack.scaling = terms.scaling();
  pack.is_scaling_shown = pack.scaling && !results.table.scaling;
  pack.required = options.efficiency;
  pack.baseline = terms.baseline_cores();
  CountRuns(terms, pack);
  ChooseIterations(terms, pack);
  const WorkPlan plan{pack.iterations, pack.cores_per_node};
  for (const RunsAt& runs : terms.counts()) pack.rows.push_back(MeasuredRow(terms, plan, runs));
  AddProjected(terms, plan, pack);
  pack.recommendation = JobSize(terms, plan, pack.rows).Recommend();
  pack.superlinear = WhySuperlinear(terms.rows(), LargestEfficiency(pack), terms.baseline().cores);
  pack.contradictions = FindContradictions(terms, pack.rows);
  pack.missing = FindMissing(terms, pack);
  return pack;
}

}  // namespace farscale
