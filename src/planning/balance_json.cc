#include "planning/balance_json.h"

#include <algorithm>
#include <map>
#include <set>

#include "planning/balance_cases.h"
#include "results/json_fields.h"

namespace farscale {
namespace {

// Factors of a phase on so many processors.
struct BalancedTarget {
  std::string series, phase;
  double cores = 0;
  std::optional<BalancedValue> parallel_efficiency, load_balance;
};

// One way to run, with its targets.
struct BalancedWay {
  std::string label;
  std::vector<BalancedTarget> targets;
};

struct BalanceFile {
  WhatIf what_if;
  std::vector<BalancedWay> projections;
};

std::vector<std::vector<double>> LoadRows(const LoadHistory& history) {
  std::vector<std::vector<double>> rows;
  for (std::size_t row = 0; row < history.rows; ++row) {
    const auto first = history.load.begin() + static_cast<std::ptrdiff_t>(row * history.columns);
    rows.emplace_back(first, first + static_cast<std::ptrdiff_t>(history.columns));
  }
  return rows;
}

const PhaseProjection* PhaseOf(const BalancedProjection& way, const BalancedFactor& of) {
  const auto found = std::ranges::find_if(way.projected, [&](const PhaseProjection& projection) {
    return projection.series == of.series && projection.phase == of.phase;
  });
  return found == way.projected.end() ? nullptr : &*found;
}

// The value of the first run on so many processors, else projected.
std::optional<BalancedValue> ValueAt(const BalancedProjection& way, const BalancedFactor& of, double cores) {
  for (const FactorRow& row : way.table.Rows(of.series, of.phase)) {
    const std::optional<double>& value = row.values[of.factor];
    if (static_cast<double>(row.cores) == cores && value)
      return BalancedValue{*value, std::nullopt, true, Reliability::kReliable};
  }
  const PhaseProjection* phase = PhaseOf(way, of);
  const FactorProjection* projection = phase != nullptr ? phase->Find(of.factor) : nullptr;
  if (projection == nullptr) return std::nullopt;
  const auto target = std::ranges::find(projection->targets, cores, &ProjectedValue::cores);
  if (target == projection->targets.end()) return std::nullopt;
  return BalancedValue{target->value, target->interval80, false, ReliabilityOf(*phase, of.factor, cores)};
}

void FillRows(const std::vector<BalancedProjection>& list, BalancedFactor& table) {
  std::set<double> counts;
  for (const BalancedProjection& way : list) {
    for (const FactorRow& row : way.table.Rows(table.series, table.phase)) {
      if (row.values[table.factor]) counts.insert(static_cast<double>(row.cores));
    }
    const PhaseProjection* phase = PhaseOf(way, table);
    const FactorProjection* projection = phase != nullptr ? phase->Find(table.factor) : nullptr;
    if (projection == nullptr) continue;
    for (const ProjectedValue& value : projection->targets) counts.insert(value.cores);
    table.has_targets = table.has_targets || !projection->targets.empty();
  }
  for (const double cores : counts) {
    auto& values = table.rows.emplace_back(cores, std::vector<std::optional<BalancedValue>>()).second;
    for (const BalancedProjection& way : list) values.push_back(ValueAt(way, table, cores));
  }
}

}  // namespace

std::vector<std::pair<Placement, std::string>> NamesOf(Described<Placement>) {
  std::vector<std::pair<Placement, std::string>> names;
  for (const Placement placement :
       {Placement::kAsMeasured, Placement::kBlock, Placement::kRoundRobin, Placement::kByMessages}) {
    names.emplace_back(placement, ToString(placement));
  }
  return names;
}

Fields<BalanceConfiguration> FieldsOf(Described<BalanceConfiguration>) {
  using T = BalanceConfiguration;
  return {"balance/configuration",
          {
              Property<&T::run>("Index into runs: whose ranks are the tasks"),
              Property<&T::tasks>(),
              Property<&T::processors>("0: left out for any number of processors"),
              Computed<T>(
                  "level",
                  [](const T& configuration) { return configuration.processors == 0 ? 0.0 : configuration.level(); },
                  "Tasks per processor; 0 for any number of processors")
                  .AtLeast(0),
              Property<&T::strategy>(),
              Property<&T::interval>("Iterations between balancing points; 0: there are none"),
              Property<&T::placement>("How tasks lie on processors at the start"),
          }};
}

Fields<Gain> FieldsOf(Described<Gain>) {
  return {"balance/gain",
          {
              Property<&Gain::value>("1 minus makespan over the makespan of the reference"),
              Computed<Gain>(
                  "interval80", [](const Gain& gain) { return std::pair(gain.low, gain.high); },
                  "80 % of the replicas lie between; the value twice without replicas"),
          }};
}

Fields<MakespanParts> FieldsOf(Described<MakespanParts>) {
  using T = MakespanParts;
  return {"balance/parts",
          {
              Property<&T::computation>("Of all tasks, divided by the processors").AtLeast(0),
              Property<&T::imbalance>(
                  "Largest load of a processor above the mean in every iteration, added up, as far as processors "
                  "wait")
                  .AtLeast(0),
              Properties<&T::barriers, &T::strategy, &T::migration>().AtLeast(0),
              Property<&T::communication>("The rest: messages, and waiting within an iteration").AtLeast(0),
          }};
}

Fields<BalanceOutcome> FieldsOf(Described<BalanceOutcome>) {
  using T = BalanceOutcome;
  return {"balance/outcome",
          {
              Property<&T::configuration>(),
              Property<&T::makespan>("Seconds").AtLeast(0),
              Property<&T::parts>("Seconds that add up to the makespan"),
              Properties<&T::load_balance, &T::parallel_efficiency, &T::balancing_points, &T::migrations>(),
              Property<&T::migrated_bytes>().AtLeast(0),
              Property<&T::messages_between_processors>(),
              Property<&T::replicas>("Makespans with the noise of the run in another order").AtLeast(0),
              Property<&T::baseline>("Index into outcomes: the same without balancing"),
              Property<&T::gain>("Over the baseline, over the iterations of the trace"),
              Property<&T::later_iteration>(
                  "Seconds of an iteration after the first balancing point; absent where there is none")
                  .AtLeast(0),
              Property<&T::later_iteration_without>("The same iterations without balancing").AtLeast(0),
              Property<&T::long_run_iteration>(
                  "Seconds of an iteration of a run so long that the time before the first balancing point, and the "
                  "first migrations, do not count; absent where there is no balancing point")
                  .AtLeast(0),
              Property<&T::long_run_replicas>("The same with the noise of the run in another order")
                  .AtLeast(0)
                  .UnlessDefault(),
              Property<&T::gain_over_original>(
                  "Over the run with as many ranks as there are processors; absent where there is none"),
          }};
}

Fields<LoadHistory> FieldsOf(Described<LoadHistory>) {
  using T = LoadHistory;
  return {
      "balance/history",
      {
          Properties<&T::outcome, &T::processors, &T::iterations>(),
          Computed<T>("load", LoadRows,
                      "Seconds of computation of a processor in an iteration, row by row; means where neighbours "
                      "are joined")
              .AtLeast(0),
          Property<&T::time>("Seconds at the end of every column").AtLeast(0),
          Property<&T::average_load>("Share of the time since the column before that processors computed").AtLeast(0),
      }};
}

Fields<NodeMapping> FieldsOf(Described<NodeMapping>) {
  using T = NodeMapping;
  return {"balance/mapping",
          {
              Properties<&T::run, &T::placement>(),
              Property<&T::node_of_rank>("Nodes are numbered by the first rank on each"),
              Property<&T::nodes>(),
              Field("loadBalanceWithin", &T::load_balance_in),
              Field("loadBalanceBetween", &T::load_balance_out),
              Property<&T::remote_share>("Of the messages, that leave their node"),
              Property<&T::makespan>().AtLeast(0),
              Property<&T::gain>("Over the mapping as measured"),
          }};
}

Fields<StateCost> FieldsOf(Described<StateCost>) {
  using T = StateCost;
  return {"balance/stateCost",
          {
              Property<&T::factor>("Times the state of tasks").AtLeast(0),
              Property<&T::makespan>().AtLeast(0),
              Embed(&T::gain, Fields<Gain>{Field("gain", &Gain::value, "Over the same baseline")}),
          }};
}

Fields<NetworkGain> FieldsOf(Described<NetworkGain>) {
  using T = NetworkGain;
  return {"balance/networkGain",
          {
              Property<&T::outcome>("Index into outcomes"),
              Property<&T::network>("Name"),
              Property<&T::iteration>("Seconds of an iteration of a long run").AtLeast(0),
              Property<&T::reference>("The same of what it is compared with").AtLeast(0),
              Embed(&T::gain, Fields<Gain>{Field("gain", &Gain::value, "Over the reference, in a long run")}),
          }};
}

Fields<OverheadCost> FieldsOf(Described<OverheadCost>) {
  using T = OverheadCost;
  return {"balance/overheadCost",
          {
              Property<&T::overhead>("switching or lostLocality"),
              Property<&T::factor>("Times what was stated").AtLeast(0),
              Property<&T::makespan>().AtLeast(0),
              Embed(&T::gain, Fields<Gain>{Field("gain", &Gain::value, "Over the baseline with the same cost")}),
          }};
}

Fields<ProductionRun> FieldsOf(Described<ProductionRun>) {
  using T = ProductionRun;
  return {"balance/production",
          {
              Property<&T::iterations>().AtLeast(1),
              Property<&T::repeats>("Of the phase as traced").AtLeast(1),
              Property<&T::drifts>("Loads go on to change as in the trace; else they repeat"),
              Property<&T::makespan>("Of the best configuration").AtLeast(0),
              Property<&T::baseline>("Makespan without balancing").AtLeast(0),
              Embed(&T::gain, Fields<Gain>{Field("gain", &Gain::value)}),
          }};
}

Fields<BalanceRun> FieldsOf(Described<BalanceRun>) {
  using T = BalanceRun;
  return {"balance/run",
          {
              Properties<&T::path, &T::ranks, &T::nodes, &T::ranks_per_node, &T::iterations>(),
              Property<&T::measured>("Seconds of the phase in the trace, or in the replay of the grown run").AtLeast(0),
              Property<&T::replayed>("Seconds replayed with one task per processor").AtLeast(0),
              Property<&T::load_balance>(),
              Property<&T::task_bytes>("Mean state of a task").AtLeast(0),
              Property<&T::heaviest_task>("Share of all computation that the task with most has; absent: unknown")
                  .AtLeast(0)
                  .When([](const T& run) { return run.heaviest_task > 0; }),
              Property<&T::load_change>(
                  "Share by which the computation of a task changes from one iteration to the next, on average"),
              Property<&T::grown_from>(
                  "Where nobody has made the run: cores of the largest run that it is grown from. Absent: measured")
                  .AtLeast(1),
          }};
}

Fields<BalanceCase> FieldsOf(Described<BalanceCase>) {
  using T = BalanceCase;
  const auto of_lead = [](auto value) {
    return [value](const T& one, const JsonPlace& at) {
      const WhatIf& what_if = at.Within<BalanceFile>().what_if;
      return one.lead ? std::optional(value(what_if, one, what_if.outcomes[*one.lead])) : std::nullopt;
    };
  };
  return {"balance/case",
          {
              Property<&T::processors>().AtLeast(1),
              Property<&T::run>("Index into runs: whose ranks are the tasks; absent where all runs solve one problem"),
              Property<&T::lead>(
                  "Index into outcomes: the outcome that stands for the case; absent where nothing is balanced"),
              Computed<T>("reference", of_lead(ReferenceOf), "Index into outcomes: what that is compared with"),
              Computed<T>("gain", of_lead(GainOverTrace), "Over the reference, over the iterations of the trace"),
              Computed<T>("gainInLongRun", of_lead(GainThatCounts),
                          "Over the reference, in a run so long that the time before the first balancing point does "
                          "not count"),
          }};
}

Fields<BalancedValue> FieldsOf(Described<BalancedValue>) {
  using T = BalancedValue;
  return {"balance/projectedValue",
          {
              Property<&T::value>(),
              Property<&T::is_replayed>("Replayed on so many processors, else projected"),
              Property<&T::reliability>("Reliable where it was replayed"),
              Property<&T::interval80>("Of projections, where it is known"),
          }};
}

Fields<BalancedTarget> FieldsOf(Described<BalancedTarget>) {
  using T = BalancedTarget;
  return {
      Property<&T::phase>(),
      Property<&T::cores>("Processors").AtLeast(0),
      Property<&T::series>().UnlessDefault(),
      Properties<&T::parallel_efficiency, &T::load_balance>(),
  };
}

Fields<BalancedWay> FieldsOf(Described<BalancedWay>) {
  using T = BalancedWay;
  return {"balance/projection", {Property<&T::label>("As measured, or with which balancing"), Property<&T::targets>()}};
}

Fields<LeftOut> FieldsOf(Described<LeftOut>) {
  return {"balance/leftOut", {Properties<&LeftOut::configuration, &LeftOut::why>()}};
}

Fields<BalanceFile> FieldsOf(Described<BalanceFile>) {
  using T = BalanceFile;
  using W = WhatIf;
  // As other files have findings, but in another order and with `population` for `of`.
  const auto finding = FormOfFields(
      Fields<Finding>{"balance/finding",
                      {
                          Properties<&Finding::id, &Finding::severity, &Finding::sentence, &Finding::count>(),
                          Properties<&Finding::population, &Finding::example>().UnlessDefault(),
                      }});
  return Fields<T>{
      "balance",
      {
          Embed(&T::what_if,
                Fields<W>{
                    Properties<&W::title, &W::phase>(),
                    Property<&W::same_problem>("Whether the runs solve one problem, so that their makespans compare"),
                    Property<&W::network>(), Property<&W::computation>("What lengths of computation are"),
                    Property<&W::task_bytes_source>("Where the state of tasks comes from"),
                    Property<&W::predictor>("What loads strategies are given"),
                    Property<&W::cost_model>("How barriers, strategies and migrations are counted"),
                    Properties<&W::noise_replicas, &W::runs, &W::outcomes>()}),
          Computed<T>(
              "cases", [](const T& file) { return CasesOf(file.what_if); }, "By run, then processors"),
          Embed(
              &T::what_if,
              Fields<W>{
                  Property<&W::by_time>(
                      "Outcomes with balancing, by index, in the order of the time per iteration in a long run"),
                  Property<&W::by_robustness>("The same by the worst tenth of the replicas"), Property<&W::histories>(),
                  Property<&W::state_costs>("The best configuration with other states of its tasks"),
                  Property<&W::network_gains>("What every case is told by, on each named network; absent where the "
                                              "network of the runs is known")
                      .When([](const W& what_if) { return !what_if.network_gains.empty(); }),
                  Property<&W::overhead_costs>(
                      "The best configuration with other costs of switching or of lost locality; absent unless stated")
                      .When([](const W& what_if) { return !what_if.overhead_costs.empty(); }),
                  Property<&W::production>("A run of production length; absent unless asked for"),
                  Property<&W::shares_time>(
                      "Processors serve all ready tasks in equal shares; absent where one task runs at a time")
                      .When([](const W& what_if) { return what_if.shares_time; })}),
          Property<&T::projections>("Factors as measured, and with balancing; empty where one of them alone is known"),
          Embed(&T::what_if, Fields<W>{Properties<&W::mappings, &W::left_out>()}),
          Computed<T>(
              "findings", [](const T& file) { return file.what_if.findings; }, "", ListOf<Finding>(finding)),
      }}
      .File("farscale-balance", 1, 1, "record of balancing");
}

std::string WriteWhatIfJson(const WhatIf& what_if, const std::vector<BalancedProjection>& projections) {
  const std::vector<BalancedFactor> tables = TabulateBalanced(projections);
  BalanceFile file{what_if, {}};
  for (std::size_t way = 0; way < projections.size() && projections.size() > 1; ++way) {
    std::vector<BalancedTarget>& targets =
        file.projections.emplace_back(BalancedWay{projections[way].label, {}}).targets;
    for (std::size_t first = 0; first < tables.size();) {
      std::map<double, BalancedTarget> by_cores;
      const BalancedFactor& phase = tables[first];
      for (; first < tables.size() && tables[first].series == phase.series && tables[first].phase == phase.phase;
           ++first) {
        const bool is_balance = tables[first].factor == Factor::kLoadBalance;
        for (const auto& [cores, values] : tables[first].rows) {
          if (!values[way]) continue;
          BalancedTarget target{phase.series, phase.phase.Text(), cores, {}, {}};
          BalancedTarget& known = by_cores.try_emplace(cores, std::move(target)).first->second;
          (is_balance ? known.load_balance : known.parallel_efficiency) = values[way];
        }
      }
      for (auto& [cores, target] : by_cores) targets.push_back(std::move(target));
    }
  }
  return JsonOf(file).dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

OrderedJson BalanceSchema() {
  return SchemaOf<BalanceFile>("Potential gain from dynamic load balancing, by farscale balance");
}

std::vector<BalancedFactor> TabulateBalanced(const std::vector<BalancedProjection>& list) {
  std::vector<BalancedFactor> tables;
  if (list.size() < 2) return tables;
  for (const std::string& series : list.front().table.Series()) {
    for (const PhaseId& phase : list.front().table.Phases(series)) {
      for (const Factor factor : {Factor::kParallelEfficiency, Factor::kLoadBalance}) {
        BalancedFactor table{series, phase, factor, false, {}};
        FillRows(list, table);
        tables.push_back(std::move(table));
      }
    }
  }
  return tables;
}

}  // namespace farscale
