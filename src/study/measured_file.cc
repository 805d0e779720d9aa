#include "study/measured_file.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/sha256.h"
#include "base/text.h"
#include "factors/anomalies.h"
#include "results/measured_run_json.h"
#include "results/results_json.h"
#include "results/talp_json.h"

namespace farscale {
namespace {

constexpr const char* kWhole = "whole";  // phase of the whole run in these files

// The name in the file of what a phase of a study is; empty for what no such file holds.
std::string NameInFile(const PhaseSpec& spec) {
  if (spec.kind == PhaseSpec::Kind::kWholeRun) return kWhole;
  const bool is_all = spec.part.empty() && spec.skip == 0 && !spec.keep && spec.clean.kind == CleanSpec::Kind::kAll;
  return spec.kind == PhaseSpec::Kind::kRegion && is_all ? spec.region : "";
}

PhaseNotFound NotFound(const PhaseSpec& spec, const std::string& path, const std::vector<std::string>& known) {
  const std::string name = NameInFile(spec);
  return {ErrorKind::kUsage, spec.where.empty() ? path : spec.where + ", " + path,
          "phase '" + spec.name + "' was not measured" +
              (name.empty() ? ": a measured run knows whole runs and whole regions alone" : DidYouMean(name, known))};
}

// As farscale measure writes it; TALP writes none.
std::string ProgramOf(const std::string& text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  const auto program = json.is_object() ? json.find("program") : json.end();
  return json.is_object() && program != json.end() && program->is_string() ? program->get<std::string>() : "";
}

RunRecord RecordOf(const RunSpec& spec, const FactorTable& table, const std::string& text) {
  RunRecord record;
  record.path = spec.trace;
  record.size = spec.size;
  record.format = FormatOfResults(text, spec.trace);
  Sha256 hash;
  hash.Add(text);
  record.fingerprint = hash.Hex();
  record.program = ProgramOf(text);
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

}  // namespace

bool IsMeasuredFile(const std::string& path) {
  if (std::filesystem::path(path).extension() != ".json") return false;
  try {
    const std::string format = FormatOfResults(ReadFile(path), path);
    return format == kMeasuredRunFormat || format == kTalpFormat;
  } catch (const Error&) {
    return false;
  }
}

std::size_t RanksOfMeasuredFile(const std::string& path) {
  const nlohmann::json json = nlohmann::json::parse(ReadFile(path), nullptr, false);
  const auto ranks = json.is_object() ? json.find("ranks") : json.end();
  return json.is_object() && ranks != json.end() && ranks->is_number_unsigned() ? ranks->get<std::size_t>() : 0;
}

FactorTable ReadMeasuredFiles(const std::vector<std::string>& paths) {
  std::vector<TalpFile> talp;
  std::vector<MeasuredRunFile> measured;
  for (const std::string& path : paths) {
    const std::string text = ReadFile(path);
    if (FormatOfResults(text, path) == kTalpFormat) {
      talp.push_back({text, path});
    } else {
      measured.push_back({text, path});
    }
  }
  if (!talp.empty() && !measured.empty()) {
    throw Error(ErrorKind::kUsage, talp.front().file,
                "was measured by TALP, but " + measured.front().file + " by farscale measure",
                "their times are not counted alike; make a study for each");
  }
  return talp.empty() ? TableOfMeasuredRuns(measured) : TableOfTalpFiles(talp);
}

AnalysedRun AnalyseMeasuredFile(const Study& study, const RunSpec& spec, std::size_t scenarios, bool wants_losses) {
  AnalysedRun result;
  const FactorTable table = ReadMeasuredFiles({spec.trace});
  result.record = RecordOf(spec, table, ReadFile(spec.trace));
  std::vector<std::string> known;
  for (const FactorRow& row : table.rows) known.push_back(row.phase.name);
  for (const PhaseSpec& phase : study.phases) {
    PhaseRows& rows = result.rows.emplace_back();
    std::optional<PhaseNotFound>& missing = result.missing.emplace_back();
    const auto found = std::ranges::find(known, NameInFile(phase));
    if (found == known.end()) {
      missing = NotFound(phase, spec.trace, known);
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

}  // namespace farscale
