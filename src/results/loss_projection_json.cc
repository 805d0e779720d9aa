// Projected losses, as part of the JSON of losses [docs/schema/losses.schema.json].
#include "results/fields.h"

namespace farscale {

template <>
std::vector<std::pair<LossMeasure, std::string>> NamesOf<LossMeasure>() {
  return FirstNames<LossMeasure>(kLossMeasures.size(), [](LossMeasure measure) { return ToString(measure); });
}

template <>
Fields<ProjectedLoss> FieldsOf<ProjectedLoss>() {
  using T = ProjectedLoss;
  return Fields<T>{
      Field("cores", &T::cores),
      Field("loss", &T::loss),
      Field("loss80", &T::loss80).OrNull(),
      Field("loss95", &T::loss95).OrNull(),
      Field("part", &T::part, "Of the losses of all call paths"),
      Field("part80", &T::part80).OrNull(),
      Field("part95", &T::part95).OrNull(),
      Field("reliability", &T::reliability).Later(),
  }
      .Obsolete({"evidence"});
}

template <>
Fields<PathLossProjection> FieldsOf<PathLossProjection>() {
  using T = PathLossProjection;
  const auto point = ListOf<DataPoint>(
      FormOfFields(Fields<DataPoint>{Field("cores", &DataPoint::cores), Field("loss", &DataPoint::value)}));
  return {
      Field("path", &T::path),
      Field("measured", &T::measured, point),
      Field("model", &T::model).UnlessDefault(),
      Field("formula", &T::formula).UnlessDefault(),
      Field("targets", &T::targets),
  };
}

template <>
Fields<LossProjection> FieldsOf<LossProjection>() {
  using T = LossProjection;
  return {"losses/projection",
          {
              Field("phase", &T::phase),
              Field("measure", &T::measure, "Share of all ranks' time (delayCosts) or of the run time"),
              Field("fittedCores", &T::fitted_cores),
              Field("obstacle", &T::obstacle, "Why there is no projection").UnlessDefault(),
              Field("callPaths", &T::paths),
          }};
}

}  // namespace farscale
