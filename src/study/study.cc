#include "study/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/diagnostics.h"
#include "base/text.h"
#include "pages/render.h"
#include "replay/anomalies.h"
#include "replay/computation.h"
#include "trace/anomalies.h"
#include "study/group_phases.h"
#include "study/input_files.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

namespace fs = std::filesystem;

std::string Relative(const std::string& text, const std::string& file) {
  const std::string path = PathOfText(text);
  if (fs::path(path).is_absolute()) return path;
  return (fs::path(file).parent_path() / path).lexically_normal().string();
}

std::int64_t Positive(const ConfigTable& table, const std::string& key, std::int64_t value) {
  if (value < 1 || value > kMostCores)
    table.Fail(key, fmt::format("'{}' must be a positive number, not {}", key, value));
  return value;
}

// The value of a key that has to be one of a few; the first of them where the key is missing.
std::string OneOf(const ConfigTable& table, const std::string& key, const std::vector<std::string>& choices,
                  const std::string& advice = "") {
  const std::string value = table.String(key).value_or(choices.front());
  if (std::ranges::find(choices, value) != choices.end()) return value;
  const std::vector<std::string> others(choices.begin(), choices.end() - 1);
  table.Fail(key,
             fmt::format("{} must be \"{}\" or \"{}\", not \"{}\"", key, Join(others, "\", \""), choices.back(), value),
             advice);
}

// Reads a table of the file where it is there.
template <typename Parse>
void ParseTable(const ConfigTable& root, const char* name, Parse parse) {
  const std::optional<ConfigTable> table = root.Table(name);
  if (!table) return;
  parse(*table);
  table->RefuseUnknownKeys();
}

// [study]: what the study is called and how it scales.
void ParseHeader(const ConfigTable& table, Study& study) {
  if (const auto title = table.String("title"); title && !title->empty()) study.title = *title;
  study.description = table.String("description").value_or("");
  study.series = table.String("series").value_or("");
  if (table.Has("scaling")) study.scaling = ScalingByName(OneOf(table, "scaling", {"strong", "weak"}));
  if (const auto reference = table.Integer("reference")) {
    study.reference = Positive(table, "reference", *reference);
  }
  const std::string threads = table.String("threads").value_or("process");
  if (threads != "process") {
    table.Fail("threads", "threads must be \"process\": threads are counted, but analysed at process level");
  }
  study.finds_groups = OneOf(table, "groups", {"auto", "none"}, "name groups by [[groups]]") == "auto";
  table.String("preset");  // read before, known here
}

std::optional<double> PositiveNumber(const ConfigTable& table, const std::string& key) {
  const std::optional<double> value = table.Number(key);
  if (value && !(*value > 0 && std::isfinite(*value))) table.Fail(key, "'" + key + "' must be a number above 0");
  return value;
}

// [case]: what is computed, for applications for computing time.
void ParseCase(const ConfigTable& table, Study& study) {
  ProblemCase& problem = study.problem;
  problem.size = PositiveNumber(table, "size");
  problem.size_per_process = PositiveNumber(table, "size_per_process");
  problem.unit = table.String("unit").value_or("");
  problem.iterations = PositiveNumber(table, "iterations");
  if (problem.size && problem.size_per_process) {
    table.Fail("size_per_process", "'size' and 'size_per_process' exclude each other",
               "give the size in total for strong scaling, the one per process for weak scaling");
  }
  if (problem.size && study.scaling == Scaling::kWeak) {
    table.Fail("size", "with weak scaling the size in total grows with the processes",
               "give 'size_per_process' instead, or 'size' in every [[runs]]");
  }
  if (problem.size_per_process && study.scaling == Scaling::kStrong) {
    table.Fail("size_per_process", "with strong scaling the size per process falls with the processes",
               "give 'size' instead");
  }
}

void ParseReplay(const ConfigTable& table, Study& study) {
  ReplayRules& rules = study.factors.rules;
  rules.set = OneOf(table, "rules", {"bsc", "causal"}) == "bsc" ? RuleSet::kBsc : RuleSet::kCausal;
  if (const auto limit = table.Integer("eager_limit")) {
    if (rules.set == RuleSet::kBsc) {
      table.Fail("eager_limit", "the rules \"bsc\" fix the eager limit at 32768 bytes", "choose rules = \"causal\"");
    }
    if (*limit < 0) table.Fail("eager_limit", "'eager_limit' must not be negative");
    rules.eager_limit = static_cast<std::uint64_t>(*limit);
  }
}

// Paths of networks are relative to the study; names of presets are left alone.
std::string NetworkName(const std::string& name, const std::string& file) {
  return fs::path(name).extension() == ".toml" ? Relative(name, file) : name;
}

RankGrid ParseGrid(const ConfigTable& table, const std::vector<std::int64_t>& extents) {
  if (const std::optional<RankGrid> grid = GridWith(extents)) return *grid;
  table.Fail("grid", "'grid' is no layout of ranks",
             "write the extents of one to four dimensions, as in grid = [16, 8]");
}

void ParseRuns(const ConfigTable& root, const std::string& file, Study& study) {
  for (const ConfigTable& table : root.Tables("runs")) {
    RunSpec run;
    run.is_measured = table.Has("measured");
    if (run.is_measured && table.Has("trace")) table.Fail("measured", "a run has a trace or was measured, not both");
    run.trace = Relative(table.RequiredString(run.is_measured ? "measured" : "trace"), file);
    run.where = table.Where();
    if (const auto threads = table.Integer("threads")) run.threads = Positive(table, "threads", *threads);
    if (const auto repeat = table.Integer("repeat")) {
      if (*repeat < 0) table.Fail("repeat", "'repeat' must not be negative");
      run.repeat = *repeat;
    }
    if (const auto application = table.Integer("application")) {
      run.application = static_cast<int>(Positive(table, "application", *application));
    }
    run.accepted = table.Strings("accept").value_or(AcceptedKinds());
    for (const std::string& kind : run.accepted) {
      if (std::ranges::find(KindsToAccept(), kind) != KindsToAccept().end()) continue;
      table.Fail("accept", fmt::format("no trace is refused for '{}'", kind),
                 "these can be accepted: " + Join(KindsToAccept(), ", "));
    }
    if (table.Bool("accept_truncated").value_or(false)) run.accepted.emplace_back(anomaly::kTraceEndsEarly.id);
    run.size = PositiveNumber(table, "size");
    if (const auto grid = table.Integers("grid")) run.grid = ParseGrid(table, *grid);
    for (const char* key : {"threads", "application", "accept", "accept_truncated", "grid"}) {
      if (run.is_measured && table.Has(key)) table.Fail(key, fmt::format("'{}' is for runs with a trace", key));
    }
    table.RefuseUnknownKeys();
    for (const RunSpec& other : study.runs) {
      if (fs::weakly_canonical(other.trace) == fs::weakly_canonical(run.trace)) {
        table.Fail("trace",
                   fmt::format("the {} {} is listed twice", run.is_measured ? "measured run" : "trace", run.trace),
                   "the other is at " + other.where);
      }
    }
    study.runs.push_back(run);
  }
  if (study.runs.empty()) {
    root.Fail("", "the study has no runs",
              "add [[runs]] with trace = \"path/to/traces.otf2\" or \"path/to/trace.prv\"");
  }
}

void ParsePart(const ConfigTable& table, PhaseSpec& phase) {
  int parts = 0;
  if (const auto region = table.String("region")) {
    if (region->empty()) table.Fail("region", "'region' is empty");
    phase.kind = PhaseSpec::Kind::kRegion;
    phase.region = *region;
    ++parts;
  }
  if (const auto expression = table.String("regex")) {
    if (expression->empty()) table.Fail("regex", "'regex' is empty");
    phase.kind = PhaseSpec::Kind::kRegularExpression;
    phase.region = *expression;
    ++parts;
  }
  if (table.Has("window")) {
    const std::vector<double> window = *table.Numbers("window");
    if (window.size() != 2 || window[0] < 0 || !(window[0] < window[1]) || !std::isfinite(window[1])) {
      table.Fail("window", "'window' must be [begin, end] in seconds since the start of the run, begin before end");
    }
    phase.kind = PhaseSpec::Kind::kTimeWindow;
    phase.window_begin = window[0];
    phase.window_end = window[1];
    ++parts;
  }
  if (table.Bool("whole").value_or(false)) ++parts;
  if (table.Bool("found").value_or(false)) {
    phase.kind = PhaseSpec::Kind::kFoundLoop;
    ++parts;
  }
  if (parts != 1) {
    table.Fail("", "a phase needs exactly one of region, regex, window, whole = true and found = true");
  }
  if (const auto part = table.String("part")) {
    if (part->empty()) table.Fail("part", "'part' is empty");
    if (!phase.Repeats()) table.Fail("part", "'part' is for regions that repeat and for found = true");
    phase.part = *part;
  }
}

void ParseIterations(const ConfigTable& table, PhaseSpec& phase) {
  const bool repeats = phase.Repeats();
  for (const char* key : {"skip", "keep", "clean", "span"}) {
    if (!repeats && table.Has(key)) table.Fail(key, fmt::format("'{}' is for regions that repeat", key));
  }
  if (const auto skip = table.Integer("skip")) {
    if (*skip < 0) table.Fail("skip", "'skip' must not be negative");
    phase.skip = static_cast<std::size_t>(*skip);
  }
  if (const auto keep = table.Integer("keep")) phase.keep = static_cast<std::size_t>(Positive(table, "keep", *keep));
  // true for the longest run of clean iterations, or how many of the cleanest
  if (table.Has("clean") && !table.IsBool("clean")) {
    phase.clean = static_cast<std::size_t>(Positive(table, "clean", *table.Integer("clean")));
  } else if (table.Has("clean") && *table.Bool("clean")) {
    phase.clean = kLongestRun;
  }
  const std::string span = OneOf(table, "span", {"auto", "whole", "each"});
  phase.span = span == "whole" ? Span::kWhole : span == "each" ? Span::kEach : Span::kAuto;
}

std::map<Factor, ModelChoice> ParseChoices(const ConfigTable& table) {
  std::map<Factor, ModelChoice> choices;
  for (const std::string& id : table.Keys()) {
    const std::optional<Factor> factor = FactorById(id);
    if (!factor) table.Fail(id, "unknown factor '" + id + "'", DidYouMean(id, FactorIds()));
    choices[*factor] = ParseModelChoice(table, id);
  }
  return choices;
}

void ParsePhases(const ConfigTable& root, Study& study) {
  for (const ConfigTable& table : root.Tables("phases")) {
    PhaseSpec phase;
    phase.where = table.Where();
    ParsePart(table, phase);
    ParseIterations(table, phase);
    phase.name = table.String("name").value_or(phase.part.empty() ? phase.region : phase.part);
    if (phase.name.empty()) {
      phase.name = phase.kind == PhaseSpec::Kind::kWholeRun ? "whole"
                   : phase.kind == PhaseSpec::Kind::kFoundLoop
                       ? "iteration"
                       : fmt::format("{} s to {} s", phase.window_begin, phase.window_end);
    }
    if (const auto models = table.Table("models")) study.projection.models.by_phase[phase.name] = ParseChoices(*models);
    for (const PhaseSpec& other : study.phases) {
      if (other.name == phase.name) {
        table.Fail("name", "there are two phases '" + phase.name + "'", "the other is at " + other.where);
      }
      const bool windows = phase.kind == PhaseSpec::Kind::kTimeWindow && other.kind == PhaseSpec::Kind::kTimeWindow;
      const double begin = std::max(phase.window_begin, other.window_begin);
      const double end = std::min(phase.window_end, other.window_end);
      if (windows && phase.window_begin < other.window_end && other.window_begin < phase.window_end) {
        table.Fail("window",
                   fmt::format("the windows of phases '{}' and '{}' overlap between {} s and {} s", other.name,
                               phase.name, begin, end),
                   "the other is at " + other.where);
      }
    }
    table.RefuseUnknownKeys();
    study.phases.push_back(phase);
  }
  if (study.phases.empty()) study.phases.push_back(PhaseSpec::WholeRun());
}

void ParseModels(const ConfigTable& table, const std::string& file, Study& study) {
  ProjectionOptions& options = study.projection;
  if (const auto candidates = table.Strings("candidates")) {
    options.models.standard = ModelChoice{{}, table.Where("candidates")};
    for (const std::string& text : *candidates) {
      const ModelChoice choice = ParseModelChoice(text, table.Where("candidates"));
      options.models.standard.options.push_back(choice.options.front());
    }
    if (candidates->empty()) table.Fail("candidates", "'candidates' must name at least one model");
  }
  if (const auto factors = table.Table("factors")) options.models.by_factor = ParseChoices(*factors);
  if (OneOf(table, "weights", {"scatter", "alike"}) == "alike") options.models.weighs_alike = true;
  if (const auto train_max = table.Integer("train_max")) {
    options.train_max = static_cast<double>(Positive(table, "train_max", *train_max));
  }
  for (const std::string& path : table.Strings("files").value_or(std::vector<std::string>())) {
    study.model_files.push_back(Relative(path, file));
  }
}

void ParseProjection(const ConfigTable& table, ProjectionOptions& options) {
  for (const std::int64_t target : table.Integers("targets").value_or(std::vector<std::int64_t>())) {
    options.targets.push_back(static_cast<double>(Positive(table, "targets", target)));
  }
  const auto share = [&](const char* key, double value) {
    if (value > 0 && value <= 1) return value;
    table.Fail(key, fmt::format("'{}' must lie between 0 and 1, not {}", key, value), "divide percentages by 100");
  };
  if (const auto seed = table.Integer("seed")) {
    options.seed = static_cast<std::uint64_t>(Positive(table, "seed", *seed));
  }
  if (const auto width = table.Number("reliable_width")) {
    options.reliability_limits.share = share("reliable_width", *width);
  }
  if (const auto width = table.Number("reliable_width_absolute")) {
    options.reliability_limits.absolute = share("reliable_width_absolute", *width);
  }
  if (table.Has("horizon_width")) {
    table.Fail("horizon_width", "'horizon_width' is not used any more",
               "set 'reliable_width', a share of the value, and 'reliable_width_absolute', both half the width");
  }
  if (const auto levels = table.Numbers("levels")) {
    options.levels.clear();
    for (const double level : *levels) options.levels.push_back(share("levels", level));
  }
}

void ParseReport(const ConfigTable& table, const std::string& file, Study& study) {
  if (const auto folder = table.String("folder")) study.report_folder = Relative(*folder, file);
  if (const auto formats = table.Strings("formats")) {
    study.formats.clear();
    for (const std::string& name : *formats) {
      const auto format = ReportFormatByName(name);
      if (!format) {
        table.Fail("formats", "unknown format '" + name + "'", "there are " + Join(ReportFormatNames(), ", "));
      }
      study.formats.insert(*format);
    }
    if (formats->empty()) table.Fail("formats", "'formats' must name at least one format");
  }
}

ConfigTable WithPreset(const ConfigTable& own, const PresetReader& presets, const std::string& override_name) {
  const auto header = own.Table("study");
  const std::string name = !override_name.empty() ? override_name : header ? header->String("preset").value_or("") : "";
  if (name.empty()) return own;
  const auto preset = presets(name);
  if (!preset) {
    throw Error(ErrorKind::kUsage, header && override_name.empty() ? header->Where("preset") : "",
                "no preset '" + name + "'", "presets are the files configs/NAME.toml");
  }
  return own.WithFallback(*preset);
}

}  // namespace

const std::vector<std::string>& KindsToAccept() {
  using namespace anomaly;
  static const std::vector<std::string> kinds = [] {
    std::vector<std::string> ids;
    for (const Anomaly& anomaly :
         {kTraceEndsEarly, kDamagedLine, kStateMissing, kMpiNameContradicted, kHeaderContradicted, kCallEdgeMissing,
          kClockBackwards, kLeaveWithoutEnter, kRecordOutsideMpi, kRequestUnknown, kPeerOutsideCommunicator,
          kCommunicatorUnknown, kUnmatchedSend, kUnmatchedReceive, kMessageSizeMismatch, kCollectiveMismatch}) {
      ids.emplace_back(anomaly.id);
    }
    return ids;
  }();
  return kinds;
}

std::vector<std::size_t> LargestFirst(const std::vector<RunSpec>& runs) {
  std::vector<std::string> paths;
  std::ranges::transform(runs, std::back_inserter(paths), &RunSpec::trace);
  return LargestFirst(paths);
}

Study ParseStudy(const std::string& text, const std::string& file, const PresetReader& presets,
                 const std::string& preset) {
  const ConfigTable root = WithPreset(ConfigTable::Parse(text, file), presets, preset);
  Study study;
  study.title = fs::path(file).stem().string();
  ParseTable(root, "study", [&](const ConfigTable& table) { ParseHeader(table, study); });
  ParseTable(root, "case", [&](const ConfigTable& table) { ParseCase(table, study); });
  ParseTable(root, "replay", [&](const ConfigTable& table) { ParseReplay(table, study); });
  ParseTable(root, "counters", [&](const ConfigTable& table) {
    study.factors.counters.instructions = table.String("instructions").value_or("");
    study.factors.counters.cycles = table.String("cycles").value_or("");
    study.factors.counters.cpu_time = table.String("cpu_time").value_or("");
  });
  ParseTable(root, "noise", [&](const ConfigTable& table) {
    study.noise = {NetworkName(table.String("network").value_or("calibrated"), file), table.Where("network")};
    const std::string computation =
        OneOf(table, "computation", {"auto", "cycles", "cpu-time", "iterations", "instructions", "none"});
    study.noise->clean_computation = computation != "none";
    study.noise->source = ParseComputationSource(computation);
  });
  ParseTable(root, "growth", [&](const ConfigTable& table) {
    study.growth = {NetworkName(table.String("network").value_or("calibrated"), file), table.Where("network")};
    for (const auto& extents : table.IntegerLists("grid")) study.growth->grids.push_back(ParseGrid(table, extents));
  });
  ParseRuns(root, file, study);
  ParseTable(root, "models", [&](const ConfigTable& table) { ParseModels(table, file, study); });
  ParsePhases(root, study);
  study.groups = ParseGroups(root);
  if (!study.finds_groups && !study.groups.empty()) {
    throw Error(ErrorKind::kUsage, study.groups.front().where, "groups = \"none\" goes with no [[groups]]",
                "leave out one of them");
  }
  ParseTable(root, "projection", [&](const ConfigTable& table) { ParseProjection(table, study.projection); });
  study.report_folder = Relative("report", file);
  study.formats = {ReportFormat::kHtml, ReportFormat::kMarkdown, ReportFormat::kJson, ReportFormat::kCsv};
  ParseTable(root, "report", [&](const ConfigTable& table) { ParseReport(table, file, study); });
  root.RefuseUnknownKeys();
  return study;
}

ProjectionOptions ParseProjectionPreset(const ConfigTable& preset) {
  Study study;
  ParseTable(preset, "models", [&](const ConfigTable& table) { ParseModels(table, "", study); });
  ParseTable(preset, "projection", [&](const ConfigTable& table) { ParseProjection(table, study.projection); });
  return study.projection;
}

ReadOptions WhatToRead(const Study& study, const RunSpec& run, bool for_scenarios) {
  ReadOptions options;
  options.application = run.application;
  options.accepted = run.accepted;
  const CounterNames& names = study.factors.counters;
  if (for_scenarios || names.instructions.empty() || names.cycles.empty()) return options;
  options.all_counters = false;
  options.counters = {names.instructions, names.cycles};
  return options;
}

}  // namespace farscale
