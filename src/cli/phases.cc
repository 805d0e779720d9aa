#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "base/text.h"
#include "cli/command.h"
#include "cli/phase_tables.h"
#include "phases/phase_cut.h"
#include "replay/processor_time.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

struct PhasesOptions {
  int application = 0;
  std::vector<std::string> traces;
  std::string phase = "auto";
  std::string output;
};

std::string QuotedToml(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      quoted += fmt::format("\\u{:04X}", static_cast<unsigned char>(c));
      continue;
    }
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

std::string StudyText(const PhasesOptions& options, const std::string& folder) {
  std::string text = "# scaling = \"strong\" or \"weak\": only you know\n[study]\n# scaling = \"strong\"\n\n";
  for (const std::string& trace : options.traces) {
    const std::filesystem::path path =
        std::filesystem::absolute(trace).lexically_proximate(std::filesystem::absolute(folder));
    text += fmt::format("[[runs]]\ntrace = {}\n", QuotedToml(path.string()));
    if (options.application > 0) text += fmt::format("application = {}\n", options.application);
    text += "\n";
  }
  return text;
}

// What the phases of a study are, as far as the runs show it.
struct FoundPhases {
  std::vector<std::string> parts;                         // in the order of an iteration
  std::map<std::string, std::vector<std::string>> lacks;  // by part, the runs without it
  std::size_t standing_out = 0, iterations = 0;
};

std::string PhasesText(const PhasesOptions& options, const FoundPhases& found) {
  const PhaseSpec spec = PhaseSpec::Region(options.phase);
  std::string loop;
  if (spec.kind == PhaseSpec::Kind::kFoundLoop) {
    loop = "found = true    # the iterations that the MPI calls show\n";
  } else if (spec.kind == PhaseSpec::Kind::kRegion) {
    loop = fmt::format("region = {}\n", QuotedToml(spec.region));
  } else {
    loop = fmt::format("regex = {}\n", QuotedToml(spec.region));
  }
  std::string text =
      "[[phases]]\n" + loop + "# skip = 1      # leave out a warm-up; keep = 10 takes so many after that\n";
  text += found.standing_out > 0
              ? fmt::format("clean = true    # {} of {} iterations of all runs stand out as disturbed\n",
                            found.standing_out, found.iterations)
              : "# clean = true  # the longest run of undisturbed iterations: none stands out\n";
  for (const std::string& part : found.parts) {
    const auto lacks = found.lacks.find(part);
    const std::size_t without = lacks == found.lacks.end() ? 0 : lacks->second.size();
    // With one run only there is nothing to fit.
    const bool is_scarce = without > 0 && options.traces.size() - without < 2;
    const std::string comment = is_scarce ? "# " : "";
    text += fmt::format("\n{0}[[phases]]\n{0}{1}{0}part = {2}\n", comment, loop, QuotedToml(part));
    if (found.standing_out > 0) text += comment + "clean = true\n";
    if (without > 0) text += fmt::format("# not in {}\n", Join(lacks->second, ", "));
  }
  return text;
}

// The largest trace is read first and shows the others what to look for; they are told of in the order given.
int Phases(const PhasesOptions& options, const Common& common) {
  const bool to_file = !options.output.empty() && options.output != "-";
  if (to_file) RequireFree(options.output, ".toml");
  const Messages messages(common);
  PhaseSpec spec = PhaseSpec::Region(options.phase);
  if (!spec.part.empty()) throw Error(ErrorKind::kUsage, "--phase", "is a part of an iteration", "name its loop: auto");
  std::vector<PhaseStructure> structures(options.traces.size());
  std::optional<Error> failure;
  for (const std::size_t i : LargestFirst(options.traces)) {
    try {
      const Trace trace = ReadTrace(options.traces[i], {true, {}, ApplicationOf(options.application)});
      structures[i] = DescribePhase(trace, spec);
      structures[i].diagnostics.Merge(trace.diagnostics);
      structures[i].diagnostics.Merge(CheckProcessorTime(trace, {}));
      if (!spec.shape) spec.shape = structures[i].shape;
    } catch (const Error& error) {  // does not lose the others
      structures[i].text = std::string(error.what()) + "\n";
      failure = error;
    }
  }
  if (failure && options.traces.size() == 1) throw *failure;
  FoundPhases found;
  bool is_found = false;
  if (spec.shape) found.parts = spec.shape->PartNames();
  for (std::size_t i = 0; i < structures.size(); ++i) {
    const PhaseStructure& structure = structures[i];
    messages.Findings(options.traces[i], structure.diagnostics.findings());
    fmt::print("{}{}", i > 0 ? "\n" : "", structure.text);
    is_found = is_found || structure.is_found;
    found.standing_out += structure.standing_out;
    found.iterations += structure.iterations;
    for (const std::string& part : found.parts) {
      const auto& has = structure.parts;
      if (std::find(has.begin(), has.end(), part) == has.end())
        found.lacks[part].push_back(QuotedToml(options.traces[i]));
    }
  }
  if (failure) {
    PrintError(*failure);
    return failure->exit_code();
  }
  if (!is_found) return static_cast<int>(ErrorKind::kEvidence);
  if (!options.output.empty()) {
    const std::string folder = to_file ? std::filesystem::path(options.output).parent_path().string() : "";
    WriteOutput(options.output, StudyText(options, folder.empty() ? "." : folder) + PhasesText(options, found));
    if (to_file && !common.quiet) fmt::print("wrote {}\n", options.output);
  }
  return 0;
}

}  // namespace

void AddPhasesCommand(CLI::App& app, const Common& common, CommandResult& action) {
  auto options = std::make_shared<PhasesOptions>();
  CLI::App* command = app.add_subcommand(
      "phases", "Find the loop of a run, the parts of its iterations and the clean ones; write a study with them");
  command->footer(
      "Needs no regions in the trace. Of several traces the largest shows what to look for in the others, so that "
      "phases\n"
      "have the same names in all. Exit code 4 when the calls show no loop of three iterations or more.");
  command->add_option("trace", options->traces, "Traces of one program (.otf2, .prv, .prv.gz)")->required();
  command->add_option("--phase", options->phase, "Show the iterations of this region instead (default: auto)")
      ->allow_extra_args(false);
  AddApplicationOption(command, options->application);
  command->add_option("-o,--output", options->output, "Study file to write (.toml), for editing; it must not exist");
  command->callback([options, &common, &action] { action = [options, &common] { return Phases(*options, common); }; });
}

}  // namespace farscale
