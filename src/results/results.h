// All results of a study: the input of reports, and a file from which reports can be made again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "factors/factor_table.h"
#include "imbalance/loss_record.h"
#include "projection/backtest.h"
#include "projection/loss_projection.h"
#include "projection/projection.h"
#include "projection/thread_split.h"
#include "results/run_record.h"

namespace farscale {

// The runs of the study on another machine.
struct Variant {
  std::string id;           // in names of files
  std::string name;         // "without network noise"
  std::string description;  // the replay
  bool is_noise = true;     // its gain is noise; else the machine differs in other respects too
  FactorTable table;
  std::vector<PhaseProjection> projections;
  OfferTerms terms = {};  // nothing known where it is no offer
};

struct Results {
  std::string title;
  std::string description;  // program and case; may be empty
  std::string models;       // the choice of models, in words
  ProblemCase problem;
  std::vector<RunRecord> runs;
  std::vector<PhaseRecord> phases;
  FactorTable table;
  std::vector<PhaseProjection> projections;
  std::vector<SplitsOfCores> splits;  // at the targets; empty where no runs vary both processes and threads
  std::vector<BacktestRow> backtest;
  std::vector<LossRecord> losses;                // all; of a study that was run, the largest of every phase
  std::vector<LossProjection> loss_projections;  // from all runs
  // From runs that nobody has made, the largest of every phase that was grown: each holds that phase alone.
  std::vector<RunRecord> grown_runs;
  std::vector<LossRecord> grown_losses;
  std::vector<Variant> variants;
  bool is_what_if = false;  // variants are other machines; else the same one without noise
};

// Results of a bare factor table: no runs are known, phases are those of the table.
Results ResultsOfTable(const FactorTable& table, const std::vector<PhaseProjection>& projections,
                       const std::string& title);

}  // namespace farscale
