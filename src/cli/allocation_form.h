// The allocation pack as a form of results: options and files, for every command that has results.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

#include "cli/command.h"
#include "planning/allocation.h"
#include "results/results.h"
#include "report/report.h"

namespace farscale {

struct AllocationFormOptions {
  AllocationOptions plan;
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
