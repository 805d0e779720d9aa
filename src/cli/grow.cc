#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/format.h"
#include "base/text.h"
#include "cli/command.h"
#include "report/grown_runs_text.h"
#include "results/growth_record.h"
#include "study/phase_structure.h"
#include "study/resources.h"
#include "study/run_growth.h"
#include "study/scenario.h"
#include "trace/otf2_writer.h"

namespace farscale {
namespace {

struct GrowOptions {
  TraceChoice choice;
  std::vector<std::string> inputs;
  std::vector<std::string> phases;
  std::vector<std::int64_t> cores;
  std::vector<std::string> grids;
  std::string network;
  std::string without;  // which noise
  std::string output;
  std::int64_t seed = 1;
  double memory = 4;  // GiB
};

// "MPI_Recv x-1", or how often what stands below it is repeated.
struct CallLine {
  std::size_t times = 1, length = 0;  // of a heading: of how many calls
  std::string text;
};

// Puts together what is repeated at once: of all lengths up to `longest`, that which leaves fewest lines.
std::vector<CallLine> WithoutRepeats(const std::vector<std::string>& calls, std::size_t longest = 32) {
  std::vector<CallLine> lines;
  for (std::size_t i = 0; i < calls.size();) {
    std::size_t best_length = 1, best_times = 1;
    for (std::size_t length = 1; length <= longest && i + 2 * length <= calls.size(); ++length) {
      std::size_t times = 1;
      while (i + (times + 1) * length <= calls.size() &&
             std::equal(calls.begin() + static_cast<std::ptrdiff_t>(i),
                        calls.begin() + static_cast<std::ptrdiff_t>(i + length),
                        calls.begin() + static_cast<std::ptrdiff_t>(i + times * length)))
        ++times;
      if ((times - 1) * length > (best_times - 1) * best_length) {
        best_length = length;
        best_times = times;
      }
    }
    if (best_times > 1) lines.push_back({best_times, best_length, ""});
    for (std::size_t k = 0; k < best_length; ++k) lines.push_back({1, 0, calls[i + k]});
    i += best_times * best_length;
  }
  return lines;
}

std::string TextOf(const CallRule& call, const FunctionNames& functions) {
  std::vector<std::string> peers;
  for (const PartRule& part : call.parts) {
    if (!part.peers.empty() && part.peers.front().kind != PeerRule::Kind::kNobody)
      peers.push_back(part.peers.front().Text());
  }
  return fmt::format("{}{}{}", functions.Name(call.function), peers.empty() ? "" : " ", Join(peers, ", "));
}

void PrintBlock(const CallBlock& block, const FunctionNames& functions) {
  std::string indent = "  ";
  if (!block.counts.empty()) {
    fmt::print("{}{} times:\n", indent, block.counts.front().Text());
    indent += "  ";
  }
  std::vector<std::string> calls;
  for (const CallRule& call : block.calls) calls.push_back(TextOf(call, functions));
  std::size_t inside = 0;  // lines that belong to a heading
  for (const CallLine& line : WithoutRepeats(calls)) {
    if (line.times > 1) {
      fmt::print("{}{} times:\n", indent, line.times);
      inside = line.length;
    } else {
      fmt::print("{}{}{}\n", indent, inside > 0 ? "  " : "", line.text);
      inside -= inside > 0;
    }
  }
}

// The rules of the class with most ranks, call by call.
void PrintRules(const GrowthModel& model) {
  if (model.rules.scheme.is_lifted) return;  // copied calls have none
  const auto largest =
      std::ranges::max_element(model.rules.classes, {}, [](const auto& one) { return one.second.donors.size(); });
  if (largest == model.rules.classes.end()) return;
  for (std::size_t kind = 0; kind < largest->second.kinds.size(); ++kind) {
    fmt::print("Calls of an iteration of kind {}, on ranks like rank {} of {}:\n", kind + 1,
               largest->second.donors.front().second, model.runs[largest->second.donors.front().first].ranks);
    for (const CallBlock& block : largest->second.kinds[kind]) PrintBlock(block, model.functions);
  }
}

void Print(const GrowthFile& file, const GrowthResults& results, const Common& common, const Partials& texts) {
  for (std::size_t i = 0; i < file.phases.size(); ++i) {
    fmt::print("{}{}", i == 0 ? "" : "\n",
               FormatGrownRuns(file.phases[i], file.scenario, common.verbose, texts, WidthOfOutput()));
    if (common.verbose && file.phases[i].refusal.empty()) PrintRules(results.phases[i].model);
  }
  if (file.unknown_network.empty()) {
    fmt::print("Replayed on {}.\n", file.network);
  } else {
    fmt::print("Replayed without times of messages, so that transfer is not grown: {}.\n", file.unknown_network);
  }
}

bool WritesArchive(const GrowOptions& options) { return options.output.ends_with(".otf2"); }

// Throws a usage error unless the output is a file of JSON, or an archive of the one run that there is.
void CheckOutput(const GrowOptions& options) {
  if (options.output.empty() || options.output == "-") return;
  if (options.output.ends_with(".json")) return;
  if (!WritesArchive(options)) {
    throw Error(ErrorKind::kUsage, options.output, "is neither NAME.json nor NAME.otf2",
                "name a file of results or an archive of a grown run");
  }
  RequireFree(options.output, ".otf2");
  if (options.cores.size() + options.grids.size() == 1 && options.phases.size() == 1) return;
  throw Error(ErrorKind::kUsage, "--output", "writes one grown run", "give one phase and one number of cores");
}

// Of "16x8".
RankGrid GridOf(const std::string& text) {
  std::vector<std::int64_t> extents;
  for (const std::string& extent : Split(text, 'x')) {
    long long number = 0;  // which no layout has
    if (!ParseInteger(extent, number)) number = 0;
    extents.push_back(number);
  }
  const std::optional<RankGrid> grid = GridWith(extents);
  if (grid && grid->size() > 1) return *grid;
  throw Error(ErrorKind::kUsage, "--grid " + text, "is no layout of ranks", "write it as 16x8 or 8x8x4");
}

// The runs without noise of the network, or without any.
std::optional<Scenario> ScenarioFor(const GrowOptions& options, const Study& study) {
  if (options.without.empty()) return std::nullopt;
  std::optional<Network> network;
  if (!options.network.empty() && options.network != "calibrated") network = LoadNetwork(options.network, "--network");
  const bool is_clean = options.without == "noise";
  return NoiseRemoval(network, study.noise ? study.noise->source : std::nullopt, is_clean).back();
}

int Grow(const GrowOptions& options, const Common& common) {
  if (options.cores.empty() && options.grids.empty())
    throw Error(ErrorKind::kUsage, "--cores", "is missing", "say how far to grow, as in --cores 256,1024");
  CheckOutput(options);
  const Messages messages(common);
  Study study = StudyOfInputs(options.inputs, "", options.choice);
  if (!options.phases.empty()) study.phases = PhasesNamed(options.phases, study.runs);
  GrowthOptions growth{.ranks = options.cores,
                       .seed = static_cast<std::uint64_t>(options.seed),
                       .most_bytes = options.memory * (1 << 30),
                       .scenario = ScenarioFor(options, study)};
  for (const std::string& text : options.grids) {
    growth.grids.push_back(GridOf(text));
    growth.ranks.push_back(growth.grids.back().size());
  }
  if (!options.network.empty() && options.network != "calibrated") growth.network = options.network;
  const GrowthResults results = RunGrowth(study, growth, messages.Progress());
  const GrowthFile file = RecordOf(results);
  if (options.output != "-") Print(file, results, common, LoadTemplates().partials);
  const bool any = std::ranges::any_of(results.phases, [](const PhaseGrowth& phase) { return phase.refusal.empty(); });
  if (!options.output.empty() && !WritesArchive(options)) WriteOutput(options.output, WriteGrowthJson(file));
  if (!any) return static_cast<int>(ErrorKind::kNotEnoughData);
  if (WritesArchive(options)) {
    const PhaseGrowth& phase = results.phases.front();
    WriteOtf2(GrowTimedTrace(phase.model, phase.grown.front().grid, results.network, study.factors.rules, growth.seed),
              options.output);
    PrintWritten({options.output}, common);
  }
  return 0;
}

}  // namespace

void AddGrowCommand(CommandLine& line) {
  auto [command, options] = AddCommand<GrowOptions>(
      line, "grow", "Replay the program at core counts nobody has run, by rules learned from the runs", Grow);
  command->footer(
      "Three or more runs show who talks to whom, how large messages are and how long computations take. Larger runs\n"
      "follow the same rules and are replayed. Each measured run is also grown from the smaller ones: that is the\n"
      "proof. docs/growth.md describes the method and what it does not do.");
  AddInputOptions(command, options.inputs, options.choice);
  AddPhaseOption(command, options.phases);
  command->add_option("--cores", options.cores, "Numbers of ranks to grow to, such as 256,1024")
      ->delimiter(',')
      ->check(CLI::Range(2, 1 << 30));
  command->add_option("--grid", options.grids, "Layouts to grow to, such as 16x8 (default: after those of the runs)")
      ->delimiter(',');
  command->add_option("--network", options.network,
                      "Network of the grown runs: a name or a file (default: calibrated)");
  command
      ->add_option("--without", options.without,
                   "noise: grow the runs as they would be without any; network-noise: without that of the network")
      ->check(CLI::IsMember({"noise", "network-noise"}));
  command->add_option("-o,--output", options.output,
                      "NAME.json: rules and factors; NAME.otf2: the grown run as an archive; -: JSON");
  command->add_option("--memory", options.memory, "Most memory of a grown run, in GiB; fewer iterations need less")
      ->capture_default_str()
      ->check(CLI::Range(0.001, 256.0));
  command->add_option("--seed", options.seed, "Seed of what is drawn")->capture_default_str();
}

}  // namespace farscale
