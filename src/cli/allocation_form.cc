#include "cli/allocation_form.h"

#include <fmt/format.h>

#include "cli/table_options.h"
#include "report/allocation/pages.h"
#include "report/allocation/text.h"

namespace farscale {

void AddAllocationOptions(CLI::App* command, AllocationFormOptions& options) {
  options.command = command;
  AllocationOptions& plan = options.plan;
  const auto add = [&](const char* name, auto& value, const char* text) {
    return command->add_option(name, value, text)->group(kAllocationGroup);
  };
  add("--phase", plan.phase, "Phase to plan (default: the one that takes most time)");
  add("--group", plan.group, "Group of its ranks to plan (default: all ranks)");
  add("--series", plan.series, "Series to plan (default: the first)");
  add("--efficiency", plan.efficiency, "Efficiency that the recommended job keeps (default: 0.75)")->check(Share());
  add("--iterations", plan.iterations,
      "Iterations to plan for wall times and core hours (default: as in the study, else as in the baseline)")
      ->check(Positive());
  add("--baseline", plan.baseline, "Cores of the run to compare with (default: the reference)")->check(CoreCount());
  add("--title", options.title, "Title of the pack (default: that of the study, else the name of the table)");
  add("--code", options.code, "Code, version, input and machine, in words (default: description of the study)");
  add("--size", options.size, "Size of the problem, with weak scaling of a process (default: as in the study)")
      ->check(Positive());
  add("--unit", options.unit, "Unit of the size, such as cells (default: as in the study)");
  add("--up-to", plan.up_to, "Largest target to show (default: four times the reliable range)")
      ->type_name("INT")
      ->check(CoreCount());
}

void RefuseAllocationOptions(const AllocationFormOptions& options) {
  for (const CLI::Option* option : options.command->get_options()) {
    if (option->get_group() != kAllocationGroup || option->count() == 0) continue;
    throw Error(ErrorKind::kUsage, option->get_name(), "belongs to an allocation pack, which was not asked for",
                "add --form allocation, or leave it out");
  }
}

namespace {

// What results of a bare table do not say.
Results Described(Results results, const AllocationFormOptions& options) {
  if (!options.title.empty()) results.title = options.title;
  if (!options.code.empty()) results.description = options.code;
  if (!options.unit.empty()) results.problem.unit = options.unit;
  if (options.size) {
    const bool is_weak = results.table.scaling == Scaling::kWeak;
    results.problem.size = is_weak ? std::nullopt : options.size;
    results.problem.size_per_process = is_weak ? options.size : std::nullopt;
  }
  return results;
}

}  // namespace

void WriteAllocationForm(const Results& given, const AllocationFormOptions& options, const ReportTemplates& templates,
                         const std::filesystem::path& folder, const Common& common) {
  const Results results = Described(given, options);
  const AllocationPack pack = MakeAllocationPack(results, options.plan);
  const auto files = WriteAllocation(results, pack, templates, folder);
  const AllocationText text = DescribeAllocation(results, pack, templates.partials);
  if (!common.quiet) PrintSentences(text.recommendation);
  for (const std::string& sentence : text.contradictions) Messages(common).Warning(sentence);
  for (const std::string& sentence : text.missing) Messages(common).Warning(sentence);
  PrintWritten(files, common);
}

}  // namespace farscale
