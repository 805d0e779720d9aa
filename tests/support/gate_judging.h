// A commit judged by the default rules, against the commits before it.
#pragma once

#include <string>
#include <utility>

#include "base/config.h"
#include "base/files.h"
#include "gate/verdicts.h"
#include "support/traces.h"

namespace farscale::test {

inline const GateRules& DefaultGateRules() {
  static const GateRules rules = [] {
    const std::string file = SourceFolder() + "/configs/gate/default.toml";
    return ParseRules(ConfigTable::Parse(ReadFile(file), file), file);
  }();
  return rules;
}

inline GateReport JudgeCommit(const FactorTable& table, const History& history) {
  GateInput input;
  input.results.table = table;
  input.baseline = history;
  return Judge(DefaultGateRules(), input);
}

// The commit joins the history, failed or not, under the number of commits before it.
inline void AddCommit(History& history, FactorTable table, const std::string& accepted = "") {
  history.push_back({"", std::to_string(history.size()), "", accepted, std::move(table)});
}

// Whether the gate fails, and blames this factor in this phase for it.
inline bool FailsBecauseOf(const GateReport& report, const std::string& phase, Factor factor) {
  for (const Judgement& judgement : report.judgements) {
    const bool is_here = judgement.verdict == Verdict::kFail && judgement.phase == phase && judgement.blame;
    if (is_here && judgement.blame->factor == factor) return true;
  }
  return false;
}

}  // namespace farscale::test
