#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>

#include "base/config.h"
#include "base/files.h"
#include "base/text.h"
#include "cli/table_options.h"
#include "cli/command.h"
#include "cli/launch.h"
#include "factors/anomalies.h"
#include "report/report.h"
#include "report/digest.h"
#include "results/anomalies.h"
#include "results/results_json.h"
#include "study/input_files.h"

namespace farscale {
namespace {

struct ReportOptions {
  std::vector<std::string> results;
  std::string form = "report";
  std::string output, templates;
  std::vector<std::string> formats = {"html", "markdown", "csv"};
  AllocationFormOptions allocation;
  std::string scaling;  // for a factor table
};

std::set<ReportFormat> FormatsOf(const std::vector<std::string>& names) {
  std::set<ReportFormat> formats;
  for (const std::string& name : names) {
    const auto format = ReportFormatByName(name);
    if (!format) {
      throw Error(ErrorKind::kUsage, "--format", "unknown format '" + name + "'",
                  "there are " + Join(ReportFormatNames(), ", "));
    }
    formats.insert(*format);
  }
  return formats;
}

// Warns of defects of the file itself, which nobody could know before reading it; the rest is in the report.
void WarnOf(const Results& results, const std::string& path, const Common& common) {
  for (const Finding& finding : results.table.findings) {
    const bool is_new = finding.id == anomaly::kFileChanged.id || finding.id == anomaly::kTableContradictsItself.id ||
                        finding.id == anomaly::kTalpFactorsFarOff.id;
    if (is_new) Messages(common).Findings(path, {finding});
  }
}

void RequireFolder(const ReportOptions& options) {
  if (!options.output.empty()) return;
  throw Error(ErrorKind::kUsage, "--output", "is missing", "-o DIR names the folder of the report");
}

// Their titles, their folders where titles do not tell them apart, or their paths.
std::vector<std::string> NamesOf(const std::vector<ListedStudy>& studies, const std::vector<std::string>& paths) {
  std::vector<std::string> titles, folders;
  for (const ListedStudy& study : studies) titles.push_back(study.results->title);
  for (const std::filesystem::path path : paths) {
    folders.push_back(path.filename() == "results.json" ? path.parent_path().filename().string() : path.string());
  }
  for (const std::vector<std::string>& names : {titles, folders}) {
    const std::set<std::string> distinct(names.begin(), names.end());
    if (distinct.size() == names.size() && !distinct.contains("")) return names;
  }
  return paths;
}

std::string ReadResultsText(const std::string& path) {
  const std::string text = ReadInput(path);
  if (std::filesystem::path(path).extension() != ".toml") return text;
  throw Error(ErrorKind::kUsage, path, "is a study, not the results of a run",
              "farscale run measures it and writes its report");
}

int ReportStudies(const ReportOptions& options, const Common& common) {
  RequireFolder(options);
  const ReportTemplates templates = LoadFormTemplates("studies", options.templates);
  const std::set<ReportFormat> formats = FormatsOf(options.formats);
  if (!formats.contains(ReportFormat::kHtml) && !formats.contains(ReportFormat::kMarkdown)) {
    throw Error(ErrorKind::kUsage, "--format", "a page of several studies is html or markdown");
  }
  std::vector<ListedStudy> studies;
  for (const std::string& path : options.results) {
    const std::filesystem::path report = std::filesystem::path(path).replace_filename("report.html");
    std::error_code code;  // the report that farscale run writes beside results need not be there
    studies.push_back({.name = path,
                       .report = std::filesystem::exists(report, code) ? report.string() : "",
                       .results = ReadResultsJson(ReadResultsText(path), path)});
    WarnOf(*studies.back().results, path, common);
  }
  const std::vector<std::string> names = NamesOf(studies, options.results);
  for (std::size_t i = 0; i < studies.size(); ++i) studies[i].name = names[i];
  const std::vector<std::filesystem::path> files = WriteStudies(studies, templates, options.output, formats);
  if (!common.quiet) {
    fmt::print("{}", FormatBatch(studies, templates.partials, StyleOf(common)));
    PrintSentences(SummarizeShortlist(studies, templates.partials));
  }
  PrintWritten(files, common);
  return 0;
}

int Report(const ReportOptions& options, const Common& common) {
  const bool is_allocation = options.form == "allocation";
  if (!is_allocation) RefuseAllocationOptions(options.allocation);
  if (options.results.size() > 1) {
    if (!is_allocation) return ReportStudies(options, common);
    throw Error(ErrorKind::kUsage, options.results[1], "is one file too many: an allocation pack is of one");
  }
  const std::string text = ReadResultsText(options.results.front());
  const Results results = is_allocation ? ReadResults(options.results.front(), "", options.scaling)
                                        : ReadResultsJson(text, options.results.front());
  WarnOf(results, options.results.front(), common);
  if (is_allocation) {
    const std::string folder = options.output.empty() ? "allocation" : options.output;
    WriteAllocationForm(results, options.allocation, LoadFormTemplates("allocation", options.templates), folder,
                        common);
    return 0;
  }
  RequireFolder(options);
  const std::set<ReportFormat> formats = FormatsOf(options.formats);
  PrintWritten(WriteReport(results, LoadTemplates(options.templates), options.output, formats), common);
  return 0;
}

}  // namespace

void AddReportCommand(CommandLine& line) {
  auto [command, options] = AddCommand<ReportOptions>(
      line, "report",
      "Render earlier results again: in other templates, several on one page, or as an application for computing time",
      Report);
  command->footer(
      "Results of several codes make one page, sorted by the factor that limits each; results of farscale whatif add "
      "a\n"
      "table of machines.\n"
      "--form allocation writes times, speedup, efficiency, core hours and a job size for an application for\n"
      "computing time, as Markdown, HTML, LaTeX and CSV. It also takes a factor table (.json or .csv).");
  command->add_option("results", options.results, "results.json of an earlier run, or of several")->required();
  command->add_option("-o,--output", options.output, "Folder of the report (of an allocation: allocation)");
  AddChoiceOption(command, "--form", options.form, {"report", "allocation"}, "report (default) or allocation");
  AddTemplatesOption(command, options.templates);
  command
      ->add_option("--format", options.formats, "Formats of the report: html, markdown, json, csv, separated by commas")
      ->delimiter(',')
      ->allow_extra_args(false);
  AddAllocationOptions(command, options.allocation);
  AddScalingOption(command, options.scaling, "How the runs of a factor table scale (default: as it says)")
      ->group(kAllocationGroup);
}

// farscale site: what a batch system sets for every task of a job, so that all programs are measured.

namespace {

namespace fs = std::filesystem;

constexpr const char* kDefaultFile = "/etc/farscale.toml";

// Options of the command, and what the file of the site says.
struct SiteConfig {
  std::string file;
  bool check = false;
  std::string results, mpi;
  bool is_enabled = true, is_private = true, is_quiet = true, ideal = false;
  double most_megabytes = 100;  // per user
};

void ReadConfig(SiteConfig& config) {
  const ConfigTable table = ConfigTable::Parse(ReadFile(config.file), config.file);
  config.is_enabled = table.Bool("enabled").value_or(true);
  config.results = table.RequiredString("results");
  config.mpi = table.String("mpi").value_or("");
  config.is_private = table.Bool("private").value_or(true);
  config.is_quiet = table.Bool("quiet").value_or(true);
  config.ideal = table.Bool("ideal").value_or(false);
  config.most_megabytes = table.Number("megabytes").value_or(config.most_megabytes);
  table.RefuseUnknownKeys();
  // Batch systems take a value as it is, shells do not.
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("/._-+").find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (!config.results.starts_with('/') || !std::ranges::all_of(config.results, is_plain)) {
    table.Fail("results", "has to be a path from /, of letters, digits and /._-+");
  }
  if (!config.mpi.empty() && config.mpi != "openmpi" && config.mpi != "mpich") {
    table.Fail("mpi", "is neither openmpi nor mpich");
  }
  if (!(config.most_megabytes > 0)) table.Fail("megabytes", "has to be above 0");
}

// Tasks of one job must all be measured or none: nothing here may depend on the node or on what is free.
int PrintEnvironment(const SiteConfig& config) {
  // The MPI of the program is not known yet: what the module or the launcher says, else the site. A library of the
  // other one starts the program again with its own.
  std::string mpi = FromEnvironment({"FARSCALE_MPI"});
  if (mpi.empty()) mpi = config.mpi.empty() ? MpiOfLauncher().value_or("") : config.mpi;
  const std::optional<fs::path> library = LibraryFor(mpi);
  if (!config.is_enabled || !library || FromEnvironment({"FARSCALE_SITE"}) == "off") return 0;
  const passwd* user = getpwuid(geteuid());
  const fs::path folder = fs::path(config.results) / (user != nullptr ? user->pw_name : fmt::format("{}", geteuid()));
  if (IsBesideFirstRank()) {
    std::error_code code;
    fs::create_directory(folder, code);
    if (config.is_private) chmod(folder.c_str(), S_IRWXU);
    std::uintmax_t used = 0;
    for (fs::recursive_directory_iterator entry(folder, code), end; !code && entry != end; entry.increment(code)) {
      std::error_code ignored;
      if (entry->is_regular_file(ignored)) used += entry->file_size(ignored);
    }
    const auto most = static_cast<std::uintmax_t>(config.most_megabytes * 1e6);
    fmt::print("export FARSCALE_MOST_BYTES={}\n", most > used ? most - used : 0);
  }
  // Cores of a task, as the batch system or OpenMP has them.
  constexpr long long kMostThreads = 1000000;  // as of --threads
  long long threads = 1;
  const bool is_number = ParseInteger(FromEnvironment({"SLURM_CPUS_PER_TASK", "OMP_NUM_THREADS"}), threads);
  if (!is_number || threads < 1 || threads > kMostThreads) threads = 1;
  // Results are named after the job of the batch system; elsewhere names get numbers.
  const std::string job = FromEnvironment({"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID"});
  const std::string step = FromEnvironment({"SLURM_STEP_ID", "SLURM_STEPID"});
  std::string result = job.empty() ? "run" : "job-" + job + (step.empty() ? "" : "." + step);
  for (char& c : result) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-') c = '_';
  }
  const std::string others = FromEnvironment({"LD_PRELOAD"});
  fmt::print("export FARSCALE_MODE=measure\n");
  fmt::print("export FARSCALE_OUTPUT={}\n", (folder / (result + ".json")).string());
  fmt::print("export FARSCALE_PROGRAM={}\n", OwnProgram().string());
  fmt::print("export FARSCALE_THREADS={}\n", threads);
  fmt::print("export FARSCALE_IDEAL={}\n", config.ideal ? 1 : 0);
  fmt::print("export FARSCALE_QUIET={}\n", config.is_quiet ? 1 : 0);
  fmt::print("export FARSCALE_PRIVATE={}\n", config.is_private ? 1 : 0);
  for (const auto& [name, value] : DeviceVariables(*library)) fmt::print("export {}={}\n", name, value);
  fmt::print("export LD_PRELOAD={}{}\n", library->string(), others.empty() ? "" : ":" + others);
  return 0;
}

int Check(const SiteConfig& config) {
  std::error_code code;
  if (!fs::is_directory(config.results, code)) {
    throw Error(ErrorKind::kOutput, config.results, "is no folder", "make it with mode 1777");
  }
  const bool is_open = (static_cast<unsigned>(fs::status(config.results, code).permissions()) & 01777U) == 01777U;
  fmt::print("{}: {}, results in {}{}, at most {:g} MB a user, {}\n", config.file, config.is_enabled ? "on" : "off",
             config.results, is_open ? "" : " (not of mode 1777: not everybody can write there)", config.most_megabytes,
             config.is_private ? "private" : "open to all");
  for (const char* mpi : {"openmpi", "mpich"}) {
    const auto library = LibraryFor(mpi);
    fmt::print("{}: {}\n", mpi, library ? library->string() : "no library");
  }
  return 0;
}

int Site(const SiteConfig& options, const Common&) {
  SiteConfig config = options;
  if (config.file.empty()) config.file = FromEnvironment({"FARSCALE_CONFIG"});
  std::error_code code;
  const bool is_default = config.file.empty();
  if (is_default) config.file = kDefaultFile;
  // A node without the file measures nothing; that is no error of the job.
  if (is_default && !config.check && !fs::exists(config.file, code)) return 0;
  ReadConfig(config);
  return config.check ? Check(config) : PrintEnvironment(config);
}

}  // namespace

void AddSiteCommand(CommandLine& line) {
  auto [command, options] =
      AddCommand<SiteConfig>(line, "site", "Print what a batch system has to set so that every job is measured", Site);
  command->footer("The file of the site is /etc/farscale.toml, or what FARSCALE_CONFIG names: docs/how-to/site.md.");
  command->add_option("--config", options.file, "Another file");
  command->add_flag("--check", options.check, "Say what the file means, and whether it can work");
}

}  // namespace farscale
