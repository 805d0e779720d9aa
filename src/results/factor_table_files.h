// Factor tables from files, and as files: CSV with one row a run and phase [docs/file-formats.md], and JSON with
// everything that a later `predict` or `report` needs [docs/schema/factors.schema.json]. Readers throw an input error
// naming `file` and the line or field.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "factors/factor_table.h"

namespace farscale {

// Columns `series,phase,cores,ranks,threads,nodes,repeat,runtime,iterations`, then the factors that any row has, then
// the standard errors that any row has, named after what errs: `runtimeError`, `loadBalanceError`, then the values of
// the distribution of loads that any row has: `loadDeviation`.
std::string WriteFactorCsv(const FactorTable& table);
// Needs the column `cores` and at least one factor or `runtime`; other columns of the form above may be missing, in any
// order. Two columns of numbers without a header are cores and seconds. Without commas in the first line, fields stand
// between blanks.
FactorTable ReadFactorCsv(const std::string& text, const std::string& file);

inline constexpr int kFactorTableVersion = 2;

std::string WriteFactorJson(const FactorTable& table);
FactorTable ReadFactorJson(const std::string& text, const std::string& file);
nlohmann::ordered_json FactorTableSchema();

// Runs that `farscale measure` has measured, as rows of a factor table [docs/schema/measured-run.schema.json].

inline constexpr const char* kMeasuredRunFormat = "farscale-measured-run";
inline constexpr int kMeasuredRunVersion = 1;

// A file of a run: its name, for messages or within a folder, and its text.
using NamedText = std::pair<std::string, std::string>;

// Rows of one series, phase and core count are repeats in their order.
void NumberRepeats(FactorTable& table);

// One row for the whole run of each file, phase "whole", and one for every region that all ranks have started. Runs of
// one core count are repeats in the order given; runs of several programs are series. Their scaling is detected from
// their useful time, with a finding that says so; warnings of the runs become findings, too. A region
// called like the whole run is phase "region whole". Throws an input error naming the file for anything else than a
// measured run, for numbers that cannot be or contradict each other, for a run of which ranks are missing, and for the
// same run given twice.
FactorTable TableOfMeasuredRuns(const std::vector<NamedText>& files);
nlohmann::ordered_json MeasuredRunSchema();

// Runs that TALP has measured, the part of DLB that counts time in MPI while programs run, as rows of a factor table
// [Lopez21], and such rows as JSON that TALP-Pages reads [docs/file-formats.md, TALP].

// The name of this format, since the files do not name one.
inline constexpr std::string_view kTalpFormat = "talp";

// True if JSON without a format of its own has a section that TALP writes.
bool IsTalpJson(const nlohmann::ordered_json& json);

// One row for the whole run of each file, phase "whole", and one for every region that all ranks have run. Runs of one
// core count are repeats in the order given. Factors are made from the times of a file where it has them, else taken
// as given, rounded to two digits; what cannot be is left out and named among the findings of the table. The table has
// no scaling yet. Throws an input error naming the file for anything else than TALP's JSON, for versions of it that are
// not known, for files in which no MPI process ran, and for the same run given twice.
FactorTable TableOfTalpFiles(const std::vector<NamedText>& files);

// One JSON a run in the form of DLB 3.5, which all of TALP-Pages read: the phase "whole" as TALP's region Global, other
// phases as regions of their names. `timestamp` is a date and time as ISO 8601. Series are folders. Rows that TALP has
// no place for, of groups of ranks and without run time or parallel efficiency, are left out and named in `left_out`.
// Throws an error of kind kNotEnoughData when nothing is left.
std::vector<NamedText> WriteTalpJson(const FactorTable& table, const std::string& timestamp,
                                     std::vector<std::string>& left_out);

}  // namespace farscale
