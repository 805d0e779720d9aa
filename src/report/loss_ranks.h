// What those are called by whom losses are told: ranks, or threads of ranks.
#pragma once

#include <cstddef>
#include <string>

#include "imbalance/loss_record.h"

namespace farscale {

// What a call path costs others and the run, in s.
inline double CostsOf(const PathRecord& path) { return path.total.Costs(); }

// For tables: nothing is a dash.
std::string TimeOrDash(double seconds);

class LossRanks {
 public:
  // The record must outlive this.
  explicit LossRanks(const LossRecord& losses) : losses_(losses) {}

  bool are_threads() const { return !losses_.locations.empty(); }
  const char* one() const { return are_threads() ? "thread" : "rank"; }
  const char* many() const { return are_threads() ? "threads" : "ranks"; }
  // By its number in the record: "3", or "3, thread 1".
  std::string NumberOf(std::size_t rank) const;
  // "rank 3", or "rank 3, thread 1".
  std::string NameOf(std::size_t rank) const { return "rank " + NumberOf(rank); }
  // Those in the phase: "8 ranks", or "24 threads of 8 ranks".
  std::string Count() const;
  // What waits and costs are: those of all ranks of the phase together, which may be many times as long as the phase.
  std::string Summed() const { return std::string("summed over ") + many(); }
  // The same by rank: how much of the length of the phase a sum stands for.
  double PerRank(double seconds) const {
    return losses_.ranks.empty() ? 0 : seconds / static_cast<double>(losses_.ranks.size());
  }

 private:
  const LossRecord& losses_;
};

}  // namespace farscale
