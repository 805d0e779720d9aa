// Shared by the subcommands: options, messages on the terminal, exit codes.
#pragma once

#include <CLI/CLI.hpp>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/diagnostics.h"
#include "base/parallel.h"
#include "base/terminal.h"
#include "trace/names.h"

namespace farscale {

struct FactorTable;
struct ReadOptions;
struct ReportModel;
struct ReportTemplates;
struct RunRecord;
struct RunSpec;
struct Study;

// Options before or behind any subcommand.
struct Common {
  int jobs = 0;        // 0: as many as the machine has cores
  std::string memory;  // to get along with; empty: three quarters of what is available
  bool quiet = false;
  bool verbose = false;
  bool shows_progress = true;        // on a terminal
  std::string color = "auto";        // or "always", "never"
  std::vector<std::string> program;  // that measure and trace run, with its arguments
};

// Where subcommands are added. The one on the command line sets the action, whose result is the exit code.
struct CommandLine {
  CLI::App& app;
  const Common& common;
  std::function<int()>& action;
};

// Adds a subcommand that runs `run` with its options.
template <typename Options>
std::pair<CLI::App*, Options&> AddCommand(const CommandLine& line, const std::string& name,
                                          const std::string& description, int (*run)(const Options&, const Common&)) {
  auto options = std::make_shared<Options>();
  CLI::App* command = line.app.add_subcommand(name, description);
  command->callback([options, command, run, &common = line.common, &action = line.action] {
    if (command->get_subcommands().empty()) action = [options, run, &common] { return run(*options, common); };
  });
  return {command, *options};
}

// Runs the program; returns its exit code.
int RunCommandLine(int argc, char** argv);

// In the order of the help.
void AddRunCommand(CommandLine& line);
void AddInspectCommand(CommandLine& line);
void AddPhasesCommand(CommandLine& line);
void AddFactorsCommand(CommandLine& line);
void AddImbalanceCommand(CommandLine& line);
void AddBalanceCommand(CommandLine& line);
void AddPredictCommand(CommandLine& line);
void AddBacktestCommand(CommandLine& line);
void AddGrowCommand(CommandLine& line);
void AddCalibrateCommand(CommandLine& line);
void AddWhatIfCommand(CommandLine& line);
void AddCutCommand(CommandLine& line);
void AddTimelineCommand(CommandLine& line);
void AddCompareCommand(CommandLine& line);
void AddReportCommand(CommandLine& line);
void AddGateCommand(CommandLine& line);
void AddHistoryCommand(CommandLine& line);
void AddMeasureCommand(CommandLine& line);
void AddTraceCommand(CommandLine& line);
void AddWatchCommand(CommandLine& line);
void AddJobsCommand(CommandLine& line);
void AddSiteCommand(CommandLine& line);
void AddCompletionCommand(CommandLine& line);
void AddSchemaCommand(CommandLine& line);

nlohmann::ordered_json InspectionSchema();

// The script that completes the command line in bash, zsh or fish.
std::string CompletionScript(const CLI::App& app, const std::string& shell);

// A wrong command line in one sentence, with what was probably meant.
// `arguments`: as typed; `error`: what the library says of them.
std::string DescribeWrongUsage(const CLI::App& app, const std::vector<std::string>& arguments,
                               const CLI::ParseError& error);

// "help run" is "run --help", and "help" alone is "--help".
std::vector<std::string> WithHelpAsOption(std::vector<std::string> arguments);

// Lines on stderr; silent with --quiet.
class Messages {
 public:
  explicit Messages(const Common& common) : common_(common) {}

  void Note(const std::string& text) const;  // only with --verbose
  void Warning(const std::string& text) const;
  // Warnings, and notes with --verbose.
  void Findings(const std::string& where, const std::vector<Finding>& findings) const;
  void FindingsOf(const FactorTable& table, const std::vector<RunRecord>& runs) const;
  // A line that overwrites itself, when stderr is a terminal: what is done, how far, and how long still.
  ProgressSink Progress() const;

 private:
  const Common& common_;
};

// Warnings come after the answer. Where an error ends the command before that, this prints them.
template <typename Print>
class OnError {
 public:
  explicit OnError(Print print) : print_(std::move(print)) {}
  ~OnError() {
    if (std::uncaught_exceptions() == before_) return;
    try {
      print_();
    } catch (const std::exception&) {  // the error that ends the command is told
    }
  }
  OnError(const OnError&) = delete;
  OnError& operator=(const OnError&) = delete;

 private:
  Print print_;
  const int before_ = std::uncaught_exceptions();
};

// Style of text on standard output: as wide as its terminal, and coloured there unless --color or NO_COLOR
// (https://no-color.org) says otherwise.
TerminalStyle StyleOf(const Common& common);
// Width of the terminal that standard output is; kAnyWidth where it is none, so that tables stay whole in files.
std::size_t WidthOfOutput();
// Sentences in lines of that width, indented by so many blanks.
void PrintSentences(const std::vector<std::string>& sentences, std::size_t indent = 0);
// True if text to an open file, such as STDERR_FILENO, is to be coloured.
bool IsColored(const Common& common, int file);

// An error as one sentence on stderr.
void PrintError(const Error& error);

// True if an output goes to a file: it is neither left out nor "-", which is standard output.
bool IsFile(const std::string& output);
// Number of outputs that go to standard output; throws a usage error for more than one, which do not fit there.
std::size_t OnStandardOutput(const std::vector<std::string>& outputs);
// Writes `text` to `path`, or to stdout when path is "-".
void WriteOutput(const std::string& path, const std::string& text);
// "wrote report/report.html" of every file but figures; nothing with --quiet.
void PrintWritten(const std::vector<std::filesystem::path>& files, const Common& common);
// Prints why runs failed; the exit code of the failure, 0 without one.
int ReportFailures(const std::vector<RunRecord>& runs, const std::optional<Error>& failure);

// The first of these variables of the environment that says something.
std::string FromEnvironment(const std::vector<const char*>& names);

// The date that --date says, which may be "now", else that of the environment, like 2026-11-20T12:00:00Z. Throws a
// usage error when there is none.
std::string DateGiven(const std::string& date_option);

// Options of the commands that read traces. A command has those that it adds; the others stay as they are here.
struct TraceOptions {
  std::vector<std::string> inputs;  // a study, or traces
  std::string trace;                // where a command takes one
  int application = 0;              // 0: not given
  AcceptedKinds accepted;
  std::vector<std::string> phases;
  std::string phase, window;
  std::int64_t skip = 0, keep = 0;
  bool clean = false;
  CounterNames counters;
  std::string rules, scaling, preset, network, computation;
  bool ideal = false, without_causes = false, main_threads = false, json = false;
  std::vector<std::int64_t> grow_to;
  std::int64_t top = 10;
  std::size_t most_regions = 20;
  std::string output, format, templates;

  void ApplyTo(RunSpec& run) const;  // as its trace is to be read
  ReadOptions Reading(bool keep_threads = false) const;
};

// A study from its file, or of traces, with the whole run as its phase unless the options name others. Throws a usage
// error for anything else.
Study StudyOfInputs(const TraceOptions& options);

// The study or traces that a command reads; and --application, --accept and --accept-truncated, also alone.
void AddInputOptions(CLI::App* command, TraceOptions& options);
void AddTraceOptions(CLI::App* command, TraceOptions& options);
// The one trace that a command reads.
void AddTraceInput(CLI::App* command, TraceOptions& options);
// An option that takes one of these words.
CLI::Option* AddChoiceOption(CLI::App* command, const std::string& name, std::string& choice,
                             const std::vector<std::string>& choices, const std::string& text);
// --phase, a region or a loop; several.
void AddPhaseOption(CLI::App* command, TraceOptions& options);
// --grow-to: numbers of cores that nobody has run.
void AddGrowOption(CLI::App* command, TraceOptions& options);
// --top, --output and --templates of commands that write pages.
void AddPageOptions(CLI::App* command, TraceOptions& options);
// --instructions and --cycles.
void AddCounterOptions(CLI::App* command, TraceOptions& options);
// --skip and --keep.
void AddIterationOptions(CLI::App* command, TraceOptions& options);
// --templates.
void AddTemplatesOption(CLI::App* command, std::string& folder);

// Throws a usage error when the output is the input itself.
void RefuseOverwriting(const std::filesystem::path& input, const std::filesystem::path& output);

// Throws a usage error when the name does not end so, an output error when something has it: before a long trace is
// read.
void RequireFree(const std::filesystem::path& output, const std::string& ending);

// The forms of a page, by the name of the output. Empty: text on the terminal. "-": JSON there. A name without ending
// is that of a folder for all forms. Throws a usage error for other endings.
enum class PageForm { kText, kJson, kHtml, kMarkdown, kFolder };
PageForm PageFormOf(const std::string& output);

// Writes pages of a result; not for text on the terminal. `name`: that of files in a folder, without the ending.
void WritePages(PageForm form, const std::string& output, const std::string& name, const ReportModel& model,
                const ReportTemplates& templates, const std::function<std::string()>& json);

// A number for which `holds`; others are quoted with `why_not` behind.
CLI::Validator NumberThat(bool (*holds)(double), const std::string& why_not, const std::string& type);
// A number above 0 and up to 1.
CLI::Validator Share();

// A finite number above 0.
CLI::Validator Positive();

// True for the name of a table in JSON, false for one in CSV; throws a usage error for other endings.
bool IsJsonTable(const std::string& path);

}  // namespace farscale
