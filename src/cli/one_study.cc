#include "cli/one_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/files.h"
#include "base/text.h"
#include "factors/scaling.h"
#include "report/report.h"
#include "study/resources.h"
#include "study/run_study.h"

namespace farscale {
namespace {

namespace fs = std::filesystem;

// A template that cannot be filled must not lose what was measured.
std::vector<fs::path> Write(const Results& results, const ReportTemplates& templates, const Study& study) {
  try {
    return WriteReport(results, templates, study.report_folder, study.formats);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kUsage) {
      WriteReport(results, templates, study.report_folder, {ReportFormat::kJson, ReportFormat::kCsv});
    }
    throw;
  }
}

// The innermost folder of all files that is more than "traces" or a number of ranks.
std::string NameOf(const InputFiles& files) {
  std::vector<std::string> all = files.traces;
  all.insert(all.end(), files.measured.begin(), files.measured.end());
  fs::path folder = fs::weakly_canonical(all.front()).parent_path();
  for (const std::string& file : all) {
    const fs::path path = fs::weakly_canonical(file);
    while (std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first != folder.end()) {
      folder = folder.parent_path();
    }
  }
  const auto says_nothing = [](const std::string& name) {
    return name == "traces" || std::ranges::all_of(name, [](unsigned char c) { return std::isdigit(c) != 0; });
  };
  while (folder.has_relative_path() && says_nothing(folder.filename().string())) folder = folder.parent_path();
  return folder.has_relative_path() ? ToUtf8(folder.filename().string()) : "runs";
}

void RefuseEditedDraft(const fs::path& file) {
  std::error_code code;
  if (!fs::exists(file, code) || IsUnchangedDraft(ReadFile(file))) return;
  throw Error(ErrorKind::kUsage, file.string(), "was not drafted by farscale run, or was edited since",
              "run it with farscale run " + file.string() + ", or choose another folder with -o");
}

// With how the runs turned out to scale.
fs::path WriteDraft(const StudyToRun& study, const Results& results) {
  DraftedStudy draft = *study.draft;
  draft.draft.removes_noise = !results.variants.empty();
  draft.draft.scaling = results.table.scaling;
  WriteFile(study.file, SealDraft(draft.Text(), "farscale run " + study.file));
  return study.file;
}

}  // namespace

StudyToRun StudyOfFile(const std::string& file) {
  const fs::path path(file);
  const std::string folder = fs::weakly_canonical(path).parent_path().filename().string();
  return {path.stem() == "study" && !folder.empty() ? folder : path.stem().string(), file, ReadFile(file)};
}

StudyToRun StudyOfRuns(const InputFiles& files, const RunOptions& options, const std::string& folder,
                       const Messages& messages) {
  StudyToRun study;
  study.name = NameOf(files);
  study.file = (fs::path(folder) / "study.toml").string();
  RefuseEditedDraft(study.file);
  StudyDraft draft{.traces = {}, .application = options.choice.application, .folder = folder, .title = study.name};
  draft.reports_here = true;
  draft.accepted = options.choice.accepted;
  study.draft = DraftStudy(files, draft, messages.Progress());
  study.text = study.draft->Text();
  if (!files.traced.empty()) {
    messages.Warning(
        fmt::format("{} measured run{} beside {} trace{} of as many ranks: {} once, by the trace (first: {})",
                    files.traced.size(), files.traced.size() == 1 ? " lies" : "s lie",
                    files.traced.size() == 1 ? "a" : "their", files.traced.size() == 1 ? "" : "s",
                    files.traced.size() == 1 ? "it counts" : "each counts", files.traced.front()));
  }
  if (study.draft->draft.measured.empty() && !study.draft->found.loop) messages.Note(study.draft->found.why);
  return study;
}

Study ParseStudyToRun(const StudyToRun& study, const std::string& folder, const RunOptions& options) {
  if (!study.draft && options.choice.application > 0) {
    throw Error(ErrorKind::kUsage, "--application", "the study sets the application of each run",
                "put application = " + std::to_string(options.choice.application) + " into its [[runs]]");
  }
  Study parsed = ParseStudy(study.text, study.file, LoadPreset, options.preset);
  for (RunSpec& run : parsed.runs) options.choice.ApplyTo(run);
  if (!folder.empty()) parsed.report_folder = folder;
  if (options.grow && !parsed.growth) parsed.growth = {"calibrated", study.file};
  return parsed;
}

StudyRun RunOneStudy(const StudyToRun& study, const std::string& folder, const RunOptions& options,
                     const Common& common) {
  const Messages messages(common);
  const Study parsed = ParseStudyToRun(study, folder, options);
  const ModelLibrary library = LoadModels(parsed.model_files);
  const ReportTemplates templates = LoadTemplates(options.templates);
  const bool is_allocation = options.form == "allocation";
  const ReportTemplates form = is_allocation ? LoadFormTemplates("allocation", options.templates) : ReportTemplates();
  CreateFolder(parsed.report_folder);  // before hours of work, not after
  StudyOutcome outcome = RunStudy(parsed, library, messages.Progress(), ScenariosOf(parsed));
  // Nobody has said how these runs scale; what they do is not to be guessed.
  if (const std::string why = study.draft ? WhyMixed(outcome.results.table) : ""; !why.empty()) {
    messages.FindingsOf(outcome.results);
    throw Error(ErrorKind::kUsage, study.name, why, "run those of either kind by themselves");
  }
  StudyRun run;
  run.results = std::move(outcome.results);
  const OnError warnings([&] { messages.FindingsOf(run.results); });
  {
    const ProgressStep step(messages.Progress(), "writing the report");
    run.files = Write(run.results, templates, parsed);
  }
  if (study.draft) run.files.push_back(WriteDraft(study, run.results));
  if (is_allocation && !run.results.table.rows.empty()) {
    WriteAllocationForm(run.results, options.allocation, form, fs::path(parsed.report_folder) / "allocation", common);
  }
  run.code = ReportFailures(run.results.runs, outcome.failure);
  for (const Error& error : study.draft ? study.draft->unreadable : std::vector<Error>()) {
    PrintError(error);
    run.code = error.exit_code();
  }
  if (outcome.shortage) PrintError(*outcome.shortage);
  if (run.code == 0 && outcome.shortage) run.code = outcome.shortage->exit_code();
  return run;
}

}  // namespace farscale
