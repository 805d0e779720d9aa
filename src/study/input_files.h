// Files that commands read: studies, traces and measured runs on a command line, and those that belong to the program.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/config.h"

namespace farscale {

class ModelLibrary;
struct AnalysedRun;
struct Network;
struct ReportTemplates;
struct RunSpec;
struct Scenario;
struct Study;

struct InputFiles {
  std::vector<std::string> studies, traces, measured;  // each once, in the order given; those of a folder by name
  // Measured runs that are left out, since they are the runs of the traces beside them.
  std::vector<std::string> traced;

  bool HasRuns() const { return !traces.empty() || !measured.empty(); }
};

// Folders are searched with all folders in them, but for hidden ones and those of reports (with a results.json).
// Traces and measured runs in the folder of a study, or below it, are left to that study. farscale trace puts the
// results of a run beside its trace: a measured run in the folder of a trace with as many ranks is the run of that
// trace. Throws an input error for a
// file that is missing, or JSON of something else, and for a folder without any of these.
InputFiles FindInputFiles(const std::vector<std::string>& inputs);

// A run without a trace, which farscale measure or TALP has measured, as a run of a study: the phases of the study that
// the file knows, which are the whole run and regions by their names. There is nothing in it to replay: no scenario has
// rows, and no losses are known. Throws as ReadTableOfRuns does.
AnalysedRun AnalyseMeasuredFile(const Study& study, const RunSpec& spec, std::size_t scenarios, bool wants_losses);

// Paths in studies. TOML is UTF-8 and names of files need not be: a byte that is none stands there as a character of
// its own, U+10FE00 plus the byte, which no name has by accident.

std::string TextOfPath(std::string_view path);
std::string PathOfText(std::string_view text);

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

// Rules of a gate by path, or by the name of their file in configs/gate/ ("strict"), and what they are called: the
// path, or "strict (built in)". Throws a usage error naming the nearest when there are none.
std::pair<ConfigTable, std::string> LoadGateRules(const std::string& name);

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
