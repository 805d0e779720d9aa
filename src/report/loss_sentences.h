// Losses in sentences: by whom they are reported, ranks or threads of ranks, how much of a phase is waiting and what
// causes most of it (templates/losses_summary.txt.mustache).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "imbalance/loss_record.h"
#include "report/cells.h"

namespace farscale {

// What a call path costs others and the run, in s.
inline double CostsOf(const PathRecord& path) { return path.total.Costs(); }

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

  // By its number in the record: "3", or "3, thread 1".
  std::string NumberOf(std::size_t rank) const;
  // "rank 3", or "rank 3, thread 1".
  std::string NameOf(std::size_t rank) const { return "rank " + NumberOf(rank); }
  // "3, 17", or "3, thread 1; 17, thread 0".
  std::string List(const std::vector<std::string>& numbers) const;
  // Those in the phase: "8 ranks", or "24 threads of 8 ranks".
  std::string Count() const;
  // A sum by rank: how much of the length of the phase it stands for.
  double PerRank(double seconds) const;

  const LossRecord& losses;
};

// "64 cores", or "64 cores, grown" of a run that nobody has made.
std::string CoresOf(const LossRecord& losses);

// The rank with most of the costs of a call path: the tags of loss_largest.mustache, or false.
ReportData LargestShare(const PathRecord& path, const LossRanks& ranks);

std::vector<std::string> SummarizeLosses(const LossRecord& losses, const Partials& texts);

}  // namespace farscale
