#include "results/json_fields.h"

#include <algorithm>

#include "imbalance/loss_remedy.h"
#include "results/cause_text.h"
#include "results/results_json.h"

namespace farscale {
namespace {

// One value a rank of the phase: all of them or, where few ranks have any, those by rank; nothing where none has any.
Form<std::vector<double>> ByRank() {
  using T = std::vector<double>;
  const auto write = [](const T& values, const JsonPlace& at) -> OrderedJson {
    const auto some = values.size() - static_cast<std::size_t>(std::ranges::count(values, 0.0));
    if (some == 0) return nullptr;
    if (4 * some > values.size()) return values;
    const std::vector<std::size_t>& ranks = at.Within<LossRecord>().ranks;
    OrderedJson json = OrderedJson::object();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] != 0) json[std::to_string(ranks[i])] = values[i];
    }
    return json;
  };
  const auto read = [](const OrderedJson& json, T& values, const JsonPlace& at) {
    const std::vector<std::size_t>& ranks = at.Within<LossRecord>().ranks;
    if (json.is_array()) {
      FormOf<T>()->read(json, &values, at);
      if (values.size() != ranks.size()) at.Fail("has values of other ranks than its phase");
      return;
    }
    Dictionary<double> some;
    FormOf<Dictionary<double>>()->read(json, &some, at);
    values.assign(ranks.size(), 0);
    for (const auto& [rank, one] : some) {
      const auto found = std::ranges::find(ranks, rank, [](std::size_t known) { return std::to_string(known); });
      if (found == ranks.end()) at.Fail("has a value of rank " + rank + ", which is not in the phase");
      values[static_cast<std::size_t>(found - ranks.begin())] = one;
    }
  };
  const auto schema = [](SchemaDefinitions&) {
    return OrderedJson::parse(R"({"oneOf": [{"type": "array", "items": {"type": "number"}},
      {"type": "object", "patternProperties": {"^[0-9]+$": {"type": "number"}}, "additionalProperties": false}]})");
  };
  const auto form = MakeForm<T>(write, read, schema);
  form->is_optional = true;
  return Named("losses/byRank",
               "Seconds of every rank of the phase, or of those that have any by their numbers; absent where no rank "
               "has any. Costs of a rank are the waits of others that it caused, summed over those",
               form);
}

// Threads of every rank.
using ThreadsByRank = std::vector<std::vector<std::int32_t>>;

ThreadsByRank ThreadsOf(const LossRecord& losses) {
  ThreadsByRank threads;
  for (const Location& location : losses.locations) {
    if (location.thread == 0) threads.emplace_back();
    threads.back().push_back(location.thread);
  }
  return threads;
}

// The location of every thread of the run, so that all numbers of the record name one.
void SetThreads(LossRecord& losses, const ThreadsByRank& threads, const JsonPlace& at) {
  std::int32_t rank = 0;
  for (const std::vector<std::int32_t>& of_rank : threads) {
    for (const std::int32_t thread : of_rank) losses.locations.push_back({rank, thread});
    ++rank;
  }
  const bool is_known =
      std::ranges::all_of(losses.ranks, [&](std::size_t known) { return known < losses.locations.size(); });
  if (losses.locations.size() != losses.run_ranks || !is_known) at.Fail("are not the threads of the phase");
}

}  // namespace

std::vector<std::pair<ShapeOverRanks, std::string>> NamesOf(Described<ShapeOverRanks>) {
  return FirstNames<ShapeOverRanks>(kShapesOverRanks, [](ShapeOverRanks shape) { return IdOf(shape); });
}

std::vector<std::pair<ShapeOverTime, std::string>> NamesOf(Described<ShapeOverTime>) {
  return FirstNames<ShapeOverTime>(kShapesOverTime, [](ShapeOverTime shape) { return IdOf(shape); });
}

std::vector<std::pair<GridSource, std::string>> NamesOf(Described<GridSource>) {
  return FirstNames<GridSource>(std::size(kGridSources), [](GridSource source) { return ToString(source); });
}

std::vector<std::pair<DelayRules, std::string>> NamesOf(Described<DelayRules>) {
  return FirstNames<DelayRules>(3, [](DelayRules rules) { return ToString(rules); });
}

template <>
Form<ByWaitKind> FormOf<ByWaitKind>() {
  const auto index = [](const WaitKindName& kind) { return static_cast<std::size_t>(kind.kind); };
  std::vector<std::string> ids;
  for (const WaitKindName& kind : WaitKindNames()) ids.emplace_back(kind.id);
  static const auto form =
      Named("losses/byKind", "Seconds by kind of wait state, summed over ranks; kinds that do not occur are left out",
            Via<ByWaitKind, Dictionary<double>>(
                [index](const ByWaitKind& values) {
                  Dictionary<double> some;
                  for (const WaitKindName& kind : WaitKindNames()) {
                    if (values[index(kind)] != 0) some.emplace_back(kind.id, values[index(kind)]);
                  }
                  return some;
                },
                [index](const Dictionary<double>& some) {
                  ByWaitKind values{};
                  for (const auto& [id, value] : some) {
                    values[index(*std::ranges::find(WaitKindNames(), id, &WaitKindName::id))] = value;
                  }
                  return values;
                },
                Keyed<double>(ids)));
  return form;
}

namespace {

Fields<LoadShape> ShapeFields(std::function<std::string(const JsonPlace&)> remedy) {
  using T = LoadShape;
  const auto has_ranks = [](const T& shape) { return shape.count > 0; };
  const auto has_parts = [](const T& shape) {
    return shape.static_part + shape.drifting_part + shape.alternating_part > 0;
  };
  return {
      "losses/shape",
      "How a load is spread over ranks and over iterations",
      {
          Properties<&T::over_ranks, &T::over_time>(),
          Property<&T::imbalance>("Share, of the sums over all iterations"),
          Properties<&T::imbalance_in_iteration, &T::spread>(),
          Property<&T::imbalance_in_step>(
              "The same of the computation between two calls, where ranks make equally many such steps; of all "
              "computation"),
          Property<&T::count>("Ranks that are overloaded or underloaded, or of the group with more").When(has_ranks),
          Property<&T::ranks>().When(has_ranks),
          Property<&T::level>("Their load over that of the others").When(has_ranks),
          Property<&T::clearness>().When(has_ranks),
          Field("static", &T::static_part).When(has_parts),
          Field("drifting", &T::drifting_part).When(has_parts),
          Field("alternating", &T::alternating_part).When(has_parts),
          Property<&T::lasts>().UnlessDefault(),
          Field("heavyIterations", &T::heavy, "That recur on most ranks").UnlessDefault(),
          Computed<T>("remedy",
                      [remedy](const T&, const JsonPlace& at) {
                        const std::string text = remedy(at);
                        return text.empty() ? std::nullopt : std::optional(text);
                      }),
      }};
}

}  // namespace

Fields<HeavyIterations> FieldsOf(Described<HeavyIterations>) {
  using T = HeavyIterations;
  return {"losses/heavyIterations",
          {
              Property<&T::every>("Iterations"),
              Property<&T::first>("Counted from 0"),
              Property<&T::level>("Their mean load over that of the others"),
              Property<&T::share>("Beyond the others, of all load"),
          }};
}

Fields<ProcessGrid> FieldsOf(Described<ProcessGrid>) {
  using T = ProcessGrid;
  return Fields<T>{"losses/grid",
                   "On which the ranks are laid out, the last dimension changing fastest",
                   {
                       Properties<&T::extents, &T::periodic>(),
                       Field("diagonals", &T::has_diagonals),
                       Properties<&T::source, &T::explained>(),
                       Property<&T::places>(
                           "Which element of the grid each rank of the phase is, where the ranks are in another order")
                           .UnlessDefault(),
                   }}
      .After([](T& grid, const JsonPlace& at) {
        const bool in_place = std::ranges::all_of(grid.places, [&](std::size_t place) { return place < grid.size(); });
        if (!grid.places.empty() && (grid.places.size() != grid.size() || !in_place)) {
          at.Fail("has places outside of the grid");
        }
      });
}

Fields<GroupLoad> FieldsOf(Described<GroupLoad>) {
  using T = GroupLoad;
  return {"losses/group",
          {
              Properties<&T::name, &T::ranks>(),
              Property<&T::computation>("Seconds, summed over its ranks").AtLeast(0),
          }};
}

Fields<PathRecord> FieldsOf(Described<PathRecord>) {
  using T = PathRecord;
  using L = PathLosses;
  const auto raster = Via<LossRaster, RasterRows>(RowsOf, RasterOf);
  const auto shape = OptionalOf<LoadShape>(FormOfFields(ShapeFields(
      [](const JsonPlace& at) { return TextOf(RemedyForPath(at.Within<LossRecord>(), at.Within<PathRecord>())); })));
  const auto innermost =
      Via<T, std::string>([](const T& path) { return path.innermost.empty() ? path.path : path.innermost; },
                          [](T& path, std::string text) { path.innermost = std::move(text); });
  return Fields<T>{
      "losses/callPath",
      {
          Property<&T::path>("Regions from the outermost on, separated by \" / \""),
          Field<T>("innermost", innermost,
                   "The last of these regions; of an MPI call with the one around it. Not in older files")
              .OrMissing(),
          Property<&T::is_mpi>("Or, where threads are shown one by one, an OpenMP fork or barrier"),
          Property<&T::is_device_call>("The host calls or waits for its device: no computation").UnlessDefault(),
          Embed(&T::total, Fields<L>{Property<&L::visits>("Activities of all ranks"),
                                     Property<&L::time>("Seconds summed over ranks, waits included")}),
          Computed<T>(
              "execution", [](const T& path) { return path.total.Execution(); }, "The same without waits"),
          Embed(&T::total,
                Fields<L>{
                    Property<&L::waiting>(),
                    Property<&L::short_term>("Waits that it caused, by kind of the wait, in seconds summed over ranks"),
                    Property<&L::long_term>("Waits that those caused in turn, in seconds summed over ranks"),
                    Property<&L::exit_skew>("Waits for ranks that left it later than others, as far as nothing since "
                                            "explains them, and what those "
                                            "caused, "
                                            "in seconds summed over ranks")
                        .OrMissing()}),  // unattributed in older files
          Embed(
              &T::total,
              Fields<L>{
                  Property<&L::indirect>(
                      "Of its waits those that waits of late ranks caused, in seconds summed over ranks"),
                  Property<&L::propagating>("Of its waits those that make others wait, in seconds summed over ranks"),
                  Property<&L::caused>("Waiting elsewhere that its waits caused, in seconds summed over ranks"),
                  Property<&L::wrong_order>("Of its waits for senders those that another order of receiving would have "
                                            "avoided, in seconds summed "
                                            "over ranks"),
                  Field("wrongOrderSameSource", &L::wrong_order_same, "The same for messages of one rank"),
                  Property<&L::completion>("Of collectives, after the first rank left, in seconds summed over ranks"),
                  Field("criticalPath", &L::critical,
                        "Seconds on the critical path, which is on one rank at a time: not summed over ranks")}),
          Field("criticalPathImbalance", &T::imbalance, "How many of these seconds are above the average of all ranks"),
          Embed(&T::total, Fields<L>{Property<&L::nearly_critical>("Seconds summed over ranks, with little slack"),
                                     Field("impactWithin", &L::intra,
                                           "Waits of other ranks of the group while it is on the critical path, in "
                                           "seconds summed over ranks"),
                                     Field("impactBetween", &L::inter, "The same of ranks of other groups")}),
          Property<&T::slack>("The least of any of its activities that take time, in seconds; absent where none does"),
          Group("byRank",
                Fields<T>{
                    Property<&T::execution>(ByRank()),
                    Property<&T::waiting>(ByRank()),
                    Property<&T::costs>(ByRank()),
                    Field("criticalPath", &T::critical, ByRank()),
                }),
          Property<&T::shape>(shape),
          Field("costsByRankAndIteration", &T::raster, raster,
                "Rows of ranks of the run, columns of iterations, neighbours joined where there are many: seconds that "
                "others wait because of it, summed over those ranks")
              .When([](const T& path) { return !path.raster.cells.empty(); }),
      }}
      .After([](T& path, const JsonPlace& at) {
        if (path.innermost.empty()) path.innermost = path.path;
        const std::size_t ranks = at.Within<LossRecord>().ranks.size();
        for (auto* values : {&path.execution, &path.waiting, &path.costs, &path.critical}) values->resize(ranks);
      });
}

Fields<PathFactorLoss> FieldsOf(Described<PathFactorLoss>) {
  using T = PathFactorLoss;
  return {
      Properties<&T::path, &T::load_balance, &T::serialization>(),
  };
}

Fields<LossRecord> FieldsOf(Described<LossRecord>) {
  using T = LossRecord;
  const auto is_known = [](const T& losses) { return !losses.unknown_waits; };
  const auto shape = OptionalOf<LoadShape>(
      FormOfFields(ShapeFields([](const JsonPlace& at) { return TextOf(RemedyForAll(at.Within<LossRecord>())); })));
  return Fields<T>{
      "losses/phase",
      {
          Properties<&T::trace, &T::phase>(),
          Property<&T::cores>().AtLeast(1),
          Property<&T::repeat>().AtLeast(0),
          Property<&T::grown_from>(
              "Where nobody has made the run: cores of the largest run that it is grown from. Absent: measured")
              .AtLeast(1),
          Property<&T::iterations>().AtLeast(1),
          Property<&T::run_ranks>("Ranks of the run, or its threads where they are shown one by one").AtLeast(1),
          Property<&T::ranks>("Those in the phase"),
          Computed<T>(
              "groups", [](const T& losses) { return losses.GroupNames(); },
              "Names of the groups of ranks that do different work; empty: none are known"),
          Field("groupLoads", &T::groups, "These groups").UnlessDefault(),
          Property<&T::recurs>(
              "The occurrences of the phase lie apart: times are of them, but the critical path goes through what is "
              "between them, too"),
          Property<&T::length>("Seconds; of a phase that recurs the mean over ranks"),
          Property<&T::window>(
              "Seconds from the first begin of the phase to its last end: the length of the critical path"),
          Property<&T::allocation>("Seconds of the phase summed over ranks: the length times their number"),
          Property<&T::rules>("How waits are charged to delays"),
          Field<T>("threads", Via<T, ThreadsByRank>(ThreadsOf, SetThreads),
                   "Where threads are shown one by one: of every rank of the run the numbers of its threads, 0 is the "
                   "one whose events are those of the rank. Numbers of ranks here, but for losses by factor, are then "
                   "places in all of these lists one after the other")
              .AtLeast(0)
              .When([](const T& losses) { return !losses.locations.empty(); }),
          Property<&T::shape>(shape),
          Field("processGrid", &T::grid),
          Property<&T::individual_io>(
              "MPI calls on files by one rank alone, in seconds summed over ranks; absent without any")
              .When([](const T& losses) { return losses.individual_io > 0; }),
          Property<&T::collective_io>("The same of calls by all ranks of a file").When([](const T& losses) {
            return losses.collective_io > 0;
          }),
          Property<&T::device_calls>(),
          Field("waitsUnknown", &T::unknown_waits,
                "Instead of everything about waits: calls in which ranks may have waited, but the trace does not say "
                "for whom"),
          Properties<&T::waiting, &T::short_term, &T::long_term>().RequiredWhen(is_known),
          Property<&T::exit_skew>().When(is_known),
          Property<&T::unattributed>("Waits for which no cause is found, in seconds summed over ranks")
              .RequiredWhen(is_known),
          Field("notCharged", &T::lost,
                "Waits that the rules of Scalasca do not charge to anything, in seconds summed over ranks")
              .RequiredWhen(is_known),
          Property<&T::at_end>(
              "Waits at the end of the run, charged to nobody, in seconds summed over ranks; those at the end of any "
              "other phase are charged like others")
              .RequiredWhen(is_known),
          Property<&T::indirect>("Waits that waits of late ranks caused, in seconds summed over ranks")
              .RequiredWhen(is_known),
          Property<&T::propagating>("Waits that make others wait, in seconds summed over ranks").RequiredWhen(is_known),
          Property<&T::wrong_order>(
              "Waits for senders that another order of receiving would have avoided, in seconds summed over ranks")
              .RequiredWhen(is_known),
          Property<&T::late_complete>(
              "Of the early waits what lies after the last one-sided operation of the late rank, in seconds summed "
              "over ranks; absent without any")
              .When([](const T& losses) { return losses.late_complete > 0; }),
          Property<&T::causes>("Delays whose removal would gain anything to speak of, by what it gains")
              .When([](const T& losses) { return !losses.causes.empty(); }),
          Field("withoutLatency", &T::latency),
          Field("callPaths", &T::paths, "Those that cause most first; in results.json those that a report shows")
              .RequiredWhen(is_known),
          Property<&T::by_factor>(
              "Seconds of the length, not summed over ranks, that call paths take away by load balance and by "
              "serialization; negative where they make up for others")
              .When(is_known),
      }}
      .Schema(R"({"if": {"not": {"required": ["waitsUnknown"]}}, "then": {"required": ["waiting", "shortTerm",
        "longTerm", "unattributed", "notCharged", "atEnd", "indirect", "propagating", "wrongOrder", "callPaths"]}})");
}

namespace {

// A file of `farscale imbalance`.
Fields<Results> LossesFile() {
  using T = Results;
  return Fields<T>{"losses",
                   {
                       Field("phases", &T::losses, "Phase by phase, runs rising"),
                       Field("projections", &T::loss_projections),
                       Embed(&T::table,
                             Fields<FactorTable>{
                                 Field("diagnostics", &FactorTable::findings, "Warnings about the runs").OrMissing()}),
                   }}
      .File("farscale-losses", 1, 1, "record of losses");
}

}  // namespace

std::string WriteLossesJson(const std::vector<LossRecord>& records, const std::vector<LossProjection>& projections,
                            const std::vector<Finding>& warnings) {
  Results results;
  results.losses = records;
  results.loss_projections = projections;
  results.table.findings = warnings;
  return JsonOf(results, LossesFile()).dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

OrderedJson LossesSchema() { return SchemaOf(LossesFile(), "Where time is lost, written by farscale imbalance"); }

}  // namespace farscale
