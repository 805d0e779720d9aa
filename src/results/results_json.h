// results.json [docs/schema/results.schema.json], and losses as JSON [docs/schema/losses.schema.json].
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/results.h"

namespace farscale {

inline constexpr int kResultsVersion = 2;

std::string WriteResultsJson(const Results& results);
nlohmann::ordered_json ResultsSchema();
// Throws an input error naming `file` when it is not such a file, and a usage error when its runs exclude its scaling.
Results ReadResultsJson(const std::string& text, const std::string& file);
// The same without the check of the scaling.
Results ReadResultsJsonUnchecked(const std::string& text, const std::string& file);

// All losses. `warnings`: of the runs.
std::string WriteLossesJson(const std::vector<LossRecord>& records, const std::vector<LossProjection>& projections,
                            const std::vector<Finding>& warnings = {});
nlohmann::ordered_json LossesSchema();

// True if a text is results.json, of any version.
bool IsResultsJson(const std::string& text);

// The kind of a file of results: the format that its JSON names ("farscale-results", "farscale-factors" …), "talp" for
// what TALP has written, or "" for a CSV table, that is, for anything but JSON. Throws an input error naming `file` for
// an empty one, and for JSON that is damaged or names no format.
std::string FormatOfResults(const std::string& text, const std::string& file);

// The factor table of factors.json or of results.json, or of one run that TALP has measured.
FactorTable ReadTableFromJson(const std::string& text, const std::string& file);
// Runs that farscale measure or TALP has measured, each in a file, as one table that is not complete yet. Throws as the
// readers of these files do, and a usage error where they are of both tools.
FactorTable ReadTableOfRuns(const std::vector<std::string>& paths);

// Times measured by hyperfine, as `hyperfine --export-json` writes them, as a table of run times.

// The name of this format, since the files do not name one.
inline constexpr std::string_view kHyperfineFormat = "hyperfine";

bool IsHyperfineJson(const nlohmann::ordered_json& json);

// One row for each time of every command. The number of cores is the parameter `cores`, `ranks`, `processes`, `np` or
// `n` of the command, times that of `threads`; other parameters tell series apart. Throws an input error naming the
// file and the command where one has no such parameter or no times.
FactorTable TableOfHyperfine(const nlohmann::ordered_json& json, const std::string& file);

// Projections and backtests as CSV [docs/file-formats.md] and JSON [docs/schema/projection.schema.json,
// backtest.schema.json]; splits of cores as JSON [docs/schema/splits.schema.json].

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
