// Where a phase of one run loses time, as texts and pictures for templates: the tags of `losses` in docs/templates.md.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "imbalance/loss_record.h"
#include "report/loss_growth.h"
#include "report/report_model.h"

namespace farscale {

// How much of it is told.
struct LossDetail {
  std::size_t rows = 10;  // of each table
  std::size_t maps = 5;   // call paths with a heat map
  bool is_brief = false;  // sentences and causes alone
};

// `heading`: of the phase, for names of figures. `growth`: of this phase; nothing where there is one run.
ReportData LossesOfPhase(const LossRecord& losses, const std::vector<LossGrowth>& growth, const std::string& heading,
                         const LossDetail& detail = {});

// Why nothing is said of waits; empty where they are known.
std::string DescribeUnknownWaits(const LossRecord& losses);

// What stands above the tables.
std::vector<std::string> SummarizeLosses(const LossRecord& losses);

// Over what ranks lose while a call path is on the critical path: those that do the same work, and others.
std::pair<std::string, std::string> HeadingsOfImpact(const LossRecord& losses);

// What the rules of delay costs leave out; empty for those that leave nothing.
std::string DescribeRules(const LossRecord& losses);

// The call paths with most of something, and none without.
template <typename Value>
std::vector<const PathRecord*> LargestPaths(const LossRecord& losses, std::size_t most, Value value) {
  std::vector<const PathRecord*> paths;
  for (const PathRecord& path : losses.paths) {
    if (value(path) > 0) paths.push_back(&path);
  }
  std::stable_sort(paths.begin(), paths.end(),
                   [&](const PathRecord* a, const PathRecord* b) { return value(*a) > value(*b); });
  if (paths.size() > most) paths.resize(most);
  return paths;
}

}  // namespace farscale
