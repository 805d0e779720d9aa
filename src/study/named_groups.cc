#include "study/named_groups.h"

#include <algorithm>

namespace farscale {
namespace {

std::size_t NotNegative(const ConfigTable& table, const std::string& key, std::int64_t value) {
  if (value < 0) table.Fail(key, "'" + key + "' must not be negative");
  return static_cast<std::size_t>(value);
}

void ParseEvery(const ConfigTable& table, std::int64_t every, GroupSpec& group) {
  if (every < 2) table.Fail("every", "'every' must be 2 or more");
  group.kind = GroupSpec::Kind::kEvery;
  group.every = static_cast<std::size_t>(every);
  group.offset = NotNegative(table, "offset", table.Integer("offset").value_or(0));
  if (group.offset >= group.every) table.Fail("offset", "'offset' must be less than 'every'");
}

void ParseMembers(const ConfigTable& table, GroupSpec& group) {
  int given = 0;
  if (const auto region = table.String("region")) {
    if (region->empty()) table.Fail("region", "'region' is empty");
    group.kind = GroupSpec::Kind::kRegion;
    group.region = *region;
    ++given;
  }
  if (const auto ranks = table.String("ranks")) {
    group.kind = GroupSpec::Kind::kRanks;
    group.ranges = ParseRankRanges(*ranks, table.Where("ranks"));
    ++given;
  }
  if (const auto every = table.Integer("every")) {
    ParseEvery(table, *every, group);
    ++given;
  } else if (table.Has("offset")) {
    table.Fail("offset", "'offset' goes with 'every'");
  }
  if (given != 1) table.Fail("", "a group needs exactly one of region, ranks and every");
}

void CheckName(const ConfigTable& table, const std::string& name, const std::vector<GroupSpec>& others) {
  if (name.empty()) table.Fail("name", "a group of ranks needs a name");
  if (name.find(kGroupSeparator) != std::string::npos) {
    table.Fail("name", "'" + std::string(kGroupSeparator) + "' stands between a phase and a group of its ranks",
               "choose another name");
  }
  if (name == kOtherRanks)
    table.Fail("name", "'" + name + "' are the ranks that are in no group", "choose another name");
  const auto same =
      std::find_if(others.begin(), others.end(), [&](const GroupSpec& other) { return other.name == name; });
  if (same != others.end()) table.Fail("name", "there are two groups '" + name + "'", "the other is at " + same->where);
}

}  // namespace

std::vector<GroupSpec> ParseGroups(const ConfigTable& root) {
  std::vector<GroupSpec> groups;
  for (const ConfigTable& table : root.Tables("groups")) {
    GroupSpec group;
    group.where = table.Where();
    ParseMembers(table, group);
    group.name = table.String("name").value_or(group.region);
    CheckName(table, group.name, groups);
    table.RefuseUnknownKeys();
    groups.push_back(group);
  }
  return groups;
}

}  // namespace farscale
