// Input of the judgement: results, baseline, and projections of both, computed only when a rule needs them.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gate/commit_series.h"
#include "gate/verdicts.h"

namespace farscale {

// The value projected to these cores, with the interval at a confidence: any but 80 and 95 % scales the nearer one like
// a normal distribution's. No interval without an upper bound, and nothing without a projection.
std::pair<std::optional<double>, std::optional<IntervalBounds>> ProjectedAt(const PhaseProjection& projection,
                                                                            const Quantity& quantity, double cores,
                                                                            double confidence);

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
Judgement Undecided(const GateData& data, std::size_t rule, const PhaseKey& key, bool is_change);
// The same with the reason why it stays undecided.
Judgement Undecidable(Judgement judgement, const std::string& why);
// The verdict of a rule on a value or change too close to its bound.
Verdict VerdictInDoubt(const Rule& rule, const Judgement& judgement);

// Compares values with min, max and warn; one judgement per core count.
std::vector<Judgement> JudgeLevels(GateData& data, std::size_t rule, const PhaseKey& key);

// Values before and after a change, measured or projected. How many there are is known only later.
struct ComparedValues {
  std::vector<double> cores;
  Measurement before = {}, after = {};  // geometric means over the cores
  Change change = {};
  std::size_t commits = 1;  // whose mean is compared, the newest one included
  // At least two of them, the newest one among these, are this much worse than the reference, as a logarithm above 0:
  // neither one bad run nor a commit that repairs a change is one that lasts. Infinite where one commit decides.
  double lasting = std::numeric_limits<double>::infinity();
  // The largest bad run of earlier commits, as a logarithm, where the newest one has too few repeats to show one.
  double bad_run = 0;
  std::vector<std::size_t> baseline = {};  // the commits compared with, as indexes in the history
};

struct PendingChange {
  Judgement judgement;                      // decided already where `comparisons` is empty
  std::vector<ComparedValues> comparisons;  // the first is the one to report unless another fails
};

// Against the baseline. The second step decides; all comparisons of the same kind share the chance of error.
std::vector<PendingChange> FindChanges(GateData& data, std::size_t rule, const PhaseKey& key);
Judgement DecideChange(GateData& data, PendingChange pending, std::size_t comparisons);

// Changes for the worse that last: small ones that no single commit shows, and drifts. The means of the last m commits
// are compared with those of a reference level, for several m: the likelihood ratio of a change of level before the
// last m commits, limited to windows [Willsky76, Lai95], a sequential test as Page's sums are [Page54]. Noise is
// estimated, so each comparison is Student's, and all of a gate share the chance of a false alarm [Dunn61]: at most
// 1 in 1000 unchanged commits fails, so that the average run length until a false failure is 1000 commits or more
// [docs/gate.md, lasting changes].

// Fewest commits that make a reference level. Chosen: a median of fewer is a single commit.
inline constexpr std::size_t kFewestReference = 3;

// The commit at which a rule's reference begins, as an index in the history: "accepted" is the newest commit that was
// accepted, else the oldest; a date is the first commit since; anything else the beginning of the name of a commit. A
// commit accepted later counts instead. Nothing where there is none.
std::optional<std::size_t> ReferenceBegin(const History& history, const std::string& since);

// The mean of the last commits, the newest one included, against a reference level, for every window of recent commits
// that leaves enough commits before it. The reference is the best level since `begin`, its first `window` commits: a
// level that got better counts from there on, one that got worse does not become the reference. `is_time`: larger is
// worse. Nothing with too few commits or unknown noise.
std::vector<ComparedValues> FindLastingChanges(const CommitSeries& series, const SamplesByCores& newest,
                                               const std::vector<double>& cores, const SeriesNoise& noise,
                                               std::size_t begin, std::size_t window, bool is_time);

// The factor by which the variance of means over neighbouring commits exceeds that of independent noise whose
// differences are as large: (1 + r) / (1 - r)² for noise with autocorrelation r from commit to commit [Bartlett46]. r =
// 1 - Σ d² / 2 n s² by the n differences d of neighbours and the variance s² [Neumann41]. 1 where r may be chance:
// below 1.645 / √n.
double VarianceOfNeighbours(const std::vector<double>& logarithms);

}  // namespace farscale
