#include "cli/command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "base/files.h"
#include "base/text.h"
#include "factors/factor_table.h"
#include "factors/scaling.h"
#include "gate/history_json.h"
#include "pages/render.h"
#include "results/run_record.h"
#include "study/input_files.h"
#include "study/phase_structure.h"
#include "study/study.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

// Broken at the width of the terminal that the stream is; whole in files.
void PrintLine(std::FILE* stream, const std::string& line) {
  const int file = fileno(stream);
  const std::size_t width = IsTerminal(file) ? TerminalColumns(file) : kAnyWidth;
  fmt::print(stream, "{}\n", Join(WrapText(line, width, "  "), "\n"));
}

bool IsStudy(const std::string& path) { return std::filesystem::path(path).extension() == ".toml"; }

}  // namespace

void AddInputOptions(CLI::App* command, TraceOptions& options) {
  command->add_option("input", options.inputs, "A study file, or traces of one program (.otf2, .prv, .prv.gz)")
      ->required();
  AddTraceOptions(command, options);
}

void AddTraceInput(CLI::App* command, TraceOptions& options) {
  command->add_option("trace", options.trace, "The trace: anchor file of an OTF2 archive, or a Paraver trace")
      ->required();
}

CLI::Option* AddChoiceOption(CLI::App* command, const std::string& name, std::string& choice,
                             const std::vector<std::string>& choices, const std::string& text) {
  return command->add_option(name, choice, text)->check(CLI::IsMember(choices));
}

void AddPhaseOption(CLI::App* command, TraceOptions& options) {
  command
      ->add_option(
          "--phase", options.phases,
          "Region to analyse, by name or as /regular expression/, or auto for the loop of the runs; repeat for "
          "several (default: the study's phases, or the whole run)")
      ->allow_extra_args(false);
}

void AddGrowOption(CLI::App* command, TraceOptions& options) {
  command
      ->add_option("--grow-to", options.grow_to,
                   "Also show the program on these numbers of cores, such as 256,1024, as grown from the runs "
                   "(docs/growth.md)")
      ->delimiter(',')
      ->check(CLI::Range(2, 1 << 20));
}

void AddPageOptions(CLI::App* command, TraceOptions& options) {
  command->add_option("--top", options.top, "Rows of each table")->check(CLI::Range(1, 1000000))->capture_default_str();
  command->add_option("-o,--output", options.output,
                      "File to write: .html, .md, .json (everything; - prints it); or a folder for all three");
  AddTemplatesOption(command, options.templates);
}

void AddCounterOptions(CLI::App* command, TraceOptions& options) {
  command->add_option("--instructions", options.counters.instructions, "Counter that holds instructions");
  command->add_option("--cycles", options.counters.cycles, "Counter that holds cycles");
}

void AddIterationOptions(CLI::App* command, TraceOptions& options) {
  command->add_option("--skip", options.skip, "Leave out this many iterations at the beginning")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--keep", options.keep, "Keep this many iterations")->check(Positive());
}

void AddTemplatesOption(CLI::App* command, std::string& folder) {
  command->add_option("--templates", folder,
                      "Folder with your own templates; missing ones come from farscale (docs/templates.md)");
}

void AddTraceOptions(CLI::App* command, TraceOptions& options) {
  command
      ->add_option("--application", options.application,
                   "Application to read from a Paraver trace with several, counted from 1")
      ->check(CLI::Range(1, 1000000));
  command
      ->add_option("--accept", options.accepted,
                   "Use traces although they have this anomaly, such as stateMissing; outputs warn of it; repeatable")
      ->type_name("KIND")
      ->allow_extra_args(false)
      ->check(CLI::IsMember(KindsToAccept()));
  command->add_flag_callback(
      "--accept-truncated", [&options] { options.accepted.emplace_back("traceEndsEarly"); },
      "Same as --accept traceEndsEarly: more than 1 % of a Paraver trace is missing at its end");
}

ReadOptions TraceOptions::Reading(bool keep_threads) const {
  ReadOptions reading;
  if (application > 0) reading.application = application;
  reading.accepted = accepted;
  reading.keep_threads = keep_threads;
  return reading;
}

void TraceOptions::ApplyTo(RunSpec& run) const {
  if (application > 0) run.application = application;
  run.accepted.insert(run.accepted.end(), accepted.begin(), accepted.end());
}

Study StudyOfInputs(const TraceOptions& options) {
  const std::vector<std::string>& inputs = options.inputs;
  if (IsStudy(inputs.front())) {
    if (options.application > 0) {
      throw Error(ErrorKind::kUsage, "--application", "the study sets the application of each run",
                  "put application = " + std::to_string(options.application) + " into its [[runs]]");
    }
    if (inputs.size() > 1) {
      throw Error(ErrorKind::kUsage, inputs[1], "one study at a time, or traces without a study");
    }
    Study study = ParseStudy(ReadFile(inputs.front()), inputs.front(), LoadPreset, options.preset);
    for (RunSpec& run : study.runs) options.ApplyTo(run);
    if (!options.phases.empty()) study.phases = PhasesNamed(options.phases, study.runs);
    return study;
  }
  if (!options.preset.empty()) {
    throw Error(ErrorKind::kUsage, "--preset", "a preset fills what a study leaves out, but there is no study");
  }
  Study study;
  for (const std::string& input : inputs) {
    if (IsStudy(input)) throw Error(ErrorKind::kUsage, input, "one study at a time, or traces without a study");
    for (const RunSpec& other : study.runs) {
      if (std::filesystem::weakly_canonical(other.trace) != std::filesystem::weakly_canonical(input)) continue;
      throw Error(ErrorKind::kUsage, input, "the trace is given twice");
    }
    RunSpec run;
    run.trace = input;
    options.ApplyTo(run);
    study.runs.push_back(run);
  }
  study.title = std::filesystem::path(inputs.front()).stem().string();
  study.phases =
      options.phases.empty() ? std::vector<PhaseSpec>{PhaseSpec::WholeRun()} : PhasesNamed(options.phases, study.runs);
  study.formats = {ReportFormat::kHtml, ReportFormat::kMarkdown, ReportFormat::kJson, ReportFormat::kCsv};
  return study;
}

void Messages::Note(const std::string& text) const {
  if (common_.verbose && !common_.quiet) PrintLine(stderr, "note: " + text);
}

void Messages::Warning(const std::string& text) const {
  if (common_.quiet) return;
  std::fflush(stdout);  // the answer comes first, also into a pipe
  PrintLine(stderr, "warning: " + text);
}

void Messages::Findings(const std::string& where, const std::vector<Finding>& findings) const {
  for (const Finding& finding : findings) {
    const bool is_brief = !common_.verbose && IsTerminal(STDERR_FILENO);
    const std::string text = ToSentence(finding, where, is_brief ? TerminalColumns(STDERR_FILENO) : kAnyWidth);
    const bool is_bold = PutsAllInDoubt(finding) && IsColored(common_, STDERR_FILENO);
    if (finding.severity == Severity::kWarning) {
      Warning(is_bold ? Paint(text, Tone::kBold) : text);
    } else {
      Note(text);
    }
  }
}

void Messages::FindingsOf(const FactorTable& table, const std::vector<RunRecord>& runs) const {
  Findings("", table.findings);
  for (const RunRecord& run : runs) Findings(run.path, run.findings);
}

ProgressSink Messages::Progress() const {
  using Clock = std::chrono::steady_clock;
  const bool terminal = IsTerminal(STDERR_FILENO);
  auto begin = std::make_shared<Clock::time_point>(Clock::now());
  return [this, terminal, begin](std::size_t done, std::size_t total, const std::string& what) {
    if (common_.quiet) return;
    if (done == 0) *begin = Clock::now();
    if (common_.verbose) {
      if (done > 0 && !what.empty()) PrintLine(stderr, fmt::format("[{}/{}] {}", done, total, what));
    } else if (terminal && common_.shows_progress) {
      std::string line = fmt::format("[{}/{}] {}", done, total, what);
      // As the steps so far suggest, once they do and where it is worth a word.
      const double seconds = std::chrono::duration<double>(Clock::now() - *begin).count();
      const double left = done > 0 ? seconds * static_cast<double>(total - done) / static_cast<double>(done) : 0;
      const bool is_worth_it = seconds >= 1 && left >= 1;
      if (is_worth_it && left < 100) line += fmt::format(", about {:.0f} s left", left);
      if (is_worth_it && left >= 100) line += fmt::format(", about {:.0f} min left", left / 60);
      fmt::print(stderr, "\r\033[K");
      // The last column stays free, or the line would wrap.
      if (done < total) fmt::print(stderr, "{}", Shorten(line, TerminalColumns(STDERR_FILENO) - 1));
      std::fflush(stderr);
    }
  };
}

bool IsColored(const Common& common, int file) {
  if (common.color != "auto") return common.color == "always";
  return FromEnvironment({"NO_COLOR"}).empty() && IsTerminal(file);
}

TerminalStyle StyleOf(const Common& common) {
  return {TerminalColumns(STDOUT_FILENO), IsColored(common, STDOUT_FILENO)};
}

std::size_t WidthOfOutput() { return IsTerminal(STDOUT_FILENO) ? TerminalColumns(STDOUT_FILENO) : kAnyWidth; }

void PrintSentences(const std::vector<std::string>& sentences, std::size_t indent) {
  const std::string blanks(indent, ' ');
  for (const std::string& sentence : sentences) {
    for (const std::string& line : WrapText(blanks + sentence, WidthOfOutput(), blanks + "  ")) {
      fmt::print("{}\n", line);
    }
  }
}

void PrintError(const Error& error) { PrintLine(stderr, std::string("farscale: ") + error.what()); }

bool IsFile(const std::string& output) { return !output.empty() && output != "-"; }

std::size_t OnStandardOutput(const std::vector<std::string>& outputs) {
  const auto count = std::ranges::count(outputs, "-");
  if (count > 1) {
    throw Error(ErrorKind::kUsage, "-", "several outputs go to standard output", "give a file name to all but one");
  }
  return static_cast<std::size_t>(count);
}

void PrintWritten(const std::vector<std::filesystem::path>& files, const Common& common) {
  for (const std::filesystem::path& file : files) {
    if (!common.quiet && file.parent_path().filename() != "figures") fmt::print("wrote {}\n", file.string());
  }
}

int ReportFailures(const std::vector<RunRecord>& runs, const std::optional<Error>& failure) {
  for (const RunRecord& run : runs) {
    if (!run.error.empty()) PrintError(Error(ErrorKind::kInput, "run failed", run.error));
  }
  return failure ? failure->exit_code() : 0;
}

PageForm PageFormOf(const std::string& output) {
  if (output.empty()) return PageForm::kText;
  const std::string ending = std::filesystem::path(output).extension().string();
  if (output == "-" || ending == ".json") return PageForm::kJson;
  if (ending == ".html") return PageForm::kHtml;
  if (ending == ".md") return PageForm::kMarkdown;
  if (ending.empty()) return PageForm::kFolder;
  throw Error(ErrorKind::kUsage, output, "the name of the output must end in .html, .md or .json, or be a folder");
}

void WriteOutput(const std::string& path, const std::string& text) {
  if (path == "-") {
    fmt::print("{}", text);
    if (std::fflush(stdout) != 0) throw Error(ErrorKind::kOutput, "standard output", "cannot be written");
    return;
  }
  WriteFile(path, text);
}

std::string FromEnvironment(const std::vector<const char*>& names) {
  for (const char* name : names) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return "";
}

std::string DateGiven(const std::string& date_option) {
  if (date_option == "now") return DateFromSeconds(static_cast<std::int64_t>(std::time(nullptr)));
  std::string text = date_option;
  if (text.empty()) text = FromEnvironment({"CI_COMMIT_TIMESTAMP"});
  long long seconds = 0;
  if (text.empty() && ParseInteger(FromEnvironment({"SOURCE_DATE_EPOCH"}), seconds)) return DateFromSeconds(seconds);
  if (text.empty()) {
    throw Error(ErrorKind::kUsage, "--date", "the date of the results is not known",
                "give --date \"$(git show -s --format=%cI)\" or --date now, or set CI_COMMIT_TIMESTAMP or "
                "SOURCE_DATE_EPOCH");
  }
  const auto date = DateFrom(text);
  if (!date) {
    throw Error(ErrorKind::kUsage, "--date", "'" + text + "' is no date", "write it like 2026-11-20T12:00:00Z, or now");
  }
  return *date;
}

void RefuseOverwriting(const std::filesystem::path& input, const std::filesystem::path& output) {
  std::error_code code;
  if (!std::filesystem::equivalent(input, output, code)) return;
  throw Error(ErrorKind::kUsage, output.string(), "the output would overwrite the input", "choose another name");
}

void RequireFree(const std::filesystem::path& output, const std::string& ending) {
  if (output.extension() != ending) {
    throw Error(ErrorKind::kUsage, output.string(), "the name of the output must end in " + ending);
  }
  std::error_code code;
  if (std::filesystem::exists(output, code)) {
    throw Error(ErrorKind::kOutput, output.string(), "already exists", "choose another name, or remove it");
  }
}

void WritePages(PageForm form, const std::string& output, const std::string& name, const ReportModel& model,
                const ReportTemplates& templates, const std::function<std::string()>& json) {
  if (form == PageForm::kJson) return WriteOutput(output, json());
  if (form == PageForm::kHtml) return WriteOutput(output, RenderHtml(model, templates));
  const bool is_folder = form == PageForm::kFolder;
  const std::filesystem::path path(output);
  NamedTexts files = {{is_folder ? name + ".md" : path.filename().string(), RenderMarkdown(model, templates)}};
  if (is_folder) {
    files.emplace_back(name + ".html", RenderHtml(model, templates));
    files.emplace_back(name + ".json", json());
  }
  for (const auto& [figure, svg] : model.figures) files.emplace_back(std::filesystem::path("figures") / figure, svg);
  WriteFiles(is_folder ? path : path.parent_path(), files);
}

bool IsJsonTable(const std::string& path) {
  const std::string ending = std::filesystem::path(path).extension().string();
  if (ending == ".json" || ending == ".csv") return ending == ".json";
  throw Error(ErrorKind::kUsage, path, "the name of the output must end in .json or .csv");
}

CLI::Validator NumberThat(bool (*holds)(double), const std::string& why_not, const std::string& type) {
  return {[holds, why_not](std::string& text) {
            double value = 0;
            return ParseNumber(text, value) && holds(value) ? std::string() : "'" + text + "' " + why_not;
          },
          type};
}

CLI::Validator Share() {
  return NumberThat([](double value) { return value > 0 && value <= 1; },
                    "does not lie between 0 and 1; divide percentages by 100", "SHARE");
}

CLI::Validator Positive() {
  return NumberThat([](double value) { return std::isfinite(value) && value > 0; }, "is no number above 0", "POSITIVE");
}

}  // namespace farscale
