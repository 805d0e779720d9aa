// The files that belong to the program: models, templates and presets. Found beside the program, installed or in a
// build folder.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/config.h"
#include "models/scaling_model.h"
#include "replay/network.h"
#include "pages/render.h"
#include "study/scenario.h"

namespace farscale {

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
