// The values of a factor table that follow from others: of the reference run, and of parts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "factors/factor_table.h"

namespace farscale {

// Decides the scaling when the table does not say it, chooses the reference (where the scalabilities given are 1, else
// the smallest number of cores, unless given), fills the factors that compare with the reference, and derives missing
// parents from children. Throws a usage error when the reference given is not a run of the table.
void CompleteTable(FactorTable& table);

// Converts a completed table to another kind of scaling or another reference run. What compares with the
// reference is made anew from the totals; rows without totals are divided by their values at the new reference.
// Throws a usage error when the reference is not a run of the table, and when the rows do not know enough.
void ChangeTerms(FactorTable& table, std::optional<Scaling> scaling, std::optional<std::int64_t> reference);

// Which rows of a phase count in references, fits and comparisons: neither outlying repeats, nor run times of slower
// divisions of the same cores [docs/formulas.md, repeats].

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
