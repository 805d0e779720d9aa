#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/table_options.h"
#include "factors/scaling.h"
#include "models/scaling_model.h"
#include "pages/text_table.h"
#include "planning/shortlist.h"
#include "report/sections.h"
#include "report/factor_text.h"
#include "report/report.h"
#include "results/growth_record.h"
#include "study/grown_study.h"
#include "study/input_files.h"
#include "study/phase_structure.h"
#include "study/scenario.h"
#include "study/run_study.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

constexpr double kWorthAWord = 1.01;  // times as fast
constexpr const char* kCost = "cost";

// Options of whatif and grow.
struct ScenarioOptions : TraceOptions {
  std::vector<std::string> networks, offers;
  std::vector<double> latency = {1}, bandwidth = {1}, speed = {1};
  std::string region;
  std::vector<std::int64_t> cores;  // to grow to
  std::vector<std::string> grids;
  std::string without;  // which noise
  std::int64_t seed = 1;
  double memory = 4;  // GiB
};

// "Omni-Path, latency ×4": the network where there are several, and what is varied.
std::string NameOf(const ScenarioOptions& options, const Scenario& scenario, bool several_networks) {
  std::vector<std::string> parts;
  const auto add = [&](const std::string& what, const std::vector<double>& range, double factor) {
    if (range.size() > 1 || factor != 1) parts.push_back(fmt::format("{} ×{:g}", what, factor));
  };
  add("latency", options.latency, scenario.latency);
  add("bandwidth", options.bandwidth, scenario.bandwidth);
  add(options.region.empty() ? "computation" : options.region, options.speed, scenario.speed);
  if (several_networks || parts.empty()) {
    parts.insert(parts.begin(), scenario.network ? scenario.network->name : "network as calibrated");
  }
  return Join(parts, ", ");
}

// The offers, or every network with every factor of every range.
std::vector<Scenario> ScenariosOf(const ScenarioOptions& options) {
  const std::vector<std::string> networks =
      options.networks.empty() ? std::vector<std::string>{"calibrated"} : options.networks;
  std::vector<Scenario> scenarios;
  for (const std::string& offer : options.offers) {
    Scenario scenario = LoadOffer(offer);
    if (std::ranges::count(scenarios, scenario.name, &Scenario::name) > 0) {
      throw Error(ErrorKind::kUsage, offer, "another offer is named '" + scenario.name + "', too", "name them apart");
    }
    scenario.id = fmt::format("whatif-{}", scenarios.size() + 1);
    scenarios.push_back(scenario);
  }
  if (!scenarios.empty()) return scenarios;
  for (const std::string& name : networks) {
    std::optional<Network> network;
    if (name != "calibrated") network = LoadNetwork(name, "--network");
    for (const double latency : options.latency) {
      for (const double bandwidth : options.bandwidth) {
        for (const double speed : options.speed) {
          Scenario scenario;
          scenario.network = network;
          scenario.latency = latency;
          scenario.bandwidth = bandwidth;
          scenario.speed = speed;
          scenario.region = options.region;
          scenario.is_noise = false;
          scenario.name = NameOf(options, scenario, networks.size() > 1);
          scenario.id = fmt::format("whatif-{}", scenarios.size() + 1);
          scenarios.push_back(scenario);
        }
      }
    }
  }
  return scenarios;
}

using TextRows = std::vector<std::vector<std::string>>;

// Core counts of one machine below each other. `compared`: the same runs as measured, or as grown. Costs stand in
// tables that have a column for them.
void AddMachine(const std::string& name, const OfferTerms& terms, const std::vector<FactorRow>& rows,
                const std::vector<FactorRow>& compared, bool is_grown, TextRows& table) {
  const bool has_costs = table.front().back() == kCost;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const FactorRow& row = rows[i];
    table.push_back({i == 0 ? name : "", FormatCores(static_cast<double>(row.cores)) + (is_grown ? ", grown" : ""),
                     FormatSeconds(row.runtime.value_or(0)),
                     fmt::format("{:.2f}×", compared[i].runtime.value_or(0) / row.runtime.value_or(1))});
    for (const Factor factor :
         {Factor::kParallelEfficiency, Factor::kLoadBalance, Factor::kSerialization, Factor::kTransfer}) {
      table.back().push_back(row.values[factor] ? FormatFactor(*row.values[factor]) : "-");
    }
    if (!has_costs) continue;
    // "0.0213 EUR", of the phase on whole nodes.
    const auto cost = terms.CostOf(row.runtime.value_or(0), static_cast<double>(row.cores), row.threads);
    const std::string currency = terms.currency.empty() ? "" : " " + terms.currency;
    table.back().push_back(cost ? FormatSignificant(*cost, 3) + currency : "-");
  }
}

// Run time and parallel efficiency of a phase, scenarios below each other.
void AddMachines(const PhaseKey& key, const FactorTable& compared, const std::vector<Variant>& variants, bool is_grown,
                 TextRows& table) {
  const std::vector<FactorRow> rows = compared.Rows(key);
  AddMachine(is_grown ? "as grown" : "as measured", {}, rows, rows, is_grown, table);
  for (const Variant& variant : variants) {
    AddMachine(variant.name, variant.terms, variant.table.Rows(key), rows, is_grown, table);
  }
}

// Descriptions of machines without what their names, which the table has, say already; once where several are alike.
std::vector<std::string> MachinesOf(const std::vector<Variant>& variants) {
  std::vector<std::string> machines;
  for (const Variant& variant : variants) {
    std::string text = variant.description;
    for (const std::string& part : Split(variant.name, ',')) {
      const std::string known = ", " + std::string(Trim(part));
      if (const std::size_t at = text.find(known); at != std::string::npos) text.erase(at, known.size());
    }
    if (std::ranges::count(machines, text) == 0) machines.push_back(text);
  }
  return machines;
}

// The longest phase in its largest measured run, on the machine that makes it fastest; false where that is unknown.
ReportData BestMachineOf(const Results& results) {
  const std::vector<std::string> series = results.table.Series();
  const std::vector<FactorRow> rows =
      series.empty() ? std::vector<FactorRow>() : LongestPhase(results.table, series[0]);
  if (rows.empty() || !rows.back().runtime) return false;
  const FactorRow& measured = rows.back();
  ReportData best = false;
  double fastest = 0;
  for (const Variant& variant : results.variants) {
    for (const FactorRow& row : variant.table.Rows(measured.Key())) {
      const bool is_same_run = row.cores == measured.cores && row.repeat == measured.repeat;
      const std::optional<Ratio> speed = is_same_run ? ReplayedSpeed(measured, row) : std::nullopt;
      if (!speed || speed->value <= fastest) continue;
      fastest = speed->value;
      best = {{"machine", variant.name},
              {"phase", measured.phase.Text()},
              {"cores", FormatCores(static_cast<double>(measured.cores))},
              {"ratio", fmt::format("{:.2f}×", speed->value)},
              {"interval", FormatRange(fmt::format("{:.2f}", speed->low), fmt::format("{:.2f}", speed->high))},
              {"before", FormatSeconds(*measured.runtime)},
              {"after", FormatSeconds(*row.runtime)},
              {"isFaster", speed->value > kWorthAWord},
              {"isCertain", speed->low > 1}};
    }
  }
  return best;
}

void PrintConclusion(const std::vector<std::string>& machines, const ReportData& best, bool is_without_report) {
  const ReportData tags = {{"machines", machines}, {"best", best}, {"isWithoutReport", is_without_report}};
  PrintSentences(RenderSentences(LoadTemplates().partials, "whatif.txt", tags));
}

// The best machine, then measured runs, then those that nobody has made.
void PrintComparison(const Results& results, const std::vector<Results>& grown) {
  PrintConclusion({}, BestMachineOf(results), false);
  for (const PhaseKey& key : results.table.Keys()) {
    TextRows table = {{"machine", "cores", "run time", "speed", "parallel eff.", "load bal.", "serial.", "transfer"}};
    if (std::ranges::any_of(results.variants,
                            [](const Variant& variant) { return variant.terms.price_per_node_hour.has_value(); }))
      table.front().push_back(kCost);
    AddMachines(key, results.table, results.variants, false, table);
    for (const Results& runs : grown) {
      if (!runs.table.Rows(key).empty()) AddMachines(key, runs.table, runs.variants, true, table);
    }
    fmt::print("\nPhase {}\n{}", key.phase.Text(), FormatTable(table, WidthOfOutput()));
  }
  if (!grown.empty()) {
    fmt::print("Grown runs were not measured; they follow rules learned from runs on up to {} cores.\n",
               FormatCores(static_cast<double>(*grown.front().runs.front().grown_from)));
  }
  PrintConclusion(MachinesOf(results.variants), false, true);
}

// The grown runs on every machine, phase by phase. Where none is named, the network is that of the measured runs.
std::vector<Results> MeasureGrown(const Study& study, const FactorTable& measured,
                                  const std::vector<std::int64_t>& cores, std::vector<Scenario> scenarios,
                                  const Messages& messages) {
  std::vector<Finding> findings;
  const std::vector<Study> grown = GrowStudies(study, measured, cores, std::nullopt, messages.Progress(), findings);
  messages.Findings("", findings);
  std::vector<Results> runs;
  for (const Study& phase : grown) {
    for (Scenario& scenario : scenarios) {
      if (!scenario.network) scenario.network = phase.runs.front().grown->network;
    }
    runs.push_back(MeasureRuns(phase, messages.Progress(), scenarios));
    messages.Findings("", runs.back().table.findings);
  }
  if (runs.empty()) throw Error(ErrorKind::kNotEnoughData, "--grow-to", "none of the phases could be grown");
  return runs;
}

int RunWhatIf(const ScenarioOptions& options, const Common& common) {
  const Messages messages(common);
  Study study = StudyOfInputs(options);
  if (!options.phase.empty()) study.phases = PhasesNamed({options.phase}, study.runs);
  if (!options.scaling.empty()) study.scaling = ScalingByName(options.scaling);
  study.noise.reset();
  if (!options.grow_to.empty() && !options.output.empty()) {
    if (!study.growth) study.growth = GrowthSpec{"calibrated", "--grow-to"};
    study.projection.targets.assign(options.grow_to.begin(), options.grow_to.end());
  }
  if (!options.region.empty() && options.speed == std::vector<double>{1}) {
    throw Error(ErrorKind::kUsage, "--region", "says where computation gets faster, but not by how much",
                "add --computation");
  }
  const std::vector<Scenario> scenarios = ScenariosOf(options);
  const ModelLibrary library = LoadModels(study.model_files);
  if (!options.output.empty()) CreateFolder(options.output);
  StudyResults results = RunStudy(study, library, messages.Progress(), scenarios);
  if (results.variants.empty()) {
    messages.FindingsOf(results.table, results.runs);
    throw Error(ErrorKind::kNotEnoughData, "", "none of the scenarios could be replayed");
  }
  results.is_what_if = true;
  messages.FindingsOf(results.table, results.runs);
  if (!options.output.empty()) {
    PrintWritten(WriteReport(results, LoadTemplates(), options.output, study.formats), common);
    if (!common.quiet) PrintConclusion({}, BestMachineOf(results), false);
  }
  if (options.output.empty()) {
    PrintComparison(results, options.grow_to.empty()
                                 ? std::vector<Results>()
                                 : MeasureGrown(study, results.table, options.grow_to, scenarios, messages));
  }
  return ReportFailures(results.runs, results.failure);
}

// Puts together calls that are repeated at once below "3 times:". Of all lengths up to `longest`, that which leaves
// fewest lines.
std::vector<std::string> WithoutRepeats(const std::vector<std::string>& calls, std::size_t longest = 32) {
  std::vector<std::string> lines;
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
    if (best_times > 1) lines.push_back(fmt::format("{} times:", best_times));
    for (std::size_t k = 0; k < best_length; ++k) lines.push_back((best_times > 1 ? "  " : "") + calls[i + k]);
    i += best_times * best_length;
  }
  return lines;
}

std::string TextOf(const CallRule& call, const std::vector<std::string>& functions) {
  std::vector<std::string> peers;
  for (const PartRule& part : call.parts) {
    if (!part.peers.empty() && part.peers.front().kind != PeerRule::Kind::kNobody)
      peers.push_back(part.peers.front().Text());
  }
  return fmt::format("{}{}{}", functions[call.function], peers.empty() ? "" : " ", Join(peers, ", "));
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
    for (const CallBlock& block : largest->second.kinds[kind]) {
      if (!block.counts.empty()) fmt::print("  {} times:\n", block.counts.front().Text());
      std::vector<std::string> calls;
      for (const CallRule& call : block.calls) calls.push_back(TextOf(call, model.functions));
      for (const std::string& line : WithoutRepeats(calls)) {
        fmt::print("  {}{}\n", block.counts.empty() ? "" : "  ", line);
      }
    }
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

// Parses "16x8".
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

int Grow(const ScenarioOptions& options, const Common& common) {
  if (options.cores.empty() && options.grids.empty())
    throw Error(ErrorKind::kUsage, "--cores", "is missing", "say how far to grow, as in --cores 256,1024");
  const bool writes_archive = options.output.ends_with(".otf2");
  if (writes_archive) {
    RequireFree(options.output, ".otf2");
    if (options.cores.size() + options.grids.size() != 1 || options.phases.size() != 1) {
      throw Error(ErrorKind::kUsage, "--output", "writes one grown run", "give one phase and one number of cores");
    }
  } else if (IsFile(options.output) && !options.output.ends_with(".json")) {
    throw Error(ErrorKind::kUsage, options.output, "is neither NAME.json nor NAME.otf2",
                "name a file of results or an archive of a grown run");
  }
  const Messages messages(common);
  Study study = StudyOfInputs(options);
  const bool is_named = !options.network.empty() && options.network != "calibrated";
  GrowthOptions growth{.ranks = options.cores,
                       .seed = static_cast<std::uint64_t>(options.seed),
                       .most_bytes = options.memory * (1 << 30)};
  if (!options.without.empty()) {  // the runs without noise of the network, or without any
    std::optional<Network> network;
    if (is_named) network = LoadNetwork(options.network, "--network");
    const bool is_clean = options.without == "noise";
    growth.scenario = NoiseRemoval(network, study.noise ? study.noise->source : std::nullopt, is_clean).back();
  }
  for (const std::string& text : options.grids) {
    growth.grids.push_back(GridOf(text));
    growth.ranks.push_back(growth.grids.back().size());
  }
  if (is_named) growth.network = options.network;
  const GrowthResults results = RunGrowth(study, growth, messages.Progress());
  const GrowthFile file = RecordOf(results);
  if (options.output != "-") Print(file, results, common, LoadTemplates().partials);
  const bool any = std::ranges::any_of(results.phases, [](const PhaseGrowth& phase) { return phase.refusal.empty(); });
  if (!options.output.empty() && !writes_archive) WriteOutput(options.output, WriteGrowthJson(file));
  if (!any) return static_cast<int>(ErrorKind::kNotEnoughData);
  if (writes_archive) {
    const PhaseGrowth& phase = results.phases.front();
    WriteOtf2(GrowTimedTrace(phase.model, phase.grown.front().grid, results.network, study.factors.rules, growth.seed),
              options.output);
    PrintWritten({options.output}, common);
  }
  return 0;
}

}  // namespace

void AddWhatIfCommand(CommandLine& line) {
  auto [command, options] = AddCommand<ScenarioOptions>(
      line, "whatif", "Replay the runs of a study on other networks or faster processors", RunWhatIf);
  command->footer(
      "Every combination is replayed; give several values separated by commas: --bandwidth 1,2,4. Networks are those\n"
      "of configs/networks by name, or files of your own (docs/network-files.md, which also says what offers are).\n"
      "Without -o, prints the comparison.");
  const CLI::Validator factor = NumberThat([](double value) { return value >= 1e-6 && value <= 1e6; },
                                           "is not a factor between 1e-6 and 1e6", "FACTOR");
  AddInputOptions(command, options);
  CLI::Option* const offers =
      command
          ->add_option("--offer", options.offers,
                       "File of an offered machine: network, speed, cores and price of a node; repeat for several")
          ->allow_extra_args(false)
          ->check(CLI::ExistingFile);
  command
      ->add_option("--network", options.networks,
                   "Network to replay on; repeat for several (default: calibrated to the runs)")
      ->allow_extra_args(false)
      ->excludes(offers);
  const auto add_factors = [&factor, offers, whatif = command](const char* name, std::vector<double>& factors,
                                                               const char* text) {
    whatif->add_option(name, factors, text)->delimiter(',')->allow_extra_args(false)->check(factor)->excludes(offers);
  };
  add_factors("--latency", options.latency, "Factors for its latency");
  add_factors("--bandwidth", options.bandwidth, "Factors for its bandwidth");
  add_factors("--computation", options.speed, "Factors for the speed of computation");
  command->add_option("--region", options.region, "Only computation within this region gets faster")->excludes(offers);
  command->add_option("--phase", options.phase, "Region to analyse (default: the study's phases, or the whole run)");
  AddScalingOption(command, options.scaling,
                   "How the runs scale (default: as the study says, else by the growth of work)");
  AddGrowOption(command, options);
  command->add_option("-o,--output", options.output, "Folder for a full report with factors and projections");
}

void AddGrowCommand(CommandLine& line) {
  auto [command, options] = AddCommand<ScenarioOptions>(
      line, "grow", "Replay the program at core counts nobody has run, by rules learned from the runs", Grow);
  command->footer(
      "Three or more runs show who talks to whom, how large messages are and how long computations take. Larger runs\n"
      "follow the same rules and are replayed. Each measured run is also grown from the smaller ones: that is the\n"
      "proof. docs/growth.md describes the method and what it does not do.");
  AddInputOptions(command, options);
  AddPhaseOption(command, options);
  command->add_option("--cores", options.cores, "Numbers of ranks to grow to, such as 256,1024")
      ->delimiter(',')
      ->check(CLI::Range(2, 1 << 30));
  command->add_option("--grid", options.grids, "Layouts to grow to, such as 16x8 (default: after those of the runs)")
      ->delimiter(',');
  command->add_option("--network", options.network,
                      "Network of the grown runs: a name or a file (default: calibrated)");
  AddChoiceOption(command, "--without", options.without, {"noise", "network-noise"},
                  "noise: grow the runs as they would be without any; network-noise: without that of the network");
  command->add_option("-o,--output", options.output,
                      "NAME.json: rules and factors; NAME.otf2: the grown run as an archive; -: JSON");
  command->add_option("--memory", options.memory, "Most memory of a grown run, in GiB; fewer iterations need less")
      ->capture_default_str()
      ->check(CLI::Range(0.001, 256.0));
  command->add_option("--seed", options.seed, "Seed of what is drawn")->capture_default_str();
}

}  // namespace farscale
