#include "report/losses_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/text.h"
#include "imbalance/loss_remedy.h"
#include "report/loss_ranks.h"
#include "results/cause_text.h"
#include "results/reported_losses.h"

namespace farscale {
namespace {

constexpr double kWorthLateReceiver = 0.3;  // of the waiting, to be reported; chosen
constexpr double kWorthWaiting = 0.01;      // of the time of all ranks: less is hardly worth a repair; chosen
constexpr double kWorthSkew = 0.05;         // of the waiting, to be reported

struct UnknownWaitsText {
  std::string calls, example;
  bool is_one = false;
  FARSCALE_TAGS(calls, example, is_one)
};

// A part of the waiting.
struct PartText {
  FARSCALE_TEXTS(share, time)
};

struct CauseText {
  std::string share, path, indirect, propagating;
  std::optional<LargestShare> largest;
  bool spreads = false;  // through ranks that wait and make others wait
  FARSCALE_TAGS(share, path, indirect, propagating, largest, spreads)
};

struct LateText {
  FARSCALE_TEXTS(share, latest)
};

struct ExitSkewText {
  FARSCALE_TEXTS(share, time, path)
};

struct WaitingText {
  std::string share, time, whole, count, per_rank, whole_per_rank;
  std::optional<CauseText> cause;
  std::optional<LateText> late;
  std::optional<ExitSkewText> exit_skew;
  std::optional<PartText> late_receiver;
  std::optional<PartText> at_end, unattributed, lost, wrong_order, late_complete;
  bool recurs = false, is_by_scalasca = false, is_little = false;
  FARSCALE_TAGS(is_little, share, time, whole, count, per_rank, whole_per_rank, cause, late, exit_skew, late_receiver,
                at_end, unattributed, lost, wrong_order, late_complete, recurs, is_by_scalasca)
};

// Of a run that nobody has made.
struct GrownText {
  FARSCALE_TEXTS(cores, from)
};

struct LatencyText {
  FARSCALE_TEXTS(path, gain, mean, least)
};

// Of all ranks' time; empty: none.
struct InputOutputText {
  std::string share, collective, individual;
  FARSCALE_TAGS(share, collective, individual)
};

struct DeviceCallsText {
  FARSCALE_TEXTS(share, largest, of_largest, costs)
};

// Groups of ranks, "particle (28 ranks, 13.1 ms each)", and better numbers of ranks, "24 and 8".
struct GroupsText {
  std::string groups, sizes, gain;  // sizes empty: they are balanced
  FARSCALE_TAGS(groups, sizes, gain)
};

// Iterations that recur on most ranks.
struct HeavyText {
  FARSCALE_TEXTS(every, ratio, share)
};

// The tags of losses_summary.txt.mustache, with those of LossRanks.
struct LossesSummary {
  std::optional<GrownText> grown;
  std::optional<UnknownWaitsText> unknown;
  std::optional<WaitingText> waiting;
  bool is_without_waits = false;
  std::string cancelling;  // call paths whose imbalance makes nobody wait; empty: none
  std::optional<GroupsText> groups;
  std::optional<HeavyText> heavy;
  std::optional<LatencyText> latency;
  std::optional<InputOutputText> input_output;
  std::optional<DeviceCallsText> device_calls;
  FARSCALE_TAGS(grown, unknown, waiting, is_without_waits, cancelling, groups, heavy, latency, input_output,
                device_calls)
};

std::optional<CauseText> LargestCause(const LossRecord& losses) {
  const std::vector<const PathRecord*> causes = LargestPaths(losses, 1, CostsOf);
  if (causes.empty()) return std::nullopt;
  const PathRecord& first = *causes.front();
  const double waiting = losses.Waiting();
  return CauseText{
      ShareOrDash(first.total.Costs(), waiting), first.path,
      ShareOrDash(losses.indirect, waiting),     ShareOrDash(losses.propagating, waiting),
      LargestShareOf(first, LossRanks(losses)),  std::max(losses.indirect, losses.propagating) >= kNoShare * waiting};
}

// Of ranks that enter the phase later than the first.
std::optional<LateText> LateRanks(const LossRecord& losses) {
  double costs = 0;
  std::vector<double> late(losses.ranks.size(), 0);
  for (const PathRecord& path : losses.paths) {
    if (!path.path.starts_with("(before the phase)")) continue;
    costs += path.total.Costs();
    // Records for reports do not hold these times [results/reported_losses.h].
    for (std::size_t i = 0; i < path.execution.size(); ++i) late[i] += path.execution[i];
  }
  if (late.empty() || costs < kWorthSkew * losses.Waiting()) return std::nullopt;
  const double latest = std::ranges::max(late);
  return LateText{ShareOrDash(costs, losses.Waiting()), latest > 0 ? FormatSeconds(latest) : ""};
}

// Of ranks that left a call later than others, and did nothing longer than they did.
std::optional<ExitSkewText> ExitSkew(const LossRecord& losses) {
  const auto skew = [](const PathRecord& path) { return path.total.ExitSkew(); };
  double all = 0;
  for (const PathRecord& path : losses.paths) all += skew(path);
  if (all < kWorthSkew * losses.Waiting()) return std::nullopt;
  return ExitSkewText{ShareOrDash(all, losses.Waiting()), FormatSeconds(all),
                      LargestPaths(losses, 1, skew).front()->path};
}

std::optional<PartText> PartOf(const LossRecord& losses, double seconds, double least = 0) {
  if (seconds <= 0 || seconds < least * losses.Waiting()) return std::nullopt;
  return PartText{ShareOrDash(seconds, losses.Waiting()), FormatSeconds(seconds)};
}

WaitingText WaitingOf(const LossRecord& losses) {
  const LossRanks ranks(losses);
  const double waiting = losses.Waiting();
  return {.share = ShareOrDash(waiting, losses.allocation),
          .time = FormatSeconds(waiting),
          .whole = FormatSeconds(losses.allocation),
          .count = ranks.Count(),
          .per_rank = FormatSeconds(ranks.PerRank(waiting)),
          .whole_per_rank = FormatSeconds(ranks.PerRank(losses.allocation)),
          .cause = LargestCause(losses),
          .late = LateRanks(losses),
          .exit_skew = ExitSkew(losses),
          .late_receiver =
              PartOf(losses, losses.waiting[static_cast<std::size_t>(WaitKind::kLateReceiver)], kWorthLateReceiver),
          .at_end = PartOf(losses, losses.at_end),
          .unattributed = PartOf(losses, Sum(losses.unattributed), kNoShare),
          .lost = PartOf(losses, Sum(losses.lost)),
          .wrong_order = PartOf(losses, losses.wrong_order, kNoShare),
          .late_complete = PartOf(losses, losses.late_complete, kNoShare),
          .recurs = losses.recurs,
          .is_by_scalasca = losses.rules == DelayRules::kScalasca,
          .is_little = !losses.recurs && waiting < kWorthWaiting * losses.allocation};
}

// Where nobody waits, ranks that take longer in one call path take as much less in others.
std::string CancellingPaths(const LossRecord& losses) {
  constexpr double kWorthImbalance = 0.01;  // of the length of the phase
  if (losses.recurs) return "";             // others may wait between the occurrences
  std::vector<std::string> names;
  for (const PathRecord& path : losses.paths) {
    if (path.IsOutside()) continue;
    if (path.imbalance >= kWorthImbalance * losses.length && !path.is_mpi) names.push_back(path.innermost);
  }
  return Join(names, ", ");
}

// Nothing without groups, or where what they compute is unknown.
std::optional<GroupsText> GroupsOf(const LossRecord& losses) {
  if (losses.groups.size() < 2) return std::nullopt;
  std::vector<std::string> names;
  for (const GroupLoad& group : losses.groups) {
    if (!(group.computation > 0)) return std::nullopt;
    names.push_back(fmt::format("{} ({} {}, {} each)", group.name, FormatCount(group.ranks),
                                group.ranks == 1 ? "rank" : "ranks",
                                FormatSeconds(group.computation / static_cast<double>(group.ranks))));
  }
  GroupsText text{Join(names, ", "), "", ""};
  const std::optional<GroupSizes> better = BetterSizes(losses);
  if (!better) return text;
  std::vector<std::string> sizes;
  for (std::size_t i = 0; i < better->ranks.size(); ++i) {
    const char* ranks = sizes.empty() ? (better->ranks[i] == 1 ? " rank" : " ranks") : "";
    sizes.push_back(fmt::format("{}{} in {}", FormatCount(better->ranks[i]), ranks, losses.groups[i].name));
  }
  const std::string last = sizes.back();
  sizes.pop_back();
  text.sizes = Join(sizes, ", ") + " and " + last;
  text.gain = DescribeGain(better->gain, losses);
  return text;
}

}  // namespace

std::vector<std::string> SummarizeLosses(const LossRecord& losses, const Partials& texts) {
  LossesSummary summary;
  if (losses.grown_from) {
    summary.grown = GrownText{FormatCoreCount(static_cast<double>(losses.cores)),
                              FormatCoreCount(static_cast<double>(*losses.grown_from))};
  }
  summary.groups = GroupsOf(losses);
  if (losses.shape && losses.shape->heavy.every > 0) {
    const HeavyIterations& heavy = losses.shape->heavy;
    summary.heavy = HeavyText{FormatOrdinal(heavy.every), FormatRatio(heavy.level), FormatPercent(heavy.share)};
  }
  if (const auto& waits = losses.unknown_waits) {
    summary.unknown = UnknownWaitsText{FormatCount(waits->calls), waits->example, waits->calls == 1};
  } else if (losses.Waiting() > 0) {
    summary.waiting = WaitingOf(losses);
  } else {
    summary.is_without_waits = true;
    summary.cancelling = CancellingPaths(losses);
  }
  if (const auto& latency = losses.latency) {
    summary.latency = LatencyText{latency->path, DescribeGain(latency->gain, losses), FormatSeconds(latency->mean),
                                  FormatSeconds(latency->least)};
  }
  if (const double io = losses.individual_io + losses.collective_io; io > 2 * kNoShare * losses.allocation) {
    const auto share = [&](double time) {
      return time > kNoShare * losses.allocation ? ShareOrDash(time, losses.allocation) : "";
    };
    summary.input_output = {share(io), share(losses.collective_io), share(losses.individual_io)};
  }
  if (const auto& calls = losses.device_calls; calls && calls->time > 2 * kNoShare * losses.allocation) {
    summary.device_calls = {
        ShareOrDash(calls->time, losses.allocation), calls->largest, ShareOrDash(calls->of_largest, losses.allocation),
        calls->costs > kNoShare * losses.Waiting() ? ShareOrDash(calls->costs, losses.Waiting()) : ""};
  }
  ReportData data = ToData(LossRanks(losses));
  data.update(ToData(summary));
  return RenderSentences(texts, "losses_summary.txt", data);
}

}  // namespace farscale
