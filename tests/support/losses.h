// A run that waits in every way that can be told, in round numbers.
#pragma once

#include <vector>

#include "imbalance/loss_record.h"
#include "report/imbalance/losses.h"

namespace farscale::test {

inline void SetKind(ByWaitKind& values, WaitKind kind, double seconds) {
  values[static_cast<std::size_t>(kind)] = seconds;
}

// Rank 1 has three times the work of rank 0, and begins late.
inline std::vector<Cause> MakeCauses() {
  Cause work;
  work.place = CausePlace::kRank;
  work.path = "main / work";
  work.innermost = "work";
  work.ranks = {1};
  work.rank_count = 1;
  work.level = 3;
  work.affected = work.columns = 2;
  work.parts = {{CauseClass::kMoreWork, 0.75}, {CauseClass::kLowerIpc, 0.25}};
  work.gain = 1;
  work.gain_last = 1.5;
  work.next = 1;
  work.next_gain = 0.5;
  work.worst = WaitInstance{2, 3, 1.5, 1, "main / MPI_Send", {0}, 1, 1, WaitKind::kLateSender};
  work.beyond = {2, 2, {0, 0, 0.5, 1.5}};
  Cause start;
  start.place = CausePlace::kStartUp;
  start.path = start.innermost = "(before the phase)";
  start.ranks = {1};
  start.rank_count = start.affected = start.columns = 1;
  start.gain = start.gain_last = 0.25;
  return {work, start};
}

// Two ranks for 4 s each, half of which is waiting: 3 s for messages, of which 2 s are caused by work on rank 1, 0.5 s
// by a sum and 0.5 s by nobody, and 1 s at the end.
inline LossRecord MakeLosses(std::int64_t cores = 2) {
  LossRecord losses;
  losses.trace = "2/traces.otf2";
  losses.phase = "step";
  losses.cores = cores;
  losses.length = losses.window = 4;
  losses.allocation = 8;
  losses.at_end = 1;
  losses.iterations = 2;
  losses.run_ranks = 2;
  losses.ranks = {0, 1};
  losses.indirect = 1;
  losses.propagating = 0.5;
  losses.wrong_order = 0.4;
  SetKind(losses.waiting, WaitKind::kLateSender, 3);
  SetKind(losses.waiting, WaitKind::kWaitAtEnd, 1);
  SetKind(losses.short_term, WaitKind::kLateSender, 2);
  SetKind(losses.long_term, WaitKind::kLateSender, 0.5);
  SetKind(losses.unattributed, WaitKind::kLateSender, 0.5);
  PathRecord work{
      "main / work", "work", false, false, {}, 0.5, 0, {1, 3}, {0, 0}, {0, 2}, {0, 3}, {2, 2, {0, 0, 0.5, 1.5}}, {}};
  work.total.time = 4;
  work.total.critical = 3;
  work.total.nearly_critical = 4;
  work.total.intra = 1;
  work.total.inter = 0.25;
  SetKind(work.total.short_term, WaitKind::kLateSender, 2);
  PathRecord receive{"main / MPI_Recv",
                     "main / MPI_Recv",
                     true,
                     false,
                     {},
                     0,
                     1,
                     {0, 0},
                     {3, 1},
                     {0.5, 0},
                     {0, 0},
                     {2, 2, {0.5, 0, 0, 0}},
                     {}};
  receive.total.time = 4;
  receive.total.indirect = 1;
  receive.total.propagating = 0.5;
  receive.total.wrong_order = 0.4;
  receive.total.wrong_order_same = 0.1;
  SetKind(receive.total.waiting, WaitKind::kLateSender, 3);
  SetKind(receive.total.waiting, WaitKind::kWaitAtEnd, 1);
  SetKind(receive.total.long_term, WaitKind::kLateSender, 0.5);
  work.shape = LoadShape();
  work.shape->over_ranks = ShapeOverRanks::kOverloadedFew;
  work.shape->over_time = ShapeOverTime::kStatic;
  work.shape->ranks = {1};
  work.shape->count = 1;
  work.shape->level = 3;
  work.shape->imbalance = work.shape->imbalance_in_iteration = 0.5;
  losses.grid = ProcessGrid{{1, 2}, {false, false}, {}, false, GridSource::kMessages, 1};
  losses.paths = {work, receive};
  losses.causes = MakeCauses();
  losses.by_factor = FactorLosses{{"main / MPI_Recv", -0.04, 0.2}, {"main / work", 0.8, 0.04}};
  return losses;
}

inline ReportData MakeGrowth() {
  return ReportData::parse(R"([{"phase": "step", "title": "What causes waiting", "sentences": ["It grows."],
                                "header": ["2", "→ 64"], "rows": [{"cells": ["main / work", "50.0 %", "60.0 %"]}]}])");
}

// What causes waiting, in two runs.
inline LossProjection MakeLossProjection() {
  LossProjection projection;
  projection.phase = "step";
  projection.fitted_cores = {1, 2};
  projection.paths = {{"main / work", {{1, 0.2}, {2, 0.25}}, "amdahl", "a + b", {}}};
  projection.paths[0].targets = {{64, 0.5, IntervalBounds{0.4, 0.6}, IntervalBounds{0.3, 0.7}, 1, IntervalBounds{1, 1},
                                  IntervalBounds{0.9, 1}, Reliability::kReliable}};
  return projection;
}

}  // namespace farscale::test
