// Another machine for the runs of a study: a network, and how long computation takes there.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/config.h"
#include "factors/phase_factors.h"
#include "models/scaling_model.h"
#include "pages/render.h"
#include "phases/phase_cut.h"
#include "replay/computation.h"
#include "replay/network.h"
#include "replay/replay.h"
#include "results/results.h"
#include "study/study.h"
#include "trace/trace.h"

namespace farscale {

struct Scenario {
  std::string id;                  // in names of files: letters, digits and dashes
  std::string name;                // in reports: "without network noise"
  std::optional<Network> network;  // nothing: still to be calibrated to the runs
  NetworkScale scale;              // applied to that network
  bool is_noise = true;            // its gain over the measurement is noise
  bool clean_computation = false;
  std::optional<ComputationSource> source;  // of clean computation; nothing: the best that the trace has
  double speed = 1;                         // computation runs this many times as fast,
  std::string region;                       // all of it or within regions of this name
  OfferTerms terms;                         // of an offered machine; ranks are placed by its cores a node
};

// A run under a scenario, as a trace and the phases in it.
struct ScenarioRun {
  Trace trace;
  std::vector<PhaseCut> cuts;
  std::string description;  // what was replayed: network and computation, in words
  Diagnostics diagnostics;
};

// Replays the whole run on the scenario's network. `cuts`: the phases as measured; the iterations of the longest one
// serve where computation is estimated from iterations. `trace` is as before afterwards; meanwhile its ranks lie on the
// scenario's nodes, in their order.
ScenarioRun ReplayScenario(Trace& trace, const Matching& matching, const std::vector<PhaseCut>& cuts,
                           const Scenario& scenario, const FactorOptions& options);

// The network of the run that calibrates best, by `farscale calibrate`: one for all runs, since they were
// taken on one machine. Throws an error of kind kNotEnoughData when no run suffices.
Network CalibrateToRuns(const std::vector<RunSpec>& runs, const ReplayRules& rules);

// The two scenarios of noise removal [Rosas14, section 2.4]: without network noise, without any noise.
std::vector<Scenario> NoiseRemoval(const std::optional<Network>& network, std::optional<ComputationSource> source,
                                   bool clean_computation);

// The files that belong to the program: models, templates and presets. Found beside the program, installed or in a
// build folder.

// $FARSCALE_DATA when set, else ../share/farscale beside the running program. Throws a usage error when neither is
// a folder with fits/ in it.
std::filesystem::path DataFolder();

// Every model of fits/, then those of the user: files, or folders of .toml files. Throws a usage error for a model
// that is not well-formed or has an id that is taken.
ModelLibrary LoadModels(const std::vector<std::string>& user_files = {});

// A preset by the name of its file in configs/ ("rosas14"), or by path.
std::optional<ConfigTable> LoadPreset(const std::string& name);
std::vector<std::string> PresetNames();

// A file of rules; one that comes with the program is no file of the user's.
struct GateRulesFile {
  ConfigTable config;
  std::string name;  // the path, or "strict (built in)"
  bool is_built_in = false;
};

// Rules of a gate by path, or by the name of their file in configs/gate/ ("strict"). Throws a usage error naming the
// nearest when there are none.
GateRulesFile LoadGateRules(const std::string& name);

// A network by the name of its file in configs/networks/ ("infiniband-hdr"), or by path. Throws a usage error naming
// the nearest when there is none.
Network LoadNetwork(const std::string& name, const std::string& where = "");
std::vector<std::string> NetworkNames();

// A machine as offered [docs/network-files.md, offers]; its network by name or by path from the file's folder. Throws a
// usage error with file and line.
Scenario LoadOffer(const std::string& path);

// Templates, style sheet and script from a folder of the user, with those it lacks from the program's own; empty: the
// program's own. NAME.mustache of either folder is the partial {{> NAME}}.
ReportTemplates LoadTemplates(const std::string& folder = "");

// The same of a form with templates of its own: "allocation" and "compare", which share handout.css; "imbalance",
// "balance" and "jobs", which are styled as the report is; "studies", which also has the report's script; and
// "history".
ReportTemplates LoadFormTemplates(const std::string& form, const std::string& folder = "");

}  // namespace farscale
