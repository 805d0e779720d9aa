#include "phases/group_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "base/text.h"

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

// The first rank of a share, such that shares that follow each other have every rank once.
std::size_t RankOfShare(double share, std::size_t ranks) {
  constexpr double kRounding = 1e-9;  // chosen: above the errors of percentages, below a rank of any run
  return static_cast<std::size_t>(std::ceil(share * static_cast<double>(ranks) - kRounding));
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
  switch (spec.kind) {
    case GroupSpec::Kind::kRegion: return Enters(trace, rank, spec.region);
    case GroupSpec::Kind::kEvery: return rank >= spec.offset && (rank - spec.offset) % spec.every == 0;
    case GroupSpec::Kind::kRanks: break;
  }
  return std::ranges::any_of(spec.ranges, [&](const RankRange& range) {
    const auto bound = [&](double value) {
      return range.is_share ? RankOfShare(value, trace.size()) : static_cast<std::size_t>(value);
    };
    return rank >= bound(range.begin) && rank < bound(range.end);
  });
}

[[noreturn]] void RefuseEmpty(const Trace& trace, const GroupSpec& spec) {
  if (spec.kind == GroupSpec::Kind::kRegion) {
    const std::string advice = DidYouMean(spec.region, trace.UserRegionNames());
    throw Error(ErrorKind::kUsage, spec.where + ", " + trace.path,
                fmt::format("no rank enters region '{}' of group '{}'", spec.region, spec.name),
                advice.empty() ? "farscale inspect lists the regions of a trace" : advice);
  }
  throw Error(ErrorKind::kUsage, spec.where + ", " + trace.path,
              fmt::format("group '{}' has none of the {} ranks", spec.name, trace.size()),
              "say ranks by their share, such as \"75%-100%\", where their numbers change with the number of ranks");
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
    RankGroup group;
    group.name = specs[i].name;
    for (std::size_t rank = 0; rank < trace.size(); ++rank) {
      if (!Matches(trace, specs[i], rank)) continue;
      if (owner[rank]) {
        const GroupSpec& other = specs[*owner[rank]];
        throw Error(ErrorKind::kUsage, specs[i].where + ", " + trace.path,
                    fmt::format("rank {} is in group '{}' and in group '{}'", rank, other.name, specs[i].name),
                    "the other group is at " + other.where);
      }
      owner[rank] = i;
      group.ranks.push_back(rank);
    }
    if (group.ranks.empty()) RefuseEmpty(trace, specs[i]);
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

}  // namespace farscale
