#include "phases/loop_choice.h"

#include "phases/found_loop.h"
#include "phases/phase_cut.h"

namespace farscale {
namespace {

// All are chosen, and tested in loop_choice_test.cc.
// Of the run, as of a loop found in the calls: a region that covers less may mark a loop beside the main one.
constexpr double kSmallRegion = 0.1;
// Regions that are tried: where every function is one, most of them are called once an iteration.
constexpr std::size_t kMostRegions = 16;

// What lies between the iterations that a region marks takes no more than this share of them: an output, a norm.
constexpr double kLargestGaps = 0.5;

// Of the time in the region, over all ranks.
double GapsOf(const PhaseCut& cut) {
  Tick inside = 0, window = 0;
  for (const RankCut& rank : cut.ranks) {
    window += rank.window.length();
    for (const Interval& iteration : rank.iterations) inside += iteration.length();
  }
  return inside > 0 ? static_cast<double>(window - inside) / static_cast<double>(inside) : 1;
}

PhaseSpec Marked(const std::string& region) {
  PhaseSpec spec;
  spec.name = spec.region = region;
  spec.kind = PhaseSpec::Kind::kRegion;
  return spec;
}

}  // namespace

std::vector<PhaseSpec> LoopsOf(const Trace& trace) {
  std::vector<PhaseSpec> loops, with_gaps, others;
  std::size_t tried = 0;
  for (const RegionSummary& region : SummarizeRegions(trace)) {
    if (!region.IsLoop(trace) || tried++ >= kMostRegions) continue;
    const PhaseSpec spec = Marked(region.name);
    const PhaseCut cut = CutPhase(trace, spec);
    const bool is_small = region.share < kSmallRegion || GapsOf(cut) > kLargestGaps;
    (is_small ? others : cut.span == Span::kEach ? with_gaps : loops).push_back(spec);
  }
  loops.insert(loops.end(), with_gaps.begin(), with_gaps.end());
  if (FindLoopOfRun(trace)) loops.push_back(PhaseSpec::FoundLoop());
  loops.insert(loops.end(), others.begin(), others.end());
  return loops;
}

bool IsAutomatic(const std::string& text) { return text == "auto" || text.starts_with("auto:"); }

PhaseSpec WithLoopOf(const Trace& trace, const PhaseSpec& found) {
  const std::vector<PhaseSpec> loops = LoopsOf(trace);
  PhaseSpec chosen = found;
  if (loops.empty()) return chosen;
  chosen.kind = loops.front().kind;
  chosen.region = loops.front().region;
  if (chosen.part.empty()) chosen.name = loops.front().name;
  return chosen;
}

}  // namespace farscale
