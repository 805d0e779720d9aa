// The questions to a what-if, case by case: how a problem would run on so many processors. Which outcomes answer it,
// and which of them vary one thing alone. No words.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "balance/what_if.h"
#include "base/files.h"

namespace farscale {

struct BalanceCase {
  std::optional<std::size_t> run;  // whose ranks are the tasks; nothing where all runs solve the same problem
  std::size_t processors = 0;
  std::vector<std::size_t> outcomes;    // indices into WhatIf::outcomes, in their order
  std::vector<std::size_t> ranking;     // those with balancing, best in a long run first
  std::optional<std::size_t> robust;    // the best of them by the worst tenth of the replicas
  std::optional<std::size_t> original;  // one task a processor and no balancing
  // The outcome that stands for the case: the best with balancing, unless something without is as fast (finer, or
  // placed in another way), or the best with balancing moves nothing, so that what it gains is not of balancing.
  // Nothing where nothing is balanced.
  std::optional<std::size_t> lead;
};

// Cases by run, then processors. Every outcome is in one of them.
std::vector<BalanceCase> CasesOf(const WhatIf& what_if);

// True for an outcome without balancing, which others are compared with.
bool IsUnbalanced(const BalanceOutcome& outcome);

// The reference of an outcome of a case: the original run, where that is known, else the same tasks without
// balancing, placed in the first of the ways that were tried.
std::size_t ReferenceOf(const WhatIf& what_if, const BalanceCase& one, const BalanceOutcome& outcome);
// The gain over that in a run of production length; without balancing points that goes as the trace.
Gain GainThatCounts(const WhatIf& what_if, const BalanceCase& one, const BalanceOutcome& outcome);
// The same over the iterations of the trace.
Gain GainOverTrace(const WhatIf& what_if, const BalanceCase& one, const BalanceOutcome& outcome);

// Seconds of an iteration in a run of production length.
double LongRunIterationOf(const WhatIf& what_if, const BalanceOutcome& outcome);

// True if tasks of a case are placed in more ways than one, so that names have to say it.
bool HasSeveralPlacements(const WhatIf& what_if, const BalanceCase& one);

// The networks on which an outcome gains least and most, where that of the runs is unknown.
std::optional<std::pair<const NetworkGain*, const NetworkGain*>> NetworkRangeOf(const WhatIf& what_if,
                                                                                std::size_t outcome);

// Time spent on balancing itself.
double CostsOfBalancing(const MakespanParts& parts);

enum class BalanceVerdict {
  kNothingBalanced,  // no outcome with balancing
  kUnexplained,      // its run is unexplained
  kNothingMoved,     // the best one with balancing migrates nothing: whatever it gains is not of balancing
  kUnbalancedLeads,  // it does, but something without balancing is as fast
  kNetworkDecides,   // the best gains on some of the networks that stand for the unknown one, and not on others
  kGains,            // the best gains more than noise, where that is known, and than half a percent
  kWithinNoise,      // the replicas do not agree that it gains or loses
  kHardlyAnything,   // less than half a percent either way
  kCosts             // the best one is slower
};
BalanceVerdict VerdictOf(const WhatIf& what_if, const BalanceCase& one);

// The case in which most is gained; the first where none is balanced. There must be one.
const BalanceCase& MostTelling(const WhatIf& what_if, const std::vector<BalanceCase>& cases);

// Which cases are told in full, those in which most is gained; tables have all.
std::vector<bool> ChooseDetailed(const WhatIf& what_if, const std::vector<BalanceCase>& cases);

// The outcomes of a case in the order of tables: what it is told by, with balancing best first, without.
std::vector<std::size_t> RowsOf(const WhatIf& what_if, const BalanceCase& one);

// The effect on the makespan of one thing that varies.
enum class BalanceAxis { kInterval, kLevel, kProcessors };

// The id of a strategy, and outcomes by iterations, tasks a processor, or processors.
struct SweepLine {
  std::string strategy;
  std::multimap<double, std::size_t> points;
};

// Around the best outcome of a case everything else is held: one line a strategy, the unbalanced last. Over intervals
// that is the same value everywhere. Empty where there is no best, or only one value of x.
std::vector<SweepLine> SweepOver(const WhatIf& what_if, const BalanceCase& one, BalanceAxis axis);

// The original run, what leads without balancing, the tasks of the best outcome without balancing, where these are
// something else, and the best outcome of every strategy, best first. Where nothing is balanced, all there is.
std::vector<std::size_t> BestOfStrategies(const WhatIf& what_if, const BalanceCase& one);

// Files that place the ranks of a job on nodes, for those who start it.

// Chosen: below this share of the makespan a mapping is not worth an unusual job script.
inline constexpr double kWorthMapping = 0.02;

// The mapping of the largest run that gains most, if that is kWorthMapping or more; else null.
const NodeMapping* MappingWorthHaving(const WhatIf& what_if);

// Nodes are named by their place in the allocation of the job, from 0, as the names of the next job are not known:
//   rankfile.openmpi   mpirun --rankfile rankfile.openmpi, in a job of Slurm, PBS or the like: +n0 is its
//                      first node [mpirun(1), Rankfiles]
//   hosts.slurm        a script for the job: the name of a node for every rank, for SLURM_HOSTFILE and
//                      srun --distribution=arbitrary
//   hosts.mpich        a script for the job: lines name:ranks for mpiexec -f [Hydra]
//   MPICH_RANK_ORDER   ranks node by node, for MPICH_RANK_REORDER_METHOD=3 [Cray MPICH, intro_mpi(3)]
NamedTexts RankFiles(const NodeMapping& mapping);

}  // namespace farscale
