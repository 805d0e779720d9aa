// The verdicts of a gate in the forms that terminals, pull requests and CI servers read [docs/gate.md, outputs].
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

#include "pages/text_table.h"

namespace farscale {

struct FactorTable;
struct GateReport;
struct Judgement;

inline constexpr int kGateVersion = 2;

// The subject of a judgement, for printing: "16, 32 and 64", "0.812", "-5.1 %", "at most 3 % down".
struct JudgementCells {
  std::string phase, factor, cores, baseline, value, change, bound;
};

JudgementCells CellsOf(const Judgement& judgement);
// "Gate failed: 1 failed, 2 warnings, 9 passed, 1 without enough data."
std::string SummaryOf(const GateReport& report);

std::string WriteGateTable(const GateReport& report, std::size_t width = kAnyWidth);  // for the terminal
std::string WriteGateJson(const GateReport& report);                                  // [docs/schema/gate.schema.json]
nlohmann::ordered_json GateSchema();
// For a pull request, at most 15 lines: the verdict, the worst of what did not pass with its cause and the course of
// its values, and a link to where the rest stands; empty: no link.
std::string WriteGateMarkdown(const GateReport& report, const std::string& link = "");
std::string WriteGateJunit(const GateReport& report);          // [docs/schema/junit.xsd]
std::string WriteGateBadge(const GateReport& report);          // an SVG of its own
std::string WriteGithubAnnotations(const GateReport& report);  // workflow commands, for the log of the job
std::string WriteGitlabAnnotations(const GateReport& report);  // code quality
// The newest values of all factors, and the verdicts [OpenMetrics 1.0].
std::string WriteOpenMetrics(const GateReport& report, const FactorTable& table);

}  // namespace farscale
