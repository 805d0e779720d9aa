#include "report/balance/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "balance/strategy.h"
#include "base/text.h"

namespace farscale {
namespace {

constexpr double kShown = 0.0005;  // shares below are printed as 0.0 %

constexpr double kLargestCount = 9e18;  // bytes that an integer holds
constexpr double kExbibyte = 1152921504606846976.0;

}  // namespace

std::string NameOfPlacement(Placement placement) {
  switch (placement) {
    case Placement::kAsMeasured: return "as measured";
    case Placement::kBlock: return "in blocks";
    case Placement::kRoundRobin: return "round robin";
    case Placement::kByMessages: break;
  }
  return "by messages";
}

std::string CountOf(std::size_t count, const std::string& one) {
  return fmt::format("{} {}{}", FormatCount(count), one, count == 1 ? "" : "s");
}

std::string TasksOn(const BalanceConfiguration& configuration) {
  return fmt::format("{} on {}", CountOfTasks(configuration), CountOf(configuration.processors, "processor"));
}

std::string NameInCase(const WhatIf& what_if, const BalanceCase& one, const BalanceConfiguration& configuration) {
  const std::string name = NameOfBalancing(configuration);
  return HasSeveralPlacements(what_if, one) ? name + ", placed " + NameOfPlacement(configuration.placement) : name;
}

std::string NameWithTasks(const WhatIf& what_if, const BalanceCase& one, const BalanceConfiguration& configuration) {
  const std::string name = fmt::format("{} with {}", NameOfBalancing(configuration), CountOfTasks(configuration));
  return HasSeveralPlacements(what_if, one) ? name + " placed " + NameOfPlacement(configuration.placement) : name;
}

std::string ShortName(const BalanceConfiguration& configuration) {
  std::string name = configuration.interval == 0 ? "no balancing"
                                                 : fmt::format("{} every {}", StrategyById(configuration.strategy).name,
                                                               configuration.interval);
  return fmt::format("{}, {} a processor", name,
                     configuration.level() == 1 ? "one task" : FormatCores(configuration.level()) + " tasks");
}

std::string NameOfCase(const WhatIf& what_if, const BalanceCase& one) {
  std::string name = CountOf(one.processors, "processor");
  if (one.run && what_if.runs.size() > 1)
    name += fmt::format(" ({} on {})", what_if.runs[*one.run].grown_from ? "grown run" : "run",
                        CountOf(what_if.runs[*one.run].ranks, "rank"));
  return name;
}

std::string CountOfTasks(const BalanceConfiguration& configuration) {
  return CountOf(configuration.tasks, "task") + (configuration.is_grown ? " (grown)" : "");
}

std::string RanksOf(const BalanceRun& run) { return FormatCount(run.ranks) + (run.grown_from ? ", grown" : ""); }

std::string SayGain(double gain) {
  if (std::fabs(gain) < kShown) return "no change";
  return FormatPercent(std::fabs(gain)) + (gain > 0 ? " less" : " more");
}

std::string SayChange(double makespan, double reference) {
  const std::string change = SayGain(1 - makespan / reference);
  return change == "no change" ? "no more and no less" : change;
}

std::string SayBytes(double bytes) {
  if (bytes < kLargestCount) return FormatBytes(static_cast<std::uint64_t>(std::max(0.0, bytes)));
  return fmt::format("{:.3g} EiB", bytes / kExbibyte);
}

bool HasInterval(const Gain& gain) { return gain.low < gain.high; }

std::string SayGain(const Gain& gain) {
  if (!HasInterval(gain)) return SayGain(gain.value);
  const bool is_loss = gain.value <= -kShown;
  const double low = is_loss ? -gain.high : gain.low, high = is_loss ? -gain.low : gain.high;
  return fmt::format("{} (80 % of the replicas between {} and {})", SayGain(gain.value), FormatPercent(low),
                     FormatPercent(high));
}

std::string GainInterval(const Gain& gain) {
  return HasInterval(gain) ? FormatRange(FormatPercent(gain.low), FormatPercent(gain.high)) : "";
}

std::vector<NamedPart> PartsOf(const MakespanParts& parts) {
  std::vector<NamedPart> named = {{"computation, shared out evenly", parts.computation, 0},
                                  {"imbalance", parts.imbalance, 1},
                                  {"communication and waiting", parts.communication, 4},
                                  {"migration", parts.migration, 3},
                                  {"strategy", parts.strategy, 5},
                                  {"barriers", parts.barriers, 7}};
  // What is left of a difference of doubles is no time.
  for (NamedPart& part : named) {
    if (std::fabs(part.seconds) < 1e-12 * parts.Total()) part.seconds = 0;
  }
  return named;
}

std::optional<NamedPart> LimitOf(const BalanceOutcome& outcome) {
  const std::vector<NamedPart> parts = PartsOf(outcome.parts);
  const auto largest = std::max_element(parts.begin() + 1, parts.end(),
                                        [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
  if (!(outcome.makespan > 0) || largest->seconds < kShown * outcome.makespan) return std::nullopt;
  return *largest;
}

}  // namespace farscale
