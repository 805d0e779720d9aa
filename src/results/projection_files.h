// Projections and backtests as CSV [docs/file-formats.md] and JSON [docs/schema/projection.schema.json,
// backtest.schema.json]; splits of cores as JSON [docs/schema/splits.schema.json].
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"

namespace farscale {

struct BacktestComparison;
struct BacktestRow;
struct PhaseProjection;
struct ThreadSplits;

// One row a factor and target:
// series,phase,group,factor,model,dimension,cores,ratio,value,low80,high80,low95,high95,reliability. Products have the
// model `product` and no dimension; bounds are empty where there is none; reliability is reliable, uncertain or
// unknown. Behind the factors of a phase stand its times in seconds, as `timePerIteration` and `runtime`, where they
// are known.
std::string WriteProjectionCsv(const std::vector<PhaseProjection>& projections);

inline constexpr int kProjectionVersion = 2;

// The file of `farscale predict`, with the anomalies of the table.
std::string WriteProjectionJson(const std::vector<PhaseProjection>& projections,
                                const std::vector<Finding>& findings = {});
nlohmann::ordered_json ProjectionSchema();

// The file of `farscale predict --split`.
std::string WriteSplitsJson(std::int64_t cores, const std::vector<ThreadSplits>& phases,
                            const std::vector<Finding>& findings);
nlohmann::ordered_json SplitsSchema();

// One row a hidden value and split: series,phase,group,factor,train_max,cores,ratio,measured,value,low80,high80,low95,
// high95,model. Bounds are empty where there is no interval; repeats of a core count are rows that follow each other.
std::string WriteBacktestCsv(const std::vector<BacktestRow>& rows);

inline constexpr int kBacktestVersion = 2;

// The file of `farscale backtest`: the rows, their errors by factor and ratio, and how these compare.
std::string WriteBacktestJson(const std::vector<BacktestRow>& rows,
                              const std::optional<BacktestComparison>& comparison);
nlohmann::ordered_json BacktestSchema();

}  // namespace farscale
