#include "report/balance_json.h"

#include <nlohmann/json.hpp>

#include "base/version.h"

namespace farscale {
namespace {

using Json = nlohmann::ordered_json;

Json ToJson(const BalanceConfiguration& configuration) {
  return {{"run", configuration.run},
          {"tasks", configuration.tasks},
          {"processors", configuration.processors},
          {"level", configuration.level()},
          {"strategy", configuration.strategy},
          {"interval", configuration.interval},
          {"placement", ToString(configuration.placement)}};
}

Json ToJson(const Gain& gain) { return {{"value", gain.value}, {"interval80", {gain.low, gain.high}}}; }

Json ToJson(const BalanceOutcome& outcome) {
  const MakespanParts& parts = outcome.parts;
  Json json = {{"configuration", ToJson(outcome.configuration)},
               {"makespan", outcome.makespan},
               {"parts",
                {{"computation", parts.computation},
                 {"imbalance", parts.imbalance},
                 {"barriers", parts.barriers},
                 {"strategy", parts.strategy},
                 {"migration", parts.migration},
                 {"communication", parts.communication}}},
               {"loadBalance", outcome.load_balance},
               {"parallelEfficiency", outcome.parallel_efficiency},
               {"balancingPoints", outcome.balancing_points},
               {"migrations", outcome.migrations},
               {"migratedBytes", outcome.migrated_bytes},
               {"messagesBetweenProcessors", outcome.messages_between_processors},
               {"replicas", outcome.replicas},
               {"baseline", outcome.baseline},
               {"gain", ToJson(outcome.gain)}};
  if (outcome.gain_over_original) json["gainOverOriginal"] = ToJson(*outcome.gain_over_original);
  return json;
}

Json ToJson(const LoadHistory& history) {
  Json rows = Json::array();
  for (std::size_t row = 0; row < history.rows; ++row) {
    const auto first = history.load.begin() + static_cast<std::ptrdiff_t>(row * history.columns);
    rows.push_back(std::vector<double>(first, first + static_cast<std::ptrdiff_t>(history.columns)));
  }
  return {{"outcome", history.outcome},
          {"processors", history.processors},
          {"iterations", history.iterations},
          {"load", std::move(rows)},
          {"time", history.time},
          {"averageLoad", history.average_load}};
}

Json ToJson(const NodeMapping& mapping) {
  return {{"run", mapping.run},
          {"placement", ToString(mapping.placement)},
          {"nodes", mapping.nodes},
          {"loadBalanceWithin", mapping.load_balance_in},
          {"loadBalanceBetween", mapping.load_balance_out},
          {"remoteShare", mapping.remote_share},
          {"makespan", mapping.makespan},
          {"gain", ToJson(mapping.gain)}};
}

Json ToJson(const StateCost& cost) {
  return {{"factor", cost.factor}, {"makespan", cost.makespan}, {"gain", cost.gain.value}};
}

Json ToJson(const BalanceRun& run) {
  Json json = {{"path", run.path},
               {"ranks", run.ranks},
               {"nodes", run.nodes},
               {"ranksPerNode", run.ranks_per_node},
               {"iterations", run.iterations},
               {"measured", run.measured},
               {"replayed", run.replayed},
               {"loadBalance", run.load_balance},
               {"taskBytes", run.task_bytes}};
  if (run.heaviest_task > 0) json["heaviestTask"] = run.heaviest_task;
  return json;
}

Json ToJson(const LeftOut& one) { return {{"configuration", ToJson(one.configuration)}, {"why", one.why}}; }

Json ToJson(const Finding& finding) {
  Json json = {{"id", finding.id},
               {"severity", finding.severity == Severity::kWarning ? "warning" : "note"},
               {"sentence", finding.sentence},
               {"count", finding.count}};
  if (finding.population > 0) json["population"] = finding.population;
  if (!finding.example.empty()) json["example"] = finding.example;
  return json;
}

template <typename Value>
Json ListOf(const std::vector<Value>& values) {
  Json list = Json::array();
  for (const Value& value : values) list.push_back(ToJson(value));
  return list;
}

}  // namespace

std::string WriteWhatIfJson(const WhatIf& what_if) {
  const Json json = {{"format", "farscale-balance"},
                     {"version", 1},
                     {"generator", Generator()},
                     {"title", what_if.title},
                     {"phase", what_if.phase},
                     {"sameProblem", what_if.same_problem},
                     {"network", what_if.network},
                     {"computation", what_if.computation},
                     {"taskBytesSource", what_if.task_bytes_source},
                     {"predictor", what_if.predictor},
                     {"costModel", what_if.cost_model},
                     {"noiseReplicas", what_if.noise_replicas},
                     {"runs", ListOf(what_if.runs)},
                     {"outcomes", ListOf(what_if.outcomes)},
                     {"byTime", what_if.by_time},
                     {"byRobustness", what_if.by_robustness},
                     {"histories", ListOf(what_if.histories)},
                     {"stateCosts", ListOf(what_if.state_costs)},
                     {"mappings", ListOf(what_if.mappings)},
                     {"leftOut", ListOf(what_if.left_out)},
                     {"findings", ListOf(what_if.findings)}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace farscale
