#include "growth/rival_layouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "base/text.h"
#include "growth/call_sites.h"
#include "growth/grid_series.h"
#include "growth/partners.h"

namespace farscale {
namespace {

constexpr std::int64_t kMostRanks = 512;  // that are compared; chosen: bounds the time

// To whom ranks of a grid send under some rules.
class Receivers {
 public:
  Receivers(const CallRules& rules, const RankGrid& grid) : rules_(rules), grid_(grid) {}

  // Of one iteration of every kind, rising; nothing for ranks that are like none of the runs.
  std::optional<std::vector<std::int64_t>> Of(std::int64_t rank) {
    const std::vector<Send>* sends = SendsOf(ClassOf(rules_.scheme, grid_, rank));
    if (sends == nullptr) return std::nullopt;
    std::vector<std::int64_t> peers;
    for (const auto& [rule, stage] : *sends) {
      const std::int64_t peer = PeerBy(*rule, grid_, rank, stage);
      if (peer >= 0) peers.push_back(peer);
    }
    std::ranges::sort(peers);
    return peers;
  }

 private:
  struct Send {
    const PeerRule* rule = nullptr;
    Stage stage;
  };

  const std::vector<Send>* SendsOf(const RankClass& of_class) {
    const auto found = rules_.classes.find(of_class);
    if (found == rules_.classes.end() || found->second.donors.empty()) return nullptr;
    const auto [sends, is_new] = sends_.try_emplace(of_class);
    const std::vector<std::vector<CallBlock>>& kinds = found->second.kinds;
    for (std::size_t kind = 0; is_new && kind < kinds.size(); ++kind) {
      for (const PlannedCall& call : PlanCalls(kinds[kind], kind, grid_, grid_)) {
        for (const PartRule& part : call.rule->parts) {
          const bool is_send = part.kind == RecordKind::kSend || part.kind == RecordKind::kSendPost;
          if (is_send && !part.peers.empty()) sends->second.push_back({&part.peers.front(), call.stage});
        }
      }
    }
    return &sends->second;
  }

  const CallRules& rules_;
  const RankGrid grid_;
  std::map<RankClass, std::vector<Send>> sends_;
};

// Whether ranks send elsewhere; where either set of rules says nothing of a rank, it does not contradict the other.
bool Differ(const CallRules& a, const CallRules& b, std::int64_t ranks) {
  const RankGrid grid_a = LayoutFor(a, ranks), grid_b = LayoutFor(b, ranks);
  if (grid_a.size() != grid_b.size()) return false;
  Receivers of_a(a, grid_a), of_b(b, grid_b);
  const std::int64_t step = std::max<std::int64_t>(1, grid_a.size() / kMostRanks);
  for (std::int64_t rank = 0; rank < grid_a.size(); rank += step) {
    const auto here = of_a.Of(rank), there = of_b.Of(rank);
    if (here && there && here != there) return true;
  }
  return false;
}

std::string LayoutsOf(const CallRules& rules) {
  std::vector<std::string> texts;
  for (const RankGrid& grid : rules.grids) texts.push_back(grid.Text());
  return Join(texts, ", ");
}

}  // namespace

std::string WhyContested(const GrowthModel& model) {
  if (model.rules.scheme.is_lifted) return "";
  const std::int64_t largest = model.runs.back().ranks;
  for (CallRules& rival : FindRivalRules(model.runs, model.rules)) {
    PreferCommonRules(rival);
    JoinPartners(model.runs.back(), model.runs.size() - 1, rival);
    for (const std::int64_t ranks : {2 * largest, 4 * largest}) {
      if (!Differ(model.rules, rival, ranks)) continue;
      return fmt::format(
          "the layouts {} and {} explain the messages of the runs equally well, and differ on {} ranks; name the "
          "layouts (grid of a run, or --grid)",
          LayoutsOf(model.rules), LayoutsOf(rival), ranks);
    }
  }
  return "";
}

}  // namespace farscale
