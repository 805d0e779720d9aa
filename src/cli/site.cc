// farscale site: what a batch system sets for every task of a job, so that all programs are measured.
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>

#include "base/config.h"
#include "base/files.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/launch.h"

namespace farscale {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDefaultFile = "/etc/farscale.toml";

// The file of a site.
struct SiteConfig {
  bool is_enabled = true;
  std::string results;
  std::string mpi;
  bool is_private = true;
  bool is_quiet = true;
  bool ideal = false;
  double most_megabytes = 100;  // of a user
};

SiteConfig Parse(const std::string& path) {
  const ConfigTable table = ConfigTable::Parse(ReadFile(path), path);
  SiteConfig config;
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
  return config;
}

std::string UserName() {
  const passwd* user = getpwuid(geteuid());
  return user != nullptr ? user->pw_name : fmt::format("{}", geteuid());
}

std::uintmax_t BytesIn(const fs::path& folder) {
  std::uintmax_t bytes = 0;
  std::error_code code;
  for (fs::recursive_directory_iterator entry(folder, code), end; !code && entry != end; entry.increment(code)) {
    std::error_code ignored;
    if (entry->is_regular_file(ignored)) bytes += entry->file_size(ignored);
  }
  return bytes;
}

// Of what the batch system says; elsewhere names get numbers.
std::string ResultName() {
  const std::string job = FromEnvironment({"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID"});
  const std::string step = FromEnvironment({"SLURM_STEP_ID", "SLURM_STEPID"});
  std::string name = job.empty() ? "run" : "job-" + job + (step.empty() ? "" : "." + step);
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-') c = '_';
  }
  return name + ".json";
}

// Cores of a task, as the batch system or OpenMP has them.
std::int64_t ThreadsOfTask() {
  constexpr long long kMost = 1000000;  // as of --threads
  long long threads = 1;
  const bool is_number = ParseInteger(FromEnvironment({"SLURM_CPUS_PER_TASK", "OMP_NUM_THREADS"}), threads);
  return is_number && threads >= 1 && threads <= kMost ? threads : 1;
}

// The MPI of the program is not known yet: what the module or the launcher says, else the site. A library of the other
// one starts the program again with its own.
std::string MpiOf(const SiteConfig& config) {
  const std::string module = FromEnvironment({"FARSCALE_MPI"});
  if (!module.empty()) return module;
  if (!config.mpi.empty()) return config.mpi;
  return MpiOfLauncher().value_or("");
}

// Tasks of one job must all be measured or none: nothing here may depend on the node or on what is free.
int PrintEnvironment(const SiteConfig& config) {
  const std::optional<fs::path> library = LibraryFor(MpiOf(config));
  if (!config.is_enabled || !library || FromEnvironment({"FARSCALE_SITE"}) == "off") return 0;
  const fs::path folder = fs::path(config.results) / UserName();
  if (IsBesideFirstRank()) {
    std::error_code code;
    fs::create_directory(folder, code);
    if (config.is_private) chmod(folder.c_str(), S_IRWXU);
    const std::uintmax_t most = static_cast<std::uintmax_t>(config.most_megabytes * 1e6), used = BytesIn(folder);
    fmt::print("export FARSCALE_MOST_BYTES={}\n", most > used ? most - used : 0);
  }
  const std::string others = FromEnvironment({"LD_PRELOAD"});
  fmt::print("export FARSCALE_MODE=measure\n");
  fmt::print("export FARSCALE_OUTPUT={}\n", (folder / ResultName()).string());
  fmt::print("export FARSCALE_PROGRAM={}\n", OwnProgram().string());
  fmt::print("export FARSCALE_THREADS={}\n", ThreadsOfTask());
  fmt::print("export FARSCALE_IDEAL={}\n", config.ideal ? 1 : 0);
  fmt::print("export FARSCALE_QUIET={}\n", config.is_quiet ? 1 : 0);
  fmt::print("export FARSCALE_PRIVATE={}\n", config.is_private ? 1 : 0);
  for (const auto& [name, value] : DeviceVariables(*library)) fmt::print("export {}={}\n", name, value);
  fmt::print("export LD_PRELOAD={}{}\n", library->string(), others.empty() ? "" : ":" + others);
  return 0;
}

struct SiteOptions {
  std::string config;
  bool check = false;
};

int Check(const SiteConfig& config, const std::string& file) {
  std::error_code code;
  if (!fs::is_directory(config.results, code)) {
    throw Error(ErrorKind::kOutput, config.results, "is no folder", "make it with mode 1777");
  }
  const bool is_open = (static_cast<unsigned>(fs::status(config.results, code).permissions()) & 01777U) == 01777U;
  fmt::print("{}: {}, results in {}{}, at most {:g} MB a user, {}\n", file, config.is_enabled ? "on" : "off",
             config.results, is_open ? "" : " (not of mode 1777: not everybody can write there)", config.most_megabytes,
             config.is_private ? "private" : "open to all");
  for (const char* mpi : {"openmpi", "mpich"}) {
    const auto library = LibraryFor(mpi);
    fmt::print("{}: {}\n", mpi, library ? library->string() : "no library");
  }
  return 0;
}

int Site(const SiteOptions& options, const Common&) {
  std::string file = options.config.empty() ? FromEnvironment({"FARSCALE_CONFIG"}) : options.config;
  std::error_code code;
  const bool is_default = file.empty();
  if (is_default) file = kDefaultFile;
  // A node without the file measures nothing; that is no error of the job.
  if (is_default && !options.check && !fs::exists(file, code)) return 0;
  const SiteConfig config = Parse(file);
  return options.check ? Check(config, file) : PrintEnvironment(config);
}

}  // namespace

void AddSiteCommand(CommandLine& line) {
  auto [command, options] =
      AddCommand<SiteOptions>(line, "site", "Print what a batch system has to set so that every job is measured", Site);
  command->footer("The file of the site is /etc/farscale.toml, or what FARSCALE_CONFIG names: docs/how-to/site.md.");
  command->add_option("--config", options.config, "Another file");
  command->add_flag("--check", options.check, "Say what the file means, and whether it can work");
}

}  // namespace farscale
