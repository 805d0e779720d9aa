// A file read in pieces, without the buffers of a stream: an archive may have thousands of small files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace farscale {

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

}  // namespace farscale
