#include "study/group_phases.h"

#include <fmt/format.h>

#include <algorithm>

#include "phases/phase_cut.h"
#include "study/anomalies.h"
#include "study/study.h"

namespace farscale {
namespace {

const RankGroup* FindGroup(const PhaseRows& rows, const std::string& name) {
  const auto found = std::ranges::find(rows.groups, name, &RankGroup::name);
  return found == rows.groups.end() ? nullptr : &*found;
}

void ParseMembers(const ConfigTable& table, GroupSpec& group) {
  int given = 0;
  if (const auto region = table.String("region")) {
    if (region->empty()) table.Fail("region", "'region' is empty");
    group.region = *region;
    ++given;
  }
  if (const auto ranks = table.String("ranks")) {
    group.ranges = ParseRankRanges(*ranks, table.Where("ranks"));
    ++given;
  }
  if (const auto every = table.Integer("every")) {
    const std::int64_t offset = table.Integer("offset").value_or(0);
    if (*every < 2) table.Fail("every", "'every' must be 2 or more");
    if (offset < 0) table.Fail("offset", "'offset' must not be negative");
    if (offset >= *every) table.Fail("offset", "'offset' must be less than 'every'");
    group.every = static_cast<std::size_t>(*every);
    group.offset = static_cast<std::size_t>(offset);
    ++given;
  } else if (table.Has("offset")) {
    table.Fail("offset", "'offset' goes with 'every'");
  }
  if (given != 1) table.Fail("", "a group needs exactly one of region, ranks and every");
}

}  // namespace

std::vector<GroupSpec> ParseGroups(const ConfigTable& root) {
  std::vector<GroupSpec> groups;
  for (const ConfigTable& table : root.Tables("groups")) {
    GroupSpec group;
    group.where = table.Where();
    ParseMembers(table, group);
    const std::string name = group.name = table.String("name").value_or(group.region);
    if (name.empty()) table.Fail("name", "a group of ranks needs a name");
    if (name.find(kGroupSeparator) != std::string::npos) {
      table.Fail("name", "'" + std::string(kGroupSeparator) + "' stands between a phase and a group of its ranks",
                 "choose another name");
    }
    if (name == kOtherRanks)
      table.Fail("name", "'" + name + "' are the ranks that are in no group", "choose another name");
    const auto same = std::ranges::find(groups, name, &GroupSpec::name);
    if (same != groups.end()) {
      table.Fail("name", "there are two groups '" + name + "'", "the other is at " + same->where);
    }
    table.RefuseUnknownKeys();
    groups.push_back(group);
  }
  return groups;
}

std::vector<RankGroup> GroupsOf(const Study& study, const Trace& trace, const PhaseCut& cut, Diagnostics& diagnostics) {
  if (!study.groups.empty()) return NamedGroups(trace, study.groups);
  if (!study.finds_groups) return {};
  return FindGroups(trace, cut, diagnostics);
}

GroupsOfPhase::GroupsOfPhase(const Study& study, std::size_t phase, std::vector<PhaseRows*> runs,
                             const std::set<std::string>& taken)
    : spec_(study.phases[phase]), runs_(std::move(runs)) {
  std::vector<std::vector<RankGroup>*> groups;  // largest run first
  for (auto run = runs_.rbegin(); run != runs_.rend(); ++run) groups.push_back(&(*run)->groups);
  const std::string begin = spec_.name + std::string(kGroupSeparator);
  std::set<std::string> like_phases;  // names of groups that would read like another phase
  for (const std::string& name : taken) {
    if (name.starts_with(begin)) like_phases.insert(name.substr(begin.size()));
  }
  if (study.groups.empty()) MatchNames(groups, like_phases);
  for (const std::vector<RankGroup>* run : groups) {
    for (const RankGroup& group : *run) {
      if (std::find(names_.begin(), names_.end(), group.name) == names_.end()) names_.push_back(group.name);
    }
  }
}

std::string GroupsOfPhase::Describe(const std::string& group) const {
  std::string text = farscale::Describe(spec_) + ", ranks";
  std::string last;
  for (const PhaseRows* run : runs_) {
    const RankGroup* found = FindGroup(*run, group);
    if (found == nullptr) continue;
    const std::int64_t all = run->whole->cores / run->whole->threads;
    const std::string ranks = fmt::format(" {} ({} of {})", FormatRanks(found->ranks), found->ranks.size(), all);
    if (ranks == last) continue;  // repeats
    text += (last.empty() ? "" : ",") + ranks;
    last = ranks;
  }
  return text;
}

void GroupsOfPhase::AddMissing(Diagnostics& diagnostics) const {
  for (const std::string& name : names_) {
    for (const PhaseRows* run : runs_) {
      if (FindGroup(*run, name) != nullptr) continue;
      diagnostics.Add(anomaly::kGroupNotInEveryRun, 1,
                      fmt::format("{} not at {} cores", IdOf(name).Text(), run->whole->cores));
    }
  }
}

const FactorRow* FindRow(const PhaseRows& rows, const std::vector<RankGroup>& groups, const std::string& name) {
  for (std::size_t i = 0; i < rows.of_groups.size(); ++i) {
    if (groups[i].name == name && rows.of_groups[i]) return &*rows.of_groups[i];
  }
  return nullptr;
}

}  // namespace farscale
