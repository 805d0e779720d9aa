#include "base/memory.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>

#include "base/diagnostics.h"
#include "base/text.h"

namespace farscale {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

std::uint64_t Left(std::uint64_t limit, std::uint64_t used) { return limit > used ? limit - used : 0; }

// The number behind `name`, with which a line of the file begins; 0 without one.
std::uint64_t NumberIn(const fs::path& path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    std::uint64_t number = 0;
    if (words >> word && word == name && words >> number) return number;
  }
  return 0;
}

// The number in a file; "max" is none.
std::uint64_t OnlyNumber(const fs::path& path, std::uint64_t otherwise) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  return file >> number ? number : otherwise;
}

struct GroupFiles {
  const char *limit, *used;
  const char *active, *inactive;  // in memory.stat: bytes of files
};
constexpr GroupFiles kVersion1 = {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_active_file",
                                  "total_inactive_file"};
constexpr GroupFiles kVersion2 = {"memory.max", "memory.current", "active_file", "inactive_file"};

std::uint64_t LeftInGroup(const fs::path& folder, const GroupFiles& files) {
  const std::uint64_t limit = OnlyNumber(folder / files.limit, kNoLimit);
  if (limit == kNoLimit) return kNoLimit;
  const std::uint64_t used = OnlyNumber(folder / files.used, 0);
  const fs::path stat = folder / "memory.stat";
  return Left(limit, Left(used, NumberIn(stat, files.active) + NumberIn(stat, files.inactive)));
}

// A group may take no more than each of those around it. In a container the path may be one of the host's, which is not
// there; the container's own group is then the root.
std::uint64_t LeftInGroupAndAbove(const fs::path& root, const std::string& path, const GroupFiles& files) {
  std::uint64_t left = LeftInGroup(root, files);
  fs::path folder = root;
  for (const std::string& name : Split(path, '/')) {
    if (name.empty()) continue;
    folder /= name;
    left = std::min(left, LeftInGroup(folder, files));
  }
  return left;
}

std::uint64_t LeftOfLimit(int resource, const std::string& used_as) {
  rlimit limit{};
  if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return kNoLimit;
  }
  return Left(limit.rlim_cur, NumberIn("/proc/self/status", used_as) * 1024);
}

std::atomic<std::uint64_t> memory_budget = 0;

std::atomic<std::uint64_t> most_in_memory = std::numeric_limits<std::uint64_t>::max();
std::atomic<std::uint64_t> bytes_in_memory = 0;
std::atomic<MemoryFile*> overflow = nullptr;  // never closed: arrays live until the program ends
std::once_flag overflow_is_opened;

// Kept for small arrays, until the system refuses a large one. Chosen: a fifth of what code and libraries take anyway.
constexpr std::size_t kReserve = 8 << 20;
std::atomic<void*> reserve = nullptr;

// The allocator of the system may return a little more than was asked for. What it returned decides whether an array is
// large, since that is known again when it is freed.
constexpr std::size_t kRoundedUp = 64;

bool IsSurelySmall(std::size_t bytes) { return bytes + kRoundedUp < kLargeArray; }

void* InMemory(std::size_t bytes) {
  void* array = std::malloc(bytes > 0 ? bytes : 1);
  if (IsSurelySmall(bytes) || array == nullptr) return array;
  if (const std::size_t size = malloc_usable_size(array); size >= kLargeArray) {
    bytes_in_memory.fetch_add(size, std::memory_order_relaxed);
  }
  return array;
}

void* InFile(std::size_t bytes) {
  std::call_once(overflow_is_opened, [] { overflow = MemoryFile::InTemporaryFolder().release(); });
  MemoryFile* opened = overflow.load(std::memory_order_acquire);
  return opened != nullptr ? opened->Allocate(bytes) : nullptr;
}

constexpr std::size_t kPage = 4096;
// Most that a file may become: address space, not disk. Chosen: far above what one process works on, and as much as
// sanitizers leave.
constexpr std::size_t kLargestFile = std::size_t{1} << 40;
constexpr std::size_t kSmallestFile = std::size_t{1} << 30;
// The disk gets back freed ranges of this size and more; chosen: handing back takes some microseconds.
constexpr std::size_t kWorthReturning = std::size_t{1} << 18;

}  // namespace

std::uint64_t MemoryLeftInGroups(const std::string& groups, const fs::path& root) {
  std::uint64_t left = kNoLimit;
  std::istringstream lines(groups);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string path = line.substr(second + 1);
    const std::vector<std::string> controllers = Split(line.substr(first + 1, second - first - 1), ',');
    if (std::ranges::count(controllers, "memory") > 0) {
      left = std::min(left, LeftInGroupAndAbove(root / "memory", path, kVersion1));
    } else if (first + 1 == second) {
      left = std::min(left, LeftInGroupAndAbove(root, path, kVersion2));
    }
  }
  return left;
}

std::uint64_t AvailableMemory() {
  std::ostringstream groups;
  groups << std::ifstream("/proc/self/cgroup").rdbuf();
  const std::uint64_t system = NumberIn("/proc/meminfo", "MemAvailable:") * 1024;
  const std::uint64_t left =
      std::min({system > 0 ? system : kNoLimit, MemoryLeftInGroups(groups.str(), "/sys/fs/cgroup"),
                LeftOfLimit(RLIMIT_DATA, "VmData:"), LeftOfLimit(RLIMIT_AS, "VmSize:")});
  return left == kNoLimit ? 0 : left;
}

std::uint64_t ParseMemory(const std::string& text, const std::string& where) {
  constexpr double kMost = 1e18;  // bytes; chosen: far above the memory of any machine
  std::string number = text;
  double unit = 1 << 30;
  if (number.ends_with('B') || number.ends_with('b')) number.pop_back();
  if (number.ends_with('i')) number.pop_back();
  const std::size_t digits = number.find_last_of("0123456789.");
  const std::string letter = digits == std::string::npos ? number : number.substr(digits + 1);
  number.resize(number.size() - letter.size());
  const std::size_t power = letter.size() == 1 ? std::string("kKmMgGtT").find(letter) : std::string::npos;
  if (power != std::string::npos) unit = std::pow(1024.0, static_cast<double>(power / 2 + 1));
  double count = 0;
  const bool is_known = letter.empty() ? number.size() == text.size() : power != std::string::npos;
  if (!is_known || !ParseNumber(number, count) || !(count > 0) || count * unit > kMost) {
    throw Error(ErrorKind::kUsage, where, "'" + text + "' is no size of memory",
                "write 24 for GiB, or 800M, 24G, 1.5T");
  }
  return static_cast<std::uint64_t>(count * unit);
}

void SetMemoryBudget(std::uint64_t bytes) { memory_budget = bytes; }

std::uint64_t MemoryBudget() {
  std::uint64_t bytes = memory_budget;
  if (bytes > 0) return bytes;
  const std::uint64_t available = AvailableMemory();
  const std::uint64_t found = available > 0 ? available / 4 * 3 : kNoLimit;
  memory_budget.compare_exchange_strong(bytes, found);
  return memory_budget;
}

void LimitLargeArrays(std::uint64_t bytes) {
  most_in_memory = bytes;
  std::free(reserve.exchange(std::malloc(kReserve)));
}

std::uint64_t ShareOfLargeArrays(std::uint64_t budget) {
  constexpr std::uint64_t kRest = 96 << 20;  // chosen with room to spare: code, libraries and stacks take 40 MB
  return budget > 2 * kRest ? (budget - kRest) / 8 * 7 : budget / 4;
}

void* AllocateArray(std::size_t bytes) {
  if (bytes < kLargeArray) return InMemory(bytes);
  const bool fits =
      bytes_in_memory.load(std::memory_order_relaxed) + bytes <= most_in_memory.load(std::memory_order_relaxed);
  if (!fits) {
    if (void* array = InFile(bytes)) return array;
  }
  void* array = InMemory(bytes);
  if (array != nullptr || !fits) return array;
  // The system has refused memory that the budget allows. Small arrays will need some, so that large ones may no longer
  // take all of it.
  std::free(reserve.exchange(nullptr));
  // Chosen: a search for waits in a trace of six times the memory has room so [tests/memory_test.py tries three].
  const std::uint64_t most = bytes_in_memory.load(std::memory_order_relaxed) / 4 * 3;
  std::uint64_t before = most_in_memory.load(std::memory_order_relaxed);
  while (most < before && !most_in_memory.compare_exchange_weak(before, most)) continue;
  array = InFile(bytes);
  return array != nullptr ? array : InMemory(bytes);
}

void FreeArray(void* array) {
  if (array == nullptr) return;
  MemoryFile* opened = overflow.load(std::memory_order_acquire);
  if (opened != nullptr && opened->Contains(array)) return opened->Free(array);
  if (const std::size_t size = malloc_usable_size(array); size >= kLargeArray) {
    bytes_in_memory.fetch_sub(size, std::memory_order_relaxed);
  }
  std::free(array);
}

void FreeArray(void* array, std::size_t bytes) { return IsSurelySmall(bytes) ? std::free(array) : FreeArray(array); }

std::unique_ptr<MemoryFile> MemoryFile::In(const std::string& folder) {
  int file = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0) {  // for file systems that know no files without a name
    std::string name = folder + "/farscale-XXXXXX";
    file = mkostemp(name.data(), O_CLOEXEC);
    if (file < 0) return nullptr;
    unlink(name.c_str());
  }
  rlimit limit{};  // a file beyond it would end the program
  const bool is_limited = getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  std::size_t size = is_limited ? std::min<std::size_t>(kLargestFile, limit.rlim_cur) / kPage * kPage : kLargestFile;
  struct statfs system {};
  if (fstatfs(file, &system) == 0 && system.f_type != TMPFS_MAGIC && system.f_type != RAMFS_MAGIC) {
    for (; size >= kSmallestFile; size = size / 2 / kPage * kPage) {
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
  const auto found = by_size_.lower_bound({whole, 0});  // the smallest range that suffices
  if (found == by_size_.end()) return nullptr;
  const auto [size, offset] = *found;
  by_size_.erase(found);
  free_.erase(offset);
  if (size > whole) {
    free_[offset + whole] = size - whole;
    by_size_.emplace(size - whole, offset + whole);
  }
  // Room on the disk, since a page without it would end the program when it is written to. File systems that cannot
  // promise room are trusted.
  while (fallocate(file_, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset), static_cast<off_t>(whole)) != 0) {
    if (errno == EINTR) continue;
    if (errno == EOPNOTSUPP || errno == ENOSYS) break;
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
