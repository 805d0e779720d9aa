#include "results/projection_json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/version.h"
#include "results/factor_table_json.h"
#include "results/answers_json.h"

namespace farscale {
namespace {

using Json = nlohmann::ordered_json;

std::optional<double> NumberOf(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional(json.get<double>());
}

Json ToJson(const ProjectedValue& value) {
  Json json = {{"cores", value.cores}, {"ratio", value.ratio}, {"value", value.value}};
  if (value.interval80) json["interval80"] = {value.interval80->low, value.interval80->high};
  if (value.interval95) json["interval95"] = {value.interval95->low, value.interval95->high};
  return json;
}

// Anything else would draw charts for ever.
double CoresIn(const Json& json, const char* key = "cores") {
  constexpr double kMostCores = 1e12;
  const double cores = json.at(key).get<double>();
  if (cores > 0 && cores <= kMostCores) return cores;
  throw Error(ErrorKind::kInput, "", "a projection has an impossible number of cores");
}

std::optional<IntervalBounds> IntervalIn(const Json& json, const char* key) {
  if (!json.contains(key)) return std::nullopt;
  return IntervalBounds{json.at(key).at(0).get<double>(), json.at(key).at(1).get<double>()};
}

ProjectedValue ValueOf(const Json& json) {
  return {CoresIn(json), json.at("ratio").get<double>(), json.at("value").get<double>(), IntervalIn(json, "interval80"),
          IntervalIn(json, "interval95")};
}

Json ToJson(const std::vector<ProjectedValue>& values) {
  Json list = Json::array();
  for (const ProjectedValue& value : values) list.push_back(ToJson(value));
  return list;
}

std::vector<ProjectedValue> ValuesOf(const Json& json) {
  std::vector<ProjectedValue> values;
  for (const Json& value : json) values.push_back(ValueOf(value));
  return values;
}

Json ToJson(const std::vector<DataPoint>& points) {
  Json list = Json::array();
  for (const DataPoint& point : points) {
    Json json = {{"cores", point.cores}, {"value", point.value}};
    if (point.standard_error) json["standardError"] = *point.standard_error;
    list.push_back(json);
  }
  return list;
}

std::vector<DataPoint> PointsOf(const Json& json) {
  std::vector<DataPoint> points;
  for (const Json& point : json) {
    points.push_back({CoresIn(point), point.at("value").get<double>(), NumberOf(point.value("standardError", Json()))});
  }
  return points;
}

// Outcomes in files, in the order of the enumeration.
constexpr std::array<const char*, 5> kOutcomes = {"converged", "atBound", "tooFewPoints", "notConverged",
                                                  "leavesRange"};

Json ToJson(FitOutcome outcome) { return kOutcomes[static_cast<std::size_t>(outcome)]; }

FitOutcome OutcomeOf(const Json& json) {
  const auto name = json.get<std::string>();
  for (std::size_t i = 0; i < kOutcomes.size(); ++i) {
    if (name == kOutcomes[i]) return static_cast<FitOutcome>(i);
  }
  throw Error(ErrorKind::kInput, "", "unknown outcome '" + name + "' of a fit");
}

Json ToJson(const FittedModel& fit) {
  Json parameters = Json::array();
  const std::size_t count = fit.parameters.size();
  for (std::size_t i = 0; i < count; ++i) {
    Json parameter = {
        {"name", fit.names[i]}, {"value", fit.parameters[i]}, {"atBound", static_cast<bool>(fit.at_bound[i])}};
    if (fit.covariance.size() == count * count) {
      parameter["standardError"] = std::sqrt(std::max(0.0, fit.covariance[i * count + i]));
    }
    parameters.push_back(parameter);
  }
  Json json = {{"model", fit.model},
               {"dimension", fit.dimension},
               {"outcome", ToJson(fit.outcome)},
               {"parameters", parameters},
               {"covariance", fit.covariance},
               {"points", ToJson(fit.points)},
               {"residuals", fit.residuals},
               {"sumOfSquares", fit.sum_of_squares},
               {"sigma", fit.sigma},
               {"sigmaIsAssumed", fit.sigma_is_assumed},
               {"degreesOfFreedom", fit.degrees_of_freedom}};
  if (!fit.weights.empty()) {
    json["weights"] = fit.weights;
    json["scatter"] = fit.scatter;
  }
  return json;
}

FittedModel FitOf(const Json& json) {
  FittedModel fit;
  fit.model = json.at("model").get<std::string>();
  fit.dimension = json.at("dimension").get<int>();
  fit.outcome = OutcomeOf(json.at("outcome"));
  for (const Json& parameter : json.at("parameters")) {
    fit.names.push_back(parameter.at("name").get<std::string>());
    fit.parameters.push_back(parameter.at("value").get<double>());
    fit.at_bound.push_back(parameter.at("atBound").get<bool>());
  }
  fit.covariance = json.at("covariance").get<std::vector<double>>();
  fit.points = PointsOf(json.at("points"));
  fit.residuals = json.at("residuals").get<std::vector<double>>();
  fit.weights = json.value("weights", std::vector<double>());
  fit.scatter = json.value("scatter", 0.0);
  fit.sum_of_squares = json.at("sumOfSquares").get<double>();
  fit.sigma = json.at("sigma").get<double>();
  fit.sigma_is_assumed = json.at("sigmaIsAssumed").get<bool>();
  fit.degrees_of_freedom = json.at("degreesOfFreedom").get<int>();
  return fit;
}

Json ToJson(const Rival& rival) {
  Json parameters = Json::object();
  for (std::size_t i = 0; i < rival.parameters.size(); ++i) parameters[rival.names[i]] = rival.parameters[i];
  return {{"model", rival.model},   {"dimension", rival.dimension}, {"outcome", ToJson(rival.outcome)},
          {"weight", rival.weight}, {"parameters", parameters},     {"values", rival.values}};
}

// Files of earlier versions know no weights.
Rival RivalOf(const Json& json) {
  Rival rival{json.at("model").get<std::string>(),
              json.at("dimension").get<int>(),
              OutcomeOf(json.at("outcome")),
              json.value("weight", 0.0),
              {},
              {},
              json.value("values", std::vector<double>())};
  if (!json.contains("parameters")) return rival;
  for (const auto& [name, value] : json.at("parameters").items()) {
    rival.names.push_back(name);
    rival.parameters.push_back(value.get<double>());
  }
  return rival;
}

Factor FactorIn(const Json& json) {
  const auto factor = FactorById(json.get<std::string>());
  if (!factor) throw Error(ErrorKind::kInput, "", "unknown factor '" + json.get<std::string>() + "'");
  return *factor;
}

Json ToJson(const NextRuns& next) {
  Json choices = Json::array();
  for (const RunChoice& choice : next.choices) {
    Json json = {{"cores", choice.cores}, {"isRepeat", choice.is_repeat}, {"width", choice.width}};
    if (choice.core_hours) json["coreHours"] = *choice.core_hours;
    choices.push_back(json);
  }
  return {{"factor", Describe(next.factor).id}, {"target", next.target}, {"width", next.width}, {"choices", choices}};
}

NextRuns NextRunsOf(const Json& json) {
  NextRuns next{FactorIn(json.at("factor")), CoresIn(json, "target"), json.at("width").get<double>(), {}};
  for (const Json& choice : json.at("choices")) {
    next.choices.push_back({CoresIn(choice), choice.at("isRepeat").get<bool>(), choice.at("width").get<double>(),
                            NumberOf(choice.value("coreHours", Json()))});
  }
  return next;
}

Json ToJson(const FactorProjection& projection) {
  Json json = {{"factor", Describe(projection.factor).id}, {"isProduct", projection.is_product}};
  if (!projection.is_product) {
    json["formula"] = projection.formula;
    json["fit"] = ToJson(projection.fit);
    json["rivals"] = Json::array();
    for (const Rival& rival : projection.rivals) json["rivals"].push_back(ToJson(rival));
  }
  json["measured"] = ToJson(projection.measured);
  json["targets"] = ToJson(projection.targets);
  json["curve"] = ToJson(projection.curve);
  return json;
}

FactorProjection ProjectionOf(const Json& json) {
  FactorProjection projection;
  projection.factor = FactorIn(json.at("factor"));
  projection.is_product = json.at("isProduct").get<bool>();
  if (!projection.is_product) {
    projection.formula = json.at("formula").get<std::string>();
    projection.fit = FitOf(json.at("fit"));
    for (const Json& rival : json.value("rivals", Json::array())) projection.rivals.push_back(RivalOf(rival));
  }
  projection.measured = PointsOf(json.at("measured"));
  projection.targets = ValuesOf(json.at("targets"));
  projection.curve = ValuesOf(json.at("curve"));
  return projection;
}

}  // namespace

Json ProjectionsToJson(const std::vector<PhaseProjection>& projections) {
  Json list = Json::array();
  for (const PhaseProjection& phase : projections) {
    Json json = {{"series", phase.series}};
    AddPhase(phase.phase, json);
    json["fittedCores"] = phase.fitted_cores;
    if (!phase.obstacle.empty()) json["obstacle"] = phase.obstacle;
    json["factors"] = Json::array();
    for (const FactorProjection& factor : phase.factors) json["factors"].push_back(ToJson(factor));
    json["dominance"] = Json::array();
    for (const Dominance& dominance : phase.dominance) {
      json["dominance"].push_back({{"fromCores", dominance.cores}, {"factor", Describe(dominance.factor).id}});
    }
    json["dominantAt"] = Json::array();
    for (const auto& [cores, factor] : phase.dominant_at) {
      json["dominantAt"].push_back({{"cores", cores}, {"factor", Describe(factor).id}});
    }
    if (phase.horizon) json["horizon"] = HorizonToJson(*phase.horizon);
    if (phase.next_runs) json["nextRuns"] = ToJson(*phase.next_runs);
    if (phase.answers) json["answers"] = AnswersToJson(phase, *phase.answers);
    list.push_back(json);
  }
  return list;
}

std::vector<PhaseProjection> ProjectionsFromJson(const Json& json) {
  std::vector<PhaseProjection> projections;
  for (const Json& one : json) {
    PhaseProjection phase;
    phase.series = one.at("series").get<std::string>();
    phase.phase = PhaseFromJson(one);
    phase.fitted_cores = one.at("fittedCores").get<std::vector<double>>();
    phase.obstacle = one.value("obstacle", "");
    for (const Json& factor : one.at("factors")) phase.factors.push_back(ProjectionOf(factor));
    for (const Json& dominance : one.at("dominance")) {
      phase.dominance.push_back({CoresIn(dominance, "fromCores"), FactorIn(dominance.at("factor"))});
    }
    for (const Json& at : one.at("dominantAt")) {
      phase.dominant_at[CoresIn(at)] = FactorIn(at.at("factor"));
    }
    if (one.contains("horizon")) phase.horizon = HorizonFromJson(one.at("horizon"));
    if (one.contains("nextRuns")) phase.next_runs = NextRunsOf(one.at("nextRuns"));
    if (one.contains("answers")) phase.answers = AnswersFromJson(one.at("answers"));
    if ((phase.horizon || phase.answers) && phase.fitted_cores.empty()) {
      throw Error(ErrorKind::kInput, "", "a projection has answers but no fitted runs");
    }
    projections.push_back(std::move(phase));
  }
  return projections;
}

Json ProjectedValueToJson(const ProjectedValue& value) { return ToJson(value); }

ProjectedValue ProjectedValueFromJson(const Json& json) { return ValueOf(json); }

Factor FactorFromJson(const Json& json) { return FactorIn(json); }

std::string WriteProjectionJson(const std::vector<PhaseProjection>& projections, const std::vector<Finding>& findings) {
  const Json json = {{"format", "farscale-projection"},
                     {"version", kProjectionVersion},
                     {"generator", Generator()},
                     {"phases", ProjectionsToJson(projections)},
                     {"diagnostics", FindingsToJson(findings)}};
  return json.dump(2) + "\n";
}

}  // namespace farscale
