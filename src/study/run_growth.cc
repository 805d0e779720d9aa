#include "study/run_growth.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/diagnostics.h"
#include "base/text.h"
#include "growth/make/class_composition.h"
#include "growth/make/class_plan.h"
#include "growth/rules/rival_layouts.h"
#include "growth/make/grown_times.h"
#include "growth/make/grown_trace.h"
#include "replay/clock_repair.h"
#include "replay/replayed_trace.h"
#include "study/measure_run.h"
#include "study/scenario.h"
#include "study/run_study.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

constexpr std::size_t kFewestRuns = 3;  // two are one step, and one step fits many rules
constexpr std::uint64_t kDraws = 3;   // of every grown run; chosen: the mean of three varies six tenths as much as one
constexpr std::size_t kMostRuns = 3;  // learned from; chosen: on few ranks most of them are at an edge
constexpr double kMostCallsOfTrace = 2e7;  // chosen: a trace of them takes some gigabytes
// How far a run that is replayed by its rules may be from what was measured, as the logarithm of a factor; chosen: the
// programs of docs/growth.md are off by 0.01 at most, and parts of iterations that ranks enter one after the other,
// which replays of nothing else do not know, by much more.
constexpr double kMostUnexplained = 0.05;
// How far backtests of statistical growth may be off, as the logarithm of a factor; chosen: as much as replays.
constexpr double kMostStatisticalError = 0.05;
// By what factor the messages of a rank may change between the last two runs to be those of larger ones; chosen: the
// parts of a mesh have a fifth more neighbours at most when they become twice or four times as many.
constexpr double kMostChangeOfMessages = 1.25;

// What counts of a phase in a row of factors, which grown runs have, too. Returns the totals, with counts.
PhaseTotals Measure(const Trace& trace, const PhaseSpec& phase, const FactorOptions& options, GrowthRow& row) {
  const PhaseFactors factors = MeasurePhase(trace, MatchTrace(trace), CutPhase(trace, phase), options);
  row.values = factors.values;
  row.iteration = factors.totals.elapsed / static_cast<double>(factors.iterations);
  return factors.totals;
}

Trace TimedTrace(const Trace& trace, const Network& network, const ReplayRules& rules) {
  ReplayOptions options;
  options.rules = rules;
  options.keep_calls = true;
  options.network = &network;
  return ReplayedTrace(trace, Replay(trace, MatchTrace(trace), CutPhase(trace, PhaseSpec::WholeRun()), options));
}

// Throws where most ranks would copy some of a run that is not the largest: what the largest shows is not what they
// do, so nothing shows that they go on as the smaller run did.
void RequireDonors(const GrowthModel& model, const RankGrid& grid) {
  std::int64_t from_smaller = 0;
  for (const ClassCount& count : CountClasses(model.rules.scheme, grid)) {
    const auto found = model.rules.classes.find(count.of_class);
    if (found == model.rules.classes.end()) continue;  // to be refused with a reason of its own
    if (std::ranges::none_of(found->second.donors,
                             [&](const auto& donor) { return donor.first + 1 == model.runs.size(); }))
      from_smaller += count.ranks;
  }
  if (2 * from_smaller <= grid.size()) return;
  throw Error(ErrorKind::kNotEnoughData, "",
              fmt::format("most ranks of {} are like none of the {} of the largest run in {}", grid.Text(),
                          model.runs.back().ranks, model.rules.grids.back().Text()),
              "add a run whose grid has three or more ranks in every dimension");
}

// The runs of different numbers of ranks, one each, that are read one by one and kept as calls.
class PhaseGrower {
 public:
  PhaseGrower(const Study& study, const PhaseSpec& phase, const Network& network, const GrowthOptions& options)
      : study_(study),
        spec_(phase),
        network_(network),
        seed_(options.seed),
        most_bytes_(options.most_bytes),
        named_(options.grids) {
    result_.phase = phase.name;
    all_.has_region = phase.kind == PhaseSpec::Kind::kRegion && phase.part.empty();
    all_.region = all_.has_region ? phase.region : "iteration";
  }

  // Of repeats the fastest counts, in whatever order they come. A run without the phase, or with ranks that differ in
  // their iterations, is left out.
  void AddRun(const Trace& trace, const RunSpec& run) {
    if (run.grid && run.grid->size() != static_cast<std::int64_t>(trace.size())) {
      throw Error(ErrorKind::kUsage, run.where,
                  fmt::format("the layout {} has {} ranks and the run has {}", run.grid->Text(), run.grid->size(),
                              trace.size()),
                  "correct 'grid'");
    }
    GrowthRow row{.ranks = static_cast<std::int64_t>(trace.size())};
    RunCalls calls;
    try {
      calls = ReadRunCalls(trace, CutPhase(trace, spec_), all_.functions);
      calls.named = run.grid;
      const PhaseTotals totals = Measure(trace, spec_, study_.factors, row);
      calls.instructions = totals.instructions;
      calls.cycles = totals.cycles;
    } catch (const Error& error) {
      result_.left_out.push_back(error.what());
      return;
    }
    const auto place = std::ranges::lower_bound(result_.measured, row.ranks, {}, &GrowthRow::ranks);
    const auto kept = all_.runs.begin() + (place - result_.measured.begin());
    if (place == result_.measured.end() || place->ranks != row.ranks) {
      all_.runs.insert(kept, std::move(calls));
      result_.measured.insert(place, row);
    } else if (row.iteration < place->iteration) {
      *kept = std::move(calls);
      *place = row;
    }
  }

  PhaseGrowth Grow(const std::vector<std::int64_t>& targets) {
    const std::size_t runs = all_.runs.size();
    if (runs < kFewestRuns) {
      result_.refusal = fmt::format("{} {}; three or more of different numbers of ranks show how a program grows", runs,
                                    runs == 1 ? "run" : "runs");
      return std::move(result_);
    }
    result_.model = ModelOf(runs);
    const GrowthModel& model = result_.model;
    const CallRules& rules = model.rules;
    for (GrowthRow& row : result_.measured) {
      for (const RankGrid& grid : rules.grids) {
        if (grid.size() == row.ranks) row.grid = grid;
      }
    }
    if (!rules.Suffice()) {
      GrowStatistically(targets);
      return std::move(result_);
    }
    result_.refusal = WhyAmbiguous(model);
    if (result_.refusal.empty()) result_.refusal = WhyContested(model);
    if (!result_.refusal.empty()) return std::move(result_);
    result_.repeated = Repeat(model);
    result_.refusal = WhyUnlike(result_.repeated);
    if (!result_.refusal.empty()) return std::move(result_);
    for (std::size_t i = 2; i < runs; ++i) Backtest(i);
    GrowTo(targets);
    return std::move(result_);
  }

 private:
  // Where rules explain too little, and only if the measured runs show that it works.
  void GrowStatistically(const std::vector<std::int64_t>& targets) {
    const CallRules& rules = result_.model.rules;
    const StatisticalGrowth statistical{WhyNotUnderstood(rules), rules.Share(), rules.Confirmed(),
                                        CountPartners(all_.runs.back())};
    result_.refusal = statistical.reason + "; ";
    is_statistical_ = true;
    try {
      GrowthModel model = ModelOf(all_.runs.size());
      std::vector<GrowthRow> repeated = Repeat(model);
      std::string reason = WhyUnlike(repeated);
      for (std::size_t i = 2; reason.empty() && i < all_.runs.size(); ++i) Backtest(i);
      if (reason.empty()) reason = WhyNotStatistical();
      if (reason.empty()) {
        result_.statistical = statistical;
        result_.model = std::move(model);
        result_.repeated = std::move(repeated);
        result_.refusal.clear();
        for (GrowthRow& row : result_.measured) row.grid = {};
        for (const RankGrid& grid : named_)
          result_.left_out.push_back(fmt::format("the layout {}, as ranks are copied", grid.Text()));
        return GrowTo(targets);
      }
      result_.refusal += reason;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kNotEnoughData) throw;
      result_.refusal += fmt::format("nor can it be grown statistically: {}", error.what());
    }
    result_.backtest.clear();
  }

  // Why the backtests of statistical growth do not prove it; empty where they do.
  std::string WhyNotStatistical() const {
    const std::size_t runs = all_.runs.size();
    const PartnerCounts before = CountPartners(all_.runs[runs - 2]), last = CountPartners(all_.runs[runs - 1]);
    if (std::abs(std::log(last.messages / before.messages)) > std::log(kMostChangeOfMessages)) {
      return fmt::format(
          "nor can it be grown statistically: ranks send {:.3g} messages an iteration on {} ranks and {:.3g} on {}",
          before.messages, before.ranks, last.messages, last.ranks);
    }
    if (result_.backtest.empty())
      return "nor can it be grown statistically: no run has a multiple of the ranks of the two or more before it";
    for (const GrowthRow& row : result_.backtest) {
      const GrowthRow& measured = *std::ranges::find(result_.measured, row.ranks, &GrowthRow::ranks);
      for (const Factor factor : {Factor::kLoadBalance, Factor::kSerialization, Factor::kParallelEfficiency}) {
        const std::optional<double>&a = measured.values[factor], &b = row.values[factor];
        if (!IsGrown(factor) || !a || !b || std::abs(std::log(*a / *b)) <= kMostStatisticalError) continue;
        return fmt::format("grown statistically from up to {} ranks, the run on {} ranks has {} {} instead of {}",
                           row.learned_up_to.value_or(0), row.ranks, ToLower(Describe(factor).name), FormatFactor(*b),
                           FormatFactor(*a));
      }
    }
    return "";
  }

  // To the layouts nearest to these numbers of ranks, each once.
  void GrowTo(const std::vector<std::int64_t>& targets) {
    GrowthModel& model = result_.model;
    GrowthBasis basis = BasisOf(model, result_.repeated);
    std::set<std::pair<GridVector, GridVector>> grids;  // of both programs
    for (const std::int64_t ranks : targets) {
      const RankGrid grid = GridFor(model, ranks);
      if (!grids.emplace(grid.extents, grid.second).second) continue;
      try {
        result_.grown.push_back(RowFor(basis, grid));
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::kNotEnoughData) throw;
        result_.left_out.push_back(error.what());
      }
    }
    if (result_.grown.empty() && !result_.left_out.empty()) result_.refusal = result_.left_out.back();
  }

  // As the study names it for a grown run, or for a measured one; else after the series of the runs of the model.
  RankGrid GridFor(const GrowthModel& model, std::int64_t ranks) const {
    if (is_statistical_) return LayoutFor(model.rules, ranks);
    const auto as_counted = [&](const RankGrid& named) { return NamesAreReversed() ? named.Reversed() : named; };
    const auto named = std::ranges::find(named_, ranks, &RankGrid::size);
    if (named != named_.end()) return as_counted(*named);
    const auto measured = std::ranges::find(all_.runs, ranks, &RunCalls::ranks);
    if (measured != all_.runs.end() && measured->named) return as_counted(*measured->named);
    return ContinueSeries(model.rules.grids, ranks);
  }

  // Whether the study counts dimensions the other way around, as the layouts of the runs that it names show.
  bool NamesAreReversed() const {
    const std::vector<RunCalls>& runs = result_.model.runs;
    for (std::size_t run = 0; run < runs.size(); ++run) {
      if (runs[run].named && result_.model.rules.grids[run] != *runs[run].named) return true;
    }
    return false;
  }

  // The call that most messages without a rule are of: "MPI_Send in exchange".
  std::string MostMissed(const CallRules& rules) const {
    const auto most = std::ranges::max_element(rules.missed, {}, [](const auto& site) { return site.second; });
    const auto& [function, region] = most->first;
    return result_.model.functions.Name(function) + (region.empty() ? "" : " in " + region);
  }

  std::string WhyNotUnderstood(const CallRules& rules) const {
    if (rules.Share() < kLeastExplained) {
      const bool is_named = std::ranges::any_of(result_.model.runs, [](const RunCalls& run) { return !!run.named; });
      return fmt::format("{:.0f} % of the messages follow no rule that holds at {} ranks{}; most of them are {}",
                         100 * (1 - rules.Share()), Join(Counts(), ", "),
                         is_named ? " in the layouts that the study names" : "", MostMissed(rules));
    }
    return fmt::format(
        "the rules of {:.0f} % of the messages hold on no rank but those of the run that they were read off, at {} "
        "ranks",
        100 * (1 - rules.Confirmed()), Join(Counts(), ", "));
  }

  // Why the rules are not those of the runs: these, replayed by them, are not as measured. Empty where they are.
  std::string WhyUnlike(const std::vector<GrowthRow>& repeated) const {
    for (const GrowthRow& row : repeated) {
      const GrowthRow& measured = *std::ranges::find(result_.measured, row.ranks, &GrowthRow::ranks);
      for (const Factor factor : {Factor::kLoadBalance, Factor::kSerialization, Factor::kTransfer}) {
        const std::optional<double>&a = measured.values[factor], &b = row.values[factor];
        if (!IsGrown(factor) || !a || !b || std::abs(std::log(*a / *b)) <= kMostUnexplained) continue;
        return fmt::format("replayed by its rules, the run on {} ranks has {} {} instead of {}", row.ranks,
                           ToLower(Describe(factor).name), FormatFactor(*b), FormatFactor(*a));
      }
    }
    return "";
  }

  // Of the first runs, of which the largest are learned from.
  GrowthModel ModelOf(std::size_t runs) const {
    const std::size_t first = runs > kMostRuns ? runs - kMostRuns : 0;
    return is_statistical_ ? LearnStatistically(all_, first, runs) : all_.OfRuns(first, runs);
  }

  std::vector<std::string> Counts() const {
    std::vector<std::string> counts;
    for (const RunCalls& run : result_.model.runs) counts.push_back(FormatCount(static_cast<std::uint64_t>(run.ranks)));
    return counts;
  }

  // The runs of a model, replayed by their own rules.
  std::vector<GrowthRow> Repeat(const GrowthModel& model) const {
    std::vector<GrowthRow> rows;
    FactorOptions options = study_.factors;
    options.counters = {};  // grown runs have none
    for (std::size_t run = 0; run < model.runs.size(); ++run) {
      const std::optional<Trace> trace = RepeatRun(model, run);
      if (!trace) continue;
      GrowthRow& row = rows.emplace_back(GrowthRow{.ranks = model.runs[run].ranks, .grid = model.rules.grids[run]});
      Measure(TimedTrace(*trace, network_, options.rules), SpecInGrown(spec_, model.region), options, row);
    }
    return rows;
  }

  // What these replays leave unexplained: by how much factors are larger as measured, in the mean.
  FactorValues Unexplained(const std::vector<GrowthRow>& repeated) const {
    FactorValues ratios;
    for (const FactorType& type : AllFactors()) {
      double sum = 0, count = 0;
      for (const GrowthRow& row : repeated) {
        const GrowthRow& measured = *std::ranges::find(result_.measured, row.ranks, &GrowthRow::ranks);
        const std::optional<double>& a = measured.values[type.factor];
        const std::optional<double>& b = row.values[type.factor];
        if (!a || !b || *a <= 0 || *b <= 0) continue;
        sum += std::log(*a / *b);
        ++count;
      }
      if (count > 0) ratios[type.factor] = std::exp(sum / count);
    }
    return ratios;
  }

  // Grows the first runs to all larger ones. Those that they do not foresee are left out: the smaller ones lack ranks
  // like some of theirs.
  void Backtest(std::size_t runs) {
    GrowthModel model = ModelOf(runs);
    if (model.rules.Share() < kLeastExplained || !WhyAmbiguous(model).empty()) return;
    GrowthBasis basis = BasisOf(model, Repeat(model));
    for (std::size_t run = runs; run < result_.measured.size(); ++run) {
      try {
        const RankGrid grid = GridFor(model, result_.measured[run].ranks);
        if (is_statistical_ && grid.size() != result_.measured[run].ranks) continue;
        result_.backtest.push_back(RowFor(basis, grid));
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::kNotEnoughData) throw;
      }
    }
  }

  // Load balance and serialization are the same on any network; nothing else is.
  bool IsGrown(Factor factor) const {
    return !network_.IsIdeal() || factor == Factor::kLoadBalance || factor == Factor::kSerialization;
  }

  // What grown rows are made of.
  struct GrowthBasis {
    GrowthModel& model;
    FactorValues unexplained;
    bool knows_waits = true;  // the runs tell for whom all calls wait
    IterationBudget budget;
  };

  GrowthBasis BasisOf(GrowthModel& model, const std::vector<GrowthRow>& repeated) const {
    const std::vector<GrowthRow>& runs = repeated.empty() ? result_.measured : repeated;
    const bool knows_waits =
        std::ranges::all_of(runs, [](const GrowthRow& row) { return row.values[Factor::kSerialization].has_value(); });
    return {model, Unexplained(repeated), knows_waits,
            IterationBudget(model, most_bytes_, study_.factors.rules, &network_)};
  }

  // Factors of one draw of the computation.
  GrowthRow DrawRow(const GrowthBasis& basis, const GrownReplay& run, std::uint64_t seed) const {
    PhaseTotals totals = run.Measure(DrawLoads(basis.model, run.plan(), seed), study_.factors.rules, &network_);
    if (totals.largest_useful <= 0 || totals.elapsed <= 0)
      throw Error(ErrorKind::kNotEnoughData, "", "the phase contains no computation");
    if (!basis.knows_waits) totals.ideal_elapsed = 0;
    GrowthRow row;
    row.values = FactorsOf(totals, study_.factors.rules.set);
    row.iteration = totals.elapsed / static_cast<double>(run.plan().kinds.size());
    return row;
  }

  // The geometric mean over several draws, with what replays leave unexplained.
  GrowthRow RowFor(GrowthBasis& basis, const RankGrid& grid) const {
    AddComposedClasses(basis.model, grid);
    const GrowthModel& model = basis.model;
    RequireDonors(model, grid);
    const std::vector<std::size_t> chosen = ChooseIterations(model.runs.back().kinds, basis.budget.For(grid));
    const GrownReplay run(model, PlanGrid(model, grid, chosen));
    GrowthRow mean{.ranks = grid.size(), .grid = grid};
    mean.learned_up_to = model.runs.back().ranks;
    mean.iterations = model.runs.back().kinds.size();
    mean.replayed = chosen.size();
    FactorValues sums;
    for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
      const GrowthRow row = DrawRow(basis, run, seed_ + draw);
      mean.iteration += row.iteration / kDraws;
      for (const FactorType& type : AllFactors()) {
        if (const std::optional<double>& value = row.values[type.factor])
          sums[type.factor] = sums[type.factor].value_or(0) + std::log(std::max(*value, 1e-12)) / kDraws;
      }
    }
    for (const FactorType& type : AllFactors()) {
      if (!sums[type.factor] || !IsGrown(type.factor)) continue;
      const double value = std::exp(*sums[type.factor]) * basis.unexplained[type.factor].value_or(1);
      mean.values[type.factor] = type.AtMostOne() ? std::min(1.0, value) : value;
    }
    return mean;
  }

  const Study& study_;
  const PhaseSpec& spec_;
  const Network& network_;
  std::uint64_t seed_;
  double most_bytes_;
  const std::vector<RankGrid>& named_;
  GrowthModel all_;  // of which only the runs are known
  bool is_statistical_ = false;
  PhaseGrowth result_;
};

}  // namespace

Trace GrowTimedTrace(const GrowthModel& model, const RankGrid& grid, const Network& network, const ReplayRules& rules,
                     std::uint64_t seed) {
  if (const double calls = CountCalls(model, grid); calls > kMostCallsOfTrace) {
    throw Error(ErrorKind::kNotEnoughData, "",
                fmt::format("{} ranks make {} calls, and traces are made of at most {}",
                            FormatCount(static_cast<std::uint64_t>(grid.size())),
                            FormatCount(static_cast<std::uint64_t>(calls)),
                            FormatCount(static_cast<std::uint64_t>(kMostCallsOfTrace))),
                "write a run with fewer ranks");
  }
  return TimedTrace(GrowTrace(model, grid, seed), network, rules);
}

namespace {

// A run as measured, or as it would be under a scenario.
Trace ReadToGrow(const Study& study, const RunSpec& run, const std::optional<Scenario>& scenario) {
  Trace trace = ReadTrace(run.trace, WhatToRead(study, run, scenario.has_value()));
  const Matching matching = MatchSynchronised(trace);
  RequireClocks(trace, matching);
  if (!scenario) return trace;
  std::vector<PhaseCut> cuts;
  for (const PhaseSpec& phase : study.phases) {
    try {
      cuts.push_back(CutPhase(trace, phase));
    } catch (const PhaseNotFound&) {  // said when the phase is grown
    }
  }
  return ReplayScenario(trace, matching, cuts, *scenario, study.factors).trace;
}

// That is named, that of the scenario, or the one calibrated to the runs.
Network NetworkFor(const Study& study, const GrowthOptions& options) {
  if (options.network) return LoadNetwork(*options.network, "--network");
  if (options.scenario && options.scenario->network) return *options.scenario->network;
  return CalibrateToRuns(study.runs, study.factors.rules);
}

}  // namespace

GrowthResults RunGrowth(const Study& study, const GrowthOptions& options, const ProgressSink& progress) {
  GrowthResults results;
  results.network = IdealNetwork();
  try {
    results.network = NetworkFor(study, options);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kNotEnoughData) throw;
    results.unknown_network = error.what();
  }
  std::optional<Scenario> scenario = options.scenario;
  if (scenario) {
    if (!scenario->network) scenario->network = results.network;
    results.network = Scaled(*scenario->network, scenario->scale);
    results.scenario = scenario->name;
  }
  const Network& network = results.network;
  if (network.IsIdeal() && results.unknown_network.empty()) results.unknown_network = "the network is ideal";
  std::vector<PhaseGrower> growers;
  for (const PhaseSpec& phase : study.phases) growers.emplace_back(study, phase, network, options);
  for (std::size_t i = 0; i < study.runs.size(); ++i) {
    const Trace trace = ReadToGrow(study, study.runs[i], scenario);
    for (PhaseGrower& grower : growers) grower.AddRun(trace, study.runs[i]);
    if (progress) progress(i + 1, study.runs.size(), study.runs[i].trace);
  }
  for (PhaseGrower& grower : growers) results.phases.push_back(grower.Grow(options.ranks));
  return results;
}

PhaseSpec SpecInGrown(const PhaseSpec& phase, const std::string& region) {
  PhaseSpec grown = PhaseSpec::Region(region);
  grown.name = phase.name;
  grown.span = phase.span;
  return grown;
}

}  // namespace farscale
