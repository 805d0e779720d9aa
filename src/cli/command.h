// What the subcommands share: options, messages on the terminal, exit codes.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "base/error.h"
#include "study/run_study.h"

namespace farscale {

// Options before or behind any subcommand.
struct Common {
  int jobs = 0;  // 0: as many as the machine has cores
  bool quiet = false;
  bool verbose = false;
  std::vector<std::string> program;  // that measure and trace run, with its arguments
};

// Adds a subcommand; what its callback returns becomes the exit code of the program.
using CommandResult = std::function<int()>;
void AddRunCommand(CLI::App& app, const Common& common, CommandResult& action);
void AddInspectCommand(CLI::App& app, const Common& common, CommandResult& action);
void AddPhasesCommand(CLI::App& app, const Common& common, CommandResult& action);
void AddCutCommand(CLI::App& app, const Common& common, CommandResult& action);
void AddFactorsCommand(CLI::App& app, const Common& common, CommandResult& action);
void AddImbalanceCommand(CLI::App& app, const Common& common, CommandResult& action);
void AddBalanceCommand(CLI::App& app, const Common& common, CommandResult& action);
void AddPredictCommand(CLI::App& app, const Common& common, CommandResult& action);
void AddBacktestCommand(CLI::App& app, const Common& common, CommandResult& action);
void AddCalibrateCommand(CLI::App& app, const Common& common, CommandResult& action);
void AddWhatIfCommand(CLI::App& app, const Common& common, CommandResult& action);
void AddGateCommand(CLI::App& app, const Common& common, CommandResult& action);
void AddHistoryCommand(CLI::App& app, const Common& common, CommandResult& action);
void AddCompareCommand(CLI::App& app, const Common& common, CommandResult& action);
void AddReportCommand(CLI::App& app, const Common& common, CommandResult& action);
void AddMeasureCommand(CLI::App& app, const Common& common, CommandResult& action);
void AddTraceCommand(CLI::App& app, const Common& common, CommandResult& action);
void AddWatchCommand(CLI::App& app, const Common& common, CommandResult& action);
void AddCompletionCommand(CLI::App& app, const Common& common, CommandResult& action);

// Lines on stderr; silent with --quiet.
class Messages {
 public:
  explicit Messages(const Common& common) : common_(common) {}

  void Note(const std::string& text) const;  // only with --verbose
  void Warning(const std::string& text) const;
  // Warnings, and notes with --verbose.
  void Findings(const std::string& where, const std::vector<Finding>& findings) const;
  void FindingsOf(const Results& results) const;
  // A line that overwrites itself, when stderr is a terminal.
  ProgressSink Progress() const;

 private:
  const Common& common_;
};

// An error as one sentence on stderr.
void PrintError(const Error& error);

// Writes `text` to `path`, or to stdout when path is "-".
void WriteOutput(const std::string& path, const std::string& text);

// The first of these variables of the environment that says something.
std::string FromEnvironment(const std::vector<const char*>& names);

// The date that --date says, which may be "now", else that of the environment, like 2026-11-20T12:00:00Z. Throws a
// usage error when there is none.
std::string DateGiven(const std::string& date_option);

// A study from its file, or of some traces with the whole run as its phase. Throws a usage error for anything else.
Study StudyOfInputs(const std::vector<std::string>& inputs, const std::string& preset = "", int application = 0);

// --application of commands that read traces; 0: not given.
void AddApplicationOption(CLI::App* command, int& application);
inline std::optional<int> ApplicationOf(int option) { return option > 0 ? std::optional(option) : std::nullopt; }

// Throws a usage error when the output is the input itself.
void RefuseOverwriting(const std::filesystem::path& input, const std::filesystem::path& output);

// Throws a usage error when the name does not end so, an output error when something has it: before a long trace is
// read.
void RequireFree(const std::filesystem::path& output, const std::string& ending);

// A number above 0 and up to 1.
CLI::Validator Share();

// A finite number above 0.
CLI::Validator Positive();

enum class TableFormat { kJson, kCsv };
// By the ending of the name; throws a usage error for others.
TableFormat TableFormatOf(const std::string& path);

}  // namespace farscale
