// Files at the edges of the program: read whole, written whole or not at all.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct evp_md_ctx_st;  // in OpenSSL

namespace farscale {

// Throws an input error naming the file when it cannot be read.
std::string ReadFile(const std::filesystem::path& path);
// The same of standard input for "-", as often as it is asked for.
std::string ReadInput(const std::string& path);

// Writes beside the target and renames, so that a failed run leaves no half file. Throws an output error.
void WriteFile(const std::filesystem::path& path, const std::string& content);

// Creates the folder and its parents; throws an output error when that fails or something else has the name.
void CreateFolder(const std::filesystem::path& path);

// Texts by the names of their files within a folder.
using NamedTexts = std::vector<std::pair<std::filesystem::path, std::string>>;
// Makes the folder where it is missing (an empty path is the current one), and writes each text whole or not at all.
// Returns the paths.
std::vector<std::filesystem::path> WriteFiles(const std::filesystem::path& folder, const NamedTexts& texts);

// A file read in pieces, without the buffers of a stream: an archive may have thousands of small files.

class FilePieces {
 public:
  explicit FilePieces(const std::string& path);
  ~FilePieces();
  FilePieces(const FilePieces&) = delete;
  FilePieces& operator=(const FilePieces&) = delete;

  // Nothing where the file cannot be opened.
  std::optional<std::uint64_t> Size() const;
  // Reads up to `count` bytes from byte `at` on and returns how many there were: fewer only where the file ends.
  // Nothing where it cannot be read.
  std::optional<std::size_t> Read(std::uint64_t at, char* bytes, std::size_t count) const;

 private:
  int file_;
};

// SHA-256, for fingerprints of traces and for the content security policy of reports.

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void Add(std::string_view bytes);
  // The digest of all that was added; nothing can be added afterwards.
  std::array<unsigned char, 32> Digest();
  // The same in hexadecimal digits.
  std::string Hex();

 private:
  std::unique_ptr<evp_md_ctx_st, void (*)(evp_md_ctx_st*)> context_;
};

// The digest of a text in base 64, as a content security policy names it behind "sha256-".
std::string Sha256Base64(std::string_view text);

// The name of this program in the files it writes, and the commit it was built from.

std::string Version();    // "0.2.0"
std::string Generator();  // "farscale 0.2.0"

// For --version: Generator(), then lines with the commit where the source tree knows it, the libraries and their
// versions, and the MPIs that preload libraries were built for. Without a newline at the end.
std::string BuildDescription();

}  // namespace farscale
