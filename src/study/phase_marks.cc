#include "study/phase_marks.h"

#include "factors/iteration_profile.h"

namespace farscale {

PhaseMarks MarkPhase(const Trace& trace, const Matching& matching, const PhaseCut& cut, const CleanChoice& choice,
                     const FactorOptions& options) {
  PhaseMarks marks;
  marks.phase = cut.spec.name;
  for (const IterationProfile& profile : ProfileIterations(trace, cut)) {
    IterationRecord& record = marks.iterations.emplace_back();
    record.begin = profile.mean_begin;
    record.end = profile.mean_end;
    record.elapsed = profile.elapsed;
    record.useful = profile.average_useful;
    record.parallel_efficiency = profile.ParallelEfficiency();
    record.load_balance = profile.LoadBalance();
    const std::size_t k = marks.iterations.size() - 1;
    if (!choice.iterations.empty()) record.disturbance = choice.iterations[k].Total();
    if (!choice.kept[k]) {
      record.left_out = 1;
      record.reason = choice.reasons[k].empty() ? "not among those kept" : choice.reasons[k];
    }
  }
  if (!choice.KeepsAll()) marks.with_all = MeasurePhase(trace, matching, cut, options).values;
  if (marks.iterations.size() == 1) {  // a window, whose edges are those of the earliest and the latest rank
    marks.iterations.front().begin = trace.Seconds(cut.begin() - trace.begin());
    marks.iterations.front().end = trace.Seconds(cut.end() - trace.begin());
  }
  JoinIterations(marks.iterations, kMostIterationRecords);
  return marks;
}

}  // namespace farscale
