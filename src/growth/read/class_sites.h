// The calls of the classes side by side: which call of one class is which of another, and in which order they come.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "growth/rules/call_rules.h"
#include "growth/read/run_calls.h"

namespace farscale {

// What makes a part of a call the same on ranks of different classes.
struct PartSignature {
  RecordKind kind = RecordKind::kSend;
  CollectiveKind collective = CollectiveKind::kBarrier;
  PeerRule::Kind rule = PeerRule::Kind::kNobody;  // of messages; of completions that of the post
  std::int32_t n = 0;
  GridVector steps{};

  bool IsOffset() const { return rule == PeerRule::Kind::kOffset && steps != GridVector{}; }
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
std::optional<SiteSequence> SitesOf(const RankClass& key, const ClassRules& rules, std::size_t kind,
                                    const CallRules& all, const FunctionNames& functions);

// Lets messages go straight where the same steps around the end of a dimension lead to the same ranks in all runs, as
// they do on two ranks.
void StraightenPeers(const RankClass& key, ClassRules& rules, const CallRules& all);

// Whether the partners of all messages of the call lie in the grid, for a rank of a class. Nothing where the class does
// not tell, or partners are others than those some steps away.
std::optional<bool> HasPartnersInGrid(const SiteSignature& site, const RankClass& key, const ClassScheme& scheme);

// The order of the calls of several classes.
class SiteOrder {
 public:
  explicit SiteOrder(const std::vector<const SiteSequence*>& sequences);

  bool is_consistent() const { return is_consistent_; }
  const SiteSequence& sites() const { return sites_; }
  // Of some of the sites, by numbers; nothing where more than one order is possible. What comes first of two calls
  // along one dimension follows from the others where all of these have the same order.
  std::optional<std::vector<std::size_t>> Sort(const std::vector<std::size_t>& some) const;

 private:
  bool IsBefore(std::size_t a, std::size_t b) const { return (behind_[a][b / 64] >> (b % 64) & 1) != 0; }
  // -1: a is first; 1: b is; 0: nothing tells.
  int ByAnalogy(std::size_t a, std::size_t b) const;
  void FindBehind(const std::vector<std::vector<std::size_t>>& next);

  SiteSequence sites_;  // in an order that holds
  std::map<SiteSignature, std::size_t> numbers_;
  std::vector<std::vector<std::uint64_t>> behind_;  // bits of the sites that come later
  bool is_consistent_ = true;
};

}  // namespace farscale
