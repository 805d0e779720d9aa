#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/format.h"
#include "base/text.h"
#include "cli/command.h"
#include "pages/text_table.h"
#include "study/phase_structure.h"
#include "study/resources.h"
#include "study/run_growth.h"
#include "trace/otf2_writer.h"

namespace farscale {
namespace {

struct GrowOptions {
  int application = 0;
  std::vector<std::string> inputs;
  std::vector<std::string> phases;
  std::vector<std::int64_t> cores;
  std::string network;
  std::string output;
  std::int64_t seed = 1;
  double memory = 4;  // GiB
};

void AddRow(const GrowthRow& row, const std::string& what, std::vector<std::vector<std::string>>& table) {
  table.push_back({FormatCount(static_cast<std::uint64_t>(row.ranks)),
                   row.grid.size() == row.ranks ? row.grid.Text() : "-", what, FormatSeconds(row.iteration)});
  for (const Factor factor :
       {Factor::kParallelEfficiency, Factor::kLoadBalance, Factor::kSerialization, Factor::kTransfer}) {
    table.back().push_back(row.values[factor] ? FormatFactor(*row.values[factor]) : "-");
  }
}

std::string NameOfSource(const GrowthRow& row) {
  return fmt::format("grown from up to {}", FormatCount(static_cast<std::uint64_t>(*row.learned_up_to)));
}

// Measured runs, each above what smaller ones foresaw, then those that nobody has run.
void PrintTable(const PhaseGrowth& growth) {
  std::vector<std::vector<std::string>> table = {
      {"ranks", "layout", "", "iteration", "parallel eff.", "load bal.", "serial.", "transfer"}};
  for (const GrowthRow& row : growth.measured) {
    AddRow(row, "measured", table);
    for (const GrowthRow& repeated : growth.repeated) {
      if (repeated.ranks == row.ranks) AddRow(repeated, "replayed", table);
    }
    for (const GrowthRow& foreseen : growth.backtest) {
      if (foreseen.ranks == row.ranks) AddRow(foreseen, NameOfSource(foreseen), table);
    }
  }
  for (const GrowthRow& row : growth.grown) AddRow(row, NameOfSource(row), table);
  fmt::print("{}", FormatTable(table));
}

// Which grown rows show replays of some iterations alone.
void PrintReplayed(const PhaseGrowth& growth) {
  for (const GrowthRow& row : growth.grown) {
    if (row.replayed == row.iterations) continue;
    fmt::print("{} ranks: {} of {} iterations are replayed; the times of the others follow from these.\n",
               FormatCount(static_cast<std::uint64_t>(row.ranks)), row.replayed, row.iterations);
  }
}

// Computation of an iteration by class of ranks and run.
void PrintClasses(const GrowthModel& model) {
  for (const auto& [key, of_class] : model.rules.classes) {
    std::map<std::size_t, std::pair<double, int>> sums;
    for (const auto& [run, rank] : of_class.donors) {
      const RankCalls& calls = model.runs[run].of_ranks[static_cast<std::size_t>(rank)];
      double seconds = 0;
      for (const PhaseCall& call : calls.calls) seconds += static_cast<double>(call.compute);
      for (const Tick tick : calls.compute_after) seconds += static_cast<double>(tick);
      auto& [sum, count] = sums[run];
      sum += seconds / model.runs[run].ticks_per_second / static_cast<double>(calls.iteration_end.size());
      ++count;
    }
    fmt::print("  ");
    for (const auto value : key) fmt::print("{} ", value);
    for (const auto& [run, sum] : sums) {
      fmt::print("| {} ranks: {} x {} ", model.runs[run].ranks, sum.second, FormatSeconds(sum.first / sum.second));
    }
    fmt::print("\n");
  }
}

// The rules of the class with most ranks, call by call.
void PrintRules(const GrowthModel& model) {
  const auto largest =
      std::ranges::max_element(model.rules.classes, {}, [](const auto& one) { return one.second.donors.size(); });
  if (largest == model.rules.classes.end()) return;
  for (std::size_t kind = 0; kind < largest->second.kinds.size(); ++kind) {
    fmt::print("Calls of an iteration of kind {}, on ranks like rank {} of {}:\n", kind + 1,
               largest->second.donors.front().second, model.runs[largest->second.donors.front().first].ranks);
    for (const CallBlock& block : largest->second.kinds[kind]) {
      if (!block.counts.empty()) fmt::print("  {} times:\n", block.counts.front().Text());
      for (const CallRule& call : block.calls) {
        std::vector<std::string> parts;
        for (const PartRule& part : call.parts) {
          if (!part.peers.empty() && part.peers.front().kind != PeerRule::Kind::kNobody)
            parts.push_back(part.peers.front().Text());
        }
        fmt::print("  {}{} {}\n", block.counts.empty() ? "" : "  ", model.functions.Name(call.function),
                   Join(parts, ", "));
      }
    }
  }
}

void Print(const PhaseGrowth& growth, bool verbose) {
  fmt::print("Phase {}\n", growth.phase);
  if (!growth.refusal.empty()) fmt::print("Not grown: {}.\n", growth.refusal);
  const CallRules& rules = growth.model.rules;
  if (!rules.classes.empty()) {
    fmt::print("{:.1f} % of the messages follow rules of their class of ranks. Classes of ranks by their place: {}.\n",
               100 * rules.Share(), rules.classes.size());
    std::vector<std::string> alone;
    for (const std::size_t run : rules.RunsAlone())
      alone.push_back(FormatCount(static_cast<std::uint64_t>(growth.model.runs[run].ranks)));
    if (!alone.empty()) {
      fmt::print(
          "No rank of the other runs lies in its grid as those of the runs with {} ranks do: their rules are confirmed "
          "by "
          "their own ranks alone.\n",
          Join(alone, ", "));
    }
    fmt::print("Computation of a rank: {}.\n", growth.model.load.common_law.Text());
  }
  if (growth.refusal.empty() || !growth.measured.empty()) PrintTable(growth);
  PrintReplayed(growth);
  for (const std::string& reason : growth.left_out) {
    if (reason != growth.refusal) fmt::print("Left out: {}.\n", reason);
  }
  if (verbose) PrintClasses(growth.model);
  if (verbose && growth.refusal.empty()) PrintRules(growth.model);
}

// Throws a usage error unless one run is to be written.
void CheckOutput(const GrowOptions& options) {
  if (options.output.empty()) return;
  RequireFree(options.output, ".otf2");
  if (options.cores.size() == 1 && options.phases.size() == 1) return;
  throw Error(ErrorKind::kUsage, "--output", "writes one grown run", "give one phase and one number of cores");
}

int Grow(const GrowOptions& options, const Common& common) {
  CheckOutput(options);
  const Messages messages(common);
  Study study = StudyOfInputs(options.inputs, "", options.application);
  if (!options.phases.empty()) study.phases = PhasesNamed(options.phases, study.runs);
  GrowthOptions growth{options.cores, std::nullopt, static_cast<std::uint64_t>(options.seed),
                       options.memory * (1 << 30)};
  if (!options.network.empty() && options.network != "calibrated") growth.network = options.network;
  const GrowthResults results = RunGrowth(study, growth, messages.Progress());
  if (results.unknown_network.empty()) {
    fmt::print("Replayed on {}.\n", results.network.name);
  } else {
    fmt::print("Replayed without times of messages, so that transfer is not grown: {}.\n", results.unknown_network);
  }
  bool any = false;
  for (const PhaseGrowth& phase : results.phases) {
    Print(phase, common.verbose);
    any = any || phase.refusal.empty();
  }
  if (!any) return static_cast<int>(ErrorKind::kNotEnoughData);
  if (!options.output.empty()) {
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
  AddInputOptions(command, options.inputs, options.application);
  AddPhaseOption(command, options.phases);
  command->add_option("--cores", options.cores, "Numbers of ranks to grow to, such as 256,1024")
      ->delimiter(',')
      ->required()
      ->check(CLI::Range(2, 1 << 30));
  command->add_option("--network", options.network,
                      "Network of the grown runs: a name or a file (default: calibrated)");
  command->add_option("-o,--output", options.output, "Write the grown run as an OTF2 archive, NAME.otf2");
  command->add_option("--memory", options.memory, "Most memory of a grown run, in GiB; fewer iterations need less")
      ->capture_default_str()
      ->check(CLI::Range(0.001, 256.0));
  command->add_option("--seed", options.seed, "Seed of what is drawn")->capture_default_str();
}

}  // namespace farscale
