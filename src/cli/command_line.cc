#include "cli/command.h"

#include <fmt/format.h>
#include <tbb/global_control.h>
#include <tbb/info.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <string_view>
#include <system_error>
#include <thread>

#include "base/files.h"
#include "base/memory.h"
#include "cli/launch.h"
#include "study/measure_run.h"

namespace farscale {
namespace {

constexpr const char* kDescription =
    "Predicts how an MPI program will scale to core counts nobody has run yet: reads traces taken at a few low core\n"
    "counts, reduces the phases that matter to their efficiency factors, fits a scaling model to every factor,\n"
    "extrapolates, and writes a report.";

constexpr const char* kFooter =
    "Examples:\n"
    "  farscale inspect traces/8/traces.otf2           what is in a trace\n"
    "  farscale run traces/*/traces.otf2               the main job: report with projections\n"
    "  farscale run study.toml                         the same, with phases and targets that you choose\n"
    "  farscale factors study.toml -o factors.csv      stop after the factor table\n"
    "  farscale predict factors.csv --targets 1024     fit and extrapolate a factor table\n"
    "  farscale backtest factors.csv                   predict the larger runs from the smaller ones\n"
    "  farscale report results.json --form allocation  what computing centres ask for\n"
    "  farscale compare before.json after.json         what changed, and which factor explains it\n"
    "  farscale cut T.otf2 --phase loop -o L/l.otf2    keep one phase of a trace\n"
    "  farscale balance study.toml                     gain from dynamic load balancing\n"
    "  farscale gate results.json --baseline history   fail a CI job when scaling got worse\n"
    "  mpirun -n 8 farscale measure ./app              factors of a run, without a trace\n"
    "\n"
    "Exit codes: 0 done or gate passed, 1 gate failed, 2 wrong usage or study file, 3 unreadable or damaged input,\n"
    "4 not enough data to answer, 5 cannot write.";

constexpr const char* kCommonFooter =
    "Every command also takes -j/--jobs N, --memory SIZE, -q/--quiet, -v/--verbose and --color WHEN.";

void AddFooters(CLI::App& app) {
  app.footer(kFooter);
  for (CLI::App* command : app.get_subcommands(nullptr)) {
    const std::string own = command->get_footer();
    command->footer((own.empty() ? "" : own + "\n\n") + kCommonFooter);
  }
}

// For a rank beside another one that says the same: the launcher ends all when the first one is gone, and the words
// of those that it ends may be lost, so this one waits.
int EndAfterOthers(int code) {
  std::this_thread::sleep_for(std::chrono::seconds(1));
  return code;
}

int WithoutWords(const std::function<int()>& action) {
  try {
    return action();
  } catch (const Error& error) {
    return EndAfterOthers(error.exit_code());
  }
}

// The work of a process that the launcher has started beside the first one. It leaves messages that the first one can
// print to that.
int Serve(const LaunchedProcess& process) {
  std::unique_ptr<Job> job;
  try {
    job = JoinJob(process);
  } catch (const Error&) {
    EndAfterOthers(0);
    throw;
  }
  if (job == nullptr) return 0;
  try {
    job->Serve({MeasuringService()});
  } catch (const std::exception& error) {
    const bool is_memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
    fmt::print(stderr, "farscale: {}\n", is_memory ? "out of memory" : error.what());
    job->Abort(static_cast<int>(ErrorKind::kInput));
  }
  return 0;
}

// Returns 0.
int LimitMemory(const Common& common, const LaunchedProcess& process) {
  const std::uint64_t given = common.memory.empty() ? 0 : ParseMemory(common.memory, "--memory");
  SetMemoryBudget(given > 0 ? given : MemoryBudget() / process.on_node);
  LimitLargeArrays(ShareOfLargeArrays(MemoryBudget()));
  return 0;
}

// One a core, and fewer where memory is so short that the system could not start them: their stacks and what the C
// library keeps for each.
int DefaultThreads() {
  constexpr std::uint64_t kOfThread = std::uint64_t{64} << 20;
  const std::uint64_t available = AvailableMemory();
  const int cores = tbb::info::default_concurrency();
  if (available == 0 || available / kOfThread >= static_cast<std::uint64_t>(cores)) return cores;
  return std::max(1, static_cast<int>(available / kOfThread));
}

int Run(int argc, char** argv) {
  CLI::App app(kDescription, "farscale");
  app.require_subcommand(1);
  app.fallthrough();
  app.set_version_flag("--version", BuildDescription(), "Print version, commit, libraries and MPIs, and exit");
  app.get_formatter()->column_width(32);
  Common common;
  app.add_option("-j,--jobs", common.jobs, "Threads to use (default: one a core, fewer where memory is short)")
      ->check(CLI::Range(1, 4096));
  app.add_option(
      "--memory", common.memory,
      "Memory limit, such as 24G; more data goes to files in TMPDIR (default: three quarters of what is available)");
  app.add_flag("-q,--quiet", common.quiet, "No progress and no warnings; run prints the paths of its files alone");
  app.add_flag("-v,--verbose", common.verbose, "Also print notes on every run, and every sentence on every phase");
  app.add_option("--color", common.color, "Colours: auto (on terminals, unless NO_COLOR is set), always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  std::function<int()> action;
  CommandLine line{app, common, action};
  for (const auto add :
       {AddRunCommand,     AddInspectCommand, AddPhasesCommand,     AddFactorsCommand, AddImbalanceCommand,
        AddBalanceCommand, AddPredictCommand, AddBacktestCommand,   AddGrowCommand,    AddCalibrateCommand,
        AddWhatIfCommand,  AddCutCommand,     AddTimelineCommand,   AddCompareCommand, AddReportCommand,
        AddGateCommand,    AddHistoryCommand, AddMeasureCommand,    AddTraceCommand,   AddWatchCommand,
        AddJobsCommand,    AddSiteCommand,    AddCompletionCommand, AddSchemaCommand}) {
    add(line);
  }
  CLI::App* help = app.add_subcommand("help", "Show the help of a command: farscale help run");
  help->allow_extras();
  help->callback([] { throw CLI::CallForHelp(); });  // behind a common option
  AddFooters(app);
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const std::string command = CommandOf(arguments);
  const LaunchedProcess process = FindLaunchedProcess(command);
  if (!process.is_first && !SharesWork(command)) return 0;
  const bool is_repetition = IsRepetition(arguments) || !process.is_first;
  common.program = TakeProgram(arguments);
  arguments = WithHelpAsOption(std::move(arguments));
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // as the library takes them
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return process.is_first ? app.exit(error) : 0;  // --help, --version
    if (is_repetition) return EndAfterOthers(static_cast<int>(ErrorKind::kUsage));
    fmt::print(stderr, "farscale: {}\n", DescribeWrongUsage(app, arguments, error));
    return static_cast<int>(ErrorKind::kUsage);
  }
  const int threads = common.jobs > 0 ? common.jobs : DefaultThreads();
  const tbb::global_control control(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads));
  if (!process.is_first) {
    const int wrong = WithoutWords([&] { return LimitMemory(common, process); });
    return wrong != 0 ? wrong : Serve(process);
  }
  LimitMemory(common, process);
  if (!process.mpi.empty()) HaveNoTerminal();
  const std::unique_ptr<Job> job = SharesWork(command) ? JoinJob(process) : nullptr;
  const int code = is_repetition ? WithoutWords(action) : action();
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    throw Error(ErrorKind::kOutput, "standard output", "cannot be written");
  }
  return code;
}

// About the exception at hand; returns the exit code.
int ReportException() {
  try {
    throw;
  } catch (const Error& error) {
    PrintError(error);
    return error.exit_code();
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "farscale: out of memory\n");
  } catch (const std::exception& error) {
    const auto* system = dynamic_cast<const std::system_error*>(&error);
    const bool lacks_threads = system != nullptr
                                   ? system->code() == std::errc::resource_unavailable_try_again
                                   : std::string_view(error.what()).find("pthread_create") != std::string_view::npos;
    if (lacks_threads) {
      fmt::print(stderr,
                 "farscale: no thread can be started; raise the limits of memory and processes (ulimit -v, -u), or use "
                 "-j1\n");
    } else {
      fmt::print(stderr, "farscale: internal error: {}; please report it\n", error.what());
    }
  }
  return static_cast<int>(ErrorKind::kInput);
}

// Where an exception cannot be caught: oneTBB fails so where it can start no thread.
[[noreturn]] void EndUncaught() {
  if (std::current_exception() == nullptr) std::abort();
  std::_Exit(ReportException());
}

}  // namespace

int RunCommandLine(int argc, char** argv) {
  std::set_terminate(EndUncaught);
  // Beyond ulimit -f writing fails with an error, which is reported. Programs that are started do not inherit this.
  std::signal(SIGXFSZ, [](int) {});
  try {
    return Run(argc, argv);
  } catch (...) {
    return ReportException();
  }
}

}  // namespace farscale
