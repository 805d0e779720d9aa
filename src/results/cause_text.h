// Sentences on a cause of waiting, its remedy and its worst instance [docs/formulas.md, causes and
// gains].
#pragma once

#include <string>

#include "imbalance/loss_record.h"
#include "imbalance/loss_remedy.h"

namespace farscale {

// "rank 3 takes 25.0 % longer in main / solve"
std::string DescribePlace(const Cause& cause, const LossRecord& losses);

// "ranks 3, 7", or "64 ranks (3, 7, 9, 12, …)"
std::string NameRanks(const Cause& cause, const LossRecord& losses);

// "more work (98 %), lower IPC (2 %)"
std::string DescribeReasons(const Cause& cause);

// One or two sentences; empty where nothing is to be done.
std::string RemedyOf(const Cause& cause, const LossRecord& losses);

// "5.21 ms (17.1 % of the phase)"
std::string DescribeGain(double seconds, const LossRecord& losses);

// The same of a cause; with the others where it gains next to nothing alone, "5.21 ms (17.1 %) together with repair 2".
std::string DescribeGainOf(const Cause& cause, const LossRecord& losses);

// "then 1.2 ms: rank 5 takes 10.0 % longer in solve"; empty: nothing that gains as much follows.
std::string DescribeNext(const Cause& cause, const LossRecord& losses);

// The worst instance: "0.012300 s to 0.013000 s: 63 ranks wait (Wait at N×N) until rank 3 enters solve /
// MPI_Allreduce".
std::string DescribeWorst(const Cause& cause, const LossRecord& losses);

// The advice that a remedy stands for, for readers. Sources of the advice: docs/formulas.md, shapes of imbalance.

// One or two sentences; empty for none.
std::string TextOf(const Remedy& remedy);

}  // namespace farscale
