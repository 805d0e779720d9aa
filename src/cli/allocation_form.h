// The allocation pack as a form of results: options and files, for every command that has results.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <string>

#include "cli/command.h"
#include "results/results.h"
#include "report/report.h"

namespace farscale {

struct AllocationFormOptions {
  std::string series;  // empty: the first
  std::string phase;   // empty: the one that takes most time
  std::string group;   // of its ranks; empty: all
  double efficiency = 0.75;
  double iterations = 0;              // 0: as the study says
  std::int64_t baseline = 0;          // 0: the reference
  std::int64_t up_to = 0;             // 0: four times as many cores as are reliable
  const CLI::App* command = nullptr;  // that has them
};

// In a group of their own.
void AddAllocationOptions(CLI::App* command, AllocationFormOptions& options);

inline constexpr const char* kAllocationGroup = "With --form allocation";

// Throws a usage error naming the first option of that group that was given, for a command line without
// --form allocation.
void RefuseAllocationOptions(const AllocationFormOptions& options);

// Writes the pack and prints the recommendation and what is missing.
void WriteAllocationForm(const Results& results, const AllocationFormOptions& options, const ReportTemplates& templates,
                         const std::filesystem::path& folder, const Common& common);

}  // namespace farscale
