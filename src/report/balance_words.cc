#include "report/balance_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "balance/strategy.h"
#include "base/format.h"
#include "base/text.h"

namespace farscale {
namespace {

constexpr std::size_t kMostNamed = 3;  // configurations by name that were left out for one reason
constexpr double kShown = 0.0005;      // shares below are 0.0 %

constexpr double kLargestCount = 9e18;  // bytes that an integer holds
constexpr double kExbibyte = 1152921504606846976.0;

std::string RanksOf(const WhatIf& what_if) {
  std::vector<std::string> ranks;
  for (const BalanceRun& run : what_if.runs) ranks.push_back(FormatCount(run.ranks));
  if (ranks.size() < 2) return Join(ranks, "");
  const std::string last = ranks.back();
  ranks.pop_back();
  return Join(ranks, ", ") + " and " + last;
}

std::string NameOfLeftOut(const BalanceConfiguration& configuration) {
  return fmt::format("{} with {}", NameOfBalancing(configuration), TasksOn(configuration));
}

}  // namespace

std::string NameOfStrategy(const std::string& id) { return StrategyById(id).name; }

std::string NameOfPlacement(Placement placement) {
  switch (placement) {
    case Placement::kAsMeasured: return "as measured";
    case Placement::kBlock: return "in blocks";
    case Placement::kRoundRobin: break;
  }
  return "round robin";
}

std::string CountOf(std::size_t count, const std::string& one) {
  return fmt::format("{} {}{}", FormatCount(count), one, count == 1 ? "" : "s");
}

std::string TasksOn(const BalanceConfiguration& configuration) {
  return fmt::format("{} on {}", CountOf(configuration.tasks, "task"), CountOf(configuration.processors, "processor"));
}

std::string NameOfBalancing(const BalanceConfiguration& configuration) {
  if (configuration.interval == 0) return "no balancing";
  const std::string name = NameOfStrategy(configuration.strategy);
  if (configuration.interval == 1) return name + " after every iteration";
  return fmt::format("{} every {}", name, CountOf(configuration.interval, "iteration"));
}

std::string NameInCase(const WhatIf& what_if, const BalanceCase& one, const BalanceConfiguration& configuration) {
  const std::string name = NameOfBalancing(configuration);
  return HasSeveralPlacements(what_if, one) ? name + ", placed " + NameOfPlacement(configuration.placement) : name;
}

std::string NameWithTasks(const WhatIf& what_if, const BalanceCase& one, const BalanceConfiguration& configuration) {
  const std::string name =
      fmt::format("{} with {}", NameOfBalancing(configuration), CountOf(configuration.tasks, "task"));
  return HasSeveralPlacements(what_if, one) ? name + " placed " + NameOfPlacement(configuration.placement) : name;
}

std::string ShortName(const BalanceConfiguration& configuration) {
  std::string name = configuration.interval == 0
                         ? "no balancing"
                         : fmt::format("{} every {}", NameOfStrategy(configuration.strategy), configuration.interval);
  return fmt::format("{}, {} a processor", name,
                     configuration.level() == 1 ? "one task" : FormatCores(configuration.level()) + " tasks");
}

std::string NameOfCase(const WhatIf& what_if, const BalanceCase& one) {
  std::string name = CountOf(one.processors, "processor");
  if (one.run && what_if.runs.size() > 1)
    name += fmt::format(" (run on {})", CountOf(what_if.runs[*one.run].ranks, "rank"));
  return name;
}

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
  return HasInterval(gain) ? FormatPercent(gain.low) + " – " + FormatPercent(gain.high) : "";
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

std::string DescribeWhatIf(const WhatIf& what_if) {
  if (what_if.runs.empty()) return "No run was replayed.";
  const std::size_t balanced = what_if.by_time.size();
  return fmt::format("{} of {} on {} ranks, replayed in {}, {} of them with balancing.",
                     what_if.phase.empty() ? "All" : "Phase " + what_if.phase, CountOf(what_if.runs.size(), "run"),
                     RanksOf(what_if), CountOf(what_if.outcomes.size(), "configuration"),
                     balanced == 0 ? "none" : FormatCount(balanced));
}

std::vector<std::pair<std::string, std::string>> DescribeMethod(const WhatIf& what_if) {
  std::vector<std::pair<std::string, std::string>> method;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) method.emplace_back(name, value);
  };
  add("Tasks",
      "Ranks of a run are tasks; a processor runs one ready task at a time and takes the next where it waits.");
  add("Network", what_if.network);
  add("Computation", what_if.computation);
  add("State of a task", what_if.task_bytes_source);
  add("Loads that strategies are given", what_if.predictor);
  add("Costs of balancing", what_if.cost_model);
  add("Noise", what_if.noise_replicas == 0
                   ? "No replicas: how much noise changes is not known."
                   : fmt::format("{} with the noise of the run in another order, of the best configurations and of "
                                 "what they are compared with.",
                                 CountOf(what_if.noise_replicas, "replica")));
  add("Problem",
      what_if.runs.size() < 2
          ? ""
          : (what_if.same_problem ? "The runs solve the same problem, so their makespans compare."
                                  : "The problem grows with the ranks: only makespans of the same run compare."));
  return method;
}

std::vector<std::string> DescribeLeftOut(const WhatIf& what_if) {
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  for (const LeftOut& one : what_if.left_out) {
    auto found =
        std::find_if(reasons.begin(), reasons.end(), [&](const auto& reason) { return reason.first == one.why; });
    if (found == reasons.end()) found = reasons.insert(reasons.end(), {one.why, {}});
    found->second.push_back(NameOfLeftOut(one.configuration));
  }
  std::vector<std::string> sentences;
  for (auto& [why, names] : reasons) {
    const std::size_t count = names.size();
    std::string more;
    if (count > kMostNamed) {
      names.resize(kMostNamed);
      more = fmt::format(" and {} more", FormatCount(count - kMostNamed));
    }
    sentences.push_back(fmt::format("{}{}: {}", Join(names, ", "), more, why));
  }
  return sentences;
}

}  // namespace farscale
