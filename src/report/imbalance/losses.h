// Where a phase of one run loses time: sentences, tables and pictures, the growth of losses with the number of cores,
// and a page of its own.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "imbalance/loss_record.h"
#include "pages/render.h"
#include "projection/loss_projection.h"
#include "projection/projection.h"
#include "report/figures.h"
#include "report/report.h"
#include "results/reported_losses.h"
#include "results/results.h"

namespace farscale {

// Costs of a call path to others and the run, in s.
inline double CausedCosts(const PathRecord& path) { return path.total.Costs(); }

// For tables: nothing is a dash.
std::string TimeOrDash(double seconds);

inline constexpr double kNoShare = 0.0005;  // shares below are printed as 0.0 %

struct LossRanks {
  // The record must outlive this.
  explicit LossRanks(const LossRecord& record);

  bool are_threads = false;
  std::string one, who;  // "rank", "ranks"; or the same of threads
  // "summed over ranks": what waits and costs are, those of all ranks of the phase together, which may be many times as
  // long as the phase.
  std::string summed;

  // `rank`: its number in the record. "3", or "3, thread 1".
  std::string Number(std::size_t rank) const;
  // "rank 3", or "rank 3, thread 1".
  std::string Name(std::size_t rank) const { return "rank " + Number(rank); }
  // "3, 17", or "3, thread 1; 17, thread 0".
  std::string List(const std::vector<std::string>& numbers) const;
  // Those in the phase: "8 ranks", or "24 threads of 8 ranks".
  std::string Count() const;
  // A sum by rank: how much of the length of the phase it stands for.
  double PerRank(double seconds) const;

  const LossRecord& losses;
};

// "64 cores", or "64 cores, grown" of a run that nobody has made.
std::string RunCores(const LossRecord& losses);

// The rank with most of the costs of a call path: the tags of loss_largest.mustache, or false.
ReportData LargestShare(const PathRecord& path, const LossRanks& ranks);

std::vector<std::string> SummarizeLosses(const LossRecord& losses, const Partials& texts);

// The tags of `growth` in docs/templates.md with the name of the `phase`, a list. `projections`: of the factors, which
// say what dominates; phases without one are described by their losses alone. At most `most` of the reliable targets
// are shown.
ReportData DescribeGrowth(const std::vector<LossProjection>& losses, const std::vector<PhaseProjection>& projections,
                          const Partials& texts, std::size_t most = 4);

// For a terminal.
std::string FormatGrowth(const ReportData& growth, const Partials& texts, std::size_t width = kAnyWidth);

// `heading`: of the phase, for names of figures. `growth`: of this phase; nothing where there is one run. `grown`: of
// the phase in a run that nobody has made, of which the sentences are shown; null: none.
ReportData DescribePhaseLosses(const LossRecord& losses, ReportData growth, const std::string& heading,
                               const Partials& texts, const LossDetail& detail = {}, const LossRecord* grown = nullptr);

// For a terminal, with `top` rows of a table at most.
std::string FormatLosses(const LossRecord& losses, std::size_t top, const Partials& texts,
                         std::size_t width = kAnyWidth);

// The tags of `losses` of a phase; false where its losses are not known.
ReportData LossesInReport(const Results& results, const std::string& series, const PhaseId& phase,
                          const std::string& heading, const Partials& texts);

// The tags of templates/imbalance.*.mustache [docs/templates.md], but for `style`. `records`: phase by phase, runs
// rising, at least one; the last of a phase is shown in full. `title`: of the study or its trace. `warnings`: of the
// runs.
ReportModel BuildLossesModel(const std::vector<LossRecord>& records, const ReportData& growth, const std::string& title,
                             const Partials& texts, std::size_t top = 10, const std::vector<Finding>& warnings = {});

}  // namespace farscale
