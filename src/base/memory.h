// The memory that farscale may use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace farscale {

// Bytes of memory that this process may still take, by the system, its control group and its own limits; 0 where the
// system does not say.
std::uint64_t AvailableMemory();

// The same by the control groups alone, of version 1 or 2, that the text of /proc/self/cgroup names below `root`, which
// is /sys/fs/cgroup. Files that the kernel keeps in memory count as available. The largest number there is where no
// group has a limit.
std::uint64_t MemoryLeftInGroups(const std::string& groups, const std::filesystem::path& root);

// "24", "1.5G", "800M" or "4096k" in bytes; GiB without a unit. Throws a usage error for anything else at `where`.
std::uint64_t ParseMemory(const std::string& text, const std::string& where);

// The budget that farscale shall get along with: runs are read at once as far as they fit, and what exceeds it is kept
// in files. Not set: three quarters of what was available when it was first asked for.
void SetMemoryBudget(std::uint64_t bytes);
std::uint64_t MemoryBudget();

// Where the large arrays of the program lie: in memory while all of them fit into the budget, in a file beyond that.
// cli/main.cc makes every `new` ask here, so that rooms use ordinary vectors, and results do not depend on
// where those lie.

// From so many bytes on an array is large. Chosen: two pages; a column of a rank in traces of many ranks is not much
// larger.
inline constexpr std::size_t kLargeArray = 8192;

// From here on arrays beyond these bytes together lie in a file; fewer bytes, once the system has refused memory that
// they allow. Before, all lie in memory.
void LimitLargeArrays(std::uint64_t bytes);

// The part of the budget that is left for large arrays: small ones, code and stacks take the rest.
std::uint64_t ShareOfLargeArrays(std::uint64_t budget);

// nullptr where neither memory nor the disk has room.
void* AllocateArray(std::size_t bytes);
void FreeArray(void* array);
// The same for one whose bytes are known, which is faster for a small one.
void FreeArray(void* array, std::size_t bytes);

// Memory that lies in a file: the kernel writes to it what does not fit into memory, and reads it again when it is
// used. Slower than memory, and as large as the disk.

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
