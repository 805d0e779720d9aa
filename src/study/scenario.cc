#include "study/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <set>

#include "base/diagnostics.h"
#include "base/files.h"
#include "base/text.h"
#include "replay/calibration.h"
#include "replay/clock_repair.h"
#include "replay/replayed_trace.h"
#include "replay/unknown_waits.h"
#include "study/shared_runs.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

// The phase that covers most of the run and repeats: its iterations are what computation can be compared over.
const PhaseCut* LongestLoop(const std::vector<PhaseCut>& cuts) {
  const PhaseCut* longest = nullptr;
  for (const PhaseCut& cut : cuts) {
    if (cut.iterations < 2) continue;
    if (longest == nullptr || cut.end() - cut.begin() > longest->end() - longest->begin()) longest = &cut;
  }
  return longest;
}

struct Replayed {
  Network network;
  BurstLengths bursts;
  std::string description;
  Diagnostics diagnostics;
};

// "; not known between nodes: latency at most 1.84 µs (460 ns assumed)", of links that ranks of the run can use.
std::string DescribeUnknown(const Trace& trace, const Network& network) {
  std::set<std::int32_t> nodes;
  for (const Rank& rank : trace.ranks) nodes.insert(rank.node);
  std::string text;
  const auto add = [&](bool is_used, const Link& link, const char* where) {
    if (is_used && !link.IsKnown()) text += fmt::format("; not known {}: {}", where, DescribeUnknown(link));
  };
  add(nodes.size() > 1, network.remote, "between nodes");
  add(nodes.size() < trace.size(), network.local, "within nodes");
  return text;
}

void ChooseNetwork(const Trace& trace, const Scenario& scenario, Replayed& result) {
  result.network = Scaled(*scenario.network, scenario.scale);
  result.description = result.network.name;
  if (scenario.scale.latency != 1) result.description += fmt::format(", latency ×{:g}", scenario.scale.latency);
  if (scenario.scale.bandwidth != 1) result.description += fmt::format(", bandwidth ×{:g}", scenario.scale.bandwidth);
  result.description += DescribeUnknown(trace, result.network);
}

void RequireRegion(const Trace& trace, const std::string& region) {
  const std::vector<std::string> names = trace.UserRegionNames();
  if (region.empty() || std::find(names.begin(), names.end(), region) != names.end()) return;
  const std::string advice = DidYouMean(region, names);
  throw Error(ErrorKind::kUsage, trace.path, "no region '" + region + "' in this trace",
              advice.empty() ? "farscale inspect lists the regions of a trace" : advice);
}

void ChooseComputation(const Trace& trace, const std::vector<PhaseCut>& cuts, const Scenario& scenario,
                       const FactorOptions& options, Replayed& result) {
  if (scenario.clean_computation) {
    const Computation clean = CleanComputation(trace, {scenario.source, options.counters, LongestLoop(cuts)});
    result.bursts = clean.lengths;
    result.description += "; computation from " + clean.description;
    result.diagnostics.Merge(clean.diagnostics);
  } else {
    result.bursts = MeasuredComputation(trace).lengths;
    result.description += "; computation as measured";
  }
  RequireRegion(trace, scenario.region);
  if (scenario.speed == 1) return;
  result.bursts = SpeedUp(trace, result.bursts, scenario.speed, scenario.region);
  result.description +=
      fmt::format(", ×{:g} as fast{}", scenario.speed, scenario.region.empty() ? "" : " in region " + scenario.region);
}

std::string DescribeTerms(const OfferTerms& terms) {
  std::string text;
  if (terms.cores_per_node) text += fmt::format("; {} cores a node", *terms.cores_per_node);
  if (terms.price_per_node_hour) {
    text += fmt::format("; {:g}{}{} a node hour", *terms.price_per_node_hour, terms.currency.empty() ? "" : " ",
                        terms.currency);
  }
  return text;
}

// The ranks of a trace on nodes of another size, until it goes out of scope.
class PlacedRanks {
 public:
  PlacedRanks(Trace& trace, const OfferTerms& terms) : trace_(trace) {
    if (!terms.cores_per_node) return;
    nodes_ = trace.nodes;
    ranks_ = trace.ranks;
    trace.nodes.clear();
    const std::int64_t threads = trace.threads();
    for (std::size_t rank = 0; rank < trace.size(); ++rank) {
      const double cores_so_far = static_cast<double>((rank + 1) * static_cast<std::size_t>(threads));
      const auto nodes = static_cast<std::size_t>(*terms.NodesFor(cores_so_far, threads));
      if (nodes > trace.nodes.size()) trace.nodes.push_back(fmt::format("node{}", trace.nodes.size()));
      trace.ranks[rank].node = static_cast<std::int32_t>(nodes - 1);
      trace.ranks[rank].socket = -1;
    }
  }
  PlacedRanks(const PlacedRanks&) = delete;
  PlacedRanks& operator=(const PlacedRanks&) = delete;
  ~PlacedRanks() {
    if (ranks_.empty()) return;
    trace_.nodes.swap(nodes_);
    trace_.ranks.swap(ranks_);
  }

 private:
  Trace& trace_;
  std::vector<std::string> nodes_;
  std::vector<Rank> ranks_;
};

}  // namespace

ScenarioRun ReplayScenario(Trace& trace, const Matching& matching, const std::vector<PhaseCut>& cuts,
                           const Scenario& scenario, const FactorOptions& options) {
  const PlacedRanks placed(trace, scenario.terms);
  const PhaseCut whole = CutPhase(trace, PhaseSpec::WholeRun());
  RequireClocks(trace, matching);
  RequireKnownWaits(trace, whole);
  Replayed replayed;
  ChooseNetwork(trace, scenario, replayed);
  ChooseComputation(trace, cuts, scenario, options, replayed);
  const ReplayOptions replay_options = {options.rules, true, &replayed.network, &replayed.bursts};
  const ReplayResult result = Replay(trace, matching, whole, replay_options);
  ScenarioRun run;
  run.trace = ReplayedTrace(trace, result, &replayed.bursts);
  for (const PhaseCut& cut : cuts) run.cuts.push_back(MoveCut(trace, run.trace, cut));
  run.description = replayed.description + DescribeTerms(scenario.terms);
  run.diagnostics = replayed.diagnostics;
  run.diagnostics.Merge(result.diagnostics);
  return run;
}

namespace {

// The better, the less a calibration leaves open: bandwidth and latency between nodes, then times that lie on the line.
double Doubt(const Calibration& calibration) {
  const std::optional<LinkCalibration>& link = calibration.remote ? calibration.remote : calibration.local;
  double doubt = link->relative_spread + std::fabs(calibration.Deviation());
  if (!link->has_bandwidth) doubt += 10;
  if (link->link.latency_at_most) doubt += 10;
  return calibration.remote ? doubt : doubt + 100;
}

std::string InWords(const Calibration& calibration, const std::string& path) {
  const bool is_remote = calibration.remote.has_value();
  const Link& link = is_remote ? calibration.network.remote : calibration.network.local;
  std::string numbers;  // unknown ones are reported where the network is used
  if (!link.latency_at_most) numbers = FormatSeconds(link.latency);
  if (!link.bandwidth_at_least) {
    numbers += fmt::format("{}{:.0f} MB/s", numbers.empty() ? "" : ", ", link.bandwidth / 1e6);
  }
  if (!numbers.empty()) numbers += is_remote ? " between nodes; " : " within nodes; ";
  return fmt::format("network calibrated to {} ({}replayed there the run takes {:+.1f} %)", path, numbers,
                     100 * calibration.Deviation());
}

}  // namespace

Network CalibrateToRuns(const std::vector<RunSpec>& runs, const ReplayRules& rules) {
  std::vector<std::optional<Calibration>> found(runs.size());
  std::vector<std::size_t> all(runs.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  ForEachRun(runs, all, RunUse::kReplay, [&](std::size_t i) {
    try {
      Trace trace = ReadTrace(runs[i].trace, {false, {}, runs[i].application, runs[i].accepted});
      const Matching matching = MatchSynchronised(trace);
      found[i] = Calibrate(trace, matching, rules);
    } catch (const Error&) {  // reported when it is measured; others may do
    }
  });
  std::size_t best = runs.size();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (found[i] && (best == runs.size() || Doubt(*found[i]) < Doubt(*found[best]))) best = i;
  }
  if (best == runs.size()) {
    throw Error(ErrorKind::kNotEnoughData, "", "no run has enough messages to calibrate a network to",
                "name a network: one of configs/networks, or a file");
  }
  Network network = found[best]->network;
  network.name = InWords(*found[best], runs[best].trace);
  return network;
}

std::vector<Scenario> NoiseRemoval(const std::optional<Network>& network, std::optional<ComputationSource> source,
                                   bool clean_computation) {
  Scenario quiet;
  quiet.id = "quiet-network";
  quiet.name = "without network noise";
  quiet.network = network;
  if (!clean_computation) return {quiet};
  Scenario clean = quiet;
  clean.id = "no-noise";
  clean.is_noise = source != ComputationSource::kInstructions;  // which even out the speed of ranks, too
  clean.name = clean.is_noise ? "without any noise" : "on a uniform machine";
  clean.clean_computation = true;
  clean.source = source;
  return {quiet, clean};
}

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
