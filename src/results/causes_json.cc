#include "results/json_fields.h"

#include <algorithm>

#include "results/cause_text.h"

namespace farscale {

std::vector<std::pair<CausePlace, std::string>> NamesOf(Described<CausePlace>) {
  return FirstNames<CausePlace>(kCausePlaces, [](CausePlace place) { return IdOf(place); });
}

std::vector<std::pair<CauseClass, std::string>> NamesOf(Described<CauseClass>) {
  return FirstNames<CauseClass>(kCauseClasses, [](CauseClass reason) { return IdOf(reason); });
}

std::vector<std::pair<WaitKind, std::string>> NamesOf(Described<WaitKind>) {
  return FirstNames<WaitKind>(
      kWaitKinds, [](WaitKind kind) { return std::ranges::find(WaitKindNames(), kind, &WaitKindName::kind)->id; });
}

Fields<WaitInstance> FieldsOf(Described<WaitInstance>) {
  using T = WaitInstance;
  return {"losses/waitInstance",
          "Times are seconds since the begin of the trace",
          {
              Property<&T::begin>("The first rank waits"),
              Property<&T::end>("The late rank enters its call"),
              Property<&T::delay>("Since when the late rank does what makes it late"),
              Property<&T::rank>("The late one"),
              Property<&T::call>("Of the late rank"),
              Property<&T::kind>(),
              Property<&T::waiting>("Ranks that wait, longest first; the first ones"),
              Property<&T::waiting_count>(),
              Property<&T::seconds>("Waiting, summed over these ranks"),
          }};
}

Fields<GridLine> FieldsOf(Described<GridLine>) {
  using T = GridLine;
  return {
      Property<&T::dimension>("From 0; the last one changes fastest"),
      Property<&T::coordinate>("From 0"),
      Property<&T::dimensions>("Of the grid"),
  };
}

Fields<DeviceCalls> FieldsOf(Described<DeviceCalls>) {
  using T = DeviceCalls;
  return {"losses/deviceCalls",
          "Time of hosts in calls to the runtimes of their devices, waiting for them or starting their work; absent "
          "without any",
          {
              Property<&T::time>("Seconds summed over ranks").AtLeast(0),
              Property<&T::largest>("The function that takes most of it"),
              Property<&T::of_largest>("What that takes").AtLeast(0),
              Property<&T::costs>("Waits of other ranks that these calls cause, in seconds summed over ranks")
                  .AtLeast(0)
                  .UnlessDefault(),
          }};
}

Fields<LatencyGain> FieldsOf(Described<LatencyGain>) {
  using T = LatencyGain;
  return {"losses/latencyGain",
          "What the phase would gain without the latency of messages and collectives in one call path",
          {
              Property<&T::path>(),
              Property<&T::gain>("Seconds of the phase, by a replay with every call as short as the shortest"),
              Property<&T::mean>("Seconds of a call, waits apart"),
              Property<&T::least>("Of the shortest"),
          }};
}

Fields<Cause> FieldsOf(Described<Cause>) {
  using T = Cause;
  const auto text = [](auto describe) {
    return [describe](const T& cause, const JsonPlace& at) -> std::optional<std::string> {
      const std::string sentence = describe(cause, at.Within<LossRecord>());
      return sentence.empty() ? std::nullopt : std::optional(sentence);
    };
  };
  return {
      "losses/cause",
      "A delay, and what the phase would gain without it",
      {
          Computed<T>("description", text(DescribePlace)),
          Computed<T>("remedy", text(RemedyOf)),
          Property<&T::place>(),
          Property<&T::in_everything>("In all computation; else in one call path"),
          Property<&T::path>().When([](const T& cause) { return !cause.path.empty(); }),
          Property<&T::innermost>().When([](const T& cause) { return !cause.path.empty(); }),
          Property<&T::is_mpi>("Time in an MPI call beyond its waiting"),
          Property<&T::is_device_call>(
              "Time in calls to devices, which is no computation; of all such calls where there is no path")
              .UnlessDefault(),
          Property<&T::ranks>("Those with most first; the first ones"),
          Property<&T::rank_count>(),
          Property<&T::node>().When([](const T& cause) { return !cause.node.empty(); }),
          Property<&T::group>("Of ranks that do different work, where it has these ranks and no others")
              .UnlessDefault(),
          Property<&T::socket>("Of the node, from 0"),
          Field("gridLine", &T::line, "All ranks with this coordinate of the process grid"),
          Property<&T::level>("Time there over that elsewhere; absent where others have none"),
          Property<&T::from>("Seconds since the begin of the trace"),
          Property<&T::until>(),
          Property<&T::every>("Iterations, of a periodic one").UnlessDefault(),
          Property<&T::affected>("Iterations, visits or steps with it"),
          Property<&T::columns>("All of them"),
          Field("classes", &T::parts,
                ListOf<CausePart>(FormOfFields(
                    Fields<CausePart>{Field("class", &CausePart::first), Field("share", &CausePart::second)})),
                "What it consists of, largest share first"),
          Property<&T::gain>(
              "Seconds of the phase, by a replay without this delay alone; spread over all ranks where others "
              "have none of that work"),
          Property<&T::gain_last>("The same when all other causes are gone already"),
          Property<&T::next>("The next bottleneck once this is gone: a place in this list, from 0"),
          Property<&T::next_gain>().When([](const T& cause) { return cause.next.has_value(); }),
          Property<&T::together>("Where it gains next to nothing alone: with which others, places in this list, from 0")
              .UnlessDefault(),
          Property<&T::joint_gain>("Of all these together").UnlessDefault(),
          Property<&T::worst>(),
          Field("beyondUsual", &T::beyond, Via<LossRaster, RasterRows>(RowsOf, RasterOf),
                "Seconds of one rank beyond the usual: rows of ranks, columns of iterations, visits or steps; "
                "where several share a cell, the largest")
              .When([](const T& cause) { return !cause.beyond.cells.empty(); }),
      }};
}

}  // namespace farscale
