// The calls of the classes side by side: which call of one class is which of another, and in which order they come.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "growth/read/run_calls.h"
#include "growth/rules/call_rules.h"

namespace farscale {

// Parts of calls of different classes with the same signature do the same.
struct PartSignature {
  RecordKind kind = RecordKind::kSend;
  CollectiveKind collective = CollectiveKind::kBarrier;
  PeerRule peer = {};  // messages, within no group; completions have that of the post

  bool IsOffset() const { return peer.kind == PeerRule::Kind::kOffset && peer.steps != GridVector{}; }
  friend auto operator<=>(const PartSignature&, const PartSignature&) = default;
};

// A call among all that any class makes in an iteration of a kind.
struct SiteSignature {
  std::uint32_t function = 0;
  bool completes_all = false;
  std::vector<PartSignature> parts = {};
  std::int32_t occurrence = 0;  // among equal ones of a rank

  friend auto operator<=>(const SiteSignature&, const SiteSignature&) = default;
};

using SiteSequence = std::vector<SiteSignature>;

// The calls of a class in an iteration of a kind. Nothing where they depend on the grid or complete what was posted
// before the iteration.
std::optional<SiteSequence> ReadSites(const RankClass& key, const ClassRules& rules, std::size_t kind,
                                      const CallRules& all, const FunctionNames& functions);

// Lets messages go straight where the same steps around the end of a dimension lead to the same ranks in all runs, as
// they do on two ranks.
void StraightenPeers(const RankClass& key, ClassRules& rules, const CallRules& all);

// True if the partners of all messages of the call lie in the grid, for a rank of a class. Nothing where that does not
// follow from the class, or partners are others than those some steps away.
std::optional<bool> HasPartnersInGrid(const SiteSignature& site, const RankClass& key, const ClassScheme& scheme);

// The order of the calls of several classes.
struct SiteOrder {
  SiteSequence sites;  // in an order that holds
  std::map<SiteSignature, std::size_t> numbers;
  std::vector<std::vector<std::uint64_t>> behind;  // bits of the sites that come later

  bool IsBefore(std::size_t a, std::size_t b) const { return (behind[a][b / 64] >> (b % 64) & 1) != 0; }
};

// Nothing where the classes contradict each other.
std::optional<SiteOrder> FindOrder(const std::vector<const SiteSequence*>& sequences);

// Sorts some of the sites, by numbers; nothing where more than one order is possible. Calls along one dimension come in
// the order of those along others if all of these have the same order.
std::optional<std::vector<std::size_t>> SortSites(const SiteOrder& order, const std::vector<std::size_t>& some);

}  // namespace farscale
