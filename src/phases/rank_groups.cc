#include "phases/rank_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "phases/anomalies.h"
#include "phases/rank_profile.h"
#include "stats/sample_quantiles.h"

namespace farscale {
namespace {

// All are chosen [docs/formulas.md, groups of ranks]. DBSCAN: ranks are neighbours when nowhere more than a quarter of
// their profiles differs, and two are enough.
constexpr double kReach = 0.25;
constexpr std::size_t kFewestInCluster = 2;
// Profiles this near are taken for one. Far below kReach, far above noise.
constexpr double kSame = 0.02;
// Work counts as lacking where there is less than a quarter of it,
constexpr double kLess = 4;
// and ranks as different when that is so of half of what each of the two does.
constexpr double kDifferent = 0.5;
// Rarer work does not recur.
constexpr double kRecurs = 3;

double Value(const Work& work) { return work.ticks; }
double Value(const Count& count) { return count.count; }

template <typename Item>
double Total(const std::vector<Item>& items) {
  double total = 0;
  for (const Item& item : items) total += Value(item);
  return total;
}

// Calls visit(a, b) with the two items of every kind that either list has; null where a list lacks it.
template <typename Item, typename Visit>
void ForEachKind(const std::vector<Item>& a, const std::vector<Item>& b, Visit visit) {
  auto i = a.begin(), j = b.begin();
  while (i != a.end() || j != b.end()) {
    const bool has_a = i != a.end() && (j == b.end() || i->kind <= j->kind);
    const bool has_b = j != b.end() && (i == a.end() || j->kind <= i->kind);
    visit(has_a ? &*i : nullptr, has_b ? &*j : nullptr);
    if (has_a) ++i;
    if (has_b) ++j;
  }
}

// Half the sum of the differences between shares: 0 for the same, 1 for nothing in common.
template <typename Item>
double DistanceOfShares(const std::vector<Item>& a, const std::vector<Item>& b) {
  const double total_a = Total(a), total_b = Total(b);
  if (total_a <= 0 && total_b <= 0) return 0;
  if (total_a <= 0 || total_b <= 0) return 1;
  double sum = 0;
  ForEachKind(a, b, [&](const Item* of_a, const Item* of_b) {
    sum += std::fabs((of_a != nullptr ? Value(*of_a) / total_a : 0) - (of_b != nullptr ? Value(*of_b) / total_b : 0));
  });
  return sum / 2;
}

// Share of the work of `a` that `b` lacks: in regions that it hardly enters, and what recurs where it does little, with
// all that it does in regions within. A mark that one rank alone sets within a region is no other work.
double Lacking(const std::vector<Work>& a, const std::vector<Work>& b) {
  double lacking = 0;
  ForEachKind(a, b, [&](const Work* of_a, const Work* of_b) {
    if (of_a == nullptr) return;
    const Work other = of_b != nullptr ? *of_b : Work{};
    const bool hardly_enters = of_a->entries > kLess * other.entries;
    lacking += hardly_enters ? of_a->ticks : std::max(0.0, of_a->recurring - kLess * other.inclusive);
  });
  const double total = Total(a);
  return total > 0 ? lacking / total : 0;
}

// The same of calls, of those that recur.
double Lacking(const std::vector<Count>& a, const std::vector<Count>& b) {
  double lacking = 0, total = 0;
  ForEachKind(a, b, [&](const Count* of_a, const Count* of_b) {
    if (of_a == nullptr || of_a->count < kRecurs) return;
    total += of_a->count;
    lacking += std::max(0.0, of_a->count - kLess * (of_b != nullptr ? of_b->count : 0));
  });
  return total > 0 ? lacking / total : 0;
}

template <typename Item>
double EachLacks(const std::vector<Item>& a, const std::vector<Item>& b) {
  return std::min(Lacking(a, b), Lacking(b, a));
}

// Ranks on their way to being a group.
struct GroupCandidate {
  std::vector<std::size_t> ranks;
  RankProfile profile;  // their mean, of the ranks that it began with
  bool serves = false;  // the others, as a master does
};

bool IsBefore(const GroupCandidate& a, const GroupCandidate& b) {
  return a.ranks.size() != b.ranks.size() ? a.ranks.size() > b.ranks.size() : a.ranks.front() < b.ranks.front();
}

using MessageCountsByRank = std::vector<std::optional<MessageCounts>>;  // where they were asked for

double Level(double usual, const RankProfile& profile) { return profile.useful / (profile.useful + usual); }

// The distance of DBSCAN: the largest of the differences in shares, and in how much they compute.
double Distance(double usual, const RankProfile& a, const RankProfile& b) {
  return std::max({DistanceOfShares(a.regions, b.regions), DistanceOfShares(a.bursts, b.bursts),
                   DistanceOfShares(a.calls, b.calls), std::fabs(Level(usual, a) - Level(usual, b))});
}

// A master of many workers may compute as much as any of them, though little at a time: such ranks are placed again.
void SetServersApart(const RankProfiles& profiles, std::vector<std::size_t>& noise, std::vector<std::size_t>& ranks) {
  std::vector<double> bursts;
  for (const std::size_t rank : ranks) bursts.push_back(profiles.ranks[rank].burst);
  const double usual = Median(std::move(bursts));
  const auto others = std::stable_partition(
      ranks.begin(), ranks.end(), [&](std::size_t rank) { return kLess * profiles.ranks[rank].burst >= usual; });
  noise.insert(noise.end(), others, ranks.end());
  ranks.erase(others, ranks.end());
}

// DBSCAN over the ranks, those with the same profile as one point: the clusters, largest first, and the noise.
std::pair<std::vector<GroupCandidate>, std::vector<std::size_t>> Cluster(const RankProfiles& profiles, double usual,
                                                                         const std::vector<std::size_t>& present) {
  std::vector<GroupCandidate> clusters;
  std::vector<std::size_t> noise;
  std::vector<std::vector<std::size_t>> alike;
  for (const std::size_t rank : present) {
    const auto same = std::find_if(alike.begin(), alike.end(), [&](const std::vector<std::size_t>& ranks) {
      return Distance(usual, profiles.ranks[ranks.front()], profiles.ranks[rank]) <= kSame;
    });
    if (same == alike.end()) {
      alike.push_back({rank});
    } else {
      same->push_back(rank);
    }
  }
  std::vector<ClusterPoint> points;
  for (const auto& ranks : alike) points.push_back({ranks.size(), {}});
  const auto distance = [&](std::size_t i, std::size_t j) {
    return Distance(usual, profiles.ranks[alike[i].front()], profiles.ranks[alike[j].front()]);
  };
  FindClusters(points, distance, kReach, kFewestInCluster);
  for (std::size_t i = 0; i < points.size(); ++i) {
    std::vector<std::size_t>* ranks = &noise;
    if (points[i].cluster) {
      clusters.resize(std::max(clusters.size(), *points[i].cluster + 1));
      ranks = &clusters[*points[i].cluster].ranks;
    }
    ranks->insert(ranks->end(), alike[i].begin(), alike[i].end());
  }
  for (GroupCandidate& cluster : clusters) SetServersApart(profiles, noise, cluster.ranks);
  std::sort(noise.begin(), noise.end());
  for (GroupCandidate& cluster : clusters) {
    std::sort(cluster.ranks.begin(), cluster.ranks.end());
    cluster.profile = MeanProfile(profiles, cluster.ranks);
  }
  std::sort(clusters.begin(), clusters.end(), IsBefore);
  return {std::move(clusters), std::move(noise)};
}

// The least share of work that each lacks of the other. More of the same, or more besides the same, is no other work:
// that is imbalance, and what some ranks of a program do for all.
double Difference(const GroupCandidate& a, const GroupCandidate& b) {
  return std::max({EachLacks(a.profile.regions, b.profile.regions), EachLacks(a.profile.bursts, b.profile.bursts),
                   EachLacks(a.profile.calls, b.profile.calls)});
}

const MessageCounts& Messages(const Trace& trace, const PhaseCut& cut, MessageCountsByRank& messages,
                              std::size_t rank) {
  std::optional<MessageCounts>& counts = messages[rank];
  if (!counts) counts = CountMessages(trace, cut, rank);
  return *counts;
}

// True if the group talks with single ranks of the candidate before all others, which compute little themselves, or
// little at a time, as with many workers: a master and its workers.
bool IsMaster(const Trace& trace, const PhaseCut& cut, MessageCountsByRank& messages, const GroupCandidate& candidate,
              const GroupCandidate& group) {
  // Between two others lies the middle of a line, too.
  if (group.ranks.size() < 3 || candidate.ranks.size() >= group.ranks.size()) return false;
  const bool is_little = kLess * candidate.profile.useful < group.profile.useful;
  if (!is_little && kLess * candidate.profile.burst >= group.profile.burst) return false;
  std::size_t served = 0;
  for (const std::size_t rank : group.ranks) {
    const MessageCounts& counts = Messages(trace, cut, messages, rank);
    for (const auto& [peer, count] : counts.by_peer) {
      const bool is_candidate =
          std::binary_search(candidate.ranks.begin(), candidate.ranks.end(), static_cast<std::size_t>(peer));
      if (is_candidate && 2 * count > counts.sent + counts.received) ++served;
    }
  }
  return 10 * served >= 9 * group.ranks.size();
}

// True if the candidate only sends or only receives and takes no part in what the group does together: an input or
// output server.
bool IsOneWay(const Trace& trace, const PhaseCut& cut, MessageCountsByRank& messages, const GroupCandidate& candidate,
              const GroupCandidate& group) {
  if (Lacking(group.profile.calls, candidate.profile.calls) < kDifferent) return false;
  std::uint64_t sent = 0, received = 0;
  for (const std::size_t rank : candidate.ranks) {
    sent += Messages(trace, cut, messages, rank).sent;
    received += Messages(trace, cut, messages, rank).received;
  }
  const double recurs = kRecurs * static_cast<double>(candidate.ranks.size());
  return (sent == 0 || received == 0) && static_cast<double>(sent + received) >= recurs;
}

bool Differ(const Trace& trace, const PhaseCut& cut, MessageCountsByRank& messages, GroupCandidate& candidate,
            const GroupCandidate& group) {
  if (Difference(candidate, group) >= kDifferent) return true;
  if (IsMaster(trace, cut, messages, candidate, group)) candidate.serves = true;
  return candidate.serves || IsOneWay(trace, cut, messages, candidate, group);
}

// Adds ranks to the nearest group that they do not differ from, or makes them a group. Returns which one.
std::size_t Place(const Trace& trace, const PhaseCut& cut, double usual, MessageCountsByRank& messages,
                  GroupCandidate&& candidate, std::vector<GroupCandidate>& groups) {
  std::size_t best = groups.size();
  std::pair<double, double> least;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (Differ(trace, cut, messages, candidate, groups[i])) continue;
    const std::pair<double, double> cost = {Difference(candidate, groups[i]),
                                            Distance(usual, candidate.profile, groups[i].profile)};
    if (best != groups.size() && cost >= least) continue;
    best = i;
    least = cost;
  }
  if (best == groups.size() || candidate.serves) {
    groups.push_back(std::move(candidate));
    return groups.size() - 1;
  }
  std::vector<std::size_t>& ranks = groups[best].ranks;
  ranks.insert(ranks.end(), candidate.ranks.begin(), candidate.ranks.end());
  return best;
}

std::vector<RankGroup> Named(const RankProfiles& profiles, const std::vector<GroupCandidate>& candidates) {
  std::vector<std::pair<RankProfile, bool>> work;
  for (const GroupCandidate& candidate : candidates) {
    work.emplace_back(MeanProfile(profiles, candidate.ranks), candidate.serves);
  }
  const auto names = NameGroups(profiles, work);
  std::vector<RankGroup> groups;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const auto& [name, is_own] = names[i];
    groups.push_back({name, candidates[i].ranks, is_own, TraitsOf(profiles, work[i].first)});
  }
  return groups;
}

RankGroups GroupRanks(const Trace& trace, const PhaseCut& cut) {
  const RankProfiles profiles = ProfileRanks(trace, cut);
  std::vector<std::size_t> present;
  std::vector<double> useful;
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    if (!profiles.ranks[rank].present) continue;
    present.push_back(rank);
    useful.push_back(profiles.ranks[rank].useful);
  }
  RankGroups result;
  if (present.size() < 3) return result;
  const double usual = std::max(1.0, Median(std::move(useful)));
  auto [clusters, noise] = Cluster(profiles, usual, present);
  if (clusters.empty() || 2 * noise.size() > present.size()) return result;
  std::vector<GroupCandidate> groups;
  MessageCountsByRank messages(trace.size());
  for (GroupCandidate& cluster : clusters) Place(trace, cut, usual, messages, std::move(cluster), groups);
  std::vector<std::size_t> outliers;
  for (const std::size_t rank : noise) {
    GroupCandidate alone = {{rank}, profiles.ranks[rank]};
    if (const std::size_t into = Place(trace, cut, usual, messages, std::move(alone), groups);
        groups[into].ranks.front() != rank) {
      if (Distance(usual, profiles.ranks[rank], groups[into].profile) > kReach) outliers.push_back(rank);
    }
  }
  if (groups.size() < 2) return result;
  for (GroupCandidate& group : groups) std::sort(group.ranks.begin(), group.ranks.end());
  std::sort(groups.begin(), groups.end(), IsBefore);
  std::sort(outliers.begin(), outliers.end());
  result.groups = Named(profiles, groups);
  if (!outliers.empty()) {
    result.diagnostics.Add(anomaly::kRankInNoGroup, outliers.size(),
                           fmt::format("in phase {}: {}", cut.spec.name, FormatRanks(outliers)));
  }
  return result;
}

}  // namespace

void FindClusters(std::vector<ClusterPoint>& points, const std::function<double(std::size_t, std::size_t)>& distance,
                  double reach, std::size_t fewest) {
  // The neighbours of a point with enough of them; nothing for others.
  const auto neighbours_of = [&](std::size_t point) {
    std::vector<std::size_t> neighbours;
    std::size_t weight = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (i != point && distance(point, i) > reach) continue;
      neighbours.push_back(i);
      weight += points[i].weight;
    }
    return weight >= fewest ? neighbours : std::vector<std::size_t>();
  };
  std::size_t clusters = 0;
  std::vector<bool> visited(points.size());
  for (ClusterPoint& point : points) point.cluster.reset();
  for (std::size_t first = 0; first < points.size(); ++first) {
    if (visited[first]) continue;
    std::vector<std::size_t> queue = {first};
    for (std::size_t next = 0; next < queue.size(); ++next) {
      if (visited[queue[next]]) continue;  // noise before
      visited[queue[next]] = true;
      for (const std::size_t i : neighbours_of(queue[next])) {
        if (points[i].cluster) continue;
        points[i].cluster = clusters;
        if (i != first) queue.push_back(i);
      }
    }
    if (points[first].cluster == clusters) ++clusters;  // else noise, unless a cluster reaches it later
  }
}

RankGroups FindGroups(const Trace& trace, const PhaseCut& cut) {
  RankGroups found = GroupRanks(trace, cut);
  if (found.groups.empty() || cut.spec.part.empty()) return found;
  // The work of ranks of one program differs in a part where they come to it at different times.
  PhaseSpec iterations = cut.spec;
  iterations.part.clear();
  return GroupRanks(trace, CutPhase(trace, iterations));
}

}  // namespace farscale
