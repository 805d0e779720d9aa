#include "results/projection_files.h"

#include <fmt/format.h>

#include "base/text.h"
#include "results/csv_text.h"
#include "results/results.h"

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

namespace {

// A file of `farscale predict --split`.
struct SplitsFile {
  std::int64_t cores = 1;
  std::vector<ThreadSplits> phases;
  std::vector<Finding> findings;
};

}  // namespace

template <>
Fields<SplitValue> FieldsOf<SplitValue>() {
  using T = SplitValue;
  return {"splits/value", {Field("value", &T::value).AtLeast(0), Field("interval80", &T::interval80)}};
}

template <>
Fields<ThreadSplit> FieldsOf<ThreadSplit>() {
  using T = ThreadSplit;
  return {"splits/split",
          {
              Field("processes", &T::processes).AtLeast(1),
              Field("threads", &T::threads, "Of a process").AtLeast(1),
              Field("processesRatio", &T::processes_ratio, "Over the most processes that were run").Above(0),
              Field("threadsRatio", &T::threads_ratio, "Over the most threads that were run").Above(0),
              Field("isRun", &T::is_run, "Both numbers were run"),
              Field("parallelEfficiency", &T::efficiency),
              Field("reliability", &T::reliability),
              Field("timeOverBest", &T::time, "Of an iteration, over that of the best split"),
              Field("speedup", &T::speedup, "Over the reference"),
              Field("secondsPerIteration", &T::seconds),
              Field("limit", &T::limit, "The smallest of the parts of parallel efficiency and computation scalability"),
              Field("mayBeBest", &T::may_be_best, "The interval of timeOverBest contains 1"),
          }};
}

template <>
Fields<ThreadGain> FieldsOf<ThreadGain>() {
  using T = ThreadGain;
  return {"splits/gain",
          {
              Field("processes", &T::processes).AtLeast(1),
              Field("from", &T::from, "Threads of a process").AtLeast(1),
              Field("to", &T::to, "Threads of a process").AtLeast(2),
              Field("speedup", &T::speedup, "Of the latter over the former"),
          }};
}

template <>
Fields<ThreadSplits> FieldsOf<ThreadSplits>() {
  using T = ThreadSplits;
  return {"splits/phase",
          {
              Field("series", &T::series),
              Embed(&T::phase),
              Field("splits", &T::splits, "By rising threads"),
              Field("best", &T::best, "Which of the splits, from 0, takes the shortest time"),
              Field("moreThreads", &T::gain, "Twice the most threads, on the most processes that were run"),
              Field("obstacle", &T::obstacle, "Why there are no splits").UnlessDefault(),
          }};
}

template <>
Fields<SplitsOfCores> FieldsOf<SplitsOfCores>() {
  using T = SplitsOfCores;
  return {"results/splitsOfCores",
          {
              Field("cores", &T::cores, "That are divided").AtLeast(1),
              Field("phases", &T::phases),
          }};
}

template <>
Fields<SplitsFile> FieldsOf<SplitsFile>() {
  using T = SplitsFile;
  return Fields<T>{"splits",
                   {
                       Field("cores", &T::cores, "That are divided").AtLeast(1),
                       Field("phases", &T::phases),
                       Field("diagnostics", &T::findings, "Anomalies of the table"),
                   }}
      .File("farscale-splits", 1, 1, "splits of cores");
}

std::string WriteSplitsJson(std::int64_t cores, const std::vector<ThreadSplits>& phases,
                            const std::vector<Finding>& findings) {
  return JsonOf(SplitsFile{cores, phases, findings}).dump(2) + "\n";
}

OrderedJson SplitsSchema() { return SchemaOf<SplitsFile>("Splits of cores into processes and threads by farscale"); }

namespace {

// The two fields of an interval, "0.8,0.9"; both empty without one.
std::string Bounds(const std::optional<IntervalBounds>& interval) {
  if (!interval) return ",";
  return FormatExact(interval->low) + "," + FormatExact(interval->high);
}

std::string Bounds(const std::optional<OpenBounds>& interval, double scale) {
  if (!interval) return ",";
  return FormatExact(interval->low * scale) + "," + (interval->high ? FormatExact(*interval->high * scale) : "");
}

// Seconds of one iteration, or of as many as the phase has.
std::string TimeRows(const PhaseProjection& phase, const char* id, double iterations) {
  std::string text;
  for (const ProjectedTime& target : phase.key_results->time->targets) {
    text += fmt::format("{},{},{},{},product,,{},{},{},{},{},{}\n", CsvField(phase.series), CsvField(phase.phase.name),
                        CsvField(phase.phase.group), id, FormatExact(target.cores), FormatExact(target.ratio),
                        FormatExact(target.seconds * iterations), Bounds(target.interval80, iterations),
                        Bounds(target.interval95, iterations),
                        ToString(ReliabilityOf(phase, Factor::kSpeedup, target.cores)));
  }
  return text;
}

}  // namespace

std::string WriteProjectionCsv(const std::vector<PhaseProjection>& projections) {
  std::string text =
      "series,phase,group,factor,model,dimension,cores,ratio,value,low80,high80,low95,high95,reliability\n";
  for (const PhaseProjection& phase : projections) {
    for (const FactorProjection& factor : phase.factors) {
      for (const ProjectedValue& target : factor.targets) {
        text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}\n", CsvField(phase.series), CsvField(phase.phase.name),
                            CsvField(phase.phase.group), Describe(factor.factor).id,
                            factor.is_product ? "product" : factor.fit.model,
                            factor.is_product ? "" : std::to_string(factor.fit.dimension), FormatExact(target.cores),
                            FormatExact(target.ratio), FormatExact(target.value), Bounds(target.interval80),
                            Bounds(target.interval95), ToString(ReliabilityOf(phase, factor.factor, target.cores)));
      }
    }
    if (!phase.key_results || !phase.key_results->time) continue;
    text += TimeRows(phase, "timePerIteration", 1);
    text += TimeRows(phase, "runtime", phase.key_results->time->iterations);
  }
  return text;
}

std::string WriteBacktestCsv(const std::vector<BacktestRow>& rows) {
  std::string text = "series,phase,group,factor,train_max,cores,ratio,measured,value,low80,high80,low95,high95,model\n";
  for (const BacktestRow& row : rows) {
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}\n", CsvField(row.series), CsvField(row.phase.name),
                        CsvField(row.phase.group), Describe(row.factor).id, FormatExact(row.train_max),
                        FormatExact(row.predicted.cores), FormatExact(row.predicted.ratio), FormatExact(row.measured),
                        FormatExact(row.predicted.value), Bounds(row.predicted.interval80),
                        Bounds(row.predicted.interval95), CsvField(row.model));
  }
  return text;
}

// Projected losses, as part of the JSON of losses [docs/schema/losses.schema.json].

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
