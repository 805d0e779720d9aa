// The models that the factors of a study are fitted with.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "factors/factor.h"
#include "models/weights.h"
#include "phases/phase_spec.h"

namespace farscale {

class ConfigTable;
class ModelLibrary;
enum class ModelRole;
struct Candidate;
struct FactorRow;

// A list of candidates for selection, or a single model in a single dimension.
struct ModelChoice {
  std::vector<std::pair<std::string, std::vector<int>>> options;  // models with dimensions; empty: those of the model
  std::string where;                                              // file and line that says so
};

// "amdahl", "pipeline:3" (dimension 3) or "pipeline:1,2" as a choice of one model. Throws a usage error otherwise.
ModelChoice ParseModelChoice(const std::string& text, const std::string& where);

// The same from a configuration, or { model = "pipeline", dimension = 3 }.
ModelChoice ParseModelChoice(const ConfigTable& table, const std::string& key);

// "amdahl, pipeline in dimension 3".
std::string Describe(const ModelChoice& choice);

// The chosen models; where there are no options, every model that serves the factor in that role, in its own
// dimensions. `factor`: nothing for losses of call paths. Throws a usage error for models that do not exist.
std::vector<Candidate> Candidates(const ModelChoice& choice, const ModelLibrary& library, ModelRole role,
                                  std::optional<Factor> factor, bool is_of_times = false);

struct ModelSettings {
  ModelChoice standard;  // for every factor without its own; no options: what the model files say
  std::map<Factor, ModelChoice> by_factor;
  // Keys: phase, then factor; those of a whole phase also hold for its groups of ranks that have none of their own.
  std::map<PhaseId, std::map<Factor, ModelChoice>> by_phase;
  bool weighs_alike = false;  // all runs count alike, as [Rosas14] has it, instead of by their scatter

  const ModelChoice& For(const PhaseId& phase, Factor factor) const;
};

// Throws a usage error for models that do not exist.
void RequireModels(const ModelSettings& settings, const ModelLibrary& library);

// "amdahl in dimension 1 for every factor; transferEfficiency: constant" and the like, for reports.
std::string Describe(const ModelSettings& settings, const ModelLibrary& library);

// Bounds of what is not known exactly, and how they are read off draws.

// An interval that may have no upper bound.
struct OpenBounds {
  double low = 0;
  std::optional<double> high;

  friend bool operator==(const OpenBounds&, const OpenBounds&) = default;
};

// Moves draws so that IntervalOf may read these coverages from them, which takes a fraction of the time of sorting.
void PlaceIntervals(std::vector<double>& draws, const std::vector<double>& coverages);

// The middle part of draws of an efficiency, sorted or placed, widened to the value itself [docs/formulas.md,
// intervals]. Throws std::domain_error for a coverage outside 0 to 1, and without draws.
IntervalBounds IntervalOf(const std::vector<double>& sorted, double coverage, double value);

// Which factors are extrapolated by themselves, and which are products of those.

// The finest factors among `available` whose product is `factor`: itself when it is there and its children are not
// complete; empty when it is not there, whole or in parts.
std::vector<Factor> PartsOf(Factor factor, const std::vector<Factor>& available);

// The factors whose losses make up global efficiency, else parallel efficiency, else all that are available.
std::vector<Factor> LossesAmong(const std::vector<Factor>& available);
// The efficiency that these make up; nothing where they make up none.
std::optional<Factor> WholeAmong(const std::vector<Factor>& available);

// Factors that are fitted by themselves, each to the rows that have it: the leaves of the tree, or the deepest
// ancestors that are known at enough core counts [docs/formulas.md, projection].
std::vector<Factor> FittedFactors(const std::vector<FactorRow>& rows);

}  // namespace farscale
