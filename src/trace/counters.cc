#include "trace/counters.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace farscale {
namespace {

// Names under which the counters are commonly recorded (PAPI, perf, LIKWID), in lower case; the first found is taken.
const std::vector<std::string_view>& UsualNames(CounterMeaning meaning) {
  static const std::vector<std::string_view> instructions = {
      "papi_tot_ins",       "instructions",      "perf::instructions", "perf::perf_count_hw_instructions",
      "inst_retired:any_p", "instr_retired_any",
  };
  static const std::vector<std::string_view> cycles = {
      "papi_tot_cyc",
      "cycles",
      "cpu-cycles",
      "perf::cycles",
      "perf::perf_count_hw_cpu_cycles",
      "cpu_clk_unhalted:thread_p",
      "cpu_clk_unhalted_core",
  };
  static const std::vector<std::string_view> cpu_time = {
      "cpu_time",
      "task-clock",
      "perf::task-clock",
      "perf::perf_count_sw_task_clock",
      "perf_count_sw_task_clock",
      "cpu-clock",
      "perf::cpu-clock",
      "perf::perf_count_sw_cpu_clock",
      "perf_count_sw_cpu_clock",
  };
  switch (meaning) {
    case CounterMeaning::kInstructions: return instructions;
    case CounterMeaning::kCycles: return cycles;
    case CounterMeaning::kCpuTime: break;
  }
  return cpu_time;
}

const std::string& Wanted(CounterMeaning meaning, const CounterNames& names) {
  switch (meaning) {
    case CounterMeaning::kInstructions: return names.instructions;
    case CounterMeaning::kCycles: return names.cycles;
    case CounterMeaning::kCpuTime: break;
  }
  return names.cpu_time;
}

struct TimeUnit {
  std::string_view name;
  double per_second;
};

constexpr std::array<TimeUnit, 17> kTimeUnits = {{
    {"s", 1},
    {"sec", 1},
    {"second", 1},
    {"seconds", 1},
    {"ms", 1e3},
    {"msec", 1e3},
    {"millisecond", 1e3},
    {"milliseconds", 1e3},
    {"us", 1e6},
    {"usec", 1e6},
    {"microsecond", 1e6},
    {"microseconds", 1e6},
    {"\u00b5s", 1e6},  // micro sign
    {"\u03bcs", 1e6},  // mu
    {"ns", 1e9},
    {"nsec", 1e9},
    {"nanoseconds", 1e9},
}};

}  // namespace

bool CounterSelection::Keeps(const std::string& name) const {
  return all || std::find(names.begin(), names.end(), name) != names.end();
}

std::optional<std::size_t> ChooseCounter(const Trace& trace, CounterMeaning meaning, const CounterNames& names) {
  const std::string& wanted = Wanted(meaning, names);
  if (!wanted.empty()) {
    const auto found = trace.FindCounter(wanted);
    if (found) return found;
    throw Error(ErrorKind::kUsage, trace.path, "no counter '" + wanted + "' in this trace", ListCounters(trace));
  }
  for (const std::string_view name : UsualNames(meaning)) {
    for (std::size_t i = 0; i < trace.counters.size(); ++i) {
      if (ToLower(trace.counters[i].name) == name) return i;
    }
  }
  return std::nullopt;
}

bool IsNameOfCpuTime(const std::string& name) {
  const std::vector<std::string_view>& usual = UsualNames(CounterMeaning::kCpuTime);
  return std::find(usual.begin(), usual.end(), ToLower(name)) != usual.end();
}

std::string ToString(CounterMeaning meaning) {
  switch (meaning) {
    case CounterMeaning::kInstructions: return "instructions";
    case CounterMeaning::kCycles: return "cycles";
    case CounterMeaning::kCpuTime: break;
  }
  return "CPU time";
}

double CountsPerSecond(const Counter& counter) {
  const std::string unit = ToLower(Trim(counter.unit));
  const auto found =
      std::find_if(kTimeUnits.begin(), kTimeUnits.end(), [&](const TimeUnit& u) { return u.name == unit; });
  const double per_second = found == kTimeUnits.end() ? 1e9 : found->per_second;
  return per_second / counter.scale;
}

std::string ListCounters(const Trace& trace) {
  std::vector<std::string> names;
  for (const Counter& counter : trace.counters) names.push_back(counter.name);
  return names.empty() ? "it has no counters" : "it has " + Join(names, ", ");
}

}  // namespace farscale
