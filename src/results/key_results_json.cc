// Key results of a projection, as part of its JSON [docs/schema/projection.schema.json].
#include "results/fields.h"

namespace farscale {
namespace {

constexpr const char* kReliability = "reliability";
constexpr const char* kEvidence = "evidence";  // in files of earlier versions

}  // namespace

// A core count under the key that says how it is meant: {"below": 8}.
template <>
Fields<CountBound> FieldsOf<CountBound>() {
  using T = CountBound;
  const auto field = [](const char* key, T::Kind kind, const char* text) {
    const auto form = Via<T, double>([](const T& bound) { return bound.cores; },
                                     [kind](T& bound, double cores) {
                                       bound = {kind, cores};
                                     });
    return Part<T>(key, form, text).Above(0).AtMost(kLargestCoreCount).When([kind](const T& bound) {
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
                       Field("value", &T::value),
                       Computed<T>(kReliability, level).Later(),
                       Field("low80", &T::low),
                       Field("high80", &T::high),
                   }}
      .Obsolete({kEvidence});
}

}  // namespace

// The count is that of the speedup.
template <>
Fields<CountEstimate> FieldsOf<CountEstimate>() {
  return AnswerFields("projection/countAnswer", Factor::kSpeedup);
}

template <>
Fields<LevelCounts> FieldsOf<LevelCounts>() {
  using T = LevelCounts;
  const auto of_parallel =
      OptionalOf<CountEstimate>(FormOfFields(AnswerFields("projection/countAnswer", Factor::kParallelEfficiency)));
  return Fields<T>{
      Field("level", &T::level, "Of efficiency"),
      Field("parallelEfficiency", &T::parallel, of_parallel),
      Field("relativeEfficiency", &T::relative),
  }
      .After([](T& level, const JsonPlace& at) {
        if (level.relative && !at.Within<KeyResults>().reference) at.Fail("is relative to no run");
      });
}

template <>
Fields<SpeedupPeak> FieldsOf<SpeedupPeak>() {
  using T = SpeedupPeak;
  return Fields<T>{"",
                   "Where speedup is largest; moreThan: it still grows there, at the end of the curve",
                   {
                       Embed(&T::count),
                       Field("speedup", &T::speedup, "There, or where the curve ends").AtLeast(0),
                       Field("speedup80", &T::speedup80),
                   }}
      .Obsolete({kEvidence});
}

template <>
Fields<ProjectedTime> FieldsOf<ProjectedTime>() {
  using T = ProjectedTime;
  const auto core_hours = [](const T& time) { return CoreHours(time.cores, time.seconds); };
  const auto level = [](const T& time, const JsonPlace& at) {
    return ReliabilityOf(at.Within<PhaseProjection>(), Factor::kSpeedup, time.cores);
  };
  return Fields<T>{
      CoresField("cores", &T::cores),
      Field("ratio", &T::ratio).Above(0),
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

template <>
Fields<TimeEstimate> FieldsOf<TimeEstimate>() {
  using T = TimeEstimate;
  return {"",
          "Absent where run times, speedup or the scaling are unknown",
          {
              Field("iterations", &T::iterations, "Of the phase in the reference run").Above(0),
              Field("targets", &T::targets),
          }};
}

template <>
Fields<PerfectFactor> FieldsOf<PerfectFactor>() {
  using T = PerfectFactor;
  return {
      Field("factor", &T::factor),
      Field("gain", &T::gain, "1 / factor - 1, the share by which what it is part of grows"),
      Field("gain80", &T::gain80),
      Field("parallelEfficiency", &T::parallel_efficiency).AtLeast(0),
      Field("globalEfficiency", &T::global_efficiency).AtLeast(0),
      Field("secondsPerIteration", &T::seconds).AtLeast(0),
  };
}

template <>
Fields<PerfectAtTarget> FieldsOf<PerfectAtTarget>() {
  using T = PerfectAtTarget;
  const auto level = [](const T& target, const JsonPlace& at) {
    return ReliabilityOf(at.Within<PhaseProjection>(), target.cores);
  };
  return Fields<T>{
      CoresField("cores", &T::cores),
      Computed<T>(kReliability, level).Later(),
      Field("factors", &T::factors, "The largest gain first"),
  }
      .Obsolete({kEvidence});
}

template <>
Fields<KeyResults> FieldsOf<KeyResults>() {
  using T = KeyResults;
  return {
      "projection/answers",
      "Key results; absent where nothing is projected",
      {
          Field("referenceCores", &T::reference, "Of the run that relative efficiency and speedup compare with")
              .Above(0)
              .AtMost(kLargestCoreCount),
          Field("levels", &T::levels, "Largest core counts with an efficiency of at least the level"),
          Field("speedupPeak", &T::peak),
          Field("time", &T::time),
          Field("perfect", &T::perfect, "Potential gains from removing each loss: one factor is 1, the others stay"),
      }};
}

}  // namespace farscale
