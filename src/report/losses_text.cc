#include "report/losses_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "report/loss_ranks.h"
#include "report/losses_section.h"
#include "pages/text_table.h"

namespace farscale {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string ShareOrDash(double value, double whole) { return whole > 0 ? FormatPercent(value / whole) : "-"; }

// The rank with most of it.
std::string LargestRank(const std::vector<double>& by_rank, const LossRecord& losses) {
  const auto largest = std::max_element(by_rank.begin(), by_rank.end());
  if (largest == by_rank.end()) return "-";
  return LossRanks(losses).NumberOf(losses.ranks[static_cast<std::size_t>(largest - by_rank.begin())]);
}

std::string WaitTable(const LossRecord& losses) {
  Rows rows = {{"Wait state, " + LossRanks(losses).Summed(), "time",
                fmt::format("of all {}' time", LossRanks(losses).many()), "short-term", "long-term", "exit skew",
                "to nobody"}};
  const auto cost = [](double seconds) { return seconds > 0 ? FormatSeconds(seconds) : "-"; };
  for (const WaitKindName& kind : WaitKindNames()) {
    const auto k = static_cast<std::size_t>(kind.kind);
    if (losses.waiting[k] <= 0) continue;
    const bool is_end = kind.kind == WaitKind::kWaitAtEnd && losses.at_end > 0;
    rows.push_back({std::string(kind.name), FormatSeconds(losses.waiting[k]),
                    ShareOrDash(losses.waiting[k], losses.allocation), is_end ? "not charged" : cost(losses.short_term[k]),
                    is_end ? "" : cost(losses.long_term[k]), cost(losses.exit_skew[k]),
                    cost(losses.unattributed[k] + losses.lost[k])});
  }
  return FormatTable(rows);
}

std::string CauseTable(const LossRecord& losses, std::size_t top) {
  const LossRanks ranks(losses);
  Rows rows = {{"Cause of waiting, " + ranks.Summed(), "costs", fmt::format("per {}", ranks.one()), "of all waiting",
                "short-term", "long-term", "exit skew", "most on rank"}};
  const auto costs = [](const PathRecord& path) { return path.total.Costs(); };
  for (const PathRecord* path : LargestPaths(losses, top, costs)) {
    rows.push_back({path->path, FormatSeconds(path->total.Costs()), FormatSeconds(ranks.PerRank(path->total.Costs())),
                    ShareOrDash(path->total.Costs(), losses.Waiting()), FormatSeconds(path->total.ShortTerm()),
                    FormatSeconds(path->total.LongTerm()), FormatSeconds(path->total.ExitSkew()),
                    LargestRank(path->costs, losses)});
  }
  return FormatTable(rows);
}

std::string WaiterTable(const LossRecord& losses, std::size_t top) {
  Rows rows = {{fmt::format("Where {} wait, {}", LossRanks(losses).many(), LossRanks(losses).Summed()), "waiting",
                fmt::format("of all {}' time", LossRanks(losses).many()), "of it indirect", "propagating",
                "most on rank"}};
  const auto waiting = [](const PathRecord& path) { return path.total.Waiting(); };
  for (const PathRecord* path : LargestPaths(losses, top, waiting)) {
    const double all = path->total.Waiting();
    rows.push_back({path->path, FormatSeconds(all), ShareOrDash(all, losses.allocation), ShareOrDash(path->total.indirect, all),
                    ShareOrDash(path->total.propagating, all), LargestRank(path->waiting, losses)});
  }
  return FormatTable(rows);
}

std::string CriticalTable(const LossRecord& losses, std::size_t top) {
  const auto [within, between] = HeadingsOfImpact(losses);
  Rows rows = {{"On the critical path", "time", "of the path", "imbalance", within, between}};
  const auto lost = [&](double seconds) { return losses.recurs ? "-" : FormatSeconds(seconds); };
  const auto critical = [](const PathRecord& path) { return path.total.critical; };
  for (const PathRecord* path : LargestPaths(losses, top, critical)) {
    rows.push_back({path->path, FormatSeconds(path->total.critical), ShareOrDash(path->total.critical, losses.window),
                    FormatSeconds(path->imbalance), lost(path->total.intra), lost(path->total.inter)});
  }
  return FormatTable(rows);
}

}  // namespace

std::string FormatLosses(const LossRecord& losses, std::size_t top) {
  const LossRanks ranks(losses);
  std::string text =
      fmt::format("{}\nphase {} on {} core{}: {} on {}", losses.trace, losses.phase, losses.cores,
                  losses.cores == 1 ? "" : "s", FormatSeconds(losses.length), ranks.Count());
  if (losses.unknown_waits) return text + "\n" + DescribeUnknownWaits(losses) + "\n";
  text += fmt::format(", of which a {} waits {} on average ({})\n\n", ranks.one(),
                      FormatSeconds(ranks.PerRank(losses.Waiting())), ShareOrDash(losses.Waiting(), losses.allocation));
  if (losses.Waiting() > 0) {
    text += WaitTable(losses) + "\n";
    const std::string rules = DescribeRules(losses);
    if (!rules.empty()) text += rules + "\n\n";
    if (losses.Costs() > 0) text += CauseTable(losses, top) + "\n";
    text += WaiterTable(losses, top) + "\n";
  }
  return text + CriticalTable(losses, top);
}

}  // namespace farscale
