// Meaning of counters: the names under which instructions, cycles and CPU time are recorded.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"

namespace farscale {

struct Counter;
struct Trace;

enum class CounterMeaning { kInstructions, kCycles, kCpuTime };

// Which counters of a trace mean what; names as recorded. Without a name, the usual ones are tried (PAPI_TOT_INS,
// PAPI_TOT_CYC, CPU_TIME, task-clock, ...).
struct CounterNames {
  std::string instructions;
  std::string cycles;
  std::string cpu_time;
};

// Index of the counter with this meaning; nothing when no name is given and no usual one is there. Throws a usage
// error that lists the counters when the name given is not in the trace.
std::optional<std::size_t> ChooseCounter(const Trace& trace, CounterMeaning meaning, const CounterNames& names);

// "cycles", "instructions", "CPU time".
std::string ToString(CounterMeaning meaning);

// True if it is among those tried.
bool IsUsualCounterName(const std::string& name);

// True if a counter of this name is CPU time, by the usual names.
bool IsNameOfCpuTime(const std::string& name);

// Counts of a CPU time counter in one second, by its unit and scale. Nanoseconds where the unit is none of
// time: clocks of PAPI and perf are recorded so, with "#" as unit.
double CountsPerSecond(const Counter& counter);

// Notices usual counters that are defined as levels, and names that are one flipped bit away from a usual one.
void CheckCounterName(const Counter& counter, Diagnostics& diagnostics);

// "it has PAPI_TOT_CYC, PAPI_TOT_INS" or "it has no counters": advice for whoever named another.
std::string ListCounters(const Trace& trace);

}  // namespace farscale
