#include "fuzz/analyse.h"

#include "factors/phase_factors.h"
#include "factors/run_picture.h"
#include "imbalance/diagnosis.h"
#include "imbalance/loss_record.h"
#include "phases/phase_cut.h"
#include "phases/rank_groups.h"
#include "replay/calibration.h"
#include "replay/computation.h"
#include "replay/replay.h"
#include "replay/replayed_trace.h"
#include "support/temporary_folder.h"
#include "trace/location_trace.h"
#include "trace/trace_reader.h"

namespace farscale::fuzz {

namespace {

void AnalyseThreads(const Trace& trace) {
  if (trace.team_threads.empty()) return;
  const Trace threads = LocationTrace(trace);
  const Matching matching = MatchTrace(threads);
  for (const PhaseSpec& spec : {PhaseSpec::WholeRun(), PhaseSpec::Region("step")}) {
    const PhaseCut cut = CutPhase(trace, spec);
    const Diagnosis diagnosis = Diagnose(threads, matching, CutOfLocations(trace, cut, threads));
    RecordOf(diagnosis, spec.name, threads.locations);
  }
}

}  // namespace

void AnalyseTrace(const std::string& path, const ReadOptions& reading, bool writes) {
  const Trace trace = ReadTrace(path, reading);
  const Matching matching = MatchTrace(trace);
  for (const PhaseSpec& spec : {PhaseSpec::WholeRun(), PhaseSpec::Region("step")}) {
    for (const RuleSet set : {RuleSet::kBsc, RuleSet::kCausal}) {
      FactorOptions options;
      options.rules.set = set;
      const PhaseCut cut = CutPhase(trace, spec);
      DiagnosisOptions diagnosis;
      diagnosis.rules = set == RuleSet::kBsc ? DelayRules::kBounded : DelayRules::kScalasca;
      diagnosis.shapes = 3;
      Diagnose(trace, matching, cut, diagnosis);
      SplitByFactor(trace, matching, cut, options.rules);
      Diagnostics found;
      MeasurePhase(trace, matching, cut, FindGroups(trace, cut, found), options);
    }
  }
  AnalyseThreads(trace);
  PictureOf(trace, matching, {});
  SummarizeRegions(trace);
  PhaseSpec window;
  window.kind = PhaseSpec::Kind::kTimeWindow;
  window.window_end = 0.5 * trace.Seconds(trace.end() - trace.begin());
  for (const PhaseSpec& spec : {PhaseSpec::Region("step"), window}) {
    const Trace cut = CutTrace(trace, matching, CutPhase(trace, spec));
    MatchTrace(cut);
    if (!writes) continue;
    const test::TemporaryFolder folder;
    WriteOtf2(cut, folder / "cut.otf2");
    ReadTrace((folder / "cut.otf2").string());
  }
  Network network;
  network.remote = network.local = {1e-6, 1e9, 1e-7, 1024};
  network.sending = network.receiving = 1;
  const Computation computation = CleanComputation(trace, {});
  const ReplayOptions options = {{}, true, &network, &computation.lengths};
  const ReplayResult result = Replay(trace, matching, CutPhase(trace, PhaseSpec::WholeRun()), options);
  MatchTrace(ReplayedTrace(trace, result, &computation.lengths));
  Calibrate(trace, matching, {});  // last, since most traces have too little to tell
}

}  // namespace farscale::fuzz
