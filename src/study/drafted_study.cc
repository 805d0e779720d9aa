#include "study/drafted_study.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/sha256.h"
#include "base/text.h"
#include "phases/phase_spec.h"
#include "study/measured_file.h"
#include "study/run_structures.h"

namespace farscale {
namespace {

constexpr std::string_view kSeal = "# Drafted by farscale run, which writes it again unless it was edited. Checksum: ";

std::string Checksum(std::string_view text) {
  Sha256 hash;
  hash.Add(text);
  return hash.Hex().substr(0, 16);
}

void LeaveOut(DraftedStudy& study, const Error& error) {
  study.unreadable.push_back(error);
  study.draft.left_out.emplace_back(error.what());
}

void DraftTraces(DraftedStudy& study, const std::vector<std::string>& traces, const ProgressSink& progress) {
  ReadOptions options;
  if (study.draft.application > 0) options.application = study.draft.application;
  options.accepted = study.draft.accepted;
  RunStructures runs = ReadStructures(traces, PhaseSpec::FoundLoop(), true, options, progress);
  std::vector<PhaseStructure> structures;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    if (runs.errors[i]) {
      LeaveOut(study, *runs.errors[i]);
      continue;
    }
    study.draft.traces.push_back(traces[i]);
    structures.push_back(std::move(runs.structures[i]));
  }
  if (!structures.empty()) study.found = PhasesOf(study.draft.traces, runs.spec, structures);
}

std::vector<std::string> RegionsOf(const FactorTable& table) {
  std::vector<std::string> regions;
  for (const FactorRow& row : table.rows) {
    if (row.phase != PhaseId("whole")) regions.push_back(row.phase.name);
  }
  return regions;
}

// Of measured runs the regions that all have; traces are cut at the same.
void DraftMeasured(DraftedStudy& study, const std::vector<std::string>& files) {
  bool is_first = true;
  for (const std::string& file : files) {
    try {
      const std::vector<std::string> regions = RegionsOf(ReadMeasuredFiles({file}));
      if (is_first) study.regions = regions;
      is_first = false;
      std::erase_if(study.regions, [&](const std::string& name) { return std::ranges::count(regions, name) == 0; });
      study.draft.measured.push_back(file);
    } catch (const Error& error) {
      LeaveOut(study, error);
    }
  }
  if (study.draft.measured.size() < 2) return;
  const FactorTable table = ReadMeasuredFiles(study.draft.measured);
  study.draft.scaling = table.scaling;
  const std::vector<std::string> programs = table.Series();
  if (programs.size() > 1) {
    throw Error(ErrorKind::kUsage, "", "the measured runs are of several programs: " + Join(programs, ", "),
                "name the files of one program");
  }
}

}  // namespace

std::string DraftedStudy::Text() const {
  return draft.measured.empty() ? WriteStudyDraft(draft, found) : WriteStudyDraft(draft, regions);
}

DraftedStudy DraftStudy(const InputFiles& files, const StudyDraft& draft, const ProgressSink& progress) {
  DraftedStudy study;
  study.draft = draft;
  DraftMeasured(study, files.measured);
  DraftTraces(study, files.traces, progress);
  for (const std::string& file : files.traced)
    study.draft.left_out.push_back(file + ": the run of the trace beside it");
  if (study.draft.traces.empty() && study.draft.measured.empty()) throw study.unreadable.front();
  study.draft.removes_noise = study.draft.measured.empty();
  return study;
}

std::string SealDraft(const std::string& text, const std::string& command) {
  // Comments name files as they are; what is no UTF-8 there is no TOML.
  std::string line = command;
  std::ranges::replace_if(
      line, [](unsigned char c) { return c < 0x20; }, ' ');
  const std::string body = ToUtf8("# Change it and run it: " + line + "\n" + text);
  return std::string(kSeal) + Checksum(body) + "\n" + body;
}

bool IsUnchangedDraft(const std::string& text) {
  const std::size_t end = text.find('\n');
  if (!text.starts_with(kSeal) || end == std::string::npos) return false;
  return text.substr(kSeal.size(), end - kSeal.size()) == Checksum(std::string_view(text).substr(end + 1));
}

}  // namespace farscale
