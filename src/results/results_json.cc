#include "results/results_json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "base/files.h"
#include "base/text.h"
#include "factors/scaling.h"
#include "factors/factor_table.h"
#include "results/factor_table_files.h"
#include "results/json_fields.h"

namespace farscale {
namespace {

using Json = OrderedJson;
using fields_internal::ParseJson;

// The text under "format", or "" for anything else.
std::string FormatName(const Json& json) {
  if (!json.is_object() || !json.contains("format") || !json.at("format").is_string()) return "";
  return json.at("format").get<std::string>();
}

[[noreturn]] void RefuseTable(const std::string& file, const std::string& what = "is a factor table") {
  throw Error(ErrorKind::kInput, file, what + ", not the results of farscale run",
              "farscale predict TABLE --report DIR projects it and writes a report, farscale report TABLE --form "
              "allocation an application for computing time");
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

Fields<ProblemCase> FieldsOf(Described<ProblemCase>) {
  using T = ProblemCase;
  return {"",
          "What is computed, where the study says so",
          {
              Property<&T::size>("Of the problem in total, of every run").Above(0),
              Property<&T::size_per_process>("Of the problem, of every run").Above(0),
              Property<&T::unit>("Of sizes, such as atoms").UnlessDefault(),
              Property<&T::iterations>("Planned for production").Above(0),
          }};
}

template <>
Form<RunRecord> FormOf<RunRecord>() {
  using T = RunRecord;
  const auto failed = Fields<T>{"results/failedRun",
                                {
                                    Property<&T::path>(),
                                    Property<&T::error>("Why this run could not be used"),
                                }};
  const auto run = Fields<T>{
      "results/run",
      {
          Property<&T::path>("As the study says, relative to the folder farscale ran in"),
          Properties<&T::program, &T::format>(),
          Property<&T::creator>("Tool that wrote the trace"),
          Field("sha256", &T::fingerprint, "Over the SHA-256 of every file of the trace")
              .Schema(R"({"pattern": "^[0-9a-f]{64}$"})")
              .RequiredWhen([](const T& record) { return !record.grown_from; }),
          Properties<&T::bytes, &T::events>(),
          Property<&T::seconds>("From the first to the last event").AtLeast(0),
          Properties<&T::cores, &T::ranks, &T::threads, &T::nodes>().AtLeast(1),
          Property<&T::repeat>().AtLeast(0),
          Property<&T::coverage>("Share of the run's time that lies in a phase").AtLeast(0),
          Field("diagnostics", &T::findings),
          Property<&T::size>("Of the problem of this run in total, where the study says so of the run").Above(0),
          Property<&T::grown_from>(
              "Where nobody has made the run: cores of the largest run that it is grown from. Absent: measured")
              .AtLeast(1),
          Property<&T::phases>("Where the phases lie in the run").UnlessDefault(),
          Property<&T::picture>(),
      }};
  static const auto form = Either<T>("error", failed, run, [](const T& record) { return !record.error.empty(); });
  return form;
}

Fields<PhaseRecord> FieldsOf(Described<PhaseRecord>) {
  using T = PhaseRecord;
  return {
      Embed(&T::id, Fields<PhaseId>{Property<&PhaseId::name>(),
                                    Property<&PhaseId::group>("Group of the ranks of the phase; absent: all ranks")
                                        .NotEmpty()
                                        .UnlessDefault()}),
      Property<&T::description>(),
  };
}

Fields<Variant> FieldsOf(Described<Variant>) {
  using T = Variant;
  return {"results/variant",
          "The runs of the study on another machine",
          {
              Properties<&T::id, &T::name, &T::description>(),
              Property<&T::is_noise>("Whether its gain over the measurement is noise"),
              Embed(&T::terms,
                    Fields<OfferTerms>{Property<&OfferTerms::cores_per_node>("Of an offered machine").UnlessDefault(),
                                       Property<&OfferTerms::price_per_node_hour>().UnlessDefault(),
                                       Property<&OfferTerms::currency>("Of the price").UnlessDefault()}),
              Field("factors", &T::table),
              Property<&T::projections>(),
          }};
}

Fields<Results> FieldsOf(Described<Results>) {
  using T = Results;
  const auto has_losses = [](const T& results) { return !results.losses.empty(); };
  const auto has_variants = [](const T& results) { return !results.variants.empty(); };
  const auto purpose =
      Via<bool, std::string>([](bool is_what_if) { return is_what_if ? "what-if" : "noise"; },
                             [](const std::string& text) { return text == "what-if"; }, OneOf({"noise", "what-if"}));
  return Fields<T>{
      "results",
      {
          Group("study",
                Fields<T>{
                    Properties<&T::title, &T::description>(),
                    Property<&T::models>("How models were chosen"),
                    Field("case", &T::problem).When([](const T& results) { return results.problem.IsKnown(); }),
                }),
          Properties<&T::runs, &T::phases>(),
          Field("factors", &T::table),
          Property<&T::projections>(),
          Property<&T::splits>("Of the targets into processes and threads; absent: no runs vary both").UnlessDefault(),
          Property<&T::backtest>("The largest runs as predicted from the others; absent: no phase has four core counts")
              .UnlessDefault(),
          Property<&T::losses>("Where time is lost in the largest run of every phase, as much as a report shows")
              .When(has_losses),
          Property<&T::loss_projections>().When(has_losses),
          Property<&T::grown_runs>(
              "Runs that nobody has made, grown from those of the study: of every phase that was grown the largest, "
              "which holds that phase alone")
              .UnlessDefault(),
          Property<&T::grown_losses>("Where time is lost in the grown runs").When([](const T& results) {
            return !results.grown_losses.empty();
          }),
          Field("comparison", &T::is_what_if, purpose, "What the variants are for").When(has_variants),
          Property<&T::variants>().When(has_variants),
      }}
      .File("farscale-results", 1, kResultsVersion, "results",
            "1: groups of ranks are in the text of the phase, \"iteration / pme\"")
      .WithChecksum()
      .After([](T& results, int version, const JsonPlace& at) {
        if (version < 2) FindGroupsInOldTexts(results, std::string(at.File()));
      });
}

OrderedJson ResultsSchema() { return SchemaOf<Results>("Results of a farscale study"); }

std::string WriteResultsJson(const Results& results) {
  return JsonOf(results).dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Results ReadResultsJsonUnchecked(const std::string& text, const std::string& file) {
  // CSV tables are recognized by their heading, so that their errors do not mention JSON.
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = Trim(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.empty() || line.front() == '#') continue;
    if (line.front() != '{' && line.find_first_of(", \t") != std::string_view::npos) RefuseTable(file);
    break;
  }
  const Json json = ParseJson(text, file);
  if (FormatName(json) == "farscale-factors") RefuseTable(file);
  if (FormatName(json) == kMeasuredRunFormat) RefuseTable(file, "is what farscale measure found of a run");
  if (IsTalpJson(json)) RefuseTable(file, "is what TALP found of a run");
  if (IsHyperfineJson(json)) RefuseTable(file, "is what hyperfine measured");
  if (FormatName(json) != "farscale-results") {
    throw Error(ErrorKind::kInput, file, "is not a results file of farscale",
                "farscale run writes results.json into the report folder");
  }
  auto results = FromJson<Results>(json, file);
  CheckChecksum(json, file, results.table.findings);
  CheckTable(results.table);
  for (Variant& variant : results.variants) CheckTable(variant.table);
  return results;
}

Results ReadResultsJson(const std::string& text, const std::string& file) {
  Results results = ReadResultsJsonUnchecked(text, file);
  CheckScaling(results.table, file + ": " + SourceOfStoredScaling(results.table));
  return results;
}

bool IsResultsJson(const std::string& text) {
  return FormatName(Json::parse(text, nullptr, false)) == "farscale-results";
}

std::string FormatOfResults(const std::string& text, const std::string& file) {
  constexpr const char* kAdvice = "farscale run and farscale factors -o factors.json write results";
  const std::string_view trimmed = Trim(text);
  if (trimmed.empty()) throw Error(ErrorKind::kInput, file, "is empty", kAdvice);
  const bool is_json = file.ends_with(".json") || trimmed.front() == '{' || trimmed.front() == '[';
  if (!is_json) return "";
  const Json json = ParseJson(text, file);
  if (!json.is_object()) {
    throw Error(
        ErrorKind::kInput, file,
        fmt::format("holds JSON, but {} and no results of farscale", json.is_array() ? "a list" : "a single value"),
        kAdvice);
  }
  const std::string format = FormatName(json);
  if (!format.empty()) return format;
  if (IsTalpJson(json)) return std::string(kTalpFormat);
  if (IsHyperfineJson(json)) return std::string(kHyperfineFormat);
  throw Error(ErrorKind::kInput, file, "holds JSON, but no results of farscale: it has no \"format\"", kAdvice);
}

FactorTable ReadTableFromJson(const std::string& text, const std::string& file) {
  const Json json = ParseJson(text, file);
  if (FormatName(json) == "farscale-results") {
    FactorTable table = ReadResultsJson(text, file).table;
    AddFindingsOfRows(table);
    return table;
  }
  if (IsTalpJson(json)) return TableOfTalpFiles({{file, text}});
  if (IsHyperfineJson(json)) return TableOfHyperfine(json, file);
  if (FormatName(json) == kMeasuredRunFormat) return TableOfMeasuredRuns({{file, text}});
  if (FormatName(json) != "farscale-factors") {
    const std::string other = FormatName(json).empty() ? "" : ", its format is " + FormatName(json);
    throw Error(ErrorKind::kInput, file, "is not a factor table of farscale" + other,
                "farscale factors -o factors.json writes one");
  }
  auto table = FromJson<FactorTable>(json, file);
  CheckChecksum(json, file, table.findings);
  AddFindingsOfRows(table);
  return table;
}

FactorTable ReadTableOfRuns(const std::vector<std::string>& paths) {
  std::vector<NamedText> files;
  std::map<std::string, std::string> first;  // file of each format
  for (const std::string& path : paths) {
    files.emplace_back(path, ReadInput(path));
    first.try_emplace(FormatOfResults(files.back().second, path), path);
  }
  const auto talp = first.find(std::string(kTalpFormat)), measured = first.find(kMeasuredRunFormat);
  if (talp != first.end() && measured != first.end()) {
    throw Error(ErrorKind::kUsage, talp->second,
                "was measured by TALP, but " + measured->second + " by farscale measure",
                "their times are not counted alike; make a study for each");
  }
  const bool is_talp = talp != first.end() && talp->second == paths.front();
  return is_talp ? TableOfTalpFiles(files) : TableOfMeasuredRuns(files);
}

namespace {

constexpr std::array<std::string_view, 5> kCoresNames = {"cores", "ranks", "processes", "np", "n"};
constexpr std::string_view kThreadsName = "threads";

[[noreturn]] void RefuseMeasurement(const std::string& where, const std::string& what, const std::string& advice = "") {
  throw Error(ErrorKind::kInput, where, what, advice);
}

std::map<std::string, std::string> Parameters(const Json& json, const std::string& where) {
  std::map<std::string, std::string> parameters;
  if (!json.contains("parameters")) return parameters;
  if (!json["parameters"].is_object()) RefuseMeasurement(where, "has parameters that are no object");
  for (const auto& [name, value] : json["parameters"].items())
    parameters[name] = value.is_string() ? value.get<std::string>() : value.dump();
  return parameters;
}

std::int64_t WholeNumber(const std::string& name, const std::string& text, const std::string& where) {
  constexpr long long kMost = 1000000000;  // as in tables
  long long value = 0;
  if (!ParseInteger(text, value) || value < 1 || value > kMost)
    RefuseMeasurement(where, fmt::format("has '{}' as {}, which is no number of them", text, name));
  return value;
}

}  // namespace

bool IsHyperfineJson(const Json& json) {
  if (!json.is_object() || json.contains("format") || !json.contains("results")) return false;
  const Json& results = json["results"];
  return results.is_array() && !results.empty() && results.front().is_object() && results.front().contains("command");
}

FactorTable TableOfHyperfine(const Json& json, const std::string& file) {
  FactorTable table;
  table.scaling_source = "file";
  std::size_t number = 0;
  for (const Json& result : json["results"]) {
    const std::string where = fmt::format("{}: results[{}]", file, number++);
    if (!result.is_object()) RefuseMeasurement(where, "is no measurement of a command");
    FactorRow row;
    std::optional<std::int64_t> processes;
    std::vector<std::string> others;
    for (const auto& [name, value] : Parameters(result, where)) {
      if (std::ranges::find(kCoresNames, name) != kCoresNames.end()) {
        if (processes) RefuseMeasurement(where, "has two parameters with a number of cores, or of ranks");
        processes = WholeNumber(name, value, where);
      } else if (name == kThreadsName) {
        row.threads = WholeNumber(name, value, where);
      } else {
        others.push_back(name + "=" + value);
      }
    }
    if (!processes) {
      RefuseMeasurement(where, "has no parameter that says on how many cores it ran",
                        "measure with hyperfine --parameter-list cores 1,2,4 'mpirun -n {cores} ./program'");
    }
    row.series = Join(others, ", ");
    row.ranks = *processes;
    row.cores = row.ranks * row.threads;
    const bool has_all = result.contains("times") && result["times"].is_array() && !result["times"].empty();
    for (const Json& time : has_all ? result["times"] : Json::array({result.value("mean", Json())})) {
      if (!time.is_number() || !(time.get<double>() > 0) || !std::isfinite(time.get<double>()))
        RefuseMeasurement(where, "has no times", "hyperfine --export-json writes them");
      row.runtime = time.get<double>();
      table.rows.push_back(row);
    }
  }
  NumberRepeats(table);
  return table;
}

}  // namespace farscale
