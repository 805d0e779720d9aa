#include "trace/counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <span>
#include <string_view>

#include "base/text.h"
#include "trace/anomalies.h"
#include "trace/trace.h"

namespace farscale {
namespace {

// Names under which the counters are commonly recorded (PAPI, perf, LIKWID), in lower case; the first found is taken.
constexpr std::string_view kInstructionNames[] = {"papi_tot_ins",       "instructions",
                                                  "perf::instructions", "perf::perf_count_hw_instructions",
                                                  "inst_retired:any_p", "instr_retired_any"};
constexpr std::string_view kCycleNames[] = {"papi_tot_cyc",
                                            "cycles",
                                            "cpu-cycles",
                                            "perf::cycles",
                                            "perf::perf_count_hw_cpu_cycles",
                                            "cpu_clk_unhalted:thread_p",
                                            "cpu_clk_unhalted_core"};
constexpr std::string_view kCpuTimeNames[] = {"cpu_time",
                                              "task-clock",
                                              "perf::task-clock",
                                              "perf::perf_count_sw_task_clock",
                                              "perf_count_sw_task_clock",
                                              "cpu-clock",
                                              "perf::cpu-clock",
                                              "perf::perf_count_sw_cpu_clock",
                                              "perf_count_sw_cpu_clock"};

struct Meaning {
  const char* name;
  std::span<const std::string_view> usual;
  std::string CounterNames::*wanted;
};
// Indexed by CounterMeaning.
constexpr Meaning kMeanings[] = {{"instructions", kInstructionNames, &CounterNames::instructions},
                                 {"cycles", kCycleNames, &CounterNames::cycles},
                                 {"CPU time", kCpuTimeNames, &CounterNames::cpu_time}};

}  // namespace

std::optional<std::size_t> ChooseCounter(const Trace& trace, CounterMeaning meaning, const CounterNames& names) {
  const Meaning& described = kMeanings[static_cast<std::size_t>(meaning)];
  const std::string& wanted = names.*described.wanted;
  if (!wanted.empty()) {
    const auto found = trace.FindCounter(wanted);
    if (found) return found;
    throw Error(ErrorKind::kUsage, trace.path, "no counter '" + wanted + "' in this trace", ListCounters(trace));
  }
  for (const std::string_view name : described.usual) {
    for (std::size_t i = 0; i < trace.counters.size(); ++i) {
      if (ToLower(trace.counters[i].name) == name) return i;
    }
  }
  return std::nullopt;
}

bool IsUsualCounterName(const std::string& name) {
  const auto has_name = [&](const Meaning& meaning) {
    return std::ranges::find(meaning.usual, ToLower(name)) != meaning.usual.end();
  };
  return std::ranges::any_of(kMeanings, has_name);
}

bool IsNameOfCpuTime(const std::string& name) {
  return std::ranges::find(kCpuTimeNames, ToLower(name)) != std::end(kCpuTimeNames);
}

std::string ToString(CounterMeaning meaning) { return kMeanings[static_cast<std::size_t>(meaning)].name; }

double CountsPerSecond(const Counter& counter) {
  const std::string unit = ToLower(Trim(counter.unit));
  const auto is_one_of = [&](std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, unit) != names.end();
  };
  double per_second = 1e9;
  if (is_one_of({"s", "sec", "second", "seconds"})) per_second = 1;
  if (is_one_of({"ms", "msec", "millisecond", "milliseconds"})) per_second = 1e3;
  // The last two have a micro sign and a mu.
  if (is_one_of({"us", "usec", "microsecond", "microseconds", "\u00b5s", "\u03bcs"})) per_second = 1e6;
  return per_second / counter.scale;
}

void CheckCounterName(const Counter& counter, Diagnostics& diagnostics) {
  const auto bits_off = [&](std::string_view usual) {
    int sum = 0;
    for (std::size_t i = 0; i < usual.size(); ++i) {
      const int any_case = usual[i] >= 'a' && usual[i] <= 'z' ? 0xdf : 0xff;
      sum += std::popcount(static_cast<unsigned char>((counter.name[i] ^ usual[i]) & any_case));
    }
    return sum;
  };
  for (const Meaning& meaning : kMeanings) {
    for (const std::string_view usual : meaning.usual) {
      if (counter.name.size() != usual.size()) continue;
      const int off = bits_off(usual);
      if (off == 0 && !counter.accumulates) {
        diagnostics.Add(anomaly::kCounterUnclear, 1, fmt::format("'{}' is defined as a level", counter.name));
      }
      if (off == 1) {
        diagnostics.Add(anomaly::kCounterUnclear, 1, fmt::format("'{}', not '{}'", counter.name, usual));
      }
    }
  }
}

std::string ListCounters(const Trace& trace) {
  std::vector<std::string> names;
  for (const Counter& counter : trace.counters) names.push_back(counter.name);
  return names.empty() ? "it has no counters" : "it has " + Join(names, ", ");
}

}  // namespace farscale
