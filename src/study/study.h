// A study: which runs, which phases, which rules and models, which targets. What study.toml says, as a value
// [docs/study-file.md].
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/config.h"
#include "factors/phase_factors.h"
#include "growth/read/rank_grid.h"
#include "imbalance/waits/losses.h"
#include "phases/rank_groups.h"
#include "phases/phase_spec.h"
#include "projection/projection.h"
#include "results/run_record.h"

namespace farscale {

enum class ComputationSource;
enum class ReportFormat;
enum class Scaling;
struct GrownSource;
struct ReadOptions;

struct RunSpec {
  std::string trace;                              // path, relative to the working folder
  std::optional<std::int64_t> threads;            // a process; as recorded when absent
  std::optional<std::int64_t> repeat;             // numbered in the order of the study when absent
  std::string where;                              // file and line
  std::optional<int> application = std::nullopt;  // in a trace with several, from 1 on
  std::optional<double> size = std::nullopt;      // the problem's, in total
  std::optional<RankGrid> grid = std::nullopt;    // layout of its ranks
  // The source of a run that nobody has made; `trace` then describes it in words [study/grown_study.h].
  std::shared_ptr<const GrownSource> grown = nullptr;
  AcceptedKinds accepted = {};  // anomalies of its trace
  // Measured by farscale measure or TALP, without a trace: `trace` is that file [study/input_files.h].
  bool is_measured = false;
};

// Indices of the runs, those with the largest traces first.
std::vector<std::size_t> LargestFirst(const std::vector<RunSpec>& runs);

// The table [noise].
struct NoiseSpec {
  std::string network;  // name or path; "calibrated": to the runs
  std::string where;    // file and line
  bool clean_computation = true;
  std::optional<ComputationSource> source = std::nullopt;  // nothing: the best that a trace has
};

// The table [growth]: the runs are grown to larger ones [docs/growth.md].
struct GrowthSpec {
  std::string network;               // name or path; "calibrated": to the runs
  std::string where;                 // file and line
  std::vector<RankGrid> grids = {};  // layouts of grown runs, where they are not to follow from those of the runs
};

struct Study {
  std::string title;
  std::string description;
  std::string series;  // name of the program in factor tables; may be empty
  ProblemCase problem;
  std::vector<RunSpec> runs;
  std::vector<PhaseSpec> phases;  // at least one
  std::vector<GroupSpec> groups;  // ranks that every phase tells apart
  bool finds_groups = true;       // when it names none
  std::optional<Scaling> scaling;
  std::optional<std::int64_t> reference;
  FactorOptions factors;
  DelayRules delays = DelayRules::kBounded;  // for losses
  bool finds_causes = true;                  // and the gains of removing them
  std::optional<NoiseSpec> noise;
  std::optional<GrowthSpec> growth;
  ProjectionOptions projection;
  std::vector<std::string> model_files;  // the user's own, relative to the working folder
  std::string report_folder;
  std::set<ReportFormat> formats;
};

// For reading a run: with the counters that factors need; scenarios may take computation from any.
ReadOptions WhatToRead(const Study& study, const RunSpec& run, bool for_scenarios);

// Ids of all anomalies that fail a run above a share, for --accept.
const std::vector<std::string>& KindsToAccept();

// Gives the text of a preset by name ("rosas14"), or nothing when there is none.
using PresetReader = std::function<std::optional<ConfigTable>(const std::string& name)>;

// Reads a study; paths in it are relative to the folder of `file`. `preset` overrides the one the study names.
// Throws a usage error with file and line for everything that is not as docs/study-file.md says.
Study ParseStudy(const std::string& text, const std::string& file, const PresetReader& presets,
                 const std::string& preset = "");

// The parts of a preset that concern fitting, for `farscale predict`.
ProjectionOptions ParseProjectionPreset(const ConfigTable& preset);

}  // namespace farscale
