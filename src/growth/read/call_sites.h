// Quantities of call sites over the runs, and the laws they follow.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "growth/loads/load_model.h"
#include "growth/read/run_calls.h"
#include "growth/rules/call_rules.h"

namespace farscale {

// Calls of different classes with the same key are one site.
struct SiteKey {
  std::size_t kind = 0;  // kind of iterations
  std::uint32_t function = 0, before = 0;
  PeerRule::Kind rule = PeerRule::Kind::kNobody;
  std::int32_t n = 0;
  GridVector steps{};
  std::int64_t tag = 0;
  std::int32_t stage = -1;  // -1 of calls that are not repeated
  RankDivision groups = {};
  std::int32_t number = 0;  // collectives: position among those that are equal otherwise; its members make all of them
  bool is_root = false;     // collectives: roots send and receive other sizes than the other ranks
  std::size_t program = 0;  // whose ranks make the call

  friend auto operator<=>(const SiteKey&, const SiteKey&) = default;
};

// One call of a rank: its rule, and where it is among the calls of a rank that is its model.
struct PlannedCall {
  const CallRule* rule = nullptr;
  Stage stage;
  SiteKey key;
  std::uint32_t model = 0;  // index among the calls of the iteration of the model
  std::int32_t beyond = 0;  // stages behind the last one of the model, which is copied
};

// The calls of a rank of a grid in an iteration of a kind, after a model of the same class on another grid; both as the
// program of the rank sees them.
std::vector<PlannedCall> PlanCalls(const std::vector<CallBlock>& blocks, std::size_t kind, const RankGrid& grid,
                                   const RankGrid& model_grid);

// Laws of the bytes of a call site: those of messages, or sent in collectives, and those received in collectives, as
// the root of a gather receives from more ranks and sends what it sent.
struct SizeLaws {
  ScalingLaw bytes, received;
  double mean_bytes = 0, mean_received = 0;  // on the grid of the largest run that has the site
  RankGrid grid;                             // as the program sees it
  std::size_t runs = 0;                      // that have the site
};

// Sizes of a call on a grid, after a call of a rank on another one.
struct RoleSizes {
  double bytes = 1, received = 1;            // to those of a rank of the same role
  double mean_bytes = 0, mean_received = 0;  // after a rank of the other role
};
using CallSizes = std::array<RoleSizes, 2>;  // other ranks, and roots

// Bytes and bytes received of a part, after those of the copied part.
std::pair<std::uint64_t, std::uint64_t> CopiedBytes(const CallSizes& sizes, const CallPart& copied, bool was_root,
                                                    bool is_root);

// The ratios of bytes, and of bytes received, from one stage of a call to the next, as in exchanges of twice as much
// with ranks twice as far away; nothing where they change by no one ratio.
using StageSteps = std::pair<std::optional<double>, std::optional<double>>;

struct SiteLaws {
  std::map<SiteKey, SizeLaws> sizes;
  std::map<SiteKey, SizeLaws> of_all_stages;  // calls that are repeated, by the first stage
  std::map<SiteKey, StageSteps> steps;        // likewise

  // Sizes of a call of a grid, after that of the model on its grid, both as the program sees them. Throws an error of
  // kind kNotEnoughData where the grid has more stages than the model, and sizes change from stage to stage by no rule.
  CallSizes SizesOn(const RankGrid& grid, const PlannedCall& call, const RankGrid& copied) const;
  // The laws of a site; where one run alone has it, those of sites like it; nothing if no run has it.
  const SizeLaws* Find(const SiteKey& key) const;
  // Lets a site that no run has follow another.
  void Copy(SiteKey from, SiteKey to);
};

// Sums over calls.
struct ByteSums {
  double bytes = 0, received = 0, count = 0;
};

bool IsRootOf(const CallPart& part, std::int64_t rank);
bool IsRootBy(const PartRule& rule, const RankGrid& grid, std::int64_t rank, const Stage& stage);

SiteLaws FitSiteLaws(const std::vector<RunCalls>& runs, const CallRules& rules);

// Takes the rules of sends and receives that do not lead to each other out of the rules. On two ranks of a dimension
// both ways around lead to the same partner; there, messages in turn go down and up. The rule of a receive is the way
// back of that of its send.
void JoinPartners(const RunCalls& run, std::size_t run_index, CallRules& rules);

// The calls of the classes side by side: which call of one class is which of another, and in which order they come.

// A call as the classes are compared by it: only what equal calls of several classes have in common is set. The parts
// of equal sites do the same; messages have one peer, within no group, and completions those of the post.
using CallSite = CallRule;
using SiteSequence = std::vector<CallSite>;

// True if the part sends to a rank some steps away in the grid.
bool IsOffset(const PartRule& part);

// The calls of a class in an iteration of a kind. Nothing where they depend on the grid or complete what was posted
// before the iteration.
std::optional<SiteSequence> ReadSites(const RankClass& key, const ClassRules& rules, std::size_t kind,
                                      const CallRules& all, const std::vector<std::string>& functions);

// Lets messages go straight where the same steps around the end of a dimension lead to the same ranks in all runs, as
// they do on two ranks.
void StraightenPeers(const RankClass& key, ClassRules& rules, const CallRules& all);

// True if the partners of all messages of the call lie in the grid, for a rank of a class. Nothing where that does not
// follow from the class, or partners are others than those some steps away.
std::optional<bool> HasPartnersInGrid(const CallSite& site, const RankClass& key, const ClassScheme& scheme);

// The order of the calls of several classes.
struct SiteOrder {
  SiteSequence sites;  // in an order that holds
  std::map<CallSite, std::size_t> numbers;
  std::vector<std::vector<std::uint64_t>> behind;  // bits of the sites that come later

  bool IsBefore(std::size_t a, std::size_t b) const { return (behind[a][b / 64] >> (b % 64) & 1) != 0; }
};

// Nothing where the classes contradict each other.
std::optional<SiteOrder> FindOrder(const std::vector<const SiteSequence*>& sequences);

// Sorts some of the sites, by numbers; nothing where more than one order is possible. Calls along one dimension come in
// the order of those along others if all of these have the same order.
std::optional<std::vector<std::size_t>> SortSites(const SiteOrder& order, const std::vector<std::size_t>& some);

}  // namespace farscale
