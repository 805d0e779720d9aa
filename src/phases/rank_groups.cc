#include "phases/rank_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

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

double Total(const std::vector<Work>& items) {
  return std::accumulate(items.begin(), items.end(), 0.0, [](double sum, const Work& one) { return sum + one.amount; });
}

// Calls visit(a, b) with the two items of every kind that either list has; of nothing where a list lacks it.
template <typename Visit>
void ForEachKind(const std::vector<Work>& a, const std::vector<Work>& b, Visit visit) {
  static const Work kNone;
  auto i = a.begin(), j = b.begin();
  while (i != a.end() || j != b.end()) {
    const bool has_a = i != a.end() && (j == b.end() || i->kind <= j->kind);
    const bool has_b = j != b.end() && (i == a.end() || j->kind <= i->kind);
    visit(has_a ? *i++ : kNone, has_b ? *j++ : kNone);
  }
}

// Half the sum of the differences between shares: 0 for the same, 1 for nothing in common.
double DistanceOfShares(const std::vector<Work>& a, const std::vector<Work>& b) {
  const double total_a = Total(a), total_b = Total(b);
  if (total_a <= 0 && total_b <= 0) return 0;
  if (total_a <= 0 || total_b <= 0) return 1;
  double sum = 0;
  ForEachKind(a, b, [&](const Work& of_a, const Work& of_b) {
    sum += std::fabs(of_a.amount / total_a - of_b.amount / total_b);
  });
  return sum / 2;
}

// Share of the work of `a` that `b` lacks: in regions that it hardly enters, and what recurs where it does little, with
// all that it does in regions within. A mark that one rank alone sets within a region is no other work.
double LackingWork(const std::vector<Work>& a, const std::vector<Work>& b) {
  double lacking = 0;
  ForEachKind(a, b, [&](const Work& of_a, const Work& of_b) {
    const bool hardly_enters = of_a.entries > kLess * of_b.entries;
    lacking += hardly_enters ? of_a.amount : std::max(0.0, of_a.recurring - kLess * of_b.inclusive);
  });
  const double total = Total(a);
  return total > 0 ? lacking / total : 0;
}

// The same of calls, of those that recur.
double LackingCalls(const std::vector<Work>& a, const std::vector<Work>& b) {
  double lacking = 0, total = 0;
  ForEachKind(a, b, [&](const Work& of_a, const Work& of_b) {
    if (of_a.amount < kRecurs) return;
    total += of_a.amount;
    lacking += std::max(0.0, of_a.amount - kLess * of_b.amount);
  });
  return total > 0 ? lacking / total : 0;
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

using MessagesOfRank = std::function<const MessageCounts&(std::size_t rank)>;

double Level(double usual, const RankProfile& profile) { return profile.useful / (profile.useful + usual); }

// The distance of DBSCAN: the largest of the differences in shares, and in how much they compute.
double Distance(double usual, const RankProfile& a, const RankProfile& b) {
  return std::max({DistanceOfShares(a.regions, b.regions), DistanceOfShares(a.bursts, b.bursts),
                   DistanceOfShares(a.calls, b.calls), std::fabs(Level(usual, a) - Level(usual, b))});
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
  std::vector<std::size_t> weights;
  for (const auto& ranks : alike) weights.push_back(ranks.size());
  const auto distance = [&](std::size_t i, std::size_t j) {
    return Distance(usual, profiles.ranks[alike[i].front()], profiles.ranks[alike[j].front()]);
  };
  const auto found = FindClusters(weights, distance, kReach, kFewestInCluster);
  for (std::size_t i = 0; i < found.size(); ++i) {
    std::vector<std::size_t>* ranks = &noise;
    if (found[i]) {
      clusters.resize(std::max(clusters.size(), *found[i] + 1));
      ranks = &clusters[*found[i]].ranks;
    }
    ranks->insert(ranks->end(), alike[i].begin(), alike[i].end());
  }
  for (GroupCandidate& cluster : clusters) {
    std::vector<std::size_t>& ranks = cluster.ranks;
    std::vector<double> bursts;
    for (const std::size_t rank : ranks) bursts.push_back(profiles.ranks[rank].burst);
    const double burst = Median(std::move(bursts));
    // A master of many workers may compute as much as any of them, though little at a time: such ranks are placed
    // again.
    const auto others = std::stable_partition(
        ranks.begin(), ranks.end(), [&](std::size_t rank) { return kLess * profiles.ranks[rank].burst >= burst; });
    noise.insert(noise.end(), others, ranks.end());
    ranks.erase(others, ranks.end());
    std::sort(ranks.begin(), ranks.end());
    cluster.profile = MeanProfile(profiles, ranks);
  }
  std::sort(noise.begin(), noise.end());
  std::sort(clusters.begin(), clusters.end(), IsBefore);
  return {std::move(clusters), std::move(noise)};
}

// The least share of work that each lacks of the other. More of the same, or more besides the same, is no other work:
// that is imbalance, and what some ranks of a program do for all.
double Difference(const GroupCandidate& a, const GroupCandidate& b) {
  const auto each_lacks = [&](auto lacking, std::vector<Work> RankProfile::*list) {
    return std::min(lacking(a.profile.*list, b.profile.*list), lacking(b.profile.*list, a.profile.*list));
  };
  return std::max({each_lacks(LackingWork, &RankProfile::regions), each_lacks(LackingWork, &RankProfile::bursts),
                   each_lacks(LackingCalls, &RankProfile::calls)});
}

// True if the group talks with single ranks of the candidate before all others, which compute little themselves, or
// little at a time, as with many workers: a master and its workers.
bool IsMaster(const MessagesOfRank& messages, const GroupCandidate& candidate, const GroupCandidate& group) {
  // Between two others lies the middle of a line, too.
  if (group.ranks.size() < 3 || candidate.ranks.size() >= group.ranks.size()) return false;
  const bool is_little = kLess * candidate.profile.useful < group.profile.useful;
  if (!is_little && kLess * candidate.profile.burst >= group.profile.burst) return false;
  std::size_t served = 0;
  for (const std::size_t rank : group.ranks) {
    const MessageCounts& counts = messages(rank);
    for (const auto& [peer, count] : counts.by_peer) {
      const bool is_candidate =
          std::binary_search(candidate.ranks.begin(), candidate.ranks.end(), static_cast<std::size_t>(peer));
      if (is_candidate && 2 * count > counts.sent + counts.received) ++served;
    }
  }
  return 10 * served >= 9 * group.ranks.size();
}

bool Differ(const MessagesOfRank& messages, GroupCandidate& candidate, const GroupCandidate& group) {
  if (Difference(candidate, group) >= kDifferent) return true;
  if (IsMaster(messages, candidate, group)) candidate.serves = true;
  if (candidate.serves) return true;
  // An input or output server only sends or only receives and takes no part in what the group does together.
  if (LackingCalls(group.profile.calls, candidate.profile.calls) < kDifferent) return false;
  std::uint64_t sent = 0, received = 0;
  for (const std::size_t rank : candidate.ranks) {
    sent += messages(rank).sent;
    received += messages(rank).received;
  }
  const double recurs = kRecurs * static_cast<double>(candidate.ranks.size());
  return (sent == 0 || received == 0) && static_cast<double>(sent + received) >= recurs;
}

// Adds ranks to the nearest group that they do not differ from, or makes them a group. Returns which one.
std::size_t Place(double usual, const MessagesOfRank& messages, GroupCandidate&& candidate,
                  std::vector<GroupCandidate>& groups) {
  std::size_t best = groups.size();
  std::pair<double, double> least;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (Differ(messages, candidate, groups[i])) continue;
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

std::vector<RankGroup> GroupRanks(const Trace& trace, const PhaseCut& cut, Diagnostics& diagnostics) {
  const RankProfiles profiles = ProfileRanks(trace, cut);
  std::vector<std::size_t> present;
  std::vector<double> useful;
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    if (!profiles.ranks[rank].present) continue;
    present.push_back(rank);
    useful.push_back(profiles.ranks[rank].useful);
  }
  if (present.size() < 3) return {};
  const double usual = std::max(1.0, Median(std::move(useful)));
  auto [clusters, noise] = Cluster(profiles, usual, present);
  if (clusters.empty() || 2 * noise.size() > present.size()) return {};
  std::vector<GroupCandidate> groups;
  std::vector<std::optional<MessageCounts>> counted(trace.size());
  const MessagesOfRank messages = [&](std::size_t rank) -> const MessageCounts& {
    if (!counted[rank]) counted[rank] = CountMessages(trace, cut, rank);
    return *counted[rank];
  };
  for (GroupCandidate& cluster : clusters) Place(usual, messages, std::move(cluster), groups);
  std::vector<std::size_t> outliers;
  for (const std::size_t rank : noise) {
    GroupCandidate alone = {{rank}, profiles.ranks[rank]};
    if (const std::size_t into = Place(usual, messages, std::move(alone), groups); groups[into].ranks.front() != rank) {
      if (Distance(usual, profiles.ranks[rank], groups[into].profile) > kReach) outliers.push_back(rank);
    }
  }
  if (groups.size() < 2) return {};
  for (GroupCandidate& group : groups) std::sort(group.ranks.begin(), group.ranks.end());
  std::sort(groups.begin(), groups.end(), IsBefore);
  std::sort(outliers.begin(), outliers.end());
  diagnostics.Add(anomaly::kRankInNoGroup, outliers.size(),
                  fmt::format("in phase {}: {}", cut.spec.name, FormatRanks(outliers)));
  std::vector<std::pair<RankProfile, bool>> work;
  for (const GroupCandidate& group : groups) work.emplace_back(MeanProfile(profiles, group.ranks), group.serves);
  std::vector<RankGroup> named = NameGroups(profiles, work);
  for (std::size_t i = 0; i < groups.size(); ++i) named[i].ranks = std::move(groups[i].ranks);
  return named;
}

}  // namespace

std::vector<std::optional<std::size_t>> FindClusters(const std::vector<std::size_t>& weights,
                                                     const std::function<double(std::size_t, std::size_t)>& distance,
                                                     double reach, std::size_t fewest) {
  // The neighbours of a point with enough of them; nothing for others.
  const auto neighbours_of = [&](std::size_t point) {
    std::vector<std::size_t> neighbours;
    std::size_t weight = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (i != point && distance(point, i) > reach) continue;
      neighbours.push_back(i);
      weight += weights[i];
    }
    return weight >= fewest ? neighbours : std::vector<std::size_t>();
  };
  std::size_t clusters = 0;
  std::vector<std::optional<std::size_t>> found(weights.size());
  std::vector<bool> visited(weights.size());
  for (std::size_t first = 0; first < weights.size(); ++first) {
    if (visited[first]) continue;
    std::vector<std::size_t> queue = {first};
    for (std::size_t next = 0; next < queue.size(); ++next) {
      if (visited[queue[next]]) continue;  // noise before
      visited[queue[next]] = true;
      for (const std::size_t i : neighbours_of(queue[next])) {
        if (found[i]) continue;
        found[i] = clusters;
        if (i != first) queue.push_back(i);
      }
    }
    if (found[first] == clusters) ++clusters;  // else noise, unless a cluster reaches it later
  }
  return found;
}

std::vector<RankGroup> FindGroups(const Trace& trace, const PhaseCut& cut, Diagnostics& diagnostics) {
  if (cut.spec.part.empty()) return GroupRanks(trace, cut, diagnostics);
  Diagnostics of_part;
  if (GroupRanks(trace, cut, of_part).empty()) return {};
  // The work of ranks of one program differs in a part where they come to it at different times.
  PhaseSpec iterations = cut.spec;
  iterations.part.clear();
  return GroupRanks(trace, CutPhase(trace, iterations), diagnostics);
}

}  // namespace farscale
