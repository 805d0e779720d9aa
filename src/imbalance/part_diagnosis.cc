#include "imbalance/part_diagnosis.h"

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "imbalance/diagnosis_steps.h"
#include "imbalance/part_delays.h"
#include "imbalance/part_waits.h"

namespace farscale {
namespace {

constexpr std::string_view kDiagnose = "diagnose";

// What the first member gets of every other one.
struct LossesOfPart {
  std::vector<std::uint32_t> ranks;
  std::vector<RankLosses> losses;
  std::vector<RankCosts> costs;  // charged to nobody
  std::vector<LossRaster> rasters;
  std::vector<NumberedSegment> critical;
};

LossesOfPart FindLosses(const PhasePart& phase, const WaitStates& states, const CollectiveWaits& collectives,
                        const PhaseCut& cut, const DelayOptions& options) {
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
    if (diagnosis_.rasters.empty()) {
      diagnosis_.rasters = std::move(part.rasters);
    } else {
      for (std::size_t path = 0; path < part.rasters.size(); ++path)
        AddRaster(part.rasters[path], diagnosis_.rasters[path]);
    }
  }

  std::vector<RankCosts> Finish() {
    std::ranges::sort(critical_, std::greater<>(), &NumberedSegment::number);
    for (const NumberedSegment& one : critical_) diagnosis_.critical.push_back(one.segment);
    return std::move(costs_);
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
};

}  // namespace

Diagnosis DiagnosePart(const TracePart& part, const PartMatching& matching, const PartCut& cut,
                       const DiagnosisOptions& options, Exchange& exchange) {
  const Activities activities = CollectActivities(part.trace, cut, exchange);
  const PhasePart phase{part, matching, activities, exchange};
  Diagnosis diagnosis;
  LossesOfPart own;
  {
    const CollectiveWaits collectives = FindPartCollectives(phase);
    WaitStates states = FindPartWaitStates(phase, collectives);
    own = FindLosses(phase, states, collectives, cut.cut, DelaysOf(cut.cut, options.delays));
    diagnosis.diagnostics = std::move(states.diagnostics);
  }
  if (!exchange.IsFirst()) {
    exchange.Swap({0}, {ToBytes(own)});
    return {};
  }
  diagnosis.paths = activities.paths;
  Merger merger(phase, diagnosis);
  merger.Add(std::move(own));
  for (const std::size_t other : exchange.Others()) {
    LossesOfPart theirs;
    FromBytes(exchange.Swap({other}, {""})[0], theirs);
    merger.Add(std::move(theirs));
  }
  AddOverRanks(cut.cut, merger.Finish(), options, diagnosis);
  FinishDiagnosis(part.trace, activities.end - activities.begin, diagnosis);
  return diagnosis;
}

SharedTask DiagnosisTask() {
  return {kDiagnose, [](const TracePart& part, const PartMatching& matching, const PartCut& cut,
                        std::string_view request, Exchange& exchange) {
            DiagnosisOptions options;
            FromBytes(request, options.delays);
            DiagnosePart(part, matching, cut, options, exchange);
          }};
}

Diagnosis DiagnoseShared(SharedReplay& shared, const PhaseCut& cut, const DiagnosisOptions& options) {
  DelayOptions delays = options.delays;
  Diagnosis diagnosis;
  shared.Run(kDiagnose, cut, ToBytes(delays),
             [&](const TracePart& part, const PartMatching& matching, const PartCut& own, Exchange& exchange) {
               diagnosis = DiagnosePart(part, matching, own, options, exchange);
             });
  return diagnosis;
}

}  // namespace farscale
