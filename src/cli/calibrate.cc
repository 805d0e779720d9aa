#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "base/format.h"
#include "cli/command.h"
#include "replay/calibration.h"
#include "replay/clock_repair.h"
#include "replay/missing_calls.h"
#include "replay/processor_time.h"
#include "pages/text_table.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

// Up to the first deviation of the run time the network explains the run, beyond the second it does not.
constexpr double kNear = 0.02, kFar = 0.1;

struct CalibrateOptions {
  TraceChoice choice;
  std::vector<std::string> traces;
  std::string output;
  std::string rules;
};

std::string InMegabytes(double bandwidth) { return FormatSignificant(bandwidth / 1e6, 4) + " MB/s"; }

// Only the bound of what is not known. What took no tick of the clock took less than one.
std::vector<std::string> RowOf(const char* name, const LinkCalibration& of) {
  const Link& link = of.link;
  return {name,
          link.latency_at_most ? "≤ " + FormatSeconds(*link.latency_at_most) : FormatSeconds(link.latency),
          link.bandwidth_at_least ? "≥ " + InMegabytes(*link.bandwidth_at_least) : InMegabytes(link.bandwidth),
          link.overhead_at_most ? "≤ " + FormatSeconds(*link.overhead_at_most)
          : link.overhead > 0   ? FormatSeconds(link.overhead)
                                : "< " + FormatSeconds(of.tick),
          fmt::format("{} B{}", FormatCount(link.eager_limit), of.found_eager_limit ? "" : " *"),
          fmt::format("{} of {}", FormatCount(of.messages), FormatCount(of.all)),
          FormatBytes(of.smallest) + (of.largest > of.smallest ? " to " + FormatBytes(of.largest) : ""),
          fmt::format("{} ({})", FormatSeconds(of.spread), FormatPercent(of.relative_spread))};
}

std::string SayCalibration(const Calibration& calibration) {
  const double deviation = calibration.Deviation(), size = std::fabs(deviation);
  const std::string cause =
      deviation < 0 ? "it lacks waiting that the run had (noise, congestion, slower collectives)"
                    : "something takes longer on it than in the run (collectives, messages that travel together)";
  return fmt::format("Replayed on this network the run takes {}, measured {}: {} {}; {}.",
                     FormatSeconds(calibration.replayed_seconds), FormatSeconds(calibration.measured_seconds),
                     FormatPercent(size), deviation < 0 ? "less" : "more",
                     size <= kNear  ? "the network explains the run"
                     : size <= kFar ? "usable, but " + cause
                                    : "the network does not explain the run: " + cause);
}

void Print(const Trace& trace, const Calibration& calibration) {
  fmt::print("{}: {} ranks on {} node{}\n", trace.path, trace.size(), trace.nodes.size(),
             trace.nodes.size() == 1 ? "" : "s");
  PrintSentences({SayCalibration(calibration)});
  std::vector<std::vector<std::string>> cells = {
      {"link", "latency", "bandwidth", "overhead", "eager limit", "messages used", "sizes", "spread"}};
  if (calibration.remote) cells.push_back(RowOf("between nodes", *calibration.remote));
  if (calibration.local) cells.push_back(RowOf("within nodes", *calibration.local));
  fmt::print("{}", FormatTable(cells, WidthOfOutput()));
  const auto assumed = [](const std::optional<LinkCalibration>& link) { return link && !link->found_eager_limit; };
  if (assumed(calibration.remote) || assumed(calibration.local)) {
    fmt::print("* of the rules; nothing in the trace contradicts it\n");
  }
  for (const std::string& note : calibration.notes) PrintSentences({"note: " + note});
}

// A trace and what came of it, without the trace itself.
struct Calibrated {
  Calibration calibration;
  std::size_t ranks = 0;

  std::uint64_t MessagesUsed() const {
    std::uint64_t used = 0;
    for (const auto* link : {&calibration.local, &calibration.remote}) used += *link ? (*link)->messages : 0;
    return used;
  }
  bool IsLargerThan(const Calibrated& other) const {
    return std::pair(ranks, MessagesUsed()) > std::pair(other.ranks, other.MessagesUsed());
  }
};

Calibrated CalibrateTrace(const std::string& path, const TraceChoice& choice, const ReplayRules& rules,
                          const Messages& messages, bool print) {
  Trace trace = ReadTrace(path, ReadOptionsOf(choice));
  const Matching matching = MatchSynchronised(trace);
  Diagnostics diagnostics = trace.diagnostics;
  diagnostics.Merge(matching.diagnostics);
  diagnostics.Merge(CheckProcessorTime(trace, {}));
  (MissingCalls(trace).empty() ? diagnostics : trace.diagnostics).FailPastThreshold(path);
  Calibrated result{Calibrate(trace, matching, rules), trace.size()};
  diagnostics.Merge(result.calibration.diagnostics);
  messages.Findings(path, diagnostics.findings());
  if (print) Print(trace, result.calibration);
  return result;
}

int CalibrateTraces(const CalibrateOptions& options, const Common& common) {
  const Messages messages(common);
  const bool to_file = IsFile(options.output);
  for (const std::string& path : options.traces) {
    if (to_file) RefuseOverwriting(path, options.output);
  }
  ReplayRules rules;
  if (options.rules == "causal") rules.set = RuleSet::kCausal;
  const bool print = options.output.empty() || (to_file && !common.quiet);
  std::optional<Calibrated> largest;
  std::vector<Error> failures;
  for (const std::string& path : options.traces) {
    try {
      const Calibrated one = CalibrateTrace(path, options.choice, rules, messages, print);
      if (print && options.traces.size() > 1) fmt::print("\n");
      if (!largest || one.IsLargerThan(*largest)) largest = one;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kNotEnoughData) throw;
      failures.push_back(error);
    }
  }
  if (!largest) throw failures.front();
  for (const Error& failure : failures) messages.Warning(failure.what());
  if (!options.output.empty()) WriteOutput(options.output, WriteNetworkToml(largest->calibration.network));
  if (to_file && !common.quiet)
    fmt::print("wrote {0}\nNext: farscale whatif study.toml --network {0}\n", options.output);
  return 0;
}

}  // namespace

void AddCalibrateCommand(CommandLine& line) {
  auto [command, options] = AddCommand<CalibrateOptions>(
      line, "calibrate", "Fit latency and bandwidth of a network to the messages of a trace", CalibrateTraces);
  command->footer(
      "Every trace is fitted. The network of the trace with the most ranks is written (docs/network-files.md).");
  command->add_option("trace", options.traces, "Traces of one machine (.otf2, .prv, .prv.gz)")->required();
  AddTraceOptions(command, options.choice);
  command->add_option("--rules", options.rules, "Rules of the replay that checks the network (default: bsc)")
      ->check(CLI::IsMember({"bsc", "causal"}));
  command->add_option("-o,--output", options.output, "Network file to write (.toml); - prints it alone");
}

}  // namespace farscale
