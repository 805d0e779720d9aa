#include "phases/loop_choice.h"

#include "phases/found_loop.h"
#include "phases/phase_cut.h"

namespace farscale {
namespace {

// Of the run, as of a loop found in the calls: a region that covers less may mark a loop beside the main one.
constexpr double kLeastCoverage = 0.1;
// Regions that are tried: where every function is one, most of them are called once an iteration.
constexpr std::size_t kMostRegions = 16;

PhaseSpec Marked(const std::string& region) {
  PhaseSpec spec;
  spec.name = spec.region = region;
  spec.kind = PhaseSpec::Kind::kRegion;
  return spec;
}

}  // namespace

std::vector<PhaseSpec> LoopsOf(const Trace& trace) {
  std::vector<PhaseSpec> loops, small, with_gaps;
  std::size_t tried = 0;
  for (const RegionSummary& region : SummarizeRegions(trace)) {
    if (!region.IsLoop(trace) || tried++ == kMostRegions) continue;
    const PhaseSpec spec = Marked(region.name);
    const bool has_gaps = CutPhase(trace, spec).span == Span::kEach;
    (has_gaps ? with_gaps : region.share < kLeastCoverage ? small : loops).push_back(spec);
  }
  if (FindLoopOfRun(trace)) loops.push_back(PhaseSpec::FoundLoop());
  loops.insert(loops.end(), small.begin(), small.end());
  loops.insert(loops.end(), with_gaps.begin(), with_gaps.end());
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
