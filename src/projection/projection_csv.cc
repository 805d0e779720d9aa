#include "projection/projection_csv.h"

#include <fmt/format.h>

#include "base/format.h"
#include "factors/factor_table_csv.h"

namespace farscale {

std::string BoundsAsCsv(const std::optional<IntervalBounds>& interval) {
  if (!interval) return ",";
  return FormatExact(interval->low) + "," + FormatExact(interval->high);
}

std::string WriteProjectionCsv(const std::vector<PhaseProjection>& projections) {
  std::string text = "series,phase,factor,model,dimension,cores,ratio,value,low80,high80,low95,high95\n";
  for (const PhaseProjection& phase : projections) {
    for (const FactorProjection& factor : phase.factors) {
      for (const ProjectedValue& target : factor.targets) {
        text += fmt::format("{},{},{},{},{},{},{},{},{},{}\n", CsvField(phase.series), CsvField(phase.phase),
                            Describe(factor.factor).id, factor.is_product ? "product" : factor.fit.model,
                            factor.is_product ? "" : std::to_string(factor.fit.dimension), FormatExact(target.cores),
                            FormatExact(target.ratio), FormatExact(target.value), BoundsAsCsv(target.interval80),
                            BoundsAsCsv(target.interval95));
      }
    }
  }
  return text;
}

}  // namespace farscale
