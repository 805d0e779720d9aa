#include "growth/phase_growth.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/diagnostics.h"
#include "base/text.h"
#include "growth/make/grown_program.h"
#include "replay/matching.h"
#include "replay/replay.h"
#include "replay/replayed_trace.h"

namespace farscale {

GrowthModel GrowthModel::WithRuns(std::size_t first, std::size_t end) const {
  GrowthModel some;
  some.runs.assign(runs.begin() + static_cast<std::ptrdiff_t>(first), runs.begin() + static_cast<std::ptrdiff_t>(end));
  some.functions = functions;
  some.region = region;
  some.has_region = has_region;
  return some;
}

void LearnGrowth(GrowthModel& model) {
  MatchKinds(model.runs);
  model.rules = FindCallRules(model.runs);
  PreferCommonRules(model.rules);
  JoinPartners(model.runs.back(), model.runs.size() - 1, model.rules);
  model.laws = FitSiteLaws(model.runs, model.rules);
  model.load = FitLoadModel(model.runs, model.rules);
}

namespace {

constexpr std::size_t kFewestRuns = 3;  // two are one step, and one step fits many rules
constexpr std::uint64_t kDraws = 3;   // for each grown run; chosen: the mean of three varies six tenths as much as one
constexpr std::size_t kMostRuns = 3;  // learned from; chosen: on few ranks most of them are at an edge
constexpr double kMostCallsOfTrace = 2e7;  // chosen: a trace of them takes some gigabytes
// The largest distance of a run that is replayed by its rules from the measurement, as the logarithm of a factor;
// chosen: the programs of docs/growth.md are off by 0.01 at most, and parts of iterations that ranks enter one after
// the other, which replays of nothing else do not know, by much more.
constexpr double kMostUnexplained = 0.05;
// The same of backtests of statistical growth; chosen: as much as replays.
constexpr double kMostStatisticalError = 0.05;
// The factor by which the messages of a rank may change between the last two runs to be those of larger ones; chosen:
// the parts of a mesh have a fifth more neighbours at most when they become twice or four times as many.
constexpr double kMostChangeOfMessages = 1.25;

// Fills the values of a row, which grown runs have, too. Returns the totals, with counts.
PhaseTotals Measure(const Trace& trace, const PhaseSpec& phase, const FactorOptions& options, GrowthRow& row) {
  const PhaseFactors factors = MeasurePhase(trace, MatchTrace(trace), CutPhase(trace, phase), options);
  row.values = factors.values;
  row.iteration = factors.totals.elapsed / static_cast<double>(factors.iterations);
  return factors.totals;
}

Trace TimedTrace(const Trace& trace, const Network& network, const ReplayRules& rules) {
  const ReplayOptions options{.rules = rules, .keep_calls = true, .network = &network};
  return ReplayedTrace(trace, Replay(trace, MatchTrace(trace), CutPhase(trace, PhaseSpec::WholeRun()), options));
}

const GrowthRow& MeasuredOn(const PhaseGrowth& growth, std::int64_t ranks) {
  return *std::ranges::find(growth.measured, ranks, &GrowthRow::ranks);
}

// Load balance and serialization are the same on any network; nothing else is.
bool IsGrown(const Network& network, Factor factor) {
  return !network.IsIdeal() || factor == Factor::kLoadBalance || factor == Factor::kSerialization;
}

// The first row and factor that is further from the measurement than so much, as the logarithm: "the run on 8 ranks has
// serialization 0.5 instead of 0.6". Nothing where there is none.
std::optional<std::pair<GrowthRow, std::string>> FirstDeviation(const GrowthTask& task, const PhaseGrowth& growth,
                                                                const std::vector<GrowthRow>& rows,
                                                                std::span<const Factor> factors, double most) {
  for (const GrowthRow& row : rows) {
    const GrowthRow& measured = MeasuredOn(growth, row.ranks);
    for (const Factor factor : factors) {
      const std::optional<double>&a = measured.values[factor], &b = row.values[factor];
      if (!IsGrown(task.network, factor) || !a || !b || std::abs(std::log(*a / *b)) <= most) continue;
      return std::pair(row, fmt::format("the run on {} ranks has {} {} instead of {}", row.ranks,
                                        ToLower(Describe(factor).name), FormatFactor(*b), FormatFactor(*a)));
    }
  }
  return std::nullopt;
}

// Why the rules are not those of the runs: these, replayed by them, are not as measured. Empty where they are.
std::string WhyUnlike(const GrowthTask& task, const PhaseGrowth& growth, const std::vector<GrowthRow>& repeated) {
  constexpr Factor kFactors[] = {Factor::kLoadBalance, Factor::kSerialization, Factor::kTransfer};
  const auto deviation = FirstDeviation(task, growth, repeated, kFactors, kMostUnexplained);
  return deviation ? "replayed by its rules, " + deviation->second : "";
}

// Why the backtests of statistical growth do not prove it; empty where they do. `all`: the runs.
std::string WhyNotStatistical(const GrowthTask& task, const GrowthModel& all, const PhaseGrowth& growth) {
  constexpr Factor kFactors[] = {Factor::kLoadBalance, Factor::kSerialization, Factor::kParallelEfficiency};
  const StatisticalGrowth before = CountPartners(all.runs[all.runs.size() - 2]), last = CountPartners(all.runs.back());
  if (std::abs(std::log(last.messages / before.messages)) > std::log(kMostChangeOfMessages)) {
    return fmt::format(
        "nor can it be grown statistically: ranks send {:.3g} messages an iteration on {} ranks and {:.3g} on {}",
        before.messages, before.ranks, last.messages, last.ranks);
  }
  if (growth.backtest.empty())
    return "nor can it be grown statistically: no run has a multiple of the ranks of the two or more before it";
  const auto deviation = FirstDeviation(task, growth, growth.backtest, kFactors, kMostStatisticalError);
  if (!deviation) return "";
  return fmt::format("grown statistically from up to {} ranks, {}", deviation->first.learned_up_to.value_or(0),
                     deviation->second);
}

// A model of the first runs, of which the largest are learned from.
GrowthModel Learn(const GrowthModel& all, std::size_t runs, bool is_statistical) {
  const std::size_t first = runs > kMostRuns ? runs - kMostRuns : 0;
  if (is_statistical) return LearnStatistically(all, first, runs);
  GrowthModel model = all.WithRuns(first, runs);
  LearnGrowth(model);
  return model;
}

// The runs of a model, replayed by their own rules.
std::vector<GrowthRow> Repeat(const GrowthTask& task, const GrowthModel& model) {
  std::vector<GrowthRow> rows;
  FactorOptions options = task.factors;
  options.counters = {};  // grown runs have none
  for (std::size_t run = 0; run < model.runs.size(); ++run) {
    const std::optional<Trace> trace = RepeatRun(model, run);
    if (!trace) continue;
    GrowthRow& row = rows.emplace_back(GrowthRow{.ranks = model.runs[run].ranks, .grid = model.rules.grids[run]});
    Measure(TimedTrace(*trace, task.network, options.rules), SpecInGrown(task.phase, model.region), options, row);
  }
  return rows;
}

// The residual of these replays: by how much factors are larger as measured, in the mean.
FactorValues Unexplained(const PhaseGrowth& growth, const std::vector<GrowthRow>& repeated) {
  FactorValues ratios;
  for (const FactorType& type : AllFactors()) {
    double sum = 0, count = 0;
    for (const GrowthRow& row : repeated) {
      const std::optional<double>& a = MeasuredOn(growth, row.ranks).values[type.factor];
      const std::optional<double>& b = row.values[type.factor];
      if (!a || !b || *a <= 0 || *b <= 0) continue;
      sum += std::log(*a / *b);
      ++count;
    }
    if (count > 0) ratios[type.factor] = std::exp(sum / count);
  }
  return ratios;
}

// The geometric mean of factors over several draws of the computation. `knows_waits`: the runs show for whom all calls
// wait.
GrowthRow MeanOfDraws(const GrowthTask& task, const GrowthModel& model, const GridPlan& plan, bool knows_waits) {
  const GrownMessages messages = MatchComplete(model, plan);
  const ReplayRules& rules = task.factors.rules;
  GrowthRow mean;
  for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
    const GrownLoads loads = DrawLoads(model, plan, task.seed + draw);
    PhaseTotals totals = MeasureGrown(model, plan, messages, loads, rules, &task.network);
    if (totals.largest_useful <= 0 || totals.elapsed <= 0)
      throw Error(ErrorKind::kNotEnoughData, "", "the phase contains no computation");
    if (!knows_waits) totals.ideal_elapsed = 0;
    const FactorValues values = FactorsOf(totals, rules.set);
    mean.iteration += totals.elapsed / static_cast<double>(plan.kinds.size()) / kDraws;
    for (const FactorType& type : AllFactors()) {
      if (const std::optional<double>& value = values[type.factor])
        mean.values[type.factor] = mean.values[type.factor].value_or(0) + std::log(std::max(*value, 1e-12)) / kDraws;
    }
  }
  for (const FactorType& type : AllFactors()) {
    if (std::optional<double>& value = mean.values[type.factor]) value = std::exp(*value);
  }
  return mean;
}

// Grows a model to layouts. `repeated`: its runs, replayed. Reasons against some of them go to `left_out`.
void GrowTo(const GrowthTask& task, const PhaseGrowth& growth, const std::vector<GrowthRow>& repeated,
            const std::vector<RankGrid>& grids, GrowthModel& model, std::vector<GrowthRow>& rows,
            std::vector<std::string>& left_out) {
  const FactorValues unexplained = Unexplained(growth, repeated);
  const bool knows_waits = std::ranges::all_of(repeated.empty() ? growth.measured : repeated, [](const GrowthRow& row) {
    return row.values[Factor::kSerialization].has_value();
  });
  std::map<std::size_t, bool> sufficient;
  for (const RankGrid& grid : grids) {
    try {
      AddComposedClasses(model, grid);
      std::int64_t from_smaller = 0;
      for (const auto& [first, ranks] : CountClasses(model.rules.scheme, grid)) {
        const auto found = model.rules.classes.find(ClassOf(model.rules.scheme, grid, first));
        if (found == model.rules.classes.end()) continue;  // to be refused with a reason of its own
        if (found->second.DonorsIn(model.runs.size() - 1).empty()) from_smaller += ranks;
      }
      // Where the largest run shows what other ranks do, nothing shows that they go on as a smaller run did.
      if (2 * from_smaller > grid.size()) {
        throw Error(ErrorKind::kNotEnoughData, "",
                    fmt::format("most ranks of {} are like none of the {} of the largest run in {}", grid.Text(),
                                model.runs.back().ranks, model.rules.grids.back().Text()),
                    "add a run whose grid has three or more ranks in every dimension");
      }
      const std::vector<std::size_t>& kinds = model.runs.back().kinds;
      const std::vector<std::size_t> chosen = ChooseIterations(
          kinds, CountFitting(model, grid, task.most_bytes, task.factors.rules, &task.network, sufficient));
      GrowthRow row = MeanOfDraws(task, model, PlanGrid(model, grid, chosen), knows_waits);
      row.ranks = grid.size();
      row.grid = grid;
      row.learned_up_to = model.runs.back().ranks;
      row.iterations = kinds.size();
      row.replayed = chosen.size();
      for (const FactorType& type : AllFactors()) {
        std::optional<double>& value = row.values[type.factor];
        if (!IsGrown(task.network, type.factor)) value.reset();
        if (!value) continue;
        *value *= unexplained[type.factor].value_or(1);
        if (type.AtMostOne()) value = std::min(1.0, *value);
      }
      rows.push_back(std::move(row));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kNotEnoughData) throw;
      left_out.push_back(error.what());
    }
  }
}

// The layout for so many ranks: as the study names it for a grown run, or for a measured one; else the next of the
// series of the runs of the model. `known`: the model of all runs.
RankGrid GridFor(const GrowthTask& task, const GrowthModel& all, const GrowthModel& known, const GrowthModel& model,
                 std::int64_t ranks) {
  if (model.rules.scheme.is_lifted) return LayoutFor(model.rules, ranks);
  // The study may count dimensions the other way around, as the layouts of the runs that it names show.
  bool is_reversed = false;
  for (std::size_t run = 0; run < known.runs.size(); ++run)
    is_reversed = is_reversed || (known.runs[run].named && known.rules.grids[run] != *known.runs[run].named);
  const auto as_counted = [&](const RankGrid& grid) { return is_reversed ? grid.Reversed() : grid; };
  const auto named = std::ranges::find(task.grids, ranks, &RankGrid::size);
  if (named != task.grids.end()) return as_counted(*named);
  const auto measured = std::ranges::find(all.runs, ranks, &RunCalls::ranks);
  if (measured != all.runs.end() && measured->named) return as_counted(*measured->named);
  return ContinueSeries(model.rules.grids, ranks);
}

// Grows the first runs, from the third on, to all larger ones. Those that they do not foresee are left out: the smaller
// ones lack ranks like some of theirs.
void Backtest(const GrowthTask& task, const GrowthModel& all, bool is_statistical, PhaseGrowth& growth) {
  for (std::size_t runs = 2; runs < all.runs.size(); ++runs) {
    GrowthModel model = Learn(all, runs, is_statistical);
    if (model.rules.Share() < kLeastExplained || !WhyAmbiguous(model).empty()) continue;
    std::vector<RankGrid> grids;
    for (const GrowthRow& row : std::span(growth.measured).subspan(runs)) {
      const RankGrid grid = GridFor(task, all, growth.model, model, row.ranks);
      if (!is_statistical || grid.size() == row.ranks) grids.push_back(grid);
    }
    std::vector<std::string> left_out;
    GrowTo(task, growth, Repeat(task, model), grids, model, growth.backtest, left_out);
  }
}

// Grows to the layouts nearest to these numbers of ranks, each once.
void GrowToTargets(const GrowthTask& task, const GrowthModel& all, const std::vector<std::int64_t>& ranks,
                   PhaseGrowth& growth) {
  std::vector<RankGrid> grids;
  for (const std::int64_t target : ranks) {
    const RankGrid grid = GridFor(task, all, growth.model, growth.model, target);
    if (std::ranges::find(grids, grid) == grids.end()) grids.push_back(grid);
  }
  GrowTo(task, growth, growth.repeated, grids, growth.model, growth.grown, growth.left_out);
  if (growth.grown.empty() && !growth.left_out.empty()) growth.refusal = growth.left_out.back();
}

// Where rules explain too little, and only if the measured runs show that it works.
void GrowStatistically(const GrowthTask& task, const GrowthModel& all, const std::vector<std::int64_t>& ranks,
                       PhaseGrowth& growth) {
  const CallRules& rules = growth.model.rules;
  StatisticalGrowth statistical = CountPartners(all.runs.back());
  statistical.explained = rules.Share();
  statistical.confirmed = rules.Confirmed();
  std::vector<std::string> counts;
  for (const RunCalls& run : growth.model.runs) counts.push_back(FormatCount(static_cast<std::uint64_t>(run.ranks)));
  if (rules.Share() >= kLeastExplained) {
    statistical.reason = fmt::format(
        "the rules of {:.0f} % of the messages hold on no rank but those of the run that they were read off, at {} "
        "ranks",
        100 * (1 - rules.Confirmed()), Join(counts, ", "));
  } else {
    const bool is_named = std::ranges::any_of(growth.model.runs, [](const RunCalls& run) { return !!run.named; });
    const auto most = std::ranges::max_element(rules.missed, {}, [](const auto& site) { return site.second; });
    const auto& [function, region] = most->first;
    statistical.reason = fmt::format(
        "{:.0f} % of the messages follow no rule that holds at {} ranks{}; most of them are {}{}",
        100 * (1 - rules.Share()), Join(counts, ", "), is_named ? " in the layouts that the study names" : "",
        growth.model.functions[function], region.empty() ? "" : " in " + region);
  }
  growth.refusal = statistical.reason + "; ";
  try {
    GrowthModel model = Learn(all, all.runs.size(), true);
    std::vector<GrowthRow> repeated = Repeat(task, model);
    std::string reason = WhyUnlike(task, growth, repeated);
    if (reason.empty()) Backtest(task, all, true, growth);
    if (reason.empty()) reason = WhyNotStatistical(task, all, growth);
    if (reason.empty()) {
      growth.statistical = statistical;
      growth.model = std::move(model);
      growth.repeated = std::move(repeated);
      growth.refusal.clear();
      for (GrowthRow& row : growth.measured) row.grid = {};
      for (const RankGrid& grid : task.grids)
        growth.left_out.push_back(fmt::format("the layout {}, as ranks are copied", grid.Text()));
      return GrowToTargets(task, all, ranks, growth);
    }
    growth.refusal += reason;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kNotEnoughData) throw;
    growth.refusal += fmt::format("nor can it be grown statistically: {}", error.what());
  }
  growth.backtest.clear();
}

}  // namespace

PhaseGrowth BeginGrowth(const PhaseSpec& phase) {
  PhaseGrowth growth{.phase = phase.name};
  growth.model.has_region = phase.kind == PhaseSpec::Kind::kRegion && phase.part.empty();
  growth.model.region = growth.model.has_region ? phase.region : "iteration";
  return growth;
}

void AddMeasuredRun(const Trace& trace, const std::optional<RankGrid>& named, const PhaseSpec& phase,
                    const FactorOptions& factors, PhaseGrowth& growth) {
  GrowthRow row{.ranks = static_cast<std::int64_t>(trace.size())};
  RunCalls calls;
  try {
    calls = ReadRunCalls(trace, CutPhase(trace, phase), growth.model.functions);
    calls.named = named;
    const PhaseTotals totals = Measure(trace, phase, factors, row);
    calls.instructions = totals.instructions;
    calls.cycles = totals.cycles;
  } catch (const Error& error) {
    growth.left_out.push_back(error.what());
    return;
  }
  const auto place = std::ranges::lower_bound(growth.measured, row.ranks, {}, &GrowthRow::ranks);
  const auto kept = growth.model.runs.begin() + (place - growth.measured.begin());
  if (place == growth.measured.end() || place->ranks != row.ranks) {
    growth.model.runs.insert(kept, std::move(calls));
    growth.measured.insert(place, row);
  } else if (row.iteration < place->iteration) {
    *kept = std::move(calls);
    *place = row;
  }
}

void GrowPhase(const GrowthTask& task, const std::vector<std::int64_t>& ranks, PhaseGrowth& growth) {
  const std::size_t runs = growth.model.runs.size();
  if (runs < kFewestRuns) {
    growth.refusal = fmt::format("{} {}; three or more of different numbers of ranks show how a program grows", runs,
                                 runs == 1 ? "run" : "runs");
    growth.model = {};
    return;
  }
  const GrowthModel all = std::exchange(growth.model, {});
  growth.model = Learn(all, runs, false);
  const GrowthModel& model = growth.model;
  for (GrowthRow& row : growth.measured) {
    for (const RankGrid& grid : model.rules.grids) {
      if (grid.size() == row.ranks) row.grid = grid;
    }
  }
  if (!model.rules.Suffice()) return GrowStatistically(task, all, ranks, growth);
  growth.refusal = WhyAmbiguous(model);
  if (growth.refusal.empty()) growth.refusal = WhyContested(model);
  if (!growth.refusal.empty()) return;
  growth.repeated = Repeat(task, model);
  growth.refusal = WhyUnlike(task, growth, growth.repeated);
  if (!growth.refusal.empty()) return;
  Backtest(task, all, false, growth);
  GrowToTargets(task, all, ranks, growth);
}

PhaseSpec SpecInGrown(const PhaseSpec& phase, const std::string& region) {
  PhaseSpec grown = PhaseSpec::Region(region);
  grown.name = phase.name;
  grown.span = phase.span;
  return grown;
}

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

}  // namespace farscale
