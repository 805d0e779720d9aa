#include "results/backtest_json.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/version.h"
#include "results/factor_table_json.h"
#include "results/projection_json.h"

namespace farscale {
namespace {

using Json = nlohmann::ordered_json;

Json RowToJson(const BacktestRow& row) {
  Json json = {{"series", row.series}};
  AddPhase(row.phase, json);
  json.update({{"factor", Describe(row.factor).id},
               {"trainMax", row.train_max},
               {"measured", row.measured},
               {"model", row.model}});
  json.update(ProjectedValueToJson(row.predicted));
  if (row.repeat > 0) json["repeat"] = row.repeat;
  return json;
}

BacktestRow RowFromJson(const Json& json) {
  BacktestRow row;
  row.series = json.at("series").get<std::string>();
  row.phase = PhaseFromJson(json);
  row.factor = FactorFromJson(json.at("factor"));
  row.train_max = json.at("trainMax").get<double>();
  row.repeat = json.value("repeat", std::int64_t{0});
  row.measured = json.at("measured").get<double>();
  row.predicted = ProjectedValueFromJson(json);
  row.model = json.at("model").get<std::string>();
  if (!(row.train_max > 0) || !(row.predicted.ratio > 0)) {
    throw Error(ErrorKind::kInput, "", "a backtest has an impossible number of cores");
  }
  return row;
}

Json ToJson(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json ToJson(const IntervalRecord& record) {
  return {{"points", record.points}, {"coverage", record.Coverage()}, {"score", record.score}};
}

Json ToJson(const PredictionErrors& errors) {
  Json json = {{"points", errors.points},
               {"withoutError", errors.without_error},
               {"median", ToJson(errors.median)},
               {"percentile90", ToJson(errors.percentile90)}};
  if (errors.interval80) json["interval80"] = ToJson(*errors.interval80);
  if (errors.interval95) json["interval95"] = ToJson(*errors.interval95);
  return json;
}

Json ToJson(const std::vector<ErrorsAtRatio>& list) {
  Json json = Json::array();
  for (const ErrorsAtRatio& one : list) {
    json.push_back({{"factor", Describe(one.factor).id}, {"ratio", one.ratio}, {"errors", ToJson(one.errors)}});
  }
  return json;
}

}  // namespace

Json BacktestRowsToJson(const std::vector<BacktestRow>& rows) {
  Json json = Json::array();
  for (const BacktestRow& row : rows) json.push_back(RowToJson(row));
  return json;
}

std::vector<BacktestRow> BacktestRowsFromJson(const Json& json) {
  std::vector<BacktestRow> rows;
  for (const Json& row : json) rows.push_back(RowFromJson(row));
  return rows;
}

std::string WriteBacktestJson(const std::vector<BacktestRow>& rows,
                              const std::optional<BacktestComparison>& comparison) {
  Json json = {{"format", "farscale-backtest"},
               {"version", kBacktestVersion},
               {"generator", Generator()},
               {"rows", BacktestRowsToJson(rows)},
               {"summary", ToJson(ErrorsByRatio(rows))}};
  if (comparison) {
    json["comparison"] = {{"against", comparison->against},
                          {"summary", ToJson(comparison->errors)},
                          {"summaryAgainst", ToJson(comparison->errors_against)}};
  }
  return json.dump(2) + "\n";
}

}  // namespace farscale
