// Names of strategies, configurations and cases, and gains as texts.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "balance/what_if.h"
#include "planning/balance_cases.h"

namespace farscale {

// Chosen: below this share of a makespan a reader has nothing to act on.
inline constexpr double kMatters = 0.01;

// "as measured", "in blocks" or "round robin".
std::string NameOfPlacement(Placement placement);
// "256 tasks on 16 processors".
std::string TasksOn(const BalanceConfiguration& configuration);
// The same with where tasks lie at first, where a case has several ways: "no balancing, placed round robin".
std::string NameInCase(const WhatIf& what_if, const BalanceCase& one, const BalanceConfiguration& configuration);
// "RefineLB every 20 iterations with 64 tasks", or "... with 64 tasks placed in blocks".
std::string NameWithTasks(const WhatIf& what_if, const BalanceCase& one, const BalanceConfiguration& configuration);
// "64", or "64, grown" of a run that nobody has made.
std::string RanksOf(const BalanceRun& run);
// "64 tasks", or "64 tasks (grown)" of a run that nobody has made.
std::string CountOfTasks(const BalanceConfiguration& configuration);
// "64 tasks".
std::string CountOf(std::size_t count, const std::string& one);
// "RefineLB every 20 iterations, 4 a processor": in legends, among others on as many processors.
std::string ShortName(const BalanceConfiguration& configuration);
// "16 processors", and of which run where the runs do not solve the same problem.
std::string NameOfCase(const WhatIf& what_if, const BalanceCase& one);

// "21.2 % less", "2.0 % more" or "no change".
std::string SayGain(double gain);
// The same with the 80 % of the replicas, where there are any: not every configuration has some.
bool HasInterval(const Gain& gain);
std::string SayGain(const Gain& gain);
// Of a makespan over that of what it is compared with: "no more and no less", too.
std::string SayChange(double makespan, double reference);
// For tables: "18.0–23.1 %", or nothing.
std::string GainInterval(const Gain& gain);

// Bytes that are no integer, or more than one holds.
std::string SayBytes(double bytes);

// The parts of a makespan by name, in the order of MakespanParts, but what is to be done first and what it costs last.
struct NamedPart {
  std::string name;
  double seconds = 0;
  int color = 0;  // of the palette
};
std::vector<NamedPart> PartsOf(const MakespanParts& parts);

// What keeps a configuration from perfect balance without communication: the largest part of the makespan that is not
// computation; nothing where it would not show.
std::optional<NamedPart> LimitOf(const BalanceOutcome& outcome);

}  // namespace farscale
