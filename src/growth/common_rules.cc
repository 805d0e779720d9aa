// Which of several rules that hold for a class is the one that holds for others, too.
#include "growth/call_rules.h"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

namespace farscale {
namespace {

bool IsOfSeveralRuns(const ClassRules& of_class) {
  return std::ranges::any_of(of_class.donors,
                             [&](const auto& one) { return one.first != of_class.donors.front().first; });
}

// Calls that do the same on different ranks of a program: functions and parts, without partners.
struct Shape {
  std::size_t program = 0;
  std::vector<std::tuple<std::uint32_t, RecordKind, CollectiveKind>> parts = {};

  friend auto operator<=>(const Shape&, const Shape&) = default;
};

Shape ShapeOf(std::size_t program, const CallRule& call, const PartRule& part) {
  return {program, {{call.function, part.kind, part.collective}}};
}
Shape ShapeOf(std::size_t program, const CallBlock& block) {
  Shape shape{program};
  for (const CallRule& call : block.calls) {
    for (const PartRule& part : call.parts) shape.parts.emplace_back(call.function, part.kind, part.collective);
  }
  return shape;
}

// How many classes have a rule for calls of a shape.
template <typename Rule>
class Votes {
 public:
  void Add(const Shape& shape, const std::vector<Rule>& rules, std::size_t of_class) {
    auto& of_shape = votes_[shape];
    for (const Rule& rule : rules) {
      auto found = std::ranges::find(of_shape, rule, &Vote::rule);
      if (found == of_shape.end()) found = of_shape.insert(found, {rule, 0, kNoClass});
      if (std::exchange(found->last, of_class) != of_class) ++found->classes;
    }
  }

  // That with most votes goes first where it has clearly more than the one that does.
  void Order(const Shape& shape, std::vector<Rule>& rules) const {
    constexpr std::size_t kClearly = 2;  // times; chosen: up and down, or a step and a shift, differ by less
    if (rules.size() < 2) return;
    const auto most = std::ranges::max_element(rules, {}, [&](const Rule& rule) { return Of(shape, rule); });
    if (Of(shape, *most) > kClearly * Of(shape, rules.front())) std::rotate(rules.begin(), most, most + 1);
  }

 private:
  static constexpr std::size_t kNoClass = static_cast<std::size_t>(-1);
  struct Vote {
    Rule rule;
    std::size_t classes = 0;
    std::size_t last = kNoClass;  // class that voted last
  };

  std::size_t Of(const Shape& shape, const Rule& rule) const {
    const auto found = votes_.find(shape);
    if (found == votes_.end()) return 0;
    const auto vote = std::ranges::find(found->second, rule, &Vote::rule);
    return vote != found->second.end() ? vote->classes : 0;
  }

  std::map<Shape, std::vector<Vote>> votes_;
};

struct AllVotes {
  Votes<PeerRule> peers;
  Votes<TagRule> tags;
  Votes<CountRule> counts;
};

// Calls visit(block) and visit(call, part) for everything in the rules of a class.
template <typename Blocks, typename Parts>
void VisitRules(ClassRules& of_class, const Blocks& blocks, const Parts& parts) {
  for (std::vector<CallBlock>& kind : of_class.kinds) {
    for (CallBlock& block : kind) {
      blocks(block);
      for (CallRule& call : block.calls) {
        for (PartRule& part : call.parts) parts(call, part);
      }
    }
  }
}

}  // namespace

void PreferCommonRules(CallRules& rules) {
  AllVotes votes;
  std::size_t number = 0;
  for (auto& [key, of_class] : rules.classes) {
    ++number;
    if (!IsOfSeveralRuns(of_class)) continue;
    const std::size_t program = ProgramOf(key);
    VisitRules(
        of_class, [&](CallBlock& block) { votes.counts.Add(ShapeOf(program, block), block.counts, number); },
        [&](CallRule& call, PartRule& part) {
          votes.peers.Add(ShapeOf(program, call, part), part.peers, number);
          votes.tags.Add(ShapeOf(program, call, part), part.tags, number);
        });
  }
  for (auto& [key, of_class] : rules.classes) {
    const std::size_t program = ProgramOf(key);
    VisitRules(
        of_class, [&](CallBlock& block) { votes.counts.Order(ShapeOf(program, block), block.counts); },
        [&](CallRule& call, PartRule& part) {
          votes.peers.Order(ShapeOf(program, call, part), part.peers);
          votes.tags.Order(ShapeOf(program, call, part), part.tags);
        });
  }
}

}  // namespace farscale
