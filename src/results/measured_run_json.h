// Runs that `farscale measure` has measured, as rows of a factor table [docs/schema/measured-run.schema.json].
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "factors/factor_table.h"

namespace farscale {

inline constexpr const char* kMeasuredRunFormat = "farscale-measured-run";
inline constexpr int kMeasuredRunVersion = 1;

struct MeasuredRunFile {
  std::string text;
  std::string file;
};

// One row for the whole run of each file, phase "whole", and one for every region that all ranks have started. Runs of
// one core count are repeats in the order given; runs of several programs are series. Their scaling is detected from
// their useful time, with a finding that says so; warnings of the runs become findings, too. A region
// called like the whole run is phase "region whole". Throws an input error naming the file for anything else than a
// measured run, for numbers that cannot be or contradict each other, for a run of which ranks are missing, and for the
// same run given twice.
FactorTable TableOfMeasuredRuns(const std::vector<MeasuredRunFile>& files);
nlohmann::ordered_json MeasuredRunSchema();

}  // namespace farscale
