#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "cli/command.h"
#include "cli/table_options.h"
#include "report/compare/pages.h"
#include "study/resources.h"

namespace farscale {
namespace {

struct CompareOptions {
  std::vector<std::string> results;
  std::vector<std::string> names;
  std::vector<std::int64_t> targets;
  std::string output;
  std::string templates;
  std::string preset;
  std::string scaling;
};

// As asked for, else stems of the files; folders where stems do not tell them apart, as results.json does not.
std::vector<std::string> NamesOf(const CompareOptions& options) {
  if (!options.names.empty()) {
    if (options.names.size() == options.results.size()) return options.names;
    throw Error(ErrorKind::kUsage, "--names",
                fmt::format("there are {} names for {} results", options.names.size(), options.results.size()));
  }
  std::vector<std::string> stems, folders;
  std::set<std::string> distinct;
  for (const std::string& path : options.results) {
    const std::filesystem::path file = std::filesystem::path(path).lexically_normal();
    stems.push_back(file.stem().string());
    folders.push_back(file.parent_path().empty() ? stems.back() : file.parent_path().filename().string());
    distinct.insert(stems.back());
  }
  if (distinct.size() == stems.size()) return stems;
  if (std::set<std::string>(folders.begin(), folders.end()).size() == folders.size()) return folders;
  return options.results;
}

int Compare(const CompareOptions& options, const Common& common) {
  if (options.results.size() < 2) {
    throw Error(ErrorKind::kUsage, "", "a comparison needs two results at least");
  }
  const std::vector<std::string> names = NamesOf(options);
  const ReportTemplates templates = LoadFormTemplates("compare", options.templates);
  std::vector<Results> results;
  for (const std::string& path : options.results)
    results.push_back(ReadResults(path, {options.preset, options.scaling, true}));
  for (std::size_t i = 0; i < results.size(); ++i) {
    Messages(common).Findings(options.results[i], results[i].table.findings);
  }
  const std::vector<double> targets(options.targets.begin(), options.targets.end());
  std::vector<ComparedResults> comparisons;
  for (std::size_t i = 1; i < results.size(); ++i) {
    comparisons.push_back(CompareResults(results[0], results[i], names[0], names[i], targets));
  }
  std::vector<std::filesystem::path> files;
  if (!options.output.empty()) files = WriteCompared(comparisons, templates, options.output);
  if (common.quiet && !files.empty()) return 0;
  const std::vector<std::string> texts =
      WriteCompareTexts(BuildCompareModel(comparisons, templates.partials), templates.partials, WidthOfOutput());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    fmt::print("{}{}", i > 0 ? "\n" : "", texts[i]);
  }
  PrintWritten(files, common);
  return 0;
}

}  // namespace

void AddCompareCommand(CommandLine& line) {
  auto [command, options] = AddCommand<CompareOptions>(
      line, "compare",
      "Compare results of two codes, machines or versions, and find the factor that explains the change", Compare);
  command->footer(
      "Takes results.json, factors.json and factors.csv, also mixed. Each is compared with the first.\n"
      "farscale factors FILES -o TABLE joins several runs measured by farscale or TALP.\n"
      "Without -o the comparison is printed.");
  command->add_option("results", options.results, "Results or factor tables, the one to compare with first")
      ->required();
  command->add_option("-o,--output", options.output, "Folder for compare.html, compare.md and compare.json");
  command
      ->add_option("--names", options.names,
                   "Names of the results, separated by commas or blanks (default: their files)")
      ->delimiter(',');
  AddTargetsOption(command, options.targets,
                   "Core counts to compare projections at, separated by commas (default: the targets of both)");
  command->add_option("--preset", options.preset, "Preset with the models for factor tables, such as rosas14");
  AddScalingOption(command, options.scaling, "How the runs of factor tables scale (default: as they say)");
  AddTemplatesOption(command, options.templates);
}

}  // namespace farscale
