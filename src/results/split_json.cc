#include "results/fields.h"
#include "results/projection_files.h"

namespace farscale {
namespace {

// A file of `farscale predict --split`.
struct SplitsFile {
  std::int64_t cores = 1;
  std::vector<ThreadSplits> phases;
  std::vector<Finding> findings;
};

}  // namespace

template <>
Fields<SplitValue> FieldsOf<SplitValue>() {
  using T = SplitValue;
  return {"splits/value", {Field("value", &T::value).AtLeast(0), Field("interval80", &T::interval80)}};
}

template <>
Fields<ThreadSplit> FieldsOf<ThreadSplit>() {
  using T = ThreadSplit;
  return {"splits/split",
          {
              Field("processes", &T::processes).AtLeast(1),
              Field("threads", &T::threads, "Of a process").AtLeast(1),
              Field("processesRatio", &T::processes_ratio, "Over the most processes that were run").Above(0),
              Field("threadsRatio", &T::threads_ratio, "Over the most threads that were run").Above(0),
              Field("isRun", &T::is_run, "Both numbers were run"),
              Field("parallelEfficiency", &T::efficiency),
              Field("reliability", &T::reliability),
              Field("timeOverBest", &T::time, "Of an iteration, over that of the best split"),
              Field("speedup", &T::speedup, "Over the reference"),
              Field("secondsPerIteration", &T::seconds),
              Field("limit", &T::limit, "The smallest of the parts of parallel efficiency and computation scalability"),
              Field("mayBeBest", &T::may_be_best, "The interval of timeOverBest contains 1"),
          }};
}

template <>
Fields<ThreadGain> FieldsOf<ThreadGain>() {
  using T = ThreadGain;
  return {"splits/gain",
          {
              Field("processes", &T::processes).AtLeast(1),
              Field("from", &T::from, "Threads of a process").AtLeast(1),
              Field("to", &T::to, "Threads of a process").AtLeast(2),
              Field("speedup", &T::speedup, "Of the latter over the former"),
          }};
}

template <>
Fields<ThreadSplits> FieldsOf<ThreadSplits>() {
  using T = ThreadSplits;
  return {"splits/phase",
          {
              Field("series", &T::series),
              Embed(&T::phase),
              Field("splits", &T::splits, "By rising threads"),
              Field("best", &T::best, "Which of the splits, from 0, takes the shortest time"),
              Field("moreThreads", &T::gain, "Twice the most threads, on the most processes that were run"),
              Field("obstacle", &T::obstacle, "Why there are no splits").UnlessDefault(),
          }};
}

template <>
Fields<SplitsOfCores> FieldsOf<SplitsOfCores>() {
  using T = SplitsOfCores;
  return {"results/splitsOfCores",
          {
              Field("cores", &T::cores, "That are divided").AtLeast(1),
              Field("phases", &T::phases),
          }};
}

template <>
Fields<SplitsFile> FieldsOf<SplitsFile>() {
  using T = SplitsFile;
  return Fields<T>{"splits",
                   {
                       Field("cores", &T::cores, "That are divided").AtLeast(1),
                       Field("phases", &T::phases),
                       Field("diagnostics", &T::findings, "Anomalies of the table"),
                   }}
      .File("farscale-splits", 1, 1, "splits of cores");
}

std::string WriteSplitsJson(std::int64_t cores, const std::vector<ThreadSplits>& phases,
                            const std::vector<Finding>& findings) {
  return JsonOf(SplitsFile{cores, phases, findings}).dump(2) + "\n";
}

OrderedJson SplitsSchema() { return SchemaOf<SplitsFile>("Splits of cores into processes and threads by farscale"); }

}  // namespace farscale
