#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/table_options.h"
#include "factors/scaling.h"
#include "report/sections.h"
#include "models/scaling_model.h"
#include "report/digest.h"
#include "report/report.h"
#include "results/results.h"
#include "results/results_json.h"
#include "study/input_files.h"
#include "study/measure_run.h"
#include "study/run_study.h"
#include "study/study.h"
#include "study/study_draft.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

namespace fs = std::filesystem;

struct RunOptions : TraceOptions {
  std::string form = "report";
  bool grow = false;
  AllocationFormOptions allocation;
};

struct StudyToRun {
  std::string name;  // in tables, and of its folder where there are several
  std::string file;  // where the study stands; of a draft, where it is written
  std::string text;
  std::optional<StudyDraft> draft = std::nullopt;
  std::string folder = "";  // for its report; empty: as the study says
  // The fate of this study among several.
  std::string report = "";       // the folder that the report is in
  std::string fingerprint = "";  // hash of all inputs; empty: some cannot be read
  std::uint64_t memory = 0;      // bytes that running it is expected to take
  ListedStudy row = {};
  int code = 0;
};

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

StudyToRun StudyOfFile(const std::string& file) {
  const fs::path path(file);
  const std::string folder = fs::weakly_canonical(path).parent_path().filename().string();
  return {path.stem() == "study" && !folder.empty() ? folder : path.stem().string(), file, ReadFile(file)};
}

// A study of runs without one, for a report in `folder`. Throws a usage error when somebody has edited an earlier draft
// there, and as DraftStudy.
StudyToRun StudyOfRuns(const InputFiles& files, const RunOptions& options, const std::string& folder,
                       const Messages& messages) {
  StudyToRun study;
  study.name = NameOf(files);
  study.file = (fs::path(folder) / "study.toml").string();
  std::error_code code;
  if (fs::exists(study.file, code) && !IsUnchangedDraft(ReadFile(study.file))) {
    throw Error(ErrorKind::kUsage, study.file, "was not drafted by farscale run, or was edited since",
                "run it with farscale run " + study.file + ", or choose another folder with -o");
  }
  StudyDraft draft{.traces = {}, .application = options.application, .folder = folder, .title = study.name};
  draft.reports_here = true;
  draft.accepted = options.accepted;
  study.draft = DraftStudy(files, std::move(draft), messages.Progress());
  study.text = study.draft->Text();
  if (!files.traced.empty()) {
    messages.Warning(
        fmt::format("{} measured run{} beside {} trace{} of as many ranks: {} once, by the trace (first: {})",
                    files.traced.size(), files.traced.size() == 1 ? " lies" : "s lie",
                    files.traced.size() == 1 ? "a" : "their", files.traced.size() == 1 ? "" : "s",
                    files.traced.size() == 1 ? "it counts" : "each counts", files.traced.front()));
  }
  if (study.draft->measured.empty() && !study.draft->found.loop) messages.Note(study.draft->found.why);
  return study;
}

// As the options have it.
Study ParseStudyToRun(const StudyToRun& study, const RunOptions& options) {
  if (!study.draft && options.application > 0) {
    throw Error(ErrorKind::kUsage, "--application", "the study sets the application of each run",
                "put application = " + std::to_string(options.application) + " into its [[runs]]");
  }
  Study parsed = ParseStudy(study.text, study.file, LoadPreset, options.preset);
  for (RunSpec& run : parsed.runs) options.ApplyTo(run);
  if (!study.folder.empty()) parsed.report_folder = study.folder;
  if (options.grow && !parsed.growth) parsed.growth = {"calibrated", study.file};
  return parsed;
}

// Runs the study and writes its report, and the draft beside it. Returns the exit code, whose reason was printed.
int RunOneStudy(const StudyToRun& study, const RunOptions& options, const Common& common, Results& results,
                std::vector<fs::path>& written) {
  const Messages messages(common);
  const Study parsed = ParseStudyToRun(study, options);
  const ModelLibrary library = LoadModels(parsed.model_files);
  const ReportTemplates templates = LoadTemplates(options.templates);
  const bool is_allocation = options.form == "allocation";
  const ReportTemplates form = is_allocation ? LoadFormTemplates("allocation", options.templates) : ReportTemplates();
  CreateFolder(parsed.report_folder);  // before hours of work, not after
  StudyResults outcome = RunStudy(parsed, library, messages.Progress(), ScenariosOf(parsed));
  // Nobody has said how these runs scale; what they do is not to be guessed.
  if (const std::string why = study.draft ? WhyMixed(outcome.table) : ""; !why.empty()) {
    messages.FindingsOf(outcome.table, outcome.runs);
    throw Error(ErrorKind::kUsage, study.name, why, "run those of either kind by themselves");
  }
  results = std::move(outcome);
  const OnError warnings([&] { messages.FindingsOf(results.table, results.runs); });
  {
    const ProgressStep step(messages.Progress(), "writing the report");
    written = Write(results, templates, parsed);
  }
  if (study.draft) {  // with how the runs turned out to scale
    StudyDraft draft = *study.draft;
    draft.removes_noise = !results.variants.empty();
    draft.scaling = results.table.scaling;
    WriteFile(study.file, SealDraft(draft.Text(), "farscale run " + study.file));
    written.emplace_back(study.file);
  }
  if (is_allocation && !results.table.rows.empty()) {
    WriteAllocationForm(results, options.allocation, form, fs::path(parsed.report_folder) / "allocation", common);
  }
  int code = ReportFailures(results.runs, outcome.failure);
  for (const Error& error : study.draft ? study.draft->unreadable : std::vector<Error>()) {
    PrintError(error);
    code = error.exit_code();
  }
  if (outcome.shortage) PrintError(*outcome.shortage);
  return code == 0 && outcome.shortage ? outcome.shortage->exit_code() : code;
}

// Several studies within one budget of threads and memory: side by side where it suffices for several.

// In the folder of a report: what it was made of, and the exit code.
constexpr const char* kStamp = "inputs.sha256";

// Chosen: with its handful of runs a study keeps about so many threads busy.
constexpr std::size_t kThreadsOfStudy = 4;
// Memory of a study beside its traces. Chosen with room to spare: studies with 2 to 6 MB of traces take 40 MB
// together.
constexpr std::uint64_t kMemoryOfStudy = 128 << 20;

void AddFile(const fs::path& path, Sha256& hash) { hash.Add(path.string() + "\n" + ReadFile(path)); }

void AddFolder(const fs::path& folder, Sha256& hash) {
  std::vector<fs::path> paths;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.is_regular_file()) paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  for (const fs::path& path : paths) AddFile(path, hash);
}

bool IsFileOfUser(const std::string& network) { return fs::path(network).extension() == ".toml"; }

// Hash of everything that the report is made of: program, study, options, runs, models, networks, templates. Throws
// when some of it cannot be read.
std::string FingerprintOf(const StudyToRun& input, const Study& study, const RunOptions& options) {
  Sha256 hash;
  hash.Add(BuildDescription() + input.text);
  hash.Add(fmt::format("\n{} {} {}\n", options.preset, options.grow, Join(options.accepted, ",")));
  for (const RunSpec& run : study.runs) {
    if (run.is_measured) {
      AddFile(run.trace, hash);
    } else {
      hash.Add(run.trace + " " + FingerprintOfTrace(run.trace) + "\n");
    }
  }
  for (const std::string& path : study.model_files)
    fs::is_directory(path) ? AddFolder(path, hash) : AddFile(path, hash);
  if (study.noise && IsFileOfUser(study.noise->network)) AddFile(study.noise->network, hash);
  if (study.growth && IsFileOfUser(study.growth->network)) AddFile(study.growth->network, hash);
  if (!options.templates.empty()) AddFolder(options.templates, hash);
  return hash.Hex();
}

// Errors are reported and decide the exit code of the study.
void Guard(StudyToRun& entry, const std::function<void()>& body) {
  const auto fail = [&](const Error& error) {
    PrintError(error);
    entry.code = error.exit_code();
    entry.row.is_failed = true;
  };
  try {
    body();
  } catch (const Error& error) {
    fail(error);
  } catch (const std::bad_alloc&) {
    fail(Error(ErrorKind::kInput, entry.file, "out of memory"));
  }
}

std::vector<StudyToRun> StudiesFor(const InputFiles& files, const RunOptions& options, const Messages& messages) {
  std::vector<StudyToRun> entries;
  std::set<std::string> taken;
  const auto folder_of = [&](const std::string& name) {
    return options.output.empty() ? "" : (fs::path(options.output) / UniqueSlug(name, taken)).string();
  };
  const auto add = [&](const auto& make) {
    StudyToRun& entry = entries.emplace_back();
    Guard(entry, [&] {
      make(entry);
      entry.row.name = entry.name;
      entry.report = ParseStudyToRun(entry, options).report_folder;
    });
  };
  for (const std::string& file : files.studies) {
    add([&](StudyToRun& entry) {
      entry.row.name = entry.name = entry.file = file;
      entry = StudyOfFile(file);
      entry.folder = folder_of(entry.name);
    });
  }
  if (!files.HasRuns()) return entries;
  add([&](StudyToRun& entry) {
    entry.row.name = "runs without a study";
    const std::string folder = folder_of("runs");
    entry = StudyOfRuns(files, options, folder.empty() ? "report" : folder, messages);
  });
  return entries;
}

bool IsUpToDate(StudyToRun& entry, const Study& study, const RunOptions& options) {
  std::error_code code;
  const fs::path stamp = fs::path(study.report_folder) / kStamp;
  const fs::path results = fs::path(study.report_folder) / "results.json";
  if (entry.fingerprint.empty() || options.form != "report" || !fs::exists(stamp, code) || !fs::exists(results, code)) {
    return false;
  }
  const std::vector<std::string> words = Split(Trim(ReadFile(stamp)), ' ');
  long long earlier = 0;
  if (words.size() != 2 || words[0] != entry.fingerprint || !ParseInteger(words[1], earlier)) return false;
  if (study.formats.contains(ReportFormat::kHtml) && !fs::exists(entry.row.report, code)) return false;
  entry.row.results = ReadResultsJsonUnchecked(ReadFile(results), results.string());
  entry.code = static_cast<int>(earlier);
  entry.row.is_up_to_date = true;
  return true;
}

// Finds out if the report is up to date, and how much memory running the study takes.
void Prepare(StudyToRun& entry, const RunOptions& options) {
  const Study study = ParseStudyToRun(entry, options);
  try {
    entry.fingerprint = FingerprintOf(entry, study, options);
  } catch (const Error&) {  // said when the study is run
  }
  entry.row.report = (fs::path(study.report_folder) / "report.html").string();
  if (IsUpToDate(entry, study, options)) return;
  entry.memory = kMemoryOfStudy;
  for (const RunSpec& run : study.runs) entry.memory += ExpectedMemory(run, Detail::kLosses);
}

void RunEntry(StudyToRun& entry, const RunOptions& options, const Common& common) {
  Messages(common).Note("study " + entry.file);
  const fs::path stamp = fs::path(entry.report) / kStamp;
  std::error_code code;
  fs::remove(stamp, code);
  Results results;
  std::vector<fs::path> written;
  entry.code = RunOneStudy(entry, options, common, results, written);
  Messages(common).FindingsOf(results.table, results.runs);
  entry.row.results = std::move(results);
  const bool is_final = entry.code == 0 || entry.code == static_cast<int>(ErrorKind::kNotEnoughData);
  if (is_final && !entry.fingerprint.empty()) WriteFile(stamp, fmt::format("{} {}\n", entry.fingerprint, entry.code));
}

void RunEntries(std::vector<StudyToRun>& entries, const RunOptions& options, const Common& given) {
  std::map<fs::path, std::string> taken;
  for (const StudyToRun& entry : entries) {
    if (entry.report.empty()) continue;
    const auto [other, is_new] = taken.try_emplace(fs::weakly_canonical(entry.report), entry.file);
    if (is_new) continue;
    throw Error(ErrorKind::kUsage, entry.file,
                "writes its report to " + entry.report + ", as " + other->second + " does",
                "give a folder for all reports with -o");
  }
  std::vector<StudyToRun*> to_run;
  for (StudyToRun& entry : entries) {
    if (entry.code == 0) Guard(entry, [&] { Prepare(entry, options); });
    if (entry.code == 0 && !entry.row.is_up_to_date) to_run.push_back(&entry);
  }
  const std::size_t most = std::min(to_run.size(), std::max<std::size_t>(1, ThreadsAtOnce() / kThreadsOfStudy));
  Common common = given;
  common.shows_progress = most == 1;
  // Studies that are being run are a line of progress.
  const Messages messages(given);
  const ProgressSink sink = most == 1 ? ProgressSink() : messages.Progress();
  std::mutex mutex;
  std::vector<std::string> running;
  std::size_t done = 0;
  const auto show = [&] {
    if (sink) sink(done, to_run.size(), Join(running, ", "));
  };
  std::vector<Piece> pieces;
  for (StudyToRun* entry : to_run) {
    pieces.push_back({entry->memory, [&, entry] {
                        {
                          const std::lock_guard lock(mutex);
                          running.push_back(entry->name);
                          show();
                        }
                        Guard(*entry, [&] { RunEntry(*entry, options, common); });
                        const std::lock_guard lock(mutex);
                        running.erase(std::ranges::find(running, entry->name));
                        ++done;
                        show();
                      }});
  }
  RunSideBySide(pieces, most, MemoryBudget());
}

// One that fails does not stop the others. A study whose report was made by this program of the same inputs is not run
// again. Prints a row a study, and writes a page with the same where there is a folder for all. Returns the largest
// exit code.
int RunBatch(const InputFiles& files, const RunOptions& options, const Common& common) {
  if (!options.output.empty()) CreateFolder(options.output);
  std::vector<StudyToRun> entries = StudiesFor(files, options, Messages(common));
  RunEntries(entries, options, common);
  std::vector<ListedStudy> rows;
  for (const StudyToRun& entry : entries) rows.push_back(entry.row);
  const ReportTemplates templates = LoadTemplates(options.templates);
  if (!common.quiet) fmt::print("{}", FormatBatch(rows, templates.partials, StyleOf(common)));
  for (const ListedStudy& row : rows) {
    if (common.quiet && row.results) fmt::print("{}\n", row.report);
  }
  if (!options.output.empty()) {
    const ReportTemplates studies = LoadFormTemplates("studies", options.templates);
    PrintWritten(WriteStudies(rows, studies, options.output, {ReportFormat::kHtml, ReportFormat::kMarkdown}), common);
  }
  return std::ranges::max(entries, {}, &StudyToRun::code).code;
}

// Every sentence of every phase.
void PrintPhases(const Results& results, const Partials& texts) {
  const auto print = [](const std::vector<std::string>& sentences) { PrintSentences(sentences, 2); };
  for (const auto& [series, phase] : results.table.Keys()) {
    const PhaseProjection* found = FindPhase(results.projections, {series, phase});
    fmt::print("Phase {}\n", phase.Text());
    print(SummarizePhase(results.table.Rows(series, phase), found, texts));
    if (found != nullptr) print(SummarizeKeyResults(*found, texts));
    print(SummarizeBacktest(results, series, phase, texts));
    print(SummarizeComparison(results, series, phase, texts));
  }
  if (!results.projections.empty()) PrintSentences({texts.at("interval_note").text});
}

// Prints the written files, in one line where it fits: "wrote report/report.html, report.md and results.json". Alone, a
// path a line.
void PrintFiles(const std::vector<std::filesystem::path>& files, const Common& common) {
  if (common.verbose && !common.quiet) return PrintWritten(files, common);
  std::vector<std::string> names;
  for (const std::filesystem::path& file : files) {
    if (file.parent_path().filename() == "figures") continue;
    if (common.quiet) fmt::print("{}\n", file.string());
    names.push_back(names.empty() ? file.string() : file.filename().string());
  }
  if (common.quiet || names.empty()) return;
  const std::string last = names.back();
  names.pop_back();
  const std::string text = names.empty() ? last : Join(names, ", ") + " and " + last;
  for (const std::string& line : WrapText("wrote " + text, StyleOf(common).columns, "  ")) fmt::print("{}\n", line);
}

int Run(const RunOptions& options, const Common& common) {
  if (options.form != "allocation") RefuseAllocationOptions(options.allocation);
  const InputFiles files = FindInputFiles(options.inputs);
  if (files.studies.size() + (files.HasRuns() ? 1 : 0) > 1) return RunBatch(files, options, common);
  StudyToRun study;
  if (files.HasRuns()) {
    study = StudyOfRuns(files, options, options.output.empty() ? "report" : options.output, Messages(common));
  } else {
    study = StudyOfFile(files.studies.front());
    study.folder = options.output;
  }
  Results results;
  std::vector<fs::path> written;
  const int code = RunOneStudy(study, options, common, results, written);
  const Partials texts = LoadTemplates(options.templates).partials;
  if (common.verbose && !common.quiet) PrintPhases(results, texts);
  if (!common.verbose && !common.quiet) fmt::print("{}", FormatDigest(results, texts, StyleOf(common)));
  if (!common.quiet) fmt::print("{}", FormatBestSplits(results, texts, StyleOf(common)));
  PrintFiles(written, common);
  Messages(common).FindingsOf(results.table, results.runs);
  return code;
}

}  // namespace

void AddRunCommand(CommandLine& line) {
  auto [command, options] = AddCommand<RunOptions>(
      line, "run", "Measure the factors of every run and phase, fit, extrapolate, write a report", Run);
  command->footer(
      "Runs without a study: their phases are marked loops or loops found in the calls, scaling is taken from how the\n"
      "work grows, and the study is written beside the report, for editing. Of several studies\n"
      "those whose report is up to date are not run again. The others are run side by side where there are threads "
      "and\n"
      "memory for several; a table and a page show all of them.\n"
      "docs/study-file.md describes the study file. --form allocation also writes what farscale report --form\n"
      "allocation does, into the folder allocation in that of the report.");
  command
      ->add_option("input", options.inputs,
                   "Studies (.toml), traces (.otf2, .prv, .prv.gz), runs that farscale measure or TALP has measured "
                   "(.json), or folders with any of these")
      ->required();
  command->add_option(
      "-o,--output", options.output,
      "Folder of the report (default: as the study says, else report); of several, a folder with one for each");
  command->add_option("--preset", options.preset, "Preset whose settings fill what the study leaves out");
  AddTemplatesOption(command, options.templates);
  AddTraceOptions(command, options);
  command->add_flag("--grow", options.grow,
                    "Also replay the program at the targets, and weigh that against the curves (docs/growth.md)");
  AddChoiceOption(command, "--form", options.form, {"report", "allocation"},
                  "report (default), or allocation for that and an allocation pack");
  AddAllocationOptions(command, options.allocation);
}

}  // namespace farscale
