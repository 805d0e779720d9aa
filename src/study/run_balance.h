// What dynamic load balancing would bring to the runs of a study.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "balance/sweep.h"
#include "balance/what_if.h"
#include "factors/factor_table.h"
#include "study/balance_run.h"
#include "study/run_study.h"
#include "study/study.h"

namespace farscale {

struct BalanceStudy {
  bool phase_is_given = false;         // the study's one phase was asked for: no other is looked for
  SweepOptions sweep;                  // without network and same_problem
  std::optional<std::string> network;  // name, file or "calibrated"; nothing: calibrated where possible, else ideal
  bool clean_computation = false;
  std::optional<ComputationSource> source;
  std::optional<double> task_bytes;
  std::string task_bytes_file;
  std::optional<std::size_t> per_node;
  std::vector<std::int64_t> grow_to;  // cores of runs that nobody has made, to be simulated besides the study's
};

// Factors of all runs under one way of balancing, at one level; completed.
struct BalancedTable {
  std::string label;  // "without balancing", "RefineLB every 20 iterations, 4 tasks a processor"
  FactorTable table;
};

struct BalanceResults {
  WhatIf what_if;
  std::vector<BalancedTable> tables;  // without balancing first; empty where fewer than two runs can be balanced alike
};

// Of the study's phases the first of whole iterations, regions before those found in the calls; else the first loop of
// the largest run that all runs show [phases/loop_choice.h]. Throws what keeps everything from being simulated; runs
// that cannot be are findings.
BalanceResults RunBalance(const Study& study, const BalanceStudy& balance, const ProgressSink& progress);

}  // namespace farscale
