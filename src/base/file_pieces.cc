#include "base/file_pieces.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace farscale {

FilePieces::FilePieces(const std::string& path) : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}

FilePieces::~FilePieces() {
  if (file_ >= 0) ::close(file_);
}

std::optional<std::uint64_t> FilePieces::Size() const {
  struct stat status {};
  if (file_ < 0 || ::fstat(file_, &status) != 0) return std::nullopt;
  return static_cast<std::uint64_t>(status.st_size);
}

std::optional<std::size_t> FilePieces::Read(std::uint64_t at, char* bytes, std::size_t count) const {
  if (file_ < 0) return std::nullopt;
  std::size_t read = 0;
  while (read < count) {
    const ssize_t more = ::pread(file_, bytes + read, count - read, static_cast<off_t>(at + read));
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) return std::nullopt;
    if (more == 0) break;
    read += static_cast<std::size_t>(more);
  }
  return read;
}

}  // namespace farscale
