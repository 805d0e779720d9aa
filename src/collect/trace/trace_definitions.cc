#include "collect/trace/trace_definitions.h"

#include <algorithm>
#include <map>

namespace farscale::collect {
namespace {

// Groups that are written before those of windows: all locations, the world, and MPI_COMM_SELF.
constexpr std::uint32_t kFirstGroups = 3;

void NumberRegions(const std::vector<RankDefinitions>& all, std::uint32_t call_count, RegionNames& names,
                   std::vector<RankNumbers>& of_ranks) {
  std::map<std::uint32_t, std::string> calls;
  for (const RankDefinitions& rank : all) {
    for (const CallDefinition& call : rank.calls) calls.emplace(call.id, call.name);
  }
  std::vector<std::uint32_t> numbers(call_count, OTF2_UNDEFINED_UINT32);
  for (const auto& [id, name] : calls) {
    if (id >= call_count) continue;
    numbers[id] = static_cast<std::uint32_t>(names.calls.size());
    names.calls.push_back(name);
  }
  std::map<std::string, std::uint32_t> index;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    std::vector<std::uint32_t>& mapped = of_ranks[rank].regions = numbers;
    mapped.push_back(OTF2_UNDEFINED_UINT32);
    for (std::size_t i = 1; i < all[rank].regions.size(); ++i) {
      const std::string& name = all[rank].regions[i];
      const auto number = static_cast<std::uint32_t>(names.calls.size() + index.size());
      const auto [entry, is_new] = index.try_emplace(name, number);
      if (is_new) names.regions.push_back(name);
      mapped.push_back(entry->second);
    }
  }
}

// Whoever is a member may have named it in events.
void NoteFor(const std::vector<std::int32_t>& members, NumberPair pair, std::vector<NumberPair> RankNumbers::*list,
             std::vector<RankNumbers>& of_ranks) {
  for (const std::int32_t member : members) {
    if (member >= 0 && static_cast<std::size_t>(member) < of_ranks.size()) {
      (of_ranks[static_cast<std::size_t>(member)].*list).push_back(pair);
    }
  }
}

// Those between two groups come behind the others, as their definitions do, and teams of threads last.
std::uint32_t NumberCommunicators(std::vector<RankDefinitions>& all, std::vector<RankNumbers>& of_ranks,
                                  std::map<std::uint32_t, const CommunicatorDefinition*>& by_own) {
  std::uint32_t next = kSelfId + 1, groups = kFirstGroups;
  for (const bool is_inter : {false, true}) {
    for (RankDefinitions& rank : all) {
      for (CommunicatorDefinition& communicator : rank.communicators) {
        if (communicator.remote.empty() == is_inter) continue;
        const NumberPair pair = {communicator.id, next++};
        by_own[pair.own] = &communicator;
        NoteFor(communicator.members, pair, &RankNumbers::communicators, of_ranks);
        NoteFor(communicator.remote, pair, &RankNumbers::communicators, of_ranks);
        communicator.id = pair.in_archive;
        groups += is_inter ? 2 : 1;
      }
    }
  }
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    for (TeamDefinition& team : all[rank].teams) {
      of_ranks[rank].communicators.push_back({team.id, next});
      team.id = next++;
    }
  }
  return groups;
}

}  // namespace

RegionNames NumberDefinitions(std::vector<RankDefinitions>& all, std::uint32_t call_count,
                              std::vector<RankNumbers>& of_ranks) {
  RegionNames names;
  of_ranks.assign(all.size(), {});
  NumberRegions(all, call_count, names, of_ranks);
  std::map<std::uint32_t, const CommunicatorDefinition*> by_own;
  std::uint32_t next_group = NumberCommunicators(all, of_ranks, by_own);
  std::vector<std::int32_t> everybody(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) everybody[i] = static_cast<std::int32_t>(i);
  std::uint32_t next_window = 0;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    for (GroupDefinition& group : all[rank].groups) {
      of_ranks[rank].groups.push_back({group.id, next_group});
      group.id = next_group++;
    }
    for (WindowDefinition& window : all[rank].windows) {
      const auto found = by_own.find(window.communicator);
      const NumberPair pair = {window.id, next_window++};
      NoteFor(found == by_own.end() ? everybody : found->second->members, pair, &RankNumbers::windows, of_ranks);
      window.id = pair.in_archive;
      if (found != by_own.end()) window.communicator = found->second->id;
    }
  }
  return names;
}

}  // namespace farscale::collect
