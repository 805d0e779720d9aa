// Which rows of a phase count in references, fits and comparisons: neither outlying repeats, nor run times of slower
// divisions of the same cores [docs/formulas.md, repeats].
#pragma once

#include <string>

#include "factors/phase_rows.h"

namespace farscale {

struct CountedRows {
  RowPointers counted;   // in the order given; never empty where there are rows
  RowPointers outlying;  // repeats too far from the median of theirs
  RowPointers slower;    // run times on as many cores, divided into other numbers of processes and threads
};

// `rows`: of one phase.
CountedRows CountRows(const RowPointers& rows);

// "repeat 2 on 1 core takes 180 s, the median 101 s; ...", at most three of them.
std::string DescribeOutlying(const CountedRows& rows);

// "16 = 8 × 2, 32 = 16 × 2": cores, processes and threads of what counts; at most three.
std::string DescribeSplits(const CountedRows& rows);

}  // namespace farscale
