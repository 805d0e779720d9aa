#include "cli/allocation_form.h"

#include <fmt/format.h>

#include "cli/table_options.h"
#include "report/allocation/pages.h"
#include "report/allocation/text.h"

namespace farscale {
namespace {

AllocationOptions AllocationOptionsOf(const AllocationFormOptions& options) {
  AllocationOptions result;
  if (!options.series.empty()) result.series = options.series;
  if (!options.phase.empty()) result.phase = options.phase;
  if (!options.group.empty()) result.group = options.group;
  result.efficiency = options.efficiency;
  if (options.iterations > 0) result.iterations = options.iterations;
  if (options.baseline > 0) result.baseline = options.baseline;
  if (options.up_to > 0) result.up_to = static_cast<double>(options.up_to);
  return result;
}

}  // namespace

void AddAllocationOptions(CLI::App* command, AllocationFormOptions& options) {
  options.command = command;
  const std::string group = kAllocationGroup;
  command->add_option("--phase", options.phase, "Phase to plan (default: the one that takes most time)")->group(group);
  command->add_option("--group", options.group, "Group of its ranks to plan (default: all ranks)")->group(group);
  command->add_option("--series", options.series, "Series to plan (default: the first)")->group(group);
  command->add_option("--efficiency", options.efficiency, "Efficiency that the recommended job keeps (default: 0.75)")
      ->check(Share())
      ->group(group);
  command
      ->add_option("--iterations", options.iterations,
                   "Iterations of the phase that are planned, for wall times and core hours (default: as the study "
                   "says, else as many as the baseline ran)")
      ->check(Positive())
      ->group(group);
  command->add_option("--baseline", options.baseline, "Cores of the run to compare with (default: the reference)")
      ->check(CoreCount())
      ->group(group);
  command->add_option("--up-to", options.up_to, "Largest target to show (default: four times the reliable range)")
      ->check(CoreCount())
      ->group(group);
}

void RefuseAllocationOptions(const AllocationFormOptions& options) {
  for (const CLI::Option* option : options.command->get_options()) {
    if (option->get_group() != kAllocationGroup || option->count() == 0) continue;
    throw Error(ErrorKind::kUsage, option->get_name(), "says something of an allocation pack, and none is asked for",
                "add --form allocation, or leave it out");
  }
}

void WriteAllocationForm(const Results& results, const AllocationFormOptions& options, const ReportTemplates& templates,
                         const std::filesystem::path& folder, const Common& common) {
  const AllocationPack pack = MakeAllocationPack(results, AllocationOptionsOf(options));
  const auto files = WriteAllocation(results, pack, templates, folder);
  const AllocationText text = DescribeAllocation(results, pack, templates.partials);
  if (!common.quiet) {
    for (const std::string& sentence : text.recommendation) fmt::print("{}\n", sentence);
  }
  for (const std::string& sentence : text.contradictions) Messages(common).Warning(sentence);
  for (const std::string& sentence : text.missing) Messages(common).Warning(sentence);
  PrintWritten(files, common);
}

}  // namespace farscale
