#include "results/projection_files.h"

#include "results/fields.h"

namespace farscale {

template <>
Fields<BacktestRow> FieldsOf<BacktestRow>() {
  using T = BacktestRow;
  return {"backtest/row",
          "A factor of one hidden run, as measured and as predicted from the smaller runs",
          {
              Field("series", &T::series),
              Embed(&T::phase),
              Field("factor", &T::factor),
              Field("trainMax", &T::train_max, "Runs up to this many cores were fitted").Above(0),
              Field("measured", &T::measured),
              Field("model", &T::model, "Of the factor; product for the product of others"),
              Embed(&T::predicted),
              Field("repeat", &T::repeat, "Of the hidden run; absent: 0").AtLeast(1).UnlessDefault(),
          }};
}

namespace {

struct BacktestFile {
  std::vector<BacktestRow> rows;
  std::vector<ErrorsAtRatio> summary;
  std::optional<BacktestComparison> comparison;
};

}  // namespace

template <>
Fields<IntervalRecord> FieldsOf<IntervalRecord>() {
  using T = IntervalRecord;
  return {"backtest/intervalRecord",
          {
              Field("points", &T::points, "That have an interval").AtLeast(1),
              Computed<T>(
                  "coverage", [](const T& record) { return record.Coverage(); }, "Share of those that lie within")
                  .AtLeast(0)
                  .AtMost(1),
              Field("score", &T::score, "Mean interval score, in the unit of the factor; smaller is better").AtLeast(0),
          }};
}

template <>
Fields<PredictionErrors> FieldsOf<PredictionErrors>() {
  using T = PredictionErrors;
  return {"backtest/errors",
          {
              Field("points", &T::points),
              Field("withoutError", &T::without_error, "Measured as 0, so without a relative error"),
              Field("median", &T::median, "Of the absolute relative errors").AtLeast(0).OrNull(),
              Field("percentile90", &T::percentile90, "Nine tenths of them are below").AtLeast(0).OrNull(),
              Field("interval80", &T::interval80),
              Field("interval95", &T::interval95),
          }};
}

template <>
Fields<ErrorsAtRatio> FieldsOf<ErrorsAtRatio>() {
  using T = ErrorsAtRatio;
  return {"backtest/errorsAtRatio",
          {
              Field("factor", &T::factor),
              Field("ratio", &T::ratio, "The power of two that the ratios of the rows are nearest to").Above(0),
              Field("errors", &T::errors),
          }};
}

template <>
Fields<BacktestComparison> FieldsOf<BacktestComparison>() {
  using T = BacktestComparison;
  return {
      Field("against", &T::against, "The one model that every factor has, as given"),
      Field("summary", &T::errors, "Over what both predict"),
      Field("summaryAgainst", &T::errors_against, "The same with that model"),
  };
}

template <>
Fields<BacktestFile> FieldsOf<BacktestFile>() {
  using T = BacktestFile;
  return Fields<T>{"backtest",
                   {
                       Field("rows", &T::rows),
                       Field("summary", &T::summary),
                       Field("comparison", &T::comparison),
                   }}
      .File("farscale-backtest", kBacktestVersion, kBacktestVersion, "backtest");
}

std::string WriteBacktestJson(const std::vector<BacktestRow>& rows,
                              const std::optional<BacktestComparison>& comparison) {
  return JsonOf(BacktestFile{rows, ErrorsByRatio(rows), comparison}).dump(2) + "\n";
}

OrderedJson BacktestSchema() { return SchemaOf<BacktestFile>("Backtest of farscale"); }

}  // namespace farscale
