#include "study/phase_marks.h"

#include <algorithm>

namespace farscale {
namespace {

// Means over the ranks, and which iterations are kept.
std::vector<IterationRecord> RecordIterations(const Trace& trace, const PhaseCut& cut, const CleanChoice& choice) {
  std::vector<IterationRecord> records(cut.iterations);
  std::vector<double> ranks(cut.iterations), largest(cut.iterations);
  const Tick origin = trace.begin();
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    const std::vector<Interval>& iterations = cut.ranks[rank].iterations;
    for (std::size_t k = 0; k < iterations.size(); ++k) {
      const double useful = trace.Seconds(UsefulTicks(trace.timelines[rank], iterations[k]));
      records[k].begin += trace.Seconds(iterations[k].begin.tick - origin);
      records[k].end += trace.Seconds(iterations[k].end.tick - origin);
      records[k].elapsed += trace.Seconds(iterations[k].length());
      records[k].useful += useful;
      largest[k] = std::max(largest[k], useful);
      ++ranks[k];
    }
  }
  const auto count = static_cast<double>(trace.size());
  for (std::size_t k = 0; k < records.size(); ++k) {
    IterationRecord& record = records[k];
    record.begin /= ranks[k];
    record.end /= ranks[k];
    record.elapsed /= count;
    record.useful /= count;
    record.parallel_efficiency = record.elapsed > 0 ? record.useful / record.elapsed : 0;
    record.load_balance = largest[k] > 0 ? record.useful / largest[k] : 0;
    if (!choice.iterations.empty()) record.disturbance = choice.iterations[k].Total();
    if (choice.kept[k]) continue;
    record.left_out = 1;
    record.reason = choice.reasons[k];
  }
  return records;
}

}  // namespace

PhaseMarks MarkPhase(const Trace& trace, const Matching& matching, const PhaseCut& cut, const CleanChoice& choice,
                     const FactorOptions& options) {
  PhaseMarks marks;
  marks.phase = cut.spec.name;
  marks.iterations = RecordIterations(trace, cut, choice);
  if (!choice.KeepsAll()) marks.with_all = MeasurePhase(trace, matching, cut, options).values;
  if (marks.iterations.size() == 1) {  // a window, whose edges are those of the earliest and the latest rank
    marks.iterations.front().begin = trace.Seconds(cut.begin() - trace.begin());
    marks.iterations.front().end = trace.Seconds(cut.end() - trace.begin());
  }
  JoinIterations(marks.iterations, kMostIterationRecords);
  return marks;
}

}  // namespace farscale
