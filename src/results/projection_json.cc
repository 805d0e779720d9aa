#include "results/projection_files.h"

#include <algorithm>
#include <cmath>

#include "results/fields.h"

namespace farscale {
namespace {

struct FittedParameter {
  std::string name;
  double value = 0;
  bool at_bound = false;
  std::optional<double> standard_error;
};

std::vector<FittedParameter> ParametersOf(const FittedModel& fit) {
  std::vector<FittedParameter> parameters;
  const std::size_t count = fit.parameters.size();
  for (std::size_t i = 0; i < count; ++i) {
    parameters.push_back({fit.names[i], fit.parameters[i], static_cast<bool>(fit.at_bound[i]), std::nullopt});
    if (fit.covariance.size() != count * count) continue;
    parameters.back().standard_error = std::sqrt(std::max(0.0, fit.covariance[i * count + i]));
  }
  return parameters;
}

void SetParameters(FittedModel& fit, const std::vector<FittedParameter>& parameters) {
  for (const FittedParameter& parameter : parameters) {
    fit.names.push_back(parameter.name);
    fit.parameters.push_back(parameter.value);
    fit.at_bound.push_back(parameter.at_bound);
  }
}

Dictionary<double> ParametersByName(const CandidateModel& candidate) {
  Dictionary<double> parameters;
  for (std::size_t i = 0; i < candidate.parameters.size(); ++i) {
    parameters.emplace_back(candidate.names[i], candidate.parameters[i]);
  }
  return parameters;
}

void SetParametersByName(CandidateModel& candidate, const Dictionary<double>& parameters) {
  for (const auto& [name, value] : parameters) {
    candidate.names.push_back(name);
    candidate.parameters.push_back(value);
  }
}

struct DominantAt {
  double cores = 0;
  Factor factor = Factor::kLoadBalance;
};

// A file of `farscale predict`.
struct ProjectionFile {
  std::vector<PhaseProjection> phases;
  std::vector<Finding> findings;
};

}  // namespace

template <>
std::vector<std::pair<FitOutcome, std::string>> NamesOf<FitOutcome>() {
  return {{FitOutcome::kConverged, "converged"},
          {FitOutcome::kAtBound, "atBound"},
          {FitOutcome::kTooFewPoints, "tooFewPoints"},
          {FitOutcome::kNotConverged, "notConverged"},
          {FitOutcome::kLeavesRange, "leavesRange"}};
}

template <>
std::vector<std::pair<ReliableRange::Reach, std::string>> NamesOf<ReliableRange::Reach>() {
  using Reach = ReliableRange::Reach;
  return {{Reach::kUpTo, "upTo"},
          {Reach::kAtLeast, "atLeast"},
          {Reach::kOnlyMeasured, "onlyMeasured"},
          {Reach::kMisfit, "misfit"}};
}

template <>
std::vector<std::pair<Reliability, std::string>> NamesOf<Reliability>() {
  return FirstNames<Reliability>(3, [](Reliability level) { return ToString(level); });
}

template <>
Fields<ProjectedValue> FieldsOf<ProjectedValue>() {
  using T = ProjectedValue;
  return {"projection/value",
          {
              CoresField("cores", &T::cores),
              Field("ratio", &T::ratio, "Of the cores to the largest core count that was fitted").Above(0),
              Field("value", &T::value, "As predicted").AtLeast(0),
              Field("interval80", &T::interval80),
              Field("interval95", &T::interval95),
          }};
}

template <>
Fields<DataPoint> FieldsOf<DataPoint>() {
  using T = DataPoint;
  return {"projection/point",
          {
              CoresField("cores", &T::cores),
              Field("value", &T::value).Above(0),
              Field("standardError", &T::standard_error, "Of the value, within its run").AtLeast(0),
          }};
}

template <>
Fields<FittedParameter> FieldsOf<FittedParameter>() {
  using T = FittedParameter;
  return {"projection/parameter",
          {
              Field("name", &T::name),
              Field("value", &T::value),
              Field("atBound", &T::at_bound),
              Field("standardError", &T::standard_error).AtLeast(0),
          }};
}

template <>
Fields<FittedModel> FieldsOf<FittedModel>() {
  using T = FittedModel;
  const auto has_weights = [](const T& fit) { return !fit.weights.empty(); };
  return Fields<T>{
      "projection/fit",
      {
          Field("model", &T::model, "Id of the model, a file of fits/ or of the user"),
          Field("dimension", &T::dimension, "d in x = P^(1/d)").AtLeast(1),
          Field("outcome", &T::outcome),
          Part<T>("parameters", Via<T, std::vector<FittedParameter>>(ParametersOf, SetParameters)),
          Field("covariance", &T::covariance, "Of the parameters, row by row; empty when it could not be computed"),
          Field("points", &T::points, "What was fitted"),
          Field("residuals", &T::residuals, "Measured minus fitted, one a point"),
          Field("sumOfSquares", &T::sum_of_squares, "Of the residuals, with the weights").AtLeast(0),
          Field("sigma", &T::sigma, "Standard deviation around the curve, of a point of weight 1").AtLeast(0),
          Field("sigmaIsAssumed", &T::sigma_is_assumed, "True when there are no more points than parameters"),
          Field("degreesOfFreedom", &T::degrees_of_freedom),
          Field("weights", &T::weights, "One a point, with the product 1; absent when all count alike")
              .AtLeast(0)
              .When(has_weights),
          Field("scatter", &T::scatter,
                "Run-to-run noise around the curve besides the points' own errors, as a multiple of what "
                "docs/formulas.md says; absent when all points count alike")
              .AtLeast(0)
              .When(has_weights),
      }}
      .Obsolete({"aicc", "betweenRuns", "leftOutError", "rivals"});
}

template <>
Fields<CandidateModel> FieldsOf<CandidateModel>() {
  using T = CandidateModel;
  return Fields<T>{"projection/rival",
                   {
                       Field("model", &T::model),
                       Field("dimension", &T::dimension).AtLeast(1),
                       Field("outcome", &T::outcome),
                       Field("weight", &T::weight, "Of the model in the average of all").AtLeast(0).AtMost(1).Later(),
                       Part<T>("parameters", Via<T, Dictionary<double>>(ParametersByName, SetParametersByName),
                               "By name; empty where there is no fit")
                           .Later(),
                       Field("values", &T::values, "At the targets; empty where the model is of no use there").Later(),
                   }}
      .Obsolete({"aicc", "leftOutError"});
}

template <>
Fields<RunChoice> FieldsOf<RunChoice>() {
  using T = RunChoice;
  return {
      CoresField("cores", &T::cores),
      Field("isRepeat", &T::is_repeat),
      Field("width", &T::width, "Expected after the run").AtLeast(0),
      Field("coreHours", &T::core_hours, "Of the phase, as projected").AtLeast(0),
  };
}

template <>
Fields<NextRuns> FieldsOf<NextRuns>() {
  using T = NextRuns;
  return {"projection/nextRuns",
          "What to run next to know more at a target",
          {
              Field("factor", &T::factor, "Whose 80 % interval is to be narrowed"),
              CoresField("target", &T::target, "Cores"),
              Field("width", &T::width, "Of that interval there as things are").AtLeast(0),
              Field("choices", &T::choices, "The narrowest first"),
          }};
}

template <>
Fields<PredictorValues> FieldsOf<PredictorValues>() {
  using T = PredictorValues;
  return {"projection/predictors",
          {
              CoresField("cores", &T::cores),
              Field("curves", &T::curves, "By the fitted models alone").AtLeast(0),
              Field("grown", &T::grown, "By grown runs alone").AtLeast(0),
              Field("weight", &T::weight, "Of the grown runs in the projected value").AtLeast(0).AtMost(1),
          }};
}

namespace {

// A value at a target, with its level.
Fields<ProjectedValue> TargetFields() {
  using T = ProjectedValue;
  const auto level = [](const T& target, const JsonPlace& at) {
    return ReliabilityOf(at.Within<PhaseProjection>(), at.Within<FactorProjection>().factor, target.cores);
  };
  Fields<T> fields = FieldsOf<T>();
  fields.data.definition = "projection/target";
  fields.data.fields.push_back(Computed<T>("reliability", level).Later().data());
  return fields;
}

}  // namespace

template <>
Fields<FactorProjection> FieldsOf<FactorProjection>() {
  using T = FactorProjection;
  const auto is_fitted = [](const T& projection) { return !projection.is_product; };
  return Fields<T>{
      "projection/factorProjection",
      {
          Field("factor", &T::factor),
          Field("isProduct", &T::is_product, "Of its children; otherwise it has a fit of its own"),
          Field("formula", &T::formula).RequiredWhen(is_fitted),
          Field("fit", &T::fit).RequiredWhen(is_fitted),
          Field("rivals", &T::candidates, "All models that were tried, by weight; the first is that of the fit")
              .When(is_fitted),
          Field("measured", &T::measured),
          Field("targets", &T::targets, ListOf<ProjectedValue>(FormOfFields(TargetFields()))),
          Field("curve", &T::curve, "The same on a fine grid"),
          Field("grown", &T::grown, "Values of grown runs [docs/growth.md]; absent without any")
              .OrMissing()
              .When([](const T& projection) { return !projection.grown.empty(); }),
          Field("predictors", &T::predictors, "What curves and grown runs say at the targets; absent without any")
              .OrMissing()
              .When([](const T& projection) { return !projection.predictors.empty(); }),
      }}
      .Schema(R"({"if": {"properties": {"isProduct": {"const": false}}}, "then": {"required": ["formula", "fit"]}})");
}

template <>
Fields<Dominance> FieldsOf<Dominance>() {
  return {CoresField("fromCores", &Dominance::cores), Field("factor", &Dominance::factor)};
}

template <>
Fields<DominantAt> FieldsOf<DominantAt>() {
  return {CoresField("cores", &DominantAt::cores), Field("factor", &DominantAt::factor)};
}

template <>
Fields<ReliableRange> FieldsOf<ReliableRange>() {
  using T = ReliableRange;
  const auto uncertain_up_to = [](const T&, const JsonPlace& at) {
    return UncertainUpTo(at.Within<PhaseProjection>());
  };
  return {"projection/reliableRange",
          "How far the projection is reliable; absent where nothing is projected",
          {
              Field("factor", &T::factor, "Whose 80 % interval limits the range"),
              Field("share", &T::limits, &ReliabilityLimits::share,
                    "Half the width of the interval is at most this share of a reliable value")
                  .Above(0),
              Field("absolute", &T::limits, &ReliabilityLimits::absolute,
                    "And at most this; relative to values above 1; without meaning for speedup")
                  .Above(0),
              CoresField("cores", &T::cores, "Projected values beyond are uncertain or unknown"),
              Computed<T>("uncertainUpTo", uncertain_up_to, "Projected values beyond are unknown").AtLeast(0),
              Field("reach", &T::reach,
                    "atLeast: where the curve ends; onlyMeasured: the interval is wider, or unknown, at the largest "
                    "fitted count already; misfit: the run there contradicts the models"),
          }};
}

template <>
Fields<PhaseProjection> FieldsOf<PhaseProjection>() {
  using T = PhaseProjection;
  const auto by_target = Via<T, std::vector<DominantAt>>(
      [](const T& phase) {
        std::vector<DominantAt> list;
        for (const auto& [cores, factor] : phase.dominant_at) list.push_back({cores, factor});
        return list;
      },
      [](T& phase, const std::vector<DominantAt>& list) {
        for (const DominantAt& at : list) phase.dominant_at[at.cores] = at.factor;
      });
  return Fields<T>{"projection/phaseProjection",
                   {
                       Field("series", &T::series),
                       Embed(&T::phase),
                       Field("fittedCores", &T::fitted_cores).Above(0),
                       Field("obstacle", &T::obstacle, "Why there is no projection").UnlessDefault(),
                       Field("factors", &T::factors),
                       Field("dominance", &T::dominance, "From this core count on this factor loses most"),
                       Part<T>("dominantAt", by_target),
                       Field("reliableRange", &T::reliable_range),
                       Field("nextRuns", &T::next_runs),
                       Field("answers", &T::key_results),
                   }}
      .After([](T& phase, const JsonPlace& at) {
        if ((phase.reliable_range || phase.key_results) && phase.fitted_cores.empty()) {
          at.Fail("has answers but no fitted runs");
        }
        // Files of earlier versions have another range, or none.
        if (!phase.reliable_range) phase.reliable_range = FindReliableRange(phase, {});
      })
      .Obsolete({"horizon"});
}

template <>
Fields<ProjectionFile> FieldsOf<ProjectionFile>() {
  return Fields<ProjectionFile>{
      "projection",
      {
          Field("phases", &ProjectionFile::phases),
          Field("diagnostics", &ProjectionFile::findings, "Anomalies of the table that is projected").OrMissing(),
      }}
      .File("farscale-projection", kProjectionVersion, kProjectionVersion, "projection");
}

std::string WriteProjectionJson(const std::vector<PhaseProjection>& projections, const std::vector<Finding>& findings) {
  return JsonOf(ProjectionFile{projections, findings}).dump(2) + "\n";
}

OrderedJson ProjectionSchema() { return SchemaOf<ProjectionFile>("Projections of farscale"); }

}  // namespace farscale
