// What a what-if is asked, case by case: how a problem would run on so many processors. Which outcomes answer it, and
// which of them vary one thing alone. No words.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "balance/what_if.h"

namespace farscale {

struct BalanceCase {
  std::optional<std::size_t> run;  // whose ranks are the tasks; nothing where all runs solve the same problem
  std::size_t processors = 0;
  std::vector<std::size_t> outcomes;    // indices into WhatIf::outcomes, in their order
  std::vector<std::size_t> ranking;     // those with balancing, best first
  std::optional<std::size_t> robust;    // the best of them by the worst tenth of the replicas
  std::optional<std::size_t> original;  // one task a processor and no balancing
};

// By run, then processors. Every outcome is in one of them.
std::vector<BalanceCase> CasesOf(const WhatIf& what_if);

// Whether an outcome is without balancing: what others are compared with.
bool IsUnbalanced(const BalanceOutcome& outcome);

// What counts: the gain over the original run, where that is known, else over the same without balancing.
const Gain& GainThatCounts(const BalanceOutcome& outcome);
// Seconds of what that gain is over.
double MakespanComparedWith(const WhatIf& what_if, const BalanceCase& one, const BalanceOutcome& outcome);

// Time spent on balancing itself.
double CostsOfBalancing(const MakespanParts& parts);

enum class BalanceVerdict {
  kNothingBalanced,  // no outcome with balancing
  kGains,            // more than noise, where that is known, and than half a percent
  kWithinNoise,      // the replicas do not agree that it gains or loses
  kHardlyAnything,   // less than half a percent either way
  kCosts             // the best one is slower
};
BalanceVerdict VerdictOf(const WhatIf& what_if, const BalanceCase& one);

// The case in which balancing brings most; the first where none is balanced. There must be one.
const BalanceCase& MostTelling(const WhatIf& what_if, const std::vector<BalanceCase>& cases);

// What one thing that varies does to the makespan.
enum class BalanceAxis { kInterval, kLevel, kProcessors };

struct SweepPoint {
  double x = 0;  // iterations, tasks a processor, or processors
  std::size_t outcome = 0;
};

struct SweepLine {
  std::string strategy;            // id
  std::vector<SweepPoint> points;  // by x
};

// Around the best outcome of a case everything else is held: one line a strategy, the unbalanced last. Over intervals
// that is the same value everywhere. Empty where there is no best, or only one value of x.
std::vector<SweepLine> SweepOver(const WhatIf& what_if, const BalanceCase& one, BalanceAxis axis);

// The original run, the tasks of the best outcome without balancing, where that is something else, and the best outcome
// of every strategy, best first. Where nothing is balanced, all there is.
std::vector<std::size_t> BestOfStrategies(const WhatIf& what_if, const BalanceCase& one);

}  // namespace farscale
