#include "report/losses_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/format.h"
#include "base/text.h"
#include "imbalance/loss_remedy.h"
#include "report/loss_maps.h"
#include "report/loss_ranks.h"
#include "report/shape_words.h"
#include "results/remedy_text.h"

namespace farscale {
namespace {

using Data = ReportData;

std::string ShareOf(double value, double whole) { return whole > 0 ? FormatPercent(value / whole) : "–"; }

constexpr double kNothing = 0.0005;  // shares below are 0.0 %
constexpr double kWorthSkew = 0.05;  // of the waiting, to be told

// "3 (71.0 %), 0 (12.0 %)": the two ranks with most, with what share of the whole they have.
std::string MostRanks(const std::vector<double>& by_rank, const LossRecord& losses, double whole) {
  std::vector<std::size_t> order(by_rank.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return by_rank[a] > by_rank[b]; });
  std::vector<std::string> texts;
  for (const std::size_t i : order) {
    if (texts.size() == 2 || by_rank[i] <= kNothing * whole) break;
    texts.push_back(fmt::format("{} ({})", LossRanks(losses).NumberOf(losses.ranks[i]), ShareOf(by_rank[i], whole)));
  }
  return texts.empty() ? "–" : Join(texts, losses.locations.empty() ? ", " : "; ");
}

Data Kinds(const LossRecord& losses) {
  Data rows = Data::array();
  for (const WaitKindName& kind : WaitKindNames()) {
    const auto k = static_cast<std::size_t>(kind.kind);
    if (losses.waiting[k] <= 0) continue;
    const bool is_end = kind.kind == WaitKind::kWaitAtEnd && losses.at_end > 0;
    rows.push_back({{"name", std::string(kind.name)},
                    {"time", FormatSeconds(losses.waiting[k])},
                    {"share", ShareOf(losses.waiting[k], losses.allocation)},
                    {"shortTerm", is_end ? "not charged" : TimeOrDash(losses.short_term[k])},
                    {"longTerm", is_end ? "–" : TimeOrDash(losses.long_term[k])},
                    {"exitSkew", TimeOrDash(losses.exit_skew[k])},
                    {"unattributed", TimeOrDash(losses.unattributed[k] + losses.lost[k])}});
  }
  return rows;
}

// The largest ones, without those that are nearly nothing beside the first.
std::vector<const PathRecord*> CausesToTell(const LossRecord& losses, std::size_t most) {
  std::vector<const PathRecord*> causes = LargestPaths(losses, most, CostsOf);
  while (causes.size() > 1 && causes.back()->total.Costs() < kNothing * losses.Waiting()) causes.pop_back();
  return causes;
}

Data Causes(const LossRecord& losses, std::size_t most) {
  Data rows = Data::array();
  for (const PathRecord* path : CausesToTell(losses, most)) {
    rows.push_back({{"number", std::to_string(rows.size() + 1)},
                    {"path", path->path},
                    {"costs", FormatSeconds(path->total.Costs())},
                    {"perRank", FormatSeconds(LossRanks(losses).PerRank(path->total.Costs()))},
                    {"share", ShareOf(path->total.Costs(), losses.Waiting())},
                    {"shortTerm", TimeOrDash(path->total.ShortTerm())},
                    {"longTerm", TimeOrDash(path->total.LongTerm())},
                    {"exitSkew", TimeOrDash(path->total.ExitSkew())},
                    {"most", MostRanks(path->costs, losses, path->total.Costs())}});
  }
  return rows;
}

// What is not in the list of causes.
std::string MoreCauses(const LossRecord& losses, std::size_t most) {
  double told = 0;
  for (const PathRecord* path : CausesToTell(losses, most)) told += path->total.Costs();
  const double rest = losses.Costs() - told;
  if (rest <= kNothing * losses.Waiting()) return "";
  return fmt::format("All other call paths together cause {} of the waiting.", ShareOf(rest, losses.Waiting()));
}

Data Waiters(const LossRecord& losses, std::size_t most) {
  Data rows = Data::array();
  for (const PathRecord* path : LargestPaths(losses, most, [](const PathRecord& p) { return p.total.Waiting(); })) {
    const double all = path->total.Waiting();
    rows.push_back({{"path", path->path},
                    {"waiting", FormatSeconds(all)},
                    {"share", ShareOf(all, losses.allocation)},
                    {"indirect", ShareOf(path->total.indirect, all)},
                    {"propagating", ShareOf(path->total.propagating, all)},
                    {"most", MostRanks(path->waiting, losses, all)}});
  }
  return rows;
}

Data OutOfOrder(const LossRecord& losses, std::size_t most) {
  Data rows = Data::array();
  for (const PathRecord* path : LargestPaths(losses, most, [](const PathRecord& p) { return p.total.wrong_order; })) {
    rows.push_back({{"path", path->path},
                    {"time", FormatSeconds(path->total.wrong_order)},
                    {"share", ShareOf(path->total.wrong_order, losses.Waiting())},
                    {"sameSource", ShareOf(path->total.wrong_order_same, path->total.wrong_order)}});
  }
  return rows;
}

Data Critical(const LossRecord& losses, std::size_t most) {
  Data rows = Data::array();
  for (const PathRecord* path : LargestPaths(losses, most, [](const PathRecord& p) { return p.total.critical; })) {
    rows.push_back(
        {{"path", path->path},
         {"time", FormatSeconds(path->total.critical)},
         {"share", ShareOf(path->total.critical, losses.window)},
         {"imbalance", TimeOrDash(path->imbalance)},
         {"nearly", ShareOf(path->total.nearly_critical, losses.window * static_cast<double>(losses.ranks.size()))},
         {"within", TimeOrDash(path->total.intra)},
         {"between", TimeOrDash(path->total.inter)}});
  }
  return rows;
}

Data ByFactor(const LossRecord& losses, std::size_t most) {
  Data rows = Data::array();
  if (!losses.by_factor) return rows;
  std::vector<const PathFactorLoss*> paths;
  const auto size = [](const PathFactorLoss* path) {
    return std::max(std::abs(path->load_balance), std::abs(path->serialization));
  };
  for (const PathFactorLoss& path : losses.by_factor->paths) {
    if (size(&path) >= kNothing * losses.length) paths.push_back(&path);
  }
  std::stable_sort(paths.begin(), paths.end(),
                   [&](const PathFactorLoss* a, const PathFactorLoss* b) { return size(a) > size(b); });
  if (paths.size() > most) paths.resize(most);
  for (const PathFactorLoss* path : paths) {
    rows.push_back({{"path", path->path},
                    {"loadBalance", ShareOf(path->load_balance, losses.length)},
                    {"serialization", ShareOf(path->serialization, losses.length)}});
  }
  return rows;
}

// Call paths that cause less of the waiting are not told.
constexpr double kWorthShape = 0.05;

// Of few ranks something is known where their loads move.
bool IsTold(const LoadShape& shape) {
  return shape.over_ranks != ShapeOverRanks::kUnknown || shape.over_time == ShapeOverTime::kDrifting ||
         shape.over_time == ShapeOverTime::kAlternating;
}

// How computation is spread, all of it and that of the first causes, and what helps.
Data Shapes(const LossRecord& losses, std::size_t most) {
  Data rows = Data::array();
  const LossRanks names(losses);
  const auto add = [&](const std::string& name, const std::optional<LoadShape>& shape, const Remedy& remedy) {
    if (!shape || !IsTold(*shape)) return;
    rows.push_back({{"name", name},
                    {"imbalance", FormatPercent(shape->imbalance)},
                    {"inIteration", FormatPercent(shape->imbalance_in_iteration)},
                    {"shape", DescribeShape(*shape, names)},
                    {"remedy", remedy.kind == Remedy::Kind::kNone ? "–" : TextOf(remedy)}});
  };
  add("All computation", losses.shape, RemedyForAll(losses));
  for (const PathRecord* path : LargestPaths(losses, most, CostsOf)) {
    if (path->is_mpi || path->total.Costs() < kWorthShape * losses.Waiting()) continue;
    add(path->path, path->shape, RemedyForPath(losses, *path));
  }
  return rows;
}

// What names in parentheses mean, of those that occur.
std::string ExplainParentheses(const LossRecord& losses) {
  std::vector<std::string> texts;
  for (const auto& [name, meaning] :
       {std::pair{"(before the phase)", "ranks that enter the phase later than the first, and what they do until then"},
        std::pair{"(between occurrences)", "what lies between occurrences of the phase"},
        std::pair{"(after the phase)", "ranks that are done until the last one is"},
        std::pair{"(outside regions)", "what no recorded region encloses"}}) {
    const bool occurs = std::any_of(losses.paths.begin(), losses.paths.end(),
                                    [&](const PathRecord& path) { return path.path.starts_with(name); });
    if (occurs) texts.push_back(fmt::format("{}: {}", name, meaning));
  }
  if (losses.by_factor && losses.by_factor->Find(kUnequalOccurrences) != nullptr) {
    texts.push_back(std::string(kUnequalOccurrences) +
                    ": ranks that spend less in the occurrences than the longest one");
  }
  return texts.empty() ? "" : "Names in parentheses are no call paths. " + Join(texts, "; ") + ".";
}

Data Growth(const std::vector<LossGrowth>& growth, std::size_t most) {
  Data list = Data::array();
  for (const LossGrowth& one : growth) {
    Data header = Data::array(), rows = Data::array();
    for (std::size_t row = 0; row < one.table.size() && row <= most; ++row) {
      Data cells = Data::array();
      for (std::size_t i = 1; i < one.table[row].size(); ++i) cells.push_back({{"text", one.table[row][i]}});
      if (row == 0) {
        header = std::move(cells);
      } else {
        rows.push_back({{"heading", one.table[row][0]}, {"cells", std::move(cells)}});
      }
    }
    Data sentences = Data::array();
    for (const std::string& sentence : one.sentences) sentences.push_back(sentence);
    list.push_back({{"title", one.title},
                    {"sentences", std::move(sentences)},
                    {"hasTable", !rows.empty()},
                    {"header", std::move(header)},
                    {"rows", std::move(rows)}});
  }
  return list;
}

}  // namespace

std::pair<std::string, std::string> HeadingsOfImpact(const LossRecord& losses) {
  const std::string ranks = losses.locations.empty() ? "Ranks" : "Threads";
  if (losses.groups.empty()) return {ranks + " in it lose, summed", ranks + " never in it lose, summed"};
  return {"Its group loses, summed", "Other groups lose, summed"};
}

std::string DescribeRules(const LossRecord& losses) {
  if (losses.rules == DelayRules::kConserving) return "";
  const double lost = std::accumulate(losses.lost.begin(), losses.lost.end(), 0.0);
  if (lost <= 0) return "Costs are by the rules of Scalasca, which charge all of the waiting here.";
  return fmt::format("Costs are by the rules of Scalasca, which charge {} of the waiting ({}, {}) to nothing.",
                     ShareOf(lost, losses.Waiting()), FormatSeconds(lost), LossRanks(losses).Summed());
}

namespace {

bool IsBeforePhase(const PathRecord& path) { return path.path.starts_with("(before the phase)"); }

// What ranks bring with them that enter the phase later than the first.
std::string SkewOfBegin(const LossRecord& losses) {
  double costs = 0;
  std::vector<double> late(losses.ranks.size(), 0);
  for (const PathRecord& path : losses.paths) {
    if (!IsBeforePhase(path)) continue;
    costs += path.total.Costs();
    for (std::size_t i = 0; i < late.size(); ++i) late[i] += path.execution[i];
  }
  if (late.empty() || costs < kWorthSkew * losses.Waiting()) return "";
  const double latest = *std::max_element(late.begin(), late.end());
  const std::string by = latest > 0 ? fmt::format(", up to {} after the first", FormatSeconds(latest)) : "";
  const char* const remedy =
      losses.recurs ? "" : " If that comes from the start of the run, leave out the first iterations.";
  return fmt::format("{} of the waiting comes from before the phase: {} enter it at different times{}.{}",
                     ShareOf(costs, losses.Waiting()), LossRanks(losses).many(), by, remedy);
}

// Waits for ranks that left a call later than others, and did nothing else longer.
std::string SkewOfExits(const LossRecord& losses) {
  const auto skew = [](const PathRecord& path) { return path.total.ExitSkew(); };
  double all = 0;
  for (const PathRecord& path : losses.paths) all += skew(path);
  if (all < kNothing * losses.Waiting()) return "";
  const std::vector<const PathRecord*> most = LargestPaths(losses, 1, skew);
  return fmt::format(
      "{} of the waiting ({}, {}) is exit skew: {} leave a call in which they met at different times and do nothing "
      "longer until they meet again. It is charged to that call, most of it to {}.",
      ShareOf(all, losses.Waiting()), FormatSeconds(all), LossRanks(losses).Summed(), LossRanks(losses).many(),
      most.front()->path);
}

}  // namespace

std::string DescribeUnknownWaits(const LossRecord& losses) {
  if (!losses.unknown_waits) return "";
  const UnknownWaits& waits = *losses.unknown_waits;
  return fmt::format(
      "How long {} wait is unknown: they may have waited in {} ({}) for {} that the trace does not tell. So nothing is "
      "said of what causes waiting, and of the critical path.",
      LossRanks(losses).many(), waits.calls == 1 ? "a call" : FormatCount(waits.calls) + " calls",
      waits.calls == 1 ? waits.example : "such as " + waits.example, LossRanks(losses).many());
}

std::vector<std::string> SummarizeLosses(const LossRecord& losses) {
  if (losses.unknown_waits) return {DescribeUnknownWaits(losses)};
  const double waiting = losses.Waiting();
  const LossRanks ranks(losses);
  if (waiting <= 0) return {fmt::format("No {} waits for another.", ranks.one())};
  std::vector<std::string> sentences = {
      fmt::format("{} of the time of all {} is waiting: {} of {}, summed over {}; {} of {} on the average {}.",
                  ShareOf(waiting, losses.allocation), ranks.many(), FormatSeconds(waiting),
                  FormatSeconds(losses.allocation), ranks.Count(), FormatSeconds(ranks.PerRank(waiting)),
                  FormatSeconds(ranks.PerRank(losses.allocation)), ranks.one())};
  if (ranks.are_threads()) {
    sentences.emplace_back(
        "Threads are told one by one here, those that wait for a fork too; factors and losses by factor are of ranks.");
  }
  const std::vector<const PathRecord*> causes = LargestPaths(losses, 1, CostsOf);
  if (!causes.empty()) {
    const PathRecord& first = *causes.front();
    sentences.push_back(fmt::format("{} of the waiting is caused by {}, {}.", ShareOf(first.total.Costs(), waiting),
                                    first.path, WhereMost(first, losses)));
    sentences.push_back(
        fmt::format("{} of the waiting is indirect, brought about by waits of the {} that came late; {} makes others "
                    "wait in turn.",
                    ShareOf(losses.indirect, waiting), ranks.one(), ShareOf(losses.propagating, waiting)));
  }
  for (const std::string& sentence : {SkewOfBegin(losses), SkewOfExits(losses)}) {
    if (!sentence.empty()) sentences.push_back(sentence);
  }
  if (losses.at_end > 0) {
    sentences.push_back(
        fmt::format("{} of the waiting ({}, {}) is for the last {} at the end of the run, and charged to nobody.",
                    ShareOf(losses.at_end, waiting), FormatSeconds(losses.at_end), ranks.Summed(), ranks.one()));
  }
  double unattributed = 0;
  for (const double value : losses.unattributed) unattributed += value;
  if (unattributed >= kNothing * waiting) {
    sentences.push_back(
        fmt::format("{} of the waiting ({}, {}) could not be attributed: the {} that came late did nothing longer "
                    "than the one that waited.",
                    ShareOf(unattributed, waiting), FormatSeconds(unattributed), ranks.Summed(), ranks.one()));
  }
  if (losses.recurs) {
    sentences.push_back(
        "The phase recurs with other work between: times are of its occurrences. What ranks did between them may make "
        "others wait in them, and is on the critical path from the first begin to the last end.");
  }
  const std::string rules = DescribeRules(losses);
  if (!rules.empty()) sentences.push_back(rules);
  if (losses.wrong_order > 0) {
    sentences.push_back(
        fmt::format("{} of the waiting is for messages received in another order than they were sent in.",
                    ShareOf(losses.wrong_order, waiting)));
  }
  return sentences;
}

ReportData LossesOfPhase(const LossRecord& losses, const std::vector<LossGrowth>& growth, const std::string& heading,
                         const LossDetail& detail) {
  Data data = {{"run", losses.cores == 1 ? "1 core" : FormatCores(static_cast<double>(losses.cores)) + " cores"},
               {"trace", losses.trace},
               {"who", LossRanks(losses).many()},
               {"one", LossRanks(losses).one()},
               {"summed", LossRanks(losses).Summed()}};
  data["sentences"] = Data::array();
  for (const std::string& sentence : SummarizeLosses(losses)) data["sentences"].push_back(sentence);
  data["isOneOfMany"] = !growth.empty();
  data["isFull"] = !detail.is_brief;
  const auto [within, between] = HeadingsOfImpact(losses);
  data["withinHeading"] = within;
  data["betweenHeading"] = between;
  data["groups"] = losses.groups.empty() ? "" : fmt::format(" Groups: {}.", Join(losses.groups, ", "));
  data["parentheses"] = ExplainParentheses(losses);
  data["hasParentheses"] = data["parentheses"] != "";
  const auto add = [&](const char* key, const char* has, Data rows) {
    data[has] = !rows.empty();
    data[key] = std::move(rows);
  };
  add("causes", "hasCauses", Causes(losses, detail.rows));
  data["moreCauses"] = MoreCauses(losses, detail.rows);
  data["hasMoreCauses"] = data["moreCauses"] != "";
  add("maps", "hasMaps", MapsOfLosses(losses, detail.maps, heading));
  const std::size_t rows = detail.is_brief ? 0 : detail.rows;
  add("shapes", "hasShapes", detail.is_brief ? Data::array() : Shapes(losses, rows));
  add("kinds", "hasKinds", detail.is_brief ? Data::array() : Kinds(losses));
  add("waiters", "hasWaiters", Waiters(losses, rows));
  add("wrongOrder", "hasWrongOrder", OutOfOrder(losses, rows));
  add("critical", "hasCritical", Critical(losses, rows));
  add("byFactor", "hasByFactor", ByFactor(losses, rows));
  add("growth", "hasGrowth", detail.is_brief && growth.size() > 1 ? Growth({growth.front()}, 0) : Growth(growth, rows));
  return data;
}

std::optional<ReportData> LossesInReport(const Results& results, const std::string& series, const PhaseId& phase,
                                         const std::string& heading) {
  const auto found = std::ranges::find_if(results.losses, [&](const LossRecord& losses) { return losses.phase == phase; });
  if (found == results.losses.end()) return std::nullopt;
  std::vector<LossProjection> projections;
  for (const LossProjection& projection : results.loss_projections) {
    if (projection.phase == phase) projections.push_back(projection);
  }
  std::vector<PhaseProjection> factors;
  for (const PhaseProjection& projection : results.projections) {
    if (projection.phase == phase && projection.series == series) factors.push_back(projection);
  }
  return LossesOfPhase(*found, DescribeGrowth(projections, factors, 2), heading, DetailFor(results.losses.size()));
}

}  // namespace farscale
