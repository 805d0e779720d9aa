// Shared by commands that begin with results: a factor table, the terms it is put in and the models for it; or
// results.json whole.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "planning/allocation.h"

namespace farscale {

enum class Factor;
struct Common;
struct FactorTable;
struct ProjectionOptions;
struct ReportTemplates;
struct Results;

struct TableOptions {
  std::string table;
  std::vector<std::string> more_runs;  // measured runs that make one table with it
  std::string preset;
  std::string scaling;
  std::int64_t reference = 0;  // 0: as in the table
  std::int64_t seed = 0;       // 0: the usual one
  std::vector<std::string> candidates;
  std::vector<std::string> choices;
  std::vector<std::string> model_files;

  bool AskForModels() const {
    return !preset.empty() || seed > 0 || !candidates.empty() || !choices.empty() || !model_files.empty();
  }
};

// The table and all of the following but --targets.
void AddTableOptions(CLI::App* command, TableOptions& options);
// --candidates, --model, --seed, --fits and --preset.
void AddModelOptions(CLI::App* command, TableOptions& options);
// --scaling strong or weak; `what` is its line in the help.
CLI::Option* AddScalingOption(CLI::App* command, std::string& scaling, const std::string& what);
// An option that takes core counts separated by commas, and one that takes a single count.
CLI::Option* AddCoreCountsOption(CLI::App* command, const std::string& name, std::vector<std::int64_t>& cores,
                                 const std::string& what);
CLI::Validator CoreCount();

// A factor table, or the one of results.json, completed and in the terms asked for.
FactorTable ReadTable(const TableOptions& options);

// The models asked for. Throws a usage error for presets and factors that do not exist.
ProjectionOptions ProjectionOptionsOf(const TableOptions& options);

// "loadBalance" and the like. Throws a usage error naming the nearest at `where` for anything else.
Factor FactorNamed(const std::string& id, const std::string& where);

// Throws a usage error where a scaling is given for results.json.
void RefuseScaling(const std::string& results, const std::string& scaling);

// results.json, or those of a table with the models of a preset and in terms of `scaling`, empty: as it says. Throws a
// usage error when `scaling` is given for results.json, which knows its own; unless there are several, when it is for
// the tables among them.
Results ReadResults(const std::string& path, const std::string& preset, const std::string& scaling,
                    bool is_one_of_several = false);

// The allocation pack as a form of results: options and files, for every command that has results.

struct AllocationFormOptions {
  AllocationOptions plan;
  // Descriptions that results of a bare table lack; empty: as the study says.
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
