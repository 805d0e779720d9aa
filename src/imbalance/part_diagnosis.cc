// The diagnosis of a phase [imbalance/diagnosis.h] whose ranks lie with several processes: each finds wait states,
// delay costs and its stretches of the critical path, and gives the first member what its ranks lose by call path. That
// one adds them up in the order of ranks, so that the result has the bits of one process.
#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "imbalance/diagnosis_steps.h"
#include "imbalance/factor_losses.h"
#include "imbalance/load_matrix.h"
#include "imbalance/part_delays.h"
#include "imbalance/part_slack.h"
#include "imbalance/part_waits.h"
#include "replay/part_replay.h"
#include "replay/shared_replay.h"

namespace farscale {
namespace {

constexpr std::string_view kDiagnose = "diagnose";

// What all members do.
struct DiagnosisRequest {
  DelayOptions delays;
  bool slack = false;
  bool shapes = false;
  std::size_t columns = 1;  // of matrices of loads
  std::optional<ReplayRules> replayed;
};

// What the first member gets of every other one.
struct LossesOfPart {
  std::vector<std::uint32_t> ranks;
  std::vector<RankLosses> losses;
  std::vector<RankCosts> costs;  // charged to nobody
  std::vector<LossRaster> rasters;
  std::vector<NumberedSegment> critical;
  std::optional<Slack> slack;
};

LossesOfPart FindLosses(const PhasePart& phase, const WaitStates& states, const CollectiveWaits& collectives,
                        const PhaseCut& cut, const DiagnosisRequest& request) {
  const DelayOptions options = DelaysOf(cut, request.delays);
  PartDelays delays = FindPartDelays(phase, states, collectives, cut.iterations, options);
  std::vector<PathSegment> segments;
  for (const NumberedSegment& one : delays.critical) segments.push_back(one.segment);
  std::vector<RankLosses> all = LossesOfRanks(phase.activities, collectives, states, delays.costs.ranks, segments);
  LossesOfPart own;
  for (std::uint32_t rank = 0; rank < all.size(); ++rank) {
    if (!all[rank].present) continue;
    own.ranks.push_back(rank);
    own.losses.push_back(std::move(all[rank]));
    own.costs.push_back(std::move(delays.costs.ranks[rank]));
  }
  own.rasters = std::move(delays.costs.rasters);
  own.critical = std::move(delays.critical);
  if (request.slack && phase.exchange.Sum(HasLockWaits(states) ? 1 : 0) == 0)
    own.slack = FindPartSlack(phase, states, collectives).slack;
  return own;
}

// Of the first member.
class Merger {
 public:
  Merger(const PhasePart& phase, Diagnosis& diagnosis) : diagnosis_(diagnosis), costs_(phase.ranks()) {
    diagnosis.ranks.resize(phase.ranks());
  }

  void Add(LossesOfPart part) {
    for (std::size_t i = 0; i < part.ranks.size(); ++i) {
      diagnosis_.ranks[part.ranks[i]] = std::move(part.losses[i]);
      costs_[part.ranks[i]] = std::move(part.costs[i]);
    }
    critical_.insert(critical_.end(), part.critical.begin(), part.critical.end());
    if (slack_ && part.slack) MergeSlack(*slack_, *part.slack);
    if (!slack_) slack_ = std::move(part.slack);
    if (diagnosis_.rasters.empty()) {
      diagnosis_.rasters = std::move(part.rasters);
    } else {
      for (std::size_t path = 0; path < part.rasters.size(); ++path)
        AddRaster(part.rasters[path], diagnosis_.rasters[path]);
    }
  }

  void Finish(const PhaseCut& cut, const DiagnosisOptions& options) {
    std::ranges::sort(critical_, std::greater<>(), &NumberedSegment::number);
    for (const NumberedSegment& one : critical_) diagnosis_.critical.push_back(one.segment);
    AddOverRanks(cut, costs_, options, diagnosis_);
    if (slack_) AddSlack(*slack_, diagnosis_);
  }

 private:
  static void AddRaster(const LossRaster& more, LossRaster& raster) {
    if (more.cells.empty()) return;
    raster.cells.resize(more.cells.size());
    std::ranges::transform(raster.cells, more.cells, raster.cells.begin(), std::plus<>());
  }

  Diagnosis& diagnosis_;
  std::vector<RankCosts> costs_;
  std::vector<NumberedSegment> critical_;
  std::optional<Slack> slack_;
};

// Of all ranks at the first member, one matrix after the other, as they may be large.
LoadMatrix GatherLoad(const PhasePart& phase, LoadMatrix own) {
  Exchange& exchange = phase.exchange;
  if (!exchange.IsFirst()) {
    exchange.Swap({0}, {ToBytes(own)});
    return {};
  }
  std::map<std::size_t, std::vector<double>> rows;
  const auto add = [&](const LoadMatrix& some) {
    for (std::size_t i = 0; i < some.ranks.size(); ++i) {
      const auto first = some.seconds.begin() + static_cast<std::ptrdiff_t>(i * some.iterations);
      rows[some.ranks[i]].assign(first, first + static_cast<std::ptrdiff_t>(some.iterations));
    }
  };
  add(own);
  for (const std::size_t other : exchange.Others()) {
    LoadMatrix theirs;
    FromBytes(exchange.Swap({other}, {""})[0], theirs);
    add(theirs);
  }
  LoadMatrix all{{}, own.iterations, {}};
  for (const auto& [rank, seconds] : rows) {
    all.ranks.push_back(rank);
    all.seconds.insert(all.seconds.end(), seconds.begin(), seconds.end());
  }
  return all;
}

// `most`: paths, as the first member knows.
void AddPartShapes(const PhasePart& phase, const PhaseCut& cut, const WaitStates& states, std::size_t columns,
                   std::size_t most, Diagnosis& diagnosis) {
  const auto load_of = [&](std::optional<PathId> path) {
    return GatherLoad(phase, LoadOfRanks(phase.trace(), cut, phase.activities, states, path, columns));
  };
  const bool is_first = phase.exchange.IsFirst();
  const LoadMatrix useful = load_of(std::nullopt);
  if (is_first) diagnosis.useful_shape = ShapeOf(useful);
  for (const PathId path : phase.exchange.FromFirst(LargestCosts(diagnosis, most))) {
    const LoadMatrix load = load_of(path);
    if (is_first) diagnosis.shapes.emplace_back(path, ShapeOf(load));
  }
}

Activities ActivitiesOf(const TracePart& part, const PartMatching& matching, const PartCut& cut,
                        const std::optional<ReplayRules>& replayed, Exchange& exchange) {
  if (!replayed) return CollectActivities(part.trace, cut, exchange);
  const Network network = OneTickNetwork(part.trace);
  ReplayResult result = ReplayPart(part, matching, cut, {*replayed, true, &network, nullptr}, exchange).replay;
  return CollectActivities(part.trace, cut, std::move(result), exchange);
}

// The result at the first member. `options`: known to that one alone.
Diagnosis DiagnosePart(const TracePart& part, const PartMatching& matching, const PartCut& cut,
                       const DiagnosisRequest& request, const DiagnosisOptions& options, Exchange& exchange) {
  const Activities activities = ActivitiesOf(part, matching, cut, request.replayed, exchange);
  const PhasePart phase{part, matching, activities, exchange};
  Diagnosis diagnosis;
  diagnosis.paths = activities.paths;
  WaitStates states;
  LossesOfPart own;
  {
    const CollectiveWaits collectives = FindPartCollectives(phase);
    states = FindPartWaitStates(phase, collectives);
    own = FindLosses(phase, states, collectives, cut.cut, request);
  }
  states.marks = {};
  if (exchange.IsFirst()) {
    diagnosis.diagnostics = std::move(states.diagnostics);
    Merger merger(phase, diagnosis);
    merger.Add(std::move(own));
    for (const std::size_t other : exchange.Others()) {
      LossesOfPart theirs;
      FromBytes(exchange.Swap({other}, {""})[0], theirs);
      merger.Add(std::move(theirs));
    }
    merger.Finish(cut.cut, options);
  } else {
    exchange.Swap({0}, {ToBytes(own)});
  }
  if (request.shapes) AddPartShapes(phase, cut.cut, states, request.columns, options.shapes.value_or(0), diagnosis);
  if (exchange.IsFirst()) FinishDiagnosis(part.trace, activities.end - activities.begin, diagnosis);
  return diagnosis;
}

}  // namespace

SharedTask DiagnosisTask() {
  return {kDiagnose, [](const TracePart& part, const PartMatching& matching, const PartCut& cut, std::string_view text,
                        Exchange& exchange) {
            DiagnosisRequest request;
            FromBytes(text, request);
            DiagnosePart(part, matching, cut, request, {}, exchange);
          }};
}

Diagnosis DiagnoseShared(const Trace& trace, SharedReplay& shared, const PhaseCut& cut, const DiagnosisOptions& options,
                         const std::optional<ReplayRules>& replayed) {
  DiagnosisRequest request{options.delays, options.slack, options.shapes.has_value(), CommonIterations(cut), replayed};
  Diagnosis diagnosis;
  shared.Run(kDiagnose, cut, ToBytes(request),
             [&](const TracePart& part, const PartMatching& matching, const PartCut& own, Exchange& exchange) {
               diagnosis = DiagnosePart(part, matching, own, request, options, exchange);
             });
  const bool calls_devices = std::ranges::any_of(trace.regions, &Region::is_device_runtime);
  if (diagnosis.useful_shape) {
    const Activities all = calls_devices ? CollectActivities(trace, cut) : Activities();
    diagnosis.useful_shape->imbalance_in_step = ImbalanceInSteps(trace, cut, all);
  }
  return diagnosis;
}

}  // namespace farscale
