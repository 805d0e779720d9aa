#include "study/input_files.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

#include "base/diagnostics.h"
#include "base/files.h"
#include "base/text.h"
#include "factors/anomalies.h"
#include "models/scaling_model.h"
#include "pages/render.h"
#include "replay/network.h"
#include "results/factor_table_files.h"
#include "results/results_json.h"
#include "study/measure_run.h"
#include "study/scenario.h"
#include "study/study.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

namespace fs = std::filesystem;

// Networks, models and presets are TOML, too. A file that is not well-formed may be a study, which says so when it is
// run.
bool IsStudyFile(const fs::path& path) {
  if (path.extension() != ".toml") return false;
  try {
    return ConfigTable::Parse(ReadFile(path), path.string()).Has("runs");
  } catch (const Error&) {
    return true;
  }
}

bool IsInside(const fs::path& path, const std::set<fs::path>& folders) {
  for (fs::path folder = path.parent_path();; folder = folder.parent_path()) {
    if (folders.contains(folder)) return true;
    if (folder == folder.parent_path()) return false;
  }
}

// True if the file is JSON of a measured run; false where it cannot be read.
bool IsMeasuredFile(const std::string& path) {
  if (std::filesystem::path(path).extension() != ".json") return false;
  try {
    const std::string format = FormatOfResults(ReadFile(path), path);
    return format == kMeasuredRunFormat || format == kTalpFormat;
  } catch (const Error&) {
    return false;
  }
}

// A member of the object that a text is; null where there is none.
nlohmann::json Member(const std::string& text, const char* key) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  return json.is_object() && json.contains(key) ? json[key] : nlohmann::json();
}

// One measured run for each trace is that of the trace.
void LeaveOutTraced(InputFiles& files) {
  if (files.traces.empty() || files.measured.empty()) return;
  const auto folder_of = [](const std::string& path) { return fs::weakly_canonical(path).parent_path(); };
  std::set<fs::path> folders;
  for (const std::string& file : files.measured) folders.insert(folder_of(file));
  std::map<std::pair<fs::path, std::size_t>, std::size_t> traces;  // that have no measured run yet
  for (const std::string& trace : files.traces) {
    if (folders.contains(folder_of(trace))) ++traces[{folder_of(trace), RanksOfTrace(trace)}];
  }
  std::erase_if(files.measured, [&](const std::string& file) {
    const nlohmann::json ranks = Member(ReadFile(file), "ranks");  // which need not be there
    const auto found = traces.find({folder_of(file), ranks.is_number_unsigned() ? ranks.get<std::size_t>() : 0});
    if (found == traces.end() || found->first.second == 0 || found->second == 0) return false;
    --found->second;
    files.traced.push_back(file);
    return true;
  });
}

void Collect(const fs::path& folder, std::vector<fs::path>& paths) {
  std::error_code code;
  if (fs::exists(folder / "results.json", code)) return;
  fs::directory_iterator entries(folder, code);
  if (code) throw Error(ErrorKind::kInput, folder.string(), "cannot be read: " + code.message());
  for (const fs::directory_entry& entry : entries) {
    if (entry.path().filename().string().starts_with('.')) continue;
    if (entry.is_directory(code)) {
      if (!entry.is_symlink(code)) Collect(entry.path(), paths);  // a link may lead back up
    } else {
      paths.push_back(entry.path());
    }
  }
}

constexpr const char* kWhole = "whole";  // phase of the whole run in these files

RunRecord RecordOf(const RunSpec& spec, const FactorTable& table, const std::string& text) {
  RunRecord record;
  record.path = spec.trace;
  record.size = spec.size;
  record.format = FormatOfResults(text, spec.trace);
  Sha256 hash;
  hash.Add(text);
  record.fingerprint = hash.Hex();
  const nlohmann::json program = Member(text, "program");
  if (program.is_string()) record.program = program.get<std::string>();  // TALP writes none
  record.bytes = text.size();
  const auto whole = std::ranges::find(table.rows, PhaseId(kWhole), &FactorRow::phase);
  const FactorRow& row = whole == table.rows.end() ? table.rows.front() : *whole;
  record.cores = row.cores;
  record.ranks = row.ranks;
  record.threads = row.threads;
  record.nodes = row.nodes.value_or(0);
  record.seconds = row.runtime.value_or(0);
  record.coverage = 1;
  for (const Finding& finding : table.findings) {
    if (finding.id != anomaly::kScalingGuessed.id) record.findings.push_back(finding);
  }
  return record;
}

// U+10FE80 to U+10FEFF.
constexpr std::string_view kBegin = "\xf4\x8f";

bool IsByte(std::string_view text) {
  if (text.size() < 4 || !text.starts_with(kBegin)) return false;
  const auto third = static_cast<unsigned char>(text[2]), last = static_cast<unsigned char>(text[3]);
  return (third == 0xba || third == 0xbb) && (last & 0xc0U) == 0x80U;
}

std::vector<fs::path> TomlFiles(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code code;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, code)) {
    if (entry.path().extension() == ".toml") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Names of the files in a folder of configs/.
std::vector<std::string> ConfigNames(const std::string& folder) {
  std::vector<std::string> names;
  for (const fs::path& file : TomlFiles(DataFolder() / "configs" / folder)) names.push_back(file.stem().string());
  return names;
}

[[noreturn]] void FailUnknown(const std::string& where, const std::string& kind, const std::string& name,
                              const std::vector<std::string>& known) {
  const std::string advice = DidYouMean(name, known);
  throw Error(ErrorKind::kUsage, where, "no " + kind + " '" + name + "'",
              advice.empty() ? "there are " + Join(known, ", ") + ", or name a file" : advice);
}

constexpr std::string_view kTemplateEnding = ".mustache";

// A file of the user's folder, else of the program's own. Without a byte order mark, which would end up in the middle
// of a page, and with lines that all end alike, since browsers make them so before they compare a text with its hash.
Template LoadTemplate(const std::string& folder, const std::string& name) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  fs::path path = DataFolder() / "templates" / name;
  if (!folder.empty() && fs::exists(fs::path(folder) / name)) path = fs::path(folder) / name;
  const std::string text = ReadFile(path);
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t i = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0; i < text.size(); ++i) {
    const bool is_before_newline = i + 1 < text.size() && text[i + 1] == '\n';
    if (text[i] != '\r') plain += text[i];
    if (text[i] == '\r' && !is_before_newline) plain += '\n';
  }
  return {plain, path.string()};
}

// Every template may be a partial of another, those of the folder before ours.
Partials LoadPartials(const std::string& folder) {
  std::set<std::string> names;  // without their ending
  for (const fs::path& place : {DataFolder() / "templates", fs::path(folder)}) {
    std::error_code code;  // none is named where the folder is empty
    for (const fs::directory_entry& entry : fs::directory_iterator(place, code)) {
      if (entry.path().extension() == kTemplateEnding) names.insert(entry.path().stem().string());
    }
  }
  Partials partials;
  for (const std::string& name : names) partials[name] = LoadTemplate(folder, name + std::string(kTemplateEnding));
  return partials;
}

std::vector<std::string> FileNames(const fs::path& folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.is_regular_file()) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// True if any of the templates asks for the partial, with any delimiters.
bool IsAskedFor(const std::string& partial, const std::string& folder, const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    if (fs::path(name).extension() != kTemplateEnding) return false;
    const std::string text = LoadTemplate(folder, name).text;
    for (std::size_t at = text.find(partial); at != std::string::npos; at = text.find(partial, at + 1)) {
      const std::string_view before = Trim(std::string_view(text).substr(0, at));
      if (!before.empty() && before.back() == '>') return true;
    }
    return false;
  });
}

// A template by a name that nobody asks for would change nothing, and leave one wondering why. Other files may lie
// beside, such as notes.
void RequireFolder(const std::string& folder) {
  std::error_code code;
  if (folder.empty()) return;
  if (!fs::is_directory(folder, code)) throw Error(ErrorKind::kUsage, folder, "is not a folder with templates");
  const std::vector<std::string> known = FileNames(DataFolder() / "templates"), own = FileNames(folder);
  for (const std::string& name : own) {
    const std::string ending = fs::path(name).extension();
    const bool is_template = ending == kTemplateEnding || ending == ".css" || ending == ".js";
    if (!is_template || std::find(known.begin(), known.end(), name) != known.end()) continue;
    if (ending == kTemplateEnding && IsAskedFor(fs::path(name).stem(), folder, own)) continue;
    const std::string nearest = DidYouMean(name, known);
    throw Error(ErrorKind::kUsage, (fs::path(folder) / name).string(),
                "is no template of farscale, nor a partial of one",
                nearest.empty() ? "there are " + Join(known, ", ") : nearest);
  }
}

}  // namespace

InputFiles FindInputFiles(const std::vector<std::string>& inputs) {
  InputFiles files;
  std::set<fs::path> seen;
  const auto add = [&](std::vector<std::string>& list, const std::string& path) {
    if (seen.insert(fs::weakly_canonical(path)).second) list.push_back(path);
  };
  for (const std::string& input : inputs) {
    std::error_code code;
    if (!fs::is_directory(input, code)) {
      if (!fs::exists(input, code)) throw Error(ErrorKind::kInput, input, "no such file or folder");
      const std::string ending = fs::path(input).extension().string();
      if (ending == ".json" && !IsMeasuredFile(input)) {
        throw Error(ErrorKind::kInput, input, "is no run that farscale measure or TALP has measured",
                    "fit tables with farscale predict TABLE, make reports again with farscale report results.json");
      }
      add(ending == ".toml" ? files.studies : ending == ".json" ? files.measured : files.traces, input);
      continue;
    }
    std::vector<fs::path> paths;
    Collect(input, paths);
    std::ranges::sort(paths);
    std::set<fs::path> of_studies;
    bool is_any = false;
    for (const fs::path& path : paths) {
      if (!IsStudyFile(path)) continue;
      add(files.studies, path.string());
      of_studies.insert(path.parent_path());
      is_any = true;
    }
    for (const fs::path& path : paths) {
      if (IsInside(path, of_studies)) continue;
      const bool is_trace = IsTraceName(path), is_measured = IsMeasuredFile(path.string());
      if (is_trace) add(files.traces, path.string());
      if (is_measured) add(files.measured, path.string());
      is_any = is_any || is_trace || is_measured;
    }
    if (is_any) continue;
    throw Error(ErrorKind::kInput, input, "holds no study, trace (.otf2, .prv, .prv.gz) or measured run",
                "name a folder with runs of a program");
  }
  LeaveOutTraced(files);
  return files;
}

AnalysedRun AnalyseMeasuredFile(const Study& study, const RunSpec& spec, std::size_t scenarios, bool wants_losses) {
  AnalysedRun result;
  const FactorTable table = ReadTableOfRuns({spec.trace});
  result.record = RecordOf(spec, table, ReadFile(spec.trace));
  std::vector<std::string> known;
  for (const FactorRow& row : table.rows) known.push_back(row.phase.name);
  for (const PhaseSpec& phase : study.phases) {
    PhaseRows& rows = result.rows.emplace_back();
    std::optional<PhaseNotFound>& missing = result.missing.emplace_back();
    const bool is_all = phase.part.empty() && phase.skip == 0 && !phase.keep && !phase.clean;
    std::string name;  // in the file; empty for what no such file holds
    if (phase.kind == PhaseSpec::Kind::kWholeRun) name = kWhole;
    if (phase.kind == PhaseSpec::Kind::kRegion && is_all) name = phase.region;
    const auto found = std::ranges::find(known, name);
    if (found == known.end()) {
      missing = PhaseNotFound(
          ErrorKind::kUsage, phase.where.empty() ? spec.trace : phase.where + ", " + spec.trace,
          "phase '" + phase.name + "' was not measured" +
              (name.empty() ? ": a measured run knows whole runs and whole regions alone" : DidYouMean(name, known)));
      continue;
    }
    rows.whole = table.rows[static_cast<std::size_t>(found - known.begin())];
    rows.whole->series = study.series;
    rows.whole->phase = phase.name;
    rows.whole->repeat = 0;
    ForgetComparison(*rows.whole);
  }
  result.is_measured = true;
  result.shapes.resize(study.phases.size());
  if (wants_losses) result.losses.resize(study.phases.size());
  result.scenario_rows.assign(scenarios, std::vector<PhaseRows>(study.phases.size()));
  result.scenario_descriptions.resize(scenarios);
  result.scenario_errors.resize(scenarios);
  return result;
}

std::string TextOfPath(std::string_view path) {
  std::string text;
  while (!path.empty()) {
    std::size_t length = 1;  // bytes of the first UTF-8 character
    while (length <= 4 && length <= path.size() && !IsUtf8(path.substr(0, length))) ++length;
    if (length > 4 || length > path.size() || IsByte(path)) {
      length = 1;
      const auto byte = static_cast<unsigned char>(path[0]);
      text += kBegin;
      text += static_cast<char>(byte < 0xc0U ? 0xba : 0xbb);
      text += static_cast<char>(0x80U | (byte & 0x3fU));
    } else {
      text += path.substr(0, length);
    }
    path.remove_prefix(length);
  }
  return text;
}

std::string PathOfText(std::string_view text) {
  std::string path;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!IsByte(text.substr(i))) {
      path += text[i];
      continue;
    }
    const unsigned high = static_cast<unsigned char>(text[i + 2]) == 0xba ? 0x80U : 0xc0U;
    path += static_cast<char>(high | (static_cast<unsigned char>(text[i + 3]) & 0x3fU));
    i += 3;
  }
  return path;
}

fs::path DataFolder() {
  std::error_code code;
  if (const char* chosen = std::getenv("FARSCALE_DATA"); chosen != nullptr && *chosen != '\0') {
    if (fs::is_directory(fs::path(chosen) / "fits", code)) return chosen;
    throw Error(ErrorKind::kUsage, chosen, "FARSCALE_DATA names a folder without fits/ in it");
  }
  const fs::path program = fs::read_symlink("/proc/self/exe", code);
  const fs::path folder = program.parent_path().parent_path() / "share" / "farscale";
  if (fs::is_directory(folder / "fits", code)) return folder;
  throw Error(ErrorKind::kUsage, folder.string(), "the program's data is not where it should be",
              "install with cmake --install, or set FARSCALE_DATA to the folder that contains fits/");
}

ModelLibrary LoadModels(const std::vector<std::string>& user_files) {
  std::vector<fs::path> files = TomlFiles(DataFolder() / "fits");
  for (const std::string& name : user_files) {
    std::error_code code;
    if (fs::is_directory(name, code)) {
      const std::vector<fs::path> inside = TomlFiles(name);
      if (inside.empty()) throw Error(ErrorKind::kUsage, name, "the folder contains no models (*.toml)");
      files.insert(files.end(), inside.begin(), inside.end());
    } else {
      files.push_back(name);
    }
  }
  const fs::path calibration = DataFolder() / "configs" / "calibration" / "intervals.toml";
  ModelLibrary library(ParseIntervalConstants(ReadFile(calibration), calibration.string()));
  for (const fs::path& file : files) library.Add(ParseModel(ReadFile(file), file.string()), file.string());
  return library;
}

std::optional<ConfigTable> LoadPreset(const std::string& name) {
  std::error_code code;
  const fs::path own = DataFolder() / "configs" / (name + ".toml");
  if (fs::is_regular_file(own, code)) return ConfigTable::Parse(ReadFile(own), own.string());
  if (fs::is_regular_file(name, code)) return ConfigTable::Parse(ReadFile(name), name);
  return std::nullopt;
}

std::vector<std::string> PresetNames() { return ConfigNames(""); }

std::pair<ConfigTable, std::string> LoadGateRules(const std::string& name) {
  std::error_code code;
  const fs::path own = DataFolder() / "configs" / "gate" / (name + ".toml");
  if (fs::is_regular_file(name, code)) return {ConfigTable::Parse(ReadFile(name), name), name};
  const std::string built_in = name + " (built in)";
  if (fs::is_regular_file(own, code)) return {ConfigTable::Parse(ReadFile(own), built_in), built_in};
  FailUnknown("--rules", "rules", name, ConfigNames("gate"));
}

Network LoadNetwork(const std::string& name, const std::string& where) {
  std::error_code code;
  const fs::path own = DataFolder() / "configs" / "networks" / (name + ".toml");
  for (const fs::path& file : {own, fs::path(name)}) {
    if (fs::is_regular_file(file, code)) return ParseNetwork(ReadFile(file), file.string(), file.stem().string());
  }
  FailUnknown(where, "network", name, ConfigNames("networks"));
}

Scenario LoadOffer(const std::string& path) {
  const ConfigTable table = ConfigTable::Parse(ReadFile(path), path);
  Scenario offer;
  offer.is_noise = false;
  offer.name = table.String("name").value_or(fs::path(path).stem().string());
  if (Trim(offer.name).empty()) table.Fail("name", "'name' must not be empty");
  table.String("source");  // for the reader of the file
  if (const auto network = table.String("network")) {
    const fs::path beside = fs::path(path).parent_path() / *network;
    std::error_code code;
    offer.network = LoadNetwork(fs::is_regular_file(beside, code) ? beside.string() : *network, table.Where("network"));
  }
  constexpr double kMost = 1e6;
  const auto positive = [&](const char* key) {
    const std::optional<double> number = table.Number(key);
    if (number && !(*number > 0 && *number <= kMost)) {
      table.Fail(key, fmt::format("'{}' must be positive, at most 1e6", key));
    }
    return number;
  };
  offer.speed = positive("processor_speed").value_or(1);
  offer.terms.price_per_node_hour = positive("price_per_node_hour");
  offer.terms.currency = table.String("currency").value_or("");
  if (const auto cores = table.Integer("cores_per_node")) {
    if (*cores < 1 || *cores > static_cast<std::int64_t>(kMost)) {
      table.Fail("cores_per_node", "'cores_per_node' must be a positive number of cores, at most 1e6");
    }
    offer.terms.cores_per_node = cores;
  }
  if (offer.terms.price_per_node_hour && !offer.terms.cores_per_node) {
    table.Fail("price_per_node_hour", "a price per node hour needs 'cores_per_node'");
  }
  table.RefuseUnknownKeys();
  return offer;
}

std::vector<std::string> NetworkNames() { return ConfigNames("networks"); }

ReportTemplates LoadTemplates(const std::string& folder) {
  RequireFolder(folder);
  return {LoadTemplate(folder, "report.html.mustache"), LoadTemplate(folder, "report.md.mustache"),
          LoadTemplate(folder, "style.css"), LoadTemplate(folder, "report.js"), LoadPartials(folder)};
}

ReportTemplates LoadFormTemplates(const std::string& form, const std::string& folder) {
  RequireFolder(folder);
  const bool is_report = form == "imbalance" || form == "balance" || form == "studies" || form == "jobs";
  const std::string style = form == "history" ? "history.css" : is_report ? "style.css" : "handout.css";
  const Template script = form == "studies" ? LoadTemplate(folder, "report.js") : Template();
  return {LoadTemplate(folder, form + ".html.mustache"), LoadTemplate(folder, form + ".md.mustache"),
          LoadTemplate(folder, style), script, LoadPartials(folder)};
}

}  // namespace farscale
