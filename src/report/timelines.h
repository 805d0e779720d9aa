// Where the runs of a report spend their time, over the run and over the iterations of a phase.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pages/render.h"
#include "report/figures.h"
#include "results/results.h"

namespace farscale {

// Pictures take at most so many bytes in a report, and there are at most so many of them.
inline constexpr std::size_t kMostTimelineBytes = 900'000;
inline constexpr std::size_t kMostTimelines = 12;

// What ranks do: its share of the run time, of all ranks and of those with the least and the most.
struct StateText {
  std::string name, color, mean, least, least_rank, most, most_rank;
  FARSCALE_TAGS(name, color, mean, least, least_rank, most, most_rank)
};

struct TimelineText {
  ReportData figure;
  std::string heading, caption;
  bool is_folded = false;  // neither the smallest run nor the largest
  std::vector<StateText> states;
  FARSCALE_TAGS(figure, heading, caption, is_folded, states)
};

// The pictures of the runs, then those of grown ones; `all`: how many measured runs could be shown. Of more than are,
// repeats are left out first, then core counts between the others. `shown`: how many of them are.
std::vector<TimelineText> TimelinesOf(const Results& results, ReportModel& model, std::size_t& all, std::size_t& shown);

// The iterations of a run, the rows behind their figure, and what leaving out some of them changes.
struct IterationRun {
  std::string heading, count, left_out, median, shortest, longest, disturbance;
  FARSCALE_TAGS(heading, count, left_out, median, shortest, longest, disturbance)
};

struct IterationRow {
  std::string run, number, length, useful, parallel_efficiency, load_balance, disturbance, left_out;
  FARSCALE_TAGS(run, number, length, useful, parallel_efficiency, load_balance, disturbance, left_out)
};

struct KeptFactor {
  std::string kept, all;
  FARSCALE_TAGS(kept, all)
};

struct LeftOutRun {
  std::string heading, left_out, why;
  std::vector<KeptFactor> cells;
  FARSCALE_TAGS(heading, left_out, why, cells)
};

struct IterationsSection {
  std::vector<IterationRun> runs;
  ReportData figure;
  std::vector<IterationRow> rows;
  std::string together;  // iterations that share a bar; empty: none do
  bool has_disturbance = false, has_left_out = false;
  std::vector<LeftOutRun> left_out_runs;
  std::vector<std::string> left_out_factors;
  FARSCALE_TAGS(runs, figure, rows, together, has_disturbance, has_left_out, left_out_runs, left_out_factors)
};

// The iterations of one phase; nothing unless a run has at least three.
std::optional<IterationsSection> IterationsOfPhase(const Results& results, const PhaseId& phase,
                                                   const PhaseNames& names, ReportModel& model);

}  // namespace farscale
