// farscale measure and farscale trace: the program runs with the preload library of its MPI.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/version.h"
#include "cli/command.h"
#include "cli/launch.h"
#include "collect/measured_run.h"
#include "collect/measured_run_text.h"
#include "collect/page_file.h"
#include "collect/result_file.h"

namespace farscale {
namespace {

struct LaunchOptions {
  std::string output;
  std::string mpi;
  std::string finish;
  int threads = 1;
  bool ideal = false;
  std::vector<std::string> regions;
};

bool IsQuietHelper() {
  const char* quiet = std::getenv("FARSCALE_QUIET");
  return quiet != nullptr && std::string(quiet) == "1";
}

// The pages of a job's ranks on this node, but those whose process was killed: nobody knows until when they count.
struct LeftBehind {
  std::vector<collect::FoundPage> found;
  std::vector<collect::Page> pages;
  bool any_runs = false;
};

LeftBehind FindLeftBehind(const std::string& job) {
  LeftBehind left;
  left.found = collect::FindPages(job);
  for (const collect::FoundPage& page : left.found) {
    const bool is_killed = !page.is_running && page.page.ending == static_cast<int>(collect::Ending::kRunning);
    if (!is_killed) left.pages.push_back(page.page);
    left.any_runs |= page.is_running;
  }
  return left;
}

// A trace is put together in MPI_Finalize; what its ranks had written until then is of no use.
std::string RemoveTrace(const std::filesystem::path& folder) {
  std::error_code code;
  if (!std::filesystem::is_directory(folder / "traces", code) ||
      std::filesystem::exists(folder / "traces.otf2", code)) {
    return "";
  }
  std::filesystem::remove_all(folder / "traces", code);
  std::filesystem::remove(folder / "traces.def", code);
  return "warning: there is no trace: it is put together in MPI_Finalize, which was not reached\n";
}

void ReportLeftBehind(const collect::MeasuredRun& run) {
  std::string output = run.output;
  std::error_code code;
  std::string trace;
  if (std::filesystem::is_directory(output, code)) {  // of a trace
    if (run.is_traced) trace = RemoveTrace(output);
    output += "/farscale.json";
  }
  if (!run.missing.empty() && run.missing.front() == 0) output += "." + run.nodes.front().name;
  std::string why;
  const std::string path = collect::WriteResult(output, run.job, collect::ToJsonText(run, Generator()), why);
  if (IsQuietHelper()) return;
  fmt::print(stderr, "{}", collect::ToSummary(run, trace + (path.empty() ? "farscale: " + why : "wrote " + path)));
}

// What a program that ended without MPI_Finalize left behind. Called by its preload library on its way out, on every
// node; the node of rank 0 writes to the name that was asked for. The first who comes reports, once: what the others
// do after one rank has gone is the launcher ending them. Ranks that all leave by exit do so at nearly the same time
// and are waited for a little.
int Finish(const std::string& job) {
  constexpr auto kPatience = std::chrono::milliseconds(500);
  setsid();  // the launcher may end the program's processes, and this one writes a file
  LeftBehind left = FindLeftBehind(job);
  if (left.pages.empty()) return 0;
  const std::size_t known = left.pages.size();
  collect::MeasuredRun run = collect::Summarize(left.pages);
  if (run.ending == collect::Ending::kNotFinalized && left.any_runs) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (left.any_runs && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      left = FindLeftBehind(job);
    }
    if (!left.any_runs && left.pages.size() >= known) run = collect::Summarize(left.pages);
  }
  if (collect::TellOnce(job)) ReportLeftBehind(run);
  if (left.any_runs) return 0;
  for (const collect::FoundPage& page : left.found) unlink(page.path.c_str());
  return 0;
}

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// Whether all ranks are on this node, as the launchers say it, or there is no launcher.
bool IsWholeRunHere() {
  return Variable("OMPI_COMM_WORLD_LOCAL_SIZE") == Variable("OMPI_COMM_WORLD_SIZE") &&
         Variable("MPI_LOCALNRANKS") == Variable("PMI_SIZE");
}

// A path that cannot be written is better known before the run than after it. All ranks refuse, since others would
// wait for one that is missing; the first one tells. Where ranks are on several nodes, folders may be of one node
// alone.
void CheckOutput(const std::string& output, const std::string& mode) {
  namespace fs = std::filesystem;
  if (!IsWholeRunHere()) return;
  const auto refuse = [&](const std::string& what, const std::string& advice) {
    const std::string rank = Variable("OMPI_COMM_WORLD_RANK") + Variable("PMI_RANK");
    if (!rank.empty() && rank != "0") std::exit(2);
    throw Error(ErrorKind::kUsage, output, what, advice);
  };
  std::error_code code;
  const fs::path path = fs::absolute(output.empty() ? "." : output, code);
  constexpr std::size_t kLongest = sizeof(collect::Page::output) - 32;  // with what belongs to it
  if (path.string().size() > kLongest) refuse("is a path too long", fmt::format("{} bytes are the most", kLongest));
  if (mode == "trace") {
    if (fs::exists(path, code) && !fs::is_directory(path, code)) refuse("is no folder", "-o names a folder");
    if (fs::exists(path / "traces.otf2", code)) {
      refuse("contains a trace already", "choose another folder, or remove it");
    }
    return;
  }
  if (output.empty() || fs::is_directory(path, code)) refuse("is a folder", "-o names a file");
  if (!fs::is_directory(path.parent_path(), code)) refuse("lies in no folder that exists", "make the folder first");
  if (access(path.parent_path().c_str(), W_OK) != 0)
    refuse("lies in a folder that cannot be written", "choose another");
}

Launch LaunchOf(const LaunchOptions& options, const Common& common, const std::string& mode) {
  if (common.program.empty()) {
    throw Error(ErrorKind::kUsage, "farscale " + mode, "no program to run",
                "write mpirun -n 4 farscale " + mode + " ./program arguments");
  }
  CheckOutput(options.output, mode);
  Launch launch;
  launch.command = common.program;
  launch.mpi = options.mpi;
  launch.variables = {{"FARSCALE_MODE", mode},
                      {"FARSCALE_OUTPUT", options.output},
                      {"FARSCALE_IDEAL", options.ideal ? "1" : "0"},
                      {"FARSCALE_THREADS", std::to_string(options.threads)},
                      {"FARSCALE_QUIET", common.quiet ? "1" : "0"}};
  return launch;
}

void AddLaunchOptions(CLI::App* command, LaunchOptions& options) {
  command->add_option("--mpi", options.mpi, "The program's MPI: openmpi, mpich (default: found out)");
  command->add_flag("--ideal", options.ideal,
                    "Measure serialization and transfer, too, by clocks that follow every message");
  command->add_option("--threads", options.threads, "Threads a rank uses, for the number of cores")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
}

}  // namespace

void AddMeasureCommand(CLI::App& app, const Common& common, CommandResult& action) {
  auto options = std::make_shared<LaunchOptions>();
  options->output = "farscale.json";
  CLI::App* command =
      app.add_subcommand("measure", "Run an MPI program and report its efficiency factors at the end, without a trace");
  command->footer(
      "Put it between mpirun and the program: mpirun -n 8 farscale measure ./program arguments\n"
      "Options of farscale stand before the program's name.");
  command->add_option("-o,--output", options->output, "Where the results go (default: farscale.json)");
  command->add_option("--finish", options->finish, "Report on what a job left behind")->group("");
  AddLaunchOptions(command, *options);
  command->callback([options, &common, &action] {
    action = [options, &common]() -> int {
      if (!options->finish.empty()) return Finish(options->finish);
      collect::RemoveStalePages();
      BecomeProgram(LaunchOf(*options, common, "measure"));
    };
  });
}

void AddTraceCommand(CLI::App& app, const Common& common, CommandResult& action) {
  auto options = std::make_shared<LaunchOptions>();
  options->output = "farscale-trace";
  CLI::App* command = app.add_subcommand("trace", "Run an MPI program and record an OTF2 trace of it");
  command->footer(
      "Put it between mpirun and the program: mpirun -n 8 farscale trace -o traces/8 ./program arguments\n"
      "Options of farscale stand before the program's name.");
  command->add_option("-o,--output", options->output,
                      "Folder for the archive, traces.otf2 and what belongs to it (default: farscale-trace)");
  command
      ->add_option("--only", options->regions,
                   "Record only while this region is open, which the program marks; repeat for several")
      ->allow_extra_args(false);
  AddLaunchOptions(command, *options);
  command->callback([options, &common, &action] {
    action = [options, &common]() -> int {
      collect::RemoveStalePages();
      Launch launch = LaunchOf(*options, common, "trace");
      std::string regions;
      for (const std::string& region : options->regions) regions += region + "\n";
      launch.variables["FARSCALE_ONLY"] = regions;
      BecomeProgram(launch);
    };
  });
}

}  // namespace farscale
