// What the runs of a program teach of larger ones.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "growth/growth_model.h"
#include "phases/phase_cut.h"
#include "support/spmd_program.h"

namespace farscale::test {

// From its runs on these numbers of ranks, rising, whose iterations are the phase.
inline GrowthModel LearnSpmd(const std::function<void(SpmdRank&)>& program, const std::vector<std::int32_t>& counts) {
  GrowthModel model;
  model.region = "step";
  for (const std::int32_t ranks : counts) {
    const Trace trace = RunSpmd(ranks, program);
    model.runs.push_back(ReadRunCalls(trace, CutPhase(trace, PhaseSpec::Region("step")), model.functions));
  }
  LearnGrowth(model);
  return model;
}

}  // namespace farscale::test
