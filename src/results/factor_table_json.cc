#include "results/factor_table_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "base/version.h"

namespace farscale {
namespace {

using Json = nlohmann::ordered_json;

Json ErrorsToJson(const RelativeErrors& errors) {
  Json json = {{"elapsed", errors.elapsed}, {"useful", errors.useful}};
  if (errors.instructions) json["instructions"] = *errors.instructions;
  if (errors.ipc) json["ipc"] = *errors.ipc;
  if (errors.frequency) json["frequency"] = *errors.frequency;
  return json;
}

Json TotalsToJson(const PhaseTotals& totals) {
  Json json = {{"elapsed", totals.elapsed}};
  if (totals.ideal_elapsed > 0) json["idealElapsed"] = totals.ideal_elapsed;
  json["usefulAverage"] = totals.average_useful;
  json["usefulLargest"] = totals.largest_useful;
  json["usefulTotal"] = totals.total_useful;
  json["mpiTotal"] = totals.total_mpi;
  json["nodeLoadLargest"] = totals.largest_node_load;
  if (totals.total_paused > 0) json["pausedTotal"] = totals.total_paused;
  if (totals.largest_computation > totals.largest_useful) json["computationLargest"] = totals.largest_computation;
  if (totals.instructions) json["instructions"] = *totals.instructions;
  if (totals.cycles) json["cycles"] = *totals.cycles;
  if (totals.estimated_ideal) json["idealElapsedEstimate"] = *totals.estimated_ideal;
  if (totals.errors) json["relativeErrors"] = ErrorsToJson(*totals.errors);
  return json;
}

std::optional<double> OptionalNumber(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found == json.end() || found->is_null() ? std::nullopt : std::optional(found->get<double>());
}

RelativeErrors ErrorsFromJson(const Json& json) {
  RelativeErrors errors;
  errors.elapsed = json.at("elapsed").get<double>();
  errors.useful = json.at("useful").get<double>();
  errors.instructions = OptionalNumber(json, "instructions");
  errors.ipc = OptionalNumber(json, "ipc");
  errors.frequency = OptionalNumber(json, "frequency");
  return errors;
}

PhaseTotals TotalsFromJson(const Json& json) {
  PhaseTotals totals;
  totals.elapsed = json.at("elapsed").get<double>();
  totals.ideal_elapsed = OptionalNumber(json, "idealElapsed").value_or(0);
  totals.average_useful = json.at("usefulAverage").get<double>();
  totals.largest_useful = json.at("usefulLargest").get<double>();
  totals.total_useful = json.at("usefulTotal").get<double>();
  totals.total_mpi = json.at("mpiTotal").get<double>();
  totals.largest_node_load = json.at("nodeLoadLargest").get<double>();
  totals.total_paused = OptionalNumber(json, "pausedTotal").value_or(0);
  totals.largest_computation = OptionalNumber(json, "computationLargest").value_or(totals.largest_useful);
  totals.instructions = OptionalNumber(json, "instructions");
  totals.cycles = OptionalNumber(json, "cycles");
  totals.estimated_ideal = OptionalNumber(json, "idealElapsedEstimate");
  if (json.contains("relativeErrors")) totals.errors = ErrorsFromJson(json.at("relativeErrors"));
  return totals;
}

Json ValuesToJson(const FactorValues& values) {
  Json json = Json::object();
  for (const FactorType& type : AllFactors()) {
    if (values[type.factor]) json[std::string(type.id)] = *values[type.factor];
  }
  return json;
}

Json RowToJson(const FactorRow& row) {
  Json json = {{"series", row.series}};
  AddPhase(row.phase, json);
  json.update({{"cores", row.cores},
               {"ranks", row.ranks},
               {"threads", row.threads},
               {"repeat", row.repeat},
               {"iterations", row.iterations}});
  if (row.nodes) json["nodes"] = *row.nodes;
  if (row.runtime) json["runtime"] = *row.runtime;
  if (row.span) json["span"] = ToString(*row.span);
  if (row.totals) json["totals"] = TotalsToJson(*row.totals);
  if (row.unknown_waits) {
    json["waitsUnknown"] = {{"calls", row.unknown_waits->calls}, {"example", row.unknown_waits->example}};
  }
  if (row.runtime_error) json["runtimeError"] = *row.runtime_error;
  json["factors"] = ValuesToJson(row.values);
  if (row.standard_errors != FactorValues()) json["standardErrors"] = ValuesToJson(row.standard_errors);
  return json;
}

FactorValues ValuesFromJson(const Json& json, const std::string& where, bool may_be_zero) {
  FactorValues values;
  for (const auto& [id, value] : json.items()) {
    const std::optional<Factor> factor = FactorById(id);
    if (!factor) {
      throw Error(ErrorKind::kInput, where, "unknown factor '" + id + "'", DidYouMean(id, FactorIds()));
    }
    const double number = value.get<double>();
    if (!(number > 0 || (number == 0 && may_be_zero))) {
      throw Error(ErrorKind::kInput, where, id + (may_be_zero ? " has a negative error" : " must be positive"));
    }
    values[*factor] = number;
  }
  return values;
}

UnknownWaits WaitsFromJson(const Json& json, const std::string& where) {
  UnknownWaits waits;
  waits.calls = json.at("calls").get<std::uint64_t>();
  waits.example = json.at("example").get<std::string>();
  if (waits.calls == 0)
    throw Error(ErrorKind::kInput, where, "waitsUnknown has no calls", "leave it out where waits are known");
  return waits;
}

FactorRow RowFromJson(const Json& json, const std::string& where) {
  FactorRow row;
  row.series = json.value("series", "");
  row.phase = PhaseFromJson(json);
  CheckGroupName(where, row.phase.group);
  row.cores = json.at("cores").get<std::int64_t>();
  row.threads = json.value("threads", std::int64_t{1});
  if (row.cores < 1 || row.threads < 1) throw Error(ErrorKind::kInput, where, "cores and threads must be positive");
  row.ranks = json.value("ranks", std::max<std::int64_t>(1, row.cores / row.threads));
  row.repeat = json.value("repeat", std::int64_t{0});
  row.iterations = json.value("iterations", 1.0);
  if (!(row.iterations > 0)) throw Error(ErrorKind::kInput, where, "iterations must be positive");
  if (json.contains("nodes")) row.nodes = json.at("nodes").get<std::int64_t>();
  row.runtime = OptionalNumber(json, "runtime");
  if (json.contains("span")) row.span = json.at("span").get<std::string>() == "each" ? Span::kEach : Span::kWhole;
  if (json.contains("totals")) row.totals = TotalsFromJson(json.at("totals"));
  if (json.contains("waitsUnknown")) row.unknown_waits = WaitsFromJson(json.at("waitsUnknown"), where);
  row.values = ValuesFromJson(json.at("factors"), where, false);
  row.runtime_error = OptionalNumber(json, "runtimeError");
  if (json.contains("standardErrors")) row.standard_errors = ValuesFromJson(json.at("standardErrors"), where, true);
  return row;
}

}  // namespace

void AddPhase(const PhaseId& phase, Json& json) {
  json["phase"] = phase.name;
  if (phase.IsGroup()) json["group"] = phase.group;
}

PhaseId PhaseFromJson(const Json& json) { return {json.value("phase", ""), json.value("group", "")}; }

Json FindingsToJson(const std::vector<Finding>& findings) {
  Json list = Json::array();
  for (const Finding& finding : findings) {
    Json json = {{"id", finding.id},
                 {"severity", finding.severity == Severity::kWarning ? "warning" : "note"},
                 {"count", finding.count}};
    if (finding.population > 0) json["of"] = finding.population;
    json["sentence"] = finding.sentence;
    if (!finding.example.empty()) json["example"] = finding.example;
    list.push_back(json);
  }
  return list;
}

std::vector<Finding> FindingsFromJson(const Json& json) {
  std::vector<Finding> findings;
  for (const Json& one : json) {
    findings.push_back({one.at("id").get<std::string>(),
                        one.at("severity").get<std::string>() == "warning" ? Severity::kWarning : Severity::kNote,
                        one.at("sentence").get<std::string>(), one.at("count").get<std::uint64_t>(),
                        one.value("of", std::uint64_t{0}), one.value("example", std::string())});
  }
  return findings;
}

Json FactorTableToJson(const FactorTable& table) {
  Json json = {{"format", "farscale-factors"}, {"version", kFactorTableVersion}, {"generator", Generator()}};
  if (table.scaling) json["scaling"] = ToString(*table.scaling);
  if (!table.scaling_source.empty()) json["scalingSource"] = table.scaling_source;
  if (table.reference) json["reference"] = *table.reference;
  if (!table.rules.empty()) json["rules"] = table.rules;
  json["rows"] = Json::array();
  for (const FactorRow& row : table.rows) json["rows"].push_back(RowToJson(row));
  json["diagnostics"] = FindingsToJson(table.findings);
  return json;
}

FactorTable FactorTableFromJson(const Json& json, const std::string& file) {
  FactorTable table;
  std::size_t number = 0;
  try {
    if (json.at("format").get<std::string>() != "farscale-factors") {
      throw Error(ErrorKind::kInput, file, "is not a factor table of farscale",
                  "farscale factors -o factors.json writes one");
    }
    const int version = json.at("version").get<int>();
    if (version < 1 || version > kFactorTableVersion) {
      throw Error(
          ErrorKind::kInput, file,
          fmt::format("has version {} of the factor table, this program reads 1 to {}", version, kFactorTableVersion));
    }
    if (json.contains("scaling")) {
      table.scaling = ScalingByName(json.at("scaling").get<std::string>());
      if (!table.scaling) throw Error(ErrorKind::kInput, file, "scaling must be strong or weak");
    }
    table.scaling_source = json.value("scalingSource", "file");
    if (json.contains("reference")) table.reference = json.at("reference").get<std::int64_t>();
    table.rules = json.value("rules", "");
    if (json.contains("diagnostics")) table.findings = FindingsFromJson(json.at("diagnostics"));
    for (const Json& row : json.at("rows")) {
      table.rows.push_back(RowFromJson(row, fmt::format("{}, row {}", file, ++number)));
    }
    if (version < 2) FindGroupsInOldTexts(table);
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorKind::kInput, number > 0 ? fmt::format("{}, row {}", file, number) : file,
                std::string("is not a factor table: ") + error.what());
  }
  if (table.rows.empty()) throw Error(ErrorKind::kInput, file, "the table has no rows");
  return table;
}

std::string WriteFactorJson(const FactorTable& table) { return FactorTableToJson(table).dump(2) + "\n"; }

FactorTable ReadFactorJson(const std::string& text, const std::string& file) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorKind::kInput, file, std::string("is not valid JSON: ") + error.what());
  }
  return FactorTableFromJson(json, file);
}

}  // namespace farscale
