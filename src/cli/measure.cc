// farscale measure and farscale trace: the program runs with the preload library of its MPI.
#include <fmt/format.h>
#include <unistd.h>

#include <map>
#include <string>

#include "base/files.h"
#include "cli/command.h"
#include "cli/launch.h"
#include "collect/page_file.h"
#include "collect/trace/trace_room.h"
#include "measure/measured_run.h"
#include "report/report.h"
#include "results/collected_jobs.h"
#include "study/input_files.h"

namespace farscale {
namespace {

struct LaunchOptions {
  std::string output, mpi, guard, report, recover;
  int threads = 1;
  bool ideal = false, estimate = false;
  std::vector<std::string> regions;
  double flush = 0;
};

using Variables = std::map<std::string, std::string>;

Variables VariablesFor(const LaunchOptions& options, const Common& common, const std::string& mode) {
  if (common.program.empty()) {
    throw Error(ErrorKind::kUsage, mode, "no program to run",
                "write mpirun -n 4 farscale " + mode + " ./program arguments");
  }
  return {{"FARSCALE_MODE", mode},
          {"FARSCALE_OUTPUT", options.output},
          {"FARSCALE_IDEAL", options.ideal ? "1" : "0"},
          {"FARSCALE_THREADS", std::to_string(options.threads)},
          {"FARSCALE_QUIET", common.quiet ? "1" : "0"}};
}

void AddLaunchOptions(CLI::App* command, LaunchOptions& options) {
  command->add_option("--mpi", options.mpi, "The program's MPI: openmpi, mpich (default: detected)");
  command->add_flag("--ideal", options.ideal,
                    "Also measure serialization and transfer, by clocks that follow every message");
  command->add_option("--threads", options.threads, "Threads of a rank, to count cores")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
}

int Measure(const LaunchOptions& options, const Common& common) {
  if (!options.guard.empty()) {
    GuardJob(options.guard);
    return 0;
  }
  if (!options.report.empty()) {
    if (common.quiet) setenv("FARSCALE_QUIET", "1", 1);
    return ReportDump(options.report) ? 0 : static_cast<int>(ErrorKind::kOutput);
  }
  const Variables variables = VariablesFor(options, common, "measure");
  if (IsBesideFirstRank()) CheckResultFile(options.output);
  collect::RemoveStalePages();
  BecomeProgram(common.program, options.mpi, variables);
}

int RecordTrace(const LaunchOptions& options, const Common& common) {
  if (!options.recover.empty()) {
    if (!collect::HasSavedRanks(options.recover)) {
      throw Error(ErrorKind::kInput, options.recover, "contains no trace that can be finished",
                  "only --flush keeps what the end of a node leaves; guards finish all other traces themselves");
    }
    const collect::RecoveredTrace trace =
        collect::RecoverTrace(options.recover, "the run ended without farscale seeing how", Generator());
    if (trace.anchor.empty()) throw Error(ErrorKind::kOutput, options.recover, trace.sentence);
    fmt::print(stderr, "warning: {}\n", trace.sentence);
    if (!common.quiet) fmt::print("wrote {}\n", trace.anchor);
    return 0;
  }
  for (const std::string& text : options.regions) {
    const collect::RecordedRegion region = collect::ParseRecordedRegion(text);
    if (region.first >= 1 && region.first <= region.last) continue;
    throw Error(ErrorKind::kUsage, "--record-only " + text, "names no occurrences: they are counted from 1",
                "write REGION:3..5");
  }
  Variables variables = VariablesFor(options, common, "trace");
  if (options.estimate) {
    variables["FARSCALE_MODE"] = "estimate";
    variables["FARSCALE_OUTPUT"] = options.output + ".json";
  }
  if (options.flush > 0) variables["FARSCALE_FLUSH"] = fmt::format("{}", options.flush);
  if (IsBesideFirstRank() && options.estimate) CheckResultFile(options.output + ".json");
  if (IsBesideFirstRank() && !options.estimate) CheckTraceFolder(options.output);
  collect::RemoveStalePages();
  for (const std::string& region : options.regions) variables["FARSCALE_ONLY"] += region + "\n";
  BecomeProgram(common.program, options.mpi, variables);
}

}  // namespace

void AddMeasureCommand(CommandLine& line) {
  auto [command, options] = AddCommand<LaunchOptions>(
      line, "measure", "Run an MPI program and report its efficiency factors at the end, without a trace", Measure);
  options.output = "farscale.json";
  command->footer(
      "Put it between mpirun and the program: mpirun -n 8 farscale measure ./program arguments\n"
      "Options of farscale stand before the program's name.");
  command->add_option("-o,--output", options.output, "File for the results (default: farscale.json)");
  command->add_option("--guard", options.guard, "Wait for a job's end and report it if need be")->group("");
  command->add_option("--report", options.report, "Write the results of a dump of a run")->group("");
  AddLaunchOptions(command, options);
}

void AddTraceCommand(CommandLine& line) {
  auto [command, options] =
      AddCommand<LaunchOptions>(line, "trace", "Run an MPI program and record an OTF2 trace of it", RecordTrace);
  options.output = "farscale-trace";
  command->footer(
      "Put it between mpirun and the program: mpirun -n 8 farscale trace -o traces/8 ./program arguments\n"
      "Options of farscale stand before the program's name.");
  command->add_option("-o,--output", options.output,
                      "Folder for the trace archive, with anchor file traces.otf2 (default: farscale-trace)");
  command
      ->add_option("--only,--record-only", options.regions,
                   "Record only within REGION, or its occurrences i to j: REGION:i..j; repeat for several")
      ->allow_extra_args(false);
  command
      ->add_option("--flush", options.flush,
                   "Seconds after which events are written to the folder again and again, for nodes that fail")
      ->check(CLI::Range(0.1, 1e6));
  command->add_flag("--estimate", options.estimate, "Write no trace: say how large it would be");
  command->add_option("--recover", options.recover, "Complete the trace of a run that was killed (needs --flush)");
  AddLaunchOptions(command, options);
}

// farscale jobs: the measured runs of a folder, as a centre collects them.

namespace {

struct JobsOptions {
  std::string folder;
  JobOrder order = JobOrder::kLost;
  std::size_t top = 20;
  std::string output, templates;
};

// The format follows from the ending of the output.
std::string Written(const CollectedJobs& jobs, const JobsOptions& options) {
  const std::string& name = options.output;
  if (name == "-" || name.ends_with(".json")) return WriteJobsJson(jobs);
  if (name.ends_with(".csv")) return WriteJobsCsv(jobs);
  const ReportTemplates templates = LoadFormTemplates("jobs", options.templates);
  if (name.ends_with(".html")) return RenderHtml(BuildJobsModel(jobs), templates);
  if (name.ends_with(".md")) return RenderMarkdown(BuildJobsModel(jobs), templates);
  throw Error(ErrorKind::kUsage, "-o " + name, "has no ending that says what to write",
              "choose jobs.html, jobs.md, jobs.json or jobs.csv");
}

int ListJobs(const JobsOptions& options, const Common& common) {
  const CollectedJobs jobs = ReadJobs(options.folder, options.order);
  Messages(common).Findings(options.folder, jobs.findings);
  if (jobs.jobs.empty()) {
    throw Error(ErrorKind::kNotEnoughData, options.folder, "holds no results of farscale measure",
                "docs/how-to/site.md shows how to collect some");
  }
  if (!options.output.empty()) WriteOutput(options.output, Written(jobs, options));
  if (options.output == "-" || common.quiet) return 0;
  fmt::print("{}", WriteJobsTable(jobs, options.top, WidthOfOutput()));
  if (!options.output.empty()) fmt::print("wrote {}\n", options.output);
  return 0;
}

}  // namespace

void AddJobsCommand(CommandLine& line) {
  auto [command, options] =
      AddCommand<JobsOptions>(line, "jobs", "List the measured runs of a folder, the worst first", ListJobs);
  command->footer("A centre that measures all jobs finds those worth a look here: docs/how-to/site.md.");
  command->add_option("folder", options.folder, "Folder with results of farscale measure, at any depth")->required();
  const std::map<std::string, JobOrder> orders = {{"efficiency", JobOrder::kEfficiency},
                                                  {"lost", JobOrder::kLost},
                                                  {"started", JobOrder::kStarted},
                                                  {"program", JobOrder::kProgram}};
  command
      ->add_option(
          "--sort", options.order,
          "lost: most lost core hours first (default); efficiency: lowest first; started: newest first; program")
      ->transform(CLI::CheckedTransformer(orders))
      ->option_text("ORDER");
  command->add_option("--top", options.top, "Jobs on the terminal; 0: all")->capture_default_str();
  command->add_option("-o,--output", options.output,
                      "Also write a page or table: .html, .md, .json or .csv; - is JSON");
  AddTemplatesOption(command, options.templates);
}

}  // namespace farscale
