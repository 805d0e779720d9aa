#include "study/input_files.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "base/config.h"
#include "base/error.h"
#include "base/files.h"
#include "study/measured_file.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

namespace fs = std::filesystem;

bool IsTraceName(const std::string& name) {
  return name.ends_with(".otf2") || name.ends_with(".prv") || name.ends_with(".prv.gz");
}

// Networks, models and presets are TOML, too. A file that is not well-formed may be a study, which says so when it is
// run.
bool IsStudyFile(const fs::path& path) {
  if (path.extension() != ".toml") return false;
  try {
    return ConfigTable::Parse(ReadFile(path), path.string()).Has("runs");
  } catch (const Error&) {
    return true;
  }
}

bool IsInside(const fs::path& path, const std::set<fs::path>& folders) {
  for (fs::path folder = path.parent_path();; folder = folder.parent_path()) {
    if (folders.contains(folder)) return true;
    if (folder == folder.parent_path()) return false;
  }
}

class Search {
 public:
  void Add(const std::string& input) {
    std::error_code code;
    if (fs::is_directory(input, code)) return AddFolder(input);
    if (!fs::exists(input, code)) throw Error(ErrorKind::kInput, input, "no such file or folder");
    const fs::path path(input);
    if (path.extension() == ".toml") return AddTo(files_.studies, input);
    if (path.extension() != ".json") return AddTo(files_.traces, input);
    if (!IsMeasuredFile(input)) {
      throw Error(ErrorKind::kInput, input, "is no run that farscale measure or TALP has measured",
                  "fit tables with farscale predict TABLE, make reports again with farscale report results.json");
    }
    AddTo(files_.measured, input);
  }

  InputFiles Take() {
    LeaveOutTraced();
    return std::move(files_);
  }

 private:
  void AddTo(std::vector<std::string>& list, const std::string& path) {
    if (seen_.insert(fs::weakly_canonical(path)).second) list.push_back(path);
  }

  void AddFolder(const std::string& folder) {
    std::vector<fs::path> paths;
    Collect(folder, paths);
    std::ranges::sort(paths);
    std::vector<std::string> studies, traces, measured;
    std::set<fs::path> of_studies;
    for (const fs::path& path : paths) {
      if (!IsStudyFile(path)) continue;
      studies.push_back(path.string());
      of_studies.insert(path.parent_path());
    }
    for (const fs::path& path : paths) {
      if (IsInside(path, of_studies)) continue;
      if (IsTraceName(path.filename().string())) traces.push_back(path.string());
      if (IsMeasuredFile(path.string())) measured.push_back(path.string());
    }
    if (studies.empty() && traces.empty() && measured.empty()) {
      throw Error(ErrorKind::kInput, folder, "holds no study, trace (.otf2, .prv, .prv.gz) or measured run",
                  "name a folder with runs of a program");
    }
    for (const std::string& path : studies) AddTo(files_.studies, path);
    for (const std::string& path : traces) AddTo(files_.traces, path);
    for (const std::string& path : measured) AddTo(files_.measured, path);
  }

  // One for each trace.
  void LeaveOutTraced() {
    if (files_.traces.empty() || files_.measured.empty()) return;
    const auto folder_of = [](const std::string& path) { return fs::weakly_canonical(path).parent_path(); };
    std::set<fs::path> folders;
    for (const std::string& file : files_.measured) folders.insert(folder_of(file));
    std::map<std::pair<fs::path, std::size_t>, std::size_t> traces;  // that have no measured run yet
    for (const std::string& trace : files_.traces) {
      if (folders.contains(folder_of(trace))) ++traces[{folder_of(trace), RanksOfTrace(trace)}];
    }
    std::erase_if(files_.measured, [&](const std::string& file) {
      const auto found = traces.find({folder_of(file), RanksOfMeasuredFile(file)});
      if (found == traces.end() || found->first.second == 0 || found->second == 0) return false;
      --found->second;
      files_.traced.push_back(file);
      return true;
    });
  }

  static void Collect(const fs::path& folder, std::vector<fs::path>& paths) {
    std::error_code code;
    if (fs::exists(folder / "results.json", code)) return;
    fs::directory_iterator entries(folder, code);
    if (code) throw Error(ErrorKind::kInput, folder.string(), "cannot be read: " + code.message());
    for (const fs::directory_entry& entry : entries) {
      if (entry.path().filename().string().starts_with('.')) continue;
      if (entry.is_directory(code)) {
        if (!entry.is_symlink(code)) Collect(entry.path(), paths);  // a link may lead back up
      } else {
        paths.push_back(entry.path());
      }
    }
  }

  InputFiles files_;
  std::set<fs::path> seen_;
};

}  // namespace

InputFiles FindInputFiles(const std::vector<std::string>& inputs) {
  Search search;
  for (const std::string& input : inputs) search.Add(input);
  return search.Take();
}

}  // namespace farscale
