// What a gate knows while it judges: results, baseline, and projections of both, made only when a rule asks for them.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gate/track.h"
#include "gate/verdicts.h"

namespace farscale {

// A projected value, with its interval.
struct ProjectedReading {
  double value = 0;
  std::optional<OpenBounds> interval80, interval95;

  // At any confidence: as given for 80 and 95 %, else the nearer one scaled like a normal distribution's. Nothing
  // where there is none, or no upper bound.
  std::optional<IntervalBounds> IntervalAt(double confidence) const;
};

// Nothing where it is not projected to these cores.
std::optional<ProjectedReading> ReadingAt(const PhaseProjection& projection, const Quantity& quantity, double cores);

class GateData {
 public:
  GateData(const GateRules& rules, const GateInput& input);

  const GateRules& rules() const { return rules_; }
  const GateInput& input() const { return input_; }
  const FactorTable& table() const { return input_.results.table; }
  // The results in the terms of the commits before, for changes.
  const FactorTable& compared() const { return compared_; }
  const std::vector<PhaseKey>& phases() const { return phases_; }
  bool HasPhase(const PhaseKey& key) const;
  // Phases of the newest commit of the baseline that the results lack.
  std::vector<PhaseKey> LostPhases() const;

  // The commits before, in the terms of the results; empty without a baseline.
  const History& history() const { return history_; }
  // What was done for that, and what is not compared.
  const std::vector<Finding>& terms() const { return terms_; }
  // All core counts that any run of the results has.
  std::vector<double> MeasuredCores(const PhaseKey& key) const;
  // What the results are projected to: what is asked for, else those of results.json, else the usual ones.
  std::vector<double> Targets(const PhaseKey& key);

  const PhaseProjection* Projection(const PhaseKey& key);
  // The same in the terms of the commits before.
  const PhaseProjection* ComparedProjection(const PhaseKey& key);
  // Of the commits that make the baseline.
  const PhaseProjection* BaselineProjection(const PhaseKey& key);

 private:
  bool ResultsHaveTargets() const;
  std::vector<double> TargetsOfResults(const PhaseKey& key) const;
  std::vector<double> CoresToProject() const;

  const GateRules& rules_;
  const GateInput& input_;
  FactorTable compared_;
  History history_;
  std::vector<Finding> terms_;
  std::vector<PhaseKey> phases_;
  std::vector<double> targets_;  // that rules list or someone asks for, ascending
  std::optional<std::vector<PhaseProjection>> projections_, compared_projections_, baseline_;
};

// "phase solve", with the series where results and baseline have several.
std::string PlaceOf(const GateData& data, const PhaseKey& key);
// "; how the runs scale is not known, give --scaling strong or weak" where that is why a quantity is unknown, else "".
std::string WhyUnknown(const GateData& data, const Quantity& quantity);
// "; the scaling of old.json is strong, that of new.json weak" where that is why the baseline does not know it, else
// "".
std::string WhyNotCompared(const GateData& data, const Quantity& quantity);
// "parallelEfficiency of phase solve", and the same "at 16 and 32 cores".
std::string SubjectOf(const GateData& data, const Judgement& judgement);
std::string SubjectAt(const GateData& data, const Judgement& judgement, const std::vector<double>& cores);
// "1,024 cores", or "16, 32 and 64 cores".
std::string CoresInWords(const std::vector<double>& cores);
// "95 %", or "99.989 %": two digits of what is missing to certainty.
std::string ConfidenceInWords(double confidence);

// A judgement of a rule on a phase, before anything is decided.
Judgement Undecided(const GateData& data, std::size_t rule, const PhaseKey& key, Judgement::Check check);
// The same with the reason why it stays undecided.
Judgement Undecidable(Judgement judgement, const std::string& why);
// What a rule makes of a value or change that is too near to its bound.
Verdict VerdictInDoubt(const Rule& rule, const Judgement& judgement);

// The values themselves against min, max and warn; one judgement a core count.
std::vector<Judgement> JudgeLevels(GateData& data, std::size_t rule, const PhaseKey& key);

// A change that was measured or projected, before it is known how many others there are.
struct Look {
  std::vector<double> cores;
  Measurement before, after;  // geometric means over the cores
  Change change;
};

struct PendingChange {
  Judgement judgement;                // decided already where `looks` is empty
  std::vector<Look> looks;            // the first is the one to report unless another fails
  std::vector<std::size_t> baseline;  // the commits compared with
};

// Against the baseline. The second step decides, with the chance of error shared among all looks of the gate.
std::vector<PendingChange> FindChanges(GateData& data, std::size_t rule, const PhaseKey& key);
Judgement DecideChange(GateData& data, PendingChange pending, std::size_t looks);

}  // namespace farscale
