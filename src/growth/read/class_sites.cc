#include "growth/read/class_sites.h"

#include <algorithm>

#include "trace/trace.h"

namespace farscale {
namespace {

// True if a rank of the class has a partner so many steps away; nothing where that does not follow from the class.
std::optional<bool> IsInGrid(std::int32_t steps, std::size_t d, const RankClass& key, const ClassScheme& scheme) {
  const std::int32_t room = steps > 0 ? key[2 * d + 1] : key[2 * d], reach = scheme.Reach(ProgramOf(key))[d];
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

// Posts of a rank by class of operations.
using OpenParts = std::array<std::vector<PartSignature>, 3>;

std::optional<PartSignature> ReadSignature(const PartRule& part, const RankClass& key, const ClassRules& rules,
                                           const CallRules& all, OpenParts& open) {
  const OperationPart is = PartOf(part.kind);
  auto& posts = open[static_cast<std::size_t>(is.type)];
  PartSignature signature{part.kind, part.collective};
  if (!is.posts) {
    const auto back = static_cast<std::size_t>(part.backs.front().plus);
    if (back >= posts.size()) return std::nullopt;
    signature.peer = posts[posts.size() - 1 - back].peer;
    return signature;
  }
  if (part.peers.empty()) return std::nullopt;
  if (!is.IsCollective()) {
    signature.peer = Straightened(part.peers.front(), key, rules, all);
    signature.peer.within = {};
  }
  posts.push_back(signature);
  return signature;
}

// The one dimension that all partners of a call lie in.
std::optional<std::size_t> Dimension(const SiteSignature& site) {
  std::optional<std::size_t> of_site;
  for (const PartSignature& part : site.parts) {
    if (!part.IsOffset()) return std::nullopt;
    for (std::size_t d = 0; d < kMostDimensions; ++d) {
      if (part.peer.steps[d] == 0) continue;
      if (of_site && *of_site != d) return std::nullopt;
      of_site = d;
    }
  }
  return of_site;
}

}  // namespace

std::optional<SiteSequence> ReadSites(const RankClass& key, const ClassRules& rules, std::size_t kind,
                                      const CallRules& all, const FunctionNames& functions) {
  if (rules.donors.empty() || kind >= rules.kinds.size()) return std::nullopt;
  SiteSequence sequence;
  std::map<SiteSignature, std::int32_t> counts;
  OpenParts open;
  for (const CallBlock& block : rules.kinds[kind]) {
    if (!block.counts.empty()) return std::nullopt;
    for (const CallRule& call : block.calls) {
      SiteSignature site{call.function};
      // A wait for one operation may happen to complete all that is pending on some ranks.
      site.completes_all =
          call.completes_all && (call.parts.size() != 1 || functions.Name(call.function) != "MPI_Wait");
      if (site.completes_all) open = {};
      for (std::size_t i = 0; i < call.parts.size() && !site.completes_all; ++i) {
        const std::optional<PartSignature> part = ReadSignature(call.parts[i], key, rules, all, open);
        if (!part) return std::nullopt;
        site.parts.push_back(*part);
      }
      site.occurrence = counts[site]++;
      sequence.push_back(std::move(site));
    }
  }
  return sequence;
}

void StraightenPeers(const RankClass& key, ClassRules& rules, const CallRules& all) {
  ForEachPart(rules, [&](const CallRule&, PartRule& part) {
    if (!part.peers.empty() && !PartOf(part.kind).IsCollective())
      part.peers = {Straightened(part.peers.front(), key, rules, all)};
  });
}

std::optional<bool> HasPartnersInGrid(const SiteSignature& site, const RankClass& key, const ClassScheme& scheme) {
  if (site.parts.empty()) return std::nullopt;
  bool all = true;
  for (const PartSignature& part : site.parts) {
    if (!part.IsOffset()) return std::nullopt;
    for (std::size_t d = 0; d < kMostDimensions; ++d) {
      const std::optional<bool> is_in = IsInGrid(part.peer.steps[d], d, key, scheme);
      if (!is_in) return std::nullopt;
      all = all && *is_in;
    }
  }
  return all;
}

std::optional<SiteOrder> FindOrder(const std::vector<const SiteSequence*>& sequences) {
  std::map<SiteSignature, std::size_t> found;
  SiteSequence unordered;
  std::vector<std::vector<std::size_t>> next;
  for (const SiteSequence* sequence : sequences) {
    std::size_t before = 0;
    for (std::size_t i = 0; i < sequence->size(); ++i) {
      const auto [site, is_new] = found.try_emplace((*sequence)[i], unordered.size());
      if (is_new) {
        unordered.push_back((*sequence)[i]);
        next.emplace_back();
      }
      if (i > 0 && std::ranges::find(next[before], site->second) == next[before].end())
        next[before].push_back(site->second);
      before = site->second;
    }
  }
  // An order that holds, by taking away those without predecessors.
  std::vector<std::size_t> pending(unordered.size(), 0), sorted, number(unordered.size());
  for (const auto& of_site : next) {
    for (const std::size_t later : of_site) ++pending[later];
  }
  for (std::size_t i = 0; i < unordered.size(); ++i) {
    if (pending[i] == 0) sorted.push_back(i);
  }
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    for (const std::size_t later : next[sorted[i]]) {
      if (--pending[later] == 0) sorted.push_back(later);
    }
  }
  if (sorted.size() != unordered.size()) return std::nullopt;
  SiteOrder order;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    number[sorted[i]] = i;
    order.sites.push_back(unordered[sorted[i]]);
    order.numbers[order.sites.back()] = i;
  }
  const std::size_t words = (sorted.size() + 63) / 64;
  order.behind.assign(sorted.size(), std::vector<std::uint64_t>(words, 0));
  for (std::size_t i = sorted.size(); i-- > 0;) {
    for (const std::size_t later : next[sorted[i]]) {
      const std::size_t j = number[later];
      order.behind[i][j / 64] |= std::uint64_t{1} << (j % 64);
      for (std::size_t word = 0; word < words; ++word) order.behind[i][word] |= order.behind[j][word];
    }
  }
  return order;
}

namespace {

// The order of two calls along one dimension by that of those along others. -1: a is first; 1: b is; 0: none follows.
int OrderByAnalogy(const SiteOrder& order, std::size_t a, std::size_t b) {
  const std::optional<std::size_t> d = Dimension(order.sites[a]);
  if (!d || Dimension(order.sites[b]) != d) return 0;
  const auto turned = [&](SiteSignature site, std::size_t to) {
    for (PartSignature& part : site.parts) std::swap(part.peer.steps[*d], part.peer.steps[to]);
    return order.numbers.find(site);
  };
  int first = 0;
  for (std::size_t other = 0; other < kMostDimensions; ++other) {
    if (other == *d) continue;
    const auto x = turned(order.sites[a], other), y = turned(order.sites[b], other);
    if (x == order.numbers.end() || y == order.numbers.end()) continue;
    const int here = order.IsBefore(x->second, y->second) ? -1 : order.IsBefore(y->second, x->second) ? 1 : 0;
    if (here == 0) continue;
    if (first != 0 && here != first) return 0;
    first = here;
  }
  return first;
}

}  // namespace

std::optional<std::vector<std::size_t>> SortSites(const SiteOrder& order, const std::vector<std::size_t>& some) {
  std::vector<std::size_t> left = some, sorted;
  std::ranges::sort(left);
  while (!left.empty()) {
    // Candidates are those that none of the others must precede.
    std::size_t first = left.front();
    for (const std::size_t other : left) {
      if (other == first || order.IsBefore(first, other) ||
          std::ranges::any_of(left, [&](std::size_t one) { return order.IsBefore(one, other); }))
        continue;
      const int which = OrderByAnalogy(order, first, other);
      if (which == 0) return std::nullopt;
      if (which > 0) first = other;
    }
    sorted.push_back(first);
    std::erase(left, first);
  }
  return sorted;
}

}  // namespace farscale
