#include "cli/launch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "base/error.h"
#include "collect/page.h"

namespace farscale {
namespace {

namespace fs = std::filesystem;

// A number may have to be added to a name, and file systems take 255 bytes.
constexpr std::size_t kLongestName = 240;

[[noreturn]] void Refuse(const fs::path& path, const std::string& what, const std::string& advice = "") {
  throw Error(ErrorKind::kOutput, path.empty() ? "-o" : path.string(), what, advice);
}

fs::path Absolute(const fs::path& path) {
  std::error_code code;
  const fs::path absolute = path.is_absolute() ? path : fs::current_path(code) / path;
  if (code) Refuse(path, "the current folder is gone: " + code.message());
  if (absolute.string().size() >= sizeof collect::Page::output) {
    Refuse(path, fmt::format("is longer than {} characters", sizeof collect::Page::output - 1));
  }
  if (path.filename().string().size() > kLongestName) {
    Refuse(path, fmt::format("has a name of more than {} characters", kLongestName));
  }
  return absolute;
}

void CheckFolder(const fs::path& path, const fs::path& folder) {
  std::error_code code;
  if (!fs::exists(folder, code)) Refuse(path, fmt::format("the folder {} does not exist", folder.string()), "make it");
  if (!fs::is_directory(folder, code)) Refuse(path, folder.string() + " is no folder");
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    Refuse(path, fmt::format("the folder {} may not be written to", folder.string()));
  }
}

}  // namespace

void CheckResultFile(const std::string& path) {
  if (path.empty()) Refuse(path, "no file is named", "write -o run8.json");
  const fs::path absolute = Absolute(path);
  std::error_code code;
  if (!absolute.has_filename() || fs::is_directory(absolute, code)) {
    Refuse(path, "names a folder, where the file with the results is wanted", "write -o FOLDER/run8.json");
  }
  if (fs::exists(absolute, code) && !fs::is_regular_file(absolute, code)) {
    Refuse(path, "is no ordinary file", "results are put beside others and then given their name; name a file");
  }
  CheckFolder(path, absolute.parent_path());
}

void CheckTraceFolder(const std::string& path) {
  if (path.empty()) Refuse(path, "no folder is named", "write -o traces/8");
  const fs::path absolute = Absolute(path);
  std::error_code code;
  if (fs::exists(absolute, code) && !fs::is_directory(absolute, code)) {
    Refuse(path, "is a file, where the folder of the trace is wanted", "name another one");
  }
  if (fs::exists(absolute / "traces.otf2", code)) {
    Refuse(path, "contains a trace already", "choose another folder, or remove it");
  }
  // Folders above it are made.
  fs::path folder = absolute;
  while (!fs::exists(folder, code) && folder.has_relative_path()) folder = folder.parent_path();
  CheckFolder(path, folder);
}

}  // namespace farscale
