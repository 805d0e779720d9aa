#include "results/results_json.h"

#include <fmt/format.h>

#include "base/text.h"
#include "results/csv_text.h"
#include "results/json_fields.h"

namespace farscale {

Fields<BacktestRow> FieldsOf(Described<BacktestRow>) {
  using T = BacktestRow;
  return {"backtest/row",
          "A factor of one hidden run, as measured and as predicted from the smaller runs",
          {
              Property<&T::series>(),
              Embed(&T::phase),
              Property<&T::factor>(),
              Property<&T::train_max>("Runs up to this many cores were fitted").Above(0),
              Property<&T::measured>(),
              Property<&T::model>("Of the factor; product for the product of others"),
              Embed(&T::predicted),
              Property<&T::repeat>("Of the hidden run; absent: 0").AtLeast(1).UnlessDefault(),
          }};
}

Fields<IntervalRecord> FieldsOf(Described<IntervalRecord>) {
  using T = IntervalRecord;
  return {"backtest/intervalRecord",
          {
              Property<&T::points>("That have an interval").AtLeast(1),
              Computed<T>(
                  "coverage", [](const T& record) { return record.Coverage(); }, "Share of those that lie within")
                  .AtLeast(0)
                  .AtMost(1),
              Property<&T::score>("Mean interval score, in the unit of the factor; smaller is better").AtLeast(0),
          }};
}

Fields<PredictionErrors> FieldsOf(Described<PredictionErrors>) {
  using T = PredictionErrors;
  return {"backtest/errors",
          {
              Property<&T::points>(),
              Property<&T::without_error>("Measured as 0, so without a relative error"),
              Property<&T::median>("Of the absolute relative errors").AtLeast(0).OrNull(),
              Property<&T::percentile90>("Nine tenths of them are below").AtLeast(0).OrNull(),
              Properties<&T::interval80, &T::interval95>(),
          }};
}

Fields<ErrorsAtRatio> FieldsOf(Described<ErrorsAtRatio>) {
  using T = ErrorsAtRatio;
  return {"backtest/errorsAtRatio",
          {
              Property<&T::factor>(),
              Property<&T::ratio>("The power of two that the ratios of the rows are nearest to").Above(0),
              Property<&T::errors>(),
          }};
}

Fields<BacktestComparison> FieldsOf(Described<BacktestComparison>) {
  using T = BacktestComparison;
  return {
      Property<&T::against>("The one model that every factor has, as given"),
      Field("summary", &T::errors, "Over what both predict"),
      Field("summaryAgainst", &T::errors_against, "The same with that model"),
  };
}

namespace {

Fields<Results> BacktestFile(const std::optional<BacktestComparison>& comparison) {
  using T = Results;
  return Fields<T>{"backtest",
                   {
                       Field("rows", &T::backtest),
                       Computed<T>("summary", [](const T& results) { return ErrorsByRatio(results.backtest); }),
                       Computed<T>("comparison", [comparison](const T&) { return comparison; }),
                   }}
      .File("farscale-backtest", kBacktestVersion, kBacktestVersion, "backtest");
}

}  // namespace

std::string WriteBacktestJson(const std::vector<BacktestRow>& rows,
                              const std::optional<BacktestComparison>& comparison) {
  Results results;
  results.backtest = rows;
  return JsonOf(results, BacktestFile(comparison)).dump(2) + "\n";
}

OrderedJson BacktestSchema() { return SchemaOf(BacktestFile({}), "Backtest of farscale"); }

Fields<SplitValue> FieldsOf(Described<SplitValue>) {
  using T = SplitValue;
  return {"splits/value", {Property<&T::value>().AtLeast(0), Property<&T::interval80>()}};
}

Fields<ThreadSplit> FieldsOf(Described<ThreadSplit>) {
  using T = ThreadSplit;
  return {"splits/split",
          {
              Property<&T::processes>().AtLeast(1),
              Property<&T::threads>("Of a process").AtLeast(1),
              Property<&T::processes_ratio>("Over the most processes that were run").Above(0),
              Property<&T::threads_ratio>("Over the most threads that were run").Above(0),
              Property<&T::is_run>("Both numbers were run"),
              Field("parallelEfficiency", &T::efficiency),
              Property<&T::reliability>(),
              Field("timeOverBest", &T::time, "Of an iteration, over that of the best split"),
              Property<&T::speedup>("Over the reference"),
              Field("secondsPerIteration", &T::seconds),
              Property<&T::limit>("The smallest of the parts of parallel efficiency and computation scalability"),
              Property<&T::may_be_best>("The interval of timeOverBest contains 1"),
          }};
}

Fields<ThreadGain> FieldsOf(Described<ThreadGain>) {
  using T = ThreadGain;
  return {"splits/gain",
          {
              Property<&T::processes>().AtLeast(1),
              Property<&T::from>("Threads of a process").AtLeast(1),
              Property<&T::to>("Threads of a process").AtLeast(2),
              Property<&T::speedup>("Of the latter over the former"),
          }};
}

Fields<ThreadSplits> FieldsOf(Described<ThreadSplits>) {
  using T = ThreadSplits;
  return {"splits/phase",
          {
              Property<&T::series>(),
              Embed(&T::phase),
              Property<&T::splits>("By rising threads"),
              Property<&T::best>("Which of the splits, from 0, takes the shortest time"),
              Field("moreThreads", &T::gain, "Twice the most threads, on the most processes that were run"),
              Property<&T::obstacle>("Why there are no splits").UnlessDefault(),
          }};
}

Fields<SplitsOfCores> FieldsOf(Described<SplitsOfCores>) {
  using T = SplitsOfCores;
  return {"results/splitsOfCores",
          {
              Property<&T::cores>("That are divided").AtLeast(1),
              Property<&T::phases>(),
          }};
}

namespace {

// A file of `farscale predict --split`.
Fields<SplitsOfCores> SplitsFile(const std::vector<Finding>& findings) {
  using T = SplitsOfCores;
  return Fields<T>{"splits",
                   {
                       Property<&T::cores>("That are divided").AtLeast(1),
                       Property<&T::phases>(),
                       Computed<T>(
                           "diagnostics", [findings](const T&) { return findings; }, "Anomalies of the table"),
                   }}
      .File("farscale-splits", 1, 1, "splits of cores");
}

}  // namespace

std::string WriteSplitsJson(std::int64_t cores, const std::vector<ThreadSplits>& phases,
                            const std::vector<Finding>& findings) {
  return JsonOf(SplitsOfCores{cores, phases}, SplitsFile(findings)).dump(2) + "\n";
}

OrderedJson SplitsSchema() {
  return SchemaOf(SplitsFile({}), "Splits of cores into processes and threads by farscale");
}

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

std::vector<std::pair<LossMeasure, std::string>> NamesOf(Described<LossMeasure>) {
  return FirstNames<LossMeasure>(kLossMeasures.size(), [](LossMeasure measure) { return ToString(measure); });
}

Fields<ProjectedLoss> FieldsOf(Described<ProjectedLoss>) {
  using T = ProjectedLoss;
  return Fields<T>{
      Properties<&T::cores, &T::loss>(),
      Properties<&T::loss80, &T::loss95>().OrNull(),
      Property<&T::part>("Of the losses of all call paths"),
      Properties<&T::part80, &T::part95>().OrNull(),
      Property<&T::reliability>().Later(),
  }
      .Obsolete({"evidence"});
}

Fields<PathLossProjection> FieldsOf(Described<PathLossProjection>) {
  using T = PathLossProjection;
  const auto point = ListOf<DataPoint>(
      FormOfFields(Fields<DataPoint>{Property<&DataPoint::cores>(), Field("loss", &DataPoint::value)}));
  return {
      Property<&T::path>(),
      Property<&T::measured>(point),
      Properties<&T::model, &T::formula>().UnlessDefault(),
      Property<&T::targets>(),
  };
}

Fields<LossProjection> FieldsOf(Described<LossProjection>) {
  using T = LossProjection;
  return {"losses/projection",
          {
              Property<&T::phase>(),
              Property<&T::measure>("Share of all ranks' time (delayCosts) or of the run time"),
              Property<&T::fitted_cores>(),
              Property<&T::obstacle>("Why there is no projection").UnlessDefault(),
              Field("callPaths", &T::paths),
          }};
}

}  // namespace farscale
