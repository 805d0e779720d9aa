// Memory that lies in a file: the kernel writes to it what does not fit into memory, and reads it again when it is
// used. Slower than memory, and as large as the disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace farscale {

// Safe for several threads.
class MemoryFile {
 public:
  // In a file without a name in the folder, so that nothing is left behind however the program ends. Nothing where the
  // folder cannot have one, or is itself in memory.
  static std::unique_ptr<MemoryFile> In(const std::string& folder);
  // In the folder that TMPDIR names, else in /var/tmp or /tmp: the first that can have one.
  static std::unique_ptr<MemoryFile> InTemporaryFolder();

  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  // Memory at the beginning of a page, for which the disk has room; nullptr where it has none.
  void* Allocate(std::size_t bytes);
  // Gives back what Allocate has returned.
  void Free(void* memory);
  bool Contains(const void* memory) const {
    return static_cast<const char*>(memory) >= begin_ && static_cast<const char*>(memory) < begin_ + size_;
  }

 private:
  MemoryFile(int file, char* begin, std::size_t size);
  // The offset of so many free bytes; size_ where there are none.
  std::size_t TakeRange(std::size_t bytes);
  void ReturnRange(std::size_t offset, std::size_t bytes);

  int file_;
  char* begin_;
  std::size_t size_;
  std::mutex mutex_;
  // Trees, whose nodes are small: a table that grows would be a large array and ask for memory here.
  std::map<std::size_t, std::size_t> free_;                // sizes of free ranges by offset; no two are adjacent
  std::set<std::pair<std::size_t, std::size_t>> by_size_;  // the same: sizes and offsets
  std::map<std::size_t, std::size_t> taken_;               // sizes of those in use
};

}  // namespace farscale
