#include "report/allocation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/format.h"
#include "base/text.h"
#include "report/curve.h"

namespace farscale {
namespace {

constexpr std::size_t kCountsAskedFor = 3;
constexpr double kBeyondEvidence = 4;  // how far beyond the evidence targets are shown, unless asked for
constexpr double kBeyondRuns = 16;     // the same of the largest run, where evidence goes on

// The runs at one core count.
struct Place {
  std::int64_t cores = 0;
  std::vector<const FactorRow*> rows;
};

std::vector<Place> PlacesOf(const std::vector<FactorRow>& rows) {
  std::vector<Place> places;
  for (const FactorRow& row : rows) {
    if (places.empty() || places.back().cores != row.cores) places.push_back({row.cores, {}});
    places.back().rows.push_back(&row);
  }
  return places;
}

std::optional<Factor> FactorOf(EfficiencyBasis basis) {
  switch (basis) {
    case EfficiencyBasis::kSpeedup: return Factor::kSpeedup;
    case EfficiencyBasis::kGlobalEfficiency: return Factor::kGlobalEfficiency;
    case EfficiencyBasis::kParallelEfficiency: return Factor::kParallelEfficiency;
    case EfficiencyBasis::kTimes:
    case EfficiencyBasis::kNone: break;
  }
  return std::nullopt;
}

std::optional<double> SecondsOf(const FactorRow& row) {
  return row.runtime ? std::optional(*row.runtime / row.iterations) : std::nullopt;
}

// Values of all rows, or none where one lacks it.
template <typename Value>
std::vector<double> ValuesOf(const Place& place, Value value) {
  std::vector<double> values;
  for (const FactorRow* row : place.rows) {
    const std::optional<double> one = value(*row);
    if (!one || !(*one > 0)) return {};
    values.push_back(*one);
  }
  return values;
}

Estimate Scaled(const Estimate& estimate, double by) {
  Estimate scaled = estimate;
  if (scaled.value) *scaled.value *= by;
  if (scaled.interval80) {
    scaled.interval80->low *= by;
    if (scaled.interval80->high) *scaled.interval80->high *= by;
  }
  return scaled;
}

const PhaseProjection* ProjectionOf(const Results& results, const std::string& series, const std::string& phase) {
  for (const PhaseProjection& projection : results.projections) {
    if (projection.series == series && projection.phase == phase) return &projection;
  }
  return nullptr;
}

class PackMaker {
 public:
  PackMaker(const Results& results, const AllocationOptions& options) : results_(results), options_(options) {
    ChooseSeries();
    ChoosePhase();
    rows_ = results.table.Rows(pack_.series, pack_.phase);
    places_ = PlacesOf(rows_);
    projection_ = ProjectionOf(results, pack_.series, pack_.phase);
    if (projection_ != nullptr && !projection_->obstacle.empty()) projection_ = nullptr;
  }

  AllocationPack Make() {
    pack_.scaling = results_.table.scaling;
    pack_.required = options_.efficiency;
    ChooseBaseline();
    ChooseBasis();
    CountRuns();
    ChooseIterations();
    for (const Place& place : places_) AddMeasured(place);
    if (projection_ != nullptr) AddProjected();
    pack_.recommendation = Recommend();
    SayWhatIsMissing();
    return std::move(pack_);
  }

 private:
  void ChooseSeries() {
    const std::vector<std::string> known = results_.table.Series();
    if (known.empty()) throw Error(ErrorKind::kEvidence, "", "the results have no runs");
    pack_.series = options_.series.value_or(known.front());
    if (std::find(known.begin(), known.end(), pack_.series) != known.end()) return;
    throw Error(ErrorKind::kUsage, "--series", "no series '" + pack_.series + "' in the results",
                "there are " + Join(known, ", "));
  }

  void ChoosePhase() {
    const std::vector<std::string> known = results_.table.Phases(pack_.series);
    pack_.phase = options_.phase.value_or(MostImportantPhase(results_.table, pack_.series));
    for (const PhaseRecord& record : results_.phases) {
      if (record.name == pack_.phase) pack_.phase_description = record.description;
    }
    if (std::find(known.begin(), known.end(), pack_.phase) != known.end()) return;
    throw Error(ErrorKind::kUsage, "--phase", "no phase '" + pack_.phase + "' in the results",
                "there are " + Join(known, ", "));
  }

  void ChooseBaseline() {
    std::vector<std::string> known;
    bool has_reference = false;
    for (const Place& place : places_) {
      known.push_back(std::to_string(place.cores));
      has_reference = has_reference || place.cores == results_.table.reference;
      if (place.cores == options_.baseline) baseline_ = &place;
    }
    if (options_.baseline && baseline_ == nullptr) {
      throw Error(ErrorKind::kUsage, "--baseline", fmt::format("there is no run on {} cores", *options_.baseline),
                  "runs are on " + Join(known, ", ") + " cores");
    }
    for (const Place& place : places_) {
      if (baseline_ == nullptr && (!has_reference || place.cores == results_.table.reference)) baseline_ = &place;
    }
    pack_.baseline = static_cast<double>(baseline_->cores);
  }

  void ChooseBasis() {
    const bool has_times = !ValuesOf(*baseline_, SecondsOf).empty();
    if (has_times && pack_.scaling) {
      pack_.basis = EfficiencyBasis::kTimes;
      return;
    }
    for (const EfficiencyBasis basis :
         {EfficiencyBasis::kGlobalEfficiency, EfficiencyBasis::kSpeedup, EfficiencyBasis::kParallelEfficiency}) {
      pack_.basis = basis;
      if (!BasisValues(*baseline_).empty()) return;
    }
    throw Error(ErrorKind::kEvidence, pack_.phase.empty() ? "" : "phase '" + pack_.phase + "'",
                fmt::format("neither times nor an efficiency are known on {} cores", baseline_->cores),
                "a scaling table needs the column runtime, globalEfficiency, speedup or parallelEfficiency");
  }

  // What repeats vary in, and efficiency is made from.
  std::vector<double> BasisValues(const Place& place) const {
    if (pack_.basis == EfficiencyBasis::kTimes) return ValuesOf(place, SecondsOf);
    const Factor factor = *FactorOf(pack_.basis);
    return ValuesOf(place, [&](const FactorRow& row) { return row.values[factor]; });
  }

  void CountRuns() {
    std::vector<std::vector<double>> repeats;
    for (const Place& place : places_) {
      pack_.runs += place.rows.size();
      pack_.repeated_counts += place.rows.size() > 1 ? 1 : 0;
      repeats.push_back(BasisValues(place));
    }
    pack_.counts = places_.size();
    pack_.noise = NoiseOfRepeats(repeats);
    for (const FactorRow& row : rows_) {
      if (!row.nodes || *row.nodes < 1) continue;
      const double filled = static_cast<double>(row.cores) / static_cast<double>(*row.nodes);
      pack_.cores_per_node = std::max(pack_.cores_per_node.value_or(0), filled);
    }
  }

  void ChooseIterations() {
    pack_.iterations = baseline_->rows.front()->iterations;
    const std::optional<double> planned = options_.iterations ? options_.iterations : results_.problem.iterations;
    pack_.are_planned = planned.has_value();
    if (planned) pack_.iterations = *planned;
  }

  // Mean of the repeats. Without any repeat nothing is known of how runs vary, so there is no interval.
  std::optional<Measurement> MeasuredOf(const std::vector<double>& values) const {
    return Measure(values, {}, pack_.noise.value_or(Noise{}));
  }

  Estimate EstimateOf(const Measurement& measured) const {
    Estimate estimate{measured.value, std::nullopt};
    if (!pack_.noise) return estimate;
    const double reach = std::exp(StudentQuantile(0.8, measured.freedom) * measured.error);
    estimate.interval80 = OpenBounds{measured.value / reach, measured.value * reach};
    return estimate;
  }

  // E from the times or factors at a count and at the baseline. Times fall where efficiency rises.
  double EfficiencyAt(double value, double at_baseline, double cores) const {
    switch (pack_.basis) {
      case EfficiencyBasis::kTimes: return EfficiencyOfTimes(*pack_.scaling, pack_.baseline, at_baseline, cores, value);
      case EfficiencyBasis::kSpeedup: return value / at_baseline * pack_.baseline / cores;
      default: return value / at_baseline;
    }
  }

  // The interval of a quotient; at the baseline itself it is 1 for certain.
  Estimate EfficiencyOf(const Measurement& measured, const Measurement& at_baseline, double cores) const {
    Estimate estimate{EfficiencyAt(measured.value, at_baseline.value, cores), std::nullopt};
    if (!pack_.noise) return estimate;
    const Change change = ChangeBetween(at_baseline, measured);
    const double reach = cores == pack_.baseline ? 1 : change.High(0.8) / change.ratio;
    estimate.interval80 = OpenBounds{*estimate.value / reach, *estimate.value * reach};
    return estimate;
  }

  AllocationRow RowAt(double cores, const FactorRow& like) const {
    AllocationRow row;
    row.cores = cores;
    row.processes = cores / static_cast<double>(like.threads);
    row.is_baseline = cores == pack_.baseline;
    row.ideal = cores / pack_.baseline;
    const ProblemCase& problem = results_.problem;
    if (problem.size) row.size = problem.size;
    if (problem.size_per_process) row.size = *problem.size_per_process * row.processes;
    for (const RunRecord& run : results_.runs) {
      if (static_cast<double>(run.cores) == cores && run.size) row.size = run.size;
    }
    if (row.size) row.portion = *row.size / row.processes;
    return row;
  }

  void FillCosts(AllocationRow& row) const {
    row.work = Scaled(row.iteration, pack_.iterations);
    row.core_hours = Scaled(row.work, CoreHours(row.cores, 1));
  }

  void AddMeasured(const Place& place) {
    AllocationRow row = RowAt(static_cast<double>(place.cores), *place.rows.front());
    row.runs = place.rows.size();
    if (place.rows.front()->nodes) row.nodes = static_cast<double>(*place.rows.front()->nodes);
    if (const auto seconds = MeasuredOf(ValuesOf(place, SecondsOf))) row.iteration = EstimateOf(*seconds);
    const auto measured = MeasuredOf(BasisValues(place)), at_baseline = MeasuredOf(BasisValues(*baseline_));
    if (measured) {
      row.efficiency = EfficiencyOf(*measured, *at_baseline, row.cores);
      row.speedup = Scaled(row.efficiency, row.ideal);
    }
    FillCosts(row);
    pack_.rows.push_back(row);
  }

  // The projected factor that efficiency is read off, and what turns it into efficiency at a core count.
  const FactorProjection* BasisProjection() const {
    const auto find = [&](Factor factor) -> const FactorProjection* {
      const FactorProjection* found = projection_->Find(factor);
      return found == nullptr || found->curve.empty() ? nullptr : found;
    };
    if (pack_.basis == EfficiencyBasis::kTimes) return find(Factor::kSpeedup);
    return find(*FactorOf(pack_.basis));
  }

  double ToEfficiency(double cores) const {
    const bool is_speedup = pack_.basis == EfficiencyBasis::kTimes || pack_.basis == EfficiencyBasis::kSpeedup;
    if (!is_speedup) return 1 / *BaselineValue();
    return pack_.baseline / cores / *BaselineValue();
  }

  // Of the factor that is projected, at the baseline.
  std::optional<double> BaselineValue() const {
    const Factor factor =
        pack_.basis == EfficiencyBasis::kTimes ? Factor::kSpeedup : FactorOf(pack_.basis).value_or(Factor::kSpeedup);
    const auto measured = MeasuredOf(ValuesOf(*baseline_, [&](const FactorRow& row) { return row.values[factor]; }));
    return measured ? std::optional(measured->value) : std::nullopt;
  }

  // Seconds an iteration: T = T_b / E, with strong scaling times p_b / p.
  std::optional<double> SecondsAt(double efficiency, double cores) const {
    const auto at_baseline = MeasuredOf(ValuesOf(*baseline_, SecondsOf));
    if (!at_baseline || !pack_.scaling) return std::nullopt;
    return at_baseline->value / efficiency * (*pack_.scaling == Scaling::kStrong ? pack_.baseline / cores : 1);
  }

  void Fill(AllocationRow& row, const ProjectedValue& value) const {
    const double scale = ToEfficiency(row.cores);
    if (row.is_evidence) row.efficiency.value = value.value * scale;
    if (value.interval80)
      row.efficiency.interval80 = OpenBounds{value.interval80->low * scale, value.interval80->high * scale};
    row.speedup = Scaled(row.efficiency, row.ideal);
    const std::optional<double> unit = SecondsAt(1, row.cores);
    if (!unit) return;
    if (row.efficiency.value && *row.efficiency.value > 0) row.iteration.value = *unit / *row.efficiency.value;
    if (row.efficiency.interval80) {
      const double longest = *unit / row.efficiency.interval80->low;
      row.iteration.interval80 = OpenBounds{*unit / *row.efficiency.interval80->high,
                                            std::isfinite(longest) ? std::optional(longest) : std::nullopt};
    }
    FillCosts(row);
  }

  double EvidenceOf(const FactorProjection& projection) const {
    return std::min(EvidenceUpTo(*projection_, projection.factor), projection.curve.back().cores);
  }

  AllocationRow ProjectedRow(const FactorProjection& projection, const ProjectedValue& value) const {
    AllocationRow row = RowAt(value.cores, *places_.back().rows.front());
    row.is_measured = false;
    row.is_evidence = value.cores <= EvidenceOf(projection);
    if (pack_.cores_per_node) row.nodes = std::ceil(row.cores / *pack_.cores_per_node - 1e-9);
    Fill(row, value);
    return row;
  }

  void AddProjected() {
    const FactorProjection* projection = BasisProjection();
    if (projection == nullptr || !BaselineValue()) return;
    pack_.evidence = EvidenceOf(*projection);
    const double largest_run = static_cast<double>(places_.back().cores);
    const double shown = options_.up_to.value_or(
        std::min(kBeyondEvidence * std::max(pack_.evidence, largest_run), kBeyondRuns * largest_run));
    for (const ProjectedValue& value : projection->targets) {
      pack_.largest_target = value.cores;
      const bool was_run = std::any_of(places_.begin(), places_.end(), [&](const Place& place) {
        return static_cast<double>(place.cores) == value.cores;
      });
      if (value.cores > shown || was_run) continue;
      pack_.rows.push_back(ProjectedRow(*projection, value));
    }
    for (const ProjectedValue& value : projection->curve) {
      const bool is_drawn =
          value.cores >= static_cast<double>(places_.front().cores) && value.cores <= pack_.rows.back().cores;
      if (is_drawn) pack_.curve.push_back({value.cores, ProjectedRow(*projection, value).speedup});
    }
  }

  Recommendation Recommend() const {
    const FactorProjection* projection = projection_ == nullptr ? nullptr : BasisProjection();
    if (projection == nullptr || !BaselineValue()) return RecommendMeasured();
    const CountAnswer answer =
        LargestCountWith(*projection_, *projection, pack_.required, [&](double cores) { return ToEfficiency(cores); });
    Recommendation result;
    result.low = answer.low;
    result.high = answer.high;
    if (answer.value.kind == CountBound::Kind::kBelow) {
      result.kind = Recommendation::Kind::kTooLow;
      result.cores = answer.value.cores;
      return result;
    }
    const double evidence = EvidenceOf(*projection);
    const bool ends = answer.value.kind == CountBound::Kind::kMoreThan || answer.value.cores > evidence;
    result.kind = ends ? Recommendation::Kind::kEvidenceEnds : Recommendation::Kind::kReached;
    result.cores = std::floor(ends ? evidence : answer.value.cores);
    if (pack_.cores_per_node) result.nodes = std::floor(result.cores / *pack_.cores_per_node + 1e-9);
    AllocationRow row = RowAt(result.cores, *places_.back().rows.front());
    Fill(row, *ReadCurve(*projection, result.cores));
    result.efficiency = row.efficiency;
    result.work = row.work;
    result.core_hours = row.core_hours;
    return result;
  }

  Recommendation RecommendMeasured() const {
    Recommendation result;
    result.is_measured = true;
    for (const AllocationRow& row : pack_.rows) {
      if (!row.is_measured || !row.efficiency.value) continue;
      const bool is_enough = *row.efficiency.value >= pack_.required;
      if (result.kind == Recommendation::Kind::kUnknown) {
        result.kind = is_enough ? Recommendation::Kind::kEvidenceEnds : Recommendation::Kind::kTooLow;
        result.cores = row.cores;
      }
      if (!is_enough) {
        if (result.kind == Recommendation::Kind::kEvidenceEnds) result.kind = Recommendation::Kind::kReached;
        continue;
      }
      result.kind = Recommendation::Kind::kEvidenceEnds;
      result.cores = row.cores;
      result.nodes = row.nodes;
      result.efficiency = row.efficiency;
      result.work = row.work;
      result.core_hours = row.core_hours;
    }
    return result;
  }

  void SayWhatIsMissing() {
    const auto say = [&](const std::string& sentence) { pack_.missing.push_back(sentence); };
    if (results_.description.empty()) {
      say("The code, its version, the input and the machine are not described; description in [study] is the place.");
    }
    if (std::none_of(pack_.rows.begin(), pack_.rows.end(), [](const AllocationRow& row) { return row.size; })) {
      say(pack_.scaling == Scaling::kWeak
              ? "The problem size is not stated; size_per_process and unit in [case] of the study are the place."
              : "The problem size is not stated; size and unit in [case] of the study are the place.");
    }
    if (!pack_.scaling) say("Whether this is strong or weak scaling is not known; --scaling says it of a table.");
    SayWhatIsMissingOfTimes(say);
    if (pack_.counts < kCountsAskedFor) {
      say(fmt::format("Centres ask for three core counts at least; there {} {}.", pack_.counts == 1 ? "is" : "are",
                      pack_.counts));
    }
    if (pack_.repeated_counts == 0) {
      say("No core count was run more than once, so it is not known how much the times vary from run to run.");
    }
    const bool has_nodes =
        std::any_of(pack_.rows.begin(), pack_.rows.end(), [](const AllocationRow& row) { return row.nodes; });
    if (!has_nodes) say("The number of nodes is not known; the column nodes of a table says it.");
    if (std::none_of(pack_.rows.begin(), pack_.rows.end(), [](const AllocationRow& row) { return !row.is_measured; })) {
      const PhaseProjection* any = ProjectionOf(results_, pack_.series, pack_.phase);
      say("Nothing is projected" + (any == nullptr || any->obstacle.empty() ? "" : ": " + any->obstacle) + ".");
    }
  }

  template <typename Say>
  void SayWhatIsMissingOfTimes(Say say) const {
    const bool has_times = std::any_of(pack_.rows.begin(), pack_.rows.end(),
                                       [](const AllocationRow& row) { return row.is_measured && row.iteration.value; });
    if (!has_times) {
      say("The times are not known, so there are neither wall times nor core hours; the column runtime of the table, "
          "in "
          "seconds, says them.");
    } else if (!pack_.are_planned) {
      say("How much work is planned is not stated; --iterations, or iterations in [case] of the study, turns times "
          "into "
          "the core hours to ask for.");
    }
    if (pack_.basis == EfficiencyBasis::kParallelEfficiency) {
      say("Efficiency is parallel efficiency alone: how computation itself scales is not known, which the columns "
          "computationScalability or runtime would say.");
    }
  }

  const Results& results_;
  const AllocationOptions& options_;
  AllocationPack pack_;
  std::vector<FactorRow> rows_;
  std::vector<Place> places_;
  const Place* baseline_ = nullptr;
  const PhaseProjection* projection_ = nullptr;  // null where there is none
};

}  // namespace

double EfficiencyOfTimes(Scaling scaling, double baseline_cores, double baseline_seconds, double cores,
                         double seconds) {
  const double ratio = baseline_seconds / seconds;
  return scaling == Scaling::kWeak ? ratio : baseline_cores / cores * ratio;
}

std::string MostImportantPhase(const FactorTable& table, const std::string& series) {
  std::int64_t largest = 0;
  for (const FactorRow& row : table.rows) {
    if (row.series == series) largest = std::max(largest, row.cores);
  }
  const FactorRow* chosen = nullptr;
  for (const FactorRow& row : table.rows) {
    const bool is_group = row.phase.find(" / ") != std::string::npos;
    if (row.series != series || row.cores != largest || is_group) continue;
    if (chosen == nullptr || row.runtime.value_or(0) > chosen->runtime.value_or(0)) chosen = &row;
  }
  if (chosen != nullptr) return chosen->phase;
  const std::vector<std::string> phases = table.Phases(series);
  return phases.empty() ? "" : phases.front();
}

AllocationPack MakeAllocationPack(const Results& results, const AllocationOptions& options) {
  return PackMaker(results, options).Make();
}

}  // namespace farscale
