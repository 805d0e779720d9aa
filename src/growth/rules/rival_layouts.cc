#include "growth/growth_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>

#include "base/text.h"

namespace farscale {
namespace {

constexpr std::int64_t kMostRanks = 512;  // that are compared; chosen: bounds the time

// Rules of the messages that ranks of a class send in one iteration of every kind.
using Sends = std::vector<std::pair<const PeerRule*, Stage>>;

// The ranks to which a rank of a grid sends, rising; nothing for ranks that are like none of the runs. `known`: what
// was found out for other ranks.
std::optional<std::vector<std::int64_t>> Receivers(const CallRules& rules, const RankGrid& grid, std::int64_t rank,
                                                   std::map<RankClass, Sends>& known) {
  const RankClass key = ClassOf(rules.scheme, grid, rank);
  const auto found = rules.classes.find(key);
  if (found == rules.classes.end() || found->second.donors.empty()) return std::nullopt;
  const auto [sends, is_new] = known.try_emplace(key);
  const std::vector<std::vector<CallBlock>>& kinds = found->second.kinds;
  for (std::size_t kind = 0; is_new && kind < kinds.size(); ++kind) {
    for (const PlannedCall& call : PlanCalls(kinds[kind], kind, grid, grid)) {
      for (const PartRule& part : call.rule->parts) {
        if (IsSend(part.kind) && !part.peers.empty()) sends->second.emplace_back(&part.peers.front(), call.stage);
      }
    }
  }
  std::vector<std::int64_t> peers;
  for (const auto& [rule, stage] : sends->second) {
    const std::int64_t peer = PeerBy(*rule, grid, rank, stage);
    if (peer >= 0) peers.push_back(peer);
  }
  std::ranges::sort(peers);
  return peers;
}

// True if ranks send elsewhere; where either set of rules says nothing of a rank, it does not contradict the other.
bool Differ(const CallRules& a, const CallRules& b, std::int64_t ranks) {
  const RankGrid grid_a = LayoutFor(a, ranks), grid_b = LayoutFor(b, ranks);
  if (grid_a.size() != grid_b.size()) return false;
  std::map<RankClass, Sends> known_a, known_b;
  const std::int64_t step = std::max<std::int64_t>(1, grid_a.size() / kMostRanks);
  for (std::int64_t rank = 0; rank < grid_a.size(); rank += step) {
    const auto here = Receivers(a, grid_a, rank, known_a), there = Receivers(b, grid_b, rank, known_b);
    if (here && there && here != there) return true;
  }
  return false;
}

std::string LayoutTexts(const CallRules& rules) {
  std::vector<std::string> texts;
  for (const RankGrid& grid : rules.grids) texts.push_back(grid.Text());
  return Join(texts, ", ");
}

}  // namespace

std::string WhyContested(const GrowthModel& model) {
  if (model.rules.scheme.is_lifted) return "";
  const std::int64_t largest = model.runs.back().ranks;
  for (CallRules& rival : FindRivalRules(model.runs, model.rules)) {
    PreferCommonRules(rival);
    JoinPartners(model.runs.back(), model.runs.size() - 1, rival);
    for (const std::int64_t ranks : {2 * largest, 4 * largest}) {
      if (!Differ(model.rules, rival, ranks)) continue;
      return fmt::format(
          "the layouts {} and {} explain the messages of the runs equally well, and differ on {} ranks; name the "
          "layouts (grid of a run, or --grid)",
          LayoutTexts(model.rules), LayoutTexts(rival), ranks);
    }
  }
  return "";
}

namespace {

// The continuation of a series: dimensions whose extent is the same in all of its grids keep it, or all are as even as
// can be.
struct Course {
  std::size_t dimensions = 1;
  GridVector kept{};  // extents; 0 where they change
  double most_uneven = 0;
};

// The distance of the ratios of the extents that change are from even, as the logarithm of the largest to the smallest.
double Unevenness(const RankGrid& grid, const Course& course) {
  std::int32_t low = 0, high = 1;
  for (std::size_t d = 0; d < course.dimensions; ++d) {
    if (course.kept[d] > 0) continue;
    low = low == 0 ? grid.extents[d] : std::min(low, grid.extents[d]);
    high = std::max(high, grid.extents[d]);
  }
  return low > 0 ? std::log(static_cast<double>(high) / low) : 0;
}

Course FindCourse(const std::vector<RankGrid>& series, bool keeps) {
  Course course;
  for (std::size_t d = 1; d < kMostDimensions; ++d) {
    if (std::ranges::any_of(series, [&](const RankGrid& grid) { return grid.extents[d] > 1; }))
      course.dimensions = d + 1;
  }
  for (std::size_t d = 0; keeps && d < course.dimensions; ++d) {
    const std::int32_t extent = series.front().extents[d];
    if (std::ranges::all_of(series, [&](const RankGrid& grid) { return grid.extents[d] == extent; }))
      course.kept[d] = extent;
  }
  for (const RankGrid& grid : series) course.most_uneven = std::max(course.most_uneven, Unevenness(grid, course));
  return course;
}

// The lower, the better does the grid go on with the series: dimensions that are the larger ones there are so here.
double Score(const RankGrid& grid, const std::vector<RankGrid>& series, const Course& course) {
  int mistakes = 0;
  for (const RankGrid& other : series) {
    for (std::size_t a = 0; a < course.dimensions; ++a) {
      for (std::size_t b = a + 1; b < course.dimensions; ++b) {
        const auto here = grid.extents[a] <=> grid.extents[b], there = other.extents[a] <=> other.extents[b];
        mistakes += here != 0 && there != 0 && here != there;
      }
    }
  }
  return Unevenness(grid, course) + 1e-3 * mistakes;
}

std::optional<RankGrid> GridFor(const std::vector<RankGrid>& series, const Course& course, std::int64_t ranks) {
  std::optional<RankGrid> best;
  double best_score = INFINITY;
  for (const RankGrid& grid : GridsOf(ranks, course.dimensions)) {
    const bool keeps = std::ranges::equal(
        grid.extents, course.kept, [](std::int32_t extent, std::int32_t kept) { return kept <= 0 || extent == kept; });
    if (!keeps || Unevenness(grid, course) > course.most_uneven + 1e-9) continue;
    const double score = Score(grid, series, course);
    if (score < best_score) best = grid;
    best_score = std::min(best_score, score);
  }
  return best;
}

// True if the others would have foreseen every grid of the series, or one that is as good.
bool Foresees(const std::vector<RankGrid>& series, bool keeps) {
  for (const RankGrid& grid : series) {
    std::vector<RankGrid> others = series;
    std::erase(others, grid);
    const Course course = FindCourse(series, keeps);
    const std::optional<RankGrid> foreseen = GridFor(others, course, grid.size());
    if (!foreseen || Score(grid, others, course) > Score(*foreseen, others, course) + 1e-9) return false;
  }
  return true;
}

Course BestCourse(const std::vector<RankGrid>& series) {
  constexpr std::size_t kFewest = 3;  // grids; in two of them, half of the extents are the same by chance
  const Course even = FindCourse(series, false);
  if (series.size() < kFewest || Foresees(series, false) || !Foresees(series, true)) return even;
  // Extents that stay the same may yet be waiting for smaller ones to become as large; in more than two dimensions,
  // they are kept only when others go beyond them.
  const Course keeping = FindCourse(series, true);
  std::int32_t kept = 0, largest = 0;
  for (std::size_t d = 0; d < keeping.dimensions; ++d) {
    kept = std::max(kept, keeping.kept[d]);
    if (keeping.kept[d] == 0) largest = std::max(largest, series.back().extents[d]);
  }
  return keeping.dimensions <= 2 || largest > kept ? keeping : even;
}

}  // namespace

RankGrid ContinueSeries(const std::vector<RankGrid>& series, std::int64_t ranks) {
  const bool has_two = series.back().HasTwo();
  std::array<std::vector<RankGrid>, 2> programs;
  std::array<std::optional<Course>, 2> courses;  // nothing where layouts of one of two programs are the same
  for (std::size_t program = 0; program < series.back().programs(); ++program) {
    std::vector<RankGrid>& grids = programs[program];
    for (const RankGrid& grid : series) grids.push_back(has_two ? grid.GridOf(program) : grid);
    if (!has_two || std::ranges::count(grids, grids.front()) < std::ssize(grids)) courses[program] = BestCourse(grids);
  }
  const auto of_program = [&](std::size_t program, std::int64_t size) {
    const std::vector<RankGrid>& grids = programs[program];
    if (courses[program]) return GridFor(grids, *courses[program], size);
    return grids.front().size() == size ? std::optional(grids.front()) : std::nullopt;
  };
  const std::optional<ProgramSplit> split = has_two ? FindSplit(series) : std::nullopt;
  const auto grid_for = [&](std::int64_t size) -> std::optional<RankGrid> {
    if (!has_two) return of_program(0, size);
    const std::optional<std::int64_t> first = split ? split->FirstOf(size) : std::nullopt;
    if (!first) return std::nullopt;
    const std::optional<RankGrid> a = of_program(0, *first), b = of_program(1, size - *first);
    return a && b ? std::optional(RankGrid::OfTwo(*a, *b)) : std::nullopt;
  };
  // The nearest number of ranks that has a layout; that of the largest run where there is none.
  for (std::int64_t away = 0; away < ranks; ++away) {
    for (const std::int64_t tried : {ranks - away, ranks + away}) {
      if (const std::optional<RankGrid> grid = grid_for(tried)) return *grid;
    }
  }
  return series.back();
}

bool IsRegular(const std::vector<RankGrid>& series) { return Foresees(series, false) || Foresees(series, true); }

RankGrid LayoutFor(const CallRules& rules, std::int64_t ranks) {
  if (!rules.scheme.is_lifted) return ContinueSeries(rules.grids, ranks);
  const std::int64_t of_run = rules.grids.back().size();
  const std::int64_t copies = std::max<std::int64_t>(1, (ranks + of_run / 2) / of_run);
  return {{static_cast<std::int32_t>(of_run), static_cast<std::int32_t>(copies), 1, 1}};
}

namespace {

// Calls see(call, ranks, grid, of_class) for every call of an iteration of every kind, with how many ranks of the
// largest run make it, and the grid of that run as their program sees it.
void ForEachCall(const GrowthModel& model,
                 const std::function<void(const PlannedCall&, double, const RankGrid&, const ClassRules&)>& see) {
  const std::size_t largest = model.runs.size() - 1;
  for (const auto& [key, of_class] : model.rules.classes) {
    const auto ranks = static_cast<double>(of_class.DonorsIn(largest).size());
    if (ranks == 0) continue;
    const RankGrid grid = model.rules.grids[largest].SeenBy(ProgramOf(key));
    for (std::size_t kind = 0; kind < of_class.kinds.size(); ++kind) {
      const double iterations = static_cast<double>(std::ranges::count(model.runs[largest].kinds, kind));
      for (const PlannedCall& call : PlanCalls(of_class.kinds[kind], kind, grid, grid))
        see(call, ranks * iterations, grid, of_class);
    }
  }
}

// The target of a part of a call that sends or is collective; empty for what receives or completes.
std::string TargetText(const PartRule& part, const RankGrid& grid) {
  if (part.kind == RecordKind::kCollective) {
    if (part.groups.empty()) return "collectives of all";
    const RankDivision& ranks = part.groups.front();
    if (ranks.kind == RankDivision::Kind::kProgram) return "collectives of a program";
    if (ranks.kind != RankDivision::Kind::kGrid) return "collectives of " + ranks.Text() + " ranks";
    bool of_all = true;
    for (std::size_t d = 0; d < kMostDimensions; ++d)
      of_all = of_all && (grid.extents[d] == 1 || (ranks.varying >> d & 1) != 0);
    return of_all ? "collectives of all" : "collectives along " + ranks.Text();
  }
  return IsSend(part.kind) && !part.peers.empty() ? part.peers.front().Text() : "";
}

// True if one run alone does not show that the rule gives the same partners on more ranks: those that are further away
// than neighbours of neighbours are as well some part of all ranks.
bool IsFar(const PeerRule& rule) {
  using Kind = PeerRule::Kind;
  constexpr std::int32_t kNear = 2;
  switch (rule.kind) {
    case Kind::kOffset:
      return std::ranges::any_of(rule.steps, [](std::int32_t step) { return std::abs(step) > kNear; });
    case Kind::kRing:
    case Kind::kXor:
    case Kind::kAbsolute:
    case Kind::kFromLast: return std::abs(rule.n) > kNear;
    case Kind::kRingPart:
    case Kind::kXorPart: return true;
    default: return false;
  }
}

// The reason for a rule of a program, by the layouts of all runs.
std::string WhyAmbiguous(const PeerRule& rule, const CallRules& rules, std::size_t program) {
  constexpr std::int64_t kAllTwos = std::int64_t{1} << kMostDimensions;
  std::vector<RankGrid> grids;
  for (const RankGrid& grid : rules.grids) grids.push_back(grid.HasTwo() ? grid.GridOf(program) : grid);
  const RankGrid& largest = grids.back();
  const bool has_powers = rule.kind == PeerRule::Kind::kXorUp || rule.kind == PeerRule::Kind::kXorDown;
  if (has_powers && rule.within.IsAll() && largest.size() <= kAllTwos) {
    return fmt::format(
        "on up to {} ranks, stages with rank {} exchange the same messages as neighbours in a grid of two ranks in "
        "every dimension; add a run on {} ranks or more",
        largest.size(), rule.Text(), 2 * kAllTwos);
  }
  if (rule.kind != PeerRule::Kind::kOffset) return "";
  const auto widest = [](const RankGrid& grid) { return *std::ranges::max_element(grid.extents); };
  if (std::ranges::all_of(grids, [&](const RankGrid& grid) { return widest(grid) <= 2; })) {
    return fmt::format(
        "no run has more than two ranks in a dimension, where {} is the same as other steps; add a run on more "
        "than {} ranks",
        rule.Text(), largest.size());
  }
  for (std::size_t d = 0; d < kMostDimensions; ++d) {
    const std::int32_t step = std::abs(rule.steps[d]);
    if (step < 2 || rules.scheme.reach[program][d] > 0) continue;
    if (std::ranges::any_of(grids, [&](const RankGrid& grid) { return grid.extents[d] > 2 * step; })) continue;
    return fmt::format(
        "in layouts as small as {}, {} is half way around, and other rules lead there, too; add a run with more "
        "than {} ranks in {}",
        largest.Text(), rule.Text(), 2 * step, "xyzt"[d]);
  }
  return "";
}

RuleShares Sorted(const std::map<std::string, double>& sums) {
  double all = 0;
  for (const auto& [rule, sum] : sums) all += sum;
  RuleShares shares;
  for (const auto& [rule, sum] : sums) shares.emplace_back(rule, sum / all);
  std::ranges::stable_sort(shares, std::greater<>(), &RuleShares::value_type::second);
  return shares;
}

}  // namespace

RuleShares SharesOfPartners(const GrowthModel& model) {
  std::map<std::string, double> sums;
  ForEachCall(model, [&](const PlannedCall& call, double ranks, const RankGrid& grid, const ClassRules&) {
    for (const PartRule& part : call.rule->parts) {
      const std::string target = TargetText(part, grid);
      if (!target.empty()) sums[target] += ranks;
    }
  });
  return Sorted(sums);
}

RuleShares SharesOfSizes(const GrowthModel& model) {
  std::map<std::string, double> sums;
  ForEachCall(model, [&](const PlannedCall& call, double ranks, const RankGrid& grid, const ClassRules&) {
    const bool moves =
        std::ranges::any_of(call.rule->parts, [&](const PartRule& part) { return !TargetText(part, grid).empty(); });
    const SizeLaws* laws = model.laws.Find(call.key);
    if (moves) sums[laws != nullptr ? laws->bytes.Text() : "constant"] += ranks;
  });
  return Sorted(sums);
}

std::string WhyAmbiguous(const GrowthModel& model) {
  constexpr const char* kAdd = "add a run whose grid has three or more ranks in every dimension";
  std::string reason;
  if (model.rules.scheme.is_lifted) return reason;
  double ambiguous = 0, all = 0;
  ForEachCall(model, [&](const PlannedCall& call, double ranks, const RankGrid& grid, const ClassRules& of_class) {
    for (const PartRule& part : call.rule->parts) {
      if (TargetText(part, grid).empty()) continue;
      all += ranks;
      std::string one = part.peers.empty() ? "" : WhyAmbiguous(part.peers.front(), model.rules, grid.seen_by);
      if (one.empty() && of_class.Confirmed() < 1 && !part.peers.empty() && IsFar(part.peers.front())) {
        one = fmt::format("{} is seen on {} ranks alone, and may lead elsewhere on more; {}", part.peers.front().Text(),
                          model.runs.back().ranks, kAdd);
      }
      if (one.empty()) continue;
      ambiguous += ranks;
      if (reason.empty()) reason = one;
    }
  });
  return ambiguous > (1 - kLeastExplained) * all ? reason : "";
}

std::string PlaceOf(const ClassScheme& scheme, const RankClass& of_class) {
  static constexpr const char* kPlaces[] = {"first", "second", "third", "fourth"};
  std::vector<std::string> places;
  for (std::size_t d = 0; d < kMostDimensions; ++d) {
    const int reach = scheme.reach[ProgramOf(of_class)][d], low = of_class[2 * d], high = of_class[2 * d + 1];
    if (reach == 0) continue;
    std::string place = "inside";
    if (low < reach) {
      place = high == 0 ? low == 0 ? "alone" : "last" : kPlaces[std::min(low, 3)];
    } else if (high < reach) {
      place = high == 0 ? "last" : fmt::format("{} from the end", kPlaces[std::min(high, 3)]);
    }
    places.push_back(fmt::format("{} in {}", place, "xyzt"[d]));
  }
  if (ProgramOf(of_class) > 0) places.insert(places.begin(), "of the second program");
  return places.empty() ? "any" : Join(places, ", ");
}

}  // namespace farscale
