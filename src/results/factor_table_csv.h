// Factor tables as CSV: one row a run and phase [docs/file-formats.md].
#pragma once

#include <string>

#include "factors/factor_table.h"

namespace farscale {

// Columns `series,phase,cores,ranks,threads,nodes,repeat,runtime,iterations`, then the factors that any row has, then
// the standard errors that any row has, named after what errs: `runtimeError`, `loadBalanceError`.
std::string WriteFactorCsv(const FactorTable& table);

// Needs the column `cores` and at least one factor; other columns of the form above may be missing, in any order.
// Throws an input error with file and line for unknown columns and values that cannot be.
FactorTable ReadFactorCsv(const std::string& text, const std::string& file);

// One line of CSV [RFC 4180]; fields may be quoted but not contain line breaks. Throws an input error at `where`.
std::vector<std::string> SplitCsvLine(std::string_view line, const std::string& where);
// A field, quoted where it must be.
std::string CsvField(const std::string& text);

}  // namespace farscale
