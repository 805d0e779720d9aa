// The measured runs that lie in a folder, as a computing centre collects them [docs/how-to/site.md].
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "factors/factor.h"

namespace farscale {

struct CollectedJob {
  std::string program, command, mpi, started, ending;
  std::string owner;  // owner of the file; a number if unnamed
  std::string file;   // within the folder
  std::int64_t ranks = 0, threads = 0, nodes = 0, cores = 0;
  double elapsed = 0;  // seconds, of the whole run
  FactorValues factors;
  std::optional<double> lost_core_hours;  // cores * elapsed * (1 - parallel efficiency)
  std::vector<std::string> warnings;      // sentences of the run
};

enum class JobOrder { kEfficiency, kLost, kStarted, kProgram };

// All jobs of one program.
struct ProgramJobs {
  std::string program;
  std::size_t jobs = 0;
  double used_core_hours = 0;   // all of them
  double lost_core_hours = 0;   // only jobs with a known parallel efficiency
  double known_core_hours = 0;  // used by those jobs

  double Efficiency() const { return known_core_hours > 0 ? 1 - lost_core_hours / known_core_hours : 1; }
};

struct CollectedJobs {
  std::string folder;
  std::vector<CollectedJob> jobs;
  std::vector<Finding> findings;  // files that were left out
};

// All results of farscale measure in the folder and the folders in it, the worst first: those that lost most core
// hours, or whose parallel efficiency is lowest; the newest; by program and size. Other files are no results; those
// that are and cannot be read are findings. Throws an input error where the folder cannot be read.
CollectedJobs ReadJobs(const std::filesystem::path& folder, JobOrder order);

// The programs that lost most core hours first.
std::vector<ProgramJobs> ByProgram(const CollectedJobs& jobs);

std::string WriteJobsJson(const CollectedJobs& jobs);
std::string WriteJobsCsv(const CollectedJobs& jobs);
nlohmann::ordered_json JobsSchema();

}  // namespace farscale
