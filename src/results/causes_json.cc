#include "results/losses_json.h"

#include <algorithm>

#include "imbalance/loss_record.h"
#include "results/cause_text.h"
#include "results/results.h"

namespace farscale {

template <>
std::vector<std::pair<CausePlace, std::string>> NamesOf<CausePlace>() {
  return FirstNames<CausePlace>(kCausePlaces, [](CausePlace place) { return IdOf(place); });
}

template <>
std::vector<std::pair<CauseClass, std::string>> NamesOf<CauseClass>() {
  return FirstNames<CauseClass>(kCauseClasses, [](CauseClass reason) { return IdOf(reason); });
}

template <>
std::vector<std::pair<WaitKind, std::string>> NamesOf<WaitKind>() {
  return FirstNames<WaitKind>(
      kWaitKinds, [](WaitKind kind) { return std::ranges::find(WaitKindNames(), kind, &WaitKindName::kind)->id; });
}

template <>
Fields<CausePart> FieldsOf<CausePart>() {
  using T = CausePart;
  return {
      Field("class", &T::reason),
      Field("share", &T::share),
  };
}

template <>
Fields<WaitInstance> FieldsOf<WaitInstance>() {
  using T = WaitInstance;
  return {"losses/waitInstance",
          "Times are seconds since the begin of the trace",
          {
              Field("begin", &T::begin, "The first rank waits"),
              Field("end", &T::end, "The late rank enters its call"),
              Field("delay", &T::delay, "Since when the late rank does what makes it late"),
              Field("rank", &T::rank, "The late one"),
              Field("call", &T::call, "Of the late rank"),
              Field("kind", &T::kind),
              Field("waiting", &T::waiting, "Ranks that wait, longest first; the first ones"),
              Field("waitingCount", &T::waiting_count),
              Field("seconds", &T::seconds, "Waiting, summed over these ranks"),
          }};
}

template <>
Fields<GridLine> FieldsOf<GridLine>() {
  using T = GridLine;
  return {
      Field("dimension", &T::dimension, "From 0; the last one changes fastest"),
      Field("coordinate", &T::coordinate, "From 0"),
      Field("dimensions", &T::dimensions, "Of the grid"),
  };
}

template <>
Fields<DeviceCalls> FieldsOf<DeviceCalls>() {
  using T = DeviceCalls;
  return {"losses/deviceCalls",
          "Time of hosts in calls to the runtimes of their devices, waiting for them or starting their work; absent "
          "without any",
          {
              Field("time", &T::time, "Seconds summed over ranks").AtLeast(0),
              Field("largest", &T::largest, "The function that takes most of it"),
              Field("ofLargest", &T::of_largest, "What that takes").AtLeast(0),
              Field("costs", &T::costs, "Waits of other ranks that these calls cause, in seconds summed over ranks")
                  .AtLeast(0)
                  .UnlessDefault(),
          }};
}

template <>
Fields<LatencyGain> FieldsOf<LatencyGain>() {
  using T = LatencyGain;
  return {"losses/latencyGain",
          "What the phase would gain without the latency of messages and collectives in one call path",
          {
              Field("path", &T::path),
              Field("gain", &T::gain, "Seconds of the phase, by a replay with every call as short as the shortest"),
              Field("mean", &T::mean, "Seconds of a call, waits apart"),
              Field("least", &T::least, "Of the shortest"),
          }};
}

template <>
Fields<Cause> FieldsOf<Cause>() {
  using T = Cause;
  const auto text = [](auto describe) {
    return [describe](const T& cause, const JsonPlace& at) -> std::optional<std::string> {
      const std::string sentence = describe(cause, at.Within<LossRecord>());
      return sentence.empty() ? std::nullopt : std::optional(sentence);
    };
  };
  return {"losses/cause",
          "A delay, and what the phase would gain without it",
          {
              Computed<T>("description", text(DescribePlace)),
              Computed<T>("remedy", text(RemedyOf)),
              Field("place", &T::place),
              Field("inEverything", &T::in_everything, "In all computation; else in one call path"),
              Field("path", &T::path).When([](const T& cause) { return !cause.path.empty(); }),
              Field("innermost", &T::innermost).When([](const T& cause) { return !cause.path.empty(); }),
              Field("isMpi", &T::is_mpi, "Time in an MPI call beyond its waiting"),
              Field("isDeviceCall", &T::is_device_call,
                    "Time in calls to devices, which is no computation; of all such calls where there is no path")
                  .UnlessDefault(),
              Field("ranks", &T::ranks, "Those with most first; the first ones"),
              Field("rankCount", &T::rank_count),
              Field("node", &T::node).When([](const T& cause) { return !cause.node.empty(); }),
              Field("group", &T::group, "Of ranks that do different work, where it has these ranks and no others")
                  .UnlessDefault(),
              Field("socket", &T::socket, "Of the node, from 0"),
              Field("gridLine", &T::line, "All ranks with this coordinate of the process grid"),
              Field("level", &T::level, "Time there over that elsewhere; absent where others have none"),
              Field("from", &T::from, "Seconds since the begin of the trace"),
              Field("until", &T::until),
              Field("every", &T::every, "Iterations, of a periodic one").UnlessDefault(),
              Field("affected", &T::affected, "Iterations, visits or steps with it"),
              Field("columns", &T::columns, "All of them"),
              Field("classes", &T::parts, "What it consists of, largest share first"),
              Field("gain", &T::gain,
                    "Seconds of the phase, by a replay without this delay alone; spread over all ranks where others "
                    "have none of that work"),
              Field("gainLast", &T::gain_last, "The same when all other causes are gone already"),
              Field("next", &T::next, "The next bottleneck once this is gone: a place in this list, from 0"),
              Field("nextGain", &T::next_gain).When([](const T& cause) { return cause.next.has_value(); }),
              Field("together", &T::together,
                    "Where it gains next to nothing alone: with which others, places in this list, from 0")
                  .UnlessDefault(),
              Field("jointGain", &T::joint_gain, "Of all these together").UnlessDefault(),
              Field("worst", &T::worst),
              Field("beyondUsual", &T::beyond, Via<LossRaster, RasterRows>(RowsOf, RasterOf),
                    "Seconds of one rank beyond the usual: rows of ranks, columns of iterations, visits or steps; "
                    "where several share a cell, the largest")
                  .When([](const T& cause) { return !cause.beyond.cells.empty(); }),
          }};
}

}  // namespace farscale
