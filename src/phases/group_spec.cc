#include "phases/rank_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <tuple>

#include "base/diagnostics.h"
#include "base/text.h"
#include "phases/rank_profile.h"

namespace farscale {
namespace {

// "75%" is a share, "75" a rank.
std::optional<double> ParseBound(std::string_view text, bool is_share) {
  text = Trim(text);
  if (is_share) {
    if (text.empty() || text.back() != '%') return std::nullopt;
    double percent = 0;
    if (!ParseNumber(Trim(text.substr(0, text.size() - 1)), percent) || !(percent >= 0) || percent > 100) {
      return std::nullopt;
    }
    return percent / 100;
  }
  long long rank = 0;
  if (!ParseInteger(text, rank) || rank < 0) return std::nullopt;
  return static_cast<double>(rank);
}

std::optional<RankRange> ParseRange(const std::string& text) {
  RankRange range;
  range.is_share = text.find('%') != std::string::npos;
  const std::size_t dash = text.find('-');
  if (range.is_share && dash == std::string::npos) return std::nullopt;
  const auto begin = ParseBound(text.substr(0, dash), range.is_share);
  const auto end = dash == std::string::npos ? begin : ParseBound(text.substr(dash + 1), range.is_share);
  if (!begin || !end) return std::nullopt;
  range.begin = *begin;
  range.end = range.is_share ? *end : *end + 1;
  return range.begin < range.end ? std::optional(range) : std::nullopt;
}

bool Enters(const Trace& trace, std::size_t rank, const std::string& name) {
  const RankTimeline& timeline = trace.timelines[rank];
  for (std::size_t i = 0; i < timeline.region_events(); ++i) {
    const Region& region = trace.regions[timeline.region_event(i).region];
    if (region.IsUser() && region.name == name) return true;
  }
  return false;
}

bool Matches(const Trace& trace, const GroupSpec& spec, std::size_t rank) {
  if (!spec.region.empty()) return Enters(trace, rank, spec.region);
  if (spec.ranges.empty()) return rank >= spec.offset && (rank - spec.offset) % spec.every == 0;
  return std::ranges::any_of(spec.ranges, [&](const RankRange& range) {
    // The first rank of a share is such that shares that follow each other have every rank once.
    constexpr double kRounding = 1e-9;  // chosen: above the errors of percentages, below a rank of any run
    const auto bound = [&](double value) {
      return static_cast<std::size_t>(range.is_share ? std::ceil(value * static_cast<double>(trace.size()) - kRounding)
                                                     : value);
    };
    return rank >= bound(range.begin) && rank < bound(range.end);
  });
}

// Shares beyond the others' that are worth a name; chosen.
constexpr double kOwnRegion = 0.25;
constexpr double kOwnFunction = 0.1;
// Groups of two runs are one when at most half of what they do differs; chosen as in rank_groups.cc.
constexpr double kSameGroup = 0.5;
constexpr std::size_t kMostRanges = 4;  // in a text; chosen: they fit a line of a table

// The name with the largest share beyond that of any other group, when it is `least` or more; else nothing. Of equals
// the first in the alphabet.
std::string Distinctive(const std::vector<WorkShares>& groups, std::size_t of, double least) {
  std::string best;
  double most = least;
  for (const auto& [name, share] : groups[of]) {
    double beyond = share;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const auto found = groups[i].find(name);
      if (i != of && found != groups[i].end()) beyond = std::min(beyond, share - found->second);
    }
    if (best.empty() ? beyond >= most : beyond > most) {
      best = name;
      most = beyond;
    }
  }
  return best;
}

double Difference(const WorkShares& a, const WorkShares& b) {
  double sum = 0;
  for (const auto& [name, share] : a) {
    const auto found = b.find(name);
    sum += std::fabs(share - (found != b.end() ? found->second : 0));
  }
  for (const auto& [name, share] : b) {
    if (a.count(name) == 0) sum += share;
  }
  return sum / 2;
}

// A name that is not among those taken.
std::string Unused(const std::string& name, const std::set<std::string>& taken) {
  std::string unused = name;
  for (int number = 2; taken.count(unused) > 0; ++number) unused = fmt::format("{} {}", name, number);
  return unused;
}

std::vector<WorkShares> TraitsOf(const RankProfiles& profiles, const RankProfile& profile) {
  std::vector<WorkShares> traits(3);
  WorkShares &regions = traits[0], &bursts = traits[1], &calls = traits[2];
  const double useful = std::max(profile.useful, 1.0);
  for (const Work& work : profile.regions) regions[profiles.regions[work.kind]] = work.amount / useful;
  for (const Work& work : profile.bursts) {
    const auto [before, behind] = CallKindsOfBurst(work.kind);
    bursts[NameOfCallKind(before) + ", " + NameOfCallKind(behind)] = work.amount / useful;
  }
  double total = 0;
  for (const Work& one : profile.calls) total += one.amount;
  for (const Work& one : profile.calls) calls[NameOfCallKind(one.kind)] = one.amount / total;
  return traits;
}

}  // namespace

std::vector<RankRange> ParseRankRanges(const std::string& text, const std::string& where) {
  std::vector<RankRange> ranges;
  for (const std::string& part : Split(text, ',')) {
    const std::optional<RankRange> range = ParseRange(part);
    if (!range) {
      throw Error(ErrorKind::kUsage, where, "'" + text + "' is no list of ranks",
                  "write \"0-11, 16\", or shares of all ranks such as \"75%-100%\"");
    }
    ranges.push_back(*range);
  }
  return ranges;
}

std::vector<RankGroup> NamedGroups(const Trace& trace, const std::vector<GroupSpec>& specs) {
  std::vector<RankGroup> groups;
  std::vector<std::optional<std::size_t>> owner(trace.size());
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const GroupSpec& spec = specs[i];
    const std::string where = spec.where + ", " + trace.path;
    RankGroup group;
    group.name = spec.name;
    for (std::size_t rank = 0; rank < trace.size(); ++rank) {
      if (!Matches(trace, spec, rank)) continue;
      if (owner[rank]) {
        const GroupSpec& other = specs[*owner[rank]];
        throw Error(ErrorKind::kUsage, where,
                    fmt::format("rank {} is in group '{}' and in group '{}'", rank, other.name, spec.name),
                    "the other group is at " + other.where);
      }
      owner[rank] = i;
      group.ranks.push_back(rank);
    }
    if (group.ranks.empty() && spec.region.empty()) {
      throw Error(
          ErrorKind::kUsage, where, fmt::format("group '{}' has none of the {} ranks", spec.name, trace.size()),
          "say ranks by their share, such as \"75%-100%\", where their numbers change with the number of ranks");
    }
    if (group.ranks.empty()) {
      const std::string advice = DidYouMean(spec.region, trace.UserRegionNames());
      throw Error(ErrorKind::kUsage, where,
                  fmt::format("no rank enters region '{}' of group '{}'", spec.region, spec.name),
                  advice.empty() ? "farscale inspect lists the regions of a trace" : advice);
    }
    groups.push_back(std::move(group));
  }
  RankGroup others;
  others.name = kOtherRanks;
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    if (!owner[rank]) others.ranks.push_back(rank);
  }
  if (!others.ranks.empty()) groups.push_back(std::move(others));
  if (groups.size() < 2) groups.clear();
  return groups;
}

std::vector<RankGroup> NameGroups(const RankProfiles& profiles, const std::vector<std::pair<RankProfile, bool>>& work) {
  std::vector<WorkShares> regions, functions;
  bool has_master = false;
  for (const auto& [profile, serves] : work) {
    WorkShares& of_regions = regions.emplace_back();
    for (const Work& one : profile.regions) {
      const std::string& name = profiles.regions[one.kind];
      if (!name.empty() && profile.useful > 0) of_regions[name] = one.inclusive / profile.useful;
    }
    double total = 0;
    for (const Work& calls : profile.functions) total += calls.amount;
    WorkShares& of_functions = functions.emplace_back();
    for (const Work& calls : profile.functions) of_functions[profiles.functions[calls.kind]] = calls.amount / total;
    has_master |= serves;
  }
  std::vector<RankGroup> groups;
  std::set<std::string> taken;
  for (std::size_t i = 0; i < work.size(); ++i) {
    std::string name = Distinctive(regions, i, kOwnRegion);
    if (name.empty() && work[i].second) name = "master";
    if (name.empty()) name = Distinctive(functions, i, kOwnFunction);
    if (name.empty() && has_master) name = "workers";
    const bool is_own = !name.empty();
    if (!is_own) name = fmt::format("group {}", i + 1);
    for (std::size_t at = name.find(kGroupSeparator); at != std::string::npos; at = name.find(kGroupSeparator)) {
      name.replace(at, kGroupSeparator.size(), "/");
    }
    name = Unused(name, taken);
    taken.insert(name);
    groups.push_back({name, {}, is_own, TraitsOf(profiles, work[i].first)});
  }
  return groups;
}

void MatchNames(const std::vector<std::vector<RankGroup>*>& runs, std::set<std::string> taken) {
  std::vector<RankGroup> known;
  for (std::vector<RankGroup>* run : runs) {
    // Pairs of a known group and a new one that may be the same, the most alike first: whether their names differ, how
    // much they differ, and both indices. The same work under the same name is the same group; so is, with a name in
    // one run only, nearly the same work.
    std::vector<std::tuple<bool, double, std::size_t, std::size_t>> pairs;
    for (std::size_t i = 0; i < known.size(); ++i) {
      for (std::size_t k = 0; k < run->size(); ++k) {
        const std::vector<WorkShares>&a = known[i].traits, &b = (*run)[k].traits;
        double difference = 0;
        for (std::size_t trait = 0; trait < std::min(a.size(), b.size()); ++trait)
          difference = std::max(difference, Difference(a[trait], b[trait]));
        const bool same_name = known[i].has_own_name && known[i].name == (*run)[k].name;
        if (same_name || difference < kSameGroup) pairs.emplace_back(!same_name, difference, i, k);
      }
    }
    std::ranges::sort(pairs);
    std::vector<bool> is_matched(run->size()), is_used(known.size());
    for (const auto& [other_name, difference, i, k] : pairs) {
      if (is_matched[k] || is_used[i]) continue;
      is_matched[k] = is_used[i] = true;
      (*run)[k].name = known[i].name;
    }
    for (std::size_t i = 0; i < run->size(); ++i) {
      if (is_matched[i]) continue;
      RankGroup& group = (*run)[i];
      group.name = Unused(group.name, taken);
      taken.insert(group.name);
      known.push_back(group);
    }
  }
}

std::string FormatRanks(const std::vector<std::size_t>& ranks) {
  std::vector<std::string> ranges;
  bool even = ranks.size() > 2;  // the same distance between all, more than one
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    ranges.push_back(end - i > 1 ? fmt::format("{}-{}", ranks[i], ranks[end - 1]) : std::to_string(ranks[i]));
    even = even && end - i == 1 && (i == 0 || ranks[i] - ranks[i - 1] == ranks[1] - ranks[0]);
    i = end;
  }
  if (even) return fmt::format("{} to {} by {}", ranks.front(), ranks.back(), ranks[1] - ranks[0]);
  if (ranges.size() > kMostRanges) {
    ranges.resize(kMostRanges);
    ranges.emplace_back("…");
  }
  return Join(ranges, ", ");
}

}  // namespace farscale
