// A comparison of results: sentences (worded by templates/compare_*.txt.mustache) and the files compare.html,
// compare.md with figures, and compare.json [docs/schema/compare.schema.json].
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "pages/render.h"
#include "planning/compare.h"

namespace farscale {

// "serialization", "the base (instructions of the reference run)".
std::string PartName(const std::string& id);

// "+12.3 %" of a ratio or its logarithm.
std::string FormatRise(double ratio);

// "+1.0 to +2.0 %", the 95 % interval of a change.
std::string FormatRiseInterval(const Change& change);

// The parts of a difference, the largest first: "serialization +5.1 % (72 %), transfer +1.9 % (28 %)".
std::string DescribeParts(const Decomposition& difference, std::size_t most);

// The changes of a phase, beyond noise or within, the factor that explains them, the projections, and last the notes.
std::vector<std::string> SummarizeComparedPhase(const ComparedResults& compared, const ComparedPhase& phase,
                                                const Partials& templates);

// Changes that let both sides of a phase compare, and where they do not.
std::vector<std::string> PhaseNotes(const ComparedResults& compared, const ComparedPhase& phase,
                                    const Partials& templates);

// Doubts about the numbers of a side, each once where both have it.
std::vector<std::string> ComparedDoubts(const ComparedResults& compared);

// Phases that only one side has, and phases with different names.
std::vector<std::string> SummarizeCompared(const ComparedResults& compared, const Partials& templates);

// The tags of templates/compare.*.mustache [docs/templates.md], but for `style`.
ReportModel BuildCompareModel(const std::vector<ComparedResults>& comparisons, const Partials& templates);

// For the terminal, one a comparison.
std::vector<std::string> WriteCompareTexts(const ReportModel& model, const Partials& templates,
                                           std::size_t width = kAnyWidth);

// Writes all or nothing of each file; everything is rendered before the first is written. Returns the paths.
std::vector<std::filesystem::path> WriteCompared(const std::vector<ComparedResults>& comparisons,
                                                 const ReportTemplates& templates, const std::filesystem::path& folder);

inline constexpr int kCompareVersion = 2;

// Each result against the first.
std::string WriteCompareJson(std::vector<ComparedResults> comparisons, const Partials& templates);
nlohmann::ordered_json CompareSchema();

}  // namespace farscale
