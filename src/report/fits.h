// The fits of a phase in a report: models, parameters, residuals, candidate models and figures.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pages/render.h"
#include "projection/projection.h"
#include "report/sampled_values.h"

namespace farscale {

struct FitParameter {
  std::string name, value, error;
  bool at_bound = false;
  FARSCALE_TAGS(name, value, error, at_bound)
};

struct FitResidual {
  std::string cores, measured, residual;
  FARSCALE_TAGS(cores, measured, residual)
};

// Of the runs: whether the spread of their iterations counts, the least and the most.
struct FitWeights {
  bool has_spread = false;
  std::string least, most;
  FARSCALE_TAGS(has_spread, least, most)
};

struct CandidateRow {
  std::string model, weight;
  std::vector<std::string> values;  // at `candidate_cores`
  FARSCALE_TAGS(model, weight, values)
};

struct Fit {
  std::string name, factor, meaning, outcome, model, formula, variable, points, sigma;
  bool is_usable = false;
  std::optional<FitWeights> weights;
  std::vector<FitParameter> parameters;
  std::vector<FitResidual> residuals;
  bool has_candidates = false;
  std::vector<CandidateRow> candidates;
  std::vector<std::string> candidate_cores;
  std::string light_candidates, unusable_candidates;  // names of those without a row
  std::optional<ReportData> figure;                   // where there is a curve
  std::vector<ChartRow> chart_rows;                   // the table behind it
  FARSCALE_TAGS(name, factor, meaning, outcome, model, formula, variable, points, sigma, is_usable, weights, parameters,
                residuals, has_candidates, candidates, candidate_cores, light_candidates, unusable_candidates, figure,
                chart_rows)
};

// Figures are named after `slug`; the factors are added to `used`. Without a projection nothing is drawn, and nothing
// is listed where nothing was tried (null).
std::vector<Fit> FitsOfPhase(const PhaseProjection* projection, const std::string& slug, std::set<Factor>& used,
                             ReportModel& model);

// The model that weighs most, and how much; a single model has no need of a weight.
std::string WeighedModel(const FactorProjection& projection);

}  // namespace farscale
