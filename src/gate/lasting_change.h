// Changes for the worse that last: small ones that no single commit shows, and drifts. The means of the last m commits
// are compared with those of a reference level, for several m: the likelihood ratio of a change of level before the
// last m commits, limited to windows [Willsky76, Lai95], a sequential test as Page's sums are [Page54]. Noise is
// estimated, so each comparison is Student's, and all of a gate share the chance of a false alarm [Dunn61]: at most
// 1 in 1000 unchanged commits fails, so that the average run length until a false failure is 1000 commits or more
// [docs/gate.md, lasting changes].
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "gate/commit_series.h"

namespace farscale {

// Fewest commits that make a reference level. Chosen: a median of fewer is a single commit.
inline constexpr std::size_t kFewestReference = 3;

// The commit at which a rule's reference begins, as an index in the history: "accepted" is the newest commit that was
// accepted, else the oldest; a date is the first commit since; anything else the beginning of the name of a commit. A
// commit accepted later counts instead. Nothing where there is none.
std::optional<std::size_t> ReferenceBegin(const History& history, const std::string& since);

// The mean of the last `recent` commits, the newest one included, against a reference level.
struct LastingChange {
  std::size_t recent = 0;
  std::vector<std::size_t> reference;  // indexes in the series
  double before = 0, after = 0;        // mean logarithms over core counts and commits
  Change change;
  // At least two of the recent commits, the newest one of them, are this much worse than the reference, as a
  // logarithm above 0: neither one bad run nor a commit that repairs the change is a lasting one.
  double lasting = 0;
};

// For every window of recent commits that leaves enough commits before it. The reference is the best level since
// `begin`, its first `window` commits: a level that got better counts from there on, one that got worse does not
// become the reference. `is_time`: larger is worse. Nothing with too few commits or unknown noise.
std::vector<LastingChange> FindLastingChanges(const CommitSeries& series, const SamplesByCores& newest,
                                              const std::vector<double>& cores, const SeriesNoise& noise,
                                              std::size_t begin, std::size_t window, bool is_time);

// The factor by which the variance of means over neighbouring commits exceeds that of independent noise whose
// differences are as large: (1 + r) / (1 - r)² for noise with autocorrelation r from commit to commit [Bartlett46]. r =
// 1 - Σ d² / 2 n s² by the n differences d of neighbours and the variance s² [Neumann41]. 1 where r may be chance:
// below 1.645 / √n.
double VarianceOfNeighbours(const std::vector<double>& logarithms);

}  // namespace farscale
