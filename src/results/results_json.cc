#include "results/results_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "base/version.h"
#include "results/factor_table_json.h"
#include "results/measured_run_json.h"
#include "factors/scaling.h"
#include "results/talp_json.h"
#include "results/backtest_json.h"
#include "results/projection_json.h"
#include "results/losses_json.h"
#include "results/timeline_json.h"

namespace farscale {
namespace {

using Json = nlohmann::ordered_json;

std::optional<double> OptionalNumber(const Json& json, const char* key) {
  return json.contains(key) ? std::optional(json.at(key).get<double>()) : std::nullopt;
}

Json ProblemToJson(const ProblemCase& problem) {
  Json json = Json::object();
  if (problem.size) json["size"] = *problem.size;
  if (problem.size_per_process) json["sizePerProcess"] = *problem.size_per_process;
  if (!problem.unit.empty()) json["unit"] = problem.unit;
  if (problem.iterations) json["iterations"] = *problem.iterations;
  return json;
}

ProblemCase ProblemFromJson(const Json& json) {
  return {OptionalNumber(json, "size"), OptionalNumber(json, "sizePerProcess"), json.value("unit", ""),
          OptionalNumber(json, "iterations")};
}

Json RunToJson(const RunRecord& run) {
  Json json = {{"path", run.path}};
  if (!run.error.empty()) {
    json["error"] = run.error;
    return json;
  }
  json.update({{"program", run.program},
               {"format", run.format},
               {"creator", run.creator},
               {"sha256", run.fingerprint},
               {"bytes", run.bytes},
               {"events", run.events},
               {"seconds", run.seconds},
               {"cores", run.cores},
               {"ranks", run.ranks},
               {"threads", run.threads},
               {"nodes", run.nodes},
               {"repeat", run.repeat},
               {"coverage", run.coverage},
               {"diagnostics", FindingsToJson(run.findings)}});
  if (run.size) json["size"] = *run.size;
  if (!run.phases.empty()) json["phases"] = MarksToJson(run.phases);
  if (run.picture) json["picture"] = PictureToJson(*run.picture);
  return json;
}

RunRecord RunFromJson(const Json& json, const std::string& file) {
  RunRecord run;
  run.path = json.at("path").get<std::string>();
  run.error = json.value("error", "");
  if (!run.error.empty()) return run;
  run.program = json.at("program").get<std::string>();
  run.format = json.at("format").get<std::string>();
  run.creator = json.at("creator").get<std::string>();
  run.fingerprint = json.at("sha256").get<std::string>();
  run.bytes = json.at("bytes").get<std::uint64_t>();
  run.events = json.at("events").get<std::uint64_t>();
  run.seconds = json.at("seconds").get<double>();
  run.cores = json.at("cores").get<std::int64_t>();
  run.ranks = json.at("ranks").get<std::int64_t>();
  run.threads = json.at("threads").get<std::int64_t>();
  run.nodes = json.at("nodes").get<std::int64_t>();
  run.repeat = json.at("repeat").get<std::int64_t>();
  run.coverage = json.at("coverage").get<double>();
  run.size = OptionalNumber(json, "size");
  run.findings = FindingsFromJson(json.at("diagnostics"));
  if (json.contains("phases")) run.phases = MarksFromJson(json.at("phases"), file);
  if (json.contains("picture")) run.picture = PictureFromJson(json.at("picture"), file);
  return run;
}

Json VariantToJson(const Variant& variant) {
  return {{"id", variant.id},
          {"name", variant.name},
          {"description", variant.description},
          {"isNoise", variant.is_noise},
          {"factors", FactorTableToJson(variant.table)},
          {"projections", ProjectionsToJson(variant.projections)}};
}

Variant VariantFromJson(const Json& json, const std::string& file) {
  return {json.at("id").get<std::string>(),
          json.at("name").get<std::string>(),
          json.at("description").get<std::string>(),
          json.at("isNoise").get<bool>(),
          FactorTableFromJson(json.at("factors"), file),
          ProjectionsFromJson(json.at("projections"))};
}

Json Parse(const std::string& text, const std::string& file) {
  try {
    return Json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorKind::kInput, file, std::string("is not valid JSON: ") + error.what());
  }
}

// The text under "format", or "" for anything else.
std::string FormatOf(const Json& json) {
  if (!json.is_object() || !json.contains("format") || !json.at("format").is_string()) return "";
  return json.at("format").get<std::string>();
}

[[noreturn]] void RefuseTable(const std::string& file, const std::string& what = "is a factor table") {
  throw Error(ErrorKind::kInput, file, what + ", not the results of farscale run",
              "farscale predict TABLE --report DIR projects it and writes a report, farscale report TABLE --form "
              "allocation an application for computing time");
}

// Tables as CSV are told by their heading, so that nobody who passes one is told about JSON.
void RequireNoTable(std::string_view text, const std::string& file) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = Trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    if (line.front() != '{' && line.find(',') != std::string_view::npos) RefuseTable(file);
    return;
  }
}

// In results before version 2 groups of ranks are in the texts of their phases; which texts, the table knows, because
// it knows their ranks. A phase with the same text as a group leaves it open which of them the others are about.
void FindGroupsInOldTexts(Results& results, const std::string& file) {
  std::set<PhaseId> known;
  for (const FactorRow& row : results.table.rows) known.insert(row.phase);
  for (const PhaseId& id : known) {
    const std::optional<PhaseId> group = GroupInOldText(id.name);
    if (!group || known.count(*group) == 0) continue;
    throw Error(ErrorKind::kInput, file,
                fmt::format("'{}' is a phase and a group of ranks in it, which old results do not tell apart", id.name),
                "make the results anew from the traces");
  }
  const auto find = [&](PhaseId& id) {
    const std::optional<PhaseId> group = GroupInOldText(id.name);
    if (group && known.count(*group) > 0) id = *group;
  };
  for (PhaseRecord& phase : results.phases) find(phase.id);
  for (PhaseProjection& projection : results.projections) find(projection.phase);
  for (BacktestRow& row : results.backtest) find(row.phase);
  for (Variant& variant : results.variants) {
    for (PhaseProjection& projection : variant.projections) find(projection.phase);
  }
}

}  // namespace

std::string WriteResultsJson(const Results& results) {
  Json json = {{"format", "farscale-results"}, {"version", kResultsVersion}, {"generator", Generator()}};
  json["study"] = {{"title", results.title}, {"description", results.description}, {"models", results.models}};
  if (results.problem.IsKnown()) json["study"]["case"] = ProblemToJson(results.problem);
  json["runs"] = Json::array();
  for (const RunRecord& run : results.runs) json["runs"].push_back(RunToJson(run));
  json["phases"] = Json::array();
  for (const PhaseRecord& phase : results.phases) {
    Json one = {{"name", phase.id.name}};
    if (phase.id.IsGroup()) one["group"] = phase.id.group;
    one["description"] = phase.description;
    json["phases"].push_back(one);
  }
  json["factors"] = FactorTableToJson(results.table);
  json["projections"] = ProjectionsToJson(results.projections);
  if (!results.backtest.empty()) json["backtest"] = BacktestRowsToJson(results.backtest);
  if (!results.losses.empty()) {
    json["losses"] = Json::array();
    for (const LossRecord& losses : results.losses) json["losses"].push_back(LossesToJson(losses));
    json["lossProjections"] = LossProjectionsToJson(results.loss_projections);
  }
  if (!results.variants.empty()) {
    json["comparison"] = results.comparison == Comparison::kNoise ? "noise" : "what-if";
    json["variants"] = Json::array();
    for (const Variant& variant : results.variants) json["variants"].push_back(VariantToJson(variant));
  }
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Results ReadResultsJsonUnchecked(const std::string& text, const std::string& file) {
  RequireNoTable(text, file);
  const Json json = Parse(text, file);
  if (FormatOf(json) == "farscale-factors") RefuseTable(file);
  if (FormatOf(json) == kMeasuredRunFormat) RefuseTable(file, "is what farscale measure found of a run");
  if (IsTalpJson(json)) RefuseTable(file, "is what TALP found of a run");
  if (FormatOf(json) != "farscale-results") {
    throw Error(ErrorKind::kInput, file, "is not a results file of farscale",
                "farscale run writes results.json into the report folder");
  }
  Results results;
  try {
    const int version = json.at("version").get<int>();
    if (version < 1 || version > kResultsVersion) {
      throw Error(ErrorKind::kInput, file,
                  fmt::format("has version {} of the results, this program reads 1 to {}", version, kResultsVersion));
    }
    results.title = json.at("study").at("title").get<std::string>();
    results.description = json.at("study").at("description").get<std::string>();
    results.models = json.at("study").at("models").get<std::string>();
    if (json.at("study").contains("case")) results.problem = ProblemFromJson(json.at("study").at("case"));
    for (const Json& run : json.at("runs")) results.runs.push_back(RunFromJson(run, file));
    for (const Json& phase : json.at("phases")) {
      results.phases.push_back({{phase.at("name").get<std::string>(), phase.value("group", "")},
                                phase.at("description").get<std::string>()});
    }
    results.table = FactorTableFromJson(json.at("factors"), file);
    results.projections = ProjectionsFromJson(json.at("projections"));
    if (json.contains("backtest")) results.backtest = BacktestRowsFromJson(json.at("backtest"));
    for (const Json& losses : json.value("losses", Json::array()))
      results.losses.push_back(LossesFromJson(losses, file));
    if (json.contains("lossProjections")) {
      results.loss_projections = LossProjectionsFromJson(json.at("lossProjections"), file);
    }
    if (json.value("comparison", "noise") == "what-if") results.comparison = Comparison::kWhatIf;
    for (const Json& variant : json.value("variants", Json::array())) {
      results.variants.push_back(VariantFromJson(variant, file));
    }
    if (version < 2) FindGroupsInOldTexts(results, file);
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorKind::kInput, file, std::string("is damaged: ") + error.what());
  }
  return results;
}

Results ReadResultsJson(const std::string& text, const std::string& file) {
  Results results = ReadResultsJsonUnchecked(text, file);
  CheckScaling(results.table, file + ": " + SourceOfStoredScaling(results.table));
  return results;
}

bool IsResultsJson(const std::string& text) {
  return FormatOf(Json::parse(text, nullptr, false)) == "farscale-results";
}

std::string FormatOfResults(const std::string& text, const std::string& file) {
  constexpr const char* kAdvice = "farscale run and farscale factors -o factors.json write results";
  const std::string_view trimmed = Trim(text);
  if (trimmed.empty()) throw Error(ErrorKind::kInput, file, "is empty", kAdvice);
  const bool is_json = file.ends_with(".json") || trimmed.front() == '{' || trimmed.front() == '[';
  if (!is_json) return "";
  const Json json = Parse(text, file);
  if (!json.is_object()) {
    throw Error(
        ErrorKind::kInput, file,
        fmt::format("holds JSON, but {} and no results of farscale", json.is_array() ? "a list" : "a single value"),
        kAdvice);
  }
  const std::string format = FormatOf(json);
  if (!format.empty()) return format;
  if (IsTalpJson(json)) return std::string(kTalpFormat);
  throw Error(ErrorKind::kInput, file, "holds JSON, but no results of farscale: it has no \"format\"", kAdvice);
}

FactorTable ReadTableFromJson(const std::string& text, const std::string& file) {
  const Json json = Parse(text, file);
  if (FormatOf(json) == "farscale-results") {
    FactorTable table = ReadResultsJson(text, file).table;
    AddFindingsOfRows(table);
    return table;
  }
  if (IsTalpJson(json)) return TableOfTalpFiles({{text, file}});
  if (FormatOf(json) == kMeasuredRunFormat) return TableOfMeasuredRuns({{text, file}});
  if (FormatOf(json) != "farscale-factors") {
    const std::string other = FormatOf(json).empty() ? "" : ", its format is " + FormatOf(json);
    throw Error(ErrorKind::kInput, file, "is not a factor table of farscale" + other,
                "farscale factors -o factors.json writes one");
  }
  FactorTable table = FactorTableFromJson(json, file);
  AddFindingsOfRows(table);
  return table;
}

}  // namespace farscale
