#include "study/run_growth.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/format.h"
#include "base/text.h"
#include "growth/grid_series.h"
#include "growth/grown_trace.h"
#include "replay/replayed_trace.h"
#include "study/resources.h"
#include "study/run_study.h"
#include "study/scenario.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

constexpr std::size_t kFewestRuns = 3;  // two are one step, and one step fits many rules

// What counts of a phase in a row of factors: what no counter tells, as grown runs have none.
void Measure(const Trace& trace, const PhaseSpec& phase, const FactorOptions& options, GrowthRow& row) {
  const PhaseFactors factors = MeasurePhase(trace, MatchTrace(trace), CutPhase(trace, phase), {options.rules, {}});
  row.values = factors.values;
  row.iteration = factors.totals.elapsed / static_cast<double>(factors.iterations);
}

// The phase as it is in a grown trace, which holds nothing else.
PhaseSpec GrownPhase(const PhaseSpec& phase, const std::string& region) {
  PhaseSpec grown = PhaseSpec::Region(region);
  grown.name = phase.name;
  grown.span = phase.span;
  return grown;
}

// The runs of different numbers of ranks, one each, that are read one by one and kept as calls.
class PhaseGrower {
 public:
  PhaseGrower(const Study& study, const PhaseSpec& phase, const Network& network, std::uint64_t seed)
      : study_(study), spec_(phase), network_(network), seed_(seed) {
    result_.phase = phase.name;
    result_.model.region = phase.kind == PhaseSpec::Kind::kRegion ? phase.region : "iteration";
  }

  void AddRun(const Trace& trace) {
    const auto ranks = static_cast<std::int64_t>(trace.size());
    for (const GrowthRow& row : result_.measured) {
      if (row.ranks == ranks) return;  // a repeat
    }
    const PhaseCut cut = CutPhase(trace, spec_);
    RunCalls calls = ReadRunCalls(trace, cut, result_.model.functions);
    GrowthRow row{.ranks = ranks};
    Measure(trace, spec_, study_.factors, row);
    const auto place = std::ranges::upper_bound(result_.measured, ranks, {}, &GrowthRow::ranks);
    const auto index = place - result_.measured.begin();
    result_.measured.insert(place, row);
    result_.model.runs.insert(result_.model.runs.begin() + index, std::move(calls));
  }

  PhaseGrowth Grow(const std::vector<std::int64_t>& targets) {
    if (result_.measured.size() < kFewestRuns) {
      result_.refusal = fmt::format("{} {}; three or more of different numbers of ranks show how a program grows",
                                    result_.measured.size(), result_.measured.size() == 1 ? "run" : "runs");
      return std::move(result_);
    }
    LearnGrowth(result_.model);
    for (std::size_t i = 0; i < result_.measured.size(); ++i) result_.measured[i].grid = result_.model.rules.grids[i];
    const double share = result_.model.rules.Share();
    if (share < kLeastExplained) {
      result_.refusal = fmt::format("{:.0f} % of the messages follow no rule that holds at {} ranks", 100 * (1 - share),
                                    Join(Counts(), ", "));
      return std::move(result_);
    }
    for (std::size_t i = 2; i < result_.measured.size(); ++i) Backtest(i);
    try {
      for (const std::int64_t ranks : targets) result_.grown.push_back(RowFor(result_.model, ranks));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kNotEnoughData) throw;
      result_.refusal = error.what();
    }
    return std::move(result_);
  }

 private:
  std::vector<std::string> Counts() const {
    std::vector<std::string> counts;
    for (const GrowthRow& row : result_.measured) counts.push_back(FormatCount(static_cast<std::uint64_t>(row.ranks)));
    return counts;
  }

  // A run that the smaller ones do not foresee is left out: they lack ranks like some of its.
  void Backtest(std::size_t run) {
    const GrowthModel model = result_.model.OfFirst(run);
    try {
      result_.backtest.push_back(RowFor(model, result_.measured[run].ranks));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kNotEnoughData) throw;
    }
  }

  GrowthRow RowFor(const GrowthModel& model, std::int64_t ranks) const {
    const RankGrid grid = ContinueSeries(model.rules.grids, ranks);
    const Trace trace = GrowTimedTrace(model, grid, network_, study_.factors.rules, seed_);
    GrowthRow row{.ranks = grid.size(), .grid = grid};
    row.learned_up_to = model.runs.back().ranks;
    Measure(trace, GrownPhase(spec_, model.region), study_.factors, row);
    return row;
  }

  const Study& study_;
  const PhaseSpec& spec_;
  const Network& network_;
  std::uint64_t seed_;
  PhaseGrowth result_;
};

}  // namespace

Trace GrowTimedTrace(const GrowthModel& model, const RankGrid& grid, const Network& network, const ReplayRules& rules,
                     std::uint64_t seed) {
  const Trace trace = GrowTrace(model, grid, seed);
  ReplayOptions options;
  options.rules = rules;
  options.keep_calls = true;
  options.network = &network;
  return ReplayedTrace(trace, Replay(trace, MatchTrace(trace), CutPhase(trace, PhaseSpec::WholeRun()), options));
}

GrowthResults RunGrowth(const Study& study, const GrowthOptions& options, const ProgressSink& progress) {
  const Network network =
      options.network ? LoadNetwork(*options.network, "--network") : CalibrateToRuns(study.runs, study.factors.rules);
  GrowthResults results;
  results.network = network;
  std::vector<PhaseGrower> growers;
  for (const PhaseSpec& phase : study.phases) growers.emplace_back(study, phase, network, options.seed);
  for (std::size_t i = 0; i < study.runs.size(); ++i) {
    const Trace trace = ReadTrace(study.runs[i].trace, {false, {}, study.runs[i].application});
    for (PhaseGrower& grower : growers) grower.AddRun(trace);
    if (progress) progress(i + 1, study.runs.size(), study.runs[i].trace);
  }
  for (PhaseGrower& grower : growers) results.phases.push_back(grower.Grow(options.ranks));
  return results;
}

}  // namespace farscale
