#include "base/files.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <system_error>

#include "base/error.h"

namespace farscale {
namespace fs = std::filesystem;

std::string ReadFile(const fs::path& path) {
  std::error_code code;
  if (!fs::exists(path, code)) throw Error(ErrorKind::kInput, path.string(), "no such file");
  if (fs::is_directory(path, code)) throw Error(ErrorKind::kInput, path.string(), "is a folder, not a file");
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream content;
  if (stream) content << stream.rdbuf();
  if (!stream || stream.bad()) {
    throw Error(ErrorKind::kInput, path.string(), std::string("cannot be read: ") + std::strerror(errno));
  }
  return std::move(content).str();
}

void CreateFolder(const fs::path& path) {
  std::error_code code;
  fs::create_directories(path, code);
  if (!fs::is_directory(path, code)) {
    throw Error(ErrorKind::kOutput, path.string(), "cannot create this folder",
                "choose another with -o, or check its permissions");
  }
}

void WriteFile(const fs::path& path, const std::string& content) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::error_code code;
  if (!fs::is_directory(folder, code)) CreateFolder(folder);
  const fs::path temporary = folder / ("." + path.filename().string() + "." + std::to_string(getpid()) + ".tmp");
  std::ofstream stream(temporary, std::ios::binary | std::ios::trunc);
  stream << content;
  stream.close();
  const int cause = errno;
  if (!stream) {
    fs::remove(temporary, code);
    throw Error(ErrorKind::kOutput, path.string(), std::string("cannot be written: ") + std::strerror(cause));
  }
  fs::rename(temporary, path, code);
  if (code) {
    std::error_code ignored;
    fs::remove(temporary, ignored);
    throw Error(ErrorKind::kOutput, path.string(), "cannot be written: " + code.message());
  }
}

std::vector<std::filesystem::path> WriteFiles(const std::filesystem::path& folder, const NamedTexts& texts) {
  if (!folder.empty()) CreateFolder(folder);
  std::vector<std::filesystem::path> paths;
  for (const auto& [name, text] : texts) {
    WriteFile(folder / name, text);
    paths.push_back(folder / name);
  }
  return paths;
}

}  // namespace farscale
