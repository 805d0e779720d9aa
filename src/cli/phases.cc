#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "base/text.h"
#include "cli/command.h"
#include "phases/loop_choice.h"
#include "study/run_structures.h"
#include "study/study_draft.h"

namespace farscale {
namespace {

struct PhasesOptions {
  TraceChoice choice;
  std::vector<std::string> traces;
  std::string phase = "auto";
  std::string output;
};

int Phases(const PhasesOptions& options, const Common& common) {
  const bool to_file = IsFile(options.output);
  if (to_file) RequireFree(options.output, ".toml");
  const Messages messages(common);
  const PhaseSpec spec = PhaseSpec::Region(options.phase);
  if (!spec.part.empty()) throw Error(ErrorKind::kUsage, "--phase", "is a part of an iteration", "name its loop: auto");
  ReadOptions what = ReadOptionsOf(options.choice);
  what.keep_threads = true;
  const RunStructures runs =
      ReadStructures(options.traces, spec, IsAutomatic(options.phase), what, messages.Progress(), WidthOfOutput());
  std::optional<Error> failure;
  for (std::size_t i = 0; i < options.traces.size(); ++i) {
    const std::optional<Error>& error = runs.errors[i];
    if (error && options.traces.size() == 1) throw *error;
    if (error) failure = error;
    messages.Findings(options.traces[i], runs.structures[i].diagnostics.findings());
    fmt::print("{}{}", i == 0 ? "" : "\n", error ? std::string(error->what()) + "\n" : runs.structures[i].text);
  }
  if (failure) {
    PrintError(*failure);
    return failure->exit_code();
  }
  const FoundPhases found = PhasesOf(options.traces, runs.spec, runs.structures);
  if (!found.loop) messages.Warning(found.why);
  if (options.output.empty()) {
    if (found.loop && !common.quiet) PrintSentences({"Next: add -o study.toml for a study with these phases."});
    return found.loop ? 0 : static_cast<int>(ErrorKind::kNotEnoughData);
  }
  const std::string folder = to_file ? std::filesystem::path(options.output).parent_path().string() : "";
  WriteOutput(options.output,
              WriteStudyDraft({options.traces, options.choice.application, folder.empty() ? "." : folder}, found));
  if (to_file && !common.quiet) fmt::print("wrote {0}\nNext: farscale run {0}\n", options.output);
  return 0;
}

}  // namespace

void AddPhasesCommand(CommandLine& line) {
  auto [command, options] = AddCommand<PhasesOptions>(
      line, "phases", "Find the loop of a run, the parts of its iterations and the clean ones; write a study with them",
      Phases);
  command->footer(
      "The traces need no regions. The loop is found in the largest trace and recognised in the others. Without a\n"
      "common loop the study takes the whole run; without -o the exit code is then 4.");
  command->add_option("trace", options.traces, "Traces of one program (.otf2, .prv, .prv.gz)")->required();
  command
      ->add_option("--phase", options.phase,
                   "Region of an iteration, or found for the loop in the MPI calls, or auto for either (default: auto)")
      ->allow_extra_args(false);
  AddTraceOptions(command, options.choice);
  command->add_option("-o,--output", options.output, "Study file to write (.toml), for editing; it must not exist");
}

}  // namespace farscale
