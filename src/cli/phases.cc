#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/format.h"
#include "base/median.h"
#include "base/text.h"
#include "cli/command.h"
#include "factors/iteration_profile.h"
#include "factors/phase_factors.h"
#include "phases/found_loop.h"
#include "phases/phase_cut.h"
#include "phases/rank_groups.h"
#include "report/text_table.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

// An iteration that takes this much longer or shorter than the median is worth a look.
constexpr double kOdd = 0.1;

struct PhasesOptions {
  int application = 0;
  std::vector<std::string> traces;
  std::string phase = "auto";
  std::string output;
};

// The ideal time by phase profiles, in seconds and not clamped.
double SumOfProfiles(const std::vector<IterationProfile>& profiles) {
  double sum = 0;
  for (const IterationProfile& profile : profiles) sum += profile.largest_useful;
  return sum;
}

void PrintIterations(const std::vector<IterationProfile>& profiles) {
  std::vector<double> lengths;
  for (const IterationProfile& profile : profiles) lengths.push_back(profile.elapsed);
  const double by_profiles = SumOfProfiles(profiles);
  const double median = UpperMedian(std::move(lengths));
  std::vector<std::vector<std::string>> table = {{"iteration", "begins at", "takes", "useful", "parallel eff.",
                                                  "load bal.", "serialization", "transfer", "ideal", "by profile",
                                                  "share", ""}};
  for (std::size_t k = 0; k < profiles.size(); ++k) {
    const IterationProfile& profile = profiles[k];
    const double deviation = median > 0 ? profile.elapsed / median - 1 : 0;
    table.push_back({std::to_string(k + 1), FormatSeconds(profile.begin), FormatSeconds(profile.elapsed),
                     FormatSeconds(profile.average_useful), FormatFactor(profile.ParallelEfficiency()),
                     FormatFactor(profile.LoadBalance()), FormatFactor(profile.Serialization()),
                     FormatFactor(profile.Transfer()), FormatSeconds(profile.ideal),
                     FormatSeconds(profile.largest_useful),
                     FormatPercent(by_profiles > 0 ? profile.largest_useful / by_profiles : 0),
                     deviation > kOdd    ? fmt::format("{} longer than most", FormatPercent(deviation))
                     : deviation < -kOdd ? fmt::format("{} shorter than most", FormatPercent(-deviation))
                                         : ""});
  }
  fmt::print("{}", FormatTable(table));
}

// Serialization is the micro load balance of [Huck10]: from the profiles of the iterations alone, and as the replay has
// it.
void PrintMicroLoadBalance(const PhaseFactors& factors) {
  const PhaseTotals& totals = factors.totals;
  if (!totals.estimated_ideal) return;
  const double serialization = *factors.values[Factor::kSerialization];
  const double by_profiles = *factors.values[Factor::kSerializationPhaseEstimate];
  const double communication = *factors.values[Factor::kCommunicationEfficiency];
  const auto more = [](double estimate, double exact) {
    const std::string text = fmt::format("{:+.1f} %", 100 * (estimate / exact - 1));
    return text == "-0.0 %" || text == "+0.0 %" ? std::string("0.0 %") : text;
  };
  fmt::print("\n{}",
             FormatTable({{"micro load balance", "by profiles", "by replay", "difference"},
                          {"ideal time", FormatSeconds(*totals.estimated_ideal), FormatSeconds(totals.ideal_elapsed),
                           more(*totals.estimated_ideal, totals.ideal_elapsed)},
                          {"serialization", FormatFactor(by_profiles), FormatFactor(serialization),
                           more(by_profiles, serialization)},
                          {"transfer", FormatFactor(communication / by_profiles),
                           FormatFactor(communication / serialization), more(serialization, by_profiles)}}));
  if (factors.diagnostics.count(Anomaly::kPhaseEstimateClamped) > 0) {
    fmt::print("The sum of the profiles, {}, cannot be the ideal time and was moved into its range, {} to {}.\n",
               FormatSeconds(SumOfProfiles(factors.profiles)), FormatSeconds(totals.largest_useful),
               FormatSeconds(totals.elapsed));
  }
}

// Regions of the program that all ranks enter equally often, the loops that it marks itself.
void PrintMarkedLoops(const Trace& trace) {
  std::vector<std::string> loops;
  for (const RegionSummary& region : SummarizeRegions(trace)) {
    if (!region.IsLoop(trace) || loops.size() == 5) continue;
    loops.push_back(fmt::format("{} ({} times, {} of the run)", region.name, region.most, FormatPercent(region.share)));
  }
  if (!loops.empty()) fmt::print("Regions that repeat on every rank: {}\n", Join(loops, ", "));
}

// The iterations of the phase and what they make together.
void PrintPhase(const Trace& trace, const PhaseSpec& spec, const Messages& messages) {
  const Matching matching = MatchTrace(trace);
  PhaseFactors factors = MeasurePhase(trace, matching, CutPhase(trace, spec), {});
  factors.diagnostics.Merge(matching.diagnostics);
  messages.Findings(trace.path, factors.diagnostics.findings());
  PrintIterations(factors.profiles);
  PrintMicroLoadBalance(factors);
}

// Whether there is anything to show.
bool PrintTrace(const Trace& trace, const PhasesOptions& options, const Messages& messages) {
  fmt::print("{}: {} ranks, {}\n", trace.path, FormatCount(trace.size()),
             FormatSeconds(trace.Seconds(trace.end() - trace.begin())));
  PrintMarkedLoops(trace);
  const PhaseSpec spec = PhaseSpec::Region(options.phase);
  if (spec.kind == PhaseSpec::Kind::kFoundLoop) {
    const std::optional<FoundLoop> loop = FindLoopOfRun(trace);
    if (!loop) {
      fmt::print("The MPI calls show no loop of three iterations or more; analyse the whole run or a region.\n");
      return false;
    }
    fmt::print("The MPI calls show {} iterations, {} alike, {} of the run\n", loop->iterations(),
               FormatPercent(loop->similarity), FormatPercent(loop->coverage));
  }
  PrintPhase(trace, spec, messages);
  return true;
}

double UsefulSeconds(const Trace& trace, const PhaseCut& cut, std::size_t rank) {
  double useful = 0;
  for (const Interval& interval : cut.CountedTime(rank)) {
    useful += trace.Seconds(UsefulTicks(trace.timelines[rank], interval));
  }
  return useful;
}

// Ranks that do different work in the phase; nothing when all do the same.
void PrintGroups(const Trace& trace, const PhaseCut& cut, const Messages& messages) {
  const RankGroups found = FindGroups(trace, cut);
  messages.Findings(trace.path, found.diagnostics.findings());
  if (found.groups.empty()) return;
  double all = 0;
  for (std::size_t rank = 0; rank < trace.size(); ++rank) all += UsefulSeconds(trace, cut, rank);
  std::vector<std::vector<std::string>> table = {{"group", "ranks", "of useful time", "load bal.", ""}};
  for (const RankGroup& group : found.groups) {
    double total = 0, largest = 0;
    for (const std::size_t rank : group.ranks) {
      const double useful = UsefulSeconds(trace, cut, rank);
      total += useful;
      largest = std::max(largest, useful);
    }
    const double average = total / static_cast<double>(group.ranks.size());
    table.push_back({group.name, FormatCount(group.ranks.size()), FormatPercent(all > 0 ? total / all : 0),
                     largest > 0 ? FormatFactor(LoadBalance(average, largest)) : "-",
                     "ranks " + FormatRanks(group.ranks)});
  }
  fmt::print("\nRanks do different work\n{}", FormatTable(table));
}

std::string QuotedToml(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
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
  const PhaseSpec spec = PhaseSpec::Region(options.phase);
  text += "[[phases]]\n";
  if (spec.kind == PhaseSpec::Kind::kFoundLoop) {
    text += "found = true    # the iterations that the MPI calls show; skip and keep choose some\n";
  } else if (spec.kind == PhaseSpec::Kind::kRegion) {
    text += fmt::format("region = {}\n", QuotedToml(spec.region));
  } else {
    text += fmt::format("regex = {}\n", QuotedToml(spec.region));
  }
  return text;
}

int Phases(const PhasesOptions& options, const Common& common) {
  const bool to_file = !options.output.empty() && options.output != "-";
  if (to_file) RequireFree(options.output, ".toml");
  const Messages messages(common);
  bool found = true;
  for (const std::string& path : options.traces) {
    const Trace trace = ReadTrace(path, {false, {}, ApplicationOf(options.application)});
    messages.Findings(path, trace.diagnostics.findings());
    found = PrintTrace(trace, options, messages) && found;
    PrintGroups(trace, CutPhase(trace, PhaseSpec::Region(options.phase)), messages);
    if (options.traces.size() > 1) fmt::print("\n");
  }
  if (!found) return static_cast<int>(ErrorKind::kEvidence);
  if (!options.output.empty()) {
    const std::string folder = to_file ? std::filesystem::path(options.output).parent_path().string() : "";
    WriteOutput(options.output, StudyText(options, folder.empty() ? "." : folder));
    if (to_file && !common.quiet) fmt::print("wrote {}\n", options.output);
  }
  return 0;
}

}  // namespace

void AddPhasesCommand(CLI::App& app, const Common& common, CommandResult& action) {
  auto options = std::make_shared<PhasesOptions>();
  CLI::App* command = app.add_subcommand(
      "phases", "Find the loop of a run in its MPI calls, show its iterations, write a study with it");
  command->footer(
      "Needs no regions in the trace. Exit code 4 when the calls show no loop of three iterations or more.");
  command->add_option("trace", options->traces, "Traces of one program (.otf2, .prv, .prv.gz)")->required();
  command->add_option("--phase", options->phase, "Show the iterations of this region instead (default: auto)")
      ->allow_extra_args(false);
  AddApplicationOption(command, options->application);
  command->add_option("-o,--output", options->output, "Study file to write (.toml), for editing; it must not exist");
  command->callback([options, &common, &action] { action = [options, &common] { return Phases(*options, common); }; });
}

}  // namespace farscale
