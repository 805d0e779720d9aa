#include "results/collected_jobs.h"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/files.h"
#include "base/text.h"
#include "results/csv_text.h"
#include "results/factor_table_files.h"
#include "results/json_fields.h"

namespace farscale {
namespace {

namespace fs = std::filesystem;

constexpr Anomaly kFileUnreadable{"jobUnreadable", Severity::kWarning,
                                  "results cannot be read, or are damaged, and were left out"};
constexpr double kSecondsAnHour = 3600;
constexpr Factor kShown[] = {Factor::kParallelEfficiency, Factor::kLoadBalance, Factor::kCommunicationEfficiency,
                             Factor::kSerialization, Factor::kTransfer};

// Numbers that are none, or cannot be, are as good as missing ones.
std::optional<double> NumberIn(const OrderedJson& object, const std::string& key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  const double value = found->get<double>();
  return std::isfinite(value) && value >= 0 ? std::optional(value) : std::nullopt;
}

std::string TextIn(const OrderedJson& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::int64_t CountIn(const OrderedJson& object, const char* key, std::int64_t otherwise) {
  constexpr double kMost = 1e9;  // as of measured runs
  const auto value = NumberIn(object, key);
  return value && *value >= 1 && *value <= kMost ? static_cast<std::int64_t>(*value) : otherwise;
}

// Nothing where the text is no measured run or has no whole run.
std::optional<CollectedJob> JobFromRun(const OrderedJson& run) {
  const auto regions = run.find("regions");
  if (regions == run.end() || !regions->is_array() || regions->empty() || !regions->front().is_object()) return {};
  CollectedJob job;
  job.program = TextIn(run, "program");
  job.mpi = TextIn(run, "mpi");
  job.started = TextIn(run, "started");
  job.ending = TextIn(run, "ending");
  job.ranks = CountIn(run, "ranks", 0);
  job.threads = CountIn(run, "threads", 1);
  job.cores = job.ranks * job.threads;
  if (const auto nodes = run.find("nodes"); nodes != run.end()) job.nodes = static_cast<std::int64_t>(nodes->size());
  const auto elapsed = NumberIn(regions->front(), "elapsed");
  if (job.program.empty() || job.ranks == 0 || !elapsed) return {};
  job.elapsed = *elapsed;
  if (const auto command = run.find("command"); command != run.end() && command->is_array()) {
    for (const OrderedJson& word : *command) {
      if (word.is_string()) job.command += (job.command.empty() ? "" : " ") + word.get<std::string>();
    }
  }
  if (const auto factors = regions->front().find("factors");
      factors != regions->front().end() && factors->is_object()) {
    for (const Factor factor : kShown) {
      if (const auto value = NumberIn(*factors, std::string(Describe(factor).id))) job.factors[factor] = *value;
    }
  }
  if (const auto efficiency = job.factors[Factor::kParallelEfficiency]) {
    job.lost_core_hours =
        static_cast<double>(job.cores) * job.elapsed * std::max(0.0, 1 - *efficiency) / kSecondsAnHour;
  }
  if (const auto found = run.find("diagnostics"); found != run.end() && found->is_array()) {
    for (const OrderedJson& one : *found) {
      if (one.is_object() && TextIn(one, "severity") == "warning") job.warnings.push_back(TextIn(one, "sentence"));
    }
  }
  return job;
}

void ReadJob(const fs::path& file, const fs::path& folder, CollectedJobs& jobs, Diagnostics& diagnostics) {
  const std::string name = file.lexically_relative(folder).string();
  std::string text;
  try {
    text = ReadFile(file);
  } catch (const Error&) {
    diagnostics.Add(kFileUnreadable, 1, name);
    return;
  }
  const OrderedJson json = OrderedJson::parse(text, nullptr, false);
  const bool is_meant = text.find(kMeasuredRunFormat) != std::string::npos;
  if (!json.is_object() || TextIn(json, "format") != kMeasuredRunFormat) {
    if (is_meant && json.is_discarded()) diagnostics.Add(kFileUnreadable, 1, name);
    return;
  }
  std::optional<CollectedJob> job = JobFromRun(json);
  if (!job) {
    diagnostics.Add(kFileUnreadable, 1, name);
    return;
  }
  struct stat status {};
  if (stat(file.c_str(), &status) == 0) {
    const passwd* user = getpwuid(status.st_uid);
    job->owner = user != nullptr ? user->pw_name : fmt::format("{}", status.st_uid);
  }
  job->file = name;
  jobs.jobs.push_back(std::move(*job));
}

// Jobs without a value come last.
double Key(const CollectedJob& job, JobOrder order) {
  constexpr double kLast = std::numeric_limits<double>::infinity();
  if (order == JobOrder::kLost) return job.lost_core_hours ? -*job.lost_core_hours : kLast;
  return order == JobOrder::kEfficiency ? job.factors[Factor::kParallelEfficiency].value_or(kLast) : 0;
}

}  // namespace

std::vector<ProgramJobs> ByProgram(const CollectedJobs& jobs) {
  std::map<std::string, ProgramJobs> programs;
  for (const CollectedJob& job : jobs.jobs) {
    ProgramJobs& program = programs[job.program];
    const double used = static_cast<double>(job.cores) * job.elapsed / kSecondsAnHour;
    program.program = job.program;
    ++program.jobs;
    program.used_core_hours += used;
    if (!job.lost_core_hours) continue;
    program.known_core_hours += used;
    program.lost_core_hours += *job.lost_core_hours;
  }
  std::vector<ProgramJobs> sorted;
  for (auto& [name, program] : programs) sorted.push_back(std::move(program));
  std::ranges::stable_sort(sorted, std::ranges::greater(), &ProgramJobs::lost_core_hours);
  return sorted;
}

Fields<CollectedJob> FieldsOf(Described<CollectedJob>) {
  using T = CollectedJob;
  const auto factors = ValuesOfFactors({"parallelEfficiency", "loadBalance", "communicationEfficiency",
                                        "serializationEfficiency", "transferEfficiency"});
  return Fields<T>{"jobs/job",
                   {
                       Properties<&T::program, &T::command>(),
                       Property<&T::owner>("Of the file"),
                       Property<&T::mpi>(),
                       Property<&T::started>("UTC"),
                       Property<&T::ending>("As in the file of the run"),
                       Property<&T::ranks>().AtLeast(1),
                       Property<&T::threads>("Per rank").AtLeast(1),
                       Property<&T::cores>("Ranks times threads").AtLeast(1),
                       Property<&T::nodes>().AtLeast(0),
                       Property<&T::elapsed>("Seconds of the whole run").AtLeast(0),
                       Property<&T::factors>(factors, "Of the whole run, by id").AtLeast(0),
                       Property<&T::lost_core_hours>("Cores times elapsed times the loss of efficiency").AtLeast(0),
                       Property<&T::warnings>(),
                       Property<&T::file>("Within the folder"),
                   }};
}

Fields<CollectedJobs> FieldsOf(Described<CollectedJobs>) {
  using T = CollectedJobs;
  return Fields<T>{"jobs",
                   {
                       Property<&T::folder>(),
                       Property<&T::jobs>("In the order that was asked for; the worst first by default"),
                       Field("diagnostics", &T::findings),
                   }}
      .File("farscale-jobs", 1, 1, "list of measured jobs");
}

CollectedJobs ReadJobs(const fs::path& folder, JobOrder order) {
  std::error_code code;
  if (!fs::is_directory(folder, code)) throw Error(ErrorKind::kInput, folder.string(), "is no folder");
  CollectedJobs jobs;
  jobs.folder = folder.string();
  Diagnostics diagnostics;
  const auto options = fs::directory_options::skip_permission_denied;
  fs::recursive_directory_iterator entry(folder, options, code), end;
  while (!code && entry != end) {
    std::error_code ignored;
    if (entry->path().extension() == ".json" && entry->is_regular_file(ignored)) {
      ReadJob(entry->path(), folder, jobs, diagnostics);
    }
    entry.increment(code);
  }
  if (code) throw Error(ErrorKind::kInput, folder.string(), "cannot be read: " + code.message());
  std::ranges::sort(jobs.jobs, {}, &CollectedJob::file);
  std::ranges::stable_sort(jobs.jobs, [&](const CollectedJob& a, const CollectedJob& b) {
    if (order == JobOrder::kStarted) return a.started > b.started;
    if (order == JobOrder::kProgram) return std::tie(a.program, a.cores) < std::tie(b.program, b.cores);
    return Key(a, order) < Key(b, order);
  });
  jobs.findings = diagnostics.findings();
  return jobs;
}

std::string WriteJobsJson(const CollectedJobs& jobs) {
  return JsonOf(jobs).dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

std::string WriteJobsCsv(const CollectedJobs& jobs) {
  std::string text = "program,owner,started,ending,ranks,threads,cores,nodes,elapsed";
  for (const Factor factor : kShown) text += fmt::format(",{}", Describe(factor).id);
  text += ",lostCoreHours,file\n";
  for (const CollectedJob& job : jobs.jobs) {
    text += fmt::format("{},{},{},{},{},{},{},{},{}", CsvField(job.program), CsvField(job.owner), CsvField(job.started),
                        CsvField(job.ending), job.ranks, job.threads, job.cores, job.nodes, FormatExact(job.elapsed));
    for (const Factor factor : kShown) {
      const auto value = job.factors[factor];
      text += "," + (value ? FormatExact(*value) : "");
    }
    text += "," + (job.lost_core_hours ? FormatExact(*job.lost_core_hours) : "") + "," + CsvField(job.file) + "\n";
  }
  return text;
}

OrderedJson JobsSchema() { return SchemaOf<CollectedJobs>("Jobs of a folder that farscale has measured"); }

}  // namespace farscale
