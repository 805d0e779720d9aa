#include "study/resources.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"

namespace farscale {
namespace {

namespace fs = std::filesystem;

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

// Without a byte order mark, which would end up in the middle of a page, and with lines that all end alike, since
// browsers make them so before they compare a text with its hash.
std::string PlainText(const std::string& text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t i = text.rfind(kByteOrderMark, 0) == 0 ? kByteOrderMark.size() : 0; i < text.size(); ++i) {
    const bool is_before_newline = i + 1 < text.size() && text[i + 1] == '\n';
    if (text[i] != '\r') plain += text[i];
    if (text[i] == '\r' && !is_before_newline) plain += '\n';
  }
  return plain;
}

// A file of the user's folder, else of the program's own.
Template LoadTemplate(const std::string& folder, const std::string& name) {
  fs::path path = DataFolder() / "templates" / name;
  if (!folder.empty() && fs::exists(fs::path(folder) / name)) path = fs::path(folder) / name;
  return {PlainText(ReadFile(path)), path.string()};
}

// Names of templates without their ending.
void AddTemplateNames(const fs::path& folder, std::set<std::string>& names) {
  std::error_code code;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, code)) {
    if (entry.path().extension() == kTemplateEnding) names.insert(entry.path().stem().string());
  }
}

// Every template may be a partial of another, those of the folder before ours.
Partials LoadPartials(const std::string& folder) {
  std::set<std::string> names;
  AddTemplateNames(DataFolder() / "templates", names);
  if (!folder.empty()) AddTemplateNames(folder, names);
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

// Whether any of the templates asks for the partial, by whatever delimiters.
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
void RequireKnownNames(const std::string& folder) {
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

void RequireFolder(const std::string& folder) {
  std::error_code code;
  if (folder.empty()) return;
  if (!fs::is_directory(folder, code)) throw Error(ErrorKind::kUsage, folder, "is not a folder with templates");
  RequireKnownNames(folder);
}

}  // namespace

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
  for (const fs::path& file : files) library.Add(ParseModel(ReadFile(file), file.string()));
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

GateRulesFile LoadGateRules(const std::string& name) {
  std::error_code code;
  const fs::path own = DataFolder() / "configs" / "gate" / (name + ".toml");
  if (fs::is_regular_file(name, code)) return {ConfigTable::Parse(ReadFile(name), name), name, false};
  const std::string built_in = name + " (built in)";
  if (fs::is_regular_file(own, code)) return {ConfigTable::Parse(ReadFile(own), built_in), built_in, true};
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
