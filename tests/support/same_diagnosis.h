// What differs between two diagnoses, bit by bit.
#pragma once

#include <string>

#include "imbalance/diagnosis.h"
#include "parallel/bytes.h"

namespace farscale::test {

inline std::string NamesOfPaths(const CallPaths& paths) {
  std::string all;
  for (PathId path = 0; path < paths.size(); ++path) all += paths.Name(path) + "\n";
  return all;
}

// The name of something that differs; empty when nothing does. Causes are left out.
inline std::string DiagnosisDifference(const Diagnosis& a, const Diagnosis& b) {
  const auto differs = [](auto one, auto other) { return ToBytes(one) != ToBytes(other); };
  if (NamesOfPaths(a.paths) != NamesOfPaths(b.paths)) return "paths";
  if (a.ranks.size() != b.ranks.size()) return "number of ranks";
  for (std::size_t rank = 0; rank < a.ranks.size(); ++rank) {
    if (differs(a.ranks[rank], b.ranks[rank])) return "rank " + std::to_string(rank);
  }
  if (differs(a.totals, b.totals)) return "totals";
  if (differs(a.imbalance, b.imbalance)) return "imbalance";
  if (differs(a.slack, b.slack)) return "slack";
  if (differs(a.critical, b.critical)) return "critical path";
  if (differs(a.rasters, b.rasters)) return "rasters";
  if (differs(a.shapes, b.shapes) || differs(a.useful_shape, b.useful_shape)) return "shapes";
  if (differs(a.unattributed, b.unattributed) || differs(a.lost, b.lost)) return "costs of nobody";
  if (a.iterations != b.iterations || a.rules != b.rules || a.recurs != b.recurs || a.processes != b.processes)
    return "the phase";
  if (a.length != b.length || a.window != b.window) return "lengths";
  if (a.at_end != b.at_end) return "waits at the end";
  if (differs(a.device_calls, b.device_calls)) return "device calls";
  return a.diagnostics.findings() == b.diagnostics.findings() ? "" : "diagnostics";
}

}  // namespace farscale::test
