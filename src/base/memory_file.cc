#include "base/memory_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace farscale {
namespace {

constexpr std::size_t kPage = 4096;
// Most that a file may become: address space, not disk. Chosen: far above what one process works on, and as much as
// sanitizers leave.
constexpr std::size_t kLargestFile = std::size_t{1} << 40;
constexpr std::size_t kSmallestFile = std::size_t{1} << 30;
// The disk gets back freed ranges of this size and more; chosen: handing back takes some microseconds.
constexpr std::size_t kWorthReturning = std::size_t{1} << 18;

bool IsInMemory(int file) {
  struct statfs system {};
  return fstatfs(file, &system) != 0 || system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC;
}

int OpenWithoutName(const std::string& folder) {
  const int file = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0) return file;
  std::string name = folder + "/farscale-XXXXXX";  // for file systems that know no files without a name
  const int named = mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) unlink(name.c_str());
  return named;
}

// A file beyond the limit would end the program.
std::size_t LargestAllowed() {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kLargestFile;
  return std::min<std::size_t>(kLargestFile, limit.rlim_cur) / kPage * kPage;
}

// Room on the disk, since a page without it would end the program when it is written to. File systems that cannot
// promise room are trusted.
bool ReserveRoom(int file, std::size_t offset, std::size_t bytes) {
  for (;;) {
    if (fallocate(file, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset), static_cast<off_t>(bytes)) == 0) return true;
    if (errno != EINTR) return errno == EOPNOTSUPP || errno == ENOSYS;
  }
}

}  // namespace

std::unique_ptr<MemoryFile> MemoryFile::In(const std::string& folder) {
  const int file = OpenWithoutName(folder);
  if (file < 0) return nullptr;
  if (!IsInMemory(file)) {
    for (std::size_t size = LargestAllowed(); size >= kSmallestFile; size = size / 2 / kPage * kPage) {
      if (ftruncate(file, static_cast<off_t>(size)) != 0) continue;
      void* begin = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
      if (begin != MAP_FAILED)
        return std::unique_ptr<MemoryFile>(new MemoryFile(file, static_cast<char*>(begin), size));
    }
  }
  close(file);
  return nullptr;
}

std::unique_ptr<MemoryFile> MemoryFile::InTemporaryFolder() {
  const char* chosen = std::getenv("TMPDIR");
  for (const char* folder : {chosen, "/var/tmp", "/tmp"}) {
    if (folder == nullptr || *folder == '\0') continue;
    if (auto file = In(folder)) return file;
  }
  return nullptr;
}

MemoryFile::MemoryFile(int file, char* begin, std::size_t size) : file_(file), begin_(begin), size_(size) {
  ReturnRange(0, size);
}

MemoryFile::~MemoryFile() {
  munmap(begin_, size_);
  close(file_);
}

void* MemoryFile::Allocate(std::size_t bytes) {
  if (bytes > size_ - kPage) return nullptr;
  const std::size_t whole = std::max(kPage, (bytes + kPage - 1) / kPage * kPage);
  const std::lock_guard lock(mutex_);
  const std::size_t offset = TakeRange(whole);
  if (offset == size_) return nullptr;
  if (!ReserveRoom(file_, offset, whole)) {
    ReturnRange(offset, whole);
    return nullptr;
  }
  taken_[offset] = whole;
  return begin_ + offset;
}

void MemoryFile::Free(void* memory) {
  const auto offset = static_cast<std::size_t>(static_cast<char*>(memory) - begin_);
  const std::lock_guard lock(mutex_);
  const auto found = taken_.find(offset);
  const std::size_t bytes = found->second;
  taken_.erase(found);
  if (bytes >= kWorthReturning) {
    fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  }
  ReturnRange(offset, bytes);
}

// The smallest range that suffices.
std::size_t MemoryFile::TakeRange(std::size_t bytes) {
  const auto found = by_size_.lower_bound({bytes, 0});
  if (found == by_size_.end()) return size_;
  const auto [size, offset] = *found;
  by_size_.erase(found);
  free_.erase(offset);
  if (size > bytes) {
    free_[offset + bytes] = size - bytes;
    by_size_.emplace(size - bytes, offset + bytes);
  }
  return offset;
}

void MemoryFile::ReturnRange(std::size_t offset, std::size_t bytes) {
  const auto forget = [this](std::map<std::size_t, std::size_t>::iterator range) {
    by_size_.erase({range->second, range->first});
    free_.erase(range);
  };
  auto behind = free_.lower_bound(offset);
  if (behind != free_.end() && behind->first == offset + bytes) {
    bytes += behind->second;
    const auto next = std::next(behind);
    forget(behind);
    behind = next;
  }
  if (behind != free_.begin()) {
    const auto before = std::prev(behind);
    if (before->first + before->second == offset) {
      offset = before->first;
      bytes += before->second;
      forget(before);
    }
  }
  free_[offset] = bytes;
  by_size_.emplace(bytes, offset);
}

}  // namespace farscale
