// The potential gain from dynamic load balancing in the runs of a study.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "balance/sweep.h"
#include "balance/what_if.h"
#include "base/diagnostics.h"
#include "base/parallel.h"
#include "factors/factor_table.h"
#include "phases/phase_cut.h"
#include "phases/phase_spec.h"
#include "replay/computation.h"
#include "replay/matching.h"
#include "replay/network.h"
#include "trace/trace.h"

namespace farscale {

class ModelLibrary;
struct BalancedProjection;
struct RunSpec;
struct Study;

// A run of a study, ready to be simulated with balancing.

inline constexpr double kLargestState = 1e15;  // bytes of a task; chosen: far above the memory of any machine

struct BalanceStudy {
  bool phase_is_given = false;         // the study's one phase was asked for: no other is looked for
  SweepOptions sweep;                  // without network and same_problem
  std::optional<std::string> network;  // name, file or "calibrated"; nothing: calibrated where possible, else ideal
  bool clean_computation = false;
  std::optional<ComputationSource> source;  // for clean computation; nothing: the best in the trace
  std::optional<double> task_bytes;         // the same for every task
  std::string task_bytes_file;              // a file with the bytes of every rank; empty: none
  std::optional<std::size_t> per_node;      // processors of a node; nothing: as many as the run has ranks on one
  std::vector<std::int64_t> grow_to;        // cores of runs that nobody has made, to be simulated besides the study's
};

// Parts refer to each other, so it stays where it is.
struct BalanceRunData {
  Trace trace;
  Matching matching;
  PhaseCut cut;
  SweepRun sweep;
  std::vector<std::int32_t> nodes;  // one a rank
  BalanceRun record;
  Diagnostics diagnostics;        // anomalies of the trace and its phase
  std::string computation;        // source of the computation times, in words
  std::string task_bytes_source;  // in words
};

// The time between the occurrences of a phase is simulated with them. Throws an error of kind kNotEnoughData if the
// phase has one iteration, or if ranks differ in their number of iterations.
std::unique_ptr<BalanceRunData> LoadBalanceRun(const Study& study, const RunSpec& spec, const BalanceStudy& balance,
                                               const PhaseSpec& phase, const Network& network);

// The row of one configuration in a table of factors, which models and projection take like any other: its processors
// are the cores, T is its makespan, T_ideal that of the same balancing on the ideal network at no cost. `measured`: of
// the run whose ranks are the tasks; counts come from there.
FactorRow BalancedRow(const BalanceRunData& run, const BalanceConfiguration& configuration, const SweepOptions& options,
                      const FactorRow& measured, const ReplayRules& rules);

// Simulates the study's first phase of whole iterations, regions before those found in the calls; if there is none, the
// first loop of the largest run that all runs show [phases/phase_spec.h]. Runs that cannot be simulated are findings;
// throws if that is so for all.
// Besides, the factors of all runs under one way of balancing at one level, completed and projected: without balancing
// first; empty where fewer than two runs can be balanced alike.
std::pair<WhatIf, std::vector<BalancedProjection>> RunBalance(const Study& study, const BalanceStudy& balance,
                                                              const ModelLibrary& library,
                                                              const ProgressSink& progress);

}  // namespace farscale
