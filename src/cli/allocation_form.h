// The allocation pack as a form of results: options and files, for every command that has results.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <optional>
#include <string>

#include "cli/command.h"
#include "planning/allocation.h"
#include "results/results.h"
#include "report/report.h"

namespace farscale {

struct AllocationFormOptions {
  AllocationOptions plan;
  // What results of a bare table do not say; empty: as the study says.
  std::string title, code, unit;
  std::optional<double> size;
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
