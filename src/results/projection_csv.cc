#include "results/projection_files.h"

#include <fmt/format.h>

#include "base/format.h"
#include "results/csv_text.h"

namespace farscale {
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

}  // namespace farscale
