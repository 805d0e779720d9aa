#include "planning/balance_json.h"

#include <map>
#include <nlohmann/json.hpp>

#include "base/version.h"
#include "planning/balance_cases.h"

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
  if (outcome.later_iteration) json["laterIteration"] = *outcome.later_iteration;
  if (outcome.later_iteration_without) json["laterIterationWithout"] = *outcome.later_iteration_without;
  if (outcome.long_run_iteration) json["longRunIteration"] = *outcome.long_run_iteration;
  if (!outcome.long_run_replicas.empty()) json["longRunReplicas"] = outcome.long_run_replicas;
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
  if (run.load_change) json["loadChange"] = *run.load_change;
  return json;
}

// What a case is told by, and what that is compared with.
Json CasesToJson(const WhatIf& what_if) {
  Json list = Json::array();
  for (const BalanceCase& one : CasesOf(what_if)) {
    Json json = {{"processors", one.processors}};
    if (one.run) json["run"] = *one.run;
    if (one.lead) {
      const BalanceOutcome& lead = what_if.outcomes[*one.lead];
      json["lead"] = *one.lead;
      json["reference"] = ReferenceOf(what_if, one, lead);
      json["gain"] = ToJson(GainOverTrace(what_if, one, lead));
      json["gainInLongRun"] = ToJson(GainThatCounts(what_if, one, lead));
    }
    list.push_back(std::move(json));
  }
  return list;
}

Json ToJson(const BalancedValue& value) {
  Json json = {{"value", value.value}, {"isReplayed", value.is_replayed}, {"isEvidence", value.is_reliable}};
  if (value.interval80) json["interval80"] = {value.interval80->low, value.interval80->high};
  return json;
}

// Of one way to run: by phase and processors, with both factors where they are known.
Json TargetsToJson(const std::vector<BalancedFactor>& tables, std::size_t way) {
  Json targets = Json::array();
  for (std::size_t first = 0; first < tables.size();) {
    std::map<double, Json> rows;
    const BalancedFactor& phase = tables[first];
    for (; first < tables.size() && tables[first].series == phase.series && tables[first].phase == phase.phase; ++first) {
      for (const BalancedFactor::Row& row : tables[first].rows) {
        if (!row.ways[way]) continue;
        Json& json = rows.try_emplace(row.cores, Json{{"phase", phase.phase.Text()}, {"cores", row.cores}}).first->second;
        if (!phase.series.empty()) json["series"] = phase.series;
        json[std::string(Describe(tables[first].factor).id)] = ToJson(*row.ways[way]);
      }
    }
    for (auto& [cores, row] : rows) targets.push_back(std::move(row));
  }
  return targets;
}

Json ProjectionsToJson(const std::vector<BalancedProjection>& projections) {
  Json list = Json::array();
  const std::vector<BalancedFactor> tables = TabulateBalanced(projections);
  for (std::size_t way = 0; way < projections.size() && projections.size() > 1; ++way) {
    list.push_back({{"label", projections[way].label}, {"targets", TargetsToJson(tables, way)}});
  }
  return list;
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

std::string WriteWhatIfJson(const WhatIf& what_if, const std::vector<BalancedProjection>& projections) {
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
                     {"cases", CasesToJson(what_if)},
                     {"byTime", what_if.by_time},
                     {"byRobustness", what_if.by_robustness},
                     {"histories", ListOf(what_if.histories)},
                     {"stateCosts", ListOf(what_if.state_costs)},
                     {"projections", ProjectionsToJson(projections)},
                     {"mappings", ListOf(what_if.mappings)},
                     {"leftOut", ListOf(what_if.left_out)},
                     {"findings", ListOf(what_if.findings)}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace farscale
