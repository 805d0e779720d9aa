#include "growth/read/class_sites.h"

#include <algorithm>
#include <array>

#include "trace/operations.h"

namespace farscale {
namespace {

std::int32_t Low(const RankClass& key, std::size_t d) { return key[2 * d]; }
std::int32_t High(const RankClass& key, std::size_t d) { return key[2 * d + 1]; }

// Whether a rank of the class has a partner so many steps away; nothing where the class does not tell.
std::optional<bool> IsInGrid(std::int32_t steps, std::size_t d, const RankClass& key, const ClassScheme& scheme) {
  const std::int32_t room = steps > 0 ? High(key, d) : Low(key, d), reach = scheme.ReachOf(ProgramOf(key))[d];
  if (std::abs(steps) > reach && room == reach && steps != 0) return std::nullopt;
  return room >= std::abs(steps);
}

// Steps around the end of a dimension that has the same extent in all runs of the class may as well be straight ones.
PeerRule Straightened(PeerRule rule, const RankClass& key, const ClassRules& rules, const CallRules& all) {
  if (rule.kind != PeerRule::Kind::kOffset) return rule;
  for (std::size_t d = 0; d < kMostDimensions; ++d) {
    const auto extent_in = [&](std::size_t run) { return all.grids[run].ExtentsOf(ProgramOf(key))[d]; };
    const std::int32_t extent = extent_in(rules.donors.front().first);
    const bool is_same =
        std::ranges::all_of(rules.donors, [&](const auto& donor) { return extent_in(donor.first) == extent; });
    if (!is_same || rule.steps[d] == 0 || IsInGrid(rule.steps[d], d, key, all.scheme).value_or(true)) continue;
    const std::int32_t other = rule.steps[d] > 0 ? rule.steps[d] - extent : rule.steps[d] + extent;
    if (IsInGrid(other, d, key, all.scheme).value_or(false)) rule.steps[d] = other;
  }
  return rule;
}

// Reads the calls of a class one after the other.
class SiteReader {
 public:
  SiteReader(const RankClass& key, const ClassRules& rules, const CallRules& all, const FunctionNames& functions)
      : key_(key), rules_(rules), all_(all), functions_(functions) {}

  std::optional<SiteSequence> Read(const std::vector<CallBlock>& blocks) {
    SiteSequence sequence;
    std::map<SiteSignature, std::int32_t> counts;
    for (const CallBlock& block : blocks) {
      if (!block.counts.empty()) return std::nullopt;
      for (const CallRule& call : block.calls) {
        std::optional<SiteSignature> site = ReadCall(call);
        if (!site) return std::nullopt;
        const std::int32_t occurrence = counts[*site]++;
        sequence.push_back(std::move(*site));
        sequence.back().occurrence = occurrence;
      }
    }
    return sequence;
  }

 private:
  std::optional<SiteSignature> ReadCall(const CallRule& call) {
    SiteSignature site{call.function};
    // A wait for one operation may happen to complete all that is pending on some ranks.
    site.completes_all = call.completes_all && (call.parts.size() != 1 || functions_.Name(call.function) != "MPI_Wait");
    if (site.completes_all) {
      for (auto& open : open_) open.clear();
      return site;
    }
    for (const PartRule& part : call.parts) {
      const std::optional<PartSignature> signature = ReadPart(part);
      if (!signature) return std::nullopt;
      site.parts.push_back(*signature);
    }
    return site;
  }

  std::optional<PartSignature> ReadPart(const PartRule& part) {
    const OperationPart is = PartOf(part.kind);
    auto& open = open_[static_cast<std::size_t>(is.type)];
    PartSignature signature{part.kind, part.collective};
    if (!is.posts) {
      const auto back = static_cast<std::size_t>(part.backs.front().plus);
      if (back >= open.size()) return std::nullopt;
      const PartSignature& post = open[open.size() - 1 - back];
      signature.rule = post.rule;
      signature.n = post.n;
      signature.steps = post.steps;
      return signature;
    }
    if (part.peers.empty()) return std::nullopt;
    if (!is.IsCollective()) {
      const PeerRule rule = Straightened(part.peers.front(), key_, rules_, all_);
      signature.rule = rule.kind;
      signature.n = rule.n;
      signature.steps = rule.steps;
    }
    open.push_back(signature);
    return signature;
  }

  const RankClass& key_;
  const ClassRules& rules_;
  const CallRules& all_;
  const FunctionNames& functions_;
  std::array<std::vector<PartSignature>, 3> open_;
};

// The one dimension that all partners of a call lie in.
std::optional<std::size_t> DimensionOf(const SiteSignature& site) {
  std::optional<std::size_t> of_site;
  for (const PartSignature& part : site.parts) {
    if (!part.IsOffset()) return std::nullopt;
    for (std::size_t d = 0; d < kMostDimensions; ++d) {
      if (part.steps[d] == 0) continue;
      if (of_site && *of_site != d) return std::nullopt;
      of_site = d;
    }
  }
  return of_site;
}

SiteSignature Turned(SiteSignature site, std::size_t from, std::size_t to) {
  for (PartSignature& part : site.parts) std::swap(part.steps[from], part.steps[to]);
  return site;
}

}  // namespace

std::optional<SiteSequence> SitesOf(const RankClass& key, const ClassRules& rules, std::size_t kind,
                                    const CallRules& all, const FunctionNames& functions) {
  if (rules.donors.empty() || kind >= rules.kinds.size()) return std::nullopt;
  return SiteReader(key, rules, all, functions).Read(rules.kinds[kind]);
}

void StraightenPeers(const RankClass& key, ClassRules& rules, const CallRules& all) {
  for (std::vector<CallBlock>& kind : rules.kinds) {
    for (CallBlock& block : kind) {
      for (CallRule& call : block.calls) {
        for (PartRule& part : call.parts) {
          if (!part.peers.empty() && !PartOf(part.kind).IsCollective())
            part.peers = {Straightened(part.peers.front(), key, rules, all)};
        }
      }
    }
  }
}

std::optional<bool> HasPartnersInGrid(const SiteSignature& site, const RankClass& key, const ClassScheme& scheme) {
  if (site.parts.empty()) return std::nullopt;
  bool all = true;
  for (const PartSignature& part : site.parts) {
    if (!part.IsOffset()) return std::nullopt;
    for (std::size_t d = 0; d < kMostDimensions; ++d) {
      const std::optional<bool> is_in = IsInGrid(part.steps[d], d, key, scheme);
      if (!is_in) return std::nullopt;
      all = all && *is_in;
    }
  }
  return all;
}

SiteOrder::SiteOrder(const std::vector<const SiteSequence*>& sequences) {
  std::map<SiteSignature, std::size_t> found;
  SiteSequence unordered;
  std::vector<std::vector<std::size_t>> next;
  for (const SiteSequence* sequence : sequences) {
    std::size_t before = 0;
    for (std::size_t i = 0; i < sequence->size(); ++i) {
      const auto [place, is_new] = found.try_emplace((*sequence)[i], unordered.size());
      if (is_new) {
        unordered.push_back((*sequence)[i]);
        next.emplace_back();
      }
      if (i > 0 && std::ranges::find(next[before], place->second) == next[before].end())
        next[before].push_back(place->second);
      before = place->second;
    }
  }
  // An order that holds, by taking away those without predecessors.
  std::vector<std::size_t> pending(unordered.size(), 0), order, number(unordered.size());
  for (const auto& of_site : next) {
    for (const std::size_t later : of_site) ++pending[later];
  }
  for (std::size_t i = 0; i < unordered.size(); ++i) {
    if (pending[i] == 0) order.push_back(i);
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const std::size_t later : next[order[i]]) {
      if (--pending[later] == 0) order.push_back(later);
    }
  }
  is_consistent_ = order.size() == unordered.size();
  if (!is_consistent_) return;
  for (std::size_t i = 0; i < order.size(); ++i) number[order[i]] = i;
  std::vector<std::vector<std::size_t>> sorted(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    sites_.push_back(unordered[order[i]]);
    numbers_[sites_.back()] = i;
    for (const std::size_t later : next[order[i]]) sorted[i].push_back(number[later]);
  }
  FindBehind(sorted);
}

void SiteOrder::FindBehind(const std::vector<std::vector<std::size_t>>& next) {
  const std::size_t words = (sites_.size() + 63) / 64;
  behind_.assign(sites_.size(), std::vector<std::uint64_t>(words, 0));
  for (std::size_t i = sites_.size(); i-- > 0;) {
    for (const std::size_t later : next[i]) {
      behind_[i][later / 64] |= std::uint64_t{1} << (later % 64);
      for (std::size_t word = 0; word < words; ++word) behind_[i][word] |= behind_[later][word];
    }
  }
}

int SiteOrder::ByAnalogy(std::size_t a, std::size_t b) const {
  const std::optional<std::size_t> d = DimensionOf(sites_[a]);
  if (!d || DimensionOf(sites_[b]) != d) return 0;
  int first = 0;
  for (std::size_t other = 0; other < kMostDimensions; ++other) {
    if (other == *d) continue;
    const auto x = numbers_.find(Turned(sites_[a], *d, other)), y = numbers_.find(Turned(sites_[b], *d, other));
    if (x == numbers_.end() || y == numbers_.end()) continue;
    const int here = IsBefore(x->second, y->second) ? -1 : IsBefore(y->second, x->second) ? 1 : 0;
    if (here == 0) continue;
    if (first != 0 && here != first) return 0;
    first = here;
  }
  return first;
}

std::optional<std::vector<std::size_t>> SiteOrder::Sort(const std::vector<std::size_t>& some) const {
  std::vector<std::size_t> left = some, sorted;
  std::ranges::sort(left);
  while (!left.empty()) {
    // Candidates are those that none of the others must precede.
    std::size_t first = left.front();
    for (const std::size_t other : left) {
      if (other == first || IsBefore(first, other)) continue;
      const bool is_candidate = std::ranges::none_of(left, [&](std::size_t one) { return IsBefore(one, other); });
      if (!is_candidate) continue;
      const int which = ByAnalogy(first, other);
      if (which == 0) return std::nullopt;
      if (which > 0) first = other;
    }
    sorted.push_back(first);
    std::erase(left, first);
  }
  return sorted;
}

}  // namespace farscale
