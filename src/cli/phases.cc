#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "base/text.h"
#include "cli/command.h"
#include "phases/loop_choice.h"
#include "phases/phase_cut.h"
#include "replay/processor_time.h"
#include "study/study_draft.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

struct PhasesOptions {
  TraceChoice choice;
  std::vector<std::string> traces;
  std::string phase = "auto";
  std::string output;
};

// The largest trace is read first and shows the others what to look for; a trace that cannot be read does not lose the
// others.
class PhaseReader {
 public:
  PhaseReader(const PhasesOptions& options, PhaseSpec spec)
      : options_(options), spec_(std::move(spec)), structures_(options.traces.size()) {}

  void Read() {
    for (const std::size_t i : LargestFirst(options_.traces)) {
      try {
        ReadOne(i);
      } catch (const Error& error) {
        structures_[i].text = std::string(error.what()) + "\n";
        failure_ = error;
      }
    }
    if (failure_ && options_.traces.size() == 1) throw *failure_;
  }

  const PhaseSpec& spec() const { return spec_; }
  const std::vector<PhaseStructure>& structures() const { return structures_; }  // in the order given
  const std::optional<Error>& failure() const { return failure_; }

 private:
  void ReadOne(std::size_t i) {
    const Trace trace = ReadTrace(options_.traces[i], ReadOptionsOf(options_.choice));
    if (IsAutomatic(options_.phase) && !is_chosen_) spec_ = WithLoopOf(trace, spec_);
    is_chosen_ = true;
    structures_[i] = DescribePhase(trace, spec_);
    structures_[i].diagnostics.Merge(trace.diagnostics);
    structures_[i].diagnostics.Merge(CheckProcessorTime(trace, {}));
    if (!spec_.shape) spec_.shape = structures_[i].shape;
  }

  const PhasesOptions& options_;
  PhaseSpec spec_;
  bool is_chosen_ = false;
  std::vector<PhaseStructure> structures_;
  std::optional<Error> failure_;
};

int Phases(const PhasesOptions& options, const Common& common) {
  const bool to_file = IsFile(options.output);
  if (to_file) RequireFree(options.output, ".toml");
  const Messages messages(common);
  const PhaseSpec spec = PhaseSpec::Region(options.phase);
  if (!spec.part.empty()) throw Error(ErrorKind::kUsage, "--phase", "is a part of an iteration", "name its loop: auto");
  PhaseReader reader(options, spec);
  reader.Read();
  bool is_first = true;
  for (std::size_t i = 0; i < options.traces.size(); ++i) {
    messages.Findings(options.traces[i], reader.structures()[i].diagnostics.findings());
    fmt::print("{}{}", is_first ? "" : "\n", reader.structures()[i].text);
    is_first = false;
  }
  if (reader.failure()) {
    PrintError(*reader.failure());
    return reader.failure()->exit_code();
  }
  const FoundPhases found = PhasesOf(options.traces, reader.spec(), reader.structures());
  if (!found.loop) messages.Warning(found.why);
  if (options.output.empty()) return found.loop ? 0 : static_cast<int>(ErrorKind::kNotEnoughData);
  const std::string folder = to_file ? std::filesystem::path(options.output).parent_path().string() : "";
  WriteOutput(options.output,
              WriteStudyDraft(options.traces, options.choice.application, folder.empty() ? "." : folder, found));
  if (to_file && !common.quiet) fmt::print("wrote {}\n", options.output);
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
