#include "report/losses_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>

#include "base/text.h"
#include "imbalance/causes/load_shape.h"
#include "imbalance/loss_remedy.h"
#include "report/loss_maps.h"
#include "report/loss_ranks.h"
#include "report/losses_summary.h"
#include "results/cause_text.h"

namespace farscale {
namespace {

// Shapes of loads in words: templates/loss_shape.txt.mustache.

// Ranks that are named, at most.
constexpr std::size_t kNamed = 4;

// The tags of loss_shape.txt.mustache, with those of LossRanks.
struct ShapeText {
  bool is_unknown = false, is_balanced = false, is_gaussian = false, is_irregular = false, is_two_groups = false;
  std::string few;                  // "overloaded" or "underloaded", where few ranks are
  std::string count, ranks, level;  // of those few or of one group; without a level they have all the load
  bool is_one = false;
  bool is_steady = false, is_static = false, is_drifting = false, is_alternating = false;  // over time
  FARSCALE_TAGS(is_unknown, is_balanced, is_gaussian, is_irregular, is_two_groups, few, count, ranks, level, is_one,
                is_steady, is_static, is_drifting, is_alternating)
};

// Nothing where they differ between iterations.
std::string NamesOf(const std::vector<std::size_t>& ranks, const LossRanks& names) {
  std::vector<std::string> numbers;
  for (std::size_t i = 0; i < std::min(kNamed, ranks.size()); ++i) numbers.push_back(names.NumberOf(ranks[i]));
  if (ranks.size() > kNamed) numbers.emplace_back("…");
  return names.List(numbers);
}

// "1.03×": how much more than 1 it is must be seen.
std::string FormatLevel(double level) {
  return level > 0.8 && level < 1.25 ? fmt::format("{:.2f}×", level) : FormatRatio(level);
}

// "2 overloaded ranks (3, 17) with 1.8× the load of the others, the same ranks all the time".
std::string DescribeShape(const LoadShape& shape, const LossRanks& ranks, const Partials& texts) {
  using Ranks = ShapeOverRanks;
  using Time = ShapeOverTime;
  const bool has_all = shape.over_ranks == Ranks::kOverloadedFew && shape.level <= 0;
  const ShapeText text{.is_unknown = shape.over_ranks == Ranks::kUnknown,
                       .is_balanced = shape.over_ranks == Ranks::kBalanced,
                       .is_gaussian = shape.over_ranks == Ranks::kGaussian,
                       .is_irregular = shape.over_ranks == Ranks::kIrregular,
                       .is_two_groups = shape.over_ranks == Ranks::kTwoGroups,
                       .few = shape.over_ranks == Ranks::kOverloadedFew    ? "overloaded"
                              : shape.over_ranks == Ranks::kUnderloadedFew ? "underloaded"
                                                                           : "",
                       .count = std::to_string(shape.count),
                       .ranks = NamesOf(shape.ranks, ranks),
                       .level = has_all ? "" : FormatLevel(shape.level),
                       .is_one = shape.count == 1,
                       .is_steady = shape.over_time == Time::kBalanced,
                       .is_static = shape.over_time == Time::kStatic,
                       .is_drifting = shape.over_time == Time::kDrifting,
                       .is_alternating = shape.over_time == Time::kAlternating};
  ReportData data = ToData(ranks);
  data.update(ToData(text));
  return Join(RenderSentences(texts, "loss_shape.txt", data), " ");
}

struct KindRow {
  FARSCALE_TEXTS(name, time, share, short_term, long_term, exit_skew, unattributed)
};

struct CauseRow {
  FARSCALE_TEXTS(number, path, costs, per_rank, share, short_term, long_term, exit_skew, most)
};

// A delay, and what the phase would gain without it.
struct FixRow {
  std::string number, place, reasons, gain, last, next, remedy, worst;
  std::optional<CauseMap> map;
  FARSCALE_TAGS(number, place, reasons, gain, last, next, remedy, worst, map)
};

// The first of them, as pages open.
struct LeadingFix {
  FARSCALE_TEXTS(place, gain, next)
};

struct WaiterRow {
  FARSCALE_TEXTS(path, waiting, share, indirect, propagating, most)
};

struct WrongOrderRow {
  FARSCALE_TEXTS(path, time, share, same_source)
};

struct CriticalRow {
  FARSCALE_TEXTS(path, time, share, imbalance, nearly, within, between)
};

struct ByFactorRow {
  FARSCALE_TEXTS(path, load_balance, serialization)
};

struct ShapeRow {
  FARSCALE_TEXTS(name, imbalance, in_iteration, shape, remedy)
};

// The phase in a run that nobody has made.
struct GrownLosses {
  std::string title;
  std::vector<std::string> sentences;
  FARSCALE_TAGS(title, sentences)
};

struct LossesSection {
  std::string run, trace, length, count;
  std::vector<std::string> sentences;
  // Pages open with three: the first of the sentences and the first of the fixes, with what then is the next
  // bottleneck. The other sentences follow them.
  std::vector<std::string> opening, others;
  std::optional<LeadingFix> leading;
  bool is_one_of_many = false, is_full = false;
  std::string groups, parentheses, more_causes;
  std::vector<FixRow> fixes;
  std::vector<CauseRow> causes;
  std::vector<LossMap> maps;
  std::vector<ShapeRow> shapes;
  std::vector<KindRow> kinds;
  std::vector<WaiterRow> waiters;
  std::vector<WrongOrderRow> wrong_order;
  std::vector<CriticalRow> critical;
  std::vector<ByFactorRow> by_factor;
  std::vector<LossGrowth> growth;
  std::optional<GrownLosses> grown;
  FARSCALE_TAGS(run, trace, length, count, sentences, opening, others, leading, is_one_of_many, is_full, groups,
                parentheses, more_causes, fixes, causes, maps, shapes, kinds, waiters, wrong_order, critical, by_factor,
                growth, grown)
};

// Which names in parentheses occur: the tags of loss_parentheses.txt.mustache.
struct ParenthesesText {
  bool is_any = false, is_before = false, is_between = false, is_after = false, is_outside = false, is_unequal = false;
  FARSCALE_TAGS(is_any, is_before, is_between, is_after, is_outside, is_unequal)
};

// "3 (71.0 %), 0 (12.0 %)": the two ranks with most, with what share of the whole they have.
std::string MostRanks(const std::vector<double>& by_rank, const LossRanks& ranks, double whole) {
  std::vector<std::size_t> order(by_rank.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return by_rank[a] > by_rank[b]; });
  std::vector<std::string> texts;
  for (const std::size_t i : order) {
    if (texts.size() == 2 || by_rank[i] <= kNoShare * whole) break;
    texts.push_back(fmt::format("{} ({})", ranks.NumberOf(ranks.losses.ranks[i]), ShareOrDash(by_rank[i], whole)));
  }
  return texts.empty() ? "–" : ranks.List(texts);
}

std::vector<KindRow> Kinds(const LossRecord& losses) {
  std::vector<KindRow> rows;
  for (const WaitKindName& kind : WaitKindNames()) {
    const auto k = static_cast<std::size_t>(kind.kind);
    if (losses.waiting[k] <= 0) continue;
    const bool is_end = kind.kind == WaitKind::kWaitAtEnd && losses.at_end > 0;
    rows.push_back(
        {std::string(kind.name), FormatSeconds(losses.waiting[k]), ShareOrDash(losses.waiting[k], losses.allocation),
         is_end ? "not charged" : TimeOrDash(losses.short_term[k]), is_end ? "–" : TimeOrDash(losses.long_term[k]),
         TimeOrDash(losses.exit_skew[k]), TimeOrDash(losses.unattributed[k] + losses.lost[k])});
  }
  return rows;
}

// The call paths with most of something, a row each.
template <typename Value, typename RowOf>
auto RowsOfLargest(const LossRecord& losses, std::size_t most, Value value, RowOf row_of) {
  std::vector<decltype(row_of(losses.paths.front()))> rows;
  for (const PathRecord* path : LargestPaths(losses, most, value)) rows.push_back(row_of(*path));
  return rows;
}

// The largest ones, without those that are nearly nothing beside the first. What is left is more_causes.
void AddCauses(const LossRecord& losses, std::size_t most, LossesSection& section) {
  const LossRanks ranks(losses);
  std::vector<const PathRecord*> causes = LargestPaths(losses, most, CostsOf);
  constexpr double kWorthARow = 0.005;  // of the waiting; chosen: nobody acts on less
  while (causes.size() > 1 && CostsOf(*causes.back()) < kWorthARow * losses.Waiting()) causes.pop_back();
  double rest = losses.Costs();
  for (const PathRecord* path : causes) {
    const double costs = CostsOf(*path);
    rest -= costs;
    section.causes.push_back({std::to_string(section.causes.size() + 1), path->path, FormatSeconds(costs),
                              FormatSeconds(ranks.PerRank(costs)), ShareOrDash(costs, losses.Waiting()),
                              TimeOrDash(path->total.ShortTerm()), TimeOrDash(path->total.LongTerm()),
                              TimeOrDash(path->total.ExitSkew()), MostRanks(path->costs, ranks, costs)});
  }
  if (rest > kNoShare * losses.Waiting()) section.more_causes = ShareOrDash(rest, losses.Waiting());
}

std::string Capitalised(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

// What gains more once all others are gone hides behind one of them.
std::vector<FixRow> Fixes(const LossRecord& losses, std::size_t most, std::size_t maps, const std::string& heading,
                          const Partials& texts) {
  constexpr double kHidden = 1.2;  // chosen
  std::vector<FixRow> rows;
  for (const Cause& cause : losses.causes) {
    if (rows.size() == most) break;
    const bool is_hidden = cause.together.empty() && cause.gain_last > kHidden * cause.gain;
    rows.push_back({std::to_string(rows.size() + 1), Capitalised(DescribePlace(cause, losses)), DescribeReasons(cause),
                    DescribeGainOf(cause, losses), is_hidden ? DescribeGain(cause.gain_last, losses) : "",
                    DescribeNext(cause, losses), RemedyOf(cause, losses), Capitalised(DescribeWorst(cause, losses)),
                    std::nullopt});
    if (rows.size() <= maps) rows.back().map = MapOfCause(losses, cause, rows.size(), heading, texts);
  }
  return rows;
}

std::vector<WaiterRow> Waiters(const LossRecord& losses, std::size_t most) {
  const auto waiting = [](const PathRecord& path) { return path.total.Waiting(); };
  return RowsOfLargest(losses, most, waiting, [&](const PathRecord& path) {
    const double all = waiting(path);
    return WaiterRow{path.path,
                     FormatSeconds(all),
                     ShareOrDash(all, losses.allocation),
                     ShareOrDash(path.total.indirect, all),
                     ShareOrDash(path.total.propagating, all),
                     MostRanks(path.waiting, LossRanks(losses), all)};
  });
}

std::vector<WrongOrderRow> OutOfOrder(const LossRecord& losses, std::size_t most) {
  const auto time = [](const PathRecord& path) { return path.total.wrong_order; };
  return RowsOfLargest(losses, most, time, [&](const PathRecord& path) {
    return WrongOrderRow{path.path, FormatSeconds(time(path)), ShareOrDash(time(path), losses.Waiting()),
                         ShareOrDash(path.total.wrong_order_same, time(path))};
  });
}

std::vector<CriticalRow> Critical(const LossRecord& losses, std::size_t most) {
  const auto time = [](const PathRecord& path) { return path.total.critical; };
  const double of_all = losses.window * static_cast<double>(losses.ranks.size());
  return RowsOfLargest(losses, most, time, [&](const PathRecord& path) {
    return CriticalRow{path.path,
                       FormatSeconds(time(path)),
                       ShareOrDash(time(path), losses.window),
                       TimeOrDash(path.imbalance),
                       ShareOrDash(path.total.nearly_critical, of_all),
                       TimeOrDash(path.total.intra),
                       TimeOrDash(path.total.inter)};
  });
}

std::vector<ByFactorRow> ByFactor(const LossRecord& losses, std::size_t most) {
  if (!losses.by_factor) return {};
  const auto size = [](const PathFactorLoss& path) {
    return std::max(std::abs(path.load_balance), std::abs(path.serialization));
  };
  std::vector<PathFactorLoss> paths = losses.by_factor->paths;
  std::erase_if(paths, [&](const PathFactorLoss& path) { return size(path) < kNoShare * losses.length; });
  std::ranges::stable_sort(paths, std::greater(), size);
  if (paths.size() > most) paths.resize(most);
  std::vector<ByFactorRow> rows;
  for (const PathFactorLoss& path : paths) {
    rows.push_back(
        {path.path, ShareOrDash(path.load_balance, losses.length), ShareOrDash(path.serialization, losses.length)});
  }
  return rows;
}

// Of few ranks something is known where their loads move.
bool IsKnown(const LoadShape& shape) {
  return shape.over_ranks != ShapeOverRanks::kUnknown || shape.over_time == ShapeOverTime::kDrifting ||
         shape.over_time == ShapeOverTime::kAlternating;
}

// How computation is spread, all of it and that of the first causes, and what helps.
std::vector<ShapeRow> Shapes(const LossRecord& losses, std::size_t most, const Partials& texts) {
  constexpr double kWorthShape = 0.05;  // of the waiting
  std::vector<ShapeRow> rows;
  const auto add = [&](const std::string& name, const std::optional<LoadShape>& shape, const Remedy& remedy) {
    if (!shape || !IsKnown(*shape)) return;
    rows.push_back({name, FormatPercent(shape->imbalance), FormatPercent(shape->imbalance_in_iteration),
                    DescribeShape(*shape, LossRanks(losses), texts),
                    remedy.kind == Remedy::Kind::kNone ? "–" : TextOf(remedy)});
  };
  add("All computation", losses.shape, RemedyForAll(losses));
  for (const PathRecord* path : LargestPaths(losses, most, CostsOf)) {
    if (path->is_mpi || CostsOf(*path) < kWorthShape * losses.Waiting()) continue;
    add(path->path, path->shape, RemedyForPath(losses, *path));
  }
  return rows;
}

std::string ExplainParentheses(const LossRecord& losses, const Partials& texts) {
  const auto occurs = [&](const char* name) {
    return std::ranges::any_of(losses.paths, [&](const auto& path) { return path.path.starts_with(name); });
  };
  ParenthesesText text{.is_before = occurs("(before the phase)"),
                       .is_between = occurs("(between occurrences)"),
                       .is_after = occurs("(after the phase)"),
                       .is_outside = occurs("(outside regions)"),
                       .is_unequal = losses.by_factor && losses.by_factor->Find(kUnequalOccurrences) != nullptr};
  text.is_any = text.is_before || text.is_between || text.is_after || text.is_outside || text.is_unequal;
  return Join(RenderSentences(texts, "loss_parentheses.txt", ToData(text)), " ");
}

// At most so many rows of each.
std::vector<LossGrowth> Shortened(std::vector<LossGrowth> growth, std::size_t most) {
  for (LossGrowth& one : growth) {
    if (one.rows.size() > most) one.rows.resize(most);
    one.has_table = !one.rows.empty();
    if (!one.has_table) one.header.clear();
  }
  return growth;
}

// A single fix, right below the sentences, is not said twice, and leaves them together.
void Open(LossesSection& section) {
  constexpr std::size_t kOpening = 3;
  std::size_t left = section.sentences.size();
  if (section.fixes.size() > 1) {
    left = kOpening;
    const FixRow& first = section.fixes.front();
    section.leading = LeadingFix{first.place, first.gain, first.next};
    left -= first.next.empty() ? 1 : 2;
  }
  for (const std::string& sentence : section.sentences)
    (section.opening.size() < left ? section.opening : section.others).push_back(sentence);
}

}  // namespace

ReportData LossesOfPhase(const LossRecord& losses, const std::vector<LossGrowth>& growth, const std::string& heading,
                         const Partials& texts, const LossDetail& detail, const LossRecord* grown) {
  const LossRanks ranks(losses);
  LossesSection section{.run = CoresOf(losses),
                        .trace = losses.trace,
                        .length = FormatSeconds(losses.length),
                        .count = ranks.Count(),
                        .sentences = SummarizeLosses(losses, texts),
                        .is_one_of_many = !growth.empty(),
                        .is_full = !detail.is_brief,
                        .groups = Join(losses.GroupNames(), ", "),
                        .parentheses = ExplainParentheses(losses, texts),
                        .maps = MapsOfLosses(losses, detail.maps, heading, texts)};
  AddCauses(losses, detail.rows, section);
  section.fixes =
      Fixes(losses, detail.is_brief ? 1 : std::min<std::size_t>(detail.rows, 5), detail.maps, heading, texts);
  Open(section);
  if (grown != nullptr) section.grown = GrownLosses{CoresOf(*grown), SummarizeLosses(*grown, texts)};
  if (detail.is_brief) {
    section.growth = Shortened({growth.begin(), growth.begin() + (growth.empty() ? 0 : 1)}, 0);
  } else {
    section.shapes = Shapes(losses, detail.rows, texts);
    section.kinds = Kinds(losses);
    section.waiters = Waiters(losses, detail.rows);
    section.wrong_order = OutOfOrder(losses, detail.rows);
    section.critical = Critical(losses, detail.rows);
    section.by_factor = ByFactor(losses, detail.rows);
    section.growth = Shortened(growth, detail.rows);
  }
  ReportData data = ToData(ranks);
  data.update(ToData(section));
  AddWhetherFilled(
      data, {"fixes", "others", "causes", "maps", "shapes", "kinds", "waiters", "wrongOrder", "critical", "byFactor"});
  return data;
}

std::string FormatLosses(const LossRecord& losses, std::size_t top, const Partials& texts, std::size_t width) {
  const ReportData section = LossesOfPhase(losses, {}, "", texts, {.rows = top, .maps = 0});
  return RenderText(texts, "losses.txt", {{"phase", losses.phase}, {"losses", section}}, width);
}

std::optional<ReportData> LossesInReport(const Results& results, const std::string& series, const PhaseId& phase,
                                         const std::string& heading, const Partials& texts) {
  const auto found =
      std::ranges::find_if(results.losses, [&](const LossRecord& losses) { return losses.phase == phase; });
  if (found == results.losses.end()) return std::nullopt;
  std::vector<LossProjection> projections;
  for (const LossProjection& projection : results.loss_projections) {
    if (projection.phase == phase) projections.push_back(projection);
  }
  std::vector<PhaseProjection> factors;
  for (const PhaseProjection& projection : results.projections) {
    if (projection.phase == phase && projection.series == series) factors.push_back(projection);
  }
  const auto grown =
      std::ranges::find_if(results.grown_losses, [&](const LossRecord& losses) { return losses.phase == phase; });
  return LossesOfPhase(*found, DescribeGrowth(projections, factors, texts, 2), heading, texts,
                       DetailFor(results.losses.size()), grown == results.grown_losses.end() ? nullptr : &*grown);
}

}  // namespace farscale
