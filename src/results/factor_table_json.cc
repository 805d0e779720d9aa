#include "results/factor_table_files.h"

#include <algorithm>
#include <map>

#include "base/diagnostics.h"
#include "projection/model_settings.h"
#include "results/anomalies.h"
#include "results/json_fields.h"

namespace farscale {

std::vector<std::pair<Factor, std::string>> NamesOf(Described<Factor>) {
  std::vector<std::pair<Factor, std::string>> names;
  for (const FactorType& type : AllFactors()) names.emplace_back(type.factor, type.id);
  return names;
}

Form<FactorValues> ValuesOfFactors(const std::vector<std::string>& ids) {
  return Via<FactorValues, Dictionary<double>>(
      [](const FactorValues& values) {
        Dictionary<double> known;
        for (const FactorType& type : AllFactors()) {
          if (values[type.factor]) known.emplace_back(type.id, *values[type.factor]);
        }
        return known;
      },
      [](const Dictionary<double>& known) {
        FactorValues values;
        for (const auto& [id, value] : known) values[*FactorById(id)] = value;
        return values;
      },
      Keyed<double>(ids));
}

template <>
Form<FactorValues> FormOf<FactorValues>() {
  static const auto form = ValuesOfFactors(FactorIds());
  return form;
}

template <>
Form<IntervalBounds> FormOf<IntervalBounds>() {
  using Pair = std::pair<double, double>;
  static const auto form =
      Named("projection/interval", "",
            Via<IntervalBounds, Pair>([](const IntervalBounds& bounds) { return Pair(bounds.low, bounds.high); },
                                      [](const Pair& pair) {
                                        return IntervalBounds{pair.first, pair.second};
                                      }));
  return form;
}

template <>
Form<OpenBounds> FormOf<OpenBounds>() {
  using Pair = std::pair<double, std::optional<double>>;
  static const auto form =
      Named("projection/openInterval", "null: no upper bound",
            Via<OpenBounds, Pair>([](const OpenBounds& bounds) { return Pair(bounds.low, bounds.high); },
                                  [](const Pair& pair) {
                                    return OpenBounds{pair.first, pair.second};
                                  }));
  return form;
}

std::vector<std::pair<Severity, std::string>> NamesOf(Described<Severity>) {
  return {{Severity::kNote, "note"}, {Severity::kWarning, "warning"}};
}

std::vector<std::pair<Scaling, std::string>> NamesOf(Described<Scaling>) {
  return {{Scaling::kStrong, "strong"}, {Scaling::kWeak, "weak"}};
}

std::vector<std::pair<Span, std::string>> NamesOf(Described<Span>) {
  return {{Span::kWhole, ToString(Span::kWhole)}, {Span::kEach, ToString(Span::kEach)}};
}

Fields<Finding> FieldsOf(Described<Finding>) {
  return {"factors/finding",
          {
              Property<&Finding::id>("Name of the anomaly, listed in docs/file-formats.md"),
              Properties<&Finding::severity, &Finding::count>(),
              Field("of", &Finding::population, "Number of items that could show the anomaly").UnlessDefault(),
              Property<&Finding::sentence>(),
              Property<&Finding::example>("Where it was seen first").UnlessDefault(),
          }};
}

Fields<PhaseId> FieldsOf(Described<PhaseId>) {
  return {
      Field("phase", &PhaseId::name, "Empty where the table names no phases"),
      Property<&PhaseId::group>("Group of the ranks of the phase; absent: all ranks").NotEmpty().UnlessDefault(),
  };
}

Fields<UnknownWaits> FieldsOf(Described<UnknownWaits>) {
  return {"",
          "Calls in which ranks may have waited, but the trace does not say for whom",
          {
              Property<&UnknownWaits::calls>().AtLeast(1),
              Property<&UnknownWaits::example>("The first of them: rank, function and time"),
          }};
}

Fields<RelativeErrors> FieldsOf(Described<RelativeErrors>) {
  using T = RelativeErrors;
  return {
      Properties<&T::elapsed, &T::useful, &T::instructions, &T::ipc, &T::frequency>().AtLeast(0),
  };
}

Fields<ThreadTimes> FieldsOf(Described<ThreadTimes>) {
  using T = ThreadTimes;
  return {"factors/threadTimes",
          "Of a hybrid run: seconds, summed over all threads of all ranks",
          {
              Property<&T::cpus>("Threads that are ever in a team, and main threads").AtLeast(1),
              Property<&T::useful>("Computing outside of the runtimes").AtLeast(0),
              Property<&T::mpi>("In MPI").AtLeast(0),
              Property<&T::mpi_idle>("Workers without work while their main thread is in MPI").AtLeast(0),
              Field("ompImbalance", &T::imbalance, "At barriers of the team").AtLeast(0),
              Field("ompScheduling", &T::scheduling, "In the OpenMP runtime").AtLeast(0),
              Field("ompSerialization", &T::serialization,
                    "Workers outside of a parallel region while their main thread is not in MPI")
                  .AtLeast(0),
              Field("ompIdleInRegions", &T::idle_in_region,
                    "Part of ompSerialization in which the main thread is in a parallel region of other threads; "
                    "absent: 0")
                  .AtLeast(0)
                  .UnlessDefault(),
              Property<&T::device_runtime>("The host in calls to devices; absent: 0").AtLeast(0).UnlessDefault(),
          }};
}

Fields<DeviceTimes> FieldsOf(Described<DeviceTimes>) {
  using T = DeviceTimes;
  return {"factors/deviceTimes",
          "Of a run with devices: seconds",
          {
              Property<&T::devices>().AtLeast(1),
              Property<&T::kernels>("In kernels, summed over the devices").AtLeast(0),
              Field("kernelsLargest", &T::most_kernels, "The same of one device").AtLeast(0),
              Field("activeLargest", &T::most_active, "In kernels or copies, of one device").AtLeast(0),
          }};
}

Fields<PhaseTotals> FieldsOf(Described<PhaseTotals>) {
  using T = PhaseTotals;
  return Fields<T>{
      "factors/totals",
      {
          Property<&T::elapsed>("T, seconds").Above(0),
          Property<&T::ideal_elapsed>(
              "T on the ideal network, seconds; absent for runs measured without a trace, and where the trace does "
              "not show all waits")
              .AtLeast(0)
              .UnlessDefault(),
          Field("usefulAverage", &T::average_useful, "Mean useful time of the ranks, seconds").AtLeast(0),
          Field("usefulLargest", &T::largest_useful, "Largest useful time of a rank, seconds").AtLeast(0),
          Field("usefulTotal", &T::total_useful, "Sum of the useful times, seconds").AtLeast(0),
          Field("mpiTotal", &T::total_mpi, "Sum of the times in MPI, seconds").AtLeast(0),
          Field("nodeLoadLargest", &T::largest_node_load, "Largest mean useful time of a node, seconds").AtLeast(0),
          Field("pausedTotal", &T::total_paused,
                "Sum of the times outside MPI in which the trace shows ranks as not running, seconds; absent: none")
              .AtLeast(0)
              .UnlessDefault(),
          Field("computationLargest", &T::largest_computation,
                "Largest time outside MPI of a rank, running or not, of a whole run since its begin, seconds; absent "
                "when it does not exceed the largest useful time")
              .AtLeast(0)
              .When([](const T& totals) { return totals.largest_computation > totals.largest_useful; }),
          Property<&T::instructions>("Sum over the useful time of all ranks").AtLeast(0),
          Property<&T::cycles>("Sum over the useful time of all ranks").AtLeast(0),
          Field("idealElapsedEstimate", &T::estimated_ideal,
                "Sum over the iterations of the largest useful time, seconds [Huck10]")
              .AtLeast(0),
          Field("threadTimes", &T::threads),
          Field("deviceTimes", &T::devices),
          Field("relativeErrors", &T::errors,
                "Standard errors of the times and counts of an iteration, as shares of them; absent with too few "
                "iterations"),
      }}
      .After([](T& totals, const JsonPlace&) {
        if (totals.largest_computation == 0) totals.largest_computation = totals.largest_useful;
      });
}

Fields<LoadDistribution> FieldsOf(Described<LoadDistribution>) {
  using T = LoadDistribution;
  return {"factors/loads",
          "How useful time is distributed over the ranks, as shares of their mean; any subset",
          {
              Property<&T::deviation>("Standard deviation").AtLeast(0),
              Property<&T::skewness>(),
              Property<&T::kurtosis>("Above that of the normal distribution"),
              Properties<&T::quantile5, &T::quantile25>(),
              Property<&T::quantile50>("Median"),
              Properties<&T::quantile75, &T::quantile95>(),
              Property<&T::largest_of_half>("Of half of the ranks, chosen at random: its mean").AtLeast(1),
              Property<&T::persistent>("Standard deviation over the ranks of what is the same in every iteration")
                  .AtLeast(0),
              Property<&T::noise>("Standard deviation of what differs from iteration to iteration, of one").AtLeast(0),
          }};
}

Fields<FactorRow> FieldsOf(Described<FactorRow>) {
  using T = FactorRow;
  return Fields<T>{
      "factors/row",
      {
          Property<&T::series>("Program or experiment; a file may hold several").OrMissing(),
          Embed(&T::phase, FieldsOf<PhaseId>(), Presence::kOrMissing),
          Property<&T::cores>("ranks × threads").AtLeast(1),
          Property<&T::ranks>("Of the row: of the run, or of the group of ranks").AtLeast(1).OrMissing(),
          Property<&T::threads>().AtLeast(1).OrMissing(),
          Property<&T::repeat>().AtLeast(0).OrMissing(),
          Property<&T::iterations>("Number of iterations in the runtime").Above(0).OrMissing(),
          Property<&T::nodes>().AtLeast(1),
          Property<&T::runtime>("Of the phase, seconds").Above(0),
          Properties<&T::span, &T::totals>(),
          Field("waitsUnknown", &T::unknown_waits,
                "Why serialization and transfer are missing: calls in which ranks may have waited, but the trace does "
                "not say for whom"),
          Property<&T::runtime_error>("Standard error of the runtime, seconds").AtLeast(0),
          Field("factors", &T::values, "Values by factor id; any subset").Above(0),
          Property<&T::standard_errors>(
              "Standard errors by factor id, in the unit of the factor, of this run by itself; any subset")
              .AtLeast(0)
              .UnlessDefault(),
          Property<&T::loads>(),
      }}
      .After([](T& row, const JsonPlace& at) {
        CheckGroupName(std::string(at.File()), row.phase.group);
        if (row.ranks == 0) row.ranks = std::max<std::int64_t>(1, row.cores / row.threads);
      });
}

Fields<FactorTable> FieldsOf(Described<FactorTable>) {
  using T = FactorTable;
  return Fields<T>{"factors",
                   {
                       Property<&T::scaling>(),
                       Property<&T::scaling_source>("Where the scaling was read off").UnlessDefault(),
                       Property<&T::reference>("Cores of the run that scalability is measured against").AtLeast(1),
                       Property<&T::rules>("Rule set of the replay: bsc or causal; absent for tables from elsewhere")
                           .UnlessDefault(),
                       Property<&T::rows>().LeastItems(1),
                       Field("diagnostics", &T::findings).OrMissing(),
                   }}
      .File("farscale-factors", 1, kFactorTableVersion, "factor table",
            "1: groups of ranks are in the text of the phase, \"iteration / pme\"")
      .WithChecksum()
      .After([](T& table, int version, const JsonPlace&) {
        if (table.scaling_source.empty()) table.scaling_source = "file";
        if (version < 2) FindGroupsInOldTexts(table);
      });
}

void NumberRepeats(FactorTable& table) {
  std::map<std::pair<PhaseKey, std::int64_t>, std::int64_t> repeats;
  for (FactorRow& row : table.rows) row.repeat = repeats[{row.Key(), row.cores}]++;
}

std::string WriteFactorJson(const FactorTable& table) { return JsonOf(table).dump(2) + "\n"; }

FactorTable ReadFactorJson(const std::string& text, const std::string& file) {
  const OrderedJson json = fields_internal::ParseJson(text, file);
  auto table = FromJson<FactorTable>(json, file);
  CheckChecksum(json, file, table.findings);
  return table;
}

void CheckChecksum(const OrderedJson& json, const std::string& file, std::vector<Finding>& findings) {
  if (!FitsChecksum(json)) MergeFindings({AsFinding(anomaly::kFileChanged, file)}, findings);
}

OrderedJson FactorTableSchema() { return SchemaOf<FactorTable>("Factor table of farscale"); }

}  // namespace farscale
