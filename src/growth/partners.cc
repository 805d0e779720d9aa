#include "growth/partners.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "growth/call_sites.h"

namespace farscale {
namespace {

using Kind = PeerRule::Kind;

// The rule by which the partner finds the rank; nothing where it is not of the same kind.
std::optional<PeerRule> WayBack(PeerRule rule) {
  switch (rule.kind) {
    case Kind::kOffset:
      for (std::int32_t& step : rule.steps) step = -step;
      return rule;
    case Kind::kRing:
    case Kind::kRingPart:
    case Kind::kRingUp:
    case Kind::kPowerUp:
    case Kind::kPowerDown: rule.n = -rule.n; return rule;
    case Kind::kXor:
    case Kind::kXorPart:
    case Kind::kXorUp:
    case Kind::kXorDown:
    case Kind::kMirror:
    case Kind::kTranspose: return rule;
    default: return std::nullopt;
  }
}

// Parts of rules that belong to the same messages, with the smallest number first.
class Groups {
 public:
  std::size_t Add(PartRule* part) {
    const auto [found, is_new] = numbers_.try_emplace(part, parts_.size());
    if (is_new) {
      parts_.push_back(part);
      parents_.push_back(found->second);
    }
    return found->second;
  }
  std::size_t Root(std::size_t i) {
    while (parents_[i] != i) i = parents_[i] = parents_[parents_[i]];
    return i;
  }
  void Join(std::size_t a, std::size_t b) {
    a = Root(a), b = Root(b);
    parents_[std::max(a, b)] = std::min(a, b);
  }
  std::map<std::size_t, std::vector<PartRule*>> All() {
    std::map<std::size_t, std::vector<PartRule*>> groups;
    for (std::size_t i = 0; i < parts_.size(); ++i) groups[Root(i)].push_back(parts_[i]);
    return groups;
  }

 private:
  std::map<PartRule*, std::size_t> numbers_;
  std::vector<PartRule*> parts_;
  std::vector<std::size_t> parents_;
};

bool IsSend(const PartRule& part) { return PartOf(part.kind).type == OperationClass::kSend; }

// Whether a send may go by the rule and its receive come by the way back.
bool FitsAll(const PeerRule& rule, const std::vector<PartRule*>& parts) {
  const std::optional<PeerRule> back = WayBack(rule);
  if (!back) return false;
  return std::ranges::all_of(parts, [&](const PartRule* part) {
    return std::ranges::find(part->peers, IsSend(*part) ? rule : *back) != part->peers.end();
  });
}

// Messages between ranks by who, tag and communicator: posts in the order of the program.
using Channel = std::tuple<std::int64_t, std::int64_t, std::uint32_t, std::uint32_t>;

class Joiner {
 public:
  Joiner(const RunCalls& run, std::size_t index, CallRules& rules) : run_(run), index_(index), rules_(rules) {}

  void Join() {
    for (std::size_t kind = 0; kind < Kinds(); ++kind) {
      groups_ = {};
      JoinKind(kind);
      std::map<GridVector, int> turns;  // of opposite steps
      for (const auto& [number, parts] : groups_.All()) Choose(parts, turns);
    }
  }

 private:
  std::size_t Kinds() const { return run_.kinds.empty() ? 0 : 1 + *std::ranges::max_element(run_.kinds); }

  void JoinKind(std::size_t kind) {
    const auto iteration = static_cast<std::size_t>(std::ranges::find(run_.kinds, kind) - run_.kinds.begin());
    std::map<Channel, std::pair<std::vector<PartRule*>, std::vector<PartRule*>>> channels;
    for (std::int64_t rank = 0; rank < run_.ranks; ++rank) {
      ClassRules& of_class = rules_.classes.at(ClassOf(rules_.scheme, rules_.grids[index_], rank));
      if (std::ranges::find(of_class.donors, std::pair(index_, rank)) == of_class.donors.end()) continue;
      const RankCalls& calls = run_.of_ranks[static_cast<std::size_t>(rank)];
      const std::uint32_t first = calls.FirstCall(iteration);
      const RankGrid& grid = rules_.grids[index_];
      const RankGrid seen = grid.SeenBy(grid.ProgramOf(rank));
      for (const PlannedCall& call : PlanCalls(of_class.kinds[kind], kind, seen, seen)) {
        if (call.rule->completes_all) continue;
        const auto parts = calls.PartsOf(first + call.model);
        for (std::size_t i = 0; i < parts.size(); ++i) {
          auto* rule = const_cast<PartRule*>(&call.rule->parts[i]);
          const OperationPart is = PartOf(parts[i].kind);
          if (!is.posts || is.IsCollective() || parts[i].peer < 0) continue;
          groups_.Add(rule);
          const bool sends = IsSend(*rule);
          auto& channel = channels[sends ? Channel{rank, parts[i].peer, parts[i].tag, parts[i].communicator}
                                         : Channel{parts[i].peer, rank, parts[i].tag, parts[i].communicator}];
          (sends ? channel.first : channel.second).push_back(rule);
        }
      }
    }
    for (auto& [key, posts] : channels) {
      for (std::size_t i = 0; i < std::min(posts.first.size(), posts.second.size()); ++i) {
        groups_.Join(groups_.Add(posts.first[i]), groups_.Add(posts.second[i]));
      }
    }
  }

  static void Choose(const std::vector<PartRule*>& parts, std::map<GridVector, int>& turns) {
    const auto send = std::ranges::find_if(parts, [](const PartRule* part) { return IsSend(*part); });
    if (send == parts.end()) return;
    // Rules without a way back stand first only where other classes confirm them.
    if (std::ranges::any_of(parts, [](const PartRule* part) { return !WayBack(part->peers.front()); })) return;
    std::vector<PeerRule> fitting;
    for (const PeerRule& rule : (*send)->peers) {
      if (FitsAll(rule, parts)) fitting.push_back(rule);
    }
    if (fitting.empty()) return;
    PeerRule chosen = fitting.front();
    if (const auto back = WayBack(chosen);
        chosen.kind == Kind::kOffset && *back != chosen && std::ranges::find(fitting, *back) != fitting.end()) {
      const GridVector key = std::max(chosen.steps, back->steps);
      chosen.steps = turns[key]++ % 2 == 0 ? std::min(chosen.steps, back->steps) : key;
    }
    for (PartRule* part : parts) part->peers = {IsSend(*part) ? chosen : *WayBack(chosen)};
  }

  const RunCalls& run_;
  std::size_t index_;
  CallRules& rules_;
  Groups groups_;
};

}  // namespace

void JoinPartners(const RunCalls& run, std::size_t run_index, CallRules& rules) {
  Joiner(run, run_index, rules).Join();
}

}  // namespace farscale
