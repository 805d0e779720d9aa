#include "results/projection_csv.h"

#include <fmt/format.h>

#include "base/format.h"
#include "results/factor_table_csv.h"

namespace farscale {

std::string BoundsAsCsv(const std::optional<IntervalBounds>& interval) {
  if (!interval) return ",";
  return FormatExact(interval->low) + "," + FormatExact(interval->high);
}

namespace {

std::string Bounds(const std::optional<OpenBounds>& interval, double scale) {
  if (!interval) return ",";
  return FormatExact(interval->low * scale) + "," + (interval->high ? FormatExact(*interval->high * scale) : "");
}

const char* ReliableCores(bool is_reliable) { return is_reliable ? "true" : "false"; }

// Seconds of one iteration, or of as many as the phase has.
std::string TimeRows(const PhaseProjection& phase, const char* id, double iterations) {
  std::string text;
  const double reach = ReliableUpTo(phase, Factor::kSpeedup);
  for (const ProjectedTime& target : phase.key_results->time->targets) {
    text += fmt::format("{},{},{},{},product,,{},{},{},{},{},{}\n", CsvField(phase.series), CsvField(phase.phase.name),
                        CsvField(phase.phase.group), id, FormatExact(target.cores), FormatExact(target.ratio),
                        FormatExact(target.seconds * iterations), Bounds(target.interval80, iterations),
                        Bounds(target.interval95, iterations), ReliableCores(target.cores <= reach));
  }
  return text;
}

}  // namespace

std::string WriteProjectionCsv(const std::vector<PhaseProjection>& projections) {
  std::string text = "series,phase,group,factor,model,dimension,cores,ratio,value,low80,high80,low95,high95,evidence\n";
  for (const PhaseProjection& phase : projections) {
    for (const FactorProjection& factor : phase.factors) {
      const double reach = ReliableUpTo(phase, factor.factor);
      for (const ProjectedValue& target : factor.targets) {
        text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}\n", CsvField(phase.series), CsvField(phase.phase.name),
                            CsvField(phase.phase.group), Describe(factor.factor).id,
                            factor.is_product ? "product" : factor.fit.model,
                            factor.is_product ? "" : std::to_string(factor.fit.dimension), FormatExact(target.cores),
                            FormatExact(target.ratio), FormatExact(target.value), BoundsAsCsv(target.interval80),
                            BoundsAsCsv(target.interval95), ReliableCores(target.cores <= reach));
      }
    }
    if (!phase.key_results || !phase.key_results->time) continue;
    text += TimeRows(phase, "timePerIteration", 1);
    text += TimeRows(phase, "runtime", phase.key_results->time->iterations);
  }
  return text;
}

}  // namespace farscale
