#include <algorithm>
#include <cmath>

#include "results/json_fields.h"
#include "results/results_json.h"

namespace farscale {
namespace {

constexpr const char* kReliability = "reliability";
constexpr const char* kEvidence = "evidence";  // in files of earlier versions

template <typename T>
Field<T> CoreCount(Field<T> field) {
  return std::move(field).Above(0).AtMost(kLargestCoreCount);
}

struct FittedParameter {
  std::string name;
  double value = 0;
  bool at_bound = false;
  std::optional<double> standard_error;
};

}  // namespace

std::vector<std::pair<FitOutcome, std::string>> NamesOf(Described<FitOutcome>) {
  return {{FitOutcome::kConverged, "converged"},
          {FitOutcome::kAtBound, "atBound"},
          {FitOutcome::kTooFewPoints, "tooFewPoints"},
          {FitOutcome::kNotConverged, "notConverged"},
          {FitOutcome::kLeavesRange, "leavesRange"}};
}

std::vector<std::pair<ReliableRange::Reach, std::string>> NamesOf(Described<ReliableRange::Reach>) {
  using Reach = ReliableRange::Reach;
  return {{Reach::kUpTo, "upTo"},
          {Reach::kAtLeast, "atLeast"},
          {Reach::kOnlyMeasured, "onlyMeasured"},
          {Reach::kMisfit, "misfit"}};
}

std::vector<std::pair<Reliability, std::string>> NamesOf(Described<Reliability>) {
  return FirstNames<Reliability>(3, [](Reliability level) { return ToString(level); });
}

Fields<ProjectedValue> FieldsOf(Described<ProjectedValue>) {
  using T = ProjectedValue;
  return {"projection/value",
          {
              CoreCount(Property<&T::cores>()),
              Property<&T::ratio>("Of the cores to the largest core count that was fitted").Above(0),
              Property<&T::value>("As predicted").AtLeast(0),
              Properties<&T::interval80, &T::interval95>(),
          }};
}

Fields<DataPoint> FieldsOf(Described<DataPoint>) {
  using T = DataPoint;
  return {"projection/point",
          {
              CoreCount(Property<&T::cores>()),
              Property<&T::value>().Above(0),
              Property<&T::standard_error>("Of the value, within its run").AtLeast(0),
          }};
}

Fields<FittedParameter> FieldsOf(Described<FittedParameter>) {
  using T = FittedParameter;
  return {"projection/parameter",
          {
              Properties<&T::name, &T::value, &T::at_bound>(),
              Property<&T::standard_error>().AtLeast(0),
          }};
}

Fields<FittedModel> FieldsOf(Described<FittedModel>) {
  using T = FittedModel;
  const auto has_weights = [](const T& fit) { return !fit.weights.empty(); };
  const auto parameters = Via<T, std::vector<FittedParameter>>(
      [](const T& fit) {
        std::vector<FittedParameter> list;
        const std::size_t count = fit.parameters.size();
        for (std::size_t i = 0; i < count; ++i) {
          list.push_back({fit.names[i], fit.parameters[i], static_cast<bool>(fit.at_bound[i]), std::nullopt});
          if (fit.covariance.size() != count * count) continue;
          list.back().standard_error = std::sqrt(std::max(0.0, fit.covariance[i * count + i]));
        }
        return list;
      },
      [](T& fit, const std::vector<FittedParameter>& list) {
        for (const FittedParameter& parameter : list) {
          fit.names.push_back(parameter.name);
          fit.parameters.push_back(parameter.value);
          fit.at_bound.push_back(parameter.at_bound);
        }
      });
  return Fields<T>{"projection/fit",
                   {
                       Property<&T::model>("Id of the model, a file of fits/ or of the user"),
                       Property<&T::dimension>("d in x = P^(1/d)").AtLeast(1),
                       Property<&T::outcome>(),
                       Field<T>("parameters", parameters),
                       Property<&T::covariance>("Of the parameters, row by row; empty when it could not be computed"),
                       Property<&T::points>("What was fitted"),
                       Property<&T::residuals>("Measured minus fitted, one a point"),
                       Property<&T::sum_of_squares>("Of the residuals, with the weights").AtLeast(0),
                       Property<&T::sigma>("Standard deviation around the curve, of a point of weight 1").AtLeast(0),
                       Property<&T::sigma_is_assumed>("True when there are no more points than parameters"),
                       Property<&T::degrees_of_freedom>(),
                       Property<&T::weights>("One a point, with the product 1; absent when all count alike")
                           .AtLeast(0)
                           .When(has_weights),
                       Property<&T::scatter>(
                           "Run-to-run noise around the curve besides the points' own errors, as a multiple of what "
                           "docs/formulas.md says; absent when all points count alike")
                           .AtLeast(0)
                           .When(has_weights),
                   }}
      .Obsolete({"aicc", "betweenRuns", "leftOutError", "rivals"});
}

Fields<CandidateModel> FieldsOf(Described<CandidateModel>) {
  using T = CandidateModel;
  const auto parameters = Via<T, Dictionary<double>>(
      [](const T& candidate) {
        Dictionary<double> by_name;
        for (std::size_t i = 0; i < candidate.parameters.size(); ++i) {
          by_name.emplace_back(candidate.names[i], candidate.parameters[i]);
        }
        return by_name;
      },
      [](T& candidate, const Dictionary<double>& by_name) {
        for (const auto& [name, value] : by_name) {
          candidate.names.push_back(name);
          candidate.parameters.push_back(value);
        }
      });
  return Fields<T>{"projection/rival",
                   {
                       Property<&T::model>(),
                       Property<&T::dimension>().AtLeast(1),
                       Property<&T::outcome>(),
                       Property<&T::weight>("Of the model in the average of all").AtLeast(0).AtMost(1).Later(),
                       Field<T>("parameters", parameters, "By name; empty where there is no fit").Later(),
                       Property<&T::values>("At the targets; empty where the model is of no use there").Later(),
                   }}
      .Obsolete({"aicc", "leftOutError"});
}

Fields<RunChoice> FieldsOf(Described<RunChoice>) {
  using T = RunChoice;
  return {
      CoreCount(Property<&T::cores>()),
      Property<&T::is_repeat>(),
      Property<&T::width>("Expected after the run").AtLeast(0),
      Property<&T::core_hours>("Of the phase, as projected").AtLeast(0),
  };
}

Fields<NextRuns> FieldsOf(Described<NextRuns>) {
  using T = NextRuns;
  return {"projection/nextRuns",
          "What to run next to know more at a target",
          {
              Property<&T::factor>("Whose 80 % interval is to be narrowed"),
              CoreCount(Property<&T::target>("Cores")),
              Property<&T::width>("Of that interval there as things are").AtLeast(0),
              Property<&T::choices>("The narrowest first"),
          }};
}

Fields<PredictorValues> FieldsOf(Described<PredictorValues>) {
  using T = PredictorValues;
  return {"projection/predictors",
          {
              CoreCount(Property<&T::cores>()),
              Property<&T::curves>("By the fitted models alone").AtLeast(0),
              Property<&T::grown>("By grown runs alone").AtLeast(0),
              Property<&T::weight>("Of the grown runs in the projected value").AtLeast(0).AtMost(1),
          }};
}

Fields<FactorProjection> FieldsOf(Described<FactorProjection>) {
  using T = FactorProjection;
  const auto is_fitted = [](const T& projection) { return !projection.is_product; };
  const auto level = [](const ProjectedValue& target, const JsonPlace& at) {
    return ReliabilityOf(at.Within<PhaseProjection>(), at.Within<FactorProjection>().factor, target.cores);
  };
  auto target = FieldsOf<ProjectedValue>();
  target.data.definition = "projection/target";
  target.data.fields.push_back(Computed<ProjectedValue>(kReliability, level).Later().all().front());
  return Fields<T>{
      "projection/factorProjection",
      {
          Property<&T::factor>(),
          Property<&T::is_product>("Of its children; otherwise it has a fit of its own"),
          Properties<&T::formula, &T::fit>().RequiredWhen(is_fitted),
          Field("rivals", &T::candidates, "All models that were tried, by weight; the first is that of the fit")
              .When(is_fitted),
          Property<&T::measured>(),
          Property<&T::targets>(ListOf<ProjectedValue>(FormOfFields(std::move(target)))),
          Property<&T::curve>("The same on a fine grid"),
          Property<&T::grown>("Values of grown runs [docs/growth.md]; absent without any")
              .OrMissing()
              .When([](const T& projection) { return !projection.grown.empty(); }),
          Property<&T::predictors>("What curves and grown runs say at the targets; absent without any")
              .OrMissing()
              .When([](const T& projection) { return !projection.predictors.empty(); }),
      }}
      .Schema(R"({"if": {"properties": {"isProduct": {"const": false}}}, "then": {"required": ["formula", "fit"]}})");
}

Fields<Dominance> FieldsOf(Described<Dominance>) {
  return {CoreCount(Field("fromCores", &Dominance::cores)), Property<&Dominance::factor>()};
}

Fields<ReliableRange> FieldsOf(Described<ReliableRange>) {
  using T = ReliableRange;
  const auto uncertain_up_to = [](const T&, const JsonPlace& at) {
    return UncertainUpTo(at.Within<PhaseProjection>());
  };
  return {"projection/reliableRange",
          "How far the projection is reliable; absent where nothing is projected",
          {
              Property<&T::factor>("Whose 80 % interval limits the range"),
              Embed(&T::limits,
                    Fields<ReliabilityLimits>{
                        Property<&ReliabilityLimits::share>(
                            "Half the width of the interval is at most this share of a reliable value")
                            .Above(0),
                        Property<&ReliabilityLimits::absolute>(
                            "And at most this; relative to values above 1; without meaning for speedup")
                            .Above(0)}),
              CoreCount(Property<&T::cores>("Projected values beyond are uncertain or unknown")),
              Computed<T>("uncertainUpTo", uncertain_up_to, "Projected values beyond are unknown").AtLeast(0),
              Property<&T::reach>(
                  "atLeast: where the curve ends; onlyMeasured: the interval is wider, or unknown, at the largest "
                  "fitted count already; misfit: the run there contradicts the models"),
          }};
}

Fields<PhaseProjection> FieldsOf(Described<PhaseProjection>) {
  using T = PhaseProjection;
  const Fields<Dominance> at_target{CoreCount(Property<&Dominance::cores>()), Property<&Dominance::factor>()};
  const auto by_target = Via<T, std::vector<Dominance>>(
      [](const T& phase) {
        std::vector<Dominance> list;
        for (const auto& [cores, factor] : phase.dominant_at) list.push_back({cores, factor});
        return list;
      },
      [](T& phase, const std::vector<Dominance>& list) {
        for (const Dominance& at : list) phase.dominant_at[at.cores] = at.factor;
      },
      ListOf<Dominance>(FormOfFields(at_target)));
  return Fields<T>{"projection/phaseProjection",
                   {
                       Property<&T::series>(),
                       Embed(&T::phase),
                       Property<&T::fitted_cores>().Above(0),
                       Property<&T::obstacle>("Why there is no projection").UnlessDefault(),
                       Property<&T::factors>(),
                       Property<&T::dominance>("From this core count on this factor loses most"),
                       Field<T>("dominantAt", by_target),
                       Properties<&T::reliable_range, &T::next_runs>(),
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

namespace {

// A file of `farscale predict`.
Fields<Results> ProjectionFile() {
  using T = Results;
  return Fields<T>{"projection",
                   {
                       Field("phases", &T::projections),
                       Embed(&T::table, Fields<FactorTable>{Field("diagnostics", &FactorTable::findings,
                                                                  "Anomalies of the table that is projected")
                                                                .OrMissing()}),
                   }}
      .File("farscale-projection", kProjectionVersion, kProjectionVersion, "projection");
}

}  // namespace

std::string WriteProjectionJson(const std::vector<PhaseProjection>& projections, const std::vector<Finding>& findings) {
  Results results;
  results.projections = projections;
  results.table.findings = findings;
  return JsonOf(results, ProjectionFile()).dump(2) + "\n";
}

OrderedJson ProjectionSchema() { return SchemaOf(ProjectionFile(), "Projections of farscale"); }

// Key results of a projection, as part of its JSON [docs/schema/projection.schema.json].

// A core count under the key that says how it is meant: {"below": 8}.
Fields<CountBound> FieldsOf(Described<CountBound>) {
  using T = CountBound;
  const auto field = [](const char* key, T::Kind kind, const char* text) {
    const auto form = Via<T, double>([](const T& bound) { return bound.cores; },
                                     [kind](T& bound, double cores) {
                                       bound = {kind, cores};
                                     });
    return Field<T>(key, form, text).Above(0).AtMost(kLargestCoreCount).When([kind](const T& bound) {
      return bound.kind == kind;
    });
  };
  return Fields<T>{"projection/count",
                   {
                       field("cores", T::Kind::kAt, ""),
                       field("below", T::Kind::kBelow, "Less than this, the smallest fitted count"),
                       field("moreThan", T::Kind::kMoreThan, "More than this, where the curve ends"),
                   }}
      .Schema(R"({"minProperties": 1, "maxProperties": 1})")
      .After([](T& bound, const JsonPlace& at) {
        if (bound.cores == 0) at.Fail("has no number of cores");
      });
}

namespace {

// The level of a result is that of the factor it was computed from.
Fields<CountEstimate> AnswerFields(const char* definition, Factor factor) {
  using T = CountEstimate;
  const auto level = [factor](const T& result, const JsonPlace& at) {
    return ReliabilityOf(at.Within<PhaseProjection>(), factor, result.value);
  };
  return Fields<T>{definition,
                   "",
                   {
                       Property<&T::value>(),
                       Computed<T>(kReliability, level).Later(),
                       Field("low80", &T::low),
                       Field("high80", &T::high),
                   }}
      .Obsolete({kEvidence});
}

}  // namespace

// The count is that of the speedup.
Fields<CountEstimate> FieldsOf(Described<CountEstimate>) {
  return AnswerFields("projection/countAnswer", Factor::kSpeedup);
}

Fields<LevelCounts> FieldsOf(Described<LevelCounts>) {
  using T = LevelCounts;
  const auto of_parallel =
      OptionalOf<CountEstimate>(FormOfFields(AnswerFields("projection/countAnswer", Factor::kParallelEfficiency)));
  return Fields<T>{
      Property<&T::level>("Of efficiency"),
      Field("parallelEfficiency", &T::parallel, of_parallel),
      Field("relativeEfficiency", &T::relative),
  }
      .After([](T& level, const JsonPlace& at) {
        if (level.relative && !at.Within<KeyResults>().reference) at.Fail("is relative to no run");
      });
}

Fields<SpeedupPeak> FieldsOf(Described<SpeedupPeak>) {
  using T = SpeedupPeak;
  return Fields<T>{"",
                   "Where speedup is largest; moreThan: it still grows there, at the end of the curve",
                   {
                       Embed(&T::count),
                       Property<&T::speedup>("There, or where the curve ends").AtLeast(0),
                       Property<&T::speedup80>(),
                   }}
      .Obsolete({kEvidence});
}

Fields<ProjectedTime> FieldsOf(Described<ProjectedTime>) {
  using T = ProjectedTime;
  const auto core_hours = [](const T& time) { return CoreHours(time.cores, time.seconds); };
  const auto level = [](const T& time, const JsonPlace& at) {
    return ReliabilityOf(at.Within<PhaseProjection>(), Factor::kSpeedup, time.cores);
  };
  return Fields<T>{
      CoreCount(Property<&T::cores>()),
      Property<&T::ratio>().Above(0),
      Field("secondsPerIteration", &T::seconds).AtLeast(0),
      Computed<T>("coreHoursPerIteration", core_hours).AtLeast(0),
      Computed<T>(
          "coreHours",
          [core_hours](const T& time, const JsonPlace& at) {
            return core_hours(time) * at.Within<TimeEstimate>().iterations;
          },
          "Of all iterations")
          .AtLeast(0),
      Computed<T>(kReliability, level).Later(),
      Field("secondsPerIteration80", &T::interval80),
      Field("secondsPerIteration95", &T::interval95),
  }
      .Obsolete({kEvidence});
}

Fields<TimeEstimate> FieldsOf(Described<TimeEstimate>) {
  using T = TimeEstimate;
  return {"",
          "Absent where run times, speedup or the scaling are unknown",
          {
              Property<&T::iterations>("Of the phase in the reference run").Above(0),
              Property<&T::targets>(),
          }};
}

Fields<PerfectFactor> FieldsOf(Described<PerfectFactor>) {
  using T = PerfectFactor;
  return {
      Property<&T::factor>(),
      Property<&T::gain>("1 / factor - 1, the share by which what it is part of grows"),
      Property<&T::gain80>(),
      Properties<&T::parallel_efficiency, &T::global_efficiency>().AtLeast(0),
      Field("secondsPerIteration", &T::seconds).AtLeast(0),
  };
}

Fields<PerfectAtTarget> FieldsOf(Described<PerfectAtTarget>) {
  using T = PerfectAtTarget;
  const auto level = [](const T& target, const JsonPlace& at) {
    return ReliabilityOf(at.Within<PhaseProjection>(), target.cores);
  };
  return Fields<T>{
      CoreCount(Property<&T::cores>()),
      Computed<T>(kReliability, level).Later(),
      Property<&T::factors>("The largest gain first"),
  }
      .Obsolete({kEvidence});
}

Fields<KeyResults> FieldsOf(Described<KeyResults>) {
  using T = KeyResults;
  return {"projection/answers",
          "Key results; absent where nothing is projected",
          {
              Field("referenceCores", &T::reference, "Of the run that relative efficiency and speedup compare with")
                  .Above(0)
                  .AtMost(kLargestCoreCount),
              Property<&T::levels>("Largest core counts with an efficiency of at least the level"),
              Field("speedupPeak", &T::peak),
              Property<&T::time>(),
              Property<&T::perfect>("Potential gains from removing each loss: one factor is 1, the others stay"),
          }};
}

}  // namespace farscale
