// Input of the judgement: results, baseline, and projections of both, computed only when a rule needs them.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gate/verdicts.h"

namespace farscale {

// A projected value with its intervals.
struct ProjectedQuantity {
  double value = 0;
  std::optional<OpenBounds> interval80, interval95;

  // Any confidence other than 80 and 95 % scales the nearer interval like a normal distribution's. Nothing without
  // interval or upper bound.
  std::optional<IntervalBounds> IntervalAt(double confidence) const;
};

// Nothing without a projection to these cores.
std::optional<ProjectedQuantity> ProjectedAt(const PhaseProjection& projection, const Quantity& quantity, double cores);

class GateData {
 public:
  // Both must outlive this.
  GateData(const GateRules& gate_rules, const GateInput& gate_input);

  const GateRules& rules;
  const GateInput& input;
  const FactorTable& table;      // the results
  FactorTable compared;          // the results made comparable with the earlier commits
  std::vector<PhaseKey> phases;  // in the results
  History history;               // the earlier commits, made comparable with the results; empty without a baseline
  std::vector<Finding> terms;    // the steps that made them comparable, and the parts that are not compared

  // Phases in the newest commit of the baseline that are missing in the results.
  std::vector<PhaseKey> LostPhases() const;
  // All core counts that any run of the results has.
  std::vector<double> MeasuredCores(const PhaseKey& key) const;
  // Core counts to project to: those of the rules and options, else of results.json, else the defaults.
  std::vector<double> Targets(const PhaseKey& key);

  const PhaseProjection* Projection(const PhaseKey& key);
  // The same, comparable with the earlier commits.
  const PhaseProjection* ComparedProjection(const PhaseKey& key);
  // The projection of the baseline's commits.
  const PhaseProjection* BaselineProjection(const PhaseKey& key);

 private:
  bool ResultsHaveTargets() const;
  std::vector<double> TargetsOfResults(const PhaseKey& key) const;
  std::vector<double> CoresToProject() const;

  std::vector<double> targets_;  // that rules list or someone asks for, ascending
  std::optional<std::vector<PhaseProjection>> projections_, compared_projections_, baseline_;
};

// "phase solve", with the series where results and baseline have several.
std::string PlaceOf(const GateData& data, const PhaseKey& key);
// "; how the runs scale is not known, give --scaling strong or weak" if that is the reason, else "".
std::string WhyUnknown(const GateData& data, const Quantity& quantity);
// "; the scaling of old.json is strong, that of new.json weak" if that is the reason, else "".
std::string WhyNotCompared(const GateData& data, const Quantity& quantity);
// "parallelEfficiency of phase solve", and the same "at 16 and 32 cores".
std::string SubjectOf(const GateData& data, const Judgement& judgement);
std::string SubjectAt(const GateData& data, const Judgement& judgement, const std::vector<double>& cores);
// "1,024 cores", or "16, 32 and 64 cores".
std::string CoresInWords(const std::vector<double>& cores);
// "95 %", or "99.989 %": two digits of what is missing to certainty.
std::string ConfidenceText(double confidence);

// A judgement of a rule on a phase, not decided yet.
Judgement Undecided(const GateData& data, std::size_t rule, const PhaseKey& key, Judgement::Check check);
// The same with the reason why it stays undecided.
Judgement Undecidable(Judgement judgement, const std::string& why);
// The verdict of a rule on a value or change too close to its bound.
Verdict VerdictInDoubt(const Rule& rule, const Judgement& judgement);

// Compares values with min, max and warn; one judgement per core count.
std::vector<Judgement> JudgeLevels(GateData& data, std::size_t rule, const PhaseKey& key);

// Values before and after a change, measured or projected. How many there are is known only later.
struct ComparedValues {
  std::vector<double> cores;
  Measurement before, after;  // geometric means over the cores
  Change change;
  std::size_t commits = 1;  // whose mean is compared, the newest one included
  // The least change for the worse of two of them, as a logarithm; infinite where one commit decides.
  double lasting = std::numeric_limits<double>::infinity();
  // The largest bad run of earlier commits, as a logarithm, where the newest one has too few repeats to show one.
  double bad_run = 0;
};

struct PendingChange {
  Judgement judgement;                      // decided already where `comparisons` is empty
  std::vector<ComparedValues> comparisons;  // the first is the one to report unless another fails
  std::vector<std::size_t> baseline;        // the commits compared with
};

// Against the baseline. The second step decides; all comparisons of the same kind share
// the chance of error.
std::vector<PendingChange> FindChanges(GateData& data, std::size_t rule, const PhaseKey& key);
Judgement DecideChange(GateData& data, PendingChange pending, std::size_t comparisons);

}  // namespace farscale
